"""The search for planted numbers has teeth."""

import functools
import importlib
import logging
import os
import pickle
import sys
import warnings
import weakref
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import highspy
import numpy as np
import pytest
import scipy.sparse as sp

import privlp
import svm_models.classifiers.base
from privlp import LinearProgram
from privlp.game.loop import Game
from privlp.methods.staged.charges import Stage
from privlp.methods.staged.search import Stages
from privlp.privacy import LaplaceMechanism, Randomness
from privlp.problem.highs import to_highs
from privlp.sparse import as_sparse
from tests.planted import programs
from tests.planted.draws import Draws
from tests.planted.interruptions import watched
from tests.planted.path import Attempt, Path
from tests.planted.programs import NAME, Mint, problem, request_of
from tests.planted.search import Secrets, leaks_in
from tests.planted.watch import Seen, compared, try_path, watch

solve_module = importlib.import_module("privlp.solve")
MINT = Mint()
SECRET = MINT(exponent=5, brand=0)
ROW = MINT(3)
MINT(exponent=-3)
NORM = float(np.linalg.norm(ROW))
SECRETS = Secrets(MINT.numbers, [NORM, NORM**2, 0.5, 2.0], (NAME,), (1237,))


class Slotted:
    __slots__ = ("hidden",)


SLOTTED = Slotted()
SLOTTED.hidden = SECRET


class Holder:
    def __init__(self, value):
        self.value = value

    def method(self):
        return self.value


def enclosed(value):
    return lambda: value


@functools.cache
def cached(value):
    return value


cached(SECRET)


HIDDEN = {
    "float": SECRET,
    "negative": -SECRET,
    "rounded to nine digits": float(f"{SECRET:.10g}"),
    "scaled by a power of ten": SECRET * 1e-7,
    "scaled by a power of two": SECRET * 2.0**-31,
    "norm": NORM,
    "single precision": ROW.astype(np.float32),
    "complex": complex(1, SECRET),
    "integer": 1237,
    "fraction": Fraction(SECRET),
    "decimal": Decimal(SECRET),
    "array": np.array([[1.0, SECRET]]),
    "shape": np.zeros((1237, 1)),
    "view": np.r_[1.0, ROW][:1],
    "object array": np.array([None, [SECRET]], dtype=object),
    "strings": np.array([f"{NAME} 3"]),
    "sparse": sp.csr_array([[0.0, SECRET]]),
    "key": {SECRET: 1},
    "set": {SECRET},
    "bytes": np.float64(SECRET).tobytes(),
    "swapped bytes": np.float64(SECRET).astype(">f8").tobytes(),
    "pickle within": pickle.dumps(SECRET),
    "attribute": Holder(Holder([SECRET])),
    "slot": SLOTTED,
    "closure": enclosed(SECRET),
    "default": lambda value=SECRET: value,
    "partial": functools.partial(print, SECRET),
    "method": Holder(SECRET).method,
    "generator": (value for value in [SECRET]),
    "weak reference": weakref.ref(HOLDER := Holder(SECRET)),
    "cache": cached,
    "exception": ValueError("harmless", ROW),
    "model": to_highs(privlp.LinearProgram([1, 1], [[1, ROW[1]]], [1])),
    "name": f"record of {NAME.upper()}",
    "three digits": f"the norm is {SECRET:.3g}",
    "whole number": f"the norm is {SECRET:.0f}",
    "four digits": f"{SECRET:.4g}",
    "cut digits": str(SECRET)[:5],
    "exponent": f"{SECRET:.5e}",
    "fixed": f"row {SECRET:.2f} of them",
    "grouped": f"{SECRET:,.1f}",
    "hexadecimal": SECRET.hex(),
    "in a list": str([1.0, SECRET, 2.0]),
    "in an array": str(ROW),
    "six digits of a norm": f"{NORM:.6g}",
    "norm in JSON": f'{{"norm": {NORM!r}}}',
    "count": "there are 1237 rows",
    "count as a float": "there are 1237.0 rows",
    "count with an exponent": "there are 1.237e3 rows",
    "count in a type of NumPy": [np.int64(1237)],
    "count beside others": {"rows": 5, "of": [3, 1237, 4]},
    "count in the bytes of a text": b"of 1237 rows",
    "logarithm of a count": float(np.log(1237)),
    "one over a count": "each record weighs 0.000808407",
}


@pytest.mark.parametrize("name", HIDDEN)
def test_what_is_hidden_is_found(name):
    assert leaks_in(HIDDEN[name], SECRETS, "test")


def test_a_number_is_found_wherever_it_stands():
    """Small integers are one object in a process."""
    small = Secrets([], counts=(7,))
    found = leaks_in({"first": 7, "second": [7, (7,)], "third": Holder(7)}, small, "test")
    assert {leak.place for leak in found if leak.channel == "test"} >= {
        "['first']",
        "['second'][0]",
        "['second'][1][0]",
        "['third'].value",
    }
    numbers = [[20, 21, {"rounds": 20}], [20, 21, {"rounds": 21}]]
    assert compared(Seen(numbers[0]), Seen(numbers[1]))
    assert compared(Seen(numbers[0]), Seen(list(numbers[0]))) == []


def loaded(model):
    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    highs.passModel(model)
    return Holder(highs)


def test_a_model_of_highs_is_opened():
    assert leaks_in(loaded(HIDDEN["model"]), SECRETS, "test")


PUBLIC = {
    "few digits": [0.5, 2.0, 7.3, 48, 1236, 1238],
    "rounds": np.arange(1200),
    "other numbers": np.random.default_rng(0).lognormal(0, 9, 100_000),
    "text": "version 2.4.6, 7.2 of 73 in 0.49 s; 7.32e5; 12.37",
    "shapes": np.zeros((3, 730)),
    "digits of a count among bytes": b"\x001237\xff",
    "empty": [None, [], {}, "", b"", np.array([]), np.nan, np.inf],
}


@pytest.mark.parametrize("name", PUBLIC)
def test_what_is_public_is_not_found(name):
    """A chance match among 100,000 numbers has a probability below one in a thousand. The seed is fixed."""
    assert leaks_in(PUBLIC[name], SECRETS, "test") == []


def raising(error, of=None):
    try:
        raise of or error
    except type(of or error):
        if of is None:
            raise
        raise error from None


def noted(**attributes):
    error = ValueError("refused")
    vars(error).update(attributes)
    return error


def write(name, text):
    with open(name, "w") as file:
        file.write(text)


class Destroyed:
    def __del__(self):
        raise ValueError(f"{SECRET}")


LEAKING_CALLS = {
    "warning": lambda: warnings.warn(f"a record of norm {NORM:.6g}", UserWarning, stacklevel=1),
    "object of a warning": lambda: warnings.warn(UserWarning("scaled", ROW), stacklevel=1),
    "context of an error": lambda: raising(ValueError("refused"), of=KeyError(SECRET)),
    "note of an error": lambda: raising(noted(__notes__=[f"row {ROW}"])),
    "attribute of an error": lambda: raising(noted(rows=ROW)),
    "interruption": lambda: (_ for _ in ()).throw(KeyboardInterrupt(SECRET)),
    "exit": lambda: sys.exit(f"norm {NORM!r}"),
    "print": lambda: print(SECRET),  # noqa: T201
    "standard error": lambda: sys.stderr.write(str(ROW)),
    "descriptor": lambda: os.write(2, f"{SECRET}".encode()) and None,
    "log": lambda: logging.getLogger("some.library").debug("norm %.9g", NORM),
    "file": lambda: write("notes.txt", f"{NORM!r}"),
    "binary file": lambda: np.save("notes.npy", ROW),
    "name of a file": lambda: write(f"{NAME}.txt", ""),
    "destructor": lambda: Destroyed() and None,
    "result": lambda: Holder(ROW),
}


@pytest.mark.parametrize("name", LEAKING_CALLS)
def test_every_channel_is_watched(name):
    assert watch(LEAKING_CALLS[name]).leaks(SECRETS)


def test_a_quiet_call_is_quiet():
    seen = watch(lambda: logging.getLogger("some.library").info("nothing") or 730.0)
    assert (seen.error, seen.leaks(SECRETS)) == (None, [])


# The same, through the library: each fault is put into real code and must be found on a real path.


def attempt_of(name, method):
    def attempt(variant):
        given = problem(name, variant)
        request = {"rng": 0, **request_of(name, method)}
        return Attempt(lambda: privlp.solve(given.lp, 1.0, 1e-6, **request), given.secrets)

    return attempt


def programs_seen(monkeypatch):
    """The programs that were solved, in order."""
    seen, public = [], LinearProgram.public
    monkeypatch.setattr(LinearProgram, "public", lambda lp: seen.append(lp) or public(lp))
    return seen


def quote(monkeypatch, words):
    def refuse(lp):
        raise privlp.UnsupportedProblemError(words(lp))

    monkeypatch.setattr(LinearProgram, "rows", refuse)


def quote_a_row(monkeypatch):
    quote(monkeypatch, lambda lp: f"row {lp.A[0]} is hard")


def quote_a_count(monkeypatch):
    quote(monkeypatch, lambda lp: f"{np.count_nonzero(lp.A @ np.ones(3) > lp.b)} rows are hard")


def put_norms_into_the_trace(monkeypatch):
    seen, released = programs_seen(monkeypatch), Stages.released
    trace = {"length": np.zeros(1)}

    def show(self):
        trace["length"][:] = np.linalg.norm(seen[-1].A[2])
        return replace(released(self), trace=trace)

    monkeypatch.setattr(Stages, "released", show)


def warn_of_a_norm(monkeypatch):
    seen, drive = programs_seen(monkeypatch), solve_module.drive

    def warning(solver, **options):
        longest = np.linalg.norm(seen[-1].A, axis=1).max()
        warnings.warn(f"the longest row is {longest:.6g}", UserWarning, stacklevel=2)
        return drive(solver, **options)

    monkeypatch.setattr(solve_module, "drive", warning)


def say_whether_rows_can_be_satisfied(monkeypatch):
    seen = programs_seen(monkeypatch)
    status = lambda *_: str(privlp.solve_exact(seen[-1]).status)  # noqa: E731
    monkeypatch.setattr(solve_module, "_message", status)


def stop_early(monkeypatch):
    seen, step = programs_seen(monkeypatch), Game.step
    stop = lambda self, t: step(self, t) if t < 3 or seen[-1].A[0, 0] < 0 else None  # noqa: E731
    monkeypatch.setattr(Game, "step", stop)


def choose_rounds_by_the_data(monkeypatch):
    seen, of = programs_seen(monkeypatch), Stage.of

    def chosen(*arguments, **options):
        return replace(of(*arguments, **options), rounds=20 + int(seen[-1].A[0, 0] < 0))

    monkeypatch.setattr(Stage, "of", chosen)


FAULTS = (
    *(quote_a_row, quote_a_count, put_norms_into_the_trace, warn_of_a_norm),
    *(say_whether_rows_can_be_satisfied, stop_early, choose_rounds_by_the_data),
)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_faults_in_solvers_are_found(fault, monkeypatch):
    path = Path("broken", attempt_of("replace", "staged"), (Exception, None))
    assert try_path(path)[1] == []
    fault(monkeypatch)
    assert try_path(path)[1]


def test_a_classifier_that_keeps_its_records_is_found(monkeypatch):
    train = svm_models.classifiers.base.PrivateLinearClassifier._train

    def keep(self, X, signs, groups):
        self._history = {"X": [weakref.ref(X)], "mean": lambda: signs @ X}
        return train(self, X, signs, groups)

    data = programs.records()
    model = svm_models.ObjectivePerturbationSVC(classes=(-1, 1), random_state=0)
    attempt = Attempt(lambda: model.fit(data.X, data.y), data.secrets)
    path = Path("keeps", lambda variant: attempt, twins=False)
    assert try_path(path)[1] == []
    monkeypatch.setattr(svm_models.classifiers.base.PrivateLinearClassifier, "_train", keep)
    assert try_path(path)[1]


def test_draws_are_recorded_played_back_and_told_apart():
    mechanism = LaplaceMechanism(1.0, 2.0)
    with Draws() as first:
        generator = first.generator(3)
        one = mechanism.release([1.0, 2.0], Randomness(generator))
        generator.normal()
    assert first.outside == {"normal": 1}
    for makes, strays in (
        (lambda: mechanism.release([5.0, 9.0], Randomness(0)), False),
        (lambda: LaplaceMechanism(1.0, 3.0).release([5.0, 9.0], Randomness(0)), True),
        (lambda: one, True),
    ):
        with Draws(replay=first) as again:
            two = makes()
        assert again.strayed is strays
        assert strays or np.array_equal(one, two)


@pytest.mark.parametrize("layout", [sp.csr_array, sp.csc_array])
def test_a_dense_array_that_cannot_be_converted_is_not_quoted(layout):
    """SciPy's conversion raises an error of its own with the array in it, whatever failed."""
    dense = np.tile(ROW, (4, 1))
    assert abs(as_sparse(dense, layout) - layout(dense)).nnz == 0
    assert as_sparse(np.zeros((0, 3)), layout).shape == (0, 3)
    with watched("numpy:asarray") as calls:
        as_sparse(dense, layout)
    for k in range(1, calls.total() + 1):
        with watched("numpy:asarray", lambda: MemoryError("Unable to allocate"), at=k):
            seen = watch(lambda: as_sparse(dense, layout))
        assert seen.leaks(SECRETS) == []
