"""What a private solve is expected to reach, before anything is spent."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from tabulate import tabulate

from privlp.errors import InvalidParameterError, PrivLPError
from privlp.optional import drawing_on
from privlp.privacy import Ledger, Randomness
from privlp.problem import LinearProgram, StandardForm
from privlp.relations import ConstraintPrivate
from privlp.solvers import Prediction, Task, best_method, predictions
from privlp.solvers.descent import Region
from privlp.solvers.public_polytope import PublicPolytope
from privlp.solvers.simplex import Simplex
from privlp.solvers.value_search import is_range
from privlp.style import GREY, MARKERS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_EPSILONS_AROUND = np.geomspace(1 / 8, 8, 13)
# Of what a row typically varies by over the region: a prediction above this share says nothing, one below is worth having.
_USELESS, _USEFUL = 0.5, 0.1


@dataclass(frozen=True, eq=False)
class Plan:
    """Predicted accuracy of each method, from public numbers alone; nothing is spent on it.

    Attributes
    ----------
    best : str
        What ``method="auto"`` takes.
    predictions : dict of str to Prediction
        Of each method that applies and has one, best first.
    not_applicable : dict of str to str
        Why other methods do not apply.
    yardstick : float or None
        What a row typically varies by over the public region, in the units of the predicted violations, where it is known.
    advice : str
        In words: whether the number of rows and eps are enough, and what would be.

    Examples
    --------
    >>> import numpy as np, privlp
    >>> needs = np.random.default_rng(0).uniform(0.2, 1.0, size=(5000, 4))
    >>> plan = privlp.plan(privlp.LinearProgram([1, 2, 1, 3], -needs, -np.ones(5000)), eps=1.0, delta=1e-6, s=100, opt=3.0)
    >>> plan.best, plan.predictions[plan.best].rounds > 1, plan.not_applicable
    ('mirror-best', True, {})
    """

    best: str
    predictions: dict[str, Prediction]
    not_applicable: dict[str, str]
    yardstick: float | None
    advice: str
    unit: str
    _task: Task = field(repr=False)
    _available: Sequence[str] = field(repr=False)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the predicted violation of each method over eps, from an eighth of the planned eps to eight times as much."""
        epsilons = self._task.ledger.eps * _EPSILONS_AROUND
        tasks = [replace(self._task, ledger=Ledger(float(eps), self._task.ledger.delta)) for eps in epsilons]
        found = [predictions(task, self._available)[0] for task in tasks]
        with drawing_on(ax) as axes:
            for k, method in enumerate(self.predictions):  # lines that coincide show as marks within marks
                points = [(eps, at[method].violation) for eps, at in zip(epsilons, found, strict=True) if method in at]
                label = f"{method} (auto)" if method == self.best else method
                axes.plot(*zip(*points, strict=True), marker=MARKERS[k % len(MARKERS)], markersize=max(5, 14 - 3 * k), label=label)
            if self.yardstick is not None:
                axes.axhline(self.yardstick, color=GREY, linestyle="--", label="what a row varies by")
            axes.axvline(self._task.ledger.eps, color=GREY, linestyle=":", label="planned ε")
            scale = "log" if any(p.violation > 0 for p in self.predictions.values()) else "linear"
            axes.set(xscale="log", yscale=scale, xlabel="ε", ylabel=f"predicted violation\n({self.unit})")
            axes.set_xticks(epsilons[::2], [f"{eps:.3g}" for eps in epsilons[::2]])
            axes.set_xticks([], minor=True)
            axes.set_title(axes.get_title() or "from public numbers alone; nothing is spent")
            axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
        return axes

    def __str__(self) -> str:
        rows = [
            (
                f"{method} (auto)" if method == self.best else method,
                f"{p.violation:.3g}",
                "-" if p.objective_loss is None else f"{p.objective_loss:.2%}",
                p.rounds,
                f"{p.noise:.3g}",
            )
            for method, p in self.predictions.items()
        ]
        headers = ("method", f"violation ({self.unit})", "objective loss (of the range)", "rounds", "noise per unit")
        methods: dict[str, list[str]] = {}
        for method, reason in self.not_applicable.items():
            methods.setdefault(reason, []).append(method)
        others = "".join(f"\n{', '.join(names)}: does not apply. {reason}" for reason, names in methods.items())
        return f"{tabulate(rows, headers=headers, disable_numparse=True)}\n\n{self.advice}{others}"


def plan(
    lp: LinearProgram,
    eps: float,
    delta: float,
    s: float | None = None,
    alpha: float | None = None,
    *,
    opt: float | Sequence[float] | None = None,
    width: Any = None,
) -> Plan:
    """Predict what :func:`solve` would reach with each method, before spending anything.

    Parameters
    ----------
    lp, eps, delta, s, alpha, opt, width
        As for :func:`solve`.

    Returns
    -------
    Plan

    Raises
    ------
    InvalidParameterError, UnsupportedProblemError
        As :func:`solve` would.

    Notes
    -----
    Predictions use sizes, costs, bounds and declared numbers; of private rows nothing is read. They are violations to expect
    beyond the least possible, per unit of ||A_i||_2 for constraint-private programs (alpha's units). How large the least possible
    violation is, and how many rows are tight, is private. So they are right within a factor of about two for covering programs of
    many rows, where all rows can be satisfied and most are tight, and up to eight times too low for others
    (``docs/results/family.md``).

    Examples
    --------
    >>> import numpy as np, privlp
    >>> needs = np.random.default_rng(0).uniform(0.2, 1.0, size=(5000, 4))
    >>> lp = privlp.LinearProgram(c=[1, 2, 1, 3], A=-needs, b=-np.ones(5000))
    >>> plan = privlp.plan(lp, eps=1.0, delta=1e-6, s=100, opt=3.0)
    >>> plan.best, plan.predictions["mirror-best"].violation < plan.predictions["dmw"].violation
    ('mirror-best', True)
    >>> print(privlp.plan(lp, eps=0.001, delta=1e-6, s=100, opt=3.0).advice)  # doctest: +ELLIPSIS
    Too few rows for this eps: ...
    """
    if not isinstance(lp, LinearProgram):
        raise InvalidParameterError(f"lp must be a LinearProgram, got {type(lp).__name__}.")
    ledger = Ledger(eps, delta)
    if math.isinf(ledger.eps):
        raise InvalidParameterError(
            "eps must be finite: without noise there is nothing to plan. Solve with eps=inf, or use solve_exact."
        )
    task = Task(StandardForm.of(lp), s, alpha, opt, width, ledger, Randomness(0))
    available = lp.neighbours.methods
    best = best_method(task, available)
    found, reasons = predictions(task, available)
    if best in reasons:
        raise reasons[best]
    ordered = dict(sorted(found.items(), key=lambda item: item[1].violation))
    yardstick = _yardstick(task)
    return Plan(
        best=best,
        predictions=ordered,
        not_applicable={method: str(reason) for method, reason in reasons.items()},
        yardstick=yardstick,
        advice=_advice(task, ordered.get(best), yardstick),
        unit="per ‖A_i‖₂" if isinstance(lp.neighbours, ConstraintPrivate) else "in units of A x − b",
        _task=task,
        _available=available,
    )


def _yardstick(task: Task) -> float | None:
    """What a row of norm 1 with entries of like size varies by from vertex to vertex."""
    if not isinstance(task.relation, ConstraintPrivate):
        return None
    region: Region
    ranged = is_range(task.opt)
    try:
        region = Simplex(task.form, max(task.opt, key=abs) if ranged else task.opt)
    except PrivLPError:
        try:
            region = PublicPolytope(task.form, None if ranged else task.opt)
        except PrivLPError:
            return None
    return region.typical_norm / math.sqrt(region.size)


def _advice(task: Task, prediction: Prediction | None, yardstick: float | None) -> str:
    if prediction is None or yardstick is None:
        return "Whether these violations are small is for you to say: what rows vary by over the region is not known publicly."
    share = prediction.violation / yardstick
    times = (share / _USEFUL) ** (1 / prediction.power)
    n, eps = times * task.n, times * task.ledger.eps
    more = f"About {times:.2g} times the rows ({n:.2g}), or eps = {eps:.2g}, would bring it to a tenth."
    compared = f"the predicted violation is {share:.2g} of what a row typically varies by over the region"
    if share > _USELESS:
        return f"Too few rows for this eps: {compared}, so the result would tell next to nothing. {more}"
    if share > _USEFUL:
        return f"Rough: {compared}. {more}"
    return (
        f"Enough rows for this eps: {compared}, if all rows can be satisfied; else that is what noise adds to the least possible."
    )
