"""One path tried: what came out, and what of it is private."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from tests.planted.draws import Draws
from tests.planted.path import Path
from tests.planted.search import Leak, leaks_in, leaves
from tests.planted.watch import Seen, watch

_TIMES = re.compile(r"\d+:\d+|[\d.]+ ?(?:s/|round)|<lambda> at 0x\w+|0x[0-9a-f]{6,}")


def try_path(path: Path) -> tuple[Seen, list[Leak]]:
    """Search all that a path lets out.

    And where twins must look alike, compare it with one that sees the same releases.
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
    if path.raises is None:
        return seen.error is None
    allowed = path.raises if isinstance(path.raises, tuple) else (path.raises,)
    if seen.error is None:
        return None in allowed
    if (
        isinstance(seen.error, SystemExit)
        and path.code is not None
        and seen.error.code != path.code
    ):
        return False
    return isinstance(seen.error, tuple(kind for kind in allowed if kind is not None))


def compared(one: Seen, two: Seen) -> list[Leak]:
    """Where two calls look different from outside."""
    found = []
    if type(one.error) is not type(two.error) or str(one.error) != str(two.error):
        found.append(Leak("twin", "exception", f"{one.error!r} / {two.error!r}"))
    for channel in sorted(
        (one.texts.keys() | two.texts.keys()) - {"log of Matplotlib"}
    ):  # which tells of its first use
        texts = [_TIMES.sub("", seen.texts.get(channel, "")) for seen in (one, two)]
        if texts[0] != texts[1]:
            found.append(Leak("twin", channel, _first_difference(*texts)))
    if one.files.keys() != two.files.keys():
        found.append(Leak("twin", "files", f"{sorted(one.files)} / {sorted(two.files)}"))
    found += [
        Leak("twin", f"file {name}", "differs")
        for name in one.files.keys() & two.files.keys()
        if _differ(one, two, name)
    ]
    leaves_of = [dict(_named(seen.result)) for seen in (one, two)]
    for place in sorted(leaves_of[0].keys() | leaves_of[1].keys()):
        first, second = (leaves.get(place) for leaves in leaves_of)
        if not _same(first, second):
            found.append(Leak("twin", f"result {place}", f"{first!r:.60} / {second!r:.60}"))
    return found


def _differ(one: Seen, two: Seen, name: str) -> bool:
    date = re.compile(rb"<dc:date>.*?</dc:date>|(?:id=|#|\(#)\"?[mp\w]{6,}\"?")
    return date.sub(b"", one.files[name]) != date.sub(b"", two.files[name])


def _named(value: Any) -> list[tuple[str, Any]]:
    names: dict[str, int] = {}
    out = []
    for place, leaf in leaves(value):
        if (
            ".base" in place or "._charges" in place
        ):  # whether an array is a view; a number of each partition in a process
            continue
        names[place] = names.get(place, 0) + 1
        out.append((f"{place}#{names[place]}", leaf))
    return out


def _same(one: Any, two: Any) -> bool:
    if isinstance(one, str) and isinstance(two, str):
        return _TIMES.sub("", one) == _TIMES.sub("", two)
    if isinstance(one, np.ndarray) and isinstance(two, np.ndarray):
        return one.shape == two.shape and bool(np.array_equal(one, two, equal_nan=True))
    return isinstance(one, bytes) and one == two


def _first_difference(one: str, two: str) -> str:
    at = next(
        (i for i, (a, b) in enumerate(zip(one, two, strict=False)) if a != b),
        min(len(one), len(two)),
    )
    return f"...{one[max(0, at - 30) : at + 40]!r} / ...{two[max(0, at - 30) : at + 40]!r}"
