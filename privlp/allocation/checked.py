"""Checks of who wants what, and of how much there is, at construction."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from privlp.allocation.relation import PersonPrivate
from privlp.checks import LARGEST, SMALLEST, as_floats, frozen, positive, real
from privlp.errors import InvalidParameterError, InvalidProblemError
from privlp.unquoted import unquoted

FloatArray = npt.NDArray[np.float64]

#: Sums of uses may exceed the largest one by this factor: they are rounded.
ROUNDED = 1 + 1e-12


def checked_values(given: Any, largest: float, neighbours: PersonPrivate) -> FloatArray:
    """Values of every option to every person, (n, k)."""
    values = as_floats(given, "values")
    if values.ndim != 2 or not values.shape[1]:
        raise InvalidProblemError(
            "values must be a table: one row per person, one column per option.",
            parameter="values",
        )
    if np.isnan(values).any():
        raise InvalidProblemError(
            "values hold NaN. Give every person a number for every option.", parameter="values"
        )
    if np.isposinf(values).any():
        raise InvalidProblemError(
            "values hold plus infinity, but each must be at most largest_value. Minus infinity is"
            " for what a person cannot take.",
            parameter="values",
        )
    if (values > largest).any():
        raise InvalidProblemError(
            f"Some values exceed largest_value={largest:g}. Declare a larger bound"
            " that would be the same without any one person, or lower these values.",
            parameter="values",
        )
    nominal = neighbours.nominal_n
    if nominal is not None and len(values) > 2 * nominal:
        raise InvalidProblemError(
            f"There are more than twice nominal_n={nominal} people: declare a larger nominal_n.",
            parameter="values",
        )
    if nominal is None and not len(values):
        raise InvalidProblemError("There are no people.", parameter="values")
    return frozen(values)


def checked_supplies(given: Any) -> FloatArray:
    """How much there is of each supply, (d,)."""
    supplies = as_floats(given, "supplies")
    if supplies.ndim != 1 or not supplies.size:
        raise InvalidProblemError(
            "supplies must be a list of at least one number.", parameter="supplies"
        )
    if not (np.isfinite(supplies).all() and (supplies > 0).all()):
        raise InvalidProblemError(
            "supplies must be positive and finite. Leave out options that use what there is"
            " none of.",
            parameter="supplies",
        )
    return frozen(supplies)


def checked_uses(
    given: Any, largest: Any, supplies: int, shape: tuple[int, int], neighbours: PersonPrivate
) -> tuple[FloatArray, float]:
    """What a unit of each option uses, (k, d) or (n, k, d), and the bound on its sum."""
    (n, k), d = shape, supplies
    if given is None and k != d:
        people = "" if neighbours.hides_people else f" for {n} people"
        raise InvalidProblemError(
            f"There are {k} options{people} and {d} supplies. Say by uses, of shape ({k}, {d}),"
            " how much of each supply a unit of each option uses.",
            parameter="uses",
        )
    uses = np.eye(k) if given is None else as_floats(given, "uses")
    if uses.shape not in ((k, d), (n, k, d)):
        raise InvalidProblemError(
            f"uses must have the shape ({k}, {d}), the same for everybody, or one such table"
            " per person.",
            parameter="uses",
        )
    if not (np.isfinite(uses).all() and (uses >= 0).all()):
        raise InvalidProblemError("uses must be finite and at least 0.", parameter="uses")
    sums = uses.sum(axis=-1)
    if largest is None:
        if uses.ndim == 3:
            raise InvalidParameterError(
                "Uses of one person are private: declare largest_use, a public bound on what a"
                " unit of an option uses in sum over supplies.",
                parameter="largest_use",
            )
        largest = float(sums.max()) or 1.0
    largest = positive(largest, "largest_use", finite=True)
    if (sums > largest * ROUNDED).any():
        raise InvalidProblemError(
            f"Some uses exceed largest_use={largest:g} in sum over supplies. Declare a larger"
            " bound that would be the same without any one person.",
            parameter="uses",
        )
    return frozen(uses), largest


def checked_limits(given: Any, largest: Any, people: int) -> tuple[FloatArray, float]:
    """How many units each person may take, (n,), and the bound on it."""
    axes = unquoted(lambda: np.ndim(given), "limits must be numbers.", "limits")
    if not isinstance(given, list | tuple) and axes == 0:
        one = positive(real(given, "limits"), "limits", finite=True)
        limits, largest = np.full(people, one), one if largest is None else largest
    else:
        limits = as_floats(given, "limits")
    if limits.shape != (people,) or not (np.isfinite(limits).all() and (limits >= 0).all()):
        raise InvalidProblemError(
            "limits must be a number, or one finite number of at least 0 per person.",
            parameter="limits",
        )
    if largest is None:
        raise InvalidParameterError(
            "Limits of one person are private: declare largest_limit, a public bound on all of"
            " them.",
            parameter="largest_limit",
        )
    largest = positive(largest, "largest_limit", finite=True)
    if (limits > largest).any():
        raise InvalidProblemError(
            f"Some limits exceed largest_limit={largest:g}. Declare a larger bound that would"
            " be the same without any one person.",
            parameter="limits",
        )
    return frozen(limits), largest


def check_size(given: Any, name: str) -> None:
    """Refuse supplies and bounds in units in which prices might overflow."""
    sizes = np.atleast_1d(given)
    if not ((sizes >= SMALLEST) & (sizes <= LARGEST)).all():
        raise InvalidParameterError(
            f"{name} must be between {SMALLEST:g} and {LARGEST:g}. Measure in other units.",
            parameter=name,
        )
