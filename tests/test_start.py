"""A start from an earlier solution: what it may be, what it costs, and what it is worth."""

import math
import warnings
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from click.testing import CliRunner

import privlp
from benchmarks.days import Family, days
from benchmarks.families.hard import diet
from privlp import LinearProgram
from privlp.cli import main
from privlp.methods.counts import CountsOfSums
from privlp.methods.staged import charges
from privlp.privacy import Budget, GaussianMechanism, Ledger, Randomness
from privlp.relations import ConstraintPrivate

D, S = 16, 50


def day(number, n=2000, *, units=None, **fields):
    """Needs of three supplies of 16 that most people have, of other people every day."""
    rng = np.random.default_rng([number, n])
    A = rng.uniform(0.5, 1.5, (n, D)) * (rng.random((n, D)) < np.r_[[0.9] * 3, [0.1] * (D - 3)])
    A[:, 3] += 0.1
    units, cost = np.ones(D) if units is None else units, np.r_[[1.0] * 3, [2.0] * (D - 3)]
    return LinearProgram(cost * units, -A * units, -np.ones(n), **fields)


def solve(lp, eps=1.0, s=S, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", privlp.MostlyNoiseWarning)
        warnings.simplefilter("ignore", privlp.MissedRowsWarning)
        options = {"method": "staged", "rng": 0, **options}
        return privlp.solve(lp, eps, 0.0 if math.isinf(eps) else 1e-6, s, **options)


@pytest.fixture(scope="module")
def yesterday():
    return solve(day(0))


def test_a_start_changes_no_price(yesterday):
    """Nor what is charged before the first draw."""
    none, known = (solve(day(1), start=start).privacy for start in (None, yesterday))
    assert (none.eps, none.delta) == (known.eps, known.delta)
    charged = [[(e.mechanism, e.parameter, e.draws) for e in of.entries] for of in (none, known)]
    assert charged[0] == charged[1]
    assert "or count them" in str(known)


def test_a_start_makes_the_same_eps_worth_more():
    family, ratios = Family(partial(diet, d=16), 4000, 80), []
    known = None
    for number, lp in enumerate(days(family, 1, 0.0)):
        none = solve(lp, 0.5, rng=number)
        known = solve(lp, 0.5, rng=number, start=known)
        ratios.append(known.objective / none.objective)
    assert ratios[0] == 1
    assert np.log(ratios).mean() < np.log(0.9)


@pytest.mark.parametrize("wrong", [np.full(D, 1.0), 9 * np.eye(D)[-1]])
def test_a_wrong_start_does_little_harm(wrong):
    ratios = [
        solve(day(k), start=wrong, rng=k).objective / solve(day(k), rng=k).objective
        for k in range(1, 4)
    ]
    assert np.log(ratios).mean() < np.log(1.25)


def test_the_same_start_in_other_units(yesterday):
    """Powers of two: the same bits."""
    units = 2.0 ** np.random.default_rng(0).integers(-3, 4, D)
    plain = solve(day(1), start=yesterday)
    scaled = solve(day(1, units=units), start=yesterday.x / units)
    assert scaled.x * units == pytest.approx(plain.x, rel=1e-6)


def test_without_noise_a_start_changes_nothing(monkeypatch):
    monkeypatch.setattr(charges, "_EXACT", charges._EXACT[:2])
    lp, tried = day(0, n=200), np.full(D, 0.3)
    none, known = (solve(lp, math.inf, 10, start=start) for start in (None, tried))
    assert (none.x == known.x).all()
    assert "not used" in known.advice


def test_auto_takes_the_method_that_goes_on_from_a_start(yesterday):
    lp = day(1)
    assert privlp.plan(lp, 0.5, 1e-6, S).best == "chain"
    plan = privlp.plan(lp, 0.5, 1e-6, S, start=yesterday)
    assert plan.best == "staged"
    assert "taken for public" in plan.advice
    assert "not used by method='chain'" in solve(lp, method="chain", start=yesterday).advice


NAMED = tuple(f"x{k}" for k in range(D))


@pytest.mark.parametrize(
    ("start", "message"),
    [
        (np.ones(3), r"start has shape \(3,\), but the program has 16 variables"),
        (np.full(D, np.nan), "The start holds NaN"),
        ("yesterday", "start must be a vector of real numbers, or a solution"),
        (
            -np.ones(D),
            r"start is outside the bounds of variable 'x0'\. It must be a point of the same",
        ),
        (np.full(D, 50.0), "start breaks 1 public rows"),
    ],
)
def test_what_is_no_start(start, message):
    A, b = np.vstack([-np.ones((40, D)), np.ones(D)]), np.append(-np.ones(40), 100.0)
    private, budget = np.arange(41) < 40, Budget(1.0, 1e-6)
    lp = LinearProgram(np.ones(D), A, b, private=private, variable_names=NAMED)
    for call in (partial(privlp.solve, budget=budget), privlp.plan):
        with pytest.raises(privlp.InvalidParameterError, match=message) as raised:
            call(lp, 1.0, 1e-6, 10, start=start)
        assert raised.value.parameter == "start"
    assert budget.spent() == 0


def test_what_is_not_public_is_no_start(yesterday):
    lp = day(1)
    for start, message in [
        (privlp.solve_exact(lp), "an exact solution is not"),
        (replace(yesterday, privacy=replace(yesterday.privacy, eps=math.inf)), "without noise"),
    ]:
        with pytest.raises(privlp.InvalidParameterError, match=message):
            solve(lp, start=start)
    with pytest.raises(privlp.InvalidParameterError, match="drawn with a seed"):
        solve(lp, start=yesterday, rng=None)
    numbers = privlp.examples.advertising(private="budgets")
    with pytest.raises(privlp.InvalidParameterError, match="only numbers are private"):
        privlp.solve(numbers, 1.0, 1e-3, start=np.zeros(numbers.c.size))


@pytest.mark.parametrize("names", [NAMED[::-1], (*NAMED[:-1], "y")])
def test_names_of_other_variables(names):
    start = solve(day(0, n=200, variable_names=names), s=20)
    message = "in another order: number 1 is 'x15'" if names[0] == "x15" else "of other names: numb"
    with pytest.raises(privlp.InvalidParameterError, match=message):
        solve(day(1, n=200, variable_names=NAMED), s=20, start=start)


@pytest.mark.parametrize("change", ["replace", "add-remove"])
@pytest.mark.parametrize("times", [1.0, 2.5])
def test_an_audit_of_a_run_from_a_start(monkeypatch, times, change):
    """The twin counts by more than was paid for."""
    call = CountsOfSums.__call__
    monkeypatch.setattr(CountsOfSums, "__call__", lambda self, count: call(self, times * count))
    nominal = {} if change == "replace" else {"change": change, "nominal_n": 300}
    lp = day(0, n=300, neighbours=ConstraintPrivate(**nominal))
    start = np.r_[[0.6] * 3, [0.01] * (D - 3)]
    found = privlp.audit_solve(
        lp, 8.0, 1e-6, 30, method="staged", start=start, pairs=2, runs=0, rng=0
    )
    assert found.passed == (times == 1)


def test_counts_of_sums_have_the_noise_that_they_say():
    ledger = Ledger(50.0, 1e-6)
    requests = [(GaussianMechanism(1.0, 9.0), 4), (GaussianMechanism(2.0, 12.0), 1000)]
    draws = ledger.charge_together(
        [(*request, "counts") for request in requests], ConstraintPrivate(), Randomness(0)
    )
    counts = CountsOfSums(draws[0], draws[1:], 1.0)
    found = [counts(100.0) for _ in range(4)]
    assert counts.sigma == pytest.approx(1 / math.sqrt(1 / 81 + 250 / 36))
    assert not any(draw.remaining for draw in draws)
    assert np.abs(np.array(found) - 100).max() < 4 * counts.sigma


def test_on_the_command_line(tmp_path):
    lp = day(0, n=200, variable_names=NAMED)
    model, first = str(tmp_path / "model.mps"), str(tmp_path / "yesterday.json")
    lp.to_mps(model)
    ask = ["solve", model, "--eps", "8", "--delta", "1e-6", "--s", "20", "--method", "staged"]
    run = CliRunner().invoke(main, [*ask, "--seed", "1", "--json", first])
    assert run.exit_code == 0, run.output
    again = CliRunner().invoke(main, [*ask, "--seed", "2", "--start", first])
    assert again.exit_code == 0, again.output
    missing = CliRunner().invoke(main, [*ask, "--start", "none.json"])
    assert (missing.exit_code, "none.json" in missing.output) == (2, True)
