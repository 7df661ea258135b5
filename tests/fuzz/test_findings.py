"""What fuzzing found, each fault as its smallest case."""

import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from click.testing import CliRunner

import privlp
import svm_models
from fuzz.files import CORPUS
from privlp.cli import main

HUGE = 10**400
FRAME = pd.DataFrame({"a": [1.0]})
TWO = (privlp.ScalarPrivate(0.1), privlp.ObjectivePrivate(0.1))
OF_TWO = {"neighbours": TWO, "s": None, "opt": None}


def program(**options):
    return privlp.LinearProgram(**({"c": [1.0], "A": [[1.0]], "b": [1.0]} | options))


def linprog(**options):
    return privlp.LinearProgram.from_linprog([1.0], [[1.0]], [1.0], **options)


def solve(*, neighbours=None, **options):
    lp = program() if neighbours is None else program(neighbours=neighbours, bounds=(0, 1))
    return privlp.solve(lp, **({"eps": 1.0, "delta": 1e-6, "s": 1, "opt": 1.0} | options))


def audit(*outcomes, **options):
    def mechanism(_, rng):
        return outcomes[int(rng.integers(len(outcomes)))]

    return privlp.audit(mechanism, 0, 1, 1.0, 0.0, **({"runs": 100, "rng": 0} | options))


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (lambda: program(sense=FRAME), "sense must be 'min' or 'max'"),
        (lambda: program(name=5), "name must be a string, got int"),
        (lambda: linprog(neighbours=np.ones(2)), "neighbours must be a neighbour relation"),
        (
            lambda: privlp.ConstraintPrivate(np.array(["replace", "add-remove"])),
            "change must be 'replace'",
        ),
        (lambda: privlp.RowPrivate(1.0, zeros=np.zeros(2, "i4,f8")), "zeros must be 'private' or"),
        (lambda: solve(feasible=FRAME), "feasible must be None, 'always' or"),
        (lambda: solve(method=np.array(["dmw", "chain"])), "method must be 'auto' or one of"),
        (lambda: solve(opt=np.array("a"), method="dmw"), "opt must be a number"),
        (lambda: solve(**OF_TWO, split=sp.coo_matrix([1.0, 2.0])), "split must be a number, got c"),
        (lambda: audit(1, 2, confidence="0.9"), "confidence must be a number"),
        (lambda: audit(0.5, np.nan), "of finite numbers of at most 1e"),
        (lambda: audit(0.5, 1e300), "of finite numbers of at most 1e"),
        (lambda: audit(0.5, "a"), "must return hashable outcomes"),
        (lambda: audit(1, [1]), "must return hashable outcomes"),
        (lambda: audit([1.0], [1.0, 2.0]), "arrays of varying lengths"),
    ],
)
def test_parameters(act, message):
    with pytest.raises(privlp.InvalidParameterError, match=message):
        act()


def test_a_count_in_a_small_integer_type_does_not_overflow():
    relation = privlp.ConstraintPrivate("add-remove", np.int64(1), np.int8(100))
    assert (relation.largest_n(), type(relation.nominal_n)) == (1000, int)


def test_frames_of_sparse_columns_may_leave_out_something_else_than_zero():
    A = pd.DataFrame({"a": [1.0, 2.0]}).astype(pd.SparseDtype(float, 2.0))
    np.testing.assert_array_equal(privlp.LinearProgram([1.0], A, [1.0, 1.0]).A, [[1.0], [2.0]])


SPACES = (CORPUS / "spaces.mps").read_bytes()
#: HiGHS 1.15 never comes back from the first four of these, and the fifth ends its process.
NO_MODELS = {
    "a word among the columns": ("model.mps", b"COLUMNS\nX\n\n"),
    "a word at the end": ("model.mps", b"\nCOLUMNS\n0"),
    "a row with a blank in its name": ("model.mps", b"ROWS\nNN B\n\n"),
    "broken gzip": ("model.lp.gz", b"\x1f\x8b\xd4S"),
    "a long word": ("model.mps", b"r1\n $\nCOLUMNS\nHS\n " + b"N" * 49),
    "a marker in fixed columns": ("model.mps", SPACES.replace(b"TOTAL   ", b"'MARKER'", 1)),
    "an empty line in fixed columns": ("model.mps", SPACES.replace(b"RHS\n", b"RHS\n\n")),
    "a sign before >": ("model.lp", b"min\n x\nst\n r: x + 2 + >= 2\nend\n"),
    "an arrow": ("model.lp", b"min\n x\nst\n r: x - >= 2\nend\n"),
    "sections in disorder": ("model.mps", b"COLUMNS\n x cost 1\nROWS\n N cost\nENDATA\n"),
    "a section twice": ("model.mps", b"ROWS\n N cost\n L a\nCOLUMNS\n x a 1\nRHS\nRHS\nENDATA\n"),
    "names in Latin-1": ("model.mps", b"ROWS\n N cost\n L \xe9\nCOLUMNS\n x \xe9 1\nENDATA\n"),
}


_READ_ALL = """
import sys, privlp
for path in sys.argv[1:]:
    try:
        privlp.LinearProgram.from_mps(path)
    except privlp.ReadError:
        print("refused", path)
"""


def test_models_that_cannot_be_read(tmp_path):
    paths = []
    for folder, (name, content) in NO_MODELS.items():
        paths.append(tmp_path / folder / name)
        paths[-1].parent.mkdir()
        paths[-1].write_bytes(content)
    words = [sys.executable, "-c", _READ_ALL, *paths]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout.splitlines() == [f"refused {path}" for path in paths]
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("name", ["covering.mps", "diet.mps", "spaces.mps", "small.lp"])
def test_the_corpus_is_read(name):
    assert privlp.solve_exact(privlp.LinearProgram.from_mps(CORPUS / name)).success


def test_models_may_have_file_names_that_are_no_text(tmp_path):
    path = os.fsencode(tmp_path) + b"/\xff.mps"
    with open(path, "wb") as file:
        file.write((CORPUS / "covering.mps").read_bytes())
    assert privlp.LinearProgram.from_mps(path).shape == (6, 2)


@pytest.mark.parametrize(
    "names", [["a\nb", "c"], ["a\tb", "\0"], ["a b", "a_b"], ["a\x0cb", "a\x0bb"]]
)
def test_models_with_odd_names_are_written_and_read_back(names, tmp_path):
    A = [[1.0, 2.0], [0.0, 3.0]]
    named = {"row_names": names, "variable_names": names, "name": "a\nROWS"}
    privlp.LinearProgram([1.0, 2.0], A, [1.0, 2.0], **named).to_mps(tmp_path / "model.mps")
    np.testing.assert_array_equal(
        privlp.LinearProgram.from_mps(tmp_path / "model.mps").A.toarray(), A
    )


def test_terminals_without_all_letters():
    asked = ["--eps", "1", "--delta", "1e-6", "--s", "2", "--opt", "2.5"]
    words = ["plan", str(CORPUS / "covering.mps"), *asked]
    result = CliRunner(charset="latin-1").invoke(main, words)
    assert result.exit_code == 0
    assert "(per ?A???)" in result.output


def test_bounds_far_beyond_a_vertex_cap_nothing():
    lp = privlp.LinearProgram([1.0, 2.0], -np.ones((50, 2)), -np.full(50, 1e-60), bounds=(0, 1e290))
    assert str(privlp.plan(lp, 1.0, 1e-6, 5, opt=1e-60))


@pytest.mark.parametrize("classes", [sp.eye_array(2), sp.coo_array([1.0, 2.0])])
def test_sparse_classes_are_no_labels(classes):
    model = svm_models.ObjectivePerturbationSVC(classes=classes)
    with pytest.raises(privlp.InvalidParameterError, match="classes must be labels"):
        model.fit(np.eye(2), [0, 1])
