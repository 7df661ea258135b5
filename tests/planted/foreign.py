"""What is no number, planted in every private argument of every estimator and command of svm_models.

:mod:`tests.planted.foreign_programs` plants the same in programs.

Texts, bytes, dates, masked entries, and objects that quote themselves whatever is done with them.
"""

import datetime
import functools
import warnings
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

import svm_models
from svm_models.cli import main as svm_main
from tests.planted import programs
from tests.planted.path import Attempt, Path, Refusal, file_of
from tests.planted.programs import NAME, Mint
from tests.planted.search import Secrets
from tests.planted.successes import _WITH_OPTIONS, ESTIMATORS

DATE = datetime.date(2173, 4, 17)
WORDS = (*NAME.split(), "HIV+", "2173-04-17", "2173, 4, 17")


class Quoting:
    """An object that raises an error with a private text at whatever is done with it."""

    def __init__(self, mint: Mint, error: type[Exception]) -> None:
        self._error, self._text = error, text_of(mint)

    def _refuse(self, *given: Any, **named: Any) -> Any:
        raise self._error(self._text)

    __float__ = __int__ = __bool__ = __array__ = __len__ = __iter__ = __getitem__ = _refuse
    __lt__ = __gt__ = __le__ = __ge__ = __eq__ = __hash__ = __str__ = _refuse  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Quoting({self._text})"


def text_of(mint: Mint) -> str:
    return f"{NAME}, {mint.text()} HIV+"


_ERRORS = (ValueError, TypeError, RuntimeError, KeyError, ArithmeticError, MemoryError)
#: Entries that are no numbers.
_ENTRIES: dict[str, Callable[[Mint], Any]] = {
    "a text": text_of,
    "a text of digits": Mint.text,
    "bytes": lambda mint: text_of(mint).encode(),
    "a date": lambda mint: DATE,
    "a time stamp": lambda mint: pd.Timestamp(DATE),
    "a date of NumPy": lambda mint: np.datetime64(DATE),
    "a dict": lambda mint: {text_of(mint): mint()},
    "a list": lambda mint: [mint(), text_of(mint)],
    "a complex number": lambda mint: complex(mint(), mint()),
    "None": lambda mint: None,
    "a missing value": lambda mint: pd.NA,
    **{f"an object, {e.__name__}": functools.partial(Quoting, error=e) for e in _ERRORS},
}


def _with(values: Any, entry: Any) -> Any:
    """An array of objects in which one entry is another."""
    changed = np.array(values, dtype=object)
    place = (3, 1, 0)[: changed.ndim] if changed.ndim > 1 else min(3, len(changed) - 1)
    changed[place] = entry
    return changed


#: Whole arguments, from numbers and what is to be planted.
ARGUMENTS: dict[str, Callable[[Any, Mint], Any]] = {
    "all texts": lambda v, mint: np.full(v.shape, text_of(mint)),
    "all bytes": lambda v, mint: np.full(v.shape, text_of(mint).encode()),
    "all dates": lambda v, mint: np.full(v.shape, np.datetime64(DATE)),
    "one text": lambda v, mint: text_of(mint),
    "one object": lambda v, mint: Quoting(mint, RuntimeError),
    "masked": lambda v, mint: np.ma.masked_array(v, mask=np.arange(v.size).reshape(v.shape) == 4),
    "masked rows": lambda v, mint: [np.ma.masked_array(row, mask=True) for row in v],
    "a dict": lambda v, mint: {text_of(mint): v.tolist()},
    "columns of a frame": lambda v, mint: pd.DataFrame(
        {"age": v.ravel()[: len(v)], "ill": [text_of(mint)] * len(v), "since": [DATE] * len(v)}
    ),
    "a column of categories": lambda v, mint: pd.Series([text_of(mint)] * len(v), dtype="category"),
    "a column of missing values": lambda v, mint: pd.Series(
        [1, *[None] * len(v[1:])], dtype="Int64"
    ),
    "a table of Arrow": lambda v, mint: pa.table({"ill": [text_of(mint)] * len(v)}),
    "records of fields": lambda v, mint: np.array(
        [(text_of(mint), 1.0)] * len(v), dtype=[("name", "U40"), ("dose", float)]
    ),
    **{title: lambda v, mint, make=make: _with(v, make(mint)) for title, make in _ENTRIES.items()},
    **{
        f"{title}, in lists": lambda v, mint, make=make: _with(v, make(mint)).tolist()
        for title, make in _ENTRIES.items()
    },
}


#: Estimators without privacy read records too: what they refuse goes to logs all the same.
_EXACT: dict[str, Callable[..., Any]] = {
    name: lambda name=name, **given: getattr(svm_models, name)()
    for name in (
        *("LPSVC", "HuberSVC", "RegularizedLogisticRegression", "LPSVR", "LPQuantileRegressor"),
        *("RandomFourierFeatures", "DualPerturbationSVC"),
    )
}
_ALL = ESTIMATORS | _WITH_OPTIONS | _EXACT


def path_of(title: str, attempt, *given: Any, dear: bool = False) -> Path:
    ends = (*Refusal, MemoryError, SystemExit, None)
    return Path(title, functools.partial(attempt, *given), ends, twins=False, dear=dear)


def foreign() -> Iterator[Path]:
    """Each argument of each estimator, and each column of the files that commands read."""
    searched_by_all = ("OutputPerturbationSVC", "PrivateLPSVC", "PrivateQuantileRegressor")
    for name in _ALL:
        blocks = ("blocks of X", "blocks of y") if name == "PrivateLPSVC" else ()
        for argument, title in product(("X", "y", *blocks), ARGUMENTS):
            dear = name not in searched_by_all
            yield path_of(
                f"fit {name}, {argument}: {title}", _fit, name, argument, title, dear=dear
            )
    for name in ("OutputPerturbationSVC", "PrivateQuantileRegressor", "PrivateModelSelector"):
        asked = _QUESTIONS[: 3 if name == "PrivateQuantileRegressor" else None]
        for question, title in product(asked, ARGUMENTS):
            dear = "score" not in question or name == "PrivateModelSelector"
            yield path_of(f"{question} of {name}: {title}", _ask, name, question, title, dear=dear)
    for title, make in _FILES.items():
        yield path_of(f"svm-models train: {title}", _command, make)
    for kind, argument, title in product(("hard", "soft"), ("X", "y"), ARGUMENTS):
        yield path_of(f"{kind} margins, {argument}: {title}", _margins, kind, argument, title)


_QUESTIONS = ("predict", "score", "weights of score", "decision_function")


def _planted(variant: int, name: str = "") -> tuple[Any, Any, Mint, Callable[[], Secrets]]:
    """Records, labels or, of a regression, numbers, what is planted beside, and the secrets then."""
    data, mint = programs.records(variant), Mint(variant + 5)
    numbers = "Regressor" in name or name.endswith("SVR")
    y = np.clip(data.X[:, 0], -1, 1) if numbers else data.y
    return data.X, y, mint, lambda: Secrets([*data.secrets.planted, *mint.numbers], (), WORDS)


def _fit(name: str, argument: str, title: str, variant: int) -> Attempt:
    X, y, mint, secrets = _planted(variant, name)
    change = ARGUMENTS[title]
    given: Any = {
        "X": lambda: (change(X, mint), y),
        "y": lambda: (X, change(y, mint)),
        "blocks of X": lambda: ([X[:20], change(X[20:], mint)], y),
        "blocks of y": lambda: ([X[:20], X[20:]], [y[:20], change(y[20:], mint)]),
    }[argument]()
    model = _ALL[name](eps=1.0, random_state=0, classes=(-1, 1))
    return Attempt(lambda: [model.fit(*given), None][1], secrets(), None, lambda: repr(model))


@functools.cache
def _fitted_once(name: str, variant: int) -> Any:
    X, y, _, _ = _planted(variant, name)
    with warnings.catch_warnings(action="ignore"):  # of few records
        return _ALL[name](eps=1.0, random_state=0, classes=(-1, 1)).fit(X, y)


def _ask(name: str, question: str, title: str, variant: int) -> Attempt:
    X, y, mint, secrets = _planted(variant, name)
    fitted = _fitted_once(name, variant)
    asked = ARGUMENTS[title](y if "score" in question else X, mint)
    calls = {
        "predict": lambda: fitted.predict(asked),
        "decision_function": lambda: fitted.decision_function(asked),
        "score": lambda: fitted.score(X, asked),
        "weights of score": lambda: fitted.score(X, y, asked),
    }
    return Attempt(lambda: [calls[question](), None][1], secrets())


def _margins(kind: str, argument: str, title: str, variant: int) -> Attempt:
    X, y, mint, secrets = _planted(variant)
    given: Any = {"X": X, "y": y}
    given[argument] = ARGUMENTS[title](given[argument], mint)
    make = svm_models.hard_margin_lp
    if kind == "soft":
        make = functools.partial(svm_models.soft_margin_lp, C=1.0)
    return Attempt(lambda: [make(**given), None][1], secrets())


#: Files in which a first, a middle or the last line is no record, or each label a text.
_FILES: dict[str, Callable[[Mint], list[str]]] = {
    "a text in the first line": lambda mint: [f'"{text_of(mint)}",0.5,a', "0.1,0.2,b", "0.3,0.1,a"],
    "a text in the middle": lambda mint: ["age,dose,ill", f'0.1,"{text_of(mint)}",b', "0.3,0.1,a"],
    "a date at the end": lambda mint: ["age,dose,ill", "0.1,0.2,b", f"0.3,{DATE},a"],
    "labels of texts": lambda mint: ["age,dose,ill", f'0.1,0.2,"{text_of(mint)}"', "0.3,0.1,a"],
    "a quotation mark": lambda mint: ["age,dose,ill", f'0.1,"{text_of(mint)},b', "0.3,0.1,a"],
    "too many columns": lambda mint: ["age,dose,ill", f"0.1,{text_of(mint)},b", "0.3,0.1,a"],
    "blanks": lambda mint: ["2 1 0.1 1.0 0.5", text_of(mint), DATE.isoformat(), "1", "-1"],
}


def _command(make: Callable[[Mint], list[str]], variant: int) -> Attempt:
    mint = Mint(variant + 5)
    path = file_of("foreign.txt", "\n".join([*make(mint), ""]))
    secrets = Secrets(mint.numbers, (), WORDS)
    arguments = ["train", path, "--model", "svm"]
    return Attempt(lambda: svm_main.main(arguments, prog_name="svm-models"), secrets)
