"""Very many cases of every target, and a table of what became of them.

Or one case, as it comes: ``... TARGET NUMBER``.
"""

import sys
import tempfile
import time
from pathlib import Path
from random import Random

import click
from tabulate import tabulate

from fuzz import targets
from fuzz.watch import MEMORY, PATIENCE, Tally, watched

PAGE = Path(__file__).parents[2] / "docs" / "results" / "fuzz.md"


@click.command()
@click.argument("target", required=False)
@click.argument("number", required=False, type=int)
@click.option("--start", default=0, show_default=True, help="First case: another, other cases.")
@click.option("--share", default=1.0, show_default=True, help="Share of the usual number of cases.")
def main(target: str | None, number: int | None, start: int, share: float) -> None:
    """Run all targets, or one, or one case of it."""
    if number is not None:
        function = next(each for each in targets.TARGETS if each.__name__ == target)
        with tempfile.TemporaryDirectory() as folder:
            click.echo(function(Random(f"{target} {number}"), Path(folder)))
        return
    begun, tallies = time.perf_counter(), {}
    for function, usual in targets.TARGETS.items():
        name = function.__name__
        if target in (None, name):
            cases = range(start, start + max(1, round(usual * share)))
            module = function.__module__.removeprefix("fuzz.")
            tallies[name] = watched(module, name, cases, progress=True)
            for case, verdict in tallies[name].findings.items():
                click.echo(f"{name} {case}: {verdict}")
    table = _table(tallies)
    click.echo(table)
    if target is None and share >= 1:
        sys.path.append(str(PAGE.parents[2]))
        from benchmarks.stale import stamp

        PAGE.write_text(f"{_page(table, start, time.perf_counter() - begun)}\n{stamp('fuzz')}")
    sys.exit(any(tally.findings for tally in tallies.values()))


def _table(tallies: dict[str, Tally]) -> str:
    rows = [
        (name, t.cases, t.counts["accepted"], t.counts["refused"], len(t.findings), t.seconds)
        for name, t in tallies.items()
    ]
    rows.append(("all", *map(sum, zip(*(row[1:] for row in rows), strict=True))))
    shown = [(name, *(f"{n:,}" for n in counts), round(s)) for name, *counts, s in rows]
    headers = ("target", "cases", "accepted", "refused", "faults", "seconds")
    aligned = ("left", *["right"] * 5)
    return tabulate(shown, headers, "github", colalign=aligned, disable_numparse=True)


def _page(table: str, start: int, seconds: float) -> str:
    return f"""# Foreign input

Nothing crashed, and no message spoke of private numbers.

Everything that takes foreign input gets what it should not: arguments of every kind, type and shape; model files, saved results
and training files made by a grammar, mutated, cut short; odd words on the command line. Each case runs in a watched process. It
must be accepted, or refused by an error of the library in a sentence that holds no private number. Anything else is a fault:
another error, a warning, output of its own, a file left behind, a crash, more than {PATIENCE:g} seconds, more than {MEMORY >> 30}
GiB.

{table}

Cases {start:,} and on of each target, {seconds / 60:.0f} minutes on one core. Printed by `make fuzz`; the test suite runs a few
thousand of them. The faults found on the way are test cases in `tests/fuzz/test_findings.py`.
"""


if __name__ == "__main__":
    main()
