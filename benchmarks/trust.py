"""Mechanism by injected fault: which audits catch it, and how many runs they need.

Beside it, false alarms on correct releases.

Run with ``python -m benchmarks.trust``; about eight minutes of one core, resumable. Subjects,
faults: ``tests/conformance_*.py``.
"""

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.colors import BoundaryNorm, ListedColormap, to_rgba
from tqdm import tqdm

from benchmarks.cache import Cache
from benchmarks.measure import ROOT
from benchmarks.published import picture, write_page
from privlp.pictures import COLOURS
from tests.conformance_estimators import ESTIMATORS
from tests.conformance_kit import Bug, Case, Exact, NotApplicable, Statistical, Subject, audited
from tests.conformance_subjects import SUBJECTS

RUNS = (1_000, 10_000, 100_000, 1_000_000)
REPEATS, ENOUGH = 10, 9
#: Of a correct release, each of so many runs.
CORRECT, RUNS_OF_CORRECT = 100, 10_000
CONFIDENCE = 0.999
HEADERS = {
    **{Bug.FACTOR: "factor 2", Bug.TENTH: "sens. −10 %", Bug.FIFTH: "sens. −20 %"},
    **{Bug.LAW: "noise law", Bug.COUNT: "count dropped", Bug.SEED: "fixed seed"},
    **{Bug.SCALE: "rows unscaled", Bug.RELATION: "relation swapped", Bug.STOP: "early stop"},
    **{Bug.MINIMISER: "minimiser", Bug.TWICE: "draw used twice"},
}
WORDS = {1_000: "10³", 10_000: "10⁴", 100_000: "10⁵", 1_000_000: "10⁶"}
_NOT_CAUGHT = "missed"


def runs_to_catch(case: Statistical, name: str) -> int | None:
    """The fewest of RUNS at which an audit catches a twin in nine of ten repeats."""
    for runs in RUNS:
        missed = 0
        for repeat in range(REPEATS):
            missed += audited(case.sampler, case.claim, runs, _seed(name, runs, repeat)).passed
            if missed > REPEATS - ENOUGH:
                break
        else:
            return runs
    return None


def measured(subject: Subject, bug: Bug) -> dict[str, Any]:
    """One cell: how it was caught, or why there is nothing to catch."""
    case: Case = subject.twin(bug)
    if isinstance(case, NotApplicable):
        return {"reason": case.reason}
    if isinstance(case, Exact):
        return {"exact": case.how if case.caught else _NOT_CAUGHT}
    return {"runs": runs_to_catch(case, f"{subject.name}, {bug}")}


def false_alarms(subject: Subject) -> int:
    """Of a hundred audits of the release as it is."""
    case = subject.correct()
    seeds = (_seed(subject.name, RUNS_OF_CORRECT, repeat) for repeat in range(CORRECT))
    audits = (audited(case.sampler, case.claim, RUNS_OF_CORRECT, seed) for seed in seeds)
    return sum(not found.passed for found in audits)


def _seed(name: str, runs: int, repeat: int) -> int:
    return int(np.random.SeedSequence([*name.encode(), runs, repeat]).generate_state(1)[0])


@dataclass
class Cell:
    """What the table says of a subject and a fault."""

    word: str
    #: Decimal logarithm of the runs: 0 for a comparison without audit, nan where nothing applies,
    #: inf where it was missed.
    level: float

    @classmethod
    def of(cls, found: dict[str, Any], notes: dict[str, int]) -> "Cell":
        """From a measurement; reasons are numbered in the order in which they appear."""
        if "reason" in found:
            return cls(f"– [{notes.setdefault(found['reason'], len(notes) + 1)}]", np.nan)
        if "exact" in found:
            return cls(found["exact"], np.inf if found["exact"] == _NOT_CAUGHT else 0.0)
        if found["runs"] is None:
            return cls(_NOT_CAUGHT, np.inf)
        return cls(WORDS[found["runs"]], np.log10(found["runs"]))


def draw(names: list[str], table: list[list[Cell]]) -> None:
    """The table at a glance: the more runs, the darker; grey where no audit is needed."""
    levels = np.array([[cell.level for cell in row] for row in table])
    classes = np.where(np.isinf(levels), 7.0, levels)
    blues = (to_rgba(COLOURS["blue"], depth) for depth in (0.1, 0.3, 0.5, 0.7))
    colors = ["0.85", "white", "white", *blues, COLOURS["vermilion"]]
    norm = BoundaryNorm(np.arange(-0.5, 8), len(colors))
    with picture("trust", size=(12.0, 0.32 * len(names) + 2.2)) as (axes,):
        shown = np.ma.masked_invalid(classes)
        axes.imshow(shown, cmap=ListedColormap(colors), norm=norm, aspect="auto")
        centred = {"ha": "center", "va": "center", "fontsize": "small"}
        for i, row in enumerate(table):
            for j, cell in enumerate(row):
                axes.text(j, i, cell.word.partition(" ")[0], **centred)
        axes.set_xticks(range(len(HEADERS)), HEADERS.values(), rotation=40, ha="left")
        axes.xaxis.tick_top()
        axes.set_yticks(range(len(names)), names)
        axes.tick_params(length=0, labelsize="small")
        axes.spines[:].set_visible(False)
        words = "10ᵏ: runs on each neighbour (number); ledger, replay: no audit needed; –: does not apply"
        axes.set_xlabel(words, loc="right")


def fingerprint() -> str:
    """Of the suite and of the estimators; what a cache knows is the code of privlp."""
    sources = [*ROOT.glob("tests/conformance_*.py"), *ROOT.glob("svm_models/**/*.py")]
    digest = hashlib.sha256(b"".join(source.read_bytes() for source in sorted(sources)))
    return digest.hexdigest()[:12]


def main() -> None:
    cache, subjects = Cache("trust"), [*SUBJECTS, *ESTIMATORS]
    notes: dict[str, int] = {}
    table, alarms = [], []
    suite = fingerprint()
    bar = tqdm(total=len(subjects) * (len(Bug) + 1), unit="cell")
    for subject in subjects:
        row = []
        for bug in Bug:
            bar.set_description(f"{subject.name}: {bug}")
            settings = {"suite": suite, "subject": subject.name, "bug": bug.value}
            found = cache.measure(settings, lambda s=subject, b=bug: measured(s, b))
            row.append(Cell.of(found, notes))
            bar.update()
        bar.set_description(f"{subject.name}: correct")
        settings = {"suite": suite, "subject": subject.name, "bug": None}
        alarms.append(cache.measure(settings, lambda s=subject: false_alarms(s)))
        bar.update()
        table.append(row)
    bar.close()
    write([subject.name for subject in subjects], table, alarms, notes)


def write(
    names: list[str], table: list[list[Cell]], alarms: list[int], notes: dict[str, int]
) -> None:
    """The page and its picture."""
    cells = [cell for row in table for cell in row if not np.isnan(cell.level)]
    missed = sum(np.isinf(cell.level) for cell in cells)
    exact = sum(cell.level == 0 for cell in cells)
    rows = [
        [name, *(cell.word for cell in row), str(alarm)]
        for name, row, alarm in zip(names, table, alarms, strict=True)
    ]
    caught = (
        f"{len(names)} kinds of release, {len(Bug)} faults. Of {len(cells)} deliberately broken"
        f" twins {len(cells) - missed} are caught, {exact} of them without statistics; of"
        f" {len(names) * CORRECT:,} audits of correct releases {sum(alarms)} raised a false alarm"
        f" (confidence {CONFIDENCE}, {RUNS_OF_CORRECT:,} runs on each neighbour; one in a thousand"
        " may)."
    )
    numbered = (f"{number}. {why[0].upper()}{why[1:]}." for why, number in notes.items())
    headers = ("release", *HEADERS.values(), "false alarms")
    write_page("trust", caught, (headers, rows), "\n".join(numbered))
    draw(names, table)


if __name__ == "__main__":
    main()
