"""The page on unknown optima: what counts as success, what is read from advice, a tiny run."""

import math

import numpy as np
import pytest
from click.testing import CliRunner

import privlp
from benchmarks import cache, unknown
from benchmarks.families import instance as instances
from benchmarks.unknown_tables import cells, commands, draws, files
from benchmarks.unknown_tables.cases import CASES, SOFT_CASES, told


@pytest.fixture
def nothing_kept(tmp_path, monkeypatch):
    """No file is written into the repository, and no model file is read."""
    monkeypatch.setattr(instances, "_STORE", tmp_path / "optima.jsonl")
    monkeypatch.delenv("PRIVLP_DATA", raising=False)


@pytest.mark.parametrize(
    ("table", "rows"),
    [
        ("hard", CASES),
        ("soft", SOFT_CASES),
        ("files", ["Not measured: PRIVLP_DATA names no folder"]),
    ],
)
def test_a_quick_run_prints_every_row_of_a_table(nothing_kept, table, rows):
    done = CliRunner().invoke(unknown.main, ["--quick", "--only", table], catch_exceptions=False)
    assert done.exit_code == 0
    missing = [row for row in rows if row not in done.output]
    assert not missing
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
    assert draws.succeeded(result, maximised=maximised) is good


def test_a_refusal_is_no_success_and_no_number():
    results = [{"refused": "No."}, {"ratio": 1.0, "missed": 0, "s": 5}]
    assert not draws.succeeded(results[0], maximised=False)
    assert draws.mean_and_error(draws.values(results, "ratio")) == "1.000"
    assert draws.mean_and_error(draws.values(results[:1], "ratio")) == "refused"


def test_means_and_shares_are_those_of_the_textbook():
    assert draws.mean_and_error([1, 2, 3]) == f"2.000 ± {1 / math.sqrt(3):.3f}"
    assert draws.span([3, 1, 2]) == "1.00–3.00"
    assert draws.share([True, True, False, True]) == "75% (3 of 4)"
    assert draws.counted(["yes", "no", "yes"]) == "no 1, yes 2"


def _draws(costs, missed=0):
    return [{"ratio": cost, "missed": missed, "s": 5} for cost in costs]


def test_the_way_out_is_read_from_the_advice_of_a_real_plan():
    n, d = 20_000, 20
    lp = privlp.LinearProgram(np.ones(d), -np.ones((n, d)), -np.ones(n))
    plan = privlp.plan(lp, 0.5, 1e-6, s=100)
    found = cells.named(plan.advice)
    assert f"s = {found['s']:,.0f}" in plan.advice
    assert f"eps = {found['eps']:.2g}" in plan.advice
    again = privlp.plan(lp, 0.5, 1e-6, s=found["s"])
    assert plan.best == "staged"  # the advice is about this method
    assert again.predictions["staged"].difficulty <= 1.01
    enough = privlp.plan(lp, 4.0, 1e-6, s=1000)
    assert cells.named(enough.advice) == {"s": None, "eps": None}


def test_second_commands_are_those_that_the_message_names():
    lp = privlp.LinearProgram([1.0], [[-1.0], [-1.0], [1.0]], [-200.0, 0.0, 400.0])
    message = 'Too few ... --scalar-private D): ... feasible=0.99 or feasible="always" none ...'
    moved = ("--scalar-private", "3")
    assert commands.second_commands(message, lp) == [
        moved,
        (*moved, "--feasible", "0.99"),
        (*moved, "--feasible", "always"),
    ]
    assert commands.second_commands("About s = 1,300, or eps = 4", lp) == [("--s", "1300")]
    assert commands.second_commands("name the private rows by private=", lp) == [("--private", "*")]
    assert commands.second_commands("cannot read", None) == []


def test_a_hint_of_a_negative_optimum_is_still_a_range():
    assert told("half to twice", -4.0) == (-8.0, -2.0)
    assert told("half", -4.0) == -2.0
    assert told("none", -4.0) is None


def test_model_files_lie_in_the_folder_named_or_in_lp_below_it(tmp_path, monkeypatch):
    monkeypatch.setenv("PRIVLP_DATA", str(tmp_path))
    assert files.folder() is None
    (tmp_path / "lp").mkdir()
    (tmp_path / "lp" / "a.mps").touch()
    assert files.folder() == tmp_path / "lp"
    monkeypatch.setenv("PRIVLP_DATA", str(tmp_path / "lp"))
    assert files.folder() == tmp_path / "lp"


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
