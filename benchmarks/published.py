"""Figures printed in the sources, with citations, and the pages that show ours beside them."""

import math
import os
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
from matplotlib.axes import Axes

from benchmarks import stale
from benchmarks.scores import CrossValidation, ResultStore
from benchmarks.tables import Part, rendered
from privlp.pictures import COLOURS, STYLE

CM = (
    "K. Chaudhuri and C. Monteleoni (2008). Privacy-preserving logistic regression. "
    "Advances in Neural Information Processing Systems 21."
)
SCM = (
    "A. D. Sarwate, K. Chaudhuri and C. Monteleoni (2009). Differentially private support vector"
    " machines. arXiv:0912.0071."
)

#: [CM] Figure 1, mean and standard deviation over five folds: (sensitivity method, new method,
#: standard).
CM_FIGURE_1 = {
    "separable": (("0.2962", "0.0617"), ("0.1426", "0.1284"), ("0", "0.0016")),
    "unseparable": (("0.3257", "0.0536"), ("0.1903", "0.1105"), ("0.0530", "0.1105")),
}

#: [SCM] Figure 2: learner to error on Adult at eps 0.2 and 0.1, and on KDDCup99 at 0.1 and 0.05.
SCM_FIGURE_2 = {
    "non-private": (0.1536, 0.1536, 0.0063, 0.0063),
    "output": (0.2469, 0.2456, 0.0207, 0.0784),
    "logistic": (0.1819, 0.1988, 0.0148, 0.0216),
    "objective": (0.1762, 0.1853, 0.0179, 0.0181),
}
SCM_FIGURE_2_KERNEL = {
    "non-private, hinge loss, exact kernel": "< 0.0506",
    "non-private": "0.0508",
    "objective": "0.1141",
}

#: [SCM] Figure 3: (learner, eps) to errors at 1e-2, 1e-3, ... (Adult), and at 1e-1, 1e-2, ...
#: (KDDCup99).
SCM_FIGURE_3_ADULT = {
    ("non-private", None): (0.24784, 0.17279, 0.16496, 0.15512, 0.15362, 0.15364),
    ("objective", 0.2): (0.2478, 0.1762, 0.1845, 0.2053, 0.2646, 0.2909),
    ("objective", 0.15): (0.2478, 0.1793, 0.1921, 0.2262, 0.2717, 0.3002),
    ("objective", 0.1): (0.2477, 0.1853, 0.2149, 0.2376, 0.3063, 0.3301),
    ("objective", 0.05): (0.2439, 0.2181, 0.2539, 0.2604, 0.3628, 0.3595),
}
SCM_FIGURE_3_KDD = {
    ("non-private", None): (0.0682, 0.0225, 0.0132, 0.0088, 0.0074, 0.0067, 0.0068),
    ("objective", 0.1): (0.0688, 0.0202, 0.0156, 0.0295, 0.0358, 0.0853, 0.2446),
    ("output", 0.1): (0.0753, 0.0226, 0.3741, 0.5048, 0.4961, 0.4962, 0.4982),
    ("objective", 0.05): (0.0730, 0.0182, 0.0207, 0.0308, 0.0468, 0.0908, 0.2516),
    ("output", 0.05): (0.0846, 0.1045, 0.4466, 0.4974, 0.4992, 0.5089, 0.5037),
    ("objective", 0.01): (0.0912, 0.0346, 0.0494, 0.0677, 0.1522, 0.3464, 0.4332),
    ("output", 0.01): (0.1110, 0.3994, 0.5003, 0.4954, 0.5061, 0.5020, 0.5244),
}

#: Colours that the colour-blind can tell apart (Okabe and Ito 2008), with markers and dashes for
#: the rest of us.
STYLES: dict[str, dict[str, Any]] = {
    "non-private": {"color": COLOURS["black"], "marker": None, "linestyle": "--"},
    "objective": {"color": COLOURS["blue"], "marker": "o", "linestyle": "-"},
    "output": {"color": COLOURS["vermilion"], "marker": "s", "linestyle": "-"},
    "logistic": {"color": COLOURS["green"], "marker": "^", "linestyle": "-"},
    "two logs": {"color": COLOURS["purple"], "marker": "D", "linestyle": "-."},
}
#: Published points: hollow, in the colour of the learner.
PUBLISHED_STYLE: dict[str, Any] = {
    "linestyle": "",
    "markerfacecolor": "none",
    "markersize": 9,
    "markeredgewidth": 1.6,
}
#: How the methods for whole constraints look in every picture. The default lies broad and pale
#: beneath the others.
METHOD_STYLES: dict[str, dict[str, Any]] = {
    "dmw-published": {"color": COLOURS["blue"], "marker": "o"},
    "dmw": {"color": COLOURS["vermilion"], "marker": "s"},
    "auto": {"color": COLOURS["black"], "linewidth": 9, "alpha": 0.25, "zorder": 1},
}

_STARTED, _STORES = time.monotonic(), Path(__file__).parent / ".cache"
# Pages that build on what earlier commands measured do not say how long the last one took.
_EARLIER, _RESUMED = frozenset(_STORES.glob("*.jsonl")), set[Path]()
#: Above a sentence that was measured; of tables all are but those below a mark of another kind.
_MEASURED = "<!-- measured -->\n"


def store(name: str) -> ResultStore:
    """Finished measurements of a command."""
    path = _STORES / f"{name}.jsonl"
    _RESUMED.update({path} & _EARLIER)
    return ResultStore(path)


def _took() -> str:
    """How long this command has run, with its processes that have ended."""
    minutes, cores = (time.monotonic() - _STARTED) / 60, os.cpu_count()
    processor = sum(os.times()[:4]) / 60
    return f" Its command took {minutes:.1f} minutes on {cores} cores, {processor:.1f} of one."


def write_page(name: str, *parts: Part | None) -> None:
    """Put what was measured into docs/results/<name>.md, in the order in which it stands there.

    Tables are replaced, and sentences below the mark ``<!-- measured -->``. All other words are the
    page's own: whoever changes a constant changes them too. ``None`` leaves what stands there. The
    stamp says how long the command took, if it measured the whole page.
    """
    path = stale.RESULTS / f"{name}.md"
    text, _, old = path.read_text(encoding="utf-8").partition("\nMeasured with privlp ")
    page = text.split("\n\n")
    whole = None not in parts and not _RESUMED
    took = _took() if whole else "".join(stale.TOOK.findall(old)[:1])
    places = [k for k, of in enumerate(page) if of.startswith(("|", _MEASURED))]
    for place, part in zip(places, parts, strict=True):
        if isinstance(part, str):
            page[place] = _MEASURED + part
        elif part is not None:
            page[place] = rendered(part)
    print(*(page[place] for place in places), sep="\n\n")
    path.write_text("\n\n".join(page).rstrip() + f"\n\n{stale.stamp(name, took)}")


@contextmanager
def picture(
    name: str,
    panels: int = 1,
    *,
    columns: int = 3,
    size: tuple[float, float] | None = None,
    sharey: bool = False,
) -> Iterator[list[Axes]]:
    """Draw docs/results/<name>.png in the house style, at most 12 inches wide."""
    columns = min(panels, columns)
    rows = math.ceil(panels / columns)
    with plt.rc_context(STYLE):
        size = size or (4.0 * columns, 3.6 * rows + 0.6)
        asked = {"figsize": size, "sharey": sharey, "squeeze": False}
        figure, grid = plt.subplots(rows, columns, **asked)
        axes, spare = list(grid.flat[:panels]), grid.flat[panels:]
        for ax in spare:
            ax.set_axis_off()
        yield axes
        legends = (zip(*ax.get_legend_handles_labels()[::-1], strict=True) for ax in axes)
        named = {label: handle for legend in legends for label, handle in legend}
        if len(spare):
            spare[0].legend(named.values(), named.keys(), loc="center")
        elif named:
            room = int(13 * figure.get_figwidth()) // (8 + max(map(len, named)))  # letters
            ncols = max(1, min(len(named), room))
            figure.legend(named.values(), named.keys(), loc="outside lower center", ncols=ncols)
        save_picture(name, figure)


def over_eps(ax: Axes, epsilons: Sequence[float]) -> None:
    """Let the horizontal axis be eps, marked where it was measured."""
    ax.set(xscale="log", xlabel="ε")
    ax.set_xticks(epsilons, [f"{eps:g}" for eps in epsilons])
    ax.set_xticks([], minor=True)


def curve(ax: Axes, at: Iterable[float], scores: Iterable[CrossValidation], **look: Any) -> None:
    """Means with standard errors."""
    means, errors = zip(*((of.mean, of.standard_error) for of in scores), strict=True)
    ax.errorbar(list(at), means, errors, **look)


def save_picture(name: str, figure: Any) -> None:
    """Write docs/results/<name>.png."""
    figure.savefig(stale.RESULTS / f"{name}.png", dpi=120)
    plt.close(figure)
    print(f"page and picture: docs/results/{name}.md, {name}.png")


def power_of_ten(value: float) -> str:
    """1e-3 for 0.001, as the sources' grids of regularisation are."""
    mantissa, _, exponent = f"{value:.0e}".partition("e")
    return f"{mantissa}e{int(exponent)}"


def rankings(scores: CrossValidation) -> str:
    """Balanced accuracy and area under the curve, for one cell of a table."""
    return f"{scores.said('balanced')}; {scores.said('auc')}"


def best(found: dict[float, CrossValidation]) -> float:
    """The regularisation of the smallest mean test error."""
    return min(found, key=lambda reg: found[reg].mean)
