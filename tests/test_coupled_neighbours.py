"""What a method releases moves by no more than it charges, on any two neighbours."""

import warnings
from contextlib import nullcontext
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import privlp
from privlp.audits.tape import Tape, changes, differences
from privlp.game.duals import DenseDual
from privlp.methods.chain import descent
from privlp.methods.chain.descent import Descents
from privlp.methods.published.low_sensitivity import MovingRows
from privlp.methods.staged.search import Stages
from privlp.privacy import LaplaceMechanism
from privlp.problem.standard_form import StandardForm
from privlp.rows.program_rows import MeasuredRows
from tests import programs
from tests.effort import covering as covering_cases
from tests.effort import runs
from tests.programs import ALL, method_of, methods_for
from tests.rounds import weights_of
from tests.toy_method import NoisyWeights
from tests.toy_relation import EuclideanPrivate
from tests.toy_rows import SplitProgram

COSTS = np.array([1.0, 2.0, 0.5])
N = 9


def assert_within_what_is_charged(call, pair, *, quiet=False):
    first = Tape(0, quiet=quiet)
    second = Tape(0, replay=first)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", privlp.MostlyNoiseWarning)  # public, so the same on both
        warnings.simplefilter("ignore", privlp.MissedRowsWarning)  # computed from what is released
        one, two = map(call, pair, (first, second))
    assert differences(first, second) == []
    assert len(first.releases) == sum(entry.draws for entry in one.privacy.entries)
    for release, _, ratio in changes(first, second):
        assert ratio <= 1, release.purpose
    assert one.to_json() == two.to_json()


entries = st.one_of(
    st.floats(-3, 3),
    st.sampled_from([0.0, 0.0, 1.0, -1.0, 1e8, -1e-8, 9e14, -1e14, 1e-300, -1e-300]),
)
sides = st.one_of(st.floats(-3, 3), st.sampled_from([0.0, -1e9, 9e14, -9e14, 1e-12, 1e-300]))
#: A row, its right-hand side, and how far below it its lower side is, if it has one.
rows = st.tuples(
    st.lists(entries, min_size=3, max_size=3), sides, st.sampled_from([None, None, 0.0, 1.0])
)
costs = st.lists(st.sampled_from([1.0, 1.0, 2.0, 0.5, 0.01, 100.0]), min_size=3, max_size=3)

#: How each method is asked, `size` being the largest coordinate of the region, and alpha a multiple
#: of it, so that rounds are few; :class:`NoisyWeights` is one of a user's own.
WHOLE = {
    "dmw": {"alpha": 1.0},
    "dmw-published": {"width": 3.0, "alpha": 20.0},
    "perturbed": {"delta": 1e-6},
    "chain": {"delta": 1e-6},
    "staged": {"delta": 1e-6},
    "staged, range": {"method": "staged", "opt": (0.5, 9.0), "delta": 1e-6},
    "one's own": {"method": NoisyWeights(), "alpha": None},
}


@st.composite
def neighbours(draw, change, *, equality):
    """Two programs that differ in one record of one row or two, whose rows stand anywhere.

    Their last row is a public equality, if that is asked for.
    """
    k, form = draw(st.sampled_from([1, 2])), draw(st.sampled_from(["dense", "sparse", "blocks"]))
    common = draw(st.lists(rows, min_size=N - k, max_size=N - k))
    one, other = (draw(st.lists(rows, min_size=k, max_size=k)) for _ in range(2))
    options = {"rows_per_record": k if change == "replace" else 2 * k}
    options |= {} if change == "replace" else {"nominal_n": 2 * N}
    relation = privlp.ConstraintPrivate(change, **options)
    c, owner = draw(costs), [*range(N - k), *[N] * k]
    records = [[*common, *one], [*common, *other] if change == "replace" else common]
    # A record that is replaced has as many sides as before: which rows have two is public.
    two_sided = [low is not None for _, _, low in records[0]]
    found = []
    for record in records:
        A, b = np.array([row for row, _, _ in record]), np.array([side for _, side, _ in record])
        gaps = [low or 0.0 for _, _, low in record]
        lower, groups = np.where(two_sided[: len(b)], b - gaps, -np.inf), owner[: len(b)]
        fields = {"private": np.arange(len(b) + equality) < len(b), "neighbours": relation}
        if equality:
            A, b, lower = np.vstack([A, [1, 1, -2]]), np.append(b, 1.0), np.append(lower, 1.0)
            fields["bounds"], groups = (0, 10), [*groups, N + 1]
        matrix = sp.csc_array(A) if form == "sparse" else A
        lp = privlp.LinearProgram(c, matrix, b, row_lower=lower, groups=groups, **fields)
        found.append(SplitProgram.like(lp) if form == "blocks" else lp)
    return found


SETTINGS = settings(
    deadline=None,
    max_examples=runs(12, 4),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


@pytest.mark.parametrize("name", WHOLE)
@pytest.mark.parametrize("change", ["replace", "add-remove"])
@SETTINGS
@given(data=st.data(), s=st.sampled_from([1.0, 2.5, 4.0, 8.5]), quiet=st.booleans())
def test_whole_constraints(name, change, data, s, quiet):
    options = {"method": name, "eps": 1.0, "opt": 2.0, "alpha": 1.0, "delta": 1e-9, **WHOLE[name]}
    on_a_polytope = name.startswith(("chain", "perturbed"))
    pair = data.draw(neighbours(change, equality=on_a_polytope))
    size = 10.0 if on_a_polytope else float((2.0 / pair[0].c).max())
    if on_a_polytope:  # where a point within the bounds is
        options["opt"] = pair[0].objective([2.0, 1.0, 1.0])
    if options["alpha"] is not None:
        options["alpha"] *= size + (name == "dmw-published")
    assert_within_what_is_charged(
        lambda lp, tape: privlp.solve(lp, s=s, rng=tape, **options), pair, quiet=quiet
    )


@pytest.mark.parametrize("sign", [-1, 1])
@SETTINGS
@given(pair=neighbours("replace", equality=False), s=st.sampled_from([1.0, 4.0]))
def test_units_of_rows_of_one_sign(sign, pair, s):
    """Also where rows are taken for rows of one sign and are not."""
    asked = Stages._measure_sign

    def wrong(self):
        asked(self)
        self._sign = sign

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Stages, "_measure_sign", wrong)
        assert_within_what_is_charged(
            lambda lp, tape: privlp.solve(lp, 1.0, 1e-6, s, opt=2.0, method="staged", rng=tape),
            pair,
        )


@pytest.mark.parametrize("change", ["replace", "add-remove"])
@pytest.mark.parametrize("cumulative", [False, True], ids=["as it is", "broken"])
def test_counts_by_the_cell_where_a_way_meets_a_row(change, cumulative, monkeypatch):
    """The broken twin counts a row in all later cells too."""
    if cumulative:
        once = MeasuredRows.crossings
        monkeypatch.setattr(MeasuredRows, "crossings", lambda *a: np.cumsum(once(*a)))
    A, b = -np.random.default_rng(0).uniform(0.2, 1, (300, 3)), -np.ones(300)
    relation = privlp.ConstraintPrivate(change, nominal_n=None if change == "replace" else 300)
    of_other = [[-1, -1, -1], *A[1:]] if change == "replace" else A[1:]
    more = {"bounds": (0, 9), "neighbours": relation}
    both = A, np.array(of_other)
    pair = [privlp.LinearProgram(COSTS, rows, b[: len(rows)], **more) for rows in both]
    ask = partial(privlp.solve, eps=20.0, delta=1e-6, s=30, method="chain")
    expected = pytest.raises(AssertionError, match="meets them") if cumulative else nullcontext()
    with expected:
        assert_within_what_is_charged(lambda lp, tape: ask(lp, rng=tape), pair)


@pytest.mark.parametrize("longer", [False, True], ids=["as it is", "broken"])
def test_pulls_to_the_centre_of_rows(longer, monkeypatch):
    """The broken twin takes it that pulls of rows of one sign have no negative inner product."""
    if longer:
        plain = Descents.distances

        def stretched(self, region, x):
            with pytest.MonkeyPatch.context() as patch:
                sum_of = descent.value_of_sum
                patch.setattr(descent, "value_of_sum", lambda *a, **k: 1.4142 * sum_of(*a, **k))
                return plain(self, region, x)

        monkeypatch.setattr(Descents, "distances", stretched)
    A = -np.random.default_rng(0).uniform(0.2, 1, (300, 3))
    sides = (np.append(b, -np.ones(299)) for b in (-1e3, 1e3))
    pair = [privlp.LinearProgram(COSTS, A, b, bounds=(-9, 9)) for b in sides]
    ask = partial(privlp.solve, eps=20.0, delta=1e-6, s=30, method="chain")
    with pytest.raises(AssertionError, match="slopes") if longer else nullcontext():
        assert_within_what_is_charged(lambda lp, tape: ask(lp, rng=tape), pair)


@pytest.mark.parametrize("longer", [False, True], ids=["as it is", "broken"])
def test_the_direction_away_from_all_rows(longer, monkeypatch):
    """The broken twin takes it that these slopes have no negative inner product, with any signs."""
    plain, reached = Descents.away, []

    def away(self, region, x):
        reached.append(x)
        with pytest.MonkeyPatch.context() as patch:
            if longer:
                patch.setattr(self, "longer", 1.4142)
            return plain(self, region, x)

    monkeypatch.setattr(Descents, "away", away)
    work = np.random.default_rng(0).uniform(0.2, 1, (299, 3))
    rows = (np.vstack([[of] * 3, work]) for of in (1.0, -1.0))
    fields = {"bounds": [(0, 50)] * 3 + [(0, 1e4)], "private": np.arange(301) < 300}
    least, sides = [[-1.0, -1.0, -1.0, 0.0]], np.append(np.zeros(300), -1.0)
    pair = [
        privlp.LinearProgram(
            [0, 0, 0, 1], np.vstack([np.column_stack([A, -np.ones(300)]), least]), sides, **fields
        )
        for A in rows
    ]
    ask = partial(privlp.solve, eps=20.0, delta=1e-6, s=30, method="chain")
    with pytest.raises(AssertionError, match="slopes") if longer else nullcontext():
        assert_within_what_is_charged(lambda lp, tape: ask(lp, rng=tape), pair)
    assert reached


LITTLE = {
    "b": privlp.ScalarPrivate(0.3, lower=-3, upper=-0.5),
    "b, one's own": EuclideanPrivate(0.3, lower=-3, upper=-0.5),
    "row": privlp.RowPrivate(0.1, lower=-1.2, upper=-0.1),
    "column": privlp.ColumnPrivate(0.1, lower=-1.2, upper=-0.1),
    "costs": privlp.ObjectivePrivate(0.3, lower=0, upper=4),
}
LITTLE["b and column"] = (replace(LITTLE["b"], norm="1"), LITTLE["column"])


def numbers_of(relation):
    needs = np.random.default_rng(0).uniform(0.2, 1.0, (N, 3))
    fields = {"neighbours": LITTLE[relation], "bounds": (0, 20)}
    return privlp.LinearProgram(COSTS, -needs, -np.ones(N), **fields)


@pytest.mark.parametrize(
    ("relation", "method", "quiet"),
    covering_cases(
        (name, method, quiet)
        for name in LITTLE
        for method in methods_for(numbers_of(name).neighbours)
        for quiet in (False, True)
    ),
)
def test_numbers_that_move_a_little(relation, method, quiet):
    lp, options = numbers_of(relation), {"method": method_of(method)}
    if method == "mw":
        lp, options = lp.changed(bounds=(0, None)), {"method": "mw", "opt": 6.0, "alpha": 1.0}
    pair = lp.neighbours.extreme_pair(StandardForm.of(lp), np.random.default_rng(1))
    assert_within_what_is_charged(
        lambda lp, tape: privlp.solve(lp, 1.0, 1e-3, rng=tape, **options), pair, quiet=quiet
    )


def test_a_row_that_was_not_released_is_seen(monkeypatch):
    """The twin makes its next point of the true row that was selected."""
    relation = privlp.ColumnPrivate(0.5, lower=-20, upper=20)
    A, b = np.tile([0.4, 1.0], (12, 1)), np.append(-30.0, np.full(11, 30.0))
    both = A, np.add(A, [0.5, 0])
    pair = [privlp.LinearProgram([1, 2], rows, b, neighbours=relation) for rows in both]
    ask = partial(privlp.solve, eps=3.0, delta=0.0, opt=6.0, alpha=80.0, method="mw")
    assert_within_what_is_charged(lambda lp, tape: ask(lp, rng=tape), pair)
    nothing = lambda self, row: np.zeros(2, dtype=bool)  # noqa: E731
    monkeypatch.setattr(MovingRows, "private_coefficients", nothing)
    with pytest.raises(AssertionError):
        assert_within_what_is_charged(lambda lp, tape: ask(lp, rng=tape), pair)


@pytest.mark.parametrize("read_off", [False, True])
def test_a_range_that_is_read_off_the_numbers_is_seen(read_off):
    """Releases are clipped to the lower end."""
    ranges = {b: privlp.ScalarPrivate(0.5, lower=b - 0.5 if read_off else 3.5) for b in (4, 4.5)}
    pair = [privlp.LinearProgram([-1], [[1]], [b], neighbours=of) for b, of in ranges.items()]
    ask = partial(privlp.solve, eps=2.0, delta=0.02, method=method_of("truncated-laplace"))
    with pytest.raises(AssertionError) if read_off else nullcontext():
        assert_within_what_is_charged(lambda lp, tape: ask(lp, rng=tape), pair, quiet=False)


@pytest.mark.parametrize("again", [False, True], ids=["as it is", "broken"])
def test_each_part_has_noise_of_its_own(again, monkeypatch):
    """The broken twin draws all parts of a run from the same stretch of random bits."""
    if again:
        original = LaplaceMechanism.release

        def release(self, value, randomness):
            bits = randomness.generator.bit_generator
            start = bits.state
            output = original(self, value, randomness)
            bits.state = start
            return output

        monkeypatch.setattr(LaplaceMechanism, "release", release)
    tape = Tape(0)
    privlp.solve(numbers_of("b and column"), 1.0, 0.0, method="direct-noise", rng=tape)
    noises = [(r.released - r.exact).ravel()[0] / r.mechanism.scale for r in tape.releases]
    assert len(noises) == 2
    assert (abs(noises[0] - noises[1]) < 1e-6) == again


def test_every_method_is_here():
    little = {method for name in LITTLE for method in methods_for(numbers_of(name).neighbours)}
    assert set(ALL) <= set(WHOLE) | little


@pytest.mark.parametrize("renormalised", [False, True], ids=["as it is", "broken"])
def test_few_rows_hold_no_more_mass_than_their_share(renormalised, monkeypatch):
    """Three rows and s = 15: one of them holds 1/15 of the mass, not a third."""
    relation = privlp.ConstraintPrivate("add-remove", nominal_n=20)
    A = np.ones((3, 6))
    A[0, 0] = -1.0
    both = ((rows, np.zeros(len(rows))) for rows in (A, A[1:]))
    pair = [privlp.LinearProgram(np.ones(6), *rows, neighbours=relation) for rows in both]
    if renormalised:
        scores = DenseDual.scores
        broken = lambda self: scores(self) / weights_of(self).sum()  # noqa: E731
        monkeypatch.setattr(DenseDual, "scores", broken)
    asked = partial(privlp.solve, eps=1.0, delta=1e-6, s=15, alpha=1.0, opt=1.0, method="dmw")
    with pytest.raises(AssertionError) if renormalised else nullcontext():
        assert_within_what_is_charged(lambda lp, rng: asked(lp, rng=rng), pair)


def test_a_huge_right_hand_side_takes_no_mass_from_other_rows():
    """A tiny row of huge right-hand side among 300 that are all violated."""
    rng = np.random.default_rng(0)
    A, b = -rng.uniform(0.2, 1, (300, 3)), np.full(300, -40.0)
    A[:, 0] -= 2
    other, side = A.copy(), b.copy()
    other[0], side[0] = [-1e-9, 0, 0], -1e9
    pair = [privlp.LinearProgram(COSTS, *rows) for rows in ((A, b), (other, side))]
    for method in ("dmw", "staged"):
        ask = partial(privlp.solve, eps=1.0, delta=1e-6, s=30, opt=3.0, method=method)
        assert_within_what_is_charged(lambda lp, tape, ask=ask: ask(lp, rng=tape), pair)


def test_soft_rows():
    rng = np.random.default_rng(0)
    A, b, price = rng.normal(size=(20, 3)), np.full(20, -9.0), rng.uniform(0.1, 1, 20)
    price[0] = 1.0
    for row in ([1e6, 0, 0], [0, 0, 0], [-0.5, 3, 1]):
        other = np.vstack([[row], A[1:]])
        pair = [privlp.LinearProgram(COSTS, rows, b, penalty=price) for rows in (A, other)]
        ask = partial(privlp.solve, eps=1.0, delta=1e-6, opt=2.0, method="perturbed")
        assert_within_what_is_charged(lambda lp, tape, ask=ask: ask(lp, rng=tape), pair)


def test_staged_descents_charge_for_two_rows_of_a_record():
    """Rows of one sign are longer, and have the same sensitivity."""
    relation = privlp.ConstraintPrivate(rows_per_record=2)
    lp = programs.covering(300, costs=COSTS, neighbours=relation)
    privacy = privlp.solve(lp, 1.0, 1e-6, 30, opt=3.0, method="staged", rng=0).privacy
    found = {entry.purpose: entry.sensitivity for entry in privacy.entries}
    for purpose in ("sum the signs of rows", "release the sum of violated rows each round"):
        assert found[purpose] == pytest.approx(4.0, rel=1e-6)
    assert found["count violated rows"] == 2.0
