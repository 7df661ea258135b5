"""The public region K = {u >= 0, cost·u = V} of Hsu, Roth, Roughgarden and Ullman, and private rows seen from it.

K is a simplex with vertices v_j e_j, v_j = V / cost_j. On it a private row is the vector of its
values A'_ij v_j at the vertices, and two facts about a row and its half-space hold row by row, so
that using them costs no privacy:

* scaling (A'_i, b'_i) by a positive number leaves the half-space alone;
* adding a constant to A'_i v and to b'_i leaves its intersection with K alone, because sum_j u_j /
  v_j = 1.

So every private row may be shifted and scaled until its values span exactly [-1, 1] on K. Then
nothing about A or b needs to be declared. The shift never has to be carried out: it adds the same
number to the score of every vertex.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from privlp.checks import real
from privlp.errors import InvalidParameterError, UnsupportedProblemError
from privlp.problem import StandardForm

FloatArray = npt.NDArray[np.float64]

# A row whose values on K vary by less than 1/32 of their size is not stretched all the way to [-1,
# 1], so that scaled values stay below this number and the rounding error of a score far below its
# sensitivity.
_LARGEST_VALUE = 64.0
#: Rows that vary by less on the region count as constant.
CONSTANT_ROW = 1e-150
_BLOCK = 4096


class Simplex:
    """The region K of a program and a public optimum.

    Parameters
    ----------
    form : StandardForm
        The program.
    opt : float or None
        Public optimal value, in the user's units and sense.
    least : float, optional
        Share q of V in [0, 1]: the region is {u >= 0, q V <= cost·u <= V} instead, within the simplex that has the origin as one
        more vertex, the last.

    Raises
    ------
    InvalidParameterError
        If `opt` is missing or not finite.
    UnsupportedProblemError
        If the region is no simplex; the message lists each reason and its remedy.
    """

    def __init__(self, form: StandardForm, opt: Any, *, least: float | None = None) -> None:
        if opt is None:
            raise InvalidParameterError(
                "opt is missing. Give the optimal value, or a public guess of it, as opt=... in the"
                " objective's own units; where whole constraints are private, methods 'mirror' and"
                " 'ftpl' also take a public range, opt=(low, high). It must be public: do not"
                " compute it from private rows."
            )
        if isinstance(opt, tuple | list | np.ndarray):
            raise InvalidParameterError(
                "opt must be a number with this method, got a sequence. Methods 'mirror' and 'ftpl'"
                " take a range, opt=(low, high)."
            )
        value = form.cost_of(real(opt, "opt"))
        if not math.isfinite(value):
            raise InvalidParameterError(f"opt must be a finite number, got {opt!r}.")
        reasons = _reasons_against(form, value)
        if reasons:
            raise UnsupportedProblemError(
                "This method needs the public region {x >= 0, c·x = opt} to be a simplex, and here"
                " it is not: "
                + "; ".join(reasons)
                + ". Or use method='ftpl', which takes any bounded region."
            )
        self.form = form
        self.origin = least is not None
        self._most_of_origin = 0.0 if least is None else 1.0 - least
        self.vertices: FloatArray = value / form.cost
        if not 1e-100 < self.vertices.min() <= self.vertices.max() < 1e100:
            raise UnsupportedProblemError(
                "Costs and opt differ too much in size for the simplex to be usable; rescale the"
                " costs."
            )

    @property
    def size(self) -> int:
        """Number of vertices."""
        return len(self.vertices) + self.origin

    def point(self, share: FloatArray) -> FloatArray:
        """The point u with these shares of the vertices, shape (size,)."""
        return share[: len(self.vertices)] * self.vertices

    def nearest(self, share: FloatArray) -> FloatArray:
        """The shares of the region that are nearest in relative entropy to these, (size,), of the simplex: the origin's is cut."""
        if not self.origin or share[-1] <= self._most_of_origin:
            return share
        others = share[:-1] / share[:-1].sum()
        return np.append((1 - self._most_of_origin) * others, self._most_of_origin)

    def centre(self) -> FloatArray:
        """The mean of the vertices, in the user's variables."""
        return self.form.undo(self.vertices / len(self.vertices))

    def farthest(self) -> FloatArray:
        """The largest vertex, in the user's variables; the mean of several alike."""
        largest = self.vertices == self.vertices.max()
        return self.form.undo(np.where(largest, self.vertices, 0.0) / largest.sum())

    @property
    def typical_size(self) -> float:
        """||x||_2 of a solution, which lies between the centre and the vertices: the geometric mean of their largest sizes."""
        return float(math.sqrt(np.linalg.norm(self.centre()) * np.linalg.norm(self.farthest())))

    @property
    def costs(self) -> FloatArray:
        """cost·u at the vertices."""
        costs = np.zeros(self.size)
        costs[: len(self.vertices)] = self.form.cost * self.vertices
        return costs

    @property
    def longest(self) -> float:
        """Euclidean norm of a row's values at the vertices per unit of ||A_i||_2, at most."""
        return float(self.vertices.max())

    @property
    def typical_norm(self) -> float:
        """The same, typically: the geometric mean of the vertices."""
        return float(np.exp(np.mean(np.log(self.vertices))))

    @property
    def radius(self) -> float:
        """Half the Euclidean diameter of K in the user's variables.

        A private row whose values span [-1, 1] on K has ||A_i||_2 * radius >= 1, so a violation of
        a in those units is at most a * radius per unit of ||A_i||_2.
        """
        longest = np.sort(self.vertices)[-2:]
        return float(np.hypot(*longest)) / 2 if len(longest) == 2 else float(longest[0])


def _reasons_against(form: StandardForm, value: float) -> list[str]:
    lp = form.lp
    reasons = []
    if form.has_public_rows:
        reasons.append(
            "some rows are public (make every row private, by a mask of True or the pattern '*', if"
            " rows such as stock limits may then be violated too)"
        )
    if np.isfinite(form.upper).any():
        j = form.column[int(np.argmax(np.isfinite(form.upper)))]
        reasons.append(
            f"{lp.variable_name(j)} has two finite bounds (state one of them as a private row)"
        )
    if not form.column.size:
        reasons.append("every variable is fixed by its bounds, which leaves a single point")
    if not np.all(form.cost * value > 0):
        if value == 0:
            reasons.append("opt is the value at the bounds, which leaves a single point")
        else:
            j = form.column[int(np.argmax(form.cost * value <= 0))]
            kind = (
                "free"
                if not np.isfinite(lp.bounds[j]).any()
                else "of a cost that is zero or of the wrong sign for opt"
            )
            reasons.append(
                f"{lp.variable_name(j)} is {kind} (every variable needs one bound and a cost c_j"
                " with c_j·opt > 0)"
            )
    return reasons


class RowsOnSimplex:
    """Private rows on K, each multiplied by a factor of its own: scale_i (A'_i u - b'_i).

    Parameters
    ----------
    simplex : Simplex
        The region.
    scale : (m,)
        Positive factor of each row; private, a function of that row alone.
    rhs : (m,)
        Scaled right-hand sides; private, likewise.
    """

    def __init__(self, simplex: Simplex, scale: FloatArray, rhs: FloatArray) -> None:
        self._rows = simplex.form.rows()
        self._vertices = simplex.vertices
        self._scale = scale
        self._rhs = rhs
        self._scratch = np.empty_like(rhs)

    @classmethod
    def of_equal_range(cls, simplex: Simplex) -> RowsOnSimplex:
        """Rows scaled so that their values span 2 on K, right-hand sides clipped to where the half-space meets K.

        A right-hand side beyond the span is one that all of K satisfies or violates; clipping it
        bounds the violation by 2 either way. Constant rows get scale 0: no point of K is better
        than another.
        """
        low, high = simplex.form.rows().extremes(simplex.vertices)
        span, size = high - low, np.maximum(np.abs(low), np.abs(high))
        varies = span > CONSTANT_ROW
        scale = np.zeros_like(span)
        scale[varies] = np.minimum(2.0 / span[varies], _LARGEST_VALUE / size[varies])
        return cls(simplex, scale, scale * np.clip(simplex.form.rhs, low, high))

    @classmethod
    def within_bounds(cls, simplex: Simplex, entry_bound: float, rhs_bound: float) -> RowsOnSimplex:
        """Rows as they are, except that a row beyond the declared bounds on abs(A'_ij) and abs(b'_i) is scaled down to them."""
        form = simplex.form
        low, high = form.rows().extremes(np.ones(len(form.column)))
        with np.errstate(
            over="ignore"
        ):  # a row infinitely far beyond a tiny bound is scaled to zero, and no warning tells of it
            excess = np.maximum(
                np.maximum(np.abs(low), np.abs(high)) / entry_bound, np.abs(form.rhs) / rhs_bound
            )
        scale = 1.0 / np.maximum(excess, 1.0)
        return cls(simplex, scale, scale * form.rhs)

    @staticmethod
    def rounding_error(n: int) -> float:
        """Bound on the floating-point error of a score of rows of equal range, for about n rows.

        A score is a sum of n products of size at most 64 z_i with sum_i z_i <= 1. With unit
        roundoff u = 2**-53, summation in any order costs n u; the multiplier of the projection n u;
        exponentials of arguments down to -745 cost 745 u; the products a few u. The bound is twice
        their sum.
        """
        return _LARGEST_VALUE * 2 * (2 * n + 1024) * 2.0**-53

    @property
    def count(self) -> int:
        """Number of private rows; private under add/remove."""
        return len(self._rhs)

    def scores(self, z: FloatArray) -> FloatArray:
        """Score -sum_i z_i scale_i A'_i v_j of each vertex j; larger is better.

        The b' part is the same for all and left out.
        """
        np.multiply(z, self._scale, out=self._scratch)
        return -self._vertices * self._rows.transposed_times(self._scratch)

    def add_violations(self, j: int, step: float, out: FloatArray) -> None:
        """Add step * scale * (A' v_j e_j - b'), the scaled violations of vertex j, to `out`."""
        np.multiply(self._rhs, step, out=self._scratch)
        out -= self._scratch
        self._rows.add_column(j, step * self._vertices[j], self._scale, out)


class CountedRows:
    """Private rows on K that a vertex is scored by in number: the dual weight of rows it satisfies up to a tolerance.

    The count score of van der Reijden (2019), section 3.5: Q_j = sum_i z_i 1[A_i x_j <= b_i + phi].
    Whether a row is satisfied depends on that row alone, and an indicator spans 1, so Q is a dense
    average of diameter W = 1.

    Parameters
    ----------
    simplex : Simplex
        The region.
    rows : RowsOnSimplex
        What the dual weights learn from, as ever.
    phi : float
        Tolerance, in the user's units of A x - b.
    """

    def __init__(self, simplex: Simplex, rows: RowsOnSimplex, phi: float) -> None:
        private, rhs = simplex.form.rows(), simplex.form.rhs + phi
        self._satisfied = np.empty((len(simplex.vertices), len(rhs)), dtype=bool)
        for j, value in enumerate(simplex.vertices):
            np.less_equal(private.column(j) * value, rhs, out=self._satisfied[j])
        self._rows = rows

    @property
    def count(self) -> int:
        """Number of private rows; private under add/remove."""
        return self._rows.count

    def add_violations(self, j: int, step: float, out: FloatArray) -> None:
        """Add step times the scaled violations of vertex j to `out`."""
        self._rows.add_violations(j, step, out)

    def scores(self, z: FloatArray) -> FloatArray:
        """Dual weight of the rows that each vertex satisfies."""
        total = np.zeros(len(self._satisfied))
        for start in range(0, len(z), _BLOCK):
            span = slice(start, start + _BLOCK)
            total += self._satisfied[:, span].astype(float) @ z[span]
        return total
