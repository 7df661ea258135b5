"""Audit a single draw of a mechanism at its own price."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import ndtr

from privlp.audits.mechanism import audit
from privlp.audits.mechanism_result import AuditResult
from privlp.audits.tape import Release
from privlp.privacy.mechanisms import (
    ExponentialMechanism,
    GaussianMechanism,
    LaplaceMechanism,
    Mechanism,
    TruncatedGaussianMechanism,
    TruncatedLaplaceMechanism,
)
from privlp.privacy.randomness import Randomness

# How far apart the two values of an audited draw are: in standard deviations of Gaussian noise, and
# in eps for other noise.
_DEVIATIONS, _EPS = 1.5, 2.0


def audit_draw(
    one: Release,
    two: Release,
    ratio: float,
    runs: int,
    generator: np.random.Generator,
    confidence: float,
) -> AuditResult | None:
    """Audit one draw along a change, stretched to the size that the noise hides worst.

    Parameters
    ----------
    one, two : Release
        The same release on two neighbours.
    ratio : float
        Their distance in sensitivities.
    """
    mechanism = one.mechanism
    times, eps, delta = _claim(mechanism)
    if not (0 < ratio < math.inf and 0 < times < math.inf):
        return None
    step = two.exact - one.exact
    bounds = _bounds_of_entries(mechanism)
    if bounds:  # the price holds within these bounds: the change is stretched up to them
        size = mechanism.distance(step, np.zeros_like(step)) / mechanism.sensitivity
        times = min(times, *(size * bound / norm(step) for norm, bound in bounds))
    elif isinstance(mechanism, LaplaceMechanism | TruncatedLaplaceMechanism) and step.ndim:
        # Entries have noise of their own, and it hides a change of many entries better than the
        # same change of one.
        step = np.where(np.arange(step.size) == np.abs(step).argmax(), step, 0.0)
    step = step * (times * mechanism.sensitivity / mechanism.distance(step, np.zeros_like(step)))
    values = one.exact, one.exact + step
    if not math.isclose(mechanism.distance(*values), times * mechanism.sensitivity, rel_tol=1e-6):
        return None  # drowned in rounding
    if isinstance(mechanism, ExponentialMechanism):
        return audit(
            _drawn_from(mechanism),
            *values,
            eps,
            delta,
            runs=runs,
            rng=generator,
            confidence=confidence,
        )
    size = float(np.linalg.norm(step))
    run = _drawn_from(
        mechanism, lambda released: [float(np.vdot(step / size, released - one.exact)) / size]
    )  # in units of the step
    return audit(run, *values, eps, delta, runs=runs, rng=generator, confidence=confidence)


def _bounds_of_entries(mechanism: Mechanism) -> list[tuple[Callable[[Any], float], float]]:
    """Norms, other than that of the sensitivity, for which a mechanism has bounds; the bounds."""
    found: list[tuple[Callable[[Any], float], float]] = []
    entry = getattr(mechanism, "entry", None)
    if entry is not None:
        found.append((lambda step: float(np.abs(step).max()), entry))
    if isinstance(mechanism, TruncatedGaussianMechanism):
        found.append((lambda step: float(np.abs(step).sum()), mechanism.l1))
    return found


def _drawn_from(
    mechanism: Mechanism, view: Callable[[Any], Any] = lambda released: released
) -> Callable[..., Any]:
    return lambda value, rng: view(mechanism.release(value, Randomness(rng)))


def _claim(mechanism: Mechanism) -> tuple[float, float, float]:
    """How many sensitivities apart a draw is audited, and the (eps, delta) that holds there.

    The number of sensitivities is 0 where a mechanism claims nothing.
    """
    if isinstance(mechanism, TruncatedGaussianMechanism):
        return float(mechanism.sigma > 0), mechanism.pure_eps, mechanism.own_delta
    if isinstance(mechanism, TruncatedLaplaceMechanism):  # its width is made for neighbours only
        return float(mechanism.scale > 0), mechanism.pure_eps, mechanism.own_delta
    if isinstance(mechanism, GaussianMechanism):
        eps = _DEVIATIONS**2 / 2
        delta = 0.5 - math.exp(eps) * float(ndtr(-_DEVIATIONS))
        return _DEVIATIONS * mechanism.sigma / mechanism.sensitivity, eps, delta
    if mechanism.own_delta > 0 or not 0 < mechanism.pure_eps < math.inf:
        return 0.0, mechanism.pure_eps, mechanism.own_delta
    return _EPS / mechanism.pure_eps, _EPS, 0.0
