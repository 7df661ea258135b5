"""Who wants what, of which there is how much."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from privlp.allocation.demand import People, PersonPrivate, Sizes
from privlp.allocation.planning import AllocationPlan, planned
from privlp.checks import (
    LARGEST,
    SMALLEST,
    FloatArray,
    as_floats,
    frozen,
    positive,
    real,
    require,
    require_data,
)
from privlp.linear_program import LinearProgram
from privlp.privacy import Ledger
from privlp.quiet import unquoted
from privlp.tables import labels, names_along

ROUNDED = 1 + 1e-12  #: Sums of uses may exceed the largest one by this factor: they are rounded.


_LARGER = "Declare a larger bound that would be the same without any one person"


def checked_values(given: Any, largest: float, neighbours: PersonPrivate) -> FloatArray:
    """Values of every option to every person, (n, k)."""
    values, nominal = as_floats(given, "values"), neighbours.nominal_n
    need = partial(require_data, name="values")
    table = values.ndim == 2 and values.shape[-1]
    need(table, "values must be a table: one row per person, one column per option.")
    known = not np.isnan(values).any()
    need(known, "values hold NaN. Give every person a number for every option.")
    need(
        not np.isposinf(values).any(),
        "values hold plus infinity, but each must be at most largest_value. Minus infinity is for"
        " what a person cannot take.",
    )
    beyond = f"Some values exceed largest_value={largest:g}. {_LARGER}, or lower these values."
    need((values <= largest).all(), beyond)
    many = f"There are more than twice nominal_n={nominal} people: declare a larger nominal_n."
    need(nominal is None or len(values) <= 2 * nominal, many)
    need(nominal is not None or len(values), "There are no people.")
    return frozen(values)


def checked_supplies(given: Any) -> FloatArray:
    """How much there is of each supply, (d,)."""
    supplies = as_floats(given, "supplies")
    listed = supplies.ndim == 1 and supplies.size
    require_data(listed, "supplies must be a list of at least one number.", "supplies")
    fault = "supplies must be positive and finite. Leave out options that use what there is none"
    met = np.isfinite(supplies).all() and (supplies > 0).all()
    require_data(met, f"{fault} of.", "supplies")
    return frozen(supplies)


def checked_uses(
    given: Any, largest: Any, supplies: int, shape: tuple[int, int], neighbours: PersonPrivate
) -> tuple[FloatArray, float]:
    """What a unit of each option uses, (k, d) or (n, k, d), and the bound on its sum."""
    (n, k), d = shape, supplies
    people = "" if neighbours.hides_people else f" for {n} people"
    need = partial(require_data, name="uses")
    need(
        given is not None or k == d,
        f"There are {k} options{people} and {d} supplies. Say by uses, of shape ({k}, {d}), how"
        " much of each supply a unit of each option uses.",
    )
    uses = np.eye(k) if given is None else as_floats(given, "uses")
    need(
        uses.shape in ((k, d), (n, k, d)),
        f"uses must have the shape ({k}, {d}), the same for everybody, or one such table per"
        " person.",
    )
    need(np.isfinite(uses).all() and (uses >= 0).all(), "uses must be finite and at least 0.")
    sums = uses.sum(axis=-1)
    require(
        largest is not None or uses.ndim == 2,
        "Uses of one person are private: declare largest_use, a public bound on what a unit of an"
        " option uses in sum over supplies.",
        "largest_use",
    )
    largest = (float(sums.max()) or 1.0) if largest is None else largest
    largest = positive(largest, "largest_use", finite=True)
    beyond = f"Some uses exceed largest_use={largest:g} in sum over supplies. {_LARGER}."
    need((sums <= largest * ROUNDED).all(), beyond)
    return frozen(uses), largest


def checked_limits(given: Any, largest: Any, people: int) -> tuple[FloatArray, float]:
    """How many units each person may take, (n,), and the bound on it."""
    axes = unquoted(lambda: np.ndim(given), "limits must be numbers.", "limits")
    if not isinstance(given, list | tuple) and axes == 0:
        one = positive(real(given, "limits"), "limits", finite=True)
        limits, largest = np.full(people, one), one if largest is None else largest
    else:
        limits = as_floats(given, "limits")
    met = limits.shape == (people,) and np.isfinite(limits).all() and (limits >= 0).all()
    each = "limits must be a number, or one finite number of at least 0 per person."
    require_data(met, each, "limits")
    bound = "declare largest_limit, a public bound on all of them."
    require(largest is not None, f"Limits of one person are private: {bound}", "largest_limit")
    largest = positive(largest, "largest_limit", finite=True)
    beyond = f"Some limits exceed largest_limit={largest:g}. {_LARGER}."
    require_data((limits <= largest).all(), beyond, "limits")
    return frozen(limits), largest


def _names_of_options(values: Any, supplies: Any, uses: Any, limits: Any) -> list[str] | None:
    """Those of tables, which must name people, options and supplies in one order."""
    names_along("people", ("values", values, 0), ("limits", limits, 0))
    if uses is None:  # option j is one unit of supply j
        return names_along("options", ("values", values, 1), ("supplies", supplies, 0))
    names_along("supplies", ("supplies", supplies, 0), ("uses", uses, 1))
    return names_along("options", ("values", values, 1), ("uses", uses, 0))


def check_size(given: Any, name: str) -> None:
    """Refuse units in which prices might overflow."""
    sizes = np.atleast_1d(given)
    require(
        ((sizes >= SMALLEST) & (sizes <= LARGEST)).all(),
        f"{name} must be between {SMALLEST:g} and {LARGEST:g}. Measure in other units.",
        name,
    )


@dataclass(frozen=True, eq=False, repr=False)
class Allocation:
    """People who want shares of scarce supplies.

    The program is to maximise sum_ij values_ij x_ij subject to

        sum_ij uses_ijl x_ij <= supplies_l,   sum_j x_ij <= limits_i,   x >= 0.

    Person i owns row i of `values`, of `uses` and of `limits`: that is private. Supplies, the
    number of options and all declared bounds are public, and so are uses that are the same for
    everybody.

    Parameters
    ----------
    values : array_like of shape (n, k)
        What a whole unit of option j is worth to person i. Minus infinity: she cannot take it.
    supplies : array_like of shape (d,)
        How much there is of each supply; positive. Measure them in units of which one person uses
        about as much of each: noise on all of them is the same.
    uses : array_like of shape (k, d) or (n, k, d), optional
        How much of each supply a unit of an option uses; at least 0. Of shape (k, d) it is public
        and the same for everybody. By default option j is one unit of supply j.
    limits : float or array_like of shape (n,)
        How many units a person may take in all, 1 by default. A number is public.
    largest_value : float
        Public bound on all values.
    largest_use : float, optional
        Public bound on what a unit of an option uses, in sum over supplies. Required where uses are
        private; else their largest sum.
    largest_limit : float, optional
        Public bound on limits. Required where they are private.
    neighbours : PersonPrivate
        What neighbours may differ in.

    Raises
    ------
    InvalidProblemError
        If shapes do not fit, numbers are NaN or infinite, or data exceed a declared bound.
    InvalidParameterError
        If a bound is missing or not positive.

    Notes
    -----
    Declared bounds belong to the guarantee. Checks at construction read the data, before any
    privacy is claimed: data beyond a bound are refused.

    Examples
    --------
    300 people, each of whom wants one hour in one of four rooms:

    >>> import numpy as np, privlp
    >>> wishes = np.random.default_rng(0).uniform(size=(300, 4))
    >>> allocation = privlp.Allocation(wishes, supplies=[75, 75, 75, 75], largest_value=1.0)
    >>> allocation
    Allocation(300 people, 4 options, 4 supplies, person-private: values, uses and limit of one
    person replaced)
    >>> allocation.unit
    1.0
    >>> privlp.Allocation(2 * wishes, supplies=[75, 75, 75, 75], largest_value=1.0)
    Traceback (most recent call last):
        ...
    privlp.errors.InvalidProblemError: Some values exceed largest_value=1. Declare a larger ...

    Two people and two options. What follows is not private:

    >>> few = privlp.Allocation([[3, 2], [2, 0]], supplies=[1, 1], largest_value=4)
    >>> few.worth([[0, 1], [1, 0]]), few.used([[0, 1], [1, 0]])
    (4.0, array([1., 1.]))
    >>> privlp.solve_exact(few.program()).objective, few.sizes().options
    (4.0, 2)
    >>> few.people(closed=(0,)).values
    array([[-inf, 0.5],
           [-inf, 0. ]])
    """

    values: Any
    supplies: Any
    _: KW_ONLY
    uses: Any = None
    limits: Any = 1.0
    largest_value: float
    largest_use: float | None = None
    largest_limit: float | None = None
    neighbours: PersonPrivate = field(default_factory=PersonPrivate)
    options: tuple[str, ...] | None = field(init=False, default=None)  #: Names, from tables.

    def __post_init__(self) -> None:
        require(
            isinstance(self.neighbours, PersonPrivate),
            "neighbours must be a privlp.PersonPrivate, such as"
            f" PersonPrivate('add-remove', nominal_n=1000); got {type(self.neighbours).__name__}.",
            "neighbours",
        )
        options = _names_of_options(self.values, self.supplies, self.uses, self.limits)
        found: dict[str, Any] = {"options": None if options is None else tuple(options)}
        bound = found["largest_value"] = positive(self.largest_value, "largest_value", finite=True)
        values = found["values"] = checked_values(self.values, bound, self.neighbours)
        found["supplies"] = checked_supplies(self.supplies)
        found["uses"], found["largest_use"] = checked_uses(
            self.uses, self.largest_use, len(found["supplies"]), values.shape, self.neighbours
        )
        limits = checked_limits(self.limits, self.largest_limit, len(values))
        found["limits"], found["largest_limit"] = limits
        for name in ("largest_value", "largest_use", "largest_limit", "supplies"):
            check_size(found[name], name)
        for name, value in found.items():
            object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        n, k = self.values.shape
        people = "" if self.neighbours.hides_people else f"{n} people, "
        return (
            f"Allocation({people}{k} options, {len(self.supplies)} supplies,"
            f" {self.neighbours.description})"
        )

    @property
    def unit(self) -> float:
        """The most that one person uses in sum over supplies: largest use times largest limit."""
        _, use, limit = self._units
        return use * limit

    def sizes(self) -> Sizes:
        """All that is public; plans see nothing else."""
        nominal = self.neighbours.nominal_n
        return Sizes(
            supplies=self.supplies / self.unit,
            options=self.values.shape[1],
            own_uses=self.uses.ndim == 3,
            people=len(self.values) if nominal is None else int(nominal),
            relation=self.neighbours,
            unit=self.unit,
            largest_value=self.largest_value,
        )

    def plan(
        self, eps: float, delta: float = 0.0, *, feasible: float | None = 0.95
    ) -> AllocationPlan:
        """What :func:`allocate` would promise, from public numbers; nothing is spent.

        Parameters
        ----------
        eps, delta, feasible
            As for :func:`allocate`.

        Examples
        --------
        >>> import numpy as np, privlp
        >>> wishes = np.random.default_rng(0).uniform(size=(300, 4))
        >>> allocation = privlp.Allocation(wishes, supplies=[75] * 4, largest_value=1.0)
        >>> print(allocation.plan(eps=1.0))
        Rough: a reserve of 9.85 of each supply, 13% of all, is kept back, so that all supplies ...
        """
        return planned(self.sizes(), Ledger(eps, delta), feasible)

    def program(self) -> LinearProgram:
        """The linear program, for :func:`solve_exact`: **not private**.

        Variable i k + j is the share of person i of option j. The last rows are supplies.
        """
        (n, k), d = self.values.shape, len(self.supplies)
        own = sp.kron(sp.eye_array(n), np.ones((1, k)), format="csr")
        if self.uses.ndim == 2:
            shared = sp.kron(np.ones((1, n)), self.uses.T, format="csr")
        else:
            shared = sp.csr_array(self.uses.reshape(n * k, d).T)
        cannot = np.isneginf(self.values).ravel()
        return LinearProgram(
            np.where(cannot, 0.0, self.values.ravel()),
            sp.vstack([own, shared], format="csr"),
            np.concatenate([self.limits, self.supplies]),
            bounds=np.column_stack([np.zeros(n * k), np.where(cannot, 0.0, np.inf)]),
            sense="max",
        )

    def worth(self, shares: Any) -> float:
        """Total value of everybody's shares, (n, k): **not private**."""
        taken = self._checked_shares(shares)
        return float(np.where(taken > 0, self.values, 0.0).ravel() @ taken.ravel())

    def used(self, shares: Any) -> FloatArray:
        """Use of each supply by everybody's shares, (d,): **not private**."""
        taken = self._checked_shares(shares)
        if self.uses.ndim == 2:
            return np.asarray(taken.sum(axis=0) @ self.uses)
        return np.asarray(taken.ravel() @ self.uses.reshape(-1, len(self.supplies)))

    def people(self, closed: tuple[int, ...] = ()) -> People:
        """Everybody, in units of the largest value, use and limit: **not private**.

        Options that use a closed supply cannot be taken.
        """
        return people_of(self.values, self.uses, self.limits, closed, self._units)

    def _checked_shares(self, shares: Any) -> FloatArray:
        own = labels(shares, 1)
        other = "shares must name the options as values do, in their order; or give to_numpy()."
        require(None in (own, self.options) or tuple(own or ()) == self.options, other, "shares")
        taken = as_floats(shares, "shares")
        require(
            taken.shape == self.values.shape and np.isfinite(taken).all(),
            "shares must be a finite table like values: one row per person, one column per option,"
            " as result.shares_of(allocation) returns it.",
            "shares",
        )
        return taken

    @property
    def _units(self) -> tuple[float, float, float]:
        return self.largest_value, float(self.largest_use or 0), float(self.largest_limit or 0)


def people_of(
    values: FloatArray,
    uses: FloatArray,
    limits: FloatArray,
    closed: tuple[int, ...],
    units: tuple[float, float, float],
) -> People:
    """People in units of the largest value, use and limit; options of closed supplies left out."""
    scaled = uses / units[1]
    scaled = scaled / np.maximum(scaled.sum(axis=-1, keepdims=True) * ROUNDED, 1.0)
    left_out = (uses[..., list(closed)] > 0).any(axis=-1)
    return People(np.where(left_out, -np.inf, values / units[0]), scaled, limits / units[2])
