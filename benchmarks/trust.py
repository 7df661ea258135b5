"""Mechanism by injected fault: which audits catch it, and how many runs they need.

Beside it, false alarms on correct releases.

Run with ``python -m benchmarks.trust``; about eight minutes of one core, resumable. Subjects,
faults: ``tests/conformance_*.py``.
"""

import hashlib
from dataclasses import dataclass
from typing import Any

import click
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


_READING = """
A number is the fewest of 10³, 10⁴, 10⁵ and 10⁶ runs on each neighbour at which `privlp.audit` refutes the claim in at least 9
of 10 repeats. *replay*: no audit is needed, because a neighbour that is shown the same releases takes another number of draws,
or pays for others. *ledger*: the draws that were made cost more than the ledger says, by a calculation that does not use
dp-accounting (Gaussian noise composed exactly, a bit of any other draw by the binomial law). In brackets: why a fault does not
apply, below.
"""
_DONE = """
The real code is run on two neighbours that see the same released values; what each draw would release without noise is
recorded. That pair is released again and again by the mechanism that was paid for, at its own sensitivity and at the noise at
which an audit needs the fewest runs: eps = 4 for a selection, 2.5 for pure noise, sensitivity/sigma = 2 for Gaussian noise; eps
= 1 for a selection or pure noise that is used twice. Claims are what the mechanisms are charged for: pure eps; (eps, delta) of
truncated Laplace noise; the exact trade-off of Gaussian noise (Balle and Wang 2018) at eps = 0.5, or 2 for a wrong law, and of
selections of bounded range (Dong, Durfee and Rogers 2020) at eps = 0.4, a sharper claim than pure eps. In objective
perturbation the minimiser is released: the real code computes it for a grid of noise values in one dimension. Faults: half of
the noise (*factor 2*); noise for a sensitivity 10 % or 20 % smaller; Gaussian for Laplace noise, uniform for Gaussian and
truncated noise, permute-and-flip or a maximum under uniform noise for selections, independent Laplace entries for Euclidean
Laplace noise (*noise law*); an accountant that prices every charge as one draw; the same seed in every run, the first at which
the neighbours differ where one is looked for; rows that are used as they are; the sensitivity of another relation, or the true
number of rows where a nominal one is due; rounds that end when the rows are satisfied; a minimiser taken for converged after
one step or at a loose tolerance; the same noise for two queries that move in opposite directions. Selections, and vectors of
Euclidean Laplace noise, are released one by one up to 10³ runs; beyond, they are drawn from the law that
`tests/test_conformance.py` tests single releases against.
"""
_NOT_SHOWN = """
An audit finds faults; it never proves privacy: the proofs are in [proofs.md](../proofs.md). That every twin is caught is no
rate of detection: pairs, noise levels, claims and the forms of the faults were chosen for audits to see them, some after a
first choice had been missed. Missed at 10⁵ runs were Laplace noise of the same variance for Gaussian noise on 16 and on 30
entries, where uniform noise stands now, and a minimiser stopped after one Newton step in objective perturbation of one record,
where a loose tolerance stands now; truncated Laplace noise at (2, 0.02) that is 20 % too small was missed in 6 of 20 audits of
20,000 runs, where (2, 0.1) stands now. Faults outside this list, and other pairs, may go unseen. Nothing here looks at running
time. Many rounds are not audited as a whole, which would be far too weak: each draw is audited by itself, and their composition
is compared with the ledger. Where the pair uses only a part of the sensitivity that is charged, as for logistic regression,
smaller faults are no violation on that pair and cannot be seen.
"""


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


@click.command(help=__doc__)
@click.option("--only", default="", help="Subjects whose name has this; prints, writes nothing.")
def main(only: str) -> None:
    cache, subjects = Cache("trust"), [s for s in [*SUBJECTS, *ESTIMATORS] if only in s.name]
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
    names = [subject.name for subject in subjects]
    if only:
        for name, row, alarm in zip(names, table, alarms, strict=True):
            words = (f"{bug}: {cell.word}" for bug, cell in zip(Bug, row, strict=True))
            print(name, *words, f"false alarms: {alarm}", sep="\n  ")
        return
    write(names, table, alarms, notes)


def _unwrapped(text: str) -> str:
    return " ".join(text.split())


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
        " may). Beyond 10³ runs, selections and Euclidean Laplace noise are drawn from their law,"
        " which single releases are tested against, not from the mechanism itself."
    )
    numbered = (f"{number}. {why[0].upper()}{why[1:]}." for why, number in notes.items())
    headers = ("release", *HEADERS.values(), "false alarms")
    page = [caught, _unwrapped(_READING), (headers, rows), "![The table at a glance](trust.png)"]
    page += ["## Why a fault does not apply", "\n".join(numbered)]
    page += ["## What was done", _unwrapped(_DONE)]
    page += ["## What it does not show", _unwrapped(_NOT_SHOWN)]
    write_page("trust", "Which faults the audits catch", page)
    draw(names, table)


if __name__ == "__main__":
    main()
