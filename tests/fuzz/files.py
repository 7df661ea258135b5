"""Model files, results and training files.

Whole ones by a grammar, and what noise makes of them.
"""

import gzip
import json
from copy import deepcopy
from pathlib import Path
from random import Random

CORPUS = Path(__file__).parents[1] / "corpus"
#: Real programs, where they are at hand.
SHARED = Path(__file__).parents[3] / "shared" / "data" / "lp"

_NUMBERS = (
    "1", "-1", "0", "2.5", ".5", "3.", "1e3", "1e-3", "-0", "7.123457", "1e15", "1e16", "1e20", "1e30", "1e308", "1e309", "1e-400",
    "4e-324", "nan", "inf", "-inf", "Infinity", "0x10", "1d5", "1,5", "1_0", "--1", "1e", "+", "١", "1e+99999999999", "9" * 400,
    "1" + "0" * 5000,
)  # fmt: skip
_NAMES = (
    "x", "y", "z", "r1", "r2", "r3", "cost", "x", "r1", "RHS", "ROWS", "ENDATA", "MARKER", "'MARKER'", "*", "$", "ü", "%s%n", "-",
    "1", "1e5", "free", "st", "e1", "[x]", "x^2", "nan", "-inf", "n" * 9, "N" * 300, "a b", "\udcff",
)  # fmt: skip
_SPICE = (
    b"\0", b"\xff", b"\r", b"\n", b"\t", b" ", b"*", b"-", b"e", b"9", b"\n\n", b"\x1a", b"\xef\xbb\xbf", b"\x0c", b"\xc2\x85",
    b"%s%n", b"9" * 320,
)  # fmt: skip


def mutated(rng: Random, data: bytes) -> bytes:
    """Bytes with a few lines, words or bytes changed, moved, repeated or cut off."""
    ways = (_bytes_changed, _lines_changed, _words_changed, _words_changed, _cut)
    for _ in range(rng.choice((1, 1, 1, 2, 3, 8))):
        data = rng.choice(ways)(rng, data)
    return data


def _bytes_changed(rng: Random, data: bytes) -> bytes:
    at = rng.randint(0, len(data))
    return data[:at] + rng.choice(_SPICE) + data[at + rng.choice((0, 1, 1, 20)) :]


def _cut(rng: Random, data: bytes) -> bytes:
    start, end = sorted((rng.randint(0, len(data)), rng.randint(0, len(data))))
    repeated = data[:end] + data[start:]
    return rng.choice((data[:end], data[:start] + data[end:], repeated, data[start:]))


def _lines_changed(rng: Random, data: bytes) -> bytes:
    lines = data.split(b"\n")
    i, j = rng.randrange(len(lines)), rng.randrange(len(lines))
    way = rng.randrange(5)
    if way == 0:
        del lines[i]
    elif way == 1:
        lines.insert(j, lines[i])
    elif way == 2:
        lines[i], lines[j] = lines[j], lines[i]
    elif way == 3:
        lines[i] += b" " + lines[j]
    else:
        lines[min(i, j) : max(i, j)] *= rng.choice((0, 2, 50))
    return rng.choice((b"\n", b"\n", b"\n", b"\r\n", b"\r")).join(lines)


def _words_changed(rng: Random, data: bytes) -> bytes:
    words = data.split(b" ")
    word = rng.choice(_NUMBERS + _NAMES).encode(errors="surrogateescape")
    words[rng.randrange(len(words))] = word
    return b" ".join(words)


def model(rng: Random) -> tuple[bytes, str]:
    """A model file and its ending."""
    way = rng.random()
    if way < 0.35:
        data, ending = mps(rng), ".mps"
    elif way < 0.5:
        data, ending = lp_format(rng), ".lp"
    elif way < 0.97:
        real = [file for file in sorted(SHARED.glob("*.mps")) if file.stat().st_size < 50_000]
        ours = [*sorted(CORPUS.glob("*.mps")), *sorted(CORPUS.glob("*.lp"))] * 3
        chosen = rng.choice(ours + real)
        data, ending = mutated(rng, chosen.read_bytes()), chosen.suffix
    else:
        data = rng.randbytes(rng.choice((0, 1, 10, 1000)))
        ending = rng.choice((".mps", ".lp", ".mps.gz"))
    if rng.random() < 0.05:
        data, ending = gzip.compress(data, 1, mtime=0), ending + ".gz"
        data = mutated(rng, data) if rng.random() < 0.5 else data
    if rng.random() < 0.02:
        ending = rng.choice(("", ".txt", ".MPS", ".Lp", ".gz", ".mps.zip", ".mps."))
    return data, ending


def mps(rng: Random) -> bytes:
    """An MPS file: mostly a lawful one, each line of which may be odd."""
    odd = rng.choice((0.0, 0.02, 0.1))

    def one(*usual: str) -> str:
        return rng.choice(_NAMES if rng.random() < odd else usual)

    def value() -> str:
        odd_one = rng.random() < odd
        return rng.choice(_NUMBERS) if odd_one else f"{rng.choice((1, 2, -1, 0.5, 7.123457))}"

    rows, columns = ([f"{name}{k}" for k in range(rng.choice((0, 1, 1, 2, 3, 4)))] for name in "rx")
    names = (*rows, "cost")
    lines = ["NAME " + one("m", "", "long name")]
    if rng.random() < 0.2:
        sense = ["OBJSENSE", " " + one("MAX", "MIN", "MAXIMIZE")]
        lines += rng.choice((sense, ["OBJSENSE MAX"], ["OBJSENSE"]))
    lines += ["ROWS", " N cost"] + [f" {one(*'LGEL')} {one(row)}" for row in rows] + ["COLUMNS"]
    for column in columns:
        for row in rng.sample(names, rng.randint(rng.random() > odd, len(names))):
            lines.append(f" {one(column)} {one(row)} {value()}")
            lines[-1] += f" {one(*names)} {value()}" if rng.random() < odd else ""
    asked = (row for row in names if rng.random() < 0.7)
    lines += ["RHS", *(f" {one('RHS', '')} {one(row)} {value()}" for row in asked)]
    if rng.random() < 0.3:
        lines += ["RANGES"] + [f" RNG {one(row)} {value()}" for row in rows if rng.random() < 0.7]
    if rng.random() < 0.4:
        kinds = ("UP", "LO", "FX", "FR", "MI", "PL", "BV", "SC", "UP", "LO")
        asked = (column for column in columns if rng.random() < 0.7)
        bounds = (f" {one(*kinds)} {one('BND')} {one(column)} {value()}" for column in asked)
        lines += ["BOUNDS", *bounds]
    if rng.random() < odd:
        quadratic = (["QUADOBJ", " x0 x0 1"], ["QCMATRIX r0", " x0 x0 1"])
        lines += rng.choice((*quadratic, ["SOS", " S1 s", " s x0 1"], ["INDICATORS"]))
    lines += ["ENDATA"] * (rng.random() >= odd)
    data = "\n".join([*lines, ""]).encode(errors="surrogateescape")
    return mutated(rng, data) if rng.random() < odd else data


def lp_format(rng: Random) -> bytes:
    """A file in the LP format, likewise."""
    odd = rng.choice((0.0, 0.05, 0.2))

    def one(*usual: str) -> str:
        return rng.choice(_NAMES + _NUMBERS) if rng.random() < odd else rng.choice(usual)

    def terms() -> str:
        return " ".join(
            f"{one('+', '-')} {one('2', '3.5', '', '7.123457')} {one('x', 'y', 'z')}"
            for _ in range(rng.randint(0, 4))
        )

    lines = [one("min", "max", "minimize", "Maximise"), f" {one('obj:', '')} {terms()}"]
    lines += [one("st", "subject to", "such that")]
    lines += [
        f" {one(f'r{i}:', '')} {terms()} {one('<=', '>=', '=', '<')} {one('1', '-2', '0')}"
        for i in range(rng.randint(0, 4))
    ]
    if rng.random() < 0.6:
        ends = (f" {one('0', '-inf', '-1')} <= {name} <= {one('5', 'inf')}" for name in "xyz")
        lines += ["bounds", *ends, f" {one('x')} {one('free')}"]
    if rng.random() < 0.1:
        lines += [one("general", "binary", "semi", "sos"), " x"]
    data = "\n".join([*lines, one("end"), ""]).encode(errors="surrogateescape")
    return mutated(rng, data) if rng.random() < odd else data


_VALUES = (
    None, True, 0, -1, 1.5, 1e308, 10**400, float("nan"), float("inf"), "", "inf", "nan", "completed", "x", "\ud800", [], [[]],
    [1, [2]], [None], ["a", 1], [10**400], [float("inf")], [[1, 2], [3, 4]], {}, {"a": {}}, {"x": [1]},
)  # fmt: skip


def solution(rng: Random) -> bytes:
    """A saved result, with values of it exchanged, or its text mutated."""
    data = (CORPUS / "solution.json").read_bytes()
    if rng.random() < 0.3:
        return mutated(rng, data)
    document = json.loads(data)
    for _ in range(rng.choice((1, 1, 2, 4))):
        place = document
        while True:
            key = rng.choice(list(place) if isinstance(place, dict) else range(len(place)))
            inner = place[key]
            if not (isinstance(inner, dict | list) and inner and rng.random() < 0.7):
                break
            place = inner
        if rng.random() < 0.15:
            del place[key]
        else:
            place[key] = deepcopy(rng.choice(_VALUES))
        if not document:
            break
    if rng.random() < 0.05:
        document["extra"] = 1
    text = json.dumps(document)
    return _encoded(rng, text if rng.random() < 0.98 else "[" * 100_000 + text)


def _encoded(rng: Random, text: str) -> bytes:
    return text.encode(rng.choice(("utf-8",) * 8 + ("utf-16", "utf-8-sig")))


def training_file(rng: Random, with_h: bool) -> bytes:
    """Records for ``svm-models train``: few, so that training is quick."""
    odd = rng.choice((0.0, 0.0, 0.03, 0.2))

    def one(*usual: object) -> str:
        return rng.choice(_NUMBERS) if rng.random() < odd else str(rng.choice(usual))

    n, d = rng.randint(1, 5), rng.randint(1, 3)
    header = [one(n), one(d), one(0.1, 0.01, 1, 1e-6, 1e6), one(1, 0.1, 10, 1e-6, 1e3, 1e308)]
    header += [one(0.5, 0.1, 0.5, 1e-3)] if with_h else []
    rows = [" ".join(one(0, 0.5, -0.25, 0.5, 1e-300) for _ in range(d)) for _ in range(n)]
    labels = [one(-1, 1) for _ in range(n)]
    first, last = (rng.choice((" ", "\n")).join(words) for words in (header, labels))
    data = "\n".join([first, *rows, last, ""]).encode()
    return mutated(rng, data) if rng.random() < max(odd, 0.1) else data
