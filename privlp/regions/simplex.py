"""The public region K = {u >= 0, cost·u = V} of Hsu, Roth, Roughgarden and Ullman (2014).

K is a simplex with vertices v_j e_j, v_j = V / cost_j.

The ball ||w||_1 <= R, and a mirror map on it with a metric of its own.
"""

from __future__ import annotations

import math
from typing import Any, Protocol

import numpy as np

from privlp.checks import FloatArray, of_usual_size, real, require, shown
from privlp.errors import InvalidParameterError, UnsupportedProblemError
from privlp.problem.standard_form import StandardForm

_MISSING = (
    "opt is missing. Give the optimal value, or a public guess of it, as opt=... in the objective's"
    " own units. It must be public: do not compute it from private rows. With delta > 0,"
    " such as 1e-6, whole private rows need none."
)
_SEQUENCE = (
    "opt must be a number with this method, got a sequence. Methods 'chain', 'staged' and"
    " 'perturbed' take a range, opt=(low, high)."
)


class MirrorMap(Protocol):
    """How a descent finds the point of a region for a total of scores."""

    @property
    def size(self) -> int:
        """Number of scores."""

    def start(self) -> FloatArray:
        """The point for a total of zero."""

    def towards(self, total: FloatArray) -> FloatArray:
        """The point for a total of scores, (size,): farther where scores are larger."""

    def seen(self, point: FloatArray) -> FloatArray:
        """The point in the coordinates in which violations of rows are computed."""

    def undo(self, seen: FloatArray) -> FloatArray:
        """A point in these coordinates, in the user's variables."""

    def objective(self, x: FloatArray) -> float | None:
        """The objective of x in the user's variables, if there is one."""


def is_range(opt: Any) -> bool:
    """Whether an optimum is given as a pair (low, high)."""
    return (isinstance(opt, tuple | list) and len(opt) == 2) or (
        isinstance(opt, np.ndarray) and opt.shape == (2,)
    )


def range_of(opt: Any) -> tuple[float, float]:
    """A range of the optimum, checked."""
    low, high = (real(end, "opt") for end in opt)
    if not -math.inf < low < high < math.inf:
        wrong = f"opt=(low, high) must be two finite numbers in rising order, got {opt!r}."
        raise InvalidParameterError(wrong, parameter="opt")
    _require_usual_sizes(low, high)
    return low, high


def require_optimum(opt: Any) -> None:
    """Refuse what is neither a finite number nor a range."""
    if is_range(opt):
        range_of(opt)
        return
    several = isinstance(opt, tuple | list) or (isinstance(opt, np.ndarray) and opt.ndim > 0)
    if several or not math.isfinite(real(opt, "opt")):
        wrong = f"opt must be a finite number, or a range (low, high), got {shown(opt)}."
        raise InvalidParameterError(wrong, parameter="opt")
    _require_usual_sizes(opt)


def _require_usual_sizes(*ends: float) -> None:
    for end in ends:
        if end != 0:
            of_usual_size(abs(end), "opt")


class Simplex:
    """The region K of a program and a public optimum, in the user's units, or `cost`, V itself.

    `capped`: variables may have two finite bounds, and public rows that bound the objective are
    left to the caller. Shares of vertices are then no larger than the bounds allow. Refused where
    the region is no simplex: the message lists each reason and its remedy.
    """

    def __init__(
        self, form: StandardForm, opt: Any, *, cost: float | None = None, capped: bool = False
    ) -> None:
        require(opt is not None or cost is not None, _MISSING, "opt")
        require(not isinstance(opt, tuple | list | np.ndarray), _SEQUENCE, "opt")
        value = form.cost_of(real(opt, "opt")) if cost is None else cost
        reasons = _reasons_against(form, value, capped=capped)
        if reasons:
            raise UnsupportedProblemError(
                "This method needs the public region {x >= 0, c·x = opt} to be a simplex, and here"
                " it is not: "
                + "; ".join(reasons)
                + ". Or use method='chain', which takes any bounded region and a delta above 0."
            )
        self.form = form
        self.vertices: FloatArray = value / form.cost
        if not 1e-100 < self.vertices.min() <= self.vertices.max() < 1e100:
            raise UnsupportedProblemError(
                "Costs and opt differ too much in size for the simplex to be usable; rescale the"
                " costs."
            )
        with np.errstate(over="ignore"):  # a bound far beyond a vertex caps nothing
            caps = form.upper / self.vertices
        self._caps = caps if np.isfinite(form.upper).any() else None

    @property
    def size(self) -> int:
        """Number of vertices."""
        return len(self.vertices)

    def point(self, share: FloatArray) -> FloatArray:
        """The point u with these shares of the vertices, shape (size,)."""
        return share * self.vertices

    def nearest(self, share: FloatArray) -> FloatArray:
        """The shares of the region nearest in relative entropy to those of the simplex, (size,)."""
        return share if self._caps is None else _within(self._caps, share)

    def centre(self) -> FloatArray:
        """The mean of the vertices, in the user's variables."""
        return self.form.undo(self.vertices / len(self.vertices))

    def farthest(self) -> FloatArray:
        """The largest vertex, in the user's variables; the mean of all that are as large."""
        largest = self.vertices == self.vertices.max()
        return self.form.undo(np.where(largest, self.vertices, 0.0) / largest.sum())

    @property
    def typical_size(self) -> float:
        """Typical ||x||_2: the geometric mean of that of the centre and the largest vertex."""
        return float(math.sqrt(np.linalg.norm(self.centre()) * np.linalg.norm(self.farthest())))

    @property
    def typical_norm(self) -> float:
        """Typical Euclidean norm of a row's values: the geometric mean of the vertices."""
        return float(np.exp(np.mean(np.log(self.vertices))))

    @property
    def radius(self) -> float:
        """Half the Euclidean diameter of K; rows that span [-1, 1] have ||A_i||_2 >= 1/radius."""
        longest = np.sort(self.vertices)[-2:]
        return float(np.hypot(*longest)) / 2 if len(longest) == 2 else float(longest[0])


def _within(caps: FloatArray, share: FloatArray) -> FloatArray:
    """The shares p <= caps of sum 1 nearest in relative entropy to positive shares q, (size,).

    p_j = min(caps_j, factor q_j): the largest q_j/caps_j reach their caps first. If all caps are
    too little, these are the shares, and cost·u is below V.
    """
    if (share <= caps).all():
        return share
    if caps.sum() <= 1.0:
        return caps.copy()
    order = np.argsort(caps / share)
    room = 1.0 - np.append(0.0, np.cumsum(caps[order]))[:-1]  # beside the caps that are reached
    factor = room / np.cumsum(share[order][::-1])[::-1]
    # The first number of caps at which no other share exceeds its cap.
    enough = np.flatnonzero((room > 0) & (factor * share[order] <= caps[order]))
    if not enough.size:
        return caps / caps.sum()
    return np.minimum(caps, factor[enough[0]] * share)


def _reasons_against(form: StandardForm, value: float, *, capped: bool = False) -> list[str]:
    """Why the region {x >= 0, c·x = opt} is no simplex, each with its remedy."""
    lp, reasons = form.lp, []
    if form.has_public_rows and not capped:
        reasons.append(
            "some rows are public (make every row private, by a mask of True or the pattern '*', if"
            " rows such as stock limits may then be violated too)"
        )
    if np.isfinite(form.upper).any() and not capped:
        j = form.column[int(np.argmax(np.isfinite(form.upper)))]
        reasons.append(
            f"{lp.variable_name(j)} has two finite bounds (state one of them as a private row)"
        )
    if not form.column.size:
        reasons.append("every variable is fixed by its bounds, which leaves a single point")
    if np.all(form.cost * value > 0):
        return reasons
    if value == 0:
        return [*reasons, "opt is the value at the bounds, which leaves a single point"]
    j = form.column[int(np.argmax(form.cost * value <= 0))]
    bounded = np.isfinite(lp.bounds[j]).any()
    kind = "of a cost that is zero or of the wrong sign for opt" if bounded else "free"
    needs = "every variable needs one bound and a cost c_j with c_j·opt > 0"
    return [*reasons, f"{lp.variable_name(j)} is {kind} ({needs})"]


class Entropic:
    """Entropic mirror map on a simplex: shares of the vertices, as exp(step * total)."""

    def __init__(self, simplex: Simplex, step: float, start: FloatArray | None = None) -> None:
        self._simplex, self._step, self.size = simplex, step, simplex.size
        self._start = start

    def start(self) -> FloatArray:
        """The shares for a total of zero."""
        if self._start is not None:
            return self._start
        return self._simplex.nearest(np.full(self.size, 1 / self.size))

    def towards(self, total: FloatArray) -> FloatArray:
        """Shares that grow with the total of a vertex."""
        log_weights = self._step * (total - total.max())
        if self._start is not None:
            log_weights = log_weights + np.log(self._start)
            log_weights -= log_weights.max()
        weights = np.exp(np.maximum(log_weights, -700.0))
        return self._simplex.nearest(weights / weights.sum())

    def seen(self, point: FloatArray) -> FloatArray:
        """The point u with these shares."""
        return self._simplex.point(point)

    def undo(self, seen: FloatArray) -> FloatArray:
        """The user's x behind u."""
        return self._simplex.form.undo(seen)

    def objective(self, x: FloatArray) -> float:
        """The objective, whose costs are public."""
        return self._simplex.form.lp.objective(x)


_ITERATIONS = 2_000
_SMALL_CHANGE = 1e-13
# Every so many steps it is asked whether signs tell the nearest point, up to rounding.
_ASKED, _ROUNDING = 8, 1e-9


class L1Ball:
    """Mirror map on ||w||_1 <= radius with Euclidean distances in the coordinates v, w = root v.

    Scores are taken in the coordinates v; `root` is invertible, public or released. For a total of
    scores the point is the minimiser of ||v||_2^2/2 - step v·total over the ball. One number is
    released for each feature, whatever its sign.
    """

    def __init__(self, root: FloatArray, step: float, radius: float) -> None:
        self._root, self._step, self._radius, self.size = root, step, radius, len(root)
        inverse = np.linalg.inv(root)
        self._metric = inverse.T @ inverse
        self._curvature = float(np.linalg.norm(self._metric, 2))
        self._last = np.zeros(self.size)

    def start(self) -> FloatArray:
        """The centre."""
        return np.zeros(self.size)

    def towards(self, total: FloatArray) -> FloatArray:
        """The point of the ball nearest to step * total. The next search starts there."""
        self._last = self._nearest(self._root @ (self._step * total))
        return self._last

    def seen(self, point: FloatArray) -> FloatArray:
        """The point itself."""
        return point

    def undo(self, seen: FloatArray) -> FloatArray:
        """The point itself."""
        return seen

    def objective(self, x: FloatArray) -> None:
        """None: the ball has no costs."""

    def _nearest(self, w: FloatArray) -> FloatArray:
        """The nearest point of the ball in the metric: accelerated projected gradient.

        Every few steps it is asked whether the best point with the signs reached is the nearest.
        """
        if np.abs(w).sum() <= self._radius:
            return w
        best = previous = point = onto_l1_ball(self._last, self._radius)
        momentum, small = 1.0, _SMALL_CHANGE * self._radius
        for number in range(_ITERATIONS):
            best = onto_l1_ball(point - self._metric @ (point - w) / self._curvature, self._radius)
            change = best - previous
            if np.maximum.reduce(np.abs(change)) <= small:
                break
            if number % _ASKED == 0:
                found = self._with_signs(np.sign(best), w)
                if found is not None:
                    return found
            if (point - best) @ change > 0:
                momentum = 1.0
            following = (1 + math.sqrt(1 + 4 * momentum**2)) / 2
            point, previous, momentum = best + (momentum - 1) / following * change, best, following
        return best

    def _with_signs(self, signs: FloatArray, w: FloatArray) -> FloatArray | None:
        """The nearest point of the ball if its coordinates have these signs; None if not.

        On the face with these signs v = a - price b, where M a = M w and M b = signs on the
        coordinates that are not 0. It is the nearest point if its signs are these, the price is not
        negative, and the pull M (w - v) on no other coordinate is stronger than the price.
        """
        some = np.flatnonzero(signs)
        pull, on_face = self._metric @ w, signs[some]
        sides = np.column_stack([pull[some], on_face])
        try:
            a, b = np.linalg.solve(self._metric[np.ix_(some, some)], sides).T
        except np.linalg.LinAlgError:  # too flat a metric: steps alone lead there
            return None
        price = (float(on_face @ a) - self._radius) / float(on_face @ b)
        found = np.zeros(self.size)
        found[some] = a - price * b
        left = np.abs(pull - self._metric @ found)
        if price < 0 or np.any(found[some] * on_face < 0) or left.max() > (1 + _ROUNDING) * price:
            return None
        return found


def onto_l1_ball(w: FloatArray, radius: float) -> FloatArray:
    """The point of ||w||_1 <= radius nearest to w (Duchi, Shalev-Shwartz et al. 2008)."""
    sizes = np.abs(w)
    if np.add.reduce(sizes) <= radius:
        return w
    falling = np.sort(sizes)[::-1]
    thresholds = (falling.cumsum() - radius) / np.arange(1.0, len(w) + 1)
    beyond = (falling > thresholds)[::-1]
    sizes -= thresholds[len(w) - 1 - int(beyond.argmax())]
    np.maximum(sizes, 0.0, out=sizes)
    return np.asarray(np.sign(w) * sizes)
