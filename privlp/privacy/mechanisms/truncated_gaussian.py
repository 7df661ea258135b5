"""Truncated Gaussian noise: a release is never above the true value."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy.typing as npt

from privlp.checks import whole
from privlp.errors import InvalidParameterError
from privlp.privacy.gaussian_tails import MOST_DEVIATIONS, Change, least_width, log_delta
from privlp.privacy.mechanisms.additive import OneSidedNoise
from privlp.privacy.mechanisms.base import (
    l2_distance,
    require_delta,
    require_positive,
    require_scale,
)
from privlp.privacy.noise.laws import Law
from privlp.privacy.noise.truncated_laws import OneSidedTruncatedGaussian


@dataclass(frozen=True)
class TruncatedGaussianMechanism(OneSidedNoise):
    """Subtract Gaussian noise truncated to [-width, width] and shifted to [0, 2 width].

    A release is never above the true value. The noise on each entry is an independent X ~ N(0,
    sigma^2) given that abs(X) <= width. `sensitivity` bounds the L2 change of the vector between
    neighbours, `l1` the L1 change, `entry` the change of every entry, and at most `touched` entries
    move. With Z = P(abs(X) <= width) before truncation, the release is (eps, delta)-DP with

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

    Parameters
    ----------
    sensitivity : float
        Bound on the L2 change, in the units of the released value.
    sigma, width : float
        Standard deviation before truncation, and where the noise is truncated, at most 64 sigma.
        Both 0 for no noise.
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

    def __post_init__(self) -> None:
        for bound in ("sensitivity", "l1", "entry"):
            require_positive(getattr(self, bound), bound)
        whole(self.touched, "touched")
        require_scale(self.sigma, "sigma")
        self._require_width("sigma", MOST_DEVIATIONS, f"{MOST_DEVIATIONS:g}")
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

        There is no noise for ``eps = inf``.

        By default, `touched` entries move by at most `sensitivity` in L2. So each of them moves by
        at most as much, and all of them by at most sqrt(touched) times as much in L1. The standard
        deviation is found by a search that looks at these public numbers only.

        Examples
        --------
        A hundred numbers, each of which moves by at most 1:

        >>> from privlp.privacy import TruncatedGaussianMechanism
        >>> change = {"l1": 100.0, "entry": 1.0, "touched": 100}
        >>> mechanism = TruncatedGaussianMechanism.of_budget(10.0, 1.0, 1e-6, **change)
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
        require_delta(delta)
        # This refuses what is outside its domain.
        trial = cls(sensitivity, 1.0, 1.0, eps, l1, entry, touched)
        sigma, width = least_width(eps, min(delta, 1.0), trial._change)
        return cls(sensitivity, sigma, width, eps, l1, entry, touched)

    @property
    def _scale(self) -> float:
        return self.sigma

    @property
    def _law(self) -> Law:
        return OneSidedTruncatedGaussian(self.width / self.sigma)

    @property
    def _change(self) -> Change:
        return Change(self.sensitivity, self.l1, self.entry, int(self.touched))

    @property
    def parameter(self) -> str:
        return f"sigma = {self.sigma:.6g}, width = {self.width:.6g}"

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

    def distance(self, one: npt.ArrayLike, two: npt.ArrayLike) -> float:
        """The L2 norm of the change."""
        return l2_distance(one, two)
