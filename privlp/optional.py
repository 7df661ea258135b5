"""Libraries that not every user needs."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from privlp.errors import MissingDependencyError
from privlp.files import whole_file
from privlp.style import STYLE

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@contextmanager
def drawing_on(ax: Axes | None) -> Iterator[Axes]:
    """Draw in the house style on given axes, or on those of a new figure.

    Raises
    ------
    MissingDependencyError
        If Matplotlib is not installed.
    """
    pyplot = _pyplot()
    with pyplot.rc_context(STYLE):
        yield pyplot.subplots()[1] if ax is None else ax


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


def _pyplot() -> Any:
    try:
        import matplotlib.pyplot as plt  # noqa: PLC0415
    except ImportError as error:
        raise MissingDependencyError("Plots need Matplotlib: install it by pip install 'privlp[plot]'.") from error
    return plt
