"""The noise of a release at the whole budget, and the grid on which sums are exact."""

from __future__ import annotations

import math
from collections.abc import Sequence

from privlp.errors import InvalidParameterError, UnsupportedProblemError
from privlp.methods.task import Task
from privlp.privacy import GaussianMechanism, Mechanism
from privlp.rows.grid import Grid


def grid_of(task: Task) -> Grid:
    """The grid on which sums over the rows are exact.

    Raises
    ------
    UnsupportedProblemError
        If there are too many rows for any grid.
    """
    try:
        return Grid.of(task.largest_n)
    except OverflowError as error:
        raise UnsupportedProblemError(str(error)) from None


def noise_of_one_release(task: Task, together_with: Sequence[Mechanism] = ()) -> float:
    """Deviation, per unit of sensitivity, of a single Gaussian release at the whole budget.

    Other mechanisms may be charged together with it.

    Raises
    ------
    InvalidParameterError
        If delta is zero.
    UnsupportedProblemError
        If sums over so many rows would not be exact.
    """
    grid_of(task)
    if task.ledger.delta == 0 and math.isfinite(task.ledger.eps):
        raise InvalidParameterError(
            "delta must be positive with this method, whose noise is Gaussian; or use"
            " method='dmw'.",
            parameter="delta",
        )
    return task.ledger.calibrate(
        lambda intensity: GaussianMechanism(1.0, 1 / intensity), 1, together_with=together_with
    ).sigma
