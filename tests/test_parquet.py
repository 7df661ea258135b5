"""Programs from Parquet files: read a part at a time, with the bits of the rows in memory."""

from decimal import Decimal
from unittest import mock

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import privlp
from privlp import ConstraintPrivate, LinearProgram
from privlp.errors import InvalidParameterError, InvalidProblemError
from privlp.readers import blocks
from tests.effort import THOROUGH, each
from tests.test_row_blocks import COSTS, METHODS, OPT, N, assert_same, solved, table

pq = pytest.importorskip("pyarrow.parquet", reason="PyArrow is an extra")
pa = pytest.importorskip("pyarrow", reason="PyArrow is an extra")

NAMES = ["oats", "milk", "iron", "salt"]


def frame(A, b, kind=float):
    return pd.DataFrame(np.asarray(A, kind), columns=NAMES).assign(need=b)


@pytest.fixture
def folder(tmp_path):
    """Two files, of several row groups, with columns in different orders."""
    rows = frame(*table())
    rows[:31].to_parquet(tmp_path / "part-0.parquet", row_group_size=13, index=False)
    (tmp_path / "more").mkdir()
    rows[31:][["need", *NAMES[::-1]]].assign(who="Ann").to_parquet(
        tmp_path / "part-1.parquet", row_group_size=40, index=False
    )
    return tmp_path


def read(folder, **fields):
    return LinearProgram.from_parquet(folder, COSTS, "need", NAMES, **fields)


@pytest.mark.parametrize(("method", "limit"), each(METHODS, [10**6, 1500, 0]))
def test_the_same_as_in_memory(folder, method, limit, monkeypatch):
    monkeypatch.setattr(blocks, "_ENTRIES", 7 * len(NAMES))
    lp = read(folder)
    assert lp.shape == (N, 4)
    assert max(lp.A.rows_of_blocks) == 7
    assert lp.variable_names == tuple(NAMES)
    with mock.patch("privlp.rows.blocks.MEMORY", limit):
        assert_same(solved(LinearProgram(COSTS, *table()), method), solved(lp, method))


@pytest.mark.parametrize("method", METHODS if THOROUGH else ("dmw", "perturbed"))
def test_sparse_rows(folder, method):
    A, b = table()
    lp = read(folder, sparse=True)
    assert lp.is_sparse
    assert lp.public() == LinearProgram(COSTS, sp.csr_array(A), b, variable_names=NAMES).public()
    whole = solved(LinearProgram(COSTS, sp.csr_array(A), b), method)
    assert_same(whole, solved(lp, method))


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_single_precision_stays_as_it_is(tmp_path, kind):
    A, b = table()
    frame(A, b, kind).to_parquet(tmp_path / "a.parquet")
    lp = read(tmp_path / "a.parquet")
    assert next(lp.A.read([0]))[0].dtype == kind
    assert_same(solved(LinearProgram(COSTS, A, b), "dmw"), solved(lp, "dmw"))


def test_integers_booleans_and_decimals(tmp_path):
    columns = {
        "oats": pa.array([1, -2, 3], pa.int64()),
        "milk": pa.array([True, False, True]),
        "iron": pa.array([1, 2, 3], pa.uint8()),
        "salt": pa.array(np.array([1.5, 2.5, -3.5], dtype=np.float16)),
        "need": pa.array([Decimal("10.0"), Decimal("20.5"), Decimal("30.0")]),
    }
    pq.write_table(pa.table(columns), tmp_path / "a.parquet")
    A, b = read(tmp_path).A.in_memory()
    assert A.tolist() == [[1, 1, 1, 1.5], [-2, 0, 2, 2.5], [3, 1, 3, -3.5]]
    assert b.tolist() == [10, 20.5, 30]


def test_costs_by_name_choose_the_columns(folder):
    costs = dict(zip(NAMES[::-1], COSTS[::-1], strict=True))
    lp = LinearProgram.from_parquet(folder, costs, "need")
    assert lp.variable_names == tuple(NAMES[::-1])
    assert lp.c.tolist() == COSTS[::-1].tolist()
    first = LinearProgram.from_parquet(folder / "part-0.parquet", COSTS, "need")
    assert first.variable_names == tuple(NAMES)  # all but the right-hand side


def test_a_file_that_is_exchanged_is_refused(folder):
    lp = read(folder)
    budget = privlp.Budget(1.0, 1e-6)
    frame(*table(10)).to_parquet(folder / "part-0.parquet", row_group_size=13, index=False)
    with pytest.raises(RuntimeError, match="message is withheld"):
        privlp.solve(lp, 0.5, 1e-7, 9, opt=OPT, method="staged", budget=budget, rng=0)
    assert budget.spent() > 0  # what was charged stays charged


def spoilt(name, value):
    rows = frame(*table(20)).astype({name: object if isinstance(value, str | None) else float})
    rows.loc[3, name] = value
    if isinstance(value, str):
        rows[name] = rows[name].astype(str)
    return rows


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("milk", None, r"Column 'milk' of file 'a.parquet' holds nulls"),
        ("need", None, r"Column 'need' of file 'a.parquet' holds nulls"),
        ("milk", "high", r"Column 'milk' of file 'a.parquet' holds (large_)?string, not numbers"),
        ("iron", np.inf, r"Row group 0 of file 'a.parquet': column 'iron' of file 'a.parquet': A"),
        ("need", np.inf, r"Row group 0 of .*column 'need' .*: An entry of b is NaN, infinite"),
        ("oats", 1e16, r"Row group 0 of file 'a.parquet': A contains entries"),
    ],
)
def test_malformed_columns(tmp_path, name, value, message):
    spoilt(name, value).to_parquet(tmp_path / "a.parquet")
    with pytest.raises(InvalidProblemError, match=message):
        read(tmp_path)


def test_not_a_number(tmp_path):
    rows = frame(*table(20))
    columns = {name: pa.array(rows[name].to_numpy()) for name in rows}
    columns["salt"] = pa.array([np.nan, *rows["salt"][1:]])
    pq.write_table(pa.table(columns), tmp_path / "a.parquet")
    with pytest.raises(InvalidProblemError, match=r"column 'salt' of file 'a.parquet': A contains"):
        read(tmp_path)


def test_messages_name_no_file_where_the_number_of_rows_is_private(tmp_path):
    spoilt("milk", None).to_parquet(tmp_path / "a.parquet")
    with pytest.raises(InvalidProblemError, match=r"Column 'milk' of a file holds nulls"):
        read(tmp_path, neighbours=ConstraintPrivate("add-remove", nominal_n=20))


def test_files_without_a_row_or_of_another_kind_are_refused(tmp_path):
    frame(*table(20)).iloc[:0].to_parquet(tmp_path / "a.parquet")
    with pytest.raises(InvalidProblemError, match="The problem is empty"):
        read(tmp_path)
    (tmp_path / "a.parquet").write_bytes(b"not a file of this kind")
    with pytest.raises(InvalidProblemError, match=r"file 'a.parquet' is no Parquet file"):
        read(tmp_path)


def test_what_is_refused(folder, tmp_path):
    def of(c, rhs="need", columns=NAMES):
        return lambda: LinearProgram.from_parquet(folder, c, rhs, columns)

    two = r"c has 2 costs, but A has \d columns: 'oats'.*Name those of A by columns="
    want = "file 'part-0.parquet' has no column 'want'. Its first columns are: 'oats'"
    for call, message in (
        (lambda: read(tmp_path / "none"), "no file or folder"),
        (lambda: read(tmp_path / "more"), r"has no \*.parquet file"),
        (lambda: read(folder, groups="who"), "rows_per_record=k"),
        (lambda: read(folder, penalty=np.ones(N - 1)), "must be one number"),
        (of(COSTS, columns="oats"), "must be a sequence of names"),
        (of(COSTS, columns=["oats", "oats"]), "each column once"),
        (of(COSTS, columns=["oats", "need"]), "not that of the right-hand sides"),
        (of(COSTS, "want"), want),
        (of(COSTS[:2], columns=None), two),
        (of({"oats": 1.0}), "c must name each variable"),
    ):
        with pytest.raises((InvalidParameterError, InvalidProblemError), match=message):
            call()
