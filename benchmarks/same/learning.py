"""Every estimator of svm_models, fitted from seeds."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

import privlp
import svm_models
from benchmarks.same.canonical import Parts, record
from benchmarks.same.cases import Case, later
from svm_models import (
    DMWSVC,
    LPSVC,
    QPSVC,
    DualPerturbationSVC,
    HuberSVC,
    MarginLoss,
    ObjectivePerturbationClassifier,
    ObjectivePerturbationLogisticRegression,
    ObjectivePerturbationSVC,
    OutputPerturbationClassifier,
    OutputPerturbationLogisticRegression,
    OutputPerturbationSVC,
    PrivateLPSVC,
    PrivateModelSelector,
    RandomFourierFeatures,
    RegularizedLogisticRegression,
)

DELTA = 1e-6
_LEARNT = ("objective_", "gap_", "gradient_norm_", "radius_", "rounds_", "best_index_", "solution_")


@cache
def records(kind: str) -> tuple[Any, Any]:
    """Records and labels by name; "long" ones exceed norm 1 in part."""
    if kind == "balls":
        return svm_models.make_nested_balls(300, random_state=2)
    if kind == "ball":
        return svm_models.make_unseparable_ball(300, n_features=4, random_state=3)
    X, y = svm_models.make_separable_sphere(400, n_features=6, random_state=1)
    if kind == "sparse":
        X = X * (np.random.default_rng(0).random(X.shape) < 0.4)
        return sp.csr_array(X), y
    if kind == "words":
        return X, np.where(y > 0, "yes", "no")
    return (X * np.linspace(0.5, 3.0, len(X))[:, None], y) if kind == "long" else (X, y)


_KINDS = ("sphere", "sparse", "words", "long", "ball")


def learnt(estimator: Any, X: Any, y: Any) -> Parts:
    """What a fit leaves: weights, decisions, certificates and what was paid."""
    fitted = clone(estimator).fit(X, y)
    numbers = [getattr(fitted, "coef_", None), getattr(fitted, "intercept_", None)]
    found = [[name, getattr(fitted, name)] for name in _LEARNT if hasattr(fitted, name)]
    decided = [fitted.decision_function(X), fitted.predict(X), fitted.score(X, y)]
    paid = record(getattr(fitted, "privacy_", None))
    classes = getattr(fitted, "classes_", None)
    words = paid.get("words")
    learnt_of = {"": [*numbers, found, classes], "decisions": decided}
    return Parts({**learnt_of, "privacy": paid[""], "words": words})


def _hypot() -> MarginLoss:
    return MarginLoss(
        value=lambda z: (np.hypot(1, z) - z) / 2,
        slope=lambda z: (z / np.hypot(1, z) - 1) / 2,
        curvature=lambda z: np.hypot(1, z) ** -3.0 / 2,
        slope_bound=1.0,
        curvature_bound=0.5,
        name="hypot",
    )


def _exact() -> dict[str, Any]:
    return {
        "LPSVC": LPSVC(C=1.0),
        "LPSVC C=0.1": LPSVC(C=0.1),
        "QPSVC": QPSVC(C=1.0),
        "HuberSVC": HuberSVC(reg=1e-2),
        "HuberSVC h=0.1": HuberSVC(reg=1e-3, h=0.1),
        "RegularizedLogisticRegression": RegularizedLogisticRegression(reg=1e-2),
    }


def _perturbed() -> dict[str, Any]:
    """Output and objective perturbation: losses, pure and Gaussian, several eps."""
    made: dict[str, Any] = {}
    for kind in (
        OutputPerturbationSVC,
        ObjectivePerturbationSVC,
        OutputPerturbationLogisticRegression,
        ObjectivePerturbationLogisticRegression,
        OutputPerturbationClassifier,
        ObjectivePerturbationClassifier,
    ):
        for eps, delta, reg in ((1.0, 0.0, 1e-2), (0.2, 1e-5, 1e-1), (5.0, 1e-7, 1e-4)):
            made[f"{kind.__name__} ({eps}, {delta})"] = kind(eps=eps, delta=delta, reg=reg)
        made[f"{kind.__name__} no noise"] = kind(eps=math.inf, reg=1e-2)
    for kind in (OutputPerturbationSVC, ObjectivePerturbationSVC):
        made[f"{kind.__name__} h=0.1"] = kind(eps=1.0, h=0.1)
        made[f"{kind.__name__} data_norm=2"] = kind(eps=1.0, data_norm=2.0)
    for kind in (OutputPerturbationClassifier, ObjectivePerturbationClassifier):
        made[f"{kind.__name__} hypot"] = kind(_hypot(), eps=1.0)
        made[f"{kind.__name__} hypot Gaussian"] = kind(_hypot(), eps=1.0, delta=DELTA)
    made["DualPerturbationSVC"] = DualPerturbationSVC(eps=10.0)
    made["DualPerturbationSVC C=0.1"] = DualPerturbationSVC(eps=1.0, C=0.1)
    return made


def _by_programs() -> dict[str, Any]:
    """The routes by linear programs."""
    made: dict[str, Any] = {
        "PrivateLPSVC": PrivateLPSVC(eps=1.0, delta=DELTA),
        "PrivateLPSVC eps=0.1": PrivateLPSVC(eps=0.1, delta=1e-4),
        "PrivateLPSVC eps=20": PrivateLPSVC(eps=20.0, delta=1e-9),
        "PrivateLPSVC radius": PrivateLPSVC(eps=1.0, delta=DELTA, radius=12.0),
        "PrivateLPSVC rounds": PrivateLPSVC(eps=1.0, delta=DELTA, rounds=3),
        "PrivateLPSVC data_norm": PrivateLPSVC(eps=1.0, delta=DELTA, data_norm=2.5),
        "PrivateLPSVC no noise": PrivateLPSVC(eps=math.inf, rounds=40),
        "PrivateLPSVC pure": PrivateLPSVC(eps=1.0, delta=0.0),
    }
    options: dict[str, dict[str, Any]] = {
        "radius": {"radius": 15.0},
        "bought": {"eps": 4.0},
        "bought soft": {"eps": 4.0, "form": "soft", "C": 0.1},
        "share": {"eps": 4.0, "radius_share": 0.2, "reg": 1e-2},
        "soft": {"form": "soft", "radius": 30.0},
        "count": {"score": "count", "phi": 0.2, "radius": 15.0},
        "count soft": {"score": "count", "form": "soft", "radius": 30.0},
        "alpha": {"alpha": 4.0, "radius": 15.0},
        "few rows": {"s": 50, "radius": 15.0},
        "published": {"method": "dmw-published", "alpha": 20.0, "radius": 15.0, "eps": 4.0},
        "published count": {
            **{"method": "dmw-published", "alpha": 20.0, "radius": 15.0},
            **{"eps": 4.0, "score": "count"},
        },
        "published without alpha": {"method": "dmw-published", "radius": 15.0},
        "no noise": {"eps": math.inf, "delta": 0.0, "radius": 15.0, "alpha": 2.0},
        "pure": {"delta": 0.0, "radius": 15.0},
    }
    for name, chosen in options.items():
        made[f"DMWSVC {name}"] = DMWSVC(**{"eps": 1.0, "delta": DELTA, **chosen})
    return made


def estimators() -> Iterator[Case]:
    """Every estimator on every kind of records."""
    for name, estimator in _exact().items():
        for kind in _KINDS:
            yield f"svm:{name}:{kind}", later(_fitted, estimator, kind)
    for number, (name, estimator) in enumerate({**_perturbed(), **_by_programs()}.items()):
        for kind in _KINDS if number % 3 == 0 or "LPSVC" in name else ("sphere", "long"):
            X, y = records(kind)
            seeded = clone(estimator).set_params(random_state=number, classes=np.unique(y).tolist())
            yield f"svm:{name}:{kind}", later(learnt, seeded, X, y)
    for kind in ("sphere", "words"):
        read = ObjectivePerturbationSVC(eps=1.0, random_state=3)
        yield f"svm:classes read:{kind}", later(_fitted, read, kind)
    for source in (np.random.RandomState(4), np.random.default_rng(4)):
        given = PrivateLPSVC(eps=1.0, delta=DELTA, classes=(-1, 1), random_state=source)
        yield f"svm:{type(source).__name__}:sphere", later(_fitted, given, "sphere")


def _fitted(estimator: Any, kind: str) -> Parts:
    return learnt(estimator, *records(kind))


def selections() -> Iterator[Case]:
    """Private tuning, kernels, budgets shared by fits, cross-validation."""
    grid = [ObjectivePerturbationSVC(eps=1.0, reg=reg) for reg in (10.0, 1e-1, 1e-2)]
    features = [RandomFourierFeatures(gamma, 20) for gamma in (0.1, 5.0)]
    kernels = [make_pipeline(z, OutputPerturbationSVC(eps=1.0, reg=1e-1)) for z in features]
    programs = [PrivateLPSVC(eps=1.0, delta=DELTA), DMWSVC(eps=1.0, delta=DELTA, radius=5.0)]
    nested = [PrivateModelSelector(grid[:2], eps=1.0), ObjectivePerturbationSVC(eps=1.0)]
    for name, (candidates, delta) in {
        "grid": (grid, 0.0),
        "kernels": (kernels, 0.0),
        "programs": (programs, DELTA),
        "nested": (nested, 0.0),
    }.items():
        for kind in ("sphere", "balls", "words"):
            X, y = records(kind)
            classes = np.unique(y).tolist()
            for seed in (0, 1):
                asked = {"delta": delta, "classes": classes, "random_state": seed}
                chooser = PrivateModelSelector(candidates, 1.0, **asked)
                yield f"svm:select {name} {seed}:{kind}", later(_selected, chooser, X, y)
    for gamma, count in ((0.5, 10), (3.0, 25)):
        for kind in ("sphere", "sparse"):
            features = RandomFourierFeatures(gamma, count, random_state=7)
            yield f"svm:features {gamma} {count}:{kind}", later(_features, features, kind)
    for composition in ("adaptive", "basic", "planned"):
        yield f"svm:one budget {composition}", later(_one_budget, composition)
    yield "svm:cross-validation", _cross_validated


def _selected(chooser: Any, X: Any, y: Any) -> Parts:
    found = learnt(chooser, X, y)
    best = clone(chooser).fit(X, y).best_estimator_
    return Parts({**found, "best": [type(best).__name__, best.decision_function(X)]})


def _features(features: Any, kind: str) -> list[Any]:
    X = records(kind)[0]
    made = clone(features).fit(X)
    return [made.frequencies_, made.transform(X)]


def _one_budget(composition: Any) -> list[Any]:
    """Fits until the budget refuses one."""
    budget = privlp.Budget(2.0, 1e-5, composition=composition)
    told: list[Any] = []
    X, y = records("sphere")
    for kind in (ObjectivePerturbationSVC, OutputPerturbationSVC, PrivateLPSVC, DMWSVC):
        delta = DELTA if kind in (PrivateLPSVC, DMWSVC) else 0.0
        asked: dict[str, Any] = {"eps": 0.7, "delta": delta, "budget": budget, "classes": (-1, 1)}
        try:
            fitted = kind(**asked, random_state=5).fit(X, y)
            told.append([fitted.coef_, record(fitted.privacy_)])
        except privlp.PrivLPError as error:
            told.append([type(error).__name__, str(error)])
        told.append([budget.spent(), record(budget.record())])
    return told


def _cross_validated() -> dict[str, Any]:
    X, y = records("ball")
    models = {
        "private": ObjectivePerturbationSVC(eps=1.0),
        "exact": HuberSVC(reg=1e-2),
        "kernel": make_pipeline(RandomFourierFeatures(0.5, 10), OutputPerturbationSVC(reg=0.1)),
    }
    store = svm_models.ResultStore("errors.jsonl")
    found = svm_models.cross_validate(models, X, y, folds=3, repeats=2, store=store, name="ball")
    text = sorted(Path("errors.jsonl").read_text(encoding="utf-8").splitlines())
    told = [[name, one.errors, one.mean, str(one)] for name, one in found.items()]
    return {"found": told, "spread": found["private"].standard_error, "store": text}
