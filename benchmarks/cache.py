"""Resumable measurements: every finished one is kept on disk until the code it measured changes."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import privlp

_FOLDER = Path(__file__).parent / ".cache"


class Cache:
    """A JSON-lines file of finished measurements, keyed by their settings and by the source code of privlp."""

    def __init__(self, name: str) -> None:
        self._path = _FOLDER / f"{name}-{_fingerprint()}.jsonl"
        _FOLDER.mkdir(exist_ok=True)
        lines = self._path.read_text().splitlines() if self._path.exists() else []
        self._known = {key: value for key, value in map(_parse, lines) if key is not None}

    def measure(self, settings: dict[str, Any], run: Callable[[], Any]) -> Any:
        """The measurement at these settings, from disk if it is there."""
        key = json.dumps(settings, sort_keys=True)
        if key not in self._known:
            self._known[key] = run()
            with self._path.open("a") as file:
                file.write(json.dumps([key, self._known[key]]) + "\n")
        return self._known[key]


def _parse(line: str) -> tuple[str | None, Any]:
    """One finished measurement; a line cut short by an interruption counts as not done."""
    try:
        key, value = json.loads(line)
    except ValueError:
        return None, None
    return key, value


def _fingerprint() -> str:
    sources = [*Path(privlp.__file__).parent.rglob("*.py"), *Path(__file__).parent.glob("*.py")]
    digest = hashlib.sha256()
    for source in sorted(sources):
        digest.update(source.read_bytes())
    return digest.hexdigest()[:12]
