"""Targets that the watch must catch: one for each kind of fault."""

import ctypes
import os
import signal
import sys
import time
import warnings
from pathlib import Path
from random import Random

from fuzz.odd import PLANTED
from privlp import InvalidParameterError


def fine(rng: Random, folder: Path) -> None:
    if rng.random() < 0.5:
        raise InvalidParameterError("eps must be positive.")


def crashes(rng: Random, folder: Path) -> None:
    os.kill(os.getpid(), signal.SIGSEGV)


def hangs(rng: Random, folder: Path) -> None:
    time.sleep(60)


def devours(rng: Random, folder: Path) -> None:
    bytearray(8 << 30)


def now_this_now_that(rng: Random, folder: Path) -> None:
    rng.choice((fine, crashes, hangs, devours))(rng, folder)


def raises(rng: Random, folder: Path) -> None:
    raise KeyError("format")


def warns(rng: Random, folder: Path) -> None:
    warnings.warn("overflow encountered in multiply", RuntimeWarning, stacklevel=1)


def prints(rng: Random, folder: Path) -> None:
    sys.stdout.write("hello")


def prints_from_c(rng: Random, folder: Path) -> None:
    libc = ctypes.CDLL(None)
    libc.puts(b"Running HiGHS")
    libc.fflush(None)


def tells(rng: Random, folder: Path) -> None:
    raise InvalidParameterError(f"b[3] = {PLANTED} is too large.")


def mumbles(rng: Random, folder: Path) -> None:
    raise InvalidParameterError("")
