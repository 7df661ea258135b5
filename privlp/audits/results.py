"""What audits found, in words, as data and as pictures."""

from __future__ import annotations

import math
import textwrap
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from privlp.checks import as_printed
from privlp.errors import InvalidParameterError
from privlp.pictures import COLOURS, drawing_on, place_legend
from privlp.privacy.record import json_number

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from privlp.linear_program import LinearProgram

_NOTHING = "no fault found (no proof)"
_WRAPPER = textwrap.TextWrapper(28, break_long_words=False, break_on_hyphens=False)
_LOOKS: tuple[dict[str, Any], ...] = (
    {"color": COLOURS["blue"]},
    {"color": COLOURS["orange"], "linestyle": ":"},
)


@dataclass(frozen=True)
class Outcomes:
    """How often each of a few groups of outputs came out on either input, in the judging runs."""

    names: tuple[str, ...]  #: Labels of the groups; empty for bins of a projection.
    #: Ends of the bins; empty for labels. Outputs beyond count in the outermost bins.
    edges: tuple[float, ...]
    counts: tuple[tuple[int, ...], tuple[int, ...]]  #: Of the data, and of the neighbour.
    in_event: tuple[bool, ...]  #: Which groups make up the event.
    axis: str = "outcome"  #: What the labels or bins are of.


@dataclass(frozen=True)
class AuditResult:
    """Outcome of an audit: what runs on one pair of neighbouring inputs say about a claim.

    It can show that the claim is false, up to the stated confidence. It cannot show that the claim
    is true: another pair, another event, or more runs may find what these did not. A mechanism that
    is (eps, delta)-DP passes. A mechanism that passes need not be (eps, delta)-DP.

    Attributes
    ----------
    eps, delta : float
        The claim.
    eps_lower : float
        With probability `confidence` over the runs, the mechanism is not (e, delta)-DP for any e
        below this.
    confidence : float
        Of the lower bound. The false-alarm rate of :attr:`passed` for a correct mechanism is
        1 - confidence.
    runs : int
        Runs on each of the two inputs.
    event : str
        The set of outputs that gave the bound.
    outcomes : Outcomes or None
        What :meth:`plot` draws.

    Examples
    --------
    >>> import privlp
    >>> def answer(bit, rng):
    ...     return bit if rng.random() < 0.75 else 1 - bit  # eps = ln 3 = 1.0986...
    >>> result = privlp.audit(answer, 0, 1, eps=1.1, delta=0, runs=2000, rng=0)
    >>> result.passed, 0.5 < result.eps_lower < 1.1, result.confidence
    (True, True, 0.999)
    """

    eps: float
    delta: float
    eps_lower: float
    confidence: float
    runs: int
    event: str
    outcomes: Outcomes | None = field(default=None, repr=False)

    @property
    def passed(self) -> bool:
        """Whether the claim survived. A pass is not a proof of privacy."""
        return self.eps_lower <= self.eps

    _repr_pretty_ = as_printed

    def __str__(self) -> str:
        passed = "no fault found (this is not a proof of privacy)"
        return (
            f"claimed eps = {self.eps:g} at delta = {self.delta:g}; measured eps >="
            f" {self.eps_lower:.4g} with confidence {self.confidence:g} from {self.runs} runs on"
            f" each input: {passed if self.passed else 'THE CLAIM IS FALSE'}."
        )

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw how often each output came out on both inputs, and the most that the claim allows.

        Differential privacy says P(output) <= e^eps Q(output) + delta. P is the input on which the
        event is likelier. The event is shaded. The dashed line is the right-hand side, for each bar
        by itself.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; a new figure by default.

        Examples
        --------
        >>> import matplotlib.pyplot as plt, privlp
        >>> def answer(bit, rng):
        ...     return bit if rng.random() < 0.75 else 1 - bit
        >>> ax = privlp.audit(answer, 0, 1, eps=1.1, delta=0, runs=2000, rng=0).plot()
        >>> [label.get_text() for label in ax.get_xticklabels()], ax.get_ylabel()
        (['0', '1'], 'share of runs')
        >>> plt.close(ax.figure)
        """
        if self.outcomes is None:
            nothing = "This result holds no outcomes to draw: it was not made by audit()."
            raise InvalidParameterError(nothing)
        with drawing_on(ax) as axes:
            self._draw(self.outcomes, axes)
            place_legend(axes, outside=ax is None)
        return axes

    def _draw(self, outcomes: Outcomes, ax: Axes) -> None:
        in_event = np.array(outcomes.in_event)
        shares = np.array(outcomes.counts) / max(1, sum(outcomes.counts[0]))
        likelier = 0 if shares[0][in_event].sum() >= shares[1][in_event].sum() else 1
        inputs = ("data", "neighbour")
        most = math.exp(min(self.eps, 700.0)) * shares[1 - likelier] + self.delta
        edges = np.array(outcomes.edges or np.arange(len(in_event) + 1) - 0.5)
        for number, group in enumerate(np.flatnonzero(in_event)):
            label = "_nolegend_" if number else "event"
            ax.axvspan(*edges[group : group + 2], color="0.88", linewidth=0, label=label)
        for share, name, look in zip(shares, inputs, _LOOKS, strict=True):
            ax.stairs(share, edges, label=name, linewidth=2.5, fill=False, **look)
        claim = f"most that ε = {self.eps:.3g}, δ = {self.delta:.2g}\nallows on {inputs[likelier]}"
        look = {"color": "0.3", "linestyle": "--", "linewidth": 1.5}
        ax.stairs(np.minimum(1.0, most), edges, label=claim, **look)
        ax.set_ylim(0.0, min(1.05, 1.6 * float(shares.max())))
        ax.set_ylabel("share of runs")
        ax.set_xlabel(outcomes.axis)
        if outcomes.names:
            turn, ha = (45, "right") if len(outcomes.names) > 4 else (0, "center")
            ax.set_xticks(range(len(in_event)), outcomes.names, rotation=turn, ha=ha)
        verdict = _NOTHING if self.passed else "the claim is false"
        measured = f"measured ε ≥ {self.eps_lower:.3g}, claimed {self.eps:.3g}"
        ax.set_title(f"not private; {measured}:\n{verdict}")


#: What the comparison of two computed values may itself lose to rounding.
ROUNDING = 1e-9
_FINE, _FAULTY = COLOURS["blue"], COLOURS["vermilion"]
_NO_PROOF = (
    "This is no proof of privacy: other neighbours, other programs or other releases may show what"
    " these did not. Not private: computed from the true rows without noise."
)


@dataclass(frozen=True)
class AuditedRelease:
    """What is released for one purpose, and how far it was found to move between neighbours.

    Attributes
    ----------
    purpose, mechanism : str
        As in the ledger.
    draws : int
        Number of draws in one solve.
    sensitivity : float
        What was charged: the largest change that is allowed.
    change : float
        The largest change found, in the same norm.
    audit : AuditResult or None
        A statistical audit of a single draw; None without runs, or where nothing moved.

    Examples
    --------
    >>> from privlp import AuditedRelease
    >>> release = AuditedRelease("a sum", "Gaussian mechanism", 30, sensitivity=2.0, change=3.0)
    >>> release.ratio, release.faults
    (1.5, ["'a sum' moves by 1.5 times the sensitivity that was charged."])
    """

    purpose: str
    mechanism: str
    draws: int
    sensitivity: float
    change: float
    audit: AuditResult | None = None

    @property
    def ratio(self) -> float:
        """Largest change found over the sensitivity charged: above 1 is a fault.

        Near 1 says that the charge is tight.
        """
        return self.change / self.sensitivity

    @property
    def faults(self) -> list[str]:
        """What is wrong, in words."""
        found = []
        if not self.ratio <= 1 + ROUNDING:
            times = f"{self.ratio:.4g} times the sensitivity that was charged"
            found.append(f"'{self.purpose}' moves by {times}.")
        if self.audit is not None and not self.audit.passed:
            found.append(f"A single draw of '{self.purpose}', audited by itself: {self.audit}")
        return found


@dataclass(frozen=True, eq=False)
class SolveAudit:
    """Outcome of an audit of a solve. **Not private**: computed from the true rows without noise.

    Attributes
    ----------
    eps, delta : float
        The claim.
    method, relation : str
        What was audited. A single draw is not audited if there are no runs, if nothing moved it, or
        if its mechanism claims neither a pure eps nor Gaussian noise.
    pairs : int
        Pairs of neighbours that were tried.
    releases : tuple of AuditedRelease
        One for each purpose in the ledger that was reached.
    side_outputs : tuple of str
        What else differed between neighbours that had released the same numbers; should be empty.
    price : tuple of str
        What is wrong with what was paid; should be empty.
    end_to_end : AuditResult or None
        A statistical audit of the released x on the worst pair; None without runs.
    worst : pair of LinearProgram
        The two neighbours with the worst fault, or else with the largest change.

    Examples
    --------
    >>> from privlp import audit_solve, examples
    >>> found = audit_solve(examples.diet(), 1.0, 0.0, pairs=2, runs=0, rng=0)
    >>> found.passed, found.faults, [release.purpose for release in found.releases]
    (True, [], ['noise on costs c'])
    >>> found.to_dict()["releases"][0]["mechanism"]
    'Laplace mechanism'
    """

    eps: float
    delta: float
    method: str
    relation: str
    pairs: int
    releases: tuple[AuditedRelease, ...]
    side_outputs: tuple[str, ...]
    price: tuple[str, ...]
    end_to_end: AuditResult | None
    worst: tuple[LinearProgram, LinearProgram] = field(repr=False)

    @property
    def faults(self) -> list[str]:
        """Everything that contradicts the claim, in words."""
        found = [fault for release in self.releases for fault in release.faults]
        found += [f"A side output tells neighbours apart: {what}." for what in self.side_outputs]
        found += [f"Price: {problem}." for problem in self.price]
        if self.end_to_end is not None and not self.end_to_end.passed:
            found.append(f"The released x: {self.end_to_end}")
        return found

    @property
    def passed(self) -> bool:
        """Whether no fault was found. A pass is not a proof of privacy."""
        return not self.faults

    _repr_pretty_ = as_printed

    def __str__(self) -> str:
        from tabulate import tabulate  # noqa: PLC0415 (slow to load)

        headers = ("purpose", "mechanism", "draws", "charged", "largest change", "ratio")
        rows = [
            (
                *(r.purpose, r.mechanism, r.draws, f"{r.sensitivity:.4g}", f"{r.change:.4g}"),
                *(f"{r.ratio:.3f}", _measured(r.audit)),
            )
            for r in self.releases
        ]
        table = tabulate(rows, headers=(*headers, "one draw alone"), disable_numparse=True)
        lines = [
            f"Audit of method {self.method!r}; {self.relation}; claimed eps = {self.eps:g}, delta ="
            f" {self.delta:g}.\n{self.pairs} pairs of extreme neighbours, what one released played"
            f" back to the other:\n\n{table}\n"
        ]
        if not self.side_outputs:
            alike = "(x, messages, trace, ledger, warnings) was the same on both"
            lines.append(f"All else that leaves a solve {alike}.")
        if self.end_to_end is not None:
            runs = f"{self.end_to_end.runs} runs on each of the worst pair"
            lines.append(f"The released x, {runs}: {_measured(self.end_to_end)}.")
        nothing = "Nothing was released through the ledger, so nothing was compared."
        found = [f"FAULT. {fault}" for fault in self.faults]
        lines += found or ["No fault found." if self.releases else nothing]
        return "\n".join([*lines, _NO_PROOF])

    def to_dict(self) -> dict[str, Any]:
        """Plain data that ``json`` can write; the programs of the worst pair are left out."""
        return {
            **_fields(self, "passed faults eps delta method relation pairs"),
            "releases": [
                _fields(release, "purpose mechanism draws sensitivity change ratio")
                | {"audit": _plain(release.audit)}
                for release in self.releases
            ],
            "side_outputs": list(self.side_outputs),
            "price": list(self.price),
            "end_to_end": _plain(self.end_to_end),
            "note": _NO_PROOF,
        }

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the largest change over the sensitivity charged, for each purpose.

        A bar beyond the line at 1 is a fault.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; a new figure by default.

        Examples
        --------
        >>> import matplotlib.pyplot as plt
        >>> from privlp import audit_solve, examples
        >>> ax = audit_solve(examples.diet(), 1.0, 0.0, pairs=2, runs=0, rng=0).plot()
        >>> print(ax.get_title())
        not private; direct-noise: no fault found (no proof)
        >>> plt.close(ax.figure)
        """
        with drawing_on(ax) as axes:
            self._draw(axes)
            place_legend(axes, outside=False)
        return axes

    def _draw(self, ax: Axes) -> None:
        ratios = [min(release.ratio, 1e6) for release in self.releases]
        colours = [_FAULTY if release.faults else _FINE for release in self.releases]
        purposes = ["\n".join(_WRAPPER.wrap(release.purpose)) for release in self.releases]
        bars = ax.barh(purposes, ratios, height=0.6, color=colours)
        words = [" FAULT" if release.faults else "" for release in self.releases]
        ax.bar_label(bars, [f" {r:.2f}{word}" for r, word in zip(ratios, words, strict=True)])
        ax.axvline(1.0, color="0.2", linestyle="--", label="what was charged")
        ax.set_xlim(0.0, 1.7 * max([1.0, *ratios]))
        ax.invert_yaxis()
        ax.set_xlabel("largest change / charged sensitivity")
        number = len(self.faults)
        found = f"{number} fault{'s' * (number > 1)} found" if number else _NOTHING
        ax.set_title(f"not private; {self.method}: {found}")


def _measured(result: AuditResult | None) -> str:
    if result is None:
        return "not audited"
    return f"eps >= {result.eps_lower:.3g} of {result.eps:.3g}{'' if result.passed else ' FALSE'}"


def _plain(result: AuditResult | None) -> dict[str, Any] | None:
    names = "eps delta eps_lower confidence runs event passed"
    return None if result is None else _fields(result, names)


def _fields(thing: object, names: str) -> dict[str, Any]:
    return {name: json_number(getattr(thing, name)) for name in names.split()}
