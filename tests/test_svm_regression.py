"""Regression as linear programs: known answers, limits without noise, what is charged, messages."""

import functools
import math
import tracemalloc
import warnings
from unittest import mock

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.linear_model import QuantileRegressor

from privlp import InvalidParameterError, MostlyNoiseWarning
from privlp.rows.access import InMemory
from privlp.rows.parts import slices
from svm_models import LPSVR, LPQuantileRegressor, PrivateLPSVR, PrivateQuantileRegressor, plan
from svm_models.account import Neighbours
from svm_models.records.grid import RecordGrid, Whitening
from svm_models.regression import losses
from svm_models.regression.descent import _Descent, towards
from svm_models.regression.plan import sensitivity_of_slopes
from svm_models.regression.records import (
    MeasuredPairs,
    Units,
    WhitenedPairs,
    second_moments,
    up_to,
)
from tests.effort import runs
from tests.programs import refused_for_free

pytestmark = pytest.mark.usefixtures("short_advice")

N, P = 3000, 3
BOUNDS = {"X_bounds": ([-1, 0, 0], [1, 10, 5]), "y_bounds": (-20, 30)}


def data(seed=0, n=N):
    rng = np.random.default_rng(seed)
    X = rng.uniform(*np.array(BOUNDS["X_bounds"], dtype=float), (n, P))
    return X, 2 + X @ [3.0, -0.5, 1.0] + rng.laplace(0, 1 + 0.05 * X[:, 1], n)


@functools.cache
def least_loss(q, n=N):
    """Of the exact fit."""
    return LPQuantileRegressor(q).fit(*data(n=n)).objective_


def pinball(r, q):
    return float(np.mean(np.maximum(q * r, (q - 1) * r)))


def insensitive(r, epsilon):
    return float(np.mean(np.maximum(0, np.abs(r) - epsilon)))


# exact


@pytest.mark.parametrize(("q", "constant"), [(0.1, True), (0.5, False), (0.9, True)])
def test_exact_quantiles_are_those_of_scikit_learn(q, constant):
    X, y = data(n=300)
    ours = LPQuantileRegressor(q, fit_intercept=constant).fit(X, y)
    theirs = QuantileRegressor(quantile=q, alpha=0, fit_intercept=constant).fit(X, y)
    assert ours.objective_ == pytest.approx(pinball(y - theirs.predict(X), q), rel=1e-8)
    assert ours.objective_ == pytest.approx(pinball(y - ours.predict(X), q), rel=1e-12)
    assert ours.gap_ < 1e-6


def test_several_exact_quantiles_do_not_cross():
    X, y = data(n=60)
    several = LPQuantileRegressor((0.45, 0.5, 0.55)).fit(X, y)
    assert several.coef_.shape == (3, P)
    assert several.objective_.shape == (3,)
    far = 100 * np.random.default_rng(1).normal(size=(200, P))
    assert (np.diff(several.predict(far), axis=1) >= 0).all()
    assert (np.diff(far @ several.coef_.T + several.intercept_, axis=1) < 0).any()


@pytest.mark.parametrize("epsilon", [0.0, 0.7])
def test_exact_support_vectors_beat_all_others_nearby(epsilon):
    X, y = data(n=200)
    best = LPSVR(C=2.0, epsilon=epsilon).fit(X, y)

    def objective(coef, intercept):
        errors = np.maximum(0, np.abs(y - X @ coef - intercept) - epsilon)
        return np.abs(coef).sum() + 2.0 * errors.sum()

    assert best.objective_ == pytest.approx(objective(best.coef_, best.intercept_), rel=1e-9)
    rng = np.random.default_rng(0)
    for size in (1e-4, 1e-2, 1.0):
        moved = best.coef_ + size * rng.normal(size=P), best.intercept_ + size * rng.normal()
        assert objective(*moved) >= best.objective_ * (1 - 1e-9)


def test_sparse_records_are_fitted_alike():
    X, y = data(n=200)
    for estimator in (
        LPQuantileRegressor(0.3),
        LPSVR(C=1.0),
        PrivateQuantileRegressor(5.0, 1e-6, **BOUNDS, random_state=0),
    ):
        dense = clone(estimator).fit(X, y).coef_
        assert clone(estimator).fit(sp.csc_array(X), y).coef_ == pytest.approx(dense, rel=1e-6)


# private


@pytest.mark.parametrize("relation", ["replace", "add-remove"])
@pytest.mark.parametrize("q", [0.1, 0.5, (0.2, 0.5, 0.8)])
def test_without_noise_the_loss_is_nearly_the_least(q, relation):
    X, y = data()
    options = {"nominal_n": 2500} if relation == "add-remove" else {}
    found = PrivateQuantileRegressor(math.inf, 1e-6, q, relation=relation, **options, **BOUNDS)
    predicted = np.atleast_2d(found.fit(X, y).predict(X).T)
    for level, prediction in zip(np.atleast_1d(q), predicted, strict=True):
        assert pinball(y - prediction, level) <= least_loss(float(level)) * 1.002


@pytest.mark.parametrize("epsilon", [0.0, 1.0])
def test_without_noise_errors_are_nearly_the_least(epsilon):
    X, y = data()
    found = PrivateLPSVR(math.inf, 1e-6, epsilon=epsilon, **BOUNDS).fit(X, y)
    exact = LPSVR(C=1e3, epsilon=epsilon).fit(X, y)
    best = insensitive(y - exact.predict(X), epsilon)
    assert insensitive(y - found.predict(X), epsilon) <= best * 1.005


@pytest.mark.parametrize("eps", [1.0, math.inf])
def test_rare_features_do_not_let_steps_diverge(eps):
    """A feature that one record in a hundred has: far out in whitened coordinates."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.uniform(-1, 1, (8000, 2)), rng.random((8000, 2)) < 0.01])
    y = X @ [1.0, -0.5, 2.0, 1.0] + rng.exponential(0.5, 8000)
    best = LPQuantileRegressor(0.5).fit(X, y).objective_
    bounds = {"X_bounds": (-1, 1), "y_bounds": (-10, 10)}
    fit = PrivateQuantileRegressor(eps, 1e-6, **bounds, random_state=0).fit(X, y)
    assert pinball(y - fit.predict(X), 0.5) <= 1.01 * best


@pytest.mark.parametrize("q", [0.5, (0.25, 0.5, 0.75)])
@pytest.mark.parametrize("eps", [1.0, math.inf])
@pytest.mark.filterwarnings("ignore:The released quantile of y alone:privlp.MostlyNoiseWarning")
def test_features_tell_of_y_though_half_of_it_is_one_value(eps, q):
    """Residuals of a constant are mostly 0, and tell no scale: many who spend nothing."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 2, 10_000), rng.uniform(size=10_000)])
    idle = rng.random(10_000) < np.where(X[:, 0] == 1, 0.9, 0.15)
    y = np.where(idle, 0, rng.gamma(4, 50, 10_000))
    bounds = {"X_bounds": (0, 1), "y_bounds": (0, 2000)}
    found = PrivateQuantileRegressor(eps, 1e-6, q, **bounds, random_state=0).fit(X, y)
    predicted = np.atleast_2d(found.predict(X).T)
    for level, prediction in zip(np.atleast_1d(q), predicted, strict=True):
        least = LPQuantileRegressor(float(level)).fit(X, y).objective_
        assert pinball(y - prediction, level) <= 1.03 * least


def test_a_clear_fit_predicts_far_out_records_too():
    rng = np.random.default_rng(0)
    X = np.clip(rng.lognormal(0, 0.8, (4000, 3)), 0, 20)
    y = X @ [1.0, -2.0, 1.5] + rng.normal(0, 0.3, 4000)
    fit = PrivateQuantileRegressor(2.0, 1e-6, X_bounds=(0, 20), y_bounds=(-90, 90), random_state=0)
    lost = pinball(y - fit.fit(X, y).predict(X), 0.5)
    assert lost < 1.01 * LPQuantileRegressor(0.5).fit(X, y).objective_


def test_units_do_not_matter():
    """Features and y in other units, with their bounds: the same predictions, by the same noise.

    But for the grid: entries are rounded to a 2^-21 of the longest record.
    """
    X, y = data(n=500)
    low, high = np.array(BOUNDS["X_bounds"], dtype=float)
    fit = PrivateQuantileRegressor(2.0, 1e-6, **BOUNDS, random_state=0).fit(X, y)
    scale, shift = np.array([1e-3, 1e6, 4.0]), np.array([7.0, -2e6, 1.0])
    ranges = {"X_bounds": (low * scale + shift, high * scale + shift)}
    ranges["y_bounds"] = (-20 * 64 + 5, 30 * 64 + 5)
    other = PrivateQuantileRegressor(2.0, 1e-6, **ranges, random_state=0)
    other.fit(X * scale + shift, y * 64 + 5)
    assert other.predict(X * scale + shift) == pytest.approx(
        fit.predict(X) * 64 + 5, rel=1e-5, abs=1e-4
    )


def test_private_quantiles_do_not_cross_anywhere():
    X, y = data(n=300)
    fit = PrivateQuantileRegressor(0.2, 1e-6, (0.4, 0.5, 0.6), **BOUNDS, random_state=0).fit(X, y)
    far = 100 * np.random.default_rng(1).normal(size=(300, P))
    assert (np.diff(fit.predict(far), axis=1) >= 0).all()


def test_the_ledger_names_what_was_released():
    X, y = data()
    fit = PrivateQuantileRegressor(1.0, 1e-6, 0.9, **BOUNDS).fit(X, y)
    purposes = [entry.purpose for entry in fit.privacy_.entries]
    assert purposes == [
        "count records for one answer for everyone",
        "sum the second moments of records of norm 1 or less",
        "count records by their norm",
        "count records by the size of their residual",
        "count records above each quantile",
        "count records above each quantile",
        "sum the records",
        *["sum the slopes of the records' losses"] * 4,
        "compare the fit with one answer for everyone",
    ]
    assert "one record (x_i, y_i) replaced" in str(fit.privacy_.relation)
    assert not fit.privacy_.seeded


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize(
    "regressor",
    [
        PrivateQuantileRegressor(1.0, 1e-6, relation="add-remove", nominal_n=100),
        PrivateQuantileRegressor(1.0, 1e-6, relation="add-remove", quantile=(0.2, 0.5)),
        PrivateLPSVR(1.0, 1e-6, epsilon=0.1, relation="add-remove", nominal_n=100),
    ],
)
def test_no_record_at_all_is_a_neighbour_of_one(regressor, sparse):
    """Both give a fit: an error would tell them apart."""
    X, y = data(n=1)
    regressor = clone(regressor).set_params(**BOUNDS, random_state=0)
    with warnings.catch_warnings(action="ignore", category=MostlyNoiseWarning):
        fits = [regressor.fit((sp.csr_array if sparse else np.array)(X[:n]), y[:n]) for n in (0, 1)]
    assert all(np.isfinite(fit.coef_).all() for fit in fits)


# several quantiles

NINE = tuple(np.arange(1, 10) / 10)


def changes(quantiles, moved):
    """All that one record can change in counts above rising levels."""
    many = len(quantiles)
    steps = [np.arange(many) < j for j in range(many + 1)]
    if moved == 2:
        return [1.0 * a - b for a in steps for b in steps]
    return [a - (1 - np.array(quantiles)) for a in steps]


@pytest.mark.parametrize("moved", [1, 2])
@pytest.mark.parametrize("quantiles", [(0.2,), (0.01, 0.5), NINE, (0.3, 0.3, 0.9), (0.999, 0.9999)])
def test_counts_released_together_move_by_one_at_most(quantiles, moved):
    together = losses.Together.counts(quantiles, moved == 2)
    farthest = max(np.linalg.norm(together.shape @ change) for change in changes(quantiles, moved))
    assert farthest <= 1 + 1e-9
    if len(quantiles) > 1:
        assert farthest > 0.99
    assert together.noise == pytest.approx(np.linalg.norm(np.linalg.inv(together.shape), axis=1))


def test_nine_counts_together_are_less_than_twice_as_noisy_as_one():
    """Apart they would be sqrt(9) times as noisy."""
    assert losses.Together.counts(NINE, True).noise.max() < 1.8
    assert losses.Together.counts(NINE, False).noise.max() < 1.1


def rank_errors(found, y):
    return np.abs(np.searchsorted(np.sort(y), found) / len(y) - NINE).mean()


def test_several_quantiles_of_one_column_beat_one_each():
    """Rank error at most half of that of nine fits with a ninth of the budget; seeds fixed."""
    ours, apart = [], []
    for seed in range(3):
        y = np.random.default_rng(seed).gumbel(0, 1, 3000)
        asked = {"y_bounds": (-50, 100), "random_state": seed}
        fit = PrivateQuantileRegressor(0.5, 1e-6, NINE, **asked).fit(None, y)
        ours.append(rank_errors(fit.intercept_, y))
        each = PrivateQuantileRegressor(0.5 / 9, 1e-6 / 9, **asked)
        with warnings.catch_warnings(action="ignore"):
            found = [each.set_params(quantile=q).fit(None, y).intercept_ for q in NINE]
        apart.append(rank_errors(np.sort(found), y))
        assert fit.coef_.shape == (9, 0)
        assert (np.diff(fit.predict(np.empty((2, 0)))) >= 0).all()
        assert [e.purpose for e in fit.privacy_.entries] == [
            "count records for one answer for everyone"
        ]
    assert np.mean(ours) < 0.5 * np.mean(apart)
    assert np.mean(ours) < 0.01


@pytest.mark.parametrize("relation", ["replace", "add-remove"])
@pytest.mark.parametrize("y", [np.random.default_rng(0).lognormal(0, 2, 999), np.arange(60) % 3])
def test_without_noise_quantiles_of_one_column_are_exact(y, relation):
    fit = PrivateQuantileRegressor(math.inf, 1e-6, NINE, y_bounds=(-1, 1e3), relation=relation)
    fit.fit(None, y)
    least = np.quantile(y, NINE, method="inverted_cdf")
    after = np.append(np.unique(y), 1e3)[np.searchsorted(np.unique(y), least, side="right")]
    assert (fit.intercept_ > least - 1e-4).all()
    assert (fit.intercept_ < after + 1e-4).all()


def test_scores_of_several_quantiles_are_their_mean():
    X, y = data(n=400)
    several = LPQuantileRegressor((0.2, 0.7)).fit(X, y)
    pairs = zip((0.2, 0.7), several.predict(X).T, strict=True)
    each = [1 - pinball(y - p, q) / pinball(y - np.quantile(y, q), q) for q, p in pairs]
    assert several.score(X, y) == pytest.approx(np.mean(each), rel=1e-6)


def test_plans_of_one_column_name_the_noise_of_ranks():
    several = PrivateQuantileRegressor(1.0, 1e-6, NINE, y_bounds=(0, 1))
    words = plan(several, 5000, 0).advice
    assert (
        words == "Enough rows for this eps: noise moves quantiles by about 0.15 % of the records."
    )
    assert "Too few rows" in plan(several, 30, 0).advice


# what sensitivities rest on

HOSTILE = st.one_of(
    st.floats(-1e300, 1e300), st.sampled_from([0.0, 1e308, -1e308, 5e-324, math.inf, math.nan])
)


def on_grid(X, y, whiten, bounds=(-1, 1), *, constant=True, most=1000):
    """Records on the grid, and a matrix for what Units makes of them."""
    grid = RecordGrid.of(most)
    units = Units.declared(X.shape[1], bounds, None, (-2, 2), constant=constant)
    return units.pairs(X, y, grid), Whitening.of(units.lift(grid) @ whiten, grid)


def sums_of(pairs, whiten, bound, loss, points):
    """What is released of records: second moments, the sum of all, and that of slopes."""
    moments = second_moments(pairs, whiten) / whiten.grid.of_entry**2
    short = WhitenedPairs(MeasuredPairs(pairs, whiten), bound)
    run = _Descent(InMemory(short), None, bound, whiten.columns * whiten.unit, whiten)
    return moments, run.centre(), run.slopes(points, loss, np.full(loss.count, 0.1))


@given(
    st.lists(st.lists(HOSTILE, min_size=3, max_size=3), min_size=1, max_size=4),
    st.floats(0.01, 100),
    st.sampled_from([(-1, 1), (0, 1), (2, 5)]),
    st.booleans(),
)
@settings(max_examples=100, deadline=None)
def test_no_record_contributes_more_than_is_charged(entries, bound, bounds, constant):
    """Whatever a record holds: shortened vectors, moments and slopes keep to their norms."""
    values, whiten = np.array(entries), np.diag([1.0, 3.0, 1e-3])[:, : 2 + constant]
    whiten = whiten[: 2 + constant]
    with np.errstate(all="ignore"):
        for record in values:
            pairs, matrix = on_grid(record[None, :2], record[2:], whiten, bounds, constant=constant)
            for loss in (losses.Pinball((0.1, 0.5, 0.9)), losses.EpsilonInsensitive(0.3)):
                points = np.ones((loss.count, 2 + constant))
                moments, whole, slopes = sums_of(pairs, matrix, bound, loss, points)
                assert np.linalg.norm(moments) <= 1
                assert np.linalg.norm(whole) <= 1
                assert np.linalg.norm(slopes) <= sensitivity_of_slopes(loss, Neighbours.adding(10))


@pytest.mark.parametrize("bounds", [(-3, 3), (0, 1), ([1, -2, 0], [2, -1, 1])])
@pytest.mark.parametrize("constant", [True, False])
@pytest.mark.parametrize("loss", [losses.Pinball((0.5,)), losses.Pinball((0.2, 0.9))])
def test_sums_are_the_same_bits_in_any_order_and_form(bounds, constant, loss, monkeypatch):
    """Of records in another order, sparse, or a few at a time."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(999, 3)) * (rng.random((999, 3)) < 0.4), rng.uniform(-2, 2, 999)
    order, size = rng.permutation(999), 3 + constant
    whiten, points = rng.normal(size=(size, size)), rng.normal(size=(loss.count, size))

    def found(X, y):
        pairs, matrix = on_grid(X, y, whiten, bounds, constant=constant)
        return sums_of(pairs, matrix, 2.0, loss, points)

    expected = found(X, y)
    others = [found(X[order], y[order]), found(sp.csr_array(X), y), found(np.asfortranarray(X), y)]
    monkeypatch.setattr("svm_models.records.grid.few_at_a_time", few_of_a_hundred)
    others += [found(X, y), found(sp.csr_array(X), y)]
    with mock.patch("privlp.rows.parts.THREADS", 2):
        others.append(found(X, y))
    for other in others:
        for one, two in zip(expected, other, strict=True):
            np.testing.assert_array_equal(one, two)


def few_of_a_hundred(X):
    yield from ((rows, X[rows]) for rows in slices(X.shape[0], 100))


@pytest.mark.parametrize("constant", [True, False])
@pytest.mark.parametrize("bounds", [(-1, 1), (0, 1), (0.5, 4), ([0, -9, -1], [1e-3, -7, 1e3])])
def test_records_on_the_grid_are_features_in_their_units(bounds, constant):
    """Half of the range from the middle to an end: or, without a constant, the farther end."""
    X = np.random.default_rng(0).normal(size=(50, 3)) * [1.0, 8.0, 300.0]
    low, high = np.broadcast_to(bounds[0], 3), np.broadcast_to(bounds[1], 3)
    if constant:
        expected = (np.clip(X, low, high) - (low + high) / 2) / ((high - low) / 2)
        expected = np.column_stack([np.ones(50), expected])
    else:
        expected = np.clip(X, low, high) / np.maximum(abs(low), abs(high))
    (records, _), whiten = on_grid(X, np.zeros(50), np.eye(3 + constant), bounds, constant=constant)
    found = np.concatenate([part.in_double().entries for _, part in records.parts])
    assert found @ whiten.columns * whiten.unit == pytest.approx(expected, abs=1e-6)


def test_sparse_records_are_never_stored_dense():
    """A dense copy would take ten times what is allowed here."""
    rng = np.random.default_rng(0)
    X = sp.random_array((20_000, 200), density=0.01, format="csr", rng=rng)
    y = np.asarray(X @ np.ones(200))
    fit = PrivateQuantileRegressor(
        math.inf, 1e-6, X_bounds=(0, 1), y_bounds=(0, 20), random_state=0
    )
    tracemalloc.start()
    fit.fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20_000 * 200 * 8 / 2
    assert np.abs(y - fit.predict(X)).mean() < 0.05


@given(st.lists(st.floats(0.01, 0.99), min_size=1, max_size=4, unique=True))
def test_slopes_are_those_of_the_loss_far_from_its_kinks(levels):
    loss = losses.Pinball(tuple(sorted(levels)))
    r = np.array([[-3.0], [3.0]]) * np.ones((2, loss.count))
    slopes = loss.slopes(r, np.full(loss.count, 0.1)) + loss.centre
    assert slopes == pytest.approx(np.array([np.array(sorted(levels)) - 1, sorted(levels)]))


def test_constant_features_and_few_records_are_no_error():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", MostlyNoiseWarning)
        fit = PrivateQuantileRegressor(1.0, 1e-6, 0.9, **BOUNDS, random_state=0)
        fit.fit(np.ones((3, P)), np.ones(3))
    assert np.isfinite(fit.coef_).all()


# outer quantiles drawn towards the median


def test_drawing_together_lowers_the_squared_error_near_and_far():
    """Of 20,000 draws for each distance, the largest ratio allowed is 5 standard errors from 1."""
    rng, draws = np.random.default_rng(0), runs(20_000, 5_000)
    left_out = np.array([0.0, 2.0, 0.0, 0.0, 0.0, 0.0])
    for distance, most in ((0.0, 0.75), (2.0, 0.95), (5.0, 1.0), (100.0, 1.002)):
        middle = np.zeros(6)
        truth = np.array([distance, 7.0, 0.0, 0.0, 0.0, 0.0])
        seen = truth + 1.5 * rng.normal(size=(draws, 6))
        seen_middle = middle + 0.8 * rng.normal(size=(draws, 6))
        pairs, square = zip(seen, seen_middle, strict=True), np.array([1.5**2])
        drawn = np.array([towards(s[None], square, m, 0.8**2, left_out)[0] for s, m in pairs])
        assert drawn[:, 1] == pytest.approx(seen[:, 1])
        slopes = [0, 2, 3, 4, 5]
        error = np.square(drawn - truth)[:, slopes].sum(axis=1).mean()
        assert error <= most * np.square(seen - truth)[:, slopes].sum(axis=1).mean()


def test_without_noise_nothing_is_drawn_together():
    points = np.random.default_rng(0).normal(size=(2, 5))
    found = towards(points, np.zeros(2), np.ones(5), 0.0, np.ones(5))
    assert (found == points).all()


@pytest.mark.parametrize(("eps", "most"), [(0.5, 1.01), (4.0, 1.001)])
def test_outer_quantiles_of_five_thousand_people(eps, most):
    """Mean of some fits, seeds fixed: of ten, the means are about three quarters of it, or less."""
    X, y = data(n=5000)
    best = LPQuantileRegressor(0.9).fit(X, y).objective_
    seeds = range(runs(10, 4))
    made = (PrivateQuantileRegressor(eps, 1e-6, 0.9, **BOUNDS, random_state=s) for s in seeds)
    fits = [one.fit(X, y) for one in made]
    assert np.mean([pinball(y - fit.predict(X), 0.9) for fit in fits]) <= best * most


@pytest.mark.filterwarnings("ignore::privlp.MostlyNoiseWarning")
@pytest.mark.parametrize("bounds", [(0, 60), (-60, -10)])
def test_predictions_never_leave_the_bounds_of_y(bounds):
    """Without an intercept too, where y is counted from 0 to both sides."""
    rng = np.random.default_rng(0)
    rows = rng.uniform(0, 10, (2000, 3))
    targets = np.clip(
        rows @ [3.0, -2.0, 1.0] + rng.normal(0, 2, 2000) + 20 * bounds[1] / 60, *bounds
    )
    options = {"X_bounds": (0, 10), "y_bounds": bounds, "fit_intercept": False, "random_state": 3}
    fitted = PrivateQuantileRegressor(0.1, 1e-6, **options).fit(rows, targets)
    assert (
        not (bounds[0] <= rows @ fitted.coef_).all() or not (rows @ fitted.coef_ <= bounds[1]).all()
    )
    predicted = fitted.predict(100 * rows - 500)
    assert bounds[0] <= predicted.min() <= predicted.max() <= bounds[1]


def test_predictions_of_a_fit_without_features():
    y = np.random.default_rng(0).uniform(0, 10, 400)
    for quantile in (0.5, (0.2, 0.8)):
        asked = PrivateQuantileRegressor(1.0, 1e-6, quantile, y_bounds=(0, 10), random_state=0)
        fit = asked.fit(None, y)
        assert fit.predict(None).tolist() == [
            fit.intercept_ if quantile == 0.5 else [*fit.intercept_]
        ]
        assert fit.score(None, y) == fit.score(np.empty((400, 0)), y)
    with pytest.raises(InvalidParameterError, match="X is missing: fit had 3 features"):
        LPQuantileRegressor().fit(np.eye(3), y[:3]).predict(None)
    with refused_for_free("fit_intercept=False leaves nothing to fit") as budget:
        asked.set_params(fit_intercept=False, budget=budget).fit(None, y)


# where noise hides whatever features tell


def least_scored(scores):
    """A selection without noise."""
    return scores.argmax()


@pytest.mark.parametrize("quantile", [0.25, 0.5, 0.7])
def test_a_level_selected_without_noise_is_the_quantile(quantile):
    y = np.sort(np.random.default_rng(0).uniform(-1, 1, 999))
    levels = losses.public_levels()
    assert -1 == levels[0] < levels[-1] == 1
    assert (np.diff(levels) >= 0).all()
    found = losses.selected(up_to((None, y), levels), least_scored, quantile)
    assert abs(np.mean(y <= found) - quantile) < 2e-3


@pytest.mark.parametrize("kind", [PrivateQuantileRegressor, PrivateLPSVR])
@pytest.mark.parametrize("added", [{}, {"relation": "add-remove", "nominal_n": 300}])
def test_one_quantile_takes_the_whole_budget_where_noise_hides_all_else(kind, added):
    rng = np.random.default_rng(0)
    rows, targets = rng.uniform(0, 1, (300, 4)), rng.gamma(2, 3, 300)
    asked = kind(0.1, 1e-6, X_bounds=(0, 1), y_bounds=(0, 200), random_state=0, **added)
    with pytest.warns(MostlyNoiseWarning, match="noise hides all that features tell"):
        fit = asked.fit(rows, targets)
    (entry,) = fit.privacy_.entries
    assert (entry.mechanism, entry.draws) == ("exponential mechanism", 1)
    assert 0.1 * (1 - 1e-6) < float(entry.parameter.removeprefix("eps = ")) < 0.101
    assert not fit.coef_.any()
    assert 0.3 < np.mean(targets <= fit.intercept_) < 0.7
    assert len(plan(asked, 300, 4).parts) == 1
    counts = kind(0.3, 1e-6, X_bounds=(0, 1), y_bounds=(0, 200), **added)
    assert [part.draws for part in plan(counts, 300, 4).parts] == [28]


def test_a_far_quantile_is_looked_for_farther_inside_and_the_plan_says_so():
    found = plan(PrivateQuantileRegressor(0.1, 1e-6, 0.9, y_bounds=(0, 200)), 300, 0)
    assert "one of the quartiles is looked for in place of a farther one" in found.advice
    assert math.isinf(found.excess_loss)


@pytest.mark.parametrize(("bounds", "warned"), [((0, 9), False), ((0, 1), True), ((8, 9), True)])
def test_a_range_that_values_of_y_go_beyond_is_warned_of(bounds, warned):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (2000, 2))
    y = 4 + X[:, 0] + rng.normal(0, 0.3, 2000)
    model = PrivateQuantileRegressor(2.0, 1e-6, X_bounds=(-1, 1), y_bounds=bounds, random_state=0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, y)
    said = [str(w.message).startswith("The released quantile of y alone is at an") for w in caught]
    assert said == [True] * warned
    assert not warned or str(bounds) in str(caught[0].message)
