"""One margin for all rows, the least that certainty costs, and what plans foretell of losses."""

import math

import numpy as np
import pytest

import privlp
from benchmarks.never_violated import violated_rows
from benchmarks.power_flow import CASE14, dc_opf
from privlp import LinearProgram, ObjectivePrivate, RowPrivate, ScalarPrivate
from privlp.methods import SolveRequest, auto
from privlp.methods.auto import least_slack
from privlp.methods.tightened import measured
from privlp.methods.tightened.measured import OneMargin, measured_margin
from privlp.methods.tightened.method import by_margin
from privlp.privacy import TruncatedLaplaceMechanism
from privlp.status import Verdict
from tests.programs import WAYS, way_of

EACH, SUM = (ScalarPrivate(1.0, norm, lower=500, upper=6000) for norm in ("inf", "1"))


def packing(relation=EACH, *, rows=40, d=4, seed=0, **fields):
    rng = np.random.default_rng(seed)
    A, b = rng.uniform(0, 1, (rows, d)), rng.uniform(3000, 5000, rows)
    return LinearProgram(rng.uniform(1, 2, d), A, b, sense="max", neighbours=relation, **fields)


def test_no_row_fails_and_less_is_lost():
    lp = packing(rows=400)
    best = privlp.solve_exact(lp).objective
    found = [privlp.solve(lp, 1.0, 1e-6, feasible="always", rng=0)]
    assert {way_of(solution) for solution in found} == {"one-margin"}
    for solution in found:
        assert violated_rows(lp, solution.x) == 0
        assert (solution.trace["tightened b"] <= lp.b).all()
        assert solution.trace["margin"] >= measured_margin(solution.trace["tightened b"], lp.b)
        assert solution.privacy.eps <= 1
        assert solution.privacy.delta <= 1e-6
    found = [privlp.solve(lp, 1.0, 1e-6, method=OneMargin(), rng=seed) for seed in range(3)]
    others = [privlp.solve(lp, 1.0, 1e-6, method=WAYS["truncated-gaussian"], rng=0).objective]
    assert best - np.mean([of.objective for of in found]) < 0.85 * (best - np.mean(others))


@pytest.mark.parametrize("lower", [-6000, -5200])
def test_rows_that_ask_for_at_least_a_number(lower):
    """Sides with sign -1, and ranges that reach to the numbers."""
    lp = packing()
    turned = LinearProgram(
        -lp.c, -lp.A, np.full(40, np.inf), row_lower=-lp.b,
        neighbours=ScalarPrivate(1.0, lower=lower, upper=-500),
    )  # fmt: skip
    solution = privlp.solve(turned, 1.0, 1e-6, method=OneMargin(), rng=0)
    assert violated_rows(lp, solution.x) == 0
    assert (solution.trace["tightened b"] >= -lp.b).all()


def test_the_margin_moves_like_one_number():
    rng = np.random.default_rng(0)
    for _ in range(200):
        levels, values = rng.normal(0, 10, (2, rng.integers(1, 9)))
        moved = values + rng.uniform(-1, 1, len(values))
        change = measured_margin(levels, values) - measured_margin(levels, moved)
        assert abs(change) <= np.abs(values - moved).max() + 1e-12


@pytest.mark.parametrize(
    ("lp", "expected"),
    [
        (packing(rows=400), True),
        (packing(), False),
        (packing(SUM), False),
        (packing(ScalarPrivate(1.0, lower=500)), False),
    ],
    ids=["every number moves", "few numbers", "one number moves", "an end of the range is missing"],
)
def test_where_it_is_taken(lp, expected):
    request = SolveRequest.of(lp, 1.0, 1e-6, feasible="always")
    assert (by_margin(request) is not None) == expected


def test_a_range_without_an_end_will_do():
    lp = packing(ScalarPrivate(1.0, lower=500))
    solution = privlp.solve(lp, 1.0, 1e-6, method=OneMargin(), rng=0)
    assert violated_rows(lp, solution.x) == 0


def test_what_it_refuses():
    for relation in (RowPrivate(0.1, lower=0, upper=1), (EACH, ObjectivePrivate(0.1))):
        with pytest.raises(privlp.UnsupportedProblemError, match="does not protect this neighbour"):
            privlp.solve(packing(relation), 1.0, 1e-6, method=OneMargin(), rng=0)
    with pytest.raises(privlp.InvalidParameterError, match="split needs 1 positive"):
        privlp.solve(packing(), 1.0, 1e-6, method=OneMargin(), split=[1, 2], rng=0)


def audited(lp):
    return privlp.audit_solve(lp, 1.0, 1e-3, method=OneMargin(), pairs=3, runs=0, rng=1)


@pytest.mark.parametrize(
    "twin",
    [
        lambda levels, values: np.sum(np.maximum(levels - values, 0), keepdims=True),
        lambda levels, values: np.max((levels - values) * 3, keepdims=True),
    ],
    ids=["the sum of all excesses", "another unit"],
)
def test_twins_of_larger_change_are_caught(twin, monkeypatch):
    monkeypatch.setattr(measured, "measured_margin", twin)
    found = audited(packing(rows=8, d=3))
    assert any("measure one margin" in fault for fault in found.faults), str(found)


def test_a_twin_whose_levels_are_private_is_caught(monkeypatch):
    """They follow from the true numbers, not from the noisy ones."""
    monkeypatch.setattr(
        measured.MarginProgram, "_levels_of", lambda self, numbers, noisy: 1.5 * self._values[0]
    )
    assert not audited(packing(rows=8, d=3)).passed


@pytest.mark.parametrize(("eps", "delta"), [(0.1, 1e-6), (1.0, 1e-3), (1.0, 1e-6), (4.0, 1e-9)])
def test_truncated_noise_is_near_the_least_slack(eps, delta):
    least = float(least_slack(np.array([1e6]), eps, delta)[0])
    width = TruncatedLaplaceMechanism.of_budget(1.0, eps, delta).width
    assert least <= width * (1 + 1e-9)
    assert width - least < 1 + 0.7 / eps  # one change is lost to whole steps


def test_the_least_slack_of_few_steps():
    """By hand: 1 - delta for one change, and 1 - delta (1 + e^eps) more for the second."""
    found = least_slack(np.array([0.0, 0.9, 1.0, 2.5]), 1.0, 0.01)
    assert found == pytest.approx([0, 0, 0.99, 0.99 + 1 - 0.01 * (1 + math.e)])
    assert least_slack(np.array([50.0]), 800.0, 1e-6) == pytest.approx(1, abs=0.01)


def test_no_way_loses_less_than_the_least():
    """Grid of 14 buses: one load moves. The mean over draws, beside the bound at the true loads."""
    lp = dc_opf(CASE14, {"sensitivity": 0.1, "norm": "1"})
    plan = privlp.plan(lp, 1.0, 1e-6, feasible="always")
    assert 0.9 * plan.losses["always"] < plan.least_loss < plan.losses["always"]
    of_sum = privlp.plan(
        dc_opf(CASE14, {"sensitivity": 0.1, "norm": "1"}, angles=False), 1.0, 1e-6,
        feasible="always",
    )  # fmt: skip
    assert of_sum.losses["always"] < 0.15 * plan.losses["always"]


@pytest.mark.parametrize("feasible", [None, 0.9, "always"])
def test_losses_are_near_those_of_solves(feasible):
    lp = packing(ScalarPrivate(20.0, "1", lower=2000, upper=6000), seed=1)
    plan = privlp.plan(lp, 1.0, 1e-6, feasible=feasible)
    assert set(plan.losses) == {"None", "always", "0.99", str(feasible)}
    best = privlp.solve_exact(lp).objective
    found = [privlp.solve(lp, 1.0, 1e-6, feasible=feasible, rng=k).objective for k in range(3)]
    lost = 1 - np.mean(found) / best
    assert plan.losses[str(feasible)] == pytest.approx(lost, rel=0.5, abs=5e-3)
    assert f"it lost {plan.losses[str(feasible)]:.2%} of the optimum" in plan.advice


def test_costs_alone_have_one_loss():
    costs = ObjectivePrivate(0.3, lower=1, upper=4)
    lp = LinearProgram([2.0, 3.0], [[-1.0, -2.0]], [-4.0], bounds=(0, 9), neighbours=costs)
    plan = privlp.plan(lp, 1.0, 1e-6)
    assert (set(plan.losses), plan.least_loss) == ({"None"}, None)
    assert plan.verdict is Verdict.ROWS_HOLD
    assert "it lost" in plan.advice
    assert (
        privlp.plan(packing(rows=4), 1.0, 0.0).least_loss is not None
    )  # pure eps: no row may move


def test_where_nothing_is_foretold(monkeypatch):
    unranged = privlp.plan(packing(ScalarPrivate(1.0)), 1.0, 1e-6)
    assert (unranged.losses, unranged.verdict) == ({}, Verdict.UNKNOWN)
    monkeypatch.setattr(auto, "_PROGRAMS", {10: 1})
    large = privlp.plan(packing(SUM), 1.0, 1e-6, feasible="always")
    assert large.losses == {}
    assert large.advice.endswith("too large to try that on made-up numbers while planning.")


@pytest.mark.parametrize(
    ("eps", "expected"),
    [(4.0, Verdict.NEARLY_HOLD), (0.002, Verdict.ROUGH), (0.0001, Verdict.TOO_MUCH_NOISE)],
)
def test_declared_ranges_give_a_verdict(eps, expected):
    plan = privlp.plan(packing(SUM, rows=10), eps, 1e-6)
    assert plan.verdict is expected
    assert "of what declared ranges let a row move" in plan.advice


@pytest.mark.parametrize("rounding", [0.0, 50.0])
def test_no_number_moves_by_more_than_all_together(rounding):
    """So rounding, which the bound on the sum holds too, raises no bound on what certainty costs."""
    relation = ScalarPrivate(6.0, norm="1", moves=[[6.0]], rounding=rounding, lower=0, upper=4000)
    lp = LinearProgram([1.0], [[1.0]], [2000.0], sense="max", bounds=(0, None), neighbours=relation)
    plan = privlp.plan(lp, 1.0, 1e-6, feasible="always")
    assert 0.02 < plan.least_loss < 0.05
    assert plan.least_loss < 1.1 * plan.losses["always"]
