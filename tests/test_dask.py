"""Rows in Dask collections: the bits of rows in memory, on two workers, of which one may die."""

import logging
import math
import os
import signal
from contextlib import nullcontext

import numpy as np
import pandas as pd
import pytest

import privlp
from privlp import ConstraintPrivate, LinearProgram
from privlp.errors import InvalidProblemError
from privlp.methods.staged import charges as staged_charges
from privlp.privacy import Randomness
from privlp.rows.beyond_memory import OnCluster
from privlp.rows.blocks import InBlocks
from tests.effort import THOROUGH
from tests.test_row_blocks import COSTS, METHODS, OPT, N, assert_same, solved, table
from tests.test_rows import DATA, SCALED, of_each_row, quoting, quoting_the_shape

dask = pytest.importorskip("dask", reason="Dask is an extra")
distributed = pytest.importorskip("distributed", reason="Dask is an extra")
da = pytest.importorskip("dask.array", reason="Dask is an extra")
dd = pytest.importorskip("dask.dataframe", reason="Dask is an extra")

ADD = ConstraintPrivate("add-remove", nominal_n=70)


@pytest.fixture(scope="module")
def cluster():
    """Two workers, each a process of its own; a worker that dies is replaced."""
    with (
        dask.config.set({"distributed.admin.tick.limit": "1h"}),
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            dashboard_address=None,
            scheduler_kwargs={"dashboard_address": ":0"},  # any port that is free
            silence_logs=logging.WARNING,
        ) as workers,
        distributed.Client(workers, set_as_default=False) as client,
    ):
        yield client


@pytest.fixture
def on_cluster(cluster):
    with cluster.as_current():
        yield cluster


def arrays(cuts=(37,)):
    A, b = table()
    sizes = tuple(np.diff([0, *cuts, N]).tolist())
    return da.from_array(A, chunks=(sizes, (4,))), da.from_array(b, chunks=(sizes,))


def frames():
    A, b = table()
    return dd.from_pandas(pd.DataFrame(A, columns=list("wxyz")).assign(b=b), npartitions=3)


COLLECTIONS = {
    "arrays": arrays,
    "right-hand sides in memory": lambda: (arrays()[0], table()[1]),
    "frames": lambda: (frames()[list("wxyz")], frames()["b"]),
    "a column by its name": lambda: (frames(), "b"),
    "sizes unknown": lambda: (frames()[list("wxyz")].values, frames()["b"].values),
}


#: Those whose answers from workers are counted, and blocks of unknown sizes; more in a thorough run.
ON_WORKERS = [("arrays", "staged"), ("arrays", "perturbed"), ("sizes unknown", "dmw")]
if THOROUGH:
    ON_WORKERS = [("arrays", method) for method in METHODS]
    ON_WORKERS += [(kind, "dmw") for kind in COLLECTIONS][1:]


class TestTheSameAsInMemory:
    @pytest.mark.parametrize(("kind", "method"), ON_WORKERS)
    def test_on_two_workers(self, on_cluster, kind, method, monkeypatch):
        """What travels back does not grow with the rows."""
        found, gather = [0], OnCluster._gather

        def measured(self, futures):
            results = gather(self, futures)
            found.extend(map(sizes_of, results))
            return results

        monkeypatch.setattr(OnCluster, "_gather", measured)
        lp = LinearProgram(COSTS, *COLLECTIONS[kind]())
        assert isinstance(lp.rows(), OnCluster)
        assert lp.shape == (N, 4)
        assert_same(solved(LinearProgram(COSTS, *table()), method), solved(lp, method))
        most = {"staged": 4, "perturbed": 32}.get(method)
        assert most is None or 1 < max(found) <= most < N // 2

    @pytest.mark.parametrize("kind", COLLECTIONS)
    def test_without_a_cluster(self, kind):
        lp = LinearProgram(COSTS, *COLLECTIONS[kind]())
        assert isinstance(lp.rows(), InBlocks)
        assert kind != "frames" or lp.variable_names == tuple("wxyz")
        with dask.config.set(scheduler="synchronous"):
            assert_same(solved(LinearProgram(COSTS, *table()), "dmw"), solved(lp, "dmw"))

    def test_soft_and_hard_rows_on_two_workers(self, on_cluster):
        """Each block gets the prices of its own rows."""
        prices = np.where(np.arange(N) % 3, np.linspace(0.1, 0.9, N), np.inf)
        request = {"bounds": (0, 9), "penalty": prices}
        whole, lp = (LinearProgram(COSTS, *rows, **request) for rows in (table(), arrays()))
        found = [privlp.solve(each, 1.0, 1e-6, 9, rng=0) for each in (whole, lp)]
        assert_same(*found)

    @pytest.mark.parametrize("name", SCALED)
    def test_numbers_of_a_row(self, on_cluster, name):
        whole, lp = LinearProgram(COSTS, *table()), LinearProgram(COSTS, *arrays())
        np.testing.assert_array_equal(of_each_row(lp.rows(), name), of_each_row(whole.rows(), name))

    @pytest.mark.parametrize(
        "places", [pytest.param("on workers", marks=pytest.mark.slow), "without a cluster"]
    )
    def test_stages_that_read_a_share_of_the_rows(self, cluster, places, monkeypatch):
        monkeypatch.setattr(staged_charges, "_ROWS_READ", 0.5)
        with cluster.as_current() if places == "on workers" else nullcontext():
            lp = LinearProgram(COSTS, *arrays([3, 50]))
            whole = LinearProgram(COSTS, *table())
            assert_same(solved(whole, "staged"), solved(lp, "staged"))

    def test_exact_solution_and_private_report(self, on_cluster):
        whole, lp = LinearProgram(COSTS, *table()), LinearProgram(COSTS, *arrays())
        np.testing.assert_array_equal(privlp.solve_exact(lp).x, privlp.solve_exact(whole).x)
        one, other = (privlp.quality(of, COSTS / 9, 1.0, alpha=0.1, rng=0) for of in (whole, lp))
        assert one.n_violated == other.n_violated

    def test_numbers_of_rows_that_are_private(self, on_cluster):
        whole, lp = (LinearProgram(COSTS, *of, neighbours=ADD) for of in (table(), arrays([3, 50])))
        assert_same(solved(whole, "dmw"), solved(lp, "dmw"))


def sizes_of(result):
    """How many numbers a result of a block has."""
    if isinstance(result, tuple | list):
        return sum(map(sizes_of, result))
    assert result is None or isinstance(result, np.ndarray | np.generic | float | int)
    return 0 if result is None else np.size(result)


@pytest.mark.parametrize("method", [pytest.param("staged", marks=pytest.mark.slow), "perturbed"])
def test_a_worker_that_dies(on_cluster, monkeypatch, method):
    """The lost blocks are made anew, with what updates made of them. No draw is made again."""
    request = {"s": 9, "opt": OPT, "method": method, "alpha": 0.3, "rng": 0}
    draws, draw, dying = [], Randomness.draw, None

    def counted(self, *arguments):
        draws.append(dying)
        if dying is not None and draws.count(dying) == 5:
            os.kill(dying, signal.SIGKILL)
        return draw(self, *arguments)

    monkeypatch.setattr(Randomness, "draw", counted)
    budgets = privlp.Budget(1.0, 1e-6), privlp.Budget(1.0, 1e-6)
    whole = privlp.solve(LinearProgram(COSTS, *table()), 1.0, 1e-6, budget=budgets[0], **request)
    lp = LinearProgram(COSTS, *arrays([17, 40, 60]))
    weights = lp.rows().keep(lambda block: block.rhs.copy())
    weights.update(lambda state, value: state.__imul__(value), 3.0)
    weights.update(lambda state, value: state.__iadd__(value), 1.0)
    dying = min(on_cluster.run(os.getpid).values())
    solution = privlp.solve(lp, 1.0, 1e-6, budget=budgets[1], **request)
    assert_same(whole, solution)
    assert draws.count(dying) == draws.count(None) > 5
    assert budgets[0].record().entries == budgets[1].record().entries
    on_cluster.wait_for_workers(2)
    assert dying not in on_cluster.run(os.getpid).values()
    found = np.concatenate(weights.map(lambda state: state))
    np.testing.assert_array_equal(found, table()[1] * 3.0 + 1.0)


@pytest.mark.parametrize(
    ("kernel", "kind", "message"),
    [(quoting, RuntimeError, "(ValueError)"), (quoting_the_shape, MemoryError, "Too little")],
    ids=["any error", "memory"],
)
def test_errors_carry_no_data(on_cluster, kernel, kind, message):
    rows = LinearProgram(COSTS, *arrays()).rows()
    for call in (
        lambda: rows.keep(kernel).map(id),
        lambda: rows.map(kernel),
        lambda: rows.update(kernel),
        lambda: rows.keep(kernel).keep(id).update(id),
    ):
        with pytest.raises(kind) as caught:
            call()
        assert message in str(caught.value)
        assert not any(character.isdigit() for character in str(caught.value))
        assert caught.value.__cause__ is None
        assert caught.value.__context__ is None


def _quoting_sides(sides):
    raise ValueError(f"a row holds {DATA}")


def test_workers_log_no_data(on_cluster):
    rows = LinearProgram(COSTS, *arrays()).rows()
    with pytest.raises(RuntimeError, match="withheld"):
        rows.map(quoting)
    assert DATA not in str(on_cluster.get_worker_logs())
    failing = on_cluster.submit(_quoting_sides, np.ones(3), pure=False)  # around the door
    assert DATA in str(failing.exception())
    assert DATA in str(on_cluster.get_worker_logs())


def test_overflow_on_a_worker_is_not_logged(on_cluster):
    rows = LinearProgram(COSTS, *arrays()).rows()
    assert math.isinf(rows.total(lambda block: np.exp(1e4 - block.rhs).sum()))


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (lambda A, b: (A.rechunk({1: 2}), b), r"Give A.rechunk\(\{1: -1\}\)"),
        (lambda A, b: (A, b.rechunk(30)), r"Give b.rechunk\(\(A.chunks\[0\],\)\)"),
        (lambda A, b: (A, table()[1][1:]), "does not have one right-hand side per row of A"),
        (lambda A, b: (frames()[["w"]], np.ones(N)), "does not have one right-hand side per row"),
        (lambda A, b: (A, frames()["b"].repartition(npartitions=1)), "b has 1 blocks, but A has 2"),
        (lambda A, b: (da.log(A * (A > -0.9)), b), "Block 0 of A: A contains"),
        (lambda A, b: (A[:, 0], b), "must be a matrix"),
        (lambda A, b: (A, b / 0), r"Block 0 of A: An entry of b is NaN, infinite"),
        (lambda A, b: (A + 0j, b), "Block 0 of A: A must hold real numbers, got dtype complex128"),
        (lambda A, b: (A, b.astype(str)), "Block 0 of A: b must hold real numbers"),
    ],
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_what_is_refused(rows, message):
    with (
        dask.config.set(scheduler="synchronous"),
        pytest.raises(InvalidProblemError, match=message),
    ):
        LinearProgram(COSTS, *rows(*arrays()))
