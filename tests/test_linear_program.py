"""The user's program."""

import copy
import dataclasses
import re
import tracemalloc
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from privlp import ConstraintPrivate, LinearProgram, solve_exact
from privlp.errors import InvalidParameterError, InvalidProblemError
from tests.effort import each

A = np.array([[1.0, 0.0, -2.0], [0.0, 3.0, 0.5]])
B = [4.0, 6.0]
C = [-1.0, -2.0, 1.0]
FORMATS = ("bsr", "coo", "csc", "csr", "dia", "dok", "lil")
PLANTED = 0.123454321


def program(**changes):
    return LinearProgram(**({"c": C, "A": A, "b": B} | changes))


# what is refused, and how it is said

ADD = ConstraintPrivate("add-remove", 2, nominal_n=10)
MATRIX = r"A must be a matrix of shape \(n, d\), got"
NUMBERS, REGULAR = "must hold real numbers", "must hold real numbers in a regular array"
PAIRS = r"bounds must be one \(lower, upper\) pair or a sequence .* for example \(0, None\)"
SIGN = "contain NaN or an infinity of the wrong sign"
PRICE = r"penalty must be a positive number, or one positive number \(inf"
NAMED = {"row_names": ["ann", "bob"]}
SENSE, OFFSET = "sense must be 'min' or 'max', got ", "offset must be "
RELATION = r"must be a neighbour relation, got (str|NoneType|the class Constr.*)\. Where whole"
#: What is given for an argument, and what is said of it.
WRONG = {
    "A": [
        ([1.0, 2.0], rf"{MATRIX} 1 dimension\(s\), shape \(2,\)"),
        (np.ones((2, 3, 1)), rf"{MATRIX} 3 dimension\(s\), shape \(2, 3, 1\)"),
        (None, rf"{MATRIX} 0 dimension"),
        (sp.coo_array(np.ones(3)), rf"{MATRIX} 1 dimension"),
        (np.ones((0, 3)), r"A has shape \(0, 3\); at least one row and one variable are needed"),
        (sp.csr_array((0, 3)), r"The problem is empty: A has shape \(0, 3\)"),
        (sp.csc_array((2, 0)), r"The problem is empty: A has shape \(2, 0\)"),
        ([[1, 2, 3], [4, 5]], f"A {REGULAR}"),
        (sp.csr_array(A * 1j), f"A {NUMBERS}, got dtype complex128"),
        ([["a", "b", "c"]] * 2, f"A {NUMBERS}, got dtype text: conv"),
        (pd.DataFrame(), "The problem is empty"),
        (pd.DataFrame(A, columns=["x", "x", "y"]), "The columns of A must have distinct names"),
        (pd.DataFrame(A, index=["r", "r"]), r"distinct; 'r' stands there .*reset_index\(.*groups="),
    ],
    "c": [
        ([1.0, 2.0], r"c has shape \(2,\), but A asks for \(3,\): one cost per column of A"),
        (np.ones((3, 1)), r"c has shape \(3, 1\), but A asks for \(3,\)"),
        (None, r"c has shape \(\), but A asks for \(3,\)"),
        ([1.0, np.nan, 0.0], r"c\[1\] is NaN, infinite or beyond 1e\+20; every entry must be a"),
        ([1.0, 0.0, np.inf], r"c\[2\] is NaN, infinite or beyond 1e\+20"),
        ([-1e20, 0.0, 0.0], r"c\[0\] is NaN, infinite or beyond 1e\+20"),
        ([10**400, 0.0, 0.0], f"c {NUMBERS}"),
    ],
    "b": [
        ([1.0], r"b has shape \(1,\), but A asks for \(2,\): one right-hand side per row of A"),
        (None, r"b has shape \(\), but A asks for \(2,\)"),
        ([1.0, np.nan], r"b\[1\] is NaN, infinite or beyond 1e\+20"),
        ([np.inf, 1.0], r"b\[0\] is NaN, infinite or beyond 1e\+20"),
        ([[1.0], [1.0, 2.0]], f"b {REGULAR}"),
        (np.ma.array([1.0, 1.0], mask=[True, False]), "b has masked entries"),
        (["1", "1"], "got dtype text: convert texts of digits"),
        (np.array(["1", "1"], dtype=object), "not text: convert texts of digits to n"),
        ([None, 1.0], "some entries are missing. Fill them in"),
    ],
    "bounds": [
        *((wrong, PAIRS) for wrong in (5, "ab", (0,), (0, 1, 2), (0, "x"), (1j, None))),
        *(((0, wrong), PAIRS) for wrong in (10**400, "5", np.ma.masked, 1j, np.complex64(1))),
        *(([(0, 1), wrong, (0, 1)], PAIRS) for wrong in ((0,), None, (0, np.ma.masked))),
        (np.zeros((3, 2, 2)), PAIRS),
        (np.ma.array([[0.0, 1.0]] * 3, mask=[[False, True]] * 3), PAIRS),
        (np.matrix([[0.0, 1.0]] * 3), PAIRS),
        (memoryview(np.zeros((3, 2))), None),
        ([(0, 1), (0, 1)], r"bounds has 2 pairs, but there are 3 variables"),
        ([], r"bounds has 0 pairs, but there are 3 variables"),
        ((np.nan, None), f"The bounds of variable 0 {SIGN}"),
        ([(0, 1), (0, np.nan), (0, 1)], f"The bounds of variable 1 {SIGN}"),
        ((np.inf, None), f"The bounds of variable 0 {SIGN}"),
        ([(0, None), (0, None), (None, -np.inf)], f"The bounds of variable 2 {SIGN}"),
        ((2, 1), "Contradictory bounds: variable 0 has its lower bound above its upper bound"),
        ([(0, 1), (0, 1), (0, -1)], "Contradictory bounds: variable 2 has its lower bound above"),
    ],
    "row_lower": [
        ([5.0, 0.0], "Contradictory bounds: row 'ann' has its lower bound above its upper"),
        ([0.0, np.nan], f"The bounds of row 'bob' {SIGN}"),
        ([0.0, 0.0, 0.0], r"row_lower has shape \(3,\)"),
        ([1e20, 0.0], r"row_lower holds finite values beyond 1e\+20; use inf"),
    ],
    "private": [
        ([True], r"private is a mask of shape \(1,\), but there are 2 rows"),
        (True, r"private is a mask of shape \(\), but there are 2 rows"),
        (["ann", "eve"], "No row name matches private='eve'. The first row names are: ann, bob"),
        ("eve*", r"No row name matches private='eve\*'. The first row names are: ann, bob.$"),
        ("an", "The first row names are: ann, bob. To mean all that begin so, write 'an\\*'.$"),
    ],
    "penalty": [
        *((wrong, PRICE) for wrong in (0, -1.0, np.nan, "high", 1j, [1.0, "x"], [[1], [1, 2]])),
        *((wrong, PRICE) for wrong in ([1.0], [1.0, -1.0], [1.0, np.nan], [[1.0, 2.0]])),
        ([[1.0, 2.0, 3.0]] * 2, PRICE),
        ([[1.0, 2.0], [0.0, 1.0]], PRICE),
        ([[1.0, np.inf], [1.0, 1.0]], "one side of a row soft and the other one hard"),
    ],
    "sense": [(wrong, SENSE) for wrong in ("Max", "minimise", None, ["min"], 1)]
    + [([">="] * 2, SENSE + "one for each row. For rows >= b give -A")],
    "offset": [(wrong, OFFSET) for wrong in (np.nan, np.inf, "a", None, 1j, [1.0, 2.0])],
    "row_names": [
        (["a", "a"], "row names must be distinct; 'a' stands there more than once"),
        (["a"], "1 row names were given for 2 rows"),
        (5, "row names must be"),
        (["\ud800", "b"], "row names must be text that can be written to a file"),
        (list, "row names must be a sequence of names, got type"),
    ],
    "variable_names": [
        (["x", "y", "x"], r"variable names must be distinct; 'x' stands there more than once\.$"),
        (["x", "y"], "2 variable names were given for 3 variables"),
        (np.array("a"), "variable names must be a sequence of names, got nd"),
    ],
    "name": [("a\udc80", "name must be text that can be written to a file")],
    "neighbours": [(wrong, RELATION) for wrong in ("replace", None, ConstraintPrivate)],
}
CASES = [(argument, *case) for argument, cases in WRONG.items() for case in cases]


@pytest.mark.parametrize(("argument", "wrong", "message"), CASES)
def test_refuses_what_is_wrong(argument, wrong, message):
    """Each error is a ValueError too."""
    kinds = (InvalidProblemError, InvalidParameterError)
    with pytest.raises(kinds, match=message) as caught:
        program(**(NAMED if argument in ("private", "row_lower") else {}) | {argument: wrong})
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"row_lower": [np.inf, 0.0], "b": [np.inf, 1.0]}, f"The bounds of row 0 {SIGN}"),
        ({"row_lower": [0.0, 0.0], "b": [1.0, np.nan]}, f"The bounds of row 1 {SIGN}"),
        ({"row_lower": [0.0, 0.0], "b": [1.0, 2.0, 3.0]}, r"\bb has shape \(3,\)"),
        ({"row_lower": [-np.inf, -np.inf], "b": [1e20, 1.0]}, r"finite values beyond 1e\+20"),
        ({"bounds": (2, 1), "variable_names": list("xyz")}, "variable 'x' has its lower bound ab"),
        ({"private": "a*"}, r"private='a\*' is a pattern over row names, but the rows have no nam"),
        ({"private": ["ann"]}, "private='ann' is a pattern over row names, but the rows have no n"),
    ],
)
def test_refuses_what_does_not_fit_together(changes, message):
    with pytest.raises(InvalidProblemError, match=message):
        program(**changes)


def _locked(array):
    array.setflags(write=False)
    return array


def _locked_rows(dtype=float, rows=A):
    rows = sp.csr_array(rows.astype(dtype))
    for part in (rows.data, rows.indices, rows.indptr):
        _locked(part)
    return rows


@pytest.mark.parametrize(
    "storage",
    [
        np.array,
        sp.csr_array,
        sp.coo_matrix,
        pd.DataFrame,
        _locked,
        lambda rows: _locked_rows(rows=rows),
    ],
)
@pytest.mark.parametrize("entry", [np.nan, np.inf, -np.inf, 1e15, -3e17])
def test_refuses_bad_entries_of_a(storage, entry):
    bad = A.copy()
    bad[1, 2] = entry
    beyond = r"entries that are infinite or not below 1e\+15 in size"
    kind = "NaN" if np.isnan(entry) else beyond
    refusal = rf"Row 1 of A contains {kind}\. Every coefficient must be finite; rescale the row or"
    if storage is pd.DataFrame and np.isnan(entry):
        refusal = r"A holds missing entries in column 2\. Fill in each of them"
    with pytest.raises(InvalidProblemError, match=refusal):
        program(A=storage(bad))


def test_accepts_the_largest_entries():
    largest = np.nextafter(1e15, 0)
    assert program(A=[[largest, -largest, 0.0]], b=[1.0]).A.max() == largest


@pytest.mark.parametrize(
    ("private", "row_names"), [("Ann*", None), (["Ann"], None), (["Ann", "E*"], ["Bob", "Eve"])]
)
def test_patterns_are_not_quoted_where_names_are_private(private, row_names):
    """A name in the place of a pattern is a name of somebody who may have left."""
    if row_names is None:
        with pytest.raises(InvalidProblemError, match="A text in private is a pattern") as caught:
            program(private=private, neighbours=ADD)
        assert "Ann" not in str(caught.value)
    else:
        assert program(private=private, row_names=row_names, neighbours=ADD).private.any()
    with pytest.raises(InvalidProblemError, match=r"^A penalty must be a positive"):
        program(penalty={"Ann": "HIV+"}, neighbours=ADD)


@pytest.mark.parametrize(
    ("entries", "kind"), [("a" * 12, "text"), (b"a" * 12, "bytes"), ((1, "Ann"), "records")]
)
def test_the_length_of_the_longest_text_is_not_told(entries, kind):
    dtype = [("x", float), ("name of Ann", "U7")] if kind == "records" else None
    with pytest.raises(InvalidProblemError, match=f"got dtype {kind}[:.]") as caught:
        program(b=np.array([entries] * 2, dtype=dtype))
    assert not any(word in str(caught.value) for word in ("12", "U", "S1", "Ann"))


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ([1], r"groups has shape \(1,\); it needs one record id for each of the 2 rows"),
        ([[1, 2]], r"groups has shape \(1, 2\); it needs one record id"),
        ("ab", "groups must hold one .*: groups='ab' would name a column of a table, and A is non"),
        ([[1], [1, 2]], r"groups .*one record id"),
        ([1, None], r"groups .*record id"),
    ],
)
def test_refuses_bad_groups(groups, message):
    with pytest.raises(InvalidProblemError, match=message):
        program(groups=groups)
    unquoted = (
        r"^groups must hold one record id for each row(, all of one type|: groups='ab' .*)?\.$"
    )
    with pytest.raises(InvalidProblemError, match=unquoted):
        program(groups=groups, neighbours=ADD)


def test_prices_of_two_sides():
    sides = {"b": [1.0, 1.0, np.inf], "row_lower": [0.0, -np.inf, 1.0]}
    prices = [[2.0, 3.0], [5.0, 7.0], [11.0, 13.0]]
    lp = LinearProgram([0.0], np.ones((3, 1)), **sides, penalty=prices)
    np.testing.assert_array_equal(lp.prices_of_sides(), [[2, 3], [0, 7], [11, 0]])
    assert lp.price_of(np.array([1.0, 1.0, -1.0])) == 3 + 7 + 11
    assert lp.price_of(np.array([-1.0, 0.0, 0.0])) == 2
    one = lp.changed(penalty=[2.0, 7.0, 11.0])
    assert one.price_of(np.array([-1.0, 1.0, 1.0])) == 2 + 7 + 11


def test_two_prices_of_records_that_come_and_go_do_not_show():
    relation = ConstraintPrivate("add-remove", 2, nominal_n=2)
    both = ([1.0, 2.0], [[1.0, 3.0], [2.0, 2.0]])
    one, other = (program(penalty=p, neighbours=relation).public() for p in both)
    assert one == other


# one program, however A is given


DENSE = {
    "list": A.tolist(),
    "C order": np.ascontiguousarray(A),
    "Fortran order": np.asfortranarray(A),
    "strided view": np.repeat(A, 2, axis=1)[:, ::2],
    "read-only": np.frombuffer(A.tobytes()).reshape(A.shape),
    "float32": A.astype(np.float32),
    "object": A.astype(object),
    "DataFrame": pd.DataFrame(A),
    "mixed DataFrame": pd.DataFrame({"x": [1, 0], "y": [0.0, 3.0], "z": np.float32(A[:, 2])}),
}
SPARSE = {form: getattr(sp, f"{form}_array")(A) for form in FORMATS}
SPARSE |= {f"{form} matrix": getattr(sp, f"{form}_matrix")(A) for form in ("coo", "csc", "csr")}
GIVEN = {**DENSE, **SPARSE}


@pytest.mark.parametrize("given", GIVEN)
def test_all_forms_give_the_same_program(given):
    lp = program(A=GIVEN[given])
    assert lp.is_sparse == (given in SPARSE)
    assert type(lp.A) is (sp.csr_array if given in SPARSE else np.ndarray)
    assert lp.A.dtype == np.float64
    assert not (lp.A.data if given in SPARSE else lp.A).flags.writeable
    np.testing.assert_array_equal(lp.A.toarray() if given in SPARSE else lp.A, A)


@pytest.mark.parametrize("dtype", [np.int64, np.int8, np.uint8, bool])
@pytest.mark.parametrize("storage", [np.array, sp.csr_array])
def test_integers_and_booleans_become_floats(dtype, storage):
    whole = np.array([[1, 0], [0, 1]], dtype=dtype)
    lp = LinearProgram(np.array([1, 2]), storage(whole), np.array([3, 4], dtype=np.int32))
    assert lp.A.dtype == lp.b.dtype == lp.c.dtype == np.float64
    np.testing.assert_array_equal(lp.A @ [1.0, 1.0], [1.0, 1.0])


def _mapped(folder):
    np.save(folder / "A.npy", A)
    return np.load(folder / "A.npy", mmap_mode="r")


@pytest.mark.parametrize(
    "make",
    [
        lambda _: _locked(np.array(A)),
        lambda _: _locked(np.array(A, dtype=np.float32, order="F")),
        _mapped,
        lambda _: _locked_rows(),
        lambda _: _locked_rows(np.float32),
    ],
    ids=["C", "F", "memory map", "sparse", "sparse, single"],
)
def test_an_array_that_nobody_can_write_to_is_held_as_it_is(make, tmp_path):
    given = make(tmp_path)
    lp = program(A=given)
    for part in ("data", "indices") if sp.issparse(given) else ():
        assert np.shares_memory(getattr(lp.A, part), getattr(given, part))
    assert sp.issparse(given) or np.shares_memory(lp.A, given)
    assert lp.A.dtype == given.dtype
    expected = program(A=given.astype(float))
    assert solve_exact(lp).objective == solve_exact(expected).objective


def test_what_only_in_part_cannot_be_written_to_is_copied():
    rows = sp.csr_array(A)
    _locked(rows.data)
    unsorted = sp.csr_array((np.ones(2), np.array([1, 0]), np.array([0, 2, 2])), shape=(2, 2))
    for part in (unsorted.data, unsorted.indices, unsorted.indptr):
        _locked(part)
    whole = _locked(np.ones((2, 2), dtype=np.int64))
    for given, of_given in ((rows, rows.data), (unsorted, unsorted.data), (whole, whole)):
        lp = LinearProgram(np.ones(given.shape[1]), given, [1.0, 1.0])
        own = lp.A.data if sp.issparse(given) else lp.A
        assert not np.shares_memory(own, of_given)
        assert own.dtype == np.float64


def test_vectors_may_be_series_or_sparse():
    lp = program(c=pd.Series(C, index=["x", "y", "z"]), b=sp.coo_array(np.array([B])))
    np.testing.assert_array_equal(lp.c, C)
    np.testing.assert_array_equal(lp.b, B)


@pytest.mark.parametrize(
    "doubled",
    [
        sp.coo_array(([1.0, 2.0, 5.0], ([0, 0, 1], [1, 1, 0])), shape=(2, 2)),
        sp.csc_array(([5.0, 1.0, 2.0], [1, 0, 0], [0, 1, 3]), shape=(2, 2)),
        sp.csr_array(([1.0, 2.0, 5.0], [1, 1, 0], [0, 2, 3]), shape=(2, 2)),
    ],
    ids=["coo", "csc", "csr"],
)
def test_duplicate_entries_of_a_sparse_matrix_are_summed(doubled):
    lp = LinearProgram([1.0, 1.0], doubled, [1.0, 1.0])
    np.testing.assert_array_equal(lp.A.toarray(), [[0.0, 3.0], [5.0, 0.0]])
    assert lp.A.nnz == 2
    assert doubled.nnz == 3


def test_a_sparse_matrix_may_be_all_zero():
    lp = LinearProgram([1.0], sp.csc_array((2, 1)), [1.0, 1.0])
    assert lp.A.nnz == 0


def test_a_frame_gives_its_names_where_none_are_given():
    frame = pd.DataFrame(A, index=["ann", "bob"], columns=["x", "y", "z"])
    lp = program(A=frame, private="a*")
    assert (lp.row_names, lp.variable_names) == (("ann", "bob"), ("x", "y", "z"))
    assert (lp.row_name(1), lp.variable_name(2)) == ("row 'bob'", "variable 'z'")
    assert lp.private.tolist() == [True, False]
    assert program(A=frame, row_names=["r", "q"]).row_names == ("r", "q")


def test_a_sparse_frame_stays_sparse():
    frame = pd.DataFrame.sparse.from_spmatrix(
        sp.csc_array(A), index=["ann", "bob"], columns=["x", "y", "z"]
    )
    lp = program(A=frame)
    np.testing.assert_array_equal(lp.A @ np.ones(3), A.sum(axis=1))
    assert lp.row_names == ("ann", "bob")
    assert lp.is_sparse


def _memory_of(build):
    """Bytes still held, and the most held, by what `build` allocates."""
    tracemalloc.start()
    try:
        kept = build()
        held, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    del kept
    return held, peak


@pytest.mark.parametrize(("dtype", "order"), each([np.float64, np.float32, np.int64], "CF"))
def test_a_dense_matrix_is_copied_once(dtype, order):
    given = np.ones((500, 400), dtype=dtype, order=order)
    held, peak = _memory_of(lambda: LinearProgram(np.ones(400), given, np.ones(500)))
    size = 8 * given.size
    assert size <= held < 1.1 * size
    assert peak < 1.2 * size


@pytest.mark.parametrize("form", ["csc", "csr", "coo"])
def test_a_sparse_matrix_is_copied_once_and_never_densified(form):
    given = sp.random_array((20_000, 1_000), density=0.01, format=form, rng=0)
    held, peak = _memory_of(lambda: LinearProgram(np.ones(1_000), given, np.ones(20_000)))
    size = 12 * given.nnz  # a value and a 32-bit row index for each entry
    others = 8 * (20_000 + 1_000) * 5
    assert size <= held < 1.1 * size + others
    assert peak < 2.5 * size + others  # a dense copy would be 67 times the size


# immutability


def _full_program(storage=np.array):
    fields = {"private": [0], "groups": [7, 8], "bounds": [(0, 1), (None, 2), (-3, None)]}
    fields |= {"penalty": [2.0, np.inf], "row_lower": [-1.0, -np.inf]}
    names = {"variable_names": ["x", "y", "z"], "row_names": ["ann", "bob"]}
    return LinearProgram(np.array(C), storage(A), np.array(B), **fields, **names)


def test_fields_cannot_be_assigned():
    lp = _full_program()
    for field in dataclasses.fields(LinearProgram):
        with pytest.raises(dataclasses.FrozenInstanceError, match=field.name):
            setattr(lp, field.name, None)


def test_arrays_are_read_only():
    lp, sparse, default = _full_program(), _full_program(sp.csr_array), program()
    names = ("c", "A", "b", "bounds", "private", "groups", "penalty", "row_lower")
    arrays = [getattr(lp, name) for name in names]
    arrays += [getattr(sparse.A, part) for part in ("data", "indices", "indptr")]
    arrays += [default.row_lower, default.b, default.private]
    for array in arrays:
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 1
    with warnings.catch_warnings(action="ignore", category=sp.SparseEfficiencyWarning):
        for entry in [(0, 0), (1, 0)]:  # stored, and new
            with pytest.raises(ValueError, match="read-only"):
                sparse.A[entry] = 9.0
    np.testing.assert_array_equal(sparse.A.toarray(), A)


@pytest.mark.parametrize("form", ["C", "F", "frame", *FORMATS])
def test_later_changes_of_the_callers_data_change_nothing(form):
    given = {
        "c": np.array(C),
        "A": getattr(sp, f"{form}_array")(A) if form in FORMATS else pd.DataFrame(A),
        "b": np.array(B),
        "bounds": np.array([[0.0, 1.0]] * 3),
        "private": np.array([True, False]),
        "groups": np.array([1, 2]),
        "penalty": np.array([2.0, np.inf]),
        "row_lower": np.array([-1.0, -2.0]),
        "variable_names": ["x", "y", "z"],
        "row_names": ["ann", "bob"],
    }
    if form in "CF":
        given["A"] = np.array(A, order=form)
    before = copy.deepcopy(given)
    lp = LinearProgram(**given)
    if form in ("bsr", "coo", "csc", "csr", "dia"):
        given["A"].data[...] = 77.0
    else:
        (given["A"].iloc if form == "frame" else given["A"])[0, 0] = 77.0
    for name in ("c", "b", "bounds", "groups", "penalty", "row_lower", "private"):
        given[name][...] = ~given[name] if name == "private" else 77
    given["variable_names"][0] = given["row_names"][0] = "changed"
    np.testing.assert_array_equal(lp.A.toarray() if lp.is_sparse else lp.A, A)
    for name in before.keys() - {"A"}:
        np.testing.assert_array_equal(getattr(lp, name), before[name], err_msg=name)


def test_replacing_one_field_gives_a_new_program():
    lp = _full_program(sp.csr_array)
    other = dataclasses.replace(lp, sense="max", neighbours=ADD)
    assert (lp.sense, other.sense, other.neighbours) == ("min", "max", ADD)
    for name in ("c", "b", "bounds", "private", "groups", "penalty", "row_lower"):
        np.testing.assert_array_equal(getattr(other, name), getattr(lp, name), err_msg=name)
    np.testing.assert_array_equal(other.A.toarray(), A)


# what is read from it


@pytest.mark.parametrize(
    ("bounds", "expected"),
    [
        ((0, None), [[0, np.inf]] * 3),
        (None, [[0, np.inf]] * 3),
        ((None, None), [[-np.inf, np.inf]] * 3),
        ([(-1, 4)], [[-1, 4]] * 3),
        ([(0, 1), (None, 2), (3, 3)], [[0, 1], [-np.inf, 2], [3, 3]]),
        (np.array([[0, 1], [-np.inf, 2], [3, np.inf]]), [[0, 1], [-np.inf, 2], [3, np.inf]]),
        ((-1e20, 1e21), [[-np.inf, np.inf]] * 3),
    ],
)
def test_bounds_are_read_as_scipy_reads_them(bounds, expected):
    np.testing.assert_array_equal(program(bounds=bounds).bounds, expected)


def test_two_variables_with_one_pair_each():
    for bounds, expected in (([(0, 1), (2, 3)], [[0, 1], [2, 3]]), ([0, 1], [[0, 1], [0, 1]])):
        assert LinearProgram([1, 1], [[1, 1]], [1], bounds=bounds).bounds.tolist() == expected


def test_shape_objective_and_sides():
    lp = program(row_lower=[-np.inf, 6.0], b=[np.inf, 6.0], sense="max", offset=10.0)
    assert lp.shape == (2, 3)
    assert lp.sign == -1.0
    assert program().sign == 1.0
    assert lp.objective([1.0, 1.0, 1.0]) == 8.0
    np.testing.assert_array_equal(lp.sides(), [0, 2])
    np.testing.assert_array_equal(program(row_lower=[-np.inf, 0.0]).sides(), [1, 2])


@pytest.mark.parametrize("prices", [np.inf, [np.inf] * 2, [[np.inf] * 2] * 2, {"ann": np.inf}])
def test_rows_without_a_price_are_hard(prices):
    """Unless records come and go, whose prices are private."""
    fields = {"c": [1], "A": [[1], [2]], "b": [1, 2], "penalty": prices, **NAMED}
    assert LinearProgram(**fields).penalty is None
    assert np.isinf(LinearProgram(**fields, neighbours=ADD).penalty).all()


def test_rows_in_blocks_without_a_price_are_hard():
    lp = LinearProgram([1], [np.ones((1, 1))] * 2, [[1], [2]], penalty=np.full(2, np.inf))
    assert lp.in_blocks
    assert lp.penalty is None


def test_one_penalty_makes_the_private_rows_soft():
    np.testing.assert_array_equal(program(penalty=3, private=[1]).penalty, [np.inf, 3.0])
    np.testing.assert_array_equal(program(penalty=[4.0, np.inf]).penalty, [4.0, np.inf])
    assert program().penalty is None


# what is shown


@pytest.mark.parametrize("storage", [np.array, sp.csc_array])
def test_no_private_number_is_shown(storage):
    matrix = storage(np.array([[PLANTED, 1.0], [2.0, -PLANTED]]))
    fields = {"row_lower": [-PLANTED, -np.inf], "groups": ["ann", "bob"], "name": "diet"}
    lp = LinearProgram([1.0, 1.0], matrix, [PLANTED, 10 * PLANTED], **fields)
    for shown in (repr(lp), str(lp), f"{lp}"):
        assert "'diet', min, 2 rows (2 private), 2 variables" in shown
        assert not any(word in shown for word in ("12345", "ann"))


@pytest.mark.parametrize("n", [3, 4])
def test_the_number_of_rows_is_hidden_when_it_is_private(n):
    relation = ConstraintPrivate("add-remove", nominal_n=1000)
    assert repr(LinearProgram([1.0], np.ones((n, 1)), np.ones(n), neighbours=relation)) == (
        "LinearProgram(min, number of rows private, 1 variables, dense, constraint-private: one"
        " record (at most 1 row) added or removed, nominal n = 1000 (a program of more than 10000"
        " private rows is refused))"
    )


# constraint-private neighbours

NOMINAL = "change='add-remove' makes the number of rows private: give a public nominal_n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"change": "swap"}, "change must be 'replace' or 'add-remove', got 'swap'"),
        ({"change": None}, "change must be 'replace' or 'add-remove', got None"),
        ({"rows_per_record": 0}, "rows_per_record must be a positive integer, got 0"),
        ({"rows_per_record": 1.0}, "rows_per_record must be a positive integer, got 1.0"),
        ({"rows_per_record": True}, "rows_per_record must be a positive integer, got True"),
        ({"rows_per_record": "2"}, "rows_per_record must be a positive integer, got '2'"),
        ({"change": "add-remove"}, NOMINAL),
        ({"change": "add-remove", "nominal_n": 0}, "nominal_n must be a positive integer, got 0"),
        ({"change": "add-remove", "nominal_n": 1e4}, "nominal_n must be a positive integer, got 1"),
        ({"nominal_n": 100}, "nominal_n has no use with change='replace', where the number of"),
    ],
)
def test_refuses_bad_relations(arguments, message):
    with pytest.raises(InvalidParameterError, match=message):
        ConstraintPrivate(**arguments)


EQUALITY = {"row_lower": [-np.inf, 6.0]}  # row 0 is an inequality, row 1 an equality


@pytest.mark.parametrize(
    ("relation", "changes", "rows"),
    [
        (ConstraintPrivate(), {}, 1),
        (ConstraintPrivate(rows_per_record=3), {}, 3),
        (ConstraintPrivate(), EQUALITY, 2),
        (ConstraintPrivate(rows_per_record=3), EQUALITY, 6),
        (ConstraintPrivate(), EQUALITY | {"private": [0]}, 1),
        (ConstraintPrivate(), EQUALITY | {"private": [1]}, 2),
        (ConstraintPrivate(), {"groups": ["ann", "bob"]}, 1),
        (ConstraintPrivate(), {"groups": ["ann", "ann"]}, 2),
        (ConstraintPrivate(), EQUALITY | {"groups": ["ann", "ann"]}, 3),
        (ConstraintPrivate(), EQUALITY | {"groups": ["ann", "ann"], "private": [0]}, 1),
        (ConstraintPrivate(rows_per_record=5), {"groups": ["ann", "ann"]}, 5),
        (ConstraintPrivate(), {"private": []}, 1),
        (ConstraintPrivate("add-remove", 1, 100), {}, 1),
        (ConstraintPrivate("add-remove", 4, 100), {}, 4),
        (ConstraintPrivate("add-remove", 4, 100), EQUALITY, 4),
        (ConstraintPrivate("add-remove", 4, 100), EQUALITY | {"groups": ["ann", "ann"]}, 4),
    ],
)
def test_rows_of_one_record(relation, changes, rows):
    assert relation.rows_of_one_record(program(neighbours=relation, **changes)) == rows


@pytest.mark.parametrize("declared", [1, 2, 3])
def test_more_rows_by_public_groups_than_were_declared_are_protected_and_said(declared):
    relation, groups = ConstraintPrivate(rows_per_record=declared), ["ann"] * 3 + ["bob"]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        lp = program(A=np.eye(4), b=np.ones(4), c=np.ones(4), groups=groups, neighbours=relation)
    said = r"By groups one record owns 3 private rows, more than rows_per_record=2. Who owns .* so"
    assert [bool(re.match(said, str(of.message))) for of in caught] == [True] * (declared == 2)
    assert lp.public().rows_of_one_record == 3


@pytest.mark.parametrize(
    ("rows_per_record", "changes"),
    [
        (1, EQUALITY),
        (1, {"row_lower": [0.0, -np.inf]}),
        (1, {"groups": ["ann", "ann"]}),
        (2, EQUALITY | {"groups": ["ann", "ann"]}),
    ],
)
def test_refuses_records_larger_than_declared(rows_per_record, changes):
    relation = ConstraintPrivate("add-remove", rows_per_record, nominal_n=100)
    message = rf"A record has more than rows_per_record={rows_per_record} private rows \(an equal"
    with pytest.raises(InvalidProblemError, match=message):
        program(neighbours=relation, **changes)
    larger = ConstraintPrivate("add-remove", rows_per_record + 1, nominal_n=100)
    assert program(neighbours=larger, **changes).neighbours is larger
