"""Targets that run command lines: in this process, or as processes of their own."""

import json
import math
import os
import subprocess
import sys
from pathlib import Path
from random import Random
from typing import Any

import click
from click.testing import CliRunner

from fuzz import files, odd
from privlp.cli import main as privlp_command
from svm_models.cli import main as svm_command

_WORDS = (
    "1", "0", "-1", "0.5", "1e-6", "nan", "inf", "-inf", "1e400", "x", "-", "--", "ü", "1,2", "2,1", "*", "[", "person*", "-1e-3",
    "", " 1", "\udcff", "9" * 400,
)  # fmt: skip
_MODELS = ("covering.mps", "covering.mps", "covering.mps", "diet.mps", "small.lp", "spaces.mps")
_NO_MODELS = (
    *("missing.mps", "", "ü.mps", "\udcff.mps", "/dev/null", "-"),
    *(str(files.CORPUS / "solution.json"), "x" * 5000),
)
_RELATION_OPTIONS = (
    ("--scalar-private", ("--b-range", "0", "9")),
    ("--scalar-private", ("--norm", "1")),
    ("--row-private", ("--a-range", "0", "2")),
    ("--column-private", ("--zeros-public",)),
    ("--objective-private", ("--c-range", "0", "5")),
)
_BRIEF = {
    "solve": {"--seed": "0", "--time-limit": "1"},
    "audit": {"--seed": "0", "--pairs": "1", "--runs": "0"},
}
_EXTRA = (
    *(["--feasible", "always"], ["--progress"], ["--nonsense"], ["extra"], ["--help"]),
    ["--method", "direct-noise"],
)


def _command(rng: Random, folder: Path) -> list[str]:
    """Words behind ``privlp``: a lawful request with a few of its options exchanged, left out or added."""
    whole = rng.random() < 0.92
    model = rng.choice(_MODELS) if whole else rng.choice((*_NO_MODELS, str(folder)))
    chosen = rng.choice(("exact", "solve", "solve", "solve", "plan", "plan", "audit"))
    words = [chosen, str(files.CORPUS / model) if whole else model]
    if chosen == "exact":
        options = {"--time-limit": rng.choice(_WORDS)} if rng.random() < 0.3 else {}
    else:
        options = _options(rng, chosen, words)
    if chosen != "plan" and rng.random() < 0.2:
        targets = (
            "-", "", str(folder / "out.json"), str(folder), "no/such/out.json", "/dev/null", "/dev/full", "/proc/out.json",
            "x" * 300,
        )  # fmt: skip
        options["--json"] = rng.choice(targets)
    if chosen in ("plan", "audit") and rng.random() < 0.03:
        targets = (str(folder / "out.png"), "out", "", str(folder), "no/out.png", "/proc/out.svg")
        options["--plot"] = rng.choice(targets)
    for name, word in options.items():
        words += [name, word] if rng.random() < 0.8 else [f"{name}={word}"]
    return words


def _options(rng: Random, chosen: str, words: list[str]) -> dict[str, str]:
    """Options with a word each; others are added to the words."""
    options = {"--eps": "1", "--delta": "1e-6", "--s": "2", "--opt": "2.5"}
    if rng.random() < 0.4:
        name, detail = rng.choice(_RELATION_OPTIONS)
        options = {"--eps": "1", "--delta": "1e-6", name: "0.01"}
        words += detail if rng.random() < 0.7 else ()
    command = privlp_command.get_command(click.Context(privlp_command), chosen)
    known = [p for p in command.params if isinstance(p, click.Option) and not p.is_flag]
    names = {p.opts[0] for p in known if p.nargs == 1} - {"--json", "--plot"}
    for name in rng.sample(sorted(names), rng.choice((0, 0, 1, 2))):
        options[name] = rng.choice(_WORDS)
    if rng.random() < 0.05:
        options.pop(rng.choice(sorted(options)))
    if rng.random() < 0.05:
        words.append(rng.choice(("--opt-range", "--b-range", "--a-range", "--c-range")))
        words += [rng.choice(_WORDS), rng.choice(_WORDS)]
    if chosen == "solve" and rng.random() < 0.1:
        words += rng.choice(_EXTRA)
    options = _BRIEF.get(chosen, {}) | options
    return options | {n: "2" for n in ("--pairs", "--runs") if options.get(n) == "9" * 400}


def _run(command: Any, words: list[str], folder: Path, known: set[str]) -> Any:
    """Run a command in this process, and look at what it leaves."""
    result = CliRunner().invoke(command, words)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code in (0, 1, 2), result.exit_code
    assert "Traceback" not in result.output
    told = "Error:" in result.stderr or "Usage:" in result.stderr
    assert result.exit_code != 2 or told, "no word about what is wrong"
    assert f"{odd.PLANTED}" not in result.stderr, "a private number in a message"
    left = {path.name for path in folder.iterdir()}
    assert left <= known, f"files left behind: {left - known}"
    for path in (*folder.glob("*.json"), *folder.glob("*.png")):
        if path.suffix == ".json":
            json.loads(path.read_text())
        path.unlink()
    return result


def privlp_cli(rng: Random, folder: Path) -> int:
    words = _command(rng, folder)
    if rng.random() < 0.1:
        others = ([], ["--help"], ["--version"], ["nonsense"], ["solve"], ["plan", "--help"])
        others += (["demo", "--seed", "x"], ["", ""])
        picture = rng.choice(("out.txt", "", str(folder), "no/out.png"))
        words = rng.choice((*others, words[1:], ["demo", "--output", picture]))
    return _run(privlp_command, words, folder, {"out.json", "out.png"}).exit_code


def svm_cli(rng: Random, folder: Path) -> int:
    path, model = folder / "records.txt", rng.choice(("svm", "lr"))
    path.write_bytes(files.training_file(rng, model == "svm"))
    seed = rng.choice(_WORDS) if rng.random() < 0.05 else "0"
    words = ["train", str(path), "--model", model, "--seed", seed]
    if rng.random() < 0.1:
        missing = ["train", rng.choice((*_NO_MODELS, str(folder))), "--model", model]
        others = (["example", "--model", model], words[:2], words[:4], ["--help"])
        odd_words = [rng.choice(_WORDS) for _ in range(3)]
        words = rng.choice((*others, odd_words, missing, missing))
    try:
        result = _run(svm_command, words, folder, {"records.txt"})
    finally:
        path.unlink()
    if result.exit_code == 0 and words[0] == "train" and "--help" not in words:
        assert len(result.stdout.splitlines()) == 3
        assert all(math.isfinite(float(number)) for number in result.stdout.split())
    return result.exit_code


def processes(rng: Random, folder: Path) -> int:
    """Commands as processes of their own: other encodings, closed pipes, a folder that is gone."""
    words = [word for word in _command(rng, folder) if "\0" not in word]
    if rng.random() < 0.1:
        words = ["demo", "--seed", "0", "--output", str(folder / "out.png")]
    encoding = rng.choice(("utf-8", "utf-8", "ascii", "latin-1"))
    full = rng.random() < 0.1
    run = "from privlp.cli import main; main(prog_name='privlp')"
    with open("/dev/full" if full else os.devnull, "wb") as sink:
        done = subprocess.run(
            [sys.executable, "-c", run, *map(os.fsencode, words)],
            stdout=sink if full else subprocess.PIPE,
            stderr=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
            env=os.environ | {"PYTHONIOENCODING": encoding, "OPENBLAS_NUM_THREADS": "1"},
            cwd=folder,
            timeout=60,
            check=False,
        )
    errors = done.stderr.decode(errors="replace")
    assert done.returncode in (0, 1, 2), (done.returncode, errors[-300:])
    assert "Traceback" not in errors, errors[-300:]
    for path in folder.iterdir():
        assert path.name in ("out.json", "out.png"), path.name
        path.unlink()
    return done.returncode
