"""PrivateLPSVC: exact without noise, what one record can change, audits, messages, its rule."""

import math
from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize

from privlp import MostlyNoiseWarning
from privlp.game.duals import AcceleratedDescent
from privlp.privacy import GaussianMechanism, Ledger, Randomness
from privlp.regions.simplex import L1Ball, onto_l1_ball
from privlp.rows import parts as row_parts
from privlp.rows.access import InMemory
from svm_models import PrivateLPSVC, whitening
from svm_models.account import RELATION
from svm_models.classifiers.lp_svc_plan import Rule
from svm_models.classifiers.risk import huber
from svm_models.records import grid as grids
from svm_models.records import within_norm
from svm_models.whitening import PURPOSE_AGAIN, Coordinates, second_moments
from tests.effort import runs

#: Classes are left out here where they do not matter.
pytestmark = [
    pytest.mark.filterwarnings("ignore:The two classes are read from the records"),
    pytest.mark.usefixtures("short_advice"),
]
RNG = np.random.default_rng(0)
X = RNG.normal(0, 1, (300, 4)) * [1.0, 0.5, 0.2, 0.1]
X /= np.linalg.norm(X, axis=1).max()
Y = np.where(X @ [1.0, -2.0, 3.0, 0.0] + RNG.normal(0, 0.2, 300) > 0, 1, -1)


def risk(w, records=X, labels=Y):
    return float(huber().value(labels * (records @ w)).mean())


def exact(radius):
    """The least risk over the ball, by another solver.

    With w = u - v, u and v non-negative, sum(u + v) <= radius.
    """
    M = Y[:, None] * X

    def objective(uv):
        margins = M @ (uv[:4] - uv[4:])
        gradient = M.T @ huber().slope(margins) / len(M)
        return huber().value(margins).mean(), np.concatenate([gradient, -gradient])

    within = {"type": "ineq", "fun": lambda uv: radius - uv.sum(), "jac": lambda _: -np.ones(8)}
    options = {"ftol": 1e-14, "maxiter": 1000}
    given = {"jac": True, "bounds": [(0, None)] * 8, "constraints": [within], "options": options}
    found = minimize(objective, np.full(8, radius / 16), method="SLSQP", **given)
    return found.fun


@pytest.mark.parametrize(("radius", "container"), [(0.5, np.array), (20.0, sp.csr_array)])
def test_without_noise_it_is_the_minimiser_over_the_ball(radius, container):
    svm = PrivateLPSVC(eps=np.inf, radius=radius, rounds=700).fit(container(X), Y)
    w = svm.coef_[0]
    assert np.abs(w).sum() <= radius
    assert risk(w) == pytest.approx(exact(radius), abs=1e-6)
    assert math.isinf(svm.privacy_.eps)


def test_in_other_units_it_is_the_same_classifier():
    one = PrivateLPSVC(eps=1.0, random_state=0).fit(X, Y)
    other = PrivateLPSVC(eps=1.0, random_state=0, data_norm=1e3).fit(1e3 * X, Y)
    np.testing.assert_allclose(1e3 * other.coef_, one.coef_, rtol=1e-6)
    assert 1e3 * other.radius_ == pytest.approx(one.radius_)


@pytest.mark.parametrize("seed", range(5))
def test_the_player_moves_to_the_nearest_point_of_the_ball(seed):
    rng = np.random.default_rng(seed)
    root, w, radius = np.eye(5) + 0.3 * rng.normal(size=(5, 5)), rng.normal(0, 3, 5), 2.0
    release = Ledger(np.inf, 0.0).charge(
        GaussianMechanism(1.0, 0.0), 1, "test", RELATION, Randomness(0)
    )
    player = AcceleratedDescent(L1Ball(root, 1.0, radius), release)
    player.respond(np.linalg.solve(root, w))  # theta is 1 in the first round
    z = player.released().x
    assert np.abs(z).sum() <= radius * (1 + 1e-12)
    # Nearest in a metric: no point of the ball lies further along the gradient.
    inverse = np.linalg.inv(root)
    gradient = inverse.T @ inverse @ (z - w)
    assert gradient @ z <= -radius * np.abs(gradient).max() + 1e-8


@pytest.mark.parametrize("seed", range(5))
def test_the_nearest_point_is_found_where_units_differ_by_thousands(seed):
    rng = np.random.default_rng(seed)
    turn, _ = np.linalg.qr(rng.normal(size=(40, 40)))
    root, w, radius = (turn * np.geomspace(1e-3, 1.0, 40)) @ turn.T, rng.normal(0, 3, 40), 20.0
    ball = L1Ball(root, 1.0, radius)
    total = np.linalg.solve(root, w)
    z = ball.towards(total)
    assert np.abs(z).sum() == pytest.approx(radius, rel=1e-9)
    inverse = np.linalg.inv(root)
    pull = inverse.T @ inverse @ (w - z)
    assert pull @ z >= radius * np.abs(pull).max() * (1 - 1e-8)
    np.testing.assert_allclose(ball.towards(total), z, atol=1e-9 * radius)


def test_projection_onto_the_ball():
    rng = np.random.default_rng(0)
    for _ in range(200):
        w, radius = rng.normal(0, 2, 6), rng.uniform(0.1, 8.0)
        z = onto_l1_ball(w, radius)
        assert np.abs(z).sum() <= radius * (1 + 1e-12)
        assert (z - w) @ z <= -radius * np.abs(z - w).max() + 1e-12 or np.array_equal(z, w)


GRID = grids.RecordGrid.of(1_000)


def on_grid(M, grid=GRID):
    return grids.RecordsOnGrid(grids.SignedRecords(M, None), data_norm=1.0, grid=grid)


def whitened(M, whiten, **options):
    """A block of records, and what is made of a sum over it."""
    whitening = grids.Whitening.of(whiten, GRID)
    return grids.WhitenedRecords(on_grid(M), whitening, **options), whitening.of_sum


def contribution(record, whiten, w):
    """What a record of signed features adds to the released sum at a released point w."""
    rows, finish = whitened(record[None, :], whiten)
    return finish(rows.weighed(w, 1.0))


def scores_of(rows, z):
    """sum_i (z_i - 1/2) s_i m_i, in units."""
    return sum(
        part.transposed_times(rows._on_grid(z[at].copy(), at)).astype(np.int64)
        for at, part in rows._records.parts
    )


def half_of(record, whiten):
    rows, finish = whitened(record[None, :], whiten)
    return finish(rows.centre())


def moments_of(M, release=lambda exact: exact, whiten=None, grid=GRID):
    again = None if whiten is None else grids.Whitening.of(whiten, grid)
    kernel = partial(grids.RecordsOnGrid.second_moments, whiten=again)
    return second_moments(InMemory(on_grid(M, grid)), kernel, grid, release)


def test_no_neighbour_moves_a_release_by_more_than_its_sensitivity():
    rng = np.random.default_rng(0)
    for _ in range(runs(1_000, 300)):
        p = int(rng.integers(1, 6))
        root = rng.normal(size=(p, p))
        whiten, w = root @ root.T * 10 ** rng.uniform(-2, 2), rng.normal(0, 10, p)
        pair = within_norm(rng.normal(0, 1, (2, p)), 1.0)
        moved = contribution(pair[0], whiten, w) - contribution(pair[1], whiten, w)
        assert np.linalg.norm(moved) <= 1
        halves = [half_of(record, whiten) for record in pair]
        assert np.linalg.norm(halves[0] - halves[1]) <= 1
        assert max(map(np.linalg.norm, halves)) <= 0.5
        for again in (None, whiten):
            moments = [moments_of(record[None, :], whiten=again) for record in pair]
            assert np.linalg.norm(moments[0] - moments[1]) <= math.sqrt(2)


@pytest.mark.parametrize("density", [0.0, 0.01, 0.3, 1.0])
def test_short_rows_kept_by_columns_give_the_same_bits(density, monkeypatch):
    """As rows, and as dense records; also where few have a weight, or a part has one row."""
    rng = np.random.default_rng(0)
    M = sp.random_array((2_001, 6), density=density, format="csr", rng=rng)
    whiten, point, z = rng.normal(size=(6, 6)), rng.normal(size=6), rng.random(2_001)
    few = np.where(rng.random(2_001) < 0.05, z, grids.CENTRE)

    def found(M):
        rows, finish = whitened(M, whiten)
        sums = rows.weighed(point, 0.7), scores_of(rows, z), scores_of(rows, few), rows.centre()
        moments = [moments_of(M, whiten=again) for again in (None, whiten)]
        return [*map(finish, sums), *moments]

    by_columns = [found(M)]
    monkeypatch.setattr(
        grids, "few_at_a_time", lambda M: [(slice(0, 1), M[:1]), (slice(1, 2001), M[1:])]
    )
    by_columns.append(found(M))
    monkeypatch.setattr(row_parts, "_MANY", math.inf)
    for other in (*by_columns, found(M.toarray())):
        for one, two in zip(found(M), other, strict=True):
            np.testing.assert_array_equal(one, two)


def test_some_pair_of_neighbours_attains_every_sensitivity():
    record = np.array([0.6, 0.8])
    moved = contribution(record, 2 * np.eye(2), np.zeros(2)) - contribution(
        -record, 2 * np.eye(2), np.zeros(2)
    )
    assert np.linalg.norm(moved) == pytest.approx(1, rel=1e-5)
    halves = [half_of(r, 2 * np.eye(2)) for r in (record, -record)]
    assert np.linalg.norm(halves[0] - halves[1]) == pytest.approx(1, rel=1e-5)
    released = [moments_of(np.array([row])) for row in ([0.6, 0.8], [0.8, -0.6])]
    assert np.linalg.norm(released[0] - released[1]) == pytest.approx(math.sqrt(2), rel=1e-5)


def test_both_releases_add_up_to_the_weighted_sum():
    rows, finish = whitened(Y[:, None] * X, np.diag([9.0, 4.0, 2.0, 1.0]))
    z, long = RNG.uniform(size=300), Y[:, None] * X * [9.0, 4.0, 2.0, 1.0]
    short = long / np.maximum(np.linalg.norm(long, axis=1), 1.0)[:, None]
    both = finish(rows.centre()) + finish(scores_of(rows, z))
    np.testing.assert_allclose(both, z @ short, atol=2e-3)
    np.testing.assert_array_equal(finish(rows.centre() + scores_of(rows, np.zeros(300))), 0.0)


def test_the_released_numbers_of_the_moments_have_frobenius_length():
    seen = []
    moments = moments_of(X, lambda exact: seen.append(exact) or exact)
    assert np.linalg.norm(seen[0]) == pytest.approx(np.linalg.norm(moments))
    np.testing.assert_allclose(moments, X.T @ X, atol=1e-3)
    np.testing.assert_array_equal(moments_of(sp.csr_array(X)), moments)


def test_the_whitening_is_bounded_by_public_numbers():
    rng = np.random.default_rng(0)
    for _ in range(300):
        p, ridge = int(rng.integers(1, 8)), 10 ** rng.uniform(-6, 2)
        noise = rng.normal(size=(p, p)) * 10 ** rng.uniform(-4, 2)
        whiten, reach = whitening.whitening(noise + noise.T, ridge)
        assert np.linalg.norm(whiten, 2) <= (1 + 1e-9) / (whitening.REACH * math.sqrt(ridge))
        assert reach >= whitening.REACH


def test_true_moments_measured_twice_whiten_the_records():
    first, _ = whitening.whitening(X.T @ X / len(X), 1e-6)
    whitened = X @ first
    both = Coordinates(first, whitened.T @ whitened / len(X), 1e-6)
    found = X @ both.whiten * both.reach
    np.testing.assert_allclose(found.T @ found / len(X), np.eye(4), atol=1e-4)
    lengths = np.linalg.norm(X @ both.whiten, axis=1)  # the longest allowed is 1
    assert np.sqrt(np.mean(lengths**2)) == pytest.approx(1 / whitening.REACH, rel=1e-3)


def test_classes_far_apart_hold_the_player_back_along_weak_directions():
    both = Coordinates(np.eye(2), np.diag([0.9, 0.1]), 0.1)
    total = np.array([1.0, 1.0])
    moves = [both.ball(1.0, 1e9, separation).towards(total) for separation in (0.3, 1.0, 3.0, 9.0)]
    np.testing.assert_allclose(moves[0], moves[1])
    np.testing.assert_allclose(moves[1], both.whiten @ total)
    ratios = [move[1] / move[0] for move in moves]
    assert ratios[1] > ratios[2] > ratios[3]
    np.testing.assert_allclose(ratios[3], (0.9 + 0.4) / (0.1 + 0.4) * (0.2 / 1.0) ** 0.5)


def test_separation_is_the_squared_mean_less_its_noise_in_units_of_a_direction():
    both = Coordinates(np.eye(2), np.diag([0.5, 0.5]), 0.5)
    assert both.separation(np.array([30.0, 40.0]), 0.0, 100) == pytest.approx(1.0)
    assert both.separation(np.array([30.0, 40.0]), 5.0, 100) == pytest.approx(1 - 2 * 0.01)


def test_second_moments_are_measured_twice_between_two_levels_of_noise():
    rng = np.random.default_rng(0)
    records = rng.normal(size=(4_000, 5)) * [1.0, 0.5, 0.3, 0.2, 0.1]
    labels = np.where(records[:, 0] > records[:, 1], 1, -1)
    made = {
        eps: PrivateLPSVC(eps, 1e-8, classes=(-1, 1), random_state=0).fit(records, labels).privacy_
        for eps in (0.1, 1.0, 100.0)
    }
    twice = [PURPOSE_AGAIN in [entry.purpose for entry in m.entries] for m in made.values()]
    assert twice == [False, True, False]
    moments, again, half, sums, *_ = made[1.0].entries
    assert again.sensitivity == moments.sensitivity == math.sqrt(2)
    assert half.sensitivity == sums.sensitivity == 1.0
    assert made[1.0].eps == pytest.approx(1.0, rel=1e-6)


def test_the_rule_follows_the_noise():
    rules = [Rule.of(10_000, 50, sigma) for sigma in (0.0, 1.0, 5.0, 20.0, 100.0, 1e9)]
    assert rules == sorted(rules, key=lambda rule: (-rule.rounds, -rule.radius, rule.ridge))
    assert rules[0].rounds > rules[-1].rounds >= 1
    assert rules[0].radius > rules[-1].radius > 0
    assert 0 < rules[0].ridge < rules[-1].ridge


def test_one_class_for_everyone_is_that_of_records_far_beyond_the_bound_too():
    rng = np.random.default_rng(0)
    records, labels = rng.normal(size=(400, 4)), rng.random(400) < 0.5
    records[:20] *= 100
    options = {"data_norm": 1.0, "classes": (False, True), "random_state": 0}
    with pytest.warns(MostlyNoiseWarning, match="one class will most likely be"):
        model = PrivateLPSVC(0.3, 1e-5, **options).fit(records, labels)
    assert len(np.unique(model.predict(records))) == 1
