"""Colours, marks and sizes of all pictures; the sizes suit a projector."""

from __future__ import annotations

from typing import Any

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
