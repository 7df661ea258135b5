"""What a solver is built from: the request of one call of :func:`privlp.solve`, checked as far as all methods agree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from privlp.checks import real
from privlp.errors import InvalidParameterError, UnsupportedProblemError
from privlp.privacy import Accountant, ChargedDraws, Ledger, Mechanism, Randomness
from privlp.privacy.randomness import RandomSource
from privlp.problem import LinearProgram, StandardForm
from privlp.relations import ConstraintPrivate, NeighbourRelation


@dataclass(frozen=True)
class Task:
    """One private solve: the program in standard form, the accuracy asked for, and where to pay and draw.

    Examples
    --------
    What :func:`privlp.solve` hands to a method:

    >>> from privlp import LinearProgram
    >>> from privlp.solvers import Task
    >>> lp = LinearProgram([1, 2], [[-1, -1], [-1, -3]], [-2, -3])
    >>> task = Task.of(lp, eps=1.0, delta=1e-6, s=1, opt=2.5, rng=0)
    >>> task.lp.shape, task.n, task.density(), task.relation.description
    ((2, 2), 2, 1.0, 'constraint-private: one record (at most 1 row) replaced')
    """

    form: StandardForm
    s: float | None
    alpha: float | None
    opt: Any
    width: Any
    ledger: Accountant
    randomness: Randomness
    split: Sequence[float] | None = None
    time_limit: float | None = None

    @classmethod
    def of(
        cls,
        lp: LinearProgram,
        eps: float,
        delta: float,
        s: float | None = None,
        alpha: float | None = None,
        *,
        opt: Any = None,
        width: Any = None,
        rng: RandomSource = None,
    ) -> Task:
        """The request that :func:`privlp.solve` would make of a method, with a ledger of its own.

        Parameters
        ----------
        lp, eps, delta, s, alpha, opt, width, rng
            As for :func:`privlp.solve`.

        Raises
        ------
        InvalidParameterError
            If `eps` or `delta` is outside its domain.

        Examples
        --------
        >>> from privlp import LinearProgram
        >>> from privlp.solvers import METHODS, Task
        >>> lp = LinearProgram([1, 2], [[-1, -1], [-1, -3]], [-2, -3])
        >>> task = Task.of(lp, eps=1.0, delta=1e-6, s=1, opt=2.5, rng=0)
        >>> METHODS["mirror"](task).rounds == task.ledger.entries[0].draws
        True
        """
        return cls(
            StandardForm.of(lp), s, alpha, opt, width, Ledger(eps, delta), Randomness.of(rng)
        )

    @property
    def lp(self) -> LinearProgram:
        """The user's program."""
        return self.form.lp

    @property
    def relation(self) -> NeighbourRelation:
        """What its neighbours may differ in."""
        return self.form.lp.neighbours

    @property
    def n(self) -> int:
        """Public number of private rows."""
        return self.relation.public_rows(self.form)

    def density(self) -> float:
        """The parameter s, checked against the public number of rows.

        Examples
        --------
        >>> import dataclasses
        >>> from privlp import LinearProgram
        >>> from privlp.solvers import Task
        >>> lp = LinearProgram([1, 2], [[-1, -1], [-1, -3]], [-2, -3])
        >>> task = Task.of(lp, eps=1.0, delta=1e-6, s=1, opt=2.5, rng=0)
        >>> task.density()
        1.0
        >>> dataclasses.replace(task, s=3).density()
        Traceback (most recent call last):
            ...
        privlp.errors.InvalidParameterError: s must be between 1 and the number of private rows, 2; got 3.
        """
        if self.s is None:
            raise InvalidParameterError(
                "s is missing: the number of private rows that the solution may violate by more"
                " than alpha."
            )
        s = real(self.s, "s")
        if not 1 <= s <= self.n:
            raise InvalidParameterError(
                f"s must be between 1 and the number of private rows, {self.n}; got {self.s!r}."
            )
        return s

    def accuracy(self) -> float | None:
        """The parameter alpha, positive or None.

        Examples
        --------
        >>> from privlp import LinearProgram
        >>> from privlp.solvers import Task
        >>> lp = LinearProgram([1, 2], [[-1, -1], [-1, -3]], [-2, -3])
        >>> task = Task.of(lp, eps=1.0, delta=1e-6, s=1, opt=2.5, rng=0)
        >>> task.accuracy() is None
        True
        """
        if self.alpha is None:
            return None
        alpha = real(self.alpha, "alpha")
        if not 0 < alpha < float("inf"):
            raise InvalidParameterError(
                "alpha must be positive and finite (or None for the best the budget allows), got"
                f" {self.alpha!r}."
            )
        return alpha

    def constraint_private(self, method: str, *, soft_rows: bool = False) -> ConstraintPrivate:
        """The relation, if it is the one under which whole constraints change and the program fits it.

        Parameters
        ----------
        method : str
            Name for messages.
        soft_rows : bool
            Whether the method takes programs with a penalty.

        Raises
        ------
        UnsupportedProblemError
            If it is not.

        Examples
        --------
        >>> from privlp import LinearProgram
        >>> from privlp.solvers import Task
        >>> lp = LinearProgram([1, 2], [[-1, -1], [-1, -3]], [-2, -3])
        >>> task = Task.of(lp, eps=1.0, delta=1e-6, s=1, opt=2.5, rng=0)
        >>> task.constraint_private("my method").change
        'replace'
        """
        if not isinstance(self.relation, ConstraintPrivate):
            raise UnsupportedProblemError(
                f"method={method!r} protects constraint-private programs, not:"
                f" {self.relation.description}."
            )
        self.refuse(method, split="one part of the program is private")
        if not self.lp.private.any() and self.relation.change == "replace":
            raise UnsupportedProblemError(
                "The program has no private rows, so there is nothing to protect: use solve_exact."
            )
        if not soft_rows:
            self.refuse_soft_rows(method)
        return self.relation

    def refuse_soft_rows(self, method: str) -> None:
        """Refuse a program with a penalty.

        Raises
        ------
        UnsupportedProblemError
            If it has one.

        Examples
        --------
        >>> from privlp import LinearProgram
        >>> from privlp.solvers import Task
        >>> lp = LinearProgram([1, 2], [[-1, -1], [-1, -3]], [-2, -3], penalty=5)
        >>> task = Task.of(lp, eps=1.0, delta=1e-6, s=1, opt=2.5, rng=0)
        >>> task.refuse_soft_rows("my method")
        Traceback (most recent call last):
            ...
        privlp.errors.UnsupportedProblemError: method='my method' treats every row as hard; ...
        """
        if self.lp.penalty is not None:
            raise UnsupportedProblemError(
                f"method={method!r} treats every row as hard; leave out penalty, or write the soft"
                " rows with slack variables."
            )

    def refuse(self, method: str, **unused: str) -> None:
        """Refuse arguments that a method has no use for, each with the reason.

        Raises
        ------
        InvalidParameterError
            If one of them was given.

        Examples
        --------
        >>> from privlp import LinearProgram
        >>> from privlp.solvers import Task
        >>> lp = LinearProgram([1, 2], [[-1, -1], [-1, -3]], [-2, -3])
        >>> task = Task.of(lp, eps=1.0, delta=1e-6, s=1, opt=2.5, rng=0)
        >>> task.refuse("my method", width="it needs no declared bounds")
        >>> task.refuse("my method", opt="it looks for the optimum")
        Traceback (most recent call last):
            ...
        privlp.errors.InvalidParameterError: opt has no use with method='my method': it looks for the optimum. Leave it out.
        """
        for name, reason in unused.items():
            if getattr(self, name) is not None:
                raise InvalidParameterError(
                    f"{name} has no use with method={method!r}: {reason}. Leave it out."
                )

    def charge(self, mechanism: Mechanism, count: int, purpose: str) -> ChargedDraws:
        """Pay for draws from this task's ledger.

        Examples
        --------
        >>> from privlp import LinearProgram
        >>> from privlp.privacy import LaplaceMechanism
        >>> from privlp.solvers import Task
        >>> lp = LinearProgram([1, 2], [[-1, -1], [-1, -3]], [-2, -3])
        >>> task = Task.of(lp, eps=1.0, delta=1e-6, s=1, opt=2.5, rng=0)
        >>> release = task.charge(LaplaceMechanism.of_eps(1.0, 0.5), 1, "number of rows violated at the origin")
        >>> noisy_count = release(2.0)
        >>> release.remaining, task.ledger.entries[0].purpose
        (0, 'number of rows violated at the origin')
        """
        description = self.relation.describe(self.lp)
        return self.ledger.charge(
            mechanism, count, purpose, self.relation, self.randomness, description=description
        )

    def charge_together(self, requests: Sequence[tuple[Mechanism, int, str]]) -> list[ChargedDraws]:
        """Pay for draws from several mechanisms at once, or for none.

        Examples
        --------
        >>> from privlp import LinearProgram
        >>> from privlp.privacy import LaplaceMechanism
        >>> from privlp.solvers import Task
        >>> lp = LinearProgram([1, 2], [[-1, -1], [-1, -3]], [-2, -3])
        >>> task = Task.of(lp, eps=1.0, delta=1e-6, s=1, opt=2.5, rng=0)
        >>> count, total = task.charge_together(
        ...     [(LaplaceMechanism.of_eps(1.0, 0.5), 1, "a count"), (LaplaceMechanism.of_eps(8.0, 0.25), 2, "sums")]
        ... )
        >>> count.remaining, total.remaining, [entry.purpose for entry in task.ledger.entries]
        (1, 2, ['a count', 'sums'])
        """
        description = self.relation.describe(self.lp)
        return self.ledger.charge_together(
            requests, self.relation, self.randomness, description=description
        )
