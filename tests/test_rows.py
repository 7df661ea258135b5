"""The contract of the door to private rows, which every source of rows inherits."""

import math
import tempfile
from functools import partial
from itertools import pairwise
from pathlib import Path
from unittest import mock

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import privlp
from privlp import LinearProgram
from privlp.game.duals import DenseDual, DenseRows, ElasticDual
from privlp.methods import METHODS
from privlp.privacy import Randomness
from privlp.problem.standard_form import goes_by_rows
from privlp.regions.polytope import ReducedPolytope
from privlp.regions.public_rows import PublicRows
from privlp.regions.simplex import Simplex
from privlp.rows import parts
from privlp.rows.access import InMemory
from privlp.rows.in_coordinates import RowsInCoordinates, value_of_sum
from privlp.rows.on_simplex import RowsOfEqualNorm, RowsOnSimplex
from privlp.rows.program_rows import MeasuredRows
from tests import programs
from tests.effort import each, pairs
from tests.programs import methods_for, refused_for_free
from tests.rounds import elastic_weights, weights_of
from tests.toy_rows import SplitProgram, SplitRows, read_anew, split_rows

N, OPT = 45, 3.0
COSTS = np.array([1.0, 2.0, 0.5, 1.5])
SOURCES = {
    "in memory": lambda lp: lp.rows(),
    "one block": lambda lp: split_rows(lp, []),
    "three blocks": lambda lp: split_rows(lp, [7, 36]),
    "an empty block": lambda lp: split_rows(lp, [0, 11]),
    "a row a block": lambda lp: split_rows(lp, range(1, lp.shape[0])),
    "read anew": lambda lp: read_anew(lp, [7, 36], 0),
    "held in part": lambda lp: read_anew(lp, [5, 17, 36], 3000),
    "held": lambda lp: read_anew(lp, [7, 36], math.inf),
    "a list of blocks": lambda lp: of_blocks(lp, [7, 36]),
    "Parquet": lambda lp: of_parquet(lp),  # noqa: PLW0108 (defined below)
}
FOLDER = tempfile.TemporaryDirectory()
STORAGE = {"dense": np.array, "sparse": sp.csc_array}


@pytest.fixture(params=SOURCES)
def source(request):
    return SOURCES[request.param]


def table(n=N, seed=0):
    """Rows of many sizes, some of them alike, and right-hand sides."""
    rng = np.random.default_rng(seed)
    A = -rng.uniform(0.2, 1.0, (n, 4)) * rng.choice([1e-9, 1.0, 1e7], (n, 1))
    A[rng.random((n, 4)) < 0.2] = 0.0
    return A, -rng.uniform(0.5, 2.0, n)


def program(A, b, storage=np.array):
    return LinearProgram(COSTS, storage(A), b)


SIMPLEX = Simplex(program(*table()).public().form, OPT)
POINT = SIMPLEX.centre()
SCALED = {
    "equal range": (partial(RowsOnSimplex.of_equal_range, SIMPLEX), (0, 3, 1)),
    "equal norm": (
        partial(RowsOfEqualNorm, simplex=SIMPLEX, largest_n=N),
        (POINT, SIMPLEX.farthest()),
    ),
}


def of_blocks(lp, cuts):
    rows = [slice(*ends) for ends in pairwise([0, *cuts, lp.shape[0]])]
    return LinearProgram(lp.c, *([part[own] for own in rows] for part in (lp.A, lp.b))).rows()


def of_parquet(lp):
    """Row groups of 13 rows, in a folder that is deleted after the test session."""
    pytest.importorskip("pyarrow", reason="PyArrow is an extra")
    A = lp.A.toarray() if sp.issparse(lp.A) else lp.A
    columns = pd.DataFrame(A).rename(columns=str).assign(b=lp.b)
    file = Path(FOLDER.name, f"{hash((A.tobytes(), lp.b.tobytes()))}.parquet")
    if not file.exists():
        columns.to_parquet(file, row_group_size=13, index=False)
    return LinearProgram.from_parquet(file, lp.c, "b", sparse=sp.issparse(lp.A)).rows()


def of_each_row(rows, name):
    """All that is kept of a row: raw log-weights, elastic weights and violations."""
    prepare, answers = SCALED[name]
    scaled = rows.keep(prepare)
    dense = scaled.keep(DenseRows)
    for answer in answers:
        dense.update(DenseRows.add, answer, 0.3)
    states = [dense.map(lambda block: block.raw)]
    if name != "equal range":  # whose answers are vertices
        states.append(scaled.map(elastic_weights, answers[-1], 1 / 0.7))
    states.append(rows.map(lambda block: block @ POINT - block.rhs))
    return np.column_stack([np.concatenate(state) for state in states])


@pytest.mark.parametrize(("source", "storage", "name"), pairs(SOURCES, STORAGE, SCALED))
def test_numbers_of_a_row_are_functions_of_that_row_and_of_released_values(source, storage, name):
    """To the last bit, wherever rows are split, in any order, whatever other rows are there."""

    def found(A, b, source):
        return of_each_row(source(program(A, b, STORAGE[storage])), name)

    (A, b), (other_A, other_b), source = table(), table(seed=5), SOURCES[source]
    here, order = found(A, b, SOURCES["in memory"]), np.random.default_rng(1).permutation(N)
    np.testing.assert_array_equal(found(A, b, source), here)
    np.testing.assert_array_equal(found(A[order], b[order], source), here[order])
    np.testing.assert_array_equal(found(A[: N - 4], b[: N - 4], source), here[: N - 4])
    for kept in (1, 38):
        rows = np.vstack([A[:kept], other_A[kept:]]), np.append(b[:kept], other_b[kept:])
        np.testing.assert_array_equal(found(*rows, source)[:kept], here[:kept])


DUALS = {
    "elastic": lambda rows: ElasticDual(rows, POINT, 0.7),
    "dense": lambda rows: DenseDual(rows, 5.5, 0.4),
}


@pytest.mark.parametrize(("source", "storage", "dual"), pairs(SOURCES, STORAGE, DUALS))
def test_sums_differ_by_rounding_alone(source, storage, dual):
    lp, (prepare, answers) = program(*table(), STORAGE[storage]), SCALED["equal norm"]
    found = []
    for rows in (SOURCES[source](lp), lp.rows()):
        player = DUALS[dual](rows.keep(prepare))
        scores = [player.scores()]
        for answer in answers:
            player.learn(answer)
            scores.append(player.scores())
        found.append((np.array(scores), weights_of(player)))
    np.testing.assert_allclose(found[0][0], found[1][0], rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(found[0][1], found[1][1], rtol=1e-12, atol=1e-300)


def test_largest_of_all_rows(source):
    lp = program(*table())
    violations = np.sort((lp.rows().map(lambda block: block @ POINT - block.rhs))[0])[::-1]
    for count in (1, 4, N - 1, N, N + 9):
        found = source(lp).largest(largest_violations, count, POINT)
        np.testing.assert_array_equal(found, violations[:count])


def largest_violations(block, count, point):
    return np.sort(block @ point - block.rhs)[-count:]


def test_what_is_kept_twice_is_apart(source):
    rows = source(program(*table()))
    one, two = (rows.keep(lambda block: np.zeros(len(block.rhs))) for _ in range(2))
    one.update(lambda state, value: state.__iadd__(value), 2.0)
    assert one.total(np.sum) == 2.0 * N
    assert two.total(np.sum) == 0.0


DATA = "-1.23454321"


def quoting(block, *released):
    raise ValueError(f"a row holds {DATA}, of {len(block.rhs)} rows")


def quoting_the_shape(block, *released):
    raise MemoryError(f"Unable to allocate an array of shape ({len(block.rhs)},)")


CALLS = (
    lambda rows, kernel: rows.keep(kernel).map(id),
    lambda rows, kernel: rows.map(kernel),
    lambda rows, kernel: rows.update(kernel, 1.0),
    lambda rows, kernel: rows.total(kernel),
    lambda rows, kernel: rows.largest(kernel, 3),
)


@pytest.mark.parametrize(
    ("kernel", "kind", "message"),
    [
        (quoting, RuntimeError, "A computation on private rows failed (ValueError). "),
        (quoting_the_shape, MemoryError, "Too little memory for a computation on private rows."),
    ],
    ids=["any error", "memory"],
)
def test_errors_carry_no_data(source, kernel, kind, message):
    for call in CALLS:
        with pytest.raises(kind) as caught:
            call(source(program(*table())), kernel)
        assert type(caught.value) is kind
        assert str(caught.value).startswith(message)
        assert not any(character.isdigit() for character in str(caught.value))
        assert caught.value.__cause__ is caught.value.__context__ is None


ADD = privlp.ConstraintPrivate("add-remove", nominal_n=70)
LITTLE = privlp.ScalarPrivate(0.05, lower=-1.2, upper=-0.8)
COEFFICIENTS = privlp.RowPrivate(0.01, lower=-1.2, upper=-0.1)
REQUESTS = {"dmw-published": {"width": 1.0, "alpha": 20.0}, "mw": {"alpha": 1.0}}


def request_of(method):
    whole = METHODS[method].protects(privlp.ConstraintPrivate())
    opt = {"opt": OPT} if whole or method == "mw" else {}
    return {**({"s": 5} if whole else {}), **opt, **REQUESTS.get(method, {})}


@pytest.mark.parametrize(
    ("method", "kind"),
    [
        *((method, InMemory) for method in METHODS),
        *((method, SplitRows) for method in methods_for(privlp.ConstraintPrivate())),
    ],
)
def test_kernels_draw_no_noise(method, kind, monkeypatch):
    """Neither paid draws nor generators are touched while a kernel runs."""
    goes_by_rows(len(COSTS))  # tries made-up rows, once in a process
    inside = []

    def marked(original):
        def within(self, *arguments):
            inside.append(True)
            try:
                return original(self, *arguments)
            finally:
                inside.pop()

        return within

    def outside(original):
        def call(*arguments, **options):
            assert not inside, "a kernel draws"
            return original(*arguments, **options)

        return call

    for name in ("_keep", "_map"):
        monkeypatch.setattr(kind, name, marked(getattr(kind, name)))
    for owner, name in ((Randomness, "draw"), (np.random, "default_rng")):
        monkeypatch.setattr(owner, name, outside(getattr(owner, name)))
    relations = (privlp.ConstraintPrivate(), LITTLE, COEFFICIENTS)
    relation = next(relation for relation in relations if METHODS[method].protects(relation))
    base = programs.covering(30, costs=COSTS, neighbours=relation)
    lp = SplitProgram.like(base) if kind is SplitRows else base
    assert privlp.solve(lp, 1.0, 1e-6, method=method, rng=0, **request_of(method)).success


@pytest.mark.parametrize("method", ["mw", "direct-noise", "tightened"])
def test_numbers_are_read_by_place_in_memory_only(method):
    """Rows elsewhere are refused before anything is charged."""
    relation = privlp.ScalarPrivate(0.1, lower=-9, upper=9)
    opt, bounds = ({"opt": 3.0}, (0, None)) if method == "mw" else ({}, (0, 9))
    fields = {"neighbours": relation, "bounds": bounds}
    lp = LinearProgram([1, 2], [[-1, -1], [-1, -3]], [-2, -3], **fields)
    with refused_for_free("must be in memory", privlp.UnsupportedProblemError) as budget:
        privlp.solve(SplitProgram.like(lp), 1.0, 1e-4, method=method, budget=budget, **opt)


@pytest.mark.parametrize(
    ("method", "storage"), each(methods_for(privlp.ConstraintPrivate()), STORAGE)
)
def test_a_solve_gives_the_same_bits_in_any_blocks_and_threads(method, storage, monkeypatch):
    """Answer, trace and ledger, to the last bit: two sizes of blocks, two threads."""
    monkeypatch.setattr(parts, "MOST_ROWS", 16)
    lp = programs.covering(60, costs=COSTS)
    lp = lp.changed(A=STORAGE[storage](lp.A))
    solve = partial(privlp.solve, eps=1.0, delta=1e-6, method=method, rng=0, **request_of(method))
    found = [solve(lp)]
    for cuts in ([2, 30, 59], range(1, 60)):
        blocks = SplitProgram.like(lp)
        object.__setattr__(blocks, "rows", lambda cuts=cuts: split_rows(lp, cuts))
        found.append(solve(blocks))
    with mock.patch("privlp.rows.parts.THREADS", 2):
        found.append(solve(lp))
    for other in found[1:]:
        np.testing.assert_array_equal(other.x, found[0].x)
        assert other.privacy.entries == found[0].privacy.entries
        for name, values in found[0].trace.items():
            np.testing.assert_array_equal(other.trace[name], values)


@pytest.mark.parametrize("storage", [np.array, sp.csr_array, sp.csc_array])
def test_rows_near_a_point_are_those_that_a_move_of_one_variable_reaches(storage):
    A = np.array([[1.0, 0.0, -2.0], [0.0, 3.0, 1.0], [0.5, 0.5, 0.0]])
    lp = LinearProgram(np.ones(3), storage(A), [1.0, 4.0, 0.3])
    x, lengths = np.array([0.5, 1.0, 0.1]), np.array([0.5, 0.4, 2.0])
    slack = np.abs(A @ x - lp.b)
    reached = (np.abs(A) * lengths >= slack[:, None]) & (A != 0)
    found = lp.rows().keep(MeasuredRows).total(MeasuredRows.near, x, lengths)
    assert found.tolist() == reached.sum(axis=0).tolist() == [0, 1, 2]


@pytest.mark.parametrize("storage", [np.array, sp.csr_array, sp.csc_array])
@pytest.mark.parametrize("sense", [1, -1])
def test_rows_count_once_for_the_variable_that_they_need_most(storage, sense):
    """A row that needs a half of x[1], one that needs none, one that fails, one beside its side."""
    A = -np.array([[0.0, 2.0, 0.2], [1.0, 1.0, 1.0], [1.0, 0.0, 0.0], [0.0, 0.0, 4.0]])
    b, x, ends = -np.array([1.2, 1.0, 9.0, 4.0]), np.array([1.0, 1.0, 1.0]), np.zeros(3)
    sides = {"b": b} if sense > 0 else {"b": np.full(4, np.inf), "row_lower": -b}
    lp = LinearProgram(np.ones(3), storage(sense * A), **sides)
    rows = lp.rows().keep(MeasuredRows)
    found = rows.total(MeasuredRows.needs, x, ends, 4)
    expected = np.zeros((3, 4))
    expected[1, 1] = expected[2, 3] = 1
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("storage", [np.array, sp.csr_array, sp.csc_array])
def test_rows_count_in_the_cell_of_a_way_where_they_are_first_met(storage):
    """Met from 0.3 of the way on, at its end, never, always, and beyond; the other side of a range."""
    A = np.array([[-1.0, -1.0], [-1.0, -0.01], [1.0, 0.0], [-1.0, 0.0], [-1.0, 0.0], [0.0, -1.0]])
    b, lower = [-0.6, -1.009, -1.0, 0.0, -2.0, 0.5], [*[-np.inf] * 5, -0.95]
    lp = LinearProgram(np.ones(2), storage(A), b, row_lower=lower)
    crossings = partial(lp.rows().keep(MeasuredRows).total, MeasuredRows.crossings)
    np.testing.assert_array_equal(
        crossings(np.zeros(2), np.ones(2), 10), np.eye(10)[3] + np.eye(10)[9]
    )
    back = crossings(np.ones(2), -np.ones(2), 10)
    np.testing.assert_array_equal(back, np.eye(10)[0])


@pytest.mark.parametrize("kernel", [MeasuredRows.needs, MeasuredRows.crossings])
@given(st.data())
def test_a_record_moves_counts_of_which_it_is_in_one_by_at_most_the_root_of_two(kernel, data):
    seed = data.draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    A, b = rng.normal(size=(6, 3)) * rng.choice([0, 1, 1e9], (6, 3)), rng.normal(size=6)
    other_A, other_b = A.copy(), b.copy()
    other_A[0], other_b[0] = rng.normal(size=3) * data.draw(st.sampled_from([0, 1, 1e14])), 0
    x, ends = rng.normal(size=3), rng.normal(size=3)
    both = (LinearProgram(np.ones(3), *of).rows() for of in ((A, b), (other_A, other_b)))
    one, other = (of.keep(MeasuredRows).total(kernel, x, ends, 5) for of in both)
    assert np.linalg.norm(one - other) <= math.sqrt(2)


@given(st.data())
def test_a_row_pulls_with_a_norm_of_at_most_one(data):
    """Also the two sides of a range together, which pull in opposite directions."""
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    a, ends = rng.normal(size=3) * rng.choice([0, 1, 1e6], 3), np.sort(rng.normal(size=2))
    lower = ends[:1] if data.draw(st.booleans()) else [-np.inf]
    lp = LinearProgram(np.ones(3), a[None], ends[1:], row_lower=lower, bounds=(0, 1))
    region = ReducedPolytope(PublicRows(lp))
    rows = lp.rows().keep(partial(RowsInCoordinates, region=region))
    rows.update(RowsInCoordinates.go_to, rng.uniform(-5, 5, 3))
    pulls = rows.total(RowsInCoordinates.pull, data.draw(st.sampled_from([1e-6, 0.1])))
    assert np.linalg.norm(value_of_sum(pulls, of_rows=True)) <= 1


def test_rows_pull_towards_their_sides():
    """A row that is missed, one with slack, a range in whose middle the point lies, and no row."""
    A, b = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [0.0, 0.0]]), [-1.0, 3.0, 1.0, 1.0]
    lp = LinearProgram(np.ones(2), A, b, row_lower=[*[-np.inf] * 2, -1, -np.inf], bounds=(-5, 5))
    region = ReducedPolytope(PublicRows(lp))
    rows = lp.rows().keep(partial(RowsInCoordinates, region=region))
    rows.update(RowsInCoordinates.go_to, region.coordinates(np.zeros(2)))
    found = value_of_sum(rows.total(RowsInCoordinates.pull, 0.01), of_rows=True)
    np.testing.assert_allclose(found, [1, -1], atol=1e-5)
