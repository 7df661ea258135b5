"""Regularised empirical risk, and its minimiser to a certified gradient.

Newton's method with a line search does the work. Should it ever fall short, accelerated gradient
descent with its worst-case number of iterations (Nesterov 2004, Theorem 2.2.3) takes over, so that
the certificate is always reached and nothing has to be refused: a refusal would tell something
about the records.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from privlp import InvalidParameterError
from svm_models.losses import MarginLoss

FloatArray = npt.NDArray[np.float64]

#: Norm of the computed gradient at which a minimiser is certified: 2 to this power, in units of
#: slope_bound * data_norm.
_EXPONENT = -36
TOLERANCE = 2.0**_EXPONENT
_LEAST_CONDITION = 1e-10
_NEWTON_STEPS = 500
_HALVINGS = 40
_NEAR_ENOUGH = 0.1
_ACTIVE_SHARE = 0.7  # below it, gathering the rows of positive curvature beats weighing all of them


@dataclass(frozen=True)
class RegularizedRisk:
    """J(w) = reg/2 ||w||^2 + mean_i loss(M_i·w) + linear·w.

    Parameters
    ----------
    M : (n, p) array or CSR array
        Signed records y_i x_i, of Euclidean norm at most `data_norm`.
    loss : MarginLoss
    reg : float
        Strong convexity, positive.
    linear : (p,) array or 0.0
        Linear term.
    exponent : int
        The tolerance is 2**exponent * slope_bound * data_norm. Public.
    data_norm : float
        Bound on the rows' norms.
    """

    M: Any
    loss: MarginLoss
    reg: float
    data_norm: float
    linear: FloatArray | float = 0.0
    exponent: int = _EXPONENT

    @property
    def tolerance(self) -> float:
        """Norm of the computed gradient that counts as zero: public."""
        return 2.0**self.exponent * self.loss.slope_bound * self.data_norm

    @property
    def error(self) -> float:
        """Bound on the norm of the exact gradient at a certified point, if :meth:`allowing_for_rounding`: public."""
        return 2 * self.tolerance

    def allowing_for_rounding(self, linear: float = 0.0) -> RegularizedRisk:
        """The same objective with a tolerance, larger by a power of two if need be, of at least twice a gradient's rounding error.

        At a certified point ||w|| <= (2 c R + linear)/reg. There p products round a margin by 2^-52
        p R ||w||, so the slope by q times that; the sum over n records adds 2^-52 n c R, the other
        terms a few units in the last place of what they are. A linear term of norm `linear` may
        itself be off by 2^-42 of it.

        Parameters
        ----------
        linear : float
            Public bound on the norm of the linear term.
        """
        n, p = self.M.shape
        slope = self.loss.slope_bound * self.data_norm
        margins = p * self.loss.curvature_bound * self.data_norm**2 / self.reg
        rounding = 2.0**-52 * ((n + 16) * slope + (margins + 1040) * (2 * slope + linear))
        return replace(self, exponent=max(self.exponent, math.frexp(2 * rounding / slope)[1]))

    def require_certifiable(self) -> None:
        """Refuse a `reg` so small that the worst case of the minimiser takes for ever.

        Raises
        ------
        InvalidParameterError
            Depends on public numbers only.
        """
        condition = max(
            _LEAST_CONDITION, 2.0**-40 * self.M.shape[1]
        )  # beyond it rounding outweighs the losses
        least = condition * self.loss.curvature_bound * self.data_norm**2
        if self.reg < least:
            raise InvalidParameterError(
                f"reg = {self.reg:g} is too small for the minimiser to be certified; give at least"
                f" {least:g} ({condition:g} times the curvature bound times data_norm squared).",
                parameter="reg",
            )

    def value(self, w: FloatArray) -> float:
        """J(w)."""
        return float(
            self.loss.value(self.M @ w).mean() + 0.5 * self.reg * (w @ w) + np.sum(self.linear * w)
        )

    def gradient(self, w: FloatArray) -> FloatArray:
        """Gradient of J at w."""
        return self._gradient_at(w, self.M @ w)

    def _gradient_at(self, w: FloatArray, z: FloatArray) -> FloatArray:
        return self.M.T @ self.loss.slope(z) / len(z) + self.reg * w + self.linear

    def _hessian_at(self, z: FloatArray) -> FloatArray:
        curvature, rows = self.loss.curvature(z), self.M
        active = np.flatnonzero(curvature)
        if active.size < _ACTIVE_SHARE * len(z):
            curvature, rows = curvature[active], rows[active]
        if sp.issparse(rows):
            product = (rows.T @ (sp.diags_array(curvature) @ rows)).toarray()
        else:
            weighted = rows * np.sqrt(curvature)[:, None]
            product = weighted.T @ weighted
        product /= len(z)
        product[np.diag_indices_from(product)] += self.reg
        return product

    def minimise(self, *, at_any_cost: bool = True) -> FloatArray:
        """A point at which the norm of the gradient is at most :attr:`tolerance`, hence within tolerance/reg of the minimiser.

        With ``at_any_cost=False`` Newton's method alone is tried, and the point may be uncertified.
        """
        start = np.zeros(self.M.shape[1])
        w = self._newton(start)
        if not at_any_cost or self.certified(w):
            return w
        return self._accelerated_gradient(w if np.isfinite(w).all() else start)

    def certified(self, w: FloatArray) -> bool:
        """Whether the gradient at w is as small as promised."""
        return float(np.linalg.norm(self.gradient(w))) <= self.tolerance

    def _newton(self, w: FloatArray) -> FloatArray:
        z = self.M @ w
        for _ in range(_NEWTON_STEPS):
            gradient = self._gradient_at(w, z)
            if np.linalg.norm(gradient) <= self.tolerance:
                break
            try:
                step = -cho_solve(cho_factor(self._hessian_at(z)), gradient)
            except (LinAlgError, ValueError):
                break
            change = self.M @ step
            length = self._length(w, step, z, change)
            w, z = w + length * step, z + length * change
        return w

    def _length(self, w: FloatArray, step: FloatArray, z: FloatArray, change: FloatArray) -> float:
        """Nearly the length at which J is least along `step`, at most 1: only an exact search gets past the kinks of a small h."""

        def slope(length: float) -> float:
            rest = self.reg * (w + length * step) + self.linear
            return float(self.loss.slope(z + length * change) @ change) / len(z) + float(
                np.sum(rest * step)
            )

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
        """Constant-momentum descent.

        After k steps ||gradient||^2 <= L (L + reg) ||w0 - w*||^2 exp(-k sqrt(reg/L)).
        """
        smoothness = self.reg + self.loss.curvature_bound * self.data_norm**2
        root = math.sqrt(self.reg / smoothness)
        momentum = (1 - root) / (1 + root)
        while not self.certified(w):  # once, in real arithmetic
            distance = max(float(np.linalg.norm(self.gradient(w))) / self.reg, 1e-300)
            excess = (
                math.log(smoothness)
                + math.log(smoothness + self.reg)
                + 2 * (math.log(distance) - math.log(self.tolerance))
            )
            previous = point = w
            for k in range(math.ceil(max(excess, 0.0) / root) + 1):
                gradient = self.gradient(point)
                if k % 16 == 0 and np.linalg.norm(gradient) <= self.tolerance:
                    return point
                w = point - gradient / smoothness
                point, previous = w + momentum * (w - previous), w
            w = previous
        return w
