"""A cheap program that gives up rows, to hold a private one against. **Not private**."""

from __future__ import annotations

import highspy
import numpy as np

from privlp.problem.data import ProgramData
from privlp.problem.highs import quiet_highs, run, to_highs

# Of the rows that bind, so many are given up at once: those of the largest shadow prices.
_AT_ONCE = 0.5
# Shadow prices below this share of the largest are rounding.
_LEAST = 1e-9
# Solves beyond two for each row that is given up.
_TURNS = 20


def objective_without(lp: ProgramData, s: int) -> float | None:
    """The objective of a program of which at most s private rows are left out, or None.

    Rows that bind leave, those of the largest shadow prices first, until s are gone; rows that hold
    without being asked come back for others. To find the best s rows is NP-hard (Amaldi and Kann
    1995): the true optimum may be better, and is no worse. None if there is no exact optimum.
    """
    highs, model = quiet_highs(), to_highs(lp)
    highs.passModel(model)
    lower, upper = np.array(model.row_lower_), np.array(model.row_upper_)
    mine, gone = np.flatnonzero(lp.private), np.zeros(lp.shape[0], dtype=bool)
    best = None
    for _ in range(2 * s + _TURNS):
        if run(highs) != highspy.HighsModelStatus.kOptimal:
            break
        best = float(highs.getInfo().objective_function_value)
        found = highs.getSolution()
        activity, prices = np.asarray(found.row_value), np.abs(found.row_dual)[mine]
        holds = gone & (activity >= lower) & (activity <= upper)
        gone &= ~holds
        for row in np.flatnonzero(holds):  # they cost nothing here
            highs.changeRowBounds(int(row), lower[row], upper[row])
        binding = np.count_nonzero(prices > _LEAST * prices.max(initial=0.0))
        number = min(s - int(gone.sum()), int(np.ceil(_AT_ONCE * binding)))
        if number <= 0:
            break
        for row in mine[np.argsort(-prices, kind="stable")[:number]]:
            gone[row] = True
            highs.changeRowBounds(int(row), -np.inf, np.inf)
    return best
