"""Private records as they were given: an array, a sequence of blocks, or a Dask collection.

They are checked once, and neither copied nor converted as a whole. Of Dask's only labels are
gathered.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from functools import partial
from itertools import accumulate, pairwise
from typing import Any, NamedTuple, Protocol, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator

from privlp import InvalidProblemError
from privlp.checks import IntArray
from privlp.problem.data import is_mapped
from privlp.quiet import unquoted
from privlp.readers.blocks import in_blocks, is_sequence_of_blocks
from privlp.rows import blocks as row_blocks
from privlp.rows.access import InMemory, Rows
from privlp.rows.beyond_memory import OnCluster, current_client
from privlp.tables import is_dask
from svm_models.parameters import FloatArray
from svm_models.records.grid import SignedRecords, few_at_a_time
from svm_models.records.scaled import decisions_of
from svm_models.records.validation import as_labels, as_stored, in_lazy_blocks, validated

#: Types of numbers that are left as they are.
AS_GIVEN = [np.float64, np.float32, *(np.dtype(f"{k}{b}").type for k in "iu" for b in (1, 2, 4, 8))]
_LABELS = (
    "y does not have one label per row of X. Give one array for all rows, or a sequence with one"
    " array for each block."
)


class RecordSource(Protocol):
    """Records of a shape, which is known."""

    shape: tuple[int, int]
    #: Of which of two groups each is: 1 or -1; if it was asked for.
    members: FloatArray = np.zeros(0)

    def __getitem__(self, kept: IntArray) -> RecordSource:
        """The records at some places, rising."""

    def rows(self, signs: FloatArray) -> Rows[SignedRecords]:
        """The records with their signs, as private rows."""


class WholeRecords(RecordSource):
    """All records at once."""

    def __init__(self, X: Any) -> None:
        self._X, self.shape = X, X.shape

    def __getitem__(self, kept: IntArray) -> WholeRecords:
        return WholeRecords(self._X[kept])

    def rows(self, signs: FloatArray) -> Rows[SignedRecords]:
        return InMemory(SignedRecords(self._X, signs))


class BlocksOfRecords(RecordSource):
    """Records in blocks of known lengths, read again by ``block(i)``; `limit` bytes may be held."""

    def __init__(
        self, block: Callable[[int], Any], limit: float, lengths: list[int], p: int
    ) -> None:
        self._block, self._limit, self.lengths = block, limit, lengths
        self.shape = sum(lengths), p
        self.cuts = list(pairwise(accumulate(lengths, initial=0)))
        self._kept: IntArray | None = None

    def __getitem__(self, kept: IntArray) -> Self:
        found = copy(self)
        found._kept, found.shape = kept, (len(kept), self.shape[1])
        return found

    def _of_all(self, signs: FloatArray) -> FloatArray:
        """Signs of all records, 0 of those that are left out."""
        if self._kept is None:
            return signs
        found = np.zeros(sum(self.lengths))
        found[self._kept] = signs
        return found

    def rows(self, signs: FloatArray) -> Rows[SignedRecords]:
        """One block after the other."""
        signs = self._of_all(signs)

        def made(number: int) -> SignedRecords:
            low, high = self.cuts[number]
            return _as_checked(_Expected(self._block(number), signs[low:high], self.shape[1]))

        return row_blocks.InBlocks(len(self.lengths), partial(map, made), self._limit)


class DaskRecords(BlocksOfRecords):
    """Records in the chunks of an array; without a cluster in use, one chunk after the other."""

    def __init__(self, chunks: list[Any], limit: float, lengths: list[int], p: int) -> None:
        super().__init__(lambda number: chunks[number].compute(), limit, lengths, p)
        self._chunks = chunks

    def rows(self, signs: FloatArray) -> Rows[SignedRecords]:
        """Blocks on the workers of the cluster that is in use, if one is."""
        client = current_client()
        if client is None:
            return super().rows(signs)
        import dask  # noqa: PLC0415 (an extra; the records are made by it)

        task, short = dask.delayed(_Expected, pure=False), self._of_all(signs).astype(np.int8)
        blocks = [
            task(chunk, short[low:high], self.shape[1])
            for chunk, (low, high) in zip(self._chunks, self.cuts, strict=True)
        ]
        return OnCluster[_Expected](client, client.compute(blocks)).keep(_as_checked)


class _Expected(NamedTuple):
    """Records that are read again, their signs, and how many features they had."""

    X: Any
    signs: Any
    width: int


def _as_checked(block: _Expected) -> SignedRecords:
    """The records of a block, or an error if they are no longer what was checked."""
    changed, X = "A block of records changed since it was checked.", block.X
    found = unquoted(lambda: as_stored(X) if sp.issparse(X) else np.asarray(X), changed, "X")
    if found.shape != (len(block.signs), block.width) or found.dtype.kind not in "fiub":
        raise InvalidProblemError(changed, parameter="X")
    some = block.signs != 0
    return SignedRecords(
        *((found, block.signs) if some.all() else (found[some], block.signs[some]))
    )


def read(estimator: Any, X: Any, y: Any, *, count_is_private: bool) -> tuple[RecordSource, Any]:
    """Check records and labels, in one array or in blocks; errors hold no record."""
    options: dict[str, Any] = {"dtype": AS_GIVEN, "count_is_private": count_is_private}
    X, y = in_lazy_blocks(X, y)
    if not is_sequence_of_blocks(X):
        X, y = validated(estimator, X, y, **options)
        if not (isinstance(X, np.ndarray) and is_mapped(X)):
            return WholeRecords(X), y
        places = row_blocks.places_of_blocks(*X.shape)
        lengths = [rows.stop - rows.start for rows in places]
        return BlocksOfRecords(lambda i: X[places[i]], row_blocks.MEMORY, lengths, X.shape[1]), y
    found, lengths = [], []
    for number, (block, given) in enumerate(zip(X, _labels_of(y, X), strict=True)):
        checked, its_labels = validated(
            estimator, block, given, reset=number == 0, ensure_min_samples=0, **options
        )
        lengths.append(checked.shape[0])
        found.append(its_labels)
    in_memory = isinstance(X, list | tuple) and not any(map(is_mapped, X))
    limit = np.inf if in_memory else row_blocks.MEMORY
    source = BlocksOfRecords(X.__getitem__, limit, lengths, checked.shape[1])
    return source, np.concatenate(found)


def _labels_of(y: Any, X: Sequence[Any]) -> Any:
    """The labels of each block."""
    labels = in_blocks(y, X, as_labels, _LABELS, "y")
    if len(labels) != len(X):
        raise InvalidProblemError(
            f"y has {len(y)} blocks, but X has {len(X)}: one block of labels for each block of"
            " records.",
            parameter="y",
        )
    return labels


def read_dask(estimator: Any, X: Any, y: Any, *, count_is_private: bool) -> tuple[DaskRecords, Any]:
    """Check records where they are, and gather labels; errors hold no record."""
    import dask  # noqa: PLC0415 (an extra; X is made by it)

    if len(getattr(X, "chunks", ((), ()))) != 2 or len(getattr(X, "chunks", ((), ((),)))[1]) > 1:
        raise InvalidProblemError(
            "The features of X are in several chunks, but each must hold whole records. Give"
            " X.rechunk({1: -1}).",
            parameter="X",
        )
    chunks = [*np.ravel(X.to_delayed())]
    task = dask.delayed(_found, pure=False)
    found = dask.compute(*(task(chunk, count_is_private) for chunk in chunks))
    for _, fault in found:
        if fault:
            raise InvalidProblemError(f"A chunk of X: {fault}", parameter="X")
    lengths = [shape[0] for shape, _ in found]
    width = found[0][0][1]
    if any(shape[1] != width for shape, _ in found):
        raise InvalidProblemError("Chunks of X have different numbers of features.", parameter="X")
    labels = y.compute() if is_dask(y) else y
    # Of the shape of all records, without their memory.
    shape_alone = np.broadcast_to(np.int8(0), (sum(lengths), width))
    _, labels = validated(
        estimator, shape_alone, labels, dtype=AS_GIVEN, count_is_private=count_is_private
    )
    return DaskRecords(chunks, row_blocks.MEMORY, lengths, width), labels


def _found(X: Any, count_is_private: bool) -> tuple[tuple[int, int], str]:
    """Shape of a chunk, or what is wrong; runs on a worker."""
    options: dict[str, Any] = {"dtype": AS_GIVEN, "count_is_private": count_is_private}
    try:
        X = validated(BaseEstimator(), X, ensure_min_samples=0, **options)
    except (ValueError, TypeError) as error:
        return (0, 0), str(error)
    return X.shape, ""


def decisions(block: SignedRecords, w: FloatArray, prepare: Callable[[Any], Any]) -> FloatArray:
    """x·w of each record of a block, made ready."""
    found = [decisions_of(prepare(X), w) for _, X in few_at_a_time(block.X)]
    return np.concatenate([np.zeros(0), *found])
