"""The registry of the conformance suite.

The draws of every private estimator of :mod:`svm_models`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any
from unittest import mock

import numpy as np
from scipy import special

import svm_models as sm
from privlp.privacy import ExponentialMechanism, GaussianMechanism, Randomness
from svm_models import whitening as whitened_twice
from svm_models.account import Neighbours
from svm_models.classifiers import base, perturbation, risk
from svm_models.classifiers import classes as threshold
from svm_models.classifiers import lp_svc as private_lp_svc
from svm_models.classifiers import lp_svc_plan as lp_svc_charges
from svm_models.classifiers.fairness import COUNTS_PURPOSE as OF_GROUPS
from svm_models.classifiers.fairness import DIRECTION_PURPOSE as OF_DIRECTION
from svm_models.classifiers.risk import RegularizedRisk, huber
from svm_models.plan import OF_ANSWER, OF_CHOICE
from svm_models.records import grid as records_on_grid
from svm_models.records import scaled
from svm_models.records.grid import RecordsOnGrid, WhitenedRecords
from svm_models.regression import descent as regression_descent
from svm_models.regression import losses as regression_losses
from svm_models.regression import plan as regression_plan
from svm_models.regression import records as regression_records
from svm_models.regression.base import PrivateLinearRegressor
from svm_models.regression.losses import Together
from svm_models.whitening import PURPOSE_AGAIN, shortened
from tests import conformance_kit as kit
from tests import conformance_subjects
from tests.conformance_kit import Patch
from tests.conformance_subjects import ONE_DRAW, _faults, played, replaced, stops_when, together
from tests.effort import THOROUGH

Records = tuple[np.ndarray, np.ndarray]


def _records(*signed: Any) -> Records:
    """Records y x with their labels; the first is the one that neighbours differ in."""
    M = np.array(signed, dtype=float)
    labels = np.where(M.sum(axis=1) < 0, -1, 1)
    return M * labels[:, None], labels


def _opposite(size: float = 1.0) -> tuple[Records, Records]:
    """One record, or the one with the other label."""
    return _records([size]), _records([-size])


def _fit(estimator: Callable[..., Any], /, **options: Any) -> Callable[[Records], Any]:
    given = {"classes": (-1, 1), "random_state": 0, **options}
    if estimator is not sm.PrivateModelSelector and estimator is not sm.PrivateOneVsRestClassifier:
        given.setdefault("fit_intercept", False)  # audits are sharpest in one dimension
    return lambda records: estimator(**given).fit(*records)


def _without_the_first(records: Records) -> tuple[Records, Records]:
    """Records, and the same without the first."""
    X, y = records
    return records, (X[1:], y[1:])


def _added(nominal_n: int | None) -> dict[str, Any]:
    """Options of an estimator whose neighbours differ in a record that one of them has not."""
    return {"relation": "add-remove", "nominal_n": nominal_n}


def _halved(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *arguments: 0.5 * function(*arguments)


def _one_draw(**faults: Any) -> dict[kit.Bug, Patch | str]:
    """Faults of a release of which there is one draw."""
    return {**_faults(**faults), kit.Bug.COUNT: ONE_DRAW}


#: A minimiser that stops after one step, and is taken for converged.
_CERTIFIED = replaced(RegularizedRisk, "certified", lambda *_: True)
_ONE_NEWTON_STEP = together(replaced(risk, "_NEWTON_STEPS", 1), _CERTIFIED)


@contextmanager
def _loose_tolerance() -> Iterator[None]:
    """A warm start that a loose tolerance takes for converged.

    The noise in the objective then has no effect.
    """
    minimise_exactly = RegularizedRisk.minimise

    def lazily(self: RegularizedRisk, **options: Any) -> np.ndarray:
        start = minimise_exactly(replace(self, linear=0.0), **options)
        loose = replace(self, exponent=-4).certified(start)
        return start if loose else minimise_exactly(self, **options)

    with mock.patch.object(RegularizedRisk, "minimise", lazily):
        yield


_MOMENTS = "release the second moments"
_UNSCALED = replaced(scaled, "within_norm", lambda X, data_norm: X)
#: The noise of a record that is added or removed, where one is replaced.
_REMOVED = replaced(Neighbours, "replacing", classmethod(lambda cls, n: cls(n, n, 1)))
_HALF_A_RECORD_ADDED = replaced(Neighbours, "adding", classmethod(lambda cls, n: cls(n, n, 0.5)))
#: Half of the noise where a record is added or removed.
_HALF_A_SLOPE = replaced(perturbation, "_slope", _halved(perturbation._slope))
#: The true number of records, where it is private.
_OF_TRUE_NUMBER = lambda self, n, account: Neighbours.adding(max(n, 1))  # noqa: E731
_TRUE_NUMBER = replaced(base.PrivateLinearClassifier, "_neighbours", _OF_TRUE_NUMBER)
_MANY = np.ones((1_000, 1))
_ONE_REPLACED = _records(*_MANY), _records([0.0], *_MANY[1:])

# output perturbation

_LESS_STEEP = "the loss is nowhere as steep as its bound on both sides"
_AS_REPLACED = "as where a record is replaced: the same code"
_AS_SVC = "as for the SVC: the same code"


def _minimiser(name: str, call: Any, data: Any, scale: Any, relation: Any, **given: Any) -> Any:
    """The draw of output perturbation, of which there is one."""
    given = {"MINIMISER": _AS_REPLACED, "COUNT": ONE_DRAW, **given}
    faults = {"SCALE": Patch(*scale), "RELATION": Patch(relation)}
    return played(name, call, data, "perturb the minimiser", **{**faults, **given})


def _output(estimator: Any, delta: float, sharp: float, **options: Any) -> kit.Played:
    call, weakly = (_fit(estimator, eps=2.0, delta=delta, reg=r, **options) for r in (4.0, 0.2631))
    exact = Patch(_ONE_NEWTON_STEP, _ONE_REPLACED, weakly) if sharp > 0.9 else _AS_SVC
    return _minimiser(
        f"{estimator.__name__}: minimiser{', Gaussian' if delta else ''}",
        *(call, _opposite(), (_UNSCALED, _opposite(3.0)), _REMOVED),
        sharp=sharp,
        MINIMISER=_AS_SVC if options else exact,
        **_where_steep(sharp),
    )


def _output_added(estimator: Any, delta: float, sharp: float) -> kit.Played:
    return _minimiser(
        f"{estimator.__name__}: minimiser, record added{', Gaussian' if delta else ''}",
        _fit(estimator, eps=2.0, delta=delta, reg=4.0, **_added(1)),
        _without_the_first(_records([1.0])),
        (_UNSCALED, _without_the_first(_records([3.0]))),
        _HALF_A_SLOPE,
        sharp=sharp,
        STOP=Patch(_TRUE_NUMBER, _without_the_first(_records([1.0], [1.0]))),
        **_where_steep(sharp),
    )


def _where_steep(sharp: float) -> dict[str, Any]:
    """What no audit shows where the loss is not steep."""
    return {} if sharp > 0.9 else dict.fromkeys(("SCALE", "RELATION"), _LESS_STEEP)


# objective perturbation

#: Noise at which the minimiser is computed; in between it is interpolated. In one dimension it is a
#: function of one number.
_UPWARD = np.geomspace(1e-3, 60, 40 if THOROUGH else 14)
_GRID = np.concatenate([-_UPWARD[::-1], _UPWARD])


def _of_one_seed(mechanism: Any, value: Any, _: Randomness, runs: int) -> np.ndarray:
    """The same noise in every run."""
    return np.repeat(kit.release_many(mechanism, value, Randomness(7), 1), runs, axis=0)


@dataclass
class Perturbed(kit.Subject):
    """A minimiser of an objective with a random linear term: it is released, the term is not.

    One record in one dimension, ``call(records)`` fits. The minimiser is computed by the real code
    for a grid of linear terms.
    """

    name: str
    covers: frozenset[str]
    call: Callable[[Records], Any]
    faults: dict[kit.Bug, Patch | str]
    data: tuple[Records, Records] = _opposite()
    steep: bool = True

    _PURPOSE = "perturb the objective"

    def _minimisers(self, records: Records, scale: float) -> np.ndarray:
        """At the grid's multiples of a scale."""
        found = []
        for noise in _GRID * scale:

            def answer(mechanism: Any, value: Any, purpose: str, noise: float = noise) -> Any:
                if purpose == self._PURPOSE:
                    return np.array([noise])
                # Second moments are a release of their own: both sides see the same.
                return np.ones(1) if purpose.startswith(_MOMENTS) else value

            found.append(kit.play(self.call, records, answer).result.coef_[0, 0])
        return np.array(found)

    def _paid(self, records: Records) -> Any:
        made = kit.play(self.call, records).tape.releases
        return next(r.mechanism for r in made if r.purpose == self._PURPOSE)

    def _maps(self, patch: Patch | None = None) -> tuple[Any, list[Callable[..., np.ndarray]]]:
        """The linear term's mechanism with the noise that audits best, and both minimisers."""
        patch = patch or Patch()
        data = patch.data or self.data
        with patch.inject():
            mechanism = kit.sharpest(self._paid(data[0]))
            scale = getattr(mechanism, "sigma", None) or mechanism.scale
            tables = [self._minimisers(records, scale) for records in data]
        return mechanism, [partial(np.interp, xp=_GRID * scale, fp=table) for table in tables]

    @cached_property
    def _right(self) -> tuple[Any, list[Callable[..., np.ndarray]]]:
        return self._maps()

    def _claim(self, mechanism: Any) -> kit.Claim:
        """Where the curvature has no part, the loss is that of the noise."""
        claim = kit.claim_of(mechanism)
        gaussian = isinstance(mechanism, GaussianMechanism)
        return replace(claim, eps=claim.eps + mechanism.curvature_cost) if gaussian else claim

    def _audit_of(
        self, mechanism: Any, maps: Any, claim: kit.Claim, release: Any = kit.release_many
    ) -> kit.Statistical:
        def sample(side: int, rng: np.random.Generator, runs: int) -> Any:
            return maps[side](release(mechanism, np.zeros(1), Randomness(rng), runs)[:, 0]).tolist()

        return kit.Statistical(sample, claim)

    def correct(self) -> kit.Statistical:
        mechanism, maps = self._right
        return self._audit_of(mechanism, maps, self._claim(mechanism))

    def twin(self, bug: kit.Bug) -> kit.Case:
        fault = self.faults.get(bug)
        if isinstance(fault, str):
            return kit.NotApplicable(fault)
        if fault is not None:
            mechanism, maps = self._maps(fault)
            return self._audit_of(mechanism, maps, self._claim(mechanism))
        return self._faulty_draw(bug)

    def _faulty_draw(self, bug: kit.Bug) -> kit.Case:
        mechanism, maps = self._right
        claim = self._claim(mechanism)
        if bug is kit.Bug.TWICE:
            return self._two(fresh=False)
        if bug is kit.Bug.SEED:
            return self._audit_of(mechanism, maps, claim, _of_one_seed)
        if not self.steep:
            return kit.NotApplicable(_LESS_STEEP)
        if bug in kit.NOISE_LEFT:
            return self._audit_of(kit.with_less_noise(mechanism, kit.NOISE_LEFT[bug]), maps, claim)
        if isinstance(mechanism, GaussianMechanism):
            claim = kit.claim_of_law(mechanism, mechanism.curvature_cost)
        return self._audit_of(mechanism, maps, claim, kit.of_another_law)

    def fresh(self) -> kit.Statistical:
        return self._two(fresh=True)

    def _two(self, *, fresh: bool) -> kit.Statistical:
        """Two fits, on the records and on their opposites."""
        mechanism, maps = self._right
        mechanism = kit.noisier(mechanism)

        def sample(side: int, rng: np.random.Generator, runs: int) -> Any:
            draws = partial(kit.release_many, mechanism, np.zeros(1), runs=runs)
            one = draws(Randomness(rng))[:, 0]
            two = draws(Randomness(rng))[:, 0] if fresh else one
            return (maps[side](one) - maps[1 - side](two)).tolist()

        claim, cost = kit.claim_of_two(mechanism), mechanism.curvature_cost
        return kit.Statistical(sample, replace(claim, eps=claim.eps + 2 * cost))


def _objective(
    estimator: Any, delta: float, steep: bool = True, added: bool = False, **options: Any
) -> Perturbed:
    """Where a record is replaced, or `added`."""
    long, half = (_records([3.0]), _HALF_A_SLOPE) if added else (_opposite(3.0), _REMOVED)
    faults = _one_draw(
        SCALE=Patch(_UNSCALED, _without_the_first(long) if added else long),
        RELATION=Patch(half) if steep else _LESS_STEEP,
        MINIMISER=_AS_REPLACED if added else Patch(_loose_tolerance, _ONE_REPLACED),
    )
    options |= _added(1) if added else {}
    return Perturbed(
        f"{estimator.__name__}: minimiser{', record added' * added}{', Gaussian' * bool(delta)}",
        frozenset([estimator.__name__, "Gaussian" * bool(delta) + "ObjectivePerturbation"]),
        _fit(estimator, eps=3.0, delta=delta, reg=40.0, **options),
        faults,
        _without_the_first(_records([1.0])) if added else _opposite(),
        steep=steep,
    )


# the LP route

_NOTHING = [[0.0, 0.0]] * 300
_SUMS = "release the sum of weighted records"
_HALF = "release half of the sum of records"
_BEFORE_ALL = "it is released before the first round"
_COUNTED_ONCE = "a record counts once, however long"


def _right_or_wrong() -> tuple[Records, Records]:
    """All records are far on the right side of any first step, or one is on the wrong side."""
    return _records([0.0, 0.0], *_NOTHING), _records([1.0, 0.0], *_NOTHING)


@contextmanager
def _impatient_fit() -> Iterator[None]:
    """Stops as soon as no record is moved by another round: where all are zero, at once."""
    records: list[Any] = []
    read = private_lp_svc.read

    def remembered(estimator: Any, X: Any, y: Any, **options: Any) -> Any:
        records.append(X)
        return read(estimator, X, y, **options)

    done = stops_when(lambda w: not np.any(records[-1]))
    with mock.patch.multiple(private_lp_svc, read=remembered, drive=done):
        yield


def _unshortened() -> Any:
    build = WhitenedRecords.__init__

    def init(self: Any, records: Any, whiten: Any, shorten: bool = True, **options: Any) -> None:
        build(self, records, whiten, shorten=False, **options)

    return replaced(WhitenedRecords, "__init__", init)


#: Records of integers that are not measured.
_ANY_LENGTH = replaced(records_on_grid, "bounded", lambda part, grid: part)
#: Whitened records are not shortened before their second moments are released.
_NOT_SHORT = partial(RecordsOnGrid.second_moments, shorten=False)
_LONG_MOMENTS = together(replaced(whitened_twice, "moments_again", _NOT_SHORT), _ANY_LENGTH)
#: Long records are neither scaled down nor left out.
_NEVER_SCALED = replaced(records_on_grid, "within_norm", lambda X, data_norm: X)
_LONG = together(_NEVER_SCALED, _UNSCALED, _ANY_LENGTH)
#: Less noise than second moments need, or than two counts.
_HALF_A_MOMENT, _HALF_A_COUNT = (replaced(Neighbours, "moved_moments", m) for m in (0.25, 0.5))


def _negative_for_everyone(mechanism: Any, value: Any, purpose: str) -> Any:
    """Most records are said to be negative; all else is released without noise."""
    return np.array(-1e3 if purpose == OF_ANSWER else value, dtype=float)


_LP_ROUTE = _fit(sm.PrivateLPSVC, eps=1.0, delta=1e-6)
#: An eps at which so few records have their second moments measured twice.
_MEASURED_TWICE = 8.0
_HALF_A_RECORD = replaced(lp_svc_charges, "CENTRE", 0.25)

#: Numbers of records between which the rule adds a round.
_ROUNDS_DIFFER = _without_the_first(_records([1.0, 0.0], *_NOTHING[:298]))

_ALONG, _BESIDE, _BACK = (_records(of, *_NOTHING) for of in ([1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]))
_ACROSS, _FLIPPED, _ONE_MORE = (_ALONG, _BESIDE), (_ALONG, _BACK), _without_the_first(_ALONG)


def _lp(what: str, purpose: str, data: Any, call: Any = _LP_ROUTE, **given: Any) -> kit.Played:
    return played(f"PrivateLPSVC: {what}", call, data, purpose, **given)


_HALVED = Patch(_REMOVED)
_SUMMED: dict[str, Any] = {"SCALE": Patch(_unshortened()), "RELATION": _HALVED}
_OTHER_ROUNDS = Patch(_TRUE_NUMBER, _ROUNDS_DIFFER)
_FAR_ACROSS = _records([3.0, 0.0], *_NOTHING), _records([0.0, 3.0], *_NOTHING)
_TWICE = _fit(sm.PrivateLPSVC, eps=_MEASURED_TWICE, delta=1e-6)
_LONG_OR_NOT = _without_the_first(_records([3.0, 0.0], *_NOTHING))
_OF_300 = _fit(sm.PrivateLPSVC, eps=1.0, delta=1e-6, **_added(300))
_PRIVATE_LP = [
    _lp("second moments", _MOMENTS, _ACROSS, SCALE=Patch(_LONG, _FAR_ACROSS), RELATION=_HALVED),
    _lp(
        *("second moments again", PURPOSE_AGAIN, _ACROSS, _TWICE),
        SCALE=Patch(_LONG_MOMENTS),
        RELATION=_HALVED,
    ),
    _lp("sum", _SUMS, _FLIPPED, **_SUMMED, STOP=Patch(_impatient_fit, _right_or_wrong())),
    _lp("half of the sum", _HALF, _FLIPPED, **_SUMMED, STOP=_BEFORE_ALL),
    *(
        _lp(
            *(f"{name}{of_which}", purpose, data, call),
            SCALE=_COUNTED_ONCE,
            RELATION=Patch(relation),
            STOP=stop,
            answer=_negative_for_everyone,
        )
        for of_which, call, data, relation, stop in (
            ("", _LP_ROUTE, _FLIPPED, _REMOVED, _BEFORE_ALL),
            (", record added", _OF_300, _ONE_MORE, _HALF_A_RECORD_ADDED, _OTHER_ROUNDS),
        )
        for name, purpose in (("larger class", OF_ANSWER), ("comparison with one class", OF_CHOICE))
    ),
    *(
        _lp(
            *(f"{name}, record added", purpose, _ONE_MORE, _OF_300),
            SCALE=scale,
            RELATION=Patch(half),
            STOP=_OTHER_ROUNDS,
        )
        for name, purpose, half, scale in (
            ("second moments", _MOMENTS, _HALF_A_MOMENT, Patch(_LONG, _LONG_OR_NOT)),
            ("sum", _SUMS, _HALF_A_RECORD, Patch(_unshortened())),
            ("half of the sum", _HALF, _HALF_A_RECORD, Patch(_unshortened())),
        )
    ),
]

# decisions evened out between two groups: one record of the smaller group, and many of the other


def _of_groups(*own: Any, member: int = 1) -> tuple[Any, ...]:
    """Records of zeros, of which two in three are of the other group, after one of its own."""
    X = np.array([list(own), *_NOTHING])
    return X, np.ones(len(X), dtype=int), np.array([member, *([1, 0, 0] * 100)])


def _evened(what: str, purpose: str, pair: Any, swapped: Any, **options: Any) -> kit.Played:
    def call(people: Any) -> Any:
        options_ = {"fairness": "demographic_parity", "fairness_tolerance": 0.9, **options}
        given = {"classes": (-1, 1), "random_state": 0, "fit_intercept": False, **options_}
        fit = sm.PrivateLPSVC(4.0, 1e-6, **given).fit
        return fit(*people[:2], sensitive_features=people[2])

    scale = Patch(_unshortened()) if purpose == OF_DIRECTION else _COUNTED_ONCE
    faults = {"SCALE": scale, "RELATION": Patch(swapped), "STOP": _AFTER_ALL}
    covers = frozenset(["PrivateLPSVC"])
    return kit.Played(f"PrivateLPSVC: {what}", covers, call, pair, purpose, _faults(**faults))


_AFTER_ALL = "all counts are paid for, whatever they say"
_MEMBER, _BACKWARD = _of_groups(1.0, 0.0), _of_groups(-1.0, 0.0)
_OF_NONE = _of_groups(1.0, 0.0, member=0)
_LESS_ONE, _MORE = (_MEMBER, tuple(part[1:] for part in _MEMBER)), "counts of groups, record added"
_FAIR = [
    _evened("direction between groups", OF_DIRECTION, (_MEMBER, _BACKWARD), _REMOVED),
    _evened("counts of groups", OF_GROUPS, (_MEMBER, _OF_NONE), _REMOVED),
    _evened(_MORE, OF_GROUPS, _LESS_ONE, _HALF_A_COUNT, **_added(300)),
]

# multiplicative weights

_STILL = [[0.0]] * 19
_AS_OBJECTIVE = "what buys the radius is shown as objective perturbation"
_LARGE = 3.0


def _selected(score: str) -> kit.Played:
    name = f"DMWSVC: selection by {score}"
    given = {"s": 19.9, "alpha": 0.09, "radius": 2.0, "score": score, "data_norm": 10.0}
    data = tuple(_records([size], *_STILL) for size in (10.0, -10.0))
    scale = Patch(conformance_subjects.NOT_OF_EQUAL_RANGE)
    return played(
        *(name, _fit(sm.DMWSVC, eps=1.0, delta=1e-6, **given), data, "select a vertex"),
        covers="DMWSVC",
        SCALE="rows are counted, however long" if score == "count" else scale,
        STOP="the rounds are those of dmw",
        MINIMISER=_AS_OBJECTIVE,
    )


def _radius(mechanism: Any, value: Any, purpose: str) -> Any:
    """Weights beyond the margin, so that a record's hinge loss may vanish."""
    if isinstance(mechanism, ExponentialMechanism):
        return 0
    return np.array([_LARGE]) if purpose.startswith("cover") else value


_DMW = [
    _selected("distance"),
    _selected("count"),
    played(
        "DMWSVC: hinge losses, for the radius",
        _fit(sm.DMWSVC, eps=1.0, delta=1e-6, s=1.5, alpha=50.0, form="soft"),
        tuple(_records([one], [0.0]) for one in (1.0, -1.0)),
        "sum of hinge losses",
        answer=_radius,
        SCALE=Patch(_UNSCALED, tuple(_records([one], [0.0]) for one in (3.0, -3.0))),
        MINIMISER=_AS_OBJECTIVE,
        COUNT=ONE_DRAW,
    ),
]

# choice among candidates


def _tune(records: Records) -> Any:
    one, two = (sm.OutputPerturbationSVC(1.0, reg=r, fit_intercept=False) for r in (1.0, 2.0))
    options = {"eps": 1.0, "classes": (-1, 1), "random_state": 0}
    return sm.PrivateModelSelector([one, two], **options).fit(*records)


def _for_and_against(mechanism: Any, value: Any, purpose: str) -> Any:
    """One candidate takes all records for positive, the other for negative."""
    if isinstance(mechanism, ExponentialMechanism):
        return 0
    weaker_regularisation = mechanism.sensitivity > 0.5
    return np.array([1.0 if weaker_regularisation else -1.0])


def _held_out() -> tuple[Records, Records]:
    """Nine records of which the last part holds three; the label of one of them differs."""
    part = np.array_split(np.random.default_rng(0).permutation(9), 3)[-1]
    X, y = np.ones((9, 1)), np.ones(9, dtype=int)
    y[part[0]] = -1
    other = y.copy()
    other[part[1]] = -1
    return (X, y), (X, other)


_OF_THREE = {"eps": 6.0, "delta": 0.0, "classes": (-1, 1, 2)}
_OF_EACH = sm.OutputPerturbationSVC(reg=4.0, fit_intercept=False)
_ONE_VS_REST = _minimiser(
    "PrivateOneVsRestClassifier: minimiser",
    _fit(sm.PrivateOneVsRestClassifier, estimator=_OF_EACH, **_OF_THREE),
    *(_opposite(), (_UNSCALED, _opposite(3.0)), _REMOVED),
    MINIMISER=_AS_SVC,
)

_PARTS_PAY = "each part of the records pays for one draw"
_CHOICE = played(
    *("PrivateModelSelector: choice", _tune, _held_out(), "choose a candidate"),
    answer=_for_and_against,
    RELATION="n is public; a record costs one mistake",
    MINIMISER="candidates pay for themselves",
    COUNT=_PARTS_PAY,
)

# whitened objective perturbation


def _whitened(**options: Any) -> Callable[[Records], Any]:
    """With so small a ridge that one record is as long as it may be."""
    fit = _fit(sm.ObjectivePerturbationSVC, eps=3.0, delta=9e-4, reg=40.0, whiten=True, **options)

    def call(records: Records) -> Any:
        with mock.patch.object(whitened_twice, "ridge_of", return_value=0.01):
            return fit(records)

    return call


def _as_long_as_it_is(block: Any, shorten: bool, **options: Any) -> Any:
    return shortened(block, shorten=False, **options)


_LEFT_LONG = replaced(whitened_twice, "shortened", _as_long_as_it_is)


def _whitened_minimiser(name: str, data: Any, **options: Any) -> Perturbed:
    faults = {"SCALE": Patch(_LEFT_LONG), "RELATION": Patch(_HALF_A_SLOPE)}
    covers = frozenset(["ObjectivePerturbationSVC", "GaussianObjectivePerturbation"])
    name = f"ObjectivePerturbationSVC: minimiser, whitened{name}"
    faults = _one_draw(**faults, MINIMISER=_AS_REPLACED)
    return Perturbed(name, covers, _whitened(**options), faults, data)


def _whitened_moments(name: str, data: Any, scale: Any, **options: Any) -> kit.Played:
    return played(
        f"ObjectivePerturbationSVC: second moments, whitened{name}",
        *(_whitened(**options), data, _MOMENTS),
        SCALE=Patch(_LONG, scale),
        RELATION=Patch(_HALF_A_MOMENT),
        MINIMISER="moments are released before",
        COUNT=ONE_DRAW,
    )


_WHITENED: list[kit.Subject] = [
    _whitened_minimiser("", _opposite()),
    _whitened_minimiser(", record added", _without_the_first(_records([1.0])), **_added(1)),
    _whitened_moments("", *((_records([a, 0.0]), _records([0.0, a])) for a in (1.0, 3.0))),
    _whitened_moments(
        *(", record added", *(_without_the_first(_records([a, 0.0])) for a in (1.0, 3.0))),
        **_added(1),
    ),
]

# weights of classes, and a threshold

#: Weights as they are given, instead of in units of the largest.
_AS_GIVEN = lambda given, classes: given and (1.0, (1.0, 3.0))  # noqa: E731
_NOT_NORMALISED = replaced(threshold, "class_weights", _AS_GIVEN)


def _of_the_heavy_class(*rest: Any) -> tuple[Records, Records]:
    """A record and its opposite, both positive, beside records of zeros."""
    p = len(rest[0]) if rest else 1
    y = np.ones(1 + len(rest), dtype=int)
    X, opposite = (np.array([[size] + [0.0] * (p - 1), *rest]) for size in (1.0, -1.0))
    return (X, y), (opposite, y)


_WEIGHTED = [
    _minimiser(
        "OutputPerturbationSVC: minimiser, weighted classes",
        _fit(sm.OutputPerturbationSVC, eps=2.0, reg=12.0, class_weight={1: 3.0}),
        *(_of_the_heavy_class(), (_NOT_NORMALISED,), _REMOVED),
    ),
    played(
        "PrivateLPSVC: sum, weighted classes",
        _fit(sm.PrivateLPSVC, eps=1.0, delta=1e-6, class_weight={1: 3.0}),
        *(_of_the_heavy_class(*_NOTHING), _SUMS),
        SCALE=Patch(_NOT_NORMALISED),
        RELATION=Patch(_REMOVED),
        STOP="as with equal weights",
    ),
]

_CLASSIFIER = _fit(sm.PrivateClassifier, eps=1.0, delta=1e-6)
_DOUBLE_DUALS = replaced(records_on_grid, "expit", lambda z, out=None: 2 * special.expit(z))
_LOGISTIC = [
    played(
        *(f"PrivateClassifier: {what}", _CLASSIFIER, _FLIPPED, purpose),
        SCALE=Patch(_unshortened()),
        RELATION=Patch(relation),
        STOP=_BEFORE_ALL if purpose == _HALF else "as for PrivateLPSVC: the same code",
    )
    for what, purpose, relation in (
        ("half of the sum", _HALF, _REMOVED),
        ("sum", _SUMS, _REMOVED),
        ("sum, a dual weight of 2", _SUMS, _DOUBLE_DUALS),
    )
]


def _one_weight(mechanism: Any, value: Any, purpose: str) -> Any:
    """Weights of norm 1; all else without noise."""
    if isinstance(mechanism, ExponentialMechanism):
        return 0
    return np.array([1.0]) if purpose == "perturb the minimiser" else value


def _thresholds(name: str, data: Any, half: Any, each: int, **options: Any) -> list[kit.Played]:
    """With so few candidates that audits are sharp."""
    fit = _fit(sm.OutputPerturbationSVC, eps=1.0, reg=1.0, threshold_share=0.1, **options)

    def call(records: Records) -> Any:
        with mock.patch.object(threshold, "_EACH_SIDE", each):
            return fit(records)

    return [
        played(
            *(f"private classifiers: {words}{name}", call, data, purpose),
            answer=_one_weight,
            covers="OutputPerturbationSVC",
            RELATION=relation,
            MINIMISER="weights are released already",
            COUNT=ONE_DRAW,
        )
        for words, purpose, relation in (
            ("number of each class", "count the classes", "moves by one either way"),
            ("threshold", "choose a threshold", Patch(half)),
        )
    ]


def _one_record(x: float, label: int) -> Records:
    return np.array([[x]]), np.array([label])


_ADDED_BELOW = _without_the_first(_one_record(-0.5, 1))
_THRESHOLDS = [
    # About as many candidates on either side of the record's decision.
    *_thresholds("", (_one_record(0.0, 1), _one_record(0.0, -1)), _REMOVED, 1),
    # One of nine below it: odds of about exp(-2), which the record turns.
    *_thresholds(", record added", _ADDED_BELOW, _HALF_A_RECORD_ADDED, 4, **_added(1)),
]


def _after_all(prepare: Any, X: Any) -> np.ndarray:
    """A constant beside records that were shortened before."""
    return np.column_stack([scaled.within_norm(X, prepare.norm), np.full(len(X), 3.0)])


_INTERCEPT = _minimiser(
    "private classifiers: minimiser, with an intercept",
    _fit(sm.OutputPerturbationSVC, eps=2.0, reg=40.0, fit_intercept=True),
    *(_opposite(), (replaced(scaled.Preparation, "__call__", _after_all),), _REMOVED),
    covers="OutputPerturbationSVC",
)


#: Neither moved into declared ranges nor scaled down.
_ANYWHERE = replaced(scaled.Preparation, "_scaled", lambda prepare, X, low, high: X)
_BEYOND_THEIR_RANGES = together(_ANYWHERE, _UNSCALED)
_RANGES = _minimiser(
    "private classifiers: minimiser, columns with ranges",
    _fit(sm.OutputPerturbationSVC, eps=2.0, reg=40.0, X_bounds={0: (-2, 2)}),
    *(_opposite(3.0), (_BEYOND_THEIR_RANGES,), _REMOVED),
    covers="OutputPerturbationSVC",
)

_COUNT = played(
    "private classifiers: number of records",
    _fit(sm.OutputPerturbationSVC, eps=1.0, reg=1.0, **_added(None)),
    _without_the_first(_records([1.0])),
    "count the records",
    covers="OutputPerturbationSVC",
    SCALE=_COUNTED_ONCE,
    RELATION="the number is public where a record is replaced",
    STOP=Patch(_TRUE_NUMBER, _without_the_first(_records([1.0], [1.0]))),
    MINIMISER="nothing is minimised",
    COUNT=ONE_DRAW,
)


#: One candidate that a record speaks for, and so many others that an audit is sharp.
_REGS = (1.0, *[2.0] * 7)


def _tune_added(records: Records) -> Any:
    candidates = [sm.OutputPerturbationSVC(reg=reg, fit_intercept=False) for reg in _REGS]
    return _fit(sm.PrivateModelSelector, estimators=candidates, eps=1.0, **_added(90))(records)


def _dealt_to_the_last_part() -> tuple[Records, Records]:
    """One record that is held out, or none."""
    n = 1
    while np.random.default_rng(0).integers(1 + len(_REGS), size=n)[-1] != len(_REGS):
        n += 1
    X, y = np.ones((n, 1)), np.ones(n, dtype=int)
    return (X, y), (X[:-1], y[:-1])


def _for_or_against(mechanism: Any, value: Any, purpose: str) -> Any:
    """The first candidate takes all records for positive, the others for negative."""
    if isinstance(mechanism, ExponentialMechanism):
        return 0
    return np.array([1.0 if mechanism.sensitivity > 0.08 else -1.0])


_CHOICE_ADDED = played(
    *("PrivateModelSelector: choice, record added", _tune_added, _dealt_to_the_last_part()),
    "choose a candidate",
    answer=_for_or_against,
    RELATION="half of the sensitivity is charged already; its twins are those of the draw",
    STOP="one draw",
    MINIMISER="candidates pay for themselves",
    COUNT=_PARTS_PAY,
)

# regression


def _numbers(*pairs: tuple[float, float]) -> Records:
    """Records of one feature each, and their y."""
    X, y = np.array(pairs, dtype=float).T
    return X[:, None], y


def _regress(estimator: Callable[..., Any] = sm.PrivateQuantileRegressor, **options: Any) -> Any:
    def call(records: Records) -> Any:
        given = {"delta": 1e-6, "X_bounds": (-1, 1), "y_bounds": (-1, 1), **options}
        # So few records would have one prediction for everyone.
        with mock.patch.object(regression_plan, "tells", return_value=True):
            return estimator(1.0, random_state=0, **given).fit(*records)

    return call


def _short(entries: Any, whiten: Any, *, real: Any = records_on_grid._products) -> tuple[Any, Any]:
    found, norms = real(entries, whiten)
    return found, norms / 10


#: Records are ten times as long as they are said to be.
_OF_ANY_LENGTH = together(replaced(records_on_grid, "_products", _short), _ANY_LENGTH)
_AND_ACCOUNT = lambda self, n, account: (Neighbours.adding(max(n, 1)), account)  # noqa: E731
_TRUE_NUMBER_OF_PAIRS = replaced(PrivateLinearRegressor, "_neighbours", _AND_ACCOUNT)
_IN_THE_MIDDLE = [(0.0, 0.0)] * 60
_SPREAD = [(0.0, y) for y in np.linspace(-1, 1, 60)]
_ROUNDS_ARE_PLANNED = "the number of rounds is fixed before a record is read"
_EITHER_WAY = "a count moves by one either way"
_NO_CONSTANT: dict[str, Any] = {"quantile": 0.9, "fit_intercept": False}


def _lost(y: Any, moved: Any, constant: Any, limit: Any, loss: Any) -> Any:
    """What a record loses more than with a constant, unbounded."""
    residuals = y[:, None] - constant
    more = loss.values(residuals - moved) - loss.values(residuals)
    return (more / (loss.slope * limit)).sum(axis=0)


def _compared(**options: Any) -> Callable[[Records], Any]:
    """A fit whose predictions may not go far: a record counts as much as it may."""

    def call(records: Records) -> Any:
        with mock.patch.object(regression_descent, "reach", return_value=1e-3):
            return _regress(fit_intercept=False, **options)(records)

    return call


def _comparison(which: str, options: Any, data: Any, fault: Patch, stop: Any) -> kit.Played:
    return played(
        f"PrivateQuantileRegressor: comparison with a constant{which}",
        *(_compared(**options), data, OF_CHOICE),
        SCALE=Patch(replaced(regression_records, "lost", _lost)),
        RELATION=fault,
        STOP=stop,
    )


#: What is released, how it is fitted, and two records of which one is replaced by the other.
_RELEASED: list[tuple[str, str, dict[str, Any], Any, Any, list[Any]]] = [
    ("second moments", "sum the second moments", {}, (1.0, 0.0), (-1.0, 0.0), _IN_THE_MIDDLE),
    ("norms", "count records by their norm", {}, (1.0, 0.0), (0.0, 0.0), _IN_THE_MIDDLE),
    ("sizes", "count records by the size", {}, (0.0, 1.0), (0.0, 0.0), _SPREAD),
    ("answer", OF_ANSWER, {}, (0.0, 1.0), (0.0, -1.0), _SPREAD),
    ("levels", "count records above", {"quantile": 0.9}, (0.0, 1.0), (0.0, -1.0), _SPREAD),
    ("whole", "sum the records", _NO_CONSTANT, (1.0, 0.0), (-1.0, 0.0), _IN_THE_MIDDLE),
    ("slopes", "sum the slopes", _NO_CONSTANT, (1.0, 1.0), (1.0, -1.0), _IN_THE_MIDDLE),
]


def _regression(
    name: str, purpose: str, options: Any, one: Any, other: Any, rest: Any
) -> Iterator[kit.Played]:
    """A release where a record is replaced, and where it is added."""
    counts = purpose.startswith("count")
    scale = _COUNTED_ONCE if counts else Patch(_OF_ANY_LENGTH)
    yield played(
        f"PrivateQuantileRegressor: {name}",
        *(_regress(**options), (_numbers(one, *rest), _numbers(other, *rest)), purpose),
        SCALE=scale,
        RELATION=_EITHER_WAY if counts else Patch(_REMOVED),
        STOP=_ROUNDS_ARE_PLANNED,
    )
    two = _without_the_first(_numbers(one, (0.0, 0.0)))
    yield played(
        f"PrivateQuantileRegressor: {name}, record added",
        *(_regress(**options, **_added(60)), _without_the_first(_numbers(one, *rest)), purpose),
        # What is counted is compared with a share of the records.
        sharp=0.3 if counts else 0.95,
        rare=4 if counts else 1,
        SCALE=scale,
        RELATION=_EITHER_WAY if counts else Patch(_HALF_A_RECORD_ADDED),
        STOP=Patch(_TRUE_NUMBER_OF_PAIRS, two),
    )


def _twice_as_far(self: Together, draws: Any, sums: Any) -> Any:
    """Counts released together, of which a record moves twice what is said."""
    return np.linalg.solve(2 * self.shape, np.asarray(draws(2 * self.shape @ sums)))


def _of_y_alone(quantile: Any, **options: Any) -> Any:
    options = {"y_bounds": (-1, 1), "random_state": 0, **options}
    made = sm.PrivateQuantileRegressor(1.0, 1e-6, quantile, **options)

    def call(records: Records) -> Any:
        two = np.array([-0.5, 0.5])  # two levels are the hardest case of a selection
        with (
            mock.patch.object(regression_losses, "public_levels", return_value=two),
            mock.patch.object(regression_descent, "public_levels", return_value=two),
        ):
            return made.fit(None, records[1])

    return call


def _counted_twice(beyond: Any, *rest: Any, real: Any = regression_descent.selected) -> float:
    return real(2 * beyond, *rest)


def _selection(which: str, data: Any, quantile: float = 0.5, **options: Any) -> kit.Played:
    return played(
        f"PrivateQuantileRegressor: a level of y alone{which}",
        *(_of_y_alone(quantile, **options), data, OF_ANSWER),
        SCALE=Patch(replaced(regression_descent, "selected", _counted_twice)),
        RELATION=_EITHER_WAY,
        STOP="it is the only draw",
        COUNT=ONE_DRAW,
    )


_UP_OR_DOWN = tuple(_numbers((1.0, y), *_IN_THE_MIDDLE) for y in (1.0, -1.0))
_SEVERAL = _regress(quantile=(0.2, 0.5, 0.9), fit_intercept=False)
_REGRESSION: list[kit.Subject] = [
    _selection("", (_numbers((0.0, 1.0), (0.0, 0.0)), _numbers((0.0, -1.0), (0.0, 0.0)))),
    _selection(
        ", record added",
        _without_the_first(_numbers((0.0, 1.0), (0.0, 0.0), (0.0, -1.0), (0.0, -1.0))),
        quantile=0.75,
        **_added(60),
    ),
    played(
        "PrivateQuantileRegressor: several quantiles of y alone",
        _of_y_alone((0.1, 0.3, 0.5, 0.9)),
        (_numbers((0.0, 1.0), *_SPREAD), _numbers((0.0, -1.0), *_SPREAD)),
        OF_ANSWER,
        SCALE=Patch(replaced(Together, "released", _twice_as_far)),
        RELATION=_EITHER_WAY,
        STOP=_ROUNDS_ARE_PLANNED,
    ),
    *(played for released in _RELEASED for played in _regression(*released)),
    _comparison("", {}, _UP_OR_DOWN, Patch(_REMOVED), _ROUNDS_ARE_PLANNED),
    _comparison(
        *(", record added", _added(60), _without_the_first(_UP_OR_DOWN[0])),
        Patch(_HALF_A_RECORD_ADDED),
        Patch(_TRUE_NUMBER_OF_PAIRS, _without_the_first(_numbers((1.0, 1.0), (0.0, 0.0)))),
    ),
    *(
        played(
            *(name, call, _UP_OR_DOWN, "sum the slopes"),
            SCALE=Patch(_OF_ANY_LENGTH),
            RELATION=Patch(_REMOVED),
            STOP=_ROUNDS_ARE_PLANNED,
        )
        for name, call in (
            ("PrivateQuantileRegressor: slopes of several quantiles", _SEVERAL),
            ("PrivateLPSVR: slopes", _regress(sm.PrivateLPSVR, fit_intercept=False)),
        )
    ),
]

_DELTAS = (0.0, 9e-4)

ESTIMATORS: list[kit.Subject] = [
    *(_output(sm.OutputPerturbationSVC, delta, 0.95) for delta in _DELTAS),
    _output(sm.OutputPerturbationClassifier, 0.0, 0.95, loss=huber(0.25)),
    _output(sm.OutputPerturbationLogisticRegression, 0.0, 0.4),
    *(_objective(sm.ObjectivePerturbationSVC, delta) for delta in _DELTAS),
    _objective(sm.ObjectivePerturbationClassifier, 0.0, loss=huber(0.25)),
    _objective(sm.ObjectivePerturbationLogisticRegression, 0.0, steep=False),
    *(_output_added(sm.OutputPerturbationSVC, delta, 0.95) for delta in _DELTAS),
    _output_added(sm.OutputPerturbationLogisticRegression, 0.0, 0.4),
    *(_objective(sm.ObjectivePerturbationSVC, delta, added=True) for delta in _DELTAS),
    _objective(sm.ObjectivePerturbationLogisticRegression, 0.0, steep=False, added=True),
    *_DMW,
    *_PRIVATE_LP,
    *_FAIR,
    *_LOGISTIC,
    *_WHITENED,
    *_WEIGHTED,
    *_THRESHOLDS,
    *_REGRESSION,
    _INTERCEPT,
    _RANGES,
    _COUNT,
    _ONE_VS_REST,
    _CHOICE,
    _CHOICE_ADDED,
]
