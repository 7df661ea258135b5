"""The noise of privlp: every random draw that protects a record is made in this file.

A mechanism knows its sensitivity and its noise, hence its privacy cost; it knows nothing of linear
programs. Sensitivities come from the neighbour relation (:mod:`privlp.relations`). Draws are
obtained only through :meth:`privlp.privacy.ledger.Ledger.charge`, so that nothing is drawn before
it is paid for.
"""

from __future__ import annotations

import math
import sys
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from privlp.errors import InvalidParameterError
from privlp.privacy.gaussian_tails import MOST_DEVIATIONS, Change, least_width, log_delta
from privlp.privacy.prices import Price
from privlp.privacy.rounded_noise import (
    EuclideanLaplace,
    Gaussian,
    Laplace,
    OneSidedTruncatedGaussian,
    OneSidedTruncatedLaplace,
    grid,
    nearly,
    rounded_sum,
)

if TYPE_CHECKING:
    from privlp.privacy.randomness import Randomness

FloatArray = npt.NDArray[np.float64]

_LOG_ERROR_OF_A_SELECTION = 2.0**-38
_LEAST_DELTA = 1e-300
_LARGEST_SCALE = 1e298
_LARGEST_WIDTH = (
    2.0**30
)  # in scales: beyond, steps of the grid are no longer whole numbers in double precision
# Weights of draws, in a range in which their mean is computed to full precision.
_LEAST_WEIGHT, _LARGEST_WEIGHT = 2.0**-500, 2.0**500
# Deviations of weighted draws are larger by this factor, which covers the few units in the last
# place that they are rounded by.
_HAIR = 1 + 1e-12
_ROUNDED = (
    "real-valued noise, exactly rounded to a public grid: the low bits of a release tell nothing"
)
_COVERED = (
    "the noise is not released; its rounding error is covered by noise of its own, but for a chance"
    " below 1e-27"
)


def _require_positive(value: float, name: str) -> None:
    if not 0 < value < math.inf:
        raise InvalidParameterError(
            f"{name} must be positive and finite, got {value!r}.", parameter=name
        )


class Mechanism(ABC):
    """A randomised release and its price."""

    name: str
    sensitivity: float
    #: What one draw takes of delta for itself, being (pure_eps, own_delta)-private and no better.
    own_delta: float = 0.0

    @property
    @abstractmethod
    def parameter(self) -> str:
        """The noise parameter in words, for the ledger."""

    @property
    @abstractmethod
    def pure_eps(self) -> float:
        """Price of one draw as pure differential privacy, or beside :attr:`own_delta` (``inf`` if there is none)."""

    @property
    @abstractmethod
    def arithmetic(self) -> str:
        """What finite-precision arithmetic does to the guarantee, in words."""

    @property
    def price(self) -> Price:
        """Price of one draw, for the ledger."""
        return (
            Price.approximate(self.pure_eps, self.own_delta)
            if math.isfinite(self.pure_eps)
            else Price.none()
        )

    @abstractmethod
    def release(self, value: Any, randomness: Randomness) -> Any:
        """Draw the noisy version of `value`. Call it through a charged draw, never directly."""

    def without_noise(self, value: Any) -> Any:  # noqa: ARG002
        """What a release would be without noise, for audits; None where there is no such thing."""
        return None

    def of_draw(self, number: int, count: int) -> Mechanism:  # noqa: ARG002 (all draws are alike)
        """The mechanism of draw `number`, from 0, where `count` draws are charged together.

        Raises
        ------
        InvalidParameterError
            If the price is not one for `count` draws.
        """
        return self

    @abstractmethod
    def distance(self, one: npt.ArrayLike, two: npt.ArrayLike) -> float:
        """How far two values are apart, in the norm that `sensitivity` bounds."""


@dataclass(frozen=True)
class ExponentialMechanism(Mechanism):
    """Select index j with probability proportional to exp(eps * score_j / (2 * sensitivity)).

    Neighbour relation: whichever one `sensitivity` was derived for. `sensitivity` bounds the change
    of every single score; more generally ``2 * sensitivity`` bounds ``max_j d_j - min_j d_j`` for
    the change d of the score vector.

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

    Parameters
    ----------
    sensitivity : float
        Bound on the change of each score between neighbours.
    eps : float
        Bounded-range parameter of one draw; ``inf`` selects the largest score without noise.
    """

    sensitivity: float
    eps: float
    name = "exponential mechanism"
    arithmetic = "an index is selected; rounding is inside the sensitivity and eps"

    def __post_init__(self) -> None:
        _require_positive(self.sensitivity, "sensitivity")
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

    def release(self, value: FloatArray, randomness: Randomness) -> int:
        if math.isinf(self.eps):
            return self.without_noise(value)
        gap = value.max() - value
        with np.errstate(over="ignore"):  # a finite factor, so that no gap of 0 becomes NaN
            exponents = np.minimum(
                gap * min(self.eps / (2 * self.sensitivity), _LARGEST_SCALE), 700.0
            )
        block = min(4096, 1 + int(2 * exponents.size / np.exp(-exponents).sum()))
        while True:
            proposals = randomness.generator.integers(exponents.size, size=block)
            accepted = np.flatnonzero(_bernoulli_exp(exponents[proposals], randomness.generator))
            if accepted.size:
                return int(proposals[accepted[0]])


def _bernoulli_exp(exponents: FloatArray, generator: np.random.Generator) -> npt.NDArray[np.bool_]:
    """Independent coins of probability exp(-exponent), each to a small relative error (Canonne, Kamath, Steinke 2020)."""
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


@dataclass(frozen=True)
class _ScaledNoise(Mechanism):
    """Noise under which densities at distance `sensitivity` differ by a factor of at most exp(sensitivity / scale)."""

    sensitivity: float
    scale: float
    arithmetic = _ROUNDED

    def __post_init__(self) -> None:
        _require_positive(self.sensitivity, "sensitivity")
        if not 0 <= self.scale < _LARGEST_SCALE:
            raise InvalidParameterError(
                f"scale must be non-negative and below {_LARGEST_SCALE:g}, got {self.scale!r}.",
                parameter="scale",
            )

    @property
    def parameter(self) -> str:
        return f"scale = {self.scale:.6g}"

    @property
    def pure_eps(self) -> float:
        return self.sensitivity / self.scale if self.scale > 0 else math.inf

    def without_noise(self, value: Any) -> Any:
        return value

    def distance(self, one: npt.ArrayLike, two: npt.ArrayLike) -> float:
        """The L1 norm of the change."""
        return float(np.abs(np.subtract(one, two)).sum())


@dataclass(frozen=True)
class LaplaceMechanism(_ScaledNoise):
    """Add independent Laplace noise of the given scale to a number or vector.

    `sensitivity` bounds the L1 change between neighbours; the release is (sensitivity / scale)-DP
    (Dwork, McSherry, Nissim and Smith 2006). The exact sum is rounded to a public grid, so that the
    low bits of a release tell nothing (:mod:`privlp.privacy.rounded_noise`). Proof:
    ``docs/proofs.md``, "Laplace mechanism".

    Parameters
    ----------
    sensitivity, scale : float
        In the units of the released value.
    """

    name = "Laplace mechanism"

    @classmethod
    def of_eps(cls, sensitivity: float, eps: float) -> LaplaceMechanism:
        """The mechanism of the least scale, to a unit in the last place, that spends no more than eps; none for ``eps = inf``."""
        mechanism = cls(sensitivity, sensitivity / eps)
        while mechanism.pure_eps > eps:
            mechanism = cls(sensitivity, math.nextafter(mechanism.scale, math.inf))
        return mechanism

    @property
    def price(self) -> Price:
        return Price.laplace(self.pure_eps) if self.scale > 0 else Price.none()

    def release(self, value: npt.ArrayLike, randomness: Randomness) -> FloatArray:
        return rounded_sum(value, self.scale, Laplace(), randomness.generator)


@dataclass(frozen=True)
class TruncatedLaplaceMechanism(_ScaledNoise):
    """Subtract Laplace noise truncated to [-width, width] and shifted to [0, 2 width]: never above the true value.

    `sensitivity` bounds the L1 change of the vector between neighbours. An entry that moves by D
    keeps a log-ratio of at most D/scale where both supports overlap, and loses a mass of
    (e^(D/scale) - 1) / (2 (e^(width/scale) - 1)) outside. Entries are independent, and sum_i
    (e^(e_i) - 1) <= e^(sum_i e_i) - 1. So the release of any number of entries is (eps, delta)-DP
    with

        eps = sensitivity / scale,    delta = r (e^(eps/r) - 1) / (2 (e^(width/scale) - 1)),

    where r = sensitivity / entry, and `entry` bounds the change of every single entry (r = 1 if
    nothing is known of it). The one-entry case is that of Geng, Ding, Guo and Kumar (2020); for m
    entries Muñoz Medina, Syed, Vassilvitskii and Vitercik (2021) and Benvenuti et al. (2026) take a
    width that grows with m, which is not needed. The Rényi divergence is infinite: the ledger adds
    (eps, delta) to the rest. The exact difference is rounded down to a public grid: a release never
    exceeds the true value. Proof: ``docs/proofs.md``, "Truncated Laplace mechanism".

    Parameters
    ----------
    sensitivity, scale, width : float
        In the units of the released value.
    entry : float, optional
        Bound on the change of every entry, at most `sensitivity`; by default that itself.
    """

    width: float
    entry: float | None = None
    name = "truncated Laplace mechanism"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.entry is not None and not 0 < self.entry <= self.sensitivity:
            raise InvalidParameterError(
                f"entry must be positive and at most the sensitivity of {self.sensitivity:g}, got"
                f" {self.entry!r}.",
                parameter="entry",
            )
        if not 0 <= self.width < math.inf or (self.width == 0) != (self.scale == 0):
            raise InvalidParameterError(
                f"width must be positive and finite, or 0 where scale is, got {self.width!r}.",
                parameter="width",
            )
        if self.width > _LARGEST_WIDTH * self.scale:
            raise InvalidParameterError(
                f"width must be at most 2^30 times the scale of {self.scale:g}, got {self.width!r}.",
                parameter="width",
            )

    @classmethod
    def of_budget(
        cls,
        sensitivity: float,
        eps: float,
        delta: float,
        *,
        shift: float | None = None,
        published_for: int | None = None,
        entry: float | None = None,
    ) -> TruncatedLaplaceMechanism:
        """The mechanism that spends (eps, delta) on an L1 change of `sensitivity`.

        No noise for ``eps = inf``.

        `shift` is the budget that sets the width, if it is more than `eps`: parts of eps_k each,
        with eps_1 + eps_2 + ... = shift, may share one `delta` if all take it, for sum_k (e^(eps_k)
        - 1) <= e^shift - 1. `published_for` takes the published width for that many entries, ln(m
        (e^eps - 1)/delta + 1) in units of the scale. `entry` bounds the change of every entry.

        Examples
        --------
        >>> from privlp.privacy import TruncatedLaplaceMechanism
        >>> round(TruncatedLaplaceMechanism.of_budget(100.0, 1.0, 1e-6).width, 1)
        1366.4
        >>> round(TruncatedLaplaceMechanism.of_budget(100.0, 1.0, 1e-6, entry=1.0).width, 1)
        1312.7
        """
        if math.isinf(eps):
            return cls(sensitivity, 0.0, 0.0, entry)
        if not delta >= _LEAST_DELTA:
            raise InvalidParameterError(
                f"delta must be positive, and {_LEAST_DELTA:g} at least: noise of bounded support"
                " cannot be private without it.",
                parameter="delta",
            )
        factor = 0.5 if published_for is None else float(published_for)
        # A hair wide of the formula, so that rounding never makes the price exceed what was asked.
        ratio = 1.0 if entry is None else sensitivity / entry
        width = _log1p_exp(
            log_odds(eps if shift is None else shift, ratio) + math.log(factor / delta)
        ) * (1 + 1e-12)
        return cls(sensitivity, sensitivity / eps, width * sensitivity / eps, entry)

    @property
    def parameter(self) -> str:
        return f"scale = {self.scale:.6g}, width = {self.width:.6g}"

    @property
    def most(self) -> float:
        """Largest decrease of an entry: twice the width, and the rounding down."""
        return 2 * self.width + grid(self.scale) if self.scale > 0 else 0.0

    @property
    def own_delta(self) -> float:  # type: ignore[override]
        """By the formula above: r (e^(eps/r) - 1) / (2 (e^(width/scale) - 1))."""
        if self.scale == 0:
            return 0.0
        ratio = 1.0 if self.entry is None else self.sensitivity / self.entry
        return min(
            1.0,
            0.5 * math.exp(log_odds(self.pure_eps, ratio) - _log_expm1(self.width / self.scale)),
        )

    def release(self, value: npt.ArrayLike, randomness: Randomness) -> FloatArray:
        if self.scale == 0:
            return np.array(value, dtype=float)
        law = OneSidedTruncatedLaplace(self.width / self.scale)
        return rounded_sum(value, -self.scale, law, randomness.generator, down=True)


@dataclass(frozen=True)
class TruncatedGaussianMechanism(Mechanism):
    """Subtract Gaussian noise truncated to [-width, width] and shifted to [0, 2 width]: never above the true value.

    The noise on each entry is an independent X ~ N(0, sigma^2) given that abs(X) <= width.
    `sensitivity` bounds the L2 change of the vector between neighbours, `l1` the L1 change, `entry`
    the change of every entry, and at most `touched` entries move. With Z = P(abs(X) <= width)
    before truncation, the release is (eps, delta)-DP with

        delta = delta_G(eps; sensitivity/sigma) / Z^touched + min(far, near) / Z,
        delta_G(eps; t) = P(N > eps/t - t/2) - e^eps P(N > eps/t + t/2),
        far = e^eps touched P(width < X < width + min(entry, l1/touched)),
        near = min(touched, l1/entry) P(width - entry < X < width), which counts where entry <=
        width.

    The first term is what Gaussian noise costs where both neighbours can release an output. The
    second one bounds the outputs that only one of them can release: by its own mass (`near`), or by
    e^eps times the mass that Gaussian noise which is not truncated puts there on the other (`far`).
    Entries that do not move drop out. For many entries the width grows like the root of their
    number, where that of truncated Laplace noise grows like the number. The Rényi divergence is
    infinite: the ledger adds (eps, delta) to the rest. The exact difference is rounded down to a
    public grid: a release never exceeds the true value. Proof: ``docs/proofs.md``, "Truncated
    Gaussian mechanism".

    Parameters
    ----------
    sensitivity : float
        Bound on the L2 change, in the units of the released value.
    sigma, width : float
        Standard deviation before truncation, and where it is truncated, at most 64 sigma; both 0 for no noise.
    eps : float
        At which the mechanism is priced.
    l1, entry : float
        Bounds on the L1 change and on the change of every entry.
    touched : int
        Number of entries that move, at most.
    """

    sensitivity: float
    sigma: float
    width: float
    eps: float
    l1: float
    entry: float
    touched: int
    name = "truncated Gaussian mechanism"
    arithmetic = _ROUNDED

    def __post_init__(self) -> None:
        for bound in ("sensitivity", "l1", "entry"):
            _require_positive(getattr(self, bound), bound)
        if not (isinstance(self.touched, int | np.integer) and self.touched >= 1):
            raise InvalidParameterError(
                f"touched must be a positive integer, got {self.touched!r}.",
                parameter="touched",
            )
        if not 0 <= self.sigma < _LARGEST_SCALE:
            raise InvalidParameterError(
                f"sigma must be non-negative and below {_LARGEST_SCALE:g}, got {self.sigma!r}.",
                parameter="sigma",
            )
        if not 0 <= self.width < math.inf or (self.width == 0) != (self.sigma == 0):
            raise InvalidParameterError(
                f"width must be positive and finite, or 0 where sigma is, got {self.width!r}.",
                parameter="width",
            )
        if self.width > MOST_DEVIATIONS * self.sigma:
            raise InvalidParameterError(
                f"width must be at most {MOST_DEVIATIONS:g} times the sigma of {self.sigma:g}, got"
                f" {self.width!r}.",
                parameter="width",
            )
        if not self.eps > 0 or (math.isinf(self.eps) and self.sigma > 0):
            raise InvalidParameterError(
                f"eps must be positive, and finite where sigma is positive, got {self.eps!r}.",
                parameter="eps",
            )

    @classmethod
    def of_budget(
        cls,
        sensitivity: float,
        eps: float,
        delta: float,
        *,
        l1: float | None = None,
        entry: float | None = None,
        touched: int = 1,
    ) -> TruncatedGaussianMechanism:
        """The mechanism of the least width that spends no more than (eps, delta).

        No noise for ``eps = inf``.

        By default, `touched` entries move by `sensitivity` in L2: each by as much at most, and by
        sqrt(touched) times as much in L1. The standard deviation is found by a search that looks at
        these public numbers only.

        Examples
        --------
        A hundred numbers, each of which moves by at most 1:

        >>> from privlp.privacy import TruncatedGaussianMechanism
        >>> mechanism = TruncatedGaussianMechanism.of_budget(10.0, 1.0, 1e-6, l1=100.0, entry=1.0, touched=100)
        >>> round(mechanism.width, 1), mechanism.pure_eps, 0.9999e-6 < mechanism.own_delta <= 1e-6
        (234.8, 1.0, True)
        """
        if touched < 1:
            raise InvalidParameterError(
                f"touched must be a positive integer, got {touched!r}.", parameter="touched"
            )
        l1 = math.sqrt(touched) * sensitivity if l1 is None else l1
        entry = sensitivity if entry is None else entry
        if math.isinf(eps):
            return cls(sensitivity, 0.0, 0.0, eps, l1, entry, touched)
        if not delta >= _LEAST_DELTA:
            raise InvalidParameterError(
                f"delta must be positive, and {_LEAST_DELTA:g} at least: noise of bounded support"
                " cannot be private without it.",
                parameter="delta",
            )
        trial = cls(
            sensitivity, 1.0, 1.0, eps, l1, entry, touched
        )  # refuses what is outside its domain
        sigma, width = least_width(eps, min(delta, 1.0), trial._change)
        return cls(sensitivity, sigma, width, eps, l1, entry, touched)

    @property
    def _change(self) -> Change:
        return Change(self.sensitivity, self.l1, self.entry, int(self.touched))

    @property
    def parameter(self) -> str:
        return f"sigma = {self.sigma:.6g}, width = {self.width:.6g}"

    @property
    def most(self) -> float:
        """Largest decrease of an entry: twice the width, and the rounding down."""
        return 2 * self.width + grid(self.sigma) if self.sigma > 0 else 0.0

    @property
    def pure_eps(self) -> float:
        return self.eps if self.sigma > 0 else math.inf

    @property
    def own_delta(self) -> float:  # type: ignore[override]
        """By the formula above, rounded up."""
        return (
            min(1.0, math.exp(log_delta(self.eps, self._change, self.sigma, self.width)))
            if self.sigma > 0
            else 0.0
        )

    def without_noise(self, value: Any) -> Any:
        return value

    def distance(self, one: npt.ArrayLike, two: npt.ArrayLike) -> float:
        """The L2 norm of the change."""
        return float(np.linalg.norm(np.subtract(one, two)))

    def release(self, value: npt.ArrayLike, randomness: Randomness) -> FloatArray:
        if self.sigma == 0:
            return np.array(value, dtype=float)
        law = OneSidedTruncatedGaussian(self.width / self.sigma)
        return rounded_sum(value, -self.sigma, law, randomness.generator, down=True)


def log_odds(eps: float, ratio: float) -> float:
    """ln(r (e^(eps/r) - 1)) for a ratio r of L1 change to entry bound."""
    return math.log(ratio) + _log_expm1(eps / ratio)


def _log_expm1(x: float) -> float:
    """ln(e^x - 1) for x > 0, without overflow."""
    return x + math.log(-math.expm1(-x))


def _log1p_exp(x: float) -> float:
    """ln(1 + e^x), without overflow."""
    return float(np.logaddexp(0.0, x))


@dataclass(frozen=True)
class GaussianMechanism(Mechanism):
    """Add independent Gaussian noise of the given standard deviation to a number or vector.

    `sensitivity` bounds the L2 change between neighbours; the release is (sensitivity /
    sigma)-Gaussian-DP (Dong, Roth and Su 2022). The exact sum is rounded to a public grid. Proof:
    ``docs/proofs.md``, "Gaussian mechanism".

    Parameters
    ----------
    sensitivity, sigma : float
        In the units of the released value.
    """

    sensitivity: float
    sigma: float
    name = "Gaussian mechanism"
    arithmetic = _ROUNDED

    def __post_init__(self) -> None:
        _require_positive(self.sensitivity, "sensitivity")
        if not 0 <= self.sigma < _LARGEST_SCALE:
            raise InvalidParameterError(
                f"sigma must be non-negative and below {_LARGEST_SCALE:g}, got {self.sigma!r}.",
                parameter="sigma",
            )

    @property
    def parameter(self) -> str:
        return f"sigma = {self.sigma:.6g}"

    @property
    def pure_eps(self) -> float:
        return math.inf

    @property
    def price(self) -> Price:
        return Price.gaussian(self.sensitivity / self.sigma) if self.sigma > 0 else Price.none()

    def without_noise(self, value: Any) -> Any:
        return value

    def distance(self, one: npt.ArrayLike, two: npt.ArrayLike) -> float:
        """The L2 norm of the change."""
        return float(np.linalg.norm(np.subtract(one, two)))

    def release(self, value: npt.ArrayLike, randomness: Randomness) -> FloatArray:
        return rounded_sum(value, self.sigma, Gaussian(), randomness.generator)


@dataclass(frozen=True)
class WeightedGaussianMechanism(GaussianMechanism):
    """Gaussian noise for several draws that are charged together; draws of more weight have less.

    Draw t of T has the standard deviation sigma_t = sigma sqrt(mean(weights) / weights[t]).
    `sensitivity` bounds the L2 change of each released value between neighbours, for whichever
    neighbour relation it was derived. Draw t has the squared Gaussian parameter (sensitivity /
    sigma_t)^2, which is proportional to its weight. All of them together have T (sensitivity /
    sigma)^2: as much as T draws with noise sigma, also where a value depends on earlier releases.
    So each draw is charged as one with noise sigma, but only all T of them at once: a charge for
    another number of draws is refused. Of all noise levels of this total price, these give the sum
    of weights[t] times noise t its least variance. Proof: ``docs/proofs.md``, "Weighted Gaussian
    noise".

    *Rounding.* A computed sigma_t has a relative error below 2**-50. It is enlarged by 1e-12 of
    itself, so that the draws together cost no more than is charged. Each draw is rounded like one
    of :class:`GaussianMechanism`.

    Parameters
    ----------
    sensitivity, sigma : float
        In the units of the released value. `sigma` is an average: sigma^-2 is the mean of sigma_t^-2.
    weights : tuple of float
        One for each draw, in their order; between 2^-500 and 2^500. Only their ratios matter.

    Examples
    --------
    >>> from privlp import Budget, ConstraintPrivate
    >>> from privlp.privacy import Randomness, WeightedGaussianMechanism
    >>> mechanism = WeightedGaussianMechanism(sensitivity=1.0, sigma=10.0, weights=(1.0, 3.0))
    >>> [round(mechanism.of_draw(t, 2).sigma, 6) for t in range(2)]
    [14.142136, 8.164966]
    >>> release = Budget(1.0, 1e-6).charge(mechanism, 2, "two sums", ConstraintPrivate(), Randomness(0))
    >>> noisy = release(17.0), release(23.0)
    >>> Budget(1.0, 1e-6).charge(mechanism, 1, "one sum", ConstraintPrivate(), Randomness(0))
    Traceback (most recent call last):
        ...
    privlp.errors.InvalidParameterError: This weighted Gaussian mechanism has a price for all of its 2 draws, not for 1: ...
    """

    weights: tuple[float, ...]
    name = "weighted Gaussian mechanism"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.weights, tuple) or not self.weights:
            raise InvalidParameterError(
                "weights must be a tuple of at least one number.", parameter="weights"
            )
        in_range = min(self.weights) >= _LEAST_WEIGHT and max(self.weights) <= _LARGEST_WEIGHT
        if not in_range or math.isnan(self._mean):
            raise InvalidParameterError(
                "weights must be positive numbers between 2^-500 and 2^500.",
                parameter="weights",
            )
        least, largest = self._span
        if self.sigma > 0 and not (least >= sys.float_info.min and largest < _LARGEST_SCALE):
            raise InvalidParameterError(
                "sigma must be 0, or give each draw a standard deviation between "
                f"{sys.float_info.min:.3g} and {_LARGEST_SCALE:g}; got {self.sigma!r}.",
                parameter="sigma",
            )

    @cached_property
    def _mean(self) -> float:
        return math.fsum(self.weights) / len(self.weights)

    @cached_property
    def _span(self) -> tuple[float, float]:
        """The least and the largest standard deviation."""
        return self._deviation(max(self.weights)), self._deviation(min(self.weights))

    def _deviation(self, weight: float) -> float:
        return self.sigma * math.sqrt(self._mean / weight) * _HAIR

    @property
    def parameter(self) -> str:
        if self.sigma == 0:
            return super().parameter
        least, largest = self._span
        return f"sigma = {self.sigma:.6g} on average, {least:.3g} to {largest:.3g}"

    def of_draw(self, number: int, count: int) -> GaussianMechanism:
        if count != len(self.weights):
            raise InvalidParameterError(
                f"This {self.name} has a price for all of its {len(self.weights)} draws, not for "
                f"{count}: charge it with count={len(self.weights)}."
            )
        if not 0 <= number < count:
            raise InvalidParameterError(
                f"The {count} draws have the numbers 0 to {count - 1}, got {number}."
            )
        return GaussianMechanism(self.sensitivity, self._deviation(self.weights[number]))

    def release(self, value: npt.ArrayLike, randomness: Randomness) -> FloatArray:  # noqa: ARG002
        """Refuse: the noise of a draw depends on its number."""
        raise InvalidParameterError(
            f"A {self.name} is drawn from by number: use of_draw(number, count).release(...)."
        )


@dataclass(frozen=True)
class EuclideanLaplaceMechanism(_ScaledNoise):
    """Add noise of density proportional to exp(-||v||_2 / scale) to a vector.

    `sensitivity` bounds the L2 change between neighbours; densities at any output differ by a
    factor of at most exp(sensitivity / scale), so the release is (sensitivity / scale)-DP
    (Chaudhuri, Monteleoni and Sarwate 2011). The noise is a uniform direction times a Gamma(p,
    scale) length; it is *not* made of independent Laplace draws. The exact sum is rounded to a
    public grid. Proof: ``docs/proofs.md``, "Euclidean Laplace mechanism".

    Parameters
    ----------
    sensitivity, scale : float
        In the units of the released vector.
    """

    name = "Euclidean Laplace mechanism"

    def distance(self, one: npt.ArrayLike, two: npt.ArrayLike) -> float:
        """The L2 norm of the change."""
        return float(np.linalg.norm(np.subtract(one, two)))

    def release(self, value: npt.ArrayLike, randomness: Randomness) -> FloatArray:
        return rounded_sum(value, self.scale, EuclideanLaplace(), randomness.generator)


def _require_curvature_cost(value: float) -> None:
    if not 0 <= value < math.inf:
        raise InvalidParameterError(
            f"curvature_cost must be non-negative and finite, got {value!r}.",
            parameter="curvature_cost",
        )


@dataclass(frozen=True)
class ObjectivePerturbation(EuclideanLaplaceMechanism):
    """The linear term of a perturbed objective whose exact minimiser is released.

    Noise of density ~ exp(-||v||_2 / scale).

    `sensitivity` bounds the L2 change of the gradient of the summed losses between neighbours. The
    minimiser is a function of the linear term with a Jacobian that depends on the records;
    `curvature_cost` bounds the change of the logarithm of its determinant. Together (sensitivity /
    scale + curvature_cost)-DP. What is private is the release of the *exact* minimiser: the linear
    term itself stays secret. It is drawn to within ``scale * 2**-40`` in every entry, an error that
    is to be covered with that of the minimiser. Proof: ``docs/proofs.md``, "Objective
    perturbation".

    Parameters
    ----------
    sensitivity, scale : float
        In units of the gradient of the summed losses.
    curvature_cost : float
        ln(1 + q R^2 / (n reg)) for curvature q, rows of norm R, and an objective of strong convexity `reg`.
    """

    curvature_cost: float
    name = "objective perturbation"
    arithmetic = _COVERED

    def __post_init__(self) -> None:
        super().__post_init__()
        _require_curvature_cost(self.curvature_cost)

    @property
    def pure_eps(self) -> float:
        return super().pure_eps + self.curvature_cost

    def release(self, value: npt.ArrayLike, randomness: Randomness) -> FloatArray:
        exact = np.asarray(value, dtype=float)
        return exact + nearly(
            self.scale, EuclideanLaplace(), exact.size, randomness.generator
        ).reshape(exact.shape)


@dataclass(frozen=True)
class GaussianObjectivePerturbation(GaussianMechanism):
    """As :class:`ObjectivePerturbation`, with Gaussian noise.

    The privacy loss is at most ``curvature_cost + (b·g + ||g||^2/2) / sigma^2`` for noise b and a
    change g of the gradient that *depends on b*, so that this is no Gaussian mechanism. For losses
    of a margin, g = a x - a' x' with bounded slopes a and a'. The loss is convex in (a, a'), hence
    at most its maximum over the four corners of their range, at each of which it is that of a
    Gaussian mechanism. So delta(eps) is at most the sum of four Gaussian curves at eps -
    curvature_cost. Slopes of one sign make three of them smaller: one corner is 0, and two move one
    record only. Proof: ``docs/proofs.md``, "Objective perturbation".

    Parameters
    ----------
    sensitivity, sigma : float
        In units of the gradient of the summed losses; `sensitivity` bounds ||a x|| + ||a' x'||.
    curvature_cost : float
        As for :class:`ObjectivePerturbation`.
    one_sided : bool
        Whether the slopes of a loss have one sign, so that a and a' lie between 0 and a bound.
    """

    curvature_cost: float
    one_sided: bool = False
    name = "Gaussian objective perturbation"
    arithmetic = _COVERED

    def __post_init__(self) -> None:
        super().__post_init__()
        _require_curvature_cost(self.curvature_cost)

    @property
    def price(self) -> Price:
        if self.sigma == 0:
            return Price.none()
        mu = self.sensitivity / self.sigma
        return Price.of_corners(
            self.curvature_cost, ((1, mu), (2, mu / 2)) if self.one_sided else ((4, mu),)
        )

    def release(self, value: npt.ArrayLike, randomness: Randomness) -> FloatArray:
        exact = np.asarray(value, dtype=float)
        return exact + nearly(self.sigma, Gaussian(), exact.size, randomness.generator).reshape(
            exact.shape
        )
