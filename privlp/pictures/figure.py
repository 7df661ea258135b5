"""Colours, axes, legends and files of pictures, all by Matplotlib, which not every user needs."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from privlp.checks import require_kind
from privlp.errors import MissingDependencyError
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
#: Marks of lines and points, for printing without colours.
MARKERS = "osD^vP"
#: Guide lines, and what is drawn for comparison.
GREY = "0.45"
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
    pyplot = _pyplot()
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


def _pyplot() -> Any:
    try:
        import matplotlib.pyplot as plt  # noqa: PLC0415
    except ImportError as error:
        raise MissingDependencyError(
            "Plots need Matplotlib: install it by pip install 'privlp[plot]'."
        ) from error
    return plt
