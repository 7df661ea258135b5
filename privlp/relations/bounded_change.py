"""Relations under which private numbers move by a bounded amount."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np

from privlp.checks import FloatArray, as_floats, frozen, real, require, require_data
from privlp.errors import InvalidParameterError, InvalidProblemError
from privlp.problem.data import ProgramData
from privlp.problem.standard_form import StandardForm
from privlp.relations.base import own_name
from privlp.relations.numbers import LowSensitivity, PrivateNumbers, ProgramNumbers
from privlp.tables import index_of

# Beyond this many times the sensitivity a number cannot carry its noise in double precision.
_LARGEST_MULTIPLE = 2.0**36
#: What messages about missing or wrong ranges say besides.
ABOUT_ZEROS = (
    "Zeros that belong to the model, not to its data, need no range with zeros='public' (on the"
    " command line --zeros-public)."
)


def no_solver_if(what: str, moves: str) -> str:
    """Why a part of a program may not change without bound."""
    return (
        f"if {what} may change without bound, no private solver can be accurate (Hsu, Roth,"
        " Roughgarden and Ullman 2014: it would let the data be reconstructed). Declare how far one"
        f" record moves {moves}."
    )


@dataclass(frozen=True)
class BoundedChange(LowSensitivity):
    """What ScalarPrivate, RowPrivate, ColumnPrivate and ObjectivePrivate have in common.

    Parameters
    ----------
    sensitivity : float
        Bound on the change, positive and finite, in the units of the numbers that change.
    lower, upper : float or array_like, optional
        Declared public range of the private numbers, the same for every neighbour. Where both ends
        meet, the number is public. Labels of pandas are matched to those of the program.
    """

    sensitivity: float
    _: KW_ONLY
    lower: Any = field(default=None, compare=False, repr=False)
    upper: Any = field(default=None, compare=False, repr=False)

    part: ClassVar[Literal["b", "A", "c"]]  #: Which numbers change: "b", "A" or "c".
    numbers_are: ClassVar[str]  #: What messages call them.
    #: Why no bound on their change makes the program unsolvable, and what to do.
    unbounded: ClassVar[str]

    def __post_init__(self) -> None:
        value = real(self.sensitivity, "sensitivity")
        wrong = f"must be positive and finite, got {self.sensitivity!r}."
        wrong = f"must be finite: {self.unbounded}" if value == math.inf else wrong
        require(0 < value < math.inf, f"sensitivity {wrong}", "sensitivity")
        object.__setattr__(self, "sensitivity", value)
        low = _declared_end(self.lower, "lower", -np.inf)
        high = _declared_end(self.upper, "upper", np.inf)
        shapes, wrong = (low.shape, high.shape), ""
        labelled = {end: getattr(self, end) for end in ("lower", "upper")}
        labelled = {end: g.copy() for end, g in labelled.items() if index_of(g) is not None}
        for name, end in ({"lower": low, "upper": high} | labelled).items():
            object.__setattr__(self, name, end)  # labels wait for those of a program
        try:
            if not labelled and (low > high).any():
                wrong = "lower must not exceed upper anywhere."
        except ValueError:
            wrong = f"lower has shape {shapes[0]} and upper {shapes[1]}: they must agree."
        if wrong:
            raise InvalidParameterError(wrong, parameter="lower")

    @property
    def private_parts(self) -> frozenset[str]:
        """One part."""
        return frozenset([self.part])

    def describe(self, lp: ProgramData) -> str:
        """The relation in words, with what was declared public."""
        declared = np.isfinite(self.lower).any() or np.isfinite(self.upper).any()
        return f"{self.description}{', within the declared public range' if declared else ''}"

    @property
    def key(self) -> str:
        """The same kind of change in every program of one ledger; its size may differ."""
        return own_name(type(self))

    def private_numbers(self, form: StandardForm) -> list[PrivateNumbers]:
        """The private numbers with their sensitivities."""
        numbers = self._numbers(form)
        return [numbers] if len(numbers) else []

    @abstractmethod
    def _numbers(self, form: StandardForm) -> PrivateNumbers:
        """The private numbers with their sensitivities, or none (m = 0)."""

    def _moving(
        self, at: tuple[Any, ...], low: FloatArray, high: FloatArray, count: int, **more: Any
    ) -> PrivateNumbers:
        """Private numbers at places, `count` of which move by the sensitivity each."""
        entry = self.sensitivity
        norms = {"l1": count * entry, "l2": math.sqrt(count) * entry, "entry": entry}
        more = {"touched": count, "size": self._size(), **norms, **more}
        return PrivateNumbers(part=self.part, at=at, low=low, high=high, **more)

    @abstractmethod
    def _steps(
        self, numbers: PrivateNumbers, rng: np.random.Generator, rows: Sequence[int]
    ) -> FloatArray:
        """A random change of the private numbers of the full size, (m,)."""

    @abstractmethod
    def _range_of(self, lp: ProgramData) -> tuple[FloatArray, FloatArray, FloatArray, Any]:
        """Declared ends and numbers, of one shape, and which are private: what `check` compares."""

    def _size(self) -> float:
        """Public bound on the size of every private number: its range, or what `check` allows."""
        lower, upper = np.broadcast_arrays(self.lower, self.upper)
        size = np.maximum(np.abs(lower), np.abs(upper))[lower < upper]
        return min(float(size.max(initial=0.0)), _LARGEST_MULTIPLE * self.sensitivity)

    def check(self, lp: ProgramData) -> None:
        """Refuse groups, numbers outside their range, and numbers that cannot carry their noise."""
        require_data(
            lp.groups is None,
            "groups has no use where numbers change a little: the sensitivity says what one record"
            " moves. Leave it out.",
            "groups",
        )
        try:
            lower, upper, values, private = self._range_of(lp)
        except ValueError:
            (n, d), row = lp.shape, "row, public ones too"
            shape, of = {"b": ((n,), row), "c": ((d,), "variable")}.get(
                self.part, ((n, d), f"entry of A: of each variable in each {row}")
            )
            raise InvalidProblemError(
                f"lower and upper must be numbers, or arrays of shape {shape} with a number for"
                f" each {of}; got {self.lower.shape} and {self.upper.shape}.",
                parameter="lower",
            ) from None
        inside = (lower <= values) & (values <= upper)
        if not inside[private].all():
            zeros = "" if self.part == "c" else f" {ABOUT_ZEROS}"
            raise InvalidProblemError(
                f"Some of {self.numbers_are} lie outside the declared range. Declare a public lower"
                f" and upper that hold for every neighbour; do not read them off the data.{zeros}",
                parameter="lower",
            )
        movable = np.broadcast_to(lower < upper, values.shape)[private]
        if (np.abs(values[private][movable]) > _LARGEST_MULTIPLE * self.sensitivity).any():
            raise InvalidProblemError(
                f"Some of {self.numbers_are} exceed {_LARGEST_MULTIPLE:.3g} times the sensitivity,"
                f" {self.sensitivity:g}: double precision cannot hold them together with their"
                " noise. Check the sensitivity, or rescale.",
                parameter="sensitivity",
            )

    def moved(
        self, form: StandardForm, rng: np.random.Generator, rows: Sequence[int] = ()
    ) -> ProgramData:
        numbers = self._numbers(form)
        if not len(numbers):
            return form.lp
        true, steps = ProgramNumbers.of(form), self._steps(numbers, rng, rows)
        moved = self._moved_values(numbers, true.values(numbers), steps)
        return true.having(numbers, moved).program()

    def _moved_values(
        self, numbers: PrivateNumbers, values: FloatArray, steps: FloatArray
    ) -> FloatArray:
        """The values after these steps, or after opposite steps where these leave the range.

        Rounding goes towards the old values, so that no change exceeds its step.
        """
        outside = (values + steps < numbers.low) | (values + steps > numbers.high)
        moved = np.clip(values + np.where(outside, -steps, steps), numbers.low, numbers.high)
        moved = np.where(np.abs(moved - values) > np.abs(steps), np.nextafter(moved, values), moved)
        # Which numbers are zero stays as it is, where that is public.
        return np.where((moved == 0) & numbers.nonzero, values / 2, moved)


def signs(size: int, rng: np.random.Generator) -> FloatArray:
    """All 1, all -1, or any."""
    kind = rng.integers(3)
    return rng.choice([-1.0, 1.0], size=size) if kind == 2 else np.full(size, (1.0, -1.0)[kind])


def split_among_few(total: float, size: int, rng: np.random.Generator) -> FloatArray:
    """A vector of L1 norm `total`: often one entry, else two or all alike."""
    count = min(size, int(rng.choice([1, 2, size], p=[0.6, 0.2, 0.2])))
    steps = np.zeros(size)
    steps[rng.permutation(size)[:count]] = total / count
    return steps * signs(size, rng)


def _declared_end(given: Any, name: str, absent: float) -> FloatArray:
    """One end of a declared range as an immutable array; infinite where none was declared."""
    dense = given.toarray() if hasattr(given, "toarray") else given
    wrong = f"{name} holds NaN; a declared range must be of numbers."
    try:
        end = np.array(absent) if given is None else as_floats(dense, name)
        if not np.isnan(end).any():
            return frozen(end)
    except InvalidProblemError as error:
        wrong = str(error)
    raise InvalidParameterError(wrong, parameter=name)


@dataclass(frozen=True)
class ObjectivePrivate(BoundedChange):
    """Neighbouring programs differ in the costs c, by at most `sensitivity` in L1.

    A and b are public, private rows or not.

    Parameters
    ----------
    sensitivity : float
        Bound on ||c - c'||_1, in the units of c.
    lower, upper : float or array_like of shape (d,), optional
        Declared public range of the costs. Where the ends meet the cost is public.

    Notes
    -----
    *Sensitivity.* ||c - c'||_2 <= ||c - c'||_1 <= D. The objective of a result is that of the
    released costs, c_hat·x: the true c·x is private.

    An unbounded change is refused: Hsu, Roth, Roughgarden and Ullman (2014).

    Examples
    --------
    >>> from privlp import ObjectivePrivate
    >>> ObjectivePrivate(2.0).description
    'objective-private: c changes by at most 2 in sum'
    >>> ObjectivePrivate(float("inf"))
    Traceback (most recent call last):
        ...
    privlp.errors.InvalidParameterError: sensitivity must be finite: if c may change ...
    """

    part = "c"
    numbers_are = "the costs c"
    unbounded = no_solver_if("c", "c")

    @property
    def description(self) -> str:
        return f"objective-private: c changes by at most {self.sensitivity:g} in sum"

    def records(self, form: StandardForm) -> int:
        """The number of costs: each record owns some of them."""
        return form.lp.shape[1]

    def _range_of(self, lp: ProgramData) -> tuple[FloatArray, FloatArray, FloatArray, Any]:
        d = lp.shape[1]
        return np.broadcast_to(self.lower, d), np.broadcast_to(self.upper, d), lp.c, slice(None)

    def _numbers(self, form: StandardForm) -> PrivateNumbers:
        lower, upper, _, _ = self._range_of(form.lp)
        at = np.flatnonzero(lower < upper)
        return self._moving((at,), lower[at], upper[at], 1, touched=len(at))

    def _steps(
        self, numbers: PrivateNumbers, rng: np.random.Generator, rows: Sequence[int]
    ) -> FloatArray:
        return split_among_few(self.sensitivity, len(numbers), rng)
