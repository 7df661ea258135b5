"""Bytes that stand for a result: equal for equal results, to the last bit of every number."""

from __future__ import annotations

import hashlib
import json
import math
import re
import struct
from collections.abc import Iterator, Mapping
from enum import Enum
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

import privlp

_LONGEST = 300


class Parts(dict[str, Any]):
    """A result in parts, each with a name of its own; a part of name "" has the result's."""


def fingerprint(value: Any) -> str:
    """SHA-256 of the bytes of a value, in hexadecimal."""
    digest = hashlib.sha256()
    for piece in _pieces(value):
        digest.update(struct.pack(">q", len(piece)) + piece)
    return digest.hexdigest()


def summary(value: Any) -> str:
    """The first number in a value, exactly, or what it says where it says something first."""
    for leaf in _leaves(value):
        if isinstance(leaf, str):
            return leaf if len(leaf) <= _LONGEST else leaf[:_LONGEST] + " ..."
        return leaf.hex() if isinstance(leaf, float) else repr(leaf)
    return "nothing"


def in_parts(result: Any) -> Parts:
    """What is public of a result: attributes that are listed, so that new ones change nothing."""
    if isinstance(result, Parts):
        return result
    for kind, take in _PARTS.items():
        if isinstance(result, kind):
            return take(result)
    return Parts({"": result})


def _pieces(value: Any) -> Iterator[bytes]:
    """Tagged bytes of plain data, arrays and public results; anything else is refused."""
    value = value.item() if isinstance(value, np.generic) else value
    value = value.value if isinstance(value, Enum) else value
    if isinstance(value, tuple(_PARTS)):
        value = in_parts(value)
    if sp.issparse(value):
        value = ["sparse", list(value.shape), *_entries(value)]
    if isinstance(value, np.ndarray) and value.dtype.kind in "fiub":
        yield f"array {value.dtype.str} {value.shape}".encode()
        yield np.ascontiguousarray(_one_nan(value)).tobytes()
    elif isinstance(value, list | tuple | np.ndarray | Mapping):
        yield f"{'mapping' if isinstance(value, Mapping) else 'list'} of {len(value)}".encode()
        for item in value.items() if isinstance(value, Mapping) else value:
            yield from _pieces(item)
    else:
        yield _scalar(value)


def _scalar(value: Any) -> bytes:
    """Tagged bytes of one number or text."""
    if value is None or isinstance(value, bool | int):
        return repr(value).encode()
    if isinstance(value, float):
        return b"nan" if math.isnan(value) else b"float" + struct.pack(">d", value)
    if isinstance(value, str):
        return b"text" + value.encode()
    raise TypeError(f"Nobody said what is public of a {type(value).__name__}.")


def _leaves(value: Any) -> Iterator[Any]:
    """The numbers and texts in a value, in order."""
    if isinstance(value, np.generic) or (isinstance(value, np.ndarray) and value.ndim == 0):
        value = value.item()
    if isinstance(value, tuple(_PARTS)):
        value = in_parts(value)
    if sp.issparse(value):
        value = value.data
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, list | tuple | np.ndarray):
        for item in value:
            yield from _leaves(item)
    elif value is not None:
        yield value.value if isinstance(value, Enum) else value


def _one_nan(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    return np.where(np.isnan(array), np.nan, array) if array.dtype.kind == "f" else array


def _entries(matrix: Any) -> list[npt.NDArray[Any]]:
    """Stored entries row by row, whatever the format, as indices of one type."""
    entries = sp.coo_array(matrix)
    row, column = (np.asarray(index, dtype=np.int64) for index in entries.coords)
    order = np.lexsort((column, row))
    return [row[order], column[order], entries.data[order]]


# ------------------------------------------------------------------------------- public results


def without_versions(text: str, versions: Mapping[str, str]) -> str:
    """A text without the versions of libraries, which are not what is compared."""
    for name, number in versions.items():
        text = re.sub(rf"({re.escape(name)}['\"]?:? ['\"]?){re.escape(number)}", r"\1...", text)
    return text


def record(privacy: Any) -> Parts:
    """What a privacy record says, in numbers and in words."""
    if privacy is None:
        return Parts({"": None})
    names = ("purpose", "mechanism", "sensitivity", "parameter", "draws", "arithmetic")
    entries = [[getattr(entry, name) for name in names] for entry in privacy.entries]
    limits = [privacy.eps, privacy.delta, privacy.eps_limit, privacy.delta_limit]
    words = [privacy.relation, privacy.randomness, privacy.composition, list(privacy.versions)]
    told = [str(privacy), repr(privacy), str(privacy.statement()), privacy.statement().to_json()]
    told = [without_versions(text, privacy.versions) for text in told]
    flags = [privacy.private, privacy.seeded]
    return Parts({"": [*limits, *flags, entries, words], "words": told})


def _solution(found: Any) -> Parts:
    document = json.loads(found.to_json())
    document["privacy"].pop("versions")
    told = [without_versions(repr(found), found.privacy.versions), found.message, document]
    paid = record(found.privacy)
    ended = [found.method, found.iterations, found.status, found.success, found.variable_names]
    return Parts(
        {
            "": [found.x, found.objective, *ended],
            "trace": found.trace,
            "privacy": paid[""],
            "words": [told, paid["words"]],
        }
    )


def _exact(found: Any) -> Parts:
    residuals = [found.primal_residual, found.dual_residual, found.gap]
    ended = [found.status, found.success, found.message, found.variable_names]
    numbers = [found.x, found.objective, found.dual, *residuals, *ended]
    return Parts({"": numbers, "words": [repr(found), found.to_dict()]})


def _comparison(found: Any) -> Parts:
    rows = [found.violation_at(s) for s in (0, 1, 5, 1_000_000)]
    counts = [found.n_violated(alpha) for alpha in (0.0, 1e-3, 0.1)]
    ends = [found.objective, found.exact_objective, found.objective_gap, found.s]
    numbers = [*ends, rows, counts, found.violations, found.scaled_violations]
    return Parts({"": numbers, "words": repr(found)})


def _quality(found: Any) -> Parts:
    paid = record(found.privacy)
    numbers = [found.n_violated, found.largest_violation, found.alpha, found.margin]
    told = [str(found), without_versions(repr(found), found.privacy.versions), paid["words"]]
    return Parts({"": numbers, "privacy": paid[""], "words": told})


def _plan(found: Any) -> Parts:
    predictions = [
        [name, p.method, p.violation, p.objective_loss, p.rounds, p.noise, p.power, _noises(p)]
        for name, p in found.predictions.items()
    ]
    reasons = [found.not_applicable, found.advice, found.unit, str(found), repr(found)]
    return Parts({"": [predictions, found.best, found.yardstick], "words": reasons})


def _noises(prediction: Any) -> list[Any]:
    return [[n.part, n.typical, n.most, n.declared, n.share] for n in prediction.on_numbers]


def _audit(found: Any) -> Parts:
    drawn = found.outcomes
    shown = drawn and [drawn.names, drawn.edges, drawn.counts, drawn.in_event, drawn.axis]
    claim = [found.eps_lower, found.eps, found.delta, found.confidence, found.runs, found.passed]
    return Parts({"": [*claim, shown], "words": [found.event, str(found), repr(found)]})


def _solve_audit(found: Any) -> Parts:
    names = ("change", "ratio", "sensitivity", "draws", "purpose", "mechanism", "faults", "audit")
    releases = [[getattr(release, name) for name in names] for release in found.releases]
    outside = [found.side_outputs, found.price, found.end_to_end, found.worst]
    claim = [found.eps, found.delta, found.method, found.relation, found.pairs, found.passed]
    return Parts({"": [releases, *outside, *claim], "words": [str(found), found.to_dict()]})


def _program(lp: Any) -> Parts:
    rows = [lp.A, lp.b, lp.row_lower, lp.private, lp.groups, lp.penalty]
    names = [lp.variable_names, lp.row_names, lp.name, lp.sense, lp.offset]
    told = [repr(lp), lp.neighbours.description, lp.is_sparse, list(lp.shape)]
    return Parts({"": [lp.c, *rows, lp.bounds, *names], "words": told})


_PARTS = {
    privlp.Solution: _solution,
    privlp.ExactSolution: _exact,
    privlp.Comparison: _comparison,
    privlp.Quality: _quality,
    privlp.Plan: _plan,
    privlp.AuditResult: _audit,
    privlp.SolveAudit: _solve_audit,
    privlp.LinearProgram: _program,
}
