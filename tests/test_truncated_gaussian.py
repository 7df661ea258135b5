"""Truncated Gaussian noise."""

import math
from dataclasses import replace
from unittest import mock

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtr

import privlp
from privlp import InvalidParameterError
from privlp.privacy import Randomness, TruncatedGaussianMechanism, TruncatedLaplaceMechanism
from privlp.privacy import gaussian_dp as tails
from privlp.privacy.gaussian_dp import Change, log_delta_of
from tests.conformance_kit import Claim, audited, release_many
from tests.effort import examples
from tests.programs import method_of, way_of
from tests.test_low_sensitivity_audits import exact_delta as exact_delta_of_laplace
from tests.test_low_sensitivity_audits import on_the_grid

CLAIMS = [(0.1, 1e-3), (1.0, 0.1), (1.0, 1e-6), (4.0, 1e-3), (10.0, 1e-9)]


def all_move(m, entry=1.0):
    """Every one of m numbers moves by `entry`."""
    return Change(math.sqrt(m) * entry, m * entry, entry, m)


# exact divergences The loss of an entry that moves by d is linear in its noise, so masses of cells
# of the loss are differences of normal distribution functions. Losses of independent entries add:
# their masses are convolved. Each is rounded down to its cell, so what is computed is at most the
# true divergence, and less than it by a factor of at most e^(cells * size of a cell) about.


def losses_of_one_entry(step, sigma, width, cell):
    """Masses of the losses k cell, k = start, start + 1, ..., rounded down, and that of outputs the other cannot release."""
    if step >= 2 * width:
        return np.zeros(1), 0, 1.0
    low, high = (step * (2 * y + step) / (2 * sigma**2) for y in (-width, width - step))
    start, stop = math.floor(low / cell), math.ceil(high / cell)
    noise = (
        np.clip(
            np.arange(start, stop + 1) * cell * sigma**2 / step - step / 2, -width, width - step
        )
        / sigma
    )
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


@pytest.mark.parametrize(("eps", "delta"), CLAIMS)
@pytest.mark.parametrize("m", [1, 2, 3])
def test_delta_is_a_bound_and_nearly_sharp(m, eps, delta):
    """However the change is split; where all numbers move by the most, little is given away."""
    change = all_move(m)
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
    l1 = min(room * steps.sum(), len(steps) * 1.0)
    change = Change(
        max(float(np.linalg.norm(steps)), 0.05) * room,
        max(l1, float(steps.sum())),
        float(steps.max()),
        len(steps),
    )
    sigma, width = tails.least_width(eps, 10.0**log_delta, change)
    width *= longer
    assert exact_delta(eps, steps, sigma, width, cells=1_000) <= math.exp(
        tails.log_delta(eps, change, sigma, width)
    ) * (1 + 1e-9)


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


# the terms, rounded up


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
        true = mpmath.log(
            (mpmath.erfc(a / mpmath.sqrt(2)) - mpmath.exp(e) * mpmath.erfc(b / mpmath.sqrt(2))) / 2
        )
    assert mpmath.mpf(computed) >= true
    assert computed <= float(true) + 1e-6 * max(1.0, 1e-5 / ratio)


@settings(deadline=None, max_examples=examples(40))
@given(start=st.floats(0.0, 60.0), log_length=st.floats(-9.0, 1.5))
def test_masses_are_rounded_up(start, log_length):
    """Against 50 digits and more. No randomness."""
    length = 10.0**log_length
    computed = tails.log_mass(start, length)
    with mpmath.workdps(850):
        ends = [
            mpmath.erfc(mpmath.mpf(x) / mpmath.sqrt(2))
            for x in (start, mpmath.mpf(start) + mpmath.mpf(length))
        ]
        true = mpmath.log((ends[0] - ends[1]) / 2)
    assert true <= computed <= float(true) + 1e-4


# twins of the formula


def without_z(eps, change, sigma, width):
    return tails.log_delta(eps, change, sigma, width) + change.touched * math.log(
        math.erf(width / sigma / math.sqrt(2))
    )


def without_touched(eps, change, sigma, width):
    return tails.log_delta(eps, replace(change, touched=1, l1=change.entry), sigma, width)


def without_tail(eps, change, sigma, width):
    return log_delta_of(eps, change.l2 / sigma)


@pytest.mark.parametrize(
    ("twin", "eps", "m"),
    [
        pytest.param(without_z, 0.01, 3, id="Z left out"),
        pytest.param(without_touched, 1.0, 3, id="number of entries left out"),
        pytest.param(without_tail, 1.0, 3, id="outputs of one neighbour left out"),
    ],
)
def test_twins_of_the_formula_are_below_the_divergence(twin, eps, m):
    """At noise of a wide and flat law, each part of the formula is needed. No randomness."""
    change, sigma, width = all_move(m), 20.0, 12.0
    true = exact_delta(eps, np.ones(m), sigma, width)
    assert (
        math.exp(twin(eps, change, sigma, width))
        < true
        <= math.exp(tails.log_delta(eps, change, sigma, width))
    )


# calibration


@pytest.mark.parametrize("m", [1, 12, 100])
@pytest.mark.parametrize(
    ("eps", "delta"), [(0.01, 1e-12), (1.0, 1e-6), (10.0, 1e-3), (100.0, 1e-6)]
)
def test_no_other_deviation_needs_less_width(m, eps, delta):
    """By trying many. No randomness."""
    change = all_move(m)
    sigma, width = tails.least_width(eps, delta, change)
    assert 0.999 * delta < math.exp(tails.log_delta(eps, change, sigma, width)) <= delta
    for other in sigma * np.geomspace(0.7, 3.0, 60):
        assert math.exp(tails.log_delta(eps, change, other, 0.999 * width)) > delta


@pytest.mark.parametrize(("m", "at_most"), [(12, 78.7), (100, 234.8), (1000, 770.1)])
def test_width_grows_like_the_root(m, at_most):
    """Half of the width of Laplace noise or less, for a dozen numbers. No randomness."""
    change = all_move(m)
    gaussian = TruncatedGaussianMechanism.of_budget(
        change.l2, 1.0, 1e-6, l1=change.l1, entry=1.0, touched=m
    )
    laplace = TruncatedLaplaceMechanism.of_budget(change.l1, 1.0, 1e-6, entry=1.0)
    assert gaussian.width < at_most
    assert gaussian.width < 0.5 * laplace.width


@pytest.mark.parametrize("eps", [1e-6, 1e-3, 1.0, 1e3, 1e6])
@pytest.mark.parametrize("delta", [1e-300, 1e-12, 0.5, 0.999])
@pytest.mark.parametrize("m", [1, 1000])
def test_extreme_budgets_are_kept(eps, delta, m):
    """No randomness."""
    change = all_move(m, 1e-3)
    mechanism = TruncatedGaussianMechanism.of_budget(
        change.l2, eps, delta, l1=change.l1, entry=change.entry, touched=m
    )
    assert mechanism.pure_eps == eps
    assert 0 < mechanism.own_delta <= delta
    assert 0 < mechanism.width <= tails.MOST_DEVIATIONS * mechanism.sigma


def test_no_noise_without_privacy():
    mechanism = TruncatedGaussianMechanism.of_budget(1.0, math.inf, 0.0)
    assert (mechanism.sigma, mechanism.width, mechanism.most, mechanism.own_delta) == (
        0.0,
        0.0,
        0.0,
        0.0,
    )
    assert mechanism.pure_eps == math.inf
    assert mechanism.release([0.1], Randomness(0)).tolist() == [0.1]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"sensitivity": 0.0}, "sensitivity must be positive"),
        ({"l1": math.nan}, "l1 must be positive"),
        ({"entry": -1.0}, "entry must be positive"),
        ({"touched": 0}, "touched must be a positive integer"),
        ({"touched": 1.5}, "touched must be a positive integer"),
        ({"sigma": -1.0}, "sigma must be non-negative and below"),
        ({"sigma": math.inf}, "sigma must be non-negative and below"),
        ({"width": math.inf}, "width must be positive and finite, or 0 where sigma is"),
        ({"width": 0.0}, "width must be positive and finite, or 0 where sigma is"),
        ({"width": 65.0}, "width must be at most 64 times the sigma of 1"),
        ({"eps": 0.0}, "eps must be positive, and finite"),
        ({"eps": math.inf}, "eps must be positive, and finite"),
    ],
)
def test_parameters_outside_their_domain_are_refused(changes, message):
    with pytest.raises(InvalidParameterError, match=message):
        replace(TruncatedGaussianMechanism(1.0, 1.0, 5.0, 1.0, 1.0, 1.0, 1), **changes)


def test_budgets_outside_their_domain_are_refused():
    with pytest.raises(InvalidParameterError, match="delta must be positive"):
        TruncatedGaussianMechanism.of_budget(1.0, 1.0, 0.0)
    with pytest.raises(InvalidParameterError, match="touched must be a positive integer, got 0"):
        TruncatedGaussianMechanism.of_budget(1.0, 1.0, 0.1, touched=0)
    with pytest.raises(
        InvalidParameterError,
        match="entry must be positive and at most the sensitivity of 1, got 2",
    ):
        TruncatedLaplaceMechanism.of_budget(1.0, 1.0, 0.1, entry=2.0)


# audits of twins

EPS, DELTA = 4.0, 0.02
ONE = TruncatedGaussianMechanism.of_budget(1.0, EPS, DELTA)


def releases(mechanism, seen=float):
    def sample(side, rng, runs):
        return [
            seen(x)
            for x in release_many(
                mechanism, np.array([0.0, 1.0][side : side + 1]), Randomness(rng), runs
            )[:, 0]
        ]

    return sample


@pytest.mark.statistical
def test_correct_noise_passes():
    """False-alarm rate 0.001; seed fixed."""
    result = audited(releases(ONE), Claim(EPS, DELTA), 10_000, 1)
    assert result.passed, str(result)
    assert result.eps_lower > 0.6 * EPS


@pytest.mark.statistical
@pytest.mark.parametrize(
    "twin",
    [
        pytest.param(replace(ONE, width=0.8 * ONE.width), id="narrower"),
        pytest.param(replace(ONE, sigma=0.6 * ONE.sigma), id="smaller deviation"),
    ],
)
def test_noise_of_another_size_is_caught(twin):
    """Miss rate below 0.01; seed fixed."""
    assert not audited(releases(twin), Claim(EPS, DELTA), 20_000, 1).passed


@pytest.mark.parametrize(
    "shift", [pytest.param(0.0, id="shift dropped"), pytest.param(2.0, id="shifted the other way")]
)
def test_noise_that_is_not_one_sided_exceeds_the_truth(shift):
    """What certainty rests on: a release above the true number."""
    values = np.linspace(-3.0, 3.0, 500)
    released = ONE.release(values, Randomness(0))
    assert (released <= values).all()
    twin = released + ONE.width * (1.0 if shift == 0.0 else shift)
    assert (twin > values).any()


# truncated Laplace, entry bound


@pytest.mark.parametrize(("eps", "delta"), [(0.5, 0.1), (1.0, 1e-3), (2.0, 0.02)])
@pytest.mark.parametrize("m", [2, 4])
def test_entry_bound_of_laplace_noise(m, eps, delta):
    """It saves width."""
    mechanism = TruncatedLaplaceMechanism.of_budget(float(m), eps, delta, entry=1.0)
    assert mechanism.width < TruncatedLaplaceMechanism.of_budget(float(m), eps, delta).width
    width, claimed = on_the_grid(mechanism)
    step = math.floor(eps / m * 200) / 200
    assert (
        0.6 * claimed < exact_delta_of_laplace(m * step, [step] * m, width) <= claimed * (1 + 1e-9)
    )


def test_one_entry_may_not_move_by_all_the_sum_where_less_was_declared():
    """The bound on entries is needed: without it the claim is too small. No randomness."""
    mechanism = TruncatedLaplaceMechanism.of_budget(4.0, 2.0, 0.02, entry=1.0)
    width, claimed = on_the_grid(mechanism)
    assert exact_delta_of_laplace(2.0, [2.0], width) > 1.5 * claimed


# solves

ALL_MOVE = privlp.ScalarPrivate(1.0, lower=0, upper=10_000)


def packing(m, neighbours):
    rng = np.random.default_rng(m)
    A, b = rng.uniform(0.1, 1, (m, 3)), np.full(m, 5_000.0)
    if np.ndim(getattr(neighbours, "upper", 0)):  # the first coefficients are declared to be zero
        A[:, 0] = 0.0
    return privlp.LinearProgram(
        [1, 2, 3], A, b, sense="max", bounds=(0, 1e4), neighbours=neighbours
    )


@pytest.mark.parametrize(
    ("m", "neighbours", "method"),
    [
        (1, ALL_MOVE, "truncated-laplace"),
        (100, ALL_MOVE, "truncated-gaussian"),
        (100, privlp.ScalarPrivate(1.0, "1", lower=0, upper=10_000), "truncated-laplace"),
        (100, privlp.RowPrivate(0.01, lower=0, upper=[0, 1, 1]), "truncated-laplace"),
        (100, privlp.ColumnPrivate(0.001, lower=0, upper=1), "truncated-gaussian"),
        (100, (ALL_MOVE, privlp.ObjectivePrivate(0.1, lower=0, upper=4)), "truncated-gaussian"),
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
    planned_parts = [
        noise.typical for noise in planned.predictions[planned.best].on_numbers if noise.part != "c"
    ]
    paid = [entry.parameter for entry in solution.privacy.entries if "costs" not in entry.purpose]
    assert [parameter.rpartition(" ")[2] for parameter in paid] == [
        f"{typical:.6g}" for typical in planned_parts
    ]


def test_several_parts_share_one_budget():
    """Costs that move little as a whole keep Laplace noise."""
    lp = packing(
        100,
        (
            ALL_MOVE,
            privlp.ObjectivePrivate(0.1, lower=0, upper=4),
            privlp.RowPrivate(1e-3, lower=0, upper=1),
        ),
    )
    charged = []
    charge = privlp.privacy.Ledger.charge_together
    with mock.patch.object(
        privlp.privacy.Ledger,
        "charge_together",
        lambda self, requests, *rest, **how: (
            charged.extend(requests) or charge(self, requests, *rest, **how)
        ),
    ):
        for method in ("truncated-gaussian", "truncated-laplace"):
            charged.clear()
            privlp.solve(lp, 1.0, 1e-6, method=method_of(method), rng=0)
            mechanisms = [mechanism for mechanism, _, _ in charged]
            assert math.fsum(m.pure_eps for m in mechanisms) == pytest.approx(1.0, abs=1e-6)
            assert 0.99e-6 < math.fsum(m.own_delta for m in mechanisms) <= 1e-6
            kinds = {purpose.split()[1]: type(mechanism) for mechanism, _, purpose in charged}
            expected = (
                TruncatedGaussianMechanism
                if method == "truncated-gaussian"
                else TruncatedLaplaceMechanism
            )
            assert kinds == {
                "right-hand": expected,
                "costs": TruncatedLaplaceMechanism,
                "coefficients": expected,
            }


def test_a_given_split_is_honoured():
    """Each part pays its share of eps, whichever noise it takes. No randomness."""
    lp, shares = (
        packing(100, (ALL_MOVE, privlp.ObjectivePrivate(0.1, lower=0, upper=4))),
        (1.0, 4.0),
    )
    prices = []
    charge = privlp.privacy.Ledger.charge_together

    def noted(self, requests, *rest, **how):
        prices.extend(mechanism.pure_eps for mechanism, _, _ in requests)
        return charge(self, requests, *rest, **how)

    with mock.patch.object(privlp.privacy.Ledger, "charge_together", noted):
        privlp.solve(lp, 1.0, 1e-6, method=method_of("truncated-gaussian"), split=shares, rng=0)
    assert prices == pytest.approx([0.2, 0.8], rel=1e-6)


def test_a_budget_that_was_used_before():
    """Beside charges of Rényi accounting only half of what is left of delta is taken."""
    budget, lp = privlp.Budget(1.0, 1e-6), packing(100, ALL_MOVE)
    privlp.solve(lp, 0.4, 5e-7, method="direct-noise", budget=budget, rng=0)
    solution = privlp.solve(lp, None, None, feasible="always", budget=budget, rng=0)
    assert way_of(solution) == "truncated-gaussian"
    assert budget.spent() <= 1.0


def test_both_relations_that_move_the_same_coefficients():
    """Bounds on an entry, and numbers of entries that move, add up."""
    relation = privlp.RowPrivate(0.1, lower=0, upper=1), privlp.ColumnPrivate(0.2, lower=0, upper=1)
    form = packing(5, relation).public().form
    (numbers,) = form.lp.neighbours.private_numbers(form)
    assert numbers.entry == pytest.approx(0.3)
    assert numbers.touched == 3 + 5
