"""Refuse MPS files that HiGHS misreads without an error, or never finishes reading.

HiGHS parses the files. But without a warning it drops a coefficient that is no number, ignores
right-hand sides of unknown rows, and accepts a file that is cut short. A record's constraint would
silently become another one. At some lines it loops for ever, or ends the process. This module only
looks for such lines.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path

from privlp.errors import ReadError
from privlp.files import is_packed, unpacked

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


#: In fixed columns, where names may hold spaces: 5-12 and 15-22, a number in 25-36, a name in
#: 40-47, a number in 50-61.
_FIELD = rb"(?!'MARKER')[^\s][^\t\r\n]{7}"


_FIXED_PAIRS = (
    _FIELD
    + rb"  [ ]*+"
    + _NUMBER
    + rb"(?:[ ]++(?<=\n[^\n]{39})"
    + _FIELD
    + rb"  [ ]*+"
    + _NUMBER
    + rb")?+"
)


_FIXED_NUMBERS = _lines(rb"    [^\t\r\n]{8}  " + _FIXED_PAIRS)


_FIXED = {
    b"ROWS": _lines(rb" (?:[NLGE] | [NLGE]) [^\s][^\t\r\n]{0,7}"),
    b"COLUMNS": _FIXED_NUMBERS,
    b"RHS": _FIXED_NUMBERS,
    b"RANGES": _FIXED_NUMBERS,
    b"BOUNDS": _lines(
        rb" (?:UP|LO|FX) [^\t\r\n]{8}  " + _FIELD + rb"  [ ]*+" + _NUMBER,
        rb" (?:MI|PL|FR) [^\t\r\n]{8}  [^\s][^\t\r\n]{0,7}",
    ),
}


_SENSE = re.compile(
    rb"(?:[ \t\r]*+(?:\*[^\n]*+)?+\n)*+[ \t]++M(?:AX|IN)(?:IMIZE)?+[ \t\r]*+\n", re.IGNORECASE
)


_NOTHING = _lines()


#: At an empty line between fixed columns HiGHS loops for ever.
_EMPTY = re.compile(rb"\n[ \t\r]*+\n")


_HEADER = re.compile(rb"\n([^\s*]\S*)[ \t]*([^\r\n]*)")


#: HiGHS takes a line that begins with one of these for the header of a section, also where it is
#: indented, and passes over the rest of the section.
TAKEN_NAMES = ("NAME", "OBJSENSE", "QSECTION", "QCMATRIX", "CSECTION")


_TAKEN = re.compile(
    rb"\n[ \t]++(" + "|".join(TAKEN_NAMES).encode() + rb")(?=[ \t\r\n])", re.IGNORECASE
)


_QUADRATIC = (b"QUADOBJ", b"QMATRIX", b"QSECTION")


_MORE = ", or allow more by from_mps(..., largest_unpacked=BYTES)"


def check_layout(path: str, *, quote: bool = True, largest_unpacked: int | None = None) -> bytes:
    """Look for what HiGHS would not understand, before it sees it.

    Errors may `quote` the numbers of lines, or not. A gzipped file is refused if it is too large:
    see :func:`privlp.files.unpacked`.
    """
    kind = path.lower().removesuffix(".gz")
    try:
        hidden = is_packed(path) and not path.lower().endswith(".gz")
    except OSError:
        raise unreadable(path) from None
    if hidden:
        raise ReadError(f"{path!r} is gzipped, so its name must end in .gz.")
    if not path.lower().endswith((".mps", ".lp", ".gz")):
        return b""
    text = _read(path, largest_unpacked)
    if kind.endswith(".lp") and re.search(rb"[-+]\s*+>", re.sub(rb"\\[^\n]*+", b"", text)):
        raise ReadError(
            f"{path!r} has a sign before >, as in an indicator constraint (->); privlp solves"
            " linear programs only."
        )
    if not kind.endswith(".mps"):
        return b""
    headers = [(match.group(1).upper(), match) for match in _HEADER.finditer(text)]
    _check_headers(path, text, headers, quote=quote)
    _check_first_names(path, text, headers, quote=quote)
    starts = {word: text.find(b"\n", match.end()) + 1 for word, match in headers}
    sense = starts.pop(b"OBJSENSE", None)
    if sense is not None and not _SENSE.match(text, sense):
        _lines_of(path, text, b"OBJSENSE", sense, _NOTHING, quote=quote)
    _lines_of(path, text, b"NAME", starts.pop(b"NAME", 1), _NOTHING, quote=quote)
    del starts[b"ENDATA"]
    ends_of_fixed = (_end(text, start, _FIXED[word]) for word, start in starts.items())
    try:
        for word, start in starts.items():
            _lines_of(path, text, word, start, _UNDERSTOOD[word], quote=quote)
    except ReadError:
        if _EMPTY.search(text, 0, headers[-1][1].start() + 1) or any(
            text[end : end + 1].isspace() for end in ends_of_fixed
        ):
            raise
    return text


def _check_headers(
    path: str, text: bytes, headers: list[tuple[bytes, re.Match[bytes]]], *, quote: bool
) -> None:
    """Refuse unknown or repeated sections, a wrong order, and text beside a header."""
    words = [word for word, _ in headers]
    if not {b"NAME", b"ROWS", b"COLUMNS"} & set(words):
        raise unreadable(path)
    for word, match in headers:
        if word in _QUADRATIC:
            raise ReadError(
                f"{path!r} has a quadratic objective; privlp solves linear programs only."
            )
        if word not in (b"NAME", b"OBJSENSE", b"ENDATA", *_UNDERSTOOD) or (
            match.group(2) and word not in (b"NAME", b"OBJSENSE")
        ):
            raise _line_error(
                path,
                text,
                match.start() + 1,
                "no section of a linear program begins like this",
                quote=quote,
            )
    for section in (b"ROWS", b"COLUMNS", b"ENDATA"):
        if section not in words:
            raise ReadError(f"{path!r} is cut short: it has no {section.decode()} line.")
    twice = [word for word in words if words.count(word) > 1]
    if twice:
        raise ReadError(f"{path!r} has more than one section {twice[0].decode()}.")
    order = [word for word in words if word not in (b"NAME", b"OBJSENSE")]
    if order[:2] != [b"ROWS", b"COLUMNS"] or words[-1] != b"ENDATA":
        raise ReadError(f"{path!r}: sections must come in the order ROWS, COLUMNS, others, ENDATA.")


def _check_first_names(
    path: str, text: bytes, headers: list[tuple[bytes, re.Match[bytes]]], *, quote: bool
) -> None:
    """Refuse a name at the beginning of a line that HiGHS would read as a header."""
    columns = next(match.end() for word, match in headers if word == b"COLUMNS")
    found = _TAKEN.search(text, columns)
    if found is not None:
        name = found.group(1).decode() if quote else "of the line"
        raise _line_error(
            path,
            text,
            found.start() + 1,
            f"HiGHS reads the name {name} as the header of a section, and would pass over what"
            " follows. Rename it",
            quote=quote,
        )


def unreadable(path: str) -> ReadError:
    """The error for a file that HiGHS cannot read as a model."""
    return ReadError(
        f"HiGHS cannot read {path!r} as a model. Check that it is an MPS or LP file (plain or .gz)"
        " and not cut short."
    )


def check_mps(
    path: str,
    text: bytes,
    row_names: Sequence[str],
    unused: Sequence[str] = (),
    *,
    quote: bool = True,
) -> None:
    """Look for lines that HiGHS has ignored."""
    if not text:
        return
    upper = text.upper()
    kinds = _declared_rows(text[_first_line(upper, b"ROWS") : upper.find(b"\nCOLUMNS") + 1])
    if {row.decode(errors="replace") for row, kind in kinds.items() if kind not in b"Nn"} != set(
        row_names
    ):
        raise ReadError(
            f"{path!r}: HiGHS reads other rows than are declared. Declare every row of COLUMNS, and"
            " once."
        )
    if any(" " in name for name in row_names):
        # In fixed columns names may hold spaces: blanks do not separate the fields.
        return
    invented = [
        name
        for name in unused
        if re.search(rb"\n[ \t]+" + re.escape(name.encode()) + rb"\s", text) is None
    ]
    if invented:
        raise ReadError(
            f"{path!r}: section BOUNDS names variables that do not exist: {', '.join(invented)}."
        )
    for section in (b"RHS", b"RANGES"):
        lines = _lines_of(
            path, text, section, _first_line(upper, section), _UNDERSTOOD[section], quote=quote
        )
        unknown = {
            row for fields in _data_lines(lines) for row in fields[len(fields) % 2 :: 2]
        } - set(kinds)
        if unknown:
            rows = b", ".join(sorted(unknown)).decode(errors="replace")
            named = f": {rows}" if quote else ""
            raise ReadError(
                f"{path!r}: section {section.decode()} names rows that do not exist{named}."
            )


#: Which sides of a variable each kind of bound sets.
_SIDES_OF_BOUND = {
    **dict.fromkeys((b"LO", b"LI", b"MI"), ("lower",)),
    **dict.fromkeys((b"UP", b"UI", b"SC", b"PL"), ("upper",)),
    **dict.fromkeys((b"FR", b"FX", b"BV"), ("lower", "upper")),
}


def check_bounds_once(path: str, text: bytes, *, quote: bool = True) -> None:
    """Refuse a variable that gets one of its bounds twice: HiGHS passes over the second."""
    start = _first_line(text.upper(), b"BOUNDS")
    known: dict[tuple[bytes, str], bytes] = {}
    for number, line in enumerate(text[start:].splitlines(), text.count(b"\n", 0, start)):
        if line[:1] not in b" \t":
            return  # the next section
        fields = line.split()
        kind = fields[0].upper() if fields else b"*"
        names = fields[1:4] if len(fields) < 4 else fields[2:3]
        if kind not in _SIDES_OF_BOUND or not names:
            continue
        # Three fields end with a number, but for kinds that need none.
        needs_none = kind in (b"FR", b"MI", b"PL", b"BV")
        variable = names[-2] if len(fields) == 3 and not needs_none else names[-1]
        for side in _SIDES_OF_BOUND[kind]:
            first = known.get((variable, side))
            if first is not None:
                where = f"line {number}, section BOUNDS" if quote else "section BOUNDS"
                raise ReadError(
                    f"{path!r}, {where}: variable {variable.decode(errors='replace')!r} gets its"
                    f" {side} bound twice, by {first.decode()} and by {kind.decode()}. HiGHS would"
                    " pass over the second: keep one of them."
                )
            known[variable, side] = kind


def _read(path: str, largest_unpacked: int | None) -> bytes:
    """The whole text, with a line break before its first line."""
    try:
        if path.lower().endswith(".gz"):
            return b"\n" + unpacked(path, largest_unpacked, advice=_MORE)
        return b"\n" + Path(path).read_bytes()
    except (OSError, EOFError, zlib.error):
        raise unreadable(path) from None


def _lines_of(
    path: str,
    text: bytes,
    section: bytes,
    start: int,
    understood: re.Pattern[bytes],
    *,
    quote: bool,
) -> bytes:
    """The lines of a section, all of which must be understood."""
    end = _end(text, start, understood)
    if text[end : end + 1].isspace():
        what = f"not a line of section {section.decode()} with names and finite numbers"
        if re.match(rb"[^\n]*?[ \t]\$", text[end : text.find(b"\n", end + 1)]):
            what += (
                ". HiGHS knows no comment after $ on a line, only whole lines that begin with *;"
                " remove it"
            )
        raise _line_error(path, text, end, what, quote=quote)
    return text[start:end]


def _end(text: bytes, start: int, understood: re.Pattern[bytes]) -> int:
    found = understood.match(text, start)
    return found.end() if found else start


def _line_error(path: str, text: bytes, place: int, what: str, *, quote: bool) -> ReadError:
    number = text.count(b"\n", 0, place)
    where = f"line {number}" if quote else "a line"
    return ReadError(f"{path!r}, {where}: {what}.")


def _first_line(text: bytes, section: bytes) -> int:
    """Where the first line of a section starts; the end of the text if there is no such section."""
    head = text.find(b"\n" + section)
    return text.find(b"\n", head + 1) + 1 if head >= 0 else len(text)


def _data_lines(lines: bytes) -> Iterator[list[bytes]]:
    """Fields of each line that is neither empty nor a comment."""
    return (
        line.split()
        for line in lines.splitlines()
        if line.strip() and not line.lstrip().startswith(b"*")
    )


def _declared_rows(lines: bytes) -> dict[bytes, bytes]:
    """Kind of each row by its name, which in fixed-column files may hold spaces."""
    declarations = (
        line.split(maxsplit=1)
        for line in lines.splitlines()
        if line.strip() and not line.lstrip().startswith(b"*")
    )
    return {fields[-1].strip(): fields[0] for fields in declarations}
