"""Baselines of the page on rivals: what one record moves, and what they find without noise."""

import math
from dataclasses import replace

import numpy as np
import pytest

from benchmarks import rival_methods
from benchmarks.rival_methods import RIVALS, Told
from benchmarks.rivals import one_number
from benchmarks.small import half_spaces, packing, three_foods
from privlp import LinearProgram, solve_exact


def told(lp, kind):
    optimum = solve_exact(lp)
    high = np.full(len(lp.c), 1.5 * np.abs(optimum.x).max())
    return Told(lp, optimum.objective, -high if kind == "around" else 0 * high, high, kind)


def one_each():
    """Rows that ask for one unit of one of four things: many of the first two, few of the others."""
    A = np.zeros((60, 4))
    A[np.arange(60), np.repeat([0, 1, 2, 3], [25, 25, 5, 5])] = -1
    return LinearProgram(np.ones(4), A, -np.ones(60))


CASES = [
    (name, lp, kind)
    for name in RIVALS
    if name not in ("weights, told", "histogram, told", "piecewise Laplace")
    for lp, kind in ((three_foods(1, 60, 4), "cover"), (half_spaces(1, 60, 3), "around"))
]
CASES += [("mean of blocks", packing(1, 60, 3), "pack"), ("histogram, told", one_each(), "cover")]
CASES.append(("piecewise Laplace", one_number(1, 60, 1), "cover"))


@pytest.mark.parametrize(("name", "lp", "kind"), CASES)
def test_one_record_moves_a_release_by_no_more_than_was_paid_for(monkeypatch, name, lp, kind):
    run, numbers, _ = RIVALS[name]
    own = told(lp, kind)
    A = own.rows.copy()
    A[0] = np.roll(A[0], 1) if len(A[0]) > 1 else 0.1 * A[0]
    changed = LinearProgram(lp.c, A, lp.b, bounds=lp.bounds, sense=lp.sense)
    other = replace(own, lp=changed)  # all that is told is the same
    tape, mechanisms = [], []

    def record(make, count, eps, delta, seed):
        paid = keep(make, count, eps, delta, seed)

        def draw(value):
            mechanisms.append(paid.mechanism)
            tape.append((np.copy(value), paid(value)))
            return tape[-1][1]

        return draw

    def replay(*_):
        recorded = iter(zip(tape, mechanisms, strict=True))

        def draw(value):
            (before, released), mechanism = next(recorded)
            moved.append(mechanism.distance(before, value) / mechanism.sensitivity)
            return released

        return draw

    keep, moved = rival_methods.paid, []
    monkeypatch.setattr(rival_methods, "paid", record)
    run(own, 1.0, 1e-6, 0, numbers[0], 0.0)
    monkeypatch.setattr(rival_methods, "paid", replay)
    run(other, 1.0, 1e-6, 0, numbers[0], 0.0)
    assert len(moved) == len(tape) > 0
    assert max(moved) <= 1 + 1e-9


def test_without_noise_one_block_is_the_exact_solution():
    for lp, kind in ((three_foods(1, 60, 4), "cover"), (half_spaces(1, 60, 3), "around")):
        of = told(lp, kind)
        x = rival_methods.mean_of_blocks(of, math.inf, 0.0, 0, 1, 0.0)
        assert lp.objective(x) == pytest.approx(of.optimum)


def test_without_noise_a_perceptron_meets_the_rows_at_twice_the_cost():
    of = told(three_foods(1, 60, 4), "cover")
    x = rival_methods.perceptron(of, math.inf, 0.0, 0, 60, 1.0)
    assert (of.rows @ x <= of.lp.b).all()
    assert of.lp.objective(x) <= 2 * of.optimum * (1 + 1e-6)
    x = rival_methods.perceptron_search(of, math.inf, 0.0, 0, 60, 0.0)
    assert (of.rows @ x <= of.lp.b).all()
    assert of.lp.objective(x) <= 2 * of.optimum


def test_a_histogram_buys_what_most_ask_for():
    x = rival_methods.histogram(told(one_each(), "cover"), math.inf, 0.0, 0, 0, 0.0)
    assert list(x) == [1, 1, 0, 0]


def test_a_piecewise_laplace_quantile_is_exact_without_noise():
    of = told(one_number(1, 60, 1), "cover")
    x = rival_methods.piecewise_laplace(of, math.inf, 0.0, 0, 0, 1.0)
    assert 2 <= (x[0] < -of.lp.b).sum() <= 4  # a twentieth of 60
