"""Libraries that not every user needs."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from privlp.errors import MissingDependencyError

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def new_axes() -> Axes:
    """Axes of a new figure.

    Raises
    ------
    MissingDependencyError
        If Matplotlib is not installed.
    """
    try:
        import matplotlib.pyplot as plt  # noqa: PLC0415
    except ImportError as error:
        raise MissingDependencyError("Plots need Matplotlib: install it by pip install 'privlp[plot]'.") from error
    return plt.subplots(layout="constrained")[1]


def save_figure(ax: Axes, path: str | os.PathLike[str]) -> None:
    """Write the figure that holds some axes."""
    ax.figure.savefig(path, dpi=120)  # type: ignore[union-attr]
