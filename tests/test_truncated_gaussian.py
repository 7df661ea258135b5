"""Truncated Gaussian noise."""

import math
from dataclasses import replace

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtr

import privlp
from privlp.methods import SolveRequest
from privlp.privacy import Randomness, TruncatedGaussianMechanism, TruncatedLaplaceMechanism
from privlp.privacy import gaussian_dp as tails
from privlp.privacy.gaussian_dp import Change, log_delta_of
from tests.effort import each, examples, pairs
from tests.programs import WAYS, way_of
from tests.test_truncated_laplace import exact_delta as exact_delta_of_laplace
from tests.test_truncated_laplace import on_the_grid

CLAIMS = [(0.1, 1e-3), (1.0, 0.1), (1.0, 1e-6), (4.0, 1e-3), (10.0, 1e-9)]


def all_move(m, entry=1.0):
    """Every one of m numbers moves by `entry`."""
    return Change(math.sqrt(m) * entry, m * entry, entry, m)


# Exact divergences. The loss of an entry that moves by d is linear in its noise, so masses of cells
# of the loss are differences of normal distribution functions. Losses of independent entries add:
# their masses are convolved. Each is rounded down to its cell, so what is computed is at most the
# true divergence, and less than it by a factor of at most e^(cells * size of a cell) about.


def losses_of_one_entry(step, sigma, width, cell):
    """Masses of losses by cells from `start` on, and that of outputs the other cannot release."""
    if step >= 2 * width:
        return np.zeros(1), 0, 1.0
    low, high = (step * (2 * y + step) / (2 * sigma**2) for y in (-width, width - step))
    start, stop = math.floor(low / cell), math.ceil(high / cell)
    noise = np.arange(start, stop + 1) * cell * sigma**2 / step - step / 2
    noise = np.clip(noise, -width, width - step) / sigma
    inside = math.erf(width / sigma / math.sqrt(2))
    masses = np.where(noise[1:] < 0, np.diff(ndtr(noise)), -np.diff(ndtr(-noise))) / inside
    return masses, start, (ndtr((step - width) / sigma) - ndtr(-width / sigma)) / inside


def exact_delta(eps, steps, sigma, width, cells=3_000):
    """Hockey-stick divergence of entries that move by `steps`, from below."""
    cell = max(steps) * (2 * width + max(steps)) / (2 * sigma**2) / cells
    masses, start, both = np.ones(1), 0, 1.0
    for step in steps:
        of_one, first, alone = losses_of_one_entry(step, sigma, width, cell)
        masses, start, both = np.convolve(masses, of_one), start + first, both * (1 - alone)
    loss = (np.arange(len(masses)) + start) * cell
    return 1 - both + float(masses @ np.maximum(0.0, -np.expm1(np.minimum(eps - loss, 700.0))))


@pytest.mark.parametrize(("m", "claim"), each([1, 2, 3], CLAIMS))
def test_delta_is_a_bound_and_nearly_sharp(m, claim):
    """However the change is split; where all numbers move by the most, little is given away."""
    change, (eps, delta) = all_move(m), claim
    sigma, width = tails.least_width(eps, delta, change)
    claimed = math.exp(tails.log_delta(eps, change, sigma, width))
    splits = np.array([[1.0, 1.0, 1.0], [1.0, 0.5, 0.25], [0.9, 0.9, 0.1]])[:, :m]
    found = [exact_delta(eps, split, sigma, width) for split in splits]
    assert max(found) <= claimed <= delta
    assert found[0] > 0.7 * claimed


@pytest.mark.parametrize(
    ("m", "eps", "delta", "sharp"), [(10, 1.0, 1e-6, 0.95), (30, 0.1, 1e-3, 0.9)]
)
def test_delta_of_many_entries(m, eps, delta, sharp):
    """By convolution of as many laws. No randomness."""
    sigma, width = tails.least_width(eps, delta, all_move(m))
    found = exact_delta(eps, np.ones(m), sigma, width, cells=1_500)
    assert sharp * delta < found <= delta


@settings(deadline=None, max_examples=examples(60))
@given(
    eps=st.floats(0.01, 10.0),
    log_delta=st.floats(-12.0, -0.5),
    steps=st.lists(st.floats(0.05, 1.0), min_size=1, max_size=3),
    room=st.floats(1.0, 3.0),
    longer=st.floats(0.9, 1.2),
)
def test_delta_is_a_bound_whatever_moves(eps, log_delta, steps, room, longer):
    """Any bounds that hold of the steps, any deviation and width about the calibrated ones."""
    steps = np.array(steps)
    l1, l2 = float(steps.sum()), float(np.linalg.norm(steps))
    change = Change(l2 * room, max(min(room * l1, len(steps)), l1), float(steps.max()), len(steps))
    sigma, width = tails.least_width(eps, 10.0**log_delta, change)
    width *= longer
    claimed = math.exp(tails.log_delta(eps, change, sigma, width))
    assert exact_delta(eps, steps, sigma, width, cells=1_000) <= claimed * (1 + 1e-9)


def true_delta_of_one(eps, sigma, width, step):
    """Hockey-stick divergence of one entry that moves by `step` <= 2 width, with 60 digits."""
    with mpmath.workdps(60):
        e, s, w, d = (mpmath.mpf(x) for x in (eps, sigma, width, step))
        # Outputs whose loss d (2 y + d)/(2 s^2) exceeds eps: noise beyond y0.
        y0 = min(max(e * s**2 / d - d / 2, -w), w - d)
        upper = mpmath.ncdf(-y0 / s) - mpmath.ncdf(-w / s)
        other = mpmath.ncdf(-(y0 + d) / s) - mpmath.ncdf(-w / s)
        return (upper - mpmath.exp(e) * other) / mpmath.erf(w / s / mpmath.sqrt(2))


@settings(deadline=None)
@given(eps=st.floats(0.01, 10.0), log_delta=st.floats(-12.0, -0.3), step=st.floats(1e-3, 1.0))
def test_the_stated_delta_of_one_entry_is_never_below_the_true_one(eps, log_delta, step):
    """With 60 digits, for an entry that moves by anything up to its bound. No randomness."""
    change = Change(1.0, 1.0, 1.0, 1)
    sigma, width = tails.least_width(eps, 10.0**log_delta, change)
    stated = mpmath.exp(tails.log_delta(eps, change, sigma, width))
    assert true_delta_of_one(eps, sigma, width, min(step, 2 * width)) <= stated
    assert true_delta_of_one(eps, sigma, width, min(1.0, 2 * width)) <= stated


@settings(deadline=None)
@given(log_eps=st.floats(-9.0, 6.0), log_ratio=st.floats(-6.0, 3.0))
def test_delta_of_gaussian_noise_is_rounded_up(log_eps, log_ratio):
    """Against 60 digits: never below, and above by little where it is not negligible."""
    eps, ratio = 10.0**log_eps, 10.0**log_ratio
    computed = log_delta_of(eps, ratio)
    with mpmath.workdps(400):
        e, t = mpmath.mpf(eps), mpmath.mpf(ratio)
        a, b = e / t - t / 2, e / t + t / 2
        if a > 35:
            return
        above, other = (mpmath.erfc(x / mpmath.sqrt(2)) for x in (a, b))
        true = mpmath.log((above - mpmath.exp(e) * other) / 2)
    assert mpmath.mpf(computed) >= true
    assert computed <= float(true) + 1e-6 * max(1.0, 1e-5 / ratio)


@settings(deadline=None, max_examples=examples(40))
@given(start=st.floats(0.0, 60.0), log_length=st.floats(-9.0, 1.5))
def test_masses_are_rounded_up(start, log_length):
    """Against 50 digits and more. No randomness."""
    length = 10.0**log_length
    computed = tails.log_mass(start, length)
    with mpmath.workdps(850):
        low = mpmath.mpf(start)
        ends = [mpmath.erfc(x / mpmath.sqrt(2)) for x in (low, low + mpmath.mpf(length))]
        true = mpmath.log((ends[0] - ends[1]) / 2)
    assert true <= computed <= float(true) + 1e-4


def without_z(eps, change, sigma, width):
    return tails.log_delta(eps, change, sigma, width) + change.touched * math.log(
        math.erf(width / sigma / math.sqrt(2))
    )


def without_touched(eps, change, sigma, width):
    return tails.log_delta(eps, replace(change, touched=1, l1=change.entry), sigma, width)


def without_tail(eps, change, sigma, width):
    return log_delta_of(eps, change.l2 / sigma)


@pytest.mark.parametrize(
    ("twin", "eps"), [(without_z, 0.01), (without_touched, 1.0), (without_tail, 1.0)]
)
def test_twins_of_the_formula_are_below_the_divergence(twin, eps):
    """At noise of a wide and flat law, each part of the formula is needed. No randomness."""
    law = all_move(3), 20.0, 12.0
    true = exact_delta(eps, np.ones(3), *law[1:])
    assert math.exp(twin(eps, *law)) < true <= math.exp(tails.log_delta(eps, *law))


BUDGETS = [(0.01, 1e-12), (1.0, 1e-6), (10.0, 1e-3), (100.0, 1e-6)]


@pytest.mark.parametrize(("m", "budget"), each([1, 12, 100], BUDGETS))
def test_no_other_deviation_needs_less_width(m, budget):
    """By trying many. No randomness."""
    change, (eps, delta) = all_move(m), budget
    sigma, width = tails.least_width(eps, delta, change)
    assert 0.999 * delta < math.exp(tails.log_delta(eps, change, sigma, width)) <= delta
    for other in sigma * np.geomspace(0.7, 3.0, 60):
        assert math.exp(tails.log_delta(eps, change, other, 0.999 * width)) > delta


@pytest.mark.parametrize(("m", "at_most"), [(12, 78.7), (100, 234.8), (1000, 770.1)])
def test_width_grows_like_the_root(m, at_most):
    """Half of the width of Laplace noise or less, for a dozen numbers. No randomness."""
    laplace = TruncatedLaplaceMechanism.of_budget(float(m), 1.0, 1e-6, entry=1.0)
    assert gaussian(1.0, 1e-6, all_move(m)).width < min(at_most, 0.5 * laplace.width)


def gaussian(eps, delta, change):
    return TruncatedGaussianMechanism.of_budget(
        change.l2, eps, delta, l1=change.l1, entry=change.entry, touched=change.touched
    )


@pytest.mark.parametrize(
    ("eps", "delta", "m"),
    pairs([1e-6, 1e-3, 1.0, 1e3, 1e6], [1e-300, 1e-12, 0.5, 0.999], [1, 1000]),
)
def test_extreme_budgets_are_kept(eps, delta, m):
    """No randomness."""
    mechanism = gaussian(eps, delta, all_move(m, 1e-3))
    assert mechanism.pure_eps == eps
    assert 0 < mechanism.own_delta <= delta
    assert 0 < mechanism.width <= tails.MOST_DEVIATIONS * mechanism.sigma


EPS, DELTA = 4.0, 0.02
ONE = TruncatedGaussianMechanism.of_budget(1.0, EPS, DELTA)


def test_noise_that_is_not_one_sided_exceeds_the_truth():
    """What certainty rests on: twins whose shift is dropped, or goes the other way, release more."""
    values = np.linspace(-3.0, 3.0, 500)
    released = ONE.release(values, Randomness(0))
    assert (released <= values).all()
    for shift in (1.0, 2.0):
        assert (released + shift * ONE.width > values).any()


@pytest.mark.parametrize(("m", "claim"), each([2, 4], [(0.5, 0.1), (1.0, 1e-3), (2.0, 0.02)]))
def test_entry_bound_of_laplace_noise(m, claim):
    """It saves width."""
    eps, delta = claim
    mechanism = TruncatedLaplaceMechanism.of_budget(float(m), eps, delta, entry=1.0)
    assert mechanism.width < TruncatedLaplaceMechanism.of_budget(float(m), eps, delta).width
    width, claimed = on_the_grid(mechanism)
    step = math.floor(eps / m * 200) / 200
    found = exact_delta_of_laplace(m * step, [step] * m, width)
    assert 0.6 * claimed < found <= claimed * (1 + 1e-9)


def test_one_entry_may_not_move_by_all_the_sum_where_less_was_declared():
    """The bound on entries is needed: without it the claim is too small. No randomness."""
    mechanism = TruncatedLaplaceMechanism.of_budget(4.0, 2.0, 0.02, entry=1.0)
    width, claimed = on_the_grid(mechanism)
    assert exact_delta_of_laplace(2.0, [2.0], width) > 1.5 * claimed


ALL_MOVE = privlp.ScalarPrivate(1.0, lower=0, upper=10_000)
COSTS_TOO = ALL_MOVE, privlp.ObjectivePrivate(0.1, lower=0, upper=4)


def packing(m, neighbours):
    A = np.random.default_rng(m).uniform(0.1, 1, (m, 3))
    if np.ndim(getattr(neighbours, "upper", 0)):  # the first coefficients are declared to be zero
        A[:, 0] = 0.0
    fields = {"sense": "max", "bounds": (0, 1e4), "neighbours": neighbours}
    return privlp.LinearProgram([1, 2, 3], A, np.full(m, 5_000.0), **fields)


@pytest.mark.parametrize(
    ("m", "neighbours", "method"),
    [
        (1, ALL_MOVE, "truncated-laplace"),
        (100, ALL_MOVE, "one-margin"),
        (100, privlp.ScalarPrivate(1.0, "1", lower=0, upper=10_000), "truncated-laplace"),
        (100, privlp.RowPrivate(0.01, lower=0, upper=[0, 1, 1]), "truncated-laplace"),
        (100, privlp.ColumnPrivate(0.001, lower=0, upper=1), "truncated-gaussian"),
        (100, COSTS_TOO, "truncated-gaussian"),
    ],
)
def test_the_narrower_noise_is_taken(m, neighbours, method):
    lp = packing(m, neighbours)
    planned = privlp.plan(lp, 1.0, 1e-6, feasible="always")
    solution = privlp.solve(lp, 1.0, 1e-6, feasible="always", rng=0)
    assert planned.best == solution.method == "tightened"
    assert way_of(solution) == method
    assert (lp.A @ solution.x <= lp.b).all()
    assert solution.privacy.eps <= 1.0
    predicted = planned.predictions[planned.best].on_numbers
    widths = [f"{noise.typical:.6g}" for noise in predicted if noise.part != "c"]
    paid = [entry.parameter for entry in solution.privacy.entries if "costs" not in entry.purpose]
    if method != "one-margin":  # it has noise of two kinds
        assert [parameter.rpartition(" ")[2] for parameter in paid] == widths


def charges(method, relation, **options):
    request = SolveRequest.of(packing(100, relation), 1.0, 1e-6, **options)
    return [(found, purpose.split()[1]) for found, _, purpose in WAYS[method].plan(request).charges]


@pytest.mark.parametrize(
    ("method", "expected"),
    [
        ("truncated-gaussian", TruncatedGaussianMechanism),
        ("truncated-laplace", TruncatedLaplaceMechanism),
    ],
)
def test_several_parts_share_one_budget(method, expected):
    """Costs that move little as a whole keep Laplace noise."""
    found = charges(method, (*COSTS_TOO, privlp.RowPrivate(1e-3, lower=0, upper=1)))
    assert math.fsum(m.pure_eps for m, _ in found) == pytest.approx(1.0, abs=1e-6)
    assert 0.99e-6 < math.fsum(m.own_delta for m, _ in found) <= 1e-6
    kinds = {part: type(mechanism) for mechanism, part in found}
    own = {"right-hand": expected, "costs": TruncatedLaplaceMechanism, "coefficients": expected}
    assert kinds == own


def test_a_given_split_is_honoured():
    """Each part pays its share of eps, whichever noise it takes. No randomness."""
    found = charges("truncated-gaussian", COSTS_TOO, split=(1.0, 4.0))
    assert [mechanism.pure_eps for mechanism, _ in found] == pytest.approx([0.2, 0.8], rel=1e-6)


def test_a_budget_that_was_used_before():
    """Beside charges of Rényi accounting only half of what is left of delta is taken."""
    budget, lp = privlp.Budget(1.0, 1e-6), packing(100, ALL_MOVE)
    privlp.solve(lp, 0.4, 5e-7, method="direct-noise", budget=budget, rng=0)
    solution = privlp.solve(lp, None, None, feasible="always", budget=budget, rng=0)
    assert way_of(solution) == "one-margin"
    assert budget.spent() <= 1.0


def test_both_relations_that_move_the_same_coefficients():
    """Bounds on an entry, and numbers of entries that move, add up."""
    relation = privlp.RowPrivate(0.1, lower=0, upper=1), privlp.ColumnPrivate(0.2, lower=0, upper=1)
    form = packing(5, relation).public().form
    (numbers,) = form.lp.neighbours.private_numbers(form)
    assert numbers.entry == pytest.approx(0.3)
    assert numbers.touched == 3 + 5
