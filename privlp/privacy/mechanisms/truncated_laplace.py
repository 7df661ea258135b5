"""Truncated Laplace noise: a release is never above the true value."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from privlp.errors import InvalidParameterError
from privlp.privacy.mechanisms.additive import ExponentialTails, OneSidedNoise
from privlp.privacy.mechanisms.base import require_delta
from privlp.privacy.noise.laws import Law
from privlp.privacy.noise.truncated_laws import OneSidedTruncatedLaplace

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

    Parameters
    ----------
    sensitivity, scale, width : float
        In the units of the released value.
    entry : float, optional
        Bound on the change of every entry, at most `sensitivity`, which is the default.
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
        self._require_width("scale", _LARGEST_WIDTH, "2^30")

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

        There is no noise for ``eps = inf``.

        `shift` is the budget that sets the width, if it is more than `eps`. Parts of eps_k each,
        with eps_1 + eps_2 + ... = shift, may share one `delta` if all take this shift, because
        sum_k (e^(eps_k) - 1) <= e^shift - 1. `published_for` takes the published width for that
        many entries, ln(m (e^eps - 1)/delta + 1) in units of the scale. `entry` bounds the change
        of every entry.

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
        require_delta(delta)
        factor = 0.5 if published_for is None else float(published_for)
        ratio = 1.0 if entry is None else sensitivity / entry
        # A little wider than the formula: rounding never makes the price exceed what was asked for.
        width = _log1p_exp(
            log_odds(eps if shift is None else shift, ratio) + math.log(factor / delta)
        ) * (1 + 1e-12)
        return cls(sensitivity, sensitivity / eps, width * sensitivity / eps, entry)

    @property
    def _law(self) -> Law:
        return OneSidedTruncatedLaplace(self.width / self.scale)

    @property
    def parameter(self) -> str:
        return f"{super().parameter}, width = {self.width:.6g}"

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


def log_odds(eps: float, ratio: float) -> float:
    """ln(r (e^(eps/r) - 1)) for a ratio r of L1 change to entry bound."""
    return math.log(ratio) + _log_expm1(eps / ratio)


def _log_expm1(x: float) -> float:
    """ln(e^x - 1) for x > 0, without overflow."""
    return x + math.log(-math.expm1(-x))


def _log1p_exp(x: float) -> float:
    """ln(1 + e^x), without overflow."""
    return float(np.logaddexp(0.0, x))
