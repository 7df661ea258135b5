"""Overflow, underflow and NaN go unnoticed, whatever NumPy and SciPy are told to do about them."""

import warnings
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from unittest import mock

import numpy as np
import pytest
import scipy.sparse as sp
from scipy import special

import privlp
from privlp import Budget, ConstraintPrivate, LinearProgram
from privlp.privacy import GaussianMechanism, Randomness
from privlp.quiet import unnoticed
from privlp.rows import parts
from privlp.rows.access import InMemory
from tests.effort import each
from tests.programs import methods_for
from tests.test_row_blocks import COSTS, OPT, assert_same, request_of, table

RELATION = ConstraintPrivate()


@contextmanager
def raising():
    """Every floating-point error is to raise, in this thread."""
    with np.errstate(all="raise"), special.errstate(all="raise"):
        yield


# Rows of sizes whose squares underflow, or that overflow in units of others.
A, B = table()
A[3:20] *= 1e-200
A[20:25], B[20:25] = A[20:25] * 1e14, B[20:25] * 1e19
A[40:50] *= 1e-307


def program(storage=np.array):
    return LinearProgram(COSTS, storage(A), B)


@pytest.mark.parametrize(
    ("storage", "method"), each([np.array, sp.csr_array], methods_for(RELATION))
)
def test_a_solve_is_the_same_in_any_number_of_threads(method, storage, monkeypatch):
    monkeypatch.setattr(parts, "MOST_ROWS", 20)
    monkeypatch.setattr("privlp.rows.parts._DENSE_ENTRIES", 80)
    monkeypatch.setattr("privlp.rows.parts._SPARSE_ENTRIES", 80)
    request = {"eps": 1.0, "delta": 1e-6, **request_of(method)}
    expected = privlp.solve(program(storage), **request)
    privlp.privacy.prices._composed_epsilon.cache_clear()
    with mock.patch("privlp.rows.parts.THREADS", 2), raising():
        assert_same(privlp.solve(program(storage), **request), expected)


def prices_of_an_allocation():
    wishes = np.random.default_rng(0).uniform(size=(3000, 2)) * np.array([1e-200, 1.0])
    allocation = privlp.Allocation(wishes, supplies=[900, 900], largest_value=1.0)
    found = privlp.allocate(allocation, eps=1.0, rng=0)
    return found.prices.tolist(), found.shares_of(allocation).tolist()


@pytest.mark.parametrize(
    "call",
    [
        lambda lp: privlp.plan(lp, 1.0, 1e-60, 9, opt=OPT),
        lambda lp: privlp.quality(lp, [1e-300, 1e-170, 1.0, 0.0], 1.0, rng=0),
        lambda lp: privlp.compare(lp, [1e-300, 1e-170, 1.0, 0.0]).violations.tolist(),
        privlp.solve_exact,
        repr,
        lambda lp: Budget(60.0, 1e-9).calibrate(lambda size: GaussianMechanism(1.0, 1 / size), 3),
        lambda lp: prices_of_an_allocation(),
    ],
    ids=["plan", "quality", "compare", "solve_exact", "program", "calibrate", "allocate"],
)
def test_other_calls_are_the_same(call):
    expected = str(call(program()))
    for cached in (privlp.privacy.prices._composed_epsilon, privlp.privacy.budget_rule._largest_mu):
        cached.cache_clear()
    with raising():
        assert str(call(program())) == expected


@pytest.mark.parametrize("name", ["PrivateLPSVC", "ObjectivePerturbationSVC", "HuberSVC"])
def test_a_fit_is_the_same(name):
    import svm_models

    X, y = svm_models.make_unseparable_ball(200, random_state=0)
    X[:50] *= 1e-200
    options = {"delta": 1e-6} if name == "PrivateLPSVC" else {"reg": 0.1}
    if name != "HuberSVC":
        options |= {"eps": 1.0, "classes": (-1, 1), "random_state": 0}
    machine = getattr(svm_models, name)(**options)
    expected = machine.fit(X, y).coef_.tolist()
    with raising():
        assert machine.fit(X, y).coef_.tolist() == expected


def settings():
    """What is done about each floating-point error; a lack of memory is none."""
    of_scipy = {error: done for error, done in special.geterr().items() if error != "memory"}
    return {*np.geterr().values(), *of_scipy.values()}


@pytest.mark.parametrize("count", [1, 2])
def test_kernels_and_their_threads_have_settings_of_their_own(count):
    rows = InMemory(np.arange(6))
    with raising(), mock.patch("privlp.rows.parts.THREADS", count):
        (found,) = rows.map(lambda block: parts.over(block, lambda _: settings()))
        assert found == [{"ignore"}] * count
        assert settings() == {"raise"}  # the caller's are as they were


def test_a_thread_of_a_kernel_warns_of_nothing():
    """In a new thread NumPy would warn of an overflow, which tells of rows."""
    with warnings.catch_warnings(record=True) as warned, mock.patch("privlp.rows.parts.THREADS", 2):
        warnings.simplefilter("always")
        found = parts.over([1e300, 1e300], lambda share: np.array(share) * 1e300)
    assert np.concatenate(found).tolist() == [np.inf, np.inf]
    assert not warned


def test_settings_hold_in_a_thread_with_the_context_of_another_one():
    """NumPy before 2.0 keeps settings for each thread; what is known of another says nothing."""

    @unnoticed()
    def seen():
        return settings()

    with unnoticed(), ThreadPoolExecutor(1) as pool:
        found = pool.submit(copy_context().run, seen).result()
        assert found == seen() == {"ignore"}
    with raising():
        assert (seen(), settings()) == ({"ignore"}, {"raise"})


def test_a_draw_is_made_under_settings_of_its_own():
    seen = []

    class Nosy(GaussianMechanism):
        def release(self, value, randomness):
            seen.append(settings())
            return super().release(value, randomness)

    with raising():
        ledger = Budget(1.0, 1e-6).ledger(1.0, 1e-6)
        release = ledger.charge(Nosy(1.0, 60.0), 1, "a number", RELATION, Randomness(0))
        release(1e-320)
    assert seen == [{"ignore"}]
