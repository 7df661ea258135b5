"""Everything that a call lets out, and one path tried: what came out, and what of it is private."""

import contextlib
import io
import itertools
import logging
import os
import re
import shutil
import sys
import tempfile
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path as FilePath
from typing import Any
from unittest import mock

import numpy as np

from tests.planted.draws import Draws
from tests.planted.path import Path
from tests.planted.search import Leak, Secrets, leaks_in, leaves

_TIMES = re.compile(r"\d+:\d+|[\d.]+ ?(?:s/|round)|<lambda> at 0x\w+|0x[0-9a-f]{6,}")
_DATES = re.compile(rb"<dc:date>.*?</dc:date>|(?:id=|#|\(#)\"?[mp\w]{6,}\"?")


#: The folder in which calls are made; it is empty before each. A new one for each takes longer.
_FOLDER = tempfile.TemporaryDirectory()


@dataclass
class Seen:
    """What one call let out.

    What it returned, or raised, without traceback; by channel, warnings, log records, standard
    output and error, and what a traceback printer shows, as texts and as objects; its files.
    """

    result: Any = None
    error: BaseException | None = None
    texts: dict[str, str] = field(default_factory=dict)
    objects: dict[str, Any] = field(default_factory=dict)
    files: dict[str, bytes] = field(default_factory=dict)

    def leaks(self, secrets: Secrets) -> list[Leak]:
        """Private numbers in any channel."""
        found = leaks_in(self.result, secrets, "result") if self.result is not None else []
        for error in _chain(self.error):
            found += leaks_in(error, secrets, f"exception {type(error).__name__}")
        for channel, text in self.texts.items():
            found += [Leak(channel, "", match) for match in secrets.in_text(text)]
        for channel, value in self.objects.items():
            found += leaks_in(value, secrets, channel)
        for name, blob in self.files.items():
            matches = [*secrets.in_text(name), *secrets.in_bytes(blob)]
            found += [Leak("file", name, match) for match in matches]
        return found


def watch(call: Callable[[], Any]) -> Seen:
    """Make a call in an empty folder and catch all that comes out of it, interruptions included."""
    seen = Seen()
    with contextlib.ExitStack() as stack:
        folder = FilePath(_FOLDER.name)
        stack.callback(_empty, folder)
        stack.enter_context(mock.patch.object(tempfile, "tempdir", str(folder)))
        stack.enter_context(contextlib.chdir(folder))
        printed = stack.enter_context(_descriptors(folder.parent))
        records = stack.enter_context(_logging())
        unraisable: list[str] = []
        noted = mock.patch.object(
            sys, "unraisablehook", lambda hook: unraisable.append(str(hook.exc_value))
        )
        stack.enter_context(noted)
        caught = stack.enter_context(warnings.catch_warnings(record=True))
        warnings.simplefilter("always")
        try:
            seen.result = call()
        except BaseException as error:  # KeyboardInterrupt and SystemExit are among the paths
            seen.texts["traceback"] = "".join(traceback.format_exception(error))
            for link in _chain(error):
                link.__traceback__ = None
            seen.error = error
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                seen.files[str(path.relative_to(folder))] = path.read_bytes()
        seen.texts["warnings"] = "\n".join(
            warnings.formatwarning(w.message, w.category, "", 0, "") for w in caught
        )
        seen.objects["warning"] = [w.message for w in caught]
        for record in records:
            channel = "log of Matplotlib" if record.name.startswith("matplotlib") else "log"
            seen.texts[channel] = seen.texts.get(channel, "") + record.getMessage() + "\n"
        seen.objects["log record"] = [(r.msg, r.args, r.exc_text) for r in records]
        seen.texts["unraisable"] = "\n".join(unraisable)
        seen.texts["standard output and error"] = printed()
    return seen


def _empty(folder: FilePath) -> None:
    for path in folder.iterdir():
        shutil.rmtree(path) if path.is_dir() else path.unlink()


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """An exception, its causes and its contexts, shown or not."""
    seen: set[int] = set()
    stack = [error]
    while stack:
        link = stack.pop()
        if link is None or id(link) in seen:
            continue
        seen.add(id(link))
        yield link
        stack += [link.__cause__, link.__context__]


@contextlib.contextmanager
def _descriptors(folder: FilePath) -> Iterator[Callable[[], str]]:
    """Standard output and error at the level of file descriptors, where C libraries print."""
    with tempfile.TemporaryFile(dir=folder) as sink, contextlib.ExitStack() as stack:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        for descriptor in (1, 2):
            saved = os.dup(descriptor)
            stack.callback(os.close, saved)
            stack.callback(os.dup2, saved, descriptor)
            os.dup2(sink.fileno(), descriptor)
        buffer = io.BytesIO()
        python = io.TextIOWrapper(buffer, encoding="utf-8", write_through=True)
        stack.enter_context(contextlib.redirect_stdout(python))
        stack.enter_context(contextlib.redirect_stderr(python))

        def printed() -> str:
            sink.seek(0)
            return (buffer.getvalue() + sink.read()).decode(errors="replace")

        yield printed


@contextlib.contextmanager
def _logging() -> Iterator[list[logging.LogRecord]]:
    """Records of all loggers, of every level."""
    records: list[logging.LogRecord] = []
    keep = logging.Handler(logging.DEBUG)
    keep.emit = records.append  # type: ignore[method-assign]
    known = logging.Logger.manager.loggerDict.values()
    loggers = [logging.root, *(of for of in known if isinstance(of, logging.Logger))]
    before = [(logger, logger.level, logger.propagate, logger.disabled) for logger in loggers]
    logging.root.addHandler(keep)
    _set((logger, logging.DEBUG, True, False) for logger in loggers)
    try:
        yield records
    finally:
        logging.root.removeHandler(keep)
        _set(before)


def _set(states: Iterable[tuple[logging.Logger, int, bool, bool]]) -> None:
    """Levels and flags, without the clearing of all caches that each `setLevel` does."""
    for logger, level, propagate, disabled in states:
        logger.level, logger.propagate, logger.disabled = level, propagate, disabled
    logging.Logger.manager._clear_cache()


def try_path(path: Path) -> tuple[Seen, list[Leak]]:
    """Search all that a path lets out, and where twins must look alike, compare it with one.

    The twin sees the same releases.
    """
    attempt = path.attempt(0)
    with Draws() as draws:
        seen = watch(attempt.call)
    secrets = attempt.secrets
    if attempt.after is not None and seen.result is not None:
        secrets = attempt.after(seen.result)
    leaks = seen.leaks(secrets)
    if attempt.left is not None:
        leaks += leaks_in(attempt.left(), secrets, "left behind")
    if path.twins:
        other = path.attempt(1)
        with Draws(replay=draws) as again:
            twin = watch(other.call)
        if again.strayed:
            leaks.append(Leak("twin", "draws", "other releases are asked for"))
        leaks += compared(seen, twin)
    return seen, leaks


def ended_as_expected(path: Path, seen: Seen) -> bool:
    """Whether a path succeeded or failed as it is to."""
    allowed = path.raises if isinstance(path.raises, tuple) else (path.raises,)
    if seen.error is None:
        return None in allowed
    code = getattr(seen.error, "code", path.code) if path.code is not None else None
    kinds = tuple(kind for kind in allowed if kind is not None)
    return code == path.code and isinstance(seen.error, kinds)


def compared(one: Seen, two: Seen) -> list[Leak]:
    """Where two calls look different from outside."""
    found = []
    if type(one.error) is not type(two.error) or str(one.error) != str(two.error):
        found.append(Leak("twin", "exception", f"{one.error!r} / {two.error!r}"))
    channels = one.texts.keys() | two.texts.keys()
    for channel in sorted(channels - {"log of Matplotlib"}):  # which tells of its first use
        texts = [_TIMES.sub("", seen.texts.get(channel, "")) for seen in (one, two)]
        if texts[0] != texts[1]:
            found.append(Leak("twin", channel, _first_difference(*texts)))
    if one.files.keys() != two.files.keys():
        found.append(Leak("twin", "files", f"{sorted(one.files)} / {sorted(two.files)}"))
    for name in one.files.keys() & two.files.keys():
        if _DATES.sub(b"", one.files[name]) != _DATES.sub(b"", two.files[name]):
            found.append(Leak("twin", f"file {name}", "differs"))
    leaves_of = [dict(_named(seen.result)) for seen in (one, two)]
    for place in sorted(leaves_of[0].keys() | leaves_of[1].keys()):
        first, second = (leaves.get(place) for leaves in leaves_of)
        if not _same(first, second):
            found.append(Leak("twin", f"result {place}", f"{first!r:.60} / {second!r:.60}"))
    return found


def _named(value: Any) -> list[tuple[str, Any]]:
    names: Counter[str] = Counter()
    out = []
    for place, leaf in leaves(value):
        # Whether an array is a view; a number of each partition in a process.
        if ".base" not in place and "._charges" not in place:
            names[place] += 1
            out.append((f"{place}#{names[place]}", leaf))
    return out


def _same(one: Any, two: Any) -> bool:
    if isinstance(one, str) and isinstance(two, str):
        return _TIMES.sub("", one) == _TIMES.sub("", two)
    if isinstance(one, np.ndarray) and isinstance(two, np.ndarray):
        return one.shape == two.shape and bool(np.array_equal(one, two, equal_nan=True))
    return isinstance(one, bytes) and one == two


def _first_difference(one: str, two: str) -> str:
    alike = itertools.takewhile(lambda pair: pair[0] == pair[1], zip(one, two, strict=False))
    at = sum(1 for _ in alike)
    return f"...{one[max(0, at - 30) : at + 40]!r} / ...{two[max(0, at - 30) : at + 40]!r}"
