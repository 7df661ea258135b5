"""Hard rows without noise, for eps = inf: rows that are missed join the program until none is."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import highspy
import numpy as np
import scipy.sparse as sp

from privlp.checks import FloatArray, IntArray
from privlp.methods.base import PlannedRun, Prediction
from privlp.methods.counts import Checked, StagedSearch, check_request, share_of_check
from privlp.methods.request import SolveRequest
from privlp.privacy import ChargedDraws
from privlp.problem.highs import optimum
from privlp.regions.public_rows import PublicRows
from privlp.rows.access import Rows
from privlp.rows.program_rows import OF_SOLVERS, MeasuredRows, RowBlock
from privlp.sparse import stacked

# So many rows of a block join at once, and for each variable.
_FEWEST, _EACH = 50, 2
# Where no point keeps all rows: violations may add up to this share more than the least sum.
_MORE = 1e-6
# Where neither public rows nor bounds limit the objective, variables are at most of this size.
_FARTHEST = 1e15
_NO_LIMIT = (
    "x is no answer: neither a private row nor a public limit stands in the way of the objective."
    " Check the signs of costs and rows, and the sense; or give bounds."
)
_OPTIMAL = highspy.HighsModelStatus.kOptimal


class Missed(NamedTuple):
    """The sides of a block that a point misses most, less those that are known."""

    places: IntArray  # Of each side among all of them.
    A: sp.csr_array
    b: FloatArray


def most_missed(
    block: RowBlock, x: FloatArray, known: IntArray, count: int, alpha: float | None
) -> Missed:
    """The rows themselves: for runs without noise, in which no row is protected."""
    form = block.form
    beyond = form.row_sign * form.activity(x)[form.row] - form.sides(slice(None))
    norms = form.row_norms()[form.row]
    allowed = OF_SOLVERS * MeasuredRows(block).sizes(x) if alpha is None else alpha * norms
    places = 2 * (block.first + form.row) + (form.row_sign > 0)
    new = np.flatnonzero((beyond > 0.1 * allowed) & ~np.isin(places, known))
    by_size = np.argsort(-beyond[new] / np.maximum(norms[new], 1e-300), kind="stable")
    some = new[by_size[:count]]
    A = sp.csr_array(block.lp.A[form.row[some]])
    rows = sp.csr_array(sp.diags_array(form.row_sign[some].astype(float)) @ A)
    return Missed(places[some], rows, form.sides(slice(None))[some])


class ExactSearch(StagedSearch):
    """The optimum by rows that join the program, or a point where violations add up to least."""

    def __init__(self, request: SolveRequest, rows: Rows[Any]) -> None:
        if request.has_noise:
            raise AssertionError("rows are read without noise only where eps is infinite")
        public = PublicRows(request.lp)
        unlimited = public.best(public.cost) is None
        if unlimited:
            far = np.full(len(public.cost), _FARTHEST)
            public = public.narrowed(-far, far)
        super().__init__(request, 1, np.zeros(len(public.cost)))
        if unlimited:
            self.far = _unlimited
        self._rows, self._public, self._alpha = rows, public, request.accuracy()
        size = len(public.cost)
        self._count = max(_FEWEST, _EACH * size)
        self._places = np.zeros(0, dtype=np.int64)
        self._A, self._b = sp.csr_array((0, size)), np.zeros(0)
        self._kept = True  # Whether some point keeps all rows that have joined.

    def _play(self) -> Iterator[None]:
        while True:
            self._x = self._best()
            blocks = self._rows.map(most_missed, self._x, self._places, self._count, self._alpha)
            places = np.concatenate([of.places for of in blocks])
            if not places.size:
                break
            self._places = np.append(self._places, places)
            self._A = stacked(self._A, *(of.A for of in blocks))
            self._b = np.concatenate([self._b, *(of.b for of in blocks)])
        yield

    def _best(self) -> FloatArray:
        """The optimum of the public rows and those that have joined."""
        public, bounds = self._public, self._public.bounds
        cost, A, lower, upper = public.cost, public.A, public.lower, public.upper
        if self._kept:
            every = stacked(A, self._A)
            low = np.append(lower, np.full(len(self._b), -np.inf))
            status, x = optimum(cost, every, low, np.append(upper, self._b), bounds)
            if status == _OPTIMAL:
                return np.clip(x, *bounds.T)
            self._kept = False
        return self._nearest()

    def _nearest(self) -> FloatArray:
        """The cheapest point at which violations, in units of rows' norms, add up to least."""
        A, lower, upper = self._public.A, self._public.lower, self._public.upper
        size, number = len(self._public.cost), len(self._b)
        norms = np.sqrt(np.asarray(self._A.power(2).sum(axis=1)).ravel())
        of_row = sp.diags_array(-np.maximum(norms, 1e-300))
        above = sp.csr_array((A.shape[0], number))
        each = np.repeat([0.0, 1.0], [size, number])
        every = sp.csr_array(
            sp.vstack([sp.hstack([A, above]), sp.hstack([self._A, of_row]), each[None, :]])
        )
        low = np.concatenate([lower, np.full(number + 1, -np.inf)])
        high = np.concatenate([upper, self._b, [np.inf]])
        bounds = np.vstack([self._public.bounds, np.tile([0.0, np.inf], (number, 1))])
        _, found = optimum(each, every, low, high, bounds)
        high[-1] = (1 + _MORE) * float(each @ found)
        cost = np.append(self._public.cost, np.zeros(number))
        status, cheaper = optimum(cost, every, low, high, bounds)
        x = (cheaper if status == _OPTIMAL else found)[:size]
        return np.clip(x, *self._public.bounds.T)


def _unlimited(x: FloatArray) -> str:
    """What to say where nothing limits the objective."""
    return _NO_LIMIT if (np.abs(x) > _FARTHEST / 2).any() else ""


def without_noise(name: str, request: SolveRequest) -> PlannedRun:
    """The run of a method where eps is infinite."""
    s = request.density()
    charges = [check_request(request, share_of_check(request, s), math.inf)]

    def start(rows: Rows[Any], draws: Sequence[ChargedDraws]) -> Checked:
        return Checked(request, rows, ExactSearch(request, rows), draws[-1])

    predict = partial(Prediction.of_difficulty, name, 0.0, 0.0, 2, 0.0)
    return PlannedRun(charges, start, predict)
