"""A budget in a file."""

import itertools
import json
import math
import os
import pickle
import shutil
import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from typing import get_args

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

import privlp
from benchmarks.stored_budget import Trial, filled
from privlp import Budget, BudgetExceededError, BudgetFileError, RowPrivate, ScalarPrivate, privacy
from privlp.cli import main
from privlp.cli import solve as budget_report
from privlp.privacy import LaplaceMechanism, Randomness, budget_file, charges, record_file
from privlp.privacy.charges import Call, Charge, RecordedRelation
from privlp.privacy.prices import Law, Price
from privlp.privacy.record_file import FileLocation
from privlp.relations.combined import Combined
from tests.effort import each, examples, runs

REPLACE = privlp.ConstraintPrivate()
WHOSE = (REPLACE, Randomness(0))
forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
UNHARMED = "Nothing was drawn and nothing was charged."


@pytest.fixture
def path(tmp_path):
    return tmp_path / "all.budget"


@pytest.fixture(autouse=True)
def quick_disk(monkeypatch):
    """No waiting for the disk in this process.

    What is tested here does not depend on it, and `test_commits_reach_the_disk` is.
    """
    monkeypatch.setattr(record_file, "SYNCHRONOUS", "OFF")


def charge(budget, eps=0.25, purpose="a count", relation=REPLACE, count=1):
    return budget.charge(LaplaceMechanism.of_eps(1.0, eps), count, purpose, relation, Randomness(0))


def printed(code):
    """The lines that a process prints, which begins with some imports."""
    code = f"{IMPORTS}\n{code}"
    done = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True, timeout=60
    )
    return done.stdout.splitlines()


IMPORTS = """
import os, threading, time
from privlp import Budget, BudgetExceededError, BudgetFileError, ConstraintPrivate, examples, solve
from privlp.privacy import LaplaceMechanism, Randomness, randomness, record_file
"""


def purposes(path):
    return [entry.purpose for entry in Budget.open(path).entries]


def contents(path):
    """All bytes of the folder that belong to the file, the times left out."""
    return {p.name: p.read_bytes() for p in path.parent.iterdir() if p.is_file()}


# one truth


def test_a_charge_is_there_for_all_who_open_the_file_and_for_those_who_have_it_open(path):
    one = Budget.open(path, 1.0, 1e-6)
    other = Budget.open(path)
    charge(one, 0.25, "first")
    charge(other, 0.5, "second")
    for budget in (one, other, Budget.open(path, 1.0, 1e-6)):
        assert [entry.purpose for entry in budget.entries] == ["first", "second"]
        assert budget.spent() == pytest.approx(0.75, rel=1e-4)
        assert (budget.eps, budget.delta, budget.composition) == (1.0, 1e-6, "adaptive")
        with pytest.raises(BudgetExceededError, match=UNHARMED):
            charge(budget, 0.5)
    assert one.entries == other.entries
    assert one.sums() == other.sums()


def test_solves_fits_and_reports_pay_from_a_file_as_from_memory(path):
    from svm_models import ObjectivePerturbationSVC, PrivateModelSelector, make_unseparable_ball

    needs = np.random.default_rng(0).uniform(0.2, 1.0, size=(500, 4))
    lp = privlp.LinearProgram([1, 2, 1, 3], -needs, -np.ones(500))
    data = make_unseparable_ball(100, random_state=0)
    stored, memory = Budget.open(path, 5.0, 1e-6), Budget(5.0, 1e-6)
    found = []
    for budget in (stored, memory):
        paid = {"classes": (-1, 1), "budget": budget, "random_state": 0}
        first = privlp.solve(lp, 1.0, 1e-7, 50, opt=3.0, budget=budget, rng=0)
        report = privlp.quality(lp, first, 0.5, budget=budget, rng=1)
        svm = ObjectivePerturbationSVC(eps=0.5, reg=0.1, **paid).fit(*data)
        candidates = [ObjectivePerturbationSVC(reg=reg, classes=(-1, 1)) for reg in (0.1, 1.0)]
        selector = PrivateModelSelector(candidates, eps=1.0, **paid).fit(*data)
        last = privlp.solve(lp, None, None, 50, opt=3.0, budget=budget, rng=2)
        numbers = (report.n_violated, selector.best_index_, budget.spent())
        found.append((first.x, svm.coef_, last.x, *numbers))
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)
    again = Budget.open(path)
    assert again.entries == memory.entries
    assert again.record().to_dict() == memory.record().to_dict()
    parts = [[len(call.parts) for call in one.calls.values()] for one in (again, memory)]
    assert parts[0] == parts[1]


def test_parts_of_the_records_cost_what_the_dearest_costs_after_reopening_too(path):
    regions = Budget.open(path, 1.0, 0.0).disjoint(3)
    for region, eps in zip(regions, (0.5, 0.25, 0.75), strict=True):
        charge(region, eps)
    share = regions[0].share(0.5, 0.0)
    charge(share.ledger(0.5, 0.0), 0.5)
    budget = Budget.open(path)
    assert budget.spent() == budget.sums().eps == 1.0
    with pytest.raises(BudgetExceededError):
        charge(regions[0], 0.1)
    charge(regions[2], 0.25)  # the third still has something left
    with pytest.raises(BudgetExceededError):
        charge(Budget.open(path), 0.01)


def test_a_call_that_is_charged_in_several_lines_counts_once(path):
    ledger = Budget.open(path, 1.0, 0.0).ledger(1.0, 0.0)
    charge(ledger, 0.25, "first")
    charge(ledger, 0.25, "second")
    again = Budget.open(path)
    assert (again.spent(), len(again.calls)) == (0.5, 1)
    told = [event.what for event in again.history()]
    assert told == ["made, for (1, 0)", "first", "first; second"]
    (call,) = {event.call for event in again.history() if event.call}
    assert len(call) == 16


def test_the_limit_holds_whatever_two_threads_with_objects_of_their_own_ask(path):
    Budget.open(path, 1.0, 0.0)
    paid = []

    def spend():
        budget = Budget.open(path)
        with suppress(BudgetExceededError):
            while True:
                charge(budget, 0.125)
                paid.append(0.125)

    with ThreadPoolExecutor(2) as threads:
        for ended in [threads.submit(spend) for _ in range(2)]:
            ended.result()
    assert math.fsum(paid) == 1.0 == Budget.open(path).spent()


@pytest.mark.parametrize("composition", ["adaptive", "planned", "basic"])
def test_composition_is_kept(path, composition):
    Budget.open(path, 1.0, 1e-6, composition=composition)
    assert Budget.open(path).composition == composition
    other = "planned" if composition == "basic" else "basic"
    message = f"add up by composition='{composition}', not '{other}'. Leave composition out"
    with pytest.raises(privlp.InvalidParameterError, match=message):
        Budget.open(path, composition=other)


def test_no_privacy_at_all_can_be_kept_too(path):
    budget = Budget.open(path, math.inf, 0.5)
    privlp.solve(privlp.examples.diet(), math.inf, 0.0, budget=budget, rng=0)
    again = Budget.open(path, math.inf, 0.5)
    assert not again.record().private
    assert again.entries == budget.entries
    json.loads(json.dumps(budget_report.to_dict(again), allow_nan=False))


# exact numbers

FLOATS = st.floats(min_value=0, allow_nan=False)
PRICES = st.builds(
    Price,
    law=st.sampled_from(get_args(Law)),
    **dict.fromkeys(("eps", "delta", "mu", "shift", "chance"), FLOATS),
    corners=st.lists(st.tuples(st.integers(1, 9), FLOATS), max_size=3).map(tuple),
)
ENTRIES = st.builds(
    privacy.LedgerEntry, st.text(), st.text(), FLOATS, st.text(), st.integers(1, 2**60), st.text()
)
RELATIONS = st.sampled_from(
    [REPLACE, ScalarPrivate(0.5), Combined((RowPrivate(0.1), privlp.ObjectivePrivate(0.2)))]
)
CALLS = st.builds(
    Call,
    st.text(min_size=1),
    FLOATS,
    FLOATS,
    st.lists(st.builds(Charge, PRICES, ENTRIES), max_size=3).map(tuple),
    RELATIONS.map(lambda relation: {relation.description: relation}),
    st.dictionaries(st.text(), st.booleans(), max_size=2),
    st.lists(st.tuples(st.text(), st.integers(0, 99)), max_size=2).map(tuple),
)


@settings(deadline=None, max_examples=examples(40))
@given(CALLS)
def test_a_call_is_read_as_it_was_written(call):
    text = json.dumps(charges.call_to_dict(call), allow_nan=False)
    recorded = {text: RecordedRelation(text, of.key) for text, of in call.relations.items()}
    assert charges.call_from_dict(json.loads(text)) == replace(call, relations=recorded)


REQUESTS = st.tuples(st.booleans(), st.floats(0.01, 0.6), st.integers(0, 3), st.booleans())


@settings(deadline=None, max_examples=examples(25))
@given(st.lists(REQUESTS, max_size=8))
def test_a_file_admits_what_memory_admits(tmp_path_factory, requests):
    """The rule is the same."""
    path = tmp_path_factory.mktemp("file") / "all.budget"
    stored, memory = Budget.open(path, 1.0, 1e-6), Budget(1.0, 1e-6)
    places = [[budget, *budget.disjoint(3)] for budget in (stored, memory)]
    for pure, size, place, reopened in requests:
        mechanism = (
            LaplaceMechanism(1.0, 1 / size) if pure else privacy.GaussianMechanism(1.0, 5 / size)
        )
        outcomes = []
        for budget in (side[place] for side in places):
            again = reopened and budget is stored
            try:
                (Budget.open(path) if again else budget).charge(mechanism, 1, "test", *WHOSE)
                outcomes.append("admitted")
            except BudgetExceededError as error:
                outcomes.append(str(error))
        assert outcomes[0] == outcomes[1]
    assert Budget.open(path).spent() == memory.spent()


# relations

KINDS = {
    "replace": [REPLACE, privlp.ConstraintPrivate(rows_per_record=3)],
    "add-remove": [
        privlp.ConstraintPrivate("add-remove", 2, 50),
        privlp.ConstraintPrivate("add-remove", nominal_n=100),
    ],
    "scalar": [ScalarPrivate(0.5), ScalarPrivate(2.0, norm="1", lower=0)],
    "row": [RowPrivate(0.5), RowPrivate(2.0, lower=0, upper=1, zeros="public")],
    "column": [privlp.ColumnPrivate(0.5), privlp.ColumnPrivate(2.0)],
    "objective": [privlp.ObjectivePrivate(0.5), privlp.ObjectivePrivate(2.0)],
    "tuple": [
        Combined((RowPrivate(0.1), ScalarPrivate(0.2))),
        Combined((ScalarPrivate(1.0), RowPrivate(3.0))),
    ],
    "other tuple": [
        Combined((privlp.ColumnPrivate(0.1), ScalarPrivate(0.2), privlp.ObjectivePrivate(0.1)))
    ],
}


@pytest.mark.parametrize("name", KINDS)
def test_every_relation_is_known_again_in_another_object(name, path):
    first, *alike = KINDS[name]
    charge(Budget.open(path, 100.0, 0.0), relation=first)
    for other, relations in KINDS.items():
        for own, second in itertools.product(KINDS[name], relations):
            recorded = RecordedRelation(own.description, own.key)
            expected = recorded.compatible_with(second), own.compatible_with(second)
            assert expected == (name == other, name == other)
    for second in alike:
        charge(Budget.open(path), relation=second)
    for other in KINDS.keys() - {name}:
        with pytest.raises(privlp.RelationMismatchError, match="This budget already accounts for"):
            charge(Budget.open(path), relation=KINDS[other][0])
    assert len(Budget.open(path).entries) == len(KINDS[name])


def test_every_relation_of_the_package_has_an_entry():
    from privlp.relations import NeighbourRelation

    found, left = set(), [NeighbourRelation]
    while left:
        kind = left.pop()
        left += kind.__subclasses__()
        found |= {kind} if kind.__module__.startswith("privlp.") else set()
    concrete = {kind for kind in found if not kind.__abstractmethods__}
    assert concrete == {type(relation) for relations in KINDS.values() for relation in relations}


def test_a_relation_of_one_s_own_needs_a_key(path):
    class Mine(ScalarPrivate):
        @property
        def key(self):
            return None

    message = "give Mine a `key`, which says in words what it may be accounted for with"
    with pytest.raises(privlp.InvalidParameterError, match=message):
        charge(Budget.open(path, 1.0, 0.0), relation=Mine(0.5))
    assert purposes(path) == []

    class Other(ScalarPrivate):
        pass

    assert not Other(0.5).compatible_with(ScalarPrivate(0.5))
    assert not ScalarPrivate(0.5).compatible_with(Other(0.5))


# crashes


def statements_of(path, monkeypatch, act):
    """Files as a crash would leave them before each SQL statement of an action, and how many draws each followed."""
    states, drawn = [], []
    real = sqlite3.connect

    def watched(*arguments, **options):
        connection = real(*arguments, **options)
        connection.set_trace_callback(lambda _: states.append((contents(path), len(drawn))))
        return connection

    with monkeypatch.context() as patch:
        patch.setattr(sqlite3, "connect", watched)
        act(drawn)
    states.append((contents(path), len(drawn)))
    return states


def test_a_crash_before_any_statement_loses_no_charge_and_leaves_a_good_file(path, monkeypatch):
    """The file and its journal, as they are on the disk at that moment, are put back in place and opened."""
    budget = Budget.open(path, 1.0, 0.0)
    charge(budget, purpose="before")

    def act(drawn):
        for purpose in ("one", "two"):
            release = charge(budget, purpose=purpose)
            budget.spent()  # a moment between the charge and the draw
            release(0.0)
            drawn.append(purpose)

    states = statements_of(path, monkeypatch, act)
    assert len(states) > 20
    assert any(len(files) > 1 for files, _ in states), "a journal was seen"
    seen = set()
    for files, drawn in states:
        for leftover in set(contents(path)) - set(files):
            (path.parent / leftover).unlink()
        for name, data in files.items():
            (path.parent / name).write_bytes(data)  # in place: the same inode
        on_record = purposes(path)
        assert on_record == ["before", "one", "two"][: len(on_record)]
        assert len(on_record) - 1 >= drawn
        seen.add((len(on_record) - 1, drawn))
    assert seen == {(0, 0), (1, 0), (1, 1), (2, 1), (2, 2)}


def test_commits_reach_the_disk(path, monkeypatch):
    """EXTRA (3) also syncs the folder after the journal is deleted."""
    monkeypatch.undo()
    file = Budget.open(path, 1.0, 0.0)._file.file
    with file.writing() as connection:
        for name, expected in (("synchronous", 3), ("fullfsync", 1), ("journal_mode", "delete")):
            assert connection.execute(f"PRAGMA {name}").fetchone() == (expected,)


def test_two_processes_that_are_killed_at_any_moment(tmp_path):
    """How many a trial kills depends on the machine, so trials go on until enough were killed."""
    killed, enough = 0, runs(3, 1)
    for seed in range(20):
        folder = tmp_path / f"{seed}"
        folder.mkdir()
        trial = Trial(folder, charges=runs(150, 60), processes=2, kills=enough, seed=seed)
        assert trial.holds, vars(trial)
        killed += trial.killed
        if killed >= enough:
            return
    assert killed, "no worker was ever killed at work"


def test_a_trial_has_teeth():
    """A draw that is not on record, one that is there twice, a limit passed: each is noticed."""
    trial = object.__new__(Trial)
    good = {"drawn": {"a"}, "recorded": {"a", "b"}, "twice": 0, "failed": 0}
    good |= {"spent": 1.0, "_unit": 0.1}
    faults = ({"drawn": {"c"}}, {"twice": 1}, {"failed": 1}, {"spent": 1.01}, {"spent": 0.9})
    for fault in ({}, *faults):
        vars(trial).update(good | fault)
        assert trial.holds == (not fault)


FAILURES = {
    "SQLITE_FULL": f"the disk is full. Free some space. {UNHARMED}",
    "SQLITE_BUSY": "in use by another process, which did not finish in time. Try again.",
    "SQLITE_READONLY": f"it, or its folder, is read-only. Change the permissions. {UNHARMED}",
    "SQLITE_IOERR_WRITE": "Nothing was drawn. `privlp budget` shows whether the charge is in the file.",
}


@pytest.mark.parametrize(
    ("statement", "code"),
    dict.fromkeys(
        [
            *each(["BEGIN IMMEDIATE", "INSERT", "UPDATE", "COMMIT"], FAILURES),
            ("COMMIT", "SQLITE_FULL"),
        ]
    ),
)
def test_where_the_file_cannot_be_written_nothing_is_drawn(path, monkeypatch, statement, code):
    budget = Budget.open(path, 1.0, 0.0)
    charge(budget, purpose="before")
    share = budget.share(0.5, 0.0)
    real = sqlite3.connect

    class Failing:
        def __init__(self, connection):
            self._connection = connection

        def __getattr__(self, name):
            return getattr(self._connection, name)

        def execute(self, sql, *arguments):
            if sql.startswith(statement):
                error = sqlite3.OperationalError("it failed")
                error.sqlite_errorname = code
                raise error
            return self._connection.execute(sql, *arguments)

    with monkeypatch.context() as patch:
        patch.setattr(sqlite3, "connect", lambda *a, **o: Failing(real(*a, **o)))
        with pytest.raises(BudgetFileError) as caught:
            charge(share, purpose="failed")
    assert FAILURES[code] in str(caught.value)
    assert purposes(path) == ["before"] == [entry.purpose for entry in budget.entries]
    assert share.entries == ()  # neither in the budgets below
    charge(share, 0.5)
    assert Budget.open(path).spent() == 0.75


def test_a_busy_file_is_waited_for_and_then_refused(path, monkeypatch):
    monkeypatch.setattr(record_file, "PATIENCE", 0.2)
    budget = Budget.open(path, 1.0, 0.0)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    message = f"in use by another process, which did not finish in time. Try again. {UNHARMED}"
    with pytest.raises(BudgetFileError, match=message):
        charge(budget)
    other.execute("COMMIT")
    other.close()
    charge(budget)


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() == 0, reason="permissions bind nobody here"
)
def test_a_file_that_may_not_be_written_is_readable(path):
    budget = Budget.open(path, 1.0, 0.0)
    charge(budget)
    path.chmod(0o400)
    assert Budget.open(path).spent() == 0.25
    with pytest.raises(BudgetFileError, match="read-only"):
        charge(budget)


def test_an_interruption_of_a_charge_leaves_the_budget_of_use(path, monkeypatch):
    budget = Budget.open(path, 1.0, 0.0)
    real = record_file.RecordFile.append

    def interrupted(*arguments):
        real(*arguments)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(record_file.RecordFile, "append", interrupted)
        with pytest.raises(KeyboardInterrupt):
            charge(budget)
    assert budget.entries == ()
    charge(budget)
    assert len(budget.entries) == len(purposes(path)) == 1


# one process


def test_pickles_say_how_to_open_the_file(path):
    message = r"cannot be copied or pickled: .* Open the file there: privlp.Budget.open\(path\)"
    with pytest.raises(BudgetExceededError, match=message):
        pickle.dumps(Budget.open(path, 1.0, 0.0))


@forks
def test_a_forked_process_opens_the_file_itself(path):
    code = f"""
budget = Budget.open({str(path)!r}, 1.0, 0.0)
child = os.fork()
if child == 0:
    for use in (lambda: solve(examples.diet(), 0.5, 0.0, budget=budget), budget.spent, lambda: budget.calls):
        try:
            use()
        except BudgetExceededError as error:
            print(error, flush=True)
    solve(examples.diet(), 0.5, 0.0, budget=Budget.open({str(path)!r}))
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
print(budget.spent())
"""
    *refused, spent = printed(code)
    expected = (
        "This StoredBudget belongs to the process that made it: another one would spend a second"
        " time what was paid for once. Open the file there: privlp.Budget.open(path)."
    )
    assert refused == [expected] * 3
    assert float(spent) == pytest.approx(0.5)


def test_two_processes_that_make_one_file_at_the_same_moment(path):
    """Opening does not load dp-accounting, which takes a second."""
    code = (
        "import sys; from privlp import Budget, examples, solve\n"
        f"budget = Budget.open({str(path)!r}, 1.0, 0.0)\n"
        "assert 'dp_accounting' not in sys.modules\n"
        "solve(examples.diet(), 0.25, 0.0, budget=budget)"
    )
    running = [subprocess.Popen([sys.executable, "-c", code]) for _ in range(2)]
    assert [process.wait() for process in running] == [0, 0]
    assert Budget.open(path).spent() == pytest.approx(0.5)


# refusals


def test_what_opening_asks_for(path, tmp_path):
    absent = r"There is no file '.*all.budget'\. To make one, .*, or privlp budget FILE --eps 1 "
    with pytest.raises(BudgetFileError, match=absent):
        Budget.open(path)
    for arguments, options, message in (
        ([1.0], {}, "Give both eps and delta; or neither, to open an existing file"),
        ([0.0, 0.0], {}, "eps must be positive"),
        ([1.0, 0.0], {"composition": "odd"}, "'adaptive', 'planned' or 'basic', got 'odd'"),
    ):
        with pytest.raises(privlp.InvalidParameterError, match=message):
            Budget.open(path, *arguments, **options)
    for odd in (3, None, "a\0b", "\ud800.budget", tmp_path / "\udfff"):
        with pytest.raises(privlp.InvalidParameterError, match="path must be the path of a file"):
            Budget.open(odd, 1.0, 0.0)
    with pytest.raises(BudgetFileError, match="cannot be made: No such file or directory"):
        Budget.open(tmp_path / "absent" / "all.budget", 1.0, 0.0)
    with pytest.raises(BudgetFileError, match="is no file"):
        Budget.open(tmp_path, 1.0, 0.0)
    assert list(tmp_path.iterdir()) == []


def test_the_limit_of_a_file_does_not_change(path):
    Budget.open(path, 1.0, 1e-6)
    message = r"is a budget of eps = 1.0, delta = 1e-06, and its limit cannot change; .* Leave eps and delta out to use it, or give another path for a new"
    for eps, delta in ((2.0, 1e-6), (1.0, 1e-7), (math.nextafter(1.0, 2.0), 1e-6)):
        with pytest.raises(privlp.InvalidParameterError, match=message):
            Budget.open(path, eps, delta)


def refused(path, message, **options):
    """The file is refused, by an object that has it open too, and not changed."""
    before = contents(path)
    with pytest.raises(BudgetFileError, match=message):
        Budget.open(path, **options)
    assert contents(path) == before


def test_files_of_something_else(path, monkeypatch):
    monkeypatch.setattr(record_file, "PATIENCE", 0.05)
    path.write_text("eps = 1.0\n" * 100)
    refused(path, "is no SQLite file, so no budget")
    path.write_bytes(b"")
    refused(path, "is empty: it was cut short, .* Delete it only if nothing was ever charged to it")
    refused(path, "is empty", eps=1.0, delta=0.0)
    path.unlink()
    tampered(path, "CREATE TABLE record (number)")
    refused(path, "is an SQLite file of something else, not a budget")


def tampered(path, *statements):
    connection = sqlite3.connect(path)
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()


@pytest.fixture
def used(path):
    """A file of three calls, and an object that has it open."""
    budget = Budget.open(path, 1.0, 0.0)
    for purpose in ("one", "two", "three"):
        charge(budget, 0.125, purpose)
    return budget


ORDER = [(2, 9), (3, 2), (9, 3)]
TAMPERING = {
    "newer": (
        ["PRAGMA user_version = 2"],
        "written by a newer version of privlp: format 2, of which this .* knows 1. .*Update privlp",
    ),
    "other": (["PRAGMA application_id = 7"], "is an SQLite file of something else"),
    "journal": (["PRAGMA journal_mode = WAL"], "is in another journal mode: somebody changed it"),
    "edited": (
        ["UPDATE record SET body = replace(body, '0.125', '0.025') WHERE number = 3"],
        "record 3 is missing or was changed",
    ),
    "first edited": (
        ["UPDATE record SET body = replace(body, '1.0', '9.0') WHERE number = 1"],
        "record 1 is missing or was changed",
    ),
    "missing": (["DELETE FROM record WHERE number = 2"], "record 2 is missing or was changed"),
    "reordered": (
        [f"UPDATE record SET number = {new} WHERE number = {old}" for old, new in ORDER],
        "record 2 is missing or was changed",
    ),
    "last missing": (["DELETE FROM record WHERE number = 4"], "its last records are missing"),
    "no head": (["DELETE FROM head"], "its last records are missing"),
    "no table": (["DROP TABLE record"], "is damaged: SQLite says no such table: record"),
}


@pytest.mark.parametrize("name", TAMPERING)
def test_a_file_that_was_tampered_with(used, path, name):
    statements, message = TAMPERING[name]
    tampered(path, *statements)
    if name == "journal":
        for beside in (*path.parent.glob("*-wal"), *path.parent.glob("*-shm")):
            beside.unlink()
        with pytest.raises(BudgetFileError, match=message):
            Budget.open(path)
    else:
        refused(path, message)
    if name not in ("edited", "first edited", "missing", "reordered"):
        with pytest.raises(BudgetFileError):
            charge(used)


def test_an_older_file_put_in_place_is_noticed_by_who_has_it_open(used, path):
    older = path.read_bytes()
    charge(used, 0.125, "four")
    path.write_bytes(older)
    message = "no longer holds what was read from it before: an older file was put in its place"
    for use in (lambda: charge(used), used.spent):
        with pytest.raises(BudgetFileError, match=message):
            use()


def test_another_file_put_in_place_is_noticed(used, path):
    copy = path.with_name("copy")
    shutil.copy(path, copy)
    os.replace(copy, path)
    with pytest.raises(BudgetFileError, match="was replaced by another file while it was in use"):
        charge(used)
    refused(path, "is a copy, or was moved from another disk or restored from a backup")


@pytest.mark.parametrize("keep", [1, 16, 99, 100, 512, 4096, 8191, 12287])
def test_a_file_that_was_cut_short(used, path, keep):
    assert path.stat().st_size == 12288
    data = path.read_bytes()
    os.truncate(path, keep)
    with pytest.raises(BudgetFileError, match=r"no SQLite file|is damaged|something else|is empty"):
        Budget.open(path)
    with pytest.raises(BudgetFileError):
        charge(used)
    path.write_bytes(data)
    assert Budget.open(path).spent() == 0.375


def test_pages_that_do_not_add_up_are_refused(used, path):
    """Though all records are there: the header counts five unused pages, and there are none."""
    data = bytearray(path.read_bytes())
    data[39] = 5
    path.write_bytes(data)
    refused(path, "is damaged: SQLite's own check fails")


@settings(deadline=None, max_examples=examples(60))
@given(where=st.floats(0, 1, exclude_max=True), what=st.integers(1, 255))
def test_a_byte_that_changed_is_noticed_or_changes_nothing(tmp_path_factory, where, what):
    """A byte of unused space may change. Then everything that is read is as before."""
    path = tmp_path_factory.mktemp("file") / "all.budget"
    charge(Budget.open(path, 1.0, 0.0), 0.125, "one")
    entries = Budget.open(path).entries
    data = bytearray(path.read_bytes())
    data[int(where * len(data))] ^= what
    path.write_bytes(data)
    try:
        assert Budget.open(path).entries == entries
    except BudgetFileError as error:
        assert str(error)  # noqa: PT017 (either is right)


def test_a_copy_is_refused_until_it_is_adopted(used, path):
    copy = path.with_name("copy.budget")
    shutil.copy(path, copy)
    refused(
        copy,
        "is a copy, or was moved from another disk or restored from a backup: it was made at"
        r" '.*all.budget'.* by Budget.open\(path, adopt=True\) or `privlp budget FILE --adopt`",
    )
    path.unlink()
    adopted = Budget.open(copy, adopt=True)
    assert [event.what for event in adopted.history()][-1] == f"adopted at {copy}"
    assert adopted.spent() == 0.375
    charge(Budget.open(copy), 0.125)  # once is enough
    again = copy.with_name("again.budget")
    shutil.copy(copy, again)
    refused(again, "it was made at '.*copy.budget'")


def test_a_file_that_was_renamed_or_reached_by_a_link_is_the_same(used, path):
    moved = path.with_name("moved.budget")
    path.rename(moved)
    charge(Budget.open(moved), 0.125)
    link = path.with_name("link.budget")
    link.symlink_to(moved)
    assert Budget.open(link, adopt=True).spent() == 0.5
    assert all("adopted" not in event.what for event in Budget.open(moved).history())


def test_hard_links_are_refused(used, path):
    os.link(path, path.with_name("second.budget"))
    refused(path, r"has 2 names \(hard links\).* Delete the other names")
    with pytest.raises(BudgetFileError, match="hard links"):
        charge(used)


def test_a_device_that_was_numbered_anew_is_no_copy():
    place = FileLocation(1, 2, "/a")
    assert place.holds(FileLocation(9, 2, "/a"))
    assert place.holds(FileLocation(1, 2, "/b"))
    assert not place.holds(FileLocation(9, 2, "/b"))
    assert not place.holds(FileLocation(1, 3, "/a"))


# commands


def call(*arguments, code=0):
    """What a command prints."""
    result = CliRunner().invoke(main, [str(a) for a in arguments])
    assert result.exit_code == code, result.output
    return result.output


def test_the_command_makes_reads_and_adopts(path, tmp_path):
    copy, target = tmp_path / "copy", tmp_path / "out.json"
    assert "There is no file" in call("budget", path, code=2)
    nothing = "Nothing was released: (0, 0)-differentially private. The limit is (1, 1e-06)."
    assert nothing in call("budget", path, "--eps", 1, "--delta", 1e-6)
    charge(Budget.open(path), 0.25, "the first count")
    told = call("budget", path, "--history")
    for part in (
        "calls              1",
        "they add up to     eps = 0.25, delta = 0",
        "Gaussian sum       mu = 0.312979 of 0.213736",
        "spent, if planned  eps = 0.2",
        "The released values together are",
    ):
        assert part in told
    (line,) = [line for line in told.splitlines() if line.endswith("0.25   0")]
    assert "the first count" in line
    assert "1 x Laplace mechanism" in line
    document = json.loads(call("budget", path, "--json", "-"))
    call("budget", path, "--json", target)
    assert json.loads(target.read_text()) == document
    assert document["sums"]["eps"] == 0.25
    events = [event["what"] for event in document["history"]]
    assert events == ["made, for (1, 1e-06)", "the first count"]
    copy.write_bytes(path.read_bytes())
    assert "is a copy" in call("budget", copy, code=2)
    call("budget", copy, "--adopt")
    assert "its limit cannot change" in call("budget", path, "--eps", 2, "--delta", 1e-6, code=2)


def test_commands_pay_from_a_file(path, tmp_path):
    model = tmp_path / "model.mps"
    privlp.examples.diet().to_mps(model)
    Budget.open(path, 1.0, 0.0)
    request = ("solve", model, "--eps", "0.6", "--delta", "0", "--objective-private", "0.2")
    call(*request, "--budget", path)
    assert Budget.open(path).spent() == pytest.approx(0.6)
    told = call(*request, "--budget", path, code=2)
    assert "beyond the budget of eps = 1" in told
    assert UNHARMED in told
    assert "There is no file" in call(*request, "--budget", tmp_path / "absent.budget", code=2)


# many calls


def test_many_calls_are_read_once(path, monkeypatch):
    """What an access reads is what is new."""
    budget = filled(path, 1_000)
    assert len(budget.calls) == 1_000
    assert budget.sums().eps == pytest.approx(500)
    parsed, real = [], charges.call_from_dict
    monkeypatch.setattr(budget_file, "call_from_dict", lambda body: parsed.append(1) or real(body))
    charge(budget.ledger(1.0, 0.0))
    assert (len(budget.calls), len(parsed)) == (1_001, 1)


# forks, views and older copies


@forks
@pytest.mark.parametrize("held", ["view", "charge"])
def test_a_child_forked_while_another_thread_uses_the_file_can_charge(path, held):
    """A fork waits for the end of a charge, and a view holds nothing."""
    code = f"""
record_file.PATIENCE = 3.0

def charge(budget):
    budget.charge(LaplaceMechanism.of_eps(1.0, 0.25), 1, "a", ConstraintPrivate(), Randomness(0))

budget, started, end = Budget.open({str(path)!r}, 1.0, 0.0), threading.Event(), threading.Event()
real = record_file.RecordFile.append

def slow(*arguments):
    started.set()
    time.sleep(0.5)
    return real(*arguments)

def hold():
    if {held == "charge"}:
        record_file.RecordFile.append = slow
        charge(budget)
    else:
        with budget.view():
            started.set()
            end.wait(20)

thread = threading.Thread(target=hold)
thread.start()
started.wait()
child = os.fork()
if child == 0:
    record_file.RecordFile.append = real
    charge(Budget.open({str(path)!r}))
    os._exit(0)
failed = os.waitpid(child, 0)[1]
end.set()
thread.join()
assert not failed
print(budget.spent())
"""
    assert float(printed(code)[0]) == (0.5 if held == "charge" else 0.25)


@forks
def test_a_child_of_a_fork_that_waited_too_long_says_so(path):
    code = f"""
budget, randomness.PATIENCE = Budget.open({str(path)!r}, 1.0, 0.0), 0.1
with randomness.unforked():
    child = os.fork()
if child == 0:
    try:
        Budget.open({str(path)!r})
    except BudgetFileError as error:
        print(error, flush=True)
    os._exit(0)
os.waitpid(child, 0)
print(budget.spent())
"""
    refused, spent = printed(code)
    assert refused == (
        "This process was forked while another thread was at work on a budget file, so it cannot"
        f" use budget files. {UNHARMED} Start the process again, or by another way than fork."
    )
    assert float(spent) == 0.0


def test_a_charge_within_a_view_says_what_is_wrong(path):
    budget = Budget.open(path, 1.0, 0.0)
    part = budget.share(0.5, 0.0)
    message = rf"within budget\.view\(\), .* {UNHARMED} Charge after the end of the `with` block."
    with budget.view():
        for mine in (budget, part, budget.ledger(0.5, 0.0)):
            with pytest.raises(BudgetFileError, match=message):
                charge(mine)
        with pytest.raises(BudgetFileError, match=message):
            privlp.solve(privlp.examples.diet(), 0.25, 0.0, budget=budget, rng=0)
        with budget.view():
            assert budget.spent() == 0.0
        charge(Budget.open(path), 0.125)  # by whoever else uses the file
        assert budget.spent() == 0.0
    assert budget.spent() == 0.125
    charge(budget)
    assert Budget.open(path).spent() == 0.375


@pytest.mark.parametrize("way", ["overwritten", "deleted"])
def test_an_older_copy_in_place_is_noticed_by_a_process_that_never_saw_the_newest(used, path, way):
    older = path.read_bytes()
    charge(used, 0.125, "four")
    if way == "overwritten":
        path.write_bytes(older)
    else:  # the system may give the inode again; here it is one object that was never opened
        path.unlink()
        path.write_bytes(older)
    message = (
        "is older than 'all.budget.count' beside it says: it was restored from an older copy, or"
        rf" edited\. {UNHARMED} Bring back the newest file\."
    )
    refused(path, message if way == "overwritten" else r"is older than|is a copy")
    adopted = Budget.open(path, adopt=True)
    assert adopted.history()[-1].what == f"adopted at {path}"
    assert adopted.spent() == 0.375
    charge(adopted, 0.125)
    assert Budget.open(path).spent() == 0.5


def test_the_count_is_of_the_last_record(path):
    count = path.with_name("all.budget.count")
    budget = Budget.open(path, 1.0, 0.0)
    for number in (1, 2, 3):
        assert int(count.read_text().split()[0]) == number
        assert count.stat().st_mode == path.stat().st_mode
        charge(budget, 0.125)
    assert sorted(each.name for each in path.parent.iterdir()) == ["all.budget", "all.budget.count"]


@pytest.mark.parametrize("text", ["behind", None, "", "4", "four hash", "\0\0", f"{2**70} hash"])
def test_without_a_count_nothing_is_refused(used, path, text):
    """Nor where it is behind, as if the process had been killed after the charge."""
    count = path.with_name("all.budget.count")
    text = count.read_text() if text == "behind" else text
    charge(used, 0.125)
    if text is None:
        count.unlink()
    else:
        count.write_text(text)
    assert Budget.open(path).spent() == 0.5
    charge(Budget.open(path), 0.125)
    assert int(count.read_text().split()[0]) == 6


def test_a_new_budget_in_the_place_of_a_deleted_one_is_no_older_file(used, path):
    path.unlink()
    assert Budget.open(path, 2.0, 0.0).spent() == 0.0
    assert Budget.open(path).eps == 2.0
