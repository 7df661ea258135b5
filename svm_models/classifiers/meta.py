"""What classifiers share that are made of several private ones."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin
from sklearn.metrics import accuracy_score
from sklearn.utils.validation import check_is_fitted

from privlp import Budget
from privlp.privacy import PrivacyRecord
from privlp.privacy.gaussian_dp import eps_of, mu_of
from svm_models import account as accounts
from svm_models.records import owners
from svm_models.records.columns import Columns, without_labels
from svm_models.records.validation import scored, validated, without_table

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
        owners.refuse(self, unsupported)
        self.__dict__.pop(self._last, None)

    def _read(self, X: Any, y: Any, groups: Any, parts: Iterable[Any]) -> tuple[Any, Any, Any]:
        """Records in numbers, or as they are if one of the parts declares their columns; labels.

        Last are the numbers of the owners of rows, or None.
        """
        X, groups = owners.with_owners(X, groups)
        bounds = [getattr(part, "X_bounds", None) for part in parts]
        declared = next((one for one in bounds if isinstance(one, Mapping)), None)
        X, y = without_labels(declared, X, y)
        self._columns = next(filter(None, (Columns.of(one, X, y) for one in bounds)), None)
        hidden, options = accounts.adds_or_removes(self.relation), {"dtype": np.float64}
        numbers = X if self._columns is None else self._columns.numbers(X)
        found, y = validated(self, numbers, y, count_is_private=hidden, **options)
        X = found if self._columns is None else X
        return X, y, None if groups is None else owners.owners_of(self, groups, len(y))

    def _split(
        self, classifiers: Sequence[Any], eps: float, delta: float
    ) -> tuple[dict[str, float], Budget]:
        """The eps and delta of each classifier on the same records, and what they are charged to.

        Where they make planned Gaussian draws alone, squares of Gaussian parameters add up.
        """
        count = len(classifiers)
        if count == 1 or math.isinf(eps):
            return {"eps": eps, "delta": delta}, accounts.open_budget(eps, delta, self.budget)
        planned = all(getattr(one, "plans_gaussian_draws_only", False) for one in classifiers)
        if self.budget is None and planned and not accounts.counts(self):
            part = mu_of(eps, delta) / math.sqrt(count) * _LESS
            budget = Budget(eps, delta, composition="planned")
            return {"eps": eps_of(part, delta / count), "delta": delta / count}, budget
        one = {"eps": eps / count * _LESS, "delta": delta / count * _LESS}
        return one, accounts.open_budget(eps, delta, self.budget)

    def _validated(self, X: Any) -> Any:
        check_is_fitted(self, self._last)
        numbers = X if self._columns is None else self._columns.numbers(X)
        found = validated(self, numbers, dtype=np.float64, reset=False)
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
        return accounts.marked(self, super().__repr__(N_CHAR_MAX))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True
        tags.input_tags.sparse = True
        tags.non_deterministic = self.random_state is None
        return tags
