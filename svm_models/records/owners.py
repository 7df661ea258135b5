"""Whose each row is, and which rows of one person are kept."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from privlp import InvalidParameterError, InvalidProblemError, tables
from privlp.checks import WHY, unquoted
from privlp.privacy import Randomness
from privlp.problem.program_checks import record_ids
from privlp.readers.blocks import is_sequence_of_blocks
from privlp.readers.tables import columns_of
from svm_models.account import adds_or_removes, rows_of
from svm_models.records.columns import in_memory, taken_out

Places = npt.NDArray[np.int64]


def with_owners(X: Any, groups: Any) -> tuple[Any, Any]:
    """Records and their owners, where groups may name a column of a table."""
    if groups is not None and tables.is_table(X):
        return unquoted(lambda: _of_table(X, groups), f"X could not be read. {WHY}", "X")
    if is_sequence_of_blocks(X) and isinstance(groups, list | tuple) and np.ndim(groups[0]) == 1:
        message = "groups must hold one record id for each row, all of one type."
        return X, unquoted(lambda: np.concatenate([*groups]), message, "groups")
    return X, groups


def _of_table(X: Any, groups: Any) -> tuple[Any, Any]:
    """Of a lazy table, whose rows have no order of their own, `groups` must be a column."""
    columns_of(tables.opened(X, "X"), {"groups": groups}, "X")
    tables.require_order(groups, X, "groups")
    if not isinstance(groups, str):
        return X, groups
    X = in_memory(X)
    if tables.opened(X, "X").get_column(groups).null_count():
        raise InvalidProblemError(
            "groups has missing record ids. Rows without a known owner may be one person's: give"
            " each row its owner.",
            parameter="groups",
        )
    return taken_out(X, groups, "groups")


def refuse(estimator: Any, unsupported: Any, groups: Any = None, *, private: bool = True) -> None:
    """Refuse what fit does not take, before a record is read."""
    name = type(estimator).__name__
    if unsupported:
        taken = "X, y and groups" if private else "X and y"
        why = "."
        if private and "sample_weight" in unsupported:
            why = ": what a record adds is bounded for records of equal weight."
            if "class_weight" in estimator.get_params():
                why += " Classes have public weights: class_weight."
        raise InvalidParameterError(
            f"{name}.fit takes {taken} only, not {', '.join(sorted(unsupported))}{why}",
            parameter=min(unsupported),
        )
    if groups is not None and not private:
        raise InvalidParameterError(
            f"groups has no use here: {name} protects nobody, and so does not ask which rows are"
            " one person's. Leave it out.",
            parameter="groups",
        )


def owners_of(estimator: Any, groups: Any, count: int) -> Places:
    """The number of the owner of each of so many rows; the most rows of one must be declared."""
    hidden = adds_or_removes(estimator.relation)
    ids: Any = record_ids(groups, count, quote=not hidden)
    owners = np.unique(ids, return_inverse=True)[1].astype(np.int64)
    if estimator.rows_per_record is None:
        told = "" if hidden else f"; here nobody has more than {np.bincount(owners).max()}"
        raise InvalidParameterError(
            "rows_per_record is missing: say how many rows of one person fit may learn from. Of a"
            " person with more, so many are kept, drawn at random. Noise grows with this number"
            f"{told}.",
            parameter="rows_per_record",
        )
    return owners


def kept(estimator: Any, groups: Any, count: int, randomness: Randomness) -> Places | None:
    """The places of the rows that are kept; None for all of them."""
    rows = rows_of(estimator)
    if groups is None:
        return None
    return kept_rows(owners_of(estimator, groups, count), rows, randomness.generator)


def kept_rows(owners: Places, most: int, generator: np.random.Generator) -> Places:
    """The places of the rows that are kept, rising: `most` of each owner, drawn at random.

    Each row has a draw of its own: which rows of one person are kept has no bearing on another's.
    """
    order = np.lexsort((generator.random(len(owners)), owners))
    sizes = np.bincount(owners)
    rank = np.arange(len(owners)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return np.sort(order[rank < most])
