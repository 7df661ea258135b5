"""Read what is private, so that no error tells what could not be read."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from privlp.errors import (
    InvalidProblemError,
    MissedRowsWarning,
    MostlyNoiseWarning,
    NotPrivateWarning,
    PrivLPError,
    PublicPointWarning,
)

_Found = TypeVar("_Found")
#: What privlp raises itself, warnings turned into errors included: it holds no private data.
_OWN = (
    PrivLPError,
    MissedRowsWarning,
    MostlyNoiseWarning,
    NotPrivateWarning,
    PublicPointWarning,
)
#: Of errors whose kind is all that is known.
WHY = "The error is not shown, because it may quote private data."


def unquoted(read: Callable[[], _Found], message: str, parameter: str | None = None) -> _Found:
    """What `read` returns; an error of its own, with nothing behind it, if it raises.

    Errors of privlp pass: they hold no private data. A lack of memory stays one, without the words
    of whoever noticed it, which may tell a number of rows.

    Raises
    ------
    InvalidProblemError
        With the message, about the parameter.
    MemoryError
    """
    memory = False
    try:
        return read()
    except _OWN as raised:
        raised.__context__ = raised.__cause__ = None
        raise
    except MemoryError:
        memory = True
    except Exception:  # noqa: S110 (of any library; it would stay as the context)
        pass
    if memory:
        raise MemoryError(f"There is too little memory for {parameter or 'what is read'}.")
    raise InvalidProblemError(message, parameter=parameter)
