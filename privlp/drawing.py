"""Pictures of programs in two variables, and of how a private solution came about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from privlp.checks import as_floats
from privlp.errors import InvalidParameterError, InvalidProblemError, UnsupportedProblemError
from privlp.optional import drawing_on, place_legend
from privlp.style import COLOURS, GREY, MARKERS, marks

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from privlp.problem.linear_program import LinearProgram
    from privlp.solution import Solution

FloatArray = npt.NDArray[np.float64]

# Unbounded regions are drawn up to this multiple of what is in sight; nothing farther away is a
# corner.
_FAR = 1e4
# Of that size: equalities must not lose their points to rounding. What is narrower than 100 times
# that has no width.
_ROUNDING = 1e-13
_MARGIN = 0.2
_POINT_COLOURS = [COLOURS[name] for name in ("black", "green", "purple", "orange", "blue")]
_MOST_STEPS = 400
_WALK, _SELECTED = "x after rounds", "selected"
_RELEASED_NUMBERS = ("noisy b", "tightened b", "noisy A", "largest A", "noisy c")


def draw_program(
    lp: LinearProgram,
    points: Mapping[str, Any] | None,
    highlight: Sequence[int],
    limits: npt.ArrayLike | None,
    ax: Axes | None,
) -> Axes:
    """What :meth:`LinearProgram.plot` does."""
    if lp.shape[1] != 2:
        raise UnsupportedProblemError(
            f"Only programs in two variables can be drawn; this one has {lp.shape[1]}."
        )
    if not isinstance(points, Mapping | None):
        raise InvalidParameterError(
            f"points must map a name to each point, got {type(points).__name__}."
        )
    places = {name: _as_places(point, name) for name, point in (points or {}).items()}
    A, b, owner = _half_planes(lp)
    marked = _as_rows(highlight, lp)
    shown = np.vstack([np.zeros((0, 2)), *places.values()])
    corners, reach = _region(A, b, shown)
    near = _near(corners, reach)
    if limits is not None:
        low, high = _as_limits(limits)
    else:
        across = np.vstack(
            [2 * (A * b[:, None])[owner >= 0], np.zeros(2)]
        )  # from the origin to as far beyond each row
        low, high = _view(A, b, np.vstack([near if len(near) else across, shown]), reach)
    labels = [_name(lp.variable_names, j) for j in (0, 1)]
    with drawing_on(ax) as axes:
        region = "feasible region" if len(corners) else "feasible region: empty"
        axes.fill(
            *corners.T,
            facecolor=COLOURS["sky"],
            edgecolor=COLOURS["blue"],
            alpha=0.35,
            label=region,
            zorder=1,
        )
        if len(near) == len(corners) > 0 and np.ptp(near, axis=0).max() <= _narrow(reach):
            axes.plot(*near.mean(axis=0), "o", color=COLOURS["blue"], zorder=1)
        _draw_rows(axes, lp, A, b, owner, marked)
        for k, (name, place) in enumerate(places.items()):
            one = len(place) == 1
            look: dict[str, Any] = (
                {"zorder": 5, "markersize": 11}
                if one
                else {"zorder": 4, "markersize": 5, "alpha": 0.5}
            )
            colour = _POINT_COLOURS[k % len(_POINT_COLOURS)]
            axes.plot(*place.T, MARKERS[k % len(MARKERS)], label=name, color=colour, **look)
        axes.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), xlabel=labels[0], ylabel=labels[1])
        _draw_costs(axes, lp.sign * lp.c, low, high)
        axes.set_title(axes.get_title() or "not private: shows the true rows")
        for handle in place_legend(axes, beside=ax is None).legend_handles[1:]:
            if handle is not None:
                handle.set_alpha(1.0)  # one point of many is too faint for a legend
    return axes


def draw_trace(solution: Solution, most: int, ax: Axes | None) -> Axes:
    """What :meth:`Solution.plot_trace` does."""
    if not isinstance(most, int | np.integer) or isinstance(most, bool) or most < 1:
        raise InvalidParameterError(f"most must be a positive integer, got {most!r}.")
    trace = solution.trace
    numbers = [part for part in _RELEASED_NUMBERS if part in trace]
    if not (_WALK in trace or _SELECTED in trace or numbers):
        raise InvalidParameterError(
            f"There is nothing to draw: this solution by method {solution.method!r}"
            f" ({solution.status}) kept no released values of its rounds in its trace."
        )
    with drawing_on(ax) as axes:
        if _WALK in trace:
            rounds, x = trace["rounds"].astype(np.int64), trace[_WALK].astype(float)
            shown = np.sort(np.argsort(-np.abs(x[-1]), kind="stable")[:most])
            _draw_lines(
                axes, rounds, x[:, shown], [_name(solution.variable_names, j) for j in shown]
            )
            axes.set_ylabel("x, as known by then (its own units)")
        elif _SELECTED in trace:
            _draw_shares(axes, trace[_SELECTED].astype(np.int64), solution.variable_names, most)
        else:
            for part, marker in zip(numbers, MARKERS, strict=False):
                values = np.ravel(trace[part]).astype(float)
                axes.plot(np.arange(len(values)), values, marker, label=part)
            axes.set(
                xlabel="number of the entry, in the order of the program",
                ylabel="released value (its own units)",
            )
        place_legend(axes, beside=ax is None)
        axes.locator_params(axis="x", integer=True, min_n_ticks=1)
        axes.set_title(axes.get_title() or f"{solution.method}: {_claim(solution)}")
    return axes


def _claim(solution: Solution) -> str:
    privacy = solution.privacy
    if not privacy.private:
        return "not private, without noise"
    return f"released values only,\nε = {privacy.eps:.3g}, δ = {privacy.delta:.1g}"


def _draw_lines(
    ax: Axes, rounds: npt.NDArray[np.int64], values: FloatArray, names: list[str]
) -> None:
    for k, (line, name) in enumerate(zip(values.T, names, strict=True)):
        ax.plot(rounds, line, label=name, **marks(k, len(rounds)))
    ax.set_xlabel("rounds played (number)")


def _draw_shares(ax: Axes, selected: npt.NDArray[np.int64], names: Any, most: int) -> None:
    """Share of the rounds up to each in which a variable was selected: up to a factor, the average of the vertices selected."""
    variables, counts = np.unique(selected, return_counts=True)
    shown = np.sort(variables[np.argsort(-counts, kind="stable")[:most]])
    rounds = np.unique(
        np.linspace(1, len(selected), min(_MOST_STEPS, len(selected))).astype(np.int64)
    )
    share = np.column_stack([np.cumsum(selected == j)[rounds - 1] / rounds for j in shown])
    _draw_lines(ax, rounds, share, [_name(names, j) for j in shown])
    ax.set(ylabel="selected so far (share of rounds)", ylim=(0.0, 1.05))


def _name(names: Sequence[str] | None, j: Any) -> str:
    return f"x[{j}]" if names is None else names[j]


def _as_places(point: Any, name: str) -> FloatArray:
    """One point or many, shape (k, 2)."""
    try:
        places = np.atleast_2d(as_floats(getattr(point, "x", point), f"points[{name!r}]"))
    except InvalidProblemError:
        places = np.zeros((0, 0))
    if places.shape[1:] != (2,) or not np.isfinite(places).all():
        raise InvalidParameterError(
            f"points[{name!r}] must be a solution with an x, or finite numbers of shape (2,) or"
            " (k, 2)."
        )
    return places


def _as_rows(highlight: Sequence[int], lp: LinearProgram) -> frozenset[int]:
    rows = np.asarray(highlight)
    if rows.size and not (rows.dtype.kind in "iu" and rows.min() >= 0 and rows.max() < lp.shape[0]):
        raise InvalidParameterError(
            "highlight must hold row numbers of the program, counted from 0."
        )
    return frozenset(np.ravel(rows).tolist())


def _as_limits(limits: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
    try:
        ends = as_floats(limits, "limits")
    except InvalidProblemError:
        ends = np.zeros(0)
    if ends.shape != (2, 2) or not np.isfinite(ends).all() or not (ends[:, 0] < ends[:, 1]).all():
        raise InvalidParameterError(
            "limits must hold a lower and a larger upper end for each of the two variables."
        )
    return ends[:, 0], ends[:, 1]


def _half_planes(lp: LinearProgram) -> tuple[FloatArray, FloatArray, npt.NDArray[np.int64]]:
    """Normals (m, 2), right-hand sides (m,) of all ``<=`` rows and bounds, and the row that each comes from (-1: a bound)."""
    A = lp.A.toarray() if lp.is_sparse else lp.A
    n = np.arange(lp.shape[0])
    normals = np.vstack([A, -A, np.eye(2), -np.eye(2)])
    rhs = np.concatenate([lp.b, -lp.row_lower, lp.bounds[:, 1], -lp.bounds[:, 0]])
    owner = np.concatenate([n, n, np.full(4, -1)])
    size = np.linalg.norm(normals, axis=1)
    kept = np.isfinite(rhs) & (size > 0)
    return normals[kept] / size[kept, None], rhs[kept] / size[kept], owner[kept]


def _region(A: FloatArray, b: FloatArray, shown: FloatArray) -> tuple[FloatArray, float]:
    """Corners of the feasible region, and how far it was followed: as far as needed, for rounding grows with the distance."""
    sizes = np.abs(np.concatenate([b, shown.ravel()]))
    least = _FAR * sizes.min(where=sizes > 0, initial=sizes.max(initial=0.0) or 1.0)
    reach = _FAR * (sizes.max(initial=0.0) or 1.0)
    while True:
        corners = _corners(A, b, np.zeros(2), reach, _ROUNDING * reach)
        enough = max(
            least, _FAR * np.abs(np.vstack([_near(corners, reach), shown])).max(initial=0.0)
        )
        if not (len(corners) and enough < reach / 10):
            return corners, reach
        reach = enough


def _near(corners: FloatArray, reach: float) -> FloatArray:
    return corners[np.abs(corners).max(axis=1, initial=0.0) < reach / 2]


def _narrow(reach: float) -> float:
    return 100 * _ROUNDING * reach


def _corners(
    A: FloatArray, b: FloatArray, centre: FloatArray, reach: float, slack: float
) -> FloatArray:
    """The feasible polygon, shape (k, 2), cut off at `reach` from the centre in every direction."""
    polygon = centre + reach * np.array([[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]])
    for normal, rhs in zip(A, b, strict=True):
        polygon = _clipped(polygon, normal, rhs + slack)
    return polygon


def _clipped(polygon: FloatArray, normal: FloatArray, rhs: float) -> FloatArray:
    """What a half-plane leaves of a convex polygon (Sutherland and Hodgman 1974)."""
    left = []
    slack = rhs - polygon @ normal
    for k, (point, room) in enumerate(zip(polygon, slack, strict=True)):
        before, room_before = polygon[k - 1], slack[k - 1]
        if room * room_before < 0:
            left.append(before + (point - before) * room_before / (room_before - room))
        if room >= 0:
            left.append(point)
    return np.array(left).reshape(-1, 2)


def _view(
    A: FloatArray, b: FloatArray, shown: FloatArray, reach: float
) -> tuple[FloatArray, FloatArray]:
    """What holds all that is to be shown.

    Where that has no width, also as much of the region, or of its surroundings.
    """
    low, high = shown.min(axis=0), shown.max(axis=0)
    widest, farthest = (high - low).max(), np.abs(shown).max()
    size = next((length for length in (widest, farthest) if length > _narrow(reach)), reach / _FAR)
    flat = high - low <= _narrow(reach)
    beyond = _corners(A, b, (low + high) / 2, 1.5 * size, _ROUNDING * reach)
    if len(beyond):
        low, high = (
            np.where(flat, end, own)
            for end, own in ((beyond.min(axis=0), low), (beyond.max(axis=0), high))
        )
    still = high - low <= _narrow(reach)
    low, high = np.where(still, low - size / 2, low), np.where(still, high + size / 2, high)
    return low - _MARGIN * (high - low), high + _MARGIN * (high - low)


def _draw_rows(
    ax: Axes,
    lp: LinearProgram,
    A: FloatArray,
    b: FloatArray,
    owner: npt.NDArray[np.int64],
    marked: frozenset[int],
) -> None:
    kinds: dict[str, dict[str, Any]] = {
        "private row": {
            "color": COLOURS["vermilion"],
            "linewidth": 1.2,
            "alpha": min(0.5, max(0.1, 20 / len(b))),
        },
        "public row": {"color": GREY, "linewidth": 1.8, "linestyle": "--"},
        "highlighted row": {"color": COLOURS["vermilion"], "linewidth": 3.5, "zorder": 3},
    }
    named: dict[str, None] = {}
    for normal, rhs, row in zip(A, b, owner, strict=True):
        if row < 0:
            continue
        kind = (
            "highlighted row"
            if int(row) in marked
            else "private row"
            if lp.private[row]
            else "public row"
        )
        ax.axline(rhs * normal, rhs * normal + np.array([-normal[1], normal[0]]), **kinds[kind])
        named[kind] = None
    for kind in named:
        ax.plot(
            [], [], label=kind, **kinds[kind] | {"alpha": 1.0}
        )  # for legends, where one line of many is too faint


def _draw_costs(ax: Axes, cost: FloatArray, low: FloatArray, high: FloatArray) -> None:
    """An arrow from the middle of the view towards better objectives."""
    span = high - low
    steps = np.abs(cost) / span
    if not steps.any():
        return
    start = (low + high) / 2
    end = start - 0.2 * cost / steps.max()
    arrow = {"arrowstyle": "-|>", "color": COLOURS["black"], "linewidth": 2.5, "mutation_scale": 22}
    ax.annotate(
        "better",
        tuple(end),
        tuple(start),
        arrowprops=arrow,
        ha="center",
        va="center",
        annotation_clip=True,
    )
