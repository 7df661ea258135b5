"""Low-sensitivity relations: neighbours differ a little in b, in A or in c, by a declared amount."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from privlp.checks import as_floats, frozen, real
from privlp.errors import InvalidParameterError, InvalidProblemError
from privlp.problem.data import KnownProgram, ProgramData
from privlp.problem.standard_form import StandardForm
from privlp.relations.base import NeighbourRelation, own_name
from privlp.relations.private_numbers import PrivateNumbers, ProgramNumbers

FloatArray = npt.NDArray[np.float64]

# Beyond this many times the sensitivity a number cannot carry its noise in double precision.
_LARGEST_MULTIPLE = 2.0**36
_UNIT_ROUNDOFF = 2.0**-53
# Where no violation can change (at x = 0, say) scores are still measured in units of something.
_LEAST_CHANGE = 1e-100


class LowSensitivity(NeighbourRelation):
    """A relation under which private numbers move by a bounded amount.

    It states how far everything computed from them moves.
    """

    @abstractmethod
    def private_numbers(self, form: StandardForm) -> list[PrivateNumbers]:
        """The private numbers of each part of the program, with their sensitivities.

        Examples
        --------
        >>> from privlp import LinearProgram, RowPrivate
        >>> from privlp.problem.standard_form import StandardForm
        >>> relation = RowPrivate(0.1, lower=[-4, -1], upper=[0, -1])  # the second entry of every row is public
        >>> form = StandardForm.of(LinearProgram([1, 2], [[-2, -1], [-3, -1]], [-2, -3], neighbours=relation))
        >>> (numbers,) = relation.private_numbers(form)
        >>> numbers.part, numbers.at, numbers.l1
        ('A', (array([0, 1]), array([0, 0])), 0.1)
        """

    def violation_change(self, form: StandardForm) -> Callable[[FloatArray], float]:
        """Bound on max_i d_i - min_i d_i for the change d of the computed violations of all ``<=`` rows at a public point x, (d,).

        A function of x, made of public numbers: :meth:`violation_span`, and eight times the
        rounding error of a violation.

        Examples
        --------
        >>> import numpy as np
        >>> from privlp import LinearProgram, RowPrivate
        >>> from privlp.problem.standard_form import StandardForm
        >>> relation = RowPrivate(0.1, lower=[-4, -1], upper=[0, -1])  # the second entry of every row is public
        >>> form = StandardForm.of(LinearProgram([1, 2], [[-2, -1], [-3, -1]], [-2, -3], neighbours=relation))
        >>> round(relation.violation_change(form)(np.array([2.0, 5.0])), 9)
        0.2
        """
        span, (entry, rhs) = self.violation_span(form), self._sizes(form)
        roundings = 8 * (form.lp.shape[1] + 3) * _UNIT_ROUNDOFF

        def bound(x: FloatArray) -> float:
            return span(x) + roundings * (entry * float(np.abs(x).sum()) + rhs) + _LEAST_CHANGE

        return bound

    @abstractmethod
    def violation_span(self, form: StandardForm) -> Callable[[FloatArray], float]:
        """The same without rounding.

        Examples
        --------
        >>> import numpy as np
        >>> from privlp import LinearProgram, RowPrivate
        >>> from privlp.problem.standard_form import StandardForm
        >>> relation = RowPrivate(0.1, lower=[-4, -1], upper=[0, -1])  # the second entry of every row is public
        >>> form = StandardForm.of(LinearProgram([1, 2], [[-2, -1], [-3, -1]], [-2, -3], neighbours=relation))
        >>> relation.violation_span(form)(np.array([2.0, 5.0]))
        0.2
        """

    @abstractmethod
    def private_sizes(self) -> dict[str, float]:
        """Public bound on the size of all numbers of private rows in each part that is private, "A" or "b".

        Examples
        --------
        >>> from privlp import LinearProgram, RowPrivate
        >>> from privlp.problem.standard_form import StandardForm
        >>> relation = RowPrivate(0.1, lower=[-4, -1], upper=[0, -1])  # the second entry of every row is public
        >>> form = StandardForm.of(LinearProgram([1, 2], [[-2, -1], [-3, -1]], [-2, -3], neighbours=relation))
        >>> relation.private_sizes()
        {'A': 4.0}
        """

    def _sizes(self, form: StandardForm) -> tuple[float, float]:
        """Public bounds on the size of the entries of A and b: the entries themselves where they are public."""
        lp, bounds = form.lp, self.private_sizes()
        rows = ~lp.private if "A" in bounds else np.ones_like(lp.private)
        entry = float(abs(lp.A[rows]).max()) if rows.any() else 0.0
        rows = ~lp.private if "b" in bounds else np.ones_like(lp.private)
        ends = np.concatenate([lp.b[rows], lp.row_lower[rows]])
        rhs = float(np.abs(ends[np.isfinite(ends)]).max(initial=0.0))
        return max(entry, bounds.get("A", 0.0)), max(rhs, bounds.get("b", 0.0))

    @abstractmethod
    def row_change(self, form: StandardForm, scale: FloatArray) -> tuple[float, float]:
        """L1 and L2 sensitivity of any one row of A, its entries multiplied by `scale`, (d,).

        Zeros where A is public.

        Examples
        --------
        >>> import numpy as np
        >>> from privlp import LinearProgram, RowPrivate
        >>> from privlp.problem.standard_form import StandardForm
        >>> relation = RowPrivate(0.1, lower=[-4, -1], upper=[0, -1])  # the second entry of every row is public
        >>> form = StandardForm.of(LinearProgram([1, 2], [[-2, -1], [-3, -1]], [-2, -3], neighbours=relation))
        >>> l1, l2 = relation.row_change(form, np.array([3.0, 5.0]))
        >>> round(l1, 9), round(l2, 9)
        (0.3, 0.3)
        """

    @abstractmethod
    def private_entries(self, form: StandardForm, row: int) -> npt.NDArray[np.bool_]:
        """Which entries of a row of A are private, (d,).

        Examples
        --------
        >>> from privlp import LinearProgram, RowPrivate
        >>> from privlp.problem.standard_form import StandardForm
        >>> relation = RowPrivate(0.1, lower=[-4, -1], upper=[0, -1])  # the second entry of every row is public
        >>> form = StandardForm.of(LinearProgram([1, 2], [[-2, -1], [-3, -1]], [-2, -3], neighbours=relation))
        >>> relation.private_entries(form, 0)
        array([ True, False])
        """

    @abstractmethod
    def entry_bounds(self, form: StandardForm) -> tuple[FloatArray, FloatArray] | None:
        """Public ranges of the entries of A, each broadcastable to (n, d): the entries themselves where A is public.

        ``None`` where A is private and no range was declared.

        Examples
        --------
        >>> from privlp import LinearProgram, RowPrivate
        >>> from privlp.problem.standard_form import StandardForm
        >>> relation = RowPrivate(0.1, lower=[-4, -1], upper=[0, -1])  # the second entry of every row is public
        >>> form = StandardForm.of(LinearProgram([1, 2], [[-2, -1], [-3, -1]], [-2, -3], neighbours=relation))
        >>> relation.entry_bounds(form)
        (array([-4., -1.]), array([ 0., -1.]))
        """

    @property
    @abstractmethod
    def private_parts(self) -> frozenset[str]:
        """Which of "b", "A", "c" hold private numbers.

        Examples
        --------
        >>> from privlp import RowPrivate
        >>> RowPrivate(0.1).private_parts
        frozenset({'A'})
        """

    def public_rows(self, form: StandardForm) -> int:
        """The number of private rows is public."""
        return form.n_private

    def conceal(self, lp: ProgramData) -> KnownProgram:
        """The program with fixed numbers in place of the private ones.

        A coefficient or a cost becomes 1. The upper side of a row becomes 1 and the lower side 0;
        both sides of an equality become 0. So the kinds of the rows stay as they are.
        """
        known = ProgramNumbers.of(StandardForm.of(KnownProgram.of(lp)))
        for numbers in self.private_numbers(known.form):
            values = np.ones(len(numbers))
            if numbers.part == "b":
                sides, upper = numbers.at[0], known.form.row_sign[numbers.at[0]] > 0
                row = known.form.row[sides]
                values = np.where(upper & (lp.row_lower[row] < lp.b[row]), 1.0, 0.0)
            known = known.having(numbers, values)
        return KnownProgram.of(known.program())

    @abstractmethod
    def moved(
        self, form: StandardForm, rng: np.random.Generator, rows: Sequence[int] = ()
    ) -> ProgramData:
        """A random neighbour of a program, as far from it as the declared sensitivity and ranges allow.

        Examples
        --------
        >>> import numpy as np
        >>> from privlp import LinearProgram, RowPrivate
        >>> from privlp.problem.standard_form import StandardForm
        >>> relation = RowPrivate(0.1, lower=[-4, -1], upper=[0, -1])  # the second entry of every row is public
        >>> form = StandardForm.of(LinearProgram([1, 2], [[-2, -1], [-3, -1]], [-2, -3], neighbours=relation))
        >>> (relation.moved(form, np.random.default_rng(0)).A - form.lp.A).round(9)
        array([[ 0. ,  0. ],
               [-0.1,  0. ]])
        """

    def extreme_pair(
        self, form: StandardForm, rng: np.random.Generator, rows: Sequence[int] = ()
    ) -> tuple[ProgramData, ProgramData]:
        """The program, and a neighbour at the full distance."""
        return form.lp, self.moved(form, rng, rows)


@dataclass(frozen=True)
class BoundedChange(LowSensitivity):
    """What ScalarPrivate, RowPrivate, ColumnPrivate and ObjectivePrivate have in common.

    Parameters
    ----------
    sensitivity : float
        Bound on the change, positive and finite, in the units of the numbers that change.
    lower, upper : float or array_like, optional
        Declared public range of the private numbers, the same for every neighbour. Where both ends meet, the number is public.
    """

    sensitivity: float
    _: KW_ONLY
    lower: Any = field(default=None, compare=False, repr=False)
    upper: Any = field(default=None, compare=False, repr=False)

    part: ClassVar[str]
    #: What the numbers are called, and why no bound on their change makes the program unsolvable.
    numbers_are: ClassVar[str]
    unbounded: ClassVar[str]

    def __post_init__(self) -> None:
        value = real(self.sensitivity, "sensitivity")
        if value == math.inf:
            raise InvalidParameterError(
                f"sensitivity must be finite: {self.unbounded}", parameter="sensitivity"
            )
        if not value > 0:
            raise InvalidParameterError(
                f"sensitivity must be positive and finite, got {self.sensitivity!r}.",
                parameter="sensitivity",
            )
        object.__setattr__(self, "sensitivity", value)
        for name, absent in (("lower", -np.inf), ("upper", np.inf)):
            given = getattr(self, name)
            try:
                end = np.array(absent) if given is None else _matrix_or_floats(given, name)
            except InvalidProblemError as error:
                raise InvalidParameterError(str(error)) from None
            if np.isnan(end).any():
                raise InvalidParameterError(
                    f"{name} holds NaN; a declared range must be of numbers.",
                    parameter=name,
                )
            object.__setattr__(self, name, frozen(end))
        try:
            contradictory = bool((self.lower > self.upper).any())
        except ValueError:
            raise InvalidParameterError(
                f"lower has shape {self.lower.shape} and upper {self.upper.shape}: they must agree.",
                parameter="lower",
            ) from None
        if contradictory:
            raise InvalidParameterError("lower must not exceed upper anywhere.", parameter="lower")

    @property
    def private_parts(self) -> frozenset[str]:
        """One part."""
        return frozenset([self.part])

    def describe(self, lp: ProgramData) -> str:  # noqa: ARG002
        """The relation in words, with what was declared public."""
        declared = np.isfinite(self.lower).any() or np.isfinite(self.upper).any()
        return (
            f"{self.description}, within the declared public range"
            if declared
            else self.description
        )

    @property
    def key(self) -> str:
        """The same step in every program of one ledger.

        How far it moves each program may differ.
        """
        return own_name(type(self))

    def private_numbers(self, form: StandardForm) -> list[PrivateNumbers]:
        """The private numbers with their sensitivities."""
        numbers = self._numbers(form)
        return [numbers] if len(numbers) else []

    @abstractmethod
    def _numbers(self, form: StandardForm) -> PrivateNumbers:
        """The private numbers with their sensitivities, where there are any."""

    def moved(
        self, form: StandardForm, rng: np.random.Generator, rows: Sequence[int] = ()
    ) -> ProgramData:
        numbers = self._numbers(form)
        if not len(numbers):
            return form.lp
        true = ProgramNumbers.of(form)
        steps = self._steps(numbers, rng, rows)
        moved = self._moved_values(numbers, true.values(numbers), steps)
        return true.having(numbers, moved).program()

    def _moved_values(
        self, numbers: PrivateNumbers, values: FloatArray, steps: FloatArray
    ) -> FloatArray:
        """The values after these steps, or opposite ones where they lead out of the range.

        Rounding goes towards what they were.
        """
        outside = (values + steps < numbers.low) | (values + steps > numbers.high)
        moved = np.clip(values + np.where(outside, -steps, steps), numbers.low, numbers.high)
        return np.where(np.abs(moved - values) > np.abs(steps), np.nextafter(moved, values), moved)

    @abstractmethod
    def _steps(
        self, numbers: PrivateNumbers, rng: np.random.Generator, rows: Sequence[int]
    ) -> FloatArray:
        """A random change of the private numbers of the full size, (m,)."""

    @abstractmethod
    def _range_of(self, lp: ProgramData) -> tuple[FloatArray, FloatArray, FloatArray, Any]:
        """The declared ends and the numbers they are declared for, in one shape, and which of these are private."""

    def check(self, lp: ProgramData) -> None:
        """Refuse groups, and numbers outside their declared range or too large for their noise to be seen."""
        if lp.groups is not None:
            raise InvalidProblemError(
                "groups has no use where numbers change a little: the sensitivity says what one"
                " record moves. Leave it out.",
                parameter="groups",
            )
        try:
            lower, upper, values, private = self._range_of(lp)
        except ValueError:
            raise InvalidProblemError(
                f"lower and upper must be numbers, or arrays of the shape of {self.numbers_are};"
                f" got {self.lower.shape} and {self.upper.shape} for {lp.shape[0]} rows and"
                f" {lp.shape[1]} variables.",
                parameter="lower",
            ) from None
        inside = (lower <= values) & (values <= upper)
        if not inside[private].all():
            raise InvalidProblemError(
                f"Some of {self.numbers_are} lie outside the declared range. Declare a public lower"
                " and upper that hold for every neighbour; do not read them off the data.",
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

    def largest(self, *, of_points: bool = False) -> float:
        """Public bound on the size of every private number.

        With `of_points`, also of those whose range is a point.

        Examples
        --------
        >>> from privlp import ScalarPrivate
        >>> relation = ScalarPrivate(0.5, lower=[0, -4, 9], upper=[2, 0, 9])  # the third is public
        >>> relation.largest(), relation.largest(of_points=True)
        (4.0, 9.0)
        """
        lower, upper = np.broadcast_arrays(self.lower, self.upper)
        size, movable = np.maximum(np.abs(lower), np.abs(upper)), lower < upper
        private = min(float(size[movable].max(initial=0.0)), _LARGEST_MULTIPLE * self.sensitivity)
        return max(private, float(size[~movable].max(initial=0.0))) if of_points else private


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


def _matrix_or_floats(values: Any, name: str) -> FloatArray:
    return as_floats(values.toarray() if hasattr(values, "toarray") else values, name)


class PublicMatrix:
    """What relations that leave A public have in common."""

    def row_change(self, form: StandardForm, scale: FloatArray) -> tuple[float, float]:  # noqa: ARG002
        """No change."""
        return 0.0, 0.0

    def private_entries(self, form: StandardForm, row: int) -> npt.NDArray[np.bool_]:  # noqa: ARG002
        """None."""
        return np.zeros(form.lp.shape[1], dtype=bool)

    def entry_bounds(self, form: StandardForm) -> tuple[Any, Any]:
        """The entries themselves."""
        return form.lp.A, form.lp.A
