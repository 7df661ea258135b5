"""Files that appear whole or not at all, packed files of limited size, and saved results."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar, Self

from privlp.checks import shown, whole
from privlp.errors import InvalidParameterError, ReadError

#: A packed file may hold this many bytes when it is unpacked, unless the caller allows more.
LARGEST_UNPACKED = 2**30
#: Nor may it grow more than this many times, once it is larger than 64 megabytes: models and tables
#: shrink by less.
LARGEST_RATIO = 100
_NO_BOMB = 2**26
_CHUNK = 2**20


def path_of(path: Any, name: str = "path") -> str:
    """A path as a string that the system can take: no null, and no half of a surrogate pair."""
    try:
        location: str = os.fsdecode(path)
        if b"\0" not in os.fsencode(location):
            return location
    except (TypeError, ValueError):
        pass  # raised below: this error would stay as the context
    raise InvalidParameterError(
        f"{name} must be the path of a file, got {shown(path)}.", parameter=name
    )


def is_packed(path: str | os.PathLike[str]) -> bool:
    """Whether a file begins as gzip files do, whatever its name is."""
    with Path(path).open("rb") as file:
        return file.read(2) == b"\x1f\x8b"


def unpacked(path: str | os.PathLike[str], most: int | None = None, *, advice: str = "") -> bytes:
    """The content of a gzipped file of at most `most` bytes; `advice` is added to what to do."""
    limit = min(LARGEST_UNPACKED, max(_NO_BOMB, LARGEST_RATIO * Path(path).stat().st_size))
    if most is not None:
        limit = whole(most, "largest_unpacked")
    found = bytearray()
    with gzip.open(path) as file:
        while piece := file.read(_CHUNK):
            found += piece
            if len(found) > limit:
                raise ReadError(
                    f"{os.fspath(path)!r} holds more than {limit:,.0f} bytes when it is unpacked."
                    f" If you trust it, unpack it and read the plain file{advice}."
                )
    return bytes(found)


@contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A path that takes the place of `path` once all is on the disk; any error leaves `path`."""
    target = Path(path_of(path))
    try:
        if target.exists() and not target.is_file():
            yield target
            return
        target = Path(os.path.realpath(target))
        with TemporaryDirectory(dir=target.parent, prefix=".unfinished-") as folder:
            unfinished = Path(folder) / target.name
            yield unfinished
            with unfinished.open("rb+") as file:
                os.fsync(file.fileno())  # some disks say only then that they are full
            os.replace(unfinished, target)
    except OSError as error:
        raise OSError(error.errno, error.strerror or str(error), os.fspath(path)) from error


def write_whole(path: str | os.PathLike[str], text: str) -> None:
    """Write a text file that appears whole or not at all."""
    with whole_file(path) as unfinished:
        unfinished.write_text(text, encoding="utf-8")


class Saved:
    """A released result that may be kept in a file."""

    _what: ClassVar[str]
    _format: ClassVar[str]

    def to_json(self) -> str:
        """The result as a JSON document."""
        raise NotImplementedError

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the result as JSON. The file appears whole or not at all.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> from privlp import Solution, examples, solve
        >>> solution = solve(examples.diet(), eps=1.0, delta=0, rng=0)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     solution.save(pathlib.Path(folder, "diet.json"))
        ...     again = Solution.load(pathlib.Path(folder, "diet.json"))
        >>> again.privacy.eps, bool((again.x == solution.x).all())
        (1.0, True)
        """
        write_whole(path, self.to_json())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a result that :meth:`save` wrote.

        Raises
        ------
        ReadError
            If the file is missing or is no such file.

        Examples
        --------
        >>> import privlp
        >>> privlp.AllocationResult.load("no-such-file.json")
        Traceback (most recent call last):
            ...
        privlp.errors.ReadError: Cannot read 'no-such-file.json': No such file or directory.
        """
        location = Path(path_of(path))
        try:
            document = json.loads(location.read_text(encoding="utf-8"))
            if document.pop("format") != cls._format:
                raise KeyError("format")
            return cls._from_document(document)
        except OSError as error:
            raise ReadError(f"Cannot read {os.fspath(path)!r}: {error.strerror}.") from None
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError):
            raise ReadError(f"{os.fspath(path)!r} is not {cls._what} saved by privlp.") from None

    @classmethod
    def _from_document(cls, document: dict[str, Any]) -> Self:
        raise NotImplementedError
