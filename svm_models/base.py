"""What every linear classifier here shares: labels as signs, decisions, and for private ones the ledger.

Private estimators declare the norm of a record (`data_norm`) and the two classes (`classes`); both
are public. Longer records are scaled down silently: how many there are is private. Classes that are
not declared are read from the records, with a warning.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted, validate_data

from privlp import (
    Budget,
    ConstraintPrivate,
    InvalidParameterError,
    InvalidProblemError,
    NotPrivateWarning,
)
from privlp.checks import positive, warn_of_large_delta
from privlp.privacy import (
    Accountant,
    ChargedDraws,
    Ledger,
    Mechanism,
    PrivacyRecord,
    Randomness,
)
from privlp.privacy.limits import validated_budget

FloatArray = npt.NDArray[np.float64]

_RELATION = ConstraintPrivate()
_SMALLEST_NORM, _LARGEST_NORM = 1e-100, 1e14
_QUOTING = {
    "Complex data not supported": "Give real numbers.",
    "Expected 2D array, got 1D array instead": (
        "Reshape your data by X.reshape(-1, 1) (one feature) or X.reshape(1, -1)."
    ),
    "Expected 2D array, got": "X must have shape (n, p).",
    "could not convert string to float": "Encode categories as numbers first.",
}
#: Beginnings of messages of scikit-learn and NumPy that tell shapes, types and names of columns
#: only.
_SAFE = (
    "Input X contains",
    "Input y contains",
    "Input contains",
    "Found array with",
    "Found input variables with inconsistent numbers",
    "Expected sequence or array-like",
    "Feature names are only supported",
    "The feature names",
    "Only sparse matrices with 32-bit",
    "This ",
    "X has ",
    "dtype='numeric' is not compatible",
    "float() argument must be",
    "np.matrix is not supported",
    "setting an array element with a sequence",
    "y should be a 1d array",
)
#: The neighbour relation in words.
_RECORDS = (
    "one record (x_i, y_i) replaced; the number of records and the two classes, which were {}, are"
    " public"
)
DECLARED = _RECORDS.format("declared")
READ = _RECORDS.format("read from the records")


@dataclass(frozen=True, eq=False)
class ReadClasses:
    """Two labels that somebody read from the records, and warned of: what a selector passes on to its candidates."""

    labels: npt.NDArray[Any]


class LinearBinaryClassifier(ClassifierMixin, BaseEstimator):
    """Sign of x·w for two classes, without intercept: append a constant column to X for one.

    Attributes
    ----------
    coef_ : (1, p) array
    intercept_ : (1,) array
        Zero.
    classes_ : (2,) array
        The label of a negative and of a positive decision.
    n_features_in_ : int
    privacy_ : PrivacyRecord or None
        What was spent on what; ``None`` where there is no privacy.
    """

    classes: Any = None
    privacy_: PrivacyRecord | None

    def fit(self, X: Any, y: Any, **unsupported: Any) -> Self:
        """Train on n records.

        Parameters
        ----------
        X : array or sparse array, shape (n, p)
        y : array_like, shape (n,)
            Two classes.

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
        >>> import numpy as np
        >>> from svm_models import HuberSVC
        >>> X, y = np.array([[1.0, 0.0], [0.8, 0.1], [-1.0, 0.1], [-0.9, 0.0]]), ["yes", "yes", "no", "no"]
        >>> svm = HuberSVC(reg=0.1).fit(X, y)
        >>> svm.classes_, svm.coef_.shape, svm.intercept_
        (array(['no', 'yes'], dtype='<U3'), (1, 2), array([0.]))
        """
        if unsupported:
            raise InvalidParameterError(
                f"{type(self).__name__}.fit takes X and y only, not"
                f" {', '.join(sorted(unsupported))}: sensitivities are derived for records of equal"
                " weight."
            )
        self.__dict__.pop(
            "coef_", None
        )  # of an earlier fit; it must not pass for this one's, should this one be cut short
        self._warn_before_reading()
        X, y = validated(self, X, y, dtype=np.float64)
        self.classes_, signs = two_classes(y, self.classes)
        self.intercept_ = np.zeros(1)
        self.privacy_ = None
        self.coef_ = np.asarray(self._train(X, signs), dtype=float)[None, :]
        return self

    def _warn_before_reading(self) -> None:
        """What is to be said before the records are looked at."""

    def _train(self, X: Any, signs: FloatArray) -> FloatArray:
        """The weights for records X and labels -1.0 or 1.0."""
        raise NotImplementedError

    def decision_function(self, X: Any) -> FloatArray:
        """x·w for each row of X, shape (n,).

        Examples
        --------
        >>> import numpy as np
        >>> from svm_models import HuberSVC
        >>> X, y = np.array([[1.0, 0.0], [0.8, 0.1], [-1.0, 0.1], [-0.9, 0.0]]), ["yes", "yes", "no", "no"]
        >>> HuberSVC(reg=0.1).fit(X, y).decision_function([[0.5, 0.0], [-0.5, 0.0]]) > 0
        array([ True, False])
        """
        check_is_fitted(self, "coef_")
        X = validated(self, X, dtype=np.float64, reset=False)
        return np.asarray(X @ self.coef_[0] + self.intercept_[0])

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """The class of each row of X, shape (n,).

        Examples
        --------
        >>> import numpy as np
        >>> from svm_models import HuberSVC
        >>> X, y = np.array([[1.0, 0.0], [0.8, 0.1], [-1.0, 0.1], [-0.9, 0.0]]), ["yes", "yes", "no", "no"]
        >>> HuberSVC(reg=0.1).fit(X, y).predict([[0.5, 0.0], [-0.5, 0.0]])
        array(['yes', 'no'], dtype='<U3')
        """
        decisions = self.decision_function(X)
        return self.classes_[(decisions > 0).astype(int)]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.sparse = True
        return tags


class PrivateLinearClassifier(LinearBinaryClassifier):
    """A linear classifier that protects each record it was trained on.

    Attributes
    ----------
    privacy_ : PrivacyRecord
        What was spent on what, after :meth:`fit`.
    """

    eps: float
    delta: float = 0.0
    data_norm: float
    budget: Budget | None
    random_state: Any

    privacy_: PrivacyRecord

    def _warn_before_reading(self) -> None:
        warn_of_read_classes(self.classes, self.eps, stacklevel=4)

    def _train(self, X: Any, signs: FloatArray) -> FloatArray:
        data_norm = positive(self.data_norm, "data_norm")
        if not _SMALLEST_NORM <= data_norm <= _LARGEST_NORM:
            raise InvalidParameterError(
                f"data_norm must be between {_SMALLEST_NORM:g} and {_LARGEST_NORM:g}, got"
                f" {data_norm:g}. Measure the records in other units.",
                parameter="data_norm",
            )
        randomness = Randomness.of(as_rng(self.random_state))
        ledger = self._open()
        warn_of_large_delta(ledger.eps, ledger.delta, X.shape[0], stacklevel=4)
        account = Account(ledger, randomness, relation_in_words(self.classes))
        try:
            # Whether a number overflows on the way depends on the records; nobody may learn it from
            # a warning.
            with np.errstate(all="ignore"):
                return self._train_privately(within_norm(X, data_norm), signs, account)
        finally:
            self.privacy_ = account.record()

    def _open(self) -> Accountant:
        """Where the fit pays: the ledger of one planned call, unless a subclass asks for several."""
        return open_ledger(self.eps, self.delta, self.budget)

    def _train_privately(self, X: Any, signs: FloatArray, account: Account) -> FloatArray:
        """The weights, from records of norm at most ``data_norm``.

        Every draw goes through `account`.
        """
        raise NotImplementedError

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.non_deterministic = self.random_state is None
        tags.classifier_tags.poor_score = True
        return tags


class Account:
    """Where one fit pays and draws: its ledger, its randomness, and the neighbour relation in words."""

    def __init__(
        self, ledger: Accountant, randomness: Randomness, relation: str = DECLARED
    ) -> None:
        self.ledger = ledger
        self.randomness = randomness
        self.relation = relation

    def charge(self, mechanism: Mechanism, purpose: str) -> ChargedDraws:
        """Pay for one draw."""
        return self.charge_together((mechanism, purpose))[0]

    def charge_together(self, *requests: tuple[Mechanism, str]) -> list[ChargedDraws]:
        """Pay for one draw of each mechanism, or for none."""
        return self.ledger.charge_together(
            [(mechanism, 1, purpose) for mechanism, purpose in requests],
            _RELATION,
            self.randomness,
            description=self.relation,
        )

    def record(self) -> PrivacyRecord:
        """What was spent.

        It says where the classes are from, even if all was paid by a linear program with words of
        its own.
        """
        record = self.ledger.record()
        if record.relation is None or self.relation in record.relation:
            return record
        return replace(record, relation=f"{record.relation} and {self.relation}")


def relation_in_words(classes: Any) -> str:
    """The neighbour relation of a fit, and whether its classes were declared."""
    return READ if classes is None or isinstance(classes, ReadClasses) else DECLARED


def warn_of_read_classes(classes: Any, eps: Any, *, stacklevel: int = 3) -> None:
    """Warn, on public grounds, where a private fit is about to read its two classes from the records.

    If all records but one have the same label, that one decides whether there are two classes to
    tell apart, and so whether fit raises. The warning does not depend on the records: one that came
    only where a single record matters would tell that it does.
    """
    if classes is None and not (isinstance(eps, Real) and eps == math.inf):
        warnings.warn(
            "The two classes are read from the records, and no budget pays for that: the label of"
            " one record can decide whether fit raises. Pass classes=(a, b), two labels that are"
            " known without the records.",
            NotPrivateWarning,
            stacklevel=stacklevel,
        )


def validated(estimator: Any, X: Any, y: Any = "no_validation", **options: Any) -> Any:
    """scikit-learn's ``validate_data``, whose messages may quote records: only what is known to be harmless passes."""
    try:
        with np.errstate(
            all="ignore"
        ):  # its sum of all entries may overflow, which depends on the records
            X = _as_stored(X) if sp.issparse(X) else X
            return validate_data(estimator, X, y, accept_sparse="csr", **options)
    except (ValueError, TypeError, OverflowError) as raised:
        error, message = type(raised), str(raised)
    for beginning, cure in _QUOTING.items():
        if message.startswith(beginning):
            raise InvalidProblemError(f"{beginning}. {cure}")
    if not message.startswith(_SAFE):
        raise InvalidProblemError(
            "X must hold real numbers in shape (n, p), and y one label for each row of X.",
            parameter="X",
        )
    raise (TypeError if issubclass(error, TypeError) else ValueError)(message)


def _as_stored(X: Any) -> Any:
    """The entries of a sparse array in CSR and in double precision, as they are stored.

    An array of no real numbers as it is.

    SciPy's own conversions sum duplicate entries in the caller's precision, where a sum may
    overflow. Indices out of range are refused, because products would read other memory.
    """
    if X.ndim != 2 or X.dtype.kind not in "fiub":
        return X
    if X.format in ("csr", "csc"):
        _require_indices_in_range(X, X.shape[X.format == "csr"])
    if X.format in ("coo", "bsr"):
        X = X.tocoo()
        order = np.argsort(X.row, kind="stable")
        starts = np.append(0, np.cumsum(np.bincount(X.row, minlength=X.shape[0])))
        return sp.csr_array((X.data[order].astype(float), X.col[order], starts), shape=X.shape)
    X = (
        X.tocsr()
    )  # without a copy or a sum where it is in CSR, and without a sum from other formats
    count = X.indptr[-1]
    return sp.csr_array((X.data[:count].astype(float), X.indices[:count], X.indptr), shape=X.shape)


def _require_indices_in_range(X: Any, width: int) -> None:
    """Refuse a compressed array whose indices point beyond its `width` columns (rows in CSC)."""
    count = X.indptr[-1]
    indices = X.indices[:count]
    if (
        X.indptr[0] != 0
        or np.any(np.diff(X.indptr) < 0)
        or count > min(X.indices.size, X.data.size)
    ):
        raise ValueError
    if indices.size and not (indices.min() >= 0 and indices.max() < width):
        raise ValueError


def open_ledger(eps: float, delta: float, budget: Budget | None) -> Ledger:
    """The ledger of a planned call of (eps, delta), paid from `budget` if there is one."""
    _require_budget(budget)
    return Ledger(eps, delta) if budget is None else budget.ledger(eps, delta)


def open_budget(eps: float, delta: float, budget: Budget | None) -> Budget:
    """A budget of (eps, delta) for several calls whose eps and delta add up, paid from `budget` if there is one."""
    _require_budget(budget)
    if budget is None:
        return Budget(eps, delta, composition="basic")
    budget.require_room_for(
        *validated_budget(eps, delta)
    )  # as a whole, before its first call is paid
    return budget.share(eps, delta, composition="basic")


def _require_budget(budget: Any) -> None:
    if budget is not None and not isinstance(budget, Budget):
        raise InvalidParameterError(
            f"budget must be a privlp.Budget, got {type(budget).__name__}.", parameter="budget"
        )


def two_classes(y: npt.NDArray[Any], declared: Any) -> tuple[npt.NDArray[Any], FloatArray]:
    """The two labels in order, as declared or else as found, and y as signs."""
    check_classification_targets(y)
    declared = declared.labels if isinstance(declared, ReadClasses) else declared
    classes = np.unique(y if declared is None else np.asarray(declared))
    if declared is not None and classes.shape != (2,):
        raise InvalidParameterError("classes must name two different labels.", parameter="classes")
    if len(classes) == 1:
        raise InvalidProblemError(
            "y has one class only; give labels of two classes, or name both by classes=(a, b).",
            parameter="y",
        )
    if len(classes) > 2:
        raise InvalidProblemError(
            "Only binary classification is supported. The type of the target is"
            f" {type_of_target(y)}. Train one class against the rest."
        )
    if not np.isin(y, classes).all():
        raise InvalidProblemError(
            "Only binary classification is supported. y holds labels other than the two of classes."
        )
    return classes, np.where(y == classes[1], 1.0, -1.0)


def within_norm(X: Any, data_norm: float) -> Any:
    """A new array: rows longer than `data_norm` scaled down to it, entries that are not finite zero.

    Duplicate entries of a sparse array are summed first, so that what is measured is what is used.
    The caller's arrays are read only. What becomes of a row depends on that row and on the shape of
    X alone, to the last bit.

    Every row that comes out has a Euclidean norm of at most `data_norm`, in real arithmetic.
    *Derivation*: rows are measured after division by a power of two, which is exact, so that their
    largest entry is in [1/2, 1) and no square overflows. With u = 2^-53, the computed norm of p
    numbers is off by less than (p + 3) u, relatively; so is one that was scaled, up to 3 u more.
    The allowance of (p + 8) u for the comparison, and of twice as much for scaling, covers both.
    """
    X = _own_rows(X)
    values = X.data if sp.issparse(X) else X
    with np.errstate(all="ignore"):
        values[~np.isfinite(values)] = 0.0
        exponents = np.frexp(_of_each_row(np.maximum, np.abs(values), X))[1]
        shape = np.ldexp(values, _along_rows(-exponents, X))
        norms = np.sqrt(_of_each_row(np.add, np.square(shape), X))
        allowance = (X.shape[1] + 8) * 2.0**-53
        long = norms * (1 + allowance) > np.ldexp(data_norm, -exponents)
        shape *= _along_rows(data_norm * (1 - 2 * allowance) / np.where(long, norms, 1.0), X)
    np.copyto(values, shape, where=_along_rows(long, X))
    return X


def _own_rows(X: Any) -> Any:
    """A copy of X: in C order, or a CSR array with columns in order and one entry for each cell."""
    if not sp.issparse(X):
        return np.array(X, dtype=float, order="C")
    X = sp.csr_array(X)
    count = X.indptr[-1]
    columns, values = X.indices[:count], np.array(X.data[:count], dtype=float)
    rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    if np.any((rows[1:] == rows[:-1]) & (columns[1:] <= columns[:-1])):
        order = np.lexsort(
            (columns, rows)
        )  # stable: entries of a cell are summed in the order in which they are stored
        rows, columns, values = rows[order], columns[order], values[order]
        first = np.flatnonzero(
            np.append(True, (rows[1:] != rows[:-1]) | (columns[1:] != columns[:-1]))
        )
        with np.errstate(all="ignore"):
            rows, columns, values = rows[first], columns[first], np.add.reduceat(values, first)
    starts = np.searchsorted(rows, np.arange(X.shape[0] + 1)).astype(X.indptr.dtype)
    return sp.csr_array((values, columns.copy(), starts), shape=X.shape)


def _of_each_row(ufunc: np.ufunc, values: FloatArray, X: Any) -> FloatArray:
    """A maximum or a sum over each row of values that are laid out as those of X.

    Zero for a row without any.
    """
    if not sp.issparse(X):
        return np.asarray(ufunc.reduce(values, axis=1))
    found, filled = np.zeros(X.shape[0]), np.flatnonzero(np.diff(X.indptr))
    if filled.size:
        found[filled] = ufunc.reduceat(values, X.indptr[filled])
    return found


def _along_rows(numbers: npt.NDArray[Any], X: Any) -> npt.NDArray[Any]:
    """One number a row, for each entry of the row."""
    return np.repeat(numbers, np.diff(X.indptr)) if sp.issparse(X) else numbers[:, None]


def _scaled(X: Any, factors: FloatArray) -> Any:
    """Rows of X times a factor each."""
    return sp.csr_array(sp.diags_array(factors) @ X) if sp.issparse(X) else X * factors[:, None]


def signed(X: Any, signs: FloatArray) -> Any:
    """Rows y_i x_i."""
    return _scaled(sp.csr_array(X) if sp.issparse(X) else X, signs)


def as_rng(random_state: Any) -> Any:
    """A random source of privlp, and scikit-learn's legacy RandomState, from which a seed is taken."""
    if isinstance(random_state, np.random.RandomState):
        return int(check_random_state(random_state).randint(2**31 - 1))
    return random_state
