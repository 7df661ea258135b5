"""Refuse MPS files that HiGHS reads over.

Parsing is HiGHS's. But it drops a coefficient that is no number, ignores right-hand sides of unknown rows, and accepts a file
cut short, all without a word; a record's constraint would then silently be another. This file only looks for such lines.
"""

from __future__ import annotations

import gzip
import re
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path

from privlp.errors import ReadError

_NUMBER = rb"[-+]?(?:\d++\.?+\d*+|\.\d++)(?:[eEdD][-+]?\d++)?+"
_NAME = rb"[^\s]++[ \t]++"
_END = rb"[ \t\r]*+$"
_SECTION = re.compile(rb"^([A-Z]+)\b", re.MULTILINE)


def _unlike(*patterns: bytes) -> re.Pattern[bytes]:
    """A data line (indented, no comment) that matches none of the patterns."""
    allowed = b"".join(rb"(?!" + pattern + _END + rb")" for pattern in patterns)
    return re.compile(rb"^[ \t]++(?![*\r\n])" + allowed, re.MULTILINE)


_PAIRS = rb"(?:" + _NAME + _NUMBER + rb"(?:[ \t]++|(?=[\r\n]|\Z))){1,2}"
_SUSPICIOUS = {
    b"ROWS": _unlike(rb"[NLGEnlge][ \t]++[^\s]++"),
    b"COLUMNS": _unlike(_NAME + _PAIRS, _NAME + rb"'MARKER'[ \t]++'INT(?:ORG|END)'"),
    b"RHS": _unlike(_PAIRS, _NAME + _PAIRS),
    b"RANGES": _unlike(_PAIRS, _NAME + _PAIRS),
    b"BOUNDS": _unlike(
        rb"(?:UP|LO|FX|LI|UI|SC|BV|MI|PL|FR)[ \t]++(?:" + _NAME + rb"){1,2}(?:" + _NUMBER + rb"|(?i:[-+]?inf(?:inity)?))",
        rb"(?:FR|MI|PL|BV)[ \t]++(?:" + _NAME + rb")?[^\s]++",
    ),
}


def check_mps(path: str, row_names: Sequence[str]) -> None:
    """Look for lines that HiGHS reads over.

    Parameters
    ----------
    path : str
        A file that HiGHS has read; anything but ``.mps`` and ``.mps.gz`` is passed over.
    row_names : sequence of str
        Names of the rows that HiGHS found.

    Raises
    ------
    ReadError
        With the number of the first such line.
    """
    if not path.lower().endswith((".mps", ".mps.gz")):
        return
    try:
        text = Path(path).read_bytes()
        text = gzip.decompress(text) if path.lower().endswith(".gz") else text
    except (OSError, EOFError, zlib.error):
        raise ReadError(f"{path!r} is damaged or cut short.") from None
    sections = list(_sections(text))
    declared: set[bytes] = set()
    if not sections or sections[-1][0] != b"ENDATA":
        raise ReadError(f"{path!r} is cut short: it has no ENDATA line.")
    if any(" " in name for name in row_names):
        return  # fixed-column format with spaces inside names; its fields cannot be told apart by blanks
    for name, start, end in sections:
        found = _SUSPICIOUS[name].search(text, start, end) if name in _SUSPICIOUS else None
        if found:
            line = text.count(b"\n", 0, found.start()) + 1
            raise ReadError(f"{path!r}, line {line}: not a line of section {name.decode()} with known names and finite numbers.")
        if name == b"ROWS":
            declared = {fields[1] for fields in _data_lines(text[start:end])}
        if name in (b"RHS", b"RANGES"):
            unknown = {row for fields in _data_lines(text[start:end]) for row in fields[len(fields) % 2 :: 2]} - declared
            if unknown:
                rows = b", ".join(sorted(unknown)).decode(errors="replace")
                raise ReadError(f"{path!r}: section {name.decode()} names rows that do not exist: {rows}.")


def _sections(text: bytes) -> Iterator[tuple[bytes, int, int]]:
    """Name, start and end of each section's lines."""
    heads = [(match[1], match.start(), text.find(b"\n", match.start()) + 1) for match in _SECTION.finditer(text)]
    ends = [start for _, start, _ in heads[1:]] + [len(text)]
    for (name, _, start), end in zip(heads, ends, strict=True):
        yield name, start or len(text), end


def _data_lines(lines: bytes) -> Iterator[list[bytes]]:
    """Fields of each line that is neither empty nor a comment."""
    return (line.split() for line in lines.splitlines() if line.strip() and not line.lstrip().startswith(b"*"))
