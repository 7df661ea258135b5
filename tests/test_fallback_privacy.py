"""Fall-backs: what several fits are charged, and that levels and limits follow public numbers."""

import warnings
from dataclasses import replace

import numpy as np
import pytest

from privlp.audits.tape import Tape, differences, largest_changes
from privlp.privacy import Ledger
from svm_models import PrivateLPSVC, PrivateQuantileRegressor
from svm_models.account import Neighbours
from svm_models.classifiers import lp_svc
from svm_models.plan import OF_ANSWER, OF_CHOICE
from svm_models.regression import descent as regression_descent
from svm_models.regression.losses import Pinball
from svm_models.regression.plan import OF_LEVELS, Plan
from svm_models.regression.records import above, lost

pytestmark = pytest.mark.usefixtures("fits_of_few")

QUANTILES = (0.1, 0.5, 0.9)
RULES = [(lp_svc, "keeps"), (regression_descent, "keeps"), (regression_descent, "reach")]


def sum_of(side, purpose):
    """That of one record far above all fits, or far below them."""
    y = np.array([float(side)])
    if purpose == OF_CHOICE:  # each loss is as steep as it may be
        constant, limit = np.array([5.0, -5.0, -5.0]), np.full(3, 0.5)
        moved = side * np.array([[0.5, -0.5, -0.5]])
        return lost(y, moved, constant, limit, Pinball(QUANTILES))
    return above((y[:, None], y), np.zeros(3), 1 - np.array(QUANTILES))


@pytest.mark.parametrize("purpose", [OF_ANSWER, OF_LEVELS, OF_CHOICE])
def test_several_fits_are_charged_what_one_record_moves_together(purpose):
    """A charge for one of three fits, or for a record that is only added, would be too small."""
    one, other = sum_of(1, purpose), sum_of(-1, purpose)
    for neighbours, moved in ((Neighbours.replacing(60), one - other), (Neighbours.adding(6), one)):
        plan = Plan.of(neighbours, 2, Pinball(QUANTILES), QUANTILES, Ledger(1, 1e-6), constant=True)
        shape = np.eye(3) if purpose == OF_CHOICE else plan.together(QUANTILES).shape
        charged = {found.sensitivity for found, _, why in plan.charge(1.0) if why == purpose}
        assert np.linalg.norm(shape @ moved) <= min(charged)


def of_classes(self, X, signs, w, paid, n, real=PrivateLPSVC._fall_back):
    real(self, X, signs, w, paid, X.shape[0])


def of_fits(run, *rest, real=regression_descent._chosen):
    n = run.pairs.total(lambda block: len(block._y))
    return real(run, *rest[:-1], replace(rest[-1], neighbours=Neighbours.adding(n)))


FITS = {
    "classes": (PrivateLPSVC, {"classes": (-1, 1), "rounds": 3}),
    "quantiles": (PrivateQuantileRegressor, {"quantile": QUANTILES, "y_bounds": (-1, 1)}),
}


def levels_differ(name, monkeypatch):
    """Whether levels and limits are others without a record, where the same numbers are released."""
    rng, told = np.random.default_rng(0), []
    X, y = rng.normal(size=(40, 2)), rng.choice([-1, 1], 40)
    kind, options = FITS[name]
    for owner, rule in RULES:
        real = getattr(owner, rule)
        spy = lambda *of, real=real: (told.append(of[-2:]), real(*of))[1]  # noqa: E731
        monkeypatch.setattr(owner, rule, spy)
    tapes = [(tape := Tape(0)), Tape(0, replay=tape)]
    for tape, n in zip(tapes, (40, 39), strict=True):
        added = {"relation": "add-remove", "nominal_n": 30, "random_state": tape}
        with warnings.catch_warnings(action="ignore"):
            kind(eps=1.0, delta=1e-3, data_norm=2.0, **added, **options).fit(X[:n], y[:n])
    assert differences(*tapes) == []
    assert max(largest_changes(*tapes).values()) <= 1
    return told[: len(told) // 2] != told[len(told) // 2 :]


@pytest.mark.parametrize("name", FITS)
def test_levels_and_limits_follow_the_nominal_number(name, monkeypatch):
    """A twin that takes the true number of records is seen."""
    assert not levels_differ(name, monkeypatch)
    monkeypatch.setattr(PrivateLPSVC, "_fall_back", of_classes)
    monkeypatch.setattr(regression_descent, "_chosen", of_fits)
    assert levels_differ(name, monkeypatch)
