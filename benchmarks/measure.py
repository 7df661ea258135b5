"""Interleaved timing, and peak memory.

Whatever is compared is measured in turns within one run.
"""

import gc
import multiprocessing
import os
import resource
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

from privlp import MostlyNoiseWarning

ROOT = Path(__file__).resolve().parents[1]


class Turns:
    """Times of two actions that took turns, so that both saw the same noise of the machine."""

    def __init__(
        self,
        ours: Callable[[], Any],
        baseline: Callable[[], Any],
        *,
        turns: int,
        calls: int = 1,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        times = np.empty((turns, 2))
        gc.collect()
        for turn in range(turns):
            for side in (0, 1) if turn % 2 == 0 else (1, 0):
                action = (ours, baseline)[side]
                start = clock()
                for _ in range(calls):
                    action()
                times[turn, side] = (clock() - start) / calls
        self.ours, self.baseline = times.T

    @property
    def of_medians(self) -> float:
        """Median time of ours / median time of the baseline."""
        return float(np.median(self.ours) / np.median(self.baseline))


def timed(action: Callable[[], Any]) -> tuple[Any, float]:
    """What an action gives, and its CPU seconds."""
    start = time.process_time()
    return action(), time.process_time() - start


def caught(action: Callable[[], Any]) -> tuple[Any, str]:
    """What an action gives, and what it warned of if that is noise."""
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        found = action()
    return found, " ".join(str(w.message) for w in heard if w.category is MostlyNoiseWarning)


def resident_bytes(entry: str = "VmRSS") -> int:
    """Resident memory of this process, as Linux says."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith(entry)).split()[1]) * 1024


def peak_resident_bytes() -> int:
    """Largest resident memory of this process so far."""
    if Path("/proc/self/status").exists():
        return resident_bytes("VmHWM")  # getrusage counts the peak of the parent before exec too
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def in_fresh_process(function: Callable[..., list[float]], *arguments: Any) -> list[float]:
    """What a function returns in a process of its own, with one thread of BLAS."""
    threads = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
    alone, spawn = dict.fromkeys(threads, "1"), multiprocessing.get_context("spawn")
    with mock.patch.dict(os.environ, alone), spawn.Pool(1) as pool:
        return pool.apply(function, arguments)


def in_two_processes(
    function: Callable[..., Any], requests: Iterable[Sequence[Any]], *, together: int = 1
) -> list[Any]:
    """What a function gives for each tuple of arguments; so many in a row stay in one process."""
    with multiprocessing.get_context("fork").Pool(2) as pool:
        return pool.starmap(function, requests, chunksize=together)
