"""Table 1 of van der Reijden (2019): errors without privacy.

Also how many vertices the dense multiplicative weights ever pick.

Run with ``python -m benchmarks.thesis_table1``; an interrupted run goes on where it stopped. About
four minutes of one core.
"""

import math
from functools import partial

import numpy as np
from sklearn.dummy import DummyClassifier

from benchmarks.published import write_page
from benchmarks.thesis import DataSet, Fits, Model, cpu_seconds, data_set, measure
from svm_models import DMWSVC, LPSVC, HuberSVC

PUBLISHED = {
    "adult": {"fixed": 0.248, "QP-SVM": 0.173, "argmax DMW": 0.243},
    "kdd": {"fixed": 0.195, "QP-SVM": 0.025, "argmax DMW": 0.063},
}
TOLERANCE = {"fixed": 0.006, "QP-SVM": 0.007, "argmax DMW": 0.007}
RELATION = "none (not private), thesis"
SETTINGS = {
    "fixed": "largest class of the training records",
    "QP-SVM": "Huber SVM, reg = {reg:g}",
    "argmax DMW": "published constants, s = 0.75 n, alpha = 200",
    "argmax DMW, tight": "tight constants, s = 0.75 n, 2,000 rounds",
    "LP-SVM": "exact soft margin, C = 1",
}


def models(data: DataSet) -> dict[str, Model]:
    """The rows of the table."""
    dmw = partial(DMWSVC, reg=data.reg, fit_intercept=False)
    return {
        "fixed": lambda _n: DummyClassifier(),
        "QP-SVM": lambda _n: HuberSVC(reg=data.reg),
        "argmax DMW": lambda n: dmw(math.inf, 1 / n, 0.75, 200, method="dmw-published"),
        "argmax DMW, tight": lambda n: dmw(math.inf, 1 / n, 0.75),
        "LP-SVM": lambda _n: LPSVC(C=1.0),
    }


def main() -> None:
    rows, vertices, seconds = [], [], 0.0
    for name, published in PUBLISHED.items():
        data = data_set(name)
        found = measure(data, models(data))
        seconds += cpu_seconds(found)
        for model, fits in found.items():
            error = published.get(model)
            target = within = "–"
            if error is not None:
                target = f"{error:.3f} ± {TOLERANCE[model]:.3f}"
                within = "yes" if abs(fits.errors.mean - error) <= TOLERANCE[model] else "NO"
            row = [data.title, model, SETTINGS[model].format(reg=data.reg), target, fits.errors]
            scores = (fits.errors.said(score) for score in ("balanced", "auc"))
            rows.append([*row, *scores, within, RELATION])
            if "DMW" in model:
                vertices.append([data.title, model, *_vertices(data, fits)])
    said = f"CPU time of the fits: {seconds:.0f} s."
    write_page("thesis_table1", (_OF_ERRORS, rows), (_OF_VERTICES, vertices), said)


_OF_ERRORS = (
    "data | model | settings | published | ours ± standard error | balanced accuracy | area under"
    " the curve | within | relation, delta, preprocessing"
)
_OF_VERTICES = (
    "data | model | rounds | radius | all folds | most in one fold | share of the first | vertices"
)


def _vertices(data: DataSet, fits: Fits) -> list[str]:
    p = len(data.columns)
    times: dict[int, int] = {}
    for selected, counts in zip(fits.each("selected"), fits.each("times"), strict=True):
        for column, count in zip(selected, counts, strict=True):
            times[column] = times.get(column, 0) + count
    order = sorted(times, key=lambda column: -times[column])
    names = ", ".join(f"{'+-'[column // p]}{data.columns[column % p]}" for column in order[:4])
    rounds, radii = fits.each("rounds"), fits.each("radius")
    span = f"{min(rounds)}–{max(rounds)}", f"{np.mean(radii):.1f}"
    counts = str(fits.distinct), str(max(fits.each("distinct")))
    share = f"{times[order[0]] / sum(times.values()):.2%}"
    return [*span, *counts, share, names + (", …" if len(order) > 4 else "")]


if __name__ == "__main__":
    main()
