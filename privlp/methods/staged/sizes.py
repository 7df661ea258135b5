"""The sizes that a staged search goes through, by public limits and hints."""

from __future__ import annotations

import math

import numpy as np

from privlp.checks import FloatArray, real
from privlp.errors import UnsupportedProblemError
from privlp.methods.request import SolveRequest
from privlp.problem.data import ProgramData
from privlp.regions.public_rows import CONTRADICTION, ContradictionError
from privlp.regions.simplex import Simplex, is_range, range_of
from privlp.tables import listed

# Sizes are looked for within this factor (its logarithm) of variables near 1. A hint farther off
# than the second takes their place.
_WIDE, _FARTHEST_HINT = 21.0, 14.0
_FAR = 3.0  # An answer so near the far end of that is none: optima of hints are farther from it.
# The first size, at equal shares, is likely between these factors of a hint (their logarithms).
_AROUND = (-1.5, 3.0)
_EVEN = 0.02  # So much of the shares of a known point is spread evenly: a share of 0 would stay 0.


class Sizes:
    """Regions {u >= 0, cost·u = V}, by place: log|V|, or -log|V| where larger V hurt rows."""

    def __init__(self, request: SolveRequest, hint: tuple[float, float] | None) -> None:
        self.form = request.form
        cost = self.form.cost
        self._sign = -1.0 if cost.size and cost[0] < 0 else 1.0
        self.larger_helps = self._sign > 0
        self._at_bounds = request.lp.objective(self.form.shift)
        #: The place of a hint, or of the largest size; None if neither is known.
        self.likely: float | None = None
        #: Between these places the stages likely begin; None without a hint.
        self.likely_start: tuple[float, float] | None = None
        # Without a hint: variables near 1.
        centre = math.log(max(float(np.abs(cost).sum()), 1e-150)) * self._sign
        if hint is not None:
            likely = [self._sign * self.form.cost_of(value) for value in hint]
            known = sorted(self._sign * math.log(value) for value in likely if value > 0)
            if known:
                self.likely = (known[0] + known[-1]) / 2
                self.likely_start = known[0] + _AROUND[0], known[-1] + _AROUND[1]
                if abs(self.likely - centre) > _FARTHEST_HINT:
                    centre = self.likely
        smallest, largest = self._bounds(request)
        places = sorted(
            self._sign * math.log(size) if 0 < size < math.inf else self._sign * end
            for size, end in ((smallest, -math.inf), (largest, math.inf))
        )
        if self.likely is None and largest < math.inf:
            self.likely = self._sign * math.log(largest)
        self.middle = min(max(centre, places[0]), places[1])
        self.ends = max(places[0], self.middle - _WIDE), min(places[1], self.middle + _WIDE)
        for end in self.ends:  # refuses regions that are no simplices
            self.region(end)
        #: What is said where only private rows can limit how far the objective improves.
        self.note = self._unlimited() if self._sign < 0 and math.isinf(largest) else ""

    def _unlimited(self) -> str:
        columns = self.form.column[np.isinf(self.form.upper)]
        return (
            "No public bound or row limits"
            f" {listed([*map(self.form.lp.variable_name, columns.tolist())])} where the objective"
            " improves. If private rows do not limit them either, there is no answer: x is far out"
            " then, and solve warns."
        )

    def far(self, x: FloatArray) -> str:
        """What to warn of if nothing was found to limit this released point."""
        found = self.known(x) if self.note else None
        if found is None or found[0] > self.middle - _WIDE + _FAR:
            return ""
        return (
            "x is no answer: it lies where the search ends, far out, and no public limit stands in"
            " its way. Check the signs of costs and rows, and the sense; or give bounds. If numbers"
            " of this size are meant, give opt, a public guess of the optimum."
        )

    def known(self, x: FloatArray) -> tuple[float, FloatArray] | None:
        """The place of a point, and its shares, all of them positive; None at the bounds."""
        u = (x - self.form.shift)[self.form.column] * self.form.column_sign
        part = np.maximum(u * self.form.cost * self._sign, 0.0)
        size = part.sum()
        if not size > 0:
            return None
        place = min(max(self._sign * math.log(size), self.ends[0]), self.ends[1])
        return place, (1 - _EVEN) * part / size + _EVEN / len(part)

    def value(self, place: float) -> float:
        """The objective at a place."""
        return self._at_bounds + self.form.lp.sign * self._cost(place)

    def _cost(self, place: float) -> float:
        return self._sign * math.exp(self._sign * place)

    def region(self, place: float) -> Simplex:
        """The region at a place."""
        return Simplex(self.form, None, cost=self._cost(place), capped=True)

    def _bounds(self, request: SolveRequest) -> tuple[float, float]:
        """The sizes that bounds of variables and public rows allow."""
        cost = self.form.cost
        smallest, largest = 0.0, float(np.abs(cost) @ self.form.upper) if cost.all() else 0.0
        if self.form.has_public_rows:
            ends = [self._sign * self.form.cost_of(end) for end in objective_range(request.lp)]
            smallest, largest = max(smallest, min(ends)), min(largest, max(ends))
        if not smallest < largest:
            raise UnsupportedProblemError(
                "method='staged' needs costs that are not 0, and bounds of variables and public"
                " rows that leave more than one objective.",
                parameter="method",
            )
        return smallest, largest

    def point(self, place: float, share: FloatArray) -> FloatArray:
        """The user's x of these shares at a place."""
        region = self.region(place)
        return self.form.undo(region.point(region.nearest(share)))


def objective_range(lp: ProgramData) -> tuple[float, float]:
    """Between which objectives public rows keep; they may do no more."""
    low, high = -math.inf, math.inf
    square = float(lp.c @ lp.c)
    for i in np.flatnonzero(~lp.private):
        row = lp.A[[i], :].toarray().ravel() if lp.is_sparse else lp.A[i]
        times = float(row @ lp.c) / square if square > 0 else 0.0
        if times == 0 or not np.allclose(row, times * lp.c, rtol=1e-9, atol=0.0):
            raise UnsupportedProblemError(
                "method='staged' takes public rows only if they bound the objective, and a public"
                " row does more here. Use method='perturbed'.",
                parameter="method",
            )
        ends = sorted([float(lp.row_lower[i]) / times, float(lp.b[i]) / times])
        low, high = max(low, ends[0] + lp.offset), min(high, ends[1] + lp.offset)
    if low > high:
        raise ContradictionError(CONTRADICTION)
    return low, high


def hint_of(request: SolveRequest) -> tuple[float, float] | None:
    """The objectives between which the optimum is likely."""
    if request.opt is None or is_range(request.opt):
        return None if request.opt is None else range_of(request.opt)
    value = real(request.opt, "opt")
    return value, value
