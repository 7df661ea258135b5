"""What an audit measures of published claims on one pair of neighbours.

Beside them stand the corrected mechanisms.

Run with ``python -m benchmarks.svm_audits``; about three minutes. An audit finds faults; passing
one proves nothing.
"""

import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import matplotlib.pyplot as plt
import numpy as np

from benchmarks.published import save_picture, write_page
from privlp import NotPrivateWarning, audit
from privlp.privacy import Ledger, Randomness
from svm_models import DualPerturbationSVC
from svm_models.account import Account
from svm_models.classifiers.perturbation import perturb_objective, perturb_output
from svm_models.classifiers.risk import RegularizedRisk, huber

EPS = 1.0
VERDICTS = {True: "no fault found", False: "**refuted**"}
Mechanism = Callable[[Any, np.random.Generator], np.ndarray]
#: One record in one dimension: in the curved part of the Huber hinge, or without any influence.
CURVED, WITHOUT_INFLUENCE = np.array([[1.0]]), np.array([[0.0]])
#: One record replaced by its opposite: the gradient of the summed losses moves by 2.
PLUS, MINUS = np.array([[1.0]]), np.array([[-1.0]])
#: The third record is far from the margin, or a support vector off the axis.
FAR, OFF_AXIS = (np.array([[0.5, 0.0], [-0.5, 0.0], third]) for third in ([1.0, 0.0], [0.1, 0.9]))


def corrected(release: Callable[..., Any], reg: float) -> Mechanism:
    """A mechanism of the package."""
    return lambda M, rng: release(
        RegularizedRisk.in_memory(M, huber(), reg, 1.0), Account(Ledger(EPS, 0.0), Randomness(rng))
    )


def published(reg: float, *, scale: float) -> Mechanism:
    """Objective perturbation with noise of this scale and no term for the change of variables."""

    def mechanism(M: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        linear = np.array([rng.choice([-1.0, 1.0]) * rng.gamma(1, scale)]) / len(M)
        return replace(RegularizedRisk.in_memory(M, huber(), reg, 1.0), linear=linear).minimise()

    return mechanism


def curved_part(mechanism: Mechanism) -> Callable[[Any, np.random.Generator], bool]:
    """Whether the released weight lies where the hinge of the record x = 1 is curved."""
    return lambda M, rng: bool(0.5 <= mechanism(M, rng)[0] <= 1.5)


def dual(M: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Dual-variable perturbation."""
    with warnings.catch_warnings(action="ignore", category=NotPrivateWarning):
        return abs(DualPerturbationSVC(EPS, random_state=rng).fit(M, [1, -1, 1]).coef_[0])


_OPPOSITE = (PLUS, MINUS, "x = 1 against x = −1, n = 1, Λ = 1", 20_000)
_CURVED = (CURVED, WITHOUT_INFLUENCE, "x = 1 against x = 0, n = 1, Λ = 0.01", 20_000)
_WITHOUT, _HALF = curved_part(published(0.01, scale=2 / EPS)), published(1.0, scale=1 / EPS)
_OFF = "(1, 0) against (0.1, 0.9), beside (±0.5, 0)"
#: Mechanism, two neighbours and what they are, and runs.
CASES: dict[str, tuple[Callable[..., Any], Any, Any, str, int]] = {
    "output perturbation": (corrected(perturb_output, 1.0), *_OPPOSITE),
    "objective perturbation": (curved_part(corrected(perturb_objective, 0.01)), *_CURVED),
    "objective perturbation, opposite records": (corrected(perturb_objective, 1.0), *_OPPOSITE),
    "no term for the change of variables (Chaudhuri and Monteleoni 2008)": (_WITHOUT, *_CURVED),
    "nor the factor 2 (Sarwate, Chaudhuri and Monteleoni 2009)": (_HALF, *_OPPOSITE),
    "DualPerturbationSVC (unproven)": (dual, FAR, OFF_AXIS, _OFF, 1_000),
}


def main() -> None:
    found = {
        name: audit(mechanism, one, two, EPS, 0.0, runs=runs, rng=0)
        for name, (mechanism, one, two, _, runs) in CASES.items()
    }
    rows = []
    for name, (*_, pair, runs) in CASES.items():
        told = f"{found[name].eps_lower:.2f}", VERDICTS[found[name].passed]
        rows.append([name, f"{EPS:g}", *told, pair, f"{runs:,}"])
    headers = ("mechanism", "claimed ε", "audited ε ≥", "verdict", "pair", "runs on each")
    write_page("svm_audits", (headers, rows))
    figure, axes = plt.subplots(figsize=(9, 3), layout="constrained")
    colors = ["#0072b2" if result.passed else "#d55e00" for result in found.values()]
    axes.barh(list(found), [result.eps_lower for result in found.values()], color=colors)
    axes.axvline(EPS, color="black", linestyle="--", label="claimed ε")
    axes.set(xlabel="audited lower bound on ε")
    axes.invert_yaxis()
    axes.legend(frameon=False)
    save_picture("svm_audits", figure)


if __name__ == "__main__":
    main()
