"""The one source of randomness, and the right to draw from it: each exists once, despite forks."""

from __future__ import annotations

import math
import os
import secrets
import threading
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Protocol, Self, TypeAlias

import numpy as np

from privlp.checks import is_integer
from privlp.errors import BudgetExceededError, BudgetFileError, InvalidParameterError, PrivLPError
from privlp.privacy.mechanisms import Mechanism
from privlp.privacy.prices import Price
from privlp.quiet import unnoticed

_forks = 0


def this_process() -> tuple[int, int]:
    """Number of the process and of the forks that led to it: no two of one ancestor share both."""
    return os.getpid(), _forks


class Unique:
    """An object that refuses to be copied, pickled, or used in another process than its own."""

    #: For messages: what the object is called (by default its class), what a copy would do, and
    #: what to do instead.
    called: str | None = None
    harm = "draw the same noise again"
    remedy = ""
    error: type[PrivLPError] = InvalidParameterError

    def __init__(self) -> None:
        self._process = this_process()

    def may_be_copied(self) -> bool:
        """Whether copies and other processes do no harm."""
        return False

    def refuse_elsewhere(self) -> None:
        """Raise :attr:`error` in every process but the one that made this object."""
        if self._process != this_process() and not self.may_be_copied():
            called = self.called or type(self).__name__
            raise self.error(
                f"This {called} belongs to the process that made it: another one would {self.harm}."
                f" {self.remedy}"
            )

    def __reduce_ex__(self, protocol: Any) -> Any:
        """What copy, deepcopy and pickle ask for."""
        if not self.may_be_copied():
            called = self.called or type(self).__name__
            raise self.error(
                f"A {called} cannot be copied or pickled: a copy would {self.harm}. {self.remedy}"
            )
        return super().__reduce_ex__(protocol)


class SpentOnce(Unique):
    """What must not be spent twice: a copy within the process is the object itself."""

    harm = "spend a second time what was paid for once"
    remedy = "Give each process a Budget of its own, or use threads."
    error = BudgetExceededError

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self


#: Seconds that a fork waits until no thread is at work on a file of SQLite's. SQLite notes in
#: memory which locks the process holds. A child that is forked in the middle would believe for ever
#: that a thread, which it does not have, holds one, and could use the file no more.
PATIENCE = 60.0


class _Accesses:
    """The accesses that are under way in this process; `cut` if it was forked in the middle."""

    def __init__(self, *, cut: bool = False) -> None:
        self.changed, self.count, self.cut = threading.Condition(), 0, cut


_accesses = _Accesses()


@contextmanager
def unforked() -> Iterator[None]:
    """Within it, no other thread forks."""
    accesses = _accesses
    if accesses.cut:
        raise BudgetFileError(
            "This process was forked while another thread was at work on a budget file, so it"
            " cannot use budget files. Nothing was drawn and nothing was charged. Start the process"
            " again, or by another way than fork."
        )
    with accesses.changed:
        accesses.count += 1
    try:
        yield
    finally:
        with accesses.changed:
            accesses.count -= 1
            accesses.changed.notify_all()


def _before_a_fork() -> None:
    _accesses.changed.acquire()  # from now on no access begins
    _accesses.changed.wait_for(lambda: _accesses.count == 0, PATIENCE)


def _in_the_child() -> None:
    global _accesses, _forks  # noqa: PLW0603 (one for the process)
    _forks += 1
    _accesses = _Accesses(cut=_accesses.cut or _accesses.count > 0)


if hasattr(os, "register_at_fork"):  # not on Windows, which has no fork
    os.register_at_fork(
        before=_before_a_fork,
        after_in_parent=lambda: _accesses.changed.release(),  # noqa: PLW0108 (of that moment)
        after_in_child=_in_the_child,
    )


RandomSource: TypeAlias = "int | np.random.Generator | Randomness | None"


class Randomness(Unique):
    """A NumPy generator together with the knowledge of where it came from.

    Noise keyed by the operating system must never be drawn twice: the difference of two releases
    with the same noise is the difference of their inputs. So such a source cannot be copied or
    pickled, and refuses to draw in a process forked off the one that made it. Threads may share it.
    A seeded source may be copied: its results are not for release anyway.

    `rng` is None, an int or a numpy.random.Generator. ``None`` (the default everywhere) keys the
    ChaCha20 stream cipher with 256 bits from the operating system: privacy is computational
    (``docs/proofs.md``, "What every claim assumes"). An int or a Generator makes a run
    reproducible. Results drawn from it are marked as not for release, because whoever knows the
    seed can subtract the noise.
    """

    remedy = "Leave rng out, so that each call makes a source of its own."

    def __init__(self, rng: RandomSource = None, name: str = "rng") -> None:
        super().__init__()
        self.seeded = rng is not None
        if rng is None:
            from randomgen import ChaCha  # noqa: PLC0415 (slow to load)

            self._generator = np.random.Generator(ChaCha(key=secrets.randbits(256), rounds=20))
        elif isinstance(rng, np.random.Generator):
            self._generator = rng
        elif is_integer(rng) and rng >= 0:
            self._generator = np.random.default_rng(int(rng))
        else:
            raise InvalidParameterError(
                f"{name} must be None (cryptographic randomness), a non-negative int or a"
                f" numpy.random.Generator, not {rng if is_integer(rng) else type(rng).__name__}.",
                parameter=name,
            )

    @classmethod
    def of(cls, rng: RandomSource, name: str = "rng") -> Randomness:
        """A source of randomness; `rng` itself where it is one already, as a Tape of audits is."""
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
        seeded = "seeded generator (experiments only, not for release)"
        return seeded if self.seeded else "ChaCha20 keyed by the operating system"

    def __repr__(self) -> str:
        return f"Randomness({self.description})"


#: What is charged: a mechanism, a number of draws, and their purpose.
Request: TypeAlias = tuple[Mechanism, int, str]


class Payer(Protocol):
    """The ledger that paid for draws."""

    def begin_a_draw(self) -> AbstractContextManager[object]:
        """The lock under which a draw begins; from then on, nothing can be charged."""

    def replace_charges(self, old: Sequence[Request], new: Sequence[Request]) -> None:
        """Take some charges back, for others that cost no more; within the lock."""


class ChargedDraws(SpentOnce):
    """The right to draw from one mechanism `count` times: paid for, and usable once each."""

    def __init__(
        self, mechanism: Mechanism, count: int, purpose: str, randomness: Randomness, payer: Payer
    ) -> None:
        super().__init__()
        self.mechanism = mechanism
        self.remaining = self._total = count
        self._purpose = purpose
        self._randomness = randomness
        self._payer = payer

    @property
    def request(self) -> Request:
        """What was charged."""
        return self.mechanism, self._total, self._purpose

    @property
    def sigma(self) -> float:
        """The standard deviation of Gaussian noise on one draw; 0 without noise."""
        return float(self.mechanism.sigma)  # type: ignore[attr-defined]

    def deviations(self) -> list[float]:
        """The standard deviation of Gaussian noise on each draw that is left."""
        mechanism, numbers = self.mechanism, range(self._total - self.remaining, self._total)
        return [mechanism.of_draw(number, self._total).sigma for number in numbers]  # type: ignore[attr-defined]

    def __call__(self, value: Any) -> Any:
        """Release `value` through the mechanism."""
        self.refuse_elsewhere()
        with self._payer.begin_a_draw():
            if self.remaining <= 0:
                raise BudgetExceededError(
                    f"All paid draws of the {self.mechanism.name} are used; charge the ledger for"
                    " more."
                )
            mechanism = self.mechanism.of_draw(self._total - self.remaining, self._total)
            self.remaining -= 1
        with unnoticed():
            return self._randomness.draw(mechanism, value, self._purpose)

    def secret_key(self) -> int:
        """256 random bits for coins that say nothing of the data, and stay secret: not charged."""
        self.refuse_elsewhere()
        return int.from_bytes(self._randomness.generator.bytes(32), "little")


def price_left(draws: Sequence[ChargedDraws]) -> float:
    """The sum of mu squared of all Gaussian draws that are left."""
    return math.fsum(
        (draw.mechanism.sensitivity / sigma) ** 2 for draw in draws for sigma in draw.deviations()
    )


def price_of(requests: Sequence[Request]) -> float:
    """The sum of mu squared of Gaussian draws that are asked for."""
    return math.fsum(mechanism.price.mu**2 * count for mechanism, count, _ in requests)


def exchanged(draws: Sequence[ChargedDraws], requests: Sequence[Request]) -> list[ChargedDraws]:
    """Gaussian draws in place of others that were paid for, cost as much or more, and are unused.

    Which ones are asked for may depend on what was released: all of it is mu-Gaussian-DP as long as
    the squares of mu add up to no more on every path (Dong, Roth and Su 2022; ``docs/proofs.md``).
    """
    kinds = [mechanism.price for mechanism, _, _ in requests]
    gaussian = all(price == Price.gaussian(price.mu) for price in kinds)
    gaussian = gaussian and all(draw.mechanism.price.law == "gaussian" for draw in draws)
    for draw in draws:  # before a lock is taken: in a forked process it may never become free
        draw.refuse_elsewhere()
    first = draws[0]
    once = len({id(draw) for draw in draws}) == len(draws)
    once = once and all(draw._payer is first._payer for draw in draws)
    with first._payer.begin_a_draw():
        unused = once and all(draw.remaining == draw._total for draw in draws)
        if not (gaussian and unused and price_of(requests) <= price_left(draws)):
            raise BudgetExceededError(
                "Only Gaussian draws of one ledger that are unused are exchanged, each once, for"
                " others that cost no more. Charge the ledger for both before the first draw."
            )
        first._payer.replace_charges([draw.request for draw in draws], requests)
        for draw in draws:
            draw.remaining = 0
    return [ChargedDraws(*request, first._randomness, first._payer) for request in requests]
