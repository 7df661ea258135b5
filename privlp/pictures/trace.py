"""Pictures of how a private solution was made, from released values alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from privlp.checks import FloatArray, whole
from privlp.errors import InvalidParameterError
from privlp.pictures.figure import MARKERS, drawing_on, label_of, marks, place_legend

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_STEPS = 400
_POINTS, _SELECTED = "x after rounds", "selected"
_RELEASED_NUMBERS = ("noisy b", "tightened b", "noisy A", "largest A", "noisy c")
#: A solution: see :class:`privlp.Solution`.
Traced: TypeAlias = Any


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


def _draw_lines(
    ax: Axes, rounds: npt.NDArray[np.int64], values: FloatArray, names: list[str]
) -> None:
    for k, (line, name) in enumerate(zip(values.T, names, strict=True)):
        ax.plot(rounds, line, label=name, **marks(k, len(rounds)))
    ax.set_xlabel("rounds played (number)")


def _draw_shares(ax: Axes, selected: npt.NDArray[np.int64], names: Any, most: int) -> None:
    """Draw in which share of the rounds so far each variable was selected: the average vertex."""
    variables, counts = np.unique(selected, return_counts=True)
    shown = np.sort(variables[np.argsort(-counts, kind="stable")[:most]])
    steps = np.linspace(1, len(selected), min(_MOST_STEPS, len(selected)))
    rounds = np.unique(steps.astype(np.int64))
    share = np.column_stack([np.cumsum(selected == j)[rounds - 1] / rounds for j in shown])
    _draw_lines(ax, rounds, share, [label_of(names, j) for j in shown])
    ax.set(ylabel="selected so far (share of rounds)", ylim=(0.0, 1.05))
