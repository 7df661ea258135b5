"""Losses keep the bounds that privacy rests on."""

import dataclasses
import math
from itertools import product

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize

from privlp import InvalidParameterError
from svm_models.classifiers.risk import TOLERANCE, RegularizedRisk, huber, logistic
from tests.effort import examples, pairs

SETTINGS = settings(deadline=None, max_examples=examples(100))
MARGIN = st.floats(-50, 50)
LOSS = st.one_of(st.just(logistic()), st.floats(1e-3, 0.5).map(huber))
THREE = [huber(), huber(0.05), logistic()]
LOSSES = pytest.mark.parametrize("loss", THREE, ids=["huber", "huber 0.05", "logistic"])


def at(function, z):
    return float(function(np.array([z]))[0])


@given(LOSS, MARGIN, MARGIN, st.floats(0, 1))
@SETTINGS
def test_convex(loss, a, b, share):
    between = at(loss.value, share * a + (1 - share) * b)
    assert between <= share * at(loss.value, a) + (1 - share) * at(loss.value, b) + 1e-9


@given(LOSS, MARGIN)
@SETTINGS
def test_bounds(loss, z):
    assert at(loss.value, z) >= 0
    assert -loss.slope_bound <= at(loss.slope, z) <= 0
    assert 0 <= at(loss.curvature, z) <= loss.curvature_bound * (1 + 2**-50)


@given(LOSS, MARGIN, MARGIN)
@SETTINGS
def test_slope_is_lipschitz(loss, a, b):
    assert abs(at(loss.slope, a) - at(loss.slope, b)) <= loss.curvature_bound * abs(a - b) + 1e-12
    assert abs(at(loss.value, a) - at(loss.value, b)) <= loss.slope_bound * abs(a - b) + 1e-9


@given(LOSS, MARGIN)
@SETTINGS
def test_slope_is_the_derivative_of_the_value(loss, z):
    """Central differences are off by at most half the step times the curvature."""
    step = 1e-5
    difference = (at(loss.value, z + step) - at(loss.value, z - step)) / (2 * step)
    assert difference == pytest.approx(at(loss.slope, z), abs=step * loss.curvature_bound + 1e-8)


@given(st.floats(1e-3, 0.5), st.floats(-3, 3))
@SETTINGS
def test_curvature_is_the_derivative_of_the_slope(h, z):
    step = 1e-6
    for loss in (logistic(), huber(h)):
        if loss.name == "Huber hinge" and min(abs(z - 1 - h), abs(z - 1 + h)) < 2 * step:
            continue  # at a kink
        difference = (at(loss.slope, z + step) - at(loss.slope, z - step)) / (2 * step)
        assert difference == pytest.approx(at(loss.curvature, z), abs=1e-4, rel=1e-6)


@given(st.floats(1e-6, 0.5))
@SETTINGS
def test_huber_at_its_seams(h):
    loss = huber(h)
    for z, value, slope in (
        (1 + h, 0.0, 0.0),
        (1 - h, h, -1.0),
        (1.0, h / 4, -0.5),
        (1 + 2 * h, 0.0, 0.0),
        (-3.0, 4.0, -1.0),
    ):
        assert at(loss.value, z) == pytest.approx(value, abs=1e-9)
        assert at(loss.slope, z) == pytest.approx(slope, abs=1e-9)
    assert (at(loss.curvature, 1.0), loss.curvature_bound) == (1 / (2 * h), 1 / (2 * h))
    assert at(loss.curvature, 1 + 1.01 * h) == at(loss.curvature, 1 - 1.01 * h) == 0.0


def test_logistic_far_out():
    """Neither overflow nor loss of the small values."""
    loss, z = logistic(), np.array([-1e300, -1e4, 1e4, 1e300])
    np.testing.assert_array_equal(loss.value(z), [1e300, 1e4, 0.0, 0.0])
    np.testing.assert_array_equal(loss.slope(z), [-1.0, -1.0, 0.0, 0.0])
    np.testing.assert_array_equal(loss.curvature(z), np.zeros(4))
    assert at(loss.value, 40.0) == pytest.approx(math.exp(-40.0), rel=1e-12)


@pytest.mark.parametrize("h", [0.0, -0.1, 0.5000001, math.inf, math.nan, "0.5", None, True])
def test_h_out_of_its_domain(h):
    message = r"h must be in \(0, 0\.5\], got" if type(h) is float else "h must be a number, got"
    with pytest.raises(InvalidParameterError, match=message):
        huber(h)


def signed_records(n, p, seed, data_norm=1.0):
    rng = np.random.default_rng(seed)
    M = rng.normal(size=(n, p))
    M *= data_norm * rng.uniform(0.2, 1, (n, 1)) / np.linalg.norm(M, axis=1)[:, None]
    return M


def linear_term(p, seed, data_norm=1.0):
    return np.random.default_rng([seed, 1]).normal(size=p) * data_norm


def risk_of(loss, n, p, seed, *, reg=0.1, linear=True, data_norm=1.0):
    M = signed_records(n, p, seed, data_norm)
    term = linear_term(p, seed, data_norm) if linear else 0.0
    return RegularizedRisk.in_memory(M, loss, reg, data_norm, linear=term)


def test_value_by_hand():
    risk = RegularizedRisk.in_memory(
        np.array([[1.0, 0.0], [0.0, -1.0]]), huber(), 0.5, 1.0, linear=np.array([2.0, 0.0])
    )
    w = np.array([1.0, 3.0])
    assert risk.value(w) == pytest.approx((0.125 + 4.0) / 2 + 0.25 * 10 + 2.0)
    np.testing.assert_allclose(risk.gradient(w), [-0.5 / 2 + 0.5 + 2.0, 1 / 2 + 1.5])


@LOSSES
@given(st.integers(1, 12), st.integers(1, 5), st.integers(0, 2**32 - 1), st.booleans())
@settings(deadline=None, max_examples=examples(30))
def test_gradient_and_hessian_are_derivatives(loss, n, p, seed, linear):
    risk = risk_of(loss, n, p, seed, linear=linear)
    rng = np.random.default_rng(seed + 1)
    w, step = 2 * rng.normal(size=p), 1e-5
    sides = [(w + step * axis, w - step * axis) for axis in np.eye(p)]
    slopes = [(risk.value(up) - risk.value(down)) / (2 * step) for up, down in sides]
    np.testing.assert_allclose(
        risk.gradient(w), slopes, atol=step * (risk.reg + loss.curvature_bound) + 1e-8
    )
    if loss.name == "logistic":  # no kinks
        rows = [(risk.gradient(up) - risk.gradient(down)) / (2 * step) for up, down in sides]
        np.testing.assert_allclose(risk.hessian(w), rows, atol=1e-8)


@LOSSES
@pytest.mark.parametrize("spread", [0.0, 1.0, 5.0])
def test_hessian_of_few_and_of_many_active_rows(loss, spread):
    M = signed_records(200, 4, 0)
    M[:, 0] = 1 / 4
    M[:, 1] = np.random.default_rng(0).normal(size=200)
    w = np.array([4.0, spread, 0.0, 0.0])
    z = 1 + spread * M[:, 1]
    expected = (M * loss.curvature(z)[:, None]).T @ M / 200 + 0.1 * np.eye(4)
    for form in (np.asarray, sp.csr_array):
        risk = RegularizedRisk.in_memory(form(M), loss, 0.1, 1.0)
        np.testing.assert_allclose(risk.hessian(w), expected, atol=1e-12)


@given(
    LOSS,
    st.integers(1, 40),
    st.integers(1, 6),
    st.integers(0, 2**32 - 1),
    st.floats(-9, 2),
    st.booleans(),
)
@settings(deadline=None, max_examples=examples(100))
def test_the_certificate_is_reached(loss, n, p, seed, log_reg, linear):
    # A linear term as large as the losses over a tiny reg makes weights whose margins are rounded
    # by more than the tolerance.
    reg = 10.0 ** max(log_reg, -3.0 if linear else -9.0)
    risk = risk_of(loss, n, p, seed, reg=reg, linear=linear)
    assert np.linalg.norm(risk.gradient(risk.minimise())) <= risk.tolerance
    assert risk.tolerance == TOLERANCE * loss.slope_bound * risk.data_norm


def separable(loss, reg, data_norm):
    """Margins may grow without end but for the regularisation."""
    M = signed_records(300, 5, 1, data_norm)
    M[:, 0] = np.abs(M[:, 0])
    return RegularizedRisk.in_memory(M, loss, reg * data_norm**2, data_norm)


def with_a_term(loss, length, exponent):
    """The noise of objective perturbation may be far larger than the gradients of the losses."""
    risk = risk_of(loss, 30, 4, 3)
    return dataclasses.replace(risk, linear=length * risk.linear, exponent=exponent)


@pytest.mark.parametrize(
    "risk",
    [
        *(separable(*of) for of in pairs(THREE, [1e-10, 1e-6, 1e-2], [1e-3, 1.0, 1e3])),
        *(
            risk_of(huber(h), 100, 4, 2, reg=reg, linear=False)
            for h, reg in product([1e-1, 1e-3, 1e-5], [1e-6, 1e-2])
        ),
        *(with_a_term(of, *t) for of in THREE for t in [(1e-3, -36), (1e3, -36), (1e7, -20)]),
    ],
)
def test_the_certificate_is_reached_in_hard_cases(risk):
    assert risk.certified(risk.minimise())


@LOSSES
def test_the_certificate_is_reached_on_one_dimension_repeated(loss):
    """A Hessian that is singular but for the regularisation."""
    risk = RegularizedRisk.in_memory(np.ones((50, 6)) / math.sqrt(6), loss, 1e-9, 1.0)
    w = risk.minimise()
    assert risk.certified(w)
    np.testing.assert_allclose(w, w[0], rtol=1e-6)


@LOSSES
def test_agreement_with_scipy(loss):
    risk = risk_of(loss, 15, 3, 0)
    how = {"method": "BFGS", "options": {"gtol": 1e-9, "maxiter": 10_000}}
    found = optimize.minimize(risk.value, np.zeros(3), jac=risk.gradient, **how)
    w = risk.minimise()
    np.testing.assert_allclose(w, found.x, atol=1e-5)
    assert risk.value(w) <= found.fun + 1e-12


@LOSSES
@given(st.integers(1, 30), st.integers(1, 5), st.integers(0, 2**32 - 1))
@settings(deadline=None, max_examples=examples(25))
def test_sparse_is_dense(loss, n, p, seed):
    M = signed_records(n, p, seed)
    M[np.random.default_rng(seed).random(M.shape) < 0.5] = 0.0
    made, linear = RegularizedRisk.in_memory, linear_term(p, seed)
    risk, sparse = (made(of, loss, 0.1, 1.0, linear=linear) for of in (M, sp.csr_array(M)))
    w = sparse.minimise()
    assert sparse.certified(w)
    np.testing.assert_allclose(w, risk.minimise(), atol=2 * risk.tolerance / risk.reg)
    assert sparse.value(w) == pytest.approx(risk.value(w), rel=1e-12)


def test_known_minimisers():
    """One record: w = x/(n reg) where the loss is steep; none that matters: -linear/reg."""
    one = RegularizedRisk.in_memory(np.array([[0.6, 0.8]]), huber(), 4.0, 1.0)
    np.testing.assert_allclose(one.minimise(), [0.15, 0.2], atol=1e-12)
    linear = np.array([1.0, -2.0])
    silent = RegularizedRisk.in_memory(np.zeros((3, 2)), logistic(), 0.5, 1.0, linear=linear)
    np.testing.assert_allclose(silent.minimise(), [-2.0, 4.0], atol=1e-10)


def without_newton(monkeypatch):
    monkeypatch.setattr(RegularizedRisk, "_newton", lambda self, w: w)


@pytest.mark.parametrize(
    ("loss", "reg", "data_norm"), pairs(THREE, [1e-4, 1e-2, 10.0], [0.1, 1.0, 30.0])
)
def test_accelerated_gradient_reaches_the_certificate(monkeypatch, loss, reg, data_norm):
    risk = risk_of(loss, 25, 3, 4, reg=reg * data_norm**2, data_norm=data_norm)
    expected = risk.minimise()
    without_newton(monkeypatch)
    w = risk.minimise()
    assert risk.certified(w)
    np.testing.assert_allclose(w, expected, atol=2 * risk.tolerance / risk.reg)


@given(LOSS, st.integers(1, 10), st.integers(1, 3), st.integers(0, 2**32 - 1), st.floats(-2, 1))
@settings(deadline=None, max_examples=examples(25))
def test_accelerated_gradient_reaches_the_certificate_in_the_promised_number_of_steps(
    loss, n, p, seed, log_reg
):
    """From wherever Newton's method may have stopped."""
    risk = risk_of(loss, n, p, seed, reg=10.0**log_reg)
    start = 10 * np.random.default_rng(seed).normal(size=p)
    assert risk.certified(risk._accelerated_gradient(start))


def test_a_singular_hessian_is_left_to_accelerated_gradient(monkeypatch):
    def singular(self, margins):
        return np.zeros((self.shape[1],) * 2)

    monkeypatch.setattr(RegularizedRisk, "_hessian", singular)
    risk = risk_of(huber(), 10, 3, 5)
    assert risk.certified(risk.minimise())


def test_the_tolerance_follows_the_noise_of_objective_perturbation(monkeypatch):
    """Where a gradient is rounded by more than half the tolerance, a larger one is covered."""
    from privlp.privacy import Ledger, Randomness
    from svm_models.account import Account
    from svm_models.classifiers.perturbation import perturb_objective

    seen = []
    minimise = RegularizedRisk.minimise
    monkeypatch.setattr(RegularizedRisk, "minimise", lambda r: seen.append(r) or minimise(r))
    M = np.random.default_rng(0).normal(0, 0.1, (3, 50))
    for eps in (1e-5, 1.0):
        risk, ledger = RegularizedRisk.in_memory(M, logistic(), 1e-3, 1.0), Ledger(eps, 0.0)
        perturb_objective(risk, Account(ledger, Randomness(0)))
    assert seen[0].exponent > -36
    assert seen[0].certified(minimise(seen[0]))
    assert seen[1].exponent < seen[0].exponent
