"""Libraries that not every user needs."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from privlp.errors import InvalidParameterError, MissingDependencyError
from privlp.files import whole_file
from privlp.style import STYLE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.legend import Legend


@contextmanager
def drawing_on(ax: Axes | None) -> Iterator[Axes]:
    """Draw in the house style on given axes, or on those of a new figure.

    Given axes get its sizes of text and, unless something is drawn on them, its colours.

    Raises
    ------
    InvalidParameterError
        If what is given are no axes.
    MissingDependencyError
        If Matplotlib is not installed.
    """
    pyplot = _pyplot()
    if not isinstance(ax, pyplot.Axes | None):
        raise InvalidParameterError(f"ax must be Matplotlib axes, got {type(ax).__name__}.")
    with pyplot.rc_context(STYLE):
        if ax is None:
            ax = pyplot.subplots()[1]
        else:
            _dress(ax, pyplot.rcParams["axes.prop_cycle"])
        yield ax


def place_legend(ax: Axes, *, beside: bool) -> Legend:
    """Name what is drawn: beside the axes, where the figure is ours and makes room for it, or inside."""
    if beside:
        return ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return ax.legend(loc="best", frameon=True, framealpha=0.8)


def new_axes() -> Axes:
    """Axes of a new figure in the house style.

    Raises
    ------
    MissingDependencyError
        If Matplotlib is not installed.
    """
    with drawing_on(None) as ax:
        return ax


def save_figure(ax: Axes, path: str | os.PathLike[str]) -> None:
    """Write the figure that holds some axes; the file appears whole or not at all."""
    with whole_file(path) as unfinished:
        ax.figure.savefig(unfinished, dpi=120)  # type: ignore[union-attr]


def _dress(ax: Axes, colours: Any) -> None:
    """What Matplotlib fixes when it makes axes, and ``rcParams`` no longer reach."""
    ax.tick_params(labelsize=STYLE["font.size"])
    for label in (ax.xaxis.label, ax.yaxis.label):
        label.set_fontsize(STYLE["font.size"])
    if not ax.has_data():
        ax.set_prop_cycle(colours)


def _pyplot() -> Any:
    try:
        import matplotlib.pyplot as plt  # noqa: PLC0415
    except ImportError as error:
        raise MissingDependencyError(
            "Plots need Matplotlib: install it by pip install 'privlp[plot]'."
        ) from error
    return plt
