"""The classifiers by output and objective perturbation: two mechanisms, each for three losses.

Proofs: ``docs/proofs.md``, "Output perturbation", "Objective perturbation".
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import wraps
from inspect import signature
from numbers import Real
from typing import Any

import scipy.sparse as sp

from privlp import InvalidParameterError
from privlp.checks import require, require_flag, require_kind
from svm_models.account import Account, Neighbours, counts
from svm_models.classifiers import perturbation
from svm_models.classifiers.base import COMMON, PrivateLinearClassifier
from svm_models.classifiers.classes import class_weights
from svm_models.classifiers.risk import MarginLoss, RegularizedRisk, huber, logistic
from svm_models.parameters import REG, FloatArray, within
from svm_models.records import signed

#: A `reg` by position below this may be meant as delta, which other classifiers take there.
_LIKE_A_DELTA = 1e-3

_SHARED = """

    Parameters
    ----------{loss}
    eps : float
        In (0, inf]; ``inf`` adds no noise, and ``privacy_`` says so.
    reg : float
        Strength of ||w||^2/2 beside the *mean* loss, positive and public. Tuning it on the records
        costs privacy: :class:`PrivateModelSelector`. By position it comes before `delta`; what
        looks like a delta there is refused. Where the number of records is bought, a `reg` that
        turns out too small is raised; else it is refused.
    delta : float
        In [0, 1); 0 for pure differential privacy (objective perturbation: but for a chance of
        2^-92, which `privacy_` states), else Gaussian noise.{h}
    common_parameters

    Attributes
    ----------
    coef_ : (1, p) array
    intercept_ : (1,) array
    classes_ : (2,) array
    privacy_ : privlp.privacy.PrivacyRecord
        What was spent on what.

    Examples
    --------
    >>> from svm_models import {name}, make_separable_sphere
    >>> X, y = make_separable_sphere(2000, random_state=0)
    >>> model = {name}(
    ...     eps=1.0, reg={reg}, classes=(-1, 1), random_state=0
    ... ).fit(X, y)
    >>> model.score(X, y) > 0.9, round(model.privacy_.eps, 6)
    (True, 1.0)
    """
_LOSS = """
    loss : MarginLoss
        The loss, with bounds on its slope and curvature that the guarantee rests on; logistic by
        default."""
_H = """
    h : float
        Half-width of the quadratic part of the Huber hinge, 0 < h <= 1/2."""
_WHITEN = """
    whiten : bool
        Release the records' second moments first, for a tenth of the squared Gaussian parameters,
        and perturb the objective in coordinates in which the records are alike in all directions;
        records that are long there are shortened. `reg` counts in these coordinates. Needs delta >
        0. For records with strong directions, such as one-hot columns and a constant. Not for the
        hinge where a label is rare: there the fit is nearly a constant, and what noise adds ranks
        the records (area under the curve .32 to .65 with 4.5 % positives, .85 to .89 by logistic
        loss, on the car crashes of ``docs/results/classifier.md``)."""


def _margin_loss(model: Any) -> MarginLoss:
    """The loss that a class's parameters tell: a Huber hinge, a given one, or the logistic one."""
    if hasattr(model, "h"):
        return huber(model.h)
    loss = getattr(model, "loss", None)
    if loss is None:
        return logistic()
    require_kind(loss, MarginLoss, "loss", "a svm_models.MarginLoss")
    return loss


def _of_one_record(model: Any, p: int) -> RegularizedRisk:
    """The risk for one record, which is not looked at."""
    weights = class_weights(model.class_weight, model.classes_)
    reg = within(model.reg, "reg", *REG) / (1.0 if weights is None else weights[0])
    nothing = sp.csr_array((1, p))
    return RegularizedRisk.in_memory(nothing, _margin_loss(model), reg, model._prepare.norm)


def _risk(model: Any, X: Any, signs: FloatArray, neighbours: Neighbours) -> RegularizedRisk:
    """What a classifier minimises, before it is perturbed."""
    M, loss = signed(X, signs), _margin_loss(model)
    largest, weights = model._weights(signs)
    # In units of the largest weight: no record's loss is steeper or more curved than without.
    reg = float(model.reg) / largest
    risk = RegularizedRisk.in_memory(M, loss, reg, model._prepare.norm, weights)
    return risk.between(neighbours)


def _check_output(model: Any, p: int) -> None:
    """Refuse a loss or a `reg` out of range, or so small that no number of records makes it do."""
    _of_one_record(model, p).require_certifiable()


def _perturb_output(
    model: Any, X: Any, signs: FloatArray, account: Account, neighbours: Neighbours
) -> FloatArray:
    return perturbation.perturb_output(_risk(model, X, signs, neighbours), account)


def _check_objective(model: Any, p: int) -> None:
    """As for output perturbation; and refuse what second moments cannot be released for."""
    risk = _of_one_record(model, p)
    if require_flag(model.whiten, "whiten"):
        risk = replace(risk, data_norm=1.0)
    enough = perturbation.enough_regularization(risk, float(model.eps), pure=model.delta == 0)
    replace(risk, reg=max(risk.reg, enough)).require_certifiable()
    wrong = "whiten=True releases second moments with Gaussian noise, which needs delta > 0."
    require(not model.whiten or model.delta != 0 or math.isinf(model.eps), wrong, "delta")


def _perturb_objective(
    model: Any, X: Any, signs: FloatArray, account: Account, neighbours: Neighbours
) -> FloatArray:
    perturb = (
        perturbation.perturb_whitened_objective if model.whiten else perturbation.perturb_objective
    )
    return perturb(_risk(model, X, signs, neighbours), account, refuse=not counts(model))


# What a mechanism gives a class, and a `reg` for its example.
_OUTPUT = {"_check_parameters": _check_output, "_train_privately": _perturb_output}, 1e-1
_OBJECTIVE = (
    {
        "_check_parameters": _check_objective,
        "_train_privately": _perturb_objective,
        "_needs_delta": property(lambda model: bool(model.whiten)),
    },
    1e-2,
)


def _perturbed_by(mechanism: tuple[dict[str, Any], float]) -> Any:
    """Complete a class: its mechanism, and the documentation that all six share."""

    def decorate(cls: Any) -> type:
        parts, reg = mechanism
        for name, part in parts.items():
            setattr(cls, name, part)
        names = signature(cls).parameters
        loss, h = _LOSS if "loss" in names else "", _H if "h" in names else ""
        h += _WHITEN if "whiten" in names else ""
        text = _SHARED.format(loss=loss, h=h, name=cls.__name__, reg=reg)
        cls.__doc__ += text.replace("common_parameters", COMMON)
        cls.__init__ = _telling_reg_from_delta(cls.__init__)
        return cls

    return decorate


def _telling_reg_from_delta(construct: Callable[..., None]) -> Callable[..., None]:
    """A constructor that refuses a small reg by position: ``PrivateLPSVC`` has delta there."""
    names = list(signature(construct).parameters)

    @wraps(construct)
    def checked(*given: Any, **named: Any) -> None:
        placed = dict(zip(names, given, strict=False))
        reg, delta = placed.get("reg"), placed.get("delta", named.get("delta"))
        if (
            isinstance(reg, Real)
            and (delta is None or isinstance(delta, Real))
            and reg < (_LIKE_A_DELTA if delta is None else float(delta))
        ):
            raise InvalidParameterError(
                f"The argument {float(reg):g} stands in the place of reg and may be meant as delta."
                f" Name it: reg={float(reg):g} or delta={float(reg):g}.",
                parameter="reg",
            )
        construct(*given, **named)

    return checked


@_perturbed_by(_OUTPUT)
@dataclass(eq=False, repr=False)
class OutputPerturbationSVC(PrivateLinearClassifier):
    """Huber support vector machine, private by noise on its weights."""

    eps: float = 1.0
    reg: float = 1e-3
    delta: float = 0.0
    h: float = field(default=0.5, kw_only=True)


@_perturbed_by(_OUTPUT)
@dataclass(eq=False, repr=False)
class OutputPerturbationLogisticRegression(PrivateLinearClassifier):
    """Logistic regression, private by noise on its weights."""

    eps: float = 1.0
    reg: float = 1e-3
    delta: float = 0.0


@_perturbed_by(_OUTPUT)
@dataclass(eq=False, repr=False)
class OutputPerturbationClassifier(PrivateLinearClassifier):
    """A classifier for any :class:`MarginLoss`, private by noise on its weights."""

    loss: MarginLoss | None = None
    eps: float = 1.0
    reg: float = 1e-3
    delta: float = 0.0


@_perturbed_by(_OBJECTIVE)
@dataclass(eq=False, repr=False)
class ObjectivePerturbationSVC(PrivateLinearClassifier):
    """Huber support vector machine, private by noise in its objective."""

    eps: float = 1.0
    reg: float = 1e-3
    delta: float = 0.0
    h: float = field(default=0.5, kw_only=True)
    whiten: bool = field(default=False, kw_only=True)


@_perturbed_by(_OBJECTIVE)
@dataclass(eq=False, repr=False)
class ObjectivePerturbationLogisticRegression(PrivateLinearClassifier):
    """Logistic regression, private by noise in its objective."""

    eps: float = 1.0
    reg: float = 1e-3
    delta: float = 0.0
    whiten: bool = field(default=False, kw_only=True)


@_perturbed_by(_OBJECTIVE)
@dataclass(eq=False, repr=False)
class ObjectivePerturbationClassifier(PrivateLinearClassifier):
    """A classifier for any :class:`MarginLoss`, private by noise in its objective."""

    loss: MarginLoss | None = None
    eps: float = 1.0
    reg: float = 1e-3
    delta: float = 0.0
    whiten: bool = field(default=False, kw_only=True)
