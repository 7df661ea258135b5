"""What every private estimator promises: seeds, one budget, refusals that cost nothing."""

from unittest import mock

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from privlp import Budget, BudgetExceededError, InvalidParameterError
from privlp.privacy import Randomness
from tests.planted import programs
from tests.planted.successes import ESTIMATORS
from tests.programs import refused_for_free

pytestmark = [
    pytest.mark.usefixtures("short_advice"),
    pytest.mark.parametrize("name", ESTIMATORS),
]

DATA = programs.records()


def estimator(name, **given):
    return ESTIMATORS[name](**{"eps": 1.0, "classes": (-1, 1), "random_state": 0, **given})


def predictions(fitted):
    return getattr(fitted, "decision_function", fitted.predict)(DATA.X)


def test_a_seed_repeats_a_fit_and_is_owned_up_to(name):
    one, again, other, unseeded = (
        estimator(name, random_state=seed).fit(DATA.X, DATA.y) for seed in (7, 7, 8, None)
    )
    np.testing.assert_array_equal(predictions(one), predictions(again))
    assert one.privacy_.seeded
    assert str(one.privacy_.statement()).startswith("NOT FOR RELEASE")
    assert not unseeded.privacy_.seeded
    assert "ChaCha20" in unseeded.privacy_.randomness
    if name != "DMWSVC, soft":  # of so few rounds that the same may be selected
        for fitted in (other, unseeded):
            assert (predictions(fitted) != predictions(one)).any()


def test_a_shared_budget_holds_and_overspending_is_refused_before_any_draw(name, monkeypatch):
    budget, drawn, draw = Budget(1.0, 1e-6), [], Randomness.draw
    monkeypatch.setattr(Randomness, "draw", lambda *how: drawn.append(how) or draw(*how))

    def spend():
        for _ in range(20):
            before.append((budget.record(), len(drawn)))
            fits.append(estimator(name, budget=budget))
            fits[-1].fit(DATA.X, DATA.y)

    before, fits = [], []
    with pytest.raises(BudgetExceededError, match=r"Nothing was drawn and nothing was|do not"):
        spend()
    assert len(fits) > 1
    assert (budget.record(), len(drawn)) == before[-1]
    assert budget.spent() <= 1.0
    assert not hasattr(fits[-1], "coef_")


def test_an_interrupted_fit_leaves_nothing_of_an_earlier_one(name):
    fitted = estimator(name).fit(DATA.X, DATA.y)
    cut = mock.patch.object(Randomness, "draw", side_effect=KeyboardInterrupt)
    with cut, pytest.raises(KeyboardInterrupt):
        fitted.fit(DATA.X, DATA.y)
    with pytest.raises(NotFittedError):
        fitted.predict(DATA.X)


#: Parameters of all, and what is said of them.
WRONG = [
    ({"eps": 0.0}, "eps must be positive"),
    ({"eps": -1.0}, "eps must be positive"),
    ({"eps": np.nan}, "eps must be positive"),
    ({"eps": "1"}, "eps must be a number, got str"),
    ({"delta": 1.0}, r"delta must be in \[0, 1\)"),
    ({"delta": np.nan}, r"delta must be in \[0, 1\)"),
    ({"random_state": -1}, "must be None"),
    ({"budget": 1.0}, r"budget must be a privlp\.Budget, got float"),
]


def test_what_is_wrong_is_refused_before_anything_is_charged(name):
    for wrong, message in WRONG:
        with refused_for_free(message) as budget:
            estimator(name, **{"budget": budget, **wrong}).fit(DATA.X, DATA.y)
    weights = {"sample_weight": np.ones(len(DATA.y))}
    with pytest.raises(InvalidParameterError, match="X, y and groups only, not sample_weight: wha"):
        estimator(name).fit(DATA.X, DATA.y, **weights)
