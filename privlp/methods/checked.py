"""Counts at the point that a search ends with: how many rows it misses, and whether to keep it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from privlp.errors import MissedRowsWarning
from privlp.game.loop import Released, Solver
from privlp.methods.base import ChargeRequest
from privlp.methods.descent import noise_of_one_release
from privlp.methods.perturbed_draws import NoisyCounts
from privlp.methods.task import Task
from privlp.privacy import ChargedDraws, GaussianMechanism
from privlp.rows.access import Rows
from privlp.rows.measured import MeasuredRows
from privlp.status import MissedRows

FloatArray = npt.NDArray[np.float64]

# Two counts. Their mean tells rows missed to this share of s, as far as these shares of the budget
# allow it.
_COUNTS, _OF_S, _LEAST, _MOST = 2, 0.04, 0.005, 0.06
# A point is given up if its count exceeds s by so many deviations.
_SURELY = 2.0
# A last search aims at a share of s between these.
_LEAST_TARGET, _MOST_TARGET = 0.8, 0.97


def share_of_check(task: Task, s: float) -> float:
    """The share of the budget, from public numbers."""
    k, noise = task.public.rows_of_one_record, noise_of_one_release(task)
    share = (MissedRows.doubt(k * noise) / (_OF_S * s)) ** 2
    return min(max(share, _LEAST), _MOST)


def check_request(task: Task, s: float, intensity: float) -> ChargeRequest:
    """What is charged, where the whole budget allows this intensity."""
    k = float(task.public.rows_of_one_record)
    sigma = k * math.sqrt(_COUNTS / share_of_check(task, s)) / intensity
    return GaussianMechanism(k, sigma), _COUNTS, "count the rows that the answer misses"


def last_target(task: Task, requests: Sequence[ChargeRequest]) -> float:
    """Rows that a last search may miss: so few that the check can tell that s are not passed."""
    mechanism, number, _ = requests[-1]
    sigma = float(mechanism.sigma) / math.sqrt(number)  # type: ignore[attr-defined]
    s = task.density()
    return min(max(s - MissedRows.doubt(sigma), _LEAST_TARGET * s), _MOST_TARGET * s)


class Search(Solver, Protocol):
    """A search that may know other points.

    Attributes
    ----------
    known : list of (float, (d,))
        Points with few missed rows, each after the number that they hardly ever exceed.
    """

    @property
    def known(self) -> list[tuple[float, FloatArray]]:
        """The points."""


class Checked:
    """A search, and then two counts at its point, or at a cheaper one that hardly misses s rows.

    If the first shows that more than s rows are missed, and fewer are known to be missed at another
    point, that one is released, after a count of its own: of several with s or fewer the best.

    Parameters
    ----------
    task : Task
    rows : Rows
    search : Search
    draw : ChargedDraws
        The counts.
    """

    def __init__(self, task: Task, rows: Rows[Any], search: Search, draw: ChargedDraws) -> None:
        self._search, self._draw, self._task = search, draw, task
        self._measured = rows.keep(partial(MeasuredRows, alpha=task.accuracy()))
        self.rounds = search.rounds + 1
        self._released: Released | None = None

    def step(self, t: int) -> None:
        """The next round of the search, or at last the counts."""
        if t + 1 < self.rounds:
            self._search.step(t)
            return
        s, counts = (
            self._task.density(),
            NoisyCounts(self._measured, MeasuredRows.missed, self._draw),
        )
        found = self._search.released()
        x, sigma = np.asarray(found.x), counts.sigma
        if sigma > 0:
            x = self._cheapest(s, x)
        first = counts(x)
        bound, other = self._other(s, x)
        if sigma > 0 and first > s + _SURELY * sigma and bound < first:
            x = other
            mean = counts(x)
        else:
            mean, sigma = 0.5 * (first + counts(x)), sigma / math.sqrt(2)
        missed = MissedRows.of(mean, sigma, self._task.largest_n)
        self._released = replace(
            found,
            x=x,
            objective=self._task.lp.objective(x),
            missed=missed,
            warning=missed.warning(s, self._task.ledger.eps),
            category=MissedRowsWarning,
        )

    def _cheapest(self, s: float, x: FloatArray) -> FloatArray:
        """Of the point found, and those that hardly miss more than s rows, the best."""
        few = [at for bound, at in self._search.known if bound <= _LEAST_TARGET * s]
        return min([x, *few], key=lambda at: self._task.lp.sign * self._task.lp.objective(at))

    def _other(self, s: float, x: FloatArray) -> tuple[float, FloatArray]:
        """The best point that hardly misses more than s rows, or else the safest one."""
        known, lp = self._search.known, self._task.lp
        few = [(lp.sign * lp.objective(at), bound, at) for bound, at in known if bound <= s]
        if few:
            return min(few, key=lambda known: known[0])[1:]
        return min(known, key=lambda known: known[0], default=(math.inf, x))

    def released(self) -> Released:
        """The point, and how many rows it misses."""
        return self._search.released() if self._released is None else self._released
