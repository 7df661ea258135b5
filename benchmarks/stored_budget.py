"""A budget in a file: processes that are killed at any moment, and what a charge on the disk costs.

Run with ``python -m benchmarks.stored_budget``; about five minutes of two cores.
"""

import math
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click
import numpy as np

import privlp
from benchmarks.measure import ROOT, Turns
from privlp import Budget, BudgetExceededError, ConstraintPrivate, LinearProgram
from privlp.privacy import LaplaceMechanism, Randomness
from privlp.privacy.budget import StoredBudget
from privlp.privacy.record_file import START

#: A worker asks for one of these at random, so that its requests do not all look alike.
SIZES = (0.5, 1.0, 1.5)
TRIALS, CHARGES, KILLS, TURNS = 3, 1_000, 40, 15


def work(path: str, log: str, unit: float, seed: int) -> None:
    """Charge, draw, and note each draw on the disk after it, until the smallest is refused."""
    budget, rng = Budget.open(path), random.Random(seed)
    name, count = f"{seed}", 0
    note = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    while True:
        size, purpose = rng.choice(SIZES), f"{name}:{count}"
        eps = unit * size
        try:
            release = budget.ledger(eps, 0.0).charge(
                LaplaceMechanism.of_eps(1.0, eps), 1, purpose, ConstraintPrivate(), Randomness()
            )
        except BudgetExceededError:
            if size == min(SIZES):
                return
            continue
        release(0.0)
        os.write(note, f"{purpose}\n".encode())
        os.fsync(note)
        count += 1


class Trial:
    """Workers on one file, some of them killed; what they noted, and what the file says."""

    def __init__(
        self, folder: Path, *, charges: int, processes: int, kills: int, seed: int
    ) -> None:
        self._folder, self._unit = folder, 1.0 / charges
        self._seeds = iter(range(10_000 * seed, 10_000 * (seed + 1)))
        self.path = folder / "all.budget"
        Budget.open(self.path, 1.0, 0.0)
        rng, self.killed = random.Random(seed), 0
        workers = [self._start() for _ in range(processes)]
        try:
            while any(worker.poll() is None for worker, _ in workers):
                time.sleep(rng.uniform(0.0, 0.3))
                at = rng.randrange(processes)
                worker, log = workers[at]
                if self.killed < kills and log.exists() and worker.poll() is None:  # it is at work
                    worker.kill()
                    worker.wait()
                    self.killed += 1
                    workers[at] = self._start()
        finally:
            for worker, _ in workers:
                worker.kill()
        self.failed = sum(worker.returncode != 0 for worker, _ in workers)
        budget = Budget.open(self.path)
        charges_made = (charge for call in budget.calls.values() for charge in call.charges)
        purposes = [charge.entry.purpose for charge in charges_made]
        noted = (log.read_text().split("\n")[:-1] for log in folder.glob("*.log"))
        self.recorded, self.drawn = set(purposes), set(chain.from_iterable(noted))
        self.twice = len(purposes) - len(self.recorded)
        self.spent = math.fsum(call.eps for call in budget.calls.values())

    @property
    def holds(self) -> bool:
        """Whether every draw is on record, within the limit, and the limit is used up."""
        used_up = self.spent + min(SIZES) * self._unit > 1.0
        return (
            self.drawn <= self.recorded
            and self.spent <= 1.0
            and used_up
            and not self.failed
            and not self.twice
        )

    def _start(self) -> tuple[subprocess.Popen[bytes], Path]:
        seed = next(self._seeds)
        log = self._folder / f"{seed}.log"
        command = [sys.executable, "-m", "benchmarks.stored_budget", "--worker"]
        asked = map(str, (self.path, log, self._unit, seed))
        return subprocess.Popen([*command, *asked], cwd=ROOT), log


def programs() -> dict[str, tuple[LinearProgram, dict[str, Any]]]:
    """Programs of three sizes, with the request of a solve of each."""
    found = {}
    for n, d in ((500, 4), (5_000, 20), (20_000, 50)):
        A = np.random.default_rng(0).uniform(0.2, 1.0, size=(n, d))
        lp = LinearProgram(np.linspace(1, 2, d), -A, -np.ones(n))
        found[f"{n:,} x {d}"] = (lp, {"eps": 1.0, "delta": 1e-9, "s": n / 20, "opt": 2.0})
    return found


def compared(folder: Path) -> list[str]:
    """For each program: the same solve paid from memory and from a file, in turns."""
    rows = []
    for name, (lp, request) in programs().items():
        stored = Budget.open(folder / f"{name.replace(' ', '')}.budget", 1e6, 1e-3)
        memory = Budget(1e6, 1e-3)
        both = Turns(_solve(lp, stored, request), _solve(lp, memory, request), turns=TURNS)
        ours, usual = (1e3 * np.median(times) for times in (both.ours, both.baseline))
        rows.append(f"{name} | {usual:.0f} ms | {ours - usual:.0f} ms | {both.of_medians:.3f}")
    return rows


def _solve(lp: LinearProgram, budget: Budget, request: dict[str, Any]) -> Callable[[], Any]:
    return lambda: privlp.solve(lp, **request, budget=budget, rng=0)


def filled(path: Path, calls: int) -> StoredBudget:
    """A budget of so many calls, written in one transaction."""
    budget = Budget.open(path, 1e6, 1e-6)
    budget.ledger(1.0, 0.0).charge(
        LaplaceMechanism.of_eps(1.0, 0.5), 1, "first", ConstraintPrivate(), Randomness(0)
    )
    file = budget._file.file
    with file.writing() as connection:
        bodies, last = file.read(connection, START)
        for number in range(1, calls):
            _, last = file.append(connection, last, {**bodies[-1], "identifier": f"{number:016x}"})
    return Budget.open(path)


@click.command()
@click.option("--worker", nargs=4, hidden=True)
def main(worker: Any) -> None:
    """Run, and write the page."""
    if worker:
        path, log, unit, seed = worker
        work(path, log, float(unit), int(seed))
        return
    from benchmarks.published import write_page  # noqa: PLC0415 (workers start without Matplotlib)

    rows = []
    for seed in range(TRIALS):
        with TemporaryDirectory(dir=ROOT) as folder:
            trial = Trial(Path(folder), charges=CHARGES, processes=4, kills=KILLS, seed=seed)
        counts = f"{len(trial.drawn)} | {len(trial.recorded)} | {trial.killed}"
        rows.append(f"{counts} | {trial.spent:.4f} of 1 | {'yes' if trial.holds else 'NO'}")
        print(rows[-1], flush=True)
    with TemporaryDirectory(dir=ROOT) as folder:
        solves = compared(Path(folder))
    killed = "draws noted | charges on record | kills | eps on record | holds", rows
    names = "rows x variables | solve paid from memory | more from a file | ratio of times"
    write_page("stored_budget", killed, (names, solves))


if __name__ == "__main__":
    main()
