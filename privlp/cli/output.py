"""Files and tables that several commands write."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from tabulate import tabulate

from privlp.cli.messages import Failure
from privlp.problem.linear_program import LinearProgram

_MOST_SHOWN = 20


def require_folder(target: str | None) -> None:
    """Refuse an output file without a folder, before anything is computed or spent."""
    if target not in (None, "-") and not Path(str(target)).resolve().parent.is_dir():
        raise Failure(f"No such file or directory: there is no folder to hold {target!r}.")


def require_picture(target: str | None) -> None:
    """Refuse a picture that cannot be written, or is of no known kind."""
    require_folder(target)
    if target is not None and Path(target).suffix not in (".png", ".pdf", ".svg"):
        raise Failure(f"The picture must be a .png, .pdf or .svg file, not {target!r}.")


def variables_table(lp: LinearProgram, x: Any) -> str:
    """Table of the largest variables that are not zero."""
    names = lp.variable_names or [f"x[{j}]" for j in range(len(x))]
    return _largest(names, x, ("variable", "value")) or "All variables are 0."


def prices_table(lp: LinearProgram, prices: Any) -> str:
    """Table of the largest released shadow prices that are not zero."""
    names = lp.row_names or [f"row[{i}]" for i in range(len(prices))]
    found = _largest(names, np.nan_to_num(prices), ("row", "shadow price"))
    return found or "All shadow prices are 0."


def _largest(names: Sequence[str], values: Any, headers: tuple[str, str]) -> str:
    """Table of the largest values that are not zero; empty if all are."""
    order = sorted((j for j in range(len(values)) if values[j] != 0), key=lambda j: -abs(values[j]))
    rows = [(names[j], f"{values[j]:.6g}") for j in order[:_MOST_SHOWN]]
    table = tabulate(rows, headers=headers, disable_numparse=True) if rows else ""
    hidden = len(order) - _MOST_SHOWN
    return f"{table}\n... and {hidden} more that are not zero" if hidden > 0 else table
