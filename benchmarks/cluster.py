"""A fit on 1 and 2 Dask workers of one thread each, beside the same fit in this process.

    OMP_NUM_THREADS=1 python -m benchmarks.cluster [rows] [columns] [K]

Prints seconds (the median of three), ratios, and how far the memory of a worker has grown against
the bound of docs/cluster.md.
"""

import resource
import statistics
import sys
import time
from typing import Any

import numpy as np

import kitchensinks as ks


def rows_of(seed: int, count: int, n_inputs: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(count, n_inputs)).astype(np.float32)


def targets_of(rows: np.ndarray) -> np.ndarray:
    return np.sin(rows[:, 0]) + rows[:, 1] * rows[:, 2]


def seconds(work: Any) -> float:
    times = []
    for _ in range(3):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def peak() -> float:
    """Bytes that this process has held at most."""
    return 1024.0 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def main(n_rows: int = 200_000, n_inputs: int = 50, n_components: int = 1000) -> None:
    import dask.array as da
    from distributed import Client, LocalCluster

    count = n_rows // 20
    rows = np.vstack([rows_of(seed, count, n_inputs) for seed in range(20)])
    targets = targets_of(rows)

    def model() -> Any:
        return ks.KitchenSinkRegressor(
            n_components=n_components, alpha=1e-4, random_state=0, solver="direct", n_jobs=1
        )

    model().fit(rows[:count], targets[:count])
    alone = seconds(lambda: model().fit(rows, targets))
    print(f"{n_rows:,} × {n_inputs}, K = {n_components}: in this process {alone:.2f} s")
    for workers in (1, 2):
        with (
            LocalCluster(
                n_workers=workers, threads_per_worker=1, dashboard_address=":0", memory_limit=0
            ) as cluster,
            Client(cluster) as client,
        ):
            X = da.from_array(rows, chunks=(count, n_inputs)).persist()
            y = da.from_array(targets, chunks=count).persist()
            model().fit(X, y)
            before = client.run(peak)
            own = seconds(lambda X=X, y=y: model().fit(X, y))
            after = client.run(peak)
            most = max(after.values()) / 1e6
            grown = max(after[name] - before[name] for name in after) / 1e6
        print(
            f"  {workers} worker(s): {own:.2f} s, {own / alone:.2f} of that; the worker with the "
            f"most memory held {most:.0f} MB ({grown:.0f} MB more than after its first fit); "
            f"one Gram is {8e-6 * n_components**2:.0f} MB"
        )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
