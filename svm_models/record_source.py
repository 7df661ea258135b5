"""Private records as they were given: an array, a sequence of blocks, or a Dask collection.

They are checked once and neither copied nor converted as a whole: :mod:`svm_models.records_on_grid`
reads a few at a time.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from privlp import InvalidProblemError
from privlp.problem.block_sequences import is_sequence_of_blocks
from privlp.problem.validation import is_mapped
from privlp.rows.door import Rows
from privlp.rows.in_blocks import InBlocks, places_of_blocks
from privlp.rows.in_memory import InMemory
from privlp.rows.memory import limit_for
from privlp.unquoted import unquoted
from svm_models.records import within_norm
from svm_models.records_on_grid import SignedRecords, few_at_a_time
from svm_models.threshold import decisions_of
from svm_models.validation import as_labels, as_stored, validated

FloatArray = npt.NDArray[np.float64]

#: Types of numbers that are left as they are.
AS_GIVEN = [np.float64, np.float32, *(np.dtype(f"{k}{b}").type for k in "iu" for b in (1, 2, 4, 8))]
_LABELS = (
    "y does not have one label per row of X. Give one array for all rows, or a sequence with one"
    " array for each block."
)


class RecordSource(ABC):
    """Records in blocks.

    Attributes
    ----------
    shape : (int, int)
    """

    shape: tuple[int, int]

    @abstractmethod
    def rows(self, signs: FloatArray) -> Rows[SignedRecords]:
        """The records with their signs, behind the door."""

    @classmethod
    def of(cls, X: Any) -> RecordSource:
        """Records that scikit-learn accepted, in memory or mapped to a file."""
        if isinstance(X, np.ndarray) and is_mapped(X):
            blocks = [X[rows] for rows in places_of_blocks(*X.shape)]
            return BlocksOfRecords(
                blocks, limit_for(X.nbytes), [len(block) for block in blocks], X.shape[1]
            )
        return WholeRecords(X)


class WholeRecords(RecordSource):
    """All records at once."""

    def __init__(self, X: Any) -> None:
        self._X, self.shape = X, X.shape

    def rows(self, signs: FloatArray) -> Rows[SignedRecords]:
        """One block."""
        return InMemory(SignedRecords(self._X, signs))


class BlocksOfRecords(RecordSource):
    """Records in a sequence of blocks, which are read again and again.

    Parameters
    ----------
    blocks : sequence of arrays, sparse arrays or DataFrames
        One of them is in memory at a time, if the sequence makes them when they are asked for.
    limit : float
        How many bytes may be held in memory besides.
    lengths : list of int
        Numbers of records that were found when the blocks were checked.
    p : int
        Number of features.
    """

    def __init__(self, blocks: Sequence[Any], limit: float, lengths: list[int], p: int) -> None:
        self._blocks, self._limit, self.lengths = blocks, limit, lengths
        self.shape = sum(self.lengths), p
        self._cuts = list(pairwise(accumulate(self.lengths, initial=0)))

    def rows(self, signs: FloatArray) -> Rows[SignedRecords]:
        """One block after the other."""
        return InBlocks(_Reader(self, signs), self._limit)

    def block(self, number: int, signs: FloatArray) -> SignedRecords:
        """A block that is read again, and the signs of its records."""
        low, high = self._cuts[number]
        X = as_read(self._blocks[number], (self.lengths[number], self.shape[1]))
        return SignedRecords(X, signs[low:high])


def as_read(X: Any, shape: tuple[int, int]) -> Any:
    """A block that was checked and is read again.

    Raises
    ------
    InvalidProblemError
        If it is no longer what was checked.
    """
    changed = "A block of records changed since it was checked."
    found = unquoted(lambda: as_stored(X) if sp.issparse(X) else np.asarray(X), changed, "X")
    if found.shape != shape or found.dtype.kind not in "fiub":
        raise InvalidProblemError(changed, parameter="X")
    return found


class _Reader:
    """Blocks for :class:`~privlp.rows.in_blocks.InBlocks`."""

    def __init__(self, source: BlocksOfRecords, signs: FloatArray) -> None:
        self._source, self._signs = source, signs

    def __len__(self) -> int:
        return len(self._source.lengths)

    def read(self, wanted: Sequence[int]) -> Iterator[SignedRecords]:
        """These blocks, one at a time."""
        for number in wanted:
            yield self._source.block(number, self._signs)


def read(estimator: Any, X: Any, y: Any, *, count_is_private: bool) -> tuple[RecordSource, Any]:
    """Check records and labels, in one array or in blocks.

    Raises
    ------
    InvalidProblemError, ValueError
        If something is malformed; the message holds no record.
    """
    options: dict[str, Any] = {"dtype": AS_GIVEN, "count_is_private": count_is_private}
    if not is_sequence_of_blocks(X):
        X, y = validated(estimator, X, y, **options)
        return RecordSource.of(X), y
    labels = _in_blocks(y, X)
    found, lengths, size = [], [], 0.0
    for number, (block, given) in enumerate(zip(X, labels, strict=True)):
        checked, its_labels = validated(
            estimator, block, given, reset=number == 0, ensure_min_samples=0, **options
        )
        lengths.append(checked.shape[0])
        found.append(its_labels)
        size += checked.data.nbytes if sp.issparse(checked) else checked.nbytes
    in_memory = isinstance(X, list | tuple) and not any(map(is_mapped, X))
    limit = np.inf if in_memory else limit_for(size)
    return BlocksOfRecords(X, limit, lengths, checked.shape[1]), np.concatenate(found)


def _in_blocks(y: Any, X: Sequence[Any]) -> Any:
    """The labels of each block."""
    if isinstance(y, Sequence) and not isinstance(y, str) and len(y) and _is_block(y[0]):
        if len(y) == len(X):
            return y
        raise InvalidProblemError(
            f"y has {len(y)} blocks, but X has {len(X)}: one block of labels for each block of"
            " records.",
            parameter="y",
        )
    labels = as_labels(y)
    cuts = list(accumulate((block.shape[0] for block in X), initial=0))
    if labels.shape != (cuts[-1],):
        raise InvalidProblemError(_LABELS, parameter="y")
    return [labels[low:high] for low, high in pairwise(cuts)]


def _is_block(labels: Any) -> bool:
    return unquoted(lambda: np.ndim(labels) > 0, _LABELS, "y")


def decisions(block: SignedRecords, w: FloatArray, data_norm: float) -> FloatArray:
    """x·w of each record of a block, of norm `data_norm` at most."""
    found = [decisions_of(within_norm(X, data_norm), w) for _, X in few_at_a_time(block.X)]
    return np.concatenate([np.zeros(0), *found])
