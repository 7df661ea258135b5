"""Domains of parameters, checked before a record is used and before anything is charged."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from privlp import InvalidParameterError
from privlp.checks import positive, real, require
from privlp.privacy.budget_rule import validated_budget

FloatArray = npt.NDArray[np.float64]

#: Smaller ones are noise alone. Parts of them would be below what prices of draws resolve, so that
#: an eps that several calls share must be larger.
LEAST_EPS, LEAST_EPS_OF_SEVERAL = 1e-12, 1e-6
#: Below it, what is left of delta may not pay for the chances that calls take of it.
LEAST_DELTA = 2.0**-80
#: The smallest part of eps that may be set aside for one purpose.
LEAST_SHARE = 1e-3
#: Bounds on what is measured in units of records.
LEAST_SIZE, MOST_SIZE = 1e-100, 1e14
#: Bounds on strengths of regularisation, in units of one over the square of a record.
REG = 1e-300, 1e100
#: Bounds on ||w||_1 times the norm of a record: beyond, margins lose their digits.
MOST_RADIUS = 1e9
#: Bounds on prices of errors.
PRICE = 1e-9, 1e14


def within(value: Any, name: str, least: float, most: float, *, cure: str = "") -> float:
    """A positive number between two bounds, as a float."""
    number = positive(value, name, finite=True)
    wrong = f"{name} must be between {least:g} and {most:g}, got {number:g}.{cure}"
    require(least <= number <= most, wrong, name)
    return number


def norm_within(value: Any) -> float:
    """A bound on the norm of a record."""
    units = " Measure the records in other units."
    return within(value, "data_norm", LEAST_SIZE, MOST_SIZE, cure=units)


def radius_within(value: Any, data_norm: float) -> float:
    """A bound on ||w||_1 that suits the norm of a record."""
    radius = positive(value, "radius", finite=True)
    if not 1 / MOST_RADIUS <= radius * data_norm <= MOST_RADIUS:
        raise InvalidParameterError(
            f"radius times data_norm must be between {1 / MOST_RADIUS:g} and {MOST_RADIUS:g}, got"
            f" radius = {radius:g} and data_norm = {data_norm:g}.",
            parameter="radius",
        )
    return radius


def share(value: Any, name: str, most: float = 1.0) -> float:
    """A share of eps, below `most`."""
    number = real(value, name)
    require(0 < number < most, f"{name} must be between 0 and {most:g}, got {number:g}.", name)
    if number < LEAST_SHARE:
        raise InvalidParameterError(
            f"{name} must be at least {LEAST_SHARE:g}, got {number:g}: so small a share of eps"
            " buys noise alone.",
            parameter=name,
        )
    return number


def privacy(eps: Any, delta: Any, *, least: float = LEAST_EPS) -> tuple[float, float]:
    """An (eps, delta) that a fit can be asked for, as floats."""
    eps, delta = validated_budget(eps, delta)
    wrong = f"eps must be at least {least:g}, got {eps:g}: the result would be noise alone."
    require(eps >= least, wrong, "eps")
    wrong = f"delta must be 0 or at least {LEAST_DELTA:g}, got {delta:g}."
    require(delta == 0 or delta >= LEAST_DELTA, wrong, "delta")
    return eps, delta


def require_delta(estimator: Any, eps: float, delta: float) -> None:
    """Refuse a finite eps with delta = 0 for an estimator whose noise is Gaussian."""
    if delta == 0 and math.isfinite(eps):
        raise InvalidParameterError(
            f"delta must be positive: {type(estimator).__name__} adds Gaussian noise, which needs"
            " delta > 0.",
            parameter="delta",
        )


def finite(value: float, name: str, most: float) -> float:
    """A number of a size up to a bound."""
    require(math.isfinite(value), f"{name} must be finite, got {value!r}.", name)
    wrong = f"{name} must be at most {most:g} in size, got {value:g}."
    require(abs(value) <= most, wrong, name)
    return value
