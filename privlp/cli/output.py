"""Files and tables that several commands write."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tabulate import tabulate

from privlp.cli.messages import Failure
from privlp.problem.linear_program import LinearProgram

_MOST_VARIABLES_SHOWN = 20


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
    order = sorted((j for j in range(len(x)) if x[j] != 0), key=lambda j: -abs(x[j]))
    if not order:
        return "All variables are 0."
    names = lp.variable_names or [f"x[{j}]" for j in range(len(x))]
    rows = [(names[j], f"{x[j]:.6g}") for j in order[:_MOST_VARIABLES_SHOWN]]
    table = tabulate(rows, headers=("variable", "value"), disable_numparse=True)
    hidden = len(order) - _MOST_VARIABLES_SHOWN
    return f"{table}\n... and {hidden} more that are not zero" if hidden > 0 else table
