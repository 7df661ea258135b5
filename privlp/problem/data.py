"""The data of a linear program: all of them, or only what is public."""

from __future__ import annotations

from dataclasses import KW_ONLY, MISSING, dataclass, fields, replace
from mmap import mmap
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from privlp.checks import BoolArray, FloatArray, IntArray, as_floats, require_data
from privlp.problem.validation import RowSource
from privlp.tables import by_name


@dataclass(frozen=True, eq=False)
class ProgramData:
    """The fields that every program has, and what follows from them.

    Examples
    --------
    >>> import numpy as np
    >>> from privlp import LinearProgram
    >>> lp = LinearProgram([1, 2], [[1, 1], [1, 3]], [2, 3], row_lower=[2, -np.inf], offset=10,
    ...     groups=["Ann", "Ann"], penalty=[[0.1, 0.9], [5, 5]], row_names=["iron", "zinc"])
    >>> lp.sides(), lp.private_sides()  # an equality becomes two rows
    (array([2, 1]), 3)
    >>> lp.rows_of_largest_record(), lp.vectors_of_largest_record()
    (3, 2)
    >>> lp.prices_of_sides().tolist(), round(lp.price_of([-2.0, 1.0]), 9)
    ([[0.1, 0.9], [0.0, 5.0]], 5.2)
    >>> lp.row_name(0), lp.variable_name(1), lp.in_blocks, lp.objective([3, 4])
    ("row 'iron'", 'variable 1', False, 21.0)
    >>> lp.changed(b=[2, 9]).b
    array([2., 9.])
    """

    c: FloatArray  #: (d,).
    A: Any  #: (n, d) array or sparse array.
    b: FloatArray  #: Upper sides of A x, (n,), infinite where absent.
    _: KW_ONLY
    neighbours: Any
    private: BoolArray  #: Which rows are private, (n,).
    groups: Any = None  #: The record that owns each row, (n,), or None.
    bounds: FloatArray  #: (d, 2).
    #: Price of violation, (n,), ``inf`` for hard rows; (n, 2): the prices below `row_lower` and
    #: above `b`; None if all rows are hard.
    penalty: Any
    row_lower: FloatArray  #: Lower sides of A x, (n,), infinite where absent.
    sense: Any
    offset: float
    variable_names: Any
    row_names: Any = None
    name: str = ""
    kept: tuple[str, ...] = ()  #: Names of the columns that `with_recourse` left out.

    def changed(self, **values: Any) -> Self:
        """The program with other values in some fields."""
        return replace(self, **values)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and of variables."""
        return self.A.shape

    @property
    def is_sparse(self) -> bool:
        """Whether A is a sparse array, or is read in blocks that are."""
        return self.A.is_sparse if isinstance(self.A, RowSource) else sp.issparse(self.A)

    @property
    def in_blocks(self) -> bool:
        """Whether rows are read block by block."""
        return isinstance(self.A, RowSource)

    @property
    def sign(self) -> float:
        """+1 for minimisation, -1 for maximisation."""
        return 1.0 if self.sense == "min" else -1.0

    def objective(self, x: npt.ArrayLike) -> float:
        """c·x plus the offset, in the user's sense; labels are matched to names of variables."""
        entries = as_floats(by_name(x, self.variable_names, "x"), "x")
        wrong = f"x must have {self.c.size} entries, one for each variable."
        require_data(entries.shape == self.c.shape, wrong, "x")
        return float(self.c @ entries + self.offset)

    def price_of(self, violations: FloatArray) -> float:
        """Price, in the user's sense, of these violations of soft rows, (n,); 0 if no row is soft.

        Where both sides of a row have prices, a violation of the lower side is a negative number.
        """
        if self.penalty is None:
            return 0.0
        violations = as_floats(violations, "violations")
        if self.penalty.ndim == 1:
            soft = np.isfinite(self.penalty)
            return self.sign * float(self.penalty[soft] @ np.abs(violations[soft]))
        soft = np.isfinite(self.penalty[:, 0])
        found = violations[soft, None] * np.array([-1.0, 1.0])
        return self.sign * float((self.penalty[soft] * np.maximum(found, 0.0)).sum())

    def prices_of_sides(self) -> FloatArray:
        """Price per unit below and above each row, (n, 2): 0 if absent, ``inf`` if hard."""
        prices = np.asarray(self.penalty, dtype=float)
        if self.in_blocks:  # rows A x <= b; their sides need not be read
            return np.column_stack([np.zeros(len(prices)), prices])
        prices = np.broadcast_to(prices if prices.ndim == 2 else prices[:, None], (len(prices), 2))
        return np.where(np.isfinite(np.column_stack([self.row_lower, self.b])), prices, 0.0)

    def row_name(self, i: int) -> str:
        """Name of row i for messages; "a row" where names are private."""
        if self.neighbours.hides_rows:
            return "a row"
        return f"row {i}" if self.row_names is None else f"row {self.row_names[i]!r}"

    def variable_name(self, j: int) -> str:
        """Name of variable j for messages."""
        names = self.variable_names
        return f"variable {j}" if names is None else f"variable {names[j]!r}"

    def sides(self) -> IntArray:
        """Number of ``<=`` rows of each row: 2 for an equality or range, 1, or 0 for a free row."""
        if self.in_blocks:
            return np.broadcast_to(np.int64(1), len(self.private))
        return np.isfinite(self.row_lower).astype(np.int64) + np.isfinite(self.b)

    def private_sides(self) -> int:
        """Number of private ``<=`` rows."""
        return self.shape[0] if self.in_blocks else int(self.sides()[self.private].sum())

    def rows_of_largest_record(self, rows_per_record: int = 1) -> int:
        """Largest number of private ``<=`` rows owned by one record, from `groups` where given.

        Without groups a record is taken to own any `rows_per_record` private rows.
        """
        if self.in_blocks:
            return rows_per_record if self.shape[0] else 0
        sides = self.sides()[self.private]
        if not sides.size:
            return 0
        if self.groups is None:
            return rows_per_record * int(sides.max())
        _, record = np.unique(self.groups[self.private], return_inverse=True)
        return int(np.bincount(record, weights=sides).max())

    def vectors_of_largest_record(self, rows_per_record: int = 1) -> int:
        """As :meth:`rows_of_largest_record`, but an equality or range counts once."""
        if self.in_blocks or self.groups is None:
            return rows_per_record
        owners = self.groups[self.private & (self.sides() > 0)]
        return int(np.unique(owners, return_counts=True)[1].max(initial=0))


@dataclass(frozen=True)
class SoftPrices:
    """Prices of the private rows of a program with soft ones; hard rows have the largest."""

    largest: float  #: The largest price; ``inf`` if every row is hard.
    #: Largest sum of the prices of one record's rows, of a row with two sides the larger one.
    of_record: float
    of_sides: float  #: Largest sum of the prices of all sides of one record's rows.
    rows: int  #: Largest number of these rows.
    #: Largest price on the cheaper side of a row with two sides; 0 if no row has two.
    opposite: float
    hard: int  #: Number of ``<=`` rows that are hard.
    hard_rows: int  #: The same, the two sides of a row counted once.
    #: What the cheaper sides of soft rows with two sides cost beside the dearer ones; of a row
    #: with one side, whose price says nothing of where its optimum lies, its price for both.
    weaker: float = 1.0

    @classmethod
    def of(cls, lp: ProgramData, rows_per_record: int) -> SoftPrices:
        """The prices of a program; without groups a record owns any `rows_per_record` rows."""
        own = lp.private & (lp.sides() > 0)
        prices = lp.prices_of_sides()[own]
        hard, soft = np.isinf(prices), prices[(prices > 0) & np.isfinite(prices)]
        low, high = np.sort(prices[np.isfinite(prices).all(axis=1)], axis=1).T
        dearer = float(high.sum())
        weaker = float(np.where(low > 0, low, high).sum()) / dearer if dearer > 0 else 1.0
        if soft.size:
            prices[hard] = soft.max()
        price, both = prices.max(axis=1), prices.sum(axis=1)
        largest = float(price.max(initial=0.0))
        opposite = float(prices.min(axis=1).max(initial=0.0))
        if lp.groups is None:
            rows = min(rows_per_record, len(price))
            sums = [np.sort(each)[-rows_per_record:] for each in (price, both)]
        else:
            _, record = np.unique(lp.groups[own], return_inverse=True)
            rows = int(np.bincount(record).max(initial=0))
            sums = [np.bincount(record, weights=each) for each in (price, both)]
            sums = [each[[each.argmax()]] if each.size else each for each in sums]
        of_record, of_sides = (float(each.sum()) for each in sums)
        hard_rows = int(hard.any(axis=1).sum())
        return cls(largest, of_record, of_sides, rows, opposite, int(hard.sum()), hard_rows, weaker)


@dataclass(frozen=True, eq=False)
class KnownProgram(ProgramData):
    """A program with fixed numbers, in no declared range, or no rows, in place of private ones."""

    @classmethod
    def of(cls, program: ProgramData, **changed: Any) -> KnownProgram:
        """The data of a program, some of them changed; names and owners of rows are left out."""
        names = [field.name for field in fields(cls) if field.default is MISSING]
        return cls(**{name: getattr(program, name) for name in names} | changed)


def is_mapped(array: Any) -> bool:
    """Whether an array lies in a file that is mapped to memory."""
    while isinstance(array, np.ndarray):
        array = array.base
    return isinstance(array, mmap)


def few_rows(lp: ProgramData) -> KnownProgram:
    """As many rows as one record may own, of zeros: all that is public of rows is seen in them."""
    count = min(lp.shape[0], lp.neighbours.rows_per_record)
    empty = np.zeros((count, lp.shape[1]))
    return of_a_block(lp, sp.csr_array(empty) if lp.is_sparse else empty, np.zeros(count))


def prices_of_block(lp: ProgramData, first: int, count: int) -> FloatArray | None:
    """Prices of these rows."""
    return None if lp.penalty is None else np.array(lp.penalty[first : first + count])


def of_a_block(
    lp: ProgramData, A: Any, b: FloatArray, prices: FloatArray | None = None
) -> KnownProgram:
    """The program of the rows of one block, at prices of these rows or at that of the first row."""
    count = len(b)
    if prices is None and lp.penalty is not None:
        prices = np.full(count, next(iter(lp.penalty), np.inf))
    return KnownProgram.of(
        lp,
        A=A,
        b=b,
        row_lower=np.broadcast_to(-np.inf, count),
        private=np.broadcast_to(True, count),
        penalty=prices,
    )
