"""The command lines, as they succeed and as they fail."""

import functools
from collections.abc import Callable, Iterator
from pathlib import Path as FilePath

import numpy as np

from privlp.cli import main as privlp_main
from svm_models.cli import main as svm_main
from tests.planted import programs
from tests.planted.path import Attempt, Path, file_of
from tests.planted.programs import NAME, Mint, problem
from tests.planted.search import Secrets

_ASKED = "MODEL --eps 1 --delta 1e-6"
_KNOWN = f"{_ASKED} --s 3 --opt 9"
_OF_PRIVATE_N = f"{_ASKED} --s 10 --opt 9 --nominal-n 100"
#: A program, and words behind ``privlp``.
_COMMANDS = {
    "solve": ("replace", f"solve {_KNOWN} --seed 1"),
    "solve --json -": ("replace", f"solve {_KNOWN} --seed 1 --json -"),
    "solve --json FILE": ("soft", f"solve {_ASKED} --s 3 --opt-range 1 40 --json out.json"),
    "solve chain": ("mixed", f"solve {_ASKED} --s 2 --method chain --seed 1 --private r*[0-4]"),
    "solve --time-limit": ("replace", f"solve {_KNOWN} --time-limit 1e-9"),
    "solve --nominal-n": ("replace", f"solve {_KNOWN} --nominal-n 20 --seed 1"),
    "solve --nominal-n, n far from it": ("departed", f"solve {_OF_PRIVATE_N} --seed 1"),
    "solve --nominal-n --json -": ("departed", f"solve {_OF_PRIVATE_N} --seed 1 --json -"),
    "solve --nominal-n --json FILE": ("departed", f"solve {_OF_PRIVATE_N} --json out.json"),
    "solve --nominal-n --method dmw": ("departed", f"solve {_OF_PRIVATE_N} --seed 1 --method dmw"),
    "solve --nominal-n --time-limit": ("departed", f"solve {_OF_PRIVATE_N} --time-limit 1e-9"),
    "plan --nominal-n": ("departed", f"plan {_OF_PRIVATE_N}"),
    "plan --nominal-n --plot": ("departed", f"plan {_OF_PRIVATE_N} --plot plan.svg"),
    "solve --scalar-private": ("scalar", f"solve {_ASKED} --scalar-private 0.05 --seed 1"),
    "solve --row-private": ("row", f"solve {_ASKED} --row-private 0.01 --a-range -9 -0.4"),
    "solve --objective-private": ("objective", f"solve {_ASKED} --objective-private 0.1"),
    "solve --feasible always": (
        "scalar",
        f"solve {_ASKED} --scalar-private 0.1 --b-range -9 -4 --feasible always --seed 1",
    ),
    "plan": ("replace", f"plan {_KNOWN}"),
    "plan --plot": ("replace", f"plan {_KNOWN} --plot plan.svg"),
}
_FAILING = {
    "no s": ("replace", f"solve {_ASKED} --opt 9"),
    "s beyond n": ("replace", f"solve {_ASKED} --s 99 --opt 9"),
    "eps of zero": ("replace", "solve MODEL --eps 0 --delta 0 --s 3"),
    "eps that is no number": ("replace", "solve MODEL --eps x --delta 0 --s 3"),
    "no such pattern": ("replace", f"solve {_ASKED} --s 3 --private nobody*"),
    "no folder for the result": ("replace", f"solve {_KNOWN} --json no/such/file"),
    "range that does not hold": ("scalar", f"solve {_ASKED} --scalar-private 1 --b-range -5 -4.9"),
    "coefficients out of range": ("row", f"solve {_ASKED} --row-private 1 --a-range 0 1"),
    "costs out of range": ("objective", f"solve {_ASKED} --objective-private 1 --c-range 0 0.1"),
    "too precise": ("scalar", f"solve {_ASKED} --scalar-private 1e-12"),
    "method of another relation": ("scalar", f"solve {_ASKED} --scalar-private 1 --method staged"),
    "never violated": ("replace", f"solve {_ASKED} --s 3 --feasible always"),
    "far too many rows": ("mixed", f"solve {_ASKED} --s 1 --nominal-n 1 --rows-per-record 1"),
    "plan without s": ("replace", f"plan {_ASKED}"),
    "plan without noise": ("replace", "plan MODEL --eps inf --delta 0 --s 3"),
    "no such file": ("replace", "solve nowhere.mps --eps 1 --delta 1e-6"),
}


def commands() -> Iterator[Path]:
    """The command lines, as they succeed and as they fail."""
    for title, (name, words) in _COMMANDS.items():
        seeded = "--seed" in words or words.startswith("plan")
        dear, code = title == "plan --nominal-n --plot", int("--time-limit" in words)
        yield _ends(f"privlp {title}", code, _command, name, words, twins=seeded, dear=dear)
    for title, given in _FAILING.items():
        yield _ends(f"privlp: {title}", 2, _command, *given)
    for title, (name, words) in _FAILING.items():
        if name == "replace" and title != "no such pattern":  # where nobody is left, none fits
            given = "departed", f"{words} --nominal-n 50"
            yield _ends(f"privlp of private n: {title}", 2, _command, *given, twins=True)
    for title, change in _BROKEN_MODELS.items():
        yield _ends(f"privlp reads {title}", 2, _broken_model, change, "replace", "")
        given = change, "departed", "--nominal-n 100"
        yield _ends(f"privlp reads private n, {title}", 2, _broken_model, *given)
    for model in ("svm", "lr"):
        words = f"train --model {model} --seed 1"
        yield _ends(f"svm-models train {model}", 0, _svm_models, words, str)
        for how, spoil in _BROKEN_RECORDS.items():
            yield _ends(f"svm-models train {model}, {how}", 2, _svm_models, words, spoil)


def _ends(title, code, attempt, *given, twins=False, dear=False) -> Path:
    return Path(title, functools.partial(attempt, *given), SystemExit, twins, dear, code)


def _model(name: str, variant: int) -> str:
    """A model file of the same name for all variants."""
    path = file_of(f"model-{name}.mps", "")
    problem(name, variant).lp.to_mps(path)
    return path


def _command(name: str, words: str, variant: int) -> Attempt:
    path = _model(name, variant)
    arguments = [path if word == "MODEL" else word for word in words.split()]
    secrets = problem(name, variant).secrets
    return Attempt(lambda: privlp_main.main(arguments, prog_name="privlp"), secrets)


_SURNAME = NAME.split()[0]
#: Model files spoilt, from their text and a word of it that is a private coefficient.
_BROKEN_MODELS: dict[str, Callable[[str, str, Mint], str | bytes]] = {
    "a model cut short": lambda text, word, mint: text[: text.find("RHS")],
    "a number cut short": lambda text, word, mint: text[: text.find("RHS") - 5],
    "no number": lambda text, word, mint: text.replace(word, mint.text() + "abc", 1),
    "NaN": lambda text, word, mint: text.replace(word, "nan", 1),
    "a huge number": lambda text, word, mint: text.replace(word, f"-{mint.text(exponent=30)}", 1),
    "an unknown row": (
        lambda text, word, mint: text.replace(
            "BOUNDS", f"    RHS  {_SURNAME}  {mint.text()}\nBOUNDS"
        ).replace("ENDATA", f"RHS\n    RHS  {_SURNAME}  {mint.text()}\nENDATA")
    ),
    "an unknown section": lambda text, word, mint: text.replace(
        "ENDATA", f"{NAME.upper()}\n  {mint.text()}\nENDATA"
    ),
    "repeated coefficients": lambda text, word, mint: text.replace(
        "RHS\n", f"    c0 r0 {mint.text()}\n" * 2 + "RHS\n", 1
    ),
    "no model": lambda text, word, mint: f"{NAME} {mint.text()}\n" * 3,
    "bytes": lambda text, word, mint: np.array([mint() for _ in range(9)]).tobytes(),
    "nothing": lambda text, word, mint: "",
}


def _broken_model(change, name: str, options: str, variant: int) -> Attempt:
    secrets, mint = problem(name, variant).secrets, Mint(variant + 5)
    text = FilePath(_model(name, variant)).read_text()
    bare = {word: word.lstrip("-").replace(".", "").lstrip("0") for word in text.split()}
    coefficient = next(word for word, digits in bare.items() if digits.startswith("731"))
    path = file_of("broken.mps", change(text, coefficient, mint))
    parts = (text[: text.find("COLUMNS")], text[: text.find("RHS")], text) if options else ()
    counts = [*(part.count("\n") for part in parts), *secrets.counts]  # of lines: n follows
    near = {count + by for count in counts for by in (-1, 0, 1)}
    secrets = Secrets([*secrets.planted, *mint.numbers], secrets.derived, NAME.split(), near)
    arguments = f"solve {path} {_KNOWN.partition(' ')[2]} {options}".split()
    return Attempt(lambda: privlp_main.main(arguments, prog_name="privlp"), secrets)


_BROKEN_RECORDS: dict[str, Callable[[str], str]] = {
    "cut short": lambda text: text[: len(text) // 2],
    "cut within a number": lambda text: text[: len(text) // 3],
    "a word": lambda text: text.replace(".", ".a", 9),
    "a comma": lambda text: text.replace(" 0.", ", 0.", 5),
    "NaN": lambda text: text.replace("\n0.", "\nnan 0.", 1),
    "a long record": lambda text: text.replace(" 0.", " 9.", 7),
    "labels of 0 and 1": lambda text: text.replace("\n-1\n", "\n0\n"),
    "a label that is a record": lambda text: text.replace("\n1\n", "\n0.5\n", 1),
    "too many numbers": lambda text: text + text.splitlines()[3] + "\n",
    "header without eps": lambda text: text.partition("\n")[2],
    "no eps for noise": lambda text: text.replace(" 1.0", " 1e-9", 1),
    "bytes": lambda text: text + "\0",
}


def _svm_models(words: str, spoil: Callable[[str], str], variant: int) -> Attempt:
    """A command on records in a file of the training format."""
    data = programs.records(variant)
    X, labels = data.X[2:] * 0.9, [str(int(label)) for label in data.y[2:]]
    command, *options = words.split()
    rows = [list(map(repr, row)) for row in X.tolist()]
    header = f"{len(X)} {X.shape[1]} 0.05 1.0" + " 0.5" * ("svm" in options)
    lines = [header, *map(" ".join, rows), *labels]
    path = file_of("records.txt", spoil("\n".join([*lines, ""])))
    secrets = Secrets([*data.secrets.planted, *X.ravel()], np.linalg.norm(X, axis=1))
    arguments = [command, path, *options]
    return Attempt(lambda: svm_main.main(arguments, prog_name="svm-models"), secrets)
