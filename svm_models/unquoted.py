"""Read what is private, so that no error tells what could not be read."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from privlp import InvalidProblemError, PrivLPError

_Found = TypeVar("_Found")


def unquoted(read: Callable[[], _Found], message: str, parameter: str) -> _Found:
    """What `read` returns; an error of its own, with nothing behind it, if it raises.

    Errors of privlp pass: they hold no private data. So does a lack of memory.

    Raises
    ------
    InvalidProblemError
        With the message, about the parameter.
    """
    try:
        return read()
    except PrivLPError as raised:
        raised.__context__ = raised.__cause__ = None
        raise
    except MemoryError:
        raise
    except Exception:  # noqa: S110 (of any library; it would stay as the context)
        pass
    raise InvalidProblemError(message, parameter=parameter)
