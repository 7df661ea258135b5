"""Solutions that satisfy the true rows with certainty: noise that only tightens, and a check in exact arithmetic."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import highspy
import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from privlp.errors import InvalidParameterError, UnsupportedProblemError
from privlp.privacy import TruncatedLaplaceMechanism
from privlp.privacy.ledger import ChargedDraws
from privlp.problem import StandardForm
from privlp.problem.exact_arithmetic import satisfied
from privlp.problem.highs_model import model_of, optimum
from privlp.problem.public_region import require_bounded
from privlp.relations import Figures, PrivateNumbers
from privlp.solvers.game import Released
from privlp.solvers.noisy_numbers import NAMES, low_sensitivity, private_numbers, shares
from privlp.solvers.task import Task
from privlp.status import Status

FloatArray = npt.NDArray[np.float64]

_METHODS = {False: "truncated-laplace", True: "truncated-laplace-published"}
_PRECISION = 1e-9
_SNAP = 1e-9


def truncated_laplace(task: Task) -> NeverViolated:
    """Release tightened numbers, solve the tightened program: its every solution satisfies the true rows.

    *Neighbours*: scalar-, row-, column- or objective-private, or several at once.

    *Sensitivity.* The L1 change of the numbers themselves, in the user's units. Each is released by
    :class:`~privlp.privacy.TruncatedLaplaceMechanism`, whose noise has bounded support and is shifted to one side: right-hand
    sides only fall, coefficients only grow where x_j >= 0 and only fall where x_j <= 0. A variable of either sign is split, and
    its coefficient taken at both ends of the interval that holds the true one. Costs are released with the same noise, centred.

    *Budget.* Parts that take eps_k with sum eps share one delta: sum_k (e^(eps_k) - 1) <= e^eps - 1. Outside zCDP.

    *Never.* Releases are clipped to the declared public ranges, so they are never tighter than the tightest program within the
    ranges; a point of that program, found and checked before anything is spent, is public and satisfies every possible row. The
    solution of HiGHS, feasible to 1e-9 only, is moved towards that point until it satisfies the released rows in exact
    arithmetic. Muñoz Medina et al. (2021) for b; Benvenuti et al. (2026) for A and c. Proof: ``docs/proofs.md``, "Constraints that
    are never violated".
    """
    return _never_violated(task, published=False)


def published_truncated_laplace(task: Task) -> NeverViolated:
    """As :func:`truncated_laplace`, with the published width ln(m (e^eps - 1)/delta + 1) for m numbers; for comparison."""
    return _never_violated(task, published=True)


def _never_violated(task: Task, *, published: bool) -> NeverViolated:
    method = _METHODS[published]
    relation = low_sensitivity(task, method)
    task.refuse(
        method,
        s="no row is given up",
        alpha="no row is violated",
        width="ranges are declared by the neighbour relation",
        opt="the tightened program is solved for its own optimum",
    )
    if math.isfinite(task.ledger.eps) and task.ledger.delta == 0:
        raise InvalidParameterError(f"delta must be positive with method={method!r}: noise of bounded support needs it.")
    numbers = private_numbers(task, relation)
    parts = {part.part for part in numbers}
    _require_ranges(task.form, numbers)
    require_bounded(task.lp, parts)
    fallback = _surely_feasible(Rows.tightest(task.form, numbers))
    split = shares(task, numbers, lambda part: part.l1)
    mechanisms = _mechanisms(task, numbers, split, published=published)
    requests = [(m, 1, f"tighten {NAMES[p.part]}") for m, p in zip(mechanisms, numbers, strict=True)]
    draws = task.charge_together(requests)
    return NeverViolated(task.form, numbers, draws, fallback=fallback, time_limit=task.time_limit)


def _mechanisms(
    task: Task, numbers: list[PrivateNumbers], split: list[float], *, published: bool
) -> list[TruncatedLaplaceMechanism]:
    entries = sum(len(part) for part in numbers) if published else None
    delta = task.ledger.delta_left

    def make(eps: float) -> list[tuple[TruncatedLaplaceMechanism, int]]:
        return [
            (TruncatedLaplaceMechanism.of_budget(part.l1, share * eps, delta, shift=eps, published_for=entries), 1)
            for part, share in zip(numbers, split, strict=True)
        ]

    return [mechanism for mechanism, _ in make(task.ledger.calibrate_together(make))]


def _require_ranges(form: StandardForm, numbers: list[PrivateNumbers]) -> None:
    """Refuse private equalities, and numbers without a declared end on the side they are tightened to."""
    lower, upper = form.lp.bounds.T
    if (form.lp.private & (form.lp.row_lower == form.lp.b)).any() and any(part.part != "c" for part in numbers):
        raise UnsupportedProblemError(
            "A private equality cannot be tightened, so it cannot be satisfied with certainty. Make it public (private=...), or "
            "state the inequality that matters."
        )
    for part in numbers:
        if part.part == "c":
            continue
        if part.part == "b":
            open_ended = ~np.isfinite(part.low)
            end = "lower (for <= rows) or upper (for >= rows)"
        else:
            side, column = form.lp.sides()[part.at[0]], part.at[1]
            above, below = np.isfinite(form.lp.b[part.at[0]]), np.isfinite(form.lp.row_lower[part.at[0]])
            grows = (above & (upper[column] > 0)) | (below & (lower[column] < 0))
            falls = (above & (lower[column] < 0)) | (below & (upper[column] > 0))
            open_ended = (side > 0) & ((grows & ~np.isfinite(part.high)) | (falls & ~np.isfinite(part.low)))
            end = "upper (where growth tightens a row) or lower (where a fall does)"
        if open_ended.any():
            raise UnsupportedProblemError(
                f"feasible='always' needs a declared public range of the {NAMES[part.part]}: give the neighbour relation a finite "
                f"{end}, the same for every neighbour and not read off the data."
            )


@dataclass(frozen=True, eq=False, repr=False)
class Rows:
    """The rows that the solution must satisfy, in variables of one sign each: x_j = sum of sign_k y_k over its columns k.

    Attributes
    ----------
    form : StandardForm
    column, sign : (k,)
        User's variable behind each y, and its sign.
    bounds : (k, 2)
        Bounds on y.
    A : (r, k) sparse array
        Inequality rows A y <= rhs: private ones at their tightest within what is known, then public ones.
    rhs : (r,)
    """

    form: StandardForm
    column: npt.NDArray[np.int64]
    sign: FloatArray
    bounds: FloatArray
    A: sp.csr_array
    rhs: FloatArray

    @classmethod
    def tightest(cls, form: StandardForm, numbers: list[PrivateNumbers]) -> Rows:
        """Private numbers at the tight ends of their declared ranges: the worst case, public."""
        figures, ends = Figures.of(form), None
        for part in numbers:
            if part.part == "b":
                figures = figures.having(part, part.low)
            elif part.part == "A":
                ends = part, part.low, part.high
        return cls.of(figures, ends)

    @classmethod
    def of(cls, figures: Figures, ends: tuple[PrivateNumbers, FloatArray, FloatArray] | None) -> Rows:
        """Rows with these right-hand sides, and with coefficients between the given ends where they are private."""
        form, lp = figures.form, figures.form.lp
        lower, upper = lp.bounds.T
        mixed = (lower < 0) & (upper > 0) if ends is not None else np.zeros(len(lower), dtype=bool)
        negative = (upper <= 0) & (lower < 0)
        plus, minus = np.flatnonzero(~negative), np.flatnonzero(negative | mixed)
        split = mixed[np.concatenate([plus, minus])]
        bounds = np.vstack([lp.bounds[plus], -lp.bounds[minus][:, ::-1]])
        bounds[split, 0] = 0.0
        grown, fallen = (figures.private_rows(),) * 2 if ends is None else _at_ends(figures, *ends)
        private = sp.hstack([sp.csr_array(grown)[:, plus], -sp.csr_array(fallen)[:, minus]])
        public = ~lp.private & (lp.row_lower < lp.b)
        above, below = np.flatnonzero(public & np.isfinite(lp.b)), np.flatnonzero(public & np.isfinite(lp.row_lower))
        A = sp.csr_array(lp.A)
        known = sp.vstack([A[above], -A[below]])
        known = sp.hstack([sp.csr_array(known)[:, plus], -sp.csr_array(known)[:, minus]])
        return cls(
            form=form,
            column=np.concatenate([plus, minus]),
            sign=np.repeat([1.0, -1.0], [len(plus), len(minus)]),
            bounds=bounds,
            A=sp.csr_array(sp.vstack([private, known])),
            rhs=np.concatenate([figures.rhs, lp.b[above], -lp.row_lower[below]]),
        )

    def equalities(self) -> tuple[Any, FloatArray]:
        """Public equalities, which hold to the precision of HiGHS."""
        lp = self.form.lp
        equal = ~lp.private & (lp.row_lower == lp.b)
        return sp.csr_array(lp.A)[equal][:, self.column] * self.sign, lp.b[equal]

    def allow(self, x: FloatArray) -> bool:
        """Whether x satisfies bounds and inequality rows in exact arithmetic."""
        lower, upper = self.form.lp.bounds.T
        y = np.maximum(self.sign * x[self.column], 0.0) if len(self.column) > len(x) else self.sign * x[self.column]
        return bool(((lower <= x) & (x <= upper)).all()) and satisfied(self.A, y, self.rhs)

    def point(self, y: FloatArray) -> FloatArray:
        """The user's x behind y, within bounds, on a bound where it is within a hair of it."""
        x = np.zeros(self.form.lp.shape[1])
        np.add.at(x, self.column, self.sign * y)
        for end in self.form.lp.bounds.T:
            close = np.abs(x - end) <= _SNAP * (1 + np.abs(x))
            x[close] = end[close]
        return np.clip(x, *self.form.lp.bounds.T)


def _at_ends(figures: Figures, part: PrivateNumbers, low: FloatArray, high: FloatArray) -> tuple[Any, Any]:
    """Coefficients of the private ``<=`` rows for x_j >= 0 (the largest possible) and for x_j <= 0 (the smallest possible)."""
    largest, smallest = (figures.having(part, end).private_rows() for end in (high, low))
    above = figures.form.row_sign[:, None] > 0
    dense = [rows.toarray() if sp.issparse(rows) else rows for rows in (largest, smallest)]
    return np.where(above, *dense), np.where(above, *dense[::-1])


def _surely_feasible(rows: Rows) -> FloatArray:
    """A point of the tightest program, as far inside as can be, certified in exact arithmetic. Public.

    Raises
    ------
    UnsupportedProblemError
        If there is none.
    """
    size = np.maximum(abs(rows.A).max(axis=1).toarray().ravel(), 1e-9) if rows.A.shape[0] else np.empty(0)
    equal, values = rows.equalities()
    inward = np.concatenate([size, np.zeros(len(values))])
    matrix = sp.hstack([sp.vstack([rows.A, equal]), sp.csr_array(inward[:, None])])
    cost = np.append(np.zeros(len(rows.column)), -1.0)
    lower = np.concatenate([np.full(len(size), -np.inf), values])
    bounds = np.vstack([rows.bounds, [0.0, 1.0]])
    status, point = optimum(model_of(cost, matrix, lower, np.concatenate([rows.rhs, values]), bounds), **_PRECISELY)
    if status == highspy.HighsModelStatus.kOptimal:
        x = rows.point(point[:-1])
        if rows.allow(x):
            return x
    raise UnsupportedProblemError(
        "The tightened worst case has no feasible point: with every private number at the tight end of its declared range, no x "
        "satisfies all rows (or none that double precision can certify). Declare narrower ranges, or leave out feasible='always'. "
        "Nothing was drawn and nothing was charged."
    )


_PRECISELY = {"primal_feasibility_tolerance": _PRECISION, "dual_feasibility_tolerance": _PRECISION}


class NeverViolated:
    """One release of tightened numbers, HiGHS on the tightened program, and a point that certainly satisfies it.

    Parameters
    ----------
    form : StandardForm
        The program.
    numbers : list of PrivateNumbers
    draws : list of ChargedDraws
        One paid draw of a truncated Laplace mechanism for each.
    fallback : (d,)
        Public point that satisfies every possible program.
    time_limit : float or None
        Seconds for HiGHS.
    """

    rounds = 1

    def __init__(
        self,
        form: StandardForm,
        numbers: list[PrivateNumbers],
        draws: list[ChargedDraws],
        *,
        fallback: FloatArray,
        time_limit: float | None,
    ) -> None:
        self._form, self._numbers, self._draws, self._fallback = form, numbers, draws, fallback
        self._options = _PRECISELY if time_limit is None else {**_PRECISELY, "time_limit": time_limit}
        self._figures = Figures.of(form)
        self._ends: tuple[PrivateNumbers, FloatArray, FloatArray] | None = None
        self._trace: dict[str, npt.NDArray[np.generic]] = {}

    def step(self, t: int) -> None:  # noqa: ARG002 (the only round)
        """Release the tightened numbers, clipped to their declared ranges; only released ones are kept."""
        for numbers, draw in zip(self._numbers, self._draws, strict=True):
            width = draw.mechanism.width  # type: ignore[attr-defined]
            if numbers.part == "A":
                largest = -draw(-numbers.values)
                smallest = largest - 2 * width
                # Two roundings, of at most half a unit in the last place each, must not lift it above the true value.
                smallest -= 2 * np.spacing(np.maximum(np.abs(largest), np.abs(smallest))) if width > 0 else 0.0
                self._ends = numbers, np.maximum(smallest, numbers.low), np.minimum(largest, numbers.high)
                self._trace["largest A"] = self._ends[2]
                continue
            released = draw(numbers.values) + (width if numbers.part == "c" else 0.0)
            released = np.clip(released, numbers.low, numbers.high)
            self._figures = self._figures.having(numbers, released)
            self._trace["noisy c" if numbers.part == "c" else "tightened b"] = released

    def released(self) -> Released:
        """The solution of the tightened program, moved until it certainly satisfies it."""
        lp, cost = self._form.lp, self._figures.c
        rows = Rows.of(self._figures, self._ends)
        equal, values = rows.equalities()
        matrix = sp.vstack([rows.A, equal])
        lower, upper = np.concatenate([np.full(len(rows.rhs), -np.inf), values]), np.concatenate([rows.rhs, values])
        model = model_of(cost[rows.column] * rows.sign, matrix, lower, upper, rows.bounds, sense=lp.sense)
        status, point = optimum(model, **self._options)
        if status == highspy.HighsModelStatus.kTimeLimit:
            return Released(None, None, self._trace, Status.TIME_LIMIT, "HiGHS reached the time limit")
        found = status == highspy.HighsModelStatus.kOptimal
        x = self._certain(rows, rows.point(point)) if found else self._fallback
        message = "Solved the tightened program; x satisfies every inequality row with certainty"
        if not found:
            message = "HiGHS found no optimum of the tightened program, so x is the public point that satisfies every possible row"
        return Released(x, float(cost @ x) + lp.offset, self._trace, message=message)

    def _certain(self, rows: Rows, x: FloatArray) -> FloatArray:
        """The first point on the way from x to the public one that satisfies all rows in exact arithmetic."""
        for step in (0.0, *np.geomspace(2.0**-50, 0.25, 25)):
            moved = np.clip(x + step * (self._fallback - x), *self._form.lp.bounds.T)
            if rows.allow(moved):
                return moved
        return self._fallback
