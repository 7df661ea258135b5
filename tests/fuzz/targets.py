"""What is fuzzed: each target makes its input from a generator and hands it to the library.

A target lets the library's errors pass, and asserts what holds whenever there is none. That of a
command returns its exit code. Others are in :mod:`fuzz.programs` and
:mod:`fuzz.commands`.
"""

import math
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

import privlp
import svm_models
from fuzz import files, modellers, odd, programs
from fuzz.commands import privlp_cli, processes, svm_cli
from privlp.methods import METHODS
from svm_models.records.files import read_training_file

#: An estimator of every kind, its usual parameters, and whether its labels are numbers.
_ESTIMATORS: tuple[tuple[str, dict[str, Any], bool], ...] = (
    ("OutputPerturbationSVC", {"reg": 0.1}, False),
    ("OutputPerturbationLogisticRegression", {"reg": 0.1, "threshold_share": 0.2}, False),
    ("ObjectivePerturbationSVC", {"reg": 0.1, "whiten": False}, False),
    ("ObjectivePerturbationLogisticRegression", {"reg": 0.1}, False),
    ("ObjectivePerturbationClassifier", {"reg": 0.1}, False),
    ("DMWSVC", {"radius": 3.0, "alpha": 9.0, "reg": 0.3}, False),
    ("PrivateLPSVC", {"rounds": 3, "C": 1.0}, False),
    ("PrivateQuantileRegressor", {"quantile": 0.5, "y_bounds": (-1, 1)}, True),
    ("PrivateLPSVR", {"epsilon": 0.1, "y_bounds": (-1, 1)}, True),
)


#: Beginnings of what scikit-learn's own conformance tests ask of every estimator.
_SAYS_SCIKIT_LEARN = (
    *("Found array with", "Found input variables with inconsistent numbers of samples"),
    *("Input X contains", "Input y contains", "Unknown label type"),
    *("float() argument must be", "np.matrix is not supported"),
    *("setting an array element with a sequence", "y should be a 1d array"),
)


def estimators(rng: Random, folder: Path) -> None:
    """Fits of odd records with odd parameters; what is fitted predicts numbers, and can be shown."""
    name, usual, of_numbers = rng.choice(_ESTIMATORS)
    usual = {"eps": 1.0, "delta": 1e-6, "data_norm": 2.0, "fit_intercept": True} | usual
    kind = getattr(svm_models, name)
    known = kind._get_param_names()
    usual = {key: value for key, value in usual.items() if key in known}
    others = tuple(key for key in known if key not in ("random_state", "n_jobs", "verbose"))
    given = odd.parameters(rng, usual, others, changes=rng.choice((0, 1, 1)))
    n = rng.randint(4, 12)
    X = np.clip(odd.numbers(rng, n, 2), -1, 1)
    y = X[:, 0] * 0.5 if of_numbers else np.where(np.arange(n) % 2, 1.0, -1.0)
    if rng.random() < 0.4:
        X = programs.perhaps_twisted(rng, X)
    elif rng.random() < 0.6:
        y = programs.perhaps_twisted(rng, y)
    model = kind(**given, **({"random_state": 0} if "random_state" in known else {}))
    try:
        with warnings.catch_warnings(action="ignore", category=UserWarning):
            model.fit(X, y)
    except (ValueError, TypeError) as error:
        known = str(error).startswith(_SAYS_SCIKIT_LEARN) or "requires y to be" in str(error)
        if isinstance(error, privlp.PrivLPError) or not known:
            raise
        raise privlp.PrivLPError(f"scikit-learn says: {error}.") from None
    assert repr(model) + repr(model.privacy_)
    found = model.predict(np.zeros((2, np.shape(X)[1])))
    assert len(found) == 2
    assert not of_numbers or np.isfinite(found).all()
    assert np.isfinite(model.coef_).all(), "a slope of no number was released"


def from_mps(rng: Random, folder: Path) -> None:
    data, ending = files.model(rng)
    options = {
        "private": rng.choice(("*", "r*", [0], odd.thing(rng))),
        "box": odd.number(rng),
        "neighbours": programs.relation(rng, 3, 3),
    }
    chosen = programs.some(rng, rng.choice((0, 1)), options)

    def read(path: Path) -> None:
        programs.use(rng, privlp.LinearProgram.from_mps(path, **chosen), folder)

    _read_back(folder, f"model{ending}", data, read)


def solution_load(rng: Random, folder: Path) -> None:
    def read(path: Path) -> None:
        found = privlp.Solution.load(path)
        text = f"{found}{found.privacy}{found.privacy.statement()}{found.success}"
        assert text
        assert found.privacy.statement().to_json()
        found.save(folder / "again.json")
        assert privlp.Solution.load(folder / "again.json").to_json() == found.to_json()

    _read_back(folder, "solution.json", files.solution(rng), read)
    (folder / "again.json").unlink(missing_ok=True)


def training_file(rng: Random, folder: Path) -> None:
    with_h = rng.random() < 0.5
    data = files.training_file(rng, with_h if rng.random() < 0.95 else not with_h)

    def read(path: Path) -> None:
        found = read_training_file(path, with_h=with_h)
        assert found.X.shape == (len(found.y), found.X.shape[1])
        assert np.isfinite(found.X).all()

    _read_back(folder, "records.txt", data, read)


def _read_back(folder: Path, name: str, data: bytes, read: Callable[[Path], None]) -> None:
    path = folder / name
    path.write_bytes(data)
    try:
        read(path)
    finally:
        path.unlink()


@cache
def _programs() -> tuple[tuple[privlp.LinearProgram, dict[str, Any]], ...]:
    """Small programs of every kind, each with a request that fits."""
    needs = np.random.default_rng(0).uniform(0.2, 1.0, (40, 3))
    needs[7, 1] = odd.PLANTED / 10
    cover = {"c": [1.0, 2.0, 1.5], "A": -needs, "b": -np.ones(40)}
    pack = {"c": [1.0, 2.0, 1.5], "A": needs, "b": np.full(40, odd.PLANTED), "sense": "max"}
    whole = {"s": 5, "opt": 3.0}
    added, two = (
        privlp.ConstraintPrivate("add-remove", 1, 50),
        (privlp.ScalarPrivate(0.01), privlp.ObjectivePrivate(0.01)),
    )
    return tuple(
        (privlp.LinearProgram(**fields), request)
        for fields, request in (
            (cover, whole),
            ({**cover, "neighbours": added}, whole),
            ({**cover, "groups": np.arange(40) // 2}, {**whole, "opt": (2.0, 5.0)}),
            ({**cover, "bounds": (0, 4), "private": np.arange(40) > 3}, whole),
            ({**cover, "penalty": 5.0}, {**whole, "width": 4.0}),
            (
                {**pack, "neighbours": privlp.ScalarPrivate(0.1, norm="1", lower=5, upper=9)},
                _ALWAYS,
            ),
            ({**cover, "neighbours": privlp.ScalarPrivate(0.01)}, {"opt": 3.0}),
            ({**cover, "neighbours": privlp.RowPrivate(0.01, lower=-1, upper=0)}, {"opt": 3.0}),
            ({**cover, "neighbours": privlp.ColumnPrivate(0.001), "bounds": (0, 9)}, {}),
            ({**cover, "neighbours": privlp.ObjectivePrivate(0.01, lower=0, upper=5)}, {}),
            ({**cover, "neighbours": two}, {"split": (2, 1)}),
        )
    )


_ALWAYS = {"feasible": "always"}
_METHODS = ("auto", "", "simplex", *METHODS)


def _pair(rng: Random) -> Any:
    pair, one = odd.twisted(rng, np.array([1.0, 5.0])), odd.number(rng)
    return rng.choice((one, (odd.number(rng), odd.number(rng)), [1, 5], pair, odd.thing(rng)))


def _request(rng: Random, fitting: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    usual = {"eps": rng.choice((1.0, 0.1, 10, math.inf)), "delta": rng.choice((1e-6, 1e-3, 0.0))}
    changes = rng.choice((0, 1, 1, 2))
    given = odd.parameters(rng, {**usual, **fitting}, ("s", "alpha"), changes=changes)
    if rng.random() < 0.3:
        given["alpha"] = rng.choice((0.5, 5.0, 0.05, odd.number(rng)))
    for name in ("opt", "width", "split"):
        if rng.random() < 0.1:
            given[name] = _pair(rng)
    return given, {name: given.pop(name, None) for name in ("feasible", "split")}


def solve(rng: Random, folder: Path) -> None:
    lp, fitting = rng.choice(_programs())
    given, more = _request(rng, fitting)
    more |= {"rng": 0, "time_limit": 1.0}
    if rng.random() < 0.3:
        more["method"] = rng.choice(_METHODS)
    if rng.random() < 0.2:
        name = rng.choice(("method", "feasible", "budget", "rng", "time_limit"))
        more[name] = odd.number(rng) if name in ("rng", "time_limit") else odd.thing(rng)
        if callable(more[name]):
            del more[name]  # a method of the caller's own, with errors of its own
    if rng.random() < 0.2:
        eps = rng.choice((0.5, 1.0, 20.0, math.inf))
        more["budget"] = privlp.Budget(eps, rng.choice((0.0, 1e-6, 0.5)))
    if rng.random() < 0.02:
        lp = odd.thing(rng)
    solution = privlp.solve(lp, **given, **more)
    assert solution.privacy.eps <= solution.privacy.eps_limit
    if solution.x is not None:
        assert np.isfinite([*solution.x, solution.objective or 0.0]).all()
    assert str(solution.privacy)
    if rng.random() < 0.2:
        solution.save(folder / "solution.json")
        privlp.Solution.load(folder / "solution.json")
        (folder / "solution.json").unlink()


def plan(rng: Random, folder: Path) -> None:
    lp, fitting = rng.choice(_programs())
    given, _ = _request(rng, fitting)
    assert str(privlp.plan(lp if rng.random() < 0.98 else odd.thing(rng), **given))


def reports(rng: Random, folder: Path) -> None:
    lp, _ = rng.choice(_programs())
    points = (np.ones(3), np.zeros(3), np.array([1e300, -1e300, 1e308]))
    x = rng.choice((*points, programs.perhaps_twisted(rng, odd.numbers(rng, 3)), odd.thing(rng)))
    if rng.random() < 0.5:
        given = odd.parameters(rng, {"eps": 1.0}, ("alpha", "budget"), changes=1) | {"rng": 0}
        assert str(privlp.quality(lp, x, **given))
        return
    comparison = privlp.compare(lp, x, _exact(lp) if rng.random() < 0.9 else odd.thing(rng))
    assert repr(comparison)
    comparison.violation_at(odd.number(rng))
    comparison.n_violated(odd.number(rng))


@cache
def _exact(lp: privlp.LinearProgram) -> privlp.ExactSolution:
    return privlp.solve_exact(lp)


def audit(rng: Random, folder: Path) -> None:
    number = range(rng.randint(1, 3))
    outcomes = [odd.number(rng) if rng.random() < 0.5 else odd.thing(rng) for _ in number]
    if rng.random() < 0.7:
        sound = ([1, 2], ["a", "b"], [0.5, 1.5], [np.zeros(2), np.ones(2)], [[1.0], [2.0]])
        outcomes = rng.choice((*sound, [True, None], [(1,), (2,)]))
    usual, changes = {"eps": 1.0, "delta": 0.0}, rng.choice((0, 1))
    given = odd.parameters(rng, usual, ("runs", "confidence"), changes=changes)
    runs = given.get("runs")
    if runs is None or (isinstance(runs, int | np.integer) and runs > 1000):
        given["runs"] = rng.choice((100, 100, 150))
    # Of what is masked, NumPy's own warning tells.
    outcomes = ["masked" if outcome is np.ma.masked else outcome for outcome in outcomes]

    def mechanism(data: Any, source: np.random.Generator) -> Any:
        return outcomes[int(source.integers(len(outcomes)))]

    assert str(privlp.audit(mechanism, 0, 1, rng=0, **given))


#: Every target, with its part of a long run.
TARGETS: dict[Callable[[Random, Path], int | None], int] = {
    programs.constructor: 25_000,
    programs.from_linprog: 12_000,
    programs.from_cvxpy: 4_000,
    modellers.from_model: 4_000,
    programs.relations: 6_000,
    programs.budgets: 2_000,
    programs.selections: 25_000,
    estimators: 10_000,
    from_mps: 25_000,
    solution_load: 10_000,
    training_file: 10_000,
    solve: 2_000,
    plan: 2_500,
    reports: 5_000,
    audit: 2_000,
    privlp_cli: 2_500,
    svm_cli: 2_500,
    processes: 20,
}
