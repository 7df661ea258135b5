"""Every block of code in the how-to guides, and in the README, does what the page says."""

import doctest
import re
import shlex
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import privlp
from privlp.cli import main as privlp_command
from svm_models.cli import main as svm_models_command

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
