"""Methods, players, relations and sources of rows of one's own, each in one file."""

import doctest
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

import privlp
from privlp import LinearProgram, ScalarPrivate
from privlp.game.loop import Released
from privlp.methods import Method, PlannedRun
from privlp.privacy import LaplaceMechanism
from tests import programs
from tests.effort import THOROUGH, each
from tests.programs import method_of, methods_for
from tests.toy_method import NoisyWeights
from tests.toy_relation import EuclideanPrivate
from tests.toy_rows import SplitProgram

COSTS = [1.0, 2.0, 0.5]
WHOLE = {
    "replace": privlp.ConstraintPrivate(),
    "three rows": privlp.ConstraintPrivate(rows_per_record=3),
    "add-remove": privlp.ConstraintPrivate("add-remove", nominal_n=40),
}


def covering(relation, **fields):
    return programs.covering(30, costs=COSTS, neighbours=relation, **fields)


def audited(lp, method, *, pairs=5, s=5, opt=3.0, **options):
    return privlp.audit_solve(
        lp, 1.0, 1e-6, s, opt=opt, method=method, pairs=pairs, runs=0, rng=0, **options
    )


@pytest.mark.parametrize("relation", WHOLE)
def test_the_worked_example_passes_and_its_twin_that_charges_for_half_is_caught(
    relation, monkeypatch
):
    """The documentation of Method works it out."""
    names = {}
    for example in doctest.DocTestParser().get_examples(Method.__doc__):
        exec(example.source, names)
    middle = names["Middle"]
    plan = middle.plan
    # Rows that the middle of the bounds keeps, and rows that it violates.
    A, fields = [[-1, -1], [-1, -3], [1, 1]] * 5, {"bounds": (0, 4), "neighbours": WHOLE[relation]}
    lp = LinearProgram([1, 2], A, [-5, -3, 3] * 5, **fields)

    def half(self, task):
        planned = plan(self, task)
        ((mechanism, draws, purpose),) = planned.charges
        twin = LaplaceMechanism.of_eps(mechanism.sensitivity / 2, task.ledger.eps)
        return replace(planned, charges=[(twin, draws, purpose)])

    found = audited(lp, middle(), s=None, opt=None)
    assert found.passed, str(found)
    monkeypatch.setattr(middle, "plan", half)
    twin = audited(lp, middle(), s=None, opt=None)
    assert not twin.passed
    assert [each.releases[0].ratio for each in (found, twin)] == pytest.approx([1.0, 2.0])


@pytest.mark.parametrize(("relation", "split"), each(WHOLE, [False, True]))
def test_a_method_with_a_player(relation, split):
    lp = covering(WHOLE[relation])
    lp = SplitProgram.like(lp) if split else lp
    solution = privlp.solve(lp, 1.0, 1e-6, 5, opt=3.0, method=NoisyWeights(), rng=0)
    assert (solution.method, solution.iterations) == ("noisy-weights", 30)
    assert solution.objective == pytest.approx(3.0)
    assert solution.privacy.eps == pytest.approx(1.0, rel=1e-6)
    found = audited(lp, NoisyWeights())
    assert found.passed, str(found)
    assert not audited(lp, NoisyWeights(share=0.25)).passed


def test_it_finds_the_optimum_without_noise():
    lp = covering(WHOLE["replace"])
    exact = privlp.solve_exact(lp)
    opt, own = exact.objective, NoisyWeights()
    solution = privlp.solve(lp, float("inf"), 0.0, 1, opt=opt, method=own, rng=0)
    left = privlp.compare(lp, solution, exact)
    uniform = privlp.compare(lp, np.full(3, exact.objective / sum(COSTS)), exact)
    assert left.violation_at(1) < uniform.violation_at(1)


def test_it_refuses_what_it_does_not_protect():
    lp = LinearProgram(COSTS, -np.ones((4, 3)), -np.ones(4), neighbours=ScalarPrivate(0.1))
    with pytest.raises(privlp.UnsupportedProblemError, match="'noisy-weights' does not protect"):
        privlp.solve(lp, 1.0, 1e-6, method=NoisyWeights())


EUCLIDEAN = EuclideanPrivate(0.3, lower=-2, upper=-0.1)


@pytest.mark.parametrize("method", methods_for(EUCLIDEAN) if THOROUGH else ["mw", "direct-noise"])
def test_every_method_of_numbers_protects_it_and_one_that_states_too_little_is_caught(
    method, monkeypatch
):
    lp, request = covering(EUCLIDEAN), {"delta": 1e-3, "method": method_of(method), "rng": 0}
    request |= {"opt": 6.0, "alpha": 1.0} if method == "mw" else {}
    solution = privlp.solve(lp, 1.0, **request)
    assert solution.success
    assert "0.3 in L2" in str(solution.privacy)
    found = privlp.audit_solve(lp, 1.0, pairs=5, runs=0, **request)
    assert found.passed, str(found)
    assert found.releases[0].ratio > 0.99
    numbers, span = EuclideanPrivate._numbers, EuclideanPrivate.violation_span

    def shrunk(self, form):
        found = numbers(self, form)
        return replace(found, l1=0.8 * found.l1, l2=0.8 * found.l2, entry=0.8 * found.entry)

    monkeypatch.setattr(EuclideanPrivate, "_numbers", shrunk)
    monkeypatch.setattr(
        EuclideanPrivate, "violation_span", lambda self, form: lambda x: 0.8 * span(self, form)(x)
    )
    assert not privlp.audit_solve(lp, 1.0, pairs=5, runs=0, **request).passed


def test_it_may_be_part_of_a_tuple():
    relation = (EUCLIDEAN, privlp.RowPrivate(0.01, lower=-1, upper=-0.1))
    lp = covering(relation)
    assert set(methods_for(lp.neighbours)) >= {"mw", "direct-noise"}
    for method in ("direct-noise", "tightened"):
        found = privlp.audit_solve(lp, 1.0, 1e-3, method=method, pairs=2, runs=0, rng=0)
        assert found.passed, str(found)


def test_a_plan_knows_it():
    found = privlp.plan(covering(EUCLIDEAN), 1.0, 1e-3)
    assert found.best == "direct-noise"
    budget = privlp.Budget(2.0, 1e-2)
    privlp.solve(covering(EUCLIDEAN), 0.5, 1e-3, budget=budget, rng=0)
    with pytest.raises(privlp.PrivLPError, match="a Budget of its own for each neighbour relation"):
        privlp.solve(covering(ScalarPrivate(0.1)), 0.5, 1e-3, budget=budget, rng=0)


class Peculiar(Method):
    """Releases what a test says, without a look at the rows."""

    name = "peculiar"
    rounds = 0

    def __init__(self, released=None):
        self._released = released

    def protects(self, relation):
        return True

    def plan(self, request):
        return PlannedRun([], lambda rows, draws: self)

    def released(self):
        return self._released


class Nameless(Peculiar):
    name = None


class Planless(Peculiar):
    def plan(self, request):
        return []


@pytest.mark.parametrize(
    ("method", "message"),
    [
        (Peculiar, r"method must be an object, got the class Peculiar: write Peculiar\(\.\.\.\)"),
        (Nameless(), "Nameless needs a name"),
        (Planless(), r"What Planless\.plan returns must be a PlannedRun, got list"),
        *(
            (Peculiar(released), "method='peculiar' must release .* vector of 3 finite numbers")
            for released in (
                (np.ones(3), 1.0),
                Released(np.full(3, np.nan), 1.0),
                Released(np.ones(2), 1.0),
            )
        ),
    ],
)
def test_what_is_wrong_with_a_method_is_said(method, message):
    for call in (privlp.solve, partial(privlp.audit_solve, pairs=1, runs=0)):
        with pytest.raises(privlp.InvalidParameterError, match=message):
            call(covering(WHOLE["replace"]), 1.0, 1e-6, method=method, rng=0)


def test_a_method_may_release_a_list_or_nothing():
    for x in ([1, 2, 3], None):
        found = privlp.solve(
            covering(WHOLE["replace"]), 1.0, 1e-6, method=Peculiar(Released(x, None)), rng=0
        )
        assert (found.x is None) == (x is None)
        assert x is None or found.x.tolist() == x
