"""The result of a private solve."""

from __future__ import annotations

import json
import os
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from privlp.errors import InvalidParameterError, ReadError
from privlp.privacy.record import PrivacyRecord
from privlp.status import Status

if TYPE_CHECKING:
    from privlp.problem import LinearProgram

_FORMAT = "privlp solution 1"


@dataclass(frozen=True, eq=False)
class Solution:
    """A private solution. Everything in it may be released, as far as ``privacy`` says so.

    Attributes
    ----------
    x : (d,) array or None
        The solution in the user's own variables; ``None`` if the solve did not complete.
    objective : float or None
        c·x in the user's sense; ``None`` without x.
    method : str
        Method that found it.
    iterations : int
        Rounds planned, a public number fixed in advance.
    status : Status
        ``COMPLETED`` or the limit that stopped it.
    message : str
        The status in a sentence.
    privacy : PrivacyRecord
        What was spent, on what, and under which neighbour relation.
    trace : dict of arrays
        Released values the solution was made from, for instance the variable selected in each round.
    variable_names : tuple of str or None
        Names of the entries of x.
    """

    x: npt.NDArray[np.float64] | None
    objective: float | None
    method: str
    iterations: int
    status: Status
    message: str
    privacy: PrivacyRecord
    trace: dict[str, npt.NDArray[np.generic]] = field(default_factory=dict, repr=False)
    variable_names: tuple[str, ...] | None = field(default=None, repr=False)

    @property
    def success(self) -> bool:
        """Whether the solve played all its rounds."""
        return self.status.success

    def to_json(self) -> str:
        """The solution as a JSON document, which :meth:`load` can read back from a file."""
        document = {
            "format": _FORMAT,
            "x": None if self.x is None else self.x.tolist(),
            "objective": self.objective,
            "method": self.method,
            "iterations": self.iterations,
            "status": self.status.value,
            "message": self.message,
            "privacy": self.privacy.to_dict(),
            "trace": {name: values.tolist() for name, values in self.trace.items()},
            "variable_names": self.variable_names,
        }
        return json.dumps(document, indent=1)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the solution as JSON. The file appears whole or not at all."""
        write_whole(path, self.to_json())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Solution:
        """Read a solution that :meth:`save` wrote.

        Raises
        ------
        ReadError
            If the file is missing or is no such file.
        """
        try:
            document = json.loads(Path(path).read_text(encoding="utf-8"))
            if document.pop("format") != _FORMAT:
                raise KeyError("format")
            document["x"] = None if document["x"] is None else np.array(document["x"], dtype=float)
            document["status"] = Status(document["status"])
            document["privacy"] = PrivacyRecord.from_dict(document["privacy"])
            names = document["variable_names"]
            document["variable_names"] = None if names is None else tuple(names)
            document["trace"] = {name: np.array(values) for name, values in document["trace"].items()}
            return cls(**document)
        except OSError as error:
            raise ReadError(f"Cannot read {os.fspath(path)!r}: {error.strerror}.") from None
        except (ValueError, KeyError, TypeError, AttributeError):
            raise ReadError(f"{os.fspath(path)!r} is not a solution saved by privlp.") from None


def write_whole(path: str | os.PathLike[str], text: str) -> None:
    """Write a text file that appears whole or not at all."""
    target = Path(path)
    with tempfile.NamedTemporaryFile("w", dir=target.parent, prefix=target.name, delete=False, encoding="utf-8") as file:
        try:
            file.write(text)
            file.flush()
            os.replace(file.name, target)
        except BaseException:
            os.unlink(file.name)
            raise


def point_of(lp: LinearProgram, solution: Any) -> npt.NDArray[np.float64]:
    """The x of a solution, or a point itself, checked against the program: shape (d,), finite.

    Raises
    ------
    InvalidParameterError
        If it is no such point.
    """
    x = getattr(solution, "x", solution)
    if x is None:
        raise InvalidParameterError("The solution holds no x: it did not complete, so there is nothing to compare.")
    try:
        entries = np.asarray(x)
    except ValueError:
        entries = np.array(None)
    if entries.dtype.kind not in "fiub":
        raise InvalidParameterError("The solution must be a vector of real numbers.")
    if entries.shape != lp.c.shape:
        raise InvalidParameterError(f"The solution has shape {entries.shape}, but the program has {lp.c.size} variables.")
    if not np.isfinite(entries).all():
        raise InvalidParameterError("The solution holds NaN or infinite entries, which no row can be checked against.")
    return entries.astype(float)
