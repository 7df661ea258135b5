"""How pictures look: the one place for colours, and sizes that can be read from the last row of a lecture hall."""

from __future__ import annotations

from typing import Any

#: Okabe and Ito's palette (2008), which colour-blind people can tell apart, in the order in which
#: lines take it.
COLOURS = {
    "blue": "#0072B2",
    "vermilion": "#D55E00",
    "green": "#009E73",
    "purple": "#CC79A7",
    "orange": "#E69F00",
    "sky": "#56B4E9",
    "black": "#000000",
}
#: Marks, for those who print without colours.
MARKERS = "osD^vP"
#: What stands back: guide lines, and what is drawn for comparison.
GREY = "0.45"
#: Of Matplotlib's ``rcParams``; ``plt.rcParams.update(STYLE)`` draws a notebook in it.
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
    """Look of the `k`-th line of a picture, beside its colour: a mark here and there."""
    return {"marker": MARKERS[k % len(MARKERS)], "markevery": 0.15 if points > 1 else None}
