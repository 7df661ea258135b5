"""Readers: MPS files, the arguments of scipy.optimize.linprog, and CVXPY problems."""

import gzip
import warnings
from importlib.metadata import version
from pathlib import Path

import cvxpy as cp
import highspy
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

import privlp
from privlp import ConstraintPrivate, LinearProgram, ScalarPrivate, Status, solve, solve_exact
from privlp.errors import InvalidProblemError, PrivLPError, ReadError
from privlp.readers.mps_check import _rows_of_sides
from tests.effort import each, examples

INF = np.inf
SHARED = Path(__file__).parents[2] / "shared" / "data" / "lp"

# MPS

MODEL = """\
NAME diet
ROWS
 N cost
 L patient1
 L patient2
 G need
 E total
COLUMNS
 x cost 1 patient1 1
 x patient2 -1 need 3
 y cost 2 patient1 1
 y patient2 1 total 0.5
 z total 1
RHS
 RHS patient1 4 need 1
 RHS total 2
BOUNDS
 UP BND z 5
ENDATA
"""


@pytest.fixture
def write(tmp_path):
    """Write a model file, by default under a usual name, and return its path."""

    def write(content, name="model.mps"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


def test_mps_rows_columns_and_names(write):
    lp = LinearProgram.from_mps(write(MODEL))
    assert lp.row_names == ("patient1", "patient2", "need", "total")
    assert lp.variable_names == ("x", "y", "z")
    assert lp.is_sparse
    np.testing.assert_array_equal(lp.c, [1, 2, 0])
    np.testing.assert_array_equal(lp.A.toarray(), [[1, 1, 0], [-1, 1, 0], [3, 0, 0], [0, 0.5, 1]])
    np.testing.assert_array_equal(lp.row_lower, [-INF, -INF, 1, 2])
    np.testing.assert_array_equal(lp.b, [4, 0, INF, 2])
    np.testing.assert_array_equal(lp.bounds, [[0, INF], [0, INF], [0, 5]])
    assert (lp.sense, lp.offset) == ("min", 0.0)
    assert lp.neighbours == ConstraintPrivate()


def changed(old, new):
    """The model with one place changed."""
    assert MODEL.count(old) == 1
    return MODEL.replace(old, new)


@pytest.mark.parametrize(
    ("private", "expected"),
    [
        (None, [True, True, True, False]),  # equalities are public by default
        ("patient*", [True, True, False, False]),
        (["patient*", "total"], [True, True, False, True]),
        ([False, False, False, True], [False, False, False, True]),
    ],
)
def test_mps_private_rows_can_be_chosen(write, private, expected):
    lp = LinearProgram.from_mps(write(MODEL), private=private)
    assert lp.private.tolist() == expected


def test_a_name_in_a_sequence_is_no_pattern():
    lp = LinearProgram([1], [[1], [2]], [1, 1], row_names=["x[1]", "x1"], private=["x[1]"])
    assert lp.private.tolist() == [True, False]


@pytest.mark.parametrize(
    ("ranges", "lower", "upper"),
    [
        ("patient1 -2.5", [1.5, -INF, 1, 2], [4, 0, INF, 2]),
        ("need 3", [-INF, -INF, 1, 2], [4, 0, 4, 2]),
        ("total 3", [-INF, -INF, 1, 2], [4, 0, INF, 5]),
        ("total -3", [-INF, -INF, 1, -1], [4, 0, INF, 2]),
    ],
)
def test_mps_ranges(write, ranges, lower, upper):
    lp = LinearProgram.from_mps(write(changed("BOUNDS", f"RANGES\n RNG {ranges}\nBOUNDS")))
    np.testing.assert_array_equal([lp.row_lower, lp.b], [lower, upper])
    np.testing.assert_array_equal(lp.private, np.array(lower) != upper)


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ("LO BND z -5", [-5, INF]),
        ("LO BND z 2\n UP BND z 5", [2, 5]),
        ("FX BND z 3", [3, 3]),
        ("FR BND z", [-INF, INF]),
        ("MI BND z", [-INF, INF]),
        ("MI BND z\n UP BND z 5", [-INF, 5]),
        ("PL BND z", [0, INF]),
        ("UI BND z 5", [0, 5]),
        ("LI BND z 1", [1, INF]),
        ("BV BND z", [0, 1]),
        ("SC BND z 5", [0, 5]),
        ("LO BND z 2\n SC BND z 5", [0, 5]),
    ],
)
def test_mps_bounds(write, lines, expected):
    """Integer variables are relaxed on request, and refused without it."""
    path = write(changed("UP BND z 5", lines))
    lp = LinearProgram.from_mps(path, relax=True)
    np.testing.assert_array_equal(lp.bounds, [[0, INF], [0, INF], expected])
    if any(kind in lines for kind in ("BV", "UI", "LI", "SC")):
        with pytest.raises(ReadError, match=r"has integer variables; .* from_mps\(.*relax=True\)"):
            LinearProgram.from_mps(path)
    else:
        np.testing.assert_array_equal(LinearProgram.from_mps(path).bounds[2], expected)


TAKEN = ["NAME", "OBJSENSE", "objsense", "QSECTION", "QCMATRIX", "CSECTION"]
PLACES = [" y cost 2", " RHS total 2", " RHS patient1 4 need 1", " RNG total 1"]


@pytest.mark.parametrize(("name", "old"), each(TAKEN, PLACES))
def test_names_that_highs_takes_for_headers_are_refused(write, name, old):
    text = MODEL.replace("BOUNDS", "RANGES\n RNG total 1\nBOUNDS")
    new = f" {name} {old.split(maxsplit=1)[1]}"
    text = text.replace(old, new)
    line = text[: text.index(new)].count("\n") + 1
    with pytest.raises(ReadError, match=rf"line {line}: HiGHS reads the name {name} as the header"):
        LinearProgram.from_mps(write(text))
    relation = ConstraintPrivate("add-remove", nominal_n=50)
    with pytest.raises(ReadError, match="a line: HiGHS reads the name of the line as the header"):
        LinearProgram.from_mps(write(text), neighbours=relation)


@pytest.mark.parametrize("name", TAKEN)
def test_names_that_could_not_be_read_again_are_not_written(tmp_path, name):
    lp = LinearProgram([1, 2], [[1, 1]], [5], variable_names=["x", name], row_names=[name])
    with pytest.raises(ReadError, match=rf"HiGHS reads the variable name '{name}' in a file"):
        lp.to_mps(tmp_path / "model.mps")
    assert not (tmp_path / "model.mps").exists()


def test_names_of_rows_are_never_headers(tmp_path):
    lp = LinearProgram([1, 2], [[1, 1]] * len(TAKEN), [5] * len(TAKEN), row_names=TAKEN)
    lp.to_mps(tmp_path / "model.mps")
    assert LinearProgram.from_mps(tmp_path / "model.mps").row_names == tuple(TAKEN)


def test_names_with_a_dollar_are_names(write):
    text = MODEL.replace("patient1", "$one").replace(" y ", " $y ")
    assert LinearProgram.from_mps(write(text)).variable_names == ("x", "$y", "z")


@pytest.mark.parametrize(
    ("section", "sense"),
    [
        ("OBJSENSE\n    MAX\n", "max"),
        ("OBJSENSE\n    MAXIMIZE\n", "max"),
        ("OBJSENSE MAX\n", "max"),
        ("OBJSENSE\n    MIN\n", "min"),
        ("", "min"),
    ],
)
def test_mps_sense(write, section, sense):
    lp = LinearProgram.from_mps(write(changed("ROWS\n", section + "ROWS\n")))
    assert lp.sense == sense
    # max: x + 2y with x + y <= 4, y <= x; min: x >= 1/3, and z takes the equality up
    assert solve_exact(lp).objective == pytest.approx({"max": 6.0, "min": 1 / 3}[sense], abs=1e-9)


def test_mps_objective_offset(write):
    lp = LinearProgram.from_mps(write(changed("RHS total 2", "RHS total 2 cost -10")))
    assert lp.offset == 10.0
    assert solve_exact(lp).objective == pytest.approx(10 + 1 / 3, abs=1e-9)


@pytest.mark.parametrize("name", ["model.mps.gz", "MODEL.MPS", "mödel with spaces.mps"])
def test_mps_file_names(write, name):
    packed = name.endswith(".gz")
    if packed and tuple(map(int, version("highspy").split(".")[:2])) < (1, 15):
        pytest.skip("this HiGHS cannot read gzipped files")
    path = write(gzip.compress(MODEL.encode()) if packed else MODEL, name)
    assert LinearProgram.from_mps(str(path)).shape == (4, 3)


def test_mps_in_fixed_columns_may_have_spaces_in_names(write):
    text = """\
NAME          DIET
ROWS
 N  COST
 L  ANN B
 E  TOTAL
COLUMNS
    X 1       COST               1.0   ANN B              2.0
    X 1       TOTAL              3.0
    Y 1       COST              -1.0   TOTAL              1.0
RHS
    RHS       ANN B              4.0   TOTAL              5.0
BOUNDS
 UP BND       X 1                7.0
ENDATA
"""
    lp = LinearProgram.from_mps(write(text), private="ANN*")
    assert (lp.row_names, lp.variable_names) == (("ANN B", "TOTAL"), ("X 1", "Y 1"))
    np.testing.assert_array_equal(lp.A.toarray(), [[2, 0], [3, 1]])
    np.testing.assert_array_equal(lp.b, [4, 5])
    np.testing.assert_array_equal(lp.bounds, [[0, 7], [0, INF]])
    np.testing.assert_array_equal(lp.private, [True, False])


def test_lp_files_are_read_too(write):
    text = "max\n obj: x + 2 y\nst\n a: x + y <= 4\n b: x - y = 1\nbounds\n x free\nend\n"
    lp = LinearProgram.from_mps(write(text, "model.lp"))
    assert (lp.sense, lp.row_names, lp.private.tolist()) == ("max", ("a", "b"), [True, False])
    assert solve_exact(lp).objective == pytest.approx(5.5)


def test_box_is_intersected_with_the_bounds(write):
    text = changed("BOUNDS\n", "BOUNDS\n FR BND x\n LO BND y -1\n")
    lp = LinearProgram.from_mps(write(text), box=3)
    np.testing.assert_array_equal(lp.bounds, [[-3, 3], [-1, 3], [0, 3]])


def test_box_that_contradicts_a_bound(write):
    with pytest.raises(InvalidProblemError, match="Contradictory bounds: variable 'z' has its low"):
        LinearProgram.from_mps(write(changed("UP BND z 5", "LO BND z 5")), box=3)


UNREADABLE = r"HiGHS cannot read '.*' as a model\. Check that it is an MPS or LP file .*not cut"
JUNK = {
    "empty": b"",
    "blank": b"\n\n",
    "garbage": b"hello world\nthis is no model\n",
    "zeros": b"\0" * 1000,
    "bytes": bytes(range(256)) * 20,
    "high bytes": b"\xff\xfe\x00\x01" * 300,
    "json": b"{}",
    "bad section": b"NAME x\nROWS\n???\n",
}


@pytest.mark.parametrize("name", ["model.mps", "model.mps.gz", "model", "model.lp"])
@pytest.mark.parametrize("content", JUNK.values(), ids=JUNK.keys())
def test_unreadable_files(write, name, content):
    others = "no section of a linear program begins like this|The problem is empty"
    with pytest.raises(PrivLPError, match=f"{UNREADABLE}|{others}"):
        LinearProgram.from_mps(write(content, name))


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("model.txt", MODEL),
        ("model.mps.gz", gzip.compress(MODEL.encode())[:-40]),
        ("model.mps.gz", gzip.compress(b"hello")),
    ],
    ids=["unknown ending", "cut", "packed garbage"],
)
def test_other_files_that_are_none(write, name, content):
    with pytest.raises(ReadError, match=UNREADABLE):
        LinearProgram.from_mps(write(content, name))


@pytest.mark.parametrize(
    ("name", "content", "hint"),
    [
        ("two.lp", "min\n x + y\nst\n c: -1 <= x - y <= 2\nend\n", "HiGHS reads no rows with two"),
        ("rows.csv", "x,need\n1,2\n", r'read in Python: .*b="column"'),
        ("rows.parquet", "PAR1", r"LinearProgram\.from_parquet\("),
        ("model.txt", MODEL, r"name must end in \.mps or \.lp"),
    ],
)
def test_what_is_better_written_or_read_otherwise(write, name, content, hint):
    with pytest.raises(ReadError, match=f"{UNREADABLE}.*{hint}"):
        LinearProgram.from_mps(write(content, name))


def test_missing_file_and_directory(tmp_path):
    for path in (tmp_path / "nowhere.mps", tmp_path):
        with pytest.raises(ReadError, match=rf"There is no file '.*{path.name}'"):
            LinearProgram.from_mps(path)


@pytest.mark.parametrize(
    ("section", "following"),
    [("NAME", "ROWS"), ("ROWS", "COLUMNS"), ("COLUMNS", "RHS"), ("RHS", "ENDATA")],
)
def test_mps_cut_short(write, section, following):
    for length in range(MODEL.index(section), MODEL.index(f"\n{following}")):
        with pytest.raises(PrivLPError, match=r"model\.mps"):
            LinearProgram.from_mps(write(MODEL[:length]))


NO_NUMBER = r"HiGHS cannot read|NaN|finite|number|not below"
MARKED = " M 'MARKER' 'INTORG'\n z total 1\n M 'MARKER' 'INTEND'\n"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (" z total 1\n", MARKED, "has integer variables"),
        ("ENDATA", "QUADOBJ\n x x 1\nENDATA", "has a quadratic objective; privlp solves linear"),
        *(
            (old, f"{old} $ a comment", r"HiGHS knows no comment after \$ on a line, only whole")
            for old in (" y cost 2 patient1 1", " RHS total 2", " UP BND z 5", " L patient2")
        ),
        # no finite numbers
        ("x cost 1", "x cost nan", NO_NUMBER),
        ("x patient2 -1", "x patient2 nan", NO_NUMBER),
        ("y patient2 1", "y patient2 NaN", NO_NUMBER),
        ("patient1 4 need", "patient1 nan need", NO_NUMBER),
        ("UP BND z 5", "UP BND z nan", NO_NUMBER),
        ("RHS total 2", "RHS total 2 cost nan", NO_NUMBER),
        ("x patient2 -1", "x patient2 inf", NO_NUMBER),
        ("x patient2 -1", "x patient2 1e16", NO_NUMBER),
        ("x cost 1", "x cost 1e30", NO_NUMBER),
        ("x patient2 -1", "x patient2 one", NO_NUMBER),
        ("x patient2 -1", "x patient2 1,5", NO_NUMBER),
        ("RHS total 2", "RHS total two", NO_NUMBER),
        ("UP BND z 5", "UP BND z five", NO_NUMBER),
        # incomplete lines
        (" y cost 2 patient1 1\n", " y cost 2 patient1\n", r"model\.mps"),
        (" x patient2 -1 need 3\n", " x patient2\n", r"model\.mps"),
        (" x patient2 -1 need 3\n", " x\n", r"model\.mps"),
        ("RHS patient1 4 need 1", "RHS patient1 4 need", r"model\.mps"),
        ("RHS patient1 4 need 1", "RHS nobody 4 need 1", r"model\.mps"),
        (" G need\n", " G\n", r"model\.mps"),
        (" G need\n", " need\n", r"model\.mps"),
        # what HiGHS reads as another program
        (" x patient2 -1 need 3\n", " x patient9 -1 need 3\n", r"model\.mps"),
        ("COLUMNS\n x cost 1 pat", "columns\n x cost abc pat", r"model\.mps"),
        (" y cost 2 patient1 1\n", " z cost 2 patient1 1\n", r"model\.mps"),  # in two blocks
        ("COLUMNS\n", "COLUMNZ\n", "no section of a linear program"),
        (" L patient1\n", " L patient2\n", r"model\.mps"),  # declared twice
        (" UP BND z 5", " UP BND zz 5", "a variable that does not exist: zz|undeclared"),
        ("RHS patient1 4 need 1\n", "RHS patient1 4 patient1 7\n", "duplicate entries"),
    ],
)
def test_mps_that_is_refused(write, old, new, message):
    with pytest.raises((ReadError, InvalidProblemError), match=message):
        LinearProgram.from_mps(write(changed(old, new)))


@pytest.mark.parametrize(
    "lines",
    [
        b" RHS a 1\n RHS b 2 c 3\n",
        b" RHS a 1\n b 2 c 3\r\n",
        b" RHS a 1\n* d 4 5\n\n RHS b 2 c 3",
        b" RHS a 1 b 2\n RHS c 3",
        b" c 1\n b 2\n a 3\n",
    ],
)
def test_rows_of_sides_with_sets_and_without(lines):
    assert _rows_of_sides(lines) == {b"a", b"b", b"c"}


@pytest.mark.parametrize("name", ["q" * 3000, "caf\xe9"], ids=["long", "no UTF-8"])
def test_entries_twice_are_refused_whatever_the_names(write, name):
    """What HiGHS says of an entry is cut off where names are long, and may be no text."""
    twice = changed(" z total 1\n", " z total 1\n z total 2\n").replace(" z ", f" {name} ")
    with pytest.raises(ReadError, match=r"duplicate entries|no UTF-8 text"):
        LinearProgram.from_mps(write(twice.encode("latin-1")))
    once = twice.replace(f" {name} total 2\n", "")
    if name.isascii():
        assert LinearProgram.from_mps(write(once.encode())).shape == (4, 3)


def test_small_entries_and_unused_variables_are_no_mistake(write):
    small = LinearProgram.from_mps(write(changed(" z total 1\n", " z total 1 patient2 1e-10\n")))
    assert small.A.nnz == LinearProgram.from_mps(write(MODEL)).A.nnz
    unused = LinearProgram.from_mps(write(changed(" z total 1\n", " z total 0\n")))
    assert unused.shape == (4, 3)


# writing


@pytest.mark.parametrize(
    ("storage", "sense", "named"),
    each([np.array, sp.csr_array], ["min", "max"], [False, True]),
)
def test_mps_round_trip(tmp_path, storage, sense, named):
    rng = np.random.default_rng(5)
    names = {"row_names": list("abcde"), "variable_names": ["u", "v", "w", "x"]} if named else {}
    lp = LinearProgram(
        rng.normal(size=4),
        storage(rng.normal(size=(5, 4)) * (rng.random((5, 4)) < 0.7)),
        [1.0, 2.0, INF, 3.0, 0.1],
        row_lower=[-INF, 2.0, -1 / 3, -2.0, -INF],
        bounds=[(None, None), (-1 / 3, 2 / 3), (None, np.pi), (2, 2)],
        offset=1 / 3,
        sense=sense,
        **names,
    )
    lp.to_mps(tmp_path / "out.mps")
    back = LinearProgram.from_mps(tmp_path / "out.mps")
    assert back.sense == sense
    for name in ("c", "b", "row_lower", "bounds", "offset"):
        np.testing.assert_allclose(getattr(back, name), getattr(lp, name), rtol=1e-13, err_msg=name)
    np.testing.assert_allclose(back.A.toarray(), sp.csc_array(lp.A).toarray(), rtol=1e-13)
    if names:
        assert (back.row_names, back.variable_names) == (lp.row_names, lp.variable_names)
    else:
        assert len(set(back.row_names)) == 5


def test_soft_rows_are_written_with_their_slack(tmp_path):
    lp = LinearProgram([1.0], [[-1.0], [1.0]], [-4.0, 3.0], penalty=[0.5, 5.0])
    lp.to_mps(tmp_path / "out.mps")
    back = LinearProgram.from_mps(tmp_path / "out.mps")
    assert back.shape == (2, 3)
    objectives = [solve_exact(each).objective for each in (back, lp)]
    assert objectives == pytest.approx([2.0, 2.0])


@pytest.mark.parametrize("place", ["nowhere/out.mps", "out.txt", "."])
def test_writing_where_it_cannot_be(tmp_path, place):
    with pytest.raises(ReadError, match=r"HiGHS cannot write a model to '.*'\. Check the folder"):
        LinearProgram([1], [[1]], [1]).to_mps(tmp_path / place)


# the real instances


def _instance(name):
    path = SHARED / f"{name}.mps"
    if not path.is_file():
        pytest.skip(f"{name}.mps is not part of the project; put it into shared/data/lp beside it")
    return path


@pytest.mark.parametrize(
    ("name", "published"),
    [
        ("adlittle", 225494.9631623803),
        ("afiro", -464.75314285714285),
        ("avgas", -7.75),
        ("e226", -11.638929066370537),
        ("israel", -896644.8218630459),
        ("scrs8", 904.296953800792),
        ("shell", 1208825346.0),
        ("stair", -251.26695119296335),
    ],
)
def test_optimal_instances(name, published):
    path = _instance(name)
    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    highs.readModel(str(path))
    highs.run()
    exact = solve_exact(LinearProgram.from_mps(path))
    assert exact.status is Status.OPTIMAL
    assert exact.objective == pytest.approx(highs.getInfo().objective_function_value, rel=1e-9)
    assert exact.objective == pytest.approx(published, rel=1e-9)
    assert max(exact.primal_residual, exact.dual_residual, exact.gap) < 1e-9


@pytest.mark.parametrize(
    ("name", "status"),
    [("box1", Status.INFEASIBLE), ("klein1", Status.INFEASIBLE), ("gas11", Status.UNBOUNDED)],
)
def test_instances_without_optimum(name, status):
    exact = solve_exact(LinearProgram.from_mps(_instance(name)))
    assert (exact.status, exact.success, exact.x, exact.objective) == (status, False, None, None)


@pytest.mark.parametrize(("name", "message"), [("garbage", UNREADABLE), ("nan0", "NaN|finite")])
def test_malformed_instances(name, message):
    with pytest.raises(PrivLPError, match=message):
        LinearProgram.from_mps(_instance(name))


# scipy.optimize.linprog

ENTRIES = st.integers(-3, 3).map(float)
PAIRS = st.one_of(
    st.just((0, None)),
    st.just((None, None)),
    st.integers(-3, 3).map(lambda low: (low, None)),
    st.integers(-3, 3).map(lambda high: (None, high)),
    st.tuples(st.integers(-3, 0), st.integers(0, 3)),
)


@st.composite
def linprog_arguments(draw):
    """Small programs, many of them feasible and bounded, with any mixture of rows, bounds and storage."""
    d, n_ub, n_eq = draw(st.integers(1, 4)), draw(st.integers(0, 4)), draw(st.integers(0, 2))
    if n_ub + n_eq == 0:
        n_ub = 1

    def vector(size):
        return np.array(draw(st.lists(ENTRIES, min_size=size, max_size=size)))

    inside = vector(d)
    arguments = {
        "c": vector(d),
        "bounds": draw(st.one_of(st.none(), PAIRS, st.lists(PAIRS, min_size=d, max_size=d))),
    }
    for name, rows in (("ub", n_ub), ("eq", n_eq)):
        if rows:
            matrix = vector(rows * d).reshape(rows, d)
            slack = np.abs(vector(rows)) if name == "ub" else 0.0
            arguments[f"A_{name}"] = sp.csr_array(matrix) if draw(st.booleans()) else matrix
            arguments[f"b_{name}"] = (
                matrix @ inside + slack if draw(st.booleans()) else vector(rows)
            )
    return arguments


@settings(deadline=None, max_examples=examples(120))
@given(linprog_arguments())
def test_linprog_reader_agrees_with_scipy(arguments):
    lp = LinearProgram.from_linprog(**arguments)
    exact = solve_exact(lp)
    dense = {name: a.toarray() if sp.issparse(a) else a for name, a in arguments.items()}
    reference = linprog(**dense, method="highs")
    open_ended = {Status.INFEASIBLE_OR_UNBOUNDED}
    assert (
        exact.status
        in {
            0: {Status.OPTIMAL},
            2: {Status.INFEASIBLE} | open_ended,
            3: {Status.UNBOUNDED} | open_ended,
            4: {Status.INFEASIBLE, Status.UNBOUNDED} | open_ended,
        }[reference.status]
    )
    if reference.status == 0:
        assert exact.objective == pytest.approx(reference.fun, abs=1e-7)
    equality = np.arange(lp.shape[0]) >= (len(arguments["b_ub"]) if "b_ub" in arguments else 0)
    np.testing.assert_array_equal(lp.private, ~equality)


def test_linprog_order_of_arguments():
    lp = LinearProgram.from_linprog([1, 2], [[1, 1]], [5], [[1, -1]], [2], (-1, 7))
    np.testing.assert_array_equal(lp.A, [[1, 1], [1, -1]])
    np.testing.assert_array_equal(lp.b, [5, 2])
    np.testing.assert_array_equal(lp.row_lower, [-INF, 2])
    np.testing.assert_array_equal(lp.bounds, [[-1, 7], [-1, 7]])
    np.testing.assert_array_equal(lp.private, [True, False])


def test_prices_of_rows_that_are_read(write):
    soft = LinearProgram.from_linprog([1, 2], [[1, 1]], [5], [[1, -1]], [2], penalty=3)
    np.testing.assert_array_equal(soft.penalty, [3, INF])
    named = {"patient*": 2, "patient2": 5.5}
    lp = LinearProgram.from_mps(write(MODEL), penalty=named)
    np.testing.assert_array_equal(lp.penalty, [2, 5.5, INF, INF])
    every = LinearProgram.from_mps(write(MODEL), penalty=4, private="patient*")
    np.testing.assert_array_equal(every.penalty, [4, 4, INF, INF])
    both = LinearProgram.from_mps(write(MODEL), penalty={"*": 1}, private=["need", "total"])
    np.testing.assert_array_equal(both.penalty, [INF, INF, 1, 1])
    some = LinearProgram.from_mps(write(MODEL), penalty={"*": 1, "need": INF})
    np.testing.assert_array_equal(some.penalty, [1, 1, INF, INF])


@pytest.mark.parametrize(
    ("penalty", "message"),
    [
        ({"doctor*": 1}, r"No row name matches penalty='doctor\*'. The first row names are: pat"),
        ({"total": 1}, "match penalty='total' are public; .* Name these too in private"),
        ({"need": 0}, "The penalty of 'need' must be a positive number .*, got 0"),
        ({"need": "a"}, "The penalty of 'need' must be a positive number .*, got str"),
        ({"need": 1e300}, "The penalty of 'need' must lie between"),
        ({1: 2.0}, "dict from patterns over row names to prices; a key is of type int"),
        (-1, "penalty must be a positive number"),
    ],
)
def test_bad_prices_of_rows(write, penalty, message):
    with pytest.raises(InvalidProblemError, match=message) as caught:
        LinearProgram.from_mps(write(MODEL), penalty=penalty)
    assert caught.value.parameter == "penalty"


def test_prices_of_rows_that_come_and_go_tell_no_name(write):
    relation = ConstraintPrivate("add-remove", 2, nominal_n=50)
    lp = LinearProgram.from_mps(write(MODEL), penalty={"nobody": 1}, neighbours=relation)
    np.testing.assert_array_equal(lp.penalty, [INF] * 4)


def test_linprog_stays_sparse():
    block = sp.csr_array([[1.0, 0.0], [0.0, 1.0]])
    assert LinearProgram.from_linprog([1, 2], block, [1, 1]).is_sparse
    assert LinearProgram.from_linprog([1, 2], block, [1, 1], [[1, 1]], [1]).is_sparse
    assert LinearProgram.from_linprog([1, 2], [[1, 1]], [1], block, [1, 1]).is_sparse
    assert not LinearProgram.from_linprog([1, 2], [1, 1], [1], [[1, 1]], [1]).is_sparse


ROW = {"A_ub": [[1, 1]], "b_ub": [1]}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "The problem has no constraints: give A_ub and b_ub, or A_eq and b_eq"),
        ({"A_ub": [[1, 1]]}, "A_ub and b_ub belong together: give both or none"),
        ({"b_ub": [1]}, "A_ub and b_ub belong together: give both or none"),
        ({"A_eq": [[1, 1]]}, "A_eq and b_eq belong together: give both or none"),
        ({"A_ub": [[1, 1]], "b_ub": [1, 2]}, r"b_ub has shape \(2,\), but .* per row of A_ub"),
        ({"A_eq": [[1, 1]], "b_eq": [[1]]}, r"b_eq has shape \(1, 1\), but A asks for \(1,\)"),
        ({"A_ub": [[1, 1]], "b_ub": [np.nan]}, r"b_ub\[0\] is NaN, infinite"),
        ({**ROW, "A_eq": [[1]], "b_eq": [1]}, "A_ub has 2 columns and A_eq has 1: they must have"),
        ({"A_ub": [[1, 1, 1]], "b_ub": [1]}, r"c has shape \(2,\), but A asks for \(3,\)"),
        ({"A_ub": [[1, np.nan]], "b_ub": [1]}, "A contains NaN"),
        ({"A_ub": [[1, "a"]], "b_ub": [1]}, "must hold real numbers"),
        ({"A_ub": [[1, 2], [3]], "b_ub": [1, 1]}, "must hold real numbers in a regular array"),
        ({**ROW, "A_ub": np.ones((1, 2, 2))}, "must be a matrix"),
        ({**ROW, "bounds": [(0, 1)] * 3}, "bounds has 3 pairs, but there are 2 variables"),
        ({**ROW, "bounds": "ab"}, r"bounds must be one \(lower, upper\) pair"),
        ({**ROW, "private": "a*"}, "is a pattern over row names, but the rows have no names"),
    ],
)
def test_bad_linprog_arguments(arguments, message):
    with pytest.raises(InvalidProblemError, match=message):
        LinearProgram.from_linprog([1, 2], **arguments)


# CVXPY


LOW = np.array([[1.0, -2.0, 3.0], [0.0, -1.0, 2.0]])
SIGNS = np.array([[1.0, -2.0, 3.0], [-4.0, 5.0, -6.0]])
AWAY = [np.array([1.0, 2.0]), np.array([3.0, 4.0])]


class Vars:
    """Variables of every kind, made anew for each test."""

    def __init__(self):
        self.x, self.y, self.z = cp.Variable(2), cp.Variable(), cp.Variable((1, 2))
        self.p, self.q = cp.Variable(2, nonneg=True), cp.Variable(2, nonpos=True)
        self.box, self.low = cp.Variable(2, bounds=[-2, 3]), cp.Variable(2, bounds=[1, None])
        self.away = cp.Variable(2, bounds=AWAY)
        self.M = cp.Variable((2, 3), bounds=[LOW, LOW + np.array([[1.0, 2.0, 3.0]])])
        self.N = cp.Variable((2, 3), nonneg=True)


PROBLEMS = {
    "scalars": lambda v: (
        cp.Minimize(3 * v.x[0] + v.y),
        [v.x[0] + v.y >= 2, v.x[0] >= 0, v.y <= 5, v.y >= -v.x[0] + 1, v.x[0] - v.y == 1],
    ),
    "signs": lambda v: (
        cp.Minimize(cp.sum(v.p) - cp.sum(v.q)),
        [v.p[0] + v.p[1] >= 1, v.q[0] + 2 * v.q[1] <= -3],
    ),
    "bounds": lambda v: (
        cp.Minimize(v.box[0] - v.box[1] + cp.sum(v.low) + cp.sum(v.away) + 1),
        [v.box[0] + v.box[1] <= 4, v.low[0] - v.low[1] >= 2, v.away[0] + v.away[1] >= 3.5],
    ),
    "matrix of bounds": lambda v: (
        cp.Minimize(cp.sum(cp.multiply(SIGNS, v.M))),
        [cp.sum(v.M, axis=1) <= 4],
    ),
    "matrix": lambda v: (
        cp.Minimize(cp.sum(v.N @ np.array([1.0, 2.0, 3.0]))),
        [v.N @ np.array([[1.0, 0.5]] * 3) >= np.array([[1.0, 2.0], [3.0, 4.0]]), v.N.T[0] == 1],
    ),
    "maximise": lambda v: (
        cp.Maximize(3 * v.x[0] + 2 * v.x[1] + 7),
        [v.x[0] + v.x[1] <= 4, v.x[0] + 3 * v.x[1] <= 6, v.x >= 0, v.x[0] <= 3],
    ),
    "constant objective": lambda v: (cp.Minimize(4), [v.x >= 1]),
    "shapes": lambda v: (
        cp.Maximize(cp.sum(v.x) + cp.sum(v.z)),
        [v.x <= 2, cp.reshape(v.z, (2,), order="F") - 2 * v.x <= 1],
    ),
    "outside the objective": lambda v: (cp.Minimize(cp.sum(v.x)), [v.x >= v.p, v.p >= 3]),
}


@pytest.mark.parametrize("name", PROBLEMS)
def test_cvxpy_values(name):
    problem = cp.Problem(*PROBLEMS[name](Vars()))
    lp = LinearProgram.from_cvxpy(problem)
    exact = solve_exact(lp)
    expected = problem.solve(solver=cp.HIGHS)
    assert exact.success
    assert exact.objective == pytest.approx(expected, abs=1e-7)
    assert lp.sense == ("max" if isinstance(problem.objective, cp.Maximize) else "min")
    optimum = np.concatenate([np.ravel(v.value, order="F") for v in problem.variables()])
    assert lp.objective(optimum) == pytest.approx(expected, abs=1e-7)
    activity = lp.A @ optimum
    assert (activity <= lp.b + 1e-7).all()
    assert (activity >= lp.row_lower - 1e-7).all()


def test_cvxpy_rows_names_and_order():
    x, y = cp.Variable(2, name="x", nonneg=True), cp.Variable(1, name="y")
    lp = LinearProgram.from_cvxpy(
        cp.Problem(cp.Minimize(cp.sum(x) + 3 * y[0]), [x[0] + y >= 1, x == np.array([2.0, 3.0])])
    )
    assert lp.variable_names == ("x[0]", "x[1]", "y")
    assert lp.is_sparse
    np.testing.assert_array_equal(lp.c, [1, 1, 3])
    np.testing.assert_array_equal(lp.A.toarray(), [[1, 0, 1], [1, 0, 0], [0, 1, 0]])
    np.testing.assert_array_equal(lp.b, [INF, 2, 3])
    np.testing.assert_array_equal(lp.row_lower, [1, 2, 3])
    np.testing.assert_array_equal(lp.bounds, [[0, INF], [0, INF], [-INF, INF]])
    np.testing.assert_array_equal(lp.private, [True, False, False])


def test_cvxpy_rows_keep_the_side_that_the_user_wrote():
    x = cp.Variable(2, name="x")
    rows = [x[0] - 1 >= 3, x[1] >= 2, x[0] <= 7, x[0] + 1 <= 9, x[0] >= x[1], cp.sum(x) - 1 >= 0]
    lp = LinearProgram.from_cvxpy(cp.Problem(cp.Minimize(cp.sum(x)), rows))
    np.testing.assert_array_equal(lp.row_lower, [4, 2, -INF, -INF, -INF, 1])
    np.testing.assert_array_equal(lp.b, [INF, INF, 7, 8, 0, INF])
    np.testing.assert_array_equal(lp.A.toarray(), [[1, 0], [0, 1], [1, 0], [1, 0], [-1, 1], [1, 1]])


def test_options_reach_the_program(write):
    relation = ConstraintPrivate("add-remove", 2, nominal_n=9)
    arguments = [1, 2], [[1, 1]], [5], [[1, -1]], [2]
    x = cp.Variable(2)
    problem = cp.Problem(cp.Minimize(x[0]), [x >= 1, cp.sum(x) == 3])
    for read, values, owners in (
        (LinearProgram.from_linprog, arguments, ["ann", "bob"]),
        (LinearProgram.from_mps, [write(MODEL)], ["ann", "ann", "bob", "eve"]),
        (LinearProgram.from_cvxpy, [problem], [7, 7, 8]),
    ):
        lp = read(*values, neighbours=relation, groups=owners, box=4)
        assert lp.neighbours is relation
        assert lp.groups.tolist() == owners
        assert np.abs(lp.bounds).max() == 4


@pytest.mark.parametrize("private", [[0], "x*", [True, False, True], 1, cp.Variable(2) >= 1])
def test_cvxpy_private_must_list_constraints(private):
    with pytest.raises(PrivLPError, match=r"private.*constraint|constraint.*private"):
        LinearProgram.from_cvxpy(_sum(_x >= 1, cp.sum(_x) == 3, _x <= 2), private=private)


@pytest.mark.skipif(not hasattr(cp.Constraint, "set_label"), reason="an older CVXPY has no labels")
def test_cvxpy_constraints_by_object_label_and_pattern():
    x = cp.Variable(2, nonneg=True)
    rows = [needs @ x >= 1 for needs in (np.eye(2), np.ones((3, 2)))] + [x[0] - x[1] == 0]
    problem = cp.Problem(cp.Minimize(cp.sum(x)), rows)
    for private, chosen in (
        *((private, [2, 3, 4]) for private in (rows[1], [rows[1]], {rows[1]})),
        ([rows[2], rows[0]], [0, 1, 5]),
        ([], []),
        (None, range(5)),
    ):
        lp = LinearProgram.from_model(problem, private=private)
        assert np.flatnonzero(lp.private).tolist() == [*chosen]
    with pytest.raises(PrivLPError, match=r"matches private='staff\*'. Labels: none has one. Labe"):
        LinearProgram.from_model(problem, private="staff*")
    for k, row in enumerate(rows[:2]):
        row.set_label(f"client {k}")
    assert LinearProgram.from_model(problem, private="client*").private.sum() == 5
    lp = LinearProgram.from_model(problem, private=["client 0", rows[1]], penalty={"client 1": 2.0})
    assert lp.penalty.tolist() == [np.inf] * 2 + [2.0] * 3 + [np.inf]
    with pytest.raises(PrivLPError, match=r"penalty='nobody'. Labels: client 0, client 1"):
        LinearProgram.from_model(problem, penalty={"nobody": 1.0})
    come_and_go = ConstraintPrivate("add-remove", nominal_n=9)
    with pytest.raises(PrivLPError, match=r"a label that matches private\. Label a constraint"):
        LinearProgram.from_model(problem, private="cleint*", neighbours=come_and_go)


def test_cvxpy_has_a_value_and_a_status_after_assign():
    """But no value of losses, which are private numbers, and of private costs what is released."""
    x = cp.Variable(2, nonneg=True)
    needed = x >= np.array([1.0, 2.0])
    problem = cp.Problem(cp.Minimize(cp.sum(x)), [needed])
    lp = LinearProgram.from_cvxpy(problem, private=needed, neighbours=ScalarPrivate(0.1))
    solve_exact(lp).assign(problem)
    assert (problem.value, problem.status) == (3.0, "optimal")
    solution = solve(lp, 1.0, 1e-6, feasible=0.99, rng=0)
    solution.assign(problem)
    assert (problem.value, problem.status) == (solution.objective, "optimal_inaccurate")
    hidden = lp.changed(neighbours=privlp.ObjectivePrivate(0.1), private=None, bounds=(0, 5))
    solution = solve(hidden, 1.0, 0, rng=0)
    solution.assign(problem)
    assert problem.value == solution.objective != float(np.sum(x.value))
    losses = cp.Problem(cp.Minimize(cp.norm1(x - np.array([1.0, 2.0]))), [x <= 3])
    solve_exact(LinearProgram.from_cvxpy(losses)).assign(losses)
    assert (losses.value, losses.status) == (None, "optimal")


def test_cvxpy_parameters_have_their_values():
    """Also where private rows and their prices are made of them, and bounds."""

    def read(data, price, most):
        x = cp.Variable(2, name="x", bounds=[0, most])
        cost = price * cp.sum(cp.pos(1 - data @ x)) + price * x[0]
        problem = cp.Problem(cp.Minimize(cost), [data @ x >= 0.5])
        return LinearProgram.from_cvxpy(problem)

    values = np.array([[1.0, 2.0], [3.0, 0.5]]), 0.3, np.array([4.0, 5.0])
    parameters = (cp.Parameter(value.shape, value=value) for value in map(np.asarray, values))
    lp, expected = read(*parameters), read(*values)
    for part in ("c", "b", "bounds", "penalty", "private"):
        np.testing.assert_array_equal(getattr(lp, part), getattr(expected, part))
    np.testing.assert_array_equal(lp.A.toarray(), expected.A.toarray())


def test_cvxpy_entries_are_named_by_row_and_column():
    Y = cp.Variable((2, 3), name="Y", bounds=[0, 9])
    problem = cp.Problem(cp.Minimize(cp.sum(Y)), [np.array([[1, 2, 3], [4, 5, 6]]) <= Y])
    exact = solve_exact(LinearProgram.from_cvxpy(problem))
    values = dict(zip(exact.variable_names, exact.x, strict=True))
    assert values == {f"Y[{i},{j}]": 3 * i + j + 1 for i in range(2) for j in range(3)}
    exact.assign(problem)
    np.testing.assert_array_equal(Y.value, [[1, 2, 3], [4, 5, 6]])


PUBLIC_TERMS = {
    "norm1": lambda x: cp.norm1(x) <= 2.3,
    "max": lambda x: cp.max(x) <= 1.2,
    "abs": lambda x: cp.abs(x[0] - x[1]) <= 0.1,
    "min": lambda x: cp.min(x) >= 0.4,
    "convex on the right": lambda x: 0.3 * cp.sum_largest(x, 2) + cp.norm_inf(x) <= 1.5,
    "two terms": lambda x: cp.pos(x[0] - 0.5) + cp.maximum(x[1], 2 * x[2]) <= x[0] - 0.2,
}


@pytest.mark.parametrize("term", PUBLIC_TERMS.values(), ids=PUBLIC_TERMS)
def test_cvxpy_public_constraints_may_be_piecewise_linear(term):
    x = cp.Variable(3, name="x", bounds=[0, 5])
    need = np.random.default_rng(0).uniform(0.2, 1.0, (20, 3)) @ x >= 1
    problem = cp.Problem(cp.Minimize(np.array([1.0, 2.0, 3.0]) @ x), [need, term(x)])
    lp = LinearProgram.from_cvxpy(problem, private=need)
    assert lp.private.sum() == 20
    assert lp.private[:20].all()
    exact = solve_exact(lp)
    assert exact.objective == pytest.approx(problem.solve(), abs=1e-6)
    without = LinearProgram.from_cvxpy(cp.Problem(problem.objective, [need]))
    assert exact.objective > solve_exact(without).objective + 1e-3
    with pytest.raises(ReadError, match=f"The constraint 1 {AFFINE}"):
        LinearProgram.from_cvxpy(problem)


def test_cvxpy_keeps_the_values_of_variables():
    x, y = cp.Variable(2, name="x", bounds=[1, 9]), cp.Variable(1, name="y")
    x.value = np.array([2.0, 3.0])
    LinearProgram.from_cvxpy(cp.Problem(cp.Minimize(cp.sum(x)), [x[0] + y >= 1]))
    np.testing.assert_array_equal(x.value, [2.0, 3.0])
    assert y.value is None


def _foreign(**attributes):
    x = cp.Variable(2, name="odd", **attributes)
    return cp.Problem(cp.Minimize(cp.sum(cp.real(x))), [cp.real(x) <= 1])


TERM = (
    r"is not affine, and quad_over_lin is no piecewise-linear term that privlp reads\. privlp reads"
)
AFFINE = (
    r"of the CVXPY problem is private and not affine\. privlp needs every private row as one linear"
    r" inequality.* it is then public"
)
INTEGER = "CVXPY variable 'odd' is integer, boolean or complex; privlp solves linear programs only. To let it take any value within its bounds: leave out integer=True, and write cp.Variable"
CURVED = "holds in the constraint 0 a term where it is not con"
_x, _t, _s = cp.Variable(2, name="x"), cp.Variable(1, name="t"), cp.Variable(name="s")


def _sum(*constraints):
    return cp.Problem(cp.Minimize(cp.sum(_x)), list(constraints))


@pytest.mark.parametrize(
    ("problem", "message"),
    [
        (cp.Problem(cp.Minimize(cp.sum_squares(_x)), [_x >= 1]), TERM),
        (_sum(_x >= 0, cp.abs(_x) <= 1), f"The constraint 1 {AFFINE}"),
        (_sum(cp.square(_x) <= 1), f"The constraint 0 {AFFINE}"),
        (_sum(cp.max(_x) <= 1), f"The constraint 0 {AFFINE}"),
        (_sum(cp.norm2(_x) <= 1), f"The constraint 0 {AFFINE}"),
        (_foreign(integer=True), INTEGER),
        (_foreign(boolean=True), INTEGER),
        (_foreign(complex=True), INTEGER),
        (_foreign(integer=[(0,)]), INTEGER),
        (_sum(_x >= cp.Parameter(name="p")), r"A parameter 'p' .* has no value\. Set its \.value"),
        (_sum(), r"The CVXPY problem has no constraints"),
        (cp.Problem(cp.Minimize(0), [cp.Constant([1.0, 2.0]) <= 2]), "has no variables"),
        (_sum(_x >= 0, cp.SOC(_s, _x)), "CVXPY constraint SOC is not a linear inequality"),
        (_sum(_x >= 0, cp.SOC(_t[0], cp.hstack([_t, _x]))), "CVXPY constraint SOC is not a linear"),
        (_sum(_x >= 0, cp.diag(_x) >> 0), "CVXPY constraint PSD is not a linear inequality"),
        (_sum(_x >= 0, cp.ExpCone(_x, _x, _x)), "CVXPY constraint ExpCone is not a linear"),
        (_sum(cp.FiniteSet(_x[0], [1.0, 2.0])), "CVXPY constraint FiniteSet is not a linear"),
        (_sum(cp.real(_x) <= 1), "CVXPY knows no gradient of one of these: .*real"),
        (_sum(cp.power(_x, 1) <= 1), r"knows no gradient of one of these: Power\w*\. Write"),
        ("x", r"from_cvxpy takes a cvxpy\.Problem, got str"),
        (_x, r"from_cvxpy takes a cvxpy\.Problem"),
    ],
)
def test_cvxpy_refuses_what_is_no_linear_program(problem, message):
    with pytest.raises(ReadError, match=message):
        LinearProgram.from_cvxpy(problem)


@pytest.mark.parametrize(
    ("constraint", "message"),
    [
        *(
            (row, CURVED)
            for row in (cp.norm1(_x) >= 1, cp.abs(_x) == 1, cp.max(_x) >= cp.norm1(_x))
        ),
        (cp.sum_squares(_x) <= 1, TERM),
    ],
)
def test_cvxpy_refuses_public_constraints_that_are_not_convex(constraint, message):
    with pytest.raises(ReadError, match=message):
        LinearProgram.from_cvxpy(_sum(constraint, _x <= 3), private=[])


@pytest.mark.parametrize(
    "attribute",
    ["symmetric", "diag", "PSD", "NSD", {"sparsity": [(0, 1), (0, 1)]}],
    ids=lambda a: a if isinstance(a, str) else "sparsity",
)
def test_cvxpy_structured_variables_are_solved_right_or_refused(attribute):
    options = attribute if isinstance(attribute, dict) else {attribute: True}
    S = cp.Variable((2, 2), name="S", **options)
    problem = cp.Problem(
        cp.Minimize(S[0, 1] - 2 * S[1, 0] + cp.trace(S)),
        [cp.vec(S, order="F") >= -1, cp.vec(S, order="F") <= 2],
    )
    try:
        lp = LinearProgram.from_cvxpy(problem)
    except ReadError as error:
        assert "CVXPY variable 'S'" in str(error)  # noqa: PT017 (both outcomes are right)
        return
    with warnings.catch_warnings(action="ignore"):
        assert solve_exact(lp).objective == pytest.approx(problem.solve(), abs=1e-5)


@pytest.mark.parametrize(
    ("problem", "message"),
    [
        (_sum(_x >= np.array([1.0, np.nan])), "NaN"),
        (_sum(_x >= np.array([1.0, np.inf])), "NaN"),
        (_sum(np.inf * _x <= 1), "must be finite"),
        (cp.Problem(cp.Minimize(_s + cp.maximum(_s - np.inf, 1)), [_s >= 0, _s <= 3]), "inf"),
    ],
)
def test_cvxpy_refuses_constants_that_are_not_finite(problem, message):
    with pytest.raises(InvalidProblemError, match=message):
        LinearProgram.from_cvxpy(problem)
