"""Calls that succeed: solutions, reports, plans and classifiers."""

import dataclasses
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
    for name, (_, usual) in programs.PROGRAMS.items():
        for method in methods_of(name):
            dear = name in _DEAR_PROGRAMS or f"{name} {method}" in _DEAR_PROGRAMS
            yield solving(f"solve {name} {method}", name, request_of(name, method), dear=dear)
        for title, request in _VARIATIONS.get(name, {}).items():
            given, dear = {**usual, **request}, title in _DEAR_VARIATIONS
            yield solving(f"solve {name} {title}", name, given, dear=dear)


#: Much like others, or long.
_DEAR_PROGRAMS = ("groups", "exotic", "scalar in sum", "row+column", "add-remove dmw-published")
_DEAR_VARIATIONS = ("chain, opt in a range", "chain, no opt")


def solving(title, name, request, *, twins=True, dear=False, **how) -> Path:
    def attempt(variant: int) -> Attempt:
        given = problem(name, variant)
        budget = Budget(INF if request.get("eps") == INF else 1e13, 0.5)

        def call() -> Any:
            rest = {"eps": 1.0, "delta": DELTA, "budget": budget, "rng": 0, **request, **how}
            solution = privlp.solve(given.lp, **rest)
            solution.save("solution.json")
            loaded, privacy = privlp.Solution.load("solution.json"), solution.privacy
            return [solution, str(privacy), str(privacy.statement()), loaded]

        def after(found: Any) -> Secrets:
            return secrets_after(given, found[0].x)

        return Attempt(call, given.secrets, after, lambda: [budget, str(budget), budget.entries])

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
        request = request_of("scalar", method)
        yield solving(f"time limit {method}", "scalar", request, twins=False, time_limit=1e-9)
    for name in ("scalar", "row", "objective", "all parts"):
        yield from _plans(f"{name} never violated", name != "scalar", name, feasible="always")
    for name in programs.PROGRAMS:
        dear, ends = name in _DEAR_PROGRAMS, Refusal if name == "objective" else None
        yield Path(f"quality {name}", functools.partial(reporting, name), ends, dear=dear)
        plan, shown = _plans(name, name != "departed", name)
        yield from (dataclasses.replace(plan, dear=dear), shown)
        yield Path(f"words {name}", functools.partial(_words, name), dear=dear)


def _plans(title: str, dear_picture: bool, name: str, **asked: Any) -> list[Path]:
    """A plan, and its picture."""
    shown = functools.partial(planning, name, picture=True, **asked)
    return [
        Path(f"plan {title}", functools.partial(planning, name, **asked)),
        Path(f"picture of plan {title}", shown, dear=dear_picture),
    ]


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

    told = {} if feasible else given.request

    def call() -> Any:
        planned = privlp.plan(given.lp, 1.0, DELTA, **told, feasible=feasible)
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
    lp = given.lp
    return Attempt(lambda: [repr(lp), str(lp), lp.neighbours.describe(lp)], given.secrets)


def _regressor(kind: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    """A regression of numbers between -1 and 1; it has no classes."""

    def make(*, classes: Any = None, **given: Any) -> Any:
        return kind(**{"y_bounds": (-1, 1), "data_norm": 1.0, **options, **given})

    return make


def _three_classes(**given: Any) -> Any:
    """Three declared classes, one of which has no records."""
    if given.get("classes") is not None:
        given["classes"] = (*given["classes"], 7)
    # With an intercept a public scale of noise begins with three digits of a planted number.
    one = svm_models.PrivateLPSVC(fit_intercept=False)
    return svm_models.PrivateOneVsRestClassifier(one, **given)


def _of(name: str, **options: Any) -> Any:
    """A class of svm_models, some of its parameters given."""
    return functools.partial(getattr(svm_models, name), **options)


#: Every private classifier, as it is fitted with a given budget and source of noise.
ESTIMATORS: dict[str, Callable[..., Any]] = {
    "OutputPerturbationSVC": _of("OutputPerturbationSVC"),
    "OutputPerturbationLogisticRegression": _of(
        "OutputPerturbationLogisticRegression", delta=DELTA
    ),
    "OutputPerturbationClassifier": _of("OutputPerturbationClassifier"),
    "ObjectivePerturbationSVC": _of("ObjectivePerturbationSVC"),
    "ObjectivePerturbationLogisticRegression": _of("ObjectivePerturbationLogisticRegression"),
    "ObjectivePerturbationClassifier": _of("ObjectivePerturbationClassifier", delta=DELTA),
    "DMWSVC": _of("DMWSVC", alpha=9.0, reg=0.3),
    "DMWSVC, count": _of("DMWSVC", radius=3.0, alpha=1.0, score="count"),
    "DMWSVC, published": _of("DMWSVC", radius=3.0, alpha=4.0, method="dmw-published"),
    "DMWSVC, soft": _of("DMWSVC", form="soft", alpha=80.0, C=0.5, reg=0.3),
    "PrivateLPSVC": _of("PrivateLPSVC"),
    "PrivateClassifier": _of("PrivateClassifier"),
    "PrivateQuantileRegressor": _regressor(svm_models.PrivateQuantileRegressor, quantile=0.6),
    "PrivateLPSVR": _regressor(svm_models.PrivateLPSVR),
    "PrivateModelSelector": lambda **given: svm_models.PrivateModelSelector(
        [svm_models.ObjectivePerturbationSVC(reg=reg) for reg in (1.0, 0.01)], **given
    ),
    "PrivateOneVsRestClassifier": functools.partial(_three_classes, delta=DELTA),
}
#: The same with options; what they do without noise, their own tests say.
_WITH_OPTIONS: dict[str, Callable[..., Any]] = {
    "ObjectivePerturbationSVC, whitened": _of("ObjectivePerturbationSVC", delta=DELTA, whiten=True),
    "OutputPerturbationSVC, few positives": _of(
        "OutputPerturbationSVC", threshold_share=0.2, class_weight={1: 3.0}
    ),
    "PrivateLPSVC, columns with ranges": _of("PrivateLPSVC", X_bounds=(-1, 1)),
    "PrivateClassifier, few positives": _of("PrivateClassifier", positive_rate={1: 0.1}),
    "PrivateQuantileRegressor, features with ranges": _regressor(
        svm_models.PrivateQuantileRegressor, quantile=(0.4, 0.6), data_norm=None, X_bounds=(-1, 1)
    ),
}
_NOMINAL = {"nominal_n": 1_500}
#: Where a record is added or removed, and so the number of records is private.
_ADDED: dict[str, Callable[..., Any]] = {
    f"{name}, record added": functools.partial(
        (ESTIMATORS | _WITH_OPTIONS)[name], relation="add-remove", **options
    )
    for name, options in {
        "OutputPerturbationSVC": {},
        "ObjectivePerturbationSVC": _NOMINAL,
        "ObjectivePerturbationSVC, whitened": _NOMINAL,
        "OutputPerturbationSVC, few positives": {},
        "DMWSVC": _NOMINAL,
        "PrivateLPSVC": {},
        "PrivateQuantileRegressor": {},
        "PrivateModelSelector": _NOMINAL,
        "PrivateOneVsRestClassifier": {},
    }.items()
}
_PRIVATE_COUNT = 1_237


def _sized(exponent: int, twice: bool = False) -> Callable[[Any, Any, Mint], tuple[Any, Any]]:
    """The last two records are of another size."""

    def change(X: Any, y: Any, mint: Mint) -> tuple[Any, Any]:
        X = np.vstack([X[:-2], mint(2, 3, exponent=exponent)])
        return _twice(X) if twice else X, y

    return change


#: Records that overflow, vanish or add up once something is computed from them.
_HOSTILE: dict[str, Callable[[Any, Any, Mint], tuple[Any, Any]]] = {
    "records whose squares overflow": _sized(200),
    "records whose sums overflow": _sized(307),
    "records whose squares vanish": _sized(-300),
    "sparse records with entries twice": lambda X, y, mint: (_twice(X), y),
    "sparse records with entries twice whose sums overflow": _sized(307, twice=True),
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

    def path(title: str, name: str, ends: Any = None, twins: bool = True, *, dear: bool, **given):
        attempt = functools.partial(fitting, name, **given)
        return Path(f"fit {name}{title}", attempt, ends, twins, dear)

    for name in ESTIMATORS:
        yield path("", name, dear=name in ("DMWSVC, soft", "DMWSVC, published"))
        for title, spoil in _HOSTILE.items():
            yield path(f", {title}", name, (*Refusal, None), False, dear=True, change=spoil)
    for name in _WITH_OPTIONS | _ADDED:
        yield path("", name, dear=name.startswith("DMW"))
    given = {"fairness": "demographic_parity", "fit": {"sensitive_features": np.arange(40) % 2}}
    yield path(", even groups", "PrivateLPSVC", dear=False, **given)
    for name in ("ObjectivePerturbationSVC", "DMWSVC", "PrivateLPSVC"):
        dear = name == "DMWSVC"
        yield path(", sparse", name, dear=dear, container=sp.csr_array)
        yield path(", frame", name, dear=dear, container=frame)
        yield path(", cryptographic noise", name, None, False, dear=dear, random_state=None)


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
    classes: Any = (-1, 1)
    if change is not None:
        X, y = change(X, y, mint)
        classes = None  # read from what was changed, which may be refused
    secrets = Secrets([*data.secrets.planted, *mint.numbers], data.secrets.derived, (NAME,), counts)
    budget = given.pop("budget", None) or Budget(1e6, 0.5)
    usual = {"eps": 1.0, "random_state": 0, "budget": budget, "classes": classes}
    estimator = (ESTIMATORS | _WITH_OPTIONS | _ADDED)[name](**{**usual, **given})

    def call() -> Any:
        fitted, probe = estimator.fit(X, y, **(fit or {})), np.eye(3)
        scores = [getattr(fitted, "decision_function", fitted.predict)(probe)]
        if hasattr(fitted, "predict_proba"):
            scores.append(fitted.predict_proba(probe))
        shown = str(fitted.privacy_), fitted.predict(probe), fitted.get_params()
        return [fitted, scores, *shown]

    return Attempt(call, secrets, None, lambda: [estimator, budget])
