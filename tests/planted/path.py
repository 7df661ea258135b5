"""What a path is, and what paths of several kinds need."""

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import Any

import numpy as np
import pandas as pd

from privlp import PrivLPError
from tests.planted.programs import NAME, Mint
from tests.planted.search import Secrets

Refusal = (PrivLPError, ValueError, TypeError)


@dataclass(frozen=True)
class Attempt:
    """One call with planted numbers.

    `after` tells, from what was returned, secrets that follow from it, such as violations at a
    released point; `left` what a user still holds, also if the call fails: the budget, an estimator.
    """

    call: Callable[[], Any]
    secrets: Secrets
    after: Callable[[Any], Secrets] | None = None
    left: Callable[[], Any] | None = None


@dataclass(frozen=True)
class Path:
    """A way through the library, for any variant of the private data.

    `attempt` takes the number of a variant; `raises` says what it is to end with, `code` with what
    exit code; `twins`, whether all variants must look alike from outside, once they see the same
    releases; `dear`, whether only the long sweep takes it.
    """

    name: str
    attempt: Callable[[int], Attempt]
    raises: Any = None
    twins: bool = True
    dear: bool = False
    code: int | None = None

    def __str__(self) -> str:
        return self.name


def with_entry(array: Any, at: Any, value: Any) -> Any:
    changed = np.array(array, dtype=object if isinstance(value, str) or value is None else float)
    changed[at] = value
    return changed


class Unwilling:
    """Something that cannot be made a number, and quotes itself."""

    def __init__(self, mint: Mint) -> None:
        self.text = mint.text()

    def __float__(self) -> float:
        raise ValueError(f"cannot convert {self.text}")

    def __repr__(self) -> str:
        return f"Unwilling({self.text})"


def frame(X: np.ndarray) -> Any:
    names = [f"{NAME} {i}" for i in range(len(X))]
    return pd.DataFrame(X, columns=["age", "dose", "one"][: X.shape[1]], index=names)


def with_words(A: np.ndarray, mint: Mint) -> Any:
    mixed = frame(A).astype(object)
    mixed.iloc[1, 2] = f"{NAME} {mint.text()}"
    return mixed


#: Made before any call is watched: what is in it goes in, and does not come out.
_FOLDER = tempfile.TemporaryDirectory()


def file_of(name: str, content: str | bytes) -> str:
    path = FilePath(_FOLDER.name) / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return str(path)
