"""Figures 1 to 3 of van der Reijden (2019), each of its claims against our curves.

Also the soft margin, which the thesis rejects.

Run with ``python -m benchmarks.thesis_figures``; an interrupted run goes on where it stopped. About
35 minutes of one core; ``--data adult`` and ``--data kdd`` measure the two data sets side by side,
then the command without options writes the page.
"""

import hashlib
import math
from functools import partial
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
SMALLER_ALPHAS = {
    "adult": (50, 100),
    "kdd": (5, 10, 20, 50),
}  # where the tight number of rounds is not one
EPSILONS = (0.1, 0.2, 0.5, 1.0, 2.0)
PHIS = (0.0, 0.5, 1.0, 2.0, 10.0)
#: With alpha = 200 a fit on Adult takes 28,000 rounds at eps = 0.1; where many are needed, alpha is
#: this instead.
CHEAPER_ALPHA = {"adult": {"1a": 1000, "3": 2000}, "kdd": {"1a": ALPHA, "3": ALPHA}}
SOFT_EPSILONS = (0.1, 1.0)
SOFT_FOLDS = 5
SOFT_ALPHA = (
    2.0  # of the published constants, in units of the radius: about 95 rounds for either form
)
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


def dmw(
    way: str, alpha: float | None, *, eps: float = EPS, s: float = S, phi: float = 0.0, reg: float
) -> Model:
    """Algorithm 3: `way` is a key of NAMES."""
    score, published = "count" if way.endswith("count") else "distance", way.startswith("published")
    return lambda n: DMWSVC(
        eps,
        1 / n,
        s,
        alpha,
        score=score,
        phi=phi,
        method="dmw-published" if published else "dmw",
        reg=reg,
    )


def models(data: DataSet) -> dict[Any, Model]:
    """Every point of every curve: (figure, way, horizontal value)."""
    cells: dict[Any, Model] = {
        ("fixed",): lambda _n: DummyClassifier(),
        ("QP-SVM",): lambda _n: HuberSVC(reg=data.reg),
        ("argmax",): lambda n: DMWSVC(
            math.inf, 1 / n, S, ALPHA, method="dmw-published", reg=data.reg
        ),
    }
    for eps in EPSILONS:
        cells["2", "objective", eps] = lambda _n, eps=eps: ObjectivePerturbationSVC(
            eps, reg=data.reg
        )
    for way in ("tight", "published"):
        alphas = (
            CHEAPER_ALPHA[data.name] | {"2": ALPHA}
            if way == "published"
            else dict.fromkeys(("1a", "2", "3"))
        )
        point = partial(dmw, reg=data.reg)
        cells |= {("1a", way, s): point(way, alphas["1a"], s=s) for s in DENSITIES}
        grid = (
            ALPHAS[data.name]
            if way == "published"
            else SMALLER_ALPHAS[data.name] + ALPHAS[data.name]
        )
        cells |= {("1b", way, alpha): point(way, alpha) for alpha in grid}
        cells |= {("2", way, eps): point(way, alphas["2"], eps=eps) for eps in EPSILONS}
        cells |= {
            ("3", f"{way}, count", phi): point(f"{way}, count", alphas["3"], phi=phi)
            for phi in PHIS
        }
        cells["3", way, 0.0] = point(way, alphas["3"])
    return cells


def soft_models() -> dict[Any, Model]:
    """The soft form with 2p + n vertices and the hard form with 2p, both told the exact optimum."""
    return {
        (method, form, eps): lambda n, method=method, form=form, eps=eps: OracleDMWSVC(
            eps, 1 / n, S, form=form, method=method
        )
        for method in ("dmw", "dmw-published")
        for form in ("hard", "soft")
        for eps in SOFT_EPSILONS
    }


@click.command()
@click.option(
    "--data",
    "names",
    multiple=True,
    type=click.Choice(["adult", "kdd"]),
    help="Measure this data set only.",
)
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
    write_page(
        "thesis_figures",
        "Figures 1 to 3 of van der Reijden (2019)",
        [
            f"Published: {VDR} Figures 1–3; their points are not in the text, its claims are.",
            SETTINGS.format(folds=folds if folds == FOLDS else f"{folds} of {FOLDS}"),
            *_page(curves),
            "## The soft margin over 2p + n vertices",
            SOFT,
            (
                column_names(
                    "data | method | form | eps | ours ± standard error | balanced accuracy | "
                    "area under the curve | radius | rounds | rounds on slack variables"
                ),
                _soft_rows(soft),
            ),
            *_soft_verdicts(soft, curves),
            f"CPU time of all fits: {seconds / 60:.1f} minutes.",
        ],
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
    values = sorted({value for way in ways for value in _values(found, figure, way)})
    rows = []
    for value in values:
        row = [f"{value:g}"]
        for way in ways:
            fits = found.get((figure, way, value))
            if ranked:
                row.append("–" if fits is None else rankings(fits.errors))
                continue
            rounds = (
                ""
                if fits is None or figure == "2" or way == "objective"
                else f" ({np.mean(fits.each('rounds')):,.0f})"
            )
            row.append("–" if fits is None else f"{fits.errors}{rounds}")
        rows.append(row)
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
    claim, judge = (
        {"1a": CLAIM_S, "1b": CLAIM_ALPHA, "2": CLAIM_EPS, "3": CLAIM_COUNT}[figure],
        JUDGES[figure],
    )
    return f"**{data_set(name).title}.** {claim} " + " ".join(judge(found))


CLAIM_S = "“A larger s is better, with diminishing return”:"
CLAIM_ALPHA = "“Relative indifference to alpha”:"
CLAIM_EPS = "“From eps = 0.5 private results match the non-private”:"
CLAIM_COUNT = "“The count score improves” and “phi = 0 is best”:"


def _judge_s(found: Curves) -> list[str]:
    said = []
    for way in ("published", "tight"):
        first = _gain(found["1a", way, 0.1], found["1a", way, 0.5])
        second = _gain(found["1a", way, 0.5], found["1a", way, 0.99])
        whole = _gain(found["1a", way, 0.1], found["1a", way, 0.99])
        best = min(DENSITIES, key=lambda s, way=way: found["1a", way, s].errors.mean)
        past_the_best = _clear(_gain(found["1a", way, 0.99], found["1a", way, best]))
        verdict = (
            "holds" if _clear(whole) and second[0] < first[0] and not past_the_best else "refuted"
        )
        said.append(
            f"{NAMES[way]}: {verdict} (gain from s = 0.1 n to 0.5 n {_said(first)}, from 0.5 n to"
            f" 0.99 n {_said(second)}; best {found['1a', way, best].errors.mean:.4f} at"
            f" {best:g} n)."
        )
    return said


def _judge_alpha(found: Curves) -> list[str]:
    said = []
    for way in ("published", "tight"):
        means = {alpha: found["1b", way, alpha].errors.mean for alpha in _values(found, "1b", way)}
        low, high = min(means, key=means.__getitem__), max(means, key=means.__getitem__)
        gain = _gain(found["1b", way, high], found["1b", way, low])
        fixed = found[("fixed",)].errors.mean
        verdict = "holds" if gain[0] <= NOTHING else "refuted"
        if gain[0] <= NOTHING and abs(means[low] - fixed) <= 2e-3:
            verdict = "holds, but every point is the fixed class"
        if gain[0] > NOTHING and not _clear(gain):
            verdict = "not refuted: the spread is within the noise"
        said.append(
            f"{NAMES[way]}: {verdict} (best {means[low]:.4f} at {low:g}, worst {means[high]:.4f} at"
            f" {high:g}; {_said(gain)})."
        )
    return said


def _judge_eps(found: Curves) -> list[str]:
    said = []
    for way, reference in (("objective", "QP-SVM"), ("published", "argmax"), ("tight", "argmax")):
        gaps = {eps: _gain(found["2", way, eps], found[(reference,)]) for eps in EPSILONS}
        verdict = (
            "holds" if all(gaps[eps][0] <= NOTHING for eps in EPSILONS if eps >= 0.5) else "refuted"
        )
        listed = ", ".join(f"{_said(gap)} at {eps:g}" for eps, gap in gaps.items())
        fixed = _gain(found[("fixed",)], found["2", way, 0.5])
        if verdict == "holds" and not _clear(fixed):
            verdict = "holds in name only: at 0.5 it is the fixed class"
        said.append(
            f"{NAMES[way]}: {verdict} (above {reference}: {listed}; at 0.5 better than the fixed"
            f" class by {_said(fixed)})."
        )
    return said


def _judge_count(found: Curves) -> list[str]:
    said = []
    for way in ("published", "tight"):
        curve = {phi: found["3", f"{way}, count", phi] for phi in PHIS}
        gain = _gain(found["3", way, 0.0], curve[0.0])
        within = (
            "no difference"
            if abs(gain[0]) <= 1e-3
            else "not shown, within the noise"
            if abs(gain[0]) <= 2 * gain[1]
            else "refuted"
        )
        better = "holds" if _clear(gain) else within
        best = min(PHIS, key=lambda phi, curve=curve: curve[phi].errors.mean)
        beaten = best != 0.0 and _clear(_gain(curve[0.0], curve[best]))
        worst = max(curve[phi].errors.mean for phi in PHIS)
        flat = worst - curve[0.0].errors.mean <= 1e-3
        zero = f"refuted (best: {best:g})" if beaten else "no phi differs" if flat else "holds"
        said.append(
            f"{NAMES[way]}: count better at phi = 0: {better} (gain over the distance score"
            f" {_said(gain)}); phi = 0 best: {zero} ("
            + ", ".join(f"{fits.errors.mean:.4f} at {phi:g}" for phi, fits in curve.items())
            + ")."
        )
    return said


JUDGES = {"1a": _judge_s, "1b": _judge_alpha, "2": _judge_eps, "3": _judge_count}


def _soft_rows(soft: dict[str, Curves]) -> list[list[str]]:
    return [
        [
            data_set(name).title,
            method,
            form,
            f"{eps:g}",
            str(fits.errors),
            *(fits.errors.said(score) for score in ("balanced", "auc")),
            f"{np.mean(fits.each('radius')):,.1f}",
            f"{np.mean(fits.each('rounds')):,.0f}",
            f"{np.mean(fits.each('slack_share')):.1%}" if form == "soft" else "–",
        ]
        for name, found in soft.items()
        for (method, form, eps), fits in found.items()
    ]


def _soft_verdicts(soft: dict[str, Curves], curves: dict[str, Curves]) -> list[str]:
    verdicts = []
    for name, found in soft.items():
        fixed = curves[name][("fixed",)].errors.mean
        for method in ("dmw", "dmw-published"):
            gains = {
                eps: _gain(found[method, "soft", eps], found[method, "hard", eps])
                for eps in SOFT_EPSILONS
            }
            verdicts.append(
                f"**{data_set(name).title}, {method}.** “Accuracy suffers from n more candidates”:"
                f" {'holds' if _clear(gains[EPS]) else 'not seen'} (the hard form's error is"
                " smaller by"
                f" {', '.join(f'{_said(gain)} at eps = {eps:g}' for eps, gain in gains.items())};"
                f" fixed class {fixed:.4f})."
            )
    share = ", ".join(
        f"{np.mean(found['dmw-published', 'soft', EPS].each('slack_share')):.1%}"
        for found in soft.values()
    )
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
        values = _values(found, part, way)
        errors = [found[part, way, value].errors for value in values]
        if part == "3" and len(values) == 1:
            ax.axhline(
                errors[0].mean,
                color=STYLES[way]["color"],
                linewidth=2,
                label=f"{NAMES[way]}, distance score",
            )
            continue
        ax.errorbar(
            (
                [PHIS.index(value) + (0.06 if way == "tight, count" else -0.06) for value in values]
                if part == "3"
                else values
            ),
            [e.mean for e in errors],
            [e.standard_error for e in errors],
            label=NAMES[way],
            capsize=3,
            linewidth=2,
            markersize=7,
            **STYLES[way],
        )
    ax.axhline(found[("fixed",)].errors.mean, color="0.35", linestyle=":", label="fixed class")
    ax.axhline(
        found[("argmax",)].errors.mean,
        color="black",
        linestyle=(0, (6, 6)),
        label="argmax dense MW, not private",
    )
    if part == "2":
        ax.axhline(
            found[("QP-SVM",)].errors.mean,
            color="black",
            linestyle=(0, (1, 3)),
            label="QP-SVM, not private",
        )
    if part in ("1b", "2"):
        ax.set_xscale("log")
        ticks = [
            value for value in _values(found, part, "tight") if value not in (300, 400)
        ]  # their labels would overlap
        ax.set_xticks(ticks, [f"{value:g}" for value in ticks])
        ax.minorticks_off()
    if part == "3":
        ax.set_xticks(range(len(PHIS)), [f"{phi:g}" for phi in PHIS])


if __name__ == "__main__":
    main()
