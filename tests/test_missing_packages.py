"""What needs a package that is not installed says how to install it."""

import sys

import numpy as np
import pytest

import privlp
from privlp import LinearProgram, examples
from svm_models import QPSVC
from tests.test_tables import lazy, polars

COLUMNS = {"x": [-1.0, -2.0], "b": [-1.0, -1.0]}


def of_rows(table):
    rows = table(COLUMNS)
    return lambda: LinearProgram({"x": 1.0}, rows, b="b")


CVXPY, PARQUET = r"needs CVXPY: .*pip install 'privlp\[cvxpy\]'", r"pip install 'privlp\[parquet\]'"
USES = {
    "an exact SVM": ("cvxpy", lambda: lambda: QPSVC().fit(np.eye(2), [0, 1]), f"QPSVC {CVXPY}"),
    "a problem": ("cvxpy", lambda: lambda: LinearProgram.from_cvxpy(object()), CVXPY),
    "files": ("pyarrow", lambda: lambda: LinearProgram.from_parquet(".", [1.0], "b"), PARQUET),
    "lazy tables": ("pyarrow", lambda: of_rows(lazy), PARQUET),
    "tables": ("narwhals.stable.v2", lambda: of_rows(polars), "pip install narwhals"),
    "a page": (
        "bokeh.resources",
        lambda: lambda: privlp.explore(examples.diet(), "page.html"),
        r"pip install 'privlp\[explore\]'",
    ),
    "screening": (
        "sklearn.datasets",
        lambda: examples.screening,
        r"come with scikit-learn: .* 'privlp\[svm\]'",
    ),
    "visits": (
        "statsmodels.datasets",
        lambda: examples.doctor_visits,
        r"come with statsmodels: .* 'privlp\[demo\]'",
    ),
}


@pytest.mark.parametrize("name", USES)
def test_what_is_not_installed(name, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    module, prepared, message = USES[name]
    use = prepared()
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(privlp.MissingDependencyError, match=message):
        use()
