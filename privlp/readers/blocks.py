"""Rows in blocks: Parquet files, sequences of arrays or memory maps, and Dask collections."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from privlp.checks import as_floats, frozen, optional, positive, require, require_data, shown
from privlp.errors import InvalidParameterError, InvalidProblemError
from privlp.files import path_of
from privlp.problem.data import is_mapped
from privlp.problem.validation import Found, RowSource, Sides, inspected, other_blocks
from privlp.quiet import unquoted
from privlp.tables import is_dask, is_table

_ENTRIES = 2**22  # Entries of a block, about: 32 megabytes in double precision.
_BUFFER = 2**16  # Bytes of a column that are read from a file at a time.


class _Place(NamedTuple):
    """Some rows of a row group of a file."""

    file: Path
    group: int
    number: int
    rows: int


class ParquetRows(RowSource):
    """Rows A x <= b in the columns of Parquet files."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        rhs: str | None,
        columns: Any,
        *,
        sparse: bool,
        quote: bool,
    ) -> None:
        self._parquet, self._types = pyarrow_modules()
        self._sparse, self._quote, self._rhs = sparse, quote, rhs
        files = _files(Path(path_of(path)))
        self.columns = self._names(files[0], columns)
        self._read = [*self.columns, *([] if rhs is None else [rhs])]
        self._step = max(1, _ENTRIES // max(1, len(self.columns)))
        self._single, self._places = True, list[_Place]()
        for file in files:
            self._add(file)
        if not self._places:  # files without a row are a block without a row
            self._places.append(_Place(files[0], 0, 0, 0))

    def limit_memory(self, limit: float | None, folder: str | os.PathLike[str] | None) -> None:
        """Bytes that may be held of rows, and a folder for those beyond; ``None`` as by default."""
        if limit is not None:
            self.memory_limit = positive(limit, "memory_limit")
        if folder is not None:
            self.spill_folder = _writable(folder)

    def _names(self, file: Path, columns: Sequence[str] | None) -> tuple[str, ...]:
        """Names of the columns of A."""
        if columns is None:
            schema = self._parquet.read_schema(file)
            return tuple(name for name in schema.names if name != self._rhs)
        if isinstance(columns, str) or not all(isinstance(name, str) for name in columns):
            raise InvalidParameterError(
                "columns must be a sequence of names of columns.", parameter="columns"
            )
        wrong = "columns must name each column once, and not that of the right-hand sides."
        require(len({*columns, self._rhs}) == len(columns) + 1, wrong, "columns")
        return tuple(columns)

    def _add(self, file: Path) -> None:
        """Check the columns of a file, and note the places of its rows."""
        try:
            data = self._opened(file)
        except Exception as error:  # whatever PyArrow says of a file that is none
            kind = type(error).__name__
            raise InvalidProblemError(
                f"{self._of(file)} is no Parquet file that PyArrow can read ({kind})."
            ) from None
        with data:
            schema, groups = data.schema_arrow, data.metadata
            for name in self._read:
                self._check_column(file, schema, name)
            for group in range(groups.num_row_groups):
                rows = groups.row_group(group).num_rows
                self._places += (
                    _Place(file, group, number, min(self._step, rows - start))
                    for number, start in enumerate(range(0, rows, self._step))
                )

    def _opened(self, file: Path) -> Any:
        """A file for reading."""
        return self._parquet.ParquetFile(file, buffer_size=_BUFFER, pre_buffer=False)

    def _check_column(self, file: Path, schema: Any, name: str) -> None:
        if name not in schema.names:
            near = ", ".join(map(repr, schema.names[:8]))
            raise InvalidProblemError(
                f"{self._of(file)} has no column {name!r}. Its first columns are: {near}."
            )
        kind, types = schema.field(name).type, self._types.types
        numbers = (types.is_floating, types.is_integer, types.is_boolean, types.is_decimal)
        if not any(is_kind(kind) for is_kind in numbers):
            raise InvalidProblemError(
                f"Column {name!r} of {self._of(file)} holds {kind}, not numbers. Convert it, or"
                " leave it out by columns=."
            )
        self._single &= name == self._rhs or types.is_float32(kind)

    def _of(self, file: Path) -> str:
        """What messages call a file."""
        return f"file {file.name!r}" if self._quote else "a file"

    def __len__(self) -> int:
        return len(self._places)

    def _name_of(self, number: int) -> str:
        place = self._places[number]
        return f"Row group {place.group} of {self._of(place.file)}"

    def _inspected(self) -> list[Found]:
        found = []
        for (A, b), place in zip(self._raw(range(len(self))), self._places, strict=True):
            each = inspected(A, b)
            if each.fault:
                dense = A.toarray() if sp.issparse(A) else A
                columns = [*zip(self.columns, dense.T, strict=True), (self._rhs, b)]
                wrong = [name for name, values in columns if not np.isfinite(values).all()]
                which = f"column {wrong[0]!r} of {self._of(place.file)}: " if wrong else ""
                each = each._replace(fault=which + each.fault)
            found.append(each)
        return found

    def _raw(self, wanted: Sequence[int]) -> Iterator[tuple[Any, Any]]:
        places = [self._places[number] for number in wanted]
        for (file, group), own in groupby(places, key=lambda place: place[:2]):
            numbers = {place.number for place in own if place.rows}
            if not numbers:
                A = np.empty((0, len(self.columns)), self._kind())
                yield (sp.csr_array(A) if self._sparse else frozen(A)), np.empty(0)
                continue
            with self._opened(file) as data:
                batches = data.iter_batches(self._step, row_groups=[group], columns=self._read)
                for number, batch in enumerate(batches):
                    if number in numbers:
                        yield self._block(batch, file)
                    if number == max(numbers):
                        break

    def _kind(self) -> Any:
        return np.float32 if self._single else np.float64

    def _block(self, batch: Any, file: Path) -> tuple[Any, Any]:
        """Rows and right-hand sides of a batch."""
        b = np.zeros(batch.num_rows)
        if self._rhs is not None:
            b = self._numbers(batch, self._rhs, np.float64, file)
        columns = (self._numbers(batch, name, self._kind(), file) for name in self.columns)
        shape = (batch.num_rows, len(self.columns))
        if self._sparse:
            return _sparse(columns, shape), b
        A = np.empty(shape, self._kind(), order="F")
        for j, values in enumerate(columns):
            A[:, j] = values
        return frozen(A), b

    def _numbers(self, batch: Any, name: str, dtype: Any, file: Path) -> npt.NDArray[Any]:
        """A column as an array."""
        column = batch.column(name)
        if column.null_count:
            raise InvalidProblemError(
                f"Column {name!r} of {self._of(file)} holds nulls. Fill them in, or leave their"
                " rows out."
            )
        wanted = self._types.from_numpy_dtype(dtype)
        return column.cast(wanted, safe=False).to_numpy(zero_copy_only=False)


def _sparse(columns: Iterator[npt.NDArray[Any]], shape: tuple[int, int]) -> sp.csr_array:
    """Columns as rows of a sparse matrix."""
    rows, entries = [], []
    for values in columns:
        stored = np.flatnonzero(values)
        rows.append(stored.astype(np.int32))
        entries.append(values[stored])
    ends = np.cumsum([0, *map(len, rows)], dtype=np.int32)
    parts = np.concatenate(entries), np.concatenate(rows), ends
    found = sp.csr_array(sp.csc_array(parts, shape=shape))
    for part in (found.data, found.indices, found.indptr):
        frozen(part)
    return found


def _files(path: Path) -> list[Path]:
    """The files of a folder, or one file."""
    require(path.exists(), f"There is no file or folder {str(path)!r}.", "path")
    found = sorted(path.rglob("*.parquet")) if path.is_dir() else [path]
    files = [file for file in found if file.is_file()]
    require(files, f"{str(path)!r} has no *.parquet file.", "path")
    unquoted(
        "".join(map(str, files)).encode,
        "PyArrow opens only files whose names are UTF-8 text. Rename the file.",
        "path",
    )
    return files


def _writable(folder: str | os.PathLike[str]) -> str:
    """A folder that takes a temporary file."""
    found = path_of(folder, "spill_folder")
    try:
        with tempfile.TemporaryFile(dir=found):
            return found
    except OSError as error:
        raise InvalidParameterError(
            f"spill_folder must be a folder to which files can be written: {error.strerror}.",
            parameter="spill_folder",
        ) from None


def pyarrow_modules() -> tuple[Any, Any]:
    """``pyarrow.parquet`` and ``pyarrow``."""
    need = "PyArrow is needed to read Parquet files and lazy tables: pip install 'privlp[parquet]'."
    return optional("pyarrow.parquet", need), optional("pyarrow", need)


_SIDES = (
    "b does not have one right-hand side per row of A. Give one array for all rows, or a sequence"
    " with one array for each block."
)


class BlockSequence(RowSource):
    """Blocks A[i] with right-hand sides b[i]."""

    def __init__(self, A: Sequence[Any], b: Any, *, quote: bool) -> None:
        self._A, self._b = A, in_blocks(b, A, partial(as_floats, name="b"), _SIDES, "b")
        if len(self._b) != len(A):
            raise other_blocks(len(self._b), len(A), quote=quote)
        if isinstance(A, list | tuple) and not any(map(is_mapped, A)):
            self.memory_limit = np.inf  # rows are in memory anyway

    def __len__(self) -> int:
        return len(self._A)

    def _raw(self, wanted: Sequence[int]) -> Iterator[tuple[Any, Any]]:
        for number in wanted:
            yield self._A[number], self._b[number]


def is_sequence_of_blocks(A: Any) -> bool:
    """Whether A is a sequence of matrices, and not the rows of one matrix."""
    if isinstance(A, list | tuple):
        return bool(A) and all(map(_is_matrix, A))
    if not isinstance(A, Sequence) or isinstance(A, str | bytes | bytearray | memoryview):
        return False
    return len(A) > 0 and _is_matrix(A[0])


def _is_matrix(block: Any) -> bool:
    if sp.issparse(block) or isinstance(block, np.ndarray):
        return block.ndim == 2
    return is_table(block)


def in_blocks(
    values: Any, blocks: Sequence[Any], read: Callable[[Any], Any], message: str, parameter: str
) -> Any:
    """Numbers or labels of each block, cut if given for all rows; else refused by the message."""
    several = isinstance(values, Sequence) and not isinstance(values, str) and len(values) > 0
    if several and unquoted(lambda: np.ndim(values[0]), message, parameter) > 0:
        return values
    found = read(values)
    ends = np.cumsum([0] + [block.shape[0] for block in blocks])
    require_data(found.shape == (ends[-1],), message, parameter)
    return [found[low:high] for low, high in pairwise(ends.tolist())]


class DaskRows(RowSource):
    """Rows A x <= b in the chunks of an array, or in the partitions of a data frame."""

    def __init__(self, A: Any, b: Any, *, quote: bool) -> None:
        if isinstance(b, str):
            wrong = f"b={shown(b)} names no column of A."
            require_data(b in getattr(A, "columns", ()), wrong, "b")
            A, b = A.drop(columns=[b]), A[b]
        self.names = getattr(A, "columns", None)
        if is_dask(b):
            _check_chunks(A, b)
        else:
            b = _like(A, b)
        rows, sides = ([*np.ravel(each.to_delayed())] for each in (A, b))
        if len(rows) != len(sides):
            advice = " Take both from the same collection."
            raise other_blocks(len(sides), len(rows), advice, quote=quote)
        self.blocks = list(zip(rows, sides, strict=True))

    def __len__(self) -> int:
        return len(self.blocks)

    def _name_of(self, number: int) -> str:
        return f"Block {number} of A"

    def _inspected(self) -> list[Found]:
        """Blocks are inspected where they are."""
        import dask  # noqa: PLC0415 (an extra; A is made by it)

        task = dask.delayed(inspected, pure=False)
        return list(dask.compute(*(task(A, b) for A, b in self.blocks)))

    def _raw(self, wanted: Sequence[int]) -> Iterator[tuple[Any, Any]]:
        import dask  # noqa: PLC0415 (an extra; A is made by it)

        for number in wanted:
            yield dask.compute(*self.blocks[number])


def _check_chunks(A: Any, b: Any) -> None:
    """Refuse chunks that hold parts of rows, or that differ."""
    chunks = getattr(A, "chunks", None)
    if chunks is None:
        return
    wrong = f"A must be a matrix of shape (n, d), got {A.ndim} dimension(s)."
    require_data(A.ndim == 2, wrong, "A")
    if len(chunks[1]) > 1:
        raise InvalidProblemError(
            "The columns of A are in several chunks, but each block must hold whole rows. Give"
            " A.rechunk({1: -1}).",
            parameter="A",
        )
    sides = getattr(b, "chunks", None)
    if sides is not None and not np.array_equal(chunks[0], sides[0], equal_nan=True):
        raise InvalidProblemError(
            "The rows of A and b are not in the same chunks. Give b.rechunk((A.chunks[0],)).",
            parameter="b",
        )


def _like(A: Any, b: Any) -> Any:
    """Right-hand sides in memory, in the chunks of A."""
    import dask.array  # noqa: PLC0415 (an extra; A is made by it)

    sides, chunks = as_floats(b, "b"), getattr(A, "chunks", ((np.nan,),))
    _check_chunks(A, sides)
    wrong = "b does not have one right-hand side per row of A. Take both from one Dask collection."
    require_data(sides.shape == (np.sum(chunks[0]),), wrong, "b")
    return dask.array.from_array(sides, chunks=(chunks[0],))


def blocks_of(A: Any, b: Any, *, quote: bool) -> RowSource | None:
    """Rows in blocks, checked; or ``None``, if A is a matrix."""
    if isinstance(A, RowSource):
        wrong = "Rows in blocks come with their own right-hand sides. Make a new program of both."
        require_data(isinstance(b, Sides) and b.source is A, wrong, "b")
        return A
    if not is_dask(A) and not is_sequence_of_blocks(A):
        return None
    source = (DaskRows if is_dask(A) else BlockSequence)(A, b, quote=quote)
    source.check(quote=quote)
    return source
