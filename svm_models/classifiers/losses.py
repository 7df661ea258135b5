"""Convex losses of a margin y x·w, with the bounds on slope and curvature that privacy needs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from privlp import InvalidParameterError
from privlp.checks import positive, real, require
from svm_models.parameters import FloatArray, within

#: Margins at which a loss is tried; no proof that its bounds hold, but a false bound is usually
#: seen.
PROBES = np.concatenate(
    [-np.geomspace(1e4, 1e-3, 400), np.linspace(-1e-3, 3.0, 3001), np.geomspace(3.001, 1e4, 400)]
)


@dataclass(frozen=True)
class MarginLoss:
    """A convex, differentiable loss of the margin with Lipschitz derivative.

    Both bounds and both flags are part of the privacy guarantee and must hold for every real z: a
    loss that breaks them breaks it.

    Parameters
    ----------
    value, slope, curvature : callable
        Map an array of margins to l(z), l'(z) and l''(z) (at a kink of l', either one-sided value).
    slope_bound : float
        Bound on abs(l').
    curvature_bound : float
        Lipschitz constant of l', a bound on l''.
    name : str
    one_sided : bool
        Whether l' never changes its sign; it makes Gaussian objective perturbation cheaper.
    logistic_curvature : bool
        Whether l'' <= 4 curvature_bound · s (1 - s) with s = abs(l')/slope_bound, so that slope and
        curvature are not both large, as for logistic loss; it makes pure objective perturbation
        cheaper.

    Examples
    --------
    >>> import numpy as np
    >>> from svm_models import MarginLoss
    >>> smooth = MarginLoss(  # sqrt(1 + z^2) - z, half of it
    ...     value=lambda z: (np.hypot(1, z) - z) / 2,
    ...     slope=lambda z: (z / np.hypot(1, z) - 1) / 2,
    ...     curvature=lambda z: np.hypot(1, z) ** -3.0 / 2,
    ...     slope_bound=1.0,
    ...     curvature_bound=0.5,
    ... )
    >>> smooth.slope(np.array([0.0]))
    array([-0.5])
    >>> MarginLoss(
    ...     value=lambda z: -z,
    ...     slope=lambda z: -np.ones_like(z),
    ...     curvature=lambda z: np.zeros_like(z),
    ...     slope_bound=0.5,
    ...     curvature_bound=1.0,
    ... )
    Traceback (most recent call last):
        ...
    privlp.errors.InvalidParameterError: The loss 'user-defined' is not convex with abs(l') <= ...
    """

    value: Callable[[FloatArray], FloatArray]
    slope: Callable[[FloatArray], FloatArray]
    curvature: Callable[[FloatArray], FloatArray]
    slope_bound: float
    curvature_bound: float
    name: str = "user-defined"
    one_sided: bool = False
    logistic_curvature: bool = False

    def __post_init__(self) -> None:
        positive(self.slope_bound, "slope_bound", finite=True)
        positive(self.curvature_bound, "curvature_bound", finite=True)
        z = PROBES
        value, slope, curvature = (
            np.asarray(f(z), dtype=float) for f in (self.value, self.slope, self.curvature)
        )
        rise = np.diff(slope)
        steepest = self.curvature_bound * np.diff(z) * (1 + 1e-6) + 1e-12
        holds = (
            all(f.shape == z.shape and np.isfinite(f).all() for f in (value, slope, curvature))
            and bool((np.abs(slope) <= self.slope_bound * (1 + 1e-9)).all())
            and bool(((curvature >= 0) & (curvature <= self.curvature_bound * (1 + 1e-9))).all())
            and bool(((rise >= -1e-12) & (rise <= steepest)).all())
        )
        size = np.abs(slope) / self.slope_bound
        if self.one_sided:
            holds &= bool((slope <= 0).all() or (slope >= 0).all())
        if self.logistic_curvature:
            largest = 4 * self.curvature_bound * size * (1 - size)
            holds &= bool((curvature <= largest * (1 + 1e-9) + 1e-12).all())
        if not holds:
            raise InvalidParameterError(
                f"The loss '{self.name}' is not convex with abs(l') <= {self.slope_bound:g} and 0"
                f" <= l'' <= {self.curvature_bound:g}, and what else it claims, at every margin"
                " tried. The guarantee rests on these bounds: correct them, or the loss."
            )


def logistic() -> MarginLoss:
    """ln(1 + exp(-z)): slope in [-1, 0], curvature at most 1/4."""
    return MarginLoss(
        value=lambda z: np.logaddexp(0.0, -z),
        slope=lambda z: -expit(-z),
        curvature=lambda z: expit(z) * expit(-z),
        slope_bound=1.0,
        curvature_bound=0.25,
        name="logistic",
        one_sided=True,
        logistic_curvature=True,
    )


def huber(h: float = 0.5) -> MarginLoss:
    """Huber hinge of Chapelle (2007), of half-width 0 < h <= 1/2.

    0 above 1 + h, 1 - z below 1 - h, and (1 + h - z)^2 / (4h) between. Its curvature is at most
    1/(2h).
    """
    h = real(h, "h")
    require(0 < h <= 0.5, f"h must be in (0, 0.5], got {h!r}.", "h")
    within(h, "h", 1e-9, 0.5)

    def value(z: FloatArray) -> FloatArray:
        inside = np.clip(1 + h - z, 0.0, 2 * h)
        return inside * inside / (4 * h) + np.maximum(1 - h - z, 0.0)

    return MarginLoss(
        value=value,
        slope=lambda z: -np.clip((1 + h - z) / (2 * h), 0.0, 1.0),
        curvature=lambda z: np.where(np.abs(1 - z) <= h, 1 / (2 * h), 0.0),
        slope_bound=1.0,
        curvature_bound=1 / (2 * h),
        name="Huber hinge",
        one_sided=True,
    )
