"""What every linear classifier here shares: labels as signs, decisions, an account of privacy.

Records longer than the public `data_norm` are scaled down silently: how many there are is private.
"""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.utils.validation import check_is_fitted

from privlp import Budget, tables
from privlp.checks import require_flag, warn_of_large_delta
from privlp.privacy import PrivacyRecord, Randomness
from privlp.quiet import unnoticed
from svm_models import account as accounts
from svm_models.around_fits import warn_if_repeated, warn_of_unpaid_steps
from svm_models.classifiers import classes as of_two
from svm_models.classifiers.fairness import members_of
from svm_models.parameters import FloatArray, norm_within, share
from svm_models.records import Preparation, columns, decisions_of
from svm_models.records.columns import Columns, ranges_of, without_labels
from svm_models.records.grid import require_exact_sums
from svm_models.records.validation import scored, validated, without_table

#: Parameters that private classifiers share, as their documentation has them.
COMMON = """data_norm : float, optional
        Public bound on the Euclidean norm of a record. Longer ones are scaled down to it, and how
        many is not told. ``None``: 1; with `X_bounds`, the square root of the number of columns,
        which no record exceeds.
    X_bounds : dict, or pair of floats or of (p,) arrays, optional
        Public ranges of the columns: values beyond them are moved to them, in predictions too. Then
        they are counted from -1 to 1 (without an intercept nothing is centred). A dict has for each
        column, by name or position, a tuple (low, high) or a list of categories: these become
        columns of 0 and 1, in the place of theirs and in the order of the list; others leave zeros.
        ``coef_`` is in the user's units.
    fit_intercept : bool
        Whether a constant, half of `data_norm`, is appended to each record: ``intercept_`` is its
        weight times the constant. The noise is that for records of norm 1.118 data_norm, and what
        is said of weights counts its weight too. ``False`` where X has a constant column, or where
        the classes lie on both sides of the origin.
    classes : pair of labels, optional
        The two labels, public. ``None`` reads them from y, which no budget pays for: a warning
        says so.
    budget : privlp.Budget, optional
        A budget shared with other fits.
    random_state : None, int or numpy.random.Generator
        ``None``: cryptographic randomness. A seed is for experiments, and ``privacy_`` says so.
    relation : {"replace", "add-remove"}
        Whether neighbours differ in one record that is replaced, or that one has and the other has
        not. The second takes half the noise for the same eps, and promises less: results under one
        are not comparable with those under the other.
    nominal_n : int, optional
        For ``"add-remove"``: a public number near the number of records, which is then private and
        at most ten times as large. ``None`` buys a noisy count for a fiftieth of eps.
    rows_per_record : int, optional
        Protects persons who own several rows of X, as `groups` of :meth:`fit` says: a neighbour has
        other rows for one person, or lacks them. So many rows of each person are kept, drawn at
        random; noise is so many times as large. Without `groups`, nobody may own more. ``None``:
        each row is another person's.
    class_weight : dict, optional
        Public weights of the two labels, positive; 1 where left out. They multiply the losses.
        What a record adds is bounded by the largest. ``"balanced"`` is refused: it would read the
        labels.
    threshold_share : float, optional
        Share of eps, in (0, 1), that buys a threshold for balanced accuracy: it becomes
        ``intercept_``, in place of the one that was fitted. For data with few records of a class.
        ``None``: decide at 0."""


class LinearBinaryClassifier(ClassifierMixin, BaseEstimator):
    """Sign of x·w for two classes, plus an intercept where there is one."""

    classes: Any = None
    #: Which data sets are neighbours; unless a record is replaced, their number is private.
    relation: str = "replace"
    privacy_: PrivacyRecord | None
    #: What is declared of columns.
    X_bounds: Any = None
    _columns: Columns | None = None
    #: Whether it protects persons.
    _is_private: ClassVar[bool] = False

    def fit(
        self,
        X: Any,
        y: Any,
        groups: Any = None,
        *,
        sensitive_features: Any = None,
        **unsupported: Any,
    ) -> Self:
        """Train on n records.

        Parameters
        ----------
        X : array, sparse array or table, shape (n, p)
            A table of any library that narwhals reads; its columns are the features.
        y : array_like, shape (n,), or str
            Two classes; or the column of the table that holds them, as it must be of a lazy one.
        groups : array_like, shape (n,), or str, optional
            Whose each row is, for private classifiers with `rows_per_record`; or the column of the
            table that says it, which then is no feature; a lazy table is computed as a whole.
        sensitive_features : array_like of 0 and 1, shape (n,), optional
            Of which group each person is, for classifiers with `fairness`. It is private.

        Raises
        ------
        InvalidProblemError
            If y has other than two classes.
        ValueError
            From scikit-learn, if shapes disagree or a number is not finite.
        InvalidParameterError
            If a parameter is outside its domain, or weights of records are asked for.

        Examples
        --------
        >>> from svm_models import HuberSVC
        >>> svm = HuberSVC(reg=0.1).fit([[1.0, 0.0], [-0.9, 0.1]], ["yes", "no"])
        >>> svm.classes_, svm.coef_.shape, svm.intercept_
        (array(['no', 'yes'], dtype='<U3'), (1, 2), array([0.]))
        """
        if not self._takes(sensitive_features):
            unsupported["sensitive_features"] = sensitive_features
        columns.refuse(self, unsupported, groups, private=self._is_private)
        # Weights of an earlier fit must not pass for this one's, should this one be cut short.
        for released in ("coef_", "fairness_gap_"):
            self.__dict__.pop(released, None)
        self._warn_before_reading()
        # Whether a number overflows depends on the records; nobody may learn it from a warning.
        with unnoticed():
            X, groups = columns.with_owners(X, groups)
            if sensitive_features is not None:
                tables.require_order(sensitive_features, X, "sensitive_features")
            X, y = without_labels(self.X_bounds, X, y)
            self._columns = Columns.of(self.X_bounds, X, y)
            X, y = self._read(self._numbers(X, reset=True), y)
            if sensitive_features is not None:
                X.members = members_of(sensitive_features, X.shape[0])
            self.classes_, signs = of_two.two_classes(y, self.classes)
            self.intercept_ = np.zeros(1)
            self.privacy_ = None
            self.coef_ = np.asarray(self._train(X, signs, groups), dtype=float)[None, :]
        return self

    def _takes(self, sensitive_features: Any) -> bool:
        """Whether the groups of persons may be given, or left out."""
        return sensitive_features is None

    def _warn_before_reading(self) -> None:
        """Say what is to be said before the records are looked at."""

    def _read(self, X: Any, y: Any) -> tuple[Any, Any]:
        """Checked records, in double precision unless training converts them, and labels."""
        hidden = accounts.adds_or_removes(self.relation)
        return validated(self, X, y, dtype=np.float64, count_is_private=hidden)

    def _numbers(self, X: Any, *, reset: bool = False) -> Any:
        """X with an entry for each declared category."""
        return X if self._columns is None else self._columns.numbers(X, self, reset=reset)

    def _train(self, X: Any, signs: FloatArray, groups: Any) -> FloatArray:
        """The weights for records X and labels -1.0 or 1.0."""
        raise NotImplementedError

    def decision_function(self, X: Any) -> FloatArray:
        """x·w plus the intercept for each row of X, shape (n,).

        Values beyond declared `X_bounds` are moved to them, as they are for `fit`.

        Examples
        --------
        >>> from svm_models import HuberSVC
        >>> svm = HuberSVC(reg=0.1).fit([[1.0], [-1.0]], ["yes", "no"])
        >>> svm.decision_function([[0.5], [-0.5]]) > 0
        array([ True, False])
        """
        check_is_fitted(self, "coef_")
        X = self._moved(validated(self, self._numbers(X), dtype=np.float64, reset=False))
        return np.asarray(X @ self.coef_[0] + self.intercept_[0])

    def _moved(self, X: Any) -> Any:
        """Records moved into the ranges that training moved them into."""
        return X

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """The class of each row of X, shape (n,).

        Examples
        --------
        >>> from svm_models import HuberSVC
        >>> HuberSVC(reg=0.1).fit([[1.0], [-1.0]], ["yes", "no"]).predict([[0.5], [-0.5]])
        array(['yes', 'no'], dtype='<U3')
        """
        decisions = self.decision_function(X)
        return self.classes_[(decisions > 0).astype(int)]

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Mean accuracy on (X, y), as in scikit-learn. **Not private**.

        Examples
        --------
        >>> from svm_models import HuberSVC
        >>> HuberSVC(reg=0.1).fit([[1.0], [-1.0]], ["yes", "no"]).score([[2.0]], ["yes"])
        1.0
        """
        X, y = without_labels(self.X_bounds, X, y)
        X, y = without_table(X, y) if isinstance(y, str) else (X, y)
        return scored(accuracy_score, y, self.predict(X), sample_weight)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.sparse = True
        return tags


@dataclass(eq=False, repr=False)
class PrivateLinearClassifier(LinearBinaryClassifier):
    """A linear classifier that protects each record it was trained on.

    Subclasses are dataclasses; their documentation writes ``common_parameters`` for those below.
    """

    _: KW_ONLY
    data_norm: float | None = None
    X_bounds: Any = None
    fit_intercept: bool = True
    classes: Any = None
    budget: Budget | None = None
    random_state: Any = None
    relation: str = "replace"
    nominal_n: int | None = None
    rows_per_record: int | None = None
    class_weight: Any = None
    threshold_share: float | None = None
    privacy_: PrivacyRecord = field(init=False)
    _prepare: Preparation = field(init=False)

    _is_private = True
    #: Whether training makes several calls, later ones in view of earlier ones.
    _plans_several_calls: ClassVar[bool] = False

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        cls.__doc__ = cls.__doc__ and cls.__doc__.replace("common_parameters", COMMON)

    @property
    def _needs_delta(self) -> bool:
        """Whether a finite eps is refused with delta = 0: a selector asks before it charges."""
        return False

    @property
    def _plans_gaussian_draws_only(self) -> bool:
        """Whether a fit with delta > 0 charges planned Gaussian draws alone, a count aside."""
        return False

    def _warn_before_reading(self) -> None:
        of_two.warn_of_read_classes(self.classes, self.eps, stacklevel=4)

    def _train(self, X: Any, signs: FloatArray, groups: Any) -> FloatArray:
        p = self._prepared(X.shape[1])
        require_exact_sums(X.shape[0])
        randomness = accounts.randomness_of(self.random_state)
        kept = columns.kept(self, groups, X.shape[0], randomness)
        if kept is not None:
            X, signs = X[kept], signs[kept]
        account = self._open(randomness)
        self._class_weights()
        self._check_parameters(p)
        eps, delta = account.ledger.eps, account.ledger.delta
        warn_if_repeated(self, eps, delta)
        warn_of_unpaid_steps(self, eps)
        try:
            neighbours = self._neighbours(X.shape[0], account)
            warn_of_large_delta(eps, delta, neighbours.n, stacklevel=4)
            X = self._bounded(X)
            left, several = self._share_left(), self._plans_several_calls
            part = account if left == 1 else account.part(left, self.delta, several_calls=several)
            w = self._train_privately(X, signs, part, neighbours)
            if self.threshold_share is not None:
                w = self._prepare.without_intercept(w)
                reach = float(np.linalg.norm(w)) * self._prepare.norm
                part, decisions = account.part(float(self.threshold_share)), self._decisions(X, w)
                found = of_two.private_threshold(decisions, signs, reach, part, neighbours)
                self.intercept_ = np.array([-found])
            coef, intercept = self._prepare.weights(w)
            self.intercept_ += intercept
            return coef
        finally:
            self.privacy_ = account.record()

    def _prepared(self, count: int) -> int:
        """How records of so many columns are made ready; the number of their features then."""
        constant = require_flag(self.fit_intercept, "fit_intercept")
        bounds = self.X_bounds if self._columns is None else self._columns.ranges
        norm = norm_within(self._usual_norm(count) if self.data_norm is None else self.data_norm)
        ranges = None if bounds is None else ranges_of(bounds, count)
        self._prepare = Preparation.of(norm, ranges, intercept=constant)
        return count + constant

    def _refuse_parameters(self, classes: npt.NDArray[Any], count: int) -> None:
        """Refuse parameters as a fit to so many columns does, before others are charged."""
        self.classes_ = classes
        p = self._prepared(count)
        self._class_weights()
        self._check_parameters(p)

    def _usual_norm(self, count: int) -> float:
        """What no record of declared columns exceeds: of categories it has one at most."""
        count = count if self._columns is None else len(self._columns.declared)
        return 1.0 if self.X_bounds is None else math.sqrt(count)

    def _open(self, randomness: Randomness) -> accounts.Account:
        """The account of the fit: one planned call, or several whose eps and delta add up."""
        neighbours = accounts.accounted(self)
        words = accounts.relation_in_words(self)
        several = self._plans_several_calls or self._share_left() < 1
        opened = (accounts.open_budget if several else accounts.open_ledger)(
            self.eps, self.delta, self.budget
        )
        return accounts.Account(opened, randomness, words, neighbours)

    def _check_parameters(self, p: int) -> None:
        """Refuse parameters out of range for records of p features, before anything is charged."""

    def _share_left(self) -> float:
        """The share of eps that training may take."""
        left, asked = 1 - accounts.SHARE_OF_THE_COUNT * accounts.counts(self), self.threshold_share
        return left if asked is None else left - share(asked, "threshold_share", left)

    def _neighbours(self, count: int, account: accounts.Account) -> accounts.Neighbours:
        """What mechanisms may know of the number of records."""
        return accounts.neighbours_of(self, count, account)

    def _class_weights(self) -> tuple[float, tuple[float, float]] | None:
        """The larger weight of the two classes, and both in units of it; None if they are equal."""
        return of_two.class_weights(self.class_weight, self.classes_)

    def _weights(self, signs: FloatArray) -> tuple[float, FloatArray | None]:
        """The largest weight of a class, and the weight of each record in units of it."""
        found = self._class_weights()
        if found is None:
            return 1.0, None
        largest, of_classes = found
        return largest, np.where(signs > 0, of_classes[1], of_classes[0])

    def _moved(self, X: Any) -> Any:
        return self._prepare.moved(X)

    def _bounded(self, X: Any) -> Any:
        """The records made ready, none longer than its bound, unless training sees to that."""
        return self._prepare(X)

    def _decisions(self, X: Any, w: FloatArray) -> FloatArray:
        """x·w of each record that was made ready."""
        return decisions_of(X, w)

    def _train_privately(
        self, X: Any, signs: FloatArray, account: accounts.Account, neighbours: accounts.Neighbours
    ) -> FloatArray:
        """Weights, from records within their bound; every draw goes through `account`."""
        raise NotImplementedError

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        return accounts.with_remark(self, super().__repr__(N_CHAR_MAX))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.non_deterministic = self.random_state is None
        tags.classifier_tags.poor_score = True
        return tags
