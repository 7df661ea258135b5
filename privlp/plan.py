"""What a private solve is expected to reach, before anything is charged."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from privlp.checks import as_printed, require, require_flag
from privlp.errors import UnsupportedProblemError
from privlp.linear_program import LinearProgram, require_program
from privlp.methods import METHODS
from privlp.methods.advice import advise, least_missed, warn_of_request
from privlp.methods.auto import (
    Proposals,
    candidates,
    foretell,
    in_short,
    protecting,
    refuse_unused_width,
)
from privlp.methods.base import COMPARED, Method, PlannedRun, Prediction
from privlp.methods.noisy_numbers import NAMES
from privlp.methods.request import SolveRequest
from privlp.pictures import GREY, MARKERS, drawing_on, place_legend
from privlp.privacy import Ledger
from privlp.quiet import unnoticed
from privlp.start import said_of_start, start_of
from privlp.status import Verdict

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_EPSILONS_AROUND = np.geomspace(1 / 8, 8, 13)
_COLUMNS = 98
_MOST = 4  # So many methods are printed unless all are asked for.


@dataclass(frozen=True, eq=False)
class Plan:
    """Predicted accuracy of each method, from public numbers alone; nothing is spent on it.

    Attributes
    ----------
    best : str
        The method that ``method="auto"`` takes.
    predictions : dict of str to Prediction
        Of each method that applies and has one: the best first, the others by their violation.
    not_applicable : dict of str to str
        Why other methods do not apply, and what to do about it; printed in short.
    yardstick : float or None
        The amount by which a row typically varies over the public region, in the units of the
        predicted violations, where it is known.
    losses : dict of str to float
        Where ranges of private numbers are declared: what a solve is expected to lose of the
        optimum, as a share of its size, for the `feasible` that was asked for and for ``"None"``,
        ``"0.99"`` and ``"always"``. It is the mean over a few programs whose numbers are made up
        within the ranges: by public seeds, uniform, right-hand sides within the middle half. Empty
        without ranges and for large programs.
    least_loss : float or None
        What every method that is as private loses on the same programs, at least, if no row may
        ever fail. None where no right-hand side is private.
    verdict : Verdict
        Whether the number of rows and eps are enough for the request.
    advice : str
        In words: whether the number of rows and eps are enough, and what would be; with
        ``feasible="always"``, how much noise tightens the private numbers.

    Examples
    --------
    >>> import numpy as np, privlp
    >>> needs = np.random.default_rng(0).uniform(0.2, 1.0, size=(5000, 4))
    >>> lp = privlp.LinearProgram([1, 2, 1, 3], -needs, -np.ones(5000))
    >>> plan = privlp.plan(lp, eps=1.0, delta=1e-6, s=100, opt=3.0)
    >>> plan.best, plan.predictions[plan.best].rounds > 1, plan.not_applicable
    ('chain', True, {})

    Private budgets cost more of the optimum, the more certain rows are:

    >>> plan = privlp.plan(privlp.examples.advertising(private="budgets"), 1.0, 1e-3)
    >>> {promise: f"{loss:.2f}" for promise, loss in plan.losses.items()}, f"{plan.least_loss:.2f}"
    ({'None': '-0.00', 'always': '0.11', '0.99': '0.10'}, '0.10')
    """

    best: str
    predictions: dict[str, Prediction]
    not_applicable: dict[str, str]
    yardstick: float | None
    verdict: Verdict
    advice: str
    losses: dict[str, float]
    least_loss: float | None
    unit: str
    _request: SolveRequest = field(repr=False)
    _methods: Sequence[Method] = field(repr=False)
    _most: int = field(repr=False)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the predicted violation of each method over eps.

        Where it is unknown, as for whole rows without `opt`: noise on all variables, over what s
        rows allow. With ``feasible="always"``: the typical noise on each part of the program, as a
        share of its declared range. eps goes from an eighth of the planned one to eight times it.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; a new figure by default.

        Raises
        ------
        UnsupportedProblemError
            If none of these is predicted, for instance because only costs are private.

        Examples
        --------
        >>> import matplotlib.pyplot as plt, privlp
        >>> lp = privlp.examples.advertising()
        >>> plan = privlp.plan(lp, eps=1.0, delta=1e-3, feasible="always")
        >>> ax = plan.plot()
        >>> ax.get_xlabel(), ax.get_xscale()
        ('ε', 'log')
        >>> plt.close(ax.figure)
        """
        for curves in (_violations, _difficulties):
            values = curves(self.predictions).items()
            shown = [curve for curve, value in values if 0 < value < math.inf]
            if shown:
                break
        else:
            raise UnsupportedProblemError(
                "There is nothing to draw: neither violations nor noise as a share of a finite"
                f" range. {self.advice}"
            )
        epsilons = self._request.ledger.eps * _EPSILONS_AROUND
        found = [curves(self._predicted_at(float(eps))) for eps in epsilons]
        line, line_label, ylabel = self._line(curves)
        with drawing_on(ax) as axes:
            for k, (method, part) in enumerate(shown):
                axes.plot(
                    epsilons,
                    [at.get((method, part), math.nan) for at in found],
                    marker=MARKERS[k % len(MARKERS)],
                    # Where lines coincide, smaller marks lie within larger ones.
                    markersize=max(5, 14 - 3 * k),
                    label=",\n".join(filter(None, (self._name(method), part))),
                )
            if line is not None:
                axes.axhline(line, color=GREY, linestyle="--", label=line_label)
            axes.axvline(self._request.ledger.eps, color=GREY, linestyle=":", label="planned ε")
            axes.set(xscale="log", yscale="log", xlabel="ε", ylabel=ylabel)
            axes.set_xticks(epsilons[::2], [f"{eps:.3g}" for eps in epsilons[::2]])
            axes.set_xticks([], minor=True)
            axes.set_title(axes.get_title() or "from public numbers alone; nothing is spent")
            place_legend(axes, outside=ax is None)
        return axes

    def _predicted_at(self, eps: float) -> dict[str, Prediction]:
        """What is predicted at another eps."""
        request = replace(self._request, ledger=Ledger(eps, self._request.ledger.delta))
        with unnoticed():
            return Proposals(request).add(self._methods).predictions

    def _line(self, curves: Curves) -> tuple[float | None, str, str]:
        """The line to compare curves with, its label, and that of the axis."""
        if curves is _difficulties:
            return 1.0, "what s rows allow", "noise on all variables\n(over what s rows allow)"
        if any(p.on_numbers for p in self.predictions.values()):
            return 1.0, "as wide as the range", "typical noise\n(of the declared range)"
        return self.yardstick, "what a row varies by", f"predicted violation\n({self.unit})"

    def _name(self, method: str) -> str:
        return f"{method} (auto)" if method == self.best else method

    _repr_pretty_ = as_printed

    def __str__(self) -> str:
        request = self._request
        blocks = [self._table(), self.advice, self._why()]
        if not request.relation.changes_whole_rows:
            blocks.append(f"Public: {request.relation.public_parts(request.lp)}.")
        elif request.lp.penalty is None and request.s is not None:
            blocks.append(self._beside_every_method(request.s))
        blocks[1:] = [textwrap.fill(block, _COLUMNS) for block in blocks[1:] if block]
        if self.not_applicable:
            lines = [
                textwrap.fill(line, _COLUMNS, initial_indent="  ", subsequent_indent="    ")
                for line in in_short(self.not_applicable)
            ]
            blocks.append("\n".join(["These do not apply:", *lines]))
        return "\n\n".join(blocks)

    def _why(self) -> str:
        """Why ``method="auto"`` takes its method."""
        taken = f"'auto' takes {self.best!r}"
        ranks = {name: METHODS[name].rank(self._request) for name in self.not_applicable}
        rank = METHODS[self.best].rank(self._request) or 0
        refused = [name for name, of in ranks.items() if of is not None and of < rank]
        if len(self.predictions) == 1:
            return ""
        if rank == COMPARED:
            return f"{taken} for the least predicted violation."
        if refused:
            return f"{taken}: what would come first does not apply ({', '.join(refused)})."
        return (
            f"{taken}, by trials, where {METHODS[self.best].take_it.partition(';')[0]}."
            " Compare violations between settings of one method, not between methods."
        )

    def _beside_every_method(self, s: float) -> str:
        """How many rows s is, beside what no private method can do."""
        request, ledger = self._request, self._request.ledger
        least = least_missed(
            request.lp.shape[1],
            request.public.rows,
            ledger.eps,
            ledger.delta,
            # What every record may own: not the rows of the largest, nor both sides of a row.
            rows_of_one_record=getattr(request.relation, "rows_per_record", 1),
            hides_rows=request.relation.hides_rows,
        )
        return (
            f"At the cost of the optimum, every method that is as private misses {least:.3g} rows"
            " on average, or more, of some program of this size"
            + (f"; s is {s / least:,.{2 * (s < 9 * least)}f} times that." if least else ".")
        )

    def _table(self) -> str:
        from tabulate import tabulate  # noqa: PLC0415 (slow to load)

        found = list(self.predictions.items())[: self._most]
        numbers = [(self._name(method), on) for method, p in found for on in p.on_numbers]
        if numbers:
            headers = ["method", "noise on", "typical", "at most", "declared range"]
            rows = [
                (name, NAMES[on.part], *(f"{x:.3g}" for x in (on.typical, on.most, on.declared)))
                for name, on in numbers
            ]
            return tabulate(rows, headers=headers, disable_numparse=True)
        table = {
            "method": [self._name(method) for method, _ in found],
            f"violation ({self.unit})": [
                f"{p.violation:.3g}" if math.isfinite(p.violation) else "unknown" for _, p in found
            ],
            "objective loss (of range)": [
                "unknown" if p.objective_loss is None else f"{p.objective_loss:.2%}"
                for _, p in found
            ],
            "rounds": [p.rounds for _, p in found],
            "noise per unit": [f"{p.noise:.3g}" for _, p in found],
        }
        if not any(p.objective_loss for _, p in found):  # predicted only for a range of the optimum
            del table["objective loss (of range)"]
        return tabulate(table, headers="keys", disable_numparse=True)


def _said_of_other(request: SolveRequest, verdict: Verdict, planned: PlannedRun) -> str:
    """What is expected if released numbers let another run take over, if it is not the same."""
    other = planned.other
    if other is None or other.predict is None:
        return ""
    prediction = other.predict()
    instead = advise(request, prediction)[0]
    if instead is verdict:
        return ""
    takes_over = f"{prediction.method!r} takes over at the same price: then "
    return (
        f"If noisy counts say that {planned.other_if},"
        f' {"" if other.charges is planned.charges else takes_over}"{instead}".'
    )


#: What the plot shows at one eps, by method and part of the program.
Curves: TypeAlias = Callable[[dict[str, Prediction]], dict[tuple[str, str], float]]


def _violations(found: dict[str, Prediction]) -> dict[tuple[str, str], float]:
    """Violations, or noise on parts of the program."""
    values: dict[tuple[str, str], float] = {}
    for method, p in found.items():
        noise = {(method, NAMES[on.part]): on.share for on in p.on_numbers}
        values |= noise or {(method, ""): p.violation}
    return values


def _difficulties(found: dict[str, Prediction]) -> dict[tuple[str, str], float]:
    """Noise on all variables, over what s rows allow."""
    return {(of, ""): p.difficulty for of, p in found.items() if p.difficulty is not None}


def plan(
    lp: LinearProgram,
    eps: float,
    delta: float,
    s: float | str | None = None,
    alpha: float | None = None,
    *,
    opt: float | Sequence[float] | None = None,
    width: Any = None,
    feasible: str | float | None = None,
    prices: bool = False,
    start: Any = None,
    every: bool = False,
) -> Plan:
    """Predict what :func:`solve` would reach with each method, before spending anything.

    Parameters
    ----------
    lp, eps, delta, s, alpha, opt, width, feasible, prices, start
        As for :func:`solve`. With ``feasible="always"`` or a probability private numbers are
        tightened. The loss of objective from that depends on them, so the plan says how wide the
        noise on them is, in their units, and how wide their declared range is; what was lost on
        programs made up from the ranges; and where costs are public, the worst objective that noise
        can lead to.
    every : bool
        Also plan methods that are for comparison only, and print all that apply; by default the one
        that ``method="auto"`` takes, and up to three others.

    Returns
    -------
    Plan

    Raises
    ------
    InvalidParameterError, UnsupportedProblemError
        As :func:`solve` would.

    Warns
    -----
    NotPrivateWarning, MissedRowsWarning
        If delta is 1/n or more, or `s` counts all private rows.

    Notes
    -----
    Where only numbers are private, the printed plan says which parts of the program are public.

    Predictions use sizes, costs, bounds and declared numbers; no private row is read. They are
    violations to expect beyond the least possible one, per unit of ||A_i||_2 for constraint-private
    programs (alpha's units). How large the least possible violation is, and how many rows are
    tight, is private. So predictions are right within a factor of about two for covering programs
    of many rows, where all rows can be satisfied and most are tight, and up to ten times too low
    for others. With a range of the optimum, violations and yardstick are those of its upper end.
    They shrink with the objective; their ratio does not change.

    Examples
    --------
    >>> import numpy as np, privlp
    >>> needs = np.random.default_rng(0).uniform(0.2, 1.0, size=(5000, 4))
    >>> lp = privlp.LinearProgram(c=[1, 2, 1, 3], A=-needs, b=-np.ones(5000))
    >>> plan = privlp.plan(lp, eps=1.0, delta=1e-6, s=100, opt=3.0)
    >>> plan.best, sorted(plan.predictions)
    ('chain', ['chain', 'dmw', 'perturbed', 'staged'])
    >>> print(privlp.plan(lp, eps=0.001, delta=1e-6, s=100, opt=3.0).advice)
    Too few rows for this eps: ...

    Budgets between 2 and 10 that must never be exceeded:

    >>> lp = privlp.examples.advertising(private="budgets")
    >>> print(privlp.plan(lp, eps=1.0, delta=1e-3, feasible="always"))
    method            noise on            typical    at most    declared range
    ----------------  ------------------  ---------  ---------  ----------------
    tightened (auto)  right-hand sides b  0.676      1.35       8
    ...
    """
    require_program(lp)
    require_flag(every, "every")
    with unnoticed():
        options = {"opt": opt, "width": width, "feasible": feasible, "prices": prices}
        request = SolveRequest.of(lp, eps, delta, s, alpha, start=start_of(lp, start), **options)
        require(
            math.isfinite(request.ledger.eps),
            "eps must be finite: without noise there is nothing to plan. Solve with eps=inf, or use"
            " solve_exact.",
            "eps",
        )
        methods = protecting(request.relation, feasible)
        warn_of_request(request)
        if feasible is None:
            methods = [method for method in methods if method.rows_hold == "nearly"]
        methods = [method for method in methods if method.listed or every]
        offered = candidates(request, methods)
        proposals = Proposals(replace(request, auto=True)).add(methods)
        chosen = proposals.best(offered)
        if request.lp.penalty is not None:  # hard rows: a listed method may ask for a width
            refuse_unused_width(request, chosen)
        best = chosen.name
        found, reasons = proposals.predictions, proposals.reasons
        if best in reasons:
            raise reasons[best]
        ordered = dict(sorted(found.items(), key=lambda item: (item[0] != best, item[1].violation)))
        prediction = ordered.get(best)
        verdict, advice = advise(request, prediction)
        foretold = foretell(request, proposals.planned[best])
        other = _said_of_other(request, verdict, proposals.planned[best])
        return Plan(
            best=best,
            predictions=ordered,
            not_applicable={method: str(reason) for method, reason in reasons.items()},
            yardstick=None if prediction is None else prediction.yardstick,
            verdict=verdict,
            advice=" ".join(filter(None, (advice, foretold.words, other)))
            + said_of_start(request, best),
            losses=foretold.losses,
            least_loss=foretold.least,
            unit="per ‖Aᵢ‖₂" if request.relation.changes_whole_rows else "in units of A x − b",
            _request=request,
            _methods=methods,
            _most=len(methods) if every else _MOST,
        )
