"""The exponential mechanism: a private selection."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from privlp.checks import FloatArray
from privlp.errors import InvalidParameterError
from privlp.privacy.mechanisms.base import LARGEST_SCALE, HasGenerator, Mechanism, require_positive
from privlp.privacy.prices import Price

_LOG_ERROR_OF_A_SELECTION = 2.0**-38


@dataclass(frozen=True)
class ExponentialMechanism(Mechanism):
    """Select index j with probability proportional to exp(eps * score_j / (2 * sensitivity)).

    Neighbour relation: whichever one `sensitivity` was derived for. `sensitivity` bounds the change
    of every single score; more generally ``2 * sensitivity`` bounds ``max_j d_j - min_j d_j`` for
    the change d of the score vector. ``eps = inf`` selects the largest score without noise.

    *Privacy.* The log-probabilities of two neighbours differ by (d_j - log-normaliser) * eps/(2
    sensitivity); over j this spans at most eps, so the mechanism is eps-bounded-range (Durfee and
    Rogers 2019), hence eps-DP, (eps^2 / 8)-zCDP (Cesar and Rogers 2021), and mu-Gaussian-DP with mu
    = 2 Phi^{-1}(1/(1 + e^(-eps/2))). Proof: ``docs/proofs.md``, "Exponential mechanism".

    *Rounding.* Only an index leaves. It is drawn by rejection: a uniform index j is accepted with
    probability exp(-x_j), x_j = eps (max score - score_j) / (2 sensitivity), as a product of coin
    flips of probability at least 1/e each. So every acceptance probability has a small *relative*
    error, however small it is; capping x at 700 (which keeps the sensitivity) bounds the log-error
    of a draw by 2**-38, and `eps` is charged with that much added. No part of delta is needed. The
    rounding of the scores themselves belongs to `sensitivity`.
    """

    sensitivity: float
    eps: float
    name = "exponential mechanism"
    arithmetic = "an index is selected; rounding is inside the sensitivity and eps"

    def __post_init__(self) -> None:
        require_positive(self.sensitivity, "sensitivity")
        if not self.eps >= 0:
            raise InvalidParameterError(
                f"eps of the exponential mechanism must be non-negative, got {self.eps!r}."
            )

    @property
    def parameter(self) -> str:
        return f"eps = {self.eps:.6g}"

    @property
    def pure_eps(self) -> float:
        return self.eps + _LOG_ERROR_OF_A_SELECTION

    @property
    def price(self) -> Price:
        return Price.bounded_range(self.pure_eps) if math.isfinite(self.eps) else Price.none()

    def distance(self, one: npt.ArrayLike, two: npt.ArrayLike) -> float:
        """Half the span of the changes of all scores."""
        return float(np.ptp(np.subtract(one, two))) / 2

    def without_noise(self, value: FloatArray) -> int:
        return int(value.argmax())

    def release(self, value: FloatArray, randomness: HasGenerator) -> int:
        if math.isinf(self.eps):
            return self.without_noise(value)
        gap = value.max() - value
        with np.errstate(over="ignore"):  # a finite factor, so that no gap of 0 becomes NaN
            exponents = np.minimum(
                gap * min(self.eps / (2 * self.sensitivity), LARGEST_SCALE), 700.0
            )
        block = min(4096, 1 + int(2 * exponents.size / np.exp(-exponents).sum()))
        while True:
            proposals = randomness.generator.integers(exponents.size, size=block)
            accepted = np.flatnonzero(bernoulli_exp(exponents[proposals], randomness.generator))
            if accepted.size:
                return int(proposals[accepted[0]])


def bernoulli_exp(exponents: FloatArray, generator: np.random.Generator) -> npt.NDArray[np.bool_]:
    """Independent coins of probability e^-exponent, as products (Canonne, Kamath, Steinke 2020)."""
    flips_left = np.floor(exponents)
    success = generator.random(exponents.shape) < np.exp(flips_left - exponents)
    running = np.flatnonzero(success & (flips_left > 0))
    while running.size:
        passed = generator.random(running.shape) < math.exp(-1)
        success[running[~passed]] = False
        running = running[passed]
        flips_left[running] -= 1
        running = running[flips_left[running] > 0]
    return success
