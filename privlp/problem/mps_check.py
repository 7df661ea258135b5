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
_NAME = rb"[ \t]++[^\s]++"
_PAIRS = rb"(?:" + _NAME + rb"[ \t]++" + _NUMBER + rb"){1,2}"
_BOUND = rb"[ \t]++(?:UP|LO|FX|LI|UI|SC|BV|MI|PL|FR)" + _NAME


def _lines(*contents: bytes) -> re.Pattern[bytes]:
    """As many lines as possible that are empty, a comment, or one of the given contents."""
    line = rb"(?:" + rb"|".join(contents) + rb")[ \t\r]*+(?:\n|\Z)"
    return re.compile(rb"(?:" + line + rb"|\*[^\n]*+\n|[ \t\r]*+\n)*+")


_UNDERSTOOD = {
    b"ROWS": _lines(rb"[ \t]++[NLGEnlge]" + _NAME),
    b"COLUMNS": _lines(_NAME + _PAIRS, _NAME + rb"[ \t]++'MARKER'[ \t]++'INT(?:ORG|END)'"),
    b"RHS": _lines(_PAIRS, _NAME + _PAIRS),
    b"RANGES": _lines(_PAIRS, _NAME + _PAIRS),
    b"BOUNDS": _lines(
        _BOUND + rb"(?:" + _NAME + rb")?+[ \t]++(?:" + _NUMBER + rb"|(?i:[-+]?inf(?:inity)?))",
        rb"[ \t]++(?:FR|MI|PL|BV)(?:" + _NAME + rb"){1,2}",
    ),
}


def check_mps(path: str, row_names: Sequence[str], unused: Sequence[str] = ()) -> None:
    """Look for lines that HiGHS reads over.

    Parameters
    ----------
    path : str
        A file that HiGHS has read; anything but ``.mps`` and ``.mps.gz`` is passed over.
    row_names : sequence of str
        Names of the rows that HiGHS found.
    unused : sequence of str
        Names of the variables without any coefficient that HiGHS found; some may come from a misspelt bound.

    Raises
    ------
    ReadError
        With the number of the first such line.
    """
    if not path.lower().endswith((".mps", ".mps.gz")):
        return
    text = _read(path)
    upper = text.upper()
    for section in (b"ROWS", b"COLUMNS", b"ENDATA"):
        if b"\n" + section not in upper:
            raise ReadError(f"{path!r} is cut short: it has no {section.decode()} line.")
    kinds = _declared_rows(text[_first_line(upper, b"ROWS") : upper.find(b"\nCOLUMNS") + 1])
    if {row.decode(errors="replace") for row, kind in kinds.items() if kind not in b"Nn"} != set(row_names):
        raise ReadError(f"{path!r}: HiGHS reads other rows than are declared. Is every row in COLUMNS declared, and once?")
    if any(" " in name for name in row_names):
        return  # fixed-column format with spaces inside names; its fields cannot be told apart by blanks
    invented = [name for name in unused if re.search(rb"\n[ \t]+" + re.escape(name.encode()) + rb"\s", text) is None]
    if invented:
        raise ReadError(f"{path!r}: section BOUNDS names variables that do not exist: {', '.join(invented)}.")
    for section, understood in _UNDERSTOOD.items():
        lines = _lines_of(path, text, section, _first_line(upper, section), understood)
        if section in (b"RHS", b"RANGES"):
            unknown = {row for fields in _data_lines(lines) for row in fields[len(fields) % 2 :: 2]} - set(kinds)
            if unknown:
                rows = b", ".join(sorted(unknown)).decode(errors="replace")
                raise ReadError(f"{path!r}: section {section.decode()} names rows that do not exist: {rows}.")


def _read(path: str) -> bytes:
    """The whole text, with a line break before its first line."""
    try:
        raw = Path(path).read_bytes()
        return b"\n" + (gzip.decompress(raw) if path.lower().endswith(".gz") else raw)
    except (OSError, EOFError, zlib.error):
        raise ReadError(f"{path!r} is damaged or cut short.") from None


def _lines_of(path: str, text: bytes, section: bytes, start: int, understood: re.Pattern[bytes]) -> bytes:
    """The lines of a section, all of which must be understood."""
    found = understood.match(text, start)
    end = found.end() if found else start
    if text[end : end + 1].isspace():
        number = text.count(b"\n", 0, end)
        raise ReadError(f"{path!r}, line {number}: not a line of section {section.decode()} with names and finite numbers.")
    return text[start:end]


def _first_line(text: bytes, section: bytes) -> int:
    """Where the first line of a section starts; the end of the text if there is no such section."""
    head = text.find(b"\n" + section)
    return text.find(b"\n", head + 1) + 1 if head >= 0 else len(text)


def _data_lines(lines: bytes) -> Iterator[list[bytes]]:
    """Fields of each line that is neither empty nor a comment."""
    return (line.split() for line in lines.splitlines() if line.strip() and not line.lstrip().startswith(b"*"))


def _declared_rows(lines: bytes) -> dict[bytes, bytes]:
    """Kind of each row by its name, which in fixed-column files may hold spaces."""
    declarations = (line.split(maxsplit=1) for line in lines.splitlines() if line.strip() and not line.lstrip().startswith(b"*"))
    return {fields[-1].strip(): fields[0] for fields in declarations}
