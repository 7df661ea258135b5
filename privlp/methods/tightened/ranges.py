"""Programs within declared ranges, all public: the tightest one, and some that are made up."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from types import SimpleNamespace
from typing import Any, NamedTuple, cast
from weakref import WeakKeyDictionary

import numpy as np
import scipy.sparse as sp

from privlp.checks import BoolArray, FloatArray, IntArray
from privlp.errors import UnsupportedProblemError
from privlp.methods.base import PlannedRun
from privlp.methods.noisy_numbers import AdditiveNoise, BoundedNoise, scale_of
from privlp.methods.request import SolveRequest
from privlp.methods.tightened import rows as repairs
from privlp.methods.tightened.rows import TightenedRows
from privlp.privacy import (
    GaussianMechanism,
    TruncatedGaussianMechanism,
    TruncatedLaplaceMechanism,
    TruncatedSupNormMechanism,
)
from privlp.problem.bands import LOWER_SIDE
from privlp.problem.highs import row_sizes
from privlp.problem.standard_form import StandardForm
from privlp.relations.numbers import PrivateNumbers, ProgramNumbers


def rows_with(form: StandardForm, numbers: list[PrivateNumbers]) -> IntArray:
    """The user's rows that hold private numbers."""
    found = [form.row[part.at] for part in numbers if part.part == "b"]
    found += [part.at[0] for part in numbers if part.part == "A"]
    return np.unique(np.concatenate([np.zeros(0, dtype=np.int64), *found]))


def require_inequalities(form: StandardForm, numbers: list[PrivateNumbers]) -> None:
    """Refuse equalities that hold private numbers."""
    rows = rows_with(form, numbers)
    if (form.lp.row_lower[rows] == form.lp.b[rows]).any():
        raise UnsupportedProblemError(
            "A private equality cannot be tightened, so it cannot be satisfied with certainty:"
            " exact equality would publish the number. Give it a band by lp.with_tolerance(...), or"
            " keep columns back by with_recourse(...); or state the inequality that matters, or"
            " make it public (private=...)."
        )


def require_one_end(form: StandardForm, numbers: list[PrivateNumbers]) -> None:
    """Refuse private ranges whose two ends share one declared interval."""
    rows = [form.row[part.at] for part in numbers if part.part == "b"]
    if any(np.bincount(own).max(initial=0) > 1 for own in rows):
        raise UnsupportedProblemError(
            "A private range lower <= A x <= upper has one declared interval for both of its ends,"
            " which leaves nothing between them in the worst case. Write it as two rows, with an"
            " interval for each end."
        )


def needed_ends(form: StandardForm, part: PrivateNumbers) -> tuple[BoolArray, BoolArray]:
    """Which private numbers need a lower and which an upper end to tighten rows, each (m,)."""
    if part.part != "A":
        return np.full(len(part), part.part == "b"), np.zeros(len(part), dtype=bool)
    row, column = part.at
    lower, upper = form.lp.bounds[column].T
    above, below = np.isfinite(form.lp.b[row]), np.isfinite(form.lp.row_lower[row])
    grows = (above & (upper > 0)) | (below & (lower < 0))
    falls = (above & (lower < 0)) | (below & (upper > 0))
    return falls, grows


def open_ended(form: StandardForm, part: PrivateNumbers) -> bool:
    """Whether some number has no declared end on a side that tightens a row."""
    lower, upper = needed_ends(form, part)
    return bool((lower & ~np.isfinite(part.low)).any() or (upper & ~np.isfinite(part.high)).any())


_NAMED = 3
# Of a row's largest coefficient: less slack than that is none.
_NO_ROOM = 1e-7
_NO_POINT = (
    "The tightened worst case has no feasible point: with every private number at the tight end of"
    " its declared range, no x satisfies all rows (or none that double precision can certify)."
)
_TOLERANCE = (
    " A band leaves room if its tolerance is more than half the width of the declared range: give"
    " with_tolerance(...) a larger one."
)
_INSTEAD = (
    "Declare narrower ranges, ask for a probability such as feasible=0.99, or leave out"
    " feasible='always'. Nothing was drawn and nothing was charged."
)


class WorstCase(NamedTuple):
    """What is known of the tightest program. All of it is public."""

    # Satisfies every program within the declared ranges, in exact arithmetic. Where costs are
    # public it is the optimum of the tightest program: no release has a worse one.
    point: FloatArray
    inside: FloatArray  # Satisfies them too, and is strictly inside every row that leaves room.
    objective: float | None  # That of `point`, ``None`` where costs are private.
    cramped: tuple[str, ...]  # Names of inequality rows that leave no room in the worst case.
    prices: FloatArray | None = None  # Of the user's rows, where costs are public.

    @classmethod
    def of(cls, form: StandardForm, numbers: list[PrivateNumbers]) -> WorstCase:
        """Solve the tightest program, and certify a point of it."""
        if form not in _KNOWN:  # a plan asks once for each method
            _KNOWN[form] = cls._found(form, numbers)
        return _KNOWN[form]

    @classmethod
    def _found(cls, form: StandardForm, numbers: list[PrivateNumbers]) -> WorstCase:
        rows = TightenedRows.tightest(form, numbers)
        inside = repairs.strictly_inside(rows)
        sure = None if inside is None else repairs.certain(rows, inside)
        if sure is None:
            deepest = repairs.point_inside(rows, np.ones(len(rows.rhs), dtype=bool))
            sure = None if deepest is None else repairs.certain(rows, deepest)
        if sure is None:
            found = _in_the_way(rows, numbers)
            named = f" In the way: {_listed(found)}." if found else ""
            if any(name.endswith(LOWER_SIDE) for name in form.lp.row_names or ()):
                named += _TOLERANCE
            raise UnsupportedProblemError(f"{_NO_POINT}{named} {_INSTEAD}")
        tight = rows.slack(sure) <= _NO_ROOM * np.maximum(row_sizes(rows.A), _NO_ROOM)
        cramped = tuple(form.lp.row_name(int(i)) for i in np.unique(rows.owner[tight]))
        if any(part.part == "c" for part in numbers):
            return cls(sure, sure, None, cramped)
        # The certified optimum; `sure` if HiGHS or the repair fails.
        point, prices = sure, None
        if (optimum := rows.best_with_prices(form.lp.c)) is not None:
            best, prices = optimum
            near = repairs.nudged(rows, best)
            near = repairs.certain_near(rows, best, sure)[0] if near is None else near
            point = sure if near is None else near
        return cls(point, sure, form.lp.objective(point), cramped, prices)

    def note(self, sense: str) -> str:
        """What a plan says about it."""
        notes = []
        if self.objective is not None:
            most = "at most" if sense == "min" else "at least"
            notes.append(f"Whatever the noise, the objective is {most} {self.objective:.6g}.")
        if self.cramped:
            notes.append(
                f"In the worst case no x is strictly inside {_listed(self.cramped)}: if rounding"
                " errors there cannot be repaired, the result is a public point, with a warning."
            )
        return " ".join(notes)


#: Worst cases of the programs that are in use. Their private numbers follow from the relation.
_KNOWN: WeakKeyDictionary[StandardForm, WorstCase] = WeakKeyDictionary()


def _in_the_way(rows: TightenedRows, numbers: list[PrivateNumbers]) -> tuple[str, ...]:
    """Private rows that have to give way, and how far, so that the others hold: few rows."""
    sizes = np.maximum(row_sizes(rows.A), _NO_ROOM)
    width = _declared_widths(rows, numbers)
    unit = np.where(width > 0, width, sizes)
    soft = np.flatnonzero(np.isin(rows.owner, rows_with(rows.form, numbers)))
    shape = len(rows.rhs), len(soft)
    relaxed = sp.csr_array((-unit[soft], (soft, np.arange(len(soft)))), shape=shape)
    found = repairs.solved_with(rows, relaxed, 1.0, np.inf)
    given = np.zeros(len(soft)) if found is None else found[len(rows.column) :]
    return tuple(
        _words(rows, int(soft[k]), float(given[k] * unit[soft[k]]), ends=bool(width[soft[k]] > 0))
        for k in np.argsort(-given)
        if given[k] > _NO_ROOM
    )


def _declared_widths(rows: TightenedRows, numbers: list[PrivateNumbers]) -> FloatArray:
    """Width of the declared range of each row's right-hand side, (r,); 0 where it has none."""
    sides = np.zeros(len(rows.form.row))
    for part in numbers:
        if part.part == "b":
            sides[part.at] = np.where(np.isfinite(part.high), part.high - part.low, 0.0)
    widths = np.zeros(len(rows.rhs))
    widths[: len(rows.side)] = sides[rows.side]
    return widths


def _words(rows: TightenedRows, i: int, by: float, *, ends: bool) -> str:
    """A row's name, and the declared end that would do, in the user's sign."""
    name = rows.form.lp.row_name(int(rows.owner[i]))
    if not ends:
        return name
    sign, end = int(rows.form.row_sign[rows.side[i]]), float(rows.rhs[i])
    side = "lower" if sign > 0 else "upper"
    return f"{name} ({side} end {sign * end:.6g}; about {sign * (end + by):.6g} would do)"


def _listed(names: tuple[str, ...]) -> str:
    """The first names, and how many more there are."""
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more


#: Shares of the declared ranges between which made-up right-hand sides lie.
_MIDDLE = (0.25, 0.75)
#: How many programs are made up, by rows times variables; larger programs are not tried.
_TRIALS = {500: 10, 20_000: 6, 1_000_000: 1}


class Trial(NamedTuple):
    """A made-up program: its optimum, and what runs lose on it."""

    numbers: ProgramNumbers
    best: float  # To minimise, without offset.
    losses: list[float | None]


def loss_in_trials(
    request: SolveRequest, numbers: Sequence[PrivateNumbers], runs: Sequence[PlannedRun]
) -> list[float] | None:
    """What planned runs lose on the same made-up programs, as a share; None if one fails."""
    cells = (request.lp.shape[0] + request.n) * request.lp.shape[1]
    count = next((count for most, count in _TRIALS.items() if cells <= most), 0)
    lost, sizes = np.zeros(len(runs)), 0.0
    for trial in trials(request, numbers, runs, count, np.random.default_rng):
        if trial is None or None in trial.losses:
            return None
        lost += cast("list[float]", trial.losses)
        sizes += abs(trial.best)
    return [float(loss) / sizes for loss in lost] if sizes > 0 else None


def trials(
    request: SolveRequest,
    numbers: Sequence[PrivateNumbers],
    runs: Sequence[PlannedRun],
    count: int,
    noise: Callable[[int], np.random.Generator],
) -> Iterator[Trial | None]:
    """Planned runs on `count` made-up programs; None for a program without an optimum."""
    for seed in range(count):
        made_up = made_up_numbers(numbers, np.random.default_rng(seed))
        if made_up is None:
            yield None
            continue
        known = ProgramNumbers.of(request.form)
        for part in numbers:
            known = known.having(part, made_up[part.part])
        optimum = rows_of(known, numbers).best(known.c)
        if optimum is None:
            yield None
            continue
        sign = request.lp.sign
        points = [_point(run, made_up, noise(seed)) for run in runs]
        best = float(known.c @ optimum)
        losses = [None if x is None else float(sign * (known.c @ x - best)) for x in points]
        yield Trial(known, sign * best, losses)


def rows_of(known: ProgramNumbers, numbers: Sequence[PrivateNumbers]) -> TightenedRows:
    """The rows of a program whose numbers are all known."""
    ends = next((part for part in numbers if part.part == "A"), None)
    return TightenedRows.of(known, None if ends is None else (ends, *(known.values(ends),) * 2))


def made_up_numbers(
    numbers: Sequence[PrivateNumbers], rng: np.random.Generator
) -> dict[str, FloatArray] | None:
    """Public numbers in place of the private ones; None if a declared range has an end missing."""
    if not all(np.isfinite(part.high - part.low).all() for part in numbers):
        return None
    heights = {part.part: rng.random(len(part)) for part in numbers}
    if "b" in heights:
        heights["b"] = _MIDDLE[0] + (_MIDDLE[1] - _MIDDLE[0]) * heights["b"]
    parts = {part.part: part for part in numbers}
    if "A" in parts and "c" in parts:
        columns, first = np.unique(parts["A"].at[1], return_index=True)
        of_column = dict(zip(columns.tolist(), heights["A"][first].tolist(), strict=True))
        pairs = zip(parts["c"].at[0].tolist(), heights["c"].tolist(), strict=True)
        heights["c"] = np.array([of_column.get(column, height) for column, height in pairs])
    return {name: part.low + (part.high - part.low) * heights[name] for name, part in parts.items()}


class TrialDraw(NamedTuple):
    """Stands for a charged draw in a trial: noise of about its law, of a public seed."""

    mechanism: AdditiveNoise | BoundedNoise
    rng: np.random.Generator

    def __call__(self, values: FloatArray) -> FloatArray:
        """The values with noise; bounded noise moves them by between minus two widths and 0."""
        mechanism, size = self.mechanism, len(values)
        if isinstance(mechanism, TruncatedSupNormMechanism):
            length = min(self.rng.gamma(size + 1, mechanism.scale), mechanism.width)
            return values - mechanism.width + self.rng.uniform(-length, length, size)
        gaussian = isinstance(mechanism, GaussianMechanism | TruncatedGaussianMechanism)
        draw = self.rng.normal if gaussian else self.rng.laplace
        noise = draw(0.0, scale_of(mechanism), size)
        if isinstance(mechanism, TruncatedGaussianMechanism | TruncatedLaplaceMechanism):
            return values - mechanism.width + np.clip(noise, -mechanism.width, mechanism.width)
        return values + noise


def _point(
    run: PlannedRun, made_up: dict[str, FloatArray], rng: np.random.Generator
) -> FloatArray | None:
    """What a planned run releases on made-up numbers."""
    draws = [TrialDraw(cast("Any", mechanism), rng) for mechanism, _, _ in run.charges]
    rows = SimpleNamespace(values=lambda numbers: made_up[numbers.part])  # they are public
    solver = run.start(rows, cast("Any", draws))
    for t in range(solver.rounds):
        solver.step(t)
    return solver.released().x
