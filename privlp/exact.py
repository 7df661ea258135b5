"""The exact, non-private optimum by HiGHS, with a certificate."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field, replace
from typing import Any, NamedTuple

import highspy
import numpy as np
import scipy.sparse as sp

from privlp.checks import FloatArray, as_printed, positive
from privlp.linear_program import LinearProgram, require_program
from privlp.problem.highs import power_of_two, quiet_highs, row_sizes, run, to_highs
from privlp.quiet import unnoticed
from privlp.readers.model_objects import assign
from privlp.sparse import as_sparse
from privlp.status import Status, in_lines, shortened

_TOLERANCE = 1e-5  # HiGHS aims at 1e-7; a certificate worse than this is not called optimal.
# Rows, sides and costs below this size are solved in other units, in which no side is larger.
_SMALL, _LARGE, _LEAST = 2.0**-10, 1e15, 2.0**-500

_STATUS = {
    highspy.HighsModelStatus.kOptimal: Status.OPTIMAL,
    highspy.HighsModelStatus.kInfeasible: Status.INFEASIBLE,
    highspy.HighsModelStatus.kUnbounded: Status.UNBOUNDED,
    highspy.HighsModelStatus.kUnboundedOrInfeasible: Status.INFEASIBLE_OR_UNBOUNDED,
    highspy.HighsModelStatus.kTimeLimit: Status.TIME_LIMIT,
    highspy.HighsModelStatus.kIterationLimit: Status.ITERATION_LIMIT,
}

_MESSAGES = {
    Status.OPTIMAL: "Optimal, and certified: see the residuals and the gap.",
    Status.INFEASIBLE: "No x satisfies all rows and bounds.",
    Status.UNBOUNDED: "The objective improves without limit over the feasible set.",
    Status.INFEASIBLE_OR_UNBOUNDED: (
        "The program is infeasible or unbounded; HiGHS did not tell which."
    ),
    Status.TIME_LIMIT: "HiGHS reached the time limit before an optimum was certified.",
    Status.ITERATION_LIMIT: "HiGHS reached its iteration limit before an optimum was certified.",
    Status.NUMERICAL_ERROR: (
        "HiGHS ended without a certified optimum, for numerical reasons; rescale the program."
    ),
}


@dataclass(frozen=True, eq=False)
class ExactSolution:
    """An exact solution.

    **Not private**: every number in it is computed from private rows without noise.

    Attributes
    ----------
    x : (d,) array or None
        Optimal point; ``None`` unless optimal.
    objective : float or None
        c·x plus the offset, and the prices of violations of soft rows, in the user's sense.
    dual : (n,) array or None
        Change of the objective per unit of each row's active side.
    status : Status
        ``OPTIMAL`` is said only if the three numbers below are small.
    message : str
        The status in a sentence.
    primal_residual : float
        Largest violation of a row or bound, divided by 1 + abs of its finite side; ``nan`` without
        x. Where rows, typical sides or costs are smaller than a thousandth, this and the next two
        are those of the program in units in which they are about 1.
    dual_residual : float
        Largest reduced cost of the wrong sign, divided by 1 + max abs(c).
    gap : float
        abs(c·x - dual objective) / (1 + abs(c·x)).

    Examples
    --------
    >>> import privlp
    >>> lp = privlp.LinearProgram(c=[1, 2], A=[[-1, -1], [-3, -4]], b=[-2, -3])
    >>> exact = privlp.solve_exact(lp)
    >>> exact.success, exact.objective, exact.gap < 1e-9, exact.primal_residual < 1e-9
    (True, 2.0, True, True)
    >>> infeasible = privlp.LinearProgram(c=[1, 2], A=[[1, 1]], b=[-2])
    >>> print(exact)
      message: Optimal, and certified: see the residuals and the gap.
       status: optimal
    objective: 2.0
            x: [2. 0.]
         dual: [-1. -0.]
          gap: 0, residuals: 0 (primal), 0 (dual)
      privacy: NOT PRIVATE: computed from private rows without noise.
    >>> exact.to_dict()["x"], privlp.solve_exact(infeasible).to_dict()["gap"]
    ([2.0, 0.0], None)
    """

    x: FloatArray | None
    objective: float | None
    dual: FloatArray | None
    status: Status
    message: str
    primal_residual: float
    dual_residual: float
    gap: float
    variable_names: tuple[str, ...] | None = field(default=None, repr=False)
    kept: tuple[str, ...] = field(default=(), repr=False)

    _repr_pretty_ = as_printed

    def __str__(self) -> str:
        """The optimum and its certificate in a few lines."""
        primal, dual = f"{self.primal_residual:.2g}", f"{self.dual_residual:.2g}"
        certificate = f"{self.gap:.2g}, residuals: {primal} (primal), {dual} (dual)"
        lines = {
            "message": self.message,
            "status": self.status,
            "objective": self.objective,
            "x": shortened(self.x),
            "dual": shortened(self.dual),
            "gap": None if self.x is None else certificate,
            "privacy": "NOT PRIVATE: computed from private rows without noise.",
        }
        return in_lines(lines)

    def to_dict(self) -> dict[str, Any]:
        """Plain data, for JSON; numbers that do not exist are ``None``."""
        plain = asdict(self)
        for key, value in plain.items():
            if isinstance(value, np.ndarray):
                plain[key] = value.tolist()
            elif isinstance(value, float) and math.isnan(value):
                plain[key] = None
        return plain

    def assign(self, problem: Any) -> None:
        """Write x into the variables of the model from which the program was made.

        As :meth:`Solution.assign <privlp.Solution.assign>`, but **not private**.

        Examples
        --------
        >>> import cvxpy as cp, privlp
        >>> x = cp.Variable(2, nonneg=True)
        >>> problem = cp.Problem(cp.Minimize(x[0] + 2 * x[1]), [x[0] + x[1] >= 2, x[0] <= 1.5])
        >>> privlp.solve_exact(privlp.LinearProgram.from_cvxpy(problem)).assign(problem)
        >>> x.value
        array([1.5, 0.5])
        """
        assign(problem, self, optimal=self.success)

    @property
    def success(self) -> bool:
        """Whether x is a certified optimum."""
        return self.status.success


def solve_exact(lp: LinearProgram, *, time_limit: float | None = None) -> ExactSolution:
    """Solve `lp` exactly with HiGHS: **not private**.

    Parameters
    ----------
    lp : LinearProgram
        The program; soft rows (``penalty``) are honoured.
    time_limit : float, optional
        Seconds.

    Examples
    --------
    >>> import numpy as np
    >>> from privlp import LinearProgram, solve_exact
    >>> exact = solve_exact(LinearProgram(c=[1, 2], A=[[-1, -1], [-1, -3]], b=[-2, -3]))
    >>> exact.objective, exact.x, exact.status
    (2.5, array([1.5, 0.5]), <Status.OPTIMAL: 'optimal'>)
    """
    require_program(lp)
    lp = lp.in_memory()
    limit = math.inf if time_limit is None else positive(time_limit, "time_limit")
    units = _Units.of(lp)
    if units.usual:
        return _solved(lp, limit)
    return units.undone(lp, _solved(units.changed(lp), limit))


def _solved(lp: LinearProgram, limit: float) -> ExactSolution:
    """The certified optimum of a program in memory."""
    highs, model = quiet_highs(time_limit=limit), to_highs(lp)
    if highs.passModel(model) == highspy.HighsStatus.kError:
        return _without_optimum(Status.NUMERICAL_ERROR)
    status = _STATUS.get(run(highs), Status.NUMERICAL_ERROR)
    return _certified(lp, model, highs) if status is Status.OPTIMAL else _without_optimum(status)


class _Units(NamedTuple):
    """Units in which no rows, sides or costs are small: the tolerances of HiGHS are absolute."""

    rows: FloatArray  # Of each row.
    variables: float
    costs: float

    @classmethod
    def of(cls, lp: LinearProgram) -> _Units:
        """Powers of two; 1 for what is not small."""
        sides = np.abs(np.stack([lp.row_lower, lp.b]))
        sides[~np.isfinite(sides)] = 0.0
        sizes = np.maximum(row_sizes(as_sparse(lp.A)), sides.max(axis=0))
        rows = np.where(sizes < _SMALL, power_of_two(sizes), 1.0)
        ends, bounds = (sides / rows)[sides > 0], lp.bounds[np.isfinite(lp.bounds)]
        prices = np.empty(0) if lp.penalty is None else np.ravel(lp.penalty.T * rows)
        if sizes[sizes > 0].min(initial=1.0) < _LEAST or (prices == 0).any():
            return cls(np.ones_like(rows), 1.0, 1.0)
        largest = np.abs(np.concatenate([lp.c, prices[np.isfinite(prices)]])).max()
        typical = np.median(ends) if len(ends) else 1.0
        small = [float(power_of_two(of)) if of < _SMALL else 1.0 for of in (typical, largest)]
        if np.abs(np.concatenate([ends, bounds])).max(initial=0.0) > _LARGE * small[0]:
            small[0] = 1.0
        return cls(rows, *small)

    @property
    def usual(self) -> bool:
        """Whether all are 1."""
        return self.variables == self.costs == 1 and bool((self.rows == 1).all())

    def changed(self, lp: LinearProgram) -> LinearProgram:
        """The program in these units."""
        rows, unit, prices = self.rows, self.variables, lp.penalty
        if prices is not None:
            prices = (prices.T * rows).T / self.costs
        return LinearProgram(
            lp.c / self.costs,
            sp.csr_array(sp.diags_array(1 / rows) @ lp.A) if lp.is_sparse else lp.A / rows[:, None],
            lp.b / rows / unit,
            row_lower=lp.row_lower / rows / unit,
            bounds=lp.bounds / unit,
            sense=lp.sense,
            penalty=prices,
        )

    def undone(self, lp: LinearProgram, found: ExactSolution) -> ExactSolution:
        """What was found in these units, as the solution of the program."""
        if found.x is None or found.dual is None or found.objective is None:
            return found
        return replace(
            found,
            x=found.x * self.variables,
            objective=found.objective * self.variables * self.costs + lp.offset,
            dual=found.dual * self.costs / self.rows,
            variable_names=lp.variable_names,
            kept=lp.kept,
        )


def _without_optimum(status: Status) -> ExactSolution:
    return ExactSolution(None, None, None, status, _MESSAGES[status], math.nan, math.nan, math.nan)


@unnoticed()
def _certified(lp: LinearProgram, model: highspy.HighsLp, highs: highspy.Highs) -> ExactSolution:
    """Certify what HiGHS found: residuals of primal and dual, and the gap of their objectives."""
    found, d = highs.getSolution(), lp.shape[1]
    columns, row_values, duals, reduced = map(
        np.asarray, (found.col_value, found.row_value, found.row_dual, found.col_dual)
    )
    activity = lp.A @ columns[:d]
    slack_part = row_values - activity if lp.penalty is not None else 0.0
    cost = np.asarray(model.col_cost_)
    primal, dual_residual, dual_objective = 0.0, 0.0, lp.offset
    for values, multipliers, lower, upper in (
        (activity + slack_part, duals, model.row_lower_, model.row_upper_),
        (columns, reduced, model.col_lower_, model.col_upper_),
    ):
        ends = np.asarray(lower), np.asarray(upper)
        for end, beyond in zip(ends, (ends[0] - values, values - ends[1]), strict=True):
            finite = np.isfinite(end)
            relative = np.where(finite, beyond, 0.0) / (1 + np.abs(np.where(finite, end, 0.0)))
            primal = max(primal, float(relative.max(initial=0.0)))
        active = np.where(lp.sign * multipliers > 0, *ends)
        priced = np.isfinite(active)
        dual_residual = max(dual_residual, float(np.abs(multipliers[~priced]).max(initial=0.0)))
        dual_objective += float(multipliers[priced] @ active[priced])
    stationarity = cost[:d] - lp.A.T @ duals - reduced[:d]
    dual_residual = max(dual_residual, float(np.abs(stationarity).max()))
    dual_residual /= 1 + float(np.abs(cost).max())
    objective = float(cost @ columns) + lp.offset
    gap = abs(objective - dual_objective) / (1 + abs(objective))
    certified = max(primal, dual_residual, gap) <= _TOLERANCE
    status = Status.OPTIMAL if certified else Status.NUMERICAL_ERROR
    certificate = status, _MESSAGES[status], primal, dual_residual, gap
    if status is not Status.OPTIMAL:
        return ExactSolution(None, None, None, *certificate)
    return ExactSolution(
        columns[:d].copy(), objective, duals.copy(), *certificate, lp.variable_names, lp.kept
    )
