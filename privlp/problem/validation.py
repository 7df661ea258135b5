"""Checks of the user's numbers: each returns a clean read-only value or raises with what to do.

Under add/remove the number of rows is private. Then errors may not `quote` any number or name that
tells of it. They quote no index, and no shape: an argument given in the wrong place may hold rows.
Rows that need not fit into memory are checked block by block (:class:`RowSource`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate
from mmap import mmap
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from privlp import tables
from privlp.checks import FloatArray, as_floats, frozen, positive, real_dtype, require_data
from privlp.errors import InvalidProblemError
from privlp.quiet import WHY, unquoted

Matrix: TypeAlias = FloatArray | sp.csr_array
_FLOATS = (np.dtype(np.float64), np.dtype(np.float32))

LARGEST_ENTRY = 1e15  #: HiGHS takes no matrix entry of this size or larger.
#: HiGHS takes no finite cost, bound or right-hand side of this size or larger.
LARGEST_VALUE = 1e20


def matrix(A: Any, *, quote: bool = True, columns: int | None = None) -> Matrix:
    """A for reading by rows, dense or CSR; read-only, and a copy unless nobody can write to A."""
    refusal = "A must hold real numbers in a regular array."
    clean = unquoted(lambda: _as_matrix(A, columns), refusal, "A")
    entries = clean.data if sp.issparse(clean) else clean
    _check_shape(clean.shape, columns, quote=quote)
    if entries.size and not max(-entries.min(), entries.max()) < LARGEST_ENTRY:
        beyond = f"entries that are infinite or not below {LARGEST_ENTRY:g} in size"
        kind = "NaN" if np.isnan(entries.min()) else beyond
        where = f"Row {_row_of(clean, ~(np.abs(entries) < LARGEST_ENTRY))} of A" if quote else "A"
        raise InvalidProblemError(
            f"{where} contains {kind}. Every coefficient must be finite; rescale the row or remove"
            " it."
        )
    return clean


def _row_of(A: Any, wrong: Any) -> int:
    """The first row with a wrong entry, as is told for b."""
    if sp.issparse(A):
        return int(np.searchsorted(A.indptr, np.argmax(wrong), side="right")) - 1
    return int(np.argmax(wrong.any(axis=1)))


def _as_matrix(A: Any, columns: int | None) -> Any:
    """A as floats, dense or CSR; read-only."""
    A = tables.matrix(A, "A") if tables.is_table(A) else A
    held = _held(A)
    if held is not None:
        return held
    if sp.issparse(A) and A.ndim == 2:
        clean: Any = _by_rows(A, real_dtype(A.dtype, "A"))
        for part in (clean.data, clean.indices, clean.indptr):
            frozen(part)
        return clean
    clean = frozen(as_floats(A.toarray() if sp.issparse(A) else A, "A"))
    if columns is not None and clean.shape == (0,):
        return frozen(np.zeros((0, columns)))
    return clean


def _held(A: Any) -> Any:
    """A itself, if it needs no conversion and nobody can write to it; or ``None``."""
    if isinstance(A, np.ndarray) and not np.ma.isMaskedArray(A):
        plain = A.ndim == 2 and A.dtype in _FLOATS and _nobody_writes(A)
        return np.asarray(A) if plain else None
    if not (isinstance(A, sp.csr_array) and A.ndim == 2 and A.dtype in _FLOATS):
        return None
    parts = A.data, A.indices, A.indptr
    if any(part.flags.writeable for part in parts):
        return None
    held = sp.csr_array(parts, shape=A.shape)  # which believes no flag of A
    return held if held.has_canonical_format else None


def _nobody_writes(array: Any) -> bool:
    """Whether an array is read-only, and so is all memory that it is known to be a view of."""
    while isinstance(array, np.ndarray):
        if array.flags.writeable:
            return False
        array = array.base
    return array is None or isinstance(array, bytes | mmap)


def _by_rows(A: Any, dtype: Any) -> sp.csr_array:
    """A sparse matrix as CSR; duplicates are added in an order that depends on their row alone."""
    if A.format in ("csr", "csc"):
        rows = A.tocsr()
        parts = rows.data, rows.indices, rows.indptr
    else:
        triples = A.tocoo()
        order = np.argsort(triples.row, kind="stable")
        counts = np.bincount(triples.row, minlength=A.shape[0])
        ends = np.concatenate([[0], np.cumsum(counts)]).astype(triples.row.dtype)
        parts = triples.data[order], triples.col[order], ends
    clean = sp.csr_array(parts, shape=A.shape, dtype=dtype, copy=A.format == "csr")
    if not clean.has_canonical_format:
        clean.has_sorted_indices = False  # else rows are sorted only if one of them is not
        clean.sort_indices()
        clean.sum_duplicates()
    return clean


def _check_shape(shape: tuple[int, ...], columns: int | None, *, quote: bool) -> None:
    if len(shape) != 2:
        quoted = f", shape {shape}" if quote else ""
        raise InvalidProblemError(
            f"A must be a matrix of shape (n, d), got {len(shape)} dimension(s){quoted}.",
            parameter="A",
        )
    if columns is not None and shape[1] == 0:
        raise InvalidProblemError("The problem is empty: A has no column.")
    if columns is None and 0 in shape:
        raise empty(shape)


def empty(shape: tuple[int, ...]) -> InvalidProblemError:
    """The refusal of a program without rows or variables."""
    return InvalidProblemError(
        f"The problem is empty: A has shape {shape}; at least one row and one variable are needed.",
        parameter="A",
    )


def vector(values: Any, size: int, name: str, meaning: str, *, quote: bool = True) -> FloatArray:
    """A finite float vector of the given size."""
    clean = as_floats(values, name)
    if clean.shape != (size,):
        shapes = f"has shape {clean.shape}, but A asks for ({size},)"
        given = shapes if quote else "does not have the shape that A asks for"
        raise InvalidProblemError(f"{name} {given}: {meaning}.", parameter=name)
    usual = np.abs(clean) < LARGEST_VALUE
    if not usual.all():
        where = f"{name}[{int(np.argmin(usual))}]" if quote else f"An entry of {name}"
        raise InvalidProblemError(
            f"{where} is NaN, infinite or beyond {LARGEST_VALUE:g}; every entry must be a finite"
            " number.",
            parameter=name,
        )
    return frozen(clean)


def interval_ends(
    lower: Any,
    upper: Any,
    size: int,
    name: Callable[[int], str],
    arguments: tuple[str, str] = ("bounds", "bounds"),
    *,
    quote: bool = True,
) -> tuple[FloatArray, FloatArray]:
    """Lower and upper ends, infinite where absent; refuses NaN and empty intervals.

    HiGHS takes a huge finite end for absent. For bounds, which are public, this is what it means
    here too. A huge finite side of a row is refused: whether a private row has a side must not
    follow from the size of a private number.
    """
    low = _interval_end(lower, -np.inf, size, name, arguments[0], quote=quote)
    high = _interval_end(upper, np.inf, size, name, arguments[1], quote=quote)
    if (low > high).any():
        where = name(int(np.argmax(low > high)))
        raise InvalidProblemError(
            f"Contradictory bounds: {where} has its lower bound above its upper bound."
        )
    return frozen(low), frozen(high)


def _interval_end(
    values: Any, absent: float, size: int, name: Callable[[int], str], argument: str, *, quote: bool
) -> FloatArray:
    clean = as_floats(values, argument)
    clean = np.full(size, clean[()]) if clean.ndim == 0 else clean
    if clean.shape != (size,):
        shapes = f"has shape {clean.shape}; expected ({size},)"
        shapes = shapes if quote else "does not have one entry per row of A"
        raise InvalidProblemError(f"{argument} {shapes}.", parameter=argument)
    huge = np.isfinite(clean) & (np.abs(clean) >= LARGEST_VALUE)
    wrong = f"{argument} holds finite values beyond {LARGEST_VALUE:g}; use inf for an absent side."
    require_data(argument == "bounds" or not huge.any(), wrong, argument)
    clean[huge] = np.copysign(np.inf, clean[huge])
    wrong = np.isnan(clean) | (clean == -absent)
    if wrong.any():
        raise InvalidProblemError(
            f"The bounds of {name(int(np.argmax(wrong)))} contain NaN or an infinity of the wrong"
            " sign.",
            parameter=argument,
        )
    return clean


def boxed(bounds: FloatArray, box: Any) -> FloatArray:
    """Bounds, shape (d, 2), intersected with [-box, box]; None: no box."""
    if box is None:
        return bounds
    size = positive(box, "box", finite=True)
    return np.column_stack([np.maximum(bounds[:, 0], -size), np.minimum(bounds[:, 1], size)])


def variable_bounds(
    bounds: Any, size: int, names: Sequence[str] | None = None, *, quote: bool = True
) -> tuple[Any, Any]:
    """Lower and upper bounds from SciPy's form: one pair, or one per variable; None: absent."""
    if type(bounds) is np.ndarray and bounds.dtype == float and bounds.shape == (size, 2):
        return bounds[:, 0], bounds[:, 1]

    def read() -> FloatArray:
        if np.ma.is_masked(bounds) or tables.is_table(bounds):
            raise TypeError
        found: Any = tables.by_name(bounds, names, "bounds")
        pairs: Any = (0, None) if found is None else found  # None: the default, as in SciPy
        if hasattr(pairs, "lb") and hasattr(pairs, "ub"):  # of scipy.optimize.Bounds
            pairs = [*zip(*np.broadcast_arrays(pairs.lb, pairs.ub), strict=True)]
        single = found is bounds and len(pairs) == 2 and not any(np.iterable(end) for end in pairs)
        ends = [pairs] if single else pairs
        return np.array([[_end(low, -np.inf), _end(high, np.inf)] for low, high in ends])

    refusal = (
        "bounds must be one (lower, upper) pair or a sequence of such pairs, in the order of the"
        " variables or by their names, None meaning no bound; for example (0, None)."
    )
    table = unquoted(read, refusal, "bounds")
    if len(table) == 1:
        return table[0, 0], table[0, 1]
    if len(table) != size:
        counts = f"bounds has {len(table)} pairs, but there are {size} variables."
        raise InvalidProblemError(counts if quote else "bounds needs one pair per variable.")
    return table[:, 0], table[:, 1]


def _end(value: Any, absent: float) -> float:
    """One bound as a float."""
    if (
        isinstance(value, str | bytes | complex | np.complexfloating | np.timedelta64)
        or np.ma.is_masked(value)
        or np.ndim(value) > 0
    ):
        raise TypeError
    return absent if value is None else float(value)


_UNREADABLE = f"A block of rows could not be read. {WHY} Read the block by itself to see it."


class Found(NamedTuple):
    """What a check finds in a block: public sizes, or what is wrong."""

    rows: int = 0
    columns: int = 0
    is_sparse: bool = False
    fault: str = ""


def cleaned(A: Any, b: Any) -> tuple[Matrix, FloatArray]:
    """A block of rows for reading, and its right-hand sides; refused without data if malformed."""
    rows = matrix(A, quote=False, columns=0)
    return rows, vector(b, rows.shape[0], "b", "one right-hand side per row of A", quote=False)


def inspected(A: Any, b: Any) -> Found:
    """Check a block."""
    try:
        matrix, _ = cleaned(A, b)
    except InvalidProblemError as error:
        return Found(fault=str(error))
    n, d = matrix.shape
    return Found(n, d, sp.issparse(matrix))


def other_blocks(sides: int, rows: int, advice: str = "", *, quote: bool) -> InvalidProblemError:
    """The refusal of sides in other blocks; how many there are tells how many rows, about."""
    counts = f"b has {sides} blocks, but A has {rows}"
    counts = counts if quote else "b and A differ in their blocks"
    return InvalidProblemError(
        f"{counts}: one block of right-hand sides for each block of rows.{advice}", parameter="b"
    )


class RowSource(ABC):
    """Rows A x <= b in blocks."""

    #: Bytes that prepared blocks may take in memory, ``None`` for the default; and a folder for the
    #: temporary file that holds those beyond, ``None`` where the system keeps such files.
    memory_limit: float | None = None
    spill_folder: str | None = None
    names: Any = None  #: Names of the variables, where the rows have some.

    @abstractmethod
    def __len__(self) -> int:
        """Number of blocks."""

    @abstractmethod
    def _raw(self, wanted: Sequence[int]) -> Iterator[tuple[Any, Any]]:
        """A and b of these blocks, in this order, one block at a time."""

    def _name_of(self, number: int) -> str:
        """What messages call a block."""
        return f"A[{number}], a block of rows"

    def _inspected(self) -> list[Found]:
        """What is found in each block."""
        return [inspected(A, b) for A, b in self._raw(range(len(self)))]

    def check(self, *, quote: bool) -> None:
        """Check all blocks, and learn their shapes."""
        found = unquoted(self._inspected, _UNREADABLE, "A")
        for number, each in enumerate(found):
            name, fault = self._name_of(number) if quote else "A block of rows", ""
            if each.fault:
                fault = f"{name}: {each.fault}"
            elif each.columns != found[0].columns:
                fault = (
                    f"{name} has {each.columns} columns, but the first block has"
                    f" {found[0].columns}: one column per variable."
                )
            elif each.is_sparse != found[0].is_sparse:
                fault = "Some blocks of A are sparse and others are dense. Give all of one kind."
            if fault:
                raise InvalidProblemError(fault, parameter="A")
        self.rows_of_blocks = tuple(each.rows for each in found)
        self.first_rows = tuple(accumulate(self.rows_of_blocks[:-1], initial=0))
        self.shape = sum(self.rows_of_blocks), found[0].columns
        self.is_sparse = found[0].is_sparse
        if quote and not self.shape[0]:
            raise empty(self.shape)

    def read(self, wanted: Sequence[int]) -> Iterator[tuple[Matrix, FloatArray]]:
        """Clean blocks, in this order, one at a time."""
        raw = self._raw(wanted)
        for number in wanted:
            A, b = cleaned(*unquoted(lambda: next(raw), _UNREADABLE, "A"))
            if A.shape != (self.rows_of_blocks[number], self.shape[1]):
                raise InvalidProblemError("A block of rows changed its shape since it was checked.")
            yield A, b

    def of_each_block(self, compute: Any) -> list[Any]:
        """A function of A and b, for each block."""
        return [compute(A, b) for A, b in self.read(range(len(self)))]

    def in_memory(self) -> tuple[Matrix, FloatArray]:
        """All rows at once."""
        blocks = list(self.read(range(len(self))))
        stack = sp.vstack if self.is_sparse else np.vstack
        A: Any = stack([A for A, _ in blocks])
        return (sp.csr_array(A) if self.is_sparse else A), np.concatenate([b for _, b in blocks])

    def __matmul__(self, x: npt.ArrayLike) -> FloatArray:
        """A x, (n,), block by block."""
        return np.concatenate(self.of_each_block(lambda A, _: A @ np.asarray(x)))

    def __repr__(self) -> str:
        return f"<rows in blocks, {'sparse' if self.is_sparse else 'dense'}>"


class Sides:
    """The right-hand sides of rows in blocks; an array of them is made when one is asked for."""

    def __init__(self, source: RowSource) -> None:
        self.source = source

    @property
    def shape(self) -> tuple[int]:
        """Number of rows."""
        return (self.source.shape[0],)

    def __len__(self) -> int:
        return self.source.shape[0]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.concatenate(self.source.of_each_block(lambda _, b: b)).astype(dtype or float)

    def __repr__(self) -> str:
        return "<right-hand sides in blocks>"
