"""Calls that succeed: solutions, reports, plans and classifiers."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import scipy.sparse as sp

import privlp
import svm_models
from privlp import Budget
from tests.planted import programs
from tests.planted.path import Attempt, Path, Refusal, frame
from tests.planted.programs import DELTA, INF, NAME, Mint, Problem, methods_of, problem, request_of
from tests.planted.search import Secrets

mpl.use("Agg")

#: Further requests, by program: each changes some arguments.
_VARIATIONS: dict[str, dict[str, dict[str, Any]]] = {
    "replace": {
        "staged, opt in a range": {"method": "staged", "opt": (1.0, 40.0)},
        "chain, opt in a range": {"method": "chain", "opt": (1.0, 40.0), "eps": 0.3},
        "auto": {"method": "auto", "alpha": None},
        "dmw, pure": {"method": "dmw", "delta": 0.0, "alpha": 5.0},
        "staged, large delta": {"method": "staged", "delta": 0.2},
        "staged, little budget": {"method": "staged", "eps": 0.01},
        "chain, next to no noise": {"method": "chain", "eps": 1e12, "alpha": None},
    },
    "add-remove": {"auto": {"method": "auto"}},
    "departed": {
        "auto": {"method": "auto"},
        "staged, opt in a range": {"method": "staged", "opt": (1.0, 40.0)},
        "staged, little budget": {"method": "staged", "eps": 0.01},
        "dmw, pure": {"method": "dmw", "delta": 0.0, "alpha": 5.0},
    },
    "mixed": {"chain, no opt": {"method": "chain", "opt": None}},
    "scalar": {
        "direct noise, opt": {"method": "direct-noise", "opt": 9.0, "alpha": None},
        "always": {"method": "auto", "feasible": "always", "opt": None},
        "pure": {"method": "direct-noise", "delta": 0.0, "opt": None, "alpha": None},
    },
    "row+scalar": {
        "split": {"method": "direct-noise", "split": (1, 3), "opt": None, "alpha": None}
    },
    "all parts": {"always": {"method": "auto", "feasible": "always"}},
}


def solves() -> Iterator[Path]:
    """Every program by every method that takes it."""
    for name in programs.PROGRAMS:
        for method in methods_of(name):
            dear = name in _DEAR_PROGRAMS or f"{name} {method}" in _DEAR_PROGRAMS
            yield solving(f"solve {name} {method}", name, request_of(name, method), dear=dear)
        for variation, request in _VARIATIONS.get(name, {}).items():
            dear = variation in _DEAR_VARIATIONS
            yield solving(
                f"solve {name} {variation}",
                name,
                {**programs.PROGRAMS[name][1], **request},
                dear=dear,
            )


#: Much like others, or long.
_DEAR_PROGRAMS = ("groups", "exotic", "scalar in sum", "row+column", "add-remove dmw-published")
_DEAR_VARIATIONS = ("chain, opt in a range", "chain, no opt")


def solving(
    title: str,
    name: str,
    request: dict[str, Any],
    *,
    twins: bool = True,
    dear: bool = False,
    **how: Any,
) -> Path:
    def attempt(variant: int) -> Attempt:
        given, budget = (
            problem(name, variant),
            Budget(INF if request.get("eps") == INF else 1e13, 0.5),
        )

        def call() -> Any:
            rest = {"eps": 1.0, "delta": DELTA, "budget": budget, "rng": 0, **request, **how}
            solution = privlp.solve(given.lp, **rest)
            solution.save("solution.json")
            return [
                solution,
                str(solution.privacy),
                str(solution.privacy.statement()),
                privlp.Solution.load("solution.json"),
            ]

        return Attempt(
            call,
            given.secrets,
            lambda found: secrets_after(given, found[0].x),
            lambda: [budget, str(budget), budget.entries],
        )

    return Path(title, attempt, None, twins, dear)


def secrets_after(given: Problem, x: Any) -> Secrets:
    return given.secrets if x is None else programs.secrets_at(given.lp, x, given.secrets)


def reports() -> Iterator[Path]:
    """Progress bars, time limits, cryptographic noise; quality and plan; a program in words."""
    for method in ("staged", "chain"):
        request = request_of("replace", method)
        yield solving(f"progress {method}", "replace", request, twins=False, progress=True)
        yield solving(f"time limit {method}", "replace", request, twins=False, time_limit=1e-9)
        yield solving(f"cryptographic noise {method}", "replace", request, twins=False, rng=None)
    for method in ("direct-noise", "truncated-laplace"):
        yield solving(
            f"time limit {method}",
            "scalar",
            request_of("scalar", method),
            twins=False,
            time_limit=1e-9,
        )
    for name in ("scalar", "row", "objective", "all parts"):
        yield Path(
            f"plan {name} never violated", functools.partial(planning, name, feasible="always")
        )
        yield Path(
            f"picture of plan {name} never violated",
            functools.partial(planning, name, feasible="always", picture=True),
            dear=name != "scalar",
        )
    for name in programs.PROGRAMS:
        dear = name in _DEAR_PROGRAMS
        yield Path(
            f"quality {name}",
            functools.partial(reporting, name),
            Refusal if name == "objective" else None,
            dear=dear,
        )
        yield Path(f"plan {name}", functools.partial(planning, name), dear=dear)
        yield Path(
            f"picture of plan {name}",
            functools.partial(planning, name, picture=True),
            dear=name != "departed",
        )
        yield Path(f"words {name}", functools.partial(_words, name), dear=dear)


def reporting(name: str, variant: int) -> Attempt:
    given = problem(name, variant)
    point = np.full(given.lp.shape[1], 2.0)
    budget = Budget(3.0, 0.1)

    def call() -> Any:
        report = privlp.quality(given.lp, point, 0.5, alpha=0.0, budget=budget, rng=0)
        return [report, str(report.privacy)]

    return Attempt(call, given.secrets, lambda _: secrets_after(given, point), lambda: budget)


def planning(
    name: str, variant: int, *, feasible: str | None = None, picture: bool = False
) -> Attempt:
    """A plan, which a picture shows for other eps too: thirty predictions more."""
    given = problem(name, variant)

    def call() -> Any:
        request = {
            key: value
            for key, value in given.request.items()
            if key in ("s", "alpha", "opt", "width") and not feasible
        }
        planned = privlp.plan(given.lp, 1.0, DELTA, **request, feasible=feasible)
        lines = _lines(planned) if picture else []
        shown = {key: value for key, value in vars(planned).items() if not key.startswith("_")}
        return [str(planned), repr(planned), shown, lines]

    return Attempt(call, given.secrets)


def _lines(planned: privlp.Plan) -> list[Any]:
    """What a picture of a plan shows."""
    try:
        return [line.get_xydata() for line in planned.plot(plt.figure().add_subplot()).get_lines()]
    except privlp.UnsupportedProblemError as error:  # nothing is predicted that could be drawn
        return [str(error)]
    finally:
        plt.close("all")


def _words(name: str, variant: int) -> Attempt:
    given = problem(name, variant)
    return Attempt(
        lambda: [repr(given.lp), str(given.lp), given.lp.neighbours.describe(given.lp)],
        given.secrets,
    )


def _regressor(kind: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    """A regression of numbers between -1 and 1; it has no classes."""

    def make(*, classes: Any = None, **given: Any) -> Any:
        return kind(**{"y_bounds": (-1, 1), "data_norm": 1.0, **options, **given})

    return make


#: Every private classifier, as it is fitted with a given budget and source of noise.


def _three_classes(**given: Any) -> Any:
    """Three declared classes, one of which has no records."""
    if given.get("classes") is not None:
        given["classes"] = (*given["classes"], 7)
    return svm_models.PrivateOneVsRestClassifier(**given)


ESTIMATORS: dict[str, Callable[..., Any]] = {
    "OutputPerturbationSVC": svm_models.OutputPerturbationSVC,
    "OutputPerturbationLogisticRegression": functools.partial(
        svm_models.OutputPerturbationLogisticRegression, delta=DELTA
    ),
    "OutputPerturbationClassifier": svm_models.OutputPerturbationClassifier,
    "ObjectivePerturbationSVC": svm_models.ObjectivePerturbationSVC,
    "ObjectivePerturbationLogisticRegression": svm_models.ObjectivePerturbationLogisticRegression,
    "ObjectivePerturbationClassifier": functools.partial(
        svm_models.ObjectivePerturbationClassifier, delta=DELTA
    ),
    "DMWSVC": functools.partial(svm_models.DMWSVC, alpha=9.0, reg=0.3),
    "DMWSVC, count": functools.partial(svm_models.DMWSVC, radius=3.0, alpha=1.0, score="count"),
    "DMWSVC, published": functools.partial(
        svm_models.DMWSVC, radius=3.0, alpha=4.0, method="dmw-published"
    ),
    "DMWSVC, soft": functools.partial(svm_models.DMWSVC, form="soft", alpha=80.0, C=0.5, reg=0.3),
    "PrivateLPSVC": svm_models.PrivateLPSVC,
    "PrivateQuantileRegressor": _regressor(svm_models.PrivateQuantileRegressor, quantile=0.6),
    "PrivateLPSVR": _regressor(svm_models.PrivateLPSVR),
    "PrivateModelSelector": lambda **given: svm_models.PrivateModelSelector(
        [svm_models.ObjectivePerturbationSVC(reg=reg) for reg in (1.0, 0.01)], **given
    ),
    "PrivateOneVsRestClassifier": functools.partial(_three_classes, delta=DELTA),
}
#: The same with options; what they do without noise, their own tests say.
_WITH_OPTIONS: dict[str, Callable[..., Any]] = {
    "ObjectivePerturbationSVC, whitened": functools.partial(
        svm_models.ObjectivePerturbationSVC, delta=DELTA, whiten=True
    ),
    "OutputPerturbationSVC, few positives": functools.partial(
        svm_models.OutputPerturbationSVC, threshold_share=0.2, class_weight={1: 3.0}
    ),
    "PrivateQuantileRegressor, features with ranges": _regressor(
        svm_models.PrivateQuantileRegressor, quantile=(0.4, 0.6), data_norm=None, X_bounds=(-1, 1)
    ),
}
#: Where a record is added or removed, and so the number of records is private.
_ADDED: dict[str, Callable[..., Any]] = {
    f"{name}, record added": functools.partial(
        (ESTIMATORS | _WITH_OPTIONS)[name], relation="add-remove", **options
    )
    for name, options in {
        "OutputPerturbationSVC": {},
        "ObjectivePerturbationSVC": {"nominal_n": 1_500},
        "ObjectivePerturbationSVC, whitened": {"nominal_n": 1_500},
        "OutputPerturbationSVC, few positives": {},
        "DMWSVC": {"nominal_n": 1_500},
        "PrivateLPSVC": {},
        "PrivateQuantileRegressor": {},
        "PrivateModelSelector": {"nominal_n": 1_500},
        "PrivateOneVsRestClassifier": {},
    }.items()
}
_PRIVATE_COUNT = 1_237


#: Records that overflow, vanish or add up once something is computed from them.
_HOSTILE: dict[str, Callable[[Any, Any, Mint], tuple[Any, Any]]] = {
    "records whose squares overflow": lambda X, y, mint: (
        np.vstack([X[:-2], mint(2, 3, exponent=200)]),
        y,
    ),
    "records whose sums overflow": lambda X, y, mint: (
        np.vstack([X[:-2], mint(2, 3, exponent=307)]),
        y,
    ),
    "records whose squares vanish": lambda X, y, mint: (
        np.vstack([X[:-2], mint(2, 3, exponent=-300)]),
        y,
    ),
    "sparse records with entries twice": lambda X, y, mint: (_twice(X), y),
    "sparse records with entries twice whose sums overflow": lambda X, y, mint: (
        _twice(np.vstack([X[:-2], mint(2, 3, exponent=307)])),
        y,
    ),
}


def _twice(X: np.ndarray) -> Any:
    """Every entry is stored twice."""
    n, p = X.shape
    columns = np.tile(np.arange(p), 2 * n)
    return sp.csr_array(
        (np.repeat(X, 2, axis=0).ravel(), columns, 2 * p * np.arange(n + 1)), shape=X.shape
    )


def fits() -> Iterator[Path]:
    """Every private classifier on dense and sparse records, and on records in a data frame with private names."""
    for name in ESTIMATORS:
        yield Path(
            f"fit {name}",
            functools.partial(fitting, name),
            dear=name in ("DMWSVC, soft", "DMWSVC, published"),
        )
        for title, spoil in _HOSTILE.items():
            attempt = functools.partial(fitting, name, change=spoil)
            yield Path(f"fit {name}, {title}", attempt, (*Refusal, None), twins=False, dear=True)
    for name in _WITH_OPTIONS | _ADDED:
        yield Path(f"fit {name}", functools.partial(fitting, name), dear=name.startswith("DMW"))
    for name in ("ObjectivePerturbationSVC", "DMWSVC", "PrivateLPSVC"):
        dear = name == "DMWSVC"
        yield Path(
            f"fit {name}, sparse",
            functools.partial(fitting, name, container=sp.csr_array),
            dear=dear,
        )
        yield Path(
            f"fit {name}, frame", functools.partial(fitting, name, container=frame), dear=dear
        )
        yield Path(
            f"fit {name}, cryptographic noise",
            functools.partial(fitting, name, random_state=None),
            twins=False,
            dear=dear,
        )


def fitting(
    name: str,
    variant: int,
    *,
    container: Callable[[Any], Any] = np.asarray,
    change: Callable[[Any, Any, Mint], tuple[Any, Any]] | None = None,
    fit: dict[str, Any] | None = None,
    **given: Any,
) -> Attempt:
    mint = Mint(variant + 5)
    counts = (_PRIVATE_COUNT + variant,) if name in _ADDED else ()
    data = programs.records(variant, *counts)
    X, y = container(data.X), data.y
    if change is not None:
        X, y = change(X, y, mint)
    secrets = Secrets([*data.secrets.planted, *mint.numbers], data.secrets.derived, (NAME,), counts)
    budget = given.pop("budget", None) or Budget(1e6, 0.5)
    classes = (
        (-1, 1) if change is None else None
    )  # read from what was changed, which may be refused
    estimator = (ESTIMATORS | _WITH_OPTIONS | _ADDED)[name](
        **{"eps": 1.0, "random_state": 0, "budget": budget, "classes": classes, **given}
    )

    def call() -> Any:
        fitted = estimator.fit(X, y, **(fit or {}))
        probe = np.eye(3)
        return [
            fitted,
            str(fitted.privacy_),
            getattr(fitted, "decision_function", fitted.predict)(probe),
            fitted.predict(probe),
            fitted.get_params(),
        ]

    return Attempt(call, secrets, None, lambda: [estimator, budget])
