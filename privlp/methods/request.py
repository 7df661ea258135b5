"""The request of one call of :func:`privlp.solve`, from which a run is planned."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from privlp.checks import (
    FloatArray,
    of_usual_size,
    positive,
    real,
    require,
    require_flag,
    rows_of_share,
)
from privlp.errors import InvalidParameterError, UnsupportedProblemError
from privlp.linear_program import LinearProgram
from privlp.privacy import Accountant, Ledger
from privlp.problem.data import ProgramData
from privlp.problem.standard_form import StandardForm
from privlp.regions.simplex import is_range, range_of, require_optimum
from privlp.relations.base import NeighbourRelation, PublicPart
from privlp.relations.constraint import ConstraintPrivate

_BOUNDS = 2  # A width is a bound on rows, or one on entries of A and one on b.


class KnownPoint(NamedTuple):
    """A public point from which a solve goes on, and one deep within its rows, if one is known."""

    x: FloatArray
    deep: FloatArray | None = None


@dataclass(frozen=True)
class SolveRequest:
    """One private solve before it is charged: the public part of the program, and what is asked.

    Nothing here depends on private data, so no plan does.

    Attributes
    ----------
    public : PublicPart
        The public part of the program.
    ledger : Accountant
        Says what draws would cost. Only :func:`privlp.solve` charges it.
    s, alpha, opt, width, split, time_limit, feasible, prices, start
        As for :func:`privlp.solve`.

    Examples
    --------
    What :func:`privlp.solve` hands to a method:

    >>> from privlp import LinearProgram
    >>> from privlp.methods import SolveRequest
    >>> lp = LinearProgram([1, 2], [[-1, -1], [-1, -3]], [-2, -3])
    >>> request = SolveRequest.of(lp, eps=1.0, delta=1e-6, s=1, opt=2.5)
    >>> request.n, request.largest_n, request.relation.description
    (2, 2, 'constraint-private: one record (at most 1 row) replaced')
    >>> request.most_missed, request.rows_of_s()  # of a row with two sides one counts
    (2, (2, ''))
    >>> request.lp.shape, request.form.n_private  # costs and bounds; private rows are not in it
    ((0, 2), 0)
    >>> request.density(), request.accuracy() is None, request.has_noise, request.has_delta
    (1.0, True, True, True)
    >>> request.costs_of_hint()  # costs between which opt says that the optimum lies
    (-inf, 2.5)
    >>> request.without(("opt",)).opt is None
    True

    What a method says that does not take the program:

    >>> request.constraint_private("my method").change
    'replace'
    >>> request.require_delta()
    >>> request.refuse_soft_rows("my method")
    >>> request.refuse_prices("my method", "another method does")
    >>> request.refuse("my method", opt="it looks for the optimum")
    Traceback (most recent call last):
        ...
    privlp.errors.InvalidParameterError: opt has no use with method='my method': it looks for ...
    >>> print(request.unprotected("rows"))
    The program has no private rows. Taken for public: costs c, bounds of variables. ...
    """

    public: PublicPart
    ledger: Accountant
    s: Any = None
    alpha: float | None = None
    opt: Any = None
    width: Any = None
    split: Sequence[float] | None = None
    time_limit: float | None = None
    feasible: str | float | None = None
    prices: bool = False
    start: KnownPoint | None = None
    auto: bool = False  #: Whether method="auto" asks, which may let another method take over.

    def __post_init__(self) -> None:
        if self.opt is not None:
            require_optimum(self.opt)
        if self.s is not None:
            object.__setattr__(self, "s", rows_of_share(self.s, self.rows_of_s()[0]))
            real(self.s, "s")
        if self.width is not None:
            bounds = np.ravel(np.array(self.width, dtype=object))
            wrong = "width must be one bound, or a pair of bounds."
            require(len(bounds) <= _BOUNDS, wrong, "width")
            for bound in bounds:
                positive(bound, "width", finite=True)
        self.accuracy()
        require_flag(self.prices, "prices")

    @classmethod
    def of(
        cls,
        lp: LinearProgram,
        eps: float,
        delta: float,
        s: float | str | None = None,
        alpha: float | None = None,
        **asked: Any,
    ) -> SolveRequest:
        """The request that :func:`privlp.solve` would hand to a method, with its own ledger."""
        return cls(lp.public(), Ledger(eps, delta), s, alpha, **asked)

    def without(self, options: Sequence[str]) -> SolveRequest:
        """The request without some options."""
        nothing: dict[str, Any] = dict.fromkeys(options)
        return replace(self, **nothing)

    @property
    def form(self) -> StandardForm:
        """The public part in standard form."""
        return self.public.form

    @property
    def lp(self) -> ProgramData:
        """The public part of the program."""
        return self.public.form.lp

    @property
    def relation(self) -> NeighbourRelation:
        """What neighbours of the program may differ in."""
        return self.public.relation

    @property
    def n(self) -> int:
        """Public number of private rows."""
        return self.public.n

    @property
    def largest_n(self) -> int:
        """Public bound on the number of private rows: n where records are replaced."""
        relation = self.relation
        return relation.largest_n(self.n) if isinstance(relation, ConstraintPrivate) else self.n

    @property
    def most_missed(self) -> int:
        """Public bound on the private rows that a point may miss: of a row, one side at most."""
        relation, rows = self.relation, self.rows_of_s()[0]
        return relation.largest_n(rows) if isinstance(relation, ConstraintPrivate) else rows

    @property
    def has_noise(self) -> bool:
        """Whether eps is finite."""
        return math.isfinite(self.ledger.eps)

    @property
    def has_delta(self) -> bool:
        """Whether Gaussian noise is allowed: delta is positive, or there is no noise."""
        return self.ledger.delta > 0 or not self.has_noise

    def density(self) -> float:
        """The parameter s, checked against the public number of rows; of hard ones among soft."""
        self._require_private_rows()
        wrong = "s is missing: how many private rows may be missed, a number or a share like '5%'."
        require(self.s is not None, wrong, "s")
        s, (most, hard) = real(self.s, "s"), self.rows_of_s()
        if not 1 <= s <= most:
            raise InvalidParameterError(
                f"s must be between 1 and the number of {hard}private rows, {most}; got"
                f" {s:.12g}.{self._as_share(s, most)}",
                parameter="s",
            )
        return s

    def rows_of_s(self) -> tuple[int, str]:
        """Of how many private rows s is a number: of hard ones, where there are others."""
        prices = self.public.prices
        return (
            (self.public.rows, "")
            if prices is None or not prices.hard
            else (prices.hard_rows, "hard ")
        )

    def _as_share(self, s: float, n: int) -> str:
        """What to give in place of a number of rows that looks like a share of them."""
        if not 0 < s < 1 or s * n < 1:
            return ""
        percent = f"{100 * s:g}"
        return (
            f" s is a number of rows: {percent} % of {n:,} rows is s = {int(s * n)},"
            f" which may be written s='{percent}%'."
        )

    def accuracy(self) -> float | None:
        """The parameter alpha, positive or None."""
        if self.alpha is None:
            return None
        alpha = real(self.alpha, "alpha")
        if not 0 < alpha < float("inf"):
            raise InvalidParameterError(
                "alpha must be positive and finite (or None for the best the budget allows), got"
                f" {self.alpha!r}.",
                parameter="alpha",
            )
        return of_usual_size(alpha, "alpha")

    def costs_of_hint(self) -> tuple[float, float] | None:
        """Costs between which `opt` says that the optimum lies, to minimise and without offset.

        A value bounds them from above alone.
        """
        if self.opt is None:
            return None
        ends = range_of(self.opt) if is_range(self.opt) else (real(self.opt, "opt"),)
        costs = sorted(self.lp.sign * (end - self.lp.offset) for end in ends)
        return costs[0] if len(costs) > 1 else -math.inf, costs[-1]

    def constraint_private(
        self, method: str, *, soft_rows: bool = False, prices: bool = False
    ) -> ConstraintPrivate:
        """The relation, if whole constraints change under it and the method takes the program.

        `soft_rows` and `prices` say what it takes. Another relation, a program without private
        rows, soft rows and a request for prices are refused.
        """
        if not isinstance(self.relation, ConstraintPrivate):
            raise UnsupportedProblemError(
                f"method={method!r} protects constraint-private programs, not:"
                f" {self.public.description}.",
                parameter="method",
            )
        self.refuse(method, split="one part of the program is private")
        self._require_private_rows()
        if not soft_rows:
            self.refuse_soft_rows(method)
        if not prices:
            self.refuse_prices(method, "method='perturbed' does")
        return self.relation

    def _require_private_rows(self) -> None:
        if not self.public.has_private_rows:
            raise self.unprotected("rows")

    def unprotected(self, what: str) -> UnsupportedProblemError:
        """The refusal of a program that declares nothing private: what it takes for public."""
        return UnsupportedProblemError(
            f"The program has no private {what}. Taken for public:"
            f" {self.relation.public_parts(self.lp)}. A result without noise publishes what it"
            " depends on. Readers take equalities for public unless told otherwise: if any of this"
            " holds private data, name its rows by private=..., and write a bound that does as a"
            " row. Only if all of it may be known, use solve_exact.",
            parameter="private",
        )

    def refuse_soft_rows(self, method: str) -> None:
        """Refuse a program with a penalty."""
        if self.lp.penalty is not None:
            raise UnsupportedProblemError(
                f"method={method!r} treats every row as hard; leave out penalty, or write the soft"
                " rows with slack variables.",
                parameter="method",
            )

    def refuse_prices(self, method: str, advice: str) -> None:
        """Refuse a request for shadow prices."""
        if self.prices:
            raise UnsupportedProblemError(
                f"method={method!r} releases no shadow prices: {advice}; or leave out prices=True.",
                parameter="prices",
            )

    def refuse(self, method: str, **unused: str) -> None:
        """Refuse options that a method has no use for, each with the reason."""
        for name, reason in unused.items():
            wrong = f"{name} has no use with method={method!r}: {reason}. Leave it out."
            require(getattr(self, name) is None, wrong, name)

    def require_delta(self) -> None:
        """Refuse a budget without delta, which Gaussian noise needs."""
        if not self.has_delta:
            raise InvalidParameterError(
                "delta must be positive with this method, whose noise is Gaussian; or use"
                " method='dmw'.",
                parameter="delta",
            )


def cheapest_at_zero(lp: ProgramData) -> bool:
    """Whether bounds alone make 0 a point of least cost, beside which rows are measured."""
    live = lp.bounds[:, 0] < lp.bounds[:, 1]
    low, high = lp.bounds[live].T
    cost = lp.sign * lp.c[live]
    ends = np.where(cost > 0, low, np.where(cost < 0, high, np.clip(0.0, low, high)))
    return not ends.any()
