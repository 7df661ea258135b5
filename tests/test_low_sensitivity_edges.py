"""Edges of low-sensitivity programs: points for ranges, tuples, tiny deltas, odd arguments."""

import dataclasses
import math

import numpy as np
import pytest
import scipy.sparse as sp
from click.testing import CliRunner
from highspy import HighsModelStatus

import privlp
from privlp import solve
from privlp.cli import main
from privlp.methods import METHODS, SolveRequest
from privlp.problem import highs
from privlp.problem.standard_form import StandardForm
from privlp.relations.bounded_change import BoundedChange
from tests.programs import method_of

INF = float("inf")


COVERING = {"c": [1, 2], "A": [[-1, -1], [-1, -3]], "b": [-2, -3]}
TINY_ROW = [1.0, 1], [[-1.0, -1], [-0.3, -1]], [-1, -1]


def refused(lp, message, *, eps=1.0, delta=1e-3, kind=privlp.UnsupportedProblemError, **options):
    with pytest.raises(kind, match=message):
        solve(lp, eps, delta, **options)


def test_groups_are_refused():
    """They would be ignored, and rows of one record would be protected one at a time."""
    with pytest.raises(privlp.InvalidProblemError, match="groups has no use where numbers change"):
        privlp.LinearProgram(**COVERING, neighbours=privlp.RowPrivate(0.1), groups=[0, 0])


def test_many_variables_of_private_cost_need_no_square_matrix():
    ones, relation = np.ones(50_000), privlp.ObjectivePrivate(0.1)
    row = sp.csr_array(ones[None])
    lp = privlp.LinearProgram(ones, row, [5.0], bounds=(0, 1), neighbours=relation)
    assert solve(lp, 1.0, 0.0, rng=0).success


@pytest.mark.parametrize("bounds", [(None, None), (0, None), (None, 0)])
def test_unbounded_regions_are_found_for_private_costs(bounds):
    options = {"bounds": bounds, "neighbours": privlp.ObjectivePrivate(0.1)}
    lp = privlp.LinearProgram([1, 1], [[1, -1], [-1, 1]], [1, 1], **options)
    refused(lp, "variable [01], variable [01] grow without limit", delta=0.0)


@pytest.mark.parametrize("options", [{}, {"feasible": "always"}])
def test_declared_costs_can_bound_the_objective(options):
    """Costs that are known to be positive keep a covering program bounded, whatever the noise."""
    relation = privlp.ObjectivePrivate(0.5, lower=0.5, upper=3)
    lp = privlp.LinearProgram(**COVERING, neighbours=relation)
    for seed in range(5):
        solution = solve(lp, 0.1, 1e-3, rng=seed, **options)
        assert solution.success
        assert (solution.trace["noisy c"] >= 0.5).all()


def test_laplace_noise_is_taken_where_gaussian_noise_can_have_no_part_of_the_budget():
    lp = privlp.LinearProgram(*TINY_ROW, neighbours=privlp.ScalarPrivate(0.1))
    budget = privlp.Budget(1.0, 1e-6)
    solve(lp, 0.9, 1e-6, method="mw", opt=1.0, alpha=2.0, budget=budget, rng=0)
    rest = solve(lp, None, None, method="direct-noise", budget=budget, rng=0)
    assert rest.privacy.entries[-1].mechanism == "Laplace mechanism"
    assert budget.spent() <= 1.0


POORLY_SCALED = {
    "tiny rows": ([-1, -1], [[1e-6, 2e-6], [2e-6, 1e-6]], [3e-10, 3e-10], (0, 1e-3), -2e-4),
    "tiny x in a box": ([1, 1], [[-1e9, -2e9], [-2e9, -1e9]], [-3, -3], (0, 1e-8), 2e-9),
    "tiny x": ([1, 1], [[-1e9, -2e9], [-2e9, -1e9]], [-3, -3], (0, None), 2e-9),
    "coefficients that HiGHS drops": ([-1], [[1e-9]], [1e-9], (0, 10), -1.0),
    "huge rows": ([-1, -1], [[1e8, 2e8], [2e8, 1e8]], [3e14, 3e14], (0, None), -2e6),
}


@pytest.mark.parametrize("name", POORLY_SCALED)
def test_scale_matters_little(name):
    """HiGHS has absolute tolerances."""
    c, A, b, bounds, optimum = POORLY_SCALED[name]
    size = np.abs(b)
    ends = {"lower": b - size / 2, "upper": b + size / 2}
    relation = privlp.ScalarPrivate(1e-3 * float(size.max()), norm="1", **ends)
    lp = privlp.LinearProgram(c, A, b, bounds=bounds, neighbours=relation)
    solution = solve(lp, INF, 0, feasible="always")
    assert solution.objective == pytest.approx(optimum, rel=1e-6)
    assert solution.message.startswith("Solved")


def test_the_deepest_point_of_the_worst_case_is_no_fallback_for_a_rounding_error():
    """Where the worst case has no inside, a violation in the last place threw the solution away."""
    lp = privlp.examples.matrix_game()
    for seed in range(3):
        assert solve(lp, 1.0, 1e-6, feasible="always", rng=seed).objective < 0.6


def test_public_equalities_of_a_program_with_private_costs_are_equalities():
    row = {"A": [[0.1, 0.2, 0.7]], "b": [0.3], "row_lower": [0.3], "bounds": (0, 9)}
    lp = privlp.LinearProgram([1, 2, 3], **row, neighbours=privlp.ObjectivePrivate(0.1))
    solution = solve(lp, 1.0, 1e-3, feasible="always", rng=0)
    assert (lp.A @ solution.x)[0] == pytest.approx(0.3, rel=1e-7)


def test_a_private_range_is_refused_with_the_reason():
    relation = privlp.ScalarPrivate(0.1, lower=0.9, upper=5.1)
    lp = privlp.LinearProgram([1], [[1]], [5], row_lower=[1], neighbours=relation)
    refused(lp, "Write it as two rows", feasible="always")


def test_a_variable_fixed_at_zero_needs_no_range():
    relation = privlp.RowPrivate(0.1, lower=[[-2.0] * 3], upper=[[-0.5, -0.5, INF]])
    bounds = [(0, None), (0, None), (0, 0)]
    lp = privlp.LinearProgram([1, 1, 1], [[-1, -1, 0.2]], [-1], bounds=bounds, neighbours=relation)
    assert solve(lp, 1.0, 1e-3, feasible="always", rng=0).success


def test_right_hand_sides_whose_range_is_a_point_are_public():
    relation = privlp.ScalarPrivate(0.1, lower=[-1, -4], upper=[-1, 0])
    lp = privlp.LinearProgram([1, 1], [[-1, -1], [-1, -2]], [-1, -3], neighbours=relation)
    (b,) = lp.neighbours.private_numbers(lp.public().form)
    assert lp.rows().values(b).tolist() == [-3]


@pytest.mark.parametrize(
    "split",
    [0.5, (1e308, 1e308), (1, 1e-320), "ab", *((bad, 1) for bad in (0, -1, math.nan, INF, "1"))],
    ids=str,
)
def test_a_strange_split_is_refused(split):
    relation = privlp.ScalarPrivate(0.1), privlp.ObjectivePrivate(0.1)
    lp = privlp.LinearProgram(**COVERING, bounds=(0, 5), neighbours=relation)
    refused(lp, "split", kind=privlp.InvalidParameterError, split=split)


def test_auto_with_alpha_may_take_direct_noise():
    lp = privlp.LinearProgram(*TINY_ROW, neighbours=privlp.ScalarPrivate(1e-6))
    assert solve(lp, 1.0, 1e-6, alpha=0.5, opt=1.0, rng=0).method == "direct-noise"


def test_a_point_in_hand_is_not_lost():
    """Rows that noise makes contradict each other by a hair are relaxed."""
    rows = [[1, 1], [-1, -1]] * 4, [1e-9, -1e-9] * 4
    lp = privlp.LinearProgram([1, 1], *rows, neighbours=privlp.ScalarPrivate(1e-9))
    for seed in range(5):
        assert solve(lp, 1.0, 1e-6, rng=seed).success


def test_x_at_zero_shows_nothing():
    """Where x = 0 no violation moves; scores are still finite."""
    relation = privlp.RowPrivate(0.1, lower=-1, upper=1)
    rows = [[-1, -0.2], [-0.3, -1]], [0, 0]
    lp = privlp.LinearProgram([1, 1], *rows, bounds=(-1, None), neighbours=relation)
    solution = solve(lp, 1.0, 1e-6, opt=0.0, method="mw", rng=0)
    assert np.isfinite(solution.x).all()
    assert math.isfinite(solution.privacy.entries[0].sensitivity)


def test_sparse_matrices_stay_sparse_at_construction():
    A = sp.random_array((20_000, 20_000), density=1e-5, rng=np.random.default_rng(0), format="csc")
    relation, ones = privlp.ColumnPrivate(0.1, lower=-1, upper=1), np.ones(20_000)
    assert privlp.LinearProgram(ones, A, ones, neighbours=relation).is_sparse  # 3 GB if dense


def test_what_protects_a_relation_is_no_argument_of_it():
    """A user must not name a method that does not protect it."""
    for kind in BoundedChange.__subclasses__():
        fields = {field.name for field in dataclasses.fields(kind) if field.init}
        assert fields <= {"sensitivity", "norm", "lower", "upper", "zeros", "moves", "rounding"}


def test_private_costs_are_refused_by_the_solver_itself():
    lp = privlp.LinearProgram(**COVERING, neighbours=privlp.ObjectivePrivate(0.2))
    refused(lp, "does not protect", opt=1.0, method=METHODS["mw"])
    with pytest.raises(privlp.UnsupportedProblemError, match="which shows c"):
        METHODS["mw"].plan(SolveRequest.of(lp, 1.0, 1e-6, opt=1.0))


def test_the_statement_says_what_was_declared_public():
    lp = packing(lower=[[1, 0], [2, 1]], upper=[[1, 2], [2, 1]], bounds=(0, 5))
    words = "within the declared public range; 3 of 4 coefficients of private rows are declared pub"
    assert words in str(solve(lp, 1.0, 1e-6, rng=0).privacy.statement())


def packing(lower, upper, **fields):
    relation = privlp.RowPrivate(0.01, lower=lower, upper=upper)
    fields = {"A": [[1, 1], [2, 1]], "b": [1, 2], "sense": "max", **fields}
    return privlp.LinearProgram([1, 1], **fields, neighbours=relation)


def test_rows_bound_a_region_at_the_loosest_end_of_their_range():
    lp, message = packing(0.5, 3), "The public region is unbounded"
    assert solve(lp, 1.0, 1e-3, feasible="always", rng=0).success
    refused(lp, message)  # direct noise may leave the range
    refused(packing(0, 3), message, feasible="always")
    one_public = packing([[0.5, 0.5], [2, 1]], [[3, 3], [2, 1]])
    assert solve(one_public, 1.0, 1e-3, rng=0).success


def test_a_public_equality_does_not_double_the_noise():
    rows = {"A": [[-1, -1], [1, -1]], "b": [-1, 0], "row_lower": [-INF, 0], "private": [0]}
    lp = privlp.LinearProgram([1, 1], **rows, neighbours=privlp.ScalarPrivate(0.1, norm="1"))
    sensitivity = solve(lp, 1.0, 1e-6, opt=2.0, method="mw", rng=0).privacy.entries[0].sensitivity
    assert sensitivity == pytest.approx(0.05, rel=1e-3)


def test_rows_and_columns_may_declare_one_range_between_them():
    relation = privlp.RowPrivate(1e-3, lower=-3, upper=0), privlp.ColumnPrivate(1e-3)
    lp = privlp.LinearProgram([1, 2], [[-1, -1], [-1, -3]], [-1, -1], neighbours=relation)
    assert solve(lp, 1.0, 1e-6, opt=2.0, method="mw", rng=0).success


def test_command_line_with_all_parts_private(tmp_path):
    model = tmp_path / "model.mps"
    privlp.LinearProgram(**COVERING, bounds=(0, 9)).to_mps(model)
    options = "--scalar-private 0.1 --norm 1 --b-range -4 0 --row-private 0.01 --a-range -4 -0.5"
    options += " --objective-private 0.1 --c-range 0.5 3 --split 2,1,1 --feasible always --seed 1"
    words = f"solve {model} --eps 1 --delta 1e-3 {options}".split()
    result = CliRunner().invoke(main, words)
    assert result.exit_code == 0, result.output
    assert "objective of the released costs" in result.output
    assert "tighten coefficients A" in result.output


def test_rounding_of_a_row_counts_its_large_public_coefficients():
    """A private row may hold public entries far beyond the private ones."""
    big = 1e14
    relation = privlp.RowPrivate(0.1, lower=[[0, big]], upper=[[2, big]])
    form = StandardForm.of(privlp.LinearProgram([1, 1], [[1, big]], [5], neighbours=relation))
    change = relation.violation_change(form)
    rng = np.random.default_rng(0)
    for _ in range(200):
        x, a = rng.uniform(0, 1, 2), rng.uniform(0, 1.9)
        one, two = (np.array([entry, big]) @ x - 5 for entry in (a, a + 0.1))
        assert abs(two - one) <= change(x)
    assert change(np.ones(2)) > 0.1 + big * 2**-52


@pytest.mark.parametrize("method", ["direct-noise", "truncated-laplace"])
@pytest.mark.parametrize("stored", [True, False])
def test_whether_a_private_zero_is_stored_shows_nowhere(method, stored):
    """A warning of SciPy once came for zeros that were not stored, and which are is private."""
    A = sp.csc_array(([1.0, 0.0, 2.0, 1.0], ([0, 0, 1, 1], [0, 1, 0, 1])), shape=(2, 2))
    if not stored:
        A.eliminate_zeros()
    found = []
    for matrix in (A, A.toarray()):
        lp = packing([[1, 0], [1.5, 1]], [[1, 2], [3, 1]], A=matrix, bounds=(0, 5))
        found.append(solve(lp, 1.0, 1e-3, method=method_of(method), rng=0).x)
    assert np.array_equal(*found)


@pytest.mark.parametrize("options", [{}, {"feasible": "always"}])
def test_a_time_limit_within_highs_releases_nothing(options, monkeypatch):
    """The message says that nothing is released; the noisy numbers once stayed in the trace."""
    relation = privlp.ScalarPrivate(0.1, lower=-2, upper=0)
    lp = privlp.LinearProgram([1, 1], [[-1, -1]], [-1], neighbours=relation)
    real = highs.priced_optimum

    def limited(*arguments, options=None, **others):
        status, *rest = real(*arguments, options=options, **others)
        stopped = options and "time_limit" in options
        return (HighsModelStatus.kTimeLimit if stopped else status, *rest)

    for module in ("direct_noise", "tightened.rows"):
        monkeypatch.setattr(f"privlp.methods.{module}.priced_optimum", limited)
    solution = solve(lp, 1.0, 1e-3, rng=0, time_limit=60, **options)
    assert (solution.status, solution.x, solution.trace) == (privlp.Status.TIME_LIMIT, None, {})
    assert "Nothing is released" in solution.message


def test_whether_a_number_underflows_shows_in_no_warning():
    """Bounds shift the rows of the standard form before anything is charged."""
    with np.errstate(all="raise"):
        for entry in (-1.0, -1e-300):
            bounds = [(1e-20, None), (0, None)]
            lp = privlp.LinearProgram([1, 2], [[entry, -1]], [-1], bounds=bounds)
            assert lp.public().n == 1
            lp.rows()
