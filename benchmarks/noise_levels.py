"""How much noise each mechanism needs, by the code that is imported; and what it was before.

Prints its numbers as JSON. It runs with older versions too, from a checkout of theirs::

    git worktree add before b424a4d
    PYTHONPATH=before python benchmarks/noise_levels.py
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from privlp import Budget, BudgetExceededError, ConstraintPrivate, privacy
from privlp.privacy import (
    ExponentialMechanism,
    GaussianMechanism,
    LaplaceMechanism,
    Ledger,
    Randomness,
)
from svm_models import (
    ObjectivePerturbationLogisticRegression,
    ObjectivePerturbationSVC,
    perturbation,
)
from svm_models.losses import logistic
from svm_models.minimise import RegularizedRisk

#: (eps, delta); the last is a tiny one.
BUDGETS = (
    (0.1, 1e-6),
    (1.0, 1e-6),
    (4.0, 1e-6),
    (0.1, 1e-9),
    (1.0, 1e-9),
    (4.0, 1e-9),
    (1e-6, 1e-9),
)
ROUNDS = 1000
RECORDS, REG = 10_000, 1e-3
SHIFTED = (12, 100, 1000)
WEIGHTED = (10, 100, 1000)
#: Calls of this much that a shared budget of so much is asked for.
CALL, SHARED = (0.1, 1e-7), (1.0, 1e-6)

#: What is printed for each budget, in the words of the page.
NAMES = {
    "gaussian": "Gaussian noise, one release: σ",
    "gaussian, rounds": f"Gaussian noise, {ROUNDS:,} releases: σ",
    "exponential, rounds": f"exponential mechanism, {ROUNDS:,} selections: 1/ε'",
    "laplace": "Laplace noise, one release: scale",
    "laplace, rounds": f"Laplace noise, {ROUNDS:,} releases: scale",
    "objective, huber": "Gaussian objective perturbation, Huber: σ",
    "objective, logistic": "Gaussian objective perturbation, logistic: σ",
    "objective, pure": "objective perturbation at δ = 0, logistic: scale",
    "objective, pure, reg": "the same: regularisation used",
    **{f"shifted, {m}": f"never violated, {m:,} numbers: width" for m in SHIFTED},
}

#: The commit that the numbers before come from, by the commands above. None: no amount of noise was
#: enough.
BEFORE_COMMIT = "b424a4d"
BEFORE: dict[str, Any] = {
    "noise": {
        "gaussian": [39.467619, 4.5310736, 1.2678613, 53.148257, 5.7791239, 1.5568588, 714142840.0],
        "gaussian, rounds": [
            1248.0757,
            143.28513,
            40.093294,
            1680.6955,
            182.75194,
            49.232198,
            22583180000.0,
        ],
        "exponential, rounds": [
            624.03785,
            71.642563,
            20.046647,
            840.34773,
            91.375971,
            24.616099,
            1003651300.0,
        ],
        "laplace": [9.9998001, 0.999998, 0.24999988, 10.0, 1.0, 0.25, 1000000.0],
        "laplace, rounds": [
            1248.0757,
            142.85556,
            39.836447,
            1680.6955,
            182.03527,
            48.895887,
            1000000000.0,
        ],
        "objective, huber": [90.4466, 10.2231, 2.7238, 118.411, 12.7979, 3.29931, None],
        "objective, logistic": [90.4466, 9.84957, 2.67942, 118.411, 12.3219, 3.2436, None],
        "objective, pure": [21.5633, 2.07188, 0.50822, 21.5633, 2.07188, 0.50822, 2156330.0],
        "objective, pure, reg": [0.003987513, 0.001, 0.001, 0.003987513, 0.001, 0.001, 399.99999],
        "shifted, 12": [1304.4257, 163.96427, 51.311634, 2133.354, 246.85732, 72.0349, 74599279.0],
        "shifted, 100": [
            10870.214,
            1366.3689,
            427.59695,
            17777.95,
            2057.1444,
            600.29083,
            621660660.0,
        ],
        "shifted, 1000": [
            108702.14,
            13663.689,
            4275.9695,
            177779.5,
            20571.444,
            6002.9083,
            6216606600.0,
        ],
    },
    "weighted": [1.0932823, 1.1463713, 1.1538379],
    "calls": {"Gaussian release": 96, "dmw": 96},
}


def noise(eps: float, delta: float) -> dict[str, float | None]:
    """Noise of each mechanism that spends (eps, delta) on a sensitivity of 1.

    None where there is no such mechanism.
    """
    found: dict[str, Callable[[], float]] = {
        "gaussian": lambda: (
            _calibrated(eps, delta, lambda t: GaussianMechanism(1.0, 1.0 / t), 1).sigma
        ),
        "gaussian, rounds": lambda: (
            _calibrated(eps, delta, lambda t: GaussianMechanism(1.0, 1.0 / t), ROUNDS).sigma
        ),
        "exponential, rounds": lambda: (
            1 / _calibrated(eps, delta, lambda t: ExponentialMechanism(1.0, t), ROUNDS).eps
        ),
        "laplace": lambda: (
            _calibrated(eps, delta, lambda t: LaplaceMechanism(1.0, 1.0 / t), 1).scale
        ),
        "laplace, rounds": lambda: (
            _calibrated(eps, delta, lambda t: LaplaceMechanism(1.0, 1.0 / t), ROUNDS).scale
        ),
        "objective, huber": lambda: _objective(ObjectivePerturbationSVC, eps, delta),
        "objective, logistic": lambda: _objective(
            ObjectivePerturbationLogisticRegression, eps, delta
        ),
        "objective, pure": lambda: _objective(ObjectivePerturbationLogisticRegression, eps, 0.0),
        "objective, pure, reg": lambda: _regularization(eps),
    }
    for m in SHIFTED:
        found[f"shifted, {m}"] = lambda m=m: shifted_width(m, eps, delta)  # type: ignore[misc]
    return {name: _or_none(measure) for name, measure in found.items()}


def shifted_width(m: int, eps: float, delta: float) -> float:
    """The least width of one-sided noise on m numbers, each of which moves by at most 1.

    Looks for Gaussian noise, which came later than Laplace noise, and takes the narrower of both.
    """
    widths = [privacy.TruncatedLaplaceMechanism.of_budget(float(m), eps, delta).width]
    gaussian = getattr(privacy, "TruncatedGaussianMechanism", None)
    if gaussian is not None:
        widths.append(
            gaussian.of_budget(math.sqrt(m), eps, delta, l1=float(m), entry=1.0, touched=m).width
        )
    return min(widths)


def weighted_factor(rounds: int) -> float:
    """Standard deviation of the noise of all rounds of an accelerated descent.

    Its unit is that of one release at the whole budget.

    Round t counts (t + 2)/2. Looks for noise by weight, which came later than equal noise.
    """
    weights = tuple((t + 2) / 2 for t in range(rounds))
    weighted = getattr(privacy, "WeightedGaussianMechanism", None)
    sigma = math.sqrt(
        rounds
    )  # of sensitivity 1: all rounds together cost what one release with noise 1 does
    if weighted is None:
        deviations = [sigma] * rounds
    else:
        mechanism = weighted(1.0, sigma, weights)
        deviations = [mechanism.of_draw(t, rounds).sigma for t in range(rounds)]
    return math.hypot(*(w * s for w, s in zip(weights, deviations, strict=True))) / math.fsum(
        weights
    )


def calls_paid(make: Callable[[float], Any], count: int, composition: str | None = None) -> int:
    """How many calls of `count` draws each a shared budget pays for.

    Each is calibrated to all it asks for.
    """
    asked: Any = {} if composition is None else {"composition": composition}
    budget = Budget(*SHARED, **asked)
    open_call = budget.ledger if hasattr(budget, "ledger") else budget.share
    paid = 0
    while True:
        try:
            ledger = open_call(*CALL)
            ledger.charge(
                ledger.calibrate(make, count), count, "a call", ConstraintPrivate(), Randomness(0)
            )
        except BudgetExceededError:
            return paid
        paid += 1


def calls(composition: str | None = None) -> dict[str, int]:
    """How many calls of each kind."""
    return {
        "Gaussian release": calls_paid(lambda t: GaussianMechanism(1.0, 1.0 / t), 1, composition),
        "dmw": calls_paid(lambda t: ExponentialMechanism(1.0, t), ROUNDS, composition),
    }


def _calibrated(eps: float, delta: float, make: Callable[[float], Any], count: int) -> Any:
    return Ledger(eps, delta).calibrate(make, count)


def _objective(estimator: Any, eps: float, delta: float) -> float:
    """Noise on the linear term of the summed losses, of sensitivity 2.

    As an estimator draws it on ten thousand records.
    """
    rng = np.random.default_rng(0)
    X = rng.uniform(-0.5, 0.5, size=(RECORDS, 2))
    fitted = estimator(eps, REG, delta, classes=(-1, 1), random_state=0).fit(
        X, np.where(X[:, 0] > 0, 1, -1)
    )
    parameter = next(
        e.parameter for e in fitted.privacy_.entries if e.purpose == "perturb the objective"
    )
    return float(parameter.split()[2].rstrip(","))


def _regularization(eps: float) -> float:
    """What pure objective perturbation of logistic loss makes of `REG`."""
    risk = RegularizedRisk.in_memory(np.zeros((RECORDS, 2)), logistic(), REG, 1.0)
    if hasattr(perturbation, "_enough_regularization"):
        return max(REG, perturbation._enough_regularization(risk, eps, pure=True))
    share = perturbation._SHARE_OF_THE_CURVATURE
    return max(REG, perturbation._curvature(risk) / math.expm1(min(share * eps, 700.0)))


def _or_none(measure: Callable[[], float]) -> float | None:
    try:
        return float(f"{measure():.8g}")
    except BudgetExceededError:
        return None


def numbers() -> dict[str, Any]:
    """All of it, for the code that is imported."""
    levels = [noise(*budget) for budget in BUDGETS]
    return {
        "noise": {name: [level[name] for level in levels] for name in NAMES},
        "weighted": [float(f"{weighted_factor(rounds):.8g}") for rounds in WEIGHTED],
        "calls": calls(),
    }


if __name__ == "__main__":
    print(json.dumps(numbers()))
