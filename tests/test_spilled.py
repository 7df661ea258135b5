"""Prepared rows beyond a memory limit: in a temporary file that nobody else can read, and gone."""

import gc
import os
import signal
import subprocess
import sys
from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp

import privlp
from privlp import LinearProgram
from privlp.errors import InvalidParameterError
from privlp.rows.beyond_memory import SpillFile
from privlp.rows.on_simplex import RowsOfEqualNorm
from tests.test_row_blocks import COSTS, assert_same, solved, table
from tests.test_rows import POINT, SIMPLEX, N, program
from tests.test_rows import table as small
from tests.toy_rows import read_anew

resource = pytest.importorskip("resource", reason="POSIX")
READ = np.arange(12.0).reshape(3, 4)
ARRAYS = {
    "by rows": READ,
    "by columns": np.asfortranarray(READ),
    "in pieces": np.arange(48.0).reshape(6, 8)[::2, ::2],
    "one number": np.broadcast_to(-np.inf, 7),
    "no number": np.empty((0, 3)),
    "bits": np.array([True, False]),
    "texts": np.array(["a", None], dtype=object),
    "a number": np.array(3.5),
}


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "beyond"
    folder.mkdir()
    return folder


@pytest.fixture
def file(tmp_path):
    """Three row groups."""
    A, b = table()
    frame = pytest.importorskip("pandas").DataFrame(A).rename(columns=str).assign(need=b)
    frame.to_parquet(tmp_path / "rows.parquet", row_group_size=31, index=False)
    return tmp_path / "rows.parquet"


def read(file, **options):
    pytest.importorskip("pyarrow", reason="PyArrow is an extra")
    return LinearProgram.from_parquet(file, COSTS, "need", **options)


@pytest.mark.parametrize("name", ARRAYS)
def test_arrays_come_back_as_they_were(name):
    array, file = ARRAYS[name], SpillFile()
    places = [file.write({"it": array, "twice": array}) for _ in range(2)]
    for place in places[::-1]:
        found = file.read(place)
        assert found["it"] is found["twice"]
        assert found["it"].dtype == array.dtype
        np.testing.assert_array_equal(found["it"], array)
    assert found["it"].flags.f_contiguous == (array.flags.f_contiguous or not array.size)


def test_no_number_stays_in_memory():
    file, many = SpillFile(), np.ones((200, 300))
    parts = many, np.asfortranarray(many), many[::2, ::2], many[0, 0] * np.broadcast_to(1.0, 10**6)
    assert len(file.write([*parts[:3], np.broadcast_to(1.0, 10**6)]).frame) < 2_000


def test_public_objects_stay_the_same_ones():
    file = SpillFile(public=[SIMPLEX])
    found = file.read(file.write([SIMPLEX, READ]))
    assert found[0] is SIMPLEX
    np.testing.assert_array_equal(found[1], READ)


def test_what_is_changed_is_changed_in_memory_alone():
    file = SpillFile()
    place = file.write([READ])
    file.read(place)[0][:] = 7.0
    np.testing.assert_array_equal(file.read(place)[0], READ)


def test_a_sparse_matrix_shares_what_it_shared():
    file, A = SpillFile(), sp.csr_array(READ)
    one, other = file.read(file.write([A, A.indices]))
    assert one.indices is other
    np.testing.assert_array_equal(one.toarray(), READ)


@pytest.mark.skipif(sys.platform == "win32", reason="files have names there")
def test_nobody_else_can_read_it(folder):
    file = SpillFile(str(folder))
    file.write([READ])
    found = os.fstat(file._file.fileno())
    assert found.st_mode & 0o777 == 0o600
    assert found.st_nlink == 0
    assert not list(folder.iterdir())


@pytest.mark.skipif(sys.platform == "win32", reason="no such signal")
def test_nothing_is_left_of_a_process_that_is_killed(folder):
    code = (
        "import os, signal, sys, numpy as np; from privlp.rows.beyond_memory import SpillFile;"
        "SpillFile(sys.argv[1]).write([np.ones(9)]); os.kill(os.getpid(), signal.SIGKILL)"
    )
    run = subprocess.run([sys.executable, "-c", code, folder], check=False)
    assert run.returncode == -signal.SIGKILL
    assert not list(folder.iterdir())


def open_files():
    gc.collect()  # a run may hold its rows in a cycle
    return len(os.listdir("/proc/self/fd"))


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("limit", [1, 3_000, np.inf])
def test_each_block_is_read_once_in_a_solve(file, folder, sparse, limit, monkeypatch):
    lp, asked = read(file, sparse=sparse, memory_limit=limit, spill_folder=folder), []
    rows, written, write = lp.A._raw, [], SpillFile.write
    monkeypatch.setattr(lp.A, "_raw", lambda wanted: asked.extend(wanted) or rows(wanted))

    def noted(self, block):
        written.append(block)
        return write(self, block)

    monkeypatch.setattr(SpillFile, "write", noted)
    A, b = table()
    whole = LinearProgram(COSTS, sp.csr_array(A) if sparse else A, b)
    assert_same(solved(whole, "staged"), solved(lp, "staged"))
    assert asked == [0, 1, 2]
    assert (len(written) > 3) == (limit < np.inf)
    assert not list(folder.iterdir())


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="Linux")
def test_files_are_closed_when_rows_are_no_longer_used(file, folder):
    solved(read(file, memory_limit=1, spill_folder=folder), "perturbed")
    before = open_files()
    for method in ("perturbed", "dmw"):
        solved(read(file, memory_limit=1, spill_folder=folder), method)
    assert open_files() <= before


def test_no_more_is_held_than_the_limit():
    rows = read_anew(program(*small()), [5, 17, 36], 900)
    scaled = rows.keep(partial(RowsOfEqualNorm, simplex=SIMPLEX, largest_n=N))
    again = scaled.keep(lambda block: (block,))
    for _ in range(2):
        again.map(lambda block: block[0].weighed(POINT, 1 / 0.7))
    assert 0 < scaled.held_bytes + again.held_bytes <= 900
    assert scaled._written
    assert not again._written  # it adds nothing to what it is made of


def test_what_cannot_be_written_is_prepared_anew():
    rows, made = read_anew(program(*small()), [5, 17], 0), []

    def prepare(block):
        made.append(block.rhs.sum())
        return np.ones(len(block.rhs)), lambda: None

    kept = rows.keep(prepare)
    found = [kept.total(lambda state: state[0].sum()) for _ in range(2)]
    assert found == [N, N]
    assert made[3:] == made[:3]


def test_an_interrupt_leaves_nothing(file, folder, monkeypatch):
    """In the middle of a block; the next solve has the same bits."""
    original, calls = SpillFile.write, []

    def interrupted(self, block):
        calls.append(1)
        if len(calls) == 3:
            self._file.write(b"half of a block")
            raise KeyboardInterrupt
        return original(self, block)

    lp = read(file, memory_limit=1, spill_folder=folder)
    monkeypatch.setattr(SpillFile, "write", interrupted)
    with pytest.raises(KeyboardInterrupt):
        solved(lp, "staged")
    assert not list(folder.iterdir())
    assert_same(solved(LinearProgram(COSTS, *table()), "staged"), solved(lp, "staged"))


def test_a_block_follows_half_a_block():
    file = SpillFile()
    first = file.write([READ])
    file._file.write(b"half of a block")
    second = file.write([READ + 1])
    np.testing.assert_array_equal(file.read(first)[0], READ)
    np.testing.assert_array_equal(file.read(second)[0], READ + 1)


@pytest.mark.parametrize("method", ["staged", "dmw", "perturbed"])
@pytest.mark.parametrize("room", [0, 5_000])
def test_a_full_disk_costs_time_alone(file, method, room):
    """The file may hold so many bytes; the budget is spent once, and the bits are the same."""
    budgets = [privlp.Budget(2.0, 1e-5) for _ in range(2)]
    whole = solved(LinearProgram(COSTS, *table()), method, budget=budgets[0])
    lp, limits = read(file, memory_limit=1), resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, limits[1]))
    try:
        with pytest.warns(RuntimeWarning, match=r"is the disk full\?.*memory_limit") as caught:
            found = solved(lp, method, budget=budgets[1])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    (told,) = (str(each.message) for each in caught if each.category is RuntimeWarning)
    assert not any(character.isdigit() for character in told)
    assert_same(whole, found)
    assert budgets[0].spent() == budgets[1].spent()


@pytest.mark.parametrize("limit", [0, -1, np.nan, "1 GB"])
def test_a_limit_that_is_none(file, limit):
    with pytest.raises(InvalidParameterError, match="memory_limit must be a positive number"):
        read(file, memory_limit=limit)


def test_a_folder_that_is_none(file, tmp_path):
    for folder in (tmp_path / "none", file):
        with pytest.raises(InvalidParameterError, match="spill_folder must be a folder to which"):
            read(file, spill_folder=folder)
    with pytest.raises(InvalidParameterError, match="spill_folder must be the path"):
        read(file, spill_folder=3.5)
