"""Record the releases of a computation, and make the same releases on a neighbour."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from privlp.privacy.mechanisms import Mechanism
from privlp.privacy.randomness import Randomness


@dataclass(frozen=True, eq=False)
class Release:
    """One draw: the exact private value, and what was released. Not private."""

    mechanism: Mechanism
    purpose: str
    exact: Any
    released: Any
    #: The value itself where it is drawn for an objective, perturbed by noise that stays secret.
    hidden: Any = None


class Tape(Randomness):
    """Randomness that keeps every release it makes, or makes those of another tape again.

    Not private: for audits.

    A proof of adaptive composition compares two neighbours that see the same released numbers. Each
    release then has two exact values, one on each neighbour. They may lie no farther apart than the
    sensitivity that was charged. To check this, numbers are compared; no statistics are needed.

    Noise in an objective stays secret, and its minimum is released. Two neighbours that see the
    same minimum have different noise: it differs by the gradients of their rows there. So a value
    that has a method `at`, this gradient, and an attribute `minimum` is moved by the difference,
    which then stands for the exact value.

    `quiet` releases exact values (and selects the largest score) whatever the mechanism. `replay`
    makes the releases of another tape again, one by one. Where this run asks for something else
    (another mechanism, another shape, one draw more), noise is drawn, and :func:`differences`
    tells. The generator goes on from where it stood after the release. So other draws (which record
    falls into which part, random features) are made again, too.
    """

    def __init__(self, seed: int = 0, *, quiet: bool = False, replay: Tape | None = None) -> None:
        super().__init__(seed)
        self.releases: list[Release] = []
        self._states: dict[int, Any] = {}  # of the generator, after each release
        self._quiet, self._replay = quiet, replay

    @property
    def description(self) -> str:
        """Where the noise comes from, in words."""
        return "recorded draws (an audit, not for release)"

    def draw(self, mechanism: Mechanism, value: Any, purpose: str) -> Any:
        exact = np.array(value, dtype=float)
        released, hidden = self._output(mechanism, exact), None
        if hasattr(value, "at"):
            hidden, moved = value, self._moved(mechanism, value, exact)
            exact, released = exact + moved, released - moved
        exact.setflags(write=False)
        self._states[len(self.releases)] = self.generator.bit_generator.state
        self.releases.append(Release(mechanism, purpose, exact, released, hidden))
        return released if isinstance(released, int) else released.copy()

    def _planned(self, mechanism: Mechanism, exact: Any) -> Release | None:
        """The release of the replayed tape that this draw makes again, if it is the same."""
        releases = [] if self._replay is None else self._replay.releases[len(self.releases) :]
        for planned in releases[:1]:
            if planned.mechanism == mechanism and planned.exact.shape == exact.shape:
                return planned
        return None

    def _moved(self, mechanism: Mechanism, value: Any, exact: Any) -> Any:
        """How far a hidden gradient is from that of the replayed run, at the latter's minimum."""
        planned = self._planned(mechanism, exact)
        if planned is None or planned.hidden is None or planned.hidden.minimum is None:
            return np.zeros_like(exact)
        point = planned.hidden.minimum
        return value.at(point) - planned.hidden.at(point)

    def _output(self, mechanism: Mechanism, exact: Any) -> Any:
        planned = self._planned(mechanism, exact)
        if planned is not None and self._replay is not None:
            bits = self.generator.bit_generator
            bits.state = self._replay._states.get(len(self.releases), bits.state)
            return planned.released
        plain = mechanism.without_noise(exact) if self._quiet else None
        released = mechanism.release(exact, self) if plain is None else plain
        # An index, or an array that nobody else holds.
        return int(released) if isinstance(released, int | np.integer) else np.array(released)


def differences(one: Tape, two: Tape) -> list[str]:
    """The first public difference of two tapes: in the number of releases, or in a mechanism."""
    found = []
    if len(one.releases) != len(two.releases):
        found.append(
            f"the number of draws: {len(one.releases)} on one program, {len(two.releases)} on its"
            " neighbour"
        )
    for number, (a, b) in enumerate(zip(one.releases, two.releases, strict=False), start=1):
        if (a.mechanism, a.purpose) != (b.mechanism, b.purpose):
            found.append(f"the mechanism of draw {number}, '{a.purpose}'")
        elif a.exact.shape != b.exact.shape:
            found.append(f"the length of what is released in draw {number}, '{a.purpose}'")
    return found[:1]


def changes(one: Tape, two: Tape) -> list[tuple[Release, Release, float]]:
    """Each pair of releases, with its change as a multiple of the sensitivity that was charged."""
    return [
        (a, b, a.mechanism.distance(a.exact, b.exact) / a.mechanism.sensitivity)
        for a, b in zip(one.releases, two.releases, strict=False)
        if a.mechanism == b.mechanism and a.exact.shape == b.exact.shape
    ]


def largest_changes(one: Tape, two: Tape) -> dict[str, float]:
    """The largest of these multiples for each purpose; one above 1 is a fault."""
    found: dict[str, float] = {}
    for release, _, ratio in changes(one, two):
        found[release.purpose] = max(ratio, found.get(release.purpose, 0.0))
    return found
