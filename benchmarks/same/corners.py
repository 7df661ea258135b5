"""Paths that few results take: large and tiny sizes, extreme budgets, odd model files."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import privlp
import svm_models
from benchmarks.same.canonical import Parts, record
from benchmarks.same.cases import Case, later
from benchmarks.same.learning import learnt
from benchmarks.same.paying import public, state, tried
from svm_models import HuberSVC, ObjectivePerturbationSVC, OutputPerturbationSVC, PrivateLPSVC

# ----------------------------------------------------------------------------------------- solves


@cache
def _many_rows(n: int, d: int, *, boxed: bool) -> privlp.LinearProgram:
    rng = np.random.default_rng(6)
    bounds = (0.0, 4.0) if boxed else (0.0, None)
    needs = rng.uniform(0.2, 1.0, (n, d))
    return privlp.LinearProgram(rng.uniform(1, 2, d), -needs, -np.ones(n), bounds=bounds)


@cache
def _tight(step: float) -> privlp.LinearProgram:
    """Rows that noise on their right-hand sides makes contradict each other."""
    A = np.array([[1.0, 1.0], [-1.0, -1.0], [1.0, -1.0], [0.5, 2.0]])
    b, relation = np.array([2.0, -1.9, 0.5, 3.0]), privlp.ScalarPrivate(step)
    return privlp.LinearProgram(np.array([1.0, 2.0]), A, b, bounds=(0, 5), neighbours=relation)


@cache
def _uneven() -> privlp.LinearProgram:
    """A few rows that outweigh all others by far."""
    rng = np.random.default_rng(7)
    A = -rng.uniform(0.2, 1.0, (30, 3)) * np.geomspace(1e-8, 1.0, 30)[:, None]
    return privlp.LinearProgram(np.ones(3), A, 3.0 * A.sum(axis=1) / 3)


def solves() -> Iterator[Case]:
    """Many rows."""
    for n, eps in ((3000, 1.0), (3000, 30.0)):
        for boxed in (False, True):
            lp = _many_rows(n, 4, boxed=boxed)
            for method in ("dmw", "staged", "auto"):
                label = f"corner:{method}:{n} rows eps={eps} boxed={boxed}"
                asked = {"s": 300, "alpha": 1.0, "opt": 3.5, "method": method, "rng": n}
                yield label, later(privlp.solve, lp, eps, 1e-6, **asked)


def few_rows() -> Iterator[Case]:
    """Rows of uneven size, programs that noise makes infeasible, exact solutions that are none."""
    for s in (1, 1.5, 29.5, 30):
        for method in ("dmw", "staged"):
            asked = {"s": s, "alpha": 0.2, "opt": 3.0, "method": method, "rng": 1}
            label = f"corner:{method}:uneven s={s}"
            yield label, later(privlp.solve, _uneven(), 50.0, 1e-6, **asked)
            asked = {**asked, "alpha": 0.05}
            label = f"corner:{method}:uneven s={s} no noise"
            yield label, later(privlp.solve, _uneven(), math.inf, 0.0, **asked)
    for seed in range(6):
        for step in (0.01, 1.0):
            asked = {"method": "direct-noise", "rng": seed}
            label = f"corner:direct-noise:tight {step} {seed}"
            yield label, later(privlp.solve, _tight(step), 1.0, 1e-6, **asked)
    limited = {"method": "direct-noise", "time_limit": 50.0, "rng": 0}
    yield "corner:direct-noise:limited", later(privlp.solve, _tight(0.01), 1.0, 0.0, **limited)
    for name, slope in {"infeasible": 1.0, "unbounded": -1.0}.items():
        rows, costs = np.array([[slope, 0.0]]), np.array([-1.0, 1.0])
        made = privlp.LinearProgram(costs, rows, np.array([-1.0]))
        yield f"corner:exact:{name}", later(privlp.solve_exact, made)
    yield "corner:exact:time limit", later(privlp.solve_exact, _uneven(), time_limit=1e-9)


# ---------------------------------------------------------------------------------- noise and price


def noise() -> Iterator[Case]:
    """Draws whose rounding double precision does not decide; prices at the ends of their range."""
    for seed in range(2):
        yield f"corner:wide noise {seed}", later(_wide, seed)
    for eps in (1e-6, 1e-3, 0.5, 50.0, 2000.0):
        for delta in (0.0, 1e-300, 1e-12, 0.9):
            yield f"corner:prices ({eps}, {delta})", later(_prices, eps, delta)
    for composition in ("adaptive", "planned", "basic"):
        yield f"corner:many places {composition}", later(_many_places, composition)


def _wide(seed: int) -> list[Any]:
    kind, ledger = public("TruncatedLaplaceMechanism"), public("Ledger")(1e9, 0.5)
    mechanism, rng = kind(1.0, 2.0, 2.0 * 2.0**30), np.random.default_rng(seed)
    relation = privlp.ConstraintPrivate()
    release = ledger.charge(mechanism, 1, "wide", relation, public("Randomness")(rng))
    return [release(np.linspace(0, 1, 500)), rng.bit_generator.state]


def _prices(eps: float, delta: float) -> list[Any]:
    """The least noise of each kind, for one draw and for a thousand, and what is then spent."""
    told: list[Any] = []
    for count in (1, 1000):
        for kind in ("LaplaceMechanism", "GaussianMechanism", "ExponentialMechanism"):
            told.append(_calibrated(kind, eps, delta, count))
        corners = later(_calibrated, "GaussianObjectivePerturbation", eps, delta, min(count, 12))
        told.append(corners())
    return told


def _calibrated(kind: str, eps: float, delta: float, count: int) -> Any:
    def make(intensity: float) -> Any:
        if kind == "ExponentialMechanism":
            return public(kind)(1.0, intensity)
        more = (0.01, True) if kind == "GaussianObjectivePerturbation" else ()
        return public(kind)(1.0, 1.0 / intensity, *more)

    ledger, relation = public("Ledger")(eps, delta), privlp.ConstraintPrivate()
    found: list[Any] = []

    def pay() -> None:
        mechanism = ledger.calibrate(make, count)
        found.append(mechanism.parameter)
        ledger.charge(mechanism, count, "draws", relation, public("Randomness")(0))

    return [tried(pay), found, ledger.spent(), record(ledger.record())]


def _many_places(composition: Any) -> list[Any]:
    """Two ways to divide the records into ten, all charged differently."""
    budget = privlp.Budget(50.0, 1e-5, composition=composition)
    told: list[Any] = []
    lp = privlp.examples.diet(foods=3, nutrients=1)
    for way in range(2):
        for number, part in enumerate(budget.disjoint(9)):
            asked = {"budget": part, "rng": number}
            eps = 0.1 * (1 + number + 9 * way)
            told.append(tried(later(privlp.solve, lp, eps, 1e-8, **asked)))
    shared = budget.share(1.0, 1e-7, composition="basic")
    told.append(tried(later(privlp.solve, lp, 0.5, 0.0, budget=shared, rng=0)))
    return [told, state(budget)]


# --------------------------------------------------------------------------------------- estimators


def learning() -> Iterator[Case]:
    """Small radii, kinks, little regularisation."""
    X, y = svm_models.make_separable_sphere(300, n_features=5, random_state=9)
    seeded: dict[str, Any] = {"classes": (-1, 1), "random_state": 2}
    made: dict[str, Any] = {
        "PrivateLPSVC small radius": PrivateLPSVC(20.0, 1e-6, radius=0.3, **seeded),
        "PrivateLPSVC small radius, no noise": PrivateLPSVC(math.inf, 0.0, radius=0.5, **seeded),
        "ObjectivePerturbationSVC h=1e-6": ObjectivePerturbationSVC(3.0, 1e-3, h=1e-6, **seeded),
        "OutputPerturbationSVC h=1e-6": OutputPerturbationSVC(3.0, 1e-3, h=1e-6, **seeded),
        "OutputPerturbationSVC reg=1e-7": OutputPerturbationSVC(3.0, reg=1e-7, **seeded),
        "ObjectivePerturbationSVC reg=1e3": ObjectivePerturbationSVC(3.0, 1e3, **seeded),
        "HuberSVC h=1e-6": HuberSVC(1e-5, h=1e-6),
        "reg too small": OutputPerturbationSVC(3.0, reg=1e-16, **seeded),
    }
    for name, estimator in made.items():
        yield f"corner:svm {name}", later(learnt, estimator, X, y)


# ------------------------------------------------------------------------------------ model files

_MODEL = """NAME small
OBJSENSE
    MAX
ROWS
 N  cost
 L  first
 G  second
 E  third
COLUMNS
    x  cost  1.0  first  2.0
    x  third 1.0
    y  cost  -2.5  second  1.0
    y  third 3.0
    z  first  -1.0
RHS
    rhs  first  4.0  second  1.5
    rhs  third  2.0
RANGES
    rng  first  2.5
BOUNDS
 UP bnd x 4.0
 FR bnd y
 MI bnd z
 UP bnd z 9.0
ENDATA
"""

#: What is replaced in the model, and by what.
_CHANGES: dict[str, tuple[str, str]] = {
    "as it is": ("", ""),
    "minimised": ("OBJSENSE\n    MAX\n", ""),
    "fixed": (" UP bnd x 4.0", " FX bnd x 4.0"),
    "offset": ("    rhs  third  2.0", "    rhs  third  2.0\n    rhs  cost  -7.0"),
    "nan": ("first  4.0", "first  nan"),
    "word": ("first  4.0", "first  four"),
    "integer": (" UP bnd x 4.0", " UI bnd x 4"),
    "unknown row": ("second  1.5", "fourth  1.5"),
    "unknown column": (" FR bnd y", " FR bnd w"),
    "unknown range": ("rng  first", "rng  fourth"),
    "no end": ("ENDATA\n", ""),
    "no columns": ("COLUMNS\n", ""),
    "twice": ("RHS\n", "RHS\nRHS\n"),
    "order": ("ROWS\n", "BOUNDS\nROWS\n"),
    "quadratic": ("ENDATA", "QUADOBJ\n    x  x  2.0\nENDATA"),
    "section": ("RANGES", "WISHES"),
    "row twice": (" G  second", " G  first"),
    "column apart": ("    z  first  -1.0", "    z  first  -1.0\n    x  second 1.0"),
}


def files() -> Iterator[Case]:
    """A model file and what may be wrong with it, read with rows that are public and private."""
    relations = {"": None, " add-remove": privlp.ConstraintPrivate("add-remove", 2, 9)}
    for name in _CHANGES:
        for kind, relation in relations.items():
            yield f"corner:mps {name}{kind}", later(_read, name, relation)
    for name, text in {
        "lp": "Minimize\n obj: x + 2 y\nSubject To\n c1: x + y >= 2\nBounds\n y <= 4\nEnd\n",
        "indicator": "Minimize\n obj: x\nSubject To\n c1: b = 1 -> x >= 2\nBinary\n b\nEnd\n",
    }.items():
        yield f"corner:lp {name}", later(_read_text, "model.lp", text, None)


def _read(name: str, relation: Any) -> Parts:
    old, new = _CHANGES[name]
    return _read_text("odd.mps", _MODEL.replace(old, new, 1) if old else _MODEL, relation)


def _read_text(file: str, text: str, relation: Any) -> Parts:
    Path(file).write_text(text, encoding="utf-8")
    lp = privlp.LinearProgram.from_mps(file, neighbours=relation)
    return Parts({"": lp, "exact": privlp.solve_exact(lp)})
