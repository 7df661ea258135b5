"""The two classes of a classifier, declared or read from the records, and the threshold between."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from contextlib import suppress
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.multiclass import type_of_target

from privlp import InvalidParameterError, InvalidProblemError, NotPrivateWarning
from privlp.checks import require_data
from privlp.privacy import ExponentialMechanism, LaplaceMechanism
from svm_models.account import Account, Neighbours, ReadClasses
from svm_models.parameters import FloatArray, within
from svm_models.records.validation import as_labels, require_classes

_WEIGHTS = 1e-9, 1e9
#: Share of the threshold's eps that counts the classes; the rest chooses.
_SHARE_OF_THE_COUNTS = 0.25
#: Candidates on each side of zero, and the least beside the largest possible decision.
_EACH_SIDE, _LEAST = 48, 10**-2.5


def two_classes(y: npt.NDArray[Any], declared: Any) -> tuple[npt.NDArray[Any], FloatArray]:
    """The two labels in order, as declared or else as found, and y as signs."""
    declared = declared.labels if isinstance(declared, ReadClasses) else declared
    classes = np.unique(y) if declared is None else declared_classes(declared)
    if declared is not None and classes.shape != (2,):
        raise InvalidParameterError("classes must name two different labels.", parameter="classes")
    require_classes(y, classes)
    wrong = "y has one class only; give labels of two classes, or name both by classes=(a, b)."
    require_data(len(classes) >= 2, wrong, "y")
    if len(classes) > 2:
        raise InvalidProblemError(
            "Only binary classification is supported. The type of the target is"
            f" {type_of_target(y)}. Train one class against the rest, by"
            " PrivateOneVsRestClassifier where training is private.",
            parameter="y",
        )
    wrong = f"y holds labels other than the two declared, classes={tuple(classes.tolist())}."
    require_data(np.isin(y, classes).all(), wrong, "y")
    return classes, np.where(y == classes[1], 1.0, -1.0)


def declared_classes(declared: Any) -> npt.NDArray[Any]:
    """Public labels in order, each once, of the shape that they were given in if they differ."""
    labels = None
    with suppress(InvalidProblemError):
        labels = as_labels(declared)
    if not isinstance(labels, np.ndarray) or (labels.dtype.kind == "f" and np.isnan(labels).any()):
        raise InvalidParameterError(
            "classes must be labels, all of them numbers or all of them texts.", parameter="classes"
        )
    return np.unique(labels) if labels.ndim == 1 else labels


def class_weights(
    declared: Any, classes: npt.NDArray[Any]
) -> tuple[float, tuple[float, float]] | None:
    """The largest public weight of a class, and both in units of it; None for equal ones."""
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


def warn_of_read_classes(
    classes: Any, eps: Any, *, stacklevel: int = 3, several: bool = False
) -> None:
    """Warn, whatever the records, where a private fit is about to read its classes from them."""
    if classes is None and not (isinstance(eps, Real) and eps == math.inf):
        which = "classes" if several else "two classes"
        what = "how many classes there are" if several else "whether fit raises"
        given = "classes=(a, b, c), labels" if several else "classes=(a, b), two labels"
        warnings.warn(
            f"The {which} are read from the records, and no budget pays for that: the label of one"
            f" record can decide {what}. Pass {given} that are known without the records.",
            NotPrivateWarning,
            stacklevel=stacklevel,
        )


def private_threshold(
    decisions: FloatArray, signs: FloatArray, reach: float, account: Account, neighbours: Neighbours
) -> float:
    """The decision above which records are positive: of about the best balanced accuracy.

    Candidates are 0 and +-g reach, reach = ||w||_2 data_norm. A candidate's score is the number of
    true positives times n_- plus that of true negatives times n_+, noisy counts of the classes,
    over the larger of the two.

    *Sensitivity.* A record adds a number in [0, 1] to each score. If it comes or goes, one count
    moves by 1, and the scores all rise, or all fall, by at most 1. If it is replaced, the number of
    positives moves by 1 (the negatives are the others of n), and the changes of scores span 2. The
    exponential mechanism takes half of the span, plus the rounding of the scores. Records of one
    person add up. All is charged at once. Proof: ``docs/proofs.md``, "A threshold for balanced
    accuracy".
    """
    ledger = account.ledger
    counts = LaplaceMechanism.of_eps(float(neighbours.rows), _SHARE_OF_THE_COUNTS * ledger.eps)
    half_span = neighbours.moved / 2 + neighbours.most * 2.0**-50
    choice = ledger.calibrate(
        lambda eps: ExponentialMechanism(half_span, eps), 1, together_with=[counts]
    )
    release, choose = account.charge_together(
        [(counts, 1, "count the classes"), (choice, 1, "choose a threshold")]
    )
    negative, positive = np.sort(decisions[signs < 0]), np.sort(decisions[signs > 0])
    if neighbours.replaced:
        positives = float(release(float(len(positive))))
        noisy = np.array([neighbours.n - positives, positives])
    else:
        noisy = np.asarray(release(np.array([len(negative), len(positive)], dtype=float)))
    weights = np.maximum(noisy, 1.0)[::-1] / max(float(noisy.max()), 1.0)
    grid = reach * np.geomspace(_LEAST, 1.0, _EACH_SIDE)
    thresholds = np.concatenate([-grid[::-1], [0.0], grid])
    below = np.searchsorted(negative, thresholds, side="right")
    above = len(positive) - np.searchsorted(positive, thresholds, side="right")
    return float(thresholds[choose(weights[0] * below + weights[1] * above)])
