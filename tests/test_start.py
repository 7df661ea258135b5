"""A start from an earlier solution: what it may be, what it costs, and what it is worth."""

import math
import warnings
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import privlp
from benchmarks.days import Family, days
from benchmarks.families.hard import diet
from privlp import LinearProgram
from privlp.cli import main
from privlp.methods.chain import start as chain_start
from privlp.methods.chain.known import LOOKS, looks_tell, way_by
from privlp.methods.counts import CountsOfSums, NoisyCounts
from privlp.methods.request import KnownPoint
from privlp.methods.staged import charges
from privlp.privacy import Budget, GaussianMechanism, Ledger, Randomness
from privlp.regions.polytope import ReducedPolytope
from privlp.regions.public_rows import PublicRows
from privlp.relations import ConstraintPrivate
from privlp.start import start_of

D, S = 16, 50


#: Costs of four supplies in boxes; a chain is taken there.
COSTS = np.array([3.0, 1.0, 2.0, 1.5])


def boxed(number, n=2000, **fields):
    """Needs of four supplies in boxes, one public row, of other people every day."""
    A = np.random.default_rng([number, n]).uniform(0.2, 1.0, (n, 4))
    rows, sides = np.vstack([np.ones(4), -A]), np.append(9.0, -np.ones(n))
    return LinearProgram(COSTS, rows, sides, private=np.arange(n + 1) > 0, bounds=(0, 4), **fields)


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


@pytest.mark.parametrize(
    ("programs", "eps", "method", "most"),
    [
        (lambda: days(Family(partial(diet, d=16), 4000, 80), 1, 0.0), 0.5, "staged", 0.9),
        (lambda: map(boxed, range(6)), 4.0, "chain", 0.97),
    ],
    ids=["staged", "chain"],
)
def test_a_start_makes_the_same_eps_worth_more(programs, eps, method, most):
    ratios, known = [], None
    for number, lp in enumerate(programs()):
        asked = {"eps": eps, "method": method, "rng": number}
        none, known = (solve(lp, **asked, start=start) for start in (None, known))
        ratios.append(known.objective / none.objective)
    assert ratios[0] == 1
    assert np.log(ratios).mean() < np.log(most)


@pytest.mark.parametrize(
    ("program", "eps", "method", "wrong", "most"),
    [(day, 1.0, "staged", x, 1.25) for x in (np.full(D, 1.0), 9 * np.eye(D)[-1])]
    + [
        (boxed, eps, "chain", x, 1.1)
        for eps in (0.3, 4.0)
        for x in (np.full(4, 2.2), np.full(4, 1e-3), 2.0 * np.eye(4)[0], np.zeros(4))
    ],
)
def test_a_wrong_start_does_little_harm(program, eps, method, wrong, most):
    """Dearer than need be, missing every row, at a corner, and the cheapest point."""
    ratios = []
    for k in range(1, 5 if method == "chain" else 4):
        asked = {"eps": eps, "method": method, "rng": k}
        known, none = (solve(program(k), **asked, start=start) for start in (wrong, None))
        ratios.append(known.objective / none.objective)
    assert np.log(ratios).mean() < np.log(most)


def test_the_same_start_in_other_units(yesterday):
    """Powers of two: the same bits."""
    units = 2.0 ** np.random.default_rng(0).integers(-3, 4, D)
    plain = solve(day(1), start=yesterday)
    scaled = solve(day(1, units=units), start=yesterday.x / units)
    assert scaled.x * units == pytest.approx(plain.x, rel=1e-6)


@pytest.mark.parametrize(("program", "method"), [(day, "staged"), (boxed, "chain")])
def test_without_noise_a_start_changes_nothing(program, method, monkeypatch):
    monkeypatch.setattr(charges, "_EXACT", charges._EXACT[:2])
    lp = program(0, n=200)
    asked = {"method": method, "start": np.full(lp.shape[1], 0.3)}
    none, known = (solve(lp, math.inf, 10, **asked | of) for of in ({"start": None}, {}))
    assert (none.x == known.x).all()
    assert "not used" in known.advice


def test_auto_takes_the_method_that_goes_on_from_a_start(yesterday):
    lp = day(1)
    assert privlp.plan(lp, 0.5, 1e-6, S).best == "chain"
    plan = privlp.plan(lp, 0.5, 1e-6, S, start=yesterday)
    assert plan.best == "staged"
    assert "taken for public" in plan.advice
    assert "not used by method='perturbed'" in solve(lp, method="perturbed", start=yesterday).advice


@pytest.fixture(scope="module")
def boxed_yesterday():
    return solve(boxed(0), 4.0, method="auto")


def test_a_chain_goes_on_from_a_start(boxed_yesterday):
    """Its price is that of a solve without one; another point leads elsewhere."""
    assert privlp.plan(boxed(1), 1.0, 1e-6, S, start=boxed_yesterday).best == "chain"
    none, known = (solve(boxed(1), 4.0, method="auto", start=of) for of in (None, boxed_yesterday))
    assert none.method == known.method == "chain"
    assert (none.privacy.eps, none.privacy.delta) == (known.privacy.eps, known.privacy.delta)
    assert "taken for public" in known.advice
    assert not (none.x == known.x).all()


def test_a_saved_start_gives_the_same_bits(boxed_yesterday, tmp_path):
    boxed_yesterday.save(tmp_path / "yesterday.json")
    loaded = privlp.Solution.load(tmp_path / "yesterday.json")
    points = [solve(boxed(1), 4.0, method="chain", start=of).x for of in (boxed_yesterday, loaded)]
    assert (points[0] == points[1]).all()
    # The deep point of its trace counts; a point alone has none.
    assert not (solve(boxed(1), 4.0, method="chain", start=loaded.x).x == points[0]).all()


@pytest.mark.parametrize("deep", [[], "x", [[1.0]], [[9.0] * 4], [[math.nan] * 4]])
def test_a_deep_point_that_is_none_is_passed_over(boxed_yesterday, deep):
    """Such as that of a damaged file."""
    broken = replace(boxed_yesterday, trace={"deep point": np.array(deep)})
    points = [solve(boxed(1), 4.0, method="chain", start=s).x for s in (broken, boxed_yesterday.x)]
    assert (points[0] == points[1]).all()


@pytest.mark.parametrize(
    ("found", "looks", "taken"),
    [
        ([200, 2000, 100], 3, True),
        ([200, 2000, 500, 100], LOOKS, True),  # Few are missed only nearer by.
        ([450], 1, False),  # Too many are missed at the start itself,
        ([200, 300], 2, False),  # or not more than noise turns up at less cost,
        ([200, 2000, 500, 500], LOOKS, False),  # or many at each end.
    ],
)
def test_counts_say_by_more_than_noise_whether_a_start_is_taken(found, looks, taken):
    """With a deviation of 100, 4 counts reach 3.5 of them in one of 1,000 runs."""
    lp, left, x, deep = boxed(0), iter(found), np.full(4, 0.5), np.full(4, 0.6)

    def counts(_):
        return next(left)

    counts.sigma = 100.0
    public = PublicRows(lp)
    way = way_by(KnownPoint(x, deep), counts, public, ReducedPolytope(public), 0 * x, 25.0, 360.0)
    assert looks_tell(360.0, counts.sigma)
    assert not looks_tell(340.0, counts.sigma)
    assert (way is not None) == taken
    assert len(found) - len(list(left)) == looks
    if way is not None:
        np.testing.assert_allclose(way.far, deep if looks == LOOKS else 2 * deep - x)
        np.testing.assert_allclose(way.begin, 2 * x - way.far)


@pytest.mark.parametrize(("eps", "looks"), [(0.3, 0), (1.0, 0), (4.0, LOOKS), (16.0, LOOKS)])
def test_looks_at_a_start_cost_a_small_share(boxed_yesterday, eps, looks):
    """So many more counts on ways; noise of no draw grows by much. None where noise is large."""
    none, known = (solve(boxed(1), eps, method="chain", start=of) for of in (None, boxed_yesterday))
    before, after = none.privacy.entries, known.privacy.entries
    assert after[0].draws == before[0].draws + looks
    assert [of.draws for of in after[1:]] == [of.draws for of in before[1:]]
    sigmas = [[float(of.parameter.split()[-1]) for of in entries] for entries in (after, before)]
    times = np.divide(*sigmas)
    assert 0.999 <= min(times) <= max(times) <= 1.03
    if not looks:
        assert (none.x == known.x).all()


@pytest.mark.parametrize("eps", [16.0, 48.0])
@pytest.mark.parametrize(
    ("fields", "times"),
    [
        ({"rows_per_record": 2}, 1.0),
        ({"change": "add-remove", "nominal_n": 300}, 1.0),
        ({"change": "add-remove", "nominal_n": 300}, 4.0),
    ],
)
def test_an_audit_of_a_chain_from_a_start(monkeypatch, times, fields, eps):
    """The twin looks at a start by counts that move more than was paid for."""
    looked: list[object] = []

    def counted(self, x):
        self.left -= 1
        return float(self._draw(times * self._rows.total(self._kernel, x)))

    def more(*about):
        looked.append(about)
        with monkeypatch.context() as patch:
            patch.setattr(NoisyCounts, "__call__", counted)
            return way_by(*about)

    monkeypatch.setattr(chain_start, "way_by", more)
    lp, start = boxed(0, n=300, neighbours=ConstraintPrivate(**fields)), np.full(4, 0.4)
    asked = {"method": "chain", "start": start, "pairs": 2, "runs": 0, "rng": 0}
    assert privlp.audit_solve(lp, eps, 1e-6, 30, **asked).passed == (times == 1)
    assert looked


NAMED = tuple(f"x{k}" for k in range(D))


@pytest.mark.parametrize(
    ("start", "message"),
    [
        (np.ones(3), r"start has shape \(3,\), but the program has 16 variables"),
        (np.full(D, np.nan), "The start holds NaN"),
        ("yesterday", "start must be a vector of real numbers, or a solution"),
        (-np.ones(D), r"start is outside the bounds of variable 'x0'\. It must be a point of the"),
        (np.full(D, 50.0), "start breaks 1 public rows"),
        (
            pd.Series(np.ones(D), [*NAMED[:-1], "y"]),
            r"start must .*; other labels are no variables",
        ),
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
    with pytest.raises(privlp.InvalidParameterError, match=r"drawn with a seed.*--seed 0"):
        solve(lp, start=yesterday, rng=None)
    numbers = privlp.examples.advertising(private="budgets")
    with pytest.raises(privlp.InvalidParameterError, match="only numbers are private"):
        privlp.solve(numbers, 1.0, 1e-3, start=np.zeros(numbers.c.size))


def test_a_start_of_variables_in_another_order_goes_by_name():
    lp, yesterday = day(1, n=200, variable_names=NAMED), solve(day(0, n=200), s=20)
    points = {"deep point": [x[::-1] for x in yesterday.trace.get("deep point", ())]}
    turned = replace(
        yesterday,
        x=yesterday.x[::-1],
        variable_names=NAMED[::-1],
        trace={**yesterday.trace, **points},
    )
    same = replace(yesterday, variable_names=NAMED)
    assert np.array_equal(solve(lp, s=20, start=turned).x, solve(lp, s=20, start=same).x)
    series = pd.Series(turned.x, index=turned.variable_names)
    assert np.array_equal(start_of(lp, series).x, yesterday.x)


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
