"""What an audit found, and its picture."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from privlp.errors import InvalidParameterError
from privlp.report.figure import drawing_on, place_legend
from privlp.report.style import COLOURS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FloatArray = npt.NDArray[np.float64]

_MOST_BARS = 12
_BINS = 40
_LOOKS: tuple[dict[str, Any], ...] = (
    {"color": COLOURS["blue"]},
    {"color": COLOURS["orange"], "linestyle": ":"},
)


@dataclass(frozen=True)
class Outcomes:
    """How often each of a few groups of outputs came out on either input, in the judging runs."""

    #: Labels of the groups; empty for bins of a projection.
    names: tuple[str, ...]
    #: Ends of the bins of the projection; empty for labels. Outputs beyond count in the outermost
    #: bins.
    edges: tuple[float, ...]
    #: Of the data, and of the neighbour.
    counts: tuple[tuple[int, ...], tuple[int, ...]]
    #: Which groups make up the event.
    in_event: tuple[bool, ...]
    #: What the labels or bins are of.
    axis: str = "outcome"


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

    def __str__(self) -> str:
        verdict = (
            "no fault found (this is not a proof of privacy)"
            if self.passed
            else "THE CLAIM IS FALSE"
        )
        return (
            f"claimed eps = {self.eps:g} at delta = {self.delta:g}; measured eps >="
            f" {self.eps_lower:.4g} with confidence {self.confidence:g} from {self.runs} runs on"
            f" each input: {verdict}."
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
            raise InvalidParameterError(
                "This result holds no outcomes to draw: it was not made by audit()."
            )
        with drawing_on(ax) as axes:
            self._draw(self.outcomes, axes)
            place_legend(axes, outside=ax is None)
        return axes

    def _draw(self, outcomes: Outcomes, ax: Axes) -> None:
        in_event = np.array(outcomes.in_event)
        shares = np.array(outcomes.counts) / max(1, sum(outcomes.counts[0]))
        likelier = 0 if shares[0][in_event].sum() >= shares[1][in_event].sum() else 1
        inputs = ("data", "neighbour")
        allowed = np.minimum(
            1.0, math.exp(min(self.eps, 700.0)) * shares[1 - likelier] + self.delta
        )
        edges = np.array(outcomes.edges or np.arange(len(in_event) + 1) - 0.5)
        _shade(ax, edges, in_event)
        for share, name, look in zip(shares, inputs, _LOOKS, strict=True):
            ax.stairs(share, edges, label=name, linewidth=2.5, fill=False, **look)
        ax.stairs(
            allowed,
            edges,
            color="0.3",
            linestyle="--",
            linewidth=1.5,
            label=(
                f"most that ε = {self.eps:.3g}, δ = {self.delta:.2g}\nallows on {inputs[likelier]}"
            ),
        )
        ax.set_ylim(0.0, min(1.05, 1.6 * float(shares.max())))
        ax.set_ylabel("share of runs")
        ax.set_xlabel(outcomes.axis)
        if outcomes.names:
            slanted = len(outcomes.names) > 4
            ax.set_xticks(
                range(len(in_event)),
                outcomes.names,
                rotation=45 * slanted,
                ha="right" if slanted else "center",
            )
        verdict = "no fault found (no proof)" if self.passed else "the claim is false"
        measured = f"measured ε ≥ {self.eps_lower:.3g}, claimed {self.eps:.3g}"
        ax.set_title(f"not private; {measured}:\n{verdict}")


def _shade(ax: Axes, edges: FloatArray, in_event: npt.NDArray[np.bool_]) -> None:
    label = "event"
    for left, right, inside in zip(edges[:-1], edges[1:], in_event, strict=True):
        if inside:
            ax.axvspan(left, right, color="0.88", linewidth=0, label=label)
            label = "_nolegend_"


def bars(first: list[Any], second: list[Any], chosen: frozenset[Any]) -> Outcomes:
    """The commonest labels, those of the event first; then the other labels, as two groups."""
    counts, other_counts = Counter(first), Counter(second)
    common = [label for label, _ in (counts + other_counts).most_common(_MOST_BARS)]
    shown = [label for label in common if label in chosen] + [
        label for label in common if label not in chosen
    ]
    names = [str(label) for label in shown]
    groups = [(counts[label], other_counts[label], label in chosen) for label in shown]
    rest = (counts + other_counts).keys() - set(common)
    for name, inside in (("others of the event", True), ("others", False)):
        left = [label for label in rest if (label in chosen) == inside]
        if left:
            names.append(name)
            groups.append(
                (
                    sum(counts[label] for label in left),
                    sum(other_counts[label] for label in left),
                    inside,
                )
            )
    one, two, in_event = zip(*groups, strict=True)
    return Outcomes(tuple(names), (), (one, two), in_event)


def histogram(
    first: FloatArray, second: FloatArray, cut: float, above: bool, axis: str
) -> Outcomes:
    """Bins of two lists of numbers, with the cut among their ends."""
    both = np.concatenate([first, second])
    low, high = (float(end) for end in np.quantile(both, [0.001, 0.999]))
    width = max(high - low, abs(cut) * 1e-9, 1e-300) / _BINS
    below, beyond = (
        max(1, min(_BINS, math.ceil(distance / width))) for distance in (cut - low, high - cut)
    )
    edges = cut + width * np.arange(-below, beyond + 1)
    bins = np.arange(len(edges) - 1)
    counts = []
    for side in (first, second):
        where = np.clip(np.floor((side - cut) / width) + below, 0, len(bins) - 1).astype(int)
        counts.append(tuple(np.bincount(where, minlength=len(bins)).tolist()))
    in_event = tuple(((bins >= below) == above).tolist())
    return Outcomes((), tuple(edges.tolist()), (counts[0], counts[1]), in_event, axis)
