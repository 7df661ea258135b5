"""Time to import privlp and to run its shortest commands, beside an earlier commit.

Each command runs in a process of its own, in turns on both commits. The earlier commit is checked
out into a temporary folder, as a worktree of this repository. Run with
``python -m benchmarks.import_time``.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import click
import numpy as np

from benchmarks.measure import ROOT, Turns, print_table

_EVERYTHING = "from privlp import *"
_SOLVE = "import privlp; privlp.solve(privlp.examples.diet(), eps=1.0, delta=0.0)"
_COMMAND = "import sys; from privlp.cli import main; sys.exit(main([{}], prog_name='privlp'))"
COMMANDS = {
    "python -c pass": "pass",
    "import numpy": "import numpy",
    "import privlp": "import privlp",
    "privlp --version": _COMMAND.format("'--version'"),
    "privlp --help": _COMMAND.format("'--help'"),
    "import all public names": _EVERYTHING,
    "import privlp and solve": _SOLVE,
}


@contextmanager
def earlier(commit: str) -> Iterator[Path]:
    """A folder that holds the files of an earlier commit, while the context is open."""
    with TemporaryDirectory(prefix="privlp-earlier-") as folder:
        place = Path(folder, "privlp")
        git = ["git", "-C", str(ROOT), "worktree"]
        subprocess.run([*git, "add", "--quiet", "--detach", place, commit], check=True)
        try:
            yield place
        finally:
            subprocess.run([*git, "remove", "--force", place], check=True)


def running(code: str, folder: Path) -> Callable[[], object]:
    """A call that runs some code in a new process, with the package in `folder`."""
    environment = os.environ | {"PYTHONPATH": str(folder)}
    return lambda: subprocess.run(
        [sys.executable, "-c", code],
        check=True,
        cwd=folder,
        env=environment,
        stdout=subprocess.DEVNULL,
    )


@click.command()
@click.option("--commit", default="9ee9d5b", show_default=True, help="What to compare with.")
@click.option("--turns", default=15, show_default=True, help="Runs of each command.")
def main(commit: str, turns: int) -> None:
    """Print median times of both commits and their ratios."""
    rows = []
    with earlier(commit) as folder:
        for name, code in COMMANDS.items():
            ours, theirs = running(code, ROOT), running(code, folder)
            ours(), theirs()  # compiles what is not compiled yet
            timed = Turns(ours, theirs, turns=turns)
            milliseconds = 1000 * np.median([timed.ours, timed.baseline], axis=1)
            rows.append((name, *milliseconds, timed.of_medians))
    headers = ("command", "now (ms)", f"{commit} (ms)", "ratio")
    print_table(f"Median of {turns} runs", headers, rows, floatfmt=("", ".0f", ".0f", ".2f"))


if __name__ == "__main__":
    main()
