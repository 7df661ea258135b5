"""One filter stands between what is private and the errors of all who read it."""

import logging
import threading
import warnings
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import privlp
from privlp.quiet import unquoted
from svm_models import LPSVC, PrivateLPSVC, PrivateQuantileRegressor

SECRET = "Ann, HIV+"


def fails(error):
    def read():
        try:
            raise KeyError(SECRET)
        except KeyError:
            raise error  # noqa: B904 (with a context)

    return read


def everything_told(error):
    """The texts of an error, and of all that goes along with it."""
    told, left = "", [error]
    while left:
        one = left.pop()
        told += f"{one!r} {getattr(one, '__notes__', '')}"
        left += [each for each in (one.__cause__, one.__context__) if each is not None]
    return told


class Panic(BaseException):
    """As those of Rust's libraries: no exception that one usually catches."""


@pytest.mark.parametrize(
    "kind",
    [ValueError, TypeError, RuntimeError, KeyError, ArithmeticError, OSError, StopIteration, Panic],
)
def test_an_error_of_any_kind_ends_here(kind):
    with pytest.raises(privlp.InvalidProblemError, match=r"^b is no number") as caught:
        unquoted(fails(kind(SECRET)), "b is no number.", "b")
    assert caught.value.parameter == "b"
    assert "Ann" not in everything_told(caught.value)


def test_a_lack_of_memory_stays_one():
    with pytest.raises(MemoryError, match=r"^There is too little memory for b") as caught:
        unquoted(fails(MemoryError(f"Unable to allocate 7 rows {SECRET}")), "b is none.", "b")
    assert "Ann" not in everything_told(caught.value)


@pytest.mark.parametrize(
    "own",
    [
        privlp.InvalidParameterError("s is too large"),
        privlp.NotPrivateWarning("delta is too large"),
    ],
)
def test_what_privlp_says_itself_passes_alone(own):
    with pytest.raises(type(own), match="too large") as caught:
        unquoted(fails(own), "b is none.")
    assert "Ann" not in everything_told(caught.value)


def test_an_interruption_passes():
    with pytest.raises(KeyboardInterrupt):
        unquoted(fails(KeyboardInterrupt()), "b is none.")


def test_no_library_logs_what_it_reads(caplog):
    def read():
        logging.getLogger("pyomo.core").error("evaluating %s", SECRET)
        raise ValueError(SECRET)

    with pytest.raises(privlp.InvalidProblemError):
        unquoted(read, "b is none.")
    assert caplog.text == ""
    logging.getLogger("pyomo.core").error("afterwards")
    assert "afterwards" in caplog.text


@pytest.mark.parametrize("last", [lambda: None, fails(ValueError(SECRET))], ids=["reads", "fails"])
def test_reads_in_two_threads_are_quiet_to_the_last(last, caplog):
    """One begins within the other and ends after it; then logs and warnings are as they were."""
    began, one_ended = threading.Event(), threading.Event()

    def tell():
        logging.getLogger("pyomo.core").critical("evaluating %s", SECRET)
        warnings.warn(SECRET, UserWarning, stacklevel=1)

    def second():
        began.set()
        assert one_ended.wait(60)
        tell()
        last()

    def later():
        with suppress(privlp.InvalidProblemError):
            unquoted(second, "b is none.")

    def first():
        reading = other.submit(later)
        assert began.wait(60)
        warnings.warn("harmless", privlp.NotPrivateWarning, stacklevel=1)
        tell()
        return reading

    with warnings.catch_warnings(record=True) as heard, ThreadPoolExecutor(1) as other:
        warnings.simplefilter("always")
        level, filters = logging.root.manager.disable, warnings.filters
        reading = unquoted(first, "b is none.")
        one_ended.set()
        reading.result()
        assert logging.root.manager.disable == level
        assert warnings.filters is filters
    assert [str(one.message) for one in heard] == ["harmless"]
    assert caplog.text == ""


def test_there_is_one_filter():
    root = Path(__file__).parents[1]
    paths = [path for of in ("privlp", "svm_models") for path in (root / of).rglob("*.py")]
    defined = [path for path in paths if "def unquoted(" in path.read_text()]
    assert defined == [root / "privlp" / "quiet.py"]


def test_blocks_that_cannot_be_read_are_not_quoted():
    class Source(Sequence):
        failing = False

        def __len__(self):
            return 2

        def __getitem__(self, number):
            if self.failing:
                raise RuntimeError(SECRET)
            return (np.ones((3, 1)), np.ones((3, 1)))[number]

    source = Source()
    lp = privlp.LinearProgram([1.0], source, np.ones(6))
    source.failing = True
    for read in (lp.in_memory, lambda: privlp.LinearProgram([1.0], source, np.ones(6))):
        with pytest.raises(privlp.InvalidProblemError) as caught:
            read()
        assert "Ann" not in everything_told(caught.value)


ROWS = [
    np.array([7.654321, -7.654321, 1.0]),
    [[7.654321, 1.0]] * 3,
    (7.654321, 1.0, 1.0),
    {"Ann": 7.654321},
]


WRONG = [
    (partial(privlp.LinearProgram, [1.0], [[1.0]], [1.0]), "sense"),
    *((privlp.ConstraintPrivate, name) for name in ("change", "rows_per_record")),
    (partial(privlp.ConstraintPrivate, "add-remove"), "nominal_n"),
    *((partial(privlp.ScalarPrivate, 1.0), name) for name in ("norm", "zeros")),
    *(
        (partial(privlp.solve, privlp.LinearProgram([1.0], [[1.0]], [1.0]), 1.0, 1e-6, 1), name)
        for name in ("method", "opt", "feasible", "prices", "progress", "time_limit", "width")
    ),
]


@pytest.mark.parametrize(("call", "name"), WRONG)
def test_no_message_quotes_rows_that_stand_in_the_wrong_place(call, name):
    for rows in ROWS:
        with pytest.raises(privlp.PrivLPError) as caught:
            call(**{name: rows})
        assert "7.654321" not in everything_told(caught.value)
        assert "Ann" not in everything_told(caught.value)


class Telling:
    """A number that warns of itself when it is read."""

    def __float__(self):
        warnings.warn(SECRET, stacklevel=1)
        return 1.0


@pytest.mark.parametrize(
    "machine",
    [
        PrivateLPSVC(1.0, 1e-6, classes=(0, 1)),
        PrivateQuantileRegressor(1.0, 1e-6, data_norm=4.0, y_bounds=(0, 1)),
        LPSVC(1.0),
    ],
    ids=lambda machine: type(machine).__name__,
)
def test_no_entry_warns_of_itself(machine):
    X = np.array([[Telling(), 1.0] for _ in range(40)], dtype=object)
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        machine.fit(X, [0, 1] * 20)
    assert not any(SECRET in str(one.message) for one in heard)


def test_warnings_of_privlp_pass_the_filter():
    def read():
        warnings.warn("of a library", UserWarning, stacklevel=1)
        warnings.warn("harmless", privlp.NotPrivateWarning, stacklevel=1)
        return 3

    with pytest.warns(privlp.NotPrivateWarning, match="harmless") as heard:
        assert unquoted(read, "what is read") == 3
    assert len(heard) == 1
