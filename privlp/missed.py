"""How many rows a private answer misses: an interval, from noisy counts."""

from __future__ import annotations

import math
from dataclasses import dataclass

# A normal deviate beyond which there is a chance of 2.5 % at either side. The answer may be one of
# two points, the second only if a count speaks against the first: so the interval of either
# fails with a chance of 5 %, and the one that is released with at most 10 %.
_DEVIATIONS = 1.96
_PROBABILITY = 0.9


@dataclass(frozen=True)
class MissedRows:
    """An interval for the number of private rows that x misses by more than alpha."""

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
                " so many rows can be satisfied."
            )
        said = (
            f"Perhaps more than s = {s:g} rows are missed: by noisy counts between {self.low:,.0f}"
            f" and {self.high:,.0f}."
        )
        middle = 0.5 * (self.low + self.high)
        ways = [f"s = {self.high:,.0f}"]
        if middle < s:
            ways.append(f"eps = {eps * (self.high - middle) / (s - middle):.2g}")
        return f"{said} About {' or '.join(ways)} would make sure."

    def __str__(self) -> str:
        return f"{self.low:,.0f} to {self.high:,.0f} rows, with probability {self.probability:g}"
