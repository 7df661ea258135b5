"""What every method of `solve` and every private estimator inherits: draws are paid for; and the limit of estimators without noise is right."""

import inspect
import math
import random
from collections import Counter

import numpy as np
import pytest

import privlp
import svm_models
from privlp import Budget
from privlp.methods import SolveRequest
from privlp.privacy import Ledger
from privlp.relations import NeighbourRelation
from svm_models.classifiers.base import PrivateLinearClassifier
from svm_models.regression.base import PrivateLinearRegressor
from tests.effort import covering as covering_cases
from tests.every_method import RELATIONS
from tests.planted import programs
from tests.planted.draws import Draws
from tests.planted.programs import DELTA, INF, PROGRAMS, methods_of, problem, request_of
from tests.planted.successes import ESTIMATORS
from tests.programs import ALL, methods_for

pytestmark = pytest.mark.usefixtures("short_advice")

ALL_SOLVES = [(name, method) for name in PROGRAMS for method in methods_of(name)]
#: Each program and each method, and each method on the plain relations; all pairs in a thorough run.
SOLVES = [
    *covering_cases(ALL_SOLVES, together=1),
    *(pair for pair in ALL_SOLVES if pair[0] in ("replace", "add-remove", "scalar")),
]
#: What a classifier draws that protects nobody: who is dealt into which part.
PUBLIC_DRAWS = {"PrivateModelSelector": {"permutation", "shuffle"}}
#: These pay for what they buy, or for each fit, and then for the rest. Others pay before any draw.
IN_TURN = ("DMWSVC", "DMWSVC, soft", "PrivateModelSelector", "PrivateOneVsRestClassifier")


def solving(name, method, variant=0):
    def call(budget, generator):
        request = {"budget": budget, "rng": generator, **request_of(name, method)}
        return privlp.solve(problem(name, variant).lp, 1.0, DELTA, **request)

    return call


def fitting(name, variant=0):
    def call(budget, generator):
        data = programs.records(variant)
        paid = {"eps": 1.0, "budget": budget, "random_state": generator}
        return ESTIMATORS[name](classes=(-1, 1), **paid).fit(data.X, data.y)

    return call


def reporting(name, variant=0):
    def call(budget, generator):
        lp = problem(name, variant).lp
        return privlp.quality(lp, np.ones(lp.shape[1]), 0.5, budget=budget, rng=generator)

    return call


CASES = {
    **{f"solve {name} {method}": (solving, (name, method)) for name, method in SOLVES},
    **{f"quality {of}": (reporting, (of,)) for of in ["replace", "add-remove", "scalar"]},
    "quality all parts": (reporting, ("all parts",)),
    **{f"fit {name}": (fitting, (name,)) for name in ESTIMATORS},
}


def global_state():
    return random.getstate(), repr(np.random.get_state(legacy=False))  # noqa: NPY002


@pytest.fixture
def paid(monkeypatch):
    """How many draws of each mechanism were paid for."""
    counts, charge_together = Counter(), Ledger.charge_together

    def counting(ledger, requests, *arguments, **options):
        draws = charge_together(ledger, requests, *arguments, **options)
        counts.update(m.of_draw(t, count) for m, count, _ in requests for t in range(count))
        return draws

    monkeypatch.setattr(Ledger, "charge_together", counting)
    return counts


@pytest.mark.parametrize("case", CASES)
def test_what_is_drawn_is_what_was_paid_for(case, monkeypatch, paid):
    """Draw by draw: paid before it is made, all that is paid is drawn, and nothing is drawn outside a mechanism."""
    make, arguments = CASES[case]
    budget, drawn, unseeded = Budget(2.0, 0.01), Counter(), []
    fresh = np.random.default_rng
    monkeypatch.setattr(
        np.random, "default_rng", lambda seed=None: unseeded.append(seed) or fresh(seed)
    )

    def before(mechanism):
        drawn[mechanism] += 1
        assert drawn[mechanism] <= paid[mechanism], "drawn before it was paid for"

    state = global_state()
    with Draws(before=before) as draws:
        result = make(*arguments)(budget, draws.generator())
    assert drawn == paid
    assert sum(drawn.values()) == sum(entry.draws for entry in budget.entries) > 0
    assert set(draws.outside) <= PUBLIC_DRAWS.get(arguments[0], set())
    assert None not in unseeded
    assert global_state() == state
    record = getattr(result, "privacy", None) or result.privacy_
    assert Counter(record.entries) <= Counter(budget.entries)
    assert record.eps <= 1.0
    assert budget.spent() <= 1.0 + 1e-9
    other = Budget(2.0, 0.01)
    with Draws(replay=draws) as again:
        make(*arguments, variant=1)(other, 0)
    assert not again.strayed
    assert other.entries == budget.entries
    if arguments[0] not in IN_TURN:
        interrupted = Budget(2.0, 0.01)
        with pytest.raises(KeyboardInterrupt), Draws(before=stop):
            make(*arguments)(interrupted, 0)
        assert interrupted.entries == budget.entries


def stop(mechanism):
    raise KeyboardInterrupt


X = np.random.default_rng(0).normal(size=(60, 2))
X /= np.linalg.norm(X, axis=1, keepdims=True)
X[:, 0] = np.copysign(np.maximum(np.abs(X[:, 0]), 0.4), X[:, 0])
X *= 0.8
Y = np.where(X[:, 0] > 0, 1, -1)
HUBER = svm_models.HuberSVC(1e-2).fit(X, Y).coef_
LOGISTIC = svm_models.RegularizedLogisticRegression(1e-2).fit(X, Y).coef_


def is_the_minimiser(exact):
    def check(estimator):
        estimator.set_params(reg=1e-2, fit_intercept=False)
        np.testing.assert_allclose(estimator.fit(X, Y).coef_, exact, atol=1e-7)

    return check


def keeps_all_but_s_margins(estimator):
    """Margins of all but s records within alpha of 1, per unit of a record's norm, at the radius of the exact program."""
    radius = float(np.abs(svm_models.LPSVC(C=100.0).fit(X, Y).coef_).sum())
    alpha = 2.0 if estimator.method == "dmw-published" else 0.7
    estimator.set_params(s=0.05, alpha=alpha, radius=radius, score="distance", form="hard")
    margins = Y * estimator.fit(X, Y).decision_function(X)
    assert np.count_nonzero(margins < 1 - alpha * math.sqrt(2)) <= 0.05 * len(Y)


def is_the_private_program_without_noise(estimator):
    estimator.set_params(s=5, alpha=12.0, radius=30.0, C=0.5)
    lp = svm_models.soft_margin_lp(X, Y.astype(float), 0.5)
    x = privlp.solve(lp, INF, 0.0, s=5, alpha=12.0, opt=30.0, method=estimator.method).x
    p = X.shape[1]
    np.testing.assert_allclose(estimator.fit(X, Y).coef_[0], x[:p] - x[p : 2 * p])


def is_the_minimiser_over_a_ball(loss, radius):
    """More rounds come to where more rounds still do not move the loss."""

    def check(estimator):
        losses = []
        for rounds in (20, 100, 300):
            estimator.set_params(radius=radius, rounds=rounds).fit(X, Y)
            losses.append(np.mean(loss.value(Y * estimator.decision_function(X))))
        assert losses[0] > losses[1] >= losses[2] - 1e-9
        assert losses[1] - losses[2] < 1e-3

    return check


def chooses_the_fewest_mistakes(estimator):
    estimator.fit(X, Y)
    hopeless = svm_models.OutputPerturbationSVC(eps=1e-6, random_state=0)
    estimator.set_params(estimators=[hopeless, *estimator.estimators]).fit(X, Y)
    assert estimator.best_index_ > 0


def selects_the_margins_it_counts(estimator):
    """Every selected vertex counts the most records: one feature alone, where one separates."""
    one = np.c_[Y * 0.9, np.zeros(len(Y))]
    np.testing.assert_allclose(estimator.fit(one, Y).coef_, [[3.0, 0]])


def has_nearly_the_least_loss(loss, exact):
    """Of residuals, beside the exact fit."""

    def check(estimator):
        y = np.clip(X @ [0.4, -0.3] + 0.05 * np.sin(37 * np.arange(len(X))), -1, 1)
        best = np.mean(loss(y - exact.fit(X, y).predict(X)))
        found = np.mean(loss(y - estimator.fit(X, y).predict(X)))
        assert best - 1e-9 <= found <= 1.02 * best

    return check


def is_each_class_against_the_rest(estimator):
    data = programs.records()
    estimator.set_params(classes=(-1, 1, 7)).fit(data.X, data.y)
    for label, one in zip((-1, 1, 7), estimator.estimators_, strict=True):
        alone = svm_models.PrivateLPSVC(INF, DELTA, classes=(0, 1), fit_intercept=False)
        assert np.allclose(one.coef_, alone.fit(data.X, (data.y == label).astype(int)).coef_)


CLASSIFIER_LIMITS = {
    "OutputPerturbationSVC": is_the_minimiser(HUBER),
    "OutputPerturbationLogisticRegression": is_the_minimiser(LOGISTIC),
    "OutputPerturbationClassifier": is_the_minimiser(LOGISTIC),
    "ObjectivePerturbationSVC": is_the_minimiser(HUBER),
    "ObjectivePerturbationLogisticRegression": is_the_minimiser(LOGISTIC),
    "ObjectivePerturbationClassifier": is_the_minimiser(LOGISTIC),
    "DMWSVC": keeps_all_but_s_margins,
    "DMWSVC, count": selects_the_margins_it_counts,
    "DMWSVC, published": keeps_all_but_s_margins,
    "DMWSVC, soft": is_the_private_program_without_noise,
    "PrivateLPSVC": is_the_minimiser_over_a_ball(svm_models.classifiers.risk.huber(), 2.0),
    "PrivateClassifier": is_the_minimiser_over_a_ball(svm_models.classifiers.risk.logistic(), 5.0),
    "PrivateQuantileRegressor": has_nearly_the_least_loss(
        lambda r: np.maximum(0.6 * r, -0.4 * r), svm_models.LPQuantileRegressor(0.6)
    ),
    "PrivateLPSVR": has_nearly_the_least_loss(
        lambda r: np.maximum(0, abs(r) - 0.02), svm_models.LPSVR(C=1e4, epsilon=0.02)
    ),
    "PrivateModelSelector": chooses_the_fewest_mistakes,
    "PrivateOneVsRestClassifier": is_each_class_against_the_rest,
}


@pytest.mark.parametrize("name", CLASSIFIER_LIMITS)
def test_without_noise_a_classifier_approaches_the_exact_one(name):
    estimator = ESTIMATORS[name](eps=INF)
    if name == "PrivateLPSVR":
        estimator.set_params(epsilon=0.02)
    CLASSIFIER_LIMITS[name](estimator)
    assert not estimator.privacy_.private


def concrete(kind):
    yield from () if getattr(kind, "__abstractmethods__", ()) else (kind,)
    for child in kind.__subclasses__():
        yield from concrete(child)


def test_every_method_of_every_relation_has_entries():
    tried = {(type(problem(name).lp.neighbours), method) for name, method in ALL_SOLVES}
    of_all = RELATIONS.values()
    known = {(type(of), method) for of in of_all for method in methods_for(of)}
    assert known <= tried
    assert {method for _, method in known} == set(ALL)
    ours = {kind for kind in concrete(NeighbourRelation) if kind.__module__.startswith("privlp.")}
    assert {kind for kind, _ in tried} == {kind for kind, _ in known} == ours


def test_every_private_classifier_has_entries():
    exported = {name for name in svm_models.__all__ if isinstance(getattr(svm_models, name), type)}
    bases = PrivateLinearClassifier | PrivateLinearRegressor
    private = {name for name in exported if issubclass(getattr(svm_models, name), bases)}
    private |= {"PrivateModelSelector", "PrivateOneVsRestClassifier"}
    assert {name.partition(",")[0] for name in ESTIMATORS} == private
    assert set(CLASSIFIER_LIMITS) == set(ESTIMATORS)
    found = {name: getattr(svm_models, name) for name in exported}
    found = {name: inspect.signature(f) for name, f in found.items() if hasattr(f, "get_params")}
    claimed = {name for name, signature in found.items() if "eps" in signature.parameters}
    assert claimed == private | {"DualPerturbationSVC"}


@pytest.mark.parametrize("method", ["chain", "staged", "perturbed"])
def test_a_row_with_two_sides_is_missed_once_and_noise_is_for_that(method):
    A = np.random.default_rng(0).uniform(0.2, 1, (400, 3))
    one = privlp.LinearProgram(np.ones(3), A, np.full(400, 2.0), bounds=(0, 9))
    two = one.changed(row_lower=np.full(400, 0.5))
    assert (one.public().rows, two.public().rows, two.public().n) == (400, 400, 800)
    for lp in (one, two):
        solution = privlp.solve(lp, 1.0, 1e-6, s="5%", method=method, rng=0)
        words = "missed", "count violated rows", "the answer misses"
        found = [of for of in solution.privacy.entries if any(word in of.purpose for word in words)]
        assert len(found) >= 2
        assert {of.sensitivity for of in found} == {1.0}
        assert solution.missed.high <= 400
    request = SolveRequest.of(two, 1.0, 1e-6, s="5%")
    assert (request.density(), request.most_missed) == (20.0, 400)
    with pytest.raises(privlp.InvalidParameterError, match="number of private rows, 400; got 401"):
        privlp.solve(two, 1.0, 1e-6, s=401)
    mixed = two.changed(penalty=np.where(np.arange(400) < 30, np.inf, 1.0))
    request = SolveRequest.of(mixed, 1.0, 1e-6, s="10%")
    assert (request.density(), request.most_missed) == (3.0, 30)
