"""Noise by shadow prices, and how far kinds of records move right-hand sides."""

import numpy as np
import pytest
import scipy.sparse as sp

import privlp
from benchmarks.never_violated import ways
from privlp import LinearProgram, ScalarPrivate, audit_solve
from privlp.errors import PrivLPError
from privlp.methods import SolveRequest
from privlp.methods.tightened.ranges import WorstCase
from privlp.methods.tightened.weighted import Weighted, WeightedNoise, scales_by, weights_pay
from privlp.problem.standard_form import StandardForm
from tests.programs import WAYS, way_of

M = 30
EACH = ScalarPrivate(0.1, lower=20, upper=90)
#: Trips of one person: on two days that follow each other.
PAIRS = np.eye(M) + np.eye(M, k=1)
KINDS = ScalarPrivate(2.0, "1", moves=PAIRS, lower=20, upper=90)
#: Records of five kinds, each of which moves all sides a little.
_ALL = np.random.default_rng(1).uniform(0, 0.01, (M, 5))
WIDE = ScalarPrivate(0.3, "1", moves=_ALL, lower=20, upper=90)


def dear_and_cheap(relation=EACH, seed=0, sense="max"):
    """Rows x_i <= b_i, of which two are dear and the others cheap."""
    b = np.random.default_rng(seed).uniform(40, 70, M)
    c, rows, ends = np.full(M, 0.01), np.eye(M), {"b": b}
    c[:2] = 10.0
    if sense == "min":
        relation = ScalarPrivate(0.1, lower=-90, upper=-20)
        c, ends = -c, {"b": np.full(M, np.inf), "row_lower": -b}
        rows = -rows
    return LinearProgram(c, rows, **ends, bounds=(0, 99), sense=sense, neighbours=relation)


def part_of(lp):
    (part,) = lp.neighbours.private_numbers(StandardForm.of(lp))
    return part


def weighted(lp, eps=1.0, delta=1e-6):
    request = SolveRequest.of(lp, eps, delta, feasible="always")
    part = part_of(lp)
    return Weighted.of(request, part, WorstCase.of(request.form, [part]))


def rounded(sensitivity):
    return ScalarPrivate(sensitivity, "1", moves=PAIRS, rounding=0.5, lower=20, upper=90)


@pytest.mark.parametrize(
    ("relation", "scaled"),
    [(one, True) for one in (EACH, KINDS, ScalarPrivate(0.1, "1", lower=20, upper=90))]
    + [(rounded(sensitivity), False) for sensitivity in (2.0, 20.0)],
)
def test_neighbours_are_as_near_as_is_said(relation, scaled):
    """And some are as far apart: else noise would be wider than it has to be."""
    lp, rng, most = dear_and_cheap(relation), np.random.default_rng(0), np.zeros(3)
    scale = 2.0 ** rng.integers(-3, 4, M) if scaled else 1.0
    said = part_of(lp).over(scale) if scaled else part_of(lp)
    bounds = np.array([said.l1, said.l2, said.entry])
    for _ in range(300):
        one, other = lp.neighbours.extreme_pair(StandardForm.of(lp), rng)
        moved = (one.b - other.b) / scale
        norms = np.array([np.abs(moved).sum(), np.linalg.norm(moved), np.abs(moved).max()])
        assert (norms <= bounds).all()
        most = np.maximum(most, norms)
    tight = [0, 1, 2] if scaled else [0, 2]
    assert (most[tight] > 0.99 * bounds[tight]).all()


def test_rounding_of_sides_is_added():
    part, plain = part_of(dear_and_cheap(rounded(2.0))), part_of(dear_and_cheap(KINDS))
    assert part.entry == pytest.approx(1.5)
    assert part.l1 == 2.0  # what is declared of the sum holds with rounding
    own, other = part.over(np.full(M, 2.0)), plain.over(np.full(M, 2.0))
    assert own.l1 - other.l1 == pytest.approx(0.25 * M)
    assert own.l2 - other.l2 == pytest.approx(0.25 * M**0.5)


def test_kinds_of_records_need_less_noise():
    plain = ScalarPrivate(2.0, "1", lower=20, upper=90)
    changes = [(p.l1, p.l2, p.entry) for p in map(part_of, map(dear_and_cheap, (plain, KINDS)))]
    assert changes == [(2.0, 2.0, 2.0), pytest.approx((2.0, 2.0**0.5, 1.0))]
    request = [SolveRequest.of(dear_and_cheap(of), 1.0, 1e-6) for of in (plain, KINDS)]
    widths = [WAYS["truncated-gaussian"].plan(of).charges[0][0].width for of in request]
    assert widths[1] < 0.75 * widths[0]
    assert isinstance(ScalarPrivate(2.0, "1", moves=sp.csr_array(PAIRS)).moves, sp.csr_array)


def test_records_say_that_kinds_are_meant():
    """Neighbours by the sum alone may move farther than is charged."""
    words = (
        "b changes by at most 2 in sum, each by at most 1, as records of 30 kinds (moves) move it"
    )
    assert KINDS.description == f"scalar-private: {words}"
    lp = dear_and_cheap(KINDS)
    assert words in repr(lp)
    assert words in str(privlp.solve(lp, 1.0, 1e-6, rng=0).privacy.statement())
    rounded = ScalarPrivate(2.0, "1", moves=PAIRS, rounding=0.5)
    assert rounded.description.endswith(
        "each by at most 1.5, as records of 30 kinds (moves) move it, and rounding by at most 0.5"
    )
    few = ScalarPrivate(2.0, "1", moves=[[1], [1]], rounding=5.0)
    assert "in sum, each by at most 2, as records of 1 kind (moves)" in few.description


def test_other_kinds_are_another_relation():
    same = [PAIRS, sp.csc_array(PAIRS), sp.coo_array(PAIRS), PAIRS.tolist()]
    for one in (ScalarPrivate(2.0, "1", moves=moves) for moves in same):
        assert one == KINDS
        assert hash(one) == hash(KINDS)
    for moves in (1e-6 * PAIRS, PAIRS.T, PAIRS[:, :-1], None):
        assert ScalarPrivate(2.0, "1", moves=moves) != KINDS
    assert "moves=None" not in repr(KINDS)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, sp.coo_array])
def test_moves_stay_as_they_were_declared(form):
    given = form(PAIRS.copy())
    relation = ScalarPrivate(2.0, "1", moves=given)
    for part in (relation.moves.data, relation.moves.indices, relation.moves.indptr):
        with pytest.raises(ValueError, match="read-only"):
            part[:] = 0
    (given.data if sp.issparse(given) else given)[:] = 1e-9
    assert (relation.moves.toarray() == PAIRS).all()
    assert dear_and_cheap(relation).neighbours == KINDS


def test_both_sides_of_a_row_share_the_sum():
    relation = ScalarPrivate(1.0, "1", moves=[[1.0]], lower=-9, upper=9)
    lp = LinearProgram([1.0], [[1.0]], [4.0], row_lower=[-4.0], neighbours=relation)
    rng = np.random.default_rng(0)
    for _ in range(20):
        one, other = relation.extreme_pair(StandardForm.of(lp), rng)
        moved = abs(one.b - other.b) + abs(one.row_lower - other.row_lower)
        assert 0.99 < moved[0] <= part_of(lp).l1 == 1


def test_moves_of_public_rows_alone_are_refused():
    def program(private, **fields):
        relation = ScalarPrivate(2.0, "1", moves=[[1.0], [0.0]], lower=0, upper=9, **fields)
        rows = {"A": [[1.0, 1.0], [2.0, 1.0]], "b": [3.0, 4.0]}
        return LinearProgram([1.0, 1.0], **rows, private=private, neighbours=relation)

    with pytest.raises(PrivLPError, match="moves is 0 on every row with a private right-hand side"):
        program([False, True])
    assert part_of(program([True, True])).l1 == pytest.approx(1.0)
    assert part_of(program([False, True], rounding=0.5)).l1 == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"moves": -PAIRS}, "finite numbers from 0"),
        ({"moves": 0 * PAIRS}, "not all of them 0"),
        ({"moves": np.full((M, M), np.nan)}, "moves"),
        ({"moves": 2 * PAIRS}, "must not exceed the sensitivity in sum"),
        ({"moves": PAIRS, "norm": "inf"}, "norm='1'"),
        ({"moves": PAIRS[1:]}, "one row for each of 30 rows"),
        ({"moves": np.full((M, M), np.inf)}, "finite numbers from 0"),
        ({"moves": sp.csr_array(-PAIRS)}, "finite numbers from 0"),
        ({"moves": sp.csr_array(PAIRS * 1j)}, "real numbers"),
        ({"moves": np.ones((M, 0))}, "not all of them 0"),
        ({"moves": np.ones((M, 1, 1))}, r"a matrix \(n, k\); got shape \(30, 1, 1\)"),
        ({"moves": sp.coo_array(np.ones((M, 1, 1)))}, r"a matrix \(n, k\)"),
        ({"moves": np.ones(M)}, r"a matrix \(n, k\); got shape \(30,\)"),
        ({"moves": PAIRS, "rounding": -1.0}, "rounding must be 0 or more"),
        ({"moves": PAIRS, "rounding": np.nan}, "rounding must"),
        ({"rounding": 0.5}, "rounding is for use with moves"),
        ({"rounding": 0.5, "norm": "inf"}, "rounding is for use with moves"),
    ],
)
def test_bad_moves(fields, message):
    with pytest.raises(PrivLPError, match=message):
        dear_and_cheap(ScalarPrivate(2.0, **{"norm": "1", "lower": 20, "upper": 90, **fields}))


@pytest.mark.parametrize("sense", ["max", "min"])
@pytest.mark.parametrize("relation", [EACH, WIDE], ids=["each", "kinds"])
def test_no_row_fails_and_less_is_lost(relation, sense):
    lp = dear_and_cheap(relation, sense=sense)
    best = privlp.solve_exact(lp).objective
    sides = "b" if sense == "max" else "row_lower"
    lost = {}
    for name in ("by-prices", "truncated-gaussian"):
        found = [privlp.solve(lp, 1.0, 1e-6, method=WAYS[name], rng=k) for k in range(5)]
        for solution in found:
            away = getattr(lp, sides) - solution.trace["tightened b"]
            assert (lp.sign * away <= 0).all() if sense == "max" else (away <= 0).all()
            assert solution.privacy.eps <= 1
            assert solution.privacy.delta <= 1e-6
        lost[name] = np.mean([abs(of.objective - best) for of in found])
    assert lost["by-prices"] < 0.6 * lost["truncated-gaussian"]
    assert way_of(privlp.solve(lp, 1.0, 1e-6, feasible="always", rng=0)) == "by-prices"


def test_scales_are_public_powers_of_two():
    first, other = (weighted(dear_and_cheap(seed=seed)) for seed in (0, 1))
    assert (first.scale == other.scale).all()
    assert first.noise == other.noise
    assert (np.frexp(first.scale)[0] == 0.5).all()
    assert first.scale[:2].max() < first.scale[2:].min()


def test_without_prices_all_scales_are_one():
    part = part_of(dear_and_cheap())
    assert (scales_by(part, np.zeros(M)) == 1).all()
    assert (scales_by(part, np.ones(M)) == 1).all()


@pytest.mark.parametrize("relation", [EACH, WIDE])
def test_scales_are_near_the_best(relation):
    """Noise weighted by prices: others in the neighbourhood do no better, but for rounding."""
    part, rng = part_of(dear_and_cheap(relation)), np.random.default_rng(0)
    prices = rng.exponential(size=M) ** 3
    scale = scales_by(part, prices)
    cost = part.over(scale).l2 * (prices @ scale)
    for spread in (0.5, 1.0, 2.0):
        for _ in range(20):
            near = scale * np.exp(spread * rng.normal(size=M))
            assert cost < 1.15 * part.over(near).l2 * (prices @ near)
    assert cost < 0.9 * part.over(np.ones(M)).l2 * prices.sum()


def test_where_one_number_moves_alike_noise_stays():
    lp = dear_and_cheap(ScalarPrivate(0.1, "1", lower=20, upper=90))
    assert not weights_pay(SolveRequest.of(lp, 1.0, 1e-6, feasible="always"))
    assert "WeightedNoise" not in [type(way).__name__ for way in ways(lp)]


@pytest.mark.parametrize("relation", [EACH, KINDS])
def test_what_is_drawn_moves_by_what_is_charged(relation):
    effort = {"method": WeightedNoise(), "pairs": 6, "runs": 0, "rng": 0}
    result = audit_solve(dear_and_cheap(relation), 1.0, 1e-6, **effort)
    assert result.passed
    assert max(release.ratio for release in result.releases) > 0.9
