"""No planted number comes out of any path, and nothing but releases tells one private part from another."""

import gc
import pickle
import sys
import weakref
from importlib import import_module

import numpy as np
import pytest

import privlp
import svm_models
from privlp import BudgetExceededError
from tests.effort import THOROUGH
from tests.planted import programs
from tests.planted.interruptions import interrupted_subject, subjects
from tests.planted.paths import quick_paths
from tests.planted.programs import DELTA, PROGRAMS, Mint, methods_of, problem, request_of
from tests.planted.search import leaves
from tests.planted.watch import ended_as_expected, try_path

PATHS = quick_paths()
PARTS = 40


@pytest.mark.parametrize("part", range(PARTS))
def test_nothing_leaks(part, monkeypatch):
    if not THOROUGH:  # pictures of plans ask for predictions at other eps: at two, not thirteen
        few = np.array([0.25, 4.0])
        monkeypatch.setattr(import_module("privlp.plan"), "_EPSILONS_AROUND", few)
    assert_tight(PATHS[part::PARTS])


@pytest.mark.parametrize("subject", subjects(dear=False))
def test_nothing_leaks_from_an_interrupted_call(subject):
    assert_tight(interrupted_subject(subject, dear=False))


def assert_tight(paths):
    found = {}
    for path in paths:
        seen, leaks = try_path(path)
        if leaks or not ended_as_expected(path, seen):
            found[path.name] = [repr(seen.error), *map(str, leaks)]
    assert found == {}


def test_many_paths_are_tried(record_testsuite_property):
    record_testsuite_property("planted paths", len(PATHS))
    assert len({path.name for path in PATHS}) == len(PATHS) > 500
    assert sum(path.twins for path in PATHS) > 150


def fresh(name):
    """A program that nobody else holds, and weak references to its private arrays."""
    lp = PROGRAMS[name][0](Mint())
    return lp, [weakref.ref(part) for part in (lp, lp.A, lp.b)]


@pytest.mark.parametrize(
    ("name", "method"),
    [
        *(("replace", method) for method in ("dmw", "staged", "chain")),
        *(("scalar", method) for method in ("mw", "direct-noise")),
    ],
)
def test_a_solution_keeps_no_program_alive(name, method):
    lp, parts = fresh(name)
    budget = privlp.Budget(2.0, 1e-3)
    kept = [privlp.solve(lp, 1.0, DELTA, budget=budget, rng=0, **request_of(name, method)), budget]
    del lp
    gc.collect()
    assert all(part() is None for part in parts)
    assert kept[0].success


def test_a_refused_call_keeps_no_program_alive():
    lp, parts = fresh("replace")
    with pytest.raises(privlp.InvalidParameterError) as caught:
        privlp.solve(lp, 1.0, DELTA, 10_000, method="staged", opt=9.0)
    error = caught.value.with_traceback(None)
    del lp, caught
    gc.collect()
    assert all(part() is None for part in parts)
    assert "s must be" in str(error)


@pytest.mark.parametrize(
    "estimator",
    [
        svm_models.OutputPerturbationSVC(classes=(-1, 1)),
        svm_models.ObjectivePerturbationSVC(classes=(-1, 1)),
        svm_models.DMWSVC(radius=3.0, alpha=1.0, classes=(-1, 1)),
        svm_models.PrivateLPSVC(classes=(-1, 1)),
        svm_models.PrivateModelSelector([svm_models.ObjectivePerturbationSVC()], classes=(-1, 1)),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_a_fitted_classifier_keeps_no_records_alive(estimator):
    data = programs.records()
    X, y = data.X.copy(), data.y.copy()
    parts = [weakref.ref(X), weakref.ref(y)]
    estimator.fit(X, y)
    del X, y
    gc.collect()
    assert all(part() is None for part in parts)


def test_modules_keep_no_private_numbers():
    """Caches and other state of the package, after a call of each kind."""
    given, data = problem("replace"), programs.records()
    for method in methods_of("replace"):
        programs.solve(given, **request_of("replace", method))
    svm_models.PrivateLPSVC(classes=(-1, 1), random_state=0).fit(data.X, data.y)
    state = [
        {key: value for key, value in vars(module).items() if not key.startswith("__")}
        for name, module in sorted(sys.modules.items())
        if name.partition(".")[0] in ("privlp", "svm_models")
    ]
    numbers = [leaf for _, leaf in leaves(state) if isinstance(leaf, np.ndarray)]
    assert len(numbers) > 100
    for secrets in (given.secrets, data.secrets):
        assert not secrets.among(np.concatenate(numbers)).any()


def test_a_plan_does_not_go_to_a_file_with_its_program():
    """A plan holds the program, to draw predictions for other eps; so it cannot be pickled."""
    given = problem("replace")
    planned = privlp.plan(given.lp, 1.0, DELTA, 3, opt=9.0)
    with pytest.raises(BudgetExceededError):
        pickle.dumps(planned)
