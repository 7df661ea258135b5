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
_NAME = rb"[ \t]++\S++"
_PAIR = _NAME + rb"[ \t]++" + _NUMBER
_PAIRS = _PAIR + rb"(?:" + _PAIR + rb")?+"
_BOUND = rb"[ \t]++(?:UP|LO|FX|LI|UI|SC|BV|MI|PL|FR)" + _NAME


def _lines(*contents: bytes) -> re.Pattern[bytes]:
    """As many lines as possible that are empty, a comment, or one of the given contents."""
    line = rb"(?:" + rb"|".join(contents) + rb")[ \t\r]*+(?:\n|\Z)"
    return re.compile(rb"(?:" + line + rb"|\*[^\n]*+\n|[ \t\r]*+\n)*+")


_UNDERSTOOD = {
    b"ROWS": _lines(rb"[ \t]++[NLGEnlge]" + _NAME),
    b"COLUMNS": _lines(_NAME + _PAIRS, _NAME + rb"[ \t]++'MARKER'[ \t]++'INT(?:ORG|END)'"),
    b"RHS": _lines(_NAME + _PAIRS, _PAIRS),
    b"RANGES": _lines(_NAME + _PAIRS, _PAIRS),
    b"BOUNDS": _lines(
        _BOUND + rb"(?:" + _NAME + rb")?+[ \t]++(?:" + _NUMBER + rb"|(?i:[-+]?inf(?:inity)?))",
        rb"[ \t]++(?:FR|MI|PL|BV)(?:" + _NAME + rb"){1,2}",
    ),
}
#: In fixed columns, where names may hold spaces: 5-12 and 15-22, a number in 25-36, a name in
#: 40-47, a number in 50-61.
_FIELD = rb"(?!'MARKER')[^\s][^\t\r\n]{7}"
_FIXED_PAIR = _FIELD + rb"  [ ]*+" + _NUMBER
_FIXED_NUMBERS = _lines(
    rb"    [^\t\r\n]{8}  " + _FIXED_PAIR + rb"(?:[ ]++(?<=\n[^\n]{39})" + _FIXED_PAIR + rb")?+"
)
_FIXED = {
    b"ROWS": _lines(rb" (?:[NLGE] | [NLGE]) [^\s][^\t\r\n]{0,7}"),
    **dict.fromkeys((b"COLUMNS", b"RHS", b"RANGES"), _FIXED_NUMBERS),
    b"BOUNDS": _lines(
        rb" (?:UP|LO|FX) [^\t\r\n]{8}  " + _FIXED_PAIR,
        rb" (?:MI|PL|FR) [^\t\r\n]{8}  [^\s][^\t\r\n]{0,7}",
    ),
}
_SENSE = re.compile(
    rb"(?:[ \t\r]*+(?:\*[^\n]*+)?+\n)*+[ \t]++M(?:AX|IN)(?:IMIZE)?+[ \t\r]*+\n", re.IGNORECASE
)
_NOTHING = _lines()
_COMMENT = re.compile(rb"^[ \t\r]*+\*[^\n]*+", re.MULTILINE)
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
#: Which sides of a variable each kind of bound sets.
_SIDES_OF_BOUND = {
    **dict.fromkeys((b"LO", b"LI", b"MI"), ("lower",)),
    **dict.fromkeys((b"UP", b"UI", b"SC", b"PL"), ("upper",)),
    **dict.fromkeys((b"FR", b"FX", b"BV"), ("lower", "upper")),
}


def unreadable(path: str) -> ReadError:
    """The error for a file that HiGHS cannot read as a model."""
    kind, hint = path.lower().removesuffix(".gz"), ""
    if kind.endswith(".lp"):
        hint = (
            " In LP files HiGHS reads no rows with two sides, such as -1 <= x - y <= 2: write two"
            " rows, or an MPS file."
        )
    elif kind.endswith((".csv", ".parquet")):
        hint = (
            " Rows in a table are read in Python: LinearProgram(costs, pandas.read_csv(...),"
            ' b="column"), or LinearProgram.from_parquet(path, costs, rhs="column").'
        )
    elif not kind.endswith(".mps"):
        hint = " Its name must end in .mps or .lp, perhaps with .gz behind it."
    return ReadError(
        f"HiGHS cannot read {path!r} as a model. Check that it is an MPS or LP file (plain or .gz)"
        f" and not cut short.{hint}"
    )


def quadratic(path: str) -> ReadError:
    """The error for a quadratic program."""
    return ReadError(f"{path!r} has a quadratic objective; privlp solves linear programs only.")


def check_layout(path: str, *, quote: bool, largest_unpacked: int | None) -> MpsText | None:
    """Look for what HiGHS would not understand, before it sees it; the text of an MPS file."""
    kind = path.lower()
    try:
        hidden = is_packed(path) and not kind.endswith(".gz")
        if hidden:
            raise ReadError(f"{path!r} is gzipped, so its name must end in .gz.")
        if not kind.endswith((".mps", ".lp", ".gz")):
            return None
        more = ", or allow more by from_mps(..., largest_unpacked=BYTES)"
        packed = kind.endswith(".gz")
        text = unpacked(path, largest_unpacked, advice=more) if packed else Path(path).read_bytes()
    except (OSError, EOFError, zlib.error):
        raise unreadable(path) from None
    kind = kind.removesuffix(".gz")
    if kind.endswith(".lp") and re.search(rb"[-+]\s*+>", re.sub(rb"\\[^\n]*+", b"", text)):
        raise ReadError(
            f"{path!r} has a sign before >, as in an indicator constraint (->); privlp solves"
            " linear programs only."
        )
    if not kind.endswith(".mps"):
        return None
    model = MpsText(path, b"\n" + text, quote=quote)
    model.check_layout()
    return model


class MpsText:
    """An MPS file, with a line break before its first line; errors may `quote` lines and rows."""

    def __init__(self, path: str, text: bytes, *, quote: bool) -> None:
        self.path, self.text, self.quote = path, text, quote
        self._headers: dict[bytes, re.Match[bytes]] = {}
        self._ends: dict[bytes, int] = {}
        self._fixed = False

    def _error(self, what: str) -> ReadError:
        return ReadError(f"{self.path!r}{what}.")

    def _line_error(self, place: int, what: str) -> ReadError:
        line = self.text.count(b"\n", 0, place)
        return self._error(f", line {line}: {what}" if self.quote else f", a line: {what}")

    def check_layout(self) -> None:
        """Refuse what HiGHS would not understand."""
        text = self.text
        headers = [(match.group(1).upper(), match) for match in _HEADER.finditer(text)]
        self._check_headers(headers)
        self._headers = dict(headers)
        self._check_first_names()
        starts = {word: self._first_line(word) for word in self._headers}
        sense = starts.pop(b"OBJSENSE", None)
        if sense is not None and not _SENSE.match(text, sense):
            self._lines_of(b"OBJSENSE", sense, _NOTHING)
        self._lines_of(b"NAME", starts.pop(b"NAME", 1), _NOTHING)
        del starts[b"ENDATA"]
        try:
            for word, start in starts.items():
                self._lines_of(word, start, _UNDERSTOOD[word])
        except ReadError:
            self._fixed = True
            ends_of_fixed = (_end(text, start, _FIXED[word]) for word, start in starts.items())
            if _EMPTY.search(text, 0, headers[-1][1].start() + 1) or any(
                text[end : end + 1].isspace() for end in ends_of_fixed
            ):
                raise

    def _check_headers(self, headers: list[tuple[bytes, re.Match[bytes]]]) -> None:
        """Refuse unknown or repeated sections, a wrong order, and text beside a header."""
        words, first = [word for word, _ in headers], (b"NAME", b"OBJSENSE")
        if not {b"NAME", b"ROWS", b"COLUMNS"} & set(words):
            raise unreadable(self.path)
        for word, match in headers:
            if word in _QUADRATIC:
                raise quadratic(self.path)
            known = word in (*first, b"ENDATA", *_UNDERSTOOD)
            if not known or (match.group(2) and word not in first):
                what = "no section of a linear program begins like this"
                raise self._line_error(match.start() + 1, what)
        for section in (b"ROWS", b"COLUMNS", b"ENDATA"):
            if section not in words:
                raise self._error(f" is cut short: it has no {section.decode()} line")
        twice = [word for word in words if words.count(word) > 1]
        if twice:
            raise self._error(f" has more than one section {twice[0].decode()}")
        order = [word for word in words if word not in first]
        if order[:2] != [b"ROWS", b"COLUMNS"] or words[-1] != b"ENDATA":
            raise self._error(": sections must come in the order ROWS, COLUMNS, others, ENDATA")

    def _check_first_names(self) -> None:
        """Refuse a name at the beginning of a line that HiGHS would read as a header."""
        found = _TAKEN.search(self.text, self._headers[b"COLUMNS"].end())
        if found is not None:
            name = found.group(1).decode() if self.quote else "of the line"
            raise self._line_error(
                found.start() + 1,
                f"HiGHS reads the name {name} as the header of a section, and would pass over what"
                " follows. Rename it",
            )

    def check_reading(self, row_names: Sequence[str], unused: Sequence[str]) -> None:
        """Look for lines that HiGHS has ignored; `unused` variables have no coefficient."""
        rows = self.text[self._first_line(b"ROWS") : self._headers[b"COLUMNS"].start() + 1]
        if self._fixed:  # names may hold spaces
            kinds = {line[-1].strip(): line[0] for line in _data_lines(rows, maxsplit=1)}
        else:
            fields = (_COMMENT.sub(b"", rows) if b"*" in rows else rows).split()
            kinds = dict(zip(fields[1::2], fields[::2], strict=True))
        declared = b"\n".join([row for row, kind in kinds.items() if kind not in (b"N", b"n")])
        found = declared.decode(errors="replace")
        read = "\n".join(row_names)
        if found != read and {*found.split("\n")} - {""} != {*row_names}:
            raise self._error(
                ": HiGHS reads other rows than are declared. Declare every row of COLUMNS, and once"
            )
        if " " in read:
            return  # blanks do not separate the fields
        for name in unused:
            if not re.search(rb"\n[ \t]+" + re.escape(name.encode()) + rb"\s", self.text):
                raise self._error(f": section BOUNDS names a variable that does not exist: {name}")
        for section in (b"RHS", b"RANGES"):
            start = self._first_line(section)
            lines = self._lines_of(section, start, _UNDERSTOOD[section])
            unknown = _rows_of_sides(lines) - kinds.keys()
            if unknown:
                listed = b", ".join(sorted(unknown)).decode(errors="replace")
                named = f": {listed}" if self.quote else ""
                raise self._error(
                    f": section {section.decode()} names rows that do not exist{named}"
                )

    def check_bounds_once(self) -> None:
        """Refuse a variable that gets one of its bounds twice: HiGHS passes over the second."""
        start = self._first_line(b"BOUNDS")
        known: dict[tuple[bytes, str], bytes] = {}
        for number, line in enumerate(
            self.text[start:].splitlines(), self.text.count(b"\n", 0, start)
        ):
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
                    where = f", line {number}" if self.quote else ""
                    raise self._error(
                        f"{where}, section BOUNDS: variable {variable.decode(errors='replace')!r}"
                        f" gets its {side} bound twice, by {first.decode()} and by"
                        f" {kind.decode()}. HiGHS would pass over the second: keep one of them"
                    )
                known[variable, side] = kind

    def _first_line(self, section: bytes) -> int:
        """Where the first line of a section starts; the end of the text without such a section."""
        head = self._headers.get(section)
        return self.text.find(b"\n", head.end()) + 1 if head else len(self.text)

    def _lines_of(self, section: bytes, start: int, understood: re.Pattern[bytes]) -> bytes:
        """The lines of a section, all of which must be understood."""
        text = self.text
        end = self._ends[section] = self._ends.get(section) or _end(text, start, understood)
        if text[end : end + 1].isspace():
            what = f"not a line of section {section.decode()} with names and finite numbers"
            if re.match(rb"[^\n]*?[ \t]\$", text[end : text.find(b"\n", end + 1)]):
                what += (
                    ". HiGHS knows no comment after $ on a line, only whole lines that begin with"
                    " *; remove it"
                )
            raise self._line_error(end, what)
        return text[start:end]


def _end(text: bytes, start: int, understood: re.Pattern[bytes]) -> int:
    found = understood.match(text, start)
    return found.end() if found else start


def _rows_of_sides(lines: bytes) -> set[bytes]:
    """Names of rows in lines of right-hand sides or ranges."""
    fields = [*_data_lines(lines)]
    return {line[-2] for line in fields} | {line[-4] for line in fields if line[3:]}


def _data_lines(lines: bytes, maxsplit: int = -1) -> Iterator[list[bytes]]:
    """Fields of each line that is neither empty nor a comment."""
    if b"*" in lines:
        lines = _COMMENT.sub(b"", lines)
    return filter(None, (line.split(None, maxsplit) for line in lines.splitlines()))
