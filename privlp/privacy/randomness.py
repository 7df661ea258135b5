"""The one source of randomness: cryptographic, or seeded for experiments."""

from __future__ import annotations

import secrets
from typing import Any, TypeAlias

import numpy as np
from randomgen import ChaCha

from privlp.checks import is_integer
from privlp.errors import InvalidParameterError
from privlp.privacy.mechanisms import Mechanism
from privlp.privacy.unique import Unique

RandomSource: TypeAlias = "int | np.random.Generator | Randomness | None"


class Randomness(Unique):
    """A NumPy generator together with the knowledge of where it came from.

    Noise keyed by the operating system must never be drawn twice: the difference of two releases
    with the same noise is the difference of their inputs. So such a source cannot be copied or
    pickled, and refuses to draw in a process forked off the one that made it. Threads may share it.
    A seeded source may be copied: its results are not for release anyway.

    Parameters
    ----------
    rng : None, int or numpy.random.Generator
        ``None`` (the default everywhere) keys the ChaCha20 stream cipher with 256 bits from the
        operating system: privacy is computational (``docs/proofs.md``, "What every claim assumes").
        An int or a Generator makes a run reproducible. Results drawn from it are marked as not for
        release, because whoever knows the seed can subtract the noise.

    Examples
    --------
    >>> import copy
    >>> from privlp.privacy import Randomness
    >>> copy.deepcopy(Randomness(3)).seeded
    True
    >>> copy.deepcopy(Randomness())
    Traceback (most recent call last):
        ...
    privlp.errors.InvalidParameterError: A Randomness cannot be copied or pickled: a copy would
    draw the same noise again. ...
    """

    remedy = "Leave rng out, so that each call makes a source of its own."

    def __init__(self, rng: RandomSource = None, name: str = "rng") -> None:
        super().__init__()
        self.seeded = rng is not None
        if rng is None:
            self._generator = np.random.Generator(ChaCha(key=secrets.randbits(256), rounds=20))
        elif isinstance(rng, np.random.Generator):
            self._generator = rng
        elif is_integer(rng) and rng >= 0:
            self._generator = np.random.default_rng(int(rng))
        else:
            raise InvalidParameterError(
                f"{name} must be None (cryptographic randomness), a non-negative int or a"
                f" numpy.random.Generator, not {type(rng).__name__}.",
                parameter=name,
            )

    @classmethod
    def of(cls, rng: RandomSource, name: str = "rng") -> Randomness:
        """A source of randomness; `rng` itself where it is one already.

        A :class:`~privlp.audits.Tape` is one, for instance.
        """
        if not isinstance(rng, Randomness):
            return cls(rng, name)
        rng.refuse_elsewhere()
        return rng

    def may_be_copied(self) -> bool:
        """Whether it is seeded: then no result drawn from it is for release."""
        return self.seeded

    @property
    def generator(self) -> np.random.Generator:
        """The generator, for draws; refused in another process."""
        self.refuse_elsewhere()
        return self._generator

    def draw(self, mechanism: Mechanism, value: Any, purpose: str) -> Any:  # noqa: ARG002 (tapes)
        """Release `value`. Every paid draw goes through here, with the purpose it was paid for."""
        return mechanism.release(value, self)

    @property
    def description(self) -> str:
        """Where the bits come from, in words."""
        return (
            "seeded generator (experiments only, not for release)"
            if self.seeded
            else "ChaCha20 keyed by the operating system"
        )

    def __repr__(self) -> str:
        return f"Randomness({self.description})"
