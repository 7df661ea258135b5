"""Private rows that are equal, to the last bit, are computed once.

Numbers of a row depend on that row alone, so equal rows have equal ones. Sums over rows are exact:
a row that counts so many times adds what as many rows would, to the last bit. Rows of coverings say
who is near what, and many are equal.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from privlp.checks import FloatArray
from privlp.problem.data import KnownProgram, ProgramData
from privlp.problem.standard_form import StandardForm
from privlp.rows.access import Rows
from privlp.rows.parts import most_rows, rows_of, slices
from privlp.rows.program_rows import ProgramRows, RowBlock, chosen_by_coins

Words = npt.NDArray[np.uint64]
Places = npt.NDArray[np.intp]
# Rows are compared if so many of them, spread evenly, have at most this share of different ones.
_TRIED, _DIFFERENT = 2**10, 0.8
_AT_A_TIME = 2**17  # Entries that are looked at together.
_HALF, _MIXER = np.uint64(32), np.uint64(0x9E3779B97F4A7C15)


class DifferentRows(RowBlock):
    """The rows of a block, each once; `place` says for each of the user's rows which it is."""

    def __init__(self, lp: ProgramData, place: Places, *, first: int) -> None:
        form, times = StandardForm.of(lp), np.bincount(place)
        super().__init__(form, first=first, times=times[form.row].astype(np.float64))
        self._place, self._different = place, len(times)

    def share(self, share: float, key: int) -> RowBlock:
        chosen = chosen_by_coins(share, key, self.first, len(self._place))
        times = np.bincount(self._place[chosen], minlength=self._different)[self.form.row]
        return self.some(times > 0, times[times > 0].astype(np.float64))


def different_rows(rows: Rows[RowBlock]) -> Rows[RowBlock]:
    """Rows in memory, each once if many are equal; others are read as they come."""
    return rows.keep(each_once) if isinstance(rows, ProgramRows) else rows


def each_once(block: RowBlock) -> RowBlock:
    """The different rows of a block, if many are equal; else the block itself."""
    lp = block.lp
    if lp.penalty is not None or not lp.private.all() or lp.shape[0] < 2:
        return block
    A = sp.csr_array(lp.A) if lp.is_sparse else lp.A
    tried = np.arange(0, lp.shape[0], max(1, lp.shape[0] // _TRIED))
    if _few(np.unique(_hashes(A[tried], lp.b[tried], lp.row_lower[tried])), tried):
        return block
    _, one, place = np.unique(
        _hashes(A, lp.b, lp.row_lower), return_index=True, return_inverse=True
    )
    if _few(one, place) or not _all_equal(A, lp, one[place]):
        return block
    one, place = _in_turn(one, place.ravel(), most_rows(block.count))
    own = {name: getattr(lp, name)[one] for name in ("b", "row_lower", "private")}
    return DifferentRows(KnownProgram.of(lp, A=A[one], **own), place, first=block.first)


def _few(different: npt.NDArray[Any], rows: npt.NDArray[Any]) -> bool:
    """Whether few rows are equal to another one."""
    return len(different) > _DIFFERENT * len(rows)


def _in_turn(one: Places, place: Places, most: int) -> tuple[Places, Places]:
    """The same rows as often as none stands for more than the most."""
    counts = np.bincount(place)
    if counts.max() <= most:
        return one, place
    starts = np.cumsum(counts) - counts
    before = np.empty_like(place)  # how many rows before are equal
    before[np.argsort(place, kind="stable")] = np.arange(len(place)) - np.repeat(starts, counts)
    _, first, place = np.unique(
        place * (len(place) // most + 1) + before // most, return_index=True, return_inverse=True
    )
    return first, place.ravel()


def _in_parts(A: Any) -> Iterator[slice]:
    """A few rows at a time."""
    entries = A.nnz if sp.issparse(A) else A.size
    yield from slices(A.shape[0], max(1, _AT_A_TIME * A.shape[0] // max(1, entries)))


def _hashes(A: Any, b: FloatArray, lower: FloatArray) -> Words:
    """A number of each row, the same for equal rows, (n,)."""
    keys = _scrambled(_scrambled(np.arange(A.shape[1] + 2, dtype=np.uint64) + _MIXER))
    found: Words = _mixed(b) * keys[-1] + _mixed(lower) * keys[-2]
    for rows in _in_parts(A):
        some = rows_of(A, rows)
        if sp.issparse(A):
            filled = np.flatnonzero(np.diff(some.indptr))
            terms = _mixed(some.data) * keys[some.indices]
            if filled.size:
                found[rows][filled] += np.add.reduceat(terms, some.indptr[filled])
        else:
            found[rows] += _mixed(some) @ keys[:-2]
    return found


def _mixed(numbers: npt.NDArray[Any]) -> Words:
    """Numbers as words whose low bits depend on all of theirs."""
    return _scrambled(np.asarray(numbers, dtype=np.float64, order="C").view(np.uint64))


def _scrambled(words: Words) -> Words:
    """Words, one to one, whose low halves depend on all bits."""
    words = words * _MIXER
    words ^= words >> _HALF
    return words


def _all_equal(A: Any, lp: ProgramData, like: Places) -> bool:
    """Whether each row is stored as the row in its place there."""

    def same(one: Any, other: Any) -> bool:
        if not sp.issparse(one):
            return np.array_equal(_bits(one), _bits(other))
        ends = np.array_equal(one.indptr, other.indptr)
        return ends and np.array_equal(one.indices, other.indices) and same(one.data, other.data)

    sides = all(same(side, side[like]) for side in (lp.b, lp.row_lower))
    return sides and all(same(rows_of(A, rows), A[like[rows]]) for rows in _in_parts(A))


def _bits(numbers: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Numbers as words: 0 and -0 differ."""
    return np.ascontiguousarray(numbers).view(f"u{numbers.itemsize}")
