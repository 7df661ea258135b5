"""Convex losses of a margin y x·w, and the minimiser of their mean to a certified gradient.

Newton's method, then accelerated gradient descent with its worst-case number of iterations
(Nesterov 2004, Theorem 2.2.3): the certificate is always reached, for a refusal would tell about
the records.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.special import expit

from privlp import InvalidParameterError
from privlp.checks import positive, real, require
from privlp.rows.access import InMemory, Rows
from svm_models.account import Neighbours
from svm_models.parameters import FloatArray, within
from svm_models.records.grid import Weighted

#: Margins at which a loss is tried: no proof of its bounds, but a false one is usually seen.
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

    0 above 1 + h, 1 - z below 1 - h, (1 + h - z)^2 / (4h) between: of curvature 1/(2h) at most.
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


#: Norm of the computed gradient at which a minimiser is certified: 2 to this power, in units of
#: slope_bound * data_norm.
_EXPONENT = -36
TOLERANCE = 2.0**_EXPONENT
_LEAST_CONDITION = 1e-10
_NEWTON_STEPS = 500
_HALVINGS = 40
_NEAR_ENOUGH = 0.1
# Below this share of records of positive curvature, gathering them beats weighing all of them.
_CURVED_SHARE = 0.7


class Margins:
    """A block of signed records m_i, weighted or not, with their margins m_i·w at a point w."""

    changes = ("_z", "_change")

    def __init__(self, M: Any, loss: MarginLoss, w: FloatArray) -> None:
        self._M = M.M if isinstance(M, Weighted) else M
        self._weights = M.weights if isinstance(M, Weighted) else None
        self._loss = loss
        self._z = self._M @ w
        self._change = np.zeros(len(self._z))

    def value(self) -> float:
        """Sum of the losses."""
        return float(self._weighted(self._loss.value(self._z)).sum())

    def gradient(self) -> FloatArray:
        """Sum of the gradients, shape (p,)."""
        return np.asarray(self._M.T @ self._weighted(self._loss.slope(self._z)))

    def hessian(self) -> FloatArray:
        """Sum of the second derivatives, shape (p, p)."""
        curvature, rows = self._weighted(self._loss.curvature(self._z)), self._M
        curved = np.flatnonzero(curvature)
        if curved.size < _CURVED_SHARE * len(self._z):
            curvature, rows = curvature[curved], rows[curved]
        if sp.issparse(rows):
            return np.asarray((rows.T @ (sp.diags_array(curvature) @ rows)).toarray())
        weighted = rows * np.sqrt(curvature)[:, None]
        return np.asarray(weighted.T @ weighted)

    def aim(self, step: FloatArray) -> None:
        """Prepare to move w along `step`, (p,)."""
        self._change = self._M @ step

    def slope(self, length: float) -> float:
        """Derivative of the sum of losses along the step, at `length` times the step."""
        slopes = self._weighted(self._loss.slope(self._z + length * self._change))
        return float(slopes @ self._change)

    def move(self, length: float) -> None:
        """Move w by `length` times the step."""
        self._z = self._z + length * self._change

    def _weighted(self, numbers: FloatArray) -> FloatArray:
        """One number a record, times its weight."""
        return numbers if self._weights is None else numbers * self._weights


@dataclass(frozen=True)
class RegularizedRisk:
    """J(w) = reg/2 ||w||^2 + 1/n sum_i a_i loss(m_i·w) + linear·w.

    m_i = y_i x_i are signed records of norm at most `data_norm`, a_i weights in [0, 1]. Values and
    derivatives are private: only mechanisms release what is made of them. All else is public:
    `shape` has n, or a nominal number, and p; there are at most `most` records, n if None. Between
    neighbours one person's records, at most `owned`, leave or enter, or both: `moved` in all.
    """

    rows: Rows[Any]
    shape: tuple[int, int]
    loss: MarginLoss
    reg: float
    data_norm: float
    linear: FloatArray | float = 0.0
    exponent: int = _EXPONENT
    most: int | None = None
    moved: int = 2
    owned: int = 1

    @classmethod
    def in_memory(
        cls,
        M: Any,
        loss: MarginLoss,
        reg: float,
        data_norm: float,
        weights: FloatArray | None = None,
        **options: Any,
    ) -> Self:
        """The risk of signed records in one array, M of shape (n, p), with weights in [0, 1]."""
        block = M if weights is None else Weighted(M, weights)
        return cls(InMemory(block), M.shape, loss, reg, data_norm, **options)

    def between(self, neighbours: Neighbours) -> Self:
        """The same records, of whose number no more is known than `neighbours` tells."""
        shape = neighbours.n, self.shape[1]
        moved, owned = neighbours.moved, neighbours.rows
        return replace(self, shape=shape, most=neighbours.most, moved=moved, owned=owned)

    @property
    def _excess(self) -> float:
        """How many times more records there may be than n: 1 where n is their number."""
        return 1.0 if self.most is None else self.most / self.shape[0]

    @property
    def tolerance(self) -> float:
        """Norm of the computed gradient that counts as zero: public."""
        return 2.0**self.exponent * self.loss.slope_bound * self.data_norm

    @property
    def error(self) -> float:
        """Bound on the exact gradient at a point certified with room for rounding: public."""
        return 2 * self.tolerance

    def allowing_for_rounding(self, linear: float = 0.0) -> Self:
        """The same objective with a tolerance of at least twice a gradient's rounding error.

        At a certified point ||w|| <= (2 c R + linear)/reg, `linear` a public bound on the linear
        term, which may be off by 2^-42 of it. There p products round a margin by 2^-52 p R ||w||,
        so the slope by q times that; the sum over n records adds 2^-52 n c R. Where there may be k
        times as many records as n says, the sum of slopes is up to k c R, that of their rounding k
        times as large, and the sum of k n numbers k^2 times.
        """
        (n, p), k = self.shape, self._excess
        slope = self.loss.slope_bound * self.data_norm
        margins = k * p * self.loss.curvature_bound * self.data_norm**2 / self.reg
        sums = (k**2 * n + 16 * k) * slope
        rounding = 2.0**-52 * (sums + (margins + 1040) * (2 * k * slope + linear))
        return replace(self, exponent=max(self.exponent, math.frexp(2 * rounding / slope)[1]))

    @property
    def least_reg(self) -> float:
        """The smallest `reg` at which the minimiser is certified: public."""
        # Beyond this condition rounding outweighs the losses.
        condition = max(_LEAST_CONDITION, 2.0**-40 * self.shape[1])
        return float(condition * self.loss.curvature_bound * self.data_norm**2)

    def require_certifiable(self) -> None:
        """Refuse a `reg` so small that the worst case of the minimiser takes for ever."""
        least = self.least_reg
        if self.reg < least:
            condition = least / (self.loss.curvature_bound * self.data_norm**2)
            raise InvalidParameterError(
                f"reg = {self.reg:g} is too small for the minimiser to be certified; give at least"
                f" {least:g} ({condition:g} times the curvature bound times data_norm squared).",
                parameter="reg",
            )

    def value(self, w: FloatArray) -> float:
        """J(w)."""
        loss = self._margins(w).total(Margins.value) / self.shape[0]
        return float(loss + 0.5 * self.reg * (w @ w) + np.sum(self.linear * w))

    def gradient(self, w: FloatArray) -> FloatArray:
        """Gradient of J at w, shape (p,)."""
        return self._gradient(self._margins(w), w)

    def hessian(self, w: FloatArray) -> FloatArray:
        """Second derivatives of J at w, shape (p, p)."""
        return self._hessian(self._margins(w))

    def _margins(self, w: FloatArray) -> Rows[Margins]:
        return self.rows.keep(partial(Margins, loss=self.loss, w=w))

    def _gradient(self, margins: Rows[Margins], w: FloatArray) -> FloatArray:
        total: FloatArray = margins.total(Margins.gradient)
        return total / self.shape[0] + self.reg * w + self.linear

    def _hessian(self, margins: Rows[Margins]) -> FloatArray:
        hessian: FloatArray = margins.total(Margins.hessian) / self.shape[0]
        hessian[np.diag_indices_from(hessian)] += self.reg
        return hessian

    def certified(self, w: FloatArray) -> bool:
        """Whether the gradient at w is as small as promised."""
        return float(np.linalg.norm(self.gradient(w))) <= self.tolerance

    def minimise(self, *, at_any_cost: bool = True) -> FloatArray:
        """A point with a gradient within :attr:`tolerance`; only tried for unless `at_any_cost`."""
        start = np.zeros(self.shape[1])
        w = self._newton(start)
        if not at_any_cost or self.certified(w):
            return w
        return self._accelerated_gradient(w if np.isfinite(w).all() else start)

    def _newton(self, w: FloatArray) -> FloatArray:
        margins = self._margins(w)
        for _ in range(_NEWTON_STEPS):
            gradient = self._gradient(margins, w)
            if np.linalg.norm(gradient) <= self.tolerance:
                break
            try:
                step = -cho_solve(cho_factor(self._hessian(margins)), gradient)
            except (LinAlgError, ValueError):
                break
            margins.update(Margins.aim, step)
            length = self._length(margins, w, step)
            margins.update(Margins.move, length)
            w = w + length * step
        return w

    def _length(self, margins: Rows[Margins], w: FloatArray, step: FloatArray) -> float:
        """The length of least J along `step`, nearly, at most 1: gets past kinks of a small h."""

        def slope(length: float) -> float:
            rest = self.reg * (w + length * step) + self.linear
            losses: float = margins.total(Margins.slope, length)
            return losses / self.shape[0] + float(np.sum(rest * step))

        low, high = 0.0, 1.0
        if slope(high) <= _NEAR_ENOUGH * abs(slope(low)):
            return high
        for _ in range(_HALVINGS):
            middle = 0.5 * (low + high)
            if slope(middle) <= 0:
                low = middle
            else:
                high = middle
            if high - low <= _NEAR_ENOUGH * high:
                break
        return low or high

    def _accelerated_gradient(self, w: FloatArray) -> FloatArray:
        """Constant momentum: ||gradient||^2 <= L (L + reg) ||w0 - w*||^2 exp(-k sqrt(reg/L))."""
        smoothness = self.reg + self._excess * self.loss.curvature_bound * self.data_norm**2
        root = math.sqrt(self.reg / smoothness)
        momentum = (1 - root) / (1 + root)
        while not self.certified(w):  # once, in real arithmetic
            distance = max(float(np.linalg.norm(self.gradient(w))) / self.reg, 1e-300)
            excess = math.log(smoothness) + math.log(smoothness + self.reg)
            excess += 2 * (math.log(distance) - math.log(self.tolerance))
            previous = point = w
            for k in range(math.ceil(max(excess, 0.0) / root) + 1):
                gradient = self.gradient(point)
                if k % 16 == 0 and np.linalg.norm(gradient) <= self.tolerance:
                    return point
                w = point - gradient / smoothness
                point, previous = w + momentum * (w - previous), w
            w = previous
        return w
