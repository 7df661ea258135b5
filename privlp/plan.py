"""What a private solve is expected to reach, before anything is spent."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from tabulate import tabulate

from privlp.errors import InvalidParameterError, PrivLPError, UnsupportedProblemError
from privlp.methods.auto import Proposals, candidates, in_short, protecting
from privlp.methods.base import Method
from privlp.methods.noisy_numbers import NAMES
from privlp.methods.prediction import NoiseOnNumbers, Prediction
from privlp.methods.task import Task
from privlp.privacy import Ledger
from privlp.problem.linear_program import LinearProgram
from privlp.regions.mirror_map import Region
from privlp.regions.optimum import is_range, range_of
from privlp.regions.polytope import PublicPolytope
from privlp.regions.simplex import Simplex
from privlp.report.figure import drawing_on, place_legend
from privlp.report.style import GREY, MARKERS
from privlp.verdict import Verdict

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_EPSILONS_AROUND = np.geomspace(1 / 8, 8, 13)
# Of what a row typically varies by over the region: a prediction above this share says nothing, one
# below is worth having.
_USELESS, _USEFUL = 0.5, 0.1
_COLUMNS = 98


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
        Why other methods do not apply, and what to do about it; printed in short.
    yardstick : float or None
        What a row typically varies by over the public region, in the units of the predicted violations, where it is known.
    verdict : Verdict
        What the plan thinks of the request: whether the number of rows and eps are enough.
    advice : str
        In words: whether the number of rows and eps are enough, and what would be; with ``feasible="always"``, how much noise
        tightens the private numbers.

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
    verdict: Verdict
    advice: str
    unit: str
    _task: Task = field(repr=False)
    _methods: Sequence[Method] = field(repr=False)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the predicted violation of each method over eps, from an eighth of the planned eps to eight times as much.

        With ``feasible="always"``: the typical noise on each part of the program, over its declared
        range.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; a new figure by default.

        Raises
        ------
        UnsupportedProblemError
            If neither violations nor noise as a share of a finite declared range are predicted, as where only costs are private.

        Examples
        --------
        >>> import matplotlib.pyplot as plt, privlp
        >>> plan = privlp.plan(privlp.examples.advertising(), eps=1.0, delta=1e-3, feasible="always")
        >>> ax = plan.plot()
        >>> ax.get_xlabel(), ax.get_xscale()
        ('ε', 'log')
        >>> plt.close(ax.figure)
        """
        shown = [curve for curve, value in _curves(self.predictions).items() if value > 0]
        if not shown:
            raise UnsupportedProblemError(
                "There is nothing to draw: neither violations nor noise as a share of a finite"
                f" range. {self.advice}"
            )
        epsilons = self._task.ledger.eps * _EPSILONS_AROUND
        tasks = [
            replace(self._task, ledger=Ledger(float(eps), self._task.ledger.delta))
            for eps in epsilons
        ]
        found = [_curves(Proposals(task, self._methods).predictions) for task in tasks]
        line, line_label, ylabel = (
            self.yardstick,
            "what a row varies by",
            f"predicted violation\n({self.unit})",
        )
        if any(p.on_numbers for p in self.predictions.values()):
            line, line_label, ylabel = (
                1.0,
                "as wide as the range",
                "typical noise\n(of the declared range)",
            )
        with drawing_on(ax) as axes:
            for k, (method, part) in enumerate(
                shown
            ):  # lines that coincide show as marks within marks
                points = [
                    (eps, at[method, part])
                    for eps, at in zip(epsilons, found, strict=True)
                    if (method, part) in at
                ]
                label = ",\n".join(filter(None, (self._name(method), part)))
                axes.plot(
                    *zip(*points, strict=True),
                    marker=MARKERS[k % len(MARKERS)],
                    markersize=max(5, 14 - 3 * k),
                    label=label,
                )
            if line is not None:
                axes.axhline(line, color=GREY, linestyle="--", label=line_label)
            axes.axvline(self._task.ledger.eps, color=GREY, linestyle=":", label="planned ε")
            axes.set(xscale="log", yscale="log", xlabel="ε", ylabel=ylabel)
            axes.set_xticks(epsilons[::2], [f"{eps:.3g}" for eps in epsilons[::2]])
            axes.set_xticks([], minor=True)
            axes.set_title(axes.get_title() or "from public numbers alone; nothing is spent")
            place_legend(axes, beside=ax is None)
        return axes

    def _name(self, method: str) -> str:
        return f"{method} (auto)" if method == self.best else method

    def __str__(self) -> str:
        blocks = [self._table(), textwrap.fill(self.advice, _COLUMNS)]
        if self.not_applicable:
            lines = in_short(self.not_applicable)
            lines = [
                textwrap.fill(line, _COLUMNS, initial_indent="  ", subsequent_indent="    ")
                for line in lines
            ]
            blocks.append("\n".join(["These do not apply:", *lines]))
        return "\n\n".join(blocks)

    def _table(self) -> str:
        found = self.predictions.items()
        rows: list[tuple[Any, ...]]
        if any(p.on_numbers for _, p in found):
            headers = ["method", "noise on", "typical", "at most", "declared range"]
            rows = [
                (
                    self._name(method),
                    NAMES[on.part],
                    f"{on.typical:.3g}",
                    f"{on.most:.3g}",
                    f"{on.declared:.3g}",
                )
                for method, p in found
                for on in p.on_numbers
            ]
        else:
            headers = [
                "method",
                f"violation ({self.unit})",
                "objective loss (of range)",
                "rounds",
                "noise per unit",
            ]
            rows = [
                (
                    self._name(method),
                    f"{p.violation:.3g}",
                    f"{p.objective_loss or 0:.2%}",
                    p.rounds,
                    f"{p.noise:.3g}",
                )
                for method, p in found
            ]
            if not any(
                p.objective_loss for _, p in found
            ):  # it is predicted for a range of the optimum only
                del headers[2]
                rows = [row[:2] + row[3:] for row in rows]
        return tabulate(rows, headers=headers, disable_numparse=True)


def _curves(found: dict[str, Prediction]) -> dict[tuple[str, str], float]:
    """What is drawn at one eps, by method and part of the program."""
    values: dict[tuple[str, str], float] = {}
    for method, p in found.items():
        values |= {(method, NAMES[on.part]): on.share for on in p.on_numbers} or {
            (method, ""): p.violation
        }
    return values


def plan(
    lp: LinearProgram,
    eps: float,
    delta: float,
    s: float | None = None,
    alpha: float | None = None,
    *,
    opt: float | Sequence[float] | None = None,
    width: Any = None,
    feasible: str | None = None,
) -> Plan:
    """Predict what :func:`solve` would reach with each method, before spending anything.

    Parameters
    ----------
    lp, eps, delta, s, alpha, opt, width, feasible
        As for :func:`solve`. With ``feasible="always"`` no row is violated. What that costs in objective depends on private
        numbers, so the plan says how wide the noise on them is, in their units and beside their declared range.

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
    (``docs/results/family.md``). With a range of the optimum, violations and yardstick are those of its upper end, and shrink with
    the objective; their ratio stays.

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

    Budgets between 2 and 10 that are never to be exceeded:

    >>> lp = privlp.examples.advertising(private="budgets")
    >>> print(privlp.plan(lp, eps=1.0, delta=1e-3, feasible="always"))  # doctest: +ELLIPSIS
    method                       noise on            typical    at most    declared range
    ---------------------------  ------------------  ---------  ---------  ----------------
    truncated-laplace (auto)     right-hand sides b  0.676      1.35       8
    ...
    """
    if not isinstance(lp, LinearProgram):
        raise InvalidParameterError(
            f"lp must be a LinearProgram, got {type(lp).__name__}.", parameter="lp"
        )
    task = Task.of(lp, eps, delta, s, alpha, opt=opt, width=width)
    if math.isinf(task.ledger.eps):
        raise InvalidParameterError(
            "eps must be finite: without noise there is nothing to plan. Solve with eps=inf, or use"
            " solve_exact.",
            parameter="eps",
        )
    methods = protecting(task.relation, feasible)
    if feasible is None:
        methods = [method for method in methods if not method.never_violates]
    methods = [method for method in methods if method.listed]
    competing = candidates(task, methods)
    proposals = Proposals(task, methods)
    best = proposals.best(competing)
    found, reasons = proposals.predictions, proposals.reasons
    if best in reasons:
        raise reasons[best]
    ordered = dict(sorted(found.items(), key=lambda item: item[1].violation))
    region = _region(task)
    yardstick = None if region is None else region.typical_norm / math.sqrt(region.size)
    verdict, advice = _advice(task, ordered.get(best), region, yardstick)
    return Plan(
        best=best,
        predictions=ordered,
        not_applicable={method: str(reason) for method, reason in reasons.items()},
        yardstick=yardstick,
        verdict=verdict,
        advice=advice,
        unit="per ‖Aᵢ‖₂" if task.relation.changes_whole_rows else "in units of A x − b",
        _task=task,
        _methods=methods,
    )


def _region(task: Task) -> Region | None:
    """The public region, from vertex to vertex of which a row of norm 1 with entries of like size varies by the yardstick."""
    if not task.relation.changes_whole_rows:
        return None
    ranged = is_range(task.opt)
    try:
        return Simplex(task.form, max(task.opt, key=abs) if ranged else task.opt)
    except PrivLPError:
        try:
            return PublicPolytope(task.form, range_of(task.opt) if ranged else task.opt)
        except PrivLPError:
            return None


def _advice(
    task: Task, prediction: Prediction | None, region: Region | None, yardstick: float | None
) -> tuple[Verdict, str]:
    if prediction is not None and prediction.on_numbers:
        return _advice_on_noise(prediction.on_numbers)
    if prediction is not None and prediction.violation == 0:
        return Verdict.ROWS_HOLD, (
            f"{Verdict.ROWS_HOLD}: the rows hold. What noise on costs loses of the objective is not"
            " predicted."
        )
    if prediction is None or yardstick is None:
        return Verdict.UNKNOWN, (
            "Whether these violations are small is for you to say: what rows vary by over the"
            " region is not known publicly."
        )
    share = prediction.violation / yardstick
    times = (share / _USEFUL) ** (1 / prediction.power)
    n, eps = times * task.n, times * task.ledger.eps
    more = (
        f"About {times:.2g} times the rows ({n:.2g}), or eps = {eps:.2g}, would bring it to a"
        " tenth."
    )
    compared = (
        f"the predicted violation is {share:.2g} of what a row typically varies by over the region"
    )
    if isinstance(region, PublicPolytope):
        compared += " within the public bounds (the looser these are, the smaller this share)"
    given_up = ""
    if task.lp.penalty is None and (task.opt is None or is_range(task.opt)):
        given_up = (
            f" Up to s = {task.density():g} rows are given up where that improves the objective,"
            " within its public range."
        )
    if _is_wide(task.opt):
        given_up += (
            " This range is wide: the search for the optimum may end far from it, at either side."
            " Give a narrower one."
        )
    elif task.opt is None and task.lp.c.any():
        given_up += (
            " Without opt that is the range of all objectives within the public rows and bounds:"
            " the search for the optimum may end far from it, at either side. Give a value, or a"
            " range."
        )
    if share > _USELESS:
        return Verdict.TOO_FEW_ROWS, (
            f"{Verdict.TOO_FEW_ROWS}: {compared}, so the result would tell next to nothing."
            f" {more}{given_up}"
        )
    if share > _USEFUL:
        return Verdict.ROUGH, f"{Verdict.ROUGH}: {compared}. {more}{given_up}"
    return Verdict.ENOUGH_ROWS, (
        f"{Verdict.ENOUGH_ROWS}: {compared}, if all rows can be satisfied; else that is what"
        f" noise adds to the least possible.{given_up}"
    )


def _is_wide(opt: Any) -> bool:
    """Whether the ends of a range are farther apart than half of the nearer one."""
    if not is_range(opt):
        return False
    low, high = range_of(opt)
    return high - low > min(abs(low), abs(high)) / 2


def _advice_on_noise(noises: Sequence[NoiseOnNumbers]) -> tuple[Verdict, str]:
    drowned = " and ".join(NAMES[noise.part] for noise in noises if noise.drowns)
    if drowned:
        return Verdict.TOO_MUCH_NOISE, (
            f"{Verdict.TOO_MUCH_NOISE} of the {drowned}: most releases would be an end"
            " of it, and x hardly depend on the data. A larger eps or delta, or a smaller"
            " sensitivity, would help."
        )
    shares = ", ".join(
        f"{noise.share:.2g} ({NAMES[noise.part]})"
        for noise in noises
        if math.isfinite(noise.declared)
    )
    compared = (
        f" Typically it takes up this share of the declared range: {shares}." if shares else ""
    )
    return Verdict.NEVER_VIOLATED, (
        f"{Verdict.NEVER_VIOLATED}.{compared} What that costs in objective depends on"
        " the private numbers."
    )
