"""The two classes of a classifier: declared, or read from the records."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.multiclass import type_of_target

from privlp import InvalidParameterError, InvalidProblemError, NotPrivateWarning
from svm_models.parameters import within
from svm_models.records.validation import as_labels, require_classes

FloatArray = npt.NDArray[np.float64]

_WEIGHTS = 1e-9, 1e9
#: The neighbour relation in words.
_RECORDS = "one record (x_i, y_i) replaced; {}"
_DECLARED, _READ = "declared", "read from the records"
_TWO = "the number of records and the two classes, which were {}, are public"
DECLARED = _RECORDS.format(_TWO.format(_DECLARED))
READ = _RECORDS.format(_TWO.format(_READ))
_ADDED = "one record (x_i, y_i) added or removed; the number of records is private; "


@dataclass(frozen=True, eq=False)
class ReadClasses:
    """Two labels that a selector read from the records, for its candidates.

    The selector has warned of it.
    """

    labels: npt.NDArray[Any]


def two_classes(y: npt.NDArray[Any], declared: Any) -> tuple[npt.NDArray[Any], FloatArray]:
    """The two labels in order, as declared or else as found, and y as signs."""
    declared = declared.labels if isinstance(declared, ReadClasses) else declared
    classes = np.unique(y) if declared is None else declared_classes(declared)
    if declared is not None and classes.shape != (2,):
        raise InvalidParameterError("classes must name two different labels.", parameter="classes")
    require_classes(y, classes)
    if len(classes) < 2:
        raise InvalidProblemError(
            "y has one class only; give labels of two classes, or name both by classes=(a, b).",
            parameter="y",
        )
    if len(classes) > 2:
        raise InvalidProblemError(
            "Only binary classification is supported. The type of the target is"
            f" {type_of_target(y)}. Train one class against the rest, by"
            " PrivateOneVsRestClassifier where training is private.",
            parameter="y",
        )
    if not np.isin(y, classes).all():
        raise InvalidProblemError(
            "Only binary classification is supported. y holds labels other than the two of"
            " classes.",
            parameter="y",
        )
    return classes, np.where(y == classes[1], 1.0, -1.0)


def declared_classes(declared: Any) -> npt.NDArray[Any]:
    """Public labels in order, each once, of the shape that they were given in if they differ."""
    labels = None
    with suppress(InvalidProblemError):
        labels = as_labels(declared)
    if not isinstance(labels, np.ndarray) or (labels.dtype.kind == "f" and np.isnan(labels).any()):
        raise InvalidParameterError(
            "classes must be labels, all of them numbers or all of them texts.",
            parameter="classes",
        )
    return np.unique(labels) if labels.ndim == 1 else labels


def class_weights(
    declared: Any, classes: npt.NDArray[Any]
) -> tuple[float, tuple[float, float]] | None:
    """The largest public weight of a class, and both weights in units of it; None for equal ones.

    Raises
    ------
    InvalidParameterError
        If it is anything else, or would have to be read from the records.
    """
    if declared is None:
        return None
    if isinstance(declared, str):
        raise InvalidParameterError(
            f"class_weight={declared!r} would count the labels, which are private. Give public"
            " weights, {label: weight}, or threshold_share=0.1, which buys a threshold for balanced"
            " accuracy.",
            parameter="class_weight",
        )
    labels = classes.tolist()
    if not isinstance(declared, Mapping) or not set(declared) <= set(labels):
        raise InvalidParameterError(
            "class_weight must be a dict of label to weight, with labels of classes only.",
            parameter="class_weight",
        )
    weights = [within(declared.get(label, 1.0), "class_weight", *_WEIGHTS) for label in labels]
    largest = max(weights)
    return largest, (weights[0] / largest, weights[1] / largest)


def are_read(classes: Any) -> bool:
    """Whether the two classes are read from the records."""
    return classes is None or isinstance(classes, ReadClasses)


def relation_in_words(
    classes: Any,
    *,
    added_or_removed: bool = False,
    nominal_n: int | None = None,
    number: str = "two",
) -> str:
    """The neighbour relation of a fit, and whether its classes were declared.

    `number` says how many classes there are.
    """
    whence = _READ if are_read(classes) else _DECLARED
    named = f"the {number} classes, which were {whence}, are public"
    if not added_or_removed:
        return _RECORDS.format(f"the number of records and {named}")
    return _ADDED + (named if nominal_n is None else f"the nominal number {nominal_n} and {named}")


def warn_of_read_classes(classes: Any, eps: Any, *, stacklevel: int = 3) -> None:
    """Warn where a private fit is about to read its two classes from the records.

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
