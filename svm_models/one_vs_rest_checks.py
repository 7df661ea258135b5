"""What one class against the rest takes: labels of all classes, and a private classifier."""

from __future__ import annotations

from inspect import signature
from typing import Any

import numpy as np
import numpy.typing as npt

from privlp import InvalidParameterError, InvalidProblemError
from svm_models.base import PrivateLinearClassifier
from svm_models.classes import declared_classes
from svm_models.records.validation import require_classes

#: What a classifier takes from the whole, and must not set itself.
_GIVEN = ("eps", "delta", "classes", "budget", "random_state", "relation", "nominal_n")


def several_classes(y: npt.NDArray[Any], declared: Any) -> npt.NDArray[Any]:
    """The labels in order, as declared or else as found in y.

    Raises
    ------
    InvalidParameterError
        If fewer than two are declared, or one twice.
    InvalidProblemError
        If y has one class only and none is declared, or holds other labels.
    """
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
    if not np.isin(y, classes).all():
        raise InvalidProblemError("y holds labels other than those of classes.", parameter="y")
    return classes


def check_estimator(estimator: Any) -> None:
    """Refuse what is not private, or sets what is to be set here."""
    name = type(estimator).__name__
    if not isinstance(estimator, PrivateLinearClassifier):
        raise InvalidParameterError(
            f"{name} may learn from records without paying. Give a private classifier of"
            " svm_models, PrivateLPSVC() for instance.",
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
    if estimator.class_weight is not None:
        raise InvalidParameterError(
            f"{name} sets class_weight, which has no meaning where each class in turn is told from"
            " the rest. Leave it out.",
            parameter="estimator",
        )
