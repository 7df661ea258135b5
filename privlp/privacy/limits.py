"""Checks of the limits of ledgers and budgets."""

from __future__ import annotations

import math
from typing import Any, Literal, TypeAlias

from privlp.checks import LARGEST, SMALLEST, is_one_of, real, shown
from privlp.errors import InvalidParameterError

Composition: TypeAlias = Literal["adaptive", "planned", "basic"]

_LEAST_DELTA = 1e-300


def validated_budget(eps: float, delta: float) -> tuple[float, float]:
    """Check an (eps, delta) pair and return it as Python floats."""
    eps, delta = real(eps, "eps"), real(delta, "delta")
    if not eps > 0:
        raise InvalidParameterError(
            f"eps must be positive (or inf for no privacy), got {eps!r}.", parameter="eps"
        )
    if eps < math.inf and not SMALLEST <= eps <= LARGEST:
        raise InvalidParameterError(
            f"eps must lie between {SMALLEST:g} and {LARGEST:g} (or be inf for no privacy), got"
            f" {eps!r}.",
            parameter="eps",
        )
    if not 0 <= delta < 1:
        raise InvalidParameterError(f"delta must be in [0, 1), got {delta!r}.", parameter="delta")
    if 0 < delta < _LEAST_DELTA:
        raise InvalidParameterError(
            f"delta must be 0, or at least {_LEAST_DELTA:g}; got {delta!r}.", parameter="delta"
        )
    return eps, delta


def require_composition(composition: Any) -> None:
    """Refuse an unknown kind of composition."""
    if not is_one_of(composition, ("adaptive", "planned", "basic")):
        raise InvalidParameterError(
            f"composition must be 'adaptive', 'planned' or 'basic', got {shown(composition)}.",
            parameter="composition",
        )
