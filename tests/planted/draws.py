"""All draws of a call: recorded, played back, and told from what is drawn outside mechanisms."""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any, Self
from unittest import mock

import numpy as np

from privlp.privacy import Mechanism


def mechanisms(kind: type[Mechanism] = Mechanism) -> Iterator[type[Mechanism]]:
    """All mechanisms, abstract ones included."""
    yield kind
    for child in kind.__subclasses__():
        yield from mechanisms(child)


class Draws(ExitStack):
    """Records every release while the context is open, or plays those of another run back.

    Calls `before` ahead of each. In `made` is each mechanism with what it released, in order;
    `outside` counts the methods of a :meth:`generator` asked for while no mechanism was drawing.
    """

    def __init__(
        self, replay: "Draws | None" = None, *, before: Callable[[Mechanism], Any] = lambda _: None
    ) -> None:
        super().__init__()
        self.made: list[tuple[Mechanism, Any]] = []
        self.outside: Counter[str] = Counter()
        self._replay, self._before, self._depth, self._strayed = replay, before, 0, False

    @property
    def strayed(self) -> bool:
        """Whether a replayed run asked for another release than the recorded one, or for fewer."""
        replay = self._replay
        return replay is not None and (self._strayed or len(self.made) != len(replay.made))

    def generator(self, seed: int = 0) -> np.random.Generator:
        """A generator that tells when it is used."""
        return _Spied(np.random.PCG64(seed), self)

    def __enter__(self) -> Self:
        for kind in set(mechanisms()) - {Mechanism}:
            if "release" in vars(kind):
                wrapped = mock.patch.object(kind, "release", self._wrapped(kind.release))
                self.enter_context(wrapped)
        return self

    def _wrapped(self, release: Any) -> Any:
        def draw(mechanism: Mechanism, value: Any, randomness: Any) -> Any:
            if self._depth:
                return release(mechanism, value, randomness)
            self._before(mechanism)
            self._depth += 1
            try:
                released = self._planned(mechanism, value)
                if released is None:
                    released = release(mechanism, value, randomness)
            finally:
                self._depth -= 1
            self.made.append((mechanism, np.array(released, copy=True)))
            return released

        return draw

    def _planned(self, mechanism: Mechanism, value: Any) -> Any:
        if self._replay is None or self._strayed:
            return None
        planned = self._replay.made[len(self.made) : len(self.made) + 1]
        for recorded, released in planned:
            whole = released.dtype.kind in "iu"
            if recorded == mechanism and (whole or released.shape == np.shape(value)):
                return int(released) if whole else released.copy()
        self._strayed = True
        return None

    def used(self, method: str) -> None:
        """Note that a generator was asked for `method`."""
        if not self._depth and hasattr(np.random.Generator, method):
            self.outside[method] += 1


class _Spied(np.random.Generator):
    def __init__(self, bits: Any, draws: Draws) -> None:
        super().__init__(bits)
        self._draws = draws

    def __getattribute__(self, name: str) -> Any:
        if not name.startswith("_"):
            object.__getattribute__(self, "_draws").used(name)
        return super().__getattribute__(name)
