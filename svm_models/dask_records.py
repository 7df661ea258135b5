"""Private records in Dask arrays, whose chunks may lie on other machines.

Records stay where they are: sums over them travel, and released values. Labels are gathered: one
number for each record, which goes back to where the record is.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.base import BaseEstimator

from privlp import InvalidProblemError
from privlp.problem.dask_rows import is_dask
from privlp.rows.door import Rows
from privlp.rows.memory import limit_for
from privlp.rows.on_cluster import OnCluster, current_client
from svm_models.record_source import AS_GIVEN, BlocksOfRecords, as_read
from svm_models.records_on_grid import SignedRecords
from svm_models.validation import validated

FloatArray = npt.NDArray[np.float64]


class DaskRecords(BlocksOfRecords):
    """Records in the chunks of an array.

    Without a cluster in use they are computed one chunk after the other.

    Parameters
    ----------
    chunks : list of dask.delayed.Delayed
    limit : float
        How many bytes may be held in memory besides.
    lengths : list of int
        Numbers of records that were found when the chunks were checked.
    width : int
        Number of features.
    """

    def __init__(self, chunks: list[Any], limit: float, lengths: list[int], width: int) -> None:
        super().__init__(_Computed(chunks), limit, lengths, width)
        self._chunks = chunks

    def rows(self, signs: FloatArray) -> Rows[SignedRecords]:
        """Blocks on the workers of the cluster that is in use, if one is."""
        client = current_client()
        if client is None:
            return super().rows(signs)
        import dask  # noqa: PLC0415 (an extra; the records are made by it)

        task, short = dask.delayed(_ExpectedRecords, pure=False), signs.astype(np.int8)
        ends = pairwise(accumulate(self.lengths, initial=0))
        blocks = [
            task(chunk, short[low:high], self.shape[1])
            for chunk, (low, high) in zip(self._chunks, ends, strict=True)
        ]
        return OnCluster[_ExpectedRecords](client, client.compute(blocks)).keep(_as_checked)


class _Computed(Sequence[Any]):
    """Chunks, each computed when it is asked for."""

    def __init__(self, chunks: list[Any]) -> None:
        self._chunks = chunks

    def __len__(self) -> int:
        return len(self._chunks)

    def __getitem__(self, number: Any) -> Any:
        return self._chunks[number].compute()


class _ExpectedRecords:
    """A chunk, its signs, and how many features it had."""

    def __init__(self, X: Any, signs: Any, width: int) -> None:
        self.X, self.signs, self.width = X, signs, width


def _as_checked(block: _ExpectedRecords) -> SignedRecords:
    """The records of a chunk; an error if they are no longer what they were."""
    return SignedRecords(as_read(block.X, (len(block.signs), block.width)), block.signs)


def read_dask(estimator: Any, X: Any, y: Any, *, count_is_private: bool) -> tuple[DaskRecords, Any]:
    """Check records where they are, and gather labels.

    Raises
    ------
    InvalidProblemError, ValueError
        If something is malformed; the message holds no record.
    """
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
    for _, _, fault in found:
        if fault:
            raise InvalidProblemError(f"A chunk of X: {fault}", parameter="X")
    lengths = [shape[0] for shape, _, _ in found]
    width = found[0][0][1]
    if any(shape[1] != width for shape, _, _ in found):
        raise InvalidProblemError("Chunks of X have different numbers of features.", parameter="X")
    labels = y.compute() if is_dask(y) else y
    # Of the shape of all records, without their memory.
    shape_alone = np.broadcast_to(np.int8(0), (sum(lengths), width))
    _, labels = validated(
        estimator, shape_alone, labels, dtype=AS_GIVEN, count_is_private=count_is_private
    )
    size = sum(size for _, size, _ in found)
    return DaskRecords(chunks, limit_for(size), lengths, width), labels


def _found(X: Any, count_is_private: bool) -> tuple[tuple[int, int], int, str]:
    """Shape and bytes of a chunk, or what is wrong; runs on a worker."""
    try:
        X = validated(
            BaseEstimator(),
            X,
            dtype=AS_GIVEN,
            count_is_private=count_is_private,
            ensure_min_samples=0,
        )
    except (ValueError, TypeError) as error:
        return (0, 0), 0, str(error)
    return X.shape, (X.data.nbytes if sp.issparse(X) else X.nbytes), ""
