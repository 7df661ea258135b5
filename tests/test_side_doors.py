"""Ways round the guarantee that were once open, or might have been: each stays shut."""

import copy
import gc
import importlib
import inspect
import pickle
import pkgutil
import threading
import weakref

import numpy as np
import pytest
import scipy.sparse as sp

import privlp
import svm_models
from privlp.privacy import ExponentialMechanism, Ledger, Randomness
from privlp.problem.standard_form import StandardForm
from privlp.solvers.dense_dual import DenseProjection
from privlp.solvers.simplex import RowsOnSimplex, Simplex

RELATION = privlp.ConstraintPrivate()


def shifted_program(n, storage):
    """Rows whose right-hand side is moved by a sum of huge cancelling terms."""
    fixed = np.random.default_rng(1).uniform(-9e14, 9e14, 7)
    row = np.r_[1e-3, -1e-3, 0.0, fixed, -fixed.sum() / 8]
    bounds = [(0, None)] * 3 + [(1, 1)] * 8
    return privlp.LinearProgram(
        np.r_[1.0, 1.0, 1.0, np.zeros(8)], storage(np.tile(row, (n, 1))), np.zeros(n), bounds=bounds
    )


@pytest.mark.parametrize("storage", [np.array, sp.csc_array])
def test_a_right_hand_side_does_not_depend_on_the_number_of_rows(storage):
    """BLAS rounds the last rows of a dense matrix differently: equal rows must get equal right-hand sides all the same."""
    values = [StandardForm.of(shifted_program(n, storage)).rhs for n in range(36, 45)]
    assert len({value for rhs in values for value in rhs.tolist()}) == 1


def test_threads_cannot_overspend_a_budget_together():
    """Many threads charge 0.3 each to a budget of 1 at once: three get through, whatever the order."""
    for _ in range(5):
        budget = privlp.Budget(1.0, 0.0)
        barrier = threading.Barrier(8)
        outcomes = []

        def charge(budget=budget, barrier=barrier, outcomes=outcomes):
            barrier.wait()
            try:
                budget.share(0.3, 0.0).charge(
                    ExponentialMechanism(1.0, 0.29), 1, "test", RELATION, Randomness(0)
                )
                outcomes.append(True)
            except privlp.BudgetExceededError:
                outcomes.append(False)

        threads = [threading.Thread(target=charge) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert (outcomes.count(True), len(budget.entries)) == (3, 3)


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy])
def test_copies_of_a_budget_are_the_budget(duplicate):
    budget = privlp.Budget(1.0, 1e-6)
    draws = duplicate(budget).charge(
        ExponentialMechanism(1.0, 0.5), 1, "test", RELATION, Randomness(0)
    )
    assert budget.spent() > 0
    assert duplicate(draws) is draws


def test_budgets_and_draws_cannot_be_pickled():
    budget = Ledger(1.0, 1e-6)
    draws = budget.charge(ExponentialMechanism(1.0, 0.5), 1, "test", RELATION, Randomness(0))
    for unique in (budget, draws):
        with pytest.raises(
            privlp.BudgetExceededError, match="spend a second time what was paid for once"
        ):
            pickle.dumps(unique)


def test_solutions_can_be_pickled():
    lp = privlp.LinearProgram([1.0, 1.0], -np.eye(2), -np.ones(2))
    solution = privlp.solve(lp, 1.0, 1e-6, 1, 1.0, opt=2.0, rng=0)
    assert np.array_equal(pickle.loads(pickle.dumps(solution)).x, solution.x)


def test_a_price_that_is_no_number_is_refused():
    class Odd(ExponentialMechanism):
        pure_eps = float("nan")

    with pytest.raises(privlp.BudgetExceededError):
        Ledger(1.0, 0.0).charge(Odd(1.0, 0.1), 1, "test", RELATION, Randomness(0))


def test_a_huge_private_right_hand_side_is_refused_not_dropped():
    with pytest.raises(privlp.InvalidProblemError, match="finite values beyond 1e\\+20"):
        privlp.LinearProgram([1.0], [[1.0], [1.0]], [1e20, 1.0], row_lower=[-np.inf, -np.inf])


@pytest.mark.parametrize("size", [1.9e3, 2e4, 1.3e5])
def test_projection_is_exact_for_log_weights_of_any_size(size):
    """Exactly s rows far ahead of the rest: those get 1/s each, to the last digits that the log-weights have."""
    rng = np.random.default_rng(0)
    log_weights = np.r_[size + 40 + rng.random(5), size + rng.random(95)]
    weights = DenseProjection(100, 5.0)(log_weights)
    assert weights.sum() == pytest.approx(1.0, abs=1e-14)
    assert weights[:5] == pytest.approx(0.2, rel=1e-12)


def test_far_more_rows_than_the_nominal_number_are_outside_the_relation():
    relation = privlp.ConstraintPrivate("add-remove", nominal_n=2)
    privlp.LinearProgram([1.0], np.ones((20, 1)), np.ones(20), neighbours=relation)
    with pytest.raises(
        privlp.InvalidProblemError, match="more than ten times nominal_n=2 private rows"
    ):
        privlp.LinearProgram([1.0], np.ones((21, 1)), np.ones(21), neighbours=relation)


def test_no_private_row_at_all_is_no_error_where_their_number_is_private():
    relation = privlp.ConstraintPrivate("add-remove", nominal_n=20)
    lp = privlp.LinearProgram(
        [1.0, 1.0], [[1.0, 1.0]], [np.inf], row_lower=[-np.inf], private=[], neighbours=relation
    )
    assert privlp.solve(lp, 1.0, 1e-6, 5, opt=2.0, rng=0).success


def test_rounding_is_allowed_for_up_to_the_largest_number_of_rows():
    relation = privlp.ConstraintPrivate("add-remove", nominal_n=1000)
    lp = privlp.LinearProgram([1.0, 2.0], -np.ones((5, 2)), -np.ones(5), neighbours=relation)
    sensitivity = (
        privlp.solve(lp, 1.0, 1e-6, 10, opt=2.0, method="dmw", rng=0).privacy.entries[0].sensitivity
    )
    assert sensitivity == pytest.approx(0.2 + 2 * RowsOnSimplex.rounding_error(10_000), rel=1e-15)


def test_statement_names_every_relation_that_was_charged():
    budget = privlp.Budget(2.0, 1e-6)
    for rows in (1, 7):
        lp = privlp.LinearProgram(
            [1.0, 2.0],
            -np.ones((50, 2)),
            -np.ones(50),
            neighbours=privlp.ConstraintPrivate(rows_per_record=rows),
        )
        privlp.solve(lp, 0.5, 1e-6, 10, 1.0, opt=2.0, budget=budget, rng=0)
    words = str(budget.statement())
    assert "at most 1 row)" in words
    assert "at most 7 rows)" in words
    assert "the limit is the guarantee" in words


def test_groups_show_in_the_statement():
    lp = privlp.LinearProgram(
        [1.0, 2.0], -np.ones((50, 2)), -np.ones(50), groups=np.arange(50) // 5
    )
    assert "at most 5 rows" in str(
        privlp.solve(lp, 0.5, 1e-6, 10, 1.0, opt=2.0, rng=0).privacy.statement()
    )


def test_all_variables_fixed_is_told():
    lp = privlp.LinearProgram([1.0], [[1.0]], [1.0], bounds=(1, 1))
    with pytest.raises(privlp.UnsupportedProblemError, match="every variable is fixed"):
        Simplex(StandardForm.of(lp), 5.0)


@pytest.mark.parametrize("alpha", [1e-200, 1e-290])
def test_absurdly_small_alpha_is_told(alpha):
    lp = privlp.LinearProgram([1.0, 2.0], -np.ones((50, 2)), -np.ones(50))
    for method, options in (("dmw", {}), ("dmw-published", {"width": 1.0})):
        with pytest.raises(privlp.InvalidParameterError, match="Give a larger alpha"):
            privlp.solve(lp, 1.0, 1e-6, 10, alpha, opt=2.0, method=method, **options)


def test_audit_of_plain_floats_has_power():
    result = privlp.audit(lambda x, rng: x + rng.laplace(), 0.0, 10.0, 1.0, 0.0, runs=2000, rng=0)
    assert not result.passed


def test_audit_of_outputs_of_different_lengths_is_told():
    with pytest.raises(privlp.InvalidParameterError, match="same kind and length"):
        privlp.audit(lambda x, rng: [0.0] * x, 1, 2, 1.0, 0.0, runs=100, rng=0)


def every_class():
    for package in (privlp, svm_models):
        for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
            if not module.name.endswith("__main__"):
                yield from (
                    c
                    for c in vars(importlib.import_module(module.name)).values()
                    if inspect.isclass(c)
                )


def test_no_method_remembers_its_object_for_ever():
    """A cache on a method belongs to the class: it would keep every program that was ever solved in memory."""
    remembered = [
        c for c in every_class() for member in vars(c).values() if hasattr(member, "cache_info")
    ]
    assert remembered == []


@pytest.mark.parametrize("method", ["mw", "direct-noise"])
def test_nothing_of_a_program_outlives_its_solve(method):
    relation = privlp.ScalarPrivate(0.1, lower=-2, upper=2)
    lp = privlp.LinearProgram(
        [1.0, 1.0],
        -np.eye(2),
        -np.ones(2),
        neighbours=relation,
        bounds=(0, None if method == "mw" else 5),
    )
    gone = weakref.ref(lp)
    solution = privlp.solve(
        lp, 1.0, 1e-6, opt=2.0 if method == "mw" else None, method=method, rng=0
    )
    del lp
    gc.collect()
    assert gone() is None
    assert solution.success
