"""Classifiers trained to a certified optimum, and one with an unproven claim: **not private**."""

from __future__ import annotations

import warnings
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC

import privlp
from privlp.checks import optional, require_kind
from svm_models.account import randomness_of
from svm_models.classifiers.base import LinearBinaryClassifier
from svm_models.classifiers.risk import MarginLoss, RegularizedRisk, huber, logistic
from svm_models.parameters import PRICE, REG, FloatArray, privacy, within
from svm_models.records import signed

_GAP = 1e-6


class UncertifiedOptimumError(privlp.PrivLPError, RuntimeError):
    """A solver ended without a certified optimum."""


@dataclass(eq=False, repr=False)
class LPSVC(LinearBinaryClassifier):
    """The exact linear-programming SVM: minimise ||w||_1 + C sum_i max(0, 1 - y_i x_i·w).

    **Not private**.

    HiGHS solves the dual, maximise sum_i a_i subject to -1 <= sum_i a_i y_i x_ij <= 1 and 0 <= a_i
    <= C: p ranged rows in place of n rows; w are the duals of its rows (Mangasarian 1998).

    Parameters
    ----------
    C : float
        Price of a unit of margin error, positive. Where features tell little of a rare label, the
        least hinge loss is that of a constant whatever C, and the weights rank nobody: no default
        helps. On 3,000 records of car crashes, 4.6 % of whom died, and of workers, 24 % of whom
        smoke, the area under the curve is 0.50 at C = 0.01, 1 and 100; that of
        :class:`RegularizedLogisticRegression` 0.88 and 0.65. Take that there.
    classes : pair of labels, optional

    Attributes
    ----------
    coef_, intercept_, classes_ : arrays of shape (1, p), (1,) and (2,)
        The intercept is zero.
    objective_ : float
        ||w||_1 + C sum_i max(0, 1 - y_i x_i·w), computed from ``coef_``.
    gap_ : float
        (objective - dual objective) / (1 + objective): the certificate.

    Examples
    --------
    >>> from svm_models import LPSVC
    >>> LPSVC(C=10.0).fit([[2.0, 0.0], [0.0, -1.0]], [1, -1]).coef_
    array([[0.5, 1. ]])
    """

    C: float = 1.0
    _: KW_ONLY
    classes: Any = None

    def _train(self, X: Any, signs: FloatArray, groups: Any = None) -> FloatArray:  # noqa: ARG002
        C = within(self.C, "C", *PRICE)
        M = signed(X, signs)
        n, p = M.shape
        w, dual_objective = dual_optimum(np.ones(n), M.T, np.ones(p), (0.0, C))
        self.objective_ = float(np.abs(w).sum() + C * np.maximum(0.0, 1 - M @ w).sum())
        self.gap_ = certified_gap(self.objective_, dual_objective)
        return w


@dataclass(eq=False, repr=False)
class QPSVC(LinearBinaryClassifier):
    """The exact quadratic-programming SVM by CVXPY.

    It minimises ||w||_2^2 + C sum_i max(0, 1 - y_i x_i·w). **Not private**.

    Parameters
    ----------
    C : float
        Price of a unit of margin error, positive.
    solver : str
        A CVXPY solver; by default Clarabel, an interior-point method that reaches the certificate.
    classes : pair of labels, optional

    Attributes
    ----------
    coef_, intercept_, classes_ : arrays of shape (1, p), (1,) and (2,)
        The intercept is zero.
    objective_ : float
        Computed from ``coef_``.
    gap_ : float
        (objective - dual objective) / (1 + objective): the certificate. The dual objective is
        sum_i a_i - ||sum_i a_i y_i x_i||^2 / 4 at multipliers a clipped to [0, C].

    Examples
    --------
    >>> from svm_models import QPSVC
    >>> QPSVC(C=10.0).fit([[2.0, 0.0], [0.0, -1.0]], [1, -1]).coef_.round(6)
    array([[0.5, 1. ]])
    """

    C: float = 1.0
    _: KW_ONLY
    solver: str = "CLARABEL"
    classes: Any = None

    def _train(self, X: Any, signs: FloatArray, groups: Any = None) -> FloatArray:  # noqa: ARG002
        cvxpy = optional("cvxpy", "QPSVC needs CVXPY: install it by pip install 'privlp[cvxpy]'.")
        C = within(self.C, "C", *PRICE)
        require_kind(self.solver, str, "solver", "the name of a CVXPY solver")
        M = signed(X, signs)
        w, slack = cvxpy.Variable(M.shape[1]), cvxpy.Variable(M.shape[0], nonneg=True)
        margins = M @ w >= 1 - slack
        problem = cvxpy.Problem(
            cvxpy.Minimize(cvxpy.sum_squares(w) + C * cvxpy.sum(slack)), [margins]
        )
        failed = True
        with suppress(cvxpy.SolverError), warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Solution may be inaccurate")  # the gap will tell
            problem.solve(solver=self.solver)
            failed = False
        if failed:  # without CVXPY's error, which may hold numbers of records
            raise UncertifiedOptimumError(
                f"CVXPY's solver failed ({self.solver}); try another solver=.", parameter="solver"
            )
        if w.value is None:
            raise UncertifiedOptimumError(
                f"CVXPY found no optimum (status {problem.status}); try another solver=."
            )
        weights = np.asarray(w.value, dtype=float)
        multipliers = np.clip(np.asarray(margins.dual_value, dtype=float), 0.0, C)
        self.objective_ = float(weights @ weights + C * np.maximum(0.0, 1 - M @ weights).sum())
        self.gap_ = certified_gap(
            self.objective_, float(multipliers.sum() - np.sum(np.square(M.T @ multipliers)) / 4)
        )
        return weights


class _SmoothClassifier(LinearBinaryClassifier):
    """Minimiser of a regularised risk."""

    reg: float

    def _loss(self) -> MarginLoss:
        raise NotImplementedError

    def _train(self, X: Any, signs: FloatArray, groups: Any = None) -> FloatArray:  # noqa: ARG002
        norms = np.sqrt((X.multiply(X) if sp.issparse(X) else np.square(X)).sum(axis=1))
        longest = float(norms.max()) or 1.0
        risk = RegularizedRisk.in_memory(
            signed(X, signs), self._loss(), within(self.reg, "reg", *REG), longest
        )
        w = risk.minimise(at_any_cost=False)
        self.gradient_norm_ = float(np.linalg.norm(risk.gradient(w)))
        if not self.gradient_norm_ <= risk.tolerance:
            warnings.warn(
                f"Newton's method stopped at a gradient of norm {self.gradient_norm_:.2g};"
                f" {risk.tolerance:.2g} would certify the optimum. Scale the records down, or give"
                " a larger reg.",
                ConvergenceWarning,
                stacklevel=4,
            )
        return w


@dataclass(eq=False, repr=False)
class HuberSVC(_SmoothClassifier):
    """SVM with Huber hinge: minimise reg/2 ||w||_2^2 + mean_i l_h(y_i x_i·w), by Newton's method.

    **Not private**.

    Parameters
    ----------
    reg : float
        Strength of ||w||^2/2 beside the mean loss, positive.
    h : float
        Half-width of the quadratic part, 0 < h <= 1/2.
    classes : pair of labels, optional

    Attributes
    ----------
    coef_, intercept_, classes_ : arrays of shape (1, p), (1,) and (2,)
        The intercept is zero.
    gradient_norm_ : float
        Norm of the gradient at ``coef_``: the certificate.

    Examples
    --------
    >>> from svm_models import HuberSVC
    >>> svm = HuberSVC(reg=0.1).fit([[1.0, 0.0], [0.0, -1.0]], [1, -1])
    >>> svm.predict([[3.0, 0.0]]), svm.gradient_norm_ < 1e-10
    (array([1]), True)
    """

    reg: float = 1e-3
    _: KW_ONLY
    h: float = 0.5
    classes: Any = None

    def _loss(self) -> MarginLoss:
        return huber(self.h)


@dataclass(eq=False, repr=False)
class RegularizedLogisticRegression(_SmoothClassifier):
    """Logistic regression by Newton's method.

    It minimises reg/2 ||w||_2^2 + mean_i ln(1 + exp(-y_i x_i·w)). **Not private**.

    Parameters
    ----------
    reg, classes
        As for :class:`HuberSVC`, and so are the attributes.

    Examples
    --------
    >>> from svm_models import RegularizedLogisticRegression
    >>> model = RegularizedLogisticRegression(reg=0.1).fit([[1.0, 0.0], [0.0, -1.0]], [1, -1])
    >>> model.predict([[3.0, 0.0]])
    array([1])
    """

    reg: float = 1e-3
    _: KW_ONLY
    classes: Any = None

    def _loss(self) -> MarginLoss:
        return logistic()


def dual_optimum(
    gain: FloatArray, rows: Any, slack: FloatArray, bounds: tuple[float, float]
) -> tuple[FloatArray, float]:
    """The duals of the rows of: maximise gain·a, abs(rows a) <= slack, a in bounds; its value."""
    public = np.zeros(len(slack), dtype=bool)
    options: dict[str, Any] = {"bounds": bounds, "sense": "max", "private": public}
    rows = sp.csr_array(rows)
    solved = privlp.solve_exact(
        privlp.LinearProgram(gain, rows, slack, row_lower=-slack, **options)
    )
    if solved.dual is None or solved.objective is None:
        raise UncertifiedOptimumError(
            f"HiGHS found no certified optimum of the dual linear program: {solved.message}"
        )
    return np.asarray(solved.dual), float(solved.objective)


def certified_gap(objective: float, dual_objective: float) -> float:
    """(objective - dual objective) / (1 + objective), refused if it is larger than 1e-6."""
    gap = (objective - dual_objective) / (1 + abs(objective))
    if not gap <= _GAP:
        raise UncertifiedOptimumError(
            f"The optimum could not be certified: relative gap {gap:.2g}. Rescale the records or C."
        )
    return gap


@dataclass(eq=False, repr=False)
class DualPerturbationSVC(LinearBinaryClassifier):
    """Linear SVM with Laplace noise on its dual variables.

    **UNPROVEN**: claims eps-differential privacy and does not have it.

    The abstract of "A Differential Privacy Support Vector Machine Classifier Based on Dual Variable
    Perturbation" gives neither proof nor noise scale. Built as it reads: SMO solves min ||w||^2/2 +
    C sum_i xi_i (scikit-learn's ``SVC``); support vector i has the error E_i = f(x_i) - y_i and the
    share r_i = abs(E_i)/sum_j abs(E_j); its dual variable a_i gets Laplace noise of scale C/(r_i
    eps). The weights are sum_i (a_i + noise_i) y_i x_i, the intercept is SMO's.

    Which records are support vectors, their errors and the intercept enter the result without
    noise, and a record that is no support vector in one of two neighbouring data sets adds noise in
    a direction of its own in the other: an audit on such a pair measures far more than eps
    (``tests/test_svm_audits.py``). So no ledger is charged, ``privacy_`` is None, and
    :meth:`fit` warns.

    Parameters
    ----------
    eps : float
        The claim.
    C : float
        Price of a unit of margin error, positive.
    classes : pair of labels, optional
    random_state : None, int or numpy.random.Generator

    Attributes
    ----------
    coef_, intercept_, classes_ : arrays of shape (1, p), (1,) and (2,)
    privacy_ : None

    Examples
    --------
    >>> import warnings
    >>> from svm_models import DualPerturbationSVC, make_separable_sphere
    >>> X, y = make_separable_sphere(300, random_state=0)
    >>> with warnings.catch_warnings(action="ignore"):
    ...     svm = DualPerturbationSVC(eps=1e6, random_state=0).fit(X, y)
    >>> svm.score(X, y) > 0.9
    True
    """

    eps: float = 1.0
    C: float = 1.0
    _: KW_ONLY
    classes: Any = None
    random_state: Any = None

    def _train(self, X: Any, signs: FloatArray, groups: Any = None) -> FloatArray:  # noqa: ARG002
        (eps, _), C = privacy(self.eps, 0.0), within(self.C, "C", *PRICE)
        generator = randomness_of(self.random_state).generator
        if len(np.unique(signs)) < 2:
            raise privlp.InvalidProblemError("SMO needs records of both classes.", parameter="y")
        warnings.warn(
            "DualPerturbationSVC has no proof of privacy, and audits refute its claim. Do not"
            " release what it learns.",
            privlp.NotPrivateWarning,
            stacklevel=3,
        )
        svc = SVC(kernel="linear", C=C).fit(X, signs)
        vectors = X[svc.support_]
        errors = np.abs(svc.decision_function(vectors) - signs[svc.support_])
        even = np.full(len(errors), 1 / len(errors))
        shares = errors / errors.sum() if errors.sum() > 0 else even
        scale = C / (np.maximum(shares, np.finfo(float).tiny) * eps)
        duals = svc.dual_coef_.toarray() if sp.issparse(svc.dual_coef_) else svc.dual_coef_
        noisy = np.abs(duals[0]) + generator.laplace(0.0, scale)
        self.intercept_ = np.array(svc.intercept_, dtype=float)
        return np.asarray(vectors.T @ (noisy * signs[svc.support_]))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.non_deterministic = self.random_state is None
        tags.classifier_tags.poor_score = True
        return tags
