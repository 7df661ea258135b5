"""Input that means something else than it says is refused: silently wrong input has no protection.

Numbers, selections of rows and record ids that users get wrong; each message says what to do.
"""

import numpy as np
import pandas as pd
import pytest

from privlp import ConstraintPrivate, InvalidProblemError, LinearProgram

ROWS, NAMES = np.ones((4, 1)), ["a", "b", "c", "d"]
ADD_REMOVE = ConstraintPrivate("add-remove", nominal_n=4)
FLAGS = [1, 1, 0, 1]
AS_FLAGS = (
    r"private holds only the numbers 0 and 1, as flags do. For a mask give booleans:"
    r" np.asarray\(private, dtype=bool\). For row indices give each index once:"
    r" np.flatnonzero\(mask\)."
)


def from_mps(folder, **options):
    path = folder / "model.mps"
    LinearProgram([1.0], ROWS, np.ones(4), row_names=NAMES).to_mps(path)
    return LinearProgram.from_mps(path, **options)


@pytest.mark.parametrize("neighbours", [ConstraintPrivate(), ADD_REMOVE])
@pytest.mark.parametrize(
    "flags",
    [
        FLAGS,
        np.array(FLAGS, dtype=np.int8),
        np.array(FLAGS, dtype=np.uint8),
        pd.Series(FLAGS),
        pd.Series(FLAGS, dtype="Int64"),
        np.array(FLAGS, dtype=object),
        [0, 0, 0, 0],
        [1, 1, 1, 1],
    ],
)
def test_flags_are_not_read_as_row_numbers(flags, neighbours, tmp_path):
    """Rows 0 and 1 would be private and all others public, whatever was meant."""
    made = [
        lambda **k: LinearProgram([1.0], ROWS, np.ones(4), **k),
        lambda **k: LinearProgram.from_linprog([1.0], ROWS, np.ones(4), **k),
        lambda **k: from_mps(tmp_path, **k),
    ]
    for make in made:
        with pytest.raises(InvalidProblemError, match=AS_FLAGS) as caught:
            make(private=flags, neighbours=neighbours)
        assert caught.value.parameter == "private"
        as_mask = make(private=np.asarray(flags, dtype=bool), neighbours=neighbours)
        assert as_mask.private.tolist() == [bool(flag) for flag in flags]


@pytest.mark.parametrize("n", [1, 2])
def test_indices_that_could_be_flags_name_all_rows(n):
    """Of one or two rows distinct numbers 0 and 1 are indices of all rows: nothing is public."""
    for places in (range(n), range(n)[::-1], np.arange(n, dtype=np.int8)):
        assert LinearProgram([1.0], ROWS[:n], np.ones(n), private=places).private.all()
    for flags in ([1] * n, [0] * 2):
        with pytest.raises(InvalidProblemError, match=AS_FLAGS):
            LinearProgram([1.0], ROWS[:n], np.ones(n), private=flags)


@pytest.mark.parametrize("neighbours", [ConstraintPrivate(), ADD_REMOVE])
@pytest.mark.parametrize(
    "selection",
    [
        3,
        np.int64(3),
        b"ab",
        [2, 3, 2],
        [-1],
        [4],
        [[2, 3]],
        [True, 1, 0, 0],
        [True, "b"],
        ["a", 1],
        [b"a"],
        np.array([b"a"]),
        [2, None],
        [1.0, 0.0, 0.0, 1.0],
        np.ma.array([2, 3], mask=[False, True]),
        np.ma.array([True] * 4, mask=[True, False, False, False]),
        pd.array([True, None, True, True], dtype="boolean"),
        np.array([2, 3], dtype="m8[s]"),
        {2, 3},
        {"a": 1},
        (place for place in [2, 3]),
    ],
    ids=str,
)
def test_refuses_selections_of_rows_that_mean_more_than_one_thing(selection, neighbours):
    with pytest.raises(
        InvalidProblemError,
        match=r"private must be a boolean mask, .*, or row names; each once, all of one kind.",
    ) as caught:
        LinearProgram(
            [1.0], ROWS, np.ones(4), private=selection, neighbours=neighbours, row_names=NAMES
        )
    assert caught.value.parameter == "private"


@pytest.mark.parametrize(
    ("selection", "private"),
    [
        ([2, 1], [1, 2]),
        ([0, 1], [0, 1]),
        (pd.Series([2, 3], index=[0, 1]), [2, 3]),
        (np.array([3], dtype=np.int8), [3]),
        ([], []),
        (pd.Series([True, False, False, True]), [0, 3]),
        (pd.array([True, False, False, True], dtype="boolean"), [0, 3]),
        ([np.True_, False, False, True], [0, 3]),
        (pd.Index(["a", "d"]), [0, 3]),
        (pd.Series(["a", "[cd]"], dtype="string"), [0, 2, 3]),
        (np.array(["a", "b"], dtype=object), [0, 1]),
    ],
)
def test_selections_of_one_kind_select_what_they_say(selection, private):
    lp = LinearProgram([1.0], ROWS, np.ones(4), private=selection, row_names=NAMES)
    assert np.flatnonzero(lp.private).tolist() == private


def test_highlighted_rows_are_no_flags():
    lp = LinearProgram([1.0, 1.0], np.ones((4, 2)), np.ones(4))
    with pytest.raises(ValueError, match=r"highlight must hold row numbers .*, each once"):
        lp.plot(highlight=FLAGS)


@pytest.mark.parametrize("neighbours", [ConstraintPrivate(), ADD_REMOVE])
@pytest.mark.parametrize(
    "groups",
    [
        [np.nan, 1, 1, np.nan],
        np.array([np.nan, 1.0, 1.0, float("nan")], dtype=object),
        np.ma.array([1, 2, 3, 4], mask=[True, False, False, True]),
        np.array(["2020-01-01", "NaT", "NaT", "2020-01-01"], dtype="M8[D]"),
        pd.Series([1, None, None, 1], dtype="Int64"),
    ],
)
def test_missing_record_ids_are_refused(groups, neighbours):
    """Two rows without an id may belong to one record, which would have half of its protection."""
    with pytest.raises(InvalidProblemError, match=r"groups .*record id.*give each row its owner"):
        LinearProgram([1.0], ROWS, np.ones(4), groups=groups, neighbours=neighbours)


@pytest.mark.parametrize("groups", [[True, False, True, True], np.array([True] * 4, dtype=object)])
def test_a_mask_is_no_record_ids(groups):
    with pytest.raises(InvalidProblemError, match=r"groups must hold .*, and a mask holds none"):
        LinearProgram([1.0], ROWS, np.ones(4), groups=groups)


def test_numbers_0_and_1_are_record_ids():
    lp = LinearProgram([1.0], ROWS, np.ones(4), groups=FLAGS)
    assert lp.neighbours.rows_of_one_record(lp) == 3
