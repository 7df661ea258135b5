"""Pictures as functions of what they show, all by Matplotlib, which not every user needs."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from privlp.checks import (
    FloatArray,
    IntArray,
    are_places,
    as_floats,
    optional,
    require,
    require_kind,
    whole,
)
from privlp.errors import (
    InvalidParameterError,
    InvalidProblemError,
    UnsupportedProblemError,
)
from privlp.files import whole_file

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.legend import Legend

#: The palette of Okabe and Ito (2008), which colour-blind people can tell apart. Lines take its
#: colours in this order.
COLOURS = {
    "blue": "#0072B2",
    "vermilion": "#D55E00",
    "green": "#009E73",
    "purple": "#CC79A7",
    "orange": "#E69F00",
    "sky": "#56B4E9",
    "black": "#000000",
}
MARKERS = "osD^vP"  #: Marks of lines and points, for printing without colours.
GREY = "0.45"  #: Guide lines, and what is drawn for comparison.
#: Matplotlib's ``rcParams``; ``plt.rcParams.update(STYLE)`` sets them for a notebook.
STYLE: dict[str, Any] = {
    "axes.prop_cycle": f"cycler('color', {list(COLOURS.values())})",
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlesize": "medium",
    "figure.constrained_layout.use": True,
    "figure.figsize": (8.0, 5.0),
    "font.size": 14.0,
    "legend.fontsize": "small",
    "legend.frameon": False,
    "lines.linewidth": 2.5,
    "lines.markersize": 8.0,
}


def marks(k: int, points: int) -> dict[str, Any]:
    """Marks of the `k`-th line of a picture: one here and there, each line its own shape."""
    return {"marker": MARKERS[k % len(MARKERS)], "markevery": 0.15 if points > 1 else None}


@contextmanager
def drawing_on(ax: Axes | None) -> Iterator[Axes]:
    """Draw in privlp's style on given axes, or on those of a new figure."""
    need = "Plots need Matplotlib: install it by pip install 'privlp[plot]'."
    pyplot = optional("matplotlib.pyplot", need)
    require_kind(ax, pyplot.Axes | None, "ax", "Matplotlib axes")
    with pyplot.rc_context(STYLE):
        if ax is None:
            ax = pyplot.subplots()[1]
        else:  # what Matplotlib fixes when it makes axes, where ``rcParams`` come too late
            ax.tick_params(labelsize=STYLE["font.size"])
            for label in (ax.xaxis.label, ax.yaxis.label):
                label.set_fontsize(STYLE["font.size"])
            if not ax.has_data():
                ax.set_prop_cycle(pyplot.rcParams["axes.prop_cycle"])
        yield ax


def label_of(names: Sequence[str] | None, j: Any) -> str:
    """Name of variable j in a picture."""
    return f"x[{j}]" if names is None else names[j]


def place_legend(ax: Axes, *, outside: bool) -> Legend:
    """Put the legend to the right of the axes, where a figure of ours makes room, or inside."""
    if outside:
        return ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return ax.legend(loc="best", frameon=True, framealpha=0.8)


def new_axes() -> Axes:
    """Axes of a new figure in privlp's style."""
    with drawing_on(None) as ax:
        return ax


def save_figure(ax: Axes, path: str | os.PathLike[str]) -> None:
    """Write the figure that holds some axes; the file appears whole or not at all."""
    with whole_file(path) as unfinished:
        ax.figure.savefig(unfinished, dpi=120)  # type: ignore[union-attr]


# Unbounded regions are drawn up to this multiple of the points and corners that are shown.
_FAR = 1e4
# Rows are moved outwards by this share of the distance that is drawn, so that rounding does not
# empty the region of an equality. A region narrower than 100 times this has no width.
_ROUNDING = 1e-13
_MARGIN = 0.2
_POINT_COLOURS = [COLOURS[name] for name in ("black", "green", "purple", "orange", "blue")]
Drawable: TypeAlias = Any  #: A program: see :class:`privlp.LinearProgram`.


def draw_program(
    lp: Drawable,
    points: Mapping[str, Any] | None,
    highlight: Sequence[int],
    limits: npt.ArrayLike | None,
    ax: Axes | None,
) -> Axes:
    """See :meth:`LinearProgram.plot`."""
    if lp.shape[1] != 2:
        raise UnsupportedProblemError(
            f"Only programs in two variables can be drawn; this one has {lp.shape[1]}."
        )
    wrong = f"points must map a name to each point, got {type(points).__name__}."
    require(isinstance(points, Mapping | None), wrong, "points")
    shown_points = {name: _as_points(point, name) for name, point in (points or {}).items()}
    A, b, owner = half_planes(lp)
    marked = np.asarray(highlight)
    wrong = "highlight must hold row numbers of the program, counted from 0, each once."
    require(are_places(marked, lp.shape[0]), wrong, "highlight")
    shown = np.vstack([np.zeros((0, 2)), *shown_points.values()])
    corners, reach = _region(A, b, shown)
    near = _near(corners, reach)
    if limits is not None:
        low, high = _as_limits(limits)
    else:
        # From the origin to twice its distance from each row.
        across = np.vstack([2 * (A * b[:, None])[owner >= 0], np.zeros(2)])
        low, high = _view(A, b, np.vstack([near if len(near) else across, shown]), reach)
    labels = [label_of(lp.variable_names, j) for j in (0, 1)]
    with drawing_on(ax) as axes:
        region = "feasible region" if len(corners) else "feasible region: empty"
        colours = {"facecolor": COLOURS["sky"], "edgecolor": COLOURS["blue"]}
        axes.fill(*corners.T, **colours, alpha=0.35, label=region, zorder=1)
        if len(near) == len(corners) > 0 and np.ptp(near, axis=0).max() <= _narrow(reach):
            axes.plot(*near.mean(axis=0), "o", color=COLOURS["blue"], zorder=1)
        _draw_rows(axes, lp, A, b, owner, marked)
        for k, (name, at) in enumerate(shown_points.items()):
            many = {"zorder": 4, "markersize": 5, "alpha": 0.5}
            look: dict[str, Any] = {"zorder": 5, "markersize": 11} if len(at) == 1 else many
            colour = _POINT_COLOURS[k % len(_POINT_COLOURS)]
            axes.plot(*at.T, MARKERS[k % len(MARKERS)], label=name, color=colour, **look)
        axes.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), xlabel=labels[0], ylabel=labels[1])
        _draw_costs(axes, lp.sign * lp.c, low, high)
        axes.set_title(axes.get_title() or "not private: shows the true rows")
        for handle in place_legend(axes, outside=ax is None).legend_handles[1:]:
            if handle is not None:
                handle.set_alpha(1.0)  # one point of many is too faint for a legend
    return axes


def _as_points(point: Any, name: str) -> FloatArray:
    """One point or many, shape (k, 2)."""
    try:
        found = np.atleast_2d(as_floats(getattr(point, "x", point), f"points[{name!r}]"))
    except InvalidProblemError:
        found = np.zeros((0, 0))
    if found.shape[1:] != (2,) or not np.isfinite(found).all():
        raise InvalidParameterError(
            f"points[{name!r}] must be a solution with an x, or finite numbers of shape (2,) or"
            " (k, 2).",
            parameter="points",
        )
    return found


def _as_limits(limits: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
    try:
        ends = as_floats(limits, "limits")
    except InvalidProblemError:
        ends = np.zeros(0)
    if ends.shape != (2, 2) or not np.isfinite(ends).all() or not (ends[:, 0] < ends[:, 1]).all():
        raise InvalidParameterError(
            "limits must hold a lower and a larger upper end for each of the two variables.",
            parameter="limits",
        )
    return ends[:, 0], ends[:, 1]


def half_planes(
    lp: Drawable, origin: npt.ArrayLike = 0.0, basis: FloatArray | None = None
) -> tuple[FloatArray, FloatArray, IntArray]:
    """All rows and bounds as half-planes of unit normals, on the plane ``origin + basis @ z``."""
    basis = np.eye(2) if basis is None else basis
    origin = np.broadcast_to(np.asarray(origin, dtype=float), len(basis))
    A, at = lp.A @ basis, lp.A @ origin
    n = np.arange(lp.shape[0])
    low, high = lp.bounds.T - origin
    normals = np.vstack([A, -A, basis, -basis])
    rhs = np.concatenate([lp.b - at, at - lp.row_lower, high, -low])
    owner = np.concatenate([n, n, np.full(2 * len(basis), -1)])
    size = np.linalg.norm(normals, axis=1)
    kept = np.isfinite(rhs) & (size > 0)
    return normals[kept] / size[kept, None], rhs[kept] / size[kept], owner[kept]


def _region(A: FloatArray, b: FloatArray, shown: FloatArray) -> tuple[FloatArray, float]:
    """Corners of the feasible region, and how far it was followed: rounding errors grow with it."""
    sizes = np.abs(np.concatenate([b, shown.ravel()]))
    least = _FAR * sizes.min(where=sizes > 0, initial=sizes.max(initial=0.0) or 1.0)
    reach = _FAR * (sizes.max(initial=0.0) or 1.0)
    while True:
        corners = polygon(A, b, np.zeros(2), reach, _ROUNDING * reach)
        seen = np.vstack([_near(corners, reach), shown])
        enough = max(least, _FAR * np.abs(seen).max(initial=0.0))
        if not (len(corners) and enough < reach / 10):
            return corners, reach
        reach = enough


def _near(corners: FloatArray, reach: float) -> FloatArray:
    return corners[np.abs(corners).max(axis=1, initial=0.0) < reach / 2]


def _narrow(reach: float) -> float:
    return 100 * _ROUNDING * reach


def polygon(
    A: FloatArray, b: FloatArray, centre: FloatArray, reach: float, slack: float
) -> FloatArray:
    """The feasible polygon, shape (k, 2), cut off at `reach` from the centre in every direction."""
    corners = centre + reach * np.array([[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]])
    for normal, rhs in zip(A, b, strict=True):
        corners = _clipped(corners, normal, rhs + slack)
    return corners


def _clipped(polygon: FloatArray, normal: FloatArray, rhs: float) -> FloatArray:
    """Cut a convex polygon by a half-plane (Sutherland and Hodgman 1974)."""
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
    """Ends of a view that holds all points to be shown, and more where these have no width."""
    low, high = shown.min(axis=0), shown.max(axis=0)
    widest, farthest = (high - low).max(), np.abs(shown).max()
    size = next((length for length in (widest, farthest) if length > _narrow(reach)), reach / _FAR)
    flat = high - low <= _narrow(reach)
    beyond = polygon(A, b, (low + high) / 2, 1.5 * size, _ROUNDING * reach)
    if len(beyond):
        low = np.where(flat, beyond.min(axis=0), low)
        high = np.where(flat, beyond.max(axis=0), high)
    still = high - low <= _narrow(reach)
    low, high = np.where(still, low - size / 2, low), np.where(still, high + size / 2, high)
    return low - _MARGIN * (high - low), high + _MARGIN * (high - low)


def _draw_rows(
    ax: Axes, lp: Drawable, A: FloatArray, b: FloatArray, owner: IntArray, marked: IntArray
) -> None:
    faint = min(0.5, max(0.1, 20 / len(b)))
    kinds: dict[str, dict[str, Any]] = {
        "private row": {"color": COLOURS["vermilion"], "linewidth": 1.2, "alpha": faint},
        "public row": {"color": GREY, "linewidth": 1.8, "linestyle": "--"},
        "highlighted row": {"color": COLOURS["vermilion"], "linewidth": 3.5, "zorder": 3},
    }
    named: dict[str, None] = {}
    for normal, rhs, row in zip(A, b, owner, strict=True):
        if row < 0:
            continue
        kind = "private row" if lp.private[row] else "public row"
        kind = "highlighted row" if row in marked else kind
        ax.axline(rhs * normal, rhs * normal + np.array([-normal[1], normal[0]]), **kinds[kind])
        named[kind] = None
    for kind in named:
        # For legends, where one line of many is too faint.
        ax.plot([], [], label=kind, **kinds[kind] | {"alpha": 1.0})


def _draw_costs(ax: Axes, cost: FloatArray, low: FloatArray, high: FloatArray) -> None:
    """An arrow from the middle of the view towards better objectives."""
    span = high - low
    steps = np.abs(cost) / span
    if not steps.any():
        return
    start = (low + high) / 2
    end = start - 0.2 * cost / steps.max()
    arrow = {"arrowstyle": "-|>", "color": COLOURS["black"], "linewidth": 2.5, "mutation_scale": 22}
    middle = {"ha": "center", "va": "center", "annotation_clip": True}
    ax.annotate("better", tuple(end), tuple(start), arrowprops=arrow, **middle)  # type: ignore[arg-type]


_MOST_STEPS = 400
_POINTS, _SELECTED = "x after rounds", "selected"
_RELEASED_NUMBERS = ("noisy b", "tightened b", "noisy A", "largest A", "noisy c")
Traced: TypeAlias = Any  #: A solution: see :class:`privlp.Solution`.


def draw_trace(solution: Traced, most: int, ax: Axes | None) -> Axes:
    """See :meth:`Solution.plot_trace`."""
    most = whole(most, "most")
    trace = solution.trace
    numbers = [part for part in _RELEASED_NUMBERS if part in trace]
    if not (_POINTS in trace or _SELECTED in trace or numbers):
        raise InvalidParameterError(
            f"There is nothing to draw: this solution by method {solution.method!r}"
            f" ({solution.status}) kept no released values of its rounds in its trace."
        )
    with drawing_on(ax) as axes:
        if _POINTS in trace:
            rounds, x = trace["rounds"].astype(np.int64), trace[_POINTS].astype(float)
            shown = np.sort(np.argsort(-np.abs(x[-1]), kind="stable")[:most])
            names = [label_of(solution.variable_names, j) for j in shown]
            _draw_lines(axes, rounds, x[:, shown], names)
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
        place_legend(axes, outside=ax is None)
        axes.locator_params(axis="x", integer=True, min_n_ticks=1)
        privacy = solution.privacy
        claim = f"released values only,\nε = {privacy.eps:.3g}, δ = {privacy.delta:.1g}"
        claim = claim if privacy.private else "not private, without noise"
        axes.set_title(axes.get_title() or f"{solution.method}: {claim}")
    return axes


def _draw_lines(ax: Axes, rounds: IntArray, values: FloatArray, names: list[str]) -> None:
    for k, (line, name) in enumerate(zip(values.T, names, strict=True)):
        ax.plot(rounds, line, label=name, **marks(k, len(rounds)))
    ax.set_xlabel("rounds played (number)")


def _draw_shares(ax: Axes, selected: IntArray, names: Any, most: int) -> None:
    """Draw in which share of the rounds so far each variable was selected: the average vertex."""
    variables, counts = np.unique(selected, return_counts=True)
    shown = np.sort(variables[np.argsort(-counts, kind="stable")[:most]])
    steps = np.linspace(1, len(selected), min(_MOST_STEPS, len(selected)))
    rounds = np.unique(steps.astype(np.int64))
    share = np.column_stack([np.cumsum(selected == j)[rounds - 1] / rounds for j in shown])
    _draw_lines(ax, rounds, share, [label_of(names, j) for j in shown])
    ax.set(ylabel="selected so far (share of rounds)", ylim=(0.0, 1.05))
