"""What a case is: a name, and a call that computes a result."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

Case = tuple[str, Callable[[], Any]]


def later(function: Any, *arguments: Any, **options: Any) -> Callable[..., Any]:
    """A call to be made later, with arguments that may be wrong on purpose: of no checked types."""
    return partial(function, *arguments, **options)
