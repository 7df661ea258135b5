"""What a plan says: whether rows and eps are enough, and what no private method can do."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from numbers import Real

import numpy as np

from privlp.checks import warn_of_large_delta
from privlp.errors import MissedRowsWarning, UnsupportedProblemError
from privlp.methods.base import NoiseOnNumbers, Prediction
from privlp.methods.counts import noise_of_one_release
from privlp.methods.direct_noise import size_of_x
from privlp.methods.noisy_numbers import NAMES
from privlp.methods.request import SolveRequest
from privlp.privacy.prices import Price, composed_epsilon
from privlp.regions.simplex import is_range
from privlp.relations.numbers import LowSensitivity
from privlp.status import Verdict, rounded_up

# Predicted violations, as shares of the amount by which a row typically varies over the region: one
# above the first is useless, one below the second is useful.
_USELESS, _USEFUL = 0.5, 0.1
_LARGEST_EPS = 20.0
_MANY_RECORDS = 50  # With fewer, variables are as many anyway.
# The part of the noise that would just do, at which an eps is named.
_EASILY = 0.99
_NOT_PREDICTED = (
    " How much that costs cannot be foretold, because it depends on the sizes and tails of"
    " violations, which are private."
)
_IN_ITS_PLACE = (
    " Where a noisy comparison does not speak for the answer, a public point, or one of a public"
    " line, is released."
)
_AT_MOST = (
    " The cost should exceed the least possible by 5 % at most; by more, in proportion, where that"
    " is next to nothing or few rows make most of it, as the worst tenth of losses do (CVaR), and"
    " where most violations are 0 at once, the effects of variables nearly cancel (values far from"
    " 0 beside an intercept), or bounds are far too wide."
)
_FAR_FROM_BEST = " The objective may be far from its best value."


def warn_of_request(request: SolveRequest) -> None:
    """Warn of a delta or an s with which next to nothing is promised, before a draw is charged."""
    ledger = request.ledger
    warn_of_large_delta(ledger.eps, ledger.delta, request.public.records, stacklevel=4)
    if request.s is not None and request.s == request.rows_of_s()[0] > 1:
        warnings.warn(
            f"s = {request.s:g} counts all private rows: x may miss each of them, so they ask for"
            " nothing. Give a smaller s, such as s='5%'.",
            MissedRowsWarning,
            stacklevel=3,
        )


def advise(request: SolveRequest, prediction: Prediction | None) -> tuple[Verdict, str]:
    """Whether rows and eps are enough, and in words what would be."""
    if prediction is not None and prediction.on_numbers:
        verdict, advice = _advice_on_noise(request, prediction.on_numbers)
        return verdict, f"{advice} {prediction.note}".rstrip()
    if prediction is not None and prediction.violation == 0:
        return Verdict.ROWS_HOLD, (
            f"{Verdict.ROWS_HOLD}: the rows hold. What noise on costs loses of the objective"
            " depends on them."
        )
    if prediction is not None and prediction.difficulty is not None:
        return _advice_on_difficulty(request, prediction, prediction.difficulty)
    on_opt = _advice_on_opt(request)
    if prediction is not None and (declared := _declared_range(request)):
        return _advice_on_range(prediction.violation / declared, on_opt)
    if prediction is None or prediction.yardstick is None:
        return Verdict.UNKNOWN, (
            "Whether these violations are small is for you to say: what rows vary by over the"
            f" region is not known publicly.{on_opt}"
        )
    share = prediction.violation / prediction.yardstick
    times = share / _USEFUL
    n, eps = times * request.n, times * request.ledger.eps
    more = (
        f" About {times:.2g} times the rows ({n:.2g}), or eps = {eps:.2g}, would bring it to a"
        " tenth."
    )
    varies = "what a row typically varies by over the region"
    compared = f"the predicted violation is {share:.2g} of {varies}"
    if share > _USELESS:
        verdict, more = Verdict.TOO_FEW_ROWS, f", so the result would tell next to nothing.{more}"
    elif share > _USEFUL:
        verdict, more = Verdict.ROUGH, f".{more}"
    else:
        verdict, more = (
            Verdict.ENOUGH_ROWS,
            (", if all rows can be satisfied; else that is what noise adds to the least possible."),
        )
    return verdict, f"{verdict}: {compared}{more}{on_opt}"


def _declared_range(request: SolveRequest) -> float | None:
    """How far declared ranges let a row move typically; None where they do not say it."""
    relation = request.relation
    numbers = relation.private_numbers(request.form) if isinstance(relation, LowSensitivity) else []
    widths = {part.part: float(np.median(part.high - part.low)) for part in numbers}
    size = 1.0
    if "A" in widths:
        try:
            size = size_of_x(request)
        except UnsupportedProblemError:
            return None
    width = widths.get("b", 0.0) + size * widths.get("A", 0.0)
    return width if 0 < width < math.inf else None


def _advice_on_range(share: float, on_opt: str) -> tuple[Verdict, str]:
    """Whether predicted violations are small beside what right-hand sides may vary by."""
    compared = f"the predicted violation is {share:.2g} of what declared ranges let a row move"
    if share >= 1:
        verdict, more = Verdict.TOO_MUCH_NOISE, ". A larger eps or a smaller sensitivity would help"
    else:
        verdict, more = (Verdict.ROUGH if share > _USEFUL else Verdict.NEARLY_HOLD), ""
    return verdict, f"{verdict}: {compared}{more}.{on_opt}"


def _advice_on_difficulty(
    request: SolveRequest, prediction: Prediction, difficulty: float
) -> tuple[Verdict, str]:
    """Whether noise on all variables is small beside s rows, or beside all soft rows."""
    eps, n = _enough_eps(request, difficulty), f"{about(difficulty * request.n)} rows"
    share, capped = f"{prediction.largest_share:.0%}", prediction.capped
    # Whatever s, soft rows may be what is too few.
    soft, ways = prediction.whatever_s >= difficulty, [f"eps = {eps:g}"]
    ways = ways if eps <= _LARGEST_EPS else []
    if not soft and prediction.whatever_s <= 1:
        s = difficulty * request.density()
        ways = [f"s = {about(s)}", *ways] if s <= request.n * prediction.largest_share else ways
    grows = f"of {share} of them or more" if capped else "that grows like them"
    ways.append(n if soft else f"{n} with an s {grows}")
    would = f" About {', or '.join(ways)}{',' if len(ways) > 1 else ''} would do."
    of_soft = "the soft rows"
    if request.public.deciding < 1:
        of_soft = f"the {100 * prediction.deciding:.3g}% of the soft rows that decide"
    elif prediction.deciding < 1:
        beside = f"{prediction.deciding:.2g} of what the others cost"
        of_soft = f"soft rows, whose cheaper sides cost {beside},"
    allowed = f"{share} of all rows" if capped else of_soft if soft else "s rows"
    times = f"{max(difficulty, 1.01):.3g}" if 1 < difficulty < 1.05 else f"{difficulty:.2g}"
    compared = f"noise on all variables is {times} times as large as {allowed} allow"
    if capped and difficulty > 1:
        compared += ", and an s beyond that lessens it no further"
    if difficulty > prediction.hopeless:
        verdict = Verdict.TOO_FEW_ROWS
        own = _variables_of_records(request)
        more = f", so the result would be mostly noise.{would}{own or other_relations(request)}"
    elif difficulty > 1:
        of_cost = _NOT_PREDICTED if soft else _FAR_FROM_BEST
        of_cost += _IN_ITS_PLACE if soft and request.s is None else ""
        verdict, more = Verdict.ROUGH, f".{of_cost}{would}"
    else:
        foretold = _AT_MOST
        if request.s is not None or request.lp.penalty is None:
            up_to = f" Up to s = {request.density():g} rows are given up where that"
            foretold = f"{up_to} improves the objective."
        more = f".{foretold}"
        verdict = Verdict.ENOUGH_ROWS
    return verdict, f"{verdict}: {compared}{more} {prediction.note}".rstrip()


def _enough_eps(request: SolveRequest, difficulty: float) -> float:
    """An eps at which noise is less by this factor, rounded up to two digits, if any is named."""
    wanted = noise_of_one_release(request) / difficulty * _EASILY
    enough = composed_epsilon([(Price.gaussian(1 / wanted), 1)], request.ledger.delta)
    if not 0 < enough <= _LARGEST_EPS:  # 0: a large delta alone would do
        return math.inf
    return rounded_up(enough)


def about(value: float) -> str:
    """A number of rows, rounded up to two digits."""
    return f"{math.ceil(rounded_up(max(value, 1.0))):,.0f}"


def _variables_of_records(request: SolveRequest) -> str:
    """What to do with variables of single records, where there are as many as records."""
    d, records = request.lp.shape[1], request.public.records
    if d < records or records < _MANY_RECORDS or request.lp.penalty is not None:
        return ""
    return (
        f" There are {d:,} variables for {records:,} records. If each record has one of its own,"
        " such as a shortfall that costs (of a CVaR, a regression or a penalty), leave these"
        " variables out, and make the rows soft: penalty= their costs. Then noise grows with the"
        " others only."
    )


def other_relations(request: SolveRequest) -> str:
    """What works for few rows."""
    if request.relation.hides_rows:
        return ""
    return (
        " If one record only moves some numbers by a known amount, and does not own a whole row,"
        " declare that (ScalarPrivate, RowPrivate, ..., or --scalar-private D; zeros='public' if 0"
        " is 0 for everyone): few rows are enough then, and with feasible=0.99 all of them hold,"
        " with that probability."
    )


def _advice_on_opt(request: SolveRequest) -> str:
    """What a wrong optimum does to a method that uses it as it is."""
    if request.lp.penalty is not None or request.opt is None or is_range(request.opt):
        return ""
    low, high, loss = "low", "high", "cost"
    if request.lp.sign < 0:
        low, high, loss = high, low, "objective"
    return (
        " opt is used as it is, and nothing checks it: too"
        f" {low} a value costs violations, too {high} a one {loss}."
    )


def _advice_on_noise(
    request: SolveRequest, noises: Sequence[NoiseOnNumbers]
) -> tuple[Verdict, str]:
    """Whether the noise on private numbers is smaller than their declared ranges."""
    drowned = " and ".join(NAMES[noise.part] for noise in noises if noise.is_mostly_noise)
    if drowned:
        return Verdict.TOO_MUCH_NOISE, (
            f"{Verdict.TOO_MUCH_NOISE} of the {drowned}: most releases would be an end"
            " of it, and x hardly depend on the data. A larger eps or delta, or a smaller"
            " sensitivity, would help."
        )
    shares = ", ".join(
        f"{noise.share:.2g} ({NAMES[noise.part]})"
        for noise in noises
        if math.isfinite(noise.declared)
    )
    compared = (
        f" Typically it takes up this share of the declared range: {shares}." if shares else ""
    )
    verdict = (
        Verdict.PROBABLY_HOLD if isinstance(request.feasible, Real) else Verdict.NEVER_VIOLATED
    )
    return verdict, (
        f"{verdict}.{compared} What that costs in objective depends on the private numbers."
    )


# Of so many records and more that a coordinate may rest on, a factor e^(-m eps / 2) leaves nothing.
_MOST_EXPONENT = 40.0


def least_missed(
    d: int,
    n: int,
    eps: float,
    delta: float,
    *,
    excess: float = 0.0,
    rows_of_one_record: int = 1,
    hides_rows: bool = False,
) -> float:
    """Expected rows that a private method misses at least, on some program of this size.

    The program is "minimise sum_j x_j, x >= 0" under rows x_j >= v_j, of m records for each j, with
    v_j uniform on [0, 1]. Where records come and go, to move v_j takes 2 m of them. Proof:
    ``docs/proofs.md``, "What no private method can do".
    """
    most = min(n // rows_of_one_record, int(2 * _MOST_EXPONENT / eps) + 1)
    if most < 1 or eps > _MOST_EXPONENT:
        return 0.0
    m = np.unique(np.geomspace(1, most, 2000).astype(int)).astype(float)
    asked = np.minimum(d, n // (rows_of_one_record * m))  # all rows must have room
    t = (1 + hides_rows) * m * eps
    of_delta = 4 * delta * np.sinh(t / 2) / np.expm1(eps)
    u = np.maximum(1 / (1 + np.exp(t / 2)) - excess / 2 - of_delta, 0)
    return float((asked * rows_of_one_record * m * u).max())
