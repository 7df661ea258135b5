"""The programs of real people."""

import sys

import numpy as np
import pytest

from privlp import MissingDependencyError, examples, solve_exact


def test_patients_own_one_row_each_and_can_all_be_told_apart():
    records = pytest.importorskip("sklearn.datasets").load_breast_cancer()
    lp = examples.screening()
    sick = np.where(records.target == 0, 1.0, -1.0)
    margins = sick[:, None] * -lp.A[:, :31]
    np.testing.assert_array_equal(lp.A[:, 31:], -lp.A[:, :31])
    assert lp.private.all()
    assert np.abs(margins).max() < 1.05  # the documented ranges are rounded
    assert (margins[:, 30] == 1.0).all()
    for column in range(30):  # an increasing map of each measurement
        assert np.corrcoef(margins[:, column], records.data[:, column])[0, 1] == pytest.approx(1.0)
    exact = solve_exact(lp)
    assert exact.status.success
    w = exact.x[:31] - exact.x[31:]
    assert (sick * (margins @ w) >= 1 - 1e-6).all()


@pytest.mark.parametrize(
    ("example", "module", "message"),
    [
        (examples.screening, "sklearn.datasets", r"with scikit-learn: .* 'privlp\[svm\]'"),
        (examples.doctor_visits, "statsmodels.datasets", r"with statsmodels: .* 'privlp\[demo\]'"),
    ],
)
def test_data_need_their_library(monkeypatch, example, module, message):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingDependencyError, match=f"come {message}"):
        example()


def test_people_are_covered_by_the_exact_formula():
    records = pytest.importorskip("statsmodels.datasets").randhie.load_pandas().data
    lp = examples.doctor_visits()
    assert lp.shape == (20_190, 6)
    assert lp.private.all()
    np.testing.assert_array_equal(lp.b, -records["mdvis"])
    np.testing.assert_allclose(10 * -lp.A[:, 2], records["disea"])
    np.testing.assert_allclose(lp.c, -lp.A.mean(axis=0), rtol=0.04)  # public averages, rounded
    exact = solve_exact(lp)
    assert exact.status.success
    assert (-lp.A @ exact.x >= records["mdvis"] - 1e-6).all()
    assert exact.objective == pytest.approx(71.5, abs=0.2)
