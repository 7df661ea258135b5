"""Truncated Laplace noise of the published width, for comparison."""

from __future__ import annotations

from privlp.methods.tightened.noise import TruncatedLaplace
from privlp.privacy import TruncatedLaplaceMechanism
from privlp.relations.numbers import PrivateNumbers


class PublishedTruncatedLaplace(TruncatedLaplace):
    """As :class:`~privlp.methods.tightened.noise.TruncatedLaplace`, with the published width.

    The width is ln(m (e^eps - 1)/delta + 1) for m numbers (Muñoz Medina et al. 2021).
    Proof: ``docs/proofs.md``, "Truncated Laplace mechanism".
    """

    name = "truncated-laplace-published"
    take_it = "you compare with Muñoz Medina et al. (2021)"
    listed = False

    def _of_eps(
        self, numbers: list[PrivateNumbers], split: list[float], eps: float, delta: float
    ) -> list[TruncatedLaplaceMechanism]:
        entries = sum(len(part) for part in numbers)
        return [
            TruncatedLaplaceMechanism.of_budget(
                part.l1, share * eps, delta, shift=eps, published_for=entries
            )
            for part, share in zip(numbers, split, strict=True)
        ]
