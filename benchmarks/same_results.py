"""Shows that a change of the code leaves every seeded public result as it was, to the last bit.

``python -m benchmarks.same_results --write FILE`` computes many results from seeds, through public
names alone, and writes one line for each: its name, a hash of all its numbers and words, and the
first of them. ``python -m benchmarks.same_results --against FILE`` computes them again and lists
each name that differs, is missing or is new. It ends with exit code 1 if one differs or is missing,
unless :data:`EXCEPTIONS` says why.

Names that start with ``message:`` are errors and warnings. Names that end with ``:words`` are texts
that show a result whose numbers have a name of their own. Versions of libraries and times are left
out. Hashes hold for one machine and one set of libraries: write and compare on the same.
"""

from __future__ import annotations

import os

# Before NumPy is imported: the order in which it adds up may depend on the number of threads.
os.environ["OPENBLAS_NUM_THREADS"] = "1"
os.environ["OMP_NUM_THREADS"] = "1"
os.environ["MKL_NUM_THREADS"] = "1"

import contextlib
import json
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import click
from tqdm import tqdm

from benchmarks.same import (
    auditing,
    corners,
    datasets,
    learning,
    paying,
    reading,
    refusing,
    solving,
)
from benchmarks.same.canonical import fingerprint, in_parts, summary

#: Deliberate differences: pattern of names, and the reason. They are printed, and do not count.
EXCEPTIONS: dict[str, str] = {
    "*plan*:words": "a plan has one field more, its verdict",
    "message:odd:*": "methods are named in another order in a refusal",
    "message:*:pure": "methods are named in another order in a refusal; as below for soft rows",
    "*plan:replace:soft:*": "a plan refuses what solve refuses: soft rows without width",
    "*plan:objective without range:dense:no opt": "a plan refuses what solve refuses: no bounds",
    "message:odd:make_*": "sizes are refused in the words of other whole numbers",
    "*solve:own solver*": "a method of one's own is an object, no longer a function",
}

#: Where cases come from: each yields (name, call).
SECTIONS = (
    solving.whole_rows,
    solving.numbers,
    solving.levels,
    solving.others,
    solving.reports,
    reading.examples,
    reading.readers,
    reading.pictures,
    paying.mechanisms,
    paying.budgets,
    auditing.audits,
    refusing.programs,
    refusing.requests,
    refusing.others,
    learning.estimators,
    learning.selections,
    datasets.data,
    datasets.refused,
    corners.solves,
    corners.few_rows,
    corners.noise,
    corners.learning,
    corners.files,
)
#: Warnings of libraries about their own future, which are none of ours.
_NOT_OURS = (DeprecationWarning, PendingDeprecationWarning, FutureWarning, ResourceWarning)

Found = dict[str, dict[str, str]]


def results_of(name: str, call: Callable[[], Any]) -> Iterator[tuple[str, Any]]:
    """The parts of a result by name; or the error in its place, and the warnings on the way."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            parts = in_parts(call())
        except Exception as error:
            parts = in_parts(None)
            yield f"message:{name}", f"{type(error).__name__}: {error}"
        else:
            yield from ((f"{name}:{part}" if part else name, parts[part]) for part in parts)
    told = [w for w in caught if not issubclass(w.category, _NOT_OURS)]
    if told:
        words = [f"{w.category.__name__}: {w.message}" for w in told]
        yield f"message:{name}:warnings", list(dict.fromkeys(words))


def compute(only: str, slowest: int) -> Found:
    """The results of each case whose name `only` matches, computed in a folder of their own."""
    found: Found = {}
    seconds: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        cases = [case for section in SECTIONS for case in section() if fnmatchcase(case[0], only)]
        for name, call in tqdm(cases, unit="case", mininterval=1.0):
            started = time.process_time()
            for part, value in results_of(name, call):
                if part in found:
                    raise ValueError(f"two results have the name {part!r}")
                found[part] = {"sha256": fingerprint(value), "first": summary(value)}
            seconds[name] = time.process_time() - started
    for name in sorted(seconds, key=lambda name: -seconds[name])[:slowest]:
        print(f"{seconds[name]:8.3f} s  {name}")
    return found


def differences(before: Found, after: Found) -> dict[str, list[str]]:
    """Names of results that differ, are missing or are new, with what they begin with."""
    told: dict[str, list[str]] = {"differs": [], "missing": [], "new": []}
    for name in sorted(before.keys() | after.keys()):
        old, new = before.get(name), after.get(name)
        if old is None and new is not None:
            told["new"].append(f"{name}\n    {new['first']}")
        elif new is None and old is not None:
            told["missing"].append(f"{name}\n    {old['first']}")
        elif old is not None and new is not None and old["sha256"] != new["sha256"]:
            told["differs"].append(f"{name}\n    before {old['first']}\n    after  {new['first']}")
    return told


def _excused(line: str, exceptions: Mapping[str, str]) -> str | None:
    """Why a difference is deliberate, if it is."""
    name = line.partition("\n")[0]
    return next((why for pattern, why in exceptions.items() if fnmatchcase(name, pattern)), None)


def report(before: Found, after: Found, exceptions: Mapping[str, str]) -> bool:
    """Print all differences, numbers before messages; whether nothing differs or is missing."""
    same = True
    for kind, lines in differences(before, after).items():
        for message in (False, True):
            listed = [line for line in lines if line.startswith("message:") == message]
            excused = {line: why for line in listed if (why := _excused(line, exceptions))}
            left = [line for line in listed if line not in excused]
            for line in left:
                print(f"{kind}: {line}")
            for line, why in excused.items():
                print(f"{kind}, on purpose ({why}): {line}")
            of = "messages" if message else "results"
            print(f"{len(left)} {of}: {kind}, and {len(excused)} on purpose")
            same &= kind == "new" or not left
    return same


def _is_of(name: str, only: str) -> bool:
    """Whether a result is of a case whose name, with which its own begins, matches a pattern."""
    words = name.removeprefix("message:").split(":")
    return any(fnmatchcase(":".join(words[: k + 1]), only) for k in range(len(words)))


@click.command()
@click.option("--write", type=click.Path(path_type=Path, dir_okay=False), help="File to write.")
@click.option("--against", type=click.Path(path_type=Path, exists=True), help="File to compare.")
@click.option("--only", default="*", help="Pattern of the names of cases to compute.")
@click.option("--slowest", default=0, help="Print so many of the slowest cases.")
def main(write: Path | None, against: Path | None, only: str, slowest: int) -> None:
    """Compute all results, then write or compare them."""
    if (write is None) == (against is None):
        raise click.UsageError("Give either --write or --against.")
    before: Found = {} if against is None else json.loads(against.read_text(encoding="utf-8"))
    for pattern, why in EXCEPTIONS.items():
        print(f"deliberate: {pattern}: {why}")
    before = {name: old for name, old in before.items() if _is_of(name, only)}
    found = compute(only, slowest)
    messages = sum(name.startswith("message:") for name in found)
    seconds = time.process_time()
    print(f"{len(found)} names, {messages} of them messages; {seconds:.0f} s of CPU time")
    if write is not None:
        lines = (f"{json.dumps(name)}: {json.dumps(found[name])}" for name in sorted(found))
        write.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    elif not report(before, found, EXCEPTIONS):
        sys.exit(1)


if __name__ == "__main__":
    main()
