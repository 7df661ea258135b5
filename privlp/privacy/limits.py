"""Checks of the limits of ledgers and budgets."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from privlp.checks import is_one_of, real
from privlp.errors import InvalidParameterError

Composition: TypeAlias = Literal["adaptive", "planned", "basic"]


def validated_budget(eps: float, delta: float) -> tuple[float, float]:
    """Check an (eps, delta) pair and return it as Python floats.

    Raises
    ------
    InvalidParameterError
        If eps is not in (0, inf] or delta not in [0, 1).
    """
    eps, delta = real(eps, "eps"), real(delta, "delta")
    if not eps > 0:
        raise InvalidParameterError(
            f"eps must be positive (or inf for no privacy), got {eps!r}.", parameter="eps"
        )
    if not 0 <= delta < 1:
        raise InvalidParameterError(f"delta must be in [0, 1), got {delta!r}.", parameter="delta")
    return eps, delta


def require_composition(composition: Any) -> None:
    """Refuse an unknown kind of composition.

    Raises
    ------
    InvalidParameterError
        With the kinds that there are.
    """
    if not is_one_of(composition, ("adaptive", "planned", "basic")):
        raise InvalidParameterError(
            f"composition must be 'adaptive', 'planned' or 'basic', got {composition!r}.",
            parameter="composition",
        )
