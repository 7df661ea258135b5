"""Every low-sensitivity method keeps the same promises under every relation."""

import math
import re
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import privlp
from privlp import ColumnPrivate, LinearProgram, ObjectivePrivate, RowPrivate, ScalarPrivate
from privlp.methods import SolveRequest
from privlp.problem.standard_form import violated
from privlp.relations import Combined
from tests import effort, every_method
from tests.effort import examples
from tests.every_method import RELATIONS, conforming, covering, has, never, parts_of, run
from tests.programs import ALL, KNOWN, WAYS, method_of, methods_for, way_of

INF = float("inf")

# without noise

OFF_THE_SIMPLEX = {"maximise", "free variable", "box of both signs"}
SMALL = 0.05


def around(kind, fields):
    """A relation of this kind whose declared ranges are a little wider than the numbers.

    Zeros of A are public.
    """
    A = fields["A"].toarray() if sp.issparse(fields["A"]) else np.array(fields["A"], dtype=float)
    b = np.array(fields["b"], dtype=float)
    low = np.array(fields.get("row_lower", np.full(len(b), -INF)))
    room = SMALL
    if kind is ScalarPrivate:
        ends = np.where(np.isfinite(low), low, b), np.where(np.isfinite(b), b, low)
    elif kind is ObjectivePrivate:
        ends = (np.array(fields["c"]),) * 2
    else:
        ends, room = (A, A), SMALL * (A != 0)
    return kind(0.01, lower=ends[0] - room, upper=ends[1] + room)


def known(name, relation):
    fields = dict(KNOWN[name])
    kinds = tuple(around(type(part), fields) for part in parts_of(RELATIONS[relation]))
    bounds = LinearProgram(**fields).bounds
    if has(RELATIONS[relation], ObjectivePrivate):
        fields["bounds"] = np.clip(bounds, -20, 20)
    return LinearProgram(**fields, neighbours=kinds[0] if len(kinds) == 1 else kinds)


def applies(program, relation, method):
    if method == "mw":
        return program not in OFF_THE_SIMPLEX
    if every_method.tightens(method) and program == "private equality":
        return False
    # The two sides of a private range share one declared interval, which leaves no room between its
    # ends.
    return not (never(method) and program == "ranges" and has(RELATIONS[relation], ScalarPrivate))


@pytest.mark.parametrize(
    ("program", "name", "method"),
    effort.covering(
        (program, *case)
        for program in KNOWN
        for case in every_method.combinations()
        if applies(program, *case)
    ),
)
def test_without_noise_every_method_finds_the_exact_optimum(program, name, method):
    lp = known(program, name)
    exact = privlp.solve_exact(lp)
    options = {"opt": exact.objective, "alpha": 0.25} if method == "mw" else {}
    solution = run(lp, method, eps=INF, delta=0.0, **options)
    assert solution.success
    assert solution.objective == pytest.approx(exact.objective, rel=1e-6, abs=1e-6)
    assert solution.objective == pytest.approx(lp.objective(solution.x), rel=1e-9)
    assert privlp.compare(lp, solution, exact).violation_at(0) <= (0.25 if method == "mw" else 1e-6)
    assert (lp.bounds[:, 0] <= solution.x).all()
    assert (solution.x <= lp.bounds[:, 1]).all()
    assert not solution.privacy.private
    assert "NOT PRIVATE" in solution.message


def takes_an_optimum(relation, method):
    return method == "direct-noise" and not has(relation, ObjectivePrivate)


@conforming(takes_an_optimum)
def test_a_public_optimum_is_reached_with_the_least_violation(name, method):
    lp = covering(name)
    opt = privlp.solve_exact(lp).objective
    for public in (opt, 0.9 * opt):
        solution = run(lp, method, eps=INF, delta=0.0, opt=public)
        assert solution.objective == pytest.approx(public, rel=1e-6)
    assert privlp.compare(lp, solution).violation_at(0) == pytest.approx(0.1, abs=1e-6)


# what is spent


PARTS = {"row": "A", "column": "A", "scalar": "b", "objective": "c"}


def pays_by_scale(relation, method):
    of_another = method in {"mw", *WAYS} - {"truncated-laplace", "quantile-noise"}
    return isinstance(relation, Combined) and not of_another


@conforming(pays_by_scale)
def test_a_given_split_is_honoured(name, method):
    wanted = list(dict.fromkeys(PARTS[kind] for kind in name.split("+")))
    shares = [1.0, 3.0, 6.0][: len(wanted)]
    delta = 1e-6 if never(method) else 0.0
    entries = run(covering(name), method, delta=delta, split=shares).privacy.entries
    assert [re.search(r"\b[bAc]$", entry.purpose)[0] for entry in entries] == wanted
    scales = [float(re.search(r"scale = ([^,]+)", entry.parameter)[1]) for entry in entries]
    spent = [entry.sensitivity / scale for entry, scale in zip(entries, scales, strict=True)]
    assert spent == pytest.approx(np.array(shares) / sum(shares), rel=1e-4)


def has_one_part(relation, method):
    return method != "mw" and (len(parts_of(relation)) == 1 or relation is RELATIONS["row+column"])


@conforming(has_one_part)
def test_a_split_of_one_part_is_the_whole(name, method):
    results = [run(covering(name), method, split=split) for split in (None, [7.0])]
    assert np.array_equal(results[0].x, results[1].x)
    assert results[0].privacy.entries == results[1].privacy.entries


# randomness, limits, results


@pytest.mark.parametrize("name", [name for name in RELATIONS if name != "whole rows"])
def test_auto_takes_a_method_of_the_relation(name):
    lp = covering(name)
    costs = has(RELATIONS[name], ObjectivePrivate)
    for options in ({}, {} if costs else {"opt": every_method.OPT}):
        assert privlp.solve(lp, 1.0, 1e-6, rng=0, **options).method in methods_for(lp.neighbours)
    always = {"feasible": "always", "rng": 0}
    task, ways = SolveRequest.of(lp, 1.0, 1e-6, feasible="always"), ("laplace", "gaussian")
    plans = [WAYS[f"truncated-{way}"].plan(task).predict().on_numbers for way in ways]
    narrower = any(two.typical < one.typical for one, two in zip(*plans, strict=True))
    solution = privlp.solve(lp, 1.0, 1e-6, **always)
    assert solution.method == "tightened"
    others = "measured-slack", "one-margin", "by-prices", "truncated-sup-norm"
    assert way_of(solution) in (*others, f"truncated-{ways[narrower]}")


# misuse

COMMON = {
    "s": ({"s": 3}, "s has no use with method='{method}'"),
    "width": ({"width": 1.0}, "width has no use with method='{method}'"),
    "feasible": ({"feasible": "rubbish"}, "feasible must be None, 'always' or a pr.*; got 'rubb"),
    "feasible of 1": ({"feasible": 1}, "feasible must be None, 'always' or a probab"),
    "split too long": ({"split": [1, 1, 1, 1]}, "split needs [123] positive n|split has no use"),
    "split empty": ({"split": []}, "split needs [123] positive number|split has no use"),
    "split text": ({"split": "half"}, "split must be a number, got str|split has no use"),
    "method": ({"method": "simplex"}, "method must be 'auto' or one of '(mw|direct-noise)', .*"),
    "method of another relation": (
        {"method": "dmw"},
        "'dmw' does not protect .* Take 'auto' or one of '",
    ),
}
NO_ALWAYS = "'{method}' does not promise feasible='always': .* Take 'auto' or one of 'tightened',"
NO_OPT = "|opt has no use where c is private"
NO_USE, NOT_SO = "alpha has no use with method='{method}'", "alpha must be positive and finite"
ALPHA_UNUSED = {
    f"alpha {alpha}": ({"alpha": alpha}, NO_USE if alpha in (0.1, 2.0) else NOT_SO)
    for alpha in (0.1, 2.0, -1.0, INF)
}
OF_METHOD = {
    "mw": {
        "alpha zero": ({"alpha": 0.0}, "alpha must be positive and finite"),
        "alpha infinite": ({"alpha": INF}, "alpha must be positive and finite"),
        "alpha text": ({"alpha": "small"}, "alpha must be a number, got str"),
        "alpha tiny": ({"alpha": 1e-9}, "Give a larger alpha"),
        "opt missing": ({"opt": None}, "opt is missing"),
        "opt nan": ({"opt": math.nan}, "opt must be a finite number"),
        "opt text": ({"opt": "six"}, "opt must be a number, got str"),
        "opt of the wrong sign": ({"opt": -3.0}, "wrong sign for opt"),
        "opt zero": ({"opt": 0.0}, "a single point"),
        "feasible": ({"feasible": "always"}, NO_ALWAYS),
        "split": ({"split": [1]}, "split has no use with method='mw'"),
    },
    "direct-noise": {
        **ALPHA_UNUSED,
        "opt nan": ({"opt": math.nan}, f"opt must be a finite number{NO_OPT}"),
        "opt infinite": ({"opt": INF}, f"opt must be a finite number{NO_OPT}"),
        "opt text": ({"opt": "six"}, f"opt must be a number, got str{NO_OPT}"),
        "opt out of reach": ({"opt": -1.0}, f"opt = -1 is out of reach{NO_OPT}"),
        "feasible": ({"feasible": "always"}, NO_ALWAYS),
    },
    "quantile-noise": {
        **ALPHA_UNUSED,
        "opt": ({"opt": 6.0}, "opt has no use with method='{method}'"),
        "feasible": ({"feasible": "always"}, "'tightened' does not promise feasible='always': its"),
    },
    "truncated-laplace": {
        **ALPHA_UNUSED,
        "opt": ({"opt": 6.0}, "opt has no use with method='{method}'"),
        "delta zero": ({"delta": 0.0}, "delta must be positive with method='{method}'"),
    },
}


@conforming()
def test_bad_parameters_are_refused_with_nothing_spent(name, method):
    budget = privlp.Budget(100.0, 1e-3)
    calls = COMMON | OF_METHOD["truncated-laplace" if never(method) else method]
    for case, (change, message) in calls.items():
        with pytest.raises(privlp.PrivLPError, match=message.format(method=ALL[method].name)):
            run(covering(name), **{"method": method, "budget": budget, **change})
        assert (budget.spent(), budget.entries) == (0, ()), case


@pytest.mark.parametrize("name", ["row+scalar", "row+scalar+objective"])
def test_a_wrong_split_names_the_parts_in_order(name):
    parts = "coefficients A, right-hand sides b" + (", costs c" if "objective" in name else "")
    with pytest.raises(privlp.InvalidParameterError, match=f"one for each of: {parts}"):
        run(covering(name), "direct-noise", split=[1.0])


def without_ranges(relation):
    bare = tuple(type(part)(part.sensitivity) for part in parts_of(relation))
    return bare[0] if len(bare) == 1 else bare


def two_rows(relation, **fields):
    """Two private rows, and further public ones where the fields ask for them."""
    fields = {"A": [[-0.5, -0.7], [-0.9, -0.6]], "c": [1.0, 2.0], "private": [0, 1], **fields}
    return LinearProgram(**{"b": [-1.0] * len(fields["A"]), **fields}, neighbours=relation)


BAD_PROGRAMS = {
    "no private rows": (
        lambda r: has(r, ScalarPrivate, RowPrivate, ColumnPrivate) and not has(r, ObjectivePrivate),
        lambda r: two_rows(r, private=[]),
        "no private numbers. Taken for public: costs c, .*bounds of variables, 2 public rows",
    ),
    "soft rows": (
        lambda r: True,
        lambda r: two_rows(r, penalty=2.0),
        "treats every row as hard; leave out penalty",
    ),
    "contradictory public rows": (
        lambda r: True,
        lambda r: two_rows(r, A=[[-0.5, -0.7], [-0.9, -0.6], [1, 0], [-1, 0]], b=[-1, -1, 1, -2]),
        "public rows and bounds contradict each other",
    ),
    "unbounded": (
        lambda r: not has(r, ObjectivePrivate),
        lambda r: two_rows(r, c=[1, -1], variable_names=["ore", "steel"]),
        "region is unbounded: its bounds and (public )?rows let variable 'steel' grow without lim",
    ),
    "unbounded in a free variable": (
        lambda r: has(r, RowPrivate, ColumnPrivate) and not has(r, ObjectivePrivate),
        lambda r: two_rows(r, bounds=[(0, None), (None, 5)], c=[1, 1]),
        "let .*variable 1.* grow without limit",
    ),
}


@pytest.mark.parametrize(
    ("case", "name", "method"),
    effort.covering(
        (case, *combination)
        for case, (concerns, _, _) in BAD_PROGRAMS.items()
        for combination in every_method.combinations(
            lambda relation, method, concerns=concerns: method != "mw" and concerns(relation)
        )
    ),
)
def test_programs_outside_a_method_are_refused_with_nothing_spent(case, name, method):
    _, make, message = BAD_PROGRAMS[case]
    relation = RELATIONS[name]
    budget = privlp.Budget(10.0, 1e-3)
    with pytest.raises(privlp.UnsupportedProblemError, match=message):
        run(make(relation), method, budget=budget)
    assert (budget.spent(), budget.entries) == (0, ())


@conforming(lambda relation, method: method == "mw")
def test_programs_outside_mw_are_refused_with_nothing_spent(name, method):
    budget = privlp.Budget(10.0, 1e-3)
    for fields, message in (
        ({"private": []}, "no private numbers"),
        ({"penalty": 2.0}, "treats every row as hard"),
        ({"bounds": (0, 3)}, "variable 0 has two finite bounds"),
    ):
        with pytest.raises(privlp.UnsupportedProblemError, match=message):
            run(two_rows(RELATIONS[name], **fields), method, budget=budget)
    if has(RELATIONS[name], RowPrivate, ColumnPrivate):
        message = "a public range of the entries of A, and none was declared"
        with pytest.raises(privlp.UnsupportedProblemError, match=message):
            run(two_rows(without_ranges(RELATIONS[name])), method, budget=budget)
    assert (budget.spent(), budget.entries) == (0, ())


def moves_rows(relation, method):
    return never(method) and has(relation, ScalarPrivate, RowPrivate, ColumnPrivate)


@conforming(moves_rows)
@pytest.mark.parametrize("feasible", [None, "always"])
def test_constraints_that_cannot_be_kept_are_refused_with_nothing_spent(name, method, feasible):
    relation, budget = RELATIONS[name], privlp.Budget(10.0, 1e-3)
    for lp, message in (
        (two_rows(relation, row_lower=[-1, -INF]), "A private equality cannot be tightened"),
        (two_rows(without_ranges(relation)), "needs a declared public range of the (right-h|coef)"),
        (two_rows(relation, bounds=(0, 0.1)), "worst case has no feasible poi.*Nothing was drawn"),
    ):
        with pytest.raises(privlp.UnsupportedProblemError, match=message):
            run(lp, method, feasible=feasible, budget=budget)
        assert (budget.spent(), budget.entries) == (0, ())


def test_which_end_of_a_range_is_needed():
    """That to which a number is tightened, no other."""
    at_least, always = {"b": [INF, INF], "row_lower": [-1, -1]}, {"feasible": "always", "rng": 0}
    for relation, fields in (
        (ScalarPrivate(0.1, lower=-2), {}),
        (ScalarPrivate(0.1, upper=0), at_least),
        (RowPrivate(0.1, upper=-0.4), {}),
        (RowPrivate(0.1, lower=-1.0), {"bounds": (None, 0), "c": [-1, -1], "b": [3.0, 3.0]}),
        (ColumnPrivate(0.1, lower=-1.0), {**at_least, "row_lower": [-9, -9], "bounds": (0, 1)}),
    ):
        assert privlp.solve(two_rows(relation, **fields), 1.0, 1e-6, **always).success
    for relation, fields, end in (
        (ScalarPrivate(0.1, upper=2), {}, "right-hand sides b.*lower .for <= rows."),
        (ScalarPrivate(0.1, lower=-3), at_least, "upper .for >= rows."),
        (RowPrivate(0.1, lower=-3), {}, "coefficients A.*upper"),
        (RowPrivate(0.1, upper=3), {"bounds": (-1, 1)}, "coefficients A.*lower"),
    ):
        with pytest.raises(privlp.UnsupportedProblemError, match=end):
            privlp.solve(two_rows(relation, **fields), 1.0, 1e-6, **always)


def test_whole_constraints_cannot_be_kept_with_certainty():
    lp = covering("", neighbours=privlp.ConstraintPrivate())
    message = "when a whole constraint may change"
    with pytest.raises(privlp.UnsupportedProblemError, match=f"must be None here: {message}"):
        privlp.solve(lp, 1.0, 1e-6, s=3, opt=every_method.OPT, feasible="always")
    for method in ("mw", "direct-noise", "truncated-laplace-published"):
        with pytest.raises(privlp.UnsupportedProblemError, match="'auto' or one of 'chain'"):
            run(lp, method)


# nothing private leaves


@pytest.mark.parametrize("method", ["mw", "direct-noise"])
def test_infeasible_private_rows_are_not_given_away(method):
    rows = [[1, 0], [-1, 0]] * 10, [-1, -1] * 10
    lp = LinearProgram([1.0, 1.0], *rows, neighbours=ScalarPrivate(0.05))
    solution = run(lp, method, opt=2.0)
    assert solution.success
    assert "feasib" not in solution.message


# never violated


def exact_excess(A, x, rhs):
    """A_i x - rhs_i of every row, by fractions; -inf where rhs is infinite."""
    A, x = A.toarray() if sp.issparse(A) else A, [Fraction(float(entry)) for entry in x]
    totals = [sum(Fraction(float(a)) * y for a, y in zip(row, x, strict=True)) for row in A]
    pairs = zip(totals, rhs, strict=True)
    return [t - Fraction(float(b)) if math.isfinite(b) else -INF for t, b in pairs]


def exactly_violated(A, x, rhs):
    return [excess > 0 for excess in exact_excess(A, x, rhs)]


def assert_never_violated(lp, x):
    """Bounds, private and public inequality rows exactly; public equalities to a relative 1e-6."""
    assert all(low <= value <= high for value, (low, high) in zip(x, lp.bounds, strict=True))
    equal = lp.row_lower == lp.b
    assert not (equal & lp.private).any()
    A = lp.A.toarray() if lp.is_sparse else lp.A
    for sign, side in ((1.0, lp.b), (-1.0, -lp.row_lower)):
        assert not any(exactly_violated(sign * A[~equal], x, side[~equal]))
    size = 1 + np.abs(lp.b[equal]).max(initial=0.0)
    assert np.abs(A[equal] @ x - lp.b[equal]).max(initial=0.0) <= 1e-6 * size


SIGNS = [(0, 5), (-3, 4), (-5, 0), (1, 3), (-2, -1), (2, 2), (0, 0)]
SIGNS += [(0, None), (None, 0), (None, None), (None, 2), (-1, None)]


@st.composite
def tightenable(draw, kinds, entries):
    """A random program with a point that is feasible in the worst case, and ranges around it."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, d = draw(st.integers(1, 5)), draw(st.integers(1, 4))
    bounds = draw(st.lists(st.sampled_from(SIGNS), min_size=d, max_size=d))
    low, high = np.array([[-INF if a is None else a, INF if b is None else b] for a, b in bounds]).T
    near = np.maximum(low, np.minimum(high, 0) - 3), np.minimum(high, np.maximum(low, 0) + 3)
    x = rng.uniform(*near)
    A = entries(rng, (n, d)) * (rng.random((n, d)) < draw(st.sampled_from([0.5, 1.0])))
    half = np.abs(A) * draw(st.sampled_from([0.0, 0.1, 1.0]))
    reach = draw(st.sampled_from([0.0, 0.5, 3.0]))
    private = np.array(draw(st.lists(st.sampled_from([True, True, False]), min_size=n, max_size=n)))
    row_kinds = draw(st.lists(st.sampled_from(kinds), min_size=n, max_size=n))
    size = np.abs(A) @ np.abs(x)
    margin = draw(st.sampled_from([1e-7, 0.1, 1.0])) * (1 + size)
    room = half @ np.abs(x) + reach + margin
    upper, lower = A @ x + room, A @ x - room
    for i, kind in enumerate(row_kinds):
        if kind == ">=":
            upper[i] = INF
        elif kind == "<=" or (kind == "equality" and private[i]):  # private ones are refused
            lower[i] = -INF
        elif kind == "equality":
            lower[i] = upper[i] = float(A[i] @ x)
    bounded = np.isfinite(low) & np.isfinite(high)
    some = 1.0 * (np.isfinite(low) | np.isfinite(high))
    inward = np.where(np.isfinite(low), 1.0, -1.0)
    c = some * rng.uniform(0.1, 2, d) * np.where(bounded, rng.choice([-1, 1], d), inward)
    ends = np.where(np.isfinite(upper), upper, lower)
    storage = draw(st.sampled_from([sp.csr_array, np.array]))
    fields = {"c": c, "A": storage(A), "b": upper, "row_lower": lower}
    return {
        "fields": {**fields, "bounds": bounds, "private": private},
        "A range": {"lower": A - half, "upper": A + half},
        "b range": {"lower": ends - reach, "upper": ends + reach},
        "c range": {"lower": c - 0.5 * some, "upper": c + 0.5 * some},
        "eps": draw(st.sampled_from([0.05, 1.0, 20.0, INF])),
        "method": draw(st.sampled_from(["laplace", "gaussian", "laplace-published"])),
        "seed": draw(st.integers(0, 1000)),
    }


def solved(case, relation):
    """The program and what the solve released, None where it was refused for a public reason."""
    lp = LinearProgram(**case["fields"], neighbours=relation)
    budget = privlp.Budget(case["eps"], 1e-4)
    options = {"feasible": "always", "budget": budget, "rng": case["seed"]}
    try:
        method = method_of(f"truncated-{case['method']}")
        return lp, privlp.solve(lp, case["eps"], 1e-4, method=method, **options)
    except privlp.UnsupportedProblemError as error:
        reasons = "no private numbers|no feasible point|unbounded|private equality"
        if budget.spent() > 0 or not re.search(reasons, str(error)):
            raise
        return lp, None


def uniform(rng, shape):
    return rng.uniform(-1, 1, shape)


def ill_scaled(rng, shape):
    return rng.choice([-1, 1], shape) * 10.0 ** rng.uniform(-6, 6, shape)


NEVER = {
    "b": (["<=", "<=", ">=", "equality"], lambda case, D: ScalarPrivate(D, **case["b range"])),
    "b in sum": (["<=", ">="], lambda case, D: ScalarPrivate(D, norm="1", **case["b range"])),
    "row": (["<=", ">=", "range", "equality"], lambda case, D: RowPrivate(D, **case["A range"])),
    "column": (["<=", ">=", "range"], lambda case, D: ColumnPrivate(D, **case["A range"])),
    "c": (["<=", ">=", "range"], lambda case, D: ObjectivePrivate(D, **case["c range"])),
    "row and b": (
        ["<=", ">="],
        lambda case, D: (RowPrivate(D, **case["A range"]), ScalarPrivate(2 * D, **case["b range"])),
    ),
    "column, c and b": (
        ["<=", ">=", "equality"],
        lambda case, D: (
            ColumnPrivate(D, **case["A range"]),
            ObjectivePrivate(D, **case["c range"]),
            ScalarPrivate(D, norm="1", **case["b range"]),
        ),
    ),
}


#: Programs that are infeasible but for rounding may have no point near their optimum.
MAY_FALL_BACK = pytest.mark.filterwarnings("ignore::privlp.PublicPointWarning")


def check_never(name, entries, sensitivities, tries, least_solved):
    kinds, relation = NEVER[name]
    counts = {True: 0, False: 0}

    @settings(deadline=None, max_examples=tries)
    @given(tightenable(kinds, entries), st.sampled_from(sensitivities))
    def check(case, D):
        lp, solution = solved(case, relation(case, D))
        counts[solution is not None] += 1
        if solution is not None:
            assert solution.success
            assert_never_violated(lp, solution.x)

    check()
    assert counts[True] >= least_solved * tries


@pytest.mark.parametrize("name", NEVER)
@MAY_FALL_BACK
def test_true_rows_are_never_violated(name):
    check_never(name, uniform, [1e-3, 0.05, 1.0], examples(80), 0.2)


@pytest.mark.parametrize("name", ["b", "row", "column", "row and b"])
@MAY_FALL_BACK
def test_true_rows_are_never_violated_however_they_are_scaled(name):
    check_never(name, ill_scaled, [1e-3, 1.0, 1e3], examples(60), 0.1)


@pytest.mark.parametrize("name", ["row", "b"])
def test_large_programs_are_never_violated(name):
    """Vertices of many rows, where HiGHS is off by a rounding in several of them."""
    rng = np.random.default_rng(3)
    n, d = 60, 25
    for seed in range(2):
        A = rng.uniform(-1, 1, (n, d)) * 10.0 ** rng.integers(-3, 4, (n, 1))
        x = rng.uniform(-1, 1, d)
        size = np.abs(A).max(axis=1)
        relation = {
            "row": RowPrivate(1e-3, lower=A - 0.01 * np.abs(A), upper=A + 0.01 * np.abs(A)),
            "b": ScalarPrivate(1e-3, norm="1", lower=A @ x + 0.1 * size, upper=A @ x + 2 * size),
        }[name]
        lp = LinearProgram(rng.normal(size=d), A, A @ x + size, bounds=(-3, 3), neighbours=relation)
        solution = privlp.solve(lp, 2.0, 1e-6, feasible="always", rng=seed)
        assert "Solved the tightened program" in solution.message
        assert_never_violated(lp, solution.x)


def test_the_check_has_teeth():
    lp = LinearProgram([1.0], [[0.1], [-1.0]], [0.3, -1.0])
    assert_never_violated(lp, np.array([2.9]))
    with pytest.raises(AssertionError):
        assert_never_violated(lp, np.array([3.0]))  # 0.1 * 3 > 0.3 for these doubles
    with pytest.raises(AssertionError):
        assert_never_violated(lp, np.array([np.nextafter(1.0, 0.0)]))


# exact arithmetic

number = st.one_of(
    st.floats(-1, 1),
    st.floats(-1e6, 1e6),
    st.sampled_from([0.0, 0.1, 0.2, 0.3, 1 / 3, -0.7, 1e-300, -1e-160, 5e-324, 1e15, -1e15]),
    st.sampled_from([1.0, 2.0**-53, 1 + 2.0**-52]),
)


@st.composite
def near_ties(draw):
    """Rows and points; right-hand sides are A x, or a few units in the last place off, or any."""
    m, d = draw(st.integers(1, 3)), draw(st.integers(1, 5))
    A = np.array(draw(st.lists(st.lists(number, min_size=d, max_size=d), min_size=m, max_size=m)))
    x = np.array(draw(st.lists(number, min_size=d, max_size=d)))
    if draw(st.booleans()) and d > 1:  # a sum that all but cancels
        A[:, -1], x[-1] = -A[:, 0] * x[0], 1.0
    rhs = np.array([float(excess) for excess in exact_excess(A, x, np.zeros(m))])
    for i in range(m):
        how = draw(st.sampled_from(["tie", "tie", "up", "down", "free", "inf"]))
        if how in ("up", "down"):
            for _ in range(draw(st.integers(1, 3))):
                rhs[i] = np.nextafter(rhs[i], INF if how == "up" else -INF)
        elif how == "free":
            rhs[i] = draw(number)
        elif how == "inf":
            rhs[i] = INF
    return A, x, rhs


@settings(deadline=None, max_examples=examples(600))
@given(near_ties(), st.sampled_from([np.array, sp.csr_array, sp.csc_array]))
def test_violated_agrees_with_fractions(case, storage):
    A, x, rhs = case
    assert violated(storage(A), x, rhs).tolist() == exactly_violated(A, x, rhs)


@settings(deadline=None, max_examples=examples(60))
@given(st.integers(0, 2**32 - 1), st.sampled_from([50, 400]))
def test_violated_agrees_with_fractions_on_long_rows(seed, d):
    rng = np.random.default_rng(seed)
    A = rng.choice([-1, 1], (2, d)) * 10.0 ** rng.uniform(-8, 8, (2, d))
    x = rng.normal(size=d)
    rhs = np.array([float(excess) for excess in exact_excess(A, x, np.zeros(2))])
    rhs[1] = np.nextafter(rhs[1], INF)
    assert violated(A, x, rhs).tolist() == exactly_violated(A, x, rhs)
    rhs[1] = np.nextafter(np.nextafter(rhs[1], -INF), -INF)
    assert violated(A, x, rhs).tolist() == exactly_violated(A, x, rhs)
