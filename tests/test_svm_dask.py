"""PrivateLPSVC on Dask arrays: the bits of records in memory, and what is refused."""

import logging

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from privlp import InvalidProblemError
from svm_models import PrivateLPSVC
from tests.test_svm_records_in_blocks import FITS, X, Y, fitted

pytestmark = pytest.mark.usefixtures("short_advice")

dask = pytest.importorskip("dask", reason="Dask is an extra")
distributed = pytest.importorskip("distributed", reason="Dask is an extra")
da = pytest.importorskip("dask.array", reason="Dask is an extra")
dd = pytest.importorskip("dask.dataframe", reason="Dask is an extra")

SIZES = (1_000, 10, 4_990)


def arrays(records=X):
    return da.from_array(records, chunks=(SIZES, (8,))), da.from_array(Y, chunks=(SIZES,))


@pytest.mark.parametrize("name", FITS)
def test_chunks_give_the_same_bits(name):
    whole = fitted(X, Y, FITS[name])
    records, labels = arrays()
    assert fitted(records, labels, FITS[name]) == whole
    assert fitted(records, Y, FITS[name]) == whole


@pytest.mark.parametrize("source", ["a frame in memory", "Parquet"])
def test_columns_of_a_frame_give_the_same_bits(source, tmp_path):
    names = list("abcdefgh")
    whole = pd.DataFrame(X, columns=names).assign(y=Y)
    frame = dd.from_pandas(whole, npartitions=3)
    if source == "Parquet":
        pytest.importorskip("pyarrow", reason="PyArrow is an extra")
        for number, rows in enumerate((whole[:999], whole[999:])):
            rows.to_parquet(tmp_path / f"{number}.parquet")
        frame = dd.read_parquet(tmp_path)
    with dask.config.set(scheduler="synchronous"):
        found = fitted(frame[names], frame["y"], FITS["measured once"])
    assert found == fitted(X, Y, FITS["measured once"])


def test_two_workers_give_the_same_bits():
    sparse = sp.csr_array(X)
    records, labels = arrays()
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=logging.WARNING
        ) as workers,
        distributed.Client(workers),
    ):
        for name in ("measured twice", "weights and a threshold"):
            assert fitted(records, labels, FITS[name]) == fitted(X, Y, FITS[name])
        in_csr = records.map_blocks(sp.csr_array)
        name = "a record added"
        assert fitted(in_csr, labels, FITS[name]) == fitted(sparse, Y, FITS[name])


def test_malformed_chunks_are_refused():
    svm = PrivateLPSVC(classes=("a", "b"))
    records, labels = arrays()
    with pytest.raises(InvalidProblemError, match=r"Give X.rechunk\(\{1: -1\}\)"):
        svm.fit(records.rechunk((1_000, 4)), labels)
    with pytest.raises(InvalidProblemError, match="A chunk of X: Input X contains NaN"):
        svm.fit(arrays(np.where(X[5_000, 0] == X, np.nan, X))[0], labels)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        svm.fit(records, labels[:-1])
