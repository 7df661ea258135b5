"""How a solve ended, how good a plan expects it to be, and how many rows its answer misses."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum


class Status(StrEnum):
    """Outcome of :func:`privlp.solve` and :func:`privlp.solve_exact`.

    ``OPTIMAL`` is said only of a certified optimum and ``COMPLETED`` only of a private solve that
    played all its rounds; nothing that stopped at a limit is called a success.

    Examples
    --------
    >>> from privlp import Status
    >>> Status.COMPLETED.success, Status.TIME_LIMIT.success, str(Status.TIME_LIMIT)
    (True, False, 'time limit')
    """

    OPTIMAL = "optimal"
    COMPLETED = "completed"
    INFEASIBLE = "infeasible"
    UNBOUNDED = "unbounded"
    INFEASIBLE_OR_UNBOUNDED = "infeasible or unbounded"
    TIME_LIMIT = "time limit"
    ITERATION_LIMIT = "iteration limit"
    NUMERICAL_ERROR = "numerical error"

    @property
    def success(self) -> bool:
        """Whether the result is what was asked for."""
        return self in (Status.OPTIMAL, Status.COMPLETED)


class Verdict(StrEnum):
    """How good a private solve is expected to be, from public numbers alone.

    ``NO_LIMIT`` alone is said after a solve, from its noisy counts.

    Its text begins the advice of a plan.

    Examples
    --------
    >>> import privlp
    >>> privlp.plan(privlp.examples.diet(), eps=1.0, delta=1e-3).verdict
    <Verdict.ROWS_HOLD: 'Only costs are private'>
    >>> Verdict.TOO_FEW_ROWS.worrying, Verdict.ENOUGH_ROWS.worrying
    (True, False)
    """

    ENOUGH_ROWS = "Enough rows for this eps"
    ROUGH = "Rough"
    TOO_FEW_ROWS = "Too few rows for this eps"
    #: Said of an answer: nothing public limits it, and by noisy counts private rows do not either.
    NO_LIMIT = "No limit was found"
    #: Violations are predicted, but what rows typically vary by is not known publicly.
    UNKNOWN = "Unknown"
    ROWS_HOLD = "Only costs are private"  #: Only costs are private, so that every row holds.
    #: Predicted violations are small beside what declared ranges let a row move.
    NEARLY_HOLD = "Rows hold nearly"
    #: ``feasible="always"``: noise tightens the private numbers, within their declared range.
    NEVER_VIOLATED = "Every row holds, whatever the noise"
    #: ``feasible=p``: numbers are tightened by quantiles of the noise.
    PROBABLY_HOLD = "All rows hold together with the probability asked for"
    #: ``feasible="always"`` or ``feasible=p``: the noise is wider than the declared range.
    TOO_MUCH_NOISE = "Too much noise for the declared range"

    #: An allocation: what noise and reserve take of supplies.
    ENOUGH_SUPPLY = "Enough supply for this eps"
    TOO_LITTLE_SUPPLY = "Too little supply for this eps"

    @property
    def worrying(self) -> bool:
        """Whether an answer may be far off: look at the advice before you rely on it."""
        noisy = self.ROUGH, self.TOO_FEW_ROWS, self.TOO_MUCH_NOISE, self.TOO_LITTLE_SUPPLY
        return self in (self.NO_LIMIT, *noisy)


# A normal deviate beyond which there is a chance of 2.5 % at either side. The answer may be one of
# two points, the second only if the count of the first is too large: so the interval of either
# fails with a chance of 5 %, and the one that is released with at most 10 %.
_DEVIATIONS = 1.96
_PROBABILITY = 0.9
# An eps that is larger by more than this factor is not named as a way out.
_MUCH_MORE = 5.0


def rounded_up(value: float) -> float:
    """The least number of two digits that is no smaller, up to rounding; or infinity."""
    if not 0 < value < math.inf:
        return math.inf
    digit = 10.0 ** (math.floor(math.log10(value)) - 1)
    return math.ceil(value / digit - 1e-9) * digit


@dataclass(frozen=True)
class MissedRows:
    """An interval for the number of private rows that x misses, by more than alpha or rounding."""

    #: Its ends; 0 at least, and the public number of rows at most.
    low: float
    high: float
    #: It contains the true number at least as often, over the noise, whatever the data.
    probability: float

    @classmethod
    def of(cls, count: float, sigma: float, largest_n: int) -> MissedRows:
        """From a count at the point that is released, whose noise has this deviation."""
        doubt = cls.doubt(sigma)
        low, high = (float(min(max(end, 0.0), largest_n)) for end in (count - doubt, count + doubt))
        ends = math.ceil(low), math.floor(high)
        if ends[0] > ends[1]:  # no whole number lies between
            ends = math.floor(low), math.ceil(high)
        return cls(*ends, _PROBABILITY if sigma else 1.0)

    @staticmethod
    def doubt(sigma: float) -> float:
        """How far the ends are from a count."""
        return _DEVIATIONS * sigma

    def warning(self, s: float, eps: float) -> str:
        """What to say if more than s rows may be missed, and what would help; or nothing."""
        if self.high <= s:
            return ""
        if self.low > s:
            return (
                f"No point was found that misses so few rows: by noisy counts at least"
                f" {self.low:,.0f} are missed, not s = {s:g}. Give a larger s or eps, or check that"
                " bounds and public rows leave room to satisfy so many."
            )
        said = (
            f"Perhaps more than s = {s:g} rows are missed: by noisy counts between {self.low:,.0f}"
            f" and {self.high:,.0f}."
        )
        middle = 0.5 * (self.low + self.high)
        ways = [f"s = {self.high:,.0f}"]
        more = (self.high - middle) / (s - middle) if middle < s else math.inf
        if more <= _MUCH_MORE:
            ways.append(f"eps = {rounded_up(eps * more):g}")
        return f"{said} About {' or '.join(ways)} would most likely do."

    def __str__(self) -> str:
        return f"{self.low:,.0f} to {self.high:,.0f} rows, with probability {self.probability:g}"
