"""Private equalities as bands: by a tolerance, or by columns that the owner of the data keeps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from privlp.checks import FloatArray, as_floats, as_sparse, is_integer, unquoted
from privlp.errors import InvalidParameterError, UnsupportedProblemError
from privlp.problem.data import ProgramData

# Numbers are at most so many times the sensitivity: see `BoundedChange.check`.
_LARGEST_MULTIPLE = 2.0**36
BoolArray = npt.NDArray[np.bool_]


def private_equalities(lp: ProgramData) -> BoolArray:
    """Which rows are private equalities, (n,)."""
    return np.asarray(lp.private & (lp.row_lower == lp.b))


def within(lp: ProgramData, tolerance: Any) -> dict[str, Any]:
    """Fields of the program whose private equalities hold within a tolerance."""
    in_memory(lp, "with_tolerance")
    given = as_floats(tolerance, "tolerance")
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
    relation = lp.neighbours
    if relation.changes_whole_rows:
        return {"b": upper, "row_lower": lower}
    if getattr(relation, "private_parts", None) != frozenset("b") or relation.zeros == "public":
        raise UnsupportedProblemError(
            "A band takes ConstraintPrivate, or ScalarPrivate alone and with zeros='private'"
            " (declare lower = upper = 0 for right-hand sides that are 0 for everybody). Write"
            " other bands as two rows, with an interval for each side."
        )
    low, high = (np.broadcast_to(end, lp.b.shape) for end in (relation.lower, relation.upper))
    ends = []
    for end in (low, high):
        up = np.where(rows & np.isfinite(above), end + above, end)
        down = np.where(np.isfinite(below), end - below, end)[rows]
        ends.append(np.append(up, down))
    # One number that moves by D in sum shows in two rows: both move, and their sums are rounded.
    largest = np.abs([ends[0], ends[1]]).max(initial=0.0)
    rounding = 2.0**-51 * min(float(largest), _LARGEST_MULTIPLE * relation.sensitivity)
    sensitivity = (2 if relation.norm == "1" else 1) * (relation.sensitivity + rounding)
    stack = sp.vstack if lp.is_sparse else np.vstack
    fields = {
        "A": stack([lp.A, lp.A[rows]]),
        "b": np.append(upper, np.full(rows.sum(), np.inf)),
        "row_lower": np.append(np.where(rows, -np.inf, lower), lower[rows]),
        "private": np.append(lp.private, np.full(rows.sum(), True)),
        "neighbours": replace(relation, sensitivity=sensitivity, lower=ends[0], upper=ends[1]),
    }
    if lp.penalty is not None:
        fields["penalty"] = np.concatenate([lp.penalty, lp.penalty[rows]])
    if lp.row_names is not None:
        added = [f"{lp.row_names[i]} (lower side)" for i in np.flatnonzero(rows)]
        fields["row_names"] = [*lp.row_names, *added]
    return fields


class Recourse(NamedTuple):
    """Columns that the owner of the data keeps, each in one private equality of its own."""

    columns: npt.NDArray[np.int64]
    rows: npt.NDArray[np.int64]
    coefficients: FloatArray

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
        A, rows, coefficients = sp.csc_array(as_sparse(lp.A)), [], []
        A.eliminate_zeros()
        equal = private_equalities(lp)
        for j in chosen.tolist():
            own = slice(*A.indptr[j : j + 2])
            if own.stop - own.start != 1 or not equal[A.indices[own]].all():
                raise InvalidParameterError(
                    f"{lp.variable_name(j)} cannot be kept as recourse: it must stand in one row"
                    " only, a private equality. Whether a column closes several of them takes sums"
                    " of their private numbers; give each such row a column of its own.",
                    parameter="columns",
                )
            rows.append(int(A.indices[own.start]))
            coefficients.append(float(A.data[own.start]))
        if len(set(rows)) < len(rows):
            raise InvalidParameterError(
                "Two of the columns stand in one row. Give each row one column, whose bounds allow"
                " both directions.",
                parameter="columns",
            )
        return cls(chosen, np.array(rows, dtype=np.int64), np.array(coefficients))

    def eliminated(self, lp: ProgramData) -> dict[str, Any]:
        """Fields of the program without these columns: each equality is a band."""
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
        x = as_floats(x, "x")
        if x.shape != kept.shape:
            raise InvalidParameterError(
                f"x must have {len(kept)} entries, those of the other variables; got shape"
                f" {x.shape}.",
                parameter="x",
            )
        activity = np.asarray(lp.A[self.rows][:, kept] @ x)
        return np.asarray((lp.b[self.rows] - activity) / self.coefficients)


def _columns(lp: ProgramData, columns: Any) -> npt.NDArray[np.int64]:
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
    if not found or len(found) == d:
        raise InvalidParameterError(
            "columns must name some of the variables, and not all.", parameter="columns"
        )
    return np.array(found, dtype=np.int64)
