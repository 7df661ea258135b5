"""Everything that a call lets out.

Result, exception, warnings, logs, standard output and error, files.
"""

from __future__ import annotations

import contextlib
import io
import logging
import os
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

from tests.planted.search import Leak, Secrets, leaks_in


@dataclass
class Seen:
    """What one call let out.

    Attributes
    ----------
    result : object
        What it returned; None if it raised.
    error : BaseException or None
        What it raised, without traceback.
    texts : dict of str to str
        Warnings, log records, standard output and error, and what a traceback printer shows, by channel.
    objects : dict of str to object
        Warnings and log records as objects.
    files : dict of str to bytes
        Files that it left behind, by name.
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
            found += [
                Leak("file", name, match)
                for match in [*secrets.in_text(name), *secrets.in_bytes(blob)]
            ]
        return found


def watch(call: Callable[[], Any]) -> Seen:
    """Make a call in an empty folder and catch all that comes out of it, interruptions included."""
    seen = Seen()
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        stack.enter_context(mock.patch.object(tempfile, "tempdir", str(folder)))
        stack.enter_context(contextlib.chdir(folder))
        printed = stack.enter_context(_descriptors(folder.parent))
        records = stack.enter_context(_logging())
        unraisable: list[Any] = []
        stack.enter_context(
            mock.patch.object(
                sys, "unraisablehook", lambda hook: unraisable.append(str(hook.exc_value))
            )
        )
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
        seen.objects["log record"] = [
            (record.msg, record.args, record.exc_text) for record in records
        ]
        seen.texts["unraisable"] = "\n".join(unraisable)
        seen.texts["standard output and error"] = printed()
    return seen


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
def _descriptors(folder: Path) -> Iterator[Callable[[], str]]:
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


class _Keep(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.records: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(record)


@contextlib.contextmanager
def _logging() -> Iterator[list[logging.LogRecord]]:
    """Records of all loggers, of every level."""
    keep = _Keep()
    names = [
        name
        for name, logger in logging.Logger.manager.loggerDict.items()
        if isinstance(logger, logging.Logger)
    ]
    loggers = [logging.getLogger(), *map(logging.getLogger, names)]
    before = [(logger, logger.level, logger.propagate, logger.disabled) for logger in loggers]
    logging.getLogger().addHandler(keep)
    for logger in loggers:
        logger.setLevel(logging.DEBUG)
        logger.propagate, logger.disabled = True, False
    try:
        yield keep.records
    finally:
        logging.getLogger().removeHandler(keep)
        for logger, level, propagate, disabled in before:
            logger.setLevel(level)
            logger.propagate, logger.disabled = propagate, disabled
