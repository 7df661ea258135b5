"""Output and objective perturbation."""

import math
from inspect import signature

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

import svm_models as sm
from privlp import BudgetExceededError, InvalidParameterError
from privlp.privacy import (
    EuclideanLaplaceMechanism,
    GaussianMechanism,
    GaussianObjectivePerturbation,
    LaplaceMechanism,
    Ledger,
    ObjectivePerturbation,
    Randomness,
)
from svm_models.account import Account
from svm_models.classifiers import perturbation
from svm_models.classifiers.risk import TOLERANCE, RegularizedRisk, huber, logistic
from svm_models.records import signed
from tests.effort import examples, pairs

#: Classes are left out here where they do not matter.
pytestmark = pytest.mark.filterwarnings("ignore:The two classes are read from the records")
KINDS = ("SVC", "LogisticRegression", "Classifier")
OUTPUT = [getattr(sm, f"OutputPerturbation{kind}") for kind in KINDS]
OBJECTIVE = [getattr(sm, f"ObjectivePerturbation{kind}") for kind in KINDS]
ALL = OUTPUT + OBJECTIVE
SETTINGS = settings(deadline=None, max_examples=examples(60))


def records(n=60, p=3, seed=0, norm=1.0):
    """Unit records of two classes that a plane separates, with some labels flipped."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    X *= norm / np.linalg.norm(X, axis=1)[:, None]
    y = np.where(X[:, 0] + 0.3 * rng.normal(size=n) * norm > 0, 1, -1)
    return X, y


X, Y = records(norm=1 - 1e-9)


def charged(perturb, risk, eps, delta=0.0, **options):
    """The weights, and the mechanisms paid for."""
    account = Recording(Ledger(eps, delta), Randomness(0))
    w = perturb(risk, account, **options)
    return w, account.mechanisms


class Recording(Account):
    """An account that remembers what was paid for."""

    def charge_together(self, requests):
        self.mechanisms = [mechanism for mechanism, _, _ in requests]
        return super().charge_together(requests)


def paying_for_the_curvature(mechanisms):
    (mechanism,) = [m for m in mechanisms if hasattr(m, "curvature_cost")]
    return mechanism


def replace_draws(monkeypatch, draw):
    for mechanism in (
        EuclideanLaplaceMechanism,
        LaplaceMechanism,
        GaussianMechanism,
        ObjectivePerturbation,
        GaussianObjectivePerturbation,
    ):
        monkeypatch.setattr(mechanism, "release", draw)


@pytest.fixture
def no_noise(monkeypatch):
    """Everything is paid for, and nothing is added."""
    replace_draws(monkeypatch, lambda self, value, randomness: value)


@pytest.fixture
def no_draws(monkeypatch):
    """From the call on, a draw fails."""

    def draw(self, value, randomness):
        raise AssertionError("drawn")

    return lambda: replace_draws(monkeypatch, draw)


@pytest.mark.parametrize("estimator", ALL)
@pytest.mark.parametrize("eps", [1e-12, 1e-3, 1.0, 20.0, 1e5, 1e9])
def test_eps_is_spent_to_the_last(estimator, eps):
    svm = estimator(eps=eps, random_state=0).fit(X, Y)
    privacy = svm.privacy_
    assert np.isfinite(svm.coef_).all()
    assert privacy.eps <= eps
    assert privacy.eps == pytest.approx(eps, rel=1e-6)
    if 1e-3 <= eps <= 1e5:
        svm = estimator(eps=eps, delta=1e-9, random_state=0).fit(X, Y)
        assert np.isfinite(svm.coef_).all()
        assert 0.99 * eps < svm.privacy_.eps <= eps
    chance = 2.0**-92 if "objective" in str(privacy) else 0.0
    assert (privacy.delta, privacy.eps_limit, privacy.delta_limit) == (chance, eps, 0.0)
    assert privacy.relation.startswith("one record (x_i, y_i) replaced")


@pytest.mark.parametrize("estimator", ALL)
def test_a_delta_does_not_get_into_reg_by_its_position(estimator):
    """What PrivateLPSVC takes as (eps, delta) is refused; (eps, reg) and (eps, reg, delta) are not."""
    loss = (huber(),) if "loss" in signature(estimator).parameters else ()
    for wrong in ((1.0, 1e-6), (1.0, 0.0), (1.0, 1e-6, 1e-3)):
        with pytest.raises(
            InvalidParameterError, match=f"Name it: reg={wrong[1]:g} or delta={wrong[1]:g}"
        ):
            estimator(*loss, *wrong)
    for right in ((1.0, 1e-2), (1.0, 1e-4, 1e-8)):
        model = estimator(*loss, *right)
        assert (model.reg, model.delta) == (right[1], right[2] if len(right) > 2 else 0.0)
    assert estimator(*loss, 1.0, 1e-6, delta=1e-9).reg == estimator(reg=1e-6).reg
    assert clone(estimator(reg=1e-6)).get_params()["reg"] == 1e-6


FORMULAS = pytest.mark.parametrize(
    ("n", "eps", "reg", "data_norm", "loss"),
    [(7, 0.5, 0.3, 1, huber()), (50, 1.0, 2.0, 3, logistic()), (20, 4.0, 0.01, 0.25, huber(0.1))],
)


@FORMULAS
def test_noise_of_output_perturbation(n, eps, reg, data_norm, loss):
    M, _ = records(n, norm=data_norm)
    _, (mechanism,) = charged(
        perturbation.perturb_output, RegularizedRisk.in_memory(M, loss, reg, data_norm), eps
    )
    g = 2.0**-36 * 1.0 * data_norm
    sensitivity = 2 * (1.0 * data_norm / n + 2 * g) / reg
    assert type(mechanism) is EuclideanLaplaceMechanism
    assert mechanism.sensitivity == pytest.approx(sensitivity, rel=1e-14)
    assert mechanism.scale == pytest.approx(sensitivity / eps, rel=1e-6)
    assert mechanism.scale >= sensitivity / eps


@FORMULAS
def test_noise_of_objective_perturbation(n, eps, reg, data_norm, loss):
    M, _ = records(n, norm=data_norm)
    risk = RegularizedRisk.in_memory(M, loss, reg, data_norm)
    q = {"logistic": 1 / 4, "Huber hinge": 1.0 if eps != 4.0 else 5.0}[loss.name]
    cost = math.log(1 + q * data_norm**2 / (n * reg))
    assert perturbation.curvature_cost(risk) == pytest.approx(cost, rel=1e-12)
    assert perturbation.eps_for_noise(risk, eps) == pytest.approx(0.99 * eps - cost)
    if loss.name == "logistic":
        cost = 0.0  # slope and curvature are not both large
    elif cost > eps / 16:
        reg = q * data_norm**2 / (n * math.expm1(eps / 16))
        cost = eps / 16
    _, mechanisms = charged(perturbation.perturb_objective, risk, eps)
    cover, noise = sorted(mechanisms, key=lambda mechanism: mechanism.sensitivity)
    assert noise.sensitivity == pytest.approx(2 * data_norm)
    assert noise.curvature_cost == pytest.approx(cost)
    assert noise.scale == pytest.approx(2 * data_norm / (0.99 * eps - cost), rel=1e-6)
    doublings = math.log2(cover.sensitivity * reg / (4 * 2.0**-36 * data_norm))
    assert doublings == pytest.approx(max(0, round(doublings)), abs=1e-9)
    assert cover.scale == pytest.approx(cover.sensitivity / (0.01 * eps))
    assert TOLERANCE == 2.0**-36


@pytest.mark.parametrize(("reg", "eps"), [(1e-3, 0.1), (1e-6, 1.0), (1e-3, 3.0)])
@pytest.mark.parametrize("delta", [0.0, 1e-5])
def test_regularisation_is_added_until_the_curvature_costs_a_sixteenth(no_noise, reg, eps, delta):
    """Seen in the weights."""
    M = signed(X, Y)
    raised = max(reg, 1 / (len(M) * math.expm1(eps / 16)))
    assert raised > reg
    w, mechanisms = charged(
        perturbation.perturb_objective, RegularizedRisk.in_memory(M, huber(), reg, 1.0), eps, delta
    )
    np.testing.assert_allclose(
        w, RegularizedRisk.in_memory(M, huber(), raised, 1.0).minimise(), atol=1e-8 / raised
    )
    assert paying_for_the_curvature(mechanisms).curvature_cost == pytest.approx(eps / 16)


@pytest.mark.parametrize("eps", [0.1, 3.0])
def test_for_logistic_loss_regularisation_is_added_until_the_curvature_costs_nothing(no_noise, eps):
    M = signed(X, Y)
    raised = 1 / (len(M) * 0.495 * eps)
    w, mechanisms = charged(
        perturbation.perturb_objective, RegularizedRisk.in_memory(M, logistic(), 1e-3, 1.0), eps
    )
    np.testing.assert_allclose(
        w, RegularizedRisk.in_memory(M, logistic(), raised, 1.0).minimise(), atol=1e-7 / raised
    )
    assert paying_for_the_curvature(mechanisms).curvature_cost == 0.0
    below = RegularizedRisk.in_memory(M, logistic(), 0.8 * raised, 1.0)
    _, mechanisms = charged(perturbation.perturb_objective, below, eps, add_regularization=False)
    assert paying_for_the_curvature(mechanisms).curvature_cost > 0.0


@SETTINGS
@given(st.floats(-7, 3), st.floats(-7, 7))
def test_price_of_logistic_curvature_is_the_largest_loss_over_all_slopes(log_slope, log_k):
    """Against a fine grid of slopes p of the curved record; the other is as steep as can be."""
    slope, k = math.exp(log_slope), math.exp(log_k)
    risk = RegularizedRisk.in_memory(np.ones((1, 1)), logistic(), 1 / k, 1.0)
    p = np.concatenate([np.linspace(0, 1, 4001), 1 - np.geomspace(1e-9, 1e-3, 200)])
    largest = float(np.max(slope * (1 + p) + np.log1p(k * p * (1 - p))))
    price = 2 * slope + perturbation._pure_curvature_cost(risk, slope)
    assert largest * (1 - 1e-12) <= price <= largest * (1 + 1e-4)
    assert price <= 2 * slope + perturbation.curvature_cost(risk) + 1e-12


@pytest.mark.parametrize(("reg", "options"), [(0.5, {}), (0.02, {"add_regularization": False})])
def test_no_regularisation_is_added_where_it_is_cheap_or_not_wanted(no_noise, reg, options):
    risk = RegularizedRisk.in_memory(signed(X, Y), huber(), reg, 1.0)
    w, mechanisms = charged(perturbation.perturb_objective, risk, 1.0, **options)
    np.testing.assert_allclose(w, risk.minimise(), atol=1e-8 / reg)
    if options:
        scale = 2 / perturbation.eps_for_noise(risk, 1.0)
        assert paying_for_the_curvature(mechanisms).scale == pytest.approx(scale, rel=1e-6)


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_a_curvature_that_costs_more_than_eps_is_refused(no_draws, delta):
    no_draws()
    risk = RegularizedRisk.in_memory(signed(X, Y), huber(), 1e-3, 1.0)
    assert perturbation.curvature_cost(risk) > 1.0
    with pytest.raises(BudgetExceededError, match="too small a budget for these releases"):
        charged(perturbation.perturb_objective, risk, 1.0, delta, add_regularization=False)


VECTOR = st.lists(st.floats(-1, 1), min_size=2, max_size=2).map(np.array)
LOSS = st.sampled_from([huber(), huber(0.1), logistic()])


def in_the_ball(v):
    return v / max(1.0, float(np.linalg.norm(v)))


@given(st.lists(VECTOR, max_size=5), VECTOR, VECTOR, LOSS, st.floats(1e-3, 10.0))
@SETTINGS
def test_minimisers_of_neighbours_are_close(common, x, other, loss, reg):
    """Within 2cR/(n reg), and the errors of the computed ones."""
    M, N = (np.array([in_the_ball(v) for v in [*common, last]]) for last in (x, other))
    first, second = (RegularizedRisk.in_memory(side, loss, reg, 1.0) for side in (M, N))
    bound = 2 * (1 / len(M) + first.error) / reg
    assert np.linalg.norm(first.minimise() - second.minimise()) <= bound * (1 + 1e-12)


@pytest.mark.parametrize("loss", [huber(), logistic()])
@pytest.mark.parametrize("n", [1, 4])
def test_some_neighbours_are_as_far_apart_as_the_bound_allows(loss, n):
    """Within 10 % of it."""
    common = np.zeros((n - 1, 2))
    reg = 4.0
    if loss.name == "logistic":  # shifted, so that it is steep around weights of zero
        loss = sm.MarginLoss(
            value=lambda z: logistic().value(z - 8.0),
            slope=lambda z: logistic().slope(z - 8.0),
            curvature=lambda z: logistic().curvature(z - 8.0),
            slope_bound=1.0,
            curvature_bound=0.25,
        )
    sides = (np.vstack([common, [[sign, 0.0]]]) for sign in (1, -1))
    first, second = (RegularizedRisk.in_memory(side, loss, reg, 1.0).minimise() for side in sides)
    assert np.linalg.norm(first - second) > 0.9 * 2 / (n * reg)


def test_determinants_of_some_neighbours_differ_by_as_much():
    """Within 10 %, through the Hessians of the code."""
    n, reg, w = 3, 0.05, np.array([1.0, 0.0])
    common = np.array([[0.0, 0.3], [0.0, -0.2]])
    both = (np.vstack([common, [last]]) for last in ([1.0, 0.0], [0.0, 0.0]))
    first, second = (RegularizedRisk.in_memory(M, huber(), reg, 1.0).hessian(w) for M in both)
    ratio = np.linalg.slogdet(first)[1] - np.linalg.slogdet(second)[1]
    cost = perturbation.curvature_cost(
        RegularizedRisk.in_memory(np.zeros((n, 2)), huber(), reg, 1.0)
    )
    assert 0.9 * cost < ratio <= cost + 1e-12


@pytest.mark.parametrize(("estimator", "delta", "t"), pairs(ALL, [0.0, 1e-6], [1e-3, 7.0]))
def test_scale_of_the_records(estimator, delta, t):
    """Records and their bound t times as long, regularisation t^2 times as strong."""
    base = estimator(eps=0.7, reg=0.1, delta=delta, random_state=3).fit(X, Y).coef_
    scaled = estimator(eps=0.7, reg=0.1 * t**2, delta=delta, data_norm=t, random_state=3)
    scaled, atol = scaled.fit(t * X, Y).coef_, 2.0**-18 * np.abs(base).max()  # the grids differ
    np.testing.assert_allclose(t * scaled, base, rtol=1e-6, atol=atol)


@pytest.mark.parametrize("data_norm", [1e-90, 1e-3, 1e3, 1e13])
def test_extreme_norms(data_norm):
    svm = sm.ObjectivePerturbationSVC(
        eps=math.inf, reg=data_norm**2, data_norm=data_norm, fit_intercept=False
    ).fit(1e10 * data_norm * X, Y)
    reference = RegularizedRisk.in_memory(signed(X / (1 - 1e-9), Y), huber(), 1.0, 1.0).minimise()
    np.testing.assert_allclose(data_norm * svm.coef_[0], reference, rtol=1e-6)


@pytest.mark.parametrize(
    "source", [np.random.default_rng(3), np.random.RandomState(3), np.int64(3)]
)
def test_every_seeded_source_is_owned_up_to(source):
    assert sm.OutputPerturbationSVC(random_state=source).fit(X, Y).privacy_.seeded


#: Squared hinge, continued by its tangent where its slope reaches -4.
CLIPPED_SQUARED_HINGE = sm.MarginLoss(
    value=lambda z: np.where(z < -1, 4 - 4 * (z + 1), np.maximum(0.0, 1 - z) ** 2),
    slope=lambda z: -2 * np.clip(1 - z, 0.0, 2.0),
    curvature=lambda z: np.where(np.abs(z) < 1, 2.0, 0.0),
    slope_bound=4.0,
    curvature_bound=2.0,
)


@pytest.mark.parametrize("estimator", [OUTPUT[-1], OBJECTIVE[-1]])
def test_a_loss_of_ones_own(estimator):
    loss = CLIPPED_SQUARED_HINGE
    svm = estimator(loss, eps=1.0, reg=0.05, random_state=0, fit_intercept=False).fit(X, Y)
    assert svm.privacy_.eps == pytest.approx(1.0)
    exact = clone(svm).set_params(eps=math.inf).fit(X, Y)
    risk = RegularizedRisk.in_memory(signed(X, Y), loss, 0.05, 1.0)
    assert risk.certified(exact.coef_[0])
    assert exact.score(X, Y) > 0.8
    of_one = 1.0 if estimator is sm.ObjectivePerturbationClassifier else 1 / (len(X) * 0.05)
    largest = max(e.sensitivity for e in svm.privacy_.entries)
    assert largest == pytest.approx(2 * loss.slope_bound * of_one, rel=1e-6)


@pytest.mark.parametrize("name", ["slope_bound", "curvature_bound"])
@pytest.mark.parametrize("bound", [0.0, math.inf, math.nan, "1", True])
def test_bounds_of_a_loss(name, bound):
    bounds = {"slope_bound": 1.0, "curvature_bound": 1.0, name: bound}
    with pytest.raises(InvalidParameterError, match=f"{name} must be a positive finite number"):
        sm.MarginLoss(np.abs, np.sign, np.zeros_like, **bounds)


@pytest.mark.parametrize(("named", "default"), [OUTPUT[1:], OBJECTIVE[1:]])
def test_the_default_loss_is_logistic(named, default):
    one, other = (estimator(random_state=2).fit(X, Y).coef_ for estimator in (named, default))
    np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("kind", [ObjectivePerturbation, GaussianObjectivePerturbation])
def test_the_bound_on_the_linear_term_holds_noise_and_what_moves_between_neighbours(kind):
    risk = RegularizedRisk.in_memory(np.ones((4, 3)), huber(), 0.1, 1.0)
    for scale in (1e-9, 1.0):
        assert perturbation._most_noise(risk, kind(2.0, scale, 0.1)) >= (76 * scale + 2.0) / 4
