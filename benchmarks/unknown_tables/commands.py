"""Commands of privlp on model files, as a newcomer types them, and the options they name."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import textwrap
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.families.instance import missed
from benchmarks.measure import ROOT
from benchmarks.unknown_tables.cells import Cell, Result
from privlp import ExactSolution, LinearProgram, PrivLPError, Solution, solve_exact

REQUEST = ("--eps", "1", "--delta", "1e-6")
#: One record moves right-hand sides by this share of their median size.
MOVED = 0.01
#: Seconds after which a command is stopped.
PATIENCE = 300.0
_WIDTH = 150
_PRIVATE, _SEED = "--scalar-private", ("--seed", "0")


def of_file(cell: Cell) -> Result:
    """Rows of the table for one file: the first command, then those that it names."""
    path = Path(cell["file"])
    first = _command("plan", path)
    exact_seconds = f"{_command('exact', path)['seconds']:.1f}"
    rows = [[path.stem, "plan", first["said"], "", "", f"{first['seconds']:.1f}", exact_seconds]]
    lp, exact = _read(path)
    for options in second_commands(first["text"], lp):
        found = _command("solve", path, *options)
        worse, left = _judged(lp, exact, found["x"])
        shown = f"solve {' '.join(options)}"
        rows.append(["", shown, found["said"], worse, left, f"{found['seconds']:.1f}", ""])
    return {"rows": rows}


def second_commands(message: str, lp: LinearProgram | None) -> list[tuple[str, ...]]:
    """Options that a message names and that apply: more rows, private numbers, private rows."""
    found: list[tuple[str, ...]] = []
    if rows := re.search(r"\bs = ([\d,]*\d)", message.partition("About ")[2]):
        found.append(("--s", rows[1].replace(",", "")))
    if _PRIVATE in message and lp is not None:
        moved = (_PRIVATE, f"{_typical_side(lp) * MOVED:.2g}")
        promises = re.findall(r'feasible="?([\w.]*\w)', message)
        found += [moved, *((*moved, "--feasible", promise) for promise in dict.fromkeys(promises))]
    if "name the private rows" in message:
        found.append(("--private", "*"))
    return found


def _typical_side(lp: LinearProgram) -> float:
    """Median size of the private right-hand sides that are neither 0 nor infinite."""
    sides = np.abs(np.where(np.isfinite(lp.b), lp.b, lp.row_lower))[lp.private]
    return float(np.median(sides[sides > 0])) if (sides > 0).any() else 1.0


def _read(path: Path) -> tuple[LinearProgram | None, ExactSolution | None]:
    try:
        lp = LinearProgram.from_mps(path)
    except PrivLPError:
        return None, None
    return lp, solve_exact(lp)


def _command(name: str, path: Path, *options: str) -> dict[str, Any]:
    """Run a command of privlp: all it prints, that in short, the seconds, and x if it has one."""
    with tempfile.TemporaryDirectory() as place:
        answer = Path(place) / "solution.json"
        more = () if name == "exact" else (*REQUEST, *options)
        more += (*_SEED, "--json", str(answer)) if name == "solve" else ()
        program = "from privlp.cli import main; main()"
        line = [sys.executable, "-c", program, name, str(path), *more]
        start = time.perf_counter()
        try:
            done = subprocess.run(
                line, cwd=ROOT, capture_output=True, text=True, check=False, timeout=PATIENCE
            )
            text = (done.stderr + done.stdout).replace(str(path), path.name)
        except subprocess.TimeoutExpired:
            text = "Error: stopped, because it took too long."
        seconds = time.perf_counter() - start
        x = Solution.load(answer).x if answer.exists() else None
    return {"text": text, "said": in_short(text), "seconds": seconds, "x": x}


def in_short(text: str) -> str:
    """The error, the warning or the status among the lines of a command; a sentence or two."""
    lines = text.splitlines()
    for word in ("Error: ", "Warning: ", "Note: ", "Enough", "Rough", "Whether", "completed"):
        for k, line in enumerate(lines):
            if word in line:
                whole = " ".join(lines[k:]).partition("  ")[0]
                said = whole[whole.index(word) :].removeprefix("Error: ")
                return textwrap.shorten(said, _WIDTH, placeholder=" ...").replace("|", "/")
    return textwrap.shorten(text, _WIDTH, placeholder=" ...").replace("|", "/")


def _judged(
    lp: LinearProgram | None, exact: ExactSolution | None, x: np.ndarray | None
) -> tuple[str, str]:
    """How much worse the objective is in percent, and the private rows missed of all."""
    if lp is None or x is None:
        return "–", "–"
    left = f"{missed(lp, x)} of {int(lp.private.sum())}"
    if exact is None or exact.objective is None:
        return "no optimum", left
    worse = (lp.objective(x) - exact.objective) * (-1 if lp.sense == "max" else 1)
    return f"{100 * worse / max(abs(exact.objective), 1e-9):,.1f}", left
