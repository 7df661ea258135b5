"""Several classes: one private classifier of each class against the rest, within one budget."""

from __future__ import annotations

import math
import warnings
from dataclasses import replace
from numbers import Real
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.metrics import accuracy_score
from sklearn.utils.validation import check_is_fitted

from privlp import Budget, InvalidParameterError, NotPrivateWarning
from privlp.privacy import PrivacyRecord
from privlp.privacy.gaussian_dp import eps_of, mu_of
from svm_models.account import marked, open_budget, randomness_of
from svm_models.base import PrivateLinearClassifier
from svm_models.classes import relation_in_words
from svm_models.neighbours import accounted, adds_or_removes, require_nominal
from svm_models.one_vs_rest_checks import check_estimator, several_classes
from svm_models.parameters import privacy
from svm_models.private_lp_svc import PrivateLPSVC
from svm_models.records.validation import scored, validated
from svm_models.repeated_fits import warn_if_repeated

FloatArray = npt.NDArray[np.float64]

#: Parts must not exceed the whole by rounding.
_LESS = 1 - 1e-9


class PrivateOneVsRestClassifier(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
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
        Of this package, for two classes; a copy is trained for each class. ``None``:
        :class:`PrivateLPSVC`. Whatever this class has a parameter for is set here, not there.
    eps : float
        Of all classifiers together, in (0, inf].
    delta : float
        Of all classifiers together.
    classes : sequence of labels, optional
        All labels, two at least; public. ``None`` reads them from y, which no budget pays for: a
        warning says so.
    budget : privlp.Budget, optional
        A budget shared with other fits.
    random_state : None, int or numpy.random.Generator
    relation : {"replace", "add-remove"}
        As for the classifiers.
    nominal_n : int, optional
        For ``"add-remove"``: a public number near the number of records. ``None``: each classifier
        buys a noisy count of its own.

    Attributes
    ----------
    classes_ : (k,) array
    estimators_ : list
        k classifiers of the labels 0 (the rest) and 1; one if k = 2, for the second class.
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

    privacy_: PrivacyRecord

    def __init__(
        self,
        estimator: Any = None,
        eps: float = 1.0,
        delta: float = 1e-6,
        *,
        classes: Any = None,
        budget: Budget | None = None,
        random_state: Any = None,
        relation: str = "replace",
        nominal_n: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.eps = eps
        self.delta = delta
        self.classes = classes
        self.budget = budget
        self.random_state = random_state
        self.relation = relation
        self.nominal_n = nominal_n

    def fit(self, X: Any, y: Any, **unsupported: Any) -> Self:
        """Train a classifier of each class.

        Parameters
        ----------
        X : array or sparse array, shape (n, p)
        y : array_like, shape (n,)

        Raises
        ------
        InvalidParameterError
            If the estimator is not private, or sets what is to be set here.
        InvalidProblemError
            If y holds other labels than `classes`.

        Examples
        --------
        >>> import numpy as np
        >>> from svm_models import PrivateOneVsRestClassifier
        >>> y = np.arange(3000) % 3
        >>> fitted = PrivateOneVsRestClassifier(eps=1.0, delta=1e-6, classes=(0, 1, 2))
        >>> len(fitted.set_params(random_state=0).fit(np.eye(3)[y], y).estimators_)
        3
        """
        if unsupported:
            raise InvalidParameterError(
                "PrivateOneVsRestClassifier.fit takes X and y only, not"
                f" {', '.join(sorted(unsupported))}."
            )
        self.__dict__.pop("estimators_", None)  # of an earlier fit
        estimator = PrivateLPSVC() if self.estimator is None else self.estimator
        check_estimator(estimator)
        accounted(self.relation, self.nominal_n)
        eps, delta = privacy(self.eps, self.delta)
        if estimator._needs_delta and math.isfinite(eps) and delta == 0:
            raise InvalidParameterError(
                f"delta must be positive: {type(estimator).__name__} adds Gaussian noise, which"
                " needs delta > 0.",
                parameter="delta",
            )
        randomness = randomness_of(self.random_state)
        self._warn_of_read_classes()
        hidden = adds_or_removes(self.relation)
        X, y = validated(self, X, y, dtype=np.float64, count_is_private=hidden)
        self.classes_ = several_classes(y, self.classes)
        require_nominal(len(y), self.nominal_n)
        named = self.classes_ if len(self.classes_) > 2 else self.classes_[1:]
        warn_if_repeated(self, eps, delta)
        estimator = clone(estimator)
        if "fallback" in estimator.get_params():  # decisions are compared between classes
            estimator.set_params(fallback=False)
        part, ledger = self._split(estimator, eps, delta, len(named))
        found = []
        try:
            for label in named:
                one = clone(estimator).set_params(**part, budget=ledger, random_state=randomness)
                one.set_params(relation=self.relation, nominal_n=self.nominal_n, classes=(0, 1))
                one.fit(X, (y == label).astype(int))
                found.append(one.set_params(budget=None, random_state=None))
        finally:
            self.privacy_ = self._said(ledger.record())
        self.estimators_ = found
        return self

    def _split(
        self, estimator: PrivateLinearClassifier, eps: float, delta: float, count: int
    ) -> tuple[dict[str, float], Budget]:
        """The eps and delta of each of `count` classifiers, and the budget they are charged to."""
        if count == 1 or math.isinf(eps):
            return {"eps": eps, "delta": delta}, open_budget(eps, delta, self.budget)
        planned = not adds_or_removes(self.relation) or self.nominal_n is not None
        if self.budget is None and planned and estimator.plans_gaussian_draws_only:
            part = mu_of(eps, delta) / math.sqrt(count) * _LESS
            budget = Budget(eps, delta, composition="planned")
            return {"eps": eps_of(part, delta / count), "delta": delta / count}, budget
        one = {"eps": eps / count * _LESS, "delta": delta / count * _LESS}
        return one, open_budget(eps, delta, self.budget)

    def _said(self, record: PrivacyRecord) -> PrivacyRecord:
        """The record, with all classes in the words of its relation."""
        if record.relation is None:
            return record
        words = relation_in_words(
            self.classes,
            added_or_removed=adds_or_removes(self.relation),
            nominal_n=self.nominal_n,
            number=str(len(self.classes_)),
        )
        return replace(record, relation=words)

    def _warn_of_read_classes(self) -> None:
        if self.classes is None and not (isinstance(self.eps, Real) and self.eps == math.inf):
            warnings.warn(
                "The classes are read from the records, and no budget pays for that: the label of"
                " one record can decide how many classes there are. Pass classes=(a, b, c), labels"
                " that are known without the records.",
                NotPrivateWarning,
                stacklevel=3,
            )

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
        check_is_fitted(self, "estimators_")
        X = validated(self, X, dtype=np.float64, reset=False)
        found = np.column_stack([one.decision_function(X) for one in self.estimators_])
        return found if found.shape[1] > 1 else found[:, 0]

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """The class of each row of X, shape (n,).

        Examples
        --------
        >>> import numpy as np
        >>> from svm_models import PrivateOneVsRestClassifier
        >>> y = np.array(["a", "b", "c"] * 1000)
        >>> fitted = PrivateOneVsRestClassifier(classes=("a", "b", "c"), random_state=0)
        >>> fitted.fit(np.tile(np.eye(3), (1000, 1)), y).predict(np.eye(3)).tolist()
        ['a', 'b', 'c']
        """
        decisions = self.decision_function(X)
        of = (decisions > 0).astype(int) if decisions.ndim == 1 else decisions.argmax(axis=1)
        return np.asarray(self.classes_[of])

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Mean accuracy on (X, y), as in scikit-learn. **Not private**.

        Examples
        --------
        >>> import numpy as np
        >>> from svm_models import PrivateOneVsRestClassifier
        >>> y = np.arange(3000) % 3
        >>> fitted = PrivateOneVsRestClassifier(classes=(0, 1, 2), random_state=0)
        >>> fitted.fit(np.eye(3)[y], y).score(np.eye(3), [0, 1, 2])
        1.0
        """
        return scored(accuracy_score, y, self.predict(X), sample_weight)

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        return marked(self, super().__repr__(N_CHAR_MAX))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True
        tags.input_tags.sparse = True
        tags.non_deterministic = self.random_state is None
        return tags
