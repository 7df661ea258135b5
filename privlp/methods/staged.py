"""Staged mirror descent: several descents in a row, with an optimum that is searched."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from privlp.checks import real
from privlp.methods.base import Method, PlannedRun
from privlp.methods.checked import Checked
from privlp.methods.prediction import Prediction
from privlp.methods.staged_charges import StagedCharges, difficulty
from privlp.methods.staged_run import Stages
from privlp.methods.staged_sizes import Sizes
from privlp.methods.task import Task
from privlp.privacy import ChargedDraws
from privlp.regions.optimum import is_range, range_of
from privlp.relations.base import NeighbourRelation
from privlp.rows.door import Rows

# What a search of difficulty 1 leaves of the amount by which a row varies.
_USEFUL = 0.1


class Staged(Method):
    """Several mirror descents in a row, for a program of which only costs bound the variables.

    The region is {u >= 0, cost·u = V}. Each stage minimises a smoothed sum of violations, from the
    released point of the stage before, by smaller steps. Between stages noisy counts find the V at
    which a few times s rows are missed; after the last stage, the V at which at most s are (by more
    than `alpha`, if it is given). Finite upper bounds of variables cap their shares, and public
    rows may bound the objective. `opt` is a hint: the first counts are made where
    it makes a few times s missed rows likely.

    *Neighbours*: constraint-private, one record with k rows.

    *Sensitivity.* Row i contributes z_i g_i, |g_i| <= 1 and z_i in [0, 1] functions of that row and
    of released points: the sum moves by at most 2k if a record is replaced, and by k if it is added
    or removed (:class:`~privlp.rows.equal_norm.RowsOfEqualNorm`). Of many rows, if a record is
    replaced, a stage reads those that secret coins choose: the terms of others are 0
    (:mod:`privlp.rows.share`). Where a noisy count says that all
    entries of all rows have one sign, rows of norm sqrt(2) take their place, and a row with an
    entry of the other sign counts for nothing. The inner product of two such rows is not negative,
    so the sum moves by at most sqrt(2k^2 + 2k^2) = 2k
    (:class:`~privlp.rows.one_sign.RowsOfOneSign`). Counts move by at most k. Proof:
    ``docs/proofs.md``, "Staged descent".

    *Budget.* All draws are Gaussian, and are charged together before the first.
    """

    name = "staged"

    def protects(self, relation: NeighbourRelation) -> bool:
        return relation.changes_whole_rows

    def competes(self, task: Task) -> bool:
        return task.lp.penalty is None and _has_delta(task)

    def adapted(self, task: Task) -> Task:
        return replace(task, width=None)

    def plan(self, task: Task) -> PlannedRun:
        task.constraint_private(self.name)
        task.refuse(self.name, width="it needs no declared bounds")
        task.density(), task.accuracy()
        sizes = Sizes(task, _hint(task))
        size = sizes.region(sizes.middle).size
        charges = StagedCharges.of(task, size)
        hard = difficulty(charges.noise, size, task.density())

        def start(rows: Rows[Any], draws: Sequence[ChargedDraws]) -> Checked:
            search = Stages(task, rows, charges, draws[:-1], sizes)
            return Checked(task, rows, search, draws[-1])

        def predict() -> Prediction:
            typical = math.inf
            if sizes.likely is not None:
                region = sizes.region(sizes.likely)
                typical = region.typical_norm / math.sqrt(size)
            return Prediction(
                self.name,
                _USEFUL * hard * typical,
                None,
                charges.rounds + 1,
                charges.noise_of_a_round,
                yardstick=None if math.isinf(typical) else typical,
                difficulty=hard,
            )

        return PlannedRun(charges.requests, start, predict)


def _has_delta(task: Task) -> bool:
    return task.ledger.delta > 0 or math.isinf(task.ledger.eps)


def _hint(task: Task) -> tuple[float, float] | None:
    """The objectives between which the optimum is likely."""
    if task.opt is None or is_range(task.opt):
        return None if task.opt is None else range_of(task.opt)
    value = real(task.opt, "opt")
    return value, value
