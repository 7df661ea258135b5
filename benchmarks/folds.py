"""Test errors and other scores of perturbed risk minimisers: folds times draws.

The records of a fold are made ready once for all its draws.

The releases are those of :mod:`svm_models.classifiers.perturbation`. What is shared among draws
changes none of them: the signed records, the exact minimiser to which output perturbation adds its
noise, and fits at a regularisation that objective perturbation raises to the same value anyway.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.model_selection import KFold
from tqdm import tqdm

from benchmarks.scores import CrossValidation, ResultStore, scores_of_decisions
from privlp.checks import FloatArray
from privlp.privacy import EuclideanLaplaceMechanism, Ledger, ObjectivePerturbation, Randomness
from svm_models.account import Account
from svm_models.classifiers.perturbation import (
    _SHARE_OF_THE_CURVATURE,
    SHARE_OF_THE_CERTIFICATE,
    curvature_cost,
    perturb_objective,
    perturb_output,
)
from svm_models.classifiers.risk import MarginLoss, RegularizedRisk, huber, logistic
from svm_models.records import signed, within_norm

SCORES = ["error", "balanced", "auc"]
#: For each draw: error, balanced accuracy, area under the curve.
Scores = list[list[float | None]]


@dataclass(frozen=True)
class _Solved(RegularizedRisk):
    """A risk whose minimiser is known already."""

    minimiser: Any = None

    def minimise(self) -> FloatArray:
        return self.minimiser


@dataclass(frozen=True)
class Learner:
    """A loss and how its minimiser is released."""

    loss: MarginLoss
    release: Callable[[RegularizedRisk, Account], FloatArray] | None = None
    raises: Callable[[RegularizedRisk, float], bool] = lambda _risk, _eps: False
    raised: str = ""

    @property
    def perturbs_output(self) -> bool:
        """Whether all draws share one minimiser."""
        return self.release in (None, perturb_output)


def perturb_objective_with_two_logs(risk: RegularizedRisk, account: Account) -> FloatArray:
    """Objective perturbation as published: the curvature is paid for twice."""
    ledger, n = account.ledger, risk.shape[0]
    if raised_with_two_logs(risk, ledger.eps):
        curvature = risk.loss.curvature_bound * risk.data_norm**2
        risk = replace(risk, reg=curvature / (n * math.expm1(ledger.eps / 4)))
    risk = risk.allowing_for_rounding()
    error, sensitivity = 2 * risk.error / risk.reg, 2 * risk.loss.slope_bound * risk.data_norm
    cover = account.charge(
        EuclideanLaplaceMechanism(error, error / (SHARE_OF_THE_CERTIFICATE * ledger.eps)),
        "cover the error",
    )
    cost = 2 * curvature_cost(risk)
    draw = account.charge(
        ledger.calibrate(
            lambda eps: ObjectivePerturbation(sensitivity, sensitivity / eps, cost), 1
        ),
        "perturb the objective",
    )
    return cover(replace(risk, linear=draw(np.zeros(risk.shape[1])) / n).minimise())


def raised(risk: RegularizedRisk, eps: float) -> bool:
    """Whether objective perturbation raises the regularisation."""
    return curvature_cost(risk) > _SHARE_OF_THE_CURVATURE * eps


def raised_with_two_logs(risk: RegularizedRisk, eps: float) -> bool:
    """Whether it does so with two logarithms, by the published rule."""
    return 2 * curvature_cost(risk) >= (1 - SHARE_OF_THE_CERTIFICATE) * eps


_OWN_RULE = f"raised until the curvature costs {_SHARE_OF_THE_CURVATURE:g} eps"

LEARNERS = {
    "non-private": Learner(huber()),
    "objective": Learner(huber(), perturb_objective, raised, _OWN_RULE),
    "objective, Λ as given": Learner(huber(), partial(perturb_objective, add_regularization=False)),
    "output": Learner(huber(), perturb_output),
    "logistic": Learner(logistic(), perturb_objective, raised, _OWN_RULE),
    "two logs": Learner(
        *(huber(), perturb_objective_with_two_logs, raised_with_two_logs),
        "raised by the published rule",
    ),
    "non-private logistic": Learner(logistic()),
    "logistic, output": Learner(logistic(), perturb_output),
}


@dataclass(frozen=True)
class Cell:
    """A learner of :data:`LEARNERS` at its parameters; eps is None without privacy."""

    learner: str
    reg: float
    eps: float | None = None


def measure(
    store: ResultStore,
    name: str,
    X: FloatArray,
    y: npt.NDArray[Any],
    cells: Iterable[Cell],
    *,
    folds: int = 10,
    draws: int = 10,
    progress: bool = True,
) -> dict[Cell, CrossValidation]:
    """Scores of each cell on the same folds, each fold with `draws` draws of the noise."""
    cells = list(cells)
    scores: dict[Cell, list[Scores]] = {cell: [] for cell in cells}
    splits = KFold(folds, shuffle=True, random_state=0).split(X)
    bar = tqdm(splits, total=folds, desc=name, unit="fold", disable=not progress)
    for fold, (train, test) in enumerate(bar):
        records = None
        for cell in cells:
            settings = _settings(name, cell, fold, folds, draws, len(train))
            if settings not in store:
                records = records or Fold(X[train], y[train], X[test], y[test], fold)
                store.add(settings, records.scores(cell, draws))
            scores[cell].append(store[settings])
    return {cell: validated(rows) for cell, rows in scores.items()}


def validated(rows: list[Scores]) -> CrossValidation:
    """Folds of draws of (error, balanced accuracy, area under the curve)."""
    return CrossValidation(*np.moveaxis(np.array(rows, dtype=float), 2, 0))


def _settings(name: str, cell: Cell, fold: int, folds: int, draws: int, n: int) -> dict[str, Any]:
    learner = LEARNERS[cell.learner]
    risk = RegularizedRisk.in_memory(np.empty((n, 0)), learner.loss, cell.reg, 1.0)
    same = cell.eps is not None and learner.raises(risk, cell.eps)
    reg = learner.raised if same else cell.reg
    told = {"data": name, "learner": cell.learner, "reg": reg, "eps": cell.eps, "scores": SCORES}
    return told | {"fold": [fold, folds], "draws": draws if learner.release else 1}


class Fold:
    """Records of one fold, and the exact minimisers found on them so far."""

    def __init__(self, X: FloatArray, y: Any, X_test: FloatArray, y_test: Any, number: int) -> None:
        self._signed = signed(within_norm(X, 1.0), np.sign(y))
        self._test, self._positive = X_test, y_test > 0
        self._number = number
        self._minimisers: dict[tuple[str, float], FloatArray] = {}

    def scores(self, cell: Cell, draws: int) -> Scores:
        """Of each draw."""
        learner = LEARNERS[cell.learner]
        risk = RegularizedRisk.in_memory(self._signed, learner.loss, cell.reg, 1.0)
        if learner.perturbs_output:
            known = {"minimiser": self._minimiser(risk)}
            risk = _Solved.in_memory(self._signed, learner.loss, cell.reg, 1.0, **known)
        if learner.release is None or cell.eps is None:
            return [self._scored(risk.minimise())]
        found = []
        for draw in range(draws):
            seed = int(np.random.SeedSequence([self._number, draw]).generate_state(1)[0])
            account = Account(Ledger(cell.eps, 0.0), Randomness(seed))
            found.append(self._scored(learner.release(risk, account)))
        return found

    def _minimiser(self, risk: RegularizedRisk) -> FloatArray:
        key = (risk.loss.name, risk.reg)
        if key not in self._minimisers:
            self._minimisers[key] = risk.minimise()
        return self._minimisers[key]

    def _scored(self, w: FloatArray) -> list[float | None]:
        return list(scores_of_decisions(self._test @ w, self._positive).values())
