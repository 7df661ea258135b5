"""Figures 1 and 2 of Chaudhuri and Monteleoni (2008): logistic regression on simulated records.

Run with ``python -m benchmarks.cm_logistic``; an interrupted run goes on where it stopped. About 5
minutes of one core.
"""

from collections.abc import Sequence
from typing import Any

from benchmarks import published as pages
from benchmarks.folds import Cell, measure
from benchmarks.scores import CrossValidation
from svm_models.datasets import make_separable_sphere, make_unseparable_ball

KINDS = {"separable": make_separable_sphere, "unseparable": make_unseparable_ball}
TITLES = {
    "separable": "uniform, margin 0.03",
    "unseparable": "labels flipped with probability 0.2 within 0.1",
}
LEARNERS = ("logistic, output", "logistic", "non-private logistic")
NAMES = {
    "logistic, output": "output perturbation (“sensitivity method”)",
    "logistic": "objective perturbation (“new method”)",
    "non-private logistic": "not private (“standard”)",
}
LOOKS = {
    "logistic, output": "output",
    "logistic": "objective",
    "non-private logistic": "non-private",
}
REG, EPS, N, FOLDS, DRAWS = 0.01, 0.1, 17_500, 5, 200
DRAWS_OF_CURVES = 50
SIZES = (1000, 2000, 3000, 4000, 5000, 7000, 9000, 11_000, 13_000, 15_000)
N_OF_EPSILONS, EPSILONS = 10_000, (0.02, 0.04, 0.06, 0.08, 0.1, 0.12, 0.14, 0.16, 0.18, 0.2)
Found = dict[Cell, CrossValidation]


def run(kind: str, n: int, epsilons: Sequence[float], draws: int) -> Found:
    """Test errors on n records of one kind."""
    X, y = KINDS[kind](n, random_state=0)
    cells = [_cell(learner, eps) for eps in epsilons for learner in LEARNERS]
    kept, name = pages.store("cm_logistic"), f"{kind} {n}"
    return measure(kept, name, X, y, dict.fromkeys(cells), folds=FOLDS, draws=draws)


def _cell(learner: str, eps: float) -> Cell:
    return Cell(learner, REG, None if learner == "non-private logistic" else eps)


def main() -> None:
    rows = []
    for kind in KINDS:
        found, of_a_fold = run(kind, N, [EPS], DRAWS), run(kind, N // FOLDS, [EPS], DRAWS)
        for learner, (mean, deviation) in zip(LEARNERS, pages.CM_FIGURE_1[kind], strict=True):
            ours = found[_cell(learner, EPS)]
            private = learner != "non-private logistic"
            rows.append(
                f"{kind} | {EPS if private else '∞'} | {NAMES[learner]} | *{mean}* (*{deviation}*)"
                f" | {ours} ({ours.errors.mean(axis=1).std(ddof=1):.4f})"
                f" | {of_a_fold[_cell(learner, EPS)]} | {ours.said('balanced')}"
                f" | {ours.said('auc')} | {'replace one, δ = 0' if private else 'none'}"
                " | norm 1 by construction"
            )
    headers = (
        "data | ε | learner | published (s.d.) | ours ± standard error (s.d.) | ours, N ="
        f" {N // FOLDS:,} | balanced accuracy | area under the curve | relation, δ | preprocessing"
    )
    pages.write_page("cm_logistic", (headers, rows))
    _draw()


def _draw() -> None:
    with pages.picture("cm_logistic", 4, columns=2, size=(11.0, 7.6)) as axes:
        for k, kind in enumerate(KINDS):
            of_size, of_eps = axes[2 * k : 2 * k + 2]
            by_size = {n: run(kind, n, [EPS], DRAWS_OF_CURVES) for n in SIZES}
            by_eps = run(kind, N_OF_EPSILONS, EPSILONS, DRAWS_OF_CURVES)
            _curves(of_size, SIZES, lambda learner, n, found=by_size: found[n][_cell(learner, EPS)])
            _curves(of_eps, EPSILONS, lambda learner, eps, found=by_eps: found[_cell(learner, eps)])
            for learner, (mean, _) in zip(LEARNERS, pages.CM_FIGURE_1[kind], strict=True):
                if learner != "non-private logistic":
                    label = f"{NAMES[learner].partition(' (')[0]}: published, N = {N:,}"
                    style = {**pages.STYLES[LOOKS[learner]], **pages.PUBLISHED_STYLE}
                    of_size.plot(N, float(mean), label=label, **style)
            relation = "δ = 0, replace one record"
            of_size.set(xlabel="number of records N", ylabel="test error (share of records)")
            of_size.set(title=f"{kind} ({TITLES[kind]})\nε = {EPS:g}, {relation}", ylim=(0, 0.52))
            title = f"{kind}\nN = {N_OF_EPSILONS:,}, {relation}"
            of_eps.set(xlabel="privacy parameter ε", title=title, xlim=(0, None), ylim=(0, 0.52))


def _curves(ax: Any, at: Sequence[float], result: Any) -> None:
    for learner in LEARNERS:
        look = {"label": NAMES[learner], "capsize": 2, **pages.STYLES[LOOKS[learner]]}
        pages.curve(ax, at, [result(learner, x) for x in at], **look)


if __name__ == "__main__":
    main()
