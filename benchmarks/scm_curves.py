"""Figure 1 of Sarwate, Chaudhuri and Monteleoni (2009): error against eps, and, tuned, against n.

Run with ``python -m benchmarks.scm_curves``, after ``benchmarks.scm_tables``, whose measurements it
uses (and makes, if they are missing); an interrupted run goes on where it stopped. About 15 minutes
of one core by itself.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import cache, partial
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
from tqdm import tqdm

from benchmarks import published
from benchmarks.folds import SCORES, Cell, Fold, Scores, validated
from benchmarks.published import SCM_FIGURE_2, SCM_FIGURE_2_KERNEL, best, power_of_ten
from benchmarks.scm_tables import ADULT, KDD, NAMES, DataSet, Found
from benchmarks.scores import CrossValidation, held_out_scores
from benchmarks.tables import Table
from svm_models.around_fits import RandomFourierFeatures
from svm_models.classifiers.exact import HuberSVC
from svm_models.classifiers.perturbed import (
    ObjectivePerturbationLogisticRegression,
    ObjectivePerturbationSVC,
    OutputPerturbationSVC,
)
from svm_models.datasets import fetch_kddcup99, make_nested_balls
from svm_models.selection import PrivateModelSelector

Records = tuple[npt.NDArray[np.float64], npt.NDArray[Any]]

CLASSIFIERS = {
    "objective": ObjectivePerturbationSVC,
    "output": OutputPerturbationSVC,
    "logistic": ObjectivePerturbationLogisticRegression,
}
GRID = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7)
GRID_WITHOUT_PRIVACY = (1e-4, 1e-5, 1e-6, 1e-7)
REPEATS, HELD_OUT = 5, 0.1
#: Nested balls: records, those held out, and the error that no classifier is below on average.
RECORDS, TESTED, BAYES = 240_000, 24_000, 0.05
PROJECTIONS, EPS, DRAWS, DRAWS_OF_OTHERS = 5, 0.1, 10, 3
SHORT = {
    "objective": "SVM, objective",
    "output": "SVM, output",
    "logistic": "logistic, objective",
    "non-private": "SVM, not private",
}


@dataclass(frozen=True)
class LearningCurve:
    """Test error against the number of training records, the regularisation tuned on them."""

    name: str
    title: str
    records: Callable[[int], Records]
    learners: tuple[str, ...]
    epsilons: tuple[float, ...]
    sizes: tuple[int, ...]

    def measure(self) -> dict[tuple[str, float | None, int], CrossValidation]:
        """(learner, eps, size) to test error, over repeats."""
        kept = published.store("scm_curves")
        private = product(self.sizes, self.epsilons, self.learners)
        keys = [(learner, eps, n) for n, eps, learner in private]
        keys += [("non-private", None, n) for n in self.sizes]
        scores: dict[Any, list[Scores]] = {key: [] for key in keys}
        for repeat in range(REPEATS):
            records = None
            told = f"{self.name}, repeat {repeat + 1} of {REPEATS}"
            for learner, eps, n in tqdm(keys, desc=told, unit="fit"):
                settings = {"data": self.name, "key": [learner, eps, n], "repeat": repeat}
                settings["scores"] = SCORES
                if settings not in kept:
                    X, y = records = records or self.records(repeat)
                    order = np.random.default_rng(repeat).permutation(len(y))
                    test, train = np.split(order, [int(HELD_OUT * len(y))])
                    trained = _trained(learner, eps, X[train[:n]], y[train[:n]], repeat)
                    found = held_out_scores(trained, X[test], y[test])
                    kept.add(settings, [found[score] for score in SCORES])
                scores[learner, eps, n].append([kept[settings]])
        return {key: validated(rows) for key, rows in scores.items()}


def _trained(
    learner: str, eps: float | None, X: npt.NDArray[np.float64], y: npt.NDArray[Any], seed: int
) -> Any:
    """A classifier tuned within the records: privately if there is an eps."""
    if eps is not None:
        perturbed = partial(CLASSIFIERS[learner], eps=eps, fit_intercept=False)
        candidates = [perturbed(reg=reg) for reg in GRID]
        return PrivateModelSelector(candidates, eps, classes=(-1, 1), random_state=seed).fit(X, y)
    validation = len(y) // (len(GRID) + 1)
    tried = [HuberSVC(reg).fit(X[validation:], y[validation:]) for reg in GRID_WITHOUT_PRIVACY]
    return max(tried, key=lambda svm: svm.score(X[:validation], y[:validation]))


@cache
def _fetched() -> Records:
    return fetch_kddcup99(preprocessing="unit", return_X_y=True)


@dataclass(frozen=True)
class Kernel:
    """exp(-gamma ||x - x'||^2) by D = frequencies random frequencies."""

    gamma: float
    frequencies: int
    reg: float
    reg_without_privacy: float = 1e-5

    def __str__(self) -> str:
        return f"γ = {self.gamma:g}, D = {self.frequencies}, Λ = {power_of_ten(self.reg)}"

    def cell(self, eps: float | None) -> Cell:
        """The support vector machine on the features."""
        if eps is None:
            return Cell("non-private", self.reg_without_privacy)
        return Cell("objective", self.reg, eps)


CHOSEN = Kernel(10.0, 50, 1e-3)
KERNELS = (CHOSEN, Kernel(5.0, 50, 3e-4), Kernel(0.5, 50, 1e-4))


def measure_kernel(
    kernel: Kernel, epsilons: Sequence[float | None], *, draws: int = DRAWS
) -> dict[float | None, CrossValidation]:
    """Scores for each eps (None: without privacy): projections times draws. **Not private**."""
    kept = published.store("scm_kernel")
    scores: dict[float | None, list[Scores]] = {eps: [] for eps in epsilons}
    for projection in range(PROJECTIONS):
        fixed = {**asdict(kernel), "projection": projection, "draws": draws, "scores": SCORES}
        fixed["records"] = [RECORDS, TESTED]
        fold = None
        for eps in epsilons:
            settings = {**fixed, "eps": eps}
            if settings not in kept:
                fold = fold or _project(kernel, projection)
                kept.add(settings, fold.scores(kernel.cell(eps), draws))
            scores[eps].append(kept[settings])
        print(f"{kernel}: projection {projection + 1} of {PROJECTIONS}", flush=True)
    return {eps: validated(rows) for eps, rows in scores.items()}


def _project(kernel: Kernel, projection: int) -> Fold:
    """Training and held-out records as features of one random projection."""
    X, y = make_nested_balls(RECORDS, random_state=0)
    made = RandomFourierFeatures(kernel.gamma, kernel.frequencies, random_state=projection)
    lifted = made.fit(X).transform
    X_test, X_train, y_test, y_train = X[:TESTED], X[TESTED:], y[:TESTED], y[TESTED:]
    return Fold(lifted(X_train), y_train, lifted(X_test), y_test, projection)


def _balls(repeat: int) -> Records:
    X, y = make_nested_balls(RECORDS, random_state=0)
    features = RandomFourierFeatures(CHOSEN.gamma, CHOSEN.frequencies, random_state=repeat)
    return features.fit_transform(X), y


_SIZES = (10_000, 25_000, 60_000, 120_000)
CONNECTIONS = LearningCurve(
    *("kddcup99", "KDDCup99", lambda _repeat: _fetched(), ("objective", "output", "logistic")),
    *((0.05, 0.005), (*_SIZES, 240_000, 444_618)),
)
BALLS = LearningCurve(
    *("nested balls", "nested balls", _balls, ("objective",), (0.1,), (*_SIZES, 216_000)),
)
LEARNED = (("d", CONNECTIONS, 0.05), ("e", CONNECTIONS, 0.005), ("f", BALLS, 0.1))


def main() -> None:
    epsilons = (0.02, 0.05, 0.1, 0.2, 0.5)
    linear = {data_set.name: data_set.measure(progress=False) for data_set in (ADULT, KDD)}
    others = tuple(eps for eps in epsilons if eps != EPS)
    kernel = measure_kernel(CHOSEN, (EPS, None))
    kernel |= measure_kernel(CHOSEN, others, draws=DRAWS_OF_OTHERS)
    of_kernels = {of: measure_kernel(of, (EPS, None)) for of in KERNELS}
    learned = {of.name: of.measure() for of in (CONNECTIONS, BALLS)}
    parts: list[Table] = []
    for data_set in (ADULT, KDD):
        errors = linear[data_set.name]
        parts += [_by_eps(data_set, errors), _rankings_by_eps(data_set, errors)]
    scores = ("errors", "balanced", "auc")
    rows = [
        (f"{eps or math.inf:g}".replace("inf", "∞"), *_published_kernel(eps), *map(of.said, scores))
        for eps, of in ((eps, kernel[eps]) for eps in (*epsilons, None))
    ]
    names = "ε | published | ours ± standard error | balanced accuracy | area under the curve"
    parts += [(names, rows), _by_kernel(of_kernels)]
    for _, of, eps in LEARNED:
        columns = [(learner, eps) for learner in of.learners] + [("non-private", None)]
        headers = ("training records", *(NAMES[learner] for learner, _ in columns))
        found = learned[of.name]
        parts += [
            (headers, [[f"{n:,}", *(say(found[*at, n]) for at in columns)] for n in of.sizes])
            for say in (str, published.rankings)
        ]
    published.write_page("scm_curves", *parts)
    _draw(linear, kernel, learned)


def _by_kernel(found: dict[Kernel, dict[float | None, CrossValidation]]) -> Table:
    rows = []
    for (eps, of), kernel in product(((EPS, "objective"), (None, "non-private")), KERNELS):
        name = str(kernel) if eps else f"γ = {kernel.gamma:g}, D = {kernel.frequencies}, Λ = 1e-5"
        printed = f"*{SCM_FIGURE_2_KERNEL[of]}*" if kernel.gamma == 0.5 else ""
        scores = (found[kernel][eps].said(score) for score in ("errors", "balanced", "auc"))
        rows.append((f"{eps or math.inf:g}", name, printed, *scores))
    names = "ε | kernel, Λ | published (γ = 0.5) | ours ± standard error | balanced accuracy"
    return f"{names} | area under the curve", rows


def _by_eps(data_set: DataSet, found: Found) -> Any:
    """Published errors, and ours with the regularisations of least error."""

    def cells(learner: str, eps: float | None, errors: dict[float, CrossValidation]) -> list[str]:
        ours = f"{errors[best(errors)]} ({power_of_ten(best(errors))})"
        return [_published(data_set, learner, eps), ours]

    headers = [text for name in SHORT.values() for text in (f"{name}: published", "ours (Λ)")]
    return ["ε", *headers], _rows_by_eps(data_set, found, cells, ["", ""])


def _rankings_by_eps(data_set: DataSet, found: Found) -> Any:
    """Balanced accuracy and area under the curve, at the regularisations of least error."""

    def cells(_learner: str, _eps: Any, errors: dict[float, CrossValidation]) -> list[str]:
        return [published.rankings(errors[best(errors)])]

    return ["ε", *SHORT.values()], _rows_by_eps(data_set, found, cells, [""])


def _rows_by_eps(data_set: DataSet, found: Found, cells: Any, empty: list[str]) -> list[list[str]]:
    rows = []
    for eps in (*sorted(data_set.epsilons), None):
        row = ["∞" if eps is None else f"{eps:g}"]
        for learner in SHORT:
            fits = (eps is None) == (learner == "non-private")
            errors = data_set.along_reg(found, learner, eps) if fits else {}
            row += cells(learner, eps, errors) if fits else empty
        rows.append(row)
    return rows


def _published(data_set: DataSet, learner: str, eps: float | None) -> str:
    columns = [at for of, at in data_set.figure_2.items() if eps in (None, of)]
    if columns:
        return f"*{SCM_FIGURE_2[learner][columns[0]]:.4f}*"
    printed = data_set.figure_3.get((learner, eps))
    return f"*{min(printed):.4f}*" if printed else ""


def _published_kernel(eps: float | None) -> tuple[str]:
    known = {0.1: "objective", None: "non-private"}
    return (f"*{SCM_FIGURE_2_KERNEL[known[eps]]}* (γ = 0.5)" if eps in known else "",)


def _draw(
    linear: dict[str, Found], kernel: dict[float | None, CrossValidation], learned: dict[str, Any]
) -> None:
    with published.picture("scm_curves", 6, size=(13.0, 7.8)) as axes:
        for ax, letter, data_set in zip(axes, "ab", (ADULT, KDD), strict=False):
            _draw_by_eps(ax, data_set, linear[data_set.name])
            ax.set(title=f"({letter}) {data_set.title}, best Λ")
        at, ax = sorted(eps for eps in kernel if eps is not None), axes[2]
        _line(ax, "objective", at, [kernel[eps] for eps in at])
        hollow = {**published.STYLES["objective"], **published.PUBLISHED_STYLE}
        ax.plot(0.1, float(SCM_FIGURE_2_KERNEL["objective"]), **hollow)
        ax.axhline(kernel[None].mean, color="black", linestyle="--")
        ax.set_title("(c) nested balls, Gaussian kernel")
        published.over_eps(ax, at)
        for ax, (letter, of, eps) in zip(axes[3:], LEARNED, strict=True):
            for learner in (*of.learners, "non-private"):
                paid = None if learner == "non-private" else eps
                _line(ax, learner, of.sizes, [learned[of.name][learner, paid, n] for n in of.sizes])
            title = f"({letter}) {of.title}, private Λ, ε = {eps:g}"
            ax.set(xlabel="training records", title=title, xscale="log")
        for ax in axes[2::3]:
            least = "(c), (f): no classifier does better"
            ax.axhline(BAYES, color="0.5", linestyle=":", label=least)
        for ax in axes:
            ax.set(ylim=(0, None))
        for ax in axes[::3]:
            ax.set_ylabel("test error (share of records)")


def _draw_by_eps(ax: Any, data_set: DataSet, found: Found) -> None:
    at = sorted(data_set.epsilons)
    for learner in ("objective", "output", "logistic"):
        grids = [data_set.along_reg(found, learner, eps) for eps in at]
        _line(ax, learner, at, [errors[best(errors)] for errors in grids])
        texts = {eps: _published(data_set, learner, eps).strip("*") for eps in at}
        printed = {eps: float(text) for eps, text in texts.items() if text}
        style = {**published.STYLES[learner], **published.PUBLISHED_STYLE}
        label = f"{SHORT[learner]}: published"
        ax.plot(list(printed), list(printed.values()), label=label, **style)
    errors = data_set.along_reg(found, "non-private", None)
    ax.axhline(errors[best(errors)].mean, label=SHORT["non-private"], color="black", linestyle="--")
    published.over_eps(ax, at)


def _line(ax: Any, learner: str, at: Sequence[float], results: Sequence[CrossValidation]) -> None:
    published.curve(ax, at, results, label=SHORT[learner], capsize=2, **published.STYLES[learner])


if __name__ == "__main__":
    main()
