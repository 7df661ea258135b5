"""A solution as a JSON document: how it is written, and what is checked of one that is read."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from types import NoneType
from typing import Any, TypeVar

import numpy as np

from privlp.errors import ReadError
from privlp.files import path_of
from privlp.missed import MissedRows
from privlp.privacy.record import PrivacyRecord, require_types
from privlp.status import Status
from privlp.verdict import Verdict

_FORMAT = "privlp solution 1"

Read = TypeVar("Read")


def text_of(values: Mapping[str, Any]) -> str:
    """The fields of a solution, by their names, as a JSON document."""
    x, verdict, prices = values["x"], values["verdict"], values["released_prices"]
    document = {
        "format": _FORMAT,
        **values,
        "x": None if x is None else x.tolist(),
        "status": values["status"].value,
        "privacy": values["privacy"].to_dict(),
        "trace": {name: released.tolist() for name, released in values["trace"].items()},
        "verdict": None if verdict is None else verdict.value,
        "missed": None if values["missed"] is None else asdict(values["missed"]),
        "released_prices": None
        if prices is None
        else [None if math.isnan(price) else price for price in prices.tolist()],
    }
    return json.dumps(document, indent=1)


def read_solution(path: str | os.PathLike[str], make: Callable[..., Read]) -> Read:
    """What `make` makes of the fields in a file."""
    location = Path(path_of(path))
    try:
        solution = make(**_values(json.loads(location.read_text(encoding="utf-8"))))
        _check(solution)
        return solution
    except OSError as error:
        raise ReadError(f"Cannot read {os.fspath(path)!r}: {error.strerror}.") from None
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError):
        raise ReadError(f"{os.fspath(path)!r} is not a solution saved by privlp.") from None


def _values(document: dict[str, Any]) -> dict[str, Any]:
    """The fields in a document. Older files have no verdict, prices or missed rows."""
    if document.pop("format") != _FORMAT:
        raise KeyError("format")
    x, names = document["x"], document["variable_names"]
    verdict, prices = document.get("verdict"), document.get("released_prices")
    missed = document.get("missed")
    return document | {
        "x": None if x is None else np.array(x, dtype=float),
        "status": Status(document["status"]),
        "privacy": PrivacyRecord.from_dict(document["privacy"]),
        "verdict": None if verdict is None else Verdict(verdict),
        "missed": None if missed is None else MissedRows(**missed),
        "released_prices": None if prices is None else np.array(prices, dtype=float),
        "variable_names": None if names is None else tuple(names),
        "trace": {name: np.array(values) for name, values in document["trace"].items()},
    }


def _check(solution: Any) -> None:
    """Types that nothing else has checked: what was read from a file may hold anything."""
    require_types(
        solution,
        objective=(float, int, NoneType),
        method=str,
        iterations=int,
        message=str,
        advice=str,
    )
    x, prices = solution.x, solution.released_prices
    if prices is not None and prices.ndim != 1:
        raise ValueError("released_prices")
    if x is not None and not (x.ndim == 1 and np.isfinite(x).all()):
        raise ValueError("x")
    if solution.missed is not None:
        require_types(solution.missed, low=(float, int), high=(float, int), probability=float)
