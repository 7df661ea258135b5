"""Tables of pages: means with their errors, and one column a function of a group of results."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

Item = TypeVar("Item")
Table = tuple[Sequence[str], Sequence[Sequence[Any]]]
Part = str | Table


def standard_error(values: npt.ArrayLike) -> float:
    """Standard error of the mean of the numbers that are not NaN; NaN for one number."""
    found = np.asarray(values, dtype=float)
    found = found[~np.isnan(found)]
    return float(found.std(ddof=1) / math.sqrt(len(found))) if len(found) > 1 else math.nan


def said(values: npt.ArrayLike, words: str = "{:.4f} ± {:.4f}") -> str:
    """Mean and standard error."""
    return words.format(float(np.mean(values)), standard_error(values))


def by_group(
    groups: Iterable[tuple[Sequence[str], Sequence[Item]]],
    names: Sequence[str],
    columns: Mapping[str, Callable[[Sequence[Item]], str]],
) -> Table:
    """A row for each group that has items: its names, then a text for each column."""
    rows = [[*of, *(text(own) for text in columns.values())] for of, own in groups if own]
    return [*names, *columns], rows


def over_eps(
    epsilons: Sequence[float],
    lines: Mapping[str, Callable[[float], Any]],
    *,
    first: str = "method",
    name: str = "ε",
) -> Table:
    """A row for each line, a column for each eps."""
    rows = [[line, *(cell(eps) for eps in epsilons)] for line, cell in lines.items()]
    return [first, *(f"{name} = {eps:g}" for eps in epsilons)], rows


def column_names(names: str) -> list[str]:
    """Names of columns, from one text in which bars stand between them."""
    return names.split(" | ")
