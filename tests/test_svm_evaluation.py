"""Cross-validation."""

import json

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.dummy import DummyClassifier
from sklearn.metrics import balanced_accuracy_score, roc_auc_score
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline

from privlp import Budget, InvalidParameterError
from svm_models import (
    DMWSVC,
    HuberSVC,
    MarginLoss,
    OutputPerturbationClassifier,
    OutputPerturbationSVC,
    cross_validate,
    evaluation,
    make_separable_sphere,
)
from svm_models.classifiers.losses import logistic
from svm_models.evaluation import CrossValidation, ResultStore

X, Y = make_separable_sphere(90, random_state=0)


def private(eps=1.0, **options):
    return OutputPerturbationSVC(eps=eps, reg=0.1, classes=(-1, 1), **options)


MODELS = {"huber": HuberSVC(reg=0.1), "private": private()}


@pytest.fixture
def fits(monkeypatch):
    """The settings of every fit that was run."""
    run, one_fit = [], evaluation._one_fit

    def noted(model, X, y, split, settings):
        run.append(settings)
        return one_fit(model, X, y, split, settings)

    monkeypatch.setattr(evaluation, "_one_fit", noted)
    return run


# what is measured


def test_random_classifiers_are_repeated_and_others_are_not():
    found = cross_validate(MODELS, X, Y, folds=4, repeats=3)
    assert list(found) == ["huber", "private"]
    assert found["huber"].errors.shape == (4, 1)
    assert found["private"].errors.shape == (4, 3)
    for result in found.values():
        assert ((result.errors >= 0) & (result.errors <= 1)).all()
    assert (found["private"].errors.std(axis=1) > 0).any()


def test_errors_are_shares_of_wrong_test_records():
    found = cross_validate({"huber": HuberSVC(reg=0.1)}, X, Y, folds=5, random_state=3)["huber"]
    for fold, (train, test) in enumerate(KFold(5, shuffle=True, random_state=3).split(X)):
        predicted = HuberSVC(reg=0.1).fit(X[train], Y[train]).predict(X[test])
        assert found.errors[fold, 0] == np.mean(predicted != Y[test])


def test_scores_are_those_of_scikit_learn():
    model = DMWSVC(radius=5.0, classes=(-1, 1), threshold_share=0.5)
    found = cross_validate({"dmw": model}, X, Y, folds=3)["dmw"]
    for fold, (train, test) in enumerate(KFold(3, shuffle=True, random_state=0).split(X)):
        seed = int(np.random.SeedSequence([fold, 0, 0]).generate_state(1)[0])
        fitted = clone(model).set_params(random_state=seed).fit(X[train], Y[train])
        expected = (
            1 - fitted.score(X[test], Y[test]),
            balanced_accuracy_score(Y[test], fitted.predict(X[test])),
            roc_auc_score(Y[test], fitted.decision_function(X[test])),
        )
        got = found.errors[fold, 0], found.balanced[fold, 0], found.auc[fold, 0]
        assert got == pytest.approx(expected)
    assert found.said("auc") == f"{found.auc.mean():.4f} ± {found.auc.std(ddof=1) / 3**0.5:.4f}"


def test_without_decisions_there_is_no_area():
    found = cross_validate({"fixed": DummyClassifier()}, X, Y, folds=3)["fixed"]
    assert (found.said("auc"), found.said("balanced")) == ("–", "0.5000 ± 0.0000")


def test_relations_are_not_compared(fits):
    mixed = {"a": private(), "b": make_pipeline(private(relation="add-remove", nominal_n=60))}
    with pytest.raises(InvalidParameterError, match=r"different relations \(add-remove, replace\)"):
        cross_validate(mixed, X, Y)
    assert fits == []
    cross_validate({"b": mixed["b"], "exact": HuberSVC()}, X, Y, folds=2)


def test_an_older_store_of_errors_alone_is_measured_anew(tmp_path, fits):
    store = ResultStore(tmp_path / "results.jsonl")
    cross_validate({"huber": HuberSVC()}, X, Y, folds=2, store=store)
    for settings in list(fits):
        store.add(settings, 0.25)
    fits.clear()
    found = cross_validate({"huber": HuberSVC()}, X, Y, folds=2, store=store)["huber"]
    assert len(fits) == 2
    assert found.auc.min() > 0.5


def test_the_repeats_follow_the_random_state(monkeypatch):
    """As its description says; two runs with different seeds then average to something."""
    seeds = []
    monkeypatch.setattr(
        OutputPerturbationSVC,
        "fit",
        lambda self, X, y: seeds.append(self.random_state) or HuberSVC.fit(self, X, y),
    )
    monkeypatch.setattr(OutputPerturbationSVC, "_train", lambda self, X, *rest: X[0])
    for random_state in (1, 2):
        cross_validate({"private": private()}, X, Y, folds=2, repeats=2, random_state=random_state)
    assert len(set(seeds)) == 8


def test_every_repeat_has_a_seed_of_its_own_and_classifiers_share_it(monkeypatch):
    seeds = []
    fit = OutputPerturbationSVC.fit
    monkeypatch.setattr(
        OutputPerturbationSVC,
        "fit",
        lambda self, X, y: seeds.append((self.eps, self.random_state)) or fit(self, X, y),
    )
    cross_validate({"a": private(1.0), "b": private(2.0, random_state=5)}, X, Y, folds=2, repeats=3)
    first, second = ({seed for eps, seed in seeds if eps == wanted} for wanted in (1.0, 2.0))
    assert len(first) == 6
    assert first == second


def test_the_classifiers_given_are_not_fitted():
    model = private()
    cross_validate({"model": model}, X, Y, folds=2)
    assert not hasattr(model, "coef_")
    assert model.random_state is None


def test_a_budget_is_spent_by_every_fit():
    budget = Budget(100.0, 0.0)
    cross_validate({"private": private(budget=budget)}, X, Y, folds=3, repeats=2)
    assert budget.spent() == pytest.approx(6.0)


def test_sparse_records_and_labels_in_a_list():
    dense = cross_validate(MODELS, X, Y, folds=3)
    sparse = cross_validate(MODELS, sp.csr_matrix(X), Y.tolist(), folds=3)
    for name in MODELS:
        np.testing.assert_allclose(sparse[name].errors, dense[name].errors)


def test_two_processes_find_what_one_finds():
    one, two = (cross_validate(MODELS, X, Y, folds=3, repeats=2, n_jobs=jobs) for jobs in (1, 2))
    for name in MODELS:
        np.testing.assert_array_equal(one[name].errors, two[name].errors)


# summary


def test_mean_and_standard_error():
    result = CrossValidation(np.array([[0.1, 0.3], [0.2, 0.6], [0.0, 0.0]]))
    assert result.mean == pytest.approx(0.2)
    assert result.standard_error == pytest.approx(np.std([0.2, 0.4, 0.0], ddof=1) / np.sqrt(3))
    assert str(result) == "0.2000 ± 0.1155"


# the store


def test_a_second_run_fits_nothing(tmp_path, fits):
    path = tmp_path / "new folder" / "results.jsonl"
    first = cross_validate(MODELS, X, Y, folds=3, repeats=2, store=ResultStore(path), name="sphere")
    assert len(fits) == 3 * (1 + 2)
    fits.clear()
    again = {"folds": 3, "repeats": 2, "store": ResultStore(path), "name": "sphere"}
    second = cross_validate(MODELS, X, Y, **again)
    assert fits == []
    for name in MODELS:
        np.testing.assert_array_equal(first[name].errors, second[name].errors)


def test_more_repeats_run_only_the_new_ones(tmp_path, fits):
    store = ResultStore(tmp_path / "results.jsonl")
    cross_validate(MODELS, X, Y, folds=3, repeats=2, store=store)
    fits.clear()
    cross_validate(MODELS, X, Y, folds=3, repeats=3, store=store)
    assert {(fit["classifier"], fit["repeat"]) for fit in fits} == {("private", 2)}
    assert len(fits) == 3


@pytest.mark.parametrize(
    "change",
    [
        {"name": "other"},
        {"random_state": 1},
        {"folds": 2},
        {"classifiers": {"huber": HuberSVC(reg=0.2)}},
        {"classifiers": {"huber": private()}},
        {"X": X[:80], "y": Y[:80]},
    ],
)
def test_other_settings_are_fitted_anew(tmp_path, fits, change):
    store = ResultStore(tmp_path / "results.jsonl")
    given = {
        "classifiers": {"huber": HuberSVC(reg=0.1)},
        "X": X,
        "y": Y,
        "folds": 3,
        "store": store,
    }
    cross_validate(**given)
    fits.clear()
    cross_validate(**{**given, **change})
    assert len(fits) == change.get("folds", 3)


def test_an_interrupted_run_goes_on(tmp_path, monkeypatch, fits):
    path = tmp_path / "results.jsonl"
    noted = evaluation._one_fit

    def interrupted(*details):
        if len(fits) == 2:
            raise KeyboardInterrupt
        return noted(*details)

    with monkeypatch.context() as patch:
        patch.setattr(evaluation, "_one_fit", interrupted)
        with pytest.raises(KeyboardInterrupt):
            cross_validate({"huber": HuberSVC()}, X, Y, folds=4, store=ResultStore(path))
    kept = len(path.read_text().splitlines())
    assert 1 <= kept <= 2
    fits.clear()
    cross_validate({"huber": HuberSVC()}, X, Y, folds=4, store=ResultStore(path))
    assert len(fits) == 4 - kept


def cut_short(path):
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(lines[:-1]) + lines[-1][:20])


def test_a_line_cut_short_counts_as_not_done_and_spoils_no_other(tmp_path, fits):
    path = tmp_path / "results.jsonl"
    first = cross_validate(MODELS, X, Y, folds=3, store=ResultStore(path))
    cut_short(path)
    fits.clear()
    second = cross_validate(MODELS, X, Y, folds=3, store=ResultStore(path))
    assert len(fits) == 1
    for name in MODELS:
        np.testing.assert_array_equal(first[name].errors, second[name].errors)
    cross_validate(MODELS, X, Y, folds=3, store=ResultStore(path))
    assert len(fits) == 1


def test_a_loss_is_the_same_in_the_next_run(tmp_path, fits):
    store, kept = ResultStore(tmp_path / "results.jsonl"), []
    for _ in range(2):
        fits.clear()
        kept.append(OutputPerturbationClassifier(logistic(), reg=0.1))
        cross_validate({"own": kept[-1]}, X, Y, folds=2, store=store)
    assert fits == []


def test_another_loss_of_the_same_name_and_bounds_is_fitted_anew(tmp_path, fits):
    store, given = ResultStore(tmp_path / "results.jsonl"), logistic()

    def shifted(shift):
        return MarginLoss(
            lambda z: given.value(z - shift),
            lambda z: given.slope(z - shift),
            lambda z: given.curvature(z - shift),
            1.0,
            0.25,
        )

    for shift in (0.0, 2.0):
        fits.clear()
        own = OutputPerturbationClassifier(shifted(shift), reg=0.1)
        cross_validate({"own": own}, X, Y, folds=2, store=store)
    assert len(fits) == 2


def test_the_store_is_a_map_in_a_file(tmp_path):
    path = tmp_path / "store.jsonl"
    store = ResultStore(path)
    assert {"a": 1} not in store
    store.add({"a": 1, "b": "x"}, 0.25)
    store.add({"a": 2}, {"any": ["json"]})
    for opened in (store, ResultStore(path)):
        assert {"b": "x", "a": 1} in opened
        assert opened[{"b": "x", "a": 1}] == 0.25
        assert opened[{"a": 2}] == {"any": ["json"]}
        assert {"a": 3} not in opened
    kept = [json.loads(line)[1] for line in path.read_text().splitlines()]
    assert kept == [0.25, {"any": ["json"]}]


def test_records_are_not_in_the_store(tmp_path):
    path = tmp_path / "results.jsonl"
    cross_validate(MODELS, X, Y, folds=2, store=ResultStore(path))
    assert not any(repr(float(value))[:8] in path.read_text() for value in X[:20].ravel())


# messages


def test_no_classifiers():
    with pytest.raises(InvalidParameterError, match="classifiers must be a dict of name to est"):
        cross_validate({}, X, Y)
    with pytest.raises(InvalidParameterError, match="repeats must be at least 1, got 0"):
        cross_validate(MODELS, X, Y, repeats=0)
