"""Noise of bounded support: Laplace or Gaussian, and the share of the budget of each part."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import cast

import numpy as np
import numpy.typing as npt

from privlp.methods.noisy_numbers import NAMES
from privlp.methods.prediction import NoiseOnNumbers
from privlp.methods.task import Task
from privlp.privacy import ChargedDraws, TruncatedGaussianMechanism, TruncatedLaplaceMechanism
from privlp.privacy.mechanisms.truncated_laplace import log_odds
from privlp.relations.private_numbers import PrivateNumbers

FloatArray = npt.NDArray[np.float64]
BoundedNoise = TruncatedLaplaceMechanism | TruncatedGaussianMechanism

# Share of delta that is split evenly, so that every part has some.
_EVEN = 1e-3


def deviation(mechanism: BoundedNoise) -> float:
    """Standard deviation of the noise before it is truncated."""
    return (
        mechanism.sigma
        if isinstance(mechanism, TruncatedGaussianMechanism)
        else math.sqrt(2) * mechanism.scale
    )


def noise_on(numbers: PrivateNumbers, mechanism: BoundedNoise) -> NoiseOnNumbers:
    """How far noise moves the numbers of one part.

    Noise on b and A is shifted: its median is its width. Noise on costs is centred, and at most its
    width.
    """
    declared = float(np.median(numbers.high - numbers.low))
    if numbers.part == "c":
        typical = (
            mechanism.sigma
            if isinstance(mechanism, TruncatedGaussianMechanism)
            else mechanism.scale
        )
        return NoiseOnNumbers("c", min(typical, mechanism.width), mechanism.width, declared)
    return NoiseOnNumbers(numbers.part, mechanism.width, mechanism.most, declared)


def certain_ends(
    numbers: PrivateNumbers, draw: ChargedDraws, values: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Draw once; an interval that holds each number with certainty.

    For costs both ends are the released cost, with centred noise.
    """
    mechanism = cast("BoundedNoise", draw.mechanism)
    if numbers.part == "A":
        largest = -draw(-values)
        smallest = largest - mechanism.most
        # There are four roundings of at most half a unit in the last place. They must not lift it
        # above the true value.
        if mechanism.most > 0:
            smallest -= 4 * np.spacing(np.maximum(np.abs(largest), np.abs(smallest)))
        return smallest, largest
    if numbers.part == "b":
        return draw(values), np.full(len(values), np.inf)
    released = draw(values) + mechanism.width
    return released, released


def caution(noises: Sequence[NoiseOnNumbers]) -> str:
    """A sentence on parts whose noise is as wide as their range, from public numbers."""
    drowned = " and ".join(NAMES[noise.part] for noise in noises if noise.drowns)
    return (
        f"Noise is wider than the declared range of the {drowned}: x hardly depends on them. "
        if drowned
        else ""
    )


def gaussian_noise(part: PrivateNumbers, eps: float, delta: float) -> TruncatedGaussianMechanism:
    """Truncated Gaussian noise on one part."""
    return TruncatedGaussianMechanism.of_budget(
        part.l2, eps, delta, l1=part.l1, entry=part.entry, touched=part.touched
    )


def deltas(
    numbers: list[PrivateNumbers], split: list[float], eps: float, delta: float
) -> list[float]:
    """The delta of each part: in units of their scales, widths of Laplace noise are about equal."""
    if len(numbers) == 1 or math.isinf(eps):
        return [delta] * len(numbers)
    logs = np.array(
        [
            log_odds(share * eps, part.l1 / part.entry)
            for part, share in zip(numbers, split, strict=True)
        ]
    )
    weights = np.exp(logs - logs.max())
    parts = (1 - _EVEN) * weights / weights.sum() + _EVEN / len(numbers)
    return [float(share) * delta for share in parts / parts.sum()]


def _whole_budget(task: Task, part: PrivateNumbers) -> TruncatedLaplaceMechanism:
    """Laplace noise on one part that takes all that is left of the budget."""
    delta = task.ledger.delta_left

    def make(eps: float) -> TruncatedLaplaceMechanism:
        return TruncatedLaplaceMechanism.of_budget(part.l1, eps, delta, entry=part.entry)

    return task.ledger.calibrate(make, 1)


def is_narrower(task: Task, numbers: list[PrivateNumbers]) -> list[bool]:
    """On which parts Gaussian noise is narrower than Laplace noise, at the whole budget."""
    laplace = [_whole_budget(task, part) for part in numbers]
    gaussian = [
        gaussian_noise(part, one.pure_eps, one.own_delta)
        for part, one in zip(numbers, laplace, strict=True)
    ]
    return [one.width < other.width for one, other in zip(gaussian, laplace, strict=True)]


def gaussian_parts(task: Task, numbers: list[PrivateNumbers]) -> list[bool]:
    """Which parts get Gaussian noise: those where it is narrower; if there are none, all."""
    narrower = is_narrower(task, numbers)
    return narrower if any(narrower) else [True] * len(numbers)


def gaussian_effect(task: Task, part: PrivateNumbers) -> float:
    """The L1 change for which Laplace noise would be as wide as this Gaussian noise."""
    laplace = _whole_budget(task, part)
    if laplace.width == 0:
        return part.l1
    return part.l1 * gaussian_noise(part, laplace.pure_eps, laplace.own_delta).width / laplace.width
