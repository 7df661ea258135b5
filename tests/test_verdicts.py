"""Verdicts: told with every solution, as a warning where noise prevails, and numbers that would do."""

import json
import math
import re
import warnings

import numpy as np
import pytest

import privlp
from privlp import models
from privlp.status import Verdict
from tests.programs import covering

BOX = {"bounds": (0, 20)}
PACKING = privlp.LinearProgram(np.ones(5), -covering(400).A, np.ones(400), sense="max")
NUMBERS = covering(400, neighbours=privlp.ScalarPrivate(0.05))


def solved(lp, eps=1.0, s=20, **options):
    """A solution, and the warnings of its solve."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        solution = privlp.solve(lp, eps, 1e-6, s, rng=0, **options)
    return solution, caught


@pytest.mark.parametrize(
    ("eps", "options", "verdict"),
    [
        (8.0, {}, Verdict.ENOUGH_ROWS),
        (3.0, {}, Verdict.ROUGH),
        (0.1, {}, Verdict.TOO_FEW_ROWS),
        (0.05, {"method": "dmw", "opt": 4.0}, Verdict.TOO_FEW_ROWS),
    ],
)
def test_a_solution_says_what_its_plan_says_and_warns_if_rows_are_too_few(eps, options, verdict):
    lp = covering(400, **({} if options else BOX))
    solution, caught = solved(lp, eps, 40 if not options else 60, **options)
    assert solution.verdict is verdict
    assert solution.advice.startswith(f"{verdict}: ")
    assert repr(verdict) in repr(solution)
    if verdict is Verdict.TOO_FEW_ROWS:
        warning = caught[0]
        assert warning.category is privlp.MostlyNoiseWarning
        assert str(warning.message) == solution.advice
        assert warning.filename == __file__
    others = {warning.category for warning in caught[verdict is Verdict.TOO_FEW_ROWS :]}
    passed = solution.missed is not None and solution.missed.high > 40
    assert others == ({privlp.MissedRowsWarning} if passed else set())
    if not options:
        planned = privlp.plan(lp, eps, 1e-6, 40)
        told = solution.method, solution.verdict, solution.advice
        assert (planned.best, planned.verdict, planned.advice) == told


def test_private_numbers_that_drown_are_warned_of():
    relation = privlp.ScalarPrivate(1.0, norm="1", lower=10, upper=40)
    lp = privlp.LinearProgram([3, 5], [[1, 2], [3, 1]], [20, 30], sense="max", neighbours=relation)
    with pytest.warns(privlp.MostlyNoiseWarning, match="Too much noise for the declared range"):
        poor = privlp.solve(lp, 0.1, 1e-3, feasible="always", rng=0)
    assert poor.verdict is Verdict.TOO_MUCH_NOISE
    assert solved(lp, 4.0, None, feasible="always")[1] == []


@pytest.mark.parametrize(
    ("eps", "options"),
    [(float("inf"), {}), (0.1, {"method": "dmw-published", "width": 1.0, "alpha": 50.0})],
    ids=["no noise", "no prediction"],
)
def test_where_nothing_is_predicted_there_is_no_verdict(eps, options):
    solution, caught = solved(covering(200), eps, opt=4.0, **options)
    assert (solution.verdict, solution.advice, caught) == (None, "", [])


def test_a_prediction_that_lacks_a_public_bound_is_no_error():
    """Then the solve is as good as it was before solutions had verdicts."""
    relation = (privlp.ScalarPrivate(0.1, norm="1"), privlp.RowPrivate(0.1))
    lp = covering(200, neighbours=relation)
    with pytest.raises(privlp.UnsupportedProblemError, match="How large x may be"):
        privlp.plan(lp, 1.0, 1e-6)
    solution, _ = solved(lp, 1.0, None)
    assert (solution.success, solution.verdict) == (True, None)


def test_rough_by_little_is_not_told_as_1_times():
    lp, eps = covering(400, **BOX), 4.0
    while (planned := privlp.plan(lp, eps, 1e-6, 20)).verdict is Verdict.ENOUGH_ROWS:
        eps *= 0.99
    assert planned.verdict is Verdict.ROUGH
    assert " 1 times" not in planned.advice


@pytest.mark.filterwarnings("ignore::privlp.NotPrivateWarning", "ignore::privlp.MissedRowsWarning")
def test_a_large_delta_is_warned_of_and_answered():
    assert privlp.solve(covering(400, **BOX), 1.0, 0.3, 20, rng=0).verdict is Verdict.ENOUGH_ROWS


@pytest.mark.filterwarnings("ignore::privlp.MissedRowsWarning")
def test_an_x_that_no_private_row_holds_back_is_said():
    lp = covering(2000, **BOX)
    for wrong in (lp.changed(A=-lp.A, b=-lp.b), lp.changed(sense="max")):
        message = privlp.solve(wrong, 1.0, 1e-6, 100, rng=0).message
        assert message.endswith("signs of costs and rows, and the sense.")
    assert "Check" not in privlp.solve(lp, 1.0, 1e-6, 100, rng=0).message


def test_verdicts_are_saved_and_files_without_them_load(tmp_path):
    path = tmp_path / "solution.json"
    solution, _ = solved(covering(400, **BOX), 0.1, 40)
    solution.save(path)
    again = privlp.Solution.load(path)
    assert (again.verdict, again.advice) == (Verdict.TOO_FEW_ROWS, solution.advice)
    document = json.loads(path.read_text())
    assert document["verdict"] == "Too few rows for this eps"
    del document["verdict"], document["advice"]
    path.write_text(json.dumps(document))
    older = privlp.Solution.load(path)
    assert (older.verdict, older.advice) == (None, "")


def numbers(advice):
    """The s, the eps and the number of rows that advice names; None for those it does not."""
    found = {
        "s": re.search(r"\bs = ([\d,]+), or", advice),
        "eps": re.search(r"eps = ([\d.e+-]+)[, ]", advice),
        "rows": re.search(r"([\d,]+) rows with an s that grows", advice),
    }
    return {name: m and float(m[1].replace(",", "")) for name, m in found.items()}


def as_advised(n, s, eps):
    """A plan, and those of the same request with one of the numbers that its advice names."""
    poor = privlp.plan(covering(n, **BOX), eps, 1e-6, s)
    assert poor.verdict in (Verdict.ROUGH, Verdict.TOO_FEW_ROWS)
    before = poor.predictions[poor.best].difficulty
    assert f"{before:.2g} times as large as s rows allow" in poor.advice
    named = numbers(poor.advice)
    assert (named["s"] is None) == (before * s > 0.05 * n)
    assert named["eps"] is not None or before * eps > 15
    changes = [(n, named["eps"], s)] * bool(named["eps"])
    changes += [(int(named["rows"]), eps, math.ceil(s * named["rows"] / n))]
    changes += [(n, eps, named["s"])] * bool(named["s"])
    return poor, [privlp.plan(covering(n, **BOX), eps, 1e-6, s) for n, eps, s in changes]


def median(n):
    rng = np.random.default_rng(0)
    X, y = rng.uniform(-1, 1, (n, 3)), rng.normal(size=n)
    return privlp.LinearProgram([0] * 3, X, y, row_lower=y, penalty=0.5, bounds=(-9, 9))


@pytest.mark.parametrize(
    ("eps", "said"),
    [
        (8.0, "The cost should exceed the least possible by 5 % at most; by more, in proportion"),
        (1.0, "How much that costs cannot be foretold, because it depends on the sizes and tails"),
    ],
)
def test_soft_rows_are_foretold_where_rows_are_enough(eps, said):
    found = privlp.plan(median(1000), eps, 1e-6)
    assert found.verdict is (Verdict.ENOUGH_ROWS if eps > 1 else Verdict.ROUGH)
    assert said in found.advice
    assert "times as large as the soft rows allow." in found.advice


@pytest.mark.parametrize(("beta", "decide"), [(0.8, "20%"), (0.99, "1%")])
def test_only_the_rows_that_decide_count_as_soft_rows(beta, decide):
    """A conditional value at risk rests on the worst losses: so many more rows are needed."""
    returns = np.random.default_rng(0).normal(size=(3000, 3))
    lp = models.cvar_portfolio(returns, bound=3.0, beta=beta)
    every = lp.changed(deciding=1.0)
    found, all_count = (privlp.plan(of, 2.0, 1e-6) for of in (lp, every))
    difficulties = [of.predictions["perturbed"].difficulty for of in (found, all_count)]
    assert difficulties[0] == pytest.approx(difficulties[1] / (1 - beta))
    assert f"as the {decide} of the soft rows that decide allow" in found.advice
    assert all_count.verdict is Verdict.ENOUGH_ROWS
    assert found.verdict is (Verdict.ROUGH if beta == 0.8 else Verdict.TOO_FEW_ROWS)
    rows = int(re.search(r"([\d,]+) rows,? would do", found.advice)[1].replace(",", ""))
    more = models.cvar_portfolio(np.zeros((rows, 3)), bound=3.0, beta=beta)
    assert privlp.plan(more, 2.0, 1e-6).verdict is Verdict.ENOUGH_ROWS


@pytest.mark.parametrize("q", [0.9, 0.05])
def test_rows_pull_towards_a_quantile_as_hard_as_its_cheaper_side(q):
    """A plan counts (1 - q)/q of the rows, or q/(1 - q); the number of rows it names would do."""
    prices, weaker = [[1 - q, q]], min(q, 1 - q) / max(q, 1 - q)
    middle, outer = (
        privlp.plan(median(4000).changed(penalty=np.tile(price, (4000, 1))), 2.0, 1e-6)
        for price in ([[max(q, 1 - q)] * 2], prices)
    )
    own, other = (of.predictions["perturbed"].difficulty for of in (middle, outer))
    assert 0.5 * own < other * weaker < own  # one row with two prices needs less noise
    assert (middle.verdict, outer.verdict) == (Verdict.ENOUGH_ROWS, Verdict.ROUGH)
    assert f"soft rows, whose cheaper sides cost {weaker:.2g} of what the others" in outer.advice
    rows = int(re.search(r"([\d,]+) rows,? would do", outer.advice)[1].replace(",", ""))
    more = median(rows).changed(penalty=np.tile(prices, (rows, 1)))
    assert privlp.plan(more, 2.0, 1e-6).verdict is Verdict.ENOUGH_ROWS


@pytest.mark.parametrize("share", [0.0, 1.5, math.nan])
def test_what_decides_is_a_share(share):
    lp = models.cvar_portfolio([[0.5, -3.0]], bound=1.0)
    with pytest.raises(privlp.PrivLPError, match="deciding must be"):
        lp.changed(deciding=share)


@pytest.mark.parametrize("s", [40, 100, 350])
def test_beyond_a_share_of_the_rows_a_larger_s_is_said_not_to_help(s):
    found = [privlp.plan(covering(400, **BOX), eps, 1e-6, s) for eps in (1.0, 12.0)]
    assert found[0].predictions["chain"].difficulty == pytest.approx(4.8, abs=0.5)
    beside = "times as large as 5% of all rows allow, and an s beyond that lessens it no further"
    assert beside in found[0].advice
    assert "rows with an s of 5% of them or more, would do." in found[0].advice
    assert found[1].verdict is Verdict.ENOUGH_ROWS
    assert "as 5% of all rows allow. Up to s" in found[1].advice


@pytest.mark.parametrize(
    ("lp", "said"),
    [
        (covering(400, **BOX), "'auto' takes 'chain', by trials, where whole rows are private, in"),
        (PACKING, "'auto' takes 'staged': what would come first does not apply (chain)."),
        (NUMBERS, "'auto' takes 'mw' for the least predicted violation."),
    ],
)
def test_a_plan_says_why_auto_takes_its_method(lp, said):
    s = 40 if lp.neighbours.changes_whole_rows else None
    assert said in str(privlp.plan(lp, 1.0, 1e-6, s, opt=5.0)).replace("\n", " ")


def test_where_one_method_applies_nothing_is_said_of_the_choice():
    assert "'auto' takes" not in str(privlp.plan(PACKING, 1.0, 1e-6, 40))


POOR = [(3000, 30, 0.5), (400, 20, 1.0), (3000, 4, 6.0)]


@pytest.mark.parametrize(("n", "s", "eps"), POOR)
def test_the_numbers_named_would_do(n, s, eps):
    """Each alone makes the method of the plan easy enough, and is close to the least that does."""
    poor, better = as_advised(n, s, eps)
    for found in better:
        assert 0.75 < found.predictions[poor.best].difficulty <= 1
        assert found.verdict is Verdict.ENOUGH_ROWS


def test_private_numbers_instead_of_rows_are_named_where_rows_are_too_few():
    advice = privlp.plan(covering(400, **BOX), 0.1, 1e-6, 40).advice
    assert "declare that (ScalarPrivate, RowPrivate, ..., or --scalar-private D;" in advice
    assert advice.endswith("hold, with that probability.")
    rough = privlp.plan(covering(400, **BOX), 3.0, 1e-6, 40)
    assert rough.verdict is Verdict.ROUGH
    assert "ScalarPrivate" not in rough.advice
    hidden = privlp.ConstraintPrivate("add-remove", nominal_n=400)
    private = privlp.plan(covering(400, neighbours=hidden, **BOX), 0.05, 1e-6, 40)
    assert private.verdict is Verdict.TOO_FEW_ROWS
    assert "ScalarPrivate" not in private.advice


class TestFewRows:
    """A file of 20 rows is refused at once, with a way out."""

    @pytest.fixture
    def model(self, tmp_path):
        path = tmp_path / "few.mps"
        covering(20).to_mps(path)
        return privlp.LinearProgram.from_mps(path)

    def test_without_s_and_nothing_is_spent(self, model):
        budget = privlp.Budget(2.0, 1e-6)
        words = "Too few rows for this eps: whatever s, noise on 5 or more variables is"
        for call, options in ((privlp.solve, {"budget": budget}), (privlp.plan, {})):
            with pytest.raises(privlp.UnsupportedProblemError, match=words) as caught:
                call(model, 1.0, 1e-6, **options)
            assert "--scalar-private D" in str(caught.value)
        assert budget.spent() == 0

    def test_where_the_region_cannot_be_searched(self):
        free = covering(20, bounds=(None, None))
        with pytest.raises(privlp.UnsupportedProblemError, match="Too few rows for this eps: what"):
            privlp.solve(free, 1.0, 1e-6, 4, method="perturbed")
        many = covering(5000, bounds=(None, None))
        with pytest.raises(privlp.UnsupportedProblemError, match="put no limit on variable 0"):
            privlp.solve(many, 1.0, 1e-6, 250, method="perturbed")
        with pytest.raises(privlp.UnsupportedProblemError, match=r"^The public region") as caught:
            privlp.solve(many, 1.0, 1e-6, 250)
        assert "simplex" not in str(caught.value)

    def test_with_s_it_is_solved_and_warned_of(self, model):
        solution, caught = solved(model, 1.0, 4)
        assert solution.success
        categories = [warning.category for warning in caught]
        assert categories == [privlp.MostlyNoiseWarning, privlp.MissedRowsWarning]

    def test_the_number_of_rows_named_is_about_the_least(self, model):
        with pytest.raises(privlp.UnsupportedProblemError) as caught:
            privlp.plan(model, 1.0, 1e-6)
        rows = int(re.search(r"About ([\d,]+) rows would be the least", str(caught.value))[1])
        with pytest.raises(privlp.InvalidParameterError, match="s is missing"):
            privlp.plan(covering(rows), 1.0, 1e-6)
        found = privlp.plan(covering(rows), 1.0, 1e-6, 0.2 * rows)
        assert found.verdict in (Verdict.ROUGH, Verdict.TOO_FEW_ROWS)
        with pytest.raises(privlp.UnsupportedProblemError, match="Too few rows"):
            privlp.plan(covering(int(0.8 * rows)), 1.0, 1e-6)

    def test_what_is_named_instead_works(self, model):
        """Numbers private instead of whole rows: no s, no optimum, few rows."""
        relation = privlp.ScalarPrivate(0.02, norm="1", lower=-1.2, upper=-0.8)
        fields = {**BOX, "neighbours": relation}
        program = privlp.LinearProgram(model.c, -np.abs(model.A), model.b, **fields)
        found = privlp.plan(program, 1.0, 1e-6, feasible="always")
        assert found.verdict is Verdict.NEVER_VIOLATED

    def test_it_is_no_refusal_of_other_requests(self):
        with pytest.raises(privlp.UnsupportedProblemError, match="no private rows"):
            privlp.plan(covering(20, private=[]), 1.0, 1e-6)
        soft = privlp.plan(covering(20, penalty=1.0, **BOX), 1.0, 1e-6)
        pure = privlp.plan(covering(20), 1.0, 0.0, s=4, opt=4.0)
        assert soft.verdict is pure.verdict is Verdict.TOO_FEW_ROWS


def test_variables_of_single_records_are_soft_rows():
    """A CVaR as it stands in books: a shortfall for each scenario."""
    n, losses = 60, np.random.default_rng(0).normal(size=(60, 2))
    A = np.hstack([losses, -np.ones((n, 1)), -np.eye(n)])
    c = np.r_[0, 0, 1, np.full(n, 0.1)]
    lp = privlp.LinearProgram(c, A, np.zeros(n), bounds=(0, 10))
    advice = privlp.plan(lp, 1.0, 1e-6, 6).advice
    assert "There are 63 variables for 60 records. If each record has one of its own" in advice
    fewer = privlp.LinearProgram(c[:20], A[:, :20], np.zeros(n), bounds=(0, 10))
    assert "variables for" not in privlp.plan(fewer, 1.0, 1e-6, 6).advice
