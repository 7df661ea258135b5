"""Files that appear whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory


@contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A path to write to, which takes the place of `path` once all is written and on the disk.

    It has the same name, in another folder.
    An interruption, a full disk or any other error leaves `path` as it was. A device or a pipe is
    written to directly.

    Raises
    ------
    OSError
        With `path` as its ``filename``.
    """
    target = Path(path)
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
