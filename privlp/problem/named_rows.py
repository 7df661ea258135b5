"""Which rows names, patterns, masks and indices mean, as users give them."""

from __future__ import annotations

import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from fnmatch import fnmatchcase
from typing import Any

import numpy as np
import numpy.typing as npt

from privlp import checks
from privlp.checks import BoolArray, frozen, require_data
from privlp.errors import InvalidProblemError, MissedRowsWarning
from privlp.quiet import unquoted

_FEW = 8  # Kinds of rows that a warning names.
_KIND_OF_DTYPE = {"b": "flag", "i": "number", "u": "number", "U": "name", "T": "name"}


def names(values: Any, size: int, what: str, *, quote: bool = True) -> tuple[str, ...] | None:
    """A tuple of `size` distinct names, or None."""
    if values is None:
        return None

    def read() -> tuple[str, ...]:
        if isinstance(values, str):
            raise TypeError
        return tuple(map(str, values))

    must = f"{what} names must be"
    clean = unquoted(read, f"{must} a sequence of names, got {type(values).__name__}.")
    unquoted("".join(clean).encode, f"{must} text that can be written to a file (UTF-8).")
    if len(clean) != size:
        counts = f"{len(clean)} {what} names were given for {size} {what}s."
        raise InvalidProblemError(counts if quote else f"Give one {what} name for each {what}.")
    if len(set(clean)) != size:
        twice = next(name for name, count in Counter(clean).items() if count > 1)
        which = f"; {twice!r} stands there more than once" if quote or what != "row" else ""
        owner = (
            " If one person has several rows, name the person by groups=...: of a pandas table,"
            " table.reset_index(names='person') with groups='person'."
        )
        raise InvalidProblemError(f"{must} distinct{which}.{owner if what == 'row' else ''}")
    return clean


def row_mask(
    selection: Any, size: int, row_names: Sequence[str] | None, *, quote: bool = True
) -> BoolArray:
    """Boolean mask of the private rows, (size,): all of them without a selection.

    Where errors may not `quote`, a name or pattern may select no row: the only row that it selected
    may have left. A row that is public by mistake has no protection.
    """
    if selection is None:
        return frozen(np.ones(size, dtype=bool))
    indices = f"row indices in [0, {size})" if quote else "indices of rows that there are"
    refusal = (
        f"private must be a boolean mask, {indices}, or row names; each once, all of one kind."
    )

    def read() -> BoolArray:
        if isinstance(selection, str):
            return _matching(selection, size, row_names, quote=quote)
        kinds = _kinds(selection)
        if kinds == {"name"}:
            patterns = map(str, np.asarray(selection, dtype=object))
            return _named(patterns, size, row_names, quote=quote)
        if kinds == {"flag"}:
            flags = np.array(selection, dtype=bool)
            shapes = f"of shape {flags.shape}, but there are {size} rows"
            shapes = shapes if quote else "without one entry for each row"
            require_data(flags.shape == (size,), f"private is a mask {shapes}.", "private")
            return flags
        rows = np.asarray(selection)
        if not kinds <= {"number"} or not _are_indices(rows, size):
            raise InvalidProblemError(refusal, parameter="private")
        mask = np.zeros(size, dtype=bool)
        mask[rows.astype(int)] = True
        return mask

    return frozen(unquoted(read, refusal, "private"))


def _kinds(selection: Any) -> set[str]:
    """What a list of rows holds: flags (of any shape), names, numbers, or something else."""
    if np.ma.is_masked(selection):
        return {"masked"}
    try:
        entries = np.asarray(selection, dtype=None if hasattr(selection, "dtype") else object)
    except ValueError:
        return {"ragged"}
    if entries.dtype.kind == "O" or not entries.size:
        kinds = set(map(_kind, entries.flat))
    else:
        kinds = {_KIND_OF_DTYPE.get(entries.dtype.kind, "else")}
    return kinds if entries.ndim == 1 or kinds == {"flag"} else {"no list"}


def _kind(entry: Any) -> str:
    if isinstance(entry, bool | np.bool_):
        return "flag"
    return "name" if isinstance(entry, str) else "number" if checks.is_integer(entry) else "else"


def _named(
    names: Iterable[str], size: int, row_names: Sequence[str] | None, *, quote: bool
) -> BoolArray:
    """Rows with these names, or with names that match them where they are none."""
    mask = np.zeros(size, dtype=bool)
    index = {name: i for i, name in enumerate(row_names or ())}
    for name in names:
        found = index[name] if name in index else _matching(name, size, row_names, quote=quote)
        mask[found] = True
    return mask


def _are_indices(rows: npt.NDArray[Any], size: int) -> bool:
    """Whether these are distinct row indices, and no flags 0 and 1 of all rows."""
    found = checks.are_places(rows, size)
    if rows.size and not found and np.isin(rows, (0, 1)).all():
        raise InvalidProblemError(
            "private holds only the numbers 0 and 1, as flags do. For a mask give booleans:"
            " np.asarray(private, dtype=bool). For row indices give each index once:"
            " np.flatnonzero(mask).",
            parameter="private",
        )
    return found


def _matching(
    pattern: str,
    size: int,
    row_names: Sequence[str] | None,
    argument: str = "private",
    *,
    quote: bool,
) -> BoolArray:
    """Which rows have names that match a pattern, which may be a name itself."""
    if row_names is None and (size or quote):
        given = f"{argument}={pattern!r}" if quote else f"A text in {argument}"
        raise InvalidProblemError(
            f"{given} is a pattern over row names, but the rows have no names.", parameter=argument
        )
    mask = np.array([fnmatchcase(name, pattern) for name in row_names or ()], dtype=bool)
    if quote and row_names is not None and not mask.any():
        raise InvalidProblemError(
            f"No row name matches {argument}={pattern!r}. The first row names are:"
            f" {', '.join(row_names[:5])}.{longer(pattern, row_names)}",
            parameter=argument,
        )
    return mask


def longer(pattern: str, names: Iterable[str]) -> str:
    """What a pattern without a star may have meant, where it is the beginning of a name."""
    begins = any(name.startswith(pattern) for name in names)
    return f" To mean all that begin so, write '{pattern}*'." if begins else ""


def names_like(pattern: str) -> Callable[[str], Any]:
    """Whether a name, or the name of its container, matches a pattern with ``*`` and ``?``."""
    wild = re.escape(pattern).replace(r"\*", ".*").replace(r"\?", ".")
    return re.compile(rf"(?:{wild})(?:\[.*)?", flags=re.DOTALL).fullmatch


def globs(pattern: str) -> Callable[[str], Any]:
    """Whether a name matches a glob."""
    return lambda name: fnmatchcase(name, pattern)


def name_kinds(
    names: Sequence[str], private: BoolArray, like: Callable[[str], Callable[[str], Any]]
) -> None:
    """Say which rows were taken for private, if their names are of several kinds.

    A pattern is advised only if rows that are `like` it are those of the first kind, and no others.
    """
    kinds: dict[str, list[str]] = {}
    for i in np.flatnonzero(private).tolist():
        kinds.setdefault(re.sub(r"\d+", "*", _without_keys(names[i])), []).append(names[i])
    if len(kinds) < 2:
        return
    closer = [{_without_keys(name) for name in own} for own in kinds.values()]
    shown = [of.pop() if len(of) == 1 else kind for kind, of in zip(kinds, closer, strict=True)]
    patterns = shown[0].replace("[*]", ""), shown[0].replace("[*]", "*"), shown[0]
    first = next(iter(kinds.values()))
    alone = (repr(each) for each in patterns if list(filter(like(each), names)) == first)
    named = ", ".join(map(repr, shown[:_FEW])) + (", ..." if len(shown) > _FEW else "")
    warnings.warn(
        f"All inequalities were taken for private: {named}. Private rows may be missed. If some"
        " are nobody's data, such as limits of a stock, name the private ones:"
        f" private={next(alone, '[...], a list of names')}; all others are then public and hold.",
        MissedRowsWarning,
        stacklevel=3,
    )


def _without_keys(name: str) -> str:
    """A name without what stands in its brackets."""
    return re.sub(r"\[[^\]]*\]", "[*]", re.sub(r"\([^()]*\)", "(*)", name))
