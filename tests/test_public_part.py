"""Neighbours have equal public parts, and all that is decided before a draw is equal too."""

import numpy as np
import pytest
import scipy.sparse as sp

import privlp
from privlp.errors import InvalidProblemError, PrivLPError
from privlp.methods import SolveRequest
from privlp.problem.standard_form import StandardForm
from tests.effort import THOROUGH, runs
from tests.programs import ALL, methods_for

N = 9
COSTS = np.array([1.0, 2.0, 0.5])
NEEDS = np.round(np.random.default_rng(0).uniform(0.2, 1.0, (N, 3)), 2)
NEEDS[2, 1] = NEEDS[5, 0] = 0.0
B = {"lower": 1, "upper": 10}
A = {"lower": -1.2, "upper": 0}
C = {"lower": 0, "upper": 4}
INF = np.inf
PUBLIC_ROW = {"private": np.arange(N) < N - 1}

#: A relation, and what its program has beside A >= needs.
RELATIONS = {
    "replace": (privlp.ConstraintPrivate(), {}),
    "groups": (privlp.ConstraintPrivate(), {"groups": np.arange(N) // 2, **PUBLIC_ROW}),
    "rows of all kinds": (
        privlp.ConstraintPrivate(rows_per_record=2),
        {"row_lower": [-5.0, *[-INF] * 6, -2.0, -4.0], **PUBLIC_ROW},
    ),
    "soft": (privlp.ConstraintPrivate(), {"penalty": np.linspace(0.1, 1.0, N)}),
    "hard and soft": (privlp.ConstraintPrivate(), {"penalty": np.resize([0.5, np.inf], N)}),
    "add-remove": (
        privlp.ConstraintPrivate("add-remove", rows_per_record=2, nominal_n=8),
        PUBLIC_ROW,
    ),
    "names come and go": (
        privlp.ConstraintPrivate("add-remove", nominal_n=8),
        {"row_names": [f"row {i}" for i in range(N)], "groups": np.arange(N)},
    ),
    "soft, add-remove": (privlp.ConstraintPrivate("add-remove", nominal_n=8), {"penalty": 2.0}),
    "soft, come and go": (
        privlp.ConstraintPrivate("add-remove", nominal_n=8, largest_penalty=1.0),
        {"penalty": np.linspace(0.1, 1.0, N)},
    ),
    "b, each": (privlp.ScalarPrivate(0.5, lower=-10, upper=-1), PUBLIC_ROW),
    "b, sum": (privlp.ScalarPrivate(0.5, norm="1", lower=-10, upper=-1), {}),
    "b, equality": (privlp.ScalarPrivate(0.5, lower=-10), {"row_lower": [-2.0, *[-INF] * (N - 1)]}),
    "row": (privlp.RowPrivate(0.1, **A), PUBLIC_ROW),
    "row, zeros public": (privlp.RowPrivate(0.1, **A, zeros="public"), {}),
    "column": (privlp.ColumnPrivate(0.1, **A), {}),
    "costs": (privlp.ObjectivePrivate(0.3, **C), {}),
    "all parts": (
        (
            privlp.ScalarPrivate(0.5, lower=-10, upper=-1),
            privlp.ColumnPrivate(0.1, **A),
            privlp.ObjectivePrivate(0.3, **C),
        ),
        PUBLIC_ROW,
    ),
}
CASES = [(name, storage) for name in RELATIONS for storage in ("dense", "sparse")]
#: Each relation with one storage in turn, but for a thorough run.
PLANNED = CASES if THOROUGH else [CASES[2 * k + k % 2] for k in range(len(RELATIONS))]


def program(name, storage):
    relation, fields = RELATIONS[name]
    matrix = -NEEDS if storage == "dense" else sp.csr_array(-NEEDS)
    on_a_simplex = isinstance(relation, privlp.ConstraintPrivate) and "private" not in fields
    bounds = (0, None if on_a_simplex else 20)
    return privlp.LinearProgram(
        COSTS, matrix, np.full(N, -2.0), neighbours=relation, bounds=bounds, **fields
    )


def pairs_of(lp, count):
    """Random neighbours at the full distance."""
    rng, form, found = np.random.default_rng(3), StandardForm.of(lp), []
    while len(found) < count:
        try:
            found.append(lp.neighbours.extreme_pair(form, rng))
        except InvalidProblemError:
            continue
    return found


@pytest.mark.parametrize(("name", "storage"), CASES)
def test_neighbours_have_equal_public_parts(name, storage):
    lp = program(name, storage)
    for one, other in pairs_of(lp, runs(100, 30)):
        assert one.public() == other.public()
        if not lp.neighbours.hides_rows:  # which neighbours may have left
            assert other.public() == lp.public()


@pytest.mark.parametrize(
    "changed",
    [
        {"bounds": (0, 21)},
        {"c": [1.0, 2.0, 0.6]},
        {"offset": 1.0},
        {"sense": "max"},
        {"neighbours": privlp.ConstraintPrivate(rows_per_record=2)},
        {"private": np.arange(N) < N - 2},
        {"A": -np.vstack([NEEDS[:-1], NEEDS[-1] + 0.1])},
        {"b": np.append(np.full(N - 1, -2.0), -2.5)},
    ],
    ids=lambda changed: next(iter(changed)),
)
def test_public_parts_tell_other_programs_apart(changed):
    fields = {"c": COSTS, "A": -NEEDS, "b": np.full(N, -2.0), "bounds": (0, 20), **PUBLIC_ROW}
    one, other = (privlp.LinearProgram(**of).public() for of in (fields, {**fields, **changed}))
    assert one != other


def request_of(method, lp):
    special = {"dmw-published": {"width": 1.5, "alpha": 9.0}, "mw": {"alpha": 1.0, "opt": 5.0}}
    whole = {"s": 3, "opt": 5.0} if lp.neighbours.changes_whole_rows else {}
    if lp.penalty is not None:
        whole = {"opt": 5.0, **({"s": 3} if np.isinf(lp.penalty[lp.private]).any() else {})}
    return {**whole, **special.get(method, {})}


def planned(lp, method, **request):
    """What would be charged, or the refusal."""
    try:
        run = ALL[method].plan(SolveRequest.of(lp, 1.0, 1e-4, **request))
        return list(run.charges), None if run.predict is None else run.predict()
    except PrivLPError as error:
        return str(error)


@pytest.mark.parametrize(("name", "storage"), PLANNED)
def test_plans_of_neighbours_are_equal(name, storage):
    """Mechanisms, numbers of draws, predictions and refusals, to the last digit."""
    lp = program(name, storage)
    asked = {"s": 3, "opt": 5.0} if lp.neighbours.changes_whole_rows else {}
    several, made = [asked, {"feasible": "always"}, {"opt": 5.0}], 0
    for one, other in pairs_of(lp, runs(3, 1)):
        for method in methods_for(lp.neighbours):
            request = request_of(method, lp)
            here, there = (planned(side, method, **request) for side in (one, other))
            assert here == there
            made += not isinstance(here, str)
        texts = [[outcome(side, of) for of in several] for side in (one, other)]
        assert texts[0] == texts[1]
    assert made > 0 or name == "soft, add-remove"  # which no method takes


def outcome(lp, asked):
    try:
        return str(privlp.plan(lp, 1.0, 1e-4, **asked))
    except PrivLPError as error:
        return str(error)
