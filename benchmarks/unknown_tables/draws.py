"""Draws of one kind put together: means with their errors, successes, what plans said."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from benchmarks.unknown_tables.cells import Result

#: A draw succeeds up to this cost over the optimum, and up to s rows missed.
LARGEST_COST = 1.05


def succeeded(result: Result, *, maximised: bool) -> bool:
    """Whether a draw costs at most 1.05 OPT, or earns OPT / 1.05, and misses at most s rows."""
    if "refused" in result or result["missed"] > result["s"]:
        return False
    found = result["ratio"]
    return found * LARGEST_COST >= 1 if maximised else found <= LARGEST_COST


def values(results: Sequence[Result], name: str) -> npt.NDArray[np.float64]:
    """One number of every draw; NaN where the solve was refused."""
    return np.array([result.get(name, math.nan) for result in results], dtype=float)


def mean_and_error(numbers: npt.ArrayLike, digits: int = 3) -> str:
    """Mean ± standard error over the draws that were not refused."""
    found = np.asarray(numbers, dtype=float)
    found = found[~np.isnan(found)]
    if not len(found):
        return "refused"
    error = standard_error(found)
    return f"{found.mean():.{digits}f}" + (f" ± {error:.{digits}f}" if len(found) > 1 else "")


def standard_error(numbers: npt.ArrayLike) -> float:
    """Standard error of the mean over the draws that were not refused; NaN for one draw."""
    found = np.asarray(numbers, dtype=float)
    found = found[~np.isnan(found)]
    return float(found.std(ddof=1) / np.sqrt(len(found))) if len(found) > 1 else math.nan


def span(numbers: npt.ArrayLike, digits: int = 2) -> str:
    """Least and largest number."""
    found = np.asarray(numbers, dtype=float)
    found = found[~np.isnan(found)]
    ends = [f"{end:,.{digits}f}" for end in (found.min(), found.max())] if len(found) else ["–"]
    return "–".join(dict.fromkeys(ends))


def mean_and_most(numbers: npt.ArrayLike) -> str:
    """Mean and largest of whole numbers."""
    found = np.asarray(numbers, dtype=float)
    found = found[~np.isnan(found)]
    return f"{found.mean():,.0f}; {found.max():,.0f}" if len(found) else "–"


def share(successes: Iterable[bool]) -> str:
    """How many of how many, in percent."""
    found = list(successes)
    return f"{sum(found) / len(found):.0%} ({sum(found)} of {len(found)})" if found else "none"


def counted(words: Iterable[str]) -> str:
    """Each word once, with its number where they differ."""
    found = Counter(words)
    if len(found) == 1:
        return next(iter(found))
    return ", ".join(f"{word} {number}" for word, number in sorted(found.items()))


def beyond_error(differences: npt.ArrayLike) -> bool:
    """Whether the mean of paired differences is above 0 by more than two standard errors."""
    found = np.asarray(differences, dtype=float)
    found = found[~np.isnan(found)]
    return len(found) > 1 and bool(found.mean() > 2 * standard_error(found))


def seconds(results: Iterable[Result], name: str = "seconds") -> str:
    """Median of seconds."""
    found = [result[name] for result in results if result.get(name) is not None]
    return f"{np.median(found):.2g}" if found else "–"
