"""Private equalities as bands: by a tolerance, or by columns that the owner of the data keeps."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from privlp.checks import BoolArray, FloatArray, IntArray, as_floats, is_integer, require
from privlp.errors import InvalidParameterError, UnsupportedProblemError
from privlp.problem.data import ProgramData
from privlp.quiet import unquoted
from privlp.sparse import as_sparse
from privlp.tables import by_name, in_order_of_rows, index_of

# Numbers are at most so many times the sensitivity: see `BoundedChange.check`.
_LARGEST_MULTIPLE = 2.0**36
#: What the names of rows end with that are lower sides of bands.
LOWER_SIDE = " (lower side)"
_FEW = "Name a column for each, such as the stock of each day."
_MANY = (
    "Which of more columns close a row, such as flows into a node, takes sums of private numbers"
    " for each set of rows. Give each row one column, whose bounds allow both directions, and leave"
    " the others among those that are released."
)
# A matrix of recourse with a larger condition number (1-norm) closes nothing in double precision.
_SINGULAR = 1e8
# Sums that move by less than this share of what the largest one moves by count as that: they may be
# rounding, and no row is to become far longer than others.
_LEAST_MOVE = 2.0**-20


def private_equalities(lp: ProgramData) -> BoolArray:
    """Which rows are private equalities, (n,)."""
    return np.asarray(lp.private & (lp.row_lower == lp.b))


def within(lp: ProgramData, tolerance: Any) -> dict[str, Any]:
    """Fields of the program whose private equalities hold within a tolerance."""
    in_memory(lp, "with_tolerance")
    given = as_floats(in_order_of_rows(tolerance, lp.row_names, "tolerance"), "tolerance")
    if given.shape not in ((), lp.b.shape) or not ((given > 0) & np.isfinite(given)).all():
        each = "" if lp.neighbours.hides_rows else f", or {len(lp.b)} of them, one for each row"
        raise InvalidParameterError(
            f"tolerance must be a positive finite number in units of the rows{each}.",
            parameter="tolerance",
        )
    equal = private_equalities(lp)
    if not equal.any() and not lp.neighbours.hides_rows:
        raise InvalidParameterError(
            "The program has no private equality to which a tolerance could apply. Readers take"
            " equalities for public: name those that are private by private=....",
            parameter="tolerance",
        )
    wide = np.broadcast_to(given, lp.b.shape)
    return _band(lp, equal, wide, wide)


def refuse_private_bounds(given: Any) -> None:
    """Bounds are public: show how a private one is written as a row."""
    if given is not None:
        raise InvalidParameterError(
            "Bounds are public. Write a private bound as a row, within a public bound that is wide"
            " enough for everybody: in a model the constraint x <= limit, named in private=...; in"
            " arrays A = np.vstack([A, np.eye(d)]), b = np.append(b, limits), bounds=(0, widest).",
            parameter="private_bounds",
        )


def in_memory(lp: ProgramData, method: str) -> None:
    """Refuse rows in blocks, which are never equalities."""
    if lp.in_blocks:
        raise UnsupportedProblemError(f"{method} has no use for rows in blocks: they are A x <= b.")


def _band(lp: ProgramData, rows: BoolArray, below: FloatArray, above: FloatArray) -> dict[str, Any]:
    """Fields in which rows A x = b say b - below <= A x <= b + above; two rows if b is private."""
    upper, lower = np.where(rows, lp.b + above, lp.b), np.where(rows, lp.b - below, lp.row_lower)
    if lp.neighbours.changes_whole_rows:
        return {"b": upper, "row_lower": lower}
    relation = _scalar(lp.neighbours)
    low, high = (np.broadcast_to(end, lp.b.shape) for end in (relation.lower, relation.upper))
    ends = []
    for end in (low, high):
        up = np.where(rows & np.isfinite(above), end + above, end)
        down = np.where(np.isfinite(below), end - below, end)[rows]
        ends.append(np.append(up, down))
    # A number may show in two rows: both move, and the sum of every number that moves is rounded.
    largest = np.abs([ends[0], ends[1]]).max(initial=0.0)
    rounding = 2.0**-51 * min(float(largest), _LARGEST_MULTIPLE * relation.sensitivity)
    in_sum = relation.norm == "1"
    sensitivity = relation.sensitivity + rounding * (int(rows.sum()) if in_sum else 1)
    both = bool((np.isfinite(below) & np.isfinite(above))[rows].any())
    sensitivity *= 2 if in_sum and both else 1
    stack = sp.vstack if lp.is_sparse else np.vstack
    fields: dict[str, Any] = {
        "A": stack([lp.A, lp.A[rows]]),
        "b": np.append(upper, np.full(rows.sum(), np.inf)),
        "row_lower": np.append(np.where(rows, -np.inf, lower), lower[rows]),
        "private": np.append(lp.private, np.full(rows.sum(), True)),
        "neighbours": replace(relation, sensitivity=sensitivity, lower=ends[0], upper=ends[1]),
    }
    if in_sum:
        moves, shown = _moves(relation, lp), np.where(rows, np.isfinite(upper), True)
        stacked = sp.vstack([_times(shown, moves), _times(np.isfinite(lower), moves)[rows]])
        own = relation.rounding + rounding
        fields["neighbours"] = _by_kinds(fields["neighbours"], stacked, own)
    if lp.penalty is not None:
        fields["penalty"] = np.concatenate([lp.penalty, lp.penalty[rows]])
    names = lp.row_names or [*map(str, range(len(lp.b)))]
    fields["row_names"] = [*names, *(names[i] + LOWER_SIDE for i in np.flatnonzero(rows))]
    return fields


def _scalar(relation: Any) -> Any:
    """The relation, if right-hand sides alone are private."""
    if getattr(relation, "private_parts", None) != frozenset("b") or relation.zeros == "public":
        raise UnsupportedProblemError(
            "A band takes ConstraintPrivate, or ScalarPrivate alone and with zeros='private'"
            " (declare lower = upper = 0 for right-hand sides that are 0 for everybody). Write"
            " other bands as two rows, with an interval for each side."
        )
    return relation


def _moves(relation: Any, lp: ProgramData) -> sp.csr_array:
    """How far each kind of record moves right-hand sides; by default it owns one, (n, k)."""
    if relation.moves is not None:
        return sp.csr_array(relation.moves)
    return sp.csr_array(sp.diags_array(np.where(lp.private, relation.sensitivity, 0.0)))


def _by_kinds(relation: Any, moves: sp.csr_array, rounding: float) -> Any:
    """The relation by kinds of records; by its sum alone, where none moves a side that is left."""
    kinds = moves.count_nonzero() > 0
    return replace(relation, moves=moves if kinds else None, rounding=rounding if kinds else 0.0)


def _times(scale: Any, rows: sp.csr_array) -> sp.csr_array:
    """Rows times a number each."""
    return sp.csr_array(sp.diags_array(np.asarray(scale, dtype=float)) @ rows)


def _product(W: FloatArray, up: FloatArray, down: FloatArray) -> FloatArray:
    """W times `up` where it is positive, else `down`: each product and each sum is rounded once."""
    ends = np.where(W > 0, up, down)
    terms = np.multiply(W, ends, out=np.zeros_like(W), where=W != 0)
    return np.array([math.fsum(row) for row in terms])


class Recourse(NamedTuple):
    """Columns that the owner of the data keeps, one for each private equality."""

    columns: IntArray
    rows: IntArray
    coefficients: FloatArray
    inverse: FloatArray | None = None

    @classmethod
    def of(cls, lp: ProgramData, columns: Any) -> Recourse:
        """The columns by names, patterns or places."""
        in_memory(lp, "with_recourse")
        if "b" not in getattr(lp.neighbours, "private_parts", ()):
            raise UnsupportedProblemError(
                "with_recourse is for private right-hand sides (ScalarPrivate): A is public there,"
                " and says in which row a column stands. Where whole rows are private, take"
                " with_tolerance."
            )
        chosen = _columns(lp, columns)
        A = sp.csc_array(as_sparse(lp.A))[:, chosen]
        A.eliminate_zeros()
        equal, filled = private_equalities(lp), np.diff(A.indptr)
        for k, j in enumerate(chosen.tolist()):
            own = A.indices[slice(*A.indptr[k : k + 2])]
            if not own.size or not equal[own].all():
                raise InvalidParameterError(
                    f"{lp.variable_name(j)} cannot be kept as recourse: it must stand in private"
                    " equalities, and nowhere else.",
                    parameter="columns",
                )
        rows = np.unique(A.indices)
        if len(rows) != len(chosen):
            raise InvalidParameterError(
                f"{len(chosen)} columns stand in {len(rows)} private equalities, and as many must"
                " close them as there are. " + (_FEW if len(rows) > len(chosen) else _MANY),
                parameter="columns",
            )
        if (filled == 1).all():
            return cls(chosen, A.indices.astype(np.int64), A.data)
        inverse, scale = _inverse(A[rows].toarray()), np.ones(len(rows))
        relation = _scalar(lp.neighbours)
        if relation.norm != "1":  # sums of numbers that all move: each is to move as they do
            low, high = (
                np.broadcast_to(end, lp.b.shape)[rows] for end in (relation.lower, relation.upper)
            )
            moved = abs(inverse) @ (low < high)
            least = _LEAST_MOVE * moved.max()  # less than that is rounding
            scale = 1 / np.maximum(moved, least) if least else scale
        return cls(chosen, rows, scale, scale[:, None] * inverse)

    def closed(self, lp: Any) -> Any:
        """The program in which each of the rows has one of the columns alone, as its coefficient.

        Rows are multiplied by `inverse`, right-hand sides rounded twice: docs/proofs.md.
        """
        if self.inverse is None:
            return lp
        W, rows, relation = self.inverse, self.rows, _scalar(lp.neighbours)
        low, high = (
            np.broadcast_to(end, lp.b.shape).copy() for end in (relation.lower, relation.upper)
        )
        size, moves = np.maximum(abs(low), abs(high)), low < high
        most = np.where(moves, np.minimum(size, _LARGEST_MULTIPLE * relation.sensitivity), size)
        bounded = np.isfinite(lp.bounds[self.columns]).any(axis=1)  # others' rows say nothing
        weights, total = abs(W[bounded]), relation.norm == "1"
        rounding = 2.0**-50 * (weights @ most[rows])
        of_numbers = (weights * moves[rows]).sum(axis=0 if total else 1)
        gain = max(1.0, float(of_numbers.max(initial=0.0)) * (1 + 2.0**-40))
        b, lower = lp.b.copy(), lp.row_lower.copy()
        of_sides = np.where(bounded[:, None], W, 0.0)  # no number of others may be refused as large
        b[rows] = lower[rows] = _product(of_sides, b[rows], b[rows])
        known = ~((of_sides != 0) & moves[rows]).any(axis=1)  # numbers are public: so is the sum
        ends = _product(of_sides, low[rows], high[rows]), _product(of_sides, high[rows], low[rows])
        low[rows], high[rows] = (np.where(known, b[rows], end) for end in ends)
        others = np.setdiff1d(np.arange(len(b)), rows)
        at = [np.append(of(rows, len(rows)), others) for of in (np.repeat, np.tile)]
        S = sp.csr_array((np.append(W.ravel(), np.ones(len(others))), at), shape=(len(b),) * 2)
        S.eliminate_zeros()
        released = sp.diags_array(np.where(np.isin(np.arange(lp.shape[1]), self.columns), 0.0, 1.0))
        kept = sp.csr_array((self.coefficients, (rows, self.columns)), shape=lp.shape)
        moved = gain * relation.sensitivity + float(
            rounding.sum() if total else rounding.max(initial=0.0)
        )
        wider = replace(relation, sensitivity=moved, lower=low, upper=high)
        if total:  # a record moves each sum in which its numbers stand
            shown = np.ones(len(b)) + 2.0**-40
            shown[rows[~bounded]] = 0.0
            weight = _times(shown, abs(S)) @ sp.diags_array(np.where(moves, 1.0, 0.0))
            by = sp.csr_array(weight @ _moves(relation, lp))
            before = relation.rounding * max(1.0, float(weights.sum(axis=1).max(initial=0.0)))
            more = before + float(rounding.max(initial=0.0))
            wider = _by_kinds(wider, by, more)
        A = S @ (lp.A @ released) + kept  # W R is diagonal, not only nearly
        return lp.changed(A=A, b=b, row_lower=lower, neighbours=wider)

    def eliminated(self, lp: ProgramData) -> dict[str, Any]:
        """Fields of the program without these columns: each equality is a band."""
        lp = self.closed(lp)
        kept = np.setdiff1d(np.arange(lp.shape[1]), self.columns)
        ends = self.coefficients[:, None] * lp.bounds[self.columns]
        below, above = np.zeros(lp.shape[0]), np.zeros(lp.shape[0])
        below[self.rows], above[self.rows] = ends.max(axis=1), -ends.min(axis=1)
        rows = np.isin(np.arange(lp.shape[0]), self.rows)
        rate = lp.c[self.columns] / self.coefficients
        fields, names = _band(lp, rows, below, above), lp.variable_names
        return {
            **fields,
            "A": fields["A"][:, kept],
            "c": lp.c[kept] - rate @ lp.A[self.rows][:, kept],
            "bounds": lp.bounds[kept],
            "variable_names": None if names is None else [names[j] for j in kept],
            "kept": (*lp.kept, *(names[j] for j in self.columns)) if names else lp.kept,
        }

    def values(self, lp: ProgramData, x: Any) -> FloatArray:
        """What the columns are at values x of the others: a function of private numbers."""
        kept = np.setdiff1d(np.arange(lp.shape[1]), self.columns)
        own = lp.variable_names and [lp.variable_names[j] for j in kept]
        x = x if index_of(x) is not None else getattr(x, "x", x)
        x = as_floats(by_name(x, own, "x"), "x")
        require(
            x.shape == kept.shape,
            f"x must have {len(kept)} entries, those of the other variables; got shape {x.shape}.",
            "x",
        )
        missing = lp.b[self.rows] - np.asarray(lp.A[self.rows][:, kept] @ x)
        missing = missing if self.inverse is None else self.inverse @ missing
        return np.asarray(missing / self.coefficients)


def _inverse(closing: FloatArray) -> FloatArray:
    """The inverse of a matrix of recourse, or a refusal."""
    found = np.full(closing.shape, math.inf)
    with suppress(np.linalg.LinAlgError):
        found = np.asarray(np.linalg.inv(closing), dtype=np.float64)
    if not np.linalg.norm(closing, 1) * np.linalg.norm(found, 1) < _SINGULAR:
        raise InvalidParameterError(
            "The columns do not close the equalities in which they stand: for some right-hand"
            " sides no values do, for others many. Name other columns.",
            parameter="columns",
        )
    return found


def _columns(lp: ProgramData, columns: Any) -> IntArray:
    """Places of columns by names and patterns, or by places."""
    names, d = lp.variable_names or (), lp.shape[1]

    def read() -> list[int]:
        given: Sequence[Any] = [columns] if isinstance(columns, str) else list(columns)
        found: list[int] = []
        for one in given:
            if isinstance(one, str):
                same = [j for j, name in enumerate(names) if fnmatchcase(name, one)]
            else:
                same = [int(one)] if is_integer(one) and 0 <= one < d else []
            if not same:
                raise ValueError
            found += same
        return found

    refusal = (
        "columns must be names of variables, patterns over them, or places from 0 to"
        f" {d - 1}; each must be there."
    )
    found = sorted(set(unquoted(read, refusal, "columns")))
    wrong = "columns must name some of the variables, and not all."
    require(found and len(found) != d, wrong, "columns")
    return np.array(found, dtype=np.int64)
