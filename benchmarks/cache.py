"""Resumable measurements: every finished one is kept on disk until the code it measured changes."""

import functools
import hashlib
import multiprocessing
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from unittest import mock

from tqdm import tqdm

import privlp
from benchmarks.scores import ResultStore

_FOLDER = Path(__file__).parent / ".cache"


class Cache:
    """Finished measurements, keyed by their settings and by the source code of privlp."""

    def __init__(self, name: str, state: str | None = None) -> None:
        self._store = ResultStore(_FOLDER / f"{name}-{state or _fingerprint()}.jsonl")

    def measure(self, settings: dict[str, Any], run: Callable[[], Any]) -> Any:
        """The measurement at these settings, from disk if it is there."""
        if settings not in self._store:
            self._store.add(settings, run())
        return self._store[settings]

    def measure_all(
        self,
        cells: Sequence[dict[str, Any]],
        run: Callable[[dict[str, Any]], Any],
        *,
        processes: int,
        description: str,
    ) -> list[Any]:
        """The measurements at many settings, in their order; those that are missing in parallel."""
        missing = [cell for cell in cells if cell not in self._store]
        for cell, result in finished(missing, run, processes, description):
            self._store.add(cell, result)
        return [self._store[cell] for cell in cells]


def finished(
    cells: Sequence[dict[str, Any]],
    run: Callable[[dict[str, Any]], Any],
    processes: int,
    description: str,
) -> Any:
    """Pairs of settings and measurements as they finish, each process with one thread of BLAS."""
    bar = functools.partial(tqdm, total=len(cells), desc=description, unit="cell", disable=None)
    if processes == 1 or len(cells) < 2:
        yield from bar((cell, run(cell)) for cell in cells)
        return
    with mock.patch.dict(os.environ, {"OPENBLAS_NUM_THREADS": "1"}):
        pool = multiprocessing.get_context("spawn").Pool(processes)
    with pool:
        yield from bar(pool.imap_unordered(functools.partial(_with_cell, run), cells))


def _with_cell(
    run: Callable[[dict[str, Any]], Any], cell: dict[str, Any]
) -> tuple[dict[str, Any], Any]:
    return cell, run(cell)


def _fingerprint() -> str:
    """Of the code that decides draws: both packages and the programs they are measured on."""
    here = Path(__file__).parent
    folders = Path(privlp.__file__).parent, here.parent / "svm_models", here / "families"
    digest = hashlib.sha256()
    for source in sorted(path for folder in folders for path in folder.rglob("*.py")):
        digest.update(source.read_bytes())
    return digest.hexdigest()[:12]
