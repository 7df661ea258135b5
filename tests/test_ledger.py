"""The one ledger: paid before drawn, never overspent, composed no worse and no better than it should be."""

import copy
import json
import math
import pickle
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize

import privlp
from privlp import Budget, BudgetExceededError, ConstraintPrivate, InvalidParameterError, privacy
from privlp.privacy import GaussianMechanism, LaplaceMechanism, Ledger, Randomness, exchanged
from tests.effort import examples
from tests.programs import covering

REPLACE = ConstraintPrivate()
ADD_REMOVE = ConstraintPrivate("add-remove", nominal_n=100)
SETTINGS = settings(deadline=None, max_examples=examples(60))


def charge(ledger, mechanism, count=1, purpose="test", relation=REPLACE, rng=0):
    return ledger.charge(mechanism, count, purpose, relation, Randomness(rng))


def selection(eps):
    return privacy.ExponentialMechanism(1.0, eps)


class BrokenMechanism(LaplaceMechanism):
    """Priced like any other, but its draw fails."""

    def release(self, value, randomness):
        raise OSError("the disk is on fire")


# paying and drawing


def test_a_draw_that_fails_stays_charged():
    ledger = Ledger(1.0, 0.0)
    draw = charge(ledger, BrokenMechanism(1.0, 2.0))
    assert ledger.spent() == pytest.approx(0.5)
    with pytest.raises(OSError, match="on fire"):
        draw(0.0)
    assert ledger.spent() == pytest.approx(0.5)
    with pytest.raises(BudgetExceededError):
        draw(0.0)


def test_no_more_draws_than_paid_for():
    draw = charge(Ledger(1.0, 1e-6), selection(0.1), count=2)
    draw(np.zeros(3))
    assert draw.remaining == 1
    draw(np.zeros(3))
    message = "All paid draws of the exponential mechanism are used; charge the ledger for more"
    with pytest.raises(BudgetExceededError, match=message):
        draw(np.zeros(3))
    assert draw.remaining == 0


def test_overspending_is_refused_and_nothing_is_charged():
    ledger = Ledger(1.0, 0.0)
    charge(ledger, selection(0.6), purpose="first")
    before = ledger.record()
    with pytest.raises(BudgetExceededError) as refusal:
        charge(ledger, selection(0.25), count=2, purpose="second")
    assert ledger.record() == before
    for part in (
        "2 draws of the exponential mechanism (second) would bring the total to eps = 1.1",
        "beyond the budget of eps = 1 (spent so far: 0.6)",
        "Nothing was drawn and nothing was charged",
    ):
        assert part in str(refusal.value)
    charge(ledger, selection(0.39), purpose="third")
    assert [entry.purpose for entry in ledger.entries] == ["first", "third"]


def test_a_refusal_of_many_kinds_of_draws_is_short():
    budget = Budget(1.0, 1e-6)
    lp = covering(400)
    with pytest.raises(BudgetExceededError, match=r"^This request, of [\d,]+ draws, would bring"):
        privlp.solve(lp, 2.0, 1e-6, 20, budget=budget)
    assert budget.spent() == 0


@pytest.mark.parametrize(("parent_eps", "child_eps"), [(1.0, 5.0), (5.0, 1.0)])
def test_overspending_is_refused_in_child_and_parent_alike(parent_eps, child_eps):
    parent = Budget(parent_eps, 0.0)
    child = parent.share(child_eps, 0.0)
    charge(child, selection(0.9))
    with pytest.raises(BudgetExceededError, match="beyond the budget of eps = 1 "):
        charge(child, selection(0.5))
    assert child.spent() == parent.spent() == pytest.approx(0.9)
    assert len(child.entries) == len(parent.entries) == 1


@pytest.mark.parametrize("count", [0, -1, 2.5])
def test_the_number_of_draws_is_a_positive_integer(count):
    """A negative count would hand budget back, and none at all has no price at delta = 0."""
    ledger = Ledger(1.0, 0.0)
    with pytest.raises(InvalidParameterError, match="count"):
        charge(ledger, selection(0.5), count=count)
    assert ledger.entries == ()


# composition


def conversion(renyi, delta):
    """Of Rényi divergences to epsilon, at the best order: by a fine grid and a bounded search."""

    def epsilon(log_excess):
        order = 1 + np.exp(log_excess)
        return renyi(order) + np.log1p(-1 / order) - (math.log(delta) + np.log(order)) / (order - 1)

    grid = np.linspace(-3.5, 13, 2000)
    near = grid[np.argmin(epsilon(grid))]
    return optimize.minimize_scalar(epsilon, bounds=(near - 0.1, near + 0.1), method="bounded").fun


def renyi_of_laplace(scale):
    def divergence(order):
        first = np.log(order / (2 * order - 1)) + (order - 1) / scale
        second = np.log((order - 1) / (2 * order - 1)) - order / scale
        return np.logaddexp(first, second) / (order - 1)

    return divergence


def test_mixed_mechanisms_compose_in_one_sum_of_divergences():
    ledger = Ledger(10.0, 1e-6)
    charge(ledger, selection(0.05), count=100)
    charge(ledger, GaussianMechanism(1.0, 10.0), count=4)
    charge(ledger, LaplaceMechanism(1.0, 20.0), count=9)

    def renyi(order):
        return order * (100 * 0.05**2 / 8 + 4 / (2 * 10.0**2)) + 9 * renyi_of_laplace(20.0)(order)

    exact = conversion(renyi, 1e-6)
    assert exact * (1 - 1e-9) <= ledger.spent() <= exact * 1.01


def test_a_round_may_cost_four_and_a_half_times_what_the_published_formula_allows():
    mechanism = Ledger(1.0, 1e-6).calibrate(selection, 1000)
    assert mechanism.eps >= 4.6 / math.sqrt(8 * 1000 * math.log(1e6))
    assert mechanism.eps == pytest.approx(0.01396, rel=1e-2)


# calibration


FAMILIES = {
    "exponential": selection,
    "Laplace": lambda intensity: LaplaceMechanism(0.3, 0.3 / intensity),
    "Gaussian": lambda intensity: GaussianMechanism(7.0, 7.0 / intensity),
}


@SETTINGS
@given(
    st.sampled_from(sorted(FAMILIES)),
    st.floats(1e-3, 60),
    st.one_of(st.just(0.0), st.floats(-12, -1.01).map(lambda exponent: 10**exponent)),
    st.integers(1, 3000),
    st.sampled_from([0.0, 0.05, 0.95]),
)
def test_calibration_spends_all_that_is_left_and_no_more(family, eps, delta, count, before):
    delta = delta or (1e-9 if family == "Gaussian" else 0.0)
    ledger = Ledger(eps, delta)
    if before:
        charge(ledger, selection(before * eps))
    spent = ledger.spent()
    mechanism = ledger.calibrate(FAMILIES[family], count)
    assert ledger.spent() == spent
    charge(ledger, mechanism, count=count)
    assert eps * (1 - 1e-6) <= ledger.spent() <= eps


def test_the_ends_of_calibration():
    ledger = Ledger(1.0, 0.0)
    charge(ledger, LaplaceMechanism(1.0, 1.0))
    with pytest.raises(BudgetExceededError, match=r"Nothing is left of the budget \(1, 0\)"):
        ledger.calibrate(selection, 5)
    assert Ledger(math.inf, 0.0).calibrate(selection, 100).eps == math.inf


# relations


def test_one_budget_one_relation_across_its_shares():
    budget = Budget(1.0, 1e-6)
    charge(budget.share(0.5, 1e-6), selection(0.1))
    before, child = budget.record(), budget.share(0.5, 1e-6)
    for ledger in (budget, child):
        with pytest.raises(
            privlp.RelationMismatchError, match="Use a Budget of its own for e"
        ) as refusal:
            charge(ledger, selection(0.1), relation=ADD_REMOVE)
        for relation in (REPLACE, ADD_REMOVE):
            assert f"'{relation.description}'" in str(refusal.value)
    assert (budget.record(), child.entries, child.record().relation) == (before, (), None)


# a budget shared by solves

STAGED = {"s": 10, "opt": 2.0, "method": "staged", "rng": 0}


def program(seed=0, n=40, d=3, **options):
    return covering(n, costs=np.ones(d), seed=seed, **options)


def solve(budget, eps, rng=0, **options):
    lp = options.pop("lp", None) or program()
    options |= {"s": 8, "alpha": 1.5, "opt": 2.0, "method": "dmw", "budget": budget}
    return privlp.solve(lp, eps, 1e-6, rng=rng, **options)


def test_two_solves_compose_in_their_budget():
    budget = Budget(2.0, 1e-6)
    first, second = solve(budget, 0.5), solve(budget, 0.8, lp=program(1))
    assert 0.999 * 0.5 <= first.privacy.eps <= 0.5
    assert 0.999 * 0.8 <= second.privacy.eps <= 0.8
    both = Ledger(100.0, 1e-6)
    for result in (first, second):
        entry = result.privacy.entries[0]
        eps = float(entry.parameter.removeprefix("eps = "))
        charge(both, privacy.ExponentialMechanism(entry.sensitivity, eps), count=entry.draws)
    assert budget.spent() == pytest.approx(both.spent(), rel=1e-4)
    assert max(first.privacy.eps, second.privacy.eps) < budget.spent() <= 1.3
    assert [entry.draws for entry in budget.entries] == [first.iterations, second.iterations]


# words and data


def test_statement_is_complete():
    solution = solve(None, 0.5)
    statement = solution.privacy.statement()
    assert json.loads(json.dumps(statement, allow_nan=False)) == json.loads(statement.to_json())
    words = str(statement)
    assert words.startswith("NOT FOR RELEASE: the noise came from a seeded generator.")
    for part in (
        f"({solution.privacy.eps:.6g}, 1e-06)-differentially private",
        "The limit is (0.5, 1e-06)",
        "Neighbour relation: constraint-private: one record (at most 1 row) replaced",
        f"{solution.iterations} x exponential mechanism (select a vertex each round)",
        "Randomness: seeded generator",
        "Arithmetic: an index is selected",
        "Not covered: running time",
        "and an adversary who can tell the generator's bits from fair ones",
        *(f"{name} {version}" for name, version in statement["versions"].items()),
    ):
        assert part in words
    assert (statement["seeded"], statement["delta"]) == (True, 1e-6)
    assert statement["relation"] == REPLACE.description
    assert set(statement["versions"]) >= {"privlp", "numpy", "dp-accounting", "randomgen"}


def test_statement_of_cryptographic_noise_has_no_seed_flag():
    words = str(solve(None, 0.5, rng=None).privacy.statement())
    assert "NOT FOR RELEASE" not in words
    assert "Randomness: ChaCha20 keyed by the operating system." in words


def test_one_seeded_draw_marks_the_whole_budget():
    budget = Budget(2.0, 1e-6)
    secure, seeded = solve(budget, 0.3, rng=None), solve(budget, 0.3, rng=1)
    assert [one.seeded for one in (secure.privacy, seeded.privacy, budget.record())] == [0, 1, 1]
    assert "ChaCha20 keyed by the operating system and seeded generator" in str(budget.statement())


@pytest.mark.parametrize(
    "record",
    [
        lambda: solve(None, 0.5).privacy,
        lambda: solve(None, math.inf).privacy,
        lambda: Budget(math.inf, 0.0).record(),
    ],
    ids=["solve", "no noise", "before any charge"],
)
def test_record_round_trip(record):
    record = record()
    if record.entries and record.eps == math.inf:
        assert not record.private
        words = "NOT PRIVATE: computed with eps = inf, that is, without noise. Do not release."
        assert (str(record.statement()), record.statement()["eps"]) == (words, "inf")
    for data in (record.to_dict(), json.loads(json.dumps(record.to_dict(), allow_nan=False))):
        assert privacy.PrivacyRecord.from_dict(data) == record


def test_a_ledger_that_has_drawn_charges_no_more():
    """Its price holds for what is charged before the first draw."""
    ledger = Ledger(1.0, 1e-6)
    draws = charge(ledger, LaplaceMechanism(1.0, 10.0), 1)
    charge(ledger, LaplaceMechanism(1.0, 10.0), 1)
    draws(0.0)
    with pytest.raises(BudgetExceededError, match="has drawn already"):
        charge(ledger, LaplaceMechanism(1.0, 10.0), 1)
    assert len(ledger.record().entries) == 2


def test_record_in_a_table():
    budget = Budget(1.0, 1e-6)
    assert str(budget) == "spent eps = 0, delta = 0 of (1, 1e-06)"
    solve(budget, 0.5)
    spent = f"spent eps = {budget.spent():.6g}, delta = 1e-06 of (1, 1e-06)"
    for part in ("select a vertex each round", "exponential mechanism", "sensitivity", spent):
        assert part in str(budget)
    assert repr(budget) == f"Budget(eps=1, delta=1e-06, spent={budget.spent():.6g})"


# domains


NO_NUMBER = [("1", "str"), (None, "NoneType"), ([1.0], "list"), (1j, "complex")]
BAD = [
    *((eps, 0.1, r"eps must be positive \(or inf for no pri") for eps in (0, -1.0, -math.inf)),
    (math.nan, 0.1, "eps must be positive .* got nan"),
    *((1.0, delta, rf"delta must be in \[0, 1\), got {float(delta)}") for delta in (-1e-9, 1, 2)),
    (1.0, math.nan, r"delta must be in \[0, 1\), got nan"),
    *((odd, 0.1, f"eps must be a number, got {kind}") for odd, kind in NO_NUMBER),
    *((1.0, odd, f"delta must be a number, got {kind}") for odd, kind in NO_NUMBER),
]


@pytest.mark.parametrize(("eps", "delta", "message"), BAD)
def test_bad_budgets(eps, delta, message):
    for make in (Budget, Ledger, Budget(1.0, 0.1).share):
        with pytest.raises(InvalidParameterError, match=message):
            make(eps, delta)


def test_numpy_numbers_are_numbers():
    budget = Budget(np.float32(0.5), np.float64(0.0))
    assert (budget.eps, budget.delta) == (0.5, 0.0)
    assert type(budget.eps) is float


@pytest.mark.parametrize(
    ("eps", "delta", "first", "counts"),
    [
        (6.670196314376862, 1.1322275641815046e-07, 0.05, (51, 2)),
        (0.5614094599062882, 3.43655522364204e-06, 0.3, (24, 2)),
    ],
)
def test_shares_priced_in_different_ways_fit_together(eps, delta, first, counts):
    """One share is cheapest as pure eps, the other by Rényi divergence."""
    budget = Budget(eps, delta)
    for share, count in zip((first, 1 - first), counts, strict=True):
        part = budget.share(share * eps, share * delta)
        charge(part, part.calibrate(selection, count), count=count)
    assert 0.9 * eps < budget.spent() <= eps


def test_threads_cannot_overspend_a_budget_together():
    """Many threads charge 0.3 each to a budget of 1 at once."""
    budget, barrier = Budget(1.0, 0.0), threading.Barrier(8)

    def spend(_):
        barrier.wait()
        try:
            charge(budget.share(0.3, 0.0), selection(0.29))
        except BudgetExceededError:
            return False
        return True

    with ThreadPoolExecutor(8) as threads:
        outcomes = list(threads.map(spend, range(8)))
    assert (sum(outcomes), len(budget.entries)) == (3, 3)


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy])
def test_copies_of_a_budget_are_the_budget_and_pickles_are_refused(duplicate):
    budget = Budget(1.0, 1e-6)
    draws = charge(duplicate(budget), selection(0.5))
    assert budget.spent() > 0
    assert duplicate(draws) is draws
    for unique in (budget, Ledger(1.0, 1e-6), draws):
        with pytest.raises(BudgetExceededError, match="spend a second time what was paid for once"):
            pickle.dumps(unique)


def test_a_price_that_is_no_number_is_refused():
    class Odd(privacy.ExponentialMechanism):
        pure_eps = float("nan")

    with pytest.raises(BudgetExceededError):
        charge(Ledger(1.0, 0.0), Odd(1.0, 0.1))


def test_statement_names_every_relation_that_was_charged():
    budget = privlp.Budget(2.0, 1e-6)
    for rows in (1, 7):
        lp = program(neighbours=ConstraintPrivate(rows_per_record=rows))
        privlp.solve(lp, 0.5, 1e-6, budget=budget, **STAGED)
    words = str(budget.statement())
    assert "at most 1 row)" in words
    assert "at most 7 rows)" in words
    assert "the limit is the guarantee" in words


FOUR = "one record (at most 4 rows) replaced"


def of_four_rows(**changes):
    """Records of four rows each, as groups say."""
    fields = {"groups": np.arange(80) // 4, **changes}
    return privlp.LinearProgram([1.0, 2.0], -np.ones((80, 2)), -np.ones(80), **fields)


def refusal(lp, **options):
    with pytest.raises(privlp.PrivLPError) as caught:
        privlp.solve(lp, 0.5, 1e-6, 10, opt=2.0, rng=0, **options)
    return str(caught.value)


def charged(other):
    """A budget that paid for a program of another relation, and refuses one of whole rows."""
    budget = privlp.Budget(2.0, 1e-6)
    privlp.solve(privlp.examples.diet(), 0.5, 0.0, budget=budget, rng=0)
    return refusal(other, budget=budget, method="staged")


@pytest.mark.parametrize(
    "text",
    [
        repr,
        lambda lp: privlp.quality(lp, [1.0, 1.0], 0.5, rng=0).privacy.relation,
        lambda lp: privlp.solve(lp, 0.5, 1e-6, **STAGED).privacy.relation,
        lambda lp: privlp.audit_solve(lp, 1.0, 1e-6, pairs=2, runs=0, **STAGED).relation,
        lambda lp: refusal(lp, method=privlp.methods.METHODS["direct-noise"]),
        charged,
    ],
    ids=["repr", "quality", "statement", "audit", "method", "mismatch"],
)
def test_every_text_says_how_many_rows_a_record_has_by_groups(text):
    said = text(of_four_rows())
    assert FOUR in str(said)
    assert "at most 1 row" not in str(said)


def test_a_row_of_two_sides_counts_twice():
    assert "at most 8 rows) replaced" in repr(of_four_rows(row_lower=np.full(80, -9.0)))


def test_where_records_come_and_go_the_declared_number_of_rows_is_said():
    """How many rows the largest record has is private."""
    relation = privlp.ConstraintPrivate("add-remove", rows_per_record=6, nominal_n=100)
    assert "one record (at most 6 rows) added or removed" in repr(of_four_rows(neighbours=relation))


def paid_for_two(ledger):
    """A draw of each of two charges."""
    source = Randomness(np.random.default_rng(0))
    asked = [(GaussianMechanism(1.0, 4.0), 2, "a"), (GaussianMechanism(2.0, 8.0), 3, "b")]
    return ledger.charge_together(asked, ConstraintPrivate(), source)


def test_unused_draws_are_exchanged_for_others_of_no_higher_price():
    ledger = Ledger(9.0, 1e-6)
    one, other = paid_for_two(ledger)
    one(0.0)
    before = ledger.spent()
    (found,) = exchanged([other], [(GaussianMechanism(1.0, 4.0), 3, "c")])
    assert [entry.purpose for entry in ledger.entries] == ["a", "c"]
    assert ledger.spent() == pytest.approx(before, rel=1e-9)
    assert np.isfinite([found(0.0) for _ in range(3)]).all()
    for draws in (found, other):
        with pytest.raises(BudgetExceededError, match="used"):
            draws(0.0)


@pytest.mark.parametrize(
    "asked",
    [(GaussianMechanism(1.0, 4.0), 4, "c"), (LaplaceMechanism(1.0, 1e6), 1, "c")],
    ids=["dearer", "not Gaussian"],
)
def test_no_draws_are_had_for_less(asked):
    ledger = Ledger(9.0, 1e-6)
    one, other = paid_for_two(ledger)
    one(0.0)
    for draws, wanted in (([other], asked), ([one, other], (GaussianMechanism(1.0, 4.0), 3, "c"))):
        with pytest.raises(BudgetExceededError, match="Only Gaussian draws of one ledger"):
            exchanged(draws, [wanted])
    assert [entry.purpose for entry in ledger.entries] == ["a", "b"]
    assert np.isfinite(other(0.0))  # nothing is lost


def test_draws_are_given_back_once_and_to_the_ledger_that_was_charged():
    """Even where another charge is equal, whose draws are left."""
    mechanism, ledgers = GaussianMechanism(1.0, 4.0), [Ledger(9.0, 1e-6) for _ in range(2)]
    asked = [(mechanism, 1, "a")] * 2, ConstraintPrivate()
    (one, other), (of_another, _) = (of.charge_together(*asked, Randomness(0)) for of in ledgers)
    for draws in ([one, one], [one, of_another]):
        with pytest.raises(BudgetExceededError, match="each once"):
            exchanged(draws, [(mechanism, 2, "b")])
    assert [entry.purpose for entry in ledgers[0].entries] == ["a", "a"]
    assert np.isfinite([one(0.0), other(0.0), of_another(0.0)]).all()  # nothing is lost
