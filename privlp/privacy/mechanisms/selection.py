"""The exponential mechanism, and noisy linear terms of an objective whose minimiser is released."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from privlp.checks import BoolArray, FloatArray, require
from privlp.errors import InvalidParameterError
from privlp.privacy.mechanisms.additive import (
    CHANCE,
    LARGEST_SCALE,
    AdditiveNoise,
    EuclideanLaplaceMechanism,
    GaussianMechanism,
    HasGenerator,
    LaplaceMechanism,
    Mechanism,
    require_positive,
)
from privlp.privacy.noise import nearly
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


def bernoulli_exp(exponents: FloatArray, generator: np.random.Generator) -> BoolArray:
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


class _SecretTerm(AdditiveNoise):
    """Noise in an objective: it is not rounded, because it is not released."""

    curvature_cost: float
    arithmetic = (
        "the noise is not released; its rounding error is covered by noise of its own, but for a"
        " chance of 2^-92, which is part of delta"
    )
    chance = CHANCE

    def __post_init__(self) -> None:
        super().__post_init__()
        wrong = f"curvature_cost must be non-negative and finite, got {self.curvature_cost!r}."
        require(0 <= self.curvature_cost < math.inf, wrong, "curvature_cost")

    @property
    def pure_eps(self) -> float:
        return super().pure_eps + self.curvature_cost  # type: ignore[safe-super]

    def release(self, value: npt.ArrayLike, randomness: HasGenerator) -> FloatArray:
        exact = np.asarray(value, dtype=float)
        noise = nearly(self._scale, self._law, exact.size, randomness.generator)
        return exact + noise.reshape(exact.shape)


class HiddenGradient:
    """What a secret term hides: a gradient of private numbers at the minimum, (size,).

    As a value to release it is 0, because the secret term itself is drawn. An audit shows two
    neighbours the same minimum, and moves the secret term of one by the difference of their
    gradients `at` that point, which is what the mechanism was charged for.
    """

    def __init__(self, size: int, at: Callable[[FloatArray], FloatArray]) -> None:
        self._size, self.at = size, at
        self.minimum: FloatArray | None = None

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> FloatArray:
        return np.zeros(self._size, dtype=dtype)


@dataclass(frozen=True)
class ObjectivePerturbation(_SecretTerm, EuclideanLaplaceMechanism):
    """The linear term of a perturbed objective whose exact minimiser is released.

    The term is noise of density proportional to exp(-||v||_2 / scale). `sensitivity` bounds the L2
    change of the gradient of the summed losses between neighbours. The minimiser is a function of
    the linear term, with a Jacobian that depends on the records. `curvature_cost` bounds the change
    of the logarithm of its determinant: ln(1 + q R^2 / (n reg)) for curvature q, rows of norm R,
    and an objective of strong convexity `reg`. Together this is (sensitivity / scale +
    curvature_cost)-DP. The release of the *exact* minimiser is private; the linear term itself
    stays secret. It is drawn to within ``scale * 2**-40`` in every entry. This error is to be
    covered together with that of the minimiser. Proof: ``docs/proofs.md``, "Objective
    perturbation".
    """

    curvature_cost: float
    name = "objective perturbation"


@dataclass(frozen=True)
class LaplaceObjectivePerturbation(_SecretTerm, LaplaceMechanism):
    """As :class:`ObjectivePerturbation`, with an independent Laplace term in every coordinate.

    `sensitivity` bounds the L1 change of the gradient of the summed losses at any one point.
    Densities of the linear term then differ by a factor of at most exp(sensitivity / scale), also
    where the change depends on the term itself: no corner is summed over. Together with the
    determinant this is (sensitivity / scale + curvature_cost)-DP. Proof: ``docs/proofs.md``,
    "Allocation by private prices".
    """

    curvature_cost: float
    name = "Laplace objective perturbation"

    @property
    def price(self) -> Price:
        return Price.pure(self.pure_eps) if self.scale > 0 else Price.none()


@dataclass(frozen=True)
class GaussianObjectivePerturbation(_SecretTerm, GaussianMechanism):
    """As :class:`ObjectivePerturbation`, with Gaussian noise.

    The privacy loss is at most ``curvature_cost + (b·g + ||g||^2/2) / sigma^2`` for noise b and a
    change g of the gradient. This g *depends on b*, so that this is no Gaussian mechanism. For
    losses of a margin, g = a x - a' x' with bounded slopes a and a'. The privacy loss is convex in
    (a, a'), hence at most its maximum over the four corners of their range. At each corner it is
    that of a Gaussian mechanism. So delta(eps) is at most the sum of four Gaussian curves at eps -
    curvature_cost. Slopes of one sign make three of them smaller: one corner is 0, and two move one
    record only. Proof: ``docs/proofs.md``, "Objective perturbation".

    A record of several rows changes g by a sum of several vectors, its *parts*, each with a bounded
    slope of its own. `sensitivity` bounds the sum of their norms: ||a x|| + ||a' x'|| where a
    record has one row. The loss is convex in all slopes, so there are 2^parts corners. With slopes
    of one sign a corner chooses m parts. There are C(parts, m) such choices, and g is then no
    longer than m times the largest part, nor than all parts together. If the slope of a part may
    also have the other sign, but is smaller there, the other parts add at most their number times
    `opposite_part`. Proof: ``docs/proofs.md``, "One perturbed convex program".
    """

    curvature_cost: float
    #: Whether slopes of a loss have one sign: a and a' lie between 0 and a bound, or between a
    #: bound and minus a smaller one, as `opposite_part` says.
    one_sided: bool = False
    #: Number of vectors by which the gradient changes: 2 where a record of one row is replaced.
    #: Beyond 1,000 no price is known.
    parts: int = 2
    #: Bound on the norm of each of them, `sensitivity` / `parts` if left out.
    largest_part: float | None = None
    #: Bound on the norm of each of them where its slope has the other sign; used where `one_sided`.
    opposite_part: float = 0.0
    name = "Gaussian objective perturbation"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.opposite_part <= self._part:
            raise InvalidParameterError(
                "opposite_part must lie between 0 and the norm of the largest part,"
                f" {self._part!r}; got {self.opposite_part!r}.",
                parameter="opposite_part",
            )

    @property
    def _part(self) -> float:
        given = self.largest_part
        return self.sensitivity / max(self.parts, 1) if given is None else given

    @property
    def price(self) -> Price:
        parts = self.parts
        if self.sigma == 0 or parts > 1000:  # more corners than any floating-point number
            return Price.none()
        mu = self.sensitivity / self.sigma
        corners = [(2**parts, mu)]
        if self.one_sided:
            part, other = self._part / self.sigma, self.opposite_part / self.sigma
            longest = [(m, min(m * part + (parts - m) * other, mu)) for m in range(parts, -1, -1)]
            corners = [(math.comb(parts, m), length) for m, length in longest if length > 0]
        return Price.of_corners(self.curvature_cost, corners)
