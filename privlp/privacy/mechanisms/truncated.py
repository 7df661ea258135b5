"""Noise of bounded support: a release is never above the true value."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from privlp.checks import FloatArray, require, whole
from privlp.errors import InvalidParameterError
from privlp.privacy.gaussian_dp import MOST_DEVIATIONS, Change, least_width, log_delta
from privlp.privacy.mechanisms.additive import (
    ExponentialTails,
    HasGenerator,
    OneSidedNoise,
    require_delta,
    require_positive,
)
from privlp.privacy.noise import (
    Law,
    OneSidedSupNorm,
    OneSidedTruncatedGaussian,
    OneSidedTruncatedLaplace,
)


@dataclass(frozen=True)
class TruncatedGaussianMechanism(OneSidedNoise):
    """Subtract Gaussian noise truncated to [-width, width] and shifted to [0, 2 width].

    A release is never above the true value. The noise on each entry is an independent X ~ N(0,
    sigma^2) given that abs(X) <= width, which is at most 64 sigma. `sensitivity` bounds the L2
    change of the vector between neighbours, `l1` the L1 change, `entry` the change of every entry,
    and at most `touched` entries move. With Z = P(abs(X) <= width) before truncation, the release
    is (eps, delta)-DP with

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
    public grid, so that a release never exceeds the true value. Proof: ``docs/proofs.md``,
    "Truncated Gaussian mechanism".
    """

    sensitivity: float
    sigma: float
    width: float
    eps: float
    l1: float
    entry: float
    touched: int
    name = "truncated Gaussian mechanism"

    scale_is, norm = "sigma", "L2"

    def __post_init__(self) -> None:
        super().__post_init__()
        require_positive(self.l1, "l1")
        require_positive(self.entry, "entry")
        whole(self.touched, "touched")
        self._require_width(MOST_DEVIATIONS, f"{MOST_DEVIATIONS:g}")
        wrong = f"eps must be positive, and finite where sigma is positive, got {self.eps!r}."
        require(self.eps > 0 and (math.isfinite(self.eps) or not self.sigma > 0), wrong, "eps")

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
        """The mechanism of the least width that spends no more than (eps, delta); no noise for inf.

        By default, `touched` entries move by at most `sensitivity` in L2. So each of them moves by
        at most as much, and all of them by at most sqrt(touched) times as much in L1. The standard
        deviation is found by a search that looks at these public numbers only.
        """
        wrong = f"touched must be a positive integer, got {touched!r}."
        require(touched >= 1, wrong, "touched")
        l1 = math.sqrt(touched) * sensitivity if l1 is None else l1
        entry = sensitivity if entry is None else entry
        if math.isinf(eps):
            return cls(sensitivity, 0.0, 0.0, eps, l1, entry, touched)
        require_delta(delta)
        # This refuses what is outside its domain.
        trial = cls(sensitivity, 1.0, 1.0, eps, l1, entry, touched)
        sigma, width = least_width(eps, min(delta, 1.0), trial._change)
        return cls(sensitivity, sigma, width, eps, l1, entry, touched)

    @property
    def _law(self) -> Law:
        return OneSidedTruncatedGaussian(self.width / self.sigma)

    @property
    def _change(self) -> Change:
        return Change(self.sensitivity, self.l1, self.entry, int(self.touched))

    @property
    def pure_eps(self) -> float:
        return self.eps if self.sigma > 0 else math.inf

    @property
    def own_delta(self) -> float:  # type: ignore[override]
        """By the formula above, rounded up."""
        if self.sigma == 0:
            return 0.0
        return min(1.0, math.exp(log_delta(self.eps, self._change, self.sigma, self.width)))


#: In scales. Beyond it, steps of the grid are no longer whole numbers in double precision.
_LARGEST_WIDTH = 2.0**30


@dataclass(frozen=True)
class TruncatedLaplaceMechanism(ExponentialTails, OneSidedNoise):
    """Subtract Laplace noise truncated to [-width, width] and shifted to [0, 2 width].

    A release is never above the true value. `sensitivity` bounds the L1 change of the vector
    between neighbours. An entry that moves by D keeps a log-ratio of at most D/scale where both
    supports overlap. Outside it loses a mass of (e^(D/scale) - 1) / (2 (e^(width/scale) - 1)).
    Entries are independent, and sum_i (e^(e_i) - 1) <= e^(sum_i e_i) - 1. So the release of any
    number of entries is (eps, delta)-DP with

        eps = sensitivity / scale,    delta = r (e^(eps/r) - 1) / (2 (e^(width/scale) - 1)),

    where r = sensitivity / entry, and `entry` bounds the change of every single entry (r = 1 if
    nothing is known of it). The one-entry case is that of Geng, Ding, Guo and Kumar (2020). For m
    entries Muñoz Medina, Syed, Vassilvitskii and Vitercik (2021) and Benvenuti et al. (2026) take a
    width that grows with m, which is not needed. The Rényi divergence is infinite: the ledger adds
    (eps, delta) to the rest. The exact difference is rounded down to a public grid, so that a
    release never exceeds the true value. Proof: ``docs/proofs.md``, "Truncated Laplace mechanism".
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
        self._require_width(_LARGEST_WIDTH, "2^30")

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

        `shift` is the budget that sets the width, if it is more than `eps`. Parts of eps_k each,
        with eps_1 + eps_2 + ... = shift, may share one `delta` if all take this shift, because
        sum_k (e^(eps_k) - 1) <= e^shift - 1. `published_for` takes the published width for that
        many entries, ln(m (e^eps - 1)/delta + 1) in units of the scale. `entry` bounds the change
        of every entry.
        """
        if math.isinf(eps):
            return cls(sensitivity, 0.0, 0.0, entry)
        require_delta(delta)
        factor = 0.5 if published_for is None else float(published_for)
        ratio = 1.0 if entry is None else sensitivity / entry
        # A little wider than the formula: rounding never makes the price exceed what was asked for.
        odds = log_odds(eps if shift is None else shift, ratio) + math.log(factor / delta)
        width = float(np.logaddexp(0.0, odds)) * (1 + 1e-12)
        return cls(sensitivity, sensitivity / eps, width * sensitivity / eps, entry)

    @property
    def _law(self) -> Law:
        return OneSidedTruncatedLaplace(self.width / self.scale)

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


@dataclass(frozen=True)
class TruncatedSupNormMechanism(ExponentialTails, OneSidedNoise):
    """Subtract noise for vectors of which all entries may move, cut to [0, 2 width].

    A release is never above the true value. `sensitivity` bounds the change of every entry of a
    vector of `size` entries; all of them may move. The noise is width + X, where X is a Gamma(size
    + 1, scale) length, cut at the width, times a point uniform in the cube. Without the cut its
    density is in proportion to exp(-max|X_i| / scale) (Hardt and Talwar 2010), and the release is
    (sensitivity / scale)-DP. The cut changes it with the probability t that the length exceeds the
    width. So the release is (eps, delta)-DP with

        eps = sensitivity / scale,    delta = (1 + e^eps) t,
        t <= e^-v v^size / size! / (1 - size / v),    v = width / scale > size.

    The width grows like size / eps. Up to a few hundred entries that is narrower than truncated
    Gaussian noise. The Rényi divergence is infinite: the ledger adds (eps, delta) to the rest. The
    exact difference is rounded down to a public grid. Proof: ``docs/proofs.md``, "Truncated
    sup-norm mechanism".
    """

    width: float
    size: int
    name, norm = "truncated sup-norm mechanism", "Linf"

    def __post_init__(self) -> None:
        super().__post_init__()
        whole(self.size, "size")
        self._require_width(_LARGEST_WIDTH, "2^30")
        require(
            self.width == 0 or self.width > self.size * self.scale,
            f"width must exceed size times scale, {self.size * self.scale:g}, got {self.width!r}.",
            "width",
        )

    @classmethod
    def of_budget(
        cls, sensitivity: float, eps: float, delta: float, size: int
    ) -> TruncatedSupNormMechanism:
        """The mechanism of about the least width that spends no more than (eps, delta)."""
        if math.isinf(eps):
            return cls(sensitivity, 0.0, 0.0, size)
        require_delta(delta)
        low, high = float(size), 2.0 * size + 1
        while _log_cut(high, size, eps) > math.log(delta):
            low, high = high, 2 * high
        for _ in range(100):
            middle = (low + high) / 2
            wide = middle > size and _log_cut(middle, size, eps) <= math.log(delta)
            low, high = (low, middle) if wide else (middle, high)
        return cls(sensitivity, sensitivity / eps, high * (1 + 1e-12) * sensitivity / eps, size)

    @property
    def _law(self) -> Law:
        return OneSidedSupNorm(self.width / self.scale)

    @property
    def own_delta(self) -> float:  # type: ignore[override]
        """By the formula above."""
        if self.scale == 0:
            return 0.0
        log = _log_cut(self.width / self.scale, self.size, self.pure_eps)
        return math.exp(min(log, 0.0))

    def release(self, value: npt.ArrayLike, randomness: HasGenerator) -> FloatArray:
        wrong = f"value must be a vector of {self.size} entries, for which the noise was made."
        require(np.size(value) == self.size, wrong, "value")
        return super().release(value, randomness)


def _log_cut(width: float, size: int, eps: float) -> float:
    """ln((1 + e^eps) t) of the formula above, rounded up."""
    sizes = width + size * abs(math.log(width)) + math.lgamma(size + 1) + eps
    log = size * math.log(width) - width - math.lgamma(size + 1) - math.log1p(-size / width)
    return log + float(np.logaddexp(0.0, eps)) + 2.0**-40 * (1 + sizes)


def log_odds(eps: float, ratio: float) -> float:
    """ln(r (e^(eps/r) - 1)) for a ratio r of L1 change to entry bound."""
    return math.log(ratio) + _log_expm1(eps / ratio)


def _log_expm1(x: float) -> float:
    """ln(e^x - 1) for x > 0, without overflow."""
    return x + math.log(-math.expm1(-x))
