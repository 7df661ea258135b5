"""Resumable measurements: every finished one is kept on disk until the code it measured changes."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import privlp
from svm_models.evaluation import ResultStore

_FOLDER = Path(__file__).parent / ".cache"


class Cache:
    """Finished measurements, keyed by their settings and by the source code of privlp."""

    def __init__(self, name: str) -> None:
        self._store = ResultStore(_FOLDER / f"{name}-{_fingerprint()}.jsonl")

    def measure(self, settings: dict[str, Any], run: Callable[[], Any]) -> Any:
        """The measurement at these settings, from disk if it is there."""
        if settings not in self._store:
            self._store.add(settings, run())
        return self._store[settings]


def _fingerprint() -> str:
    sources = [*Path(privlp.__file__).parent.rglob("*.py"), *Path(__file__).parent.glob("*.py")]
    digest = hashlib.sha256()
    for source in sorted(sources):
        digest.update(source.read_bytes())
    return digest.hexdigest()[:12]
