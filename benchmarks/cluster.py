"""Fits on Dask workers of this machine: how they scale, what they hold, and what they survive.

    OMP_NUM_THREADS=1 python -m benchmarks.cluster [--only scaling|memory|faults] [--rows N]
        [--inputs D] [--components K]

Results go to benchmarks/results/cluster.json, a part for each of the three.

scaling   the same fit in this process, on 1 and on 2 workers of one thread, beside the product that
          it is made of, ssyrk on 1 and on 2 threads: the median of three, in turn
memory    the most that a worker holds beyond what it holds idle, with spilling off, beside the
          bound of docs/cluster.md; and the bytes that workers send, beside theirs
faults    ten kills at random moments, and a worker paused for half a minute
"""

import argparse
import json
import os
import platform
import random
import resource
import signal
import statistics
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from scipy.linalg.blas import ssyrk
from threadpoolctl import threadpool_limits

import kitchensinks as ks

RESULTS = Path(__file__).parent / "results" / "cluster.json"
# Spilling, pausing and ending workers by memory are off: what is measured is what a fit takes.
# A LocalCluster gives up a worker that does not come back in time (15 s if not told).
SETTINGS: dict[str, Any] = {
    **{f"distributed.worker.memory.{name}": False for name in ("target", "spill", "pause")},
    "distributed.worker.memory.terminate": False,
    "distributed.deploy.lost-worker-timeout": "600s",
}


def rows_of(seed: int, count: int, n_inputs: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(count, n_inputs)).astype(np.float32)


def targets_of(rows: np.ndarray) -> np.ndarray:
    return np.sin(rows[:, 0]) + rows[:, 1] * rows[:, 2]


@contextmanager
def workers(count: int) -> Iterator[tuple[Any, Any]]:
    """A cluster of processes of one thread, and its client."""
    import dask
    from distributed import Client, LocalCluster

    with (
        dask.config.set(SETTINGS),
        LocalCluster(
            n_workers=count, threads_per_worker=1, dashboard_address=":0", memory_limit=0
        ) as cluster,
        Client(cluster) as client,
    ):
        yield cluster, client


def model(n_components: int, **settings: Any) -> Any:
    given = {"alpha": 1e-4, "solver": "direct", "random_state": 0} | settings
    return ks.KitchenSinkRegressor(ks.Fourier(), n_components=n_components, **given)


def seconds(work: Any) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


# -- scaling -----------------------------------------------------------------------------


def scaling(n_rows: int, n_inputs: int, n_components: int) -> dict[str, Any]:
    import dask.array as da

    parts = 40
    count = n_rows // parts
    rows = np.vstack([rows_of(seed, count, n_inputs) for seed in range(parts)])
    targets = targets_of(rows)
    block = np.asfortranarray(rows_of(0, 8192, n_components).T)
    repeats = max(1, n_rows // 8192 // 8)

    def product(threads: int) -> float:
        with threadpool_limits(limits=threads):
            return seconds(lambda: [ssyrk(1.0, block, lower=1) for _ in range(repeats)])

    def alone() -> float:
        with threadpool_limits(limits=1):
            return seconds(lambda: model(n_components, n_jobs=1).fit(rows, targets))

    times: dict[str, list[float]] = {}

    def note(name: str, value: float) -> None:
        times.setdefault(name, []).append(value)
        print(f"{name}: {value:.2f} s", flush=True)

    model(n_components).fit(rows[:count], targets[:count])
    product(1)
    for _ in range(3):
        note("ssyrk, 1 thread", product(1))
        note("ssyrk, 2 threads", product(2))
        note("in this process", alone())
        for number in (1, 2):
            with workers(number):
                X = da.from_array(rows, chunks=(count, n_inputs)).persist()
                y = da.from_array(targets, chunks=count).persist()
                model(n_components).fit(X[: 2 * count], y[: 2 * count])
                fit = seconds(lambda X=X, y=y: model(n_components).fit(X, y))
                note(f"{number} worker{'s' * (number - 1)}", fit)
    median = {name: statistics.median(values) for name, values in times.items()}
    syrk = median["ssyrk, 1 thread"] / median["ssyrk, 2 threads"]
    own = median["1 worker"] / median["2 workers"]
    return {
        "rows": n_rows,
        "inputs": n_inputs,
        "components": n_components,
        "seconds": times,
        "scaling_of_ssyrk": syrk,
        "scaling_of_workers": own,
        "share_of_ssyrk": own / syrk,
        "overhead_of_dask": median["1 worker"] / median["in this process"] - 1.0,
    }


# -- memory and bytes --------------------------------------------------------------------


def peak() -> float:
    """Bytes that this process has held at most."""
    return 1024.0 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def sent(dask_worker: Any) -> float:
    """Bytes of values that this worker has sent to others."""
    return float(sum(entry["total"] for entry in dask_worker.transfer_outgoing_log))


def warm(dask_worker: Any) -> None:
    """Load and compile all that a fit uses, on few rows."""
    rows = rows_of(0, 500, 5)
    model(50).fit(rows, targets_of(rows))


def made(block_id: tuple[int, ...], count: int, n_inputs: int) -> np.ndarray:
    return rows_of(block_id[0], count, n_inputs)


def memory(n_rows: int, n_inputs: int, n_components: int) -> dict[str, Any]:
    import dask.array as da

    parts = 40
    count = n_rows // parts
    gram = 8.0 * n_components**2
    # docs/cluster.md: rows of a task, 1.5 G and the features of a block; sums that wait.
    bundle = max(count * n_inputs * 4.0, min(gram, n_rows * n_inputs * 4.0 / 8))
    block = 3 * 4.0 * 8192 * (n_components + n_inputs)
    levels = int(np.ceil(np.log2(parts))) + 1
    bound = 2 * bundle + 1.5 * gram + block + levels * gram + 3 * gram
    with workers(2) as (_, client):
        client.run(warm)
        before = client.run(peak)
        X = da.map_blocks(
            made,
            count=count,
            n_inputs=n_inputs,
            chunks=((count,) * parts, (n_inputs,)),
            dtype="f4",
        )
        y = X.map_blocks(targets_of, drop_axis=1, dtype="f4")
        model(n_components).fit(X, y)
        after = client.run(peak)
        moved = sum(client.run(sent).values())
    grown = max(after[name] - before[name] for name in after if name in before)
    return {
        "rows": n_rows,
        "inputs": n_inputs,
        "components": n_components,
        "idle_worker_bytes": max(before.values()),
        "most_beyond_idle_bytes": grown,
        "bound_beyond_idle_bytes": bound,
        "gram_bytes": gram,
        "bytes_between_workers": moved,
        "bound_on_bytes_between_workers": parts * gram,
    }


# -- faults ------------------------------------------------------------------------------


def slowly(block: np.ndarray) -> np.ndarray:
    time.sleep(0.3)
    return block


def faults(kills: int = 10, pause: float = 30.0) -> dict[str, Any]:
    import dask.array as da

    rows = rows_of(0, 4000, 6).astype(np.float64)
    targets = targets_of(rows)
    settings = {"solver": ks.Solver("direct", dtype="float64"), "alpha": "auto"}
    expected = model(300, **settings).fit(rows, targets).model_.weights
    X = da.from_array(rows, chunks=(100, 6)).map_blocks(slowly, dtype=rows.dtype)
    y = da.from_array(targets, chunks=100)
    chance, done, stop = random.Random(0), [], threading.Event()
    off: list[float] = []
    start = time.perf_counter()

    def compare() -> None:
        found = model(300, **settings).fit(X, y).model_.weights
        off.append(float(np.abs(found - expected).max() / np.abs(expected).max()))
        print(f"{time.perf_counter() - start:.0f} s: {len(done)} kills, off {off[-1]:.1e}")

    with workers(2) as (cluster, _):

        def kill() -> None:
            while len(done) < kills and not stop.wait(0.2):
                known = set(cluster.scheduler.workers)
                up = [one for one in cluster.workers.values() if one.worker_address in known]
                # Both are up: what is killed works, and does not only start.
                if len(up) == 2 and not stop.wait(chance.uniform(0.0, 5.0)):
                    os.kill(chance.choice(up).process.process.pid, signal.SIGKILL)
                    done.append(time.perf_counter() - start)
                    print(f"{done[-1]:.0f} s: killed {len(done)}", flush=True)
                    stop.wait(2.0)

        killer = threading.Thread(target=kill)
        killer.start()
        try:
            while len(done) < kills:
                compare()
        finally:
            stop.set()
            killer.join()
    with workers(2) as (_, client):
        process = next(iter(client.run(os.getpid).values()))
        begun = time.perf_counter()
        threading.Timer(1.0, os.kill, (process, signal.SIGSTOP)).start()
        threading.Timer(1.0 + pause, os.kill, (process, signal.SIGCONT)).start()
        compare()
        paused = time.perf_counter() - begun
    return {
        "kills": len(done),
        "fits": len(off),
        "largest_difference_of_weights": max(off),
        "pause_seconds": pause,
        "seconds_of_the_paused_fit": paused,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=["scaling", "memory", "faults"])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--inputs", type=int, default=50)
    parser.add_argument("--components", type=int, default=2000)
    parser.add_argument("--out", type=Path, default=RESULTS)
    given = parser.parse_args()
    size = given.rows, given.inputs, given.components
    parts = {"scaling": lambda: scaling(*size), "memory": lambda: memory(*size), "faults": faults}
    found = json.loads(given.out.read_text()) if given.out.exists() else {}
    for name in [given.only] if given.only else parts:
        found[name] = parts[name]()
        found["machine"] = {
            "processor": platform.processor() or platform.machine(),
            "cores": os.cpu_count(),
            "python": platform.python_version(),
            "numpy": np.__version__,
            "kitchensinks": ks.__version__,
        }
        print(json.dumps(found[name], indent=1))
        given.out.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
