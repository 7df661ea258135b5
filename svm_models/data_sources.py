"""Raw records by a schema, from a folder of original files or from scikit-learn's fetchers."""

from __future__ import annotations

import csv
import http.client
import io
import os
import tomllib
import warnings
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from privlp.checks import FloatArray, IntArray, optional
from privlp.errors import ReadError
from privlp.files import unpacked

MISSING = "?"
#: What is said where scikit-learn or pandas is missing.
NEED = "The data sets need scikit-learn and pandas: install them by pip install 'privlp[svm]'."


@dataclass(frozen=True)
class Numeric:
    """A numeric column, its declared range, and whether values are seen as log(1 + value)."""

    name: str
    low: float
    high: float
    log: bool = False


@dataclass(frozen=True)
class Symbolic:
    """A column and its documented categories; records may hold others."""

    name: str
    categories: tuple[str, ...]


@dataclass(frozen=True)
class Schema:
    """Columns in the files' order, the label, and what the labels -1 and 1 stand for."""

    title: str
    description: str
    columns: tuple[Numeric | Symbolic, ...]
    label: str
    positive: str
    negative: tuple[str, ...]
    target_names: tuple[str, str]

    @property
    def numeric(self) -> tuple[Numeric, ...]:
        """The numeric columns, in order."""
        return tuple(column for column in self.columns if isinstance(column, Numeric))

    @property
    def symbolic(self) -> tuple[Symbolic, ...]:
        """The columns of categories, in order."""
        return tuple(column for column in self.columns if isinstance(column, Symbolic))

    @property
    def names(self) -> list[str]:
        """Names of all columns, the label last."""
        return [*(column.name for column in self.columns), self.label]


def _schema(columns: dict[str, Any], negative: str, target_names: list[str], **rest: str) -> Schema:
    """A schema as the file of schemas holds it: a list is a range, a text lists categories."""
    found: list[Numeric | Symbolic] = []
    for name, declared in columns.items():
        if isinstance(declared, str):
            found.append(Symbolic(name, tuple(declared.split())))
        else:
            low, high, *log = declared
            found.append(Numeric(name, low, high, log=bool(log)))
    first, second = target_names
    return Schema(
        **rest,
        columns=tuple(found),
        negative=tuple(negative.split()),
        target_names=(first, second),
    )


_SCHEMAS = tomllib.loads(files("svm_models").joinpath("schemas.toml").read_text(encoding="utf-8"))
ADULT, KDDCUP99 = (_schema(**_SCHEMAS[name]) for name in ("adult", "kddcup99"))

VARIABLE = "PRIVLP_DATA"
_ADULT_FILES = ("adult.data", "adult.test")
_KDDCUP99_FILES = ("kddcup.data_10_percent",)
_ADULT_ON_OPENML = 1590
_RETRIES = "A network error occurred|Retry downloading|Invalid cache"
DataHome = None | str | os.PathLike[str]


@dataclass(frozen=True)
class Records:
    """Records before encoding: numbers, (n, m), and codes, (n, k), of the `categories`."""

    numbers: FloatArray
    codes: npt.NDArray[np.int16]
    categories: tuple[list[str], ...]
    target: IntArray

    def __len__(self) -> int:
        return len(self.target)

    def take(self, rows: npt.NDArray[Any]) -> Records:
        """Records at positions or under a mask, in that order."""
        return Records(self.numbers[rows], self.codes[rows], self.categories, self.target[rows])

    def complete(self) -> Records:
        """Records without missing values."""
        missing = [names.index(MISSING) if MISSING in names else -1 for names in self.categories]
        return self.take((self.codes != np.array(missing)).all(axis=1))

    def in_canonical_order(self, schema: Schema) -> Records:
        """Records sorted by first column, ..., label: the same however they were stored."""
        numbers, codes = iter(self.numbers.T), iter(self.codes.T)
        numeric = set(schema.numeric)
        keys = [next(numbers) if column in numeric else next(codes) for column in schema.columns]
        return self.take(np.lexsort([self.target, *reversed(keys)]))


def from_frame(frame: Any, schema: Schema) -> Records:
    """Records in a pandas DataFrame with the schema's columns; a ValueError quotes no data."""
    if not set(schema.names) <= set(frame.columns):
        raise ValueError("columns are missing")
    try:
        numbers = frame[[column.name for column in schema.numeric]].to_numpy(
            dtype=float, na_value=np.nan
        )
    except (TypeError, ValueError):
        raise ValueError("a numeric column holds something else") from None
    if not np.isfinite(numbers).all():
        raise ValueError("a numeric column holds something else")
    coded = [_codes(frame[column.name]) for column in schema.symbolic]
    if any("" in names for _, names in coded):
        raise ValueError("a value is empty")
    codes = np.column_stack([values for values, _ in coded]).astype(np.int16)
    return Records(
        numbers, codes, tuple(names for _, names in coded), _target(frame[schema.label], schema)
    )


def text(value: Any) -> str:
    """A category as text; scikit-learn hands some over as bytes."""
    return (value.decode("latin-1") if isinstance(value, bytes) else str(value)).strip()


def _codes(column: Any) -> tuple[IntArray, list[str]]:
    """Positions of a column's values among its sorted categories, as text."""
    values = column.astype("category").cat.remove_unused_categories()
    found = [text(name) for name in values.cat.categories]
    # pandas' code of what is missing is -1: the last
    names, positions = np.unique([*found, MISSING], return_inverse=True)
    return positions[values.cat.codes.to_numpy()], names.tolist()


def _target(column: Any, schema: Schema) -> IntArray:
    codes, names = _codes(column)
    signs = {schema.positive: 1} | dict.fromkeys(schema.negative, -1)
    labels = np.array([signs.get(name.removesuffix("."), 0) for name in names], dtype=np.int64)
    if not labels[codes].all():
        raise ValueError("a label is unknown")
    return labels[codes]


def read_adult(data_home: DataHome) -> Records:
    """All 48,842 records of Adult in canonical order, those with missing values included."""
    folder = _folder()
    if folder is not None:
        records = _from_files(folder, _ADULT_FILES, ADULT)
    else:
        options = {"data_id": _ADULT_ON_OPENML, "as_frame": True, "data_home": data_home}
        records = _from_sklearn(ADULT, lambda datasets: datasets.fetch_openml(**options).frame)
    return records.in_canonical_order(ADULT)


def read_kddcup99(data_home: DataHome) -> Records:
    """The 494,021 records of KDD Cup 1999's "10 percent" file, in the file's order."""
    folder = _folder()
    if folder is not None:
        return _from_files(folder, _KDDCUP99_FILES, KDDCUP99)
    return _from_sklearn(KDDCUP99, lambda datasets: _kddcup99_of_sklearn(datasets, data_home))


def _kddcup99_of_sklearn(datasets: Any, data_home: DataHome) -> Any:
    bunch = datasets.fetch_kddcup99(
        percent10=True, as_frame=False, shuffle=False, data_home=data_home
    )
    frame = optional("pandas", NEED).DataFrame(bunch.data, columns=KDDCUP99.names[:-1])
    return frame.assign(**{KDDCUP99.label: bunch.target})


def _from_sklearn(schema: Schema, fetch: Callable[[Any], Any]) -> Records:
    """Records that scikit-learn fetches; every failure is told as what to do about it."""
    optional("pandas", NEED)
    datasets = optional("sklearn.datasets", NEED)
    advice = (
        f"or set the environment variable {VARIABLE} to a folder that holds its original files."
    )
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", _RETRIES)  # the error says it once
            frame = fetch(datasets)
    except (OSError, http.client.HTTPException) as error:
        raise ReadError(
            f"{schema.title} could neither be read from scikit-learn's cache nor downloaded"
            f" ({type(error).__name__}). Connect to the internet, {advice}"
        ) from error
    except ValueError as error:
        raise ReadError(
            f"scikit-learn could not fetch {schema.title} ({type(error).__name__}). Check"
            " data_home, delete the data set from scikit-learn's cache and fetch it again,"
            f" {advice}"
        ) from None  # a parser's message may quote data
    try:
        return from_frame(frame, schema)
    except ValueError as error:
        raise ReadError(
            f"scikit-learn's copy of {schema.title} is malformed: {error}. Delete it from"
            f" scikit-learn's cache and fetch it again, {advice}"
        ) from None


def _folder() -> Path | None:
    """The folder that the environment names, if it names one."""
    named = os.environ.get(VARIABLE)
    if not named:
        return None
    folder = Path(named).expanduser()
    if not folder.is_dir():
        raise ReadError(
            f"{VARIABLE} names {folder}, which is no folder. Name a folder with the original files,"
            " or unset it."
        )
    return folder


def _find(folder: Path, name: str, schema: Schema) -> Path:
    for path in (folder / name, folder / f"{name}.gz"):
        if path.is_file():
            return path
    raise ReadError(
        f"The folder {folder}, named by {VARIABLE}, holds neither {name} nor {name}.gz. Copy the"
        f" original files of {schema.title} into it, or unset {VARIABLE} to download them through"
        " scikit-learn."
    )


def _from_files(folder: Path, names: tuple[str, ...], schema: Schema) -> Records:
    """Records of files without header; pandas quotes data, so no error of its own is shown."""
    kept: list[bytes] = []
    fault = (
        " is not as it was published. No line is quoted, because it may hold records. Copy the"
        f" original file of {schema.title} there again."
    )
    for name in names:
        path = _find(folder, name, schema)
        records = [line for line in _lines(path) if line.strip() and not line.startswith(b"|")]
        if not records:
            raise ReadError(f"{path} holds no records. Copy the original file there.")
        if {line.count(b",") for line in records} != {len(schema.columns)}:
            raise ReadError(f"{path}{fault}")
        kept += records
    try:
        frame = optional("pandas", NEED).read_csv(
            io.BytesIO(b"\n".join(kept)),
            names=schema.names,
            header=None,
            dtype={c.name: float if isinstance(c, Numeric) else "category" for c in schema.columns}
            | {schema.label: "category"},
            skipinitialspace=True,
            na_filter=False,
            quoting=csv.QUOTE_NONE,
            # pandas' quick reading of numbers is exact for integers and for two decimals, which is
            # all there is.
        )
        return from_frame(frame, schema)
    except ValueError:
        raise ReadError(f"One of {', '.join(names)} in {folder}{fault}") from None


def _lines(path: Path) -> list[bytes]:
    try:
        content = unpacked(path) if path.suffix == ".gz" else path.read_bytes()
        return content.splitlines()
    except (OSError, EOFError, zlib.error) as error:
        raise ReadError(
            f"{path} cannot be read ({type(error).__name__}). Copy the original file there again."
        ) from error
