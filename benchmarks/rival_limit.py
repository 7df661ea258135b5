"""The picture of ``benchmarks.rivals``: rows that may be missed, over variables per eps."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from benchmarks.beside_bound import DELTA, EPSILONS, VARIABLES, N
from benchmarks.published import picture
from privlp.methods.advice import least_missed
from privlp.pictures import COLOURS, GREY

_OURS = {"map": ("blue", "o"), "diet": ("vermilion", "s"), "packing": ("green", "D")}


def of_histogram(d: int, eps: float) -> tuple[float, float]:
    """Rows that a histogram of the bound's own programs misses: in 95 % of draws, and on average.

    It is told how many products are needed: half. The worst number m of people who need one counts.
    """
    rng, worst = np.random.default_rng(0), [(0.0, 0.0)]
    for m in np.unique(np.geomspace(1, max(2, 12 / eps), 20).astype(int)):
        counts = np.append(np.full(d // 2, m), np.zeros(d // 2))
        noisy = counts + rng.laplace(0, 2 / eps, (4000, d))
        lost = m * (np.argsort(noisy, axis=1)[:, : d // 2] < d // 2).sum(axis=1)
        worst.append((float(np.quantile(lost, 0.95)), float(lost.mean())))
    return max(often for often, _ in worst), max(mean for _, mean in worst)


def draw_limit(least: dict[tuple[str, int, float], int], rivals: Sequence[str]) -> None:
    """The picture: s over d/eps; of the default, from the page beside_bound."""
    page = (Path(__file__).parents[1] / "docs" / "results" / "beside_bound.md").read_text()
    cell = r"^\| (\w+) [\d,]+ x (\d+) +\| ([\d.]+) +\| [^|]+\| (> )?([\d,]+)"
    ours = [(*of[:-1], int(of[-1].replace(",", ""))) for of in re.findall(cell, page, re.M)]
    with picture("rivals", len(EPSILONS), size=(11.0, 6.0), sharey=True) as axes:
        for ax, eps in zip(axes, EPSILONS, strict=True):
            _draw_defaults(ax, [of for of in ours if float(of[2]) == eps])
            for name, mark in zip(rivals, "x+v12*", strict=True):
                at = [(d / e, s) for (of, d, e), s in least.items() if (of, e) == (name, eps)]
                at = [(x, s) for x, s in at if s < N]
                if at:
                    _points(ax, at, f"{name}, diet", marker=mark, linestyle="", color=GREY)
            d = np.array(VARIABLES)
            histogram = [of_histogram(int(of), eps)[0] for of in d]
            bound = [least_missed(int(of), N, eps, DELTA) for of in d]
            label = "histogram, told, programs of the bound"
            ax.plot(d / eps, histogram, "--", color=COLOURS["purple"], label=label)
            ax.plot(
                d / eps, bound, color=COLOURS["black"], label="no private method: fewer, on average"
            )
            ax.set(xscale="log", yscale="log", xlabel="d/ε", title=f"ε = {eps:g}")
            ax.set_xticks(d / eps, [f"{x:g}" for x in d / eps])
            ax.set_xticks([], minor=True)
        axes[0].set_ylabel("rows that may be missed, s")


def _draw_defaults(ax: Axes, ours: list[tuple[str, str, str, str, int]]) -> None:
    """Hollow marks, beside one another; triangles where s is larger than was tried."""
    for shift, (family, (colour, mark)) in zip((0.93, 1.0, 1.07), _OURS.items(), strict=True):
        look = {"color": COLOURS[colour], "linestyle": "", "fillstyle": "none"}
        for more, sign in (("", mark), ("> ", "^")):
            at = [
                (shift * int(d) / float(e), s) for f, d, e, m, s in ours if (f, m) == (family, more)
            ]
            label = f"default, {family}{': more than' if more else ''}"
            if at:
                _points(ax, at, label, marker=sign, **look)


def _points(ax: Axes, at: Sequence[tuple[float, float]], label: str, **look: Any) -> None:
    ax.plot(*np.array(at).T, label=label, **look)


def histogram_in_words() -> str:
    """How far a histogram is from the bound on the bound's own programs."""
    d = VARIABLES[-1]
    times = [of_histogram(d, e)[1] / least_missed(d, N, e, DELTA) for e in EPSILONS]
    said = ", ".join(f"{of:.1f} (ε = {eps:g})" for of, eps in zip(times, EPSILONS, strict=True))
    return (
        f"On the bound's own programs, {d} variables and the worst number of people to a need, a"
        f" histogram misses on average {said} times the bound."
    )
