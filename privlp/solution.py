"""The result of a private solve, also as a JSON document."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields
from types import NoneType
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from privlp.checks import FloatArray, as_floats, as_printed, require
from privlp.errors import InvalidParameterError, InvalidProblemError, UnsupportedProblemError
from privlp.files import Saved
from privlp.pictures import draw_trace
from privlp.privacy.record import PrivacyRecord, require_types
from privlp.readers.model_objects import assign
from privlp.status import MissedRows, Status, Verdict, in_lines, shortened
from privlp.tables import by_name, index_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from privlp.linear_program import LinearProgram


@dataclass(frozen=True, eq=False)
class Solution(Saved):
    """A private solution. Everything in it may be released, as far as ``privacy`` says so.

    Attributes
    ----------
    x : (d,) array or None
        The solution in the user's own variables; ``None`` if the solve did not complete.
    objective : float or None
        c·x plus the offset, in the user's sense; ``None`` without x. Without the prices of
        violations of soft rows, which are private: :func:`compare` counts them.
    method : str
        Method that found it.
    iterations : int
        Rounds planned, a public number fixed in advance.
    status : Status
        ``COMPLETED`` or the limit that stopped it.
    message : str
        The status in a sentence.
    privacy : PrivacyRecord
        What was spent, on what, and under which neighbour relation.
    trace : dict of arrays
        Released values the solution was made from, such as the variable selected in each round.
    variable_names : tuple of str or None
        Names of the entries of x.
    kept : tuple of str
        Names of the columns that :meth:`~privlp.LinearProgram.with_recourse` left out.
    verdict : Verdict or None
        What was predicted from public numbers, in one word; of two such predictions, released
        counts of signs choose. ``None`` without a prediction.
    advice : str
        The same in a sentence or two, with what would be enough.
    released_prices : (n,) array or None
        What :attr:`prices` returns.
    missed : MissedRows or None
        An interval for the number of private rows that x misses, with its probability, from noisy
        counts; ``None`` where the method makes none.

    Examples
    --------
    >>> from privlp import examples, solve
    >>> solution = solve(examples.diet(), eps=1.0, delta=0, rng=0)
    >>> solution.success, solution.method, solution.x.shape
    (True, 'direct-noise', (20,))
    >>> solution.privacy.eps, solution.privacy.seeded
    (1.0, True)
    >>> solution.to_json().splitlines()[1]
    ' "format": "privlp solution 1",'
    """

    _what: ClassVar[str] = "a solution"
    _format: ClassVar[str] = "privlp solution 1"

    x: FloatArray | None
    objective: float | None
    method: str
    iterations: int
    status: Status
    message: str
    privacy: PrivacyRecord
    trace: dict[str, npt.NDArray[np.generic]] = field(default_factory=dict, repr=False)
    variable_names: tuple[str, ...] | None = field(default=None, repr=False)
    kept: tuple[str, ...] = field(default=(), repr=False)
    verdict: Verdict | None = None
    advice: str = field(default="", repr=False)
    released_prices: FloatArray | None = field(default=None, repr=False)
    missed: MissedRows | None = None

    @property
    def prices(self) -> FloatArray:
        """Shadow prices of the program's rows, (n,), where they follow from released numbers.

        Entry i is the change of the optimum, in the user's sense, per unit by which the active side
        of row i rises: the sign of SciPy's and HiGHS's marginals and of ``ExactSolution.dual``.
        Rows that are not tight at the point in question have a price of 0.

        Where numbers are private, it is that of the *released* program, with noise on its numbers:
        post-processing, which costs nothing. Where whole constraints are private, prices of public
        inequalities are those that balance costs and noisy slopes of violations at the released
        point of the last stage, if the solve was asked for them (``prices=True``); noisy counts may
        move x a little further from there. All others are NaN: a price of a private row is a number
        of that row. Equalities leave no trace in the coordinates of the slopes, nor do public rows
        that amount to one, or that hold no variable.

        Raises
        ------
        UnsupportedProblemError
            If no prices were released.

        See Also
        --------
        allocate : prices of supplies that people share.

        Examples
        --------
        >>> import privlp
        >>> relation = privlp.ScalarPrivate(0.1)
        >>> lp = privlp.LinearProgram(
        ...     [3, 5], [[1, 2], [3, 1]], [20, 30], sense="max", neighbours=relation
        ... )
        >>> privlp.solve(lp, eps=1.0, delta=1e-6, rng=0).prices.round(3)
        array([2.4, 0.2])

        A public limit on the first three supplies, where needs are private and shortages have a
        price:

        >>> import numpy as np
        >>> needs = np.random.default_rng(0).uniform(0.0, 1.0, size=(4000, 5))
        >>> rows = np.vstack([-needs, [[1, 1, 1, 0, 0]]])
        >>> sides, prices = np.append(-np.ones(4000), 0.3), np.append(np.ones(4000), np.inf)
        >>> private = np.arange(4001) < 4000
        >>> lp = privlp.LinearProgram(
        ...     np.full(5, 500), rows, sides, penalty=prices, private=private, bounds=(0, 5)
        ... )
        >>> solution = privlp.solve(lp, eps=4.0, delta=1e-6, prices=True, rng=0)
        >>> round(solution.prices[-1]), round(privlp.solve_exact(lp).dual[-1])
        (-283, -283)
        """
        if self.released_prices is not None:
            return self.released_prices
        if self.x is None:
            raise UnsupportedProblemError(
                "There are no prices: the solve released no solution.", parameter="method"
            )
        raise UnsupportedProblemError(
            f"method={self.method!r} releases no shadow prices here. The price of a private row is"
            " a number of that row, on which no budget was spent. Those of public inequality rows"
            " are released by solve(..., prices=True), for a small share of it. They follow at no"
            " cost where numbers are released with noise and c·x is optimised: solve without opt by"
            " 'direct-noise', or with feasible=... by truncated or quantile noise. privlp.allocate"
            " releases prices of supplies that people share. solve_exact(lp).dual has them without"
            " noise: not private.",
            parameter="method",
        )

    _repr_pretty_ = as_printed

    def __str__(self) -> str:
        """The answer in a few lines; ``print(solution.privacy)`` shows the ledger."""
        lines = {
            "message": self.message,
            "status": self.status,
            "verdict": self.verdict,
            "method": f"{self.method}, rounds: {self.iterations}",
            "objective": self.objective,
            "missed": self.missed,
            "x": shortened(self.x),
            "privacy": "\n".join(str(self.privacy).splitlines()[-2:]),
        }
        return in_lines(lines)

    @property
    def success(self) -> bool:
        """Whether all rounds were played, and something was found to limit the answer."""
        return self.status.success

    def assign(self, problem: Any) -> None:
        """Write x into the variables of the model from which the program was made.

        Then values are read as after a solve of the library: ``x.value`` of CVXPY, ``pyo.value(x)``
        of Pyomo, ``x.varValue`` of PuLP, ``x.solution`` and ``model.solution`` of linopy. The
        status becomes ``"ok"`` and ``"suboptimal"`` in linopy, ``"Optimal"`` and ``"Solution
        Found"`` in PuLP (``status``, ``sol_status``), ``"optimal_inaccurate"`` in CVXPY; models of
        Pyomo have none. MathOpt's variables hold no values; an error says what to write.

        Variables that reading has added, for terms of the objective, are left out. Columns that you
        keep (:meth:`~privlp.LinearProgram.with_recourse`) and slacks of softened constraints get no
        value: None or NaN. The value of the objective is set where the library keeps one and the
        released x says it: not with such columns, and not where the objective holds losses.

        Raises
        ------
        InvalidParameterError
            If there is no x, or the model has other variables.

        Examples
        --------
        >>> import cvxpy as cp, privlp
        >>> x = cp.Variable(2, nonneg=True)
        >>> problem = cp.Problem(cp.Minimize(x[0] + 2 * x[1]), [x[0] + x[1] >= 2, x <= 9])
        >>> lp = privlp.LinearProgram.from_cvxpy(problem)
        >>> solution = privlp.solve(lp, eps=float("inf"), delta=0, s=1, opt=2.0)
        >>> solution.assign(problem)
        >>> bool((x.value == solution.x).all())
        True
        """
        assign(problem, self, optimal=False)

    def plot_trace(self, ax: Axes | None = None, *, most: int = 8) -> Axes:
        """Draw how the solution was made, from released values alone.

        The picture is as safe to show as the solution itself. Methods that move x a little each
        round: x after each round. Dense multiplicative weights: how often each variable was
        selected so far. Methods that release the private numbers once: these numbers, with their
        noise.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; a new figure by default.
        most : int
            Number of variables to draw: the largest, or the ones selected most often.

        Raises
        ------
        InvalidParameterError
            If the trace holds nothing to draw, for instance because the solve did not complete.

        Examples
        --------
        >>> import matplotlib.pyplot as plt
        >>> from privlp import examples, solve
        >>> solution = solve(examples.diet(), eps=1.0, delta=0, rng=0)
        >>> ax = solution.plot_trace(most=5)
        >>> print(ax.get_title())
        direct-noise: released values only, ε = 1, δ = 0
        >>> plt.close(ax.figure)
        """
        return draw_trace(self, most, ax)

    def to_json(self) -> str:
        """The solution as a JSON document, which :meth:`load` can read back from a file."""
        prices = self.released_prices
        document = {
            "format": self._format,
            **{each.name: getattr(self, each.name) for each in fields(self)},
            "x": None if self.x is None else self.x.tolist(),
            "privacy": self.privacy.to_dict(),
            "trace": {name: released.tolist() for name, released in self.trace.items()},
            "missed": None if self.missed is None else asdict(self.missed),
            "released_prices": None
            if prices is None
            else [None if math.isnan(price) else price for price in prices.tolist()],
        }
        return json.dumps(document, indent=1)

    @classmethod
    def _from_document(cls, document: dict[str, Any]) -> Self:
        """Of fields that may be anything. Older files have no verdict, prices or missed rows."""
        document["variable_names"]  # an old file has them too
        made: dict[str, Callable[[Any], Any]] = {
            "status": Status,
            "privacy": PrivacyRecord.from_dict,
            "trace": lambda trace: {name: np.array(values) for name, values in trace.items()},
            "x": _floats,
            "released_prices": _floats,
            "variable_names": tuple,
            "kept": tuple,
            "verdict": Verdict,
            "missed": lambda missed: MissedRows(**missed),
        }
        needed = ("status", "privacy", "trace")
        for name, make in made.items():
            if name in needed or document.get(name) is not None:
                document[name] = make(document[name])
        solution = cls(**document)
        require_types(solution, objective=(float, int, NoneType), method=str, iterations=int)
        require_types(solution, message=str, advice=str)
        x, prices = solution.x, solution.released_prices
        if prices is not None and prices.ndim != 1:
            raise ValueError("released_prices")
        if x is not None and not (x.ndim == 1 and np.isfinite(x).all()):
            raise ValueError("x")
        if solution.missed is not None:
            require_types(solution.missed, low=(float, int), high=(float, int), probability=float)
        return solution


def _floats(values: Any) -> FloatArray:
    return np.array(values, dtype=float)


def point_of(lp: LinearProgram, solution: Any, name: str = "solution") -> FloatArray:
    """The x of a solution, or a point itself, checked against the program: shape (d,), finite."""
    labelled, own, entries = index_of(solution) is not None, lp.variable_names, None
    x = solution if labelled else getattr(solution, "x", solution)  # which may be a label
    none = f"The {name} holds no x: it did not complete, so there is nothing to go by."
    require(x is not None, none, name)
    theirs = getattr(solution, "variable_names", None)
    if not (labelled or own is None or theirs is None):
        x = dict(zip(theirs, x, strict=False))
    try:
        x = by_name(x, own, name)
    except InvalidProblemError as error:
        raise InvalidParameterError(str(error), parameter=name) from None
    with suppress(InvalidProblemError):
        entries = as_floats(x, name)
    if entries is None:
        vector = f"The {name} must be a vector of real numbers, or a solution."
        raise InvalidParameterError(vector, parameter=name)
    if entries.shape != lp.c.shape:
        hidden = lp.neighbours.hides_rows
        given = "has another shape:" if hidden else f"has shape {entries.shape}, but"
        other = f"The {name} {given} the program has {lp.c.size} variables."
        raise InvalidParameterError(other, parameter=name)
    bad = f"The {name} holds NaN or infinite entries, which no row can be checked against."
    require(np.isfinite(entries).all(), bad, name)
    return entries
