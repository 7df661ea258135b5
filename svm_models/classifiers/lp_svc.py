"""The LP-SVM by elastic duals against a private player on ||w||_1 <= R, with nothing to tune."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from privlp import MostlyNoiseWarning
from privlp.checks import require_flag, whole
from privlp.game.duals import AcceleratedDescent, ElasticDual
from privlp.game.loop import Game, drive
from privlp.methods.fallback import HALF_AS_BAD_AGAIN, keeps, shares
from privlp.privacy import Accountant, ChargedDraws, GaussianMechanism, Ledger
from privlp.tables import is_dask
from svm_models.account import Account, Neighbours, adds_or_removes, supposed
from svm_models.classifiers import fairness as fair
from svm_models.classifiers.base import PrivateLinearClassifier
from svm_models.classifiers.lp_svc_plan import Mistakes, Rule, priced, share_of_fairness
from svm_models.parameters import FloatArray, radius_within, require_delta
from svm_models.plan import parts_of, warn_of_noise
from svm_models.records import Preparation
from svm_models.records.columns import planned
from svm_models.records.grid import SOFTNESS, RecordGrid, RecordsOnGrid, WhitenedRecords, Whitening
from svm_models.records.source import RecordSource, decisions, read, read_dask
from svm_models.whitening import Coordinates, noise_of_one_sum, second_moments

# Steps are this share of those that the curvature allows: more rounds of them average the noise.
_STEP = 0.25
_INSTEAD = (
    "A noisy comparison of mistakes does not speak for the fit, so one class is named for everyone;"
    " the weights still rank records. More records, a larger eps or fewer features would help,"
    " unless features tell little of the class."
)
_NOT_SHOWN = (
    "A noisy comparison of mistakes does not show that the fit errs less than one class for"
    " everyone, and it may name one; the weights still rank records. More records, a larger eps,"
    " tighter X_bounds or fewer features would help, unless features tell little of the class; for"
    " a rare label, threshold_share, or positive_rate of PrivateClassifier."
)
# A fit is shown to err less where the sum speaks for it by more than so many deviations.
_SHOWN = 2.0
# How much more accurately classes are counted than a regression's constant. Where that would take
# more than half of the budget, Laplace noise at this share of eps is smaller than Gaussian noise.
_SHARPER, _MOST_OF_GAUSSIAN, _PURE = 1.7, 0.5, 0.8
# Binary digits of a compared weight.
_BITS = 20
# Records that were scaled down to a smaller share of their length are worth a warning.
_SHORT = 0.5
# An intercept of so many times the largest decision leaves no record another class, long ones too.
_BEYOND = 1e6
# More would take for ever.
_MOST_ROUNDS = 10**6


@dataclass(eq=False, repr=False)
class PrivateLPSVC(PrivateLinearClassifier):
    """LP-SVM on the ball ||w||_1 <= R, trained by a private game, with nothing to tune.

    Minimises the mean Huber-smoothed hinge loss over the ball. Its saddle point: record i has a
    dual weight z_i in [0, 1], the slope of the loss at its own margin; the player sees sum_i z_i
    y_i x_i with Gaussian noise, and answers by accelerated mirror descent. A small share of the
    budget buys the second moments of the records first. The sums are released in coordinates in
    which these are about the same in all directions, so that noise is largest where the records
    are, and steps reach all directions alike; records that are long there are scaled down. The sum
    for z_i = 1/2 is released once. Rounds release how far sums are from it, which has half the
    sensitivity. Without noise no record is scaled, and w tends to the exact minimiser as `rounds`
    grows.

    *Neighbours*: one record replaced; n and the classes are public. Or one record added or removed
    (``relation="add-remove"``): then n is private, a nominal number takes its place in the rule and
    in the player's steps, and sums are never divided by the true one.

    *Sensitivity*, for records of norm data_norm = 1. Moments: ||m m^T - m' m'^T||_F^2 = ||m||^4 +
    ||m'||^4 - 2 (m·m')^2 <= 2. Sums: z_i depends on record i and on released points, the whitening
    on the released moments, and abs(z_i - 1/2) <= 1/2. So a record contributes a vector of norm at
    most 1/2 and its replacement another: 1. Where a record is added or removed ||m m^T||_F <= 1 and
    1/2 take their places. Sums are exact: nothing is added for rounding.

    *Budget*: one ledger. One Gaussian release of p (p + 1)/2 numbers takes a tenth of the squared
    Gaussian parameters, one of p numbers 0.35 of them. At medium noise (nu below from 0.003 to
    0.01) the moments of the whitened and shortened records are released too, at the same
    sensitivity: the shares are 0.05, 0.08 and 0.33. T releases of p numbers take the rest, later
    ones with less noise because they count more (``WeightedGaussianMechanism``). All are charged
    before the first. Proof: ``docs/proofs.md``, "Elastic duals on an L1 ball".

    *Rule*: nu = sigma sqrt(p)/n, sigma the noise of one release at the whole budget, is a function
    of n, p, eps and delta; R = 50/sqrt(nu), in units of 1/data_norm; T = max(9.5 nu^(-1/3), 4.4
    nu^(-1/2)), which grows with eps; steps are a quarter of those that the moments allow; second
    moments below 150 nu^2 (per record) are taken for noise. Above nu = 0.003 the player moves less
    along weak directions where released sums show the classes far apart. A heuristic, confirmed by
    trial: ``docs/results/private_lp_svc.md``.

    Parameters
    ----------
    eps : float
        In (0, inf]; ``inf`` adds no noise, and ``privacy_`` says so.
    delta : float
        In (0, 1), well below 1/n: the noise is Gaussian.
    radius : float, optional
        R, public; ``None``: by the rule.
    rounds : int, optional
        T, public; ``None``: by the rule.
    fallback : bool
        Buy the class of most records, and compare mistakes: where a noisy comparison does not speak
        for the fit, that class is named for everyone, by an intercept; the weights still rank. A
        warning says so, or that the fit is not shown to err less. Not beside `threshold_share`,
        which has another aim.
    fairness : {"demographic_parity", "equal_opportunity"}, optional
        A constraint on decisions, and a share of the budget that measures it: the two groups of
        ``fit(X, y, sensitive_features=...)`` are to be named positive about equally often; or,
        equal opportunity, those among them whose label is the second class. Who is in which group
        is private, and not asked for by `predict`.
    fairness_tolerance : float
        In [0, 1), public: the gap between these shares that is allowed.
    common_parameters

    Attributes
    ----------
    coef_ : (1, p) array
        ``||coef_||_1 <= radius_``, the weight of the constant included.
    intercept_ : (1,) array
        Moved, if a threshold was bought or one class is named for everyone.
    classes_ : (2,) array
    radius_ : float
    rounds_ : int
    fairness_gap_ : float
        The gap that was measured at the end, with noise; with `fairness` only.
    privacy_ : privlp.privacy.PrivacyRecord

    Notes
    -----
    :meth:`fit` also takes a sequence of blocks of records, with a sequence of label arrays or one
    array, memory maps, and Dask arrays, whose chunks stay on the workers of a cluster (labels are
    gathered). X is neither copied nor converted as a whole. All forms of the same
    records give the same results, to the last bit.

    Examples
    --------
    >>> from svm_models import PrivateLPSVC, make_separable_sphere
    >>> X, y = make_separable_sphere(4000, random_state=0)
    >>> svm = PrivateLPSVC(eps=1.0, delta=1e-8, classes=(-1, 1), random_state=0).fit(X, y)
    >>> svm.score(X, y) > 0.9, float(abs(svm.coef_).sum()) <= svm.radius_
    (True, True)
    """

    eps: float = 1.0
    delta: float = 1e-6
    _: KW_ONLY
    radius: float | None = None
    rounds: int | None = None
    fallback: bool = True
    fairness: str | None = None
    fairness_tolerance: float = 0.05
    fairness_gap_: float = field(init=False)
    radius_: float = field(init=False)
    rounds_: int = field(init=False)
    _fitted: float = field(init=False)
    _balance: float | None = field(init=False)

    @property
    def _needs_delta(self) -> bool:
        """Noise is Gaussian."""
        return True

    def _read(self, X: Any, y: Any) -> tuple[RecordSource, Any]:
        """Records as they were given: training converts a few at a time."""
        of_kind = read_dask if is_dask(X) else read
        return of_kind(self, X, y, count_is_private=adds_or_removes(self.relation))

    def _takes(self, sensitive_features: Any) -> bool:
        fair.check(self, sensitive_features)
        return True

    def _bounded(self, X: RecordSource) -> RecordSource:
        """Training makes records ready, a few at a time."""
        return X

    def _decisions(self, X: RecordSource, w: FloatArray) -> FloatArray:
        found = X.rows(np.ones(X.shape[0])).map(decisions, w, self._prepare)
        return np.concatenate(found)

    @property
    def _plans_gaussian_draws_only(self) -> bool:
        return self.threshold_share is None and not self.fallback

    def _train_privately(
        self, X: RecordSource, signs: FloatArray, account: Account, neighbours: Neighbours
    ) -> FloatArray:
        prepare = self._prepare
        n, p, data_norm = neighbours.n, X.shape[1] + bool(prepare.constant), prepare.norm
        rule = self._rule(neighbours, p, account.ledger)
        if self.radius is not None:
            rule = replace(rule, radius=float(self.radius) * data_norm)
        self.radius_, self.rounds_ = rule.radius / data_norm, rule.rounds
        warned = warn_of_noise(self, n, X.shape[1], stacklevel=5)
        moments, *rest = account.charge_together(priced(neighbours, rule, account.ledger))
        of_fairness = fair.Draws(rest.pop(-2), rest.pop(-1)) if rule.fair else None
        of_fallback = [rest.pop(-2), rest.pop(-1)] if rule.choice else []
        *again, centre, sums = rest
        grid = RecordGrid.of(neighbours.most)
        # Of norm 1, so that w is in units of 1/data_norm.
        on_grid = partial(RecordsOnGrid, data_norm=data_norm, grid=grid, prepare=prepare)
        records = X.rows(signs).keep(on_grid)
        coordinates = Coordinates(
            np.eye(p),
            second_moments(records, RecordsOnGrid.second_moments, grid, moments) / n,
            rule.ridge,
        )
        if prepare.constant and not adds_or_removes(self.relation):
            _warn_of_long_records(prepare, coordinates.moments[-1, -1], moments.sigma / n)
        if again:
            coordinates = Coordinates.measured(
                records, coordinates.whiten, grid, again[0], n, rule.ridge
            )
        whiten = Whitening.of(coordinates.whiten, grid)
        shorten = math.isfinite(account.ledger.eps)
        weights = self._class_weights()
        of_classes = None if weights is None else weights[1]
        whitened = records.keep(
            partial(self._of_loss(rule), whiten=whiten, shorten=shorten, of_classes=of_classes)
        )
        half = np.asarray(centre(whiten.of_sum(whitened.total(WhitenedRecords.centre))))
        # In these coordinates the mean loss has curvature 1/(2 h reach^2) at most, as far as the
        # moments tell.
        pace = (_STEP if shorten else 1.0) * rule.pace
        step = pace * 2 * SOFTNESS * coordinates.reach**2 / n
        noise = centre.mechanism
        assert isinstance(noise, GaussianMechanism)  # noqa: S101 (by _charge)
        separation = coordinates.separation(half, noise.sigma, n) if rule.steered else 0.0
        ball = coordinates.ball(step, rule.radius, separation)
        player = AcceleratedDescent(ball, sums, costs=-half)
        dual = ElasticDual(whitened, player.point, 2 * SOFTNESS, finish=whiten.of_sum)
        game = Game(dual, player, rounds=rule.rounds)
        drive(game, progress=False, time_limit=None)
        w = game.released().x
        assert w is not None  # noqa: S101 (the player always has a point)
        w = w * min(1.0, rule.radius / max(float(np.abs(w).sum()), 1e-300)) / data_norm
        if of_fairness is not None:
            seen = partial(WhitenedRecords, whiten=whiten, shorten=shorten)
            w = self._evened_out(
                X, signs, w, of_fairness, on_grid, seen, whiten, coordinates.whiten
            )
        # As it is before it is moved; and by how much positive records outweigh the others, where
        # that is known and moves it.
        _, self._fitted = prepare.weights(w)
        self._balance, shown = None, True
        if of_fallback:
            shown = self._fall_back(X, signs, w, of_fallback, n)
        if of_fairness is not None and self.intercept_[0]:
            self.fairness_gap_ = 0.0
        if not (shown or warned):
            said = _INSTEAD if self.intercept_[0] else _NOT_SHOWN
            warnings.warn(said, MostlyNoiseWarning, stacklevel=4)
        return w

    def _evened_out(
        self,
        X: RecordSource,
        signs: FloatArray,
        w: FloatArray,
        draws: fair.Draws,
        on_grid: Callable[..., RecordsOnGrid],
        seen: Callable[..., WhitenedRecords],
        whiten: Whitening,
        matrix: FloatArray,
    ) -> FloatArray:
        """Weights moved against the direction between the groups until decisions are even."""
        members = X.members * (signs > 0) if self.fairness == fair.KINDS[1] else X.members
        groups = fair.Groups(members, draws.counts, float(self.fairness_tolerance))
        unit = fair.direction_between(
            X, members, groups.sizes, on_grid, seen, whiten.of_sum, draws.direction
        )
        move = matrix @ unit
        # So far that the weights' own part along the direction changes its sign.
        longest = 2 * float(np.linalg.norm(np.linalg.solve(matrix, w)))
        of_each = self._decisions(X, w), self._decisions(X, move)
        step, self.fairness_gap_ = groups.step(*of_each, longest)
        w = w - step * move
        return w * min(1.0, self.radius_ / max(float(np.abs(w).sum()), 1e-300))

    def _of_loss(self, rule: Rule) -> Callable[..., WhitenedRecords]:  # noqa: ARG002
        """What weighs whitened records, by the slopes of the loss."""
        return WhitenedRecords

    def _fall_back(
        self, X: RecordSource, signs: FloatArray, w: FloatArray, paid: list[ChargedDraws], n: int
    ) -> bool:
        """Move the intercept so far that one class is named for everyone, if that errs less.

        Returned is whether the fit is shown to err less.
        """
        _, weights = self._weights(signs)
        found, balance, shown = larger_class(self._decisions(X, w), signs, weights, *paid, n=n)
        self._balance = balance / n if found else None
        reach = float(np.linalg.norm(w)) * self._prepare.norm
        self.intercept_ = np.array([found * max(_BEYOND * reach, np.finfo(float).tiny)])
        return shown

    def _check_parameters(self, p: int) -> None:  # noqa: ARG002
        require_delta(self, self.eps, self.delta)
        self._falls_back()
        if self.radius is not None:
            radius_within(self.radius, self._prepare.norm)
        if self.rounds is not None:
            whole(self.rounds, "rounds", _MOST_ROUNDS)

    def _forecast(self, records: int, n_features: int, eps: float) -> Mistakes:
        """What noise will do with so many records, at an eps; nothing is charged."""
        ledger = Ledger(eps * self._share_left(), self.delta)
        neighbours = supposed(self, records)
        sigma = noise_of_one_sum(ledger, neighbours).sigma
        p = planned(self.X_bounds, n_features)[0] + require_flag(
            self.fit_intercept, "fit_intercept"
        )
        rule = self._rule(neighbours, p, ledger)
        return Mistakes(
            priced=lambda: parts_of(priced(neighbours, rule, ledger), records),
            moved=sigma * math.sqrt(p) / records,
            falls_back=self._falls_back(),
            margin=rule.margin,
        )

    def _rule(self, neighbours: Neighbours, p: int, ledger: Accountant) -> Rule:
        sigma, answer, choice, pure = noise_of_one_sum(ledger, neighbours).sigma, 0.0, 0.0, 0.0
        if self._falls_back():
            of_count = sigma / neighbours.n
            answer, choice = shares(_SHARPER * of_count, of_count, 1)
            if answer > _MOST_OF_GAUSSIAN:
                answer, pure = 0.0, _PURE
        of_fairness = 0.0 if self.fairness is None else share_of_fairness()
        answer, choice = answer * (1 - of_fairness), choice * (1 - of_fairness)
        # What Laplace noise leaves of squared Gaussian parameters is about what a smaller eps buys.
        left = (1 - answer - choice - of_fairness) * (1 - pure) ** 2
        rule = Rule.of(neighbours.n, p, sigma / math.sqrt(left))
        rounds = rule.rounds if self.rounds is None else int(self.rounds)
        return replace(
            rule,
            rounds=rounds,
            answer=answer,
            choice=choice,
            pure=pure,
            fair=self.fairness is not None,
        )

    def _falls_back(self) -> bool:
        """Whether one class may be named for everyone; a balanced threshold has another aim."""
        return require_flag(self.fallback, "fallback") and self.threshold_share is None


def _warn_of_long_records(prepare: Preparation, moment: float, noise: float) -> None:
    """Warn where the released moment of the constant shows that records were scaled down a lot."""
    square = (moment + 2 * noise) * (prepare.norm / prepare.constant) ** 2
    if square < _SHORT**2:
        warnings.warn(
            "By the released second moments, records were scaled down to data_norm: on average to"
            f" {math.sqrt(max(square, 0.0)):.0%} of their length, or less. Little is then left of"
            " what lengths say. Declare the ranges of the columns by X_bounds, or a larger"
            " data_norm.",
            MostlyNoiseWarning,
            stacklevel=5,
        )


def larger_class(
    decisions: FloatArray,
    signs: FloatArray,
    weights: FloatArray | None,
    answer: ChargedDraws,
    choice: ChargedDraws,
    *,
    n: int,
) -> tuple[float, float, bool]:
    """The sign of the larger class if its mistakes are fewer than those of the decisions, else 0.

    Beside it, by how much positive records outweigh negative ones, with noise; and whether the
    mistakes of the decisions are shown to be fewer.

    Records count their public class weights, rounded to multiples of 2^-20 so that sums are exact.
    Both sums move by at most 1 where a record is added or removed, by 2 where one is replaced, and
    by as many times more as one person owns records.
    Proof: ``docs/proofs.md``, "The better of a fit and a constant".
    """
    size = np.ones(len(signs)) if weights is None else np.rint(weights * 2.0**_BITS) / 2.0**_BITS
    balance = float(answer(float(np.sum(size * signs))))
    larger = 1.0 if balance > 0 else -1.0
    wrong = (decisions > 0) != (signs > 0)
    more = size * (wrong.astype(float) - (signs != larger))
    # A fit that errs half as often again as the constant adds half of the smaller class.
    half = 0.25 * max(n - abs(balance), 0.0) / HALF_AS_BAD_AGAIN
    total = float(choice(float(np.sum(more))))
    kept = bool(keeps(total, choice.sigma, half))
    shown = kept and (choice.sigma == 0 or total < -_SHOWN * choice.sigma)
    return (0.0 if kept else larger), balance, shown
