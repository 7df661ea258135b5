"""Figures 2 to 4 of Sarwate, Chaudhuri and Monteleoni (2009): Adult and KDDCup99.

Regularisation times eps; one logarithm against two.

Run with ``python -m benchmarks.scm_tables``; an interrupted run goes on where it stopped. About 30
minutes of one core.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any

from benchmarks import published as pages
from benchmarks.folds import Cell, measure
from benchmarks.published import SCM_FIGURE_2, power_of_ten
from benchmarks.scores import CrossValidation
from benchmarks.tables import said
from svm_models.datasets import fetch_adult, fetch_kddcup99

PRIVATE = ("objective", "output", "logistic", "two logs")
NAMES = {
    "non-private": "Huber SVM, not private",
    "objective": "objective perturbation, SVM",
    "output": "output perturbation, SVM",
    "logistic": "objective perturbation, logistic",
    "two logs": "objective perturbation, SVM, two logs",
}
FOLDS, DRAWS = 10, 10
Found = dict[Cell, CrossValidation]


@dataclass(frozen=True)
class DataSet:
    """One of the two data sets, and what the source printed for it."""

    name: str
    title: str
    fetch: Callable[..., Any]
    regs: tuple[float, ...]
    epsilons: tuple[float, ...]
    figure_3: dict[tuple[str, float | None], tuple[float, ...]]
    figure_2: dict[float, int]
    pictured_eps: float
    regs_aside: tuple[float, ...]

    def measure(self, *, progress: bool = True) -> Found:
        """Test errors of every learner at every eps."""
        X, y = self.fetch(preprocessing="unit", return_X_y=True)
        cells = [Cell("non-private", reg) for reg in self.regs]
        for learner in PRIVATE:
            regs = self.regs if learner in ("objective", "output") else self.regs_aside
            cells += [Cell(learner, reg, eps) for reg, eps in product(regs, self.epsilons)]
        how = {"folds": FOLDS, "draws": DRAWS, "progress": progress}
        return measure(pages.store("scm_tables"), self.name, X, y, cells, **how)

    def along_reg(
        self, found: Found, learner: str, eps: float | None
    ) -> dict[float, CrossValidation]:
        """Regularisation to test error."""
        cells = {reg: Cell(learner, reg, eps) for reg in self.regs}
        return {reg: found[cell] for reg, cell in cells.items() if cell in found}


_REGS = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7)
ADULT = DataSet(
    *("adult", "Adult", fetch_adult, _REGS, (0.2, 0.15, 0.1, 0.05)),
    *(pages.SCM_FIGURE_3_ADULT, {0.2: 0, 0.1: 1}, 0.1, _REGS),
)
KDD = DataSet(
    *("kddcup99 60000", "KDDCup99", partial(fetch_kddcup99, 60_000, 0), (1e-1, *_REGS)),
    *((0.1, 0.05, 0.01), pages.SCM_FIGURE_3_KDD, {0.1: 2, 0.05: 3}, 0.05, _REGS),
)


def main() -> None:
    found = {data_set.name: data_set.measure() for data_set in (ADULT, KDD)}
    by_reg = (table for of in (ADULT, KDD) for table in _by_reg(of, found[of.name]))
    pages.write_page("scm_tables", _summary(found), *by_reg, _one_log_against_two(found))
    _draw(found)


def _summary(found: dict[str, Found]) -> Any:
    rows = []
    for data_set in (ADULT, KDD):
        for (eps, column), learner in product(data_set.figure_2.items(), SCM_FIGURE_2):
            private = learner != "non-private"
            errors = data_set.along_reg(found[data_set.name], learner, eps if private else None)
            reg = pages.best(errors)
            rows.append(
                f"{data_set.title} | {eps if private else '∞'} | {NAMES[learner]}"
                f" | *{SCM_FIGURE_2[learner][column]:.4f}* | {errors[reg]}"
                f" | {errors[reg].said('balanced')} | {errors[reg].said('auc')}"
                f" | {power_of_ten(reg)} | {'replace one, δ = 0' if private else 'none'} | unit"
            )
    headers = (
        "data | ε | learner | published | ours ± standard error | balanced accuracy | area under "
        "the curve | our best Λ | relation, δ | preprocessing"
    )
    return headers, list(dict.fromkeys(rows))


def _by_reg(data_set: DataSet, found: Found) -> list[Any]:
    tables: list[Any] = []
    for learner in ("non-private", "objective", "output", "logistic"):
        columns: list[tuple[str, list[str]]] = []
        for eps in (None,) if learner == "non-private" else data_set.epsilons:
            errors = data_set.along_reg(found, learner, eps)
            at = "" if eps is None else f"ε = {eps:g}, "
            if (learner, eps) in data_set.figure_3:
                printed = data_set.figure_3[learner, eps]
                stars = ["***" if v == min(printed) else "*" for v in printed]
                texts = [f"{s}{v:.4f}{s}" for s, v in zip(stars, printed, strict=True)]
                columns.append((f"{at}published", texts))
            bold = {reg: "**" * (reg == pages.best(errors)) for reg in errors}
            texts = [f"{bold[r]}{errors[r]}{bold[r]}" if r in errors else "" for r in data_set.regs]
            columns.append((f"{at}ours", texts))
        headers, values = zip(*columns, strict=True)
        rows = list(zip(map(power_of_ten, data_set.regs), *values, strict=True))
        tables.append((("Λ", *headers), rows))
    return tables


def _one_log_against_two(found: dict[str, Found]) -> Any:
    rows = []
    for data_set in (ADULT, KDD):
        last = data_set.regs[-1]
        for eps in data_set.epsilons:
            one, two = (
                data_set.along_reg(found[data_set.name], learner, eps)
                for learner in ("objective", "two logs")
            )
            least = pages.best(one), pages.best(two), "best"
            for ours, theirs, label in (least, (last, last, "raised")):
                difference = one[ours].errors.mean(axis=1) - two[theirs].errors.mean(axis=1)
                cells = [
                    f"{errors[reg]}" + f" ({power_of_ten(reg)})" * (label == "best")
                    for errors, reg in ((two, theirs), (one, ours))
                ]
                paired = said(difference, "{:+.4f} ± {:.4f}")
                rows.append((data_set.title, f"{eps:g}", label, *cells, paired))
    names = "data | ε | Λ | two logs, published rule | one log (ours) | difference, paired"
    return names, rows


def _draw(found: dict[str, Found]) -> None:
    with pages.picture("scm_tables", 2, size=(11.0, 4.8)) as axes:
        for ax, data_set in zip(axes, (ADULT, KDD), strict=True):
            eps = data_set.pictured_eps
            for learner in ("non-private", *PRIVATE):
                at, look = None if learner == "non-private" else eps, pages.STYLES[learner]
                errors = data_set.along_reg(found[data_set.name], learner, at)
                pages.curve(ax, errors, errors.values(), label=NAMES[learner], capsize=2, **look)
                if learner != "non-private" and (learner, at) in data_set.figure_3:
                    claim = " (not ε-private)" if learner == "objective" else ""
                    look = look | pages.PUBLISHED_STYLE
                    printed, label = data_set.figure_3[learner, at], f"{NAMES[learner]}: published"
                    ax.plot(data_set.regs, printed, label=label + claim, **look)
            ax.set(xscale="log", xlabel="regularisation Λ", ylim=(0, 0.55))
            ax.set(title=f"{data_set.title}, ε = {eps:g}, δ = 0, replace one record")
            ax.set_ylabel("test error (share of records)")
            ax.invert_xaxis()


if __name__ == "__main__":
    main()
