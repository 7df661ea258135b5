"""The kernel experiment of Sarwate, Chaudhuri and Monteleoni (2009): nested balls.

Gaussian kernel by random Fourier features.

Run with ``python -m benchmarks.scm_kernel``; an interrupted run goes on where it stopped. About 5
minutes of one core.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import product

import click

from benchmarks.folds import SCORES, Cell, Fold, Scores, validated
from benchmarks.published import SCM, SCM_FIGURE_2_KERNEL, power_of_ten, store, write_page
from benchmarks.scores import CrossValidation
from benchmarks.tables import column_names
from svm_models.datasets import make_nested_balls
from svm_models.kernel import RandomFourierFeatures

RECORDS, HELD_OUT = 240_000, 24_000
PROJECTIONS, DRAWS = 5, 10
EPS, BAYES = 0.1, 0.05


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
    kept = store("scm_kernel")
    scores: dict[float | None, list[Scores]] = {eps: [] for eps in epsilons}
    for projection in range(PROJECTIONS):
        fixed = {**asdict(kernel), "projection": projection, "draws": draws, "scores": SCORES}
        fixed["records"] = [RECORDS, HELD_OUT]
        settings = {eps: {**fixed, "eps": eps} for eps in epsilons}
        missing = [eps for eps in epsilons if settings[eps] not in kept]
        if missing:
            fold = _project(kernel, projection)
            for eps in missing:
                kept.add(settings[eps], fold.scores(kernel.cell(eps), draws))
        for eps in epsilons:
            scores[eps].append(kept[settings[eps]])
        print(f"{kernel}: projection {projection + 1} of {PROJECTIONS}", flush=True)
    return {eps: validated(rows) for eps, rows in scores.items()}


def _project(kernel: Kernel, projection: int) -> Fold:
    """Training and held-out records as features of one random projection."""
    X, y = make_nested_balls(RECORDS, random_state=0)
    made = RandomFourierFeatures(kernel.gamma, kernel.frequencies, random_state=projection)
    lifted = made.fit(X).transform
    X_test, X_train, y_test, y_train = X[:HELD_OUT], X[HELD_OUT:], y[:HELD_OUT], y[HELD_OUT:]
    return Fold(lifted(X_train), y_train, lifted(X_test), y_test, projection)


@click.command()
def main() -> None:
    """Measure, write the page, and draw the picture."""
    found = {kernel: measure_kernel(kernel, (EPS, None)) for kernel in KERNELS}
    rows = []
    for (learner, eps), kernel in product((("objective", EPS), ("non-private", None)), KERNELS):
        without = f"γ = {kernel.gamma:g}, D = {kernel.frequencies}, Λ = 1e-5"
        published = f"*{SCM_FIGURE_2_KERNEL[learner]}*" if kernel.gamma == 0.5 else ""
        scores = [found[kernel][eps].said(score) for score in ("errors", "balanced", "auc")]
        relation = "replace one, δ = 0" if eps else "none"
        name = str(kernel) if eps else without
        rows.append((eps or "∞", name, published, *scores, relation, "norm 1 by construction"))
    exact = f"*{SCM_FIGURE_2_KERNEL['non-private, hinge loss, exact kernel']}*"
    rows.append(("∞", "exact kernel, hinge loss", exact, "", "", "", "none", ""))
    headers = column_names(
        "ε | kernel, Λ | published (γ = 0.5) | ours ± standard error | balanced accuracy | area "
        "under the curve | relation, δ | preprocessing"
    )
    write_page("scm_kernel", "Nested balls with a Gaussian kernel", [_caption(), (headers, rows)])


def _caption() -> str:
    return (
        f"Test error on {RECORDS:,} simulated records in five dimensions, {HELD_OUT:,} of them held"
        f" out; {PROJECTIONS} random projections × {DRAWS} draws of the noise: mean ± standard"
        " error over projections (each averaged over its draws). The labels of a tenth of the"
        f" records are coin flips, so no classifier errs on less than {BAYES:g} on average."
        " Published figures, in italics, are from "
        + SCM
        + " (there: 5 projections × 50 draws, D not stated). Pure ε-differential privacy;"
        " neighbours: one record replaced.\n\nHuber support vector machine by objective"
        " perturbation on features (cos, sin)/√D of D random frequencies, whose norm is exactly"
        " 1, as the guarantee needs (those of the source have norms up to √2). γ, D and Λ were"
        " chosen by trials on other simulated records (24,000 at ε = 1, which has about the same"
        " noise per record); the choice is not paid for. γ = 0.5 is the value of the source,"
        " tuned there without privacy; it needs larger weights to bend the boundary into a sphere"
        " of radius 0.15, and large weights are what noise and regularisation stand against. A"
        " narrower kernel costs the private learner less, up to γ = 10 or so: in the trials, γ ="
        " 20 and 30 did worse again, and more frequencies did not help (γ = 10, D = 100: the same"
        " error). The source does not say whether its 0.1141 includes private tuning; ours with"
        " private tuning are in the learning curve of [scm_curves](scm_curves.md)."
    )


if __name__ == "__main__":
    main()
