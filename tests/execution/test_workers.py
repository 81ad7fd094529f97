"""On two worker processes: fits, faults, and a cluster that is not as it should be."""

import os
import signal
import threading
import time

import dask
import dask.array as da
import distributed
import numpy as np
import pytest

import kitchensinks as ks
from kitchensinks.execution.cluster import ClusterError, connected
from kitchensinks.execution.partitions import PartitionError
from tests.execution.conftest import assert_same_fit, classifier, regressor, spread_out

# -- a real cluster ----------------------------------------------------------------------


def test_fit_predict_and_score_on_workers(client, rows, values, labels):
    X, y, c = spread_out(rows, values, labels)
    memory = regressor().fit(rows, values)
    model = regressor().fit(X, y)
    assert_same_fit(model, memory)
    assert model.score(X, y) == pytest.approx(memory.score(rows, values))
    np.testing.assert_allclose(model.predict(X).compute(), memory.predict(rows), rtol=1e-8)
    assert_same_fit(classifier().fit(X, c), classifier().fit(rows, labels))
    with pytest.raises(PartitionError, match=r"Partition [023]: .*NaN"):
        regressor().fit(da.full_like(X, np.nan), y)


def slowly(block):
    time.sleep(0.15)
    return block


@pytest.mark.parametrize("delay", [0.3, pytest.param(1.2, marks=pytest.mark.slow)])
def test_a_killed_worker_changes_nothing(client, rows, values, delay):
    client.wait_for_workers(2, timeout=600)
    X, y = spread_out(rows, values, chunks=(100,) * 12)
    X = X.map_blocks(slowly, dtype=X.dtype)
    process = next(iter(client.run(os.getpid).values()))
    killer = threading.Timer(delay, os.kill, (process, signal.SIGKILL))
    killer.start()
    model = regressor().fit(X, y)
    killer.join()
    assert_same_fit(model, regressor().fit(rows, values))


def test_all_workers_gone_is_an_error(rows, values):
    X, y = spread_out(rows, values)
    with (
        dask.config.set({"kitchensinks.patience": "1s"}),
        distributed.LocalCluster(n_workers=0, dashboard_address=":0") as cluster,
        distributed.Client(cluster),
        pytest.raises(ClusterError, match="has had no workers for 1 s"),
    ):
        regressor().fit(X, y)


def test_a_scheduler_that_does_not_answer_is_an_error(monkeypatch):
    monkeypatch.setattr("kitchensinks.execution.cluster.ANSWER", 1)
    with (
        pytest.raises(ClusterError, match=r"No scheduler answers at tcp:.*:9 within 1 s"),
        connected("tcp://127.0.0.1:9"),
    ):
        pass
    with pytest.raises(ValueError, match="local:2"), connected("local:none"):
        pass
    # The address of a scheduler on this machine, and no number of workers.
    with pytest.raises(ClusterError, match="answers at localhost:9"), connected("localhost:9"):
        pass


def test_other_versions_on_the_workers_are_an_error(client, rows, values, monkeypatch):
    monkeypatch.setattr("kitchensinks.execution.cluster.numpy.__version__", "0.1")
    with pytest.raises(ClusterError, match=r"numpy .* and the client has 0\.1"):
        regressor().fit(*spread_out(rows, values))


@pytest.mark.slow
def test_a_fit_goes_on_where_a_cluster_was_lost(rows, values, tmp_path):
    """All workers go in the middle of the sums: an error, and another cluster goes on there."""
    X, y = spread_out(rows, values, chunks=(40,) * 30)
    X = X.map_blocks(slowly, dtype=X.dtype)
    folder = ks.Checkpoint(tmp_path / "work", every=0.0)
    settings = {"n_workers": 1, "threads_per_worker": 1, "processes": False}
    with distributed.LocalCluster(dashboard_address=":0", **settings) as cluster:

        def lose():
            while not (tmp_path / "work" / "sums.sums").exists():
                time.sleep(0.05)
            cluster.scale(0)

        thread = threading.Thread(target=lose)
        thread.start()
        with (
            dask.config.set({"kitchensinks.patience": "1s"}),
            distributed.Client(cluster),
            pytest.raises(ClusterError, match="has had no workers for 1 s"),
        ):
            regressor().fit(X, y, checkpoint=folder)
        thread.join()
    told = []
    with (
        distributed.LocalCluster(dashboard_address=":0", **settings) as cluster,
        distributed.Client(cluster),
    ):
        model = regressor()
        model.fit(X, y, checkpoint=folder, verbose=lambda text, *counted: told.append(text))
    assert any("going on from partition" in text for text in told)
    assert_same_fit(model, regressor().fit(rows, values))
