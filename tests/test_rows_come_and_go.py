"""Where records come and go, nothing tells how many rows there are."""

import functools
import traceback

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import privlp
from privlp import ConstraintPrivate, InvalidProblemError, LinearProgram, PrivLPError, ReadError
from privlp.audits.tape import Tape
from privlp.cli.program import what_is_private
from tests.effort import each, examples, runs
from tests.programs import methods_for

COSTS = np.array([1.0, 2.0, 0.5])
RELATION = ConstraintPrivate("add-remove", nominal_n=100, rows_per_record=2)
SIZES = (487, 523)  # numbers of rows that no message may tell apart


def outcome(call):
    """What a call says: its result in words, or its error with all errors behind it."""
    try:
        return repr(call())
    except PrivLPError as error:
        errors, link = [], error
        while link is not None:
            errors.append("".join(traceback.format_exception_only(link)))
            link = link.__cause__ or link.__context__
        return "".join(errors)


def fields(n):
    A = -np.random.default_rng(0).uniform(0.2, 1.0, (n, 3))
    return {"c": COSTS, "A": A, "b": -np.ones(n), "neighbours": RELATION}


#: Model files spoilt near a row whose place no message may tell.
SPOILT = {
    "no number": lambda text, n: text.replace(f"r{n - 100} ", f"r{n - 100} x", 1),
    "a coefficient that is no number": lambda text, n: text.replace(
        "RHS\n", f"    c0 r{n - 1} 1.5abc\nRHS\n", 1
    ),
    "a right-hand side of an unknown row": lambda text, n: text.replace(
        "BOUNDS", f"    RHS Ann{n} 3\nBOUNDS"
    ),
    "an unknown section": lambda text, n: text.replace("ENDATA", "OTHER\nENDATA"),
    "rows twice": lambda text, n: text.replace("COLUMNS", f" L  r{n - 1}\nCOLUMNS", 1),
    "a bound that is no number": lambda text, n: text.replace(
        "ENDATA", " UP BOUND c0 many\nENDATA"
    ),
}


@pytest.mark.parametrize("spoil", SPOILT)
def test_no_message_about_a_file_tells_lines_and_rows(spoil, tmp_path):
    path, said = tmp_path / "model.mps", []
    for n in SIZES:
        names = {"row_names": [f"r{i}" for i in range(n)], "variable_names": ["c0", "c1", "c2"]}
        LinearProgram(**fields(n), **names, bounds=(0, 9)).to_mps(path)
        text = path.read_text()
        spoilt = SPOILT[spoil](text, n)
        assert spoilt != text
        path.write_text(spoilt)
        said.append(outcome(lambda: LinearProgram.from_mps(path, neighbours=RELATION)))
    assert said[0] == said[1]
    assert "ReadError" in said[0]
    with pytest.raises(ReadError):  # where n is public, the message may say more
        LinearProgram.from_mps(path)


def test_other_relations_are_still_told_what_disagrees():
    f = fields(487) | {"neighbours": ConstraintPrivate()}
    with pytest.raises(InvalidProblemError, match=r"b has shape \(486,\), but A asks for \(487,\)"):
        LinearProgram(**f | {"b": f["b"][1:]})


def test_a_point_of_a_wrong_shape_is_not_measured():
    both = ((LinearProgram(**fields(n)), np.ones(n)) for n in SIZES)
    one, other = (outcome(lambda pair=pair: privlp.quality(*pair, 1.0)) for pair in both)
    assert one == other
    assert "The solution has another shape: the program has 3 variables." in one


ROWS = st.lists(
    st.tuples(
        st.sampled_from(["<=", ">=", "==", "range"]),
        st.lists(st.integers(-3, 3), min_size=3, max_size=3),
        st.booleans(),
    ),
    max_size=4,
)


def program(rows, reader, patterns, storage, path):
    """A program of (kind, coefficients, whether a patient owns it), by one of the ways in."""
    A = np.array([row for _, row, _ in rows], dtype=float).reshape(-1, 3)
    upper = np.array([np.inf if kind == ">=" else 1.0 for kind, _, _ in rows])
    lower = np.array(
        [-np.inf if kind == "<=" else 1.0 if kind in ("==", ">=") else -1.0 for kind, _, _ in rows]
    )
    names = [f"{'patient' if owned else 'stock'}{i}" for i, (_, _, owned) in enumerate(rows)]
    options = {"neighbours": RELATION, "private": "patient*" if patterns else None}
    if reader == "linprog":
        equal = lower == upper
        blocks = [part for own in (~equal, equal) for part in (storage(A[own]), np.ones(own.sum()))]
        return LinearProgram.from_linprog(COSTS, *blocks, bounds=(0, 9), neighbours=RELATION)
    whole = {"row_lower": lower, "row_names": names, "variable_names": ["x", "y", "z"]}
    whole |= {"bounds": (0, 9), "name": "model"}
    lp = LinearProgram(COSTS, storage(A), upper, **whole, **options)
    if reader == "mps":
        lp.to_mps(path)
        return LinearProgram.from_mps(path, **options)
    return lp


OF_SOURCE, STORED = (["constructor", "linprog", "mps"], [np.array, sp.csr_array])
KINDS = (st.sampled_from(OF_SOURCE), st.booleans(), st.sampled_from(STORED))


def neighbours(rows, data, reader, patterns, storage, folder):
    """A program, and the same without one record."""
    everyone, path = not patterns or reader == "linprog", folder.getbasetemp() / "model.mps"
    mine = [i for i, (_, _, owned) in enumerate(rows) if owned or everyone]
    leaves = data.draw(st.sampled_from(mine)) if mine else None
    stays = [row for i, row in enumerate(rows) if i != leaves]
    return [program(some, reader, patterns, storage, path) for some in (rows, stays)]


@settings(max_examples=examples(60), deadline=None, derandomize=True)
@given(ROWS, st.data(), *KINDS)
def test_a_program_without_one_record_is_told_from_its_neighbour_by_nothing_public(
    tmp_path_factory, rows, data, reader, patterns, storage
):
    """It is accepted and described alike."""
    one, other = neighbours(rows, data, reader, patterns, storage, tmp_path_factory)
    assert repr(one) == repr(other)
    assert what_is_private(one) == what_is_private(other)
    assert one.neighbours.describe(one) == other.neighbours.describe(other)


@settings(max_examples=runs(3, 1), deadline=None, derandomize=True)
@given(ROWS, st.data(), *KINDS)
def test_a_program_without_one_record_is_solved_as_its_neighbour_is(
    tmp_path_factory, rows, data, reader, patterns, storage
):
    one, other = neighbours(rows, data, reader, patterns, storage, tmp_path_factory)
    tape = Tape(0)
    request = {"eps": 1.0, "delta": 1e-6, "s": 5, "method": "chain"}
    first = outcome(lambda: privlp.solve(one, rng=tape, **request))
    assert outcome(lambda: privlp.solve(other, rng=Tape(replay=tape), **request)) == first


@pytest.mark.parametrize(
    ("rows", "method"),
    each([[], np.zeros((0, 3)), sp.csr_array((0, 3))], methods_for(ConstraintPrivate())),
)
def test_a_program_without_rows_is_solved_as_its_neighbour_is(rows, method):
    request = {"dmw-published": {"width": 10.0, "alpha": 60.0}}.get(method, {})
    tape, answers = Tape(0), []
    for A, b, source in (([[-1, -1, -1]], [-1], tape), (rows, [], Tape(replay=tape))):
        lp = LinearProgram(COSTS, A, b, neighbours=RELATION, groups=["Ann"] * len(b))
        answers.append(
            privlp.solve(lp, 1.0, 1e-6, 5, opt=9.0, method=method, rng=source, **request)
        )
    assert answers[0].success
    assert answers[0].x.tolist() == answers[1].x.tolist()
    assert answers[0].message == answers[1].message


def test_a_program_without_rows_goes_through_all_that_takes_one():
    lp = LinearProgram(COSTS, [], [], neighbours=RELATION)
    assert lp.shape == (0, 3)
    assert privlp.quality(lp, [1.0, 1, 1], 1e6, rng=0).n_violated == 0
    assert privlp.solve_exact(lp).x.tolist() == [0, 0, 0]
    assert privlp.compare(lp, [1.0, 1, 1]).n_violated() == 0
    neighbour = LinearProgram(COSTS, [[-1, -1, -1]], [-1], neighbours=RELATION)
    one, other = (str(privlp.plan(each, 1.0, 1e-6, 5, opt=9.0)) for each in (lp, neighbour))
    assert one == other


@pytest.mark.parametrize("neighbours", [None, ConstraintPrivate(), privlp.ScalarPrivate(0.1)])
def test_where_rows_are_public_a_program_needs_some(neighbours):
    options = {} if neighbours is None else {"neighbours": neighbours}
    with pytest.raises(InvalidProblemError, match=r"A has shape \(0, 3\); at least one row"):
        LinearProgram(COSTS, np.zeros((0, 3)), [], **options)
    with pytest.raises(InvalidProblemError, match="No row name matches private='patient"):
        LinearProgram(COSTS, [[1, 1, 1]], [1], row_names=["stock"], private="patient*", **options)
    with pytest.raises(InvalidProblemError, match="The problem has no constraints"):
        LinearProgram.from_linprog(COSTS, **options)


def test_equalities_are_private_by_default_where_rows_come_and_go(tmp_path):
    x, path = cp.Variable(2), tmp_path / "model.mps"
    problem = cp.Problem(cp.Minimize(x[0]), [x[0] >= 1, x[0] + x[1] == 2])
    named = {"row_lower": [-np.inf, 2], "row_names": ["need", "flow"]}
    LinearProgram([1, 2], [[1, 3], [1, 1]], [3, 2], **named).to_mps(path)
    linprog = [1, 2], [[-1, 0]], [-1], [[1, 1]], [2]
    for way, told in (
        (functools.partial(LinearProgram.from_linprog, *linprog), [True, False]),
        (functools.partial(LinearProgram.from_cvxpy, problem), problem.constraints[:1]),
        (functools.partial(LinearProgram.from_mps, path), "need*"),
    ):
        assert way().private.tolist() == [True, False]
        assert way(neighbours=RELATION).private.all()
        assert way(neighbours=RELATION, private=told).private.tolist() == [True, False]


def test_a_pattern_that_matches_nothing_is_seen_in_words():
    """A misspelt pattern makes every row public; words and warnings tell of public rows alone."""
    relation = ConstraintPrivate("add-remove", nominal_n=8)
    fields = {"row_names": list("abcd"), "private": "patinet*", "neighbours": relation}
    with pytest.warns(
        privlp.NotPrivateWarning, match="4 inequalities are public, .*compare it with row_"
    ):
        lp = LinearProgram(COSTS, np.ones((4, 3)), np.ones(4), **fields)
    fields["row_lower"] = np.ones(4)  # balances are public in earnest
    LinearProgram(COSTS, np.ones((4, 3)), np.ones(4), **fields)
    assert "4 public rows, number of private rows private" in repr(lp)
    assert what_is_private(lp) == "4 rows are public; the number of private rows is private."


def test_far_more_rows_than_the_nominal_number_are_outside_the_relation():
    relation = ConstraintPrivate("add-remove", nominal_n=2)
    LinearProgram([1.0], np.ones((20, 1)), np.ones(20), neighbours=relation)
    with pytest.raises(InvalidProblemError, match="more than ten times nominal_n=2 private rows"):
        LinearProgram([1.0], np.ones((21, 1)), np.ones(21), neighbours=relation)


def test_no_private_row_at_all_is_no_error_where_their_number_is_private():
    fields = {"row_lower": [-np.inf], "private": [], "neighbours": RELATION}
    lp = LinearProgram([1.0, 1.0], [[1.0, 1.0]], [np.inf], **fields)
    assert privlp.solve(lp, 1.0, 1e-6, 5, opt=2.0, rng=0).success


def test_rounding_is_allowed_for_up_to_the_largest_number_of_rows():
    relation = ConstraintPrivate("add-remove", nominal_n=1000)
    lp = LinearProgram([1.0, 2.0], -np.ones((5, 2)), -np.ones(5), neighbours=relation)
    solution = privlp.solve(lp, 1.0, 1e-6, 10, opt=2.0, method="dmw", rng=0)
    assert solution.privacy.entries[0].sensitivity == 0.2
