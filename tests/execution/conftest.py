"""Small rows in unequal partitions, and a cluster of two worker processes."""

import numpy as np
import pytest

import kitchensinks as ks

distributed = pytest.importorskip("distributed")
import dask.array as da  # noqa: E402

# Unequal partitions, one of them empty.
CHUNKS = (150, 0, 700, 350)
N_ROWS = sum(CHUNKS)
# Parameters of ``ks.Solver``.
SOLVER = ("tol", "max_iter", "dtype", "memory_budget")


@pytest.fixture(scope="module")
def client():
    """Two worker processes of one thread each."""
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def rows():
    return np.random.default_rng(0).normal(size=(N_ROWS, 4))


@pytest.fixture(scope="module")
def values(rows):
    noise = np.random.default_rng(1).normal(size=N_ROWS)
    return 100.0 + np.sin(2 * rows[:, 0]) + rows[:, 1] * rows[:, 2] + 0.2 * noise


@pytest.fixture(scope="module")
def labels(values):
    """Three classes; the first partition has one of them only."""
    labels = np.digitize(values, [99.7, 100.4])
    labels[: CHUNKS[0]] = 1
    return np.array(["a", "b", "c"])[labels]


def spread_out(*arrays, chunks=CHUNKS):
    cut = [(chunks, *((size,) for size in array.shape[1:])) for array in arrays]
    return [da.from_array(array, chunks=own) for array, own in zip(arrays, cut, strict=True)]


def model_of(kind, n_components, **settings):
    """Fourier features in float64 unless told otherwise; the parameters of a solver go to it."""
    settings = {"dtype": "float64", "solver": "auto"} | settings
    own = {name: settings.pop(name) for name in SOLVER if name in settings}
    solver = ks.Solver(settings.pop("solver"), **own)
    given = {"basis": ks.Fourier(), "n_components": n_components, "random_state": 0}
    return kind(**given | settings, solver=solver)


def regressor(**settings):
    return model_of(ks.KitchenSinkRegressor, **{"n_components": 80} | settings)


def classifier(**settings):
    return model_of(ks.KitchenSinkClassifier, **{"n_components": 40} | settings)


def assert_same_fit(cluster, memory, tol=1e-8):
    assert cluster.alpha_ == pytest.approx(memory.alpha_, rel=1e-12)
    weights = memory.model_.weights
    np.testing.assert_allclose(
        cluster.model_.weights, weights, rtol=0, atol=tol * np.abs(weights).max()
    )
    np.testing.assert_allclose(cluster.model_.intercept, memory.model_.intercept, rtol=1e-9)
