"""What an audit of a solve found, in words, as data and as a picture."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tabulate import tabulate

from privlp.audits.mechanism_result import AuditResult
from privlp.privacy.record import json_number
from privlp.report.figure import drawing_on, place_legend
from privlp.report.style import COLOURS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from privlp.problem.linear_program import LinearProgram

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
            found.append(
                f"'{self.purpose}' moves by {self.ratio:.4g} times the sensitivity that was"
                " charged."
            )
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
        The two neighbours that were told apart best.

    Examples
    --------
    >>> from privlp import audit_solve, examples
    >>> found = audit_solve(examples.diet(), 1.0, 0.0, pairs=2, runs=0, rng=0)
    >>> found.passed, found.faults, [release.purpose for release in found.releases]
    (True, [], ['noise on costs c'])
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
        found += [
            f"A side output tells neighbours apart: {difference}."
            for difference in self.side_outputs
        ]
        found += [f"Price: {problem}." for problem in self.price]
        if self.end_to_end is not None and not self.end_to_end.passed:
            found.append(f"The released x: {self.end_to_end}")
        return found

    @property
    def passed(self) -> bool:
        """Whether no fault was found. A pass is not a proof of privacy."""
        return not self.faults

    def __str__(self) -> str:
        rows = [
            (
                r.purpose,
                r.mechanism,
                r.draws,
                f"{r.sensitivity:.4g}",
                f"{r.change:.4g}",
                f"{r.ratio:.3f}",
                _measured(r.audit),
            )
            for r in self.releases
        ]
        headers = (
            "purpose",
            "mechanism",
            "draws",
            "charged",
            "largest change",
            "ratio",
            "one draw alone",
        )
        lines = [
            (
                f"Audit of method {self.method!r}; {self.relation}; claimed eps = {self.eps:g},"
                f" delta = {self.delta:g}."
            ),
            (
                f"{self.pairs} pairs of extreme neighbours, what one released played back to the"
                " other:"
            ),
            "",
            tabulate(rows, headers=headers, disable_numparse=True),
            "",
        ]
        if not self.side_outputs:
            lines.append(
                "All else that leaves a solve (x, messages, trace, ledger, warnings) was the same"
                " on both."
            )
        if self.end_to_end is not None:
            lines.append(
                f"The released x, {self.end_to_end.runs} runs on each of the worst pair:"
                f" {_measured(self.end_to_end)}."
            )
        nothing = (
            "No fault found."
            if self.releases
            else "Nothing was released through the ledger, so nothing was compared."
        )
        lines += [f"FAULT. {fault}" for fault in self.faults] or [nothing]
        return "\n".join([*lines, _NO_PROOF])

    def to_dict(self) -> dict[str, Any]:
        """Plain data that ``json`` can write; the programs of the worst pair are left out.

        Examples
        --------
        >>> import json
        >>> from privlp import audit_solve, examples
        >>> found = audit_solve(examples.diet(), 1.0, 0.0, pairs=2, runs=0, rng=0)
        >>> json.loads(json.dumps(found.to_dict()))["releases"][0]["purpose"]
        'noise on costs c'
        """
        return {
            "passed": self.passed,
            "faults": self.faults,
            **{
                name: getattr(self, name)
                for name in ("eps", "delta", "method", "relation", "pairs")
            },
            "releases": [_plain_release(release) for release in self.releases],
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
        bars = ax.barh(
            [_wrapped(release.purpose) for release in self.releases],
            ratios,
            height=0.6,
            color=colours,
        )
        words = [" FAULT" if release.faults else "" for release in self.releases]
        ax.bar_label(
            bars, [f" {ratio:.2f}{word}" for ratio, word in zip(ratios, words, strict=True)]
        )
        ax.axvline(1.0, color="0.2", linestyle="--", label="what was charged")
        ax.set_xlim(0.0, 1.7 * max([1.0, *ratios]))
        ax.invert_yaxis()
        ax.set_xlabel("largest change / charged sensitivity")
        found = {0: "no fault found (no proof)", 1: "1 fault found"}.get(
            len(self.faults), f"{len(self.faults)} faults found"
        )
        ax.set_title(f"not private; {self.method}: {found}")


def _measured(result: AuditResult | None) -> str:
    if result is None:
        return "not audited"
    return f"eps >= {result.eps_lower:.3g} of {result.eps:.3g}{'' if result.passed else ' FALSE'}"


def _plain(result: AuditResult | None) -> dict[str, Any] | None:
    if result is None:
        return None
    return {
        name: getattr(result, name)
        for name in ("eps", "delta", "eps_lower", "confidence", "runs", "event", "passed")
    }


def _plain_release(release: AuditedRelease) -> dict[str, Any]:
    numbers = {
        name: getattr(release, name)
        for name in ("purpose", "mechanism", "draws", "sensitivity", "change", "ratio")
    }
    return {name: json_number(value) for name, value in numbers.items()} | {
        "audit": _plain(release.audit)
    }


def _wrapped(words: str, length: int = 28) -> str:
    lines = [""]
    for word in words.split():
        if lines[-1] and len(lines[-1]) + len(word) >= length:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return "\n".join(lines)
