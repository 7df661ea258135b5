"""Programs whose rows are read block by block give what they give in memory, to the last bit."""

import math
from collections.abc import Sequence
from itertools import pairwise
from unittest import mock

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import privlp
from privlp import ConstraintPrivate, LinearProgram
from privlp.errors import InvalidParameterError, InvalidProblemError
from privlp.privacy.mechanisms.additive import AdditiveNoise
from privlp.rows.blocks import InBlocks
from tests.effort import THOROUGH, each
from tests.programs import methods_for

N, D, OPT = 90, 4, 3.0
COSTS = np.array([1.0, 2.0, 0.5, 1.5])
ADD = ConstraintPrivate("add-remove", nominal_n=70)
STORAGE = {"dense": np.array, "float32": np.float32, "sparse": sp.csr_array}
CUTS = {"one block": [], "three": [17, 60], "many": list(range(7, N, 7)), "an empty one": [0, 40]}
#: Methods for whole private constraints: their sums over rows are exact.
METHODS = ("staged", "dmw", "dmw-published", "perturbed")


def table(n=N, seed=0):
    rng = np.random.default_rng(seed)
    A = -rng.uniform(0.2, 1.0, (n, D)).astype(np.float32).astype(float)
    A[rng.random((n, D)) < 0.3] = 0.0
    return A, -rng.uniform(0.2, 0.5, n)


def split(A, b, cuts):
    ends = [0, *cuts, len(b)]
    places = [slice(*each) for each in pairwise(ends)]
    return [A[rows] for rows in places], [b[rows] for rows in places]


SOFT = np.random.default_rng(1).uniform(0.1, 0.9, N)
MIXED = np.where(np.arange(N) < 30, np.inf, SOFT)


def of_blocks(penalty):
    """An array for each of three blocks."""
    return penalty if np.ndim(penalty) == 0 else np.split(penalty, [17, 60])


def request_of(method):
    request = {"s": 9, "opt": OPT, "method": method, "rng": 0}
    return request | {"dmw-published": {"width": 1.0, "alpha": 20.0}}.get(method, {})


def assert_same(one, other):
    """The same released x, trace and ledger, to the last bit."""
    np.testing.assert_array_equal(one.x, other.x)
    assert one.trace.keys() == other.trace.keys()
    for name, values in one.trace.items():
        np.testing.assert_array_equal(values, other.trace[name])
    assert one.privacy.entries == other.privacy.entries
    assert one.message == other.message


def solved(lp, method, eps=1.0, **request):
    return privlp.solve(lp, eps, 1e-6, **request_of(method) | request)


class Made(Sequence):
    """Blocks that are made when they are asked for."""

    def __init__(self, blocks):
        self.blocks, self.asked = blocks, 0

    def __len__(self):
        return len(self.blocks)

    def __getitem__(self, number):
        if number >= len(self):
            raise IndexError
        self.asked += 1
        return self.blocks[number]


class TestTheSameAsInMemory:
    @pytest.mark.parametrize(("method", "storage", "cuts"), each(METHODS, STORAGE, CUTS))
    def test_blocks_of_any_size(self, method, storage, cuts):
        A, b = table()
        A = STORAGE[storage](A)
        whole = solved(LinearProgram(COSTS, A, b), method)
        assert_same(whole, solved(LinearProgram(COSTS, *split(A, b, CUTS[cuts])), method))

    @pytest.mark.parametrize(
        ("limit", "fields", "method"),
        each([0, 2000, math.inf], [{}, {"neighbours": ADD}], methods_for(ConstraintPrivate())),
    )
    def test_every_method_whatever_is_held(self, method, fields, limit):
        A, b = table()
        blocks = split(A, b, [17, 60])
        whole = solved(LinearProgram(COSTS, A, b, **fields), method)
        lp = LinearProgram(COSTS, Made(blocks[0]), blocks[1], **fields)
        with mock.patch("privlp.rows.blocks.MEMORY", limit):
            assert_same(whole, solved(lp, method))

    @pytest.mark.parametrize(
        "method", [pytest.param(m, marks=[pytest.mark.slow] * (m == "staged")) for m in METHODS]
    )
    def test_to_the_last_bit(self, method):
        """Without noise, whose rounding would hide small differences."""
        A, b = table()
        names = CUTS if THOROUGH else ("one block", "many")
        programs = (LinearProgram(COSTS, *split(A, b, CUTS[cuts])) for cuts in names)
        one, *others = (solved(lp, method, math.inf, alpha=20.0).x for lp in programs)
        for other in others:
            np.testing.assert_array_equal(one, other)

    @pytest.mark.parametrize("limit", [0, 2000, math.inf])
    def test_a_search_that_begins_with_a_share_of_the_rows(self, limit, monkeypatch):
        """Of a table as small as this one the search reads all rows from the start."""
        monkeypatch.setattr("privlp.methods.perturbed.draws._FEWEST_ROWS", 20)
        monkeypatch.setattr("privlp.methods.perturbed.draws._ROWS", 1)
        A, b = table()
        whole = solved(LinearProgram(COSTS, A, b), "perturbed")
        blocks = split(A, b, [17, 60])
        with mock.patch("privlp.rows.blocks.MEMORY", limit):
            lp = LinearProgram(COSTS, Made(blocks[0]), blocks[1])
            assert_same(whole, solved(lp, "perturbed"))

    @pytest.mark.parametrize("penalty", [0.5, SOFT, MIXED], ids=["one", "each", "hard too"])
    def test_soft_rows(self, penalty, monkeypatch):
        """So are the values behind the draws, whose noise would hide small differences."""
        values, release = [], AdditiveNoise.release

        def seen(mechanism, value, randomness):
            values.append(np.copy(value))
            return release(mechanism, value, randomness)

        monkeypatch.setattr(AdditiveNoise, "release", seen)
        A, b = table()
        request = {"bounds": (0, 9), "penalty": penalty}
        rows = {"s": 9} if penalty is MIXED else {}
        whole, blocks, apart = (
            privlp.solve(LinearProgram(COSTS, *rows, **own), 1.0, 1e-6, rng=0, **more)
            for rows, own, more in (
                ((A, b), request, rows),
                (split(A, b, [17, 60]), request, rows),
                (split(A, b, [17, 60]), request | {"penalty": of_blocks(penalty)}, rows),
            )
        )
        assert whole.method == "perturbed"
        assert_same(whole, blocks)
        assert_same(blocks, apart)
        count = len(values) // 3
        assert count > 2
        for one, *others in zip(values[:count], values[count:-count], values[-count:], strict=True):
            for other in others:
                np.testing.assert_array_equal(one, other)

    @pytest.mark.parametrize("bounds", [(0, 9), [(1, 7), (-1, 5), (-3, 0), (2, 2)]])
    def test_bounds(self, bounds):
        A, b = table()
        both = ((A, b), split(A, b, [17, 60]))
        programs = (LinearProgram(COSTS, *rows, bounds=bounds) for rows in both)
        whole, blocks = (privlp.solve(lp, 1.0, 1e-6, 9, rng=0) for lp in programs)
        assert whole.method == blocks.method
        np.testing.assert_allclose(whole.x, blocks.x, rtol=1e-7)

    def test_data_frames(self):
        A, b = table()
        frames = [pd.DataFrame(block) for block in split(A, b, [17, 60])[0]]
        whole = solved(LinearProgram(COSTS, A, b), "dmw")
        assert_same(whole, solved(LinearProgram(COSTS, frames, b), "dmw"))

    @pytest.mark.parametrize(("method", "kind"), each(METHODS, [np.float32, np.float64]))
    def test_a_memory_map_is_read_in_blocks(self, method, kind, tmp_path, monkeypatch):
        monkeypatch.setattr("privlp.rows.blocks._ENTRIES", 23 * D)
        A, b = table()
        np.save(tmp_path / "A.npy", A.astype(kind))
        mapped = np.load(tmp_path / "A.npy", mmap_mode="r")
        lp = LinearProgram(COSTS, mapped, b)
        assert isinstance(lp.rows(), InBlocks)
        assert len(lp.rows()) == 4
        assert_same(solved(LinearProgram(COSTS, A, b), method), solved(lp, method))

    def test_memory_maps_as_blocks_are_not_held(self, tmp_path):
        A, b = table()
        files = [tmp_path / f"{i}.npy" for i in range(3)]
        for file, block in zip(files, split(A, b, [17, 60])[0], strict=True):
            np.save(file, block)
        lp = LinearProgram(COSTS, [np.load(file, mmap_mode="r") for file in files], b)
        assert lp.A.memory_limit is None
        assert_same(solved(LinearProgram(COSTS, A, b), "dmw"), solved(lp, "dmw"))

    def test_a_memory_map_with_names_prices_and_public_rows(self, tmp_path, monkeypatch):
        monkeypatch.setattr("privlp.rows.blocks._ENTRIES", 23 * D)
        A, b = table()
        np.save(tmp_path / "A.npy", A)
        fields = {"private": np.arange(N) > 3, "bounds": (0, 9), "groups": np.arange(N) // 2}
        both = A, np.load(tmp_path / "A.npy", mmap_mode="r")
        whole, mapped = (LinearProgram(COSTS, rows, b, **fields) for rows in both)
        one, other = (privlp.solve(lp, 1.0, 1e-6, 9, rng=0) for lp in (whole, mapped))
        np.testing.assert_allclose(one.x, other.x, rtol=1e-7)


class TestWhatIsPublic:
    @pytest.mark.parametrize(
        "fields", [{}, {"neighbours": ADD}, {"neighbours": ConstraintPrivate(rows_per_record=3)}]
    )
    @pytest.mark.parametrize(("penalty", "storage"), each([None, 0.5, SOFT, MIXED], STORAGE))
    def test_it_is_that_of_the_program_in_memory(self, storage, penalty, fields):
        A, b = table()
        A = STORAGE[storage](A)
        whole = LinearProgram(COSTS, A, b, penalty=penalty, **fields)
        blocks = LinearProgram(COSTS, *split(A, b, [17]), penalty=penalty, **fields)
        assert whole.public() == blocks.public()

    def test_no_row_is_read_for_it(self):
        blocks, b = split(*table(), [17, 60])
        lp = LinearProgram(COSTS, Made(blocks), b)
        before = lp.A._A.asked
        privlp.plan(lp, 1.0, 1e-6, 9, opt=OPT)
        assert lp.A._A.asked == before

    def test_one_read_a_round(self):
        """Of the default descent: each block is asked for once in a round, and a few times more."""
        blocks, b = split(*table(), [17, 60])
        lp = LinearProgram(COSTS, Made(blocks), b)
        before = lp.A._A.asked
        with mock.patch("privlp.rows.blocks.MEMORY", 0):
            solution = solved(lp, "staged")
        assert lp.A._A.asked - before <= 4 * (solution.iterations + 1)

    @pytest.mark.parametrize("relation", [ConstraintPrivate(), ADD])
    def test_a_repr_tells_no_number_of_blocks(self, relation):
        lp = LinearProgram(COSTS, *split(*table(), [17, 60]), neighbours=relation)
        assert "dense, in blocks" in repr(lp)
        assert ("90 rows (90 private)" in repr(lp)) == (relation is not ADD)
        assert repr(lp.A) == "<rows in blocks, dense>"
        assert repr(lp.b) == "<right-hand sides in blocks>"


class TestWhatReadsAllRows:
    def lps(self, **fields):
        A, b = table()
        blocks = split(A, b, [17, 60])
        return LinearProgram(COSTS, A, b, **fields), LinearProgram(COSTS, *blocks, **fields)

    def test_exact_solution_and_comparison(self):
        whole, blocks = self.lps()
        exact = privlp.solve_exact(blocks)
        np.testing.assert_array_equal(exact.x, privlp.solve_exact(whole).x)
        one, other = (privlp.compare(lp, COSTS / 9, exact) for lp in (whole, blocks))
        np.testing.assert_allclose(one.violations, other.violations, rtol=1e-12)
        np.testing.assert_allclose(one.scaled_violations, other.scaled_violations, rtol=1e-12)
        np.testing.assert_allclose(blocks.A @ COSTS - blocks.b, whole.A @ COSTS - whole.b)

    def test_report_audit_and_file(self, tmp_path):
        whole, blocks = self.lps()
        one, other = (
            privlp.quality(lp, COSTS / 9, math.inf, alpha=0.1).n_violated for lp in (whole, blocks)
        )
        assert one == other > 0
        assert privlp.audit_solve(blocks, 1.0, 1e-9, 9, opt=OPT, pairs=2, runs=0, rng=0).passed
        blocks.to_mps(tmp_path / "a.mps")
        whole.to_mps(tmp_path / "b.mps")
        assert (tmp_path / "a.mps").read_text() == (tmp_path / "b.mps").read_text()

    def test_a_program_that_is_changed(self):
        _, blocks = self.lps(penalty=0.5)
        other = blocks.changed(c=COSTS * 2)
        assert other.A is blocks.A
        assert other.penalty[0] == 0.5
        with pytest.raises(InvalidProblemError, match="come with their own right-hand sides"):
            blocks.changed(b=np.zeros(N))


A, B = table()
BLOCKS, SIDES = split(A, B, [17, 60])


def with_entry(value):
    wrong = [block.copy() for block in BLOCKS]
    wrong[1][3, 2] = value
    return wrong


THIN = [BLOCKS[0], BLOCKS[1][:, :3], BLOCKS[2]]
OF_TWO_KINDS = [BLOCKS[0], sp.csr_array(BLOCKS[1]), BLOCKS[2]]
HUGE = [SIDES[0], SIDES[1] + np.inf, SIDES[2]]
COLUMNS = r"A\[1\], a block of rows has 3 columns, but the first block has 4"


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ((with_entry(np.nan), SIDES), r"A\[1\], a block .*contains NaN"),
        ((with_entry(1e15), SIDES), r"A\[1\], .*not below 1e\+15"),
        ((THIN, SIDES), COLUMNS),
        ((OF_TWO_KINDS, SIDES), "Some blocks of A are sparse and others are dense"),
        ((BLOCKS, SIDES[:2]), "b has 2 blocks, but A has 3"),
        ((BLOCKS, B[:-1]), "one right-hand side per row of A. Give one"),
        ((BLOCKS, SIDES[::-1]), r"A\[0\], .*b does not have the shape"),
        ((BLOCKS, HUGE), r"A\[1\], .*An entry of b is NaN, infinite"),
        (([BLOCKS[0][:0]], [[]]), r"The problem is empty"),
    ],
)
def test_rows_that_are_refused(rows, message):
    with pytest.raises(InvalidProblemError, match=message):
        LinearProgram(COSTS, *rows)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"private": [1]}, "All rows in blocks are private"),
        ({"groups": np.arange(N)}, "rows_per_record=k"),
        ({"row_names": ["a"]}, "have no names"),
        ({"row_lower": -np.ones(N)}, "-A x <= -row_lower"),
        ({"penalty": np.ones(N - 1)}, "must be one number where rows are in blocks, or one for"),
        ({"penalty": [np.ones(17), np.ones(60)]}, "with an array for each block"),
        ({"penalty": -np.ones(N)}, "must be a positive number"),
        ({"penalty": {"a": 1.0}}, "must be one number"),
        ({"penalty": -1.0}, "must be a positive number"),
        ({"neighbours": privlp.ScalarPrivate(0.1)}, "all rows must be in memory"),
        (
            {"neighbours": ConstraintPrivate("add-remove", nominal_n=8)},
            "more than ten times nomina",
        ),
    ],
)
def test_what_is_refused(fields, message):
    with pytest.raises((InvalidParameterError, InvalidProblemError), match=message):
        LinearProgram(COSTS, BLOCKS, SIDES, **fields)


def test_messages_tell_no_block_where_the_number_of_rows_is_private():
    with pytest.raises(InvalidProblemError, match=r"^A block of rows: A contains NaN") as caught:
        LinearProgram(COSTS, with_entry(np.nan), SIDES, neighbours=ADD)
    assert "[1]" not in str(caught.value)


@pytest.mark.parametrize("change", ["rows", "an entry"])
def test_blocks_that_change_are_refused(change):
    blocks = Made([block.copy() for block in BLOCKS])
    lp = LinearProgram(COSTS, blocks, SIDES)
    if change == "rows":
        blocks.blocks[1] = blocks.blocks[1][1:]
    else:
        blocks.blocks[1][0, 0] = np.nan
    with pytest.raises(RuntimeError, match=r"InvalidProblemError.. The message is withheld"):
        solved(lp, "staged")
