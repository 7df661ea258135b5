"""What noise will do to a private classifier, from public numbers alone."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from privlp.status import Verdict
from svm_models.forecast import Part, least_enough, ways_out

# Noise beside a mean of records of norm 1. Chosen by trial on generated families, seeds below 100:
# up to the first, fits made at most two more mistakes in a hundred records than without noise;
# beyond the second, many were mostly noise (docs/results/fallback.md).
_ENOUGH, _HOPELESS = 0.008, 0.12
# More mistakes than without noise, at most: so many times that noise, and this share of records.
_TIMES, _BESIDES = 2.5, 0.002


@dataclass(frozen=True)
class Mistakes:
    """How noisy a private classifier will be.

    Attributes
    ----------
    priced : callable
        Gives the parts, in the order of the draws.
    moved : float
        Length of the noise of one release at the whole budget, beside a mean of records of norm
        data_norm.
    falls_back : bool
        Whether one class is named for everyone where that errs less.
    """

    priced: Callable[[], tuple[Part, ...]]
    moved: float
    falls_back: bool

    @property
    def parts(self) -> tuple[Part, ...]:
        """What each kind of draws takes."""
        return self.priced()

    @property
    def excess(self) -> float:
        """What share of the records noise takes for the wrong class, at most: nearly always."""
        return _TIMES * self.moved + _BESIDES

    @property
    def verdict(self) -> Verdict:
        """Whether records and eps are enough."""
        if self.moved <= _ENOUGH:
            return Verdict.ENOUGH_ROWS
        return Verdict.ROUGH if self.moved <= _HOPELESS else Verdict.TOO_FEW_ROWS


def advice_on_mistakes(
    found: Mistakes, records: int, eps: float, forecast: Callable[[int, float], Mistakes]
) -> str:
    """A verdict in words, with the number of records or the eps that would be enough."""
    verdict = found.verdict
    if verdict is Verdict.ENOUGH_ROWS:
        return (
            f"{verdict}: noise takes at most about {100 * found.excess:.2g} in 100 records more for"
            " the wrong class, if records are about as long as data_norm. Among shorter ones, which"
            " are private, it does more."
        )
    would = ways_out(least_enough(forecast, records, eps))
    constant = (
        " The mistakes should be no more than about those of one class for everyone, which is named"
        " where a noisy comparison does not speak for the fit."
        if found.falls_back
        else ""
    )
    if verdict is Verdict.ROUGH:
        return (
            f"{verdict}: how many mistakes noise adds cannot be foretold, because that depends on"
            f" how far apart the classes are, which is private.{constant}{would}"
        )
    so = "one class will most likely be named for everyone"
    if not found.falls_back:
        so = "the weights will most likely mean nothing"
    return f"{verdict}: noise drowns the fit, so {so}.{would}"


def noise_of(sigma: float, n: int, p: int) -> float:
    """The length of noise of this deviation beside a mean of n records of p features and norm 1."""
    return sigma * math.sqrt(p) / n
