"""Non-private classifiers against independent solvers and known answers, and their certificates."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

import privlp
from privlp import InvalidParameterError, InvalidProblemError, PrivLPError
from svm_models import LPSVC, QPSVC, HuberSVC, RegularizedLogisticRegression, soft_margin_lp
from svm_models.classifiers import exact
from svm_models.classifiers.exact import UncertifiedOptimumError
from svm_models.classifiers.risk import TOLERANCE, RegularizedRisk, huber, logistic
from svm_models.records import signed
from tests.effort import examples, pairs

ALL = [LPSVC, QPSVC, HuberSVC, RegularizedLogisticRegression]


SMOOTH = [HuberSVC, RegularizedLogisticRegression]


def records(n=40, p=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=n) > 0, 1, -1)
    y[:2] = 1, -1
    return X, y


@st.composite
def problems(draw):
    """Records of few digits, with ties, zeros and repetitions, and labels of both classes."""
    n, p = draw(st.integers(2, 8)), draw(st.integers(1, 4))
    row = st.lists(st.integers(-6, 6), min_size=p, max_size=p)
    X = np.array(draw(st.lists(row, min_size=n, max_size=n))) / 2
    y = np.array(draw(st.lists(st.sampled_from([-1, 1]), min_size=n, max_size=n)))
    y[:2] = 1, -1
    return X, y


@given(problems(), st.floats(0.01, 100.0), st.sampled_from([np.asarray, sp.csr_array]))
@settings(deadline=None, max_examples=examples(60))
def test_the_dual_finds_the_objective_of_the_primal(problem, C, form):
    X, y = problem
    svm = LPSVC(C).fit(form(X), y)
    primal = privlp.solve_exact(soft_margin_lp(X, y, C))
    assert svm.objective_ == pytest.approx(primal.objective, rel=1e-8, abs=1e-8)
    w = svm.coef_[0]
    assert svm.objective_ == pytest.approx(
        np.abs(w).sum() + C * np.maximum(0, 1 - y * (X @ w)).sum()
    )
    assert abs(svm.gap_) <= 1e-8


@pytest.mark.parametrize(
    ("scale", "C", "form"),
    pairs([1e-3, 1.0, 1e3], [1e-4, 1.0, 1e4], [np.asarray, sp.csr_array, sp.csc_matrix]),
)
def test_lpsvc_on_records_of_any_scale(scale, C, form):
    X, y = records()
    svm = LPSVC(C).fit(form(scale * X), y)
    primal = privlp.solve_exact(soft_margin_lp(scale * X, y, C))
    assert svm.objective_ == pytest.approx(primal.objective, rel=1e-8)


def reference_qp(X, y, C):
    """min ||w||^2 + C sum of hinges, that is twice ||w||^2/2 + C/2 sum of hinges."""
    options = {"loss": "hinge", "dual": True, "fit_intercept": False, "max_iter": 10**7}
    return LinearSVC(C=C / 2, tol=1e-9, **options).fit(X, y).coef_[0]


def qp_objective(w, X, y, C):
    return w @ w + C * np.maximum(0, 1 - y * (X @ w)).sum()


@pytest.mark.parametrize(("seed", "C", "form"), [(0, 0.01, np.asarray), (1, 1.0, sp.csr_array)])
def test_qpsvc_agrees_with_liblinear(seed, C, form):
    X, y = records(seed=seed)
    svm = QPSVC(C, solver="CLARABEL").fit(form(X), y)
    w = reference_qp(X, y, C)
    np.testing.assert_allclose(svm.coef_[0], w, atol=1e-4)
    assert svm.objective_ == pytest.approx(qp_objective(w, X, y, C), rel=1e-5)
    assert abs(svm.gap_) <= 1e-6


def test_qpsvc_certifies_ordinary_records_by_default():
    for seed in (4, 12, 37, 52):
        rng = np.random.default_rng(seed)
        n, p = rng.integers(2, 60), rng.integers(1, 6)
        X = rng.normal(size=(n, p)) * 10.0 ** rng.uniform(-2, 2)
        y = np.where(rng.random(n) < 0.5, 1, -1)
        y[:2] = 1, -1
        QPSVC(10 ** rng.uniform(-2, 2)).fit(X, y)


def test_qpsvc_with_a_solver_that_does_not_exist():
    message = r"solver failed \(NONE_SUCH\); try another solver="
    with pytest.raises(UncertifiedOptimumError, match=message):
        QPSVC(solver="NONE_SUCH").fit(*records())


def test_an_optimum_that_is_none_is_refused(monkeypatch):
    monkeypatch.setattr(exact, "_GAP", -1.0)
    for svm in (LPSVC(), QPSVC()):
        message = "could not be certified: relative gap .* Rescale the records or C"
        with pytest.raises(UncertifiedOptimumError, match=message):
            svm.fit(*records())
    assert issubclass(UncertifiedOptimumError, PrivLPError)


@pytest.mark.parametrize(
    ("estimator", "reg", "scale"), pairs(SMOOTH, [1e-9, 1e-3, 10.0], [1e-4, 1.0, 100.0])
)
def test_gradient_is_certified(estimator, reg, scale):
    X, y = records()
    svm = estimator(reg).fit(scale * X, y)
    longest = np.linalg.norm(scale * X, axis=1).max()
    assert svm.gradient_norm_ <= TOLERANCE * longest
    loss = huber() if estimator is HuberSVC else logistic()
    risk = RegularizedRisk.in_memory(signed(scale * X, y), loss, reg, longest)
    gradient = risk.gradient(svm.coef_[0])
    assert np.linalg.norm(gradient) <= TOLERANCE * longest * (1 + 1e-9)


@pytest.mark.parametrize(("reg", "form"), [(1e-3, np.asarray), (10.0, sp.csr_array)])
def test_logistic_regression_agrees_with_scikit_learn(reg, form):
    X, y = records()
    reference = LogisticRegression(
        fit_intercept=False, C=1 / (len(y) * reg), tol=1e-12, max_iter=10_000, solver="newton-cg"
    )
    ours = RegularizedLogisticRegression(reg).fit(form(X), y)
    np.testing.assert_allclose(ours.coef_, reference.fit(X, y).coef_, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("h", [0.5, 0.1, 1e-3])
def test_the_huber_svm_tends_to_the_quadratic_program(h):
    """The Huber hinge is within h/4 of the hinge, so that J is."""
    X, y = records()
    reg, n = 0.1, len(y)
    w = HuberSVC(reg, h=h).fit(X, y).coef_[0]
    best = reference_qp(X, y, 2 / (n * reg))

    def hinge_risk(w):
        return reg / 2 * (w @ w) + np.maximum(0, 1 - y * (X @ w)).mean()

    assert hinge_risk(best) - 1e-9 <= hinge_risk(w) <= hinge_risk(best) + h / 2


@pytest.mark.parametrize("estimator", ALL)
def test_names_of_classes(estimator):
    X, y = records()
    names = np.where(y > 0, "yes", "no")
    svm, plain = estimator().fit(X, names), estimator().fit(X, y)
    np.testing.assert_array_equal(svm.coef_, plain.coef_)
    assert svm.classes_.tolist() == ["no", "yes"]
    np.testing.assert_array_equal(svm.predict(X) == "yes", plain.predict(X) == 1)
    np.testing.assert_allclose(svm.decision_function(sp.csr_matrix(X)), X @ svm.coef_[0])


@pytest.mark.parametrize("estimator", ALL[1:3])
def test_declared_classes(estimator):
    X, _ = records()
    svm = estimator(classes=(0, 1)).fit(np.abs(X), np.ones(len(X)))
    assert svm.classes_.tolist() == [0, 1]
    assert svm.predict(np.abs(X)).all()
    with pytest.raises(InvalidParameterError, match="classes must name two different labels"):
        estimator(classes=(1, 1)).fit(X, np.ones(len(X)))
    with pytest.raises(InvalidProblemError, match=r"labels other than the two declared, clas"):
        estimator(classes=(0, 1)).fit(X, np.full(len(X), 2))


@pytest.mark.parametrize("estimator", ALL[:2])
def test_labels_of_other_than_two_classes(estimator):
    X, _ = records()
    message = "y has one class only; give labels of two classes, or name both by classes="
    with pytest.raises(InvalidProblemError, match=message):
        estimator().fit(X, np.ones(len(X)))
    message = "binary classification is supported.*multiclass.*by PrivateOneVsRestClassifier where"
    with pytest.raises(InvalidProblemError, match=message):
        estimator().fit(X, np.arange(len(X)) % 3)
    with pytest.raises(ValueError, match="Unknown label type: continuous"):
        estimator().fit(X, X[:, 0])


def test_weights_of_records_are_refused():
    X, y = records()
    message = r"fit takes X and y only, not sample_weight\."
    with pytest.raises(InvalidParameterError, match=message):
        HuberSVC().fit(X, y, sample_weight=np.ones(len(y)))


def test_an_uncertified_gradient_is_warned_of():
    X = 1e9 * np.random.default_rng(0).normal(size=(40, 3))
    y = np.where(np.arange(40) % 2, 1, -1)
    with pytest.warns(ConvergenceWarning, match="would certify the optimum. Scale the records dow"):
        HuberSVC(1e-12, h=1e-4).fit(X, y)
