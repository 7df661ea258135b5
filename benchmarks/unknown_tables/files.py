"""Model files of others: the first command, what it says, and the commands that it names."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from benchmarks.unknown_tables.cells import Cell
from benchmarks.unknown_tables.commands import MOVED, PATIENCE, of_file
from benchmarks.unknown_tables.runner import Runner
from svm_models.datasets.sources import VARIABLE

TITLE = "Model files"
LARGER = ("25fv47", "etamacro", "standata")
ABOUT = (
    "Netlib's programs and a few odd files, as they are. First `privlp plan FILE --eps 1 --delta"
    " 1e-6`; then `privlp solve` with the same and each set of options that its message names. D:"
    f" {MOVED:.0%} of the median size of the private right-hand sides that are not 0, as the owner"
    " of the data would state it. Worse: the objective beside the exact one, in percent; a result"
    " below 0 is cheaper than the optimum, because it misses rows. Missed: private rows missed by"
    " more than 1 % of their side, of all private rows. Seconds of the whole command by the clock,"
    " starting Python included, beside `privlp exact FILE`. A command is stopped after"
    f" {PATIENCE:g} s. One noise seed."
)
_HEADERS = ("file", "command", "what it says", "worse by %", "missed", "seconds", "exact")


def folder() -> Path | None:
    """The folder of MPS files within the one that PRIVLP_DATA names, or None."""
    named = os.environ.get(VARIABLE)
    places = [] if not named else [Path(named).expanduser() / "lp", Path(named).expanduser()]
    return next((place for place in places if any(place.glob("*.mps"))), None)


def parts(run: Runner) -> list[Any]:
    """Paragraphs and tables."""
    found = folder()
    if found is None:
        return [f"## {TITLE}", f"Not measured: {VARIABLE} names no folder with MPS files."]
    paths = sorted(found.glob("*.mps"), key=lambda path: (path.stem not in LARGER, path.stem))
    cells: list[Cell] = [{"file": str(path)} for path in run.some(paths)]
    results = (
        [of_file(cell) for cell in cells]
        if run.cache is None
        else run.cache.measure_all(cells, of_file, processes=1, description="files")
    )
    rows = [row for result in results for row in result["rows"]]
    return [f"## {TITLE}", ABOUT, (_HEADERS, rows)]
