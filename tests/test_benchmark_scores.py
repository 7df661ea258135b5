"""Scores on held-out records, and the file of finished measurements."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.metrics import balanced_accuracy_score, roc_auc_score
from sklearn.model_selection import KFold

from benchmarks import thesis
from benchmarks.scores import CrossValidation, ResultStore
from svm_models import DMWSVC, HuberSVC, make_separable_sphere

X, Y = make_separable_sphere(90, random_state=0)


def test_scores_are_those_of_scikit_learn_and_a_cut_line_is_measured_anew(tmp_path, monkeypatch):
    path = tmp_path / "results.jsonl"
    models = {"dmw": DMWSVC(radius=5.0, classes=(-1, 1), threshold_share=0.5), "exact": HuberSVC()}
    data = thesis.DataSet("", "", 1.0, X, Y, [])
    makers = {name: lambda n, model=model: clone(model) for name, model in models.items()}
    monkeypatch.setattr(thesis, "store", lambda name: ResultStore(path))

    def measured():
        found = thesis.measure(data, makers, draws=2, folds=3)
        return {name: fits.errors for name, fits in found.items()}

    found = measured()
    assert [found[name].errors.shape for name in models] == [(3, 2), (3, 1)]
    for fold, (train, test) in enumerate(KFold(3, shuffle=True, random_state=0).split(X)):
        seed = int(np.random.SeedSequence([fold, 1]).generate_state(1)[0])
        fitted = clone(models["dmw"]).set_params(random_state=seed).fit(X[train], Y[train])
        expected = (
            1 - fitted.score(X[test], Y[test]),
            balanced_accuracy_score(Y[test], fitted.predict(X[test])),
            roc_auc_score(Y[test], fitted.decision_function(X[test])),
        )
        dmw = found["dmw"]
        assert (dmw.errors[fold, 1], dmw.balanced[fold, 1], dmw.auc[fold, 1]) == pytest.approx(
            expected
        )
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(lines[:-1]) + lines[-1][:20])
    again = measured()
    assert len(path.read_text().splitlines()) == len(lines) + 1
    for name in models:
        np.testing.assert_array_equal(found[name].errors, again[name].errors)


def test_mean_and_standard_error():
    result = CrossValidation(np.array([[0.1, 0.3], [0.2, 0.6], [0.0, 0.0]]))
    assert result.mean == pytest.approx(0.2)
    assert result.standard_error == pytest.approx(np.std([0.2, 0.4, 0.0], ddof=1) / np.sqrt(3))
    assert (str(result), result.said("auc")) == ("0.2000 ± 0.1155", "–")
