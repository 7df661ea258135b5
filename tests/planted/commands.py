"""The command lines, as they succeed and as they fail."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from pathlib import Path as FilePath
from typing import Any

import numpy as np

from privlp.cli import main as privlp_main
from svm_models.cli import main as svm_main
from tests.planted import programs
from tests.planted.path import Attempt, Path, file_of, folder
from tests.planted.programs import NAME, Mint, problem
from tests.planted.search import Secrets


def _model(name: str, variant: int) -> str:
    path = FilePath(folder().name) / f"{name.replace(' ', '-').replace('+', '-')}{variant}.mps"
    problem(name, variant).lp.to_mps(path)
    return str(path)


_REQUEST = ["--eps", "1", "--delta", "1e-6"]
_OF_PRIVATE_N = ["solve", "MODEL", *_REQUEST, "--s", "10", "--opt", "9", "--nominal-n", "100"]
_COMMANDS: dict[str, tuple[str, list[str]]] = {
    "solve": ("replace", ["solve", "MODEL", *_REQUEST, "--s", "3", "--opt", "9", "--seed", "1"]),
    "solve --json -": (
        "replace",
        ["solve", "MODEL", *_REQUEST, "--s", "3", "--opt", "9", "--seed", "1", "--json", "-"],
    ),
    "solve --json FILE": (
        "soft",
        ["solve", "MODEL", *_REQUEST, "--s", "3", "--opt-range", "1", "40", "--json", "out.json"],
    ),
    "solve chain": (
        "mixed",
        [
            "solve",
            "MODEL",
            *_REQUEST,
            *["--s", "2", "--method", "chain", "--seed", "1", "--private", "r*[0-4]"],
        ],
    ),
    "solve --time-limit": (
        "replace",
        ["solve", "MODEL", *_REQUEST, "--s", "3", "--opt", "9", "--time-limit", "1e-9"],
    ),
    "solve --nominal-n": (
        "replace",
        ["solve", "MODEL", *_REQUEST, "--s", "3", "--opt", "9", "--nominal-n", "20", "--seed", "1"],
    ),
    "solve --nominal-n, n far from it": ("departed", [*_OF_PRIVATE_N, "--seed", "1"]),
    "solve --nominal-n --json -": ("departed", [*_OF_PRIVATE_N, "--seed", "1", "--json", "-"]),
    "solve --nominal-n --json FILE": ("departed", [*_OF_PRIVATE_N, "--json", "out.json"]),
    "solve --nominal-n --method dmw": (
        "departed",
        [*_OF_PRIVATE_N, "--seed", "1", "--method", "dmw"],
    ),
    "solve --nominal-n --time-limit": ("departed", [*_OF_PRIVATE_N, "--time-limit", "1e-9"]),
    "plan --nominal-n": ("departed", ["plan", *_OF_PRIVATE_N[1:]]),
    "plan --nominal-n --plot": ("departed", ["plan", *_OF_PRIVATE_N[1:], "--plot", "plan.svg"]),
    "solve --scalar-private": (
        "scalar",
        ["solve", "MODEL", *_REQUEST, "--scalar-private", "0.05", "--seed", "1"],
    ),
    "solve --row-private": (
        "row",
        ["solve", "MODEL", *_REQUEST, "--row-private", "0.01", "--a-range", "-9", "-0.4"],
    ),
    "solve --objective-private": (
        "objective",
        ["solve", "MODEL", *_REQUEST, "--objective-private", "0.1"],
    ),
    "solve --feasible always": (
        "scalar",
        [
            "solve",
            "MODEL",
            *_REQUEST,
            *[
                "--scalar-private",
                "0.1",
                "--b-range",
                "-9",
                "-4",
                "--feasible",
                "always",
                "--seed",
                "1",
            ],
        ],
    ),
    "plan": ("replace", ["plan", "MODEL", *_REQUEST, "--s", "3", "--opt", "9"]),
    "plan --plot": (
        "replace",
        ["plan", "MODEL", *_REQUEST, "--s", "3", "--opt", "9", "--plot", "plan.svg"],
    ),
}
_FAILING_COMMANDS: dict[str, tuple[str, list[str]]] = {
    "no s": ("replace", ["solve", "MODEL", *_REQUEST, "--opt", "9"]),
    "s beyond n": ("replace", ["solve", "MODEL", *_REQUEST, "--s", "99", "--opt", "9"]),
    "eps of zero": ("replace", ["solve", "MODEL", "--eps", "0", "--delta", "0", "--s", "3"]),
    "eps that is no number": (
        "replace",
        ["solve", "MODEL", "--eps", "x", "--delta", "0", "--s", "3"],
    ),
    "no such pattern": (
        "replace",
        ["solve", "MODEL", *_REQUEST, "--s", "3", "--private", "nobody*"],
    ),
    "no folder for the result": (
        "replace",
        ["solve", "MODEL", *_REQUEST, "--s", "3", "--opt", "9", "--json", "no/such/file"],
    ),
    "range that does not hold": (
        "scalar",
        ["solve", "MODEL", *_REQUEST, "--scalar-private", "1", "--b-range", "-5", "-4.9"],
    ),
    "coefficients out of range": (
        "row",
        ["solve", "MODEL", *_REQUEST, "--row-private", "1", "--a-range", "0", "1"],
    ),
    "costs out of range": (
        "objective",
        ["solve", "MODEL", *_REQUEST, "--objective-private", "1", "--c-range", "0", "0.1"],
    ),
    "too precise": ("scalar", ["solve", "MODEL", *_REQUEST, "--scalar-private", "1e-12"]),
    "method of another relation": (
        "scalar",
        ["solve", "MODEL", *_REQUEST, "--scalar-private", "1", "--method", "staged"],
    ),
    "never violated": (
        "replace",
        ["solve", "MODEL", *_REQUEST, "--s", "3", "--feasible", "always"],
    ),
    "far too many rows": (
        "mixed",
        ["solve", "MODEL", *_REQUEST, "--s", "1", "--nominal-n", "1", "--rows-per-record", "1"],
    ),
    "plan without s": ("replace", ["plan", "MODEL", *_REQUEST]),
    "plan without noise": (
        "replace",
        ["plan", "MODEL", "--eps", "inf", "--delta", "0", "--s", "3"],
    ),
    "no such file": ("replace", ["solve", "nowhere.mps", *_REQUEST]),
}


def commands() -> Iterator[Path]:
    """The command lines, as they succeed and as they fail."""
    for title, (name, arguments) in _COMMANDS.items():
        seeded = "--seed" in arguments or arguments[0] == "plan"
        code = 1 if "--time-limit" in arguments else 0
        yield Path(
            f"privlp {title}",
            functools.partial(_command, name, arguments),
            SystemExit,
            twins=seeded,
            code=code,
            dear=title == "plan --nominal-n --plot",
        )
    for title, (name, arguments) in _FAILING_COMMANDS.items():
        yield Path(
            f"privlp: {title}",
            functools.partial(_command, name, arguments),
            SystemExit,
            twins=False,
            code=2,
        )
    for title, (name, arguments) in _FAILING_COMMANDS.items():
        if (
            name == "replace" and title != "no such pattern"
        ):  # nobody may be left whom a pattern fits: no failure there
            attempt = functools.partial(_command, "departed", [*arguments, "--nominal-n", "50"])
            yield Path(f"privlp of private n: {title}", attempt, SystemExit, code=2)
    for title, change in _BROKEN_MODELS.items():
        yield Path(
            f"privlp reads {title}",
            functools.partial(_broken_model, change),
            SystemExit,
            twins=False,
            code=2,
        )
        attempt = functools.partial(
            _broken_model, change, name="departed", options=("--nominal-n", "100")
        )
        yield Path(f"privlp reads private n, {title}", attempt, SystemExit, twins=False, code=2)
    for model in ("svm", "lr"):
        yield Path(
            f"svm-models train {model}",
            functools.partial(_train, model, str),
            SystemExit,
            twins=False,
            code=0,
        )
        for title, spoil in _BROKEN_RECORDS.items():
            yield Path(
                f"svm-models train {model}, {title}",
                functools.partial(_train, model, spoil),
                SystemExit,
                twins=False,
                code=2,
            )
    yield Path("svm-models fit", functools.partial(_fit, str), SystemExit, twins=False, code=0)
    for title, spoil in _BROKEN_TABLES.items():
        yield Path(
            f"svm-models fit, {title}",
            functools.partial(_fit, spoil),
            SystemExit,
            twins=False,
            code=2,
        )


def _command(name: str, arguments: list[str], variant: int) -> Attempt:
    given, model = problem(name, variant), _model(name, variant)
    link = FilePath(folder().name) / f"model-{name.replace(' ', '-')}.mps"

    def call() -> Any:
        link.write_bytes(FilePath(model).read_bytes())  # the same name for all variants
        privlp_main.main(
            [str(link) if part == "MODEL" else part for part in arguments], prog_name="privlp"
        )

    return Attempt(call, given.secrets)


#: Model files spoilt, from their text and a word of it that is a private coefficient.
_BROKEN_MODELS: dict[str, Callable[[str, str, Mint], str | bytes]] = {
    "a model cut short": lambda text, word, mint: text[: text.find("RHS")],
    "a number cut short": lambda text, word, mint: text[: text.find("RHS") - 5],
    "no number": lambda text, word, mint: text.replace(word, mint.text() + "abc", 1),
    "NaN": lambda text, word, mint: text.replace(word, "nan", 1),
    "a huge number": lambda text, word, mint: text.replace(word, f"-{mint.text(exponent=30)}", 1),
    "an unknown row": (
        lambda text, word, mint: text.replace(
            "BOUNDS", f"    RHS  {NAME.split()[0]}  {mint.text()}\nBOUNDS"
        ).replace("ENDATA", f"RHS\n    RHS  {NAME.split()[0]}  {mint.text()}\nENDATA")
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


def _broken_model(
    change: Callable[[str, str, Mint], str | bytes],
    variant: int,
    *,
    name: str = "replace",
    options: tuple[str, ...] = (),
) -> Attempt:
    given, mint = problem(name, variant), Mint(variant + 5)
    text = FilePath(_model(name, variant)).read_text()
    coefficient = next(
        word
        for word in text.split()
        if word.lstrip("-").replace(".", "").lstrip("0").startswith("731")
    )
    path = file_of("broken.mps", change(text, coefficient, mint))
    n = (
        [
            line.count("\n")
            for line in (text[: text.find("COLUMNS")], text[: text.find("RHS")], text)
        ]
        if options
        else []
    )
    counts = {
        near for count in [*n, *given.secrets.counts] for near in (count - 1, count, count + 1)
    }  # of lines: n follows
    planted = [*given.secrets.planted, *mint.numbers]
    secrets = Secrets(planted, given.secrets.derived, (NAME.split()[0], NAME.split()[1]), counts)
    arguments = ["solve", path, *_REQUEST, "--s", "3", "--opt", "9", *options]
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


def _train(model: str, spoil: Callable[[str], str], variant: int) -> Attempt:
    data = programs.records(variant)
    X = data.X[2:] * 0.9
    header = f"{len(X)} {X.shape[1]} 0.05 1.0" + (" 0.5" if model == "svm" else "")
    lines = [
        header,
        *(" ".join(map(repr, row)) for row in X.tolist()),
        *(str(int(label)) for label in data.y[2:]),
    ]
    path = file_of("records.txt", spoil("\n".join(lines) + "\n"))
    secrets = Secrets([*data.secrets.planted, *X.ravel()], [np.linalg.norm(X, axis=1).tolist()])
    return Attempt(
        lambda: svm_main.main(
            ["train", path, "--model", model, "--seed", "1"], prog_name="svm-models"
        ),
        secrets,
    )


_BROKEN_TABLES: dict[str, Callable[[str], str]] = {
    "cut short": lambda text: text[: len(text) // 3],
    "a word": lambda text: text.replace(".", ".a", 9),
    "NaN": lambda text: text.replace("\n0.", "\nnan,0.", 1),
    "a third label": lambda text: text.replace(",-1\n", ",731\n", 1),
    "bytes": lambda text: text + "\0",
}


def _fit(spoil: Callable[[str], str], variant: int) -> Attempt:
    data = programs.records(variant)
    X = data.X[2:] * 0.9
    lines = [
        ",".join([*map(repr, row), str(int(label))])
        for row, label in zip(X.tolist(), data.y[2:], strict=True)
    ]
    path = file_of("records.csv", spoil("\n".join(lines) + "\n"))
    secrets = Secrets([*data.secrets.planted, *X.ravel()], [np.linalg.norm(X, axis=1).tolist()])
    arguments = [
        "fit",
        path,
        *["--classes", "-1", "1", "--eps", "1", "--delta", "1e-3", "--seed", "1"],
    ]
    return Attempt(lambda: svm_main.main(arguments, prog_name="svm-models"), secrets)
