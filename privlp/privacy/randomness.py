"""The one source of randomness: cryptographic unless the user asks for a reproducible experiment."""

from __future__ import annotations

import secrets

import numpy as np
from randomgen import ChaCha

from privlp.errors import InvalidParameterError

RandomSource = None | int | np.random.Generator


class Randomness:
    """A NumPy generator together with the knowledge of where it came from.

    Parameters
    ----------
    rng : None, int or numpy.random.Generator
        ``None`` (the default everywhere) keys the ChaCha20 stream cipher with 256 bits from the operating system.
        An int or a Generator makes a run reproducible; results drawn from it are marked as not for release, because
        whoever knows the seed can subtract the noise.

    Raises
    ------
    InvalidParameterError
        If `rng` is anything else.
    """

    def __init__(self, rng: RandomSource = None) -> None:
        self.seeded = rng is not None
        if rng is None:
            self.generator = np.random.Generator(ChaCha(key=secrets.randbits(256), rounds=20))
        elif isinstance(rng, np.random.Generator):
            self.generator = rng
        elif isinstance(rng, int | np.integer) and not isinstance(rng, bool) and rng >= 0:
            self.generator = np.random.default_rng(int(rng))
        else:
            raise InvalidParameterError(
                "rng must be None (cryptographic randomness), a non-negative int or a numpy.random.Generator, "
                f"not {type(rng).__name__}."
            )

    @property
    def description(self) -> str:
        """Where the bits come from, in words."""
        return "seeded generator (experiments only, not for release)" if self.seeded else "ChaCha20 keyed by the operating system"

    def __repr__(self) -> str:
        return f"Randomness({self.description})"
