"""Saving and loading of private solutions."""

import dataclasses
import json
import math
import os
import pickle

import numpy as np
import pytest
from IPython.lib.pretty import pretty

from privlp import (
    Allocation,
    LinearProgram,
    ReadError,
    Solution,
    Status,
    allocate,
    audit,
    audit_solve,
    plan,
    solve,
    solve_exact,
)
from svm_models import PrivateLPSVC
from svm_models import plan as svm_plan

LP = LinearProgram(
    [1.0, 2.0, 1.5], -np.random.default_rng(1).uniform(0.2, 1.0, size=(200, 3)), -np.ones(200)
)


@pytest.fixture(scope="module", params=[1.0, math.inf], ids=["private", "no noise"])
def solution(request):
    delta = 1e-6 if math.isfinite(request.param) else 0.0
    return solve(LP, eps=request.param, delta=delta, s=20, alpha=0.5, opt=3.0, method="dmw", rng=0)


def stopped(solution):
    """The same solve, had it hit its time limit."""
    return dataclasses.replace(
        solution, x=None, objective=None, status=Status.TIME_LIMIT, message="Stopped.", trace={}
    )


def assert_same(first, second):
    names = "objective method iterations status message privacy success variable_names"
    for name in names.split():
        assert getattr(first, name) == getattr(second, name), name
    assert (first.x is None) == (second.x is None)
    if first.x is not None:
        np.testing.assert_array_equal(first.x, second.x)
        assert first.x.dtype == second.x.dtype
    assert first.trace.keys() == second.trace.keys()
    for name, values in first.trace.items():
        np.testing.assert_array_equal(values, second.trace[name], err_msg=name)
        assert values.dtype == second.trace[name].dtype


def test_printed_in_a_few_lines(solution):
    shown = str(solution).splitlines()
    names = [line.split(":")[0].strip() for line in shown]
    assert len(shown) <= 9
    first = [name for name in names if name != "verdict"][:4]
    assert first == ["message", "status", "method", "objective"]
    assert f"spent eps = {solution.privacy.eps:.6g}" in str(solution)
    assert " x: " not in str(stopped(solution))


def test_notebooks_show_what_is_printed(solution):
    people = Allocation(np.ones((20, 2)), supplies=[9, 9], largest_value=1)
    audited = audit_solve(LP, 1.0, 1e-6, 20, opt=3.0, method="dmw", pairs=1, runs=0, rng=0)
    for result in (
        *(solution, solution.privacy, solution.privacy.statement(), plan(LP, 1.0, 1e-6, 20)),
        *(people.plan(9.0), allocate(people, 9.0, rng=0), solve_exact(LP), audited),
        audit(lambda data, rng: data + rng.laplace(), 0.0, 1.0, 1.0, 0.0, runs=100, rng=0),
        svm_plan(PrivateLPSVC(1.0, 1e-6), 100, 3),
    ):
        assert pretty(result) == str(result)
        assert type(result).__name__ + "(" not in str(result)
    assert "NOT PRIVATE" in str(solve_exact(LP))
    for result in (solution, solution.privacy):
        assert ("NOT PRIVATE" in str(result)) == math.isinf(solution.privacy.eps)


def test_round_trip(solution, tmp_path):
    path = tmp_path / "solution.json"
    assert solution.trace
    for one, target in (
        (solution, str(path)),
        (dataclasses.replace(solution, variable_names=("bread", "butter", "jäm")), path),
        (stopped(solution), path),
    ):
        one.save(target)
        loaded = Solution.load(target)
        assert_same(pickle.loads(pickle.dumps(one)), one)
        assert isinstance(loaded, Solution)
        assert isinstance(loaded.status, Status)
        assert_same(loaded, one)
        assert str(loaded.privacy.statement()) == str(one.privacy.statement())
        assert loaded.privacy.statement() == one.privacy.statement()
        assert loaded.privacy.private == math.isfinite(one.privacy.eps)
        assert loaded.privacy.seeded
        assert ("NOT PRIVATE" in str(loaded.privacy.statement())) != loaded.privacy.private
        if not loaded.privacy.private:
            assert loaded.privacy.eps == loaded.privacy.eps_limit == math.inf


def test_numbers_survive_to_the_last_bit(solution, tmp_path):
    x = np.array([0.1, 1 / 3, np.pi, 5e-324, 1.7976931348623157e308, -0.0, 1e22])
    trace = {
        "selected": np.array([3, 1, 2]),
        "released": np.array([[0.1, 0.2], [1 / 3, -0.0]]),
        "kept": np.array([True, False]),
    }
    changed = dataclasses.replace(solution, x=x, objective=0.1 + 0.2, trace=trace)
    changed.save(tmp_path / "solution.json")
    loaded = Solution.load(tmp_path / "solution.json")
    assert_same(loaded, changed)
    assert loaded.x.tobytes() == x.tobytes()


def test_the_file_is_standard_json(solution, tmp_path):
    path = tmp_path / "solution.json"
    solution.save(path)

    def refuse(constant):
        raise AssertionError(f"{constant} is not standard JSON")

    document = json.loads(path.read_text(encoding="utf-8"), parse_constant=refuse)
    assert document["format"] == "privlp solution 1"
    assert document["x"] == solution.x.tolist()


def test_loading_what_is_no_solution(solution, tmp_path):
    path = tmp_path / "solution.json"
    solution.save(path)
    whole = path.read_bytes()
    for content in (
        *(b"", b"not json", b"[]", b"null", b'"privlp solution 1"', b"{}", bytes(range(256))),
        b"[" * 100_000,
        b'{"format": "privlp solution 1"}',
        b'{"format": "privlp solution 0", "x": null}',
        *(whole[: int(share * len(whole))] for share in (0.01, 0.5, 0.99)),
    ):
        path.write_bytes(content)
        with pytest.raises(ReadError, match=r"'.*on\.json' is not a solution saved by privlp\."):
            Solution.load(path)
    for place, reason in (
        (tmp_path / "nowhere", "No such file or directory"),
        (tmp_path, "Is a d"),
    ):
        with pytest.raises(ReadError, match=rf"Cannot read '.*': {reason}"):
            Solution.load(place)


@pytest.mark.parametrize(
    "damage",
    [
        lambda d: d.pop("x"),
        lambda d: d.pop("privacy"),
        lambda d: d.pop("trace"),
        lambda d: d.pop("status"),
        lambda d: d["privacy"].pop("eps"),
        lambda d: d["privacy"]["entries"][0].pop("purpose"),
        lambda d: d.update(format="privlp solution 999"),
        lambda d: d.update(status="splendid"),
        lambda d: d.update(x=["a", "b"]),
        lambda d: d.update(x=[[1.0], [1.0, 2.0]]),
        lambda d: d.update(privacy=None),
        lambda d: d.update(trace=[1, 2]),
        lambda d: d.update(surprise=1),
        lambda d: d["privacy"].update(eps="much"),
        lambda d: d["privacy"].update(eps=10**400),
        lambda d: d["privacy"].update(versions=[]),
        lambda d: d["privacy"].update(relation=1),
        lambda d: d["privacy"]["entries"][0].update(sensitivity=[]),
        lambda d: d.update(x=[10**400]),
        lambda d: d.update(x=[[1.0]]),
        lambda d: d.update(x=[None]),
        lambda d: d.update(objective="2.5"),
        lambda d: d.update(message=None),
        lambda d: d.update(verdict="splendid"),
        lambda d: d["trace"].update(selected=[[1], [2, 3]]),
    ],
)
def test_loading_a_damaged_file(solution, tmp_path, damage):
    path = tmp_path / "solution.json"
    solution.save(path)
    document = json.loads(path.read_text(encoding="utf-8"))
    damage(document)
    path.write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(ReadError, match=r"'.*solution\.json' is not a solution saved by privlp\."):
        Solution.load(path)


STEPS = {"encoding": (json, ("dump", "dumps")), "renaming": (os, ("replace", "rename"))}


@pytest.mark.parametrize(
    "error", [OSError("disk full"), KeyboardInterrupt()], ids=["disk full", "interrupt"]
)
@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("old", [None, "old"], ids=["new file", "old file"])
def test_a_failure_leaves_no_trace(solution, tmp_path, monkeypatch, error, step, old):
    path = tmp_path / "solution.json"
    if old is not None:
        path.write_text(old)

    def fail(*args, **kwargs):
        if hasattr(args[-1], "write"):
            args[-1].write('{"format": ')  # as far as it got
        raise error

    module, names = STEPS[step]
    with monkeypatch.context() as patch:
        for name in names:
            patch.setattr(module, name, fail)
        with pytest.raises(type(error)):
            solution.save(path)
    assert os.listdir(tmp_path) == ([] if old is None else ["solution.json"])
    if old is not None:
        assert path.read_text() == old


def test_saving_where_it_cannot_names_the_place_and_leaves_nothing(solution, tmp_path):
    (tmp_path / "solution.json").mkdir()
    for place, named in (("solution.json", r"solution\.json"), ("nowhere/x.json", "nowhere")):
        with pytest.raises(OSError, match=named):
            solution.save(tmp_path / place)
    assert list(tmp_path.rglob("*")) == [tmp_path / "solution.json"]


def test_a_solution_is_frozen(solution):
    with pytest.raises(dataclasses.FrozenInstanceError, match="privacy"):
        solution.privacy = None


def test_only_completed_solves_are_a_success(solution):
    found = {status for status in Status if dataclasses.replace(solution, status=status).success}
    assert found == {Status.COMPLETED, Status.OPTIMAL}
