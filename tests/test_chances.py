"""Bounds on secret noise that fail with a tiny chance: it is part of delta, or stated."""

import math

import numpy as np
import pytest

from privlp import Budget, BudgetExceededError, ConstraintPrivate, InvalidParameterError, privacy
from privlp.privacy.charges import Call, Charge, call_from_dict, call_to_dict
from privlp.privacy.prices import composed_epsilon
from svm_models import ObjectivePerturbationSVC, PrivateModelSelector
from svm_models.account import SHARE_OF_THE_COUNT, Account, counted, open_budget
from svm_models.selection import RecordParts

CHANCE = 2.0**-92
WHOSE = (ConstraintPrivate(), privacy.Randomness(0))
SECRET = (
    privacy.ObjectivePerturbation(1.0, 4.0, 0.1),
    privacy.LaplaceObjectivePerturbation(1.0, 4.0, 0.1),
    privacy.GaussianObjectivePerturbation(1.0, 4.0, 0.1),
)
PURE = SECRET[1]


def test_the_chance_is_that_of_the_proofs():
    assert math.exp(-64) <= CHANCE


@pytest.mark.parametrize("mechanism", SECRET)
@pytest.mark.parametrize("delta", [2.0**-88, 2.0**-60])
def test_chances_are_taken_off_delta(mechanism, delta):
    cost, count = Charge.of(mechanism, 3, "").cost, 3
    assert cost[0].chance == CHANCE
    found = composed_epsilon([cost], delta)
    assert found >= composed_epsilon([(mechanism.price, count)], delta - count * CHANCE)
    assert composed_epsilon([cost], count * CHANCE) == math.inf


@pytest.mark.parametrize("accountant", [privacy.Ledger, Budget])
def test_a_delta_of_0_leaves_chances_aside_and_the_record_states_them(accountant):
    ledger = accountant(1.0, 0.0)
    ledger.charge_together([(PURE, 1, "prices"), (PURE, 1, "prices")], *WHOSE)
    record = ledger.record()
    assert (record.delta, record.delta_limit) == (2 * CHANCE, 0.0)
    words = str(record.statement())
    assert f"(0.7, {2 * CHANCE:.6g})-differentially private. The limit is (1, 0)." in words
    assert "Delta is the chance that secret noise is larger than a proof allows" in words


def test_without_secret_noise_there_is_no_chance():
    ledger = privacy.Ledger(1.0, 0.0)
    ledger.charge(privacy.LaplaceMechanism.of_eps(1.0, 0.5), 1, "a count", *WHOSE)
    assert ledger.record().delta == 0.0
    assert "Delta is the chance" not in str(ledger.statement())
    assert Charge.of(privacy.GaussianMechanism(1.0, 1.0), 1, "").price.chance == 0.0


@pytest.mark.parametrize("composition", ["adaptive", "basic", "planned"])
def test_a_budget_counts_the_chance_of_a_pure_call(composition):
    budget = Budget(10.0, 3 * CHANCE, composition=composition)
    for _ in range(4):
        try:
            budget.ledger(0.5, 0.0).charge(PURE, 1, "prices", *WHOSE)
        except BudgetExceededError:
            break
    taken = sum(entry.draws for entry in budget.entries) * CHANCE
    assert 0 < taken <= budget.delta


def test_the_gaussian_sum_has_room_for_few_chances():
    """Pure epsilons do not fit; squares would."""
    small = privacy.LaplaceObjectivePerturbation(1.0, 200.0, 0.0)
    budget = Budget(0.25, 1e-6)
    for _ in range(60):
        budget.ledger(0.005, 0.0).charge(small, 1, "prices", *WHOSE)
    budget = Budget(0.25, 1e-20)
    budget.ledger(0.25, 0.0).charge(privacy.LaplaceMechanism.of_eps(1.0, 0.25), 1, "", *WHOSE)
    with pytest.raises(BudgetExceededError):
        budget.ledger(0.005, 0.0).charge(small, 1, "prices", *WHOSE)


def test_a_file_keeps_chances_and_older_files_have_none():
    call = Call("0", 1.0, CHANCE, (Charge.of(PURE, 2, "prices"),), {}, {})
    kept = call_to_dict(call)
    assert call_from_dict(kept) == call
    del kept["charges"][0]["price"]["chance"]
    assert call_from_dict(kept).charges[0].price.chance == 0.0


def test_a_count_of_records_pays_for_its_tail():
    account = Account(open_budget(1.0, 1e-6, None), privacy.Randomness(0))
    counted(100, account.part(SHARE_OF_THE_COUNT))
    (call,) = account.budget.calls.values()
    assert call.chance == CHANCE
    with pytest.raises(InvalidParameterError, match="delta must be 0 or at least"):
        open_budget(1.0, 1e-26, None)


def test_a_part_that_holds_all_records_is_not_refused(monkeypatch):
    """Coins may deal all records to one candidate: then nothing may show."""
    rng, parts = np.random.default_rng(0), 7
    X, y = rng.normal(size=(16 * parts, 2)) / 4, rng.choice([-1, 1], 16 * parts)
    monkeypatch.setattr(
        RecordParts,
        "persons",
        lambda self, count, *_, **__: [np.arange(count), *[np.arange(0)] * (self.parts - 1)],
    )
    grid = [ObjectivePerturbationSVC() for _ in range(parts - 1)]
    options = {"classes": (-1, 1), "relation": "add-remove", "nominal_n": 8 * parts}
    tuned = PrivateModelSelector(grid, eps=1.0, random_state=0, **options).fit(X, y)
    assert tuned.privacy_.eps <= 1.0
