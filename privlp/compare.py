"""Compare a private solution with the exact one. **Not private**: for teaching and research."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import highspy
import numpy as np
import scipy.sparse as sp

from privlp.checks import FloatArray, real, require, require_flag, require_kind, rows_of_share
from privlp.exact import ExactSolution, solve_exact
from privlp.linear_program import LinearProgram, require_program
from privlp.pictures import GREY, drawing_on, marks, place_legend
from privlp.problem.data import ProgramData
from privlp.problem.highs import quiet_highs, run, to_highs
from privlp.quiet import unnoticed
from privlp.solution import Solution, point_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

TOLERANCE = 1e-6  #: What HiGHS may violate a row by at an optimum, with a margin.
# Of the rows that bind, so many are given up at once: those of the largest shadow prices.
_AT_ONCE = 0.5
_LEAST = 1e-9  # Shadow prices below this share of the largest are rounding.
_TURNS = 20  # Solves beyond two for each row that is given up.


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


@dataclass(frozen=True, eq=False)
class Comparison:
    """What a private solution costs and violates.

    **Not private**: computed from private rows without noise.

    Attributes
    ----------
    objective, exact_objective : float or None
        Objectives of both solutions in the user's sense, the price of violated soft rows included.
    violations : (n,)
        How far each row of the user's program is violated, in its own units; 0 where it holds.
    scaled_violations : (n,)
        The same per unit of ||A_i||_2, the units of alpha.
    s : float or None
        Number of rows that may be given up, if it was told.
    tolerance : float
        Violations up to this, per unit of ||A_i||_2, do not count: solvers round.
    given_up_objective : float or None
        Objective of a reference that is not private either, and leaves out at most `s` private
        rows too, if it was asked for. A heuristic finds it: the best such program may be better.

    Examples
    --------
    >>> import privlp
    >>> lp = privlp.LinearProgram(c=[1, 2], A=[[-1, -1], [-3, -4]], b=[-2, -3])
    >>> comparison = privlp.compare(lp, [1.0, 0.0], s=1)
    >>> comparison.violation_at(0), comparison.violation_at(1), round(comparison.objective_gap, 3)
    (1.0, 0.0, -0.333)
    >>> comparison
    Comparison(NOT PRIVATE: objective_gap=-0.333, rows violated=1 of 2 (s=1) beyond tolerance ...
    >>> comparison.n_violated(), comparison.n_violated(alpha=2)
    (1, 0)
    >>> comparison = privlp.compare(lp, [1.0, 0.0], s=1, give_up=True)
    >>> comparison.given_up_objective, comparison.given_up_gap
    (1.0, 0.0)
    """

    objective: float
    exact_objective: float | None
    violations: FloatArray
    scaled_violations: FloatArray
    s: float | None = None
    tolerance: float = TOLERANCE
    given_up_objective: float | None = None

    @property
    def objective_gap(self) -> float | None:
        """Private minus exact objective, relative to 1 + abs(exact).

        ``None`` if there is no exact optimum.
        """
        return self._beside(self.exact_objective)

    @property
    def given_up_gap(self) -> float | None:
        """Private objective minus `given_up_objective`, relative to 1 + its size.

        ``None`` where it was not asked for. What privacy costs, where a private solution may miss
        rows: the exact optimum misses none.
        """
        return self._beside(self.given_up_objective)

    def _beside(self, reference: float | None) -> float | None:
        if reference is None:
            return None
        return (self.objective - reference) / (1 + abs(reference))

    def violation_at(self, s: float) -> float:
        """The (s+1)-th largest violation, in the user's units; 0 where no more than s rows exist.

        It is the largest violation that is left when s rows are given up.
        """
        return _beyond(self.violations, _rows_given_up(s))

    def n_violated(self, alpha: float | None = None) -> int:
        """Number of rows violated by more than alpha per unit of ||A_i||_2.

        By default alpha is `tolerance`.
        """
        alpha = self.tolerance if alpha is None else alpha
        require(not np.isnan(real(alpha, "alpha")), "alpha must be a number, got nan.", "alpha")
        return int(np.count_nonzero(self.scaled_violations > alpha))

    def plot(
        self, ax: Axes | None = None, *, label: str | None = None, s: float | None = None
    ) -> Axes:
        """Draw how many rows are violated by more than each amount.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; a new figure by default.
        label : str, optional
            Name in the legend.
        s : float, optional
            Mark the number of rows given up; by default the one that was told, if any.

        Raises
        ------
        InvalidParameterError
            If `s` is negative or no number.

        Examples
        --------
        >>> import matplotlib.pyplot as plt, privlp
        >>> lp = privlp.LinearProgram(c=[1, 2], A=[[-1, -1], [-3, -4]], b=[-2, -3])
        >>> ax = privlp.compare(lp, [1.0, 0.0]).plot(label="a guess", s=1)
        >>> print(ax.get_title())
        not private: computed from the true rows
        >>> plt.close(ax.figure)
        """
        s = self.s if s is None else _rows_given_up(s)
        largest_first = np.sort(self.violations[self.violations > 0])[::-1]
        if not len(largest_first):
            label = "no row is violated" if label is None else f"{label}: no row is violated"
        with drawing_on(ax) as axes:
            k = sum(line.get_drawstyle() == "steps-pre" for line in axes.lines)
            amounts = np.append(largest_first, 0.0)
            look = marks(k, len(amounts))
            axes.step(amounts, np.arange(len(amounts)), where="pre", label=label, **look)
            if s is not None:
                axes.axhline(s, color=GREY, linestyle="--", label=f"s = {s:g} rows given up")
            axes.set_xlabel("violation (units of the row)")
            axes.set_ylabel("rows violated by more (number)")
            axes.set_yscale("symlog", linthresh=1.0)
            axes.yaxis.set_major_formatter("{x:g}")
            axes.set_xlim(left=0.0, auto=None)  # the other end follows what is drawn later
            axes.set_ylim(0.0, max(1.0, axes.get_ylim()[1]), auto=None)
            axes.set_title(axes.get_title() or "not private: computed from the true rows")
            if label is not None or s is not None:
                place_legend(axes, outside=False)
        return axes

    def __repr__(self) -> str:
        gap = "none" if self.objective_gap is None else f"{self.objective_gap:+.3g}"
        worst = _beyond(self.scaled_violations, 0)
        rows, beyond = f"{self.n_violated()} of {len(self.violations)}", ""
        if self.s is not None:
            rows += f" (s={self.s:g})"
            beyond = f" (beyond s rows: {_beyond(self.scaled_violations, self.s):.3g})"
        if self.given_up_gap is not None:
            gap += f", beside a reference that also gives up s rows={self.given_up_gap:+.3g}"
        return (
            f"Comparison(NOT PRIVATE: objective_gap={gap}, rows violated={rows} beyond tolerance"
            f" {self.tolerance:g}, worst violation={worst:.3g}{beyond}, per unit of row norm)"
        )


def _beyond(violations: FloatArray, s: float) -> float:
    """The largest violation of all but s rows."""
    if s >= len(violations):
        return 0.0
    rank = int(s) + 1
    return float(np.partition(violations, -rank)[-rank])


def compare(
    lp: LinearProgram,
    solution: Solution | ExactSolution | Any,
    exact: ExactSolution | None = None,
    *,
    s: float | str | None = None,
    tolerance: float = TOLERANCE,
    give_up: bool = False,
) -> Comparison:
    """Compare a solution, or any point, with the exact optimum and with every row: **not private**.

    Parameters
    ----------
    lp : LinearProgram
        The program.
    solution : Solution, ExactSolution or array_like of shape (d,)
        What to look at.
    exact : ExactSolution, optional
        The exact optimum; computed with HiGHS if left out.
    s : float or str, optional
        Number of rows that may be given up, or a share of the private ones such as ``"5%"``, as for
        :func:`solve`; shown next to the number of violated rows.
    tolerance : float
        Violations up to this, per unit of ||A_i||_2, are not counted.
    give_up : bool
        Also find a reference that leaves out at most `s` private rows, by many solves of HiGHS:
        :attr:`Comparison.given_up_gap`. Soft rows have no use for it.

    Examples
    --------
    >>> from privlp import LinearProgram, compare
    >>> lp = LinearProgram(c=[1, 2], A=[[-1, -1], [-3, -4]], b=[-2, -3])
    >>> comparison = compare(lp, [1.0, 0.0])
    >>> comparison.violations, round(comparison.objective_gap, 3), comparison.n_violated(0.5)
    (array([1., 0.]), -0.333, 1)
    """
    require_program(lp)
    require_kind(exact, ExactSolution | None, "exact", "an ExactSolution")
    if s is not None:
        s = _rows_given_up(rows_of_share(s, int(np.count_nonzero(lp.private))))
    require_flag(give_up, "give_up")
    require(
        not give_up or (s is not None and lp.penalty is None),
        "give_up=True needs s, the number of rows to give up, and rows without a penalty: soft rows"
        " may be violated as they are.",
        "give_up",
    )
    wrong = f"tolerance must be a finite number of at least 0, got {tolerance!r}."
    require(0 <= real(tolerance, "tolerance") < np.inf, wrong, "tolerance")
    with unnoticed():
        x = point_of(lp, solution)
        exact = solve_exact(lp) if exact is None else exact
        if exact.x is not None:
            point_of(lp, exact, "exact")  # of the same variables; rows may be others
        activity = lp.A @ x
        b = np.asarray(lp.b)
        above, below = np.maximum(activity - b, 0.0), np.maximum(lp.row_lower - activity, 0.0)
        violations = np.maximum(above, below)
        norms = np.concatenate(lp.A.of_each_block(_norms)) if lp.in_blocks else _norms(lp.A)
        scaled = np.where(violations > 0, np.inf, 0.0)
        np.divide(violations, norms, out=scaled, where=norms > 0)
        objective = lp.objective(x) + lp.price_of(above - below)
        without = (
            objective_without(lp.in_memory(), int(min(s or 0, lp.shape[0]))) if give_up else None
        )
        return Comparison(
            objective, exact.objective, violations, scaled, s, float(tolerance), without
        )


def _norms(A: Any, b: Any = None) -> FloatArray:  # noqa: ARG001 (of each block)
    """Euclidean norm of each row."""
    if sp.issparse(A):
        return np.sqrt(np.asarray((A**2).sum(axis=1)).ravel())
    return np.asarray(np.linalg.norm(A, axis=1))


def _rows_given_up(s: Any) -> float:
    require(real(s, "s") >= 0, f"s must not be negative, got {s!r}.", "s")
    return float(s)
