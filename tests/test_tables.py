"""Tables of six libraries: the same program, the same fit, and no entry in an error."""

import functools
import itertools
import traceback
import warnings
from dataclasses import replace
from decimal import Decimal
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import scipy.optimize
from effort import each

import privlp
from privlp import (
    Allocation,
    AllocationResult,
    Budget,
    ConstraintPrivate,
    InvalidParameterError,
    InvalidProblemError,
    LinearProgram,
    ObjectivePrivate,
    RowPrivate,
    ScalarPrivate,
    allocate,
    compare,
    models,
    quality,
    solve_exact,
)
from svm_models import (
    OutputPerturbationSVC,
    PrivateLPSVC,
    PrivateQuantileRegressor,
    hard_margin_lp,
    soft_margin_lp,
)

N = 300
RNG = np.random.default_rng(0)
WHO = [f"home {i // 2} {'xy'[i % 2]}" for i in range(N)]
FOODS = ("oats", "milk", "beans")
ROWS = -RNG.uniform(0.2, 1.0, (N, 3))
NEED = -RNG.uniform(0.9, 1.0, N)
HOME = np.repeat([f"home {i}" for i in range(N // 2)], 2)
COSTS = {"beans": 1.5, "oats": 1.0, "milk": 2.0}
PEOPLE = dict(zip(FOODS, ROWS.T, strict=True)) | {"need": NEED, "home": HOME}
PAIRS = {"neighbours": ConstraintPrivate(rows_per_record=2)}


def pandas(columns):
    return pd.DataFrame(columns)


def polars(columns):
    return pytest.importorskip("polars", reason="makes the table").DataFrame(columns)


def lazy(columns):
    return polars(columns).lazy()


def arrow(columns):
    return pytest.importorskip("pyarrow", reason="makes the table").table(columns)


def duckdb(columns):
    return pytest.importorskip("duckdb", reason="makes the table").from_arrow(arrow(columns))


def ibis(columns):
    return pytest.importorskip("ibis", reason="makes the table").memtable(arrow(columns))


EAGER, LAZY = (pandas, polars, arrow), (lazy, duckdb, ibis)
TABLES = pytest.mark.parametrize("table", EAGER + LAZY)


def without(*names):
    return {name: values for name, values in PEOPLE.items() if name not in names}


def solved(lp):
    return privlp.solve(lp, 4.0, 1e-6, 60, method="staged", rng=0).x.tobytes()


@functools.cache
def of_arrays(of_pairs):
    options = PAIRS | {"groups": HOME} if of_pairs else {}
    return solved(LinearProgram([1.0, 2.0, 1.5], ROWS, NEED, **options))


@TABLES
def test_a_table_says_what_arrays_say(table):
    """Sides, owners and costs by name; the bits of a solve are those of arrays."""
    lp = LinearProgram(COSTS, table(PEOPLE), b="need", groups="home", **PAIRS)
    assert lp.variable_names == FOODS
    assert (lp.A == ROWS).all()
    assert not lp.in_blocks
    assert lp.groups.tolist() == HOME.tolist()
    assert solved(lp) == of_arrays(of_pairs=True)


@TABLES
def test_a_lazy_table_becomes_blocks(table):
    """Unless owners are given, for whom all rows are needed at once."""
    lp = LinearProgram(COSTS, table(without("home")), b="need")
    assert lp.in_blocks == (table in LAZY)
    assert lp.variable_names == FOODS
    assert solved(lp) == of_arrays(of_pairs=False)
    numbers = {"b": "need", "neighbours": ScalarPrivate(0.1, norm="1")}
    assert not LinearProgram(COSTS, table(without("home")), **numbers).in_blocks


@TABLES
def test_more_columns_that_are_no_variables(table):
    columns = without("home") | {"least": NEED - 1, "price": np.ones(N), "who": WHO}
    lp = LinearProgram(
        COSTS, table(columns), "need", row_lower="least", penalty="price", row_names="who",
        private="home 1*",
    )  # fmt: skip
    assert lp.A.shape == (N, 3)
    assert (lp.row_lower == NEED - 1).all()
    assert lp.private.sum() == 2 * sum(f"{i}".startswith("1") for i in range(N // 2))
    assert lp.penalty.tolist() == [1.0] * N


@TABLES
def test_arguments_of_linprog(table):
    total = arrow({name: [1.0] for name in FOODS})
    given = (COSTS, table(PEOPLE | {"home": np.arange(N) // 2}), "need")
    lp = LinearProgram.from_linprog(*given, groups="home", **PAIRS)
    assert (lp.A == ROWS).all()
    assert lp.variable_names == FOODS
    assert lp.c.tolist() == [1.0, 2.0, 1.5]
    part = table(without("home")), "need"
    both = LinearProgram.from_linprog(COSTS, *part, total, [4.0])
    assert both.private.sum() == N
    assert privlp.solve_exact(both).x.sum() == pytest.approx(4.0)
    with pytest.raises(InvalidProblemError, match="same columns in one order: 'oats'"):
        LinearProgram.from_linprog(COSTS, *part, total.select(FOODS[::-1]), [1])


ESTIMATORS = {
    "ill": (PrivateLPSVC, {"classes": ("no", "yes")}),
    "sick": (OutputPerturbationSVC, {"classes": (0, 1), "reg": 0.1}),
    "pay": (PrivateQuantileRegressor, {"y_bounds": (0, 100)}),
}


@pytest.mark.parametrize(("table", "label"), each(EAGER + LAZY, ESTIMATORS))
def test_records_in_a_table(table, label):
    kind, options = ESTIMATORS[label]
    values = {
        "ill": np.where(ROWS[:, 0] < ROWS[:, 1], "yes", "no"),
        "sick": (ROWS[:, 0] < ROWS[:, 1]).astype(int),
        "pay": 30 + ROWS[:, 0],
    }[label]
    estimator = kind(eps=4.0, data_norm=2.0, random_state=0, **options)
    features, both = without("need", "home"), without("need", "home") | {label: values}
    plain = estimator.fit(ROWS, values)
    coef, predicted, score = plain.coef_.copy(), plain.predict(ROWS), plain.score(ROWS, values)
    fitted = estimator.fit(table(both), label)
    assert fitted.coef_.tobytes() == coef.tobytes()
    assert fitted.feature_names_in_.tolist() == [*FOODS]
    assert (fitted.predict(table(features)) == predicted).all()
    assert fitted.score(table(both), label) == score
    if table in LAZY:
        with pytest.raises(InvalidProblemError, match="so y cannot be matched to those of X"):
            estimator.fit(table(features), values)
    else:
        assert estimator.fit(table(features), values).coef_.tobytes() == coef.tobytes()


@TABLES
def test_kinds_of_numbers(table):
    columns = {"x": [1, 2], "y": [True, False], "z": [Decimal("0.1"), Decimal(2)], "b": [3, 4]}
    lp = LinearProgram([1, 1, 1], table(columns), b="b", **PAIRS)
    assert np.asarray(lp.in_memory().A).tolist() == [[1.0, 1.0, 0.1], [2.0, 0.0, 2.0]]
    assert np.asarray(lp.b).tolist() == [3.0, 4.0]


X, DATES = [1.0, 2.0], np.array(["2020-01-01", "2020-01-02"], "M8[ns]")
WRONG = {
    "a side that is no column": ({"x": X}, {"b": "ned"}, "b='ned' names no column.*are: 'x'"),
    "an owner that is none": ({"x": X, "b": X}, {"groups": "who"}, "groups='who' names no column"),
    "text": ({"x": X, "town": ["a", "b"], "b": X}, {}, "A holds text in column 'town'. Convert"),
    "a null": ({"x": [1.0, None], "b": X}, {}, "A holds missing entries in column 'x'. Fill in"),
    "a missing flag": ({"x": [True, None], "b": X}, {}, "missing entries in column 'x'"),
    "a null side": ({"x": X, "b": [1, None]}, {}, "missing entries in column 'b'"),
    "a null owner": ({"x": X, "b": X, "g": ["a", None]}, {"groups": "g"}, "entries in column 'g'"),
    "dates": ({"x": DATES, "b": X}, {}, "A holds dates in column 'x'. Give numbers, such as days"),
    "sides alone": ({"b": X}, {}, "The problem is empty: A has no column"),
    "no cost": ({"x": X, "y": X, "b": X}, {}, "nothing is given for 'y'"),
    "a wrong cost": ({"b": X, "z": X}, {}, "nothing is given for 'z'; no variable is called 'x'"),
}


@pytest.mark.parametrize(
    ("fault", "table", "change"),
    [*each(WRONG, EAGER, ["replace", "add-remove"]), *each(WRONG, LAZY, ["replace"])],
)
def test_what_is_refused(table, fault, change):
    columns, changes, message = WRONG[fault]
    relation = ConstraintPrivate(change, nominal_n=2 if change == "add-remove" else None)
    with pytest.raises(InvalidProblemError, match=message):
        LinearProgram({"x": 1.0}, table(columns), **({"b": "b"} | changes), neighbours=relation)


@pytest.mark.parametrize("table", EAGER)
def test_tables_of_different_lengths(table):
    sides = table({"b": [1.0]})["b"]
    with pytest.raises(InvalidProblemError, match=r"b has shape \(1,\), but A asks for \(2,\)"):
        LinearProgram([1.0], table({"x": X}), sides)
    hidden = ConstraintPrivate("add-remove", nominal_n=2)
    with pytest.raises(InvalidProblemError, match="b does not have the shape that A asks for"):
        LinearProgram([1.0], table({"x": X}), sides, neighbours=hidden)
    with pytest.raises(ValueError, match="inconsistent numbers"):
        PrivateLPSVC(classes=(0, 1)).fit(table({"x": X}), [1])


@pytest.mark.parametrize("table", LAZY)
def test_a_lazy_table_has_no_order(table):
    """So nothing outside is matched to its rows by place."""
    for given in ({"b": X}, {"b": "b", "groups": X}, {"b": "b", "private": [True, False]}):
        with pytest.raises(InvalidProblemError, match="a lazy table have no fixed order, so"):
            LinearProgram([1.0], table({"x": X, "b": X}), **given)
    with pytest.raises(InvalidProblemError, match="b_ub cannot be matched to those of A_ub"):
        LinearProgram.from_linprog([1.0], table({"x": X}), X)


def test_rows_of_several_row_groups_keep_their_order():
    """DuckDB writes groups of 122,880."""
    many = pytest.importorskip("duckdb", reason="makes the table").sql(
        "select -i - 1.0 as x, -1.0 as b, i as home from range(125000) t(i)"
    )
    lp = LinearProgram({"x": 1.0}, many, b="b", groups="home")
    assert (lp.A[:, 0] == -1.0 - lp.groups).all()
    assert len(lp.A) == 125_000


@pytest.mark.parametrize("table", [pandas, polars])
def test_no_columns_and_names_given_twice(table):
    with pytest.raises(InvalidProblemError, match="The problem is empty: A has no column"):
        LinearProgram([], table({}), [])
    twice = arrow({"x": X, "y": X}).rename_columns(["x", "x"])
    with pytest.raises(InvalidProblemError, match="The columns of A must have distinct names"):
        LinearProgram([1.0, 1.0], twice, X)
    with pytest.raises(InvalidProblemError, match="A is no table that narwhals reads, got RecordB"):
        LinearProgram([1.0], arrow({"x": X}).to_batches()[0], X)
    with pytest.raises(InvalidProblemError, match="c goes by name, but the variables have no"):
        LinearProgram({"x": 1.0}, [[1.0]], [1.0])


def test_costs_by_name():
    """Of a dict, or of a column of pandas that has names of variables."""
    table = pandas({"x": X, "y": X})
    for c in ({"y": 2.0, "x": 1.0}, pd.Series({"y": 2.0, "x": 1.0}), pd.Series([1.0, 2.0])):
        assert LinearProgram(c, table, X).c.tolist() == [1.0, 2.0]
    with pytest.raises(InvalidProblemError, match="no variable is called 'z'"):
        LinearProgram({"x": 2.0, "z": 1.0}, table, X)
    wrong = r"other labels are no variables. Or go by order: c.to_numpy()"
    with pytest.raises(InvalidProblemError, match=wrong):
        LinearProgram(pd.Series({"a": 2.0, "b": 1.0}), table, X)
    with pytest.raises(InvalidProblemError, match="c has several entries of one label"):
        LinearProgram(pd.Series([2.0, 1.0], index=["x", "x"]), table, X)


@pytest.mark.parametrize("names", [(2020, 2030), (("f", "a"), ("g", "b"))])
def test_names_that_are_no_text(names):
    table = pandas({"x": X, "y": X}).set_axis(names, axis=1)
    costs, bounds = {names[1]: 2.0, names[0]: 1.0}, {names[1]: (0, 2), names[0]: (0, 1)}
    lp = LinearProgram(costs, table, X, bounds=bounds)
    assert (lp.c.tolist(), lp.bounds[:, 1].tolist()) == ([1, 2], [1, 2])
    with pytest.raises(InvalidProblemError, match=r"no variable is called 'z'"):
        LinearProgram({names[0]: 1.0, "z": 2.0}, table, X)
    with pytest.raises(InvalidProblemError, match="no variable is called '2020', 2020"):
        LinearProgram({"2020": 1.0, 2020: 2.0}, pandas({"x": X, "y": X}), X)


def test_bounds_by_name():
    table = pandas({"x": X, "y": X})
    by_name = {"y": (0, 2.0), "x": (None, 1.0)}
    ends = [[-np.inf, 1.0], [0.0, 2.0]]
    scipys = scipy.optimize.Bounds([-np.inf, 0], [1, 2])
    for bounds in (by_name, pd.Series(by_name), [(None, 1), (0, 2)], scipys):
        assert LinearProgram([1, 1], table, X, bounds=bounds).bounds.tolist() == ends
        assert LinearProgram.from_linprog([1, 1], table, X, bounds=bounds).bounds.tolist() == ends
    one = scipy.optimize.Bounds(0, 3)
    assert LinearProgram([1, 1], table, X, bounds=one).bounds.tolist() == [[0, 3], [0, 3]]
    with pytest.raises(
        InvalidProblemError, match=r"^bounds must name .*: nothing is given for 'y'"
    ):
        LinearProgram([1, 1], table, X, bounds={"x": (0, 1)})
    with pytest.raises(
        InvalidProblemError, match=r"^bounds goes by name, but the variables have no"
    ):
        LinearProgram([1, 1], [[1, 1]], [1], bounds=by_name)
    for bounds in (pd.DataFrame(ends, index=["y", "x"]), {"x": 1, "y": 2}):
        with pytest.raises(InvalidProblemError, match="in the order of the variables or by their"):
            LinearProgram([1, 1], table, X, bounds=bounds)


def test_points_go_by_the_names_of_variables():
    """A solution or a column of pandas, before anything is spent on a point of another program."""
    table, turned = pandas({"x": X, "y": X}), pandas({"y": X, "x": X})
    table["x"] *= 2
    turned["x"] *= 2
    costs, most = {"x": 1.0, "y": 2.0}, {"sense": "max"}
    one, other = (LinearProgram(costs, A, [4.0, 6.0], **most) for A in (table, turned))
    exact = solve_exact(one)
    point = pd.Series(exact.x, index=["x", "y"])
    for given in (exact, point, point[::-1]):
        found = compare(other, given)
        assert found.objective_gap == pytest.approx(0, abs=1e-9)
        assert not found.n_violated()
    budget = Budget(1.0, 0.0)
    for labels in (["x", "z"], ["x", "x"]):
        with pytest.raises(InvalidParameterError, match=r"^solution .* order: solution.to_numpy()"):
            quality(other, point.set_axis(labels), 0.5, budget=budget)
    named = SimpleNamespace(x=exact.x, variable_names=("x", "z"))
    with pytest.raises(InvalidParameterError, match=r"^solution must name .* called 'z'"):
        quality(other, named, 0.5, budget=budget)
    assert budget.spent() == 0


PLANTED = "51309"


def failing_cast_of_polars():
    pl = pytest.importorskip("polars", reason="makes the table")
    text = pl.LazyFrame({"x": [f"{PLANTED} HIV"], "b": [1.0]})
    return text.with_columns(pl.col("x").str.to_integer())


def failing_cast_of_duckdb():
    import duckdb

    return duckdb.sql(f"select cast(x as int) as x, 1.0 as b from (values ('{PLANTED} HIV')) t(x)")


@pytest.mark.parametrize("table", [failing_cast_of_polars, failing_cast_of_duckdb])
def test_errors_of_queries_are_not_shown(table):
    with pytest.raises(Exception, match=PLANTED):
        (getattr(table(), "collect", None) or table().fetchall)()
    for use in (
        lambda: LinearProgram({"x": 1.0}, table(), b="b"),
        lambda: LinearProgram.from_linprog({"x": 1.0}, table(), "b"),
        lambda: PrivateLPSVC(classes=(0, 1)).fit(table(), "b"),
        lambda: OutputPerturbationSVC(classes=(0, 1)).fit(table(), "b"),
    ):
        with pytest.raises(InvalidProblemError, match="could not be computed") as caught:
            use()
        assert PLANTED not in "".join(traceback.format_exception(caught.value))


def test_a_query_runs_once_and_leaves_no_file(tmp_path, monkeypatch):
    """The next time it might give other rows, or the same in another order."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    connection = pytest.importorskip("duckdb", reason="makes the table").connect()
    rows = connection.sql("select -random() - 0.1 as x, -random() as b from range(100)")
    lp = LinearProgram({"x": 1.0}, rows, b="b")
    assert list(tmp_path.iterdir()) == []
    first, second = lp.in_memory(), lp.in_memory()
    assert (first.A == second.A).all()
    assert (first.b == np.asarray(lp.b)).all()


@pytest.mark.parametrize("table", EAGER)
def test_models_read_names(table):
    content = table({"oats": [1.0], "milk": [2.0]})
    lp = privlp.models.diet([1.0, 3.0], content, [[1.0], [2.0]])
    assert lp.variable_names == ("oats", "milk")


# labels of rows


def _labelled(order):
    """A program of four people whose numbers come in this order, all but those of A."""
    labels, o = [*"abcd"], [*order]
    A = pd.DataFrame(ROWS[:4], index=labels, columns=FOODS)
    mask = pd.Series([True, False, True, True], index=labels)
    sides = pd.DataFrame({"low": mask * 2.0, "high": 3.0}, index=labels).where(mask, np.inf)
    given = {"b": NEED[:4], "row_lower": NEED[:4] - 1, "groups": [1, 1, 2, 2]}
    given = {name: pd.Series(values, index=labels)[o] for name, values in given.items()}
    return A, given | {"private": mask[o], "penalty": sides.loc[o]}


FIELDS = ("b", "row_lower", "groups", "private", "penalty")


@pytest.mark.parametrize("order", ["abcd", "dbca"])
def test_what_is_given_for_rows_is_matched_by_their_labels(order):
    A, given = _labelled(order)
    by_order = {key: value.loc[[*"abcd"]].to_numpy() for key, value in given.items()}
    found, plain = (LinearProgram([1, 2, 3], A, **fields) for fields in (given, by_order))
    for field in FIELDS:
        assert np.array_equal(getattr(found, field), getattr(plain, field))
    for fields in (given, by_order):
        fields["b_ub"] = fields.pop("b")
        del fields["row_lower"]
    found, plain = (LinearProgram.from_linprog([1, 2, 3], A, **of) for of in (given, by_order))
    for field in FIELDS:
        assert np.array_equal(getattr(found, field), getattr(plain, field))


def test_labels_of_inequalities_and_equalities_are_matched_together():
    A, given = _labelled("dbca")
    whole = pd.DataFrame([[1.0, 1.0, 1.0]], index=["sum"], columns=FOODS)
    groups = given["groups"].reindex([*"cda", "sum", "b"], fill_value=0)
    lp = LinearProgram.from_linprog([1, 2, 3], A, given["b"], whole, [3], groups=groups)
    assert lp.groups.tolist() == [1, 1, 2, 2, 0]
    assert lp.b.tolist() == [*NEED[:4], 3.0]


@pytest.mark.parametrize("labels", ["abce", "aabc"])
def test_other_labels_are_refused(labels):
    A, given = _labelled("abcd")
    for name in ("b_ub", "groups"):
        asked = {"b_ub": given["b"], "groups": given["groups"]}
        asked[name] = asked[name].set_axis([*labels])
        with pytest.raises(InvalidProblemError, match=rf"^{name} has other labels \(index\) than "):
            LinearProgram.from_linprog([1, 2, 3], A, **asked)


def test_labels_pair_rows_or_are_refused():
    """One record's label must not decide how all others are paired: never by order instead."""
    A, given = _labelled("abcd")
    assert LinearProgram([1, 2, 3], A, [*given["b"]]).b.tolist() == NEED[:4].tolist()
    with pytest.raises(InvalidProblemError, match=r"^b has other labels .* by their order: b.to_n"):
        LinearProgram([1, 2, 3], A, given["b"].reset_index(drop=True))
    for index in ([3, 1, 0, 17], [3, 1, 0]):  # a neighbour of the program below
        b = pd.Series(NEED[: len(index)])
        with pytest.raises(InvalidProblemError, match=r"^b has other labels"):
            LinearProgram([1, 2, 3], A[: len(index)].set_axis(index), b)
    A, b = A.set_axis([3, 1, 2, 0]), pd.Series([0.0, 1.0, 2.0, 3.0])
    assert LinearProgram([1, 2, 3], A, b).b.tolist() == [3.0, 1.0, 2.0, 0.0]


@pytest.mark.parametrize("order", ["abcd", "dbca"])
def test_declared_ranges_are_matched_by_labels(order):
    """As right-hand sides and costs are; ranges that have none go by order."""
    A, given = _labelled("abcd")
    ends = pd.DataFrame({"low": NEED[:4] - [1, 2, 3, 4], "high": NEED[:4] + 5}, index=A.index)
    table, ranges = A.assign(b=given["b"]), ends.loc[[*order]]
    moves = pd.DataFrame(np.diag([0.1, 0.2, 0.3, 0.4]), index=A.index).loc[[*order]]
    relation = ScalarPrivate(
        1.0, "1", lower=ranges["low"], upper=ends["high"].to_numpy(), moves=moves
    )
    relation = replace(relation, sensitivity=2.0)  # labels stay
    programs = [
        LinearProgram([1, 2, 3], table, "b", neighbours=relation),
        LinearProgram([1, 2, 3], A, given["b"], neighbours=(relation, RowPrivate(1.0, lower=-9))),
        LinearProgram.from_linprog([1, 2, 3], table, "b", neighbours=relation),
    ]
    for lp in programs:
        found = getattr(lp.neighbours, "parts", [lp.neighbours])[0]
        assert found.lower.tolist() == ends["low"].tolist()
        assert found.moves.toarray().tolist() == np.diag([0.1, 0.2, 0.3, 0.4]).tolist()
    named = {"row_names": [*"abcd"], "neighbours": replace(relation, moves=None)}
    lp = LinearProgram([1, 2, 3], A.to_numpy(), NEED[:4], **named)
    assert lp.neighbours.lower.tolist() == ends["low"].tolist()


def test_ranges_of_costs_and_coefficients_are_matched_by_labels():
    A, given = _labelled("abcd")
    cost = pd.Series([1.0, 2.0, 3.0], index=FOODS)
    lower = (cost - [0.0, 1.0, 2.0])[::-1]
    lp = LinearProgram(cost, A, given["b"], neighbours=ObjectivePrivate(1.0, lower=lower))
    assert lp.neighbours.lower.tolist() == [1.0, 1.0, 1.0]
    lp = LinearProgram.from_linprog(cost, A, given["b"], neighbours=lp.neighbours)
    assert lp.neighbours.lower.tolist() == [1.0, 1.0, 1.0]
    low = A - np.arange(12).reshape(4, 3)
    lp = LinearProgram(cost, A, given["b"], neighbours=RowPrivate(1.0, lower=low.iloc[::-1, ::-1]))
    assert np.array_equal(lp.neighbours.lower, low)
    wrong = [
        (ScalarPrivate(1.0, lower=given["b"].reset_index(drop=True)), "^lower has other labels"),
        (ScalarPrivate(4.0, "1", moves=pd.DataFrame({0: [1] * 4})), "^moves has other labels"),
        (ObjectivePrivate(1.0, upper=cost.set_axis([*"xyz"])), "^upper must name each variable"),
        (RowPrivate(1.0, lower=low.set_axis([*"xyz"], axis=1)), "^lower must name each variable"),
        (ScalarPrivate(1.0, lower=given["b"], upper=given["b"] - 1), "lower must not exceed upper"),
    ]
    for relation, message in wrong:
        with pytest.raises((InvalidProblemError, InvalidParameterError), match=message):
            LinearProgram(cost, A, given["b"], neighbours=relation)


def test_ranges_of_a_part_of_a_table():
    """Whose labels only count, but not from 0."""
    whole = pd.DataFrame({"x": [1.0] * 6, "need": range(6), "low": range(-1, 5)})
    part = whole[whole.index % 2 == 1]
    for table in (whole, part, part[::-1]):
        relation = ScalarPrivate(1.0, lower=table["low"])
        lp = LinearProgram([1.0], table[["x"]], table["need"], neighbours=relation)
        assert (lp.b - lp.neighbours.lower).tolist() == [1.0] * len(table)


@pytest.mark.parametrize("categories", [False, True])
@pytest.mark.parametrize("given", ["y", "groups", "sensitive_features"])
def test_records_are_not_matched_to_labels_of_others_or_of_another_order(given, categories):
    """Those of X may only count, with gaps, or those of the others may."""
    X = pd.DataFrame(ROWS, columns=FOODS, index=range(0, 2 * N, 2))
    bounds = dict.fromkeys(FOODS, (-1.0, 0.0))
    if categories:
        X, bounds = X.assign(town=[*"ab"] * (N // 2)), bounds | {"town": [*"ab"]}
    y = pd.Series(ROWS[:, 0] > -0.6, index=X.index, dtype=int)
    asked = {"y": y, "groups": pd.Series(HOME, index=X.index), "sensitive_features": y}
    asked.pop("groups" if given == "sensitive_features" else "sensitive_features")
    private = {"X_bounds": bounds, "random_state": 0}
    fair = {"fairness": "demographic_parity"} if given == "sensitive_features" else {}
    owned = {} if fair else {"rows_per_record": 2}
    estimators = [PrivateLPSVC(1.0, 1e-3, classes=(0, 1), **private, **fair, **owned)]
    if not fair:
        estimators.append(PrivateQuantileRegressor(1.0, 1e-3, y_bounds=(0, 1), **private, **owned))
    message = rf"^{given} has other labels .* in the same order; or .* order: {given}.to_numpy\(\)"
    others = [(asked[given].set_axis(index), message) for index in (X.index + 1, range(N))]
    others.append((asked[given][::-1], f"^{given} has the labels .* another order"))
    for estimator, (labelled, told) in itertools.product(estimators, others):
        with pytest.raises(InvalidProblemError, match=told):
            estimator.fit(X, **asked | {given: labelled})


def test_what_is_computed_of_a_point_goes_by_names_too():
    lp = models.diet([1, 2], [[1, 1]], np.ones((3, 1)), foods=["x", "milk"])
    point = pd.Series({"milk": 5.0, "x": 3.0})
    assert lp.objective(point) == lp.objective(dict(point)) == lp.objective([3, 5]) == 13.0
    assert lp.values(point)["amounts"].tolist() == [3.0, 5.0]
    cloud = pd.DataFrame([point, point])
    axes = lp.plot(points={"one": point, "many": cloud})
    drawn = [
        line.get_xydata().tolist() for line in axes.lines if line.get_label() in ("one", "many")
    ]
    assert drawn == [[[3.0, 5.0]], [[3.0, 5.0]] * 2]
    for wrong in (point.set_axis(["x", "oats"]), [1, 2, 3]):
        with pytest.raises(
            InvalidProblemError, match=r"^x must (name each variable|have 2 entries)"
        ):
            lp.objective(wrong)


@pytest.mark.parametrize("change", ["replace", "add-remove"])
def test_labels_of_people_in_the_wrong_place_are_not_quoted(change):
    nominal = 7 if change == "add-remove" else None
    people = pd.DataFrame(np.ones((7, 2)), columns=["x", "y"], index=[f"Ann{k}" for k in range(7)])
    relation = ConstraintPrivate(change, nominal_n=nominal)
    lp = LinearProgram([1, 1], people, people["x"], neighbours=relation)
    result = allocate(Allocation(people, supplies=[9, 9], largest_value=1), 20.0, rng=0)
    calls = (
        lp.objective,
        functools.partial(compare, lp),
        result.share,
        lambda of: lp.plot(points={"mine": of}),
        lambda of: lp.objective(of.to_numpy()),
    )
    for call in calls:
        with pytest.raises(privlp.PrivLPError, match=r"must (name each|have 2 entries)") as caught:
            call(people["x"])
        assert "Ann" not in str(caught.value)
        assert "7" not in str(caught.value)


@pytest.mark.parametrize(
    ("field", "values"),
    [
        ("b", [5.0, 6.0, 7.0]),
        ("row_lower", [-5.0, -6.0, -7.0]),
        ("groups", ["Ann", "Bob", "Ann"]),
        ("penalty", [1.0, 2.0, np.inf]),
        ("private", [True, False, False]),
    ],
)
def test_what_is_given_for_rows_goes_by_their_names(field, values, tmp_path):
    """Of an array, a model file or a model, whose rows have names and no labels of pandas."""
    names, turned = [*"abc"], pd.Series(values, index=[*"abc"])[::-1]
    made = [
        lambda **k: LinearProgram(
            [1, 1], **({"A": ROWS[:3, :2], "b": [9] * 3} | k), row_names=names
        )
    ]
    if field not in ("b", "row_lower"):
        made[0]().to_mps(tmp_path / "m.mps")
        made.append(lambda **k: LinearProgram.from_mps(tmp_path / "m.mps", **k))
    for make in made:
        assert getattr(make(**{field: turned}), field).tolist() == values
        assert getattr(make(**{field: pd.Series(values)}), field).tolist() == values  # no labels
        wrong = f"^{field} has other labels .index. than the rows of the program"
        with pytest.raises(InvalidProblemError, match=wrong):
            make(**{field: turned.set_axis([*"xyz"])})


def test_a_tolerance_of_each_row_goes_by_their_names():
    lp = LinearProgram([1, 1], np.eye(2), [3, 5], row_lower=[3, 5], row_names=[*"ab"])
    for tolerance in ([1.0, 2.0], pd.Series({"b": 2.0, "a": 1.0})):
        assert lp.with_tolerance(tolerance).b.tolist() == [4.0, 7.0]


def test_options_go_by_name(tmp_path):
    wishes = pd.DataFrame(RNG.uniform(size=(60, 3)), columns=FOODS)
    allocation = Allocation(wishes, supplies=[9, 9, 9], largest_value=1)
    result = allocate(allocation, 20.0, rng=0)
    result.save(tmp_path / "prices.json")
    for prices in (result, AllocationResult.load(tmp_path / "prices.json")):
        mine = prices.share(wishes.iloc[0])
        assert np.array_equal(mine, prices.share(wishes.iloc[0].to_numpy()))
        assert np.array_equal(mine, prices.share(wishes.iloc[0][::-1]))
        with pytest.raises(InvalidProblemError, match="values must name each option"):
            prices.share(wishes.iloc[0].set_axis([*"abc"]))
    shares = pd.DataFrame(result.shares_of(allocation), columns=FOODS)
    assert allocation.worth(shares) == allocation.worth(shares.to_numpy())
    for ask in (allocation.worth, allocation.used):
        with pytest.raises(InvalidParameterError, match="shares must name the options as values"):
            ask(shares[[*FOODS[::-1]]])


_SERIES, _OTHER = pd.Series([1.0, 2.0], index=[*"ab"]), pd.Series([1.0, 2.0], index=[*"ba"])
_TABLE = pd.DataFrame([[1.0, 2.0], [3.0, 4.0]], index=[*"ab"], columns=[*"ab"])
_LOTS = {"supplies": [9, 9], "demands": [1, 1], "sensitivity": 1}
_FLOW = {"arcs": [("i", "j"), ("j", "k")], "supply": {"i": 1, "k": -1}, "sensitivity": 1}


def fit(X, **options):
    return PrivateLPSVC(1.0, 1e-3, classes=(0, 1), random_state=0, **options).fit(X, [0, 1])


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda of: models.diet(_SERIES, _TABLE, _TABLE, most=of), "most name the foods"),
        (lambda of: models.diet(_SERIES, _TABLE, _TABLE, foods=[*of.index]), "foods has the names"),
        (lambda of: models.staffing(_SERIES, _TABLE, _TABLE, [1, 1], most=of), "name the shifts"),
        (lambda of: models.staffing(_SERIES, _TABLE, _TABLE, [1, 1], at_least=of), "the hours"),
        (lambda of: models.cvar_portfolio(_TABLE, bound=9, most=of), "most name the assets"),
        (lambda of: models.transport(_TABLE, **_LOTS, lower_supply=of), "name the suppliers"),
        (lambda of: models.transport(_TABLE, **_LOTS, upper_demand=of + 9), "name the customers"),
        (lambda of: models.min_cost_flow(costs=_SERIES, capacities=of, **_FLOW), "name the arcs"),
        (lambda of: Allocation(_TABLE, of, largest_value=9), "supplies name the options"),
        (lambda of: Allocation(_TABLE, [1, 1], limits=of, largest_limit=9, largest_value=9), "peop"),
        (lambda of: Allocation(_TABLE, of, uses=_TABLE, largest_value=9), "name the supplies"),
        (lambda of: soft_margin_lp(_TABLE, 2 * of - 3, 1.0), "y has the labels"),
        (lambda of: hard_margin_lp(_TABLE, 2 * of - 3), "y has the labels"),
        (lambda of: fit(_TABLE, X_bounds=(of - 9, of + 9)), "X_bounds names the columns"),
    ],
)  # fmt: skip
def test_labels_of_another_order_are_refused(make, named):
    """Entries are matched by place: of labels in the same order, or of none."""
    with warnings.catch_warnings(action="ignore"):
        make(_SERIES)
    with pytest.raises(
        (InvalidProblemError, InvalidParameterError), match=f"{named}.*another order"
    ):
        make(_OTHER)
