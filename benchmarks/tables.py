"""Tables of pages: means with their errors, and one column a function of a group of results."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
from tabulate import tabulate

Item = TypeVar("Item")
#: The cells of a row, or one text in which bars stand between them.
Row = str | Sequence[Any]
Table = tuple[Row, Sequence[Row]]
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


def rendered(table: Table) -> str:
    """A table in Markdown."""
    names, *rows = (of.split(" | ") if isinstance(of, str) else of for of in (table[0], *table[1]))
    return tabulate(rows, names, "github", disable_numparse=True)


def in_words(verdict: Any) -> str:
    """A plan's verdict, or its name, in lower case: rough, too few."""
    name = getattr(verdict, "name", verdict) or ""
    return name.replace("_ROWS", "").replace("_", " ").lower()
