"""Data sets and linear programs of svm_models, and what it says about bad input."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

import privlp
import svm_models
from benchmarks.same.canonical import Parts
from benchmarks.same.cases import Case, later
from benchmarks.same.learning import learnt, records
from svm_models import (
    DMWSVC,
    LPSVC,
    HuberSVC,
    MarginLoss,
    ObjectivePerturbationSVC,
    OutputPerturbationClassifier,
    OutputPerturbationLogisticRegression,
    PrivateLPSVC,
    PrivateModelSelector,
    RandomFourierFeatures,
)


def data() -> Iterator[Case]:
    """Simulations, data sets from files of a few made-up records, and matrices."""
    for seed in (0, 5):
        for n in (10, 500):
            yield (
                f"data:balls {n} {seed}",
                later(svm_models.make_nested_balls, n, random_state=seed),
            )
            for name in ("make_separable_sphere", "make_unseparable_ball"):
                make = getattr(svm_models, name)
                yield f"data:{name} {n} {seed}", later(make, n, random_state=seed)
                small = later(make, n, n_features=3, margin=0.2, random_state=seed)
                yield f"data:{name} {n} {seed} of three", small
    for preprocessing in ("thesis", "unit", "public"):
        yield f"data:adult {preprocessing}", later(_adult, preprocessing)
        yield f"data:kddcup99 {preprocessing}", later(_kddcup99, preprocessing)
    for kind in ("sphere", "sparse", "ball"):
        yield f"data:hard margin {kind}", later(_margin, svm_models.hard_margin_lp, kind)
        for C in (0.1, 2.0):
            for slack in (True, False):
                make = later(svm_models.soft_margin_lp, C=C, slack=slack)
                yield f"data:soft margin {kind} {C} {slack}", later(_margin, make, kind)


def _margin(make: Callable[..., privlp.LinearProgram], kind: str) -> Parts:
    lp = make(*records(kind))
    return Parts({"": lp, "exact": privlp.solve_exact(lp)})


def _adult(preprocessing: str) -> list[Any]:
    rng = np.random.default_rng(0)
    lines = []
    for number in range(60):
        work, sex = rng.choice(["Private", "State-gov", "?"]), rng.choice(["Male", "Female"])
        school, race = (
            rng.choice(["Bachelors", "HS-grad", "Masters"]),
            rng.choice(["White", "Black"]),
        )
        gain, age, hours = rng.integers(0, 9999), rng.integers(17, 90), rng.integers(1, 99)
        job = rng.choice(["Sales", "Tech-support"])
        income = [">50K", "<=50K"][number % 2]
        start = f"{age}, {work}, {rng.integers(20000, 900000)}, {school}, {rng.integers(1, 16)}"
        middle = f"Never-married, {job}, Own-child, {race}, {sex}, {gain}, 0, {hours}"
        lines.append(f"{start}, {middle}, United-States, {income}")
    Path("adult.data").write_text("\n".join(lines[:40]) + "\n", encoding="utf-8")
    tested = "|1x3 Cross validator\n" + ".\n".join(lines[40:]) + ".\n"
    Path("adult.test").write_text(tested, encoding="utf-8")
    with mock.patch.dict(os.environ, {"PRIVLP_DATA": "."}):
        return _bunch(svm_models.fetch_adult(preprocessing=preprocessing))


def _kddcup99(preprocessing: str) -> list[Any]:
    rng = np.random.default_rng(1)
    lines = []
    for number in range(50):
        protocol, service = rng.choice(["tcp", "udp"]), rng.choice(["http", "smtp"])
        first = f"{rng.integers(0, 99)},{protocol},{service},SF"
        counts = ",".join(str(n) for n in rng.integers(0, 2, 37))
        label = ["normal.", "smurf."][number % 2]
        lines.append(f"{first},{counts},{label}")
    Path("kddcup.data_10_percent").write_text("\n".join(lines) + "\n", encoding="utf-8")
    with mock.patch.dict(os.environ, {"PRIVLP_DATA": "."}):
        return _bunch(svm_models.fetch_kddcup99(30, 3, preprocessing=preprocessing))


def _bunch(found: Any) -> list[Any]:
    names = [found.feature_names, found.target_names, found.DESCR, found.preprocessing]
    return [found.data, found.target, *names]


def refused() -> Iterator[Case]:
    """What estimators and data sets say about bad input."""
    X, y = records("sphere")
    odd: dict[str, tuple[Any, Any]] = {
        "nan": (np.where(X > 0.9, np.nan, X) * np.nan, y),
        "one class": (X, np.ones(len(y))),
        "three classes": (X, np.arange(len(y)) % 3),
        "short y": (X, y[:-1]),
        "flat": (X[:, 0], y),
        "words": (np.full(X.shape, "word"), y),
        "no rows": (X[:0], y[:0]),
    }
    kinds = (PrivateLPSVC, ObjectivePerturbationSVC, OutputPerturbationLogisticRegression, DMWSVC)
    for kind in (*kinds, HuberSVC, LPSVC):
        seed: dict[str, Any] = {} if kind in (HuberSVC, LPSVC) else {"random_state": 0}
        for name, (rows, labels) in odd.items():
            estimator = kind(classes=None, **seed)
            yield f"odd:{kind.__name__} {name}", later(learnt, estimator, rows, labels)
    parameters: list[tuple[Any, dict[str, Any]]] = [
        *((kind, {"eps": eps}) for kind in kinds for eps in (0.0, "1", math.nan)),
        *((kind, {"data_norm": norm}) for kind in kinds for norm in (0.0, math.inf, "1")),
        *((kind, {"classes": (1, 1)}) for kind in kinds),
        *((kind, {"classes": (1, 2)}) for kind in kinds),
        *((kind, {"budget": 3.0}) for kind in kinds),
        *((kind, {"random_state": "seed"}) for kind in kinds),
        *((kind, {"delta": 0.5}) for kind in kinds),
        (ObjectivePerturbationSVC, {"reg": 0.0}),
        (ObjectivePerturbationSVC, {"h": 0.7}),
        (OutputPerturbationClassifier, {"loss": "hinge"}),
        (PrivateLPSVC, {"radius": -1.0}),
        (PrivateLPSVC, {"rounds": 1.5}),
        *((DMWSVC, {name: "other"}) for name in ("score", "method", "form")),
        (DMWSVC, {"s": 0.0}),
        (DMWSVC, {"s": 1e9}),
        (DMWSVC, {"radius_share": 1.0}),
        (PrivateModelSelector, {"estimators": []}),
        (PrivateModelSelector, {"estimators": [HuberSVC()]}),
        (PrivateModelSelector, {"estimators": [PrivateLPSVC(eps=2.0)]}),
        (RandomFourierFeatures, {"gamma": -1.0}),
        (RandomFourierFeatures, {"n_components": 0}),
    ]
    for kind, options in parameters:
        usual = {} if kind is RandomFourierFeatures else {"classes": (-1, 1)}
        estimator = kind(**{**usual, "random_state": 0, **options})
        fit = estimator.fit if kind is RandomFourierFeatures else later(learnt, estimator)
        yield f"odd:{kind.__name__} {_said(options)}", later(fit, X, y)
    weighted = ObjectivePerturbationSVC(classes=(-1, 1), random_state=0)
    yield "odd:sample_weight", later(weighted.fit, X, y, sample_weight=np.ones(len(y)))
    for name in ("make_nested_balls", "make_separable_sphere", "make_unseparable_ball"):
        yield f"odd:{name}", later(getattr(svm_models, name), 0, random_state=0)
    yield "odd:margin", later(svm_models.make_separable_sphere, 9, margin=1.0)
    yield "odd:preprocessing", later(svm_models.fetch_adult, preprocessing="none")
    yield "odd:labels", later(svm_models.hard_margin_lp, X, np.zeros(len(y)))
    yield "odd:C", later(svm_models.soft_margin_lp, X, y, 0.0)
    yield "odd:loss", later(MarginLoss, np.sin, np.cos, np.sin, 1.0, 1.0)


def _said(options: dict[str, Any]) -> str:
    name, value = next(iter(options.items()))
    return f"{name}={[type(v).__name__ for v in value] if isinstance(value, list) else value!r}"
