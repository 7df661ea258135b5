"""Rows hold together with the probability asked for, and twins of the margins are caught."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom

import privlp
from privlp import LinearProgram, ObjectivePrivate, RowPrivate, ScalarPrivate, examples
from privlp.methods import METHODS, SolveRequest
from privlp.methods.tightened.method import Margins, QuantileNoise
from privlp.methods.tightened.ranges import needed_ends
from privlp.privacy import GaussianMechanism, LaplaceMechanism, Randomness
from privlp.problem.standard_form import violated
from tests.effort import each, runs

INF = float("inf")
ONCE_IN = 1e-4


def at_most(failures, count, share):
    """Whether so many failures agree with a failure rate of at most `share`."""
    return bool(binom.sf(failures - 1, count, share) > ONCE_IN)


def at_least(failures, count, share):
    return bool(binom.cdf(failures, count, share) > ONCE_IN)


def planned(lp, eps, delta, probability):
    """The private numbers of a program, their noise, and the margins."""
    task = SolveRequest.of(lp, eps, delta, feasible=probability)
    numbers = task.relation.private_numbers(task.form)
    run = QuantileNoise().plan(task)
    mechanisms = [mechanism for mechanism, _, _ in run.charges]
    return task.form, numbers, mechanisms, Margins.of(task.form, numbers, probability)


class Draw:
    """A draw that is made again in every run."""

    def __init__(self, mechanism, seed):
        self.mechanism, self.randomness = mechanism, Randomness(seed)

    def __call__(self, values):
        return self.mechanism.release(values, self.randomness)


def outside(lp, eps, delta, probability, count, margins_of=lambda margins: margins):
    """In how many of `count` releases some private number lies outside what it was tightened to."""
    form, numbers, mechanisms, margins = planned(lp, eps, delta, probability)
    margins, failing = margins_of(margins), np.zeros(count, dtype=bool)
    for place, (part, mechanism) in enumerate(zip(numbers, mechanisms, strict=True)):
        values = np.tile(lp.rows().values(part), (count, 1))
        draw = Draw(mechanism, 7 + place)
        margin = margins.on(part, mechanism)
        released = draw(values)
        lower, upper = needed_ends(form, part)
        failing |= ((released - margin > values) & lower).any(axis=1)
        failing |= ((released + margin < values) & upper).any(axis=1)
    return int(failing.sum())


def boxes(m, relation, **fields):
    """Maximise a sum of m variables, each with a bound as a row: every row is tight."""
    return LinearProgram(
        np.ones(m), np.eye(m), np.full(m, 50.0), sense="max", neighbours=relation, **fields
    )


EVERY_PART = (RowPrivate(0.01), ScalarPrivate(0.1), ObjectivePrivate(0.1, lower=0, upper=2))
#: With eps and delta. Noise is Gaussian where delta is positive.
PROGRAMS = {
    "b, Laplace": (boxes(20, ScalarPrivate(1.0, norm="1")), 1.0, 0.0),
    "b, Gaussian": (boxes(60, ScalarPrivate(1.0)), 1.0, 1e-6),
    "one b": (boxes(1, ScalarPrivate(1.0)), 1.0, 0.0),
    "A": (boxes(4, RowPrivate(0.01, lower=0, upper=2), bounds=(0, 90)), 1.0, 0.0),
    "A, x of either sign": (boxes(3, privlp.ColumnPrivate(0.01), bounds=(-90, 90)), 1.0, 0.0),
    "A, b and c": (boxes(3, EVERY_PART, bounds=(-90, 90)), 2.0, 0.0),
}


@pytest.mark.statistical
@pytest.mark.parametrize(("name", "probability"), each(PROGRAMS, [0.5, 0.9, 0.99]))
def test_numbers_lie_within_their_margins_with_just_the_probability(name, probability):
    """Jointly exact: neither less often than promised, nor more often."""
    lp, eps, delta = PROGRAMS[name]
    kind = GaussianMechanism if delta > 0 else LaplaceMechanism
    assert any(isinstance(m, kind) for m in planned(lp, eps, delta, probability)[2])
    failures = outside(lp, eps, delta, probability, 20_000)
    assert at_most(failures, 20_000, 1 - probability)
    assert at_least(failures, 20_000, 1 - probability)


TWINS = {
    "each number with the probability": lambda margins: replace(
        margins, tail=1 - margins.probability
    ),
    "one end where both are needed": lambda margins: replace(
        margins, both={part: np.zeros_like(both) for part, both in margins.both.items()}
    ),
    "each part with the probability": lambda margins: Margins(
        margins.probability,
        -math.expm1(
            math.log(margins.probability) / max(len(both) for both in margins.both.values())
        ),
        margins.both,
    ),
}


@pytest.mark.statistical
@pytest.mark.parametrize("twin", TWINS)
def test_margins_that_are_too_small_are_caught(twin):
    """Miss rate below 0.01."""
    lp, eps, delta = PROGRAMS["A, b and c"]
    assert not at_most(outside(lp, eps, delta, 0.9, 20_000, TWINS[twin]), 20_000, 0.1)


def true_rows_fail(lp, x):
    form = privlp.problem.standard_form.StandardForm.of(lp, every_row=True)
    rows = form.row_sign[:, None] * np.asarray(lp.A)[form.row]
    rhs = np.where(form.row_sign > 0, lp.b[form.row], -lp.row_lower[form.row])
    return bool(violated(rows, x, rhs).any())


def failures_of_solutions(lp, probability, count, **options):
    """In how many solves some true row fails, in exact arithmetic."""
    options["feasible"] = probability
    found = [privlp.solve(lp, 1.0, 0.0, rng=seed, **options) for seed in range(count)]
    assert {solution.method for solution in found} == {"tightened"}
    return sum(true_rows_fail(lp, solution.x) for solution in found)


def lower_sides(m):
    """Rows A x >= b of private b, with x of either sign."""
    return LinearProgram(
        np.ones(m),
        np.eye(m),
        np.full(m, INF),
        row_lower=np.full(m, -3.0),
        bounds=(-90, 90),
        neighbours=ScalarPrivate(0.5, norm="1"),
    )


SOLVED = {
    "upper sides": boxes(6, ScalarPrivate(1.0, norm="1")),
    "lower sides": lower_sides(6),
    "clipped": boxes(6, ScalarPrivate(1.0, norm="1", lower=49, upper=51)),
    "A": boxes(3, RowPrivate(0.01), bounds=(-90, 90)),
    "advertising": examples.advertising(private="both"),
}


@pytest.mark.statistical
@pytest.mark.parametrize("name", SOLVED)
def test_true_rows_hold_with_the_probability(name):
    """Where every row is tight and nothing is clipped, they fail half as often as allowed."""
    count = runs(1_000, 100 if name == "upper sides" else 50)
    failures = failures_of_solutions(SOLVED[name], 0.8, count)
    assert at_most(failures, count, 0.2)
    assert name != "upper sides" or at_least(failures, count, 0.1)


def test_cost_lies_between_none_and_always():
    lp = examples.advertising()
    best = privlp.solve_exact(lp).objective
    for eps in (0.5, 4.0):
        nearly, probably, always = (
            sum(privlp.solve(lp, eps, 1e-6, feasible=p, rng=k).objective for k in range(5)) / best
            for p in (None, 0.99, "always")
        )
        assert always < probably < nearly


def test_a_lower_probability_costs_less():
    lp = examples.hospital_capacities()
    low, high = (
        privlp.plan(lp, 1.0, 0.0, feasible=p).predictions["tightened"].on_numbers[0].typical
        for p in (0.5, 0.99)
    )
    # Laplace noise of scale 1 on 12 numbers, half of the failures: ln(12/(2 * 0.005)), nearly.
    expected = math.log(1 / (2 * -math.expm1(math.log(0.995) / 12)))
    assert low < high == pytest.approx(expected)


def test_by_name_the_probability_is_99_per_cent():
    lp = examples.advertising()
    asked = {"method": QuantileNoise()}, {"feasible": 0.99}
    one, two = (privlp.solve(lp, 1.0, 0.0, rng=0, **options) for options in asked)
    assert np.array_equal(one.x, two.x)
    assert one.message == two.message
    assert "hold together with probability at least 0.99 over the noise within eps" in one.message


def test_the_plan_names_the_margin_and_the_worst_objective():
    lp = examples.advertising()
    plan = privlp.plan(lp, 1.0, 0.0, feasible=0.99)
    assert plan.best == "tightened"
    assert plan.verdict is privlp.Verdict.PROBABLY_HOLD
    assert not plan.verdict.worrying
    assert "Whatever the noise, the objective is at least 10" in plan.advice
    for seed in range(3):
        assert privlp.solve(lp, 0.05, 0.0, feasible=0.99, rng=seed).objective >= 10 - 1e-6
    assert privlp.plan(lp, 0.01, 0.0, feasible=0.99).verdict is privlp.Verdict.TOO_MUCH_NOISE
    message = privlp.solve(lp, 0.01, 0.0, feasible=0.99, rng=0).message
    assert message.startswith("Noise is wider than the declared range of the right-hand sides b:")


def test_without_ranges_contradictory_rows_end_as_infeasible():
    fields = {"row_lower": [-INF, 1.0], "neighbours": ScalarPrivate(1.0)}
    lp = LinearProgram([1.0], [[1.0], [1.0]], [2.0, INF], **fields)
    plan = privlp.plan(lp, 0.1, 0.0, feasible=0.99)
    assert "may contradict each other; then the solve ends as infeasible" in plan.advice
    budget = privlp.Budget(1.0, 0.0)
    solution = privlp.solve(lp, 0.1, 0.0, feasible=0.99, budget=budget, rng=0)
    assert (solution.status, solution.x) == (privlp.Status.INFEASIBLE, None)
    assert not solution.success
    assert solution.message.startswith("The tightened rows contradict each other, so no x is")
    assert budget.spent() == pytest.approx(0.1)


def test_ranges_within_which_rows_contradict_each_other_are_named_by_the_plan():
    fields = {"row_lower": [-INF, 1.0], "row_names": ["roof", "floor"]}
    fields["neighbours"] = ScalarPrivate(0.1, lower=[1.5, 0.5], upper=[4.0, 2.0])
    lp = LinearProgram([1.0], [[1.0], [1.0]], [3.0, INF], **fields)
    advice = privlp.plan(lp, 1.0, 0.0, feasible=0.99).advice
    assert "In the way: row 'roof' (lower end 1.5; about 2 would do)." in advice
    assert privlp.solve(lp, 9.0, 0.0, feasible=0.99, rng=0).success


def test_whole_constraints_and_private_equalities_are_refused():
    with pytest.raises(privlp.UnsupportedProblemError, match="feasible must be None here"):
        privlp.solve(LinearProgram([1], [[-1]], [-2]), 1.0, 1e-6, feasible=0.99)
    lp = LinearProgram([1], [[1]], [2], row_lower=[2], private=[0], neighbours=ScalarPrivate(1.0))
    with pytest.raises(privlp.UnsupportedProblemError, match="A private equality cannot be tight"):
        privlp.solve(lp, 1.0, 0.0, feasible=0.99)


def test_a_method_of_your_own_must_promise_what_is_asked_for():
    lp = examples.advertising()
    nearly = "method='direct-noise' does not promise feasible=.*: its rows hold nearly"
    for method, feasible, message in (
        (METHODS["direct-noise"], 0.99, nearly),
        (METHODS["direct-noise"], "always", nearly),
        (QuantileNoise(), "always", "its rows hold probably"),
    ):
        with pytest.raises(privlp.InvalidParameterError, match=message):
            privlp.solve(lp, 1.0, 1e-3, method=method, feasible=feasible)
    for name in ("tightened", "truncated-laplace-published"):
        assert privlp.solve(lp, 1.0, 1e-3, method=METHODS[name], feasible=0.9, rng=0).success
