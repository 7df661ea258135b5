"""Blocks of code in the guides and in the README do what the page says; so do programs of real people."""

import doctest
import re
import shlex
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import privlp
from privlp import examples, solve_exact
from privlp.audits import solve as solve_audits
from privlp.cli import main as privlp_command
from svm_models.cli import main as svm_models_command

# every block of code in the how-to guides, and in the README, does what the page says


ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"  # the start page of the documentation includes it
PAGES = [README, *sorted((ROOT / "docs" / "guides").glob("*.md"))]
COMMANDS = {"privlp": privlp_command, "svm-models": svm_models_command}
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
BLOCK = re.compile(r"^ *```(\{?\w*\}?)[^\n]*\n(.*?)^ *```$", flags=re.MULTILINE | re.DOTALL)


def run_python(text, names, page):
    failures = []
    test = doctest.DocTestParser().get_doctest(text, names, page, page, 0)
    assert test.examples, "a block of Python without >>> would not be run"
    doctest.DocTestRunner(optionflags=FLAGS).run(test, clear_globs=False, out=failures.append)
    names.update(test.globs)
    assert not failures, "".join(failures)


def run_commands(text):
    for step in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        command, _, expected = step.partition("\n")
        program, *arguments = shlex.split(command)
        output = CliRunner().invoke(COMMANDS[program], arguments, catch_exceptions=False).output
        assert doctest.OutputChecker().check_output(expected, output, FLAGS), (
            f"$ {command}\n{output}"
        )


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_guide(path, tmp_path, monkeypatch):
    """In order, in a folder of its own."""
    A = np.random.default_rng(0).uniform(0.2, 1.0, size=(1000, 4))
    privlp.LinearProgram([1, 2, 1, 3], -A, -np.ones(1000)).to_mps(tmp_path / "model.mps")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(solve_audits, "_PATIENCE", np.inf)  # a busy machine would tell durations
    names = {}
    for language, text in BLOCK.findall(path.read_text(encoding="utf-8")):
        if language == "python":
            run_python(text, names, path.name)
        elif language == "console":
            run_commands(text)
        elif language == "sh":
            targets = re.findall(r"^make ([\w-]+)", text, flags=re.MULTILINE)
            assert len(targets) == text.count("\n")
            assert set(targets) <= set(re.findall(r"^([\w-]+):", MAKEFILE, flags=re.MULTILINE))
        else:
            assert language.startswith("{"), "what is not run is prose"


def test_three_programs_take_at_most_25_lines_in_any_library():
    page = next(path for path in PAGES if path.stem == "modellers").read_text(encoding="utf-8")
    blocks = [
        re.findall(r"^(?:>>>|\.\.\.) ", text, flags=re.MULTILINE) for _, text in BLOCK.findall(page)
    ]
    assert len(blocks) == 7
    assert max(map(len, blocks)) <= 25


def test_the_readme_is_read_in_one_sitting():
    lines = README.read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 120
    assert max(map(len, lines)) <= 100


def test_patients_own_one_row_each_and_can_all_be_told_apart():
    records = pytest.importorskip("sklearn.datasets").load_breast_cancer()
    lp = examples.screening()
    sick = np.where(records.target == 0, 1.0, -1.0)
    margins = sick[:, None] * -lp.A[:, :31]
    np.testing.assert_array_equal(lp.A[:, 31:], -lp.A[:, :31])
    assert lp.private.all()
    assert np.abs(margins).max() < 1.05  # the documented ranges are rounded
    assert (margins[:, 30] == 1.0).all()
    for column in range(30):  # an increasing map of each measurement
        assert np.corrcoef(margins[:, column], records.data[:, column])[0, 1] == pytest.approx(1.0)
    exact = solve_exact(lp)
    assert exact.status.success
    w = exact.x[:31] - exact.x[31:]
    assert (sick * (margins @ w) >= 1 - 1e-6).all()


def test_people_are_covered_by_the_exact_formula():
    records = pytest.importorskip("statsmodels.datasets").randhie.load_pandas().data
    lp = examples.doctor_visits()
    assert lp.shape == (20_190, 6)
    assert lp.private.all()
    np.testing.assert_array_equal(lp.b, -records["mdvis"])
    np.testing.assert_allclose(10 * -lp.A[:, 2], records["disea"])
    np.testing.assert_allclose(lp.c, -lp.A.mean(axis=0), rtol=0.04)  # public averages, rounded
    exact = solve_exact(lp)
    assert exact.status.success
    assert (-lp.A @ exact.x >= records["mdvis"] - 1e-6).all()
    assert exact.objective == pytest.approx(71.5, abs=0.2)
