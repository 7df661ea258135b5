"""Read what is private, so that no error tells what could not be read."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
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


@contextmanager
def harmless_warnings(*others: type[Warning]) -> Iterator[None]:
    """Drop warnings but those of privlp, and others that are known to quote nothing."""
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        yield
    for one in heard:
        if isinstance(one.message, (*_OWN, *others)):
            warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)


def unquoted(read: Callable[[], _Found], message: str, parameter: str | None = None) -> _Found:
    """What `read` returns; an error of its own, with nothing behind it, if it raises.

    Errors and warnings of privlp pass: they hold no private data. Other warnings may quote some,
    and are dropped. A lack of memory stays one, without the words of whoever noticed it, which may
    tell a number of rows.

    Raises
    ------
    InvalidProblemError
        With the message, about the parameter.
    MemoryError
    """
    memory = False
    try:
        with harmless_warnings():
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
