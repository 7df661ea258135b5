"""Private model selection: the price of one, the right choice without noise, messages."""

import math
import re

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, scale

import svm_models as sm
from privlp import Budget, BudgetExceededError, InvalidParameterError, InvalidProblemError
from privlp.audits.tape import Tape, differences, largest_changes
from svm_models.around_fits import learns_nothing

#: Classes are left out here where they do not matter.
pytestmark = pytest.mark.filterwarnings("ignore:The two classes are read from the records")
X, Y = sm.make_separable_sphere(3_000, n_features=4, random_state=0)
SVC = sm.ObjectivePerturbationSVC
GRID = [SVC(eps=1.0, reg=reg) for reg in (100.0, 1e-2, 1e-3)]


def test_it_costs_what_one_candidate_costs():
    tuned = sm.PrivateModelSelector(GRID, eps=1.0, random_state=0).fit(X, Y)
    assert not hasattr(GRID[0], "coef_")
    assert GRID[0].budget is None
    assert 0.999 < tuned.privacy_.eps <= 1.0
    assert tuned.privacy_.delta == 2.0**-92  # the chance of one candidate
    assert len(tuned.privacy_.entries) == 7
    assert re.search(r"choose a candidate, part 4 of the records", str(tuned.privacy_))


def test_candidates_of_several_kinds_cost_the_dearest():
    mixed = [
        sm.ObjectivePerturbationSVC(eps=0.3),
        sm.OutputPerturbationLogisticRegression(eps=0.5, delta=1e-7),
        sm.DMWSVC(0.8, 1e-6),
    ]
    tuned = sm.PrivateModelSelector(mixed, eps=0.8, delta=1e-6, random_state=0).fit(X, Y)
    assert 0.6 < tuned.privacy_.eps <= 0.8


@pytest.mark.parametrize("eps", [0.3, 4.0])
def test_candidates_take_eps_and_delta_from_the_selector(eps):
    grid = [
        sm.ObjectivePerturbationSVC(),
        make_pipeline(sm.RandomFourierFeatures(1.0, 5, random_state=0), sm.PrivateLPSVC()),
        sm.DMWSVC(eps=0.2),
        sm.PrivateModelSelector([sm.OutputPerturbationLogisticRegression(reg=0.1)]),
    ]
    tuned = sm.PrivateModelSelector(grid, eps=eps, delta=1e-7, random_state=0)
    taken = []
    for i in range(4):
        candidates = [grid[i]]
        chosen = tuned.set_params(estimators=candidates).fit(X, Y).best_estimator_
        taken.append(chosen[-1] if i == 1 else chosen)
        assert tuned.privacy_.eps <= eps
    assert [(c.eps, c.delta) for c in taken] == [(eps, 1e-7)] * 2 + [(0.2, 1e-7), (eps, 1e-7)]
    inner = taken[-1].best_estimator_
    assert (inner.eps, inner.delta) == (eps, 1e-7)
    assert (grid[0].eps, grid[0].delta) == (1.0, 0.0)


@pytest.mark.parametrize("wrong", [{"radius": -1.0}, {"rounds": 2.5}, {"data_norm": 0}])
def test_a_candidate_that_refuses_to_be_trained_costs_nothing(wrong):
    budget, candidates = Budget(1.0, 1e-6), [sm.PrivateLPSVC(), sm.PrivateLPSVC(**wrong)]
    tuned = sm.PrivateModelSelector(candidates, delta=1e-6, classes=(-1, 1), budget=budget)
    with pytest.raises(InvalidParameterError, match=next(iter(wrong))):
        tuned.fit(X, Y)
    assert budget.spent() == 0.0


def test_a_candidate_that_needs_delta_is_refused_before_anything_is_spent():
    budget, whitened = Budget(1.0, 1e-6), sm.ObjectivePerturbationSVC(whiten=True)
    for first in (sm.PrivateLPSVC(), sm.PrivateModelSelector([sm.PrivateLPSVC()]), whitened):
        with pytest.raises(InvalidParameterError, match=r"Candidate 0 \(\w+SVC\) adds Gaus"):
            sm.PrivateModelSelector([first], eps=0.5, budget=budget).fit(X, Y)
    assert budget.spent() == 0.0
    sm.PrivateModelSelector([sm.PrivateLPSVC()], eps=math.inf, random_state=0).fit(X, Y)
    asked = {"eps": 0.5, "delta": 1e-6, "random_state": 0}
    assert sm.PrivateModelSelector([whitened], **asked).fit(X, Y).best_estimator_.delta == 1e-6


def test_the_chosen_candidate_cannot_be_refitted_at_the_price_of_a_part():
    """Parts pay for their own records; a refit on all of them opens an account of its own."""
    budget = Budget(1.0, 0.0)
    tuned = sm.PrivateModelSelector(GRID, eps=1.0, budget=budget, random_state=0).fit(X, Y)
    refitted = tuned.best_estimator_.fit(X, Y)
    assert refitted.budget is None
    assert len(refitted.privacy_.entries) == 2
    assert len(budget.entries) == 7


def test_a_part_is_closed_after_the_fit(monkeypatch):
    seen = []
    original = sm.ObjectivePerturbationSVC.fit

    def spy(self, records, labels):
        seen.append(self.budget)
        return original(self, records, labels)

    monkeypatch.setattr(sm.ObjectivePerturbationSVC, "fit", spy)
    sm.PrivateModelSelector([sm.ObjectivePerturbationSVC(eps=0.1)], eps=1.0, random_state=0).fit(
        X, Y
    )
    with pytest.raises(BudgetExceededError, match="This budget is closed"):
        sm.ObjectivePerturbationSVC(eps=0.1, budget=seen[0]).fit(X, Y)


def test_too_few_records_are_refused():
    with pytest.raises(InvalidProblemError, match="6 records are too few for 4 parts; give at lea"):
        sm.PrivateModelSelector(GRID, eps=1.0).fit(X[:6], np.array([1, -1, 1, -1, 1, -1]))


FOUR = [
    make_pipeline(FunctionTransformer(np.tanh), sm.PrivateLPSVC(rounds=5)),
    *(sm.PrivateLPSVC(radius=radius, rounds=5) for radius in (0.1, 1.0, 10.0)),
]
SPLIT = {"delta": 1e-6, "validation_fraction": 0.25, "classes": (-1, 1), "random_state": 0}


def test_candidates_on_one_part_share_eps():
    tuned = sm.PrivateModelSelector(FOUR, eps=1.0, **SPLIT).fit(X, Y)
    assert 0.999 < tuned.privacy_.eps <= 1.0
    choice, *trained = tuned.privacy_.entries
    assert choice.purpose == "choose a candidate, part 2 of the records"
    assert {entry.purpose[-21:] for entry in trained} == {"part 1 of the records"}
    alone = sm.PrivateLPSVC(1.0, 1e-6, rounds=5, fallback=False, classes=(-1, 1), random_state=0)
    half = "release half of the sum of records"
    before, *found = (
        float(entry.parameter.rpartition(" = ")[2])
        for record in (alone.fit(X[:2250], Y[:2250]).privacy_, tuned.privacy_)
        for entry in record.entries
        if entry.purpose.startswith(half)
    )
    assert len(found) == 4
    assert found == pytest.approx([2 * before] * 4, rel=0.15)  # sqrt 4
    counted = sm.PrivateModelSelector(FOUR, eps=1.0, **SPLIT, relation="add-remove")
    assert 0.99 < counted.fit(X, Y).privacy_.eps <= 1.0
    assert counted.best_estimator_ is not None


def test_a_twin_in_which_each_takes_all_of_eps_is_refused(monkeypatch):
    def all_of_it(self, classifiers, eps, delta):
        return {"eps": eps, "delta": delta / 4}, Budget(eps, delta, composition="planned")

    monkeypatch.setattr(sm.PrivateModelSelector, "_split", all_of_it)
    with pytest.raises(BudgetExceededError):
        sm.PrivateModelSelector(FOUR, eps=1.0, **SPLIT).fit(X, Y)


@pytest.mark.parametrize("added", [{}, {"relation": "add-remove", "nominal_n": 3_000}])
def test_no_record_trains_and_compares(added, monkeypatch):
    parts = []
    monkeypatch.setattr(
        sm.PrivateModelSelector,
        "_mistakes",
        lambda self, one, part, randomness, train, test: parts.append((train[0], test[0])) or 0,
    )
    numbered = np.arange(3_000.0)[:, None]
    sm.PrivateModelSelector(FOUR, eps=1.0, **SPLIT, **added).fit(numbered, Y)
    train, test = (set(np.ravel(part)) for part in parts[0])
    assert len(parts) == 4
    assert all(set(np.ravel(part)) == train for part, _ in parts)
    assert len(train | test) == len(train) + len(test) == 3_000
    assert len(test) == pytest.approx(750, abs=100 if added else 0)


@pytest.mark.parametrize("changed", range(4))
def test_a_record_moves_no_more_than_is_charged(changed):
    first = Tape(0, quiet=True)
    x, y = X[:40].copy(), Y[:40].copy()
    sm.PrivateModelSelector(FOUR, eps=1.0, **SPLIT | {"random_state": first}).fit(x, y)
    x[changed], y[changed] = -x[changed], y[changed]
    second = Tape(0, replay=first)
    sm.PrivateModelSelector(FOUR, eps=1.0, **SPLIT | {"random_state": second}).fit(x, y)
    assert differences(first, second) == []
    moved = largest_changes(first, second)
    assert 0 < max(moved.values()) <= 1 + 1e-9
    # Either the choice moves, or what was trained.
    assert (moved.pop("choose a candidate") > 0) != (max(moved.values()) > 0)


def test_without_noise_the_best_is_chosen():
    tuned = sm.PrivateModelSelector(FOUR, eps=math.inf, **SPLIT).fit(X, Y)
    alone = sm.PrivateLPSVC(math.inf, 1e-6, rounds=5, classes=(-1, 1))
    scores = [alone.set_params(radius=radius).fit(X, Y).score(X, Y) for radius in (0.1, 10.0)]
    assert tuned.score(X, Y) >= max(scores) - 0.02


def test_what_a_split_refuses():
    for fraction in (0.0, 1.0, "a fifth"):
        with pytest.raises(InvalidParameterError, match="validation_fraction must be"):
            sm.PrivateModelSelector(FOUR, **SPLIT | {"validation_fraction": fraction}).fit(X, Y)
    given = [sm.PrivateLPSVC(), sm.PrivateLPSVC(eps=0.9)] * 2
    with pytest.raises(InvalidParameterError, match=r"Candidate 1 asks for eps = 0\.9, delta = 2"):
        sm.PrivateModelSelector(given, eps=1.0, **SPLIT).fit(X, Y)


def test_a_function_of_whole_columns_learns_from_records():
    assert learns_nothing(FunctionTransformer(np.log1p))
    assert not learns_nothing(FunctionTransformer(scale))
