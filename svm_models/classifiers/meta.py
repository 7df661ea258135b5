"""What classifiers share that are made of several private ones.

Several classes: one private classifier of each class against the rest, within one budget.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from inspect import signature
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.metrics import accuracy_score
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_is_fitted

from privlp import Budget, InvalidParameterError, InvalidProblemError
from privlp.checks import require_data
from privlp.privacy import PrivacyRecord
from privlp.privacy.gaussian_dp import eps_of, mu_of
from svm_models import account as accounts
from svm_models.around_fits import INSTEAD, fit, last_of, warn_if_repeated, warn_of_unpaid_steps
from svm_models.classifiers.base import PrivateLinearClassifier
from svm_models.classifiers.classes import declared_classes, warn_of_read_classes
from svm_models.classifiers.lp_svc import PrivateLPSVC
from svm_models.parameters import FloatArray, privacy, require_delta
from svm_models.records.columns import (
    Columns,
    kept_rows,
    owners_of,
    refuse,
    with_owners,
    without_labels,
)
from svm_models.records.validation import require_classes, scored, validated, without_table

#: Parts must not exceed the whole by rounding.
_LESS = 1 - 1e-9


@dataclass(eq=False, repr=False)
class PrivateMetaClassifier(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    """A classifier made of several private ones, within one budget."""

    _: KW_ONLY
    classes: Any = None
    budget: Budget | None = None
    random_state: Any = None
    relation: str = "replace"
    nominal_n: int | None = None
    rows_per_record: int | None = None
    privacy_: PrivacyRecord = field(init=False)

    _columns: Columns | None = field(default=None, init=False)
    #: What a fit leaves last.
    _last: ClassVar[str]

    def _begin(self, unsupported: dict[str, Any]) -> None:
        """Refuse what fit does not take, and forget an earlier fit."""
        refuse(self, unsupported)
        self.__dict__.pop(self._last, None)

    def _read(self, X: Any, y: Any, groups: Any, parts: Iterable[Any]) -> tuple[Any, Any, Any]:
        """Records in numbers, or as they are if one of the parts declares their columns; labels."""
        X, groups = with_owners(X, groups)
        bounds = [getattr(part, "X_bounds", None) for part in parts]
        declared = next((one for one in bounds if isinstance(one, Mapping)), None)
        X, y = without_labels(declared, X, y)
        self._columns = next(filter(None, (Columns.of(one, X, y) for one in bounds)), None)
        hidden, options = accounts.adds_or_removes(self.relation), {"dtype": np.float64}
        numbers = self._numbers(X, reset=True)
        found, y = validated(self, numbers, y, count_is_private=hidden, **options)
        X = found if self._columns is None else X
        return X, y, None if groups is None else owners_of(self, groups, len(y))

    def _split(
        self, classifiers: Sequence[Any], eps: float, delta: float
    ) -> tuple[dict[str, float], Budget]:
        """The eps and delta of each classifier on the same records, and what they are charged to.

        Where they make planned Gaussian draws alone, squares of Gaussian parameters add up.
        """
        count = len(classifiers)
        if count == 1 or math.isinf(eps):
            return {"eps": eps, "delta": delta}, accounts.open_budget(eps, delta, self.budget)
        planned = all(getattr(one, "_plans_gaussian_draws_only", False) for one in classifiers)
        if self.budget is None and planned and not accounts.counts(self):
            part = mu_of(eps, delta) / math.sqrt(count) * _LESS
            budget = Budget(eps, delta, composition="planned")
            return {"eps": eps_of(part, delta / count), "delta": delta / count}, budget
        one = {"eps": eps / count * _LESS, "delta": delta / count * _LESS}
        return one, accounts.open_budget(eps, delta, self.budget)

    def _numbers(self, X: Any, *, reset: bool) -> Any:
        """X with an entry for each declared category."""
        return X if self._columns is None else self._columns.numbers(X, self, reset=reset)

    def _validated(self, X: Any) -> Any:
        check_is_fitted(self, self._last)
        found = validated(self, self._numbers(X, reset=False), dtype=np.float64, reset=False)
        return found if self._columns is None else X

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """The class of each row of X, shape (n,).

        Examples
        --------
        >>> import numpy as np
        >>> from svm_models import PrivateOneVsRestClassifier
        >>> X, y = np.tile(np.eye(3), (1000, 1)), ["a", "b", "c"] * 1000
        >>> several = PrivateOneVsRestClassifier(classes=("a", "b", "c"), random_state=0)
        >>> several.fit(X, y).predict(np.eye(3)).tolist()
        ['a', 'b', 'c']
        """
        raise NotImplementedError

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Mean accuracy on (X, y), as in scikit-learn. **Not private**.

        Examples
        --------
        >>> import numpy as np
        >>> from svm_models import PrivateOneVsRestClassifier
        >>> X, y = np.tile(np.eye(3), (1000, 1)), [0, 1, 2] * 1000
        >>> several = PrivateOneVsRestClassifier(classes=(0, 1, 2), random_state=0)
        >>> several.fit(X, y).score(np.eye(3), [0, 1, 2])
        1.0
        """
        X, y = without_labels(self._columns, X, y)
        X, y = without_table(X, y) if isinstance(y, str) else (X, y)
        return scored(accuracy_score, y, self.predict(X), sample_weight)

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        return accounts.with_remark(self, super().__repr__(N_CHAR_MAX))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True
        tags.input_tags.sparse = True
        tags.non_deterministic = self.random_state is None
        return tags


#: What a classifier takes from the whole, and must not set itself.
_GIVEN: tuple[str, ...] = ("eps", "delta", "classes", "budget", "random_state")
_GIVEN += ("relation", "nominal_n", "rows_per_record")


@dataclass(eq=False, repr=False)
class PrivateOneVsRestClassifier(PrivateMetaClassifier):
    """Several classes: a private binary classifier of each against the rest, within one budget.

    The class of a record is the one with the largest decision. Two classes need one classifier,
    which takes the whole budget.

    *Neighbours*: one record replaced, or one added or removed. It is a record of each of the k
    classifiers, with a label of its own in each: so their costs are composed, and none is free.

    *Budget*: the k classifiers are fixed before the first draw, and each gets the same part. Where
    a classifier makes Gaussian draws only, all planned at once (:class:`PrivateLPSVC` without
    `threshold_share` or a noisy count), the squares of the Gaussian parameters add up exactly:
    mu-Gaussian-DP is (eps, delta)-DP, and each part is mu/sqrt(k)-Gaussian-DP. The noise grows like
    sqrt(k).
    Otherwise, and within a `budget` that is shared with other fits, eps and delta add up: each part
    is (eps/k, delta/k). Proof: ``docs/proofs.md``, "One class against the rest".

    Parameters
    ----------
    estimator : private classifier, optional
        Of this package, for two classes, or a pipeline of steps that learn nothing from records,
        such as scikit-learn's ``FunctionTransformer``, and one; a copy is trained for each class.
        ``None``: :class:`PrivateLPSVC`. Whatever this class has a parameter for is set here, not
        there.
    eps : float
        Of all classifiers together, in (0, inf].
    delta : float
        Of all classifiers together.
    classes : sequence of labels, optional
        All labels, two at least; public. ``None`` reads them from y, which no budget pays for: a
        warning says so.
    budget, random_state, relation, nominal_n, rows_per_record
        As for the classifiers. Where a noisy count is bought, each classifier buys its own.

    Attributes
    ----------
    classes_ : (k,) array
    estimators_ : list
        k classifiers, or pipelines, of the labels 0 (the rest) and 1; one if k = 2, for the second
        class.
    n_features_in_ : int
    privacy_ : privlp.privacy.PrivacyRecord
        What all of them spent.

    Examples
    --------
    >>> import numpy as np
    >>> from svm_models import PrivateLPSVC, PrivateOneVsRestClassifier
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(3, size=6000)
    >>> X = np.eye(3)[y] / 2 + rng.uniform(-0.25, 0.25, (6000, 3))
    >>> several = PrivateOneVsRestClassifier(
    ...     PrivateLPSVC(data_norm=1.0), eps=1.0, delta=1e-6, classes=(0, 1, 2), random_state=0
    ... ).fit(X, y)
    >>> several.decision_function(X[:2]).shape, several.score(X, y) > 0.9
    ((2, 3), True)
    >>> round(several.privacy_.eps, 3)
    1.0
    """

    estimator: Any = None
    eps: float = 1.0
    delta: float = 1e-6

    _last = "estimators_"

    def fit(self, X: Any, y: Any, groups: Any = None, **unsupported: Any) -> Self:
        """Train a classifier of each class; `groups` as for the classifiers.

        Examples
        --------
        >>> import numpy as np
        >>> from svm_models import PrivateOneVsRestClassifier
        >>> y = np.arange(3000) % 3
        >>> fitted = PrivateOneVsRestClassifier(eps=1.0, delta=1e-6, classes=(0, 1, 2))
        >>> len(fitted.set_params(random_state=0).fit(np.eye(3)[y], y).estimators_)
        3
        """
        self._begin(unsupported)
        estimator = PrivateLPSVC() if self.estimator is None else self.estimator
        check_estimator(estimator)
        accounts.accounted(self)
        eps, delta = privacy(self.eps, self.delta)
        if last_of(estimator)._needs_delta:
            require_delta(last_of(estimator), eps, delta)
        randomness = accounts.randomness_of(self.random_state)
        warn_of_read_classes(self.classes, self.eps, several=True)
        X, y, owners = self._read(X, y, groups, [estimator])
        if owners is not None:
            kept = kept_rows(owners, accounts.rows_of(self), randomness.generator)
            X, y = _safe_indexing(X, kept), y[kept]
        self.classes_ = several_classes(y, self.classes)
        accounts.require_nominal(len(y), self.nominal_n)
        named = self.classes_ if len(self.classes_) > 2 else self.classes_[1:]
        warn_if_repeated(self, eps, delta)
        warn_of_unpaid_steps(self, eps)
        estimator = clone(estimator)
        if "fallback" in last_of(estimator).get_params():  # decisions are compared between classes
            last_of(estimator).set_params(fallback=False)
        part, ledger = self._split([last_of(estimator)] * len(named), eps, delta)
        found = []
        try:
            for label in named:
                one = clone(estimator)
                own = last_of(one).set_params(**part, budget=ledger, random_state=randomness)
                own.set_params(relation=self.relation, nominal_n=self.nominal_n, classes=(0, 1))
                own.set_params(rows_per_record=self.rows_per_record)
                fit(one, X, (y == label).astype(int))
                own.set_params(budget=None, random_state=None)
                found.append(one)
        finally:
            self.privacy_ = self._said(ledger.record())
        self.estimators_ = found
        return self

    def _said(self, record: PrivacyRecord) -> PrivacyRecord:
        """The record, with all classes in the words of its relation."""
        if record.relation is None:
            return record
        words = accounts.relation_in_words(self, number=str(len(self.classes_)))
        return replace(record, relation=words)

    def decision_function(self, X: Any) -> FloatArray:
        """The decision for each class, shape (n, k); (n,) for two classes, of the second.

        Examples
        --------
        >>> import numpy as np
        >>> from svm_models import PrivateOneVsRestClassifier
        >>> y = np.arange(3000) % 3
        >>> fitted = PrivateOneVsRestClassifier(classes=(0, 1, 2), random_state=0)
        >>> fitted.fit(np.eye(3)[y], y).decision_function(np.eye(3)).argmax(axis=1)
        array([0, 1, 2])
        """
        X = self._validated(X)
        found = np.column_stack([one.decision_function(X) for one in self.estimators_])
        return found if found.shape[1] > 1 else found[:, 0]

    def predict(self, X: Any) -> npt.NDArray[Any]:
        decisions = self.decision_function(X)
        of = (decisions > 0).astype(int) if decisions.ndim == 1 else decisions.argmax(axis=1)
        return np.asarray(self.classes_[of])


def several_classes(y: npt.NDArray[Any], declared: Any) -> npt.NDArray[Any]:
    """The labels in order, as declared, two at least, or else as found; y may hold no other."""
    classes = np.unique(y) if declared is None else declared_classes(declared)
    if declared is not None and (
        classes.ndim != 1 or len(classes) < 2 or classes.shape != np.shape(declared)
    ):
        raise InvalidParameterError(
            "classes must name different labels, two at least.", parameter="classes"
        )
    require_classes(y, classes)
    if len(classes) < 2:
        raise InvalidProblemError(
            "y has one class only; give labels of two classes or more, or name all of them by"
            " classes=(a, b, c).",
            parameter="y",
        )
    require_data(np.isin(y, classes).all(), "y holds labels other than those of classes.", "y")
    return classes


def check_estimator(estimator: Any) -> None:
    """Refuse what is not private, or sets what is to be set here."""
    name = type(estimator).__name__
    estimator = last_of(estimator)
    if not isinstance(estimator, PrivateLinearClassifier):
        raise InvalidParameterError(
            f"{name} may learn from records without paying. Give a private classifier of"
            f" svm_models, PrivateLPSVC() for instance, or a pipeline that ends in one.{INSTEAD}",
            parameter="estimator",
        )
    defaults = signature(type(estimator)).parameters
    for parameter in _GIVEN:
        value = getattr(estimator, parameter)
        if value is not defaults[parameter].default and value != defaults[parameter].default:
            raise InvalidParameterError(
                f"{name} sets {parameter}. Leave it out and give {parameter} to"
                " PrivateOneVsRestClassifier, for all classes together.",
                parameter="estimator",
            )
    for parameter in ("class_weight", "positive_rate", "fairness"):
        if getattr(estimator, parameter, None) is not None:
            raise InvalidParameterError(
                f"{name} sets {parameter}, which has no meaning where each class in turn is told"
                " from the rest. Leave it out.",
                parameter="estimator",
            )
