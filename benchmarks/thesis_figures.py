"""Figures 1 to 3 of van der Reijden (2019), each claim against our curves, and the soft margin.

Run with ``python -m benchmarks.thesis_figures``; an interrupted run goes on where it stopped. About
35 minutes of one core; with ``--data adult`` and ``--data kdd`` side by side, then without options.
"""

import hashlib
import math
from collections.abc import Callable
from functools import partial
from itertools import product
from typing import Any

import click
import numpy as np
from sklearn.dummy import DummyClassifier

from benchmarks.published import RANKINGS, picture, rankings, write_page
from benchmarks.tables import column_names
from benchmarks.thesis import VDR, DataSet, Fits, Model, cpu_seconds, data_set, measure
from svm_models import DMWSVC, LPSVC, HuberSVC, ObjectivePerturbationSVC

EPS, S, ALPHA = 0.1, 0.75, 200
FOLDS = 10
DENSITIES = (0.1, 0.25, 0.5, 0.75, 0.9, 0.99)
ALPHAS = {"adult": (200, 500, 1000, 2000, 5000, 10000), "kdd": (100, 200, 300, 400, 600)}
#: Where the tight number of rounds is not one.
SMALLER_ALPHAS = {"adult": (50, 100), "kdd": (5, 10, 20, 50)}
EPSILONS = (0.1, 0.2, 0.5, 1.0, 2.0)
PHIS = (0.0, 0.5, 1.0, 2.0, 10.0)
#: With alpha = 200 a fit on Adult takes 28,000 rounds at eps = 0.1; where many are needed, alpha is
#: this instead.
CHEAPER_ALPHA = {"adult": {"1a": 1000, "3": 2000}, "kdd": {"1a": ALPHA, "3": ALPHA}}
SOFT_EPSILONS = (0.1, 1.0)
SOFT_FOLDS = 5
#: Of the published constants, in units of the radius: about 95 rounds for either form.
SOFT_ALPHA = 2.0
NOTHING = 0.01  # differences in error up to this count as none

NAMES = {
    "published": "dense MW, published constants",
    "tight": "dense MW, tight",
    "published, count": "published constants, count score",
    "tight, count": "tight, count score",
    "objective": "objective perturbation",
}
STYLES: dict[str, dict[str, Any]] = {
    "published": {"color": "#D55E00", "marker": "s"},
    "tight": {"color": "#0072B2", "marker": "o"},
    "published, count": {"color": "#E69F00", "marker": "D", "linestyle": "--"},
    "tight, count": {"color": "#009E73", "marker": "^", "linestyle": "--"},
    "objective": {"color": "#CC79A7", "marker": "v"},
}
Curves = dict[Any, Fits]


class OracleDMWSVC(DMWSVC):
    """With the exact optimum of the soft-margin program as if it were public."""

    _known: dict[str, tuple[float, float]] = {}  # noqa: RUF012 (a cache)

    def fit(self, X: Any, y: Any, **unsupported: Any) -> Any:
        """Solve exactly, then train."""
        key = hashlib.sha256(np.ascontiguousarray(y).tobytes()).hexdigest()
        if key not in self._known:
            exact = LPSVC(C=self.C).fit(X, y)
            self._known[key] = (float(np.abs(exact.coef_).sum()), exact.objective_)
        self.radius = self._known[key][self.form == "soft"]
        if self.method == "dmw-published":
            self.alpha = SOFT_ALPHA * self.radius
        return super().fit(X, y, **unsupported)


def dmw(way: str, alpha: float | None, *, eps: float = EPS, s: float = S, **more: float) -> Model:
    """Algorithm 3: `way` is a key of NAMES."""
    method = "dmw-published" if way.startswith("published") else "dmw"
    asked = {"score": "count" if way.endswith("count") else "distance", "method": method, **more}
    return lambda n: DMWSVC(eps, 1 / n, s, alpha, fit_intercept=False, **asked)


def models(data: DataSet) -> dict[Any, Model]:
    """Every point of every curve: (figure, way, horizontal value)."""
    point = partial(dmw, reg=data.reg)
    cells: dict[Any, Model] = {
        ("fixed",): lambda _n: DummyClassifier(),
        ("QP-SVM",): lambda _n: HuberSVC(reg=data.reg),
        ("argmax",): point("published", ALPHA, eps=math.inf),
    }
    for eps in EPSILONS:
        private = partial(ObjectivePerturbationSVC, eps, reg=data.reg, fit_intercept=False)
        cells["2", "objective", eps] = lambda _n, private=private: private()
    for way in ("tight", "published"):
        alphas: dict[str, Any] = dict.fromkeys(("1a", "2", "3"))
        grid = SMALLER_ALPHAS[data.name] + ALPHAS[data.name]
        if way == "published":
            alphas, grid = CHEAPER_ALPHA[data.name] | {"2": ALPHA}, ALPHAS[data.name]
        count = f"{way}, count"
        cells |= {("1a", way, s): point(way, alphas["1a"], s=s) for s in DENSITIES}
        cells |= {("1b", way, alpha): point(way, alpha) for alpha in grid}
        cells |= {("2", way, eps): point(way, alphas["2"], eps=eps) for eps in EPSILONS}
        cells |= {("3", count, phi): point(count, alphas["3"], phi=phi) for phi in PHIS}
        cells["3", way, 0.0] = point(way, alphas["3"])
    return cells


def soft_models() -> dict[Any, Model]:
    """The soft form with 2p + n vertices and the hard form with 2p, both told the exact optimum."""
    found: dict[Any, Model] = {}
    for method, form, eps in product(("dmw", "dmw-published"), ("hard", "soft"), SOFT_EPSILONS):
        made = partial(OracleDMWSVC, eps, s=S, form=form, method=method, fit_intercept=False)
        found[method, form, eps] = lambda n, made=made: made(delta=1 / n)
    return found


_DATA = click.Choice(["adult", "kdd"])


@click.command()
@click.option("--data", "names", multiple=True, type=_DATA, help="Measure this data set only.")
@click.option("--folds", default=FOLDS, show_default=True, help="How many of the ten folds.")
def main(names: tuple[str, ...], folds: int) -> None:
    """Measure; then write the page and draw the pictures."""
    curves, soft = {}, {}
    for name in names or ("adult", "kdd"):
        curves[name] = measure(data_set(name), models(data_set(name)), only=folds)
        soft[name] = measure(data_set(name), soft_models(), only=min(folds, SOFT_FOLDS))
    if names:
        return
    seconds = sum(cpu_seconds(found) for found in (*curves.values(), *soft.values()))
    _draw("thesis_figure1", curves, ("1a", "1b"))
    _draw("thesis_figure2", curves, ("2",))
    _draw("thesis_figure3", curves, ("3",))
    parts = [
        f"Published: {VDR} Figures 1–3; their points are not in the text, its claims are.",
        SETTINGS.format(folds=folds if folds == FOLDS else f"{folds} of {FOLDS}"),
        *_page(curves),
        "## The soft margin over 2p + n vertices",
        SOFT,
        (column_names(_OF_SOFT), _soft_rows(soft)),
        *_soft_verdicts(soft, curves),
        f"CPU time of all fits: {seconds / 60:.1f} minutes.",
    ]
    write_page("thesis_figures", "Figures 1 to 3 of van der Reijden (2019)", parts)


_OF_SOFT = (
    "data | method | form | eps | ours ± standard error | balanced accuracy | area under the curve"
    " | radius | rounds | rounds on slack variables"
)
SETTINGS = (
    "Mean test error ± standard error over {folds} folds, one draw each; all settings of one fold"
    " share the seed. One record replaced; delta = 1/n with n the training records, as in the"
    " thesis: that large a delta would allow publishing a record, and the library warns of it."
    " Preprocessing “thesis”. Algorithm 2: objective perturbation of the Huber SVM, pure eps, one"
    " logarithm. Algorithm 3: `DMWSVC`; half of eps buys the radius (OPT) by objective"
    " perturbation, so that eps is what all of it costs (the thesis pays for the radius apart). reg"
    " = 1e-3 on Adult, 1e-2 on KDDCup99, also for the radius. “Published constants”:"
    ' `method="dmw-published"`, alpha = 200; “tight”: `method="dmw"`, number of rounds from the'
    " budget except in Figure 1b. Where not varied: eps = 0.1, s = 0.75 n. The published number of"
    " rounds, 36 (OPT + 1)² ln n/alpha², counts in thousands where OPT is bought for eps = 0.05 on"
    " Adult: Figures 1a and 3 use alpha = 1000 there with the published constants; Figure 1b shows"
    " what that changes, and Figure 2 has alpha = 200 throughout. alpha counts in units of A x - b"
    " with the published constants, per unit of ||A_i||_2 with the tight ones."
)
SOFT = (
    "The thesis drops the slack variables because n more vertices would make selection inaccurate."
    " Here both forms get the exact optimum for free, an oracle that no private pipeline has"
    " (hard: ||w||_1 of the exact LP-SVM; soft: its ||w||_1 + C sum xi, C = 1), so that only"
    f" selection differs. {SOFT_FOLDS} of the 10 folds, one draw; published constants with alpha ="
    f" {SOFT_ALPHA:g} times the radius, which gives both forms the same number of rounds."
)


def _page(curves: dict[str, Curves]) -> list[Any]:
    parts: list[Any] = []
    for figure, title, axis, file in (
        ("1a", "Figure 1a: density s", "s / n", "thesis_figure1"),
        ("1b", "Figure 1b: alpha (with rounds)", "alpha", "thesis_figure1"),
        ("2", "Figure 2: eps", "eps", "thesis_figure2"),
        ("3", "Figure 3: tolerance phi of the count score", "phi", "thesis_figure3"),
    ):
        parts += [f"## {title}", f"![{title}]({file}.png)"]
        for name, found in curves.items():
            parts += [f"{data_set(name).title}: {_references(found)}", _table(found, figure, axis)]
            parts += [RANKINGS, _table(found, figure, axis, ranked=True)]
        parts += [_verdict(figure, name, found) for name, found in curves.items()]
    return parts


def _references(found: Curves) -> str:
    fixed, qp, argmax = (found[(key,)].errors for key in ("fixed", "QP-SVM", "argmax"))
    return f"fixed class {fixed}; not private: QP-SVM {qp}, argmax dense MW {argmax}."


def _ways(found: Curves, figure: str) -> list[str]:
    return [way for way in NAMES if any(key[:2] == (figure, way) for key in found)]


def _values(found: Curves, figure: str, way: str) -> list[float]:
    return [key[2] for key in found if key[:2] == (figure, way)]


def _table(
    found: Curves, figure: str, axis: str, *, ranked: bool = False
) -> tuple[list[str], list[list[str]]]:
    """Errors with rounds; or balanced accuracies and areas under the curve."""
    ways = _ways(found, figure)

    def cell(way: str, value: float) -> str:
        fits = found.get((figure, way, value))
        if fits is None:
            return "–"
        if ranked:
            return rankings(fits.errors)
        counted = figure != "2" and way != "objective"
        return f"{fits.errors}" + f" ({np.mean(fits.each('rounds')):,.0f})" * counted

    values = sorted({value for way in ways for value in _values(found, figure, way)})
    rows = [[f"{value:g}", *(cell(way, value) for way in ways)] for value in values]
    return [axis, *(NAMES[way] for way in ways)], rows


def _gain(worse: Fits, better: Fits) -> tuple[float, float]:
    """Mean and standard error, over folds, of how much smaller the second error is."""
    difference = worse.errors.errors.mean(axis=1) - better.errors.errors.mean(axis=1)
    return float(difference.mean()), float(difference.std(ddof=1) / math.sqrt(len(difference)))


def _clear(gain: tuple[float, float]) -> bool:
    return gain[0] > 2 * gain[1] and gain[0] > 1e-3


def _said(gain: tuple[float, float]) -> str:
    return f"{gain[0]:+.4f} ± {gain[1]:.4f}"


def _verdict(figure: str, name: str, found: Curves) -> str:
    claim, judge, ways = CLAIMS[figure]
    judged = " ".join(f"{NAMES[way]}: {judge(found, way)}." for way in ways)
    return f"**{data_set(name).title}.** {claim} {judged}"


def _judge_s(found: Curves, way: str) -> str:
    curve = {s: found["1a", way, s] for s in DENSITIES}
    first, second = _gain(curve[0.1], curve[0.5]), _gain(curve[0.5], curve[0.99])
    best = min(DENSITIES, key=lambda s: curve[s].errors.mean)
    past_the_best = _clear(_gain(curve[0.99], curve[best]))
    whole = _clear(_gain(curve[0.1], curve[0.99]))
    verdict = "holds" if whole and second[0] < first[0] and not past_the_best else "refuted"
    return (
        f"{verdict} (gain from s = 0.1 n to 0.5 n {_said(first)}, from 0.5 n to"
        f" 0.99 n {_said(second)}; best {curve[best].errors.mean:.4f} at {best:g} n)"
    )


def _judge_alpha(found: Curves, way: str) -> str:
    means = {alpha: found["1b", way, alpha].errors.mean for alpha in _values(found, "1b", way)}
    low, high = min(means, key=means.__getitem__), max(means, key=means.__getitem__)
    gain = _gain(found["1b", way, high], found["1b", way, low])
    verdict = "holds" if gain[0] <= NOTHING else "refuted"
    if gain[0] <= NOTHING and abs(means[low] - found[("fixed",)].errors.mean) <= 2e-3:
        verdict = "holds, but every point is the fixed class"
    if gain[0] > NOTHING and not _clear(gain):
        verdict = "not refuted: the spread is within the noise"
    ends = f"best {means[low]:.4f} at {low:g}, worst {means[high]:.4f} at {high:g}"
    return f"{verdict} ({ends}; {_said(gain)})"


def _judge_eps(found: Curves, way: str) -> str:
    reference = "QP-SVM" if way == "objective" else "argmax"
    gaps = {eps: _gain(found["2", way, eps], found[(reference,)]) for eps in EPSILONS}
    verdict = "holds" if all(gaps[e][0] <= NOTHING for e in EPSILONS if e >= 0.5) else "refuted"
    listed = ", ".join(f"{_said(gap)} at {eps:g}" for eps, gap in gaps.items())
    fixed = _gain(found[("fixed",)], found["2", way, 0.5])
    if verdict == "holds" and not _clear(fixed):
        verdict = "holds in name only: at 0.5 it is the fixed class"
    better = f"at 0.5 better than the fixed class by {_said(fixed)}"
    return f"{verdict} (above {reference}: {listed}; {better})"


def _judge_count(found: Curves, way: str) -> str:
    curve = {phi: found["3", f"{way}, count", phi] for phi in PHIS}
    gain = _gain(found["3", way, 0.0], curve[0.0])
    better = "not shown, within the noise" if abs(gain[0]) <= 2 * gain[1] else "refuted"
    better = "no difference" if abs(gain[0]) <= 1e-3 else better
    better = "holds" if _clear(gain) else better
    best = min(PHIS, key=lambda phi: curve[phi].errors.mean)
    beaten = best != 0.0 and _clear(_gain(curve[0.0], curve[best]))
    flat = max(fits.errors.mean for fits in curve.values()) - curve[0.0].errors.mean <= 1e-3
    zero = f"refuted (best: {best:g})" if beaten else "no phi differs" if flat else "holds"
    listed = ", ".join(f"{fits.errors.mean:.4f} at {phi:g}" for phi, fits in curve.items())
    return (
        f"count better at phi = 0: {better} (gain over the distance score {_said(gain)});"
        f" phi = 0 best: {zero} ({listed})"
    )


_TWO, _THREE = ("published", "tight"), ("objective", "published", "tight")
#: What the thesis says of a figure, who judges it, and of which curves.
CLAIMS: dict[str, tuple[str, Callable[[Curves, str], str], tuple[str, ...]]] = {
    "1a": ("“A larger s is better, with diminishing return”:", _judge_s, _TWO),
    "1b": ("“Relative indifference to alpha”:", _judge_alpha, _TWO),
    "2": ("“From eps = 0.5 private results match the non-private”:", _judge_eps, _THREE),
    "3": ("“The count score improves” and “phi = 0 is best”:", _judge_count, _TWO),
}


def _soft_rows(soft: dict[str, Curves]) -> list[list[str]]:
    return [
        [
            *(data_set(name).title, method, form, f"{eps:g}", str(fits.errors)),
            *(fits.errors.said("balanced"), fits.errors.said("auc")),
            *(f"{np.mean(fits.each(what)):{shown}}" for what, shown in _SHOWN),
            f"{np.mean(fits.each('slack_share')):.1%}" if form == "soft" else "–",
        ]
        for name, found in soft.items()
        for (method, form, eps), fits in found.items()
    ]


_SHOWN = (("radius", ",.1f"), ("rounds", ",.0f"))


def _soft_verdicts(soft: dict[str, Curves], curves: dict[str, Curves]) -> list[str]:
    verdicts = []
    for (name, found), method in product(soft.items(), ("dmw", "dmw-published")):
        fixed = curves[name][("fixed",)].errors.mean
        gains = {
            e: _gain(found[method, "soft", e], found[method, "hard", e]) for e in SOFT_EPSILONS
        }
        verdict = "holds" if _clear(gains[EPS]) else "not seen"
        listed = ", ".join(f"{_said(gain)} at eps = {eps:g}" for eps, gain in gains.items())
        verdicts.append(
            f"**{data_set(name).title}, {method}.** “Accuracy suffers from n more candidates”:"
            f" {verdict} (the hard form's error is smaller by {listed}; fixed class {fixed:.4f})."
        )
    on_slack = (found["dmw-published", "soft", EPS].each("slack_share") for found in soft.values())
    share = ", ".join(f"{np.mean(shares):.1%}" for shares in on_slack)
    verdicts.append(
        f"The reason given for the claim is right for the published constants: at eps = {EPS:g} the"
        f" selections of the soft form fall on slack variables in {share} of the rounds, what blind"
        " chance would give (n of 2p + n vertices: 99.5 % and 99.6 %). But the hard form is no"
        " better than the fixed class there, so no error is lost by it. With tight constants the"
        " noise is small enough for all these candidates, whose number enters by its logarithm"
        " only."
    )
    return verdicts


AXES = {
    "1a": "density s / n",
    "1b": "alpha (largest violation aimed at)",
    "2": "eps (delta = 1/n)",
    "3": "tolerance phi (units of the margin)",
}


def _draw(name: str, curves: dict[str, Curves], figures: tuple[str, ...]) -> None:
    panels = [(part, *of) for part in figures for of in curves.items()]
    with picture(name, len(panels), columns=2, size=(11.0, 4.4 * len(figures))) as axes:
        for ax, (part, data, found) in zip(axes, panels, strict=True):
            _panel(ax, found, part)
            at = "" if part == "2" else f", eps = {EPS:g}"
            ax.set(title=f"{data_set(data).title}{at}", xlabel=AXES[part])
        for ax in axes[::2]:
            ax.set_ylabel("test error (share of records)")


def _panel(ax: Any, found: Curves, part: str) -> None:
    for way in _ways(found, part):
        values, name = _values(found, part, way), NAMES[way]
        errors = [found[part, way, value].errors for value in values]
        if part == "3" and len(values) == 1:
            label, color = f"{name}, distance score", STYLES[way]["color"]
            ax.axhline(errors[0].mean, color=color, linewidth=2, label=label)
            continue
        aside = 0.06 if way == "tight, count" else -0.06
        at = [PHIS.index(value) + aside for value in values] if part == "3" else values
        means, bars = [e.mean for e in errors], [e.standard_error for e in errors]
        look = {"capsize": 3, "linewidth": 2, "markersize": 7, **STYLES[way]}
        ax.errorbar(at, means, bars, label=name, **look)
    ax.axhline(found[("fixed",)].errors.mean, color="0.35", linestyle=":", label="fixed class")
    references = {"argmax": ("argmax dense MW, not private", (0, (6, 6)))}
    if part == "2":
        references["QP-SVM"] = ("QP-SVM, not private", (0, (1, 3)))
    for key, (label, dashes) in references.items():
        ax.axhline(found[(key,)].errors.mean, color="black", linestyle=dashes, label=label)
    if part in ("1b", "2"):
        ax.set_xscale("log")
        # The labels of two would overlap.
        ticks = [value for value in _values(found, part, "tight") if value not in (300, 400)]
        ax.set_xticks(ticks, [f"{value:g}" for value in ticks])
        ax.minorticks_off()
    if part == "3":
        ax.set_xticks(range(len(PHIS)), [f"{phi:g}" for phi in PHIS])


if __name__ == "__main__":
    main()
