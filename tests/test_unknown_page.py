"""The page on unknown optima: what counts as success, what is read from advice, a tiny run."""

import math

import numpy as np
import pytest
from click.testing import CliRunner

import privlp
from benchmarks import cache, unknown

#: A bound told, public rows, earnings, a free variable; and soft rows.
SOME = {
    "hard": (1, 6, 8, 10),
    "soft": (1, 3),
}


@pytest.mark.parametrize("table", SOME)
def test_a_quick_run_prints_every_row_of_a_table(table, monkeypatch):
    name = {"hard": "CASES", "soft": "SOFT_CASES"}[table]
    cases = list(getattr(unknown, name).items())
    some = dict(cases[k] for k in SOME[table])
    monkeypatch.setattr(unknown, name, some)
    done = CliRunner().invoke(unknown.main, ["--quick", "--only", table], catch_exceptions=False)
    assert done.exit_code == 0
    assert all(row in done.output for row in some)
    assert "nan" not in done.output


@pytest.mark.parametrize(
    ("cost", "missed", "maximised", "good"),
    [
        (1.05, 5, False, True),
        (1.06, 5, False, False),
        (0.5, 6, False, False),
        (2.0, 5, True, True),
        (0.96, 5, True, True),
        (0.95, 5, True, False),
    ],
)
def test_success(cost, missed, maximised, good):
    result = {"ratio": cost, "missed": missed, "s": 5}
    assert unknown.succeeded(result, maximised=maximised) is good


def test_a_refusal_is_no_success_and_no_number():
    results = [{"refused": "No."}, {"ratio": 1.0, "missed": 0, "s": 5}]
    assert not unknown.succeeded(results[0], maximised=False)
    assert unknown.mean_and_error(unknown.values(results, "ratio")) == "1.000"
    assert unknown.mean_and_error(unknown.values(results[:1], "ratio")) == "refused"


def test_means_and_shares_are_those_of_the_textbook():
    assert unknown.mean_and_error(np.array([1, 2, 3])) == f"2.000 ± {1 / math.sqrt(3):.3f}"
    assert unknown.span(np.array([3, 1, 2])) == "1.00–3.00"
    assert unknown.share([True, True, False, True]) == "75% (3 of 4)"
    assert unknown.counted(["yes", "no", "yes"]) == "no 1, yes 2"


def test_the_way_out_is_read_from_the_advice_of_a_real_plan():
    n, d = 20_000, 20
    lp = privlp.LinearProgram(np.ones(d), -np.ones((n, d)), -np.ones(n))
    plan = privlp.plan(lp, 0.5, 1e-6, s=100)
    found = unknown.named(plan.advice)
    assert f"s = {found['s']:,.0f}" in plan.advice
    assert f"eps = {found['eps']:.2g}" in plan.advice
    enough = privlp.plan(lp, 4.0, 1e-6, s=1000)
    assert unknown.named(enough.advice) == {"s": None, "eps": None}


def _square(cell):
    return cell["k"] ** 2


def test_many_measurements_keep_their_order_and_are_not_made_twice(tmp_path, monkeypatch):
    monkeypatch.setattr(cache, "_FOLDER", tmp_path)
    asked = [{"k": k} for k in (3, 1, 2)]
    kept = cache.Cache("squares", "state")
    found = kept.measure_all(asked, _square, processes=1, description="squares")
    assert found == [9, 1, 4]

    def never(cell):
        raise AssertionError(cell)

    again = cache.Cache("squares", "state")
    assert again.measure_all(asked, never, processes=2, description="squares") == found
