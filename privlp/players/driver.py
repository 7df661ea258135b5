"""The one loop: progress, interruption and time limit for every solver."""

from __future__ import annotations

import time

from tqdm import tqdm

from privlp.players.game import Solver
from privlp.status import Status


def drive(solver: Solver, *, progress: bool, time_limit: float | None) -> Status:
    """Play all rounds, or stop at the time limit.

    The number of rounds is fixed in advance; nothing in the data ends the loop. All draws were
    charged before the first round, and stay charged after an interruption (Ctrl-C): the ledger is
    right at any time.
    """
    deadline = None if time_limit is None else time.monotonic() + time_limit
    rounds = range(solver.rounds)
    for t in tqdm(rounds, unit="round") if progress else rounds:
        if deadline is not None and time.monotonic() > deadline:
            return Status.TIME_LIMIT
        solver.step(t)
    return Status.COMPLETED
