"""How close a fit is to the machine's limit, how fast it predicts, and how it grows.

`python -m benchmarks.speed` runs everything and writes results/speed.json; `--table` prints what
is there. Rates of the products are measured in the same process, just before the fit.
"""

import argparse
import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy.linalg import cho_factor
from scipy.linalg.blas import dgemm, dsyrk, sgemm, ssyrk
from sklearn.kernel_approximation import RBFSampler
from sklearn.linear_model import RidgeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

import kitchensinks as ks
from benchmarks.__main__ import machine
from kitchensinks.papers import datasets

RESULTS = Path(__file__).parent / "results" / "speed.json"


def seconds(function: Callable[[], Any], repeats: int = 3) -> list[float]:
    """Times of some runs after one to warm up, sorted."""
    function()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return sorted(times)


class Rates:
    """The products that no direct fit can do without, at its own shapes, in its own dtype."""

    def __init__(self, n_inputs: int, count: int, dtype: str) -> None:
        rng = np.random.default_rng(0)
        rows = rng.normal(size=(8192, n_inputs)).astype(dtype)
        directions = rng.normal(size=(count, n_inputs)).astype(dtype)
        features = rng.normal(size=(8192, count)).astype(dtype)
        gram = (features.T @ features).astype(np.float64) + 1e4 * np.eye(count)
        out = np.empty((count, count), dtype=dtype, order="F")
        gemm, syrk = (sgemm, ssyrk) if dtype == "float32" else (dgemm, dsyrk)
        self.calls: dict[str, tuple[float, Callable[[], Any]]] = {
            "gemm": (
                2.0 * 8192 * n_inputs * count,
                lambda: gemm(1.0, directions.T, rows.T, trans_a=True),
            ),
            "syrk": (
                8192.0 * count**2,
                lambda: syrk(1.0, features.T, beta=0.0, c=out, lower=1, overwrite_c=1),
            ),
            "cholesky": (count**3 / 3, lambda: cho_factor(gram, lower=True)),
        }

    def measure(self, clock: Callable[[], float]) -> dict[str, float]:
        """Operations a second of each by a clock, the better of two runs."""
        found = {}
        for name, (operations, call) in self.calls.items():
            spent = []
            for _ in range(2):
                start = clock()
                call()
                spent.append(clock() - start)
            found[name] = operations / min(spent)
        return found

    def cores(self) -> float:
        """The cores that a product on all threads is given by the machine at this moment."""
        start, cpu = time.perf_counter(), time.process_time()
        self.calls["syrk"][1]()
        return (time.process_time() - cpu) / (time.perf_counter() - start)


def floor(
    name: str, count: int, dtype: str, limit: int | None = None, rounds: int = 5, tries: int = 5
) -> dict[str, Any]:
    """Time of a squared fit over 2ndK, nK² and K³/3 operations at the rates of the same round.

    By processor time on one thread, which other work on the machine disturbs least: what the fit
    does beside these products. By the clock on all threads: what threads that wait cost too, in
    those rounds alone in which no other work had a core, before the fit and after it.
    """
    data = datasets.load(name, download=False)
    X, y = np.ascontiguousarray(data.X_train[:limit], dtype=dtype), data.y_train[:limit]
    n_rows, n_inputs = X.shape
    solver = ks.Solver("direct", dtype=dtype)
    cores = os.cpu_count() or 1
    one, all_cores = (
        ks.KitchenSinkClassifier(
            ks.Fourier(), count, alpha=1e-6, solver=solver, random_state=0, n_jobs=jobs
        )
        for jobs in (1, cores)
    )
    rates = Rates(n_inputs, count, dtype)
    operations = {
        "gemm": 2.0 * n_rows * n_inputs * count,
        "syrk": float(n_rows) * count**2,
        "cholesky": count**3 / 3,
    }

    def least(rate: dict[str, float]) -> float:
        return sum(operations[key] / rate[key] for key in rate)

    all_cores.fit(X, y)
    found: list[dict[str, Any]] = []
    quiet: list[dict[str, Any]] = []
    for _ in range(tries):
        with threadpool_limits(1):
            rate = rates.measure(time.process_time)
        start = time.process_time()
        one.fit(X, y)
        found.append({"rate": rate, "floor": least(rate), "fit": time.process_time() - start})
        if len(quiet) >= rounds or rates.cores() < 0.93 * cores:
            continue
        rate = rates.measure(time.perf_counter)
        start = time.perf_counter()
        all_cores.fit(X, y)
        took = time.perf_counter() - start
        if rates.cores() >= 0.93 * cores:
            quiet.append({"rate": rate, "floor": least(rate), "fit": took})
    return {"rows": n_rows, "K": count, "dtype": dtype, "threads": cores} | {
        kind: _middle(rows) for kind, rows in (("processor", found), ("clock", quiet)) if rows
    }


def _middle(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Medians over rounds, and the range of the share."""
    shares = sorted(one["floor"] / one["fit"] for one in rows)
    return {
        "rounds": len(rows),
        "gigaflops": {
            key: statistics.median(one["rate"][key] for one in rows) / 1e9
            for key in rows[0]["rate"]
        },
        "floor_seconds": statistics.median(one["floor"] for one in rows),
        "fit_seconds": statistics.median(one["fit"] for one in rows),
        "share_of_floor": statistics.median(shares),
        "share_range": [shares[0], shares[-1]],
    }


def prediction(n_rows: int = 100_000, n_inputs: int = 784, count: int = 5000) -> dict[str, Any]:
    """Ours, dense and structured, against transform and predict in float32."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, n_inputs)).astype(np.float32)
    y = X[:, 0] > 0
    few = slice(0, 6000)
    peer = make_pipeline(
        StandardScaler(),
        RBFSampler(gamma=1 / n_inputs, n_components=count, random_state=0),
        RidgeClassifier(),
    ).fit(X[few], y[few])
    runs: dict[str, Any] = {"RBFSampler + RidgeClassifier float32": peer}
    for projection in ("gaussian", "hadamard"):
        runs[f"kitchensinks, {projection}"] = ks.KitchenSinkClassifier(
            ks.Fourier(projection=projection),
            count,
            alpha=1e-4,
            solver=ks.Solver(dtype="float32"),
            random_state=0,
        ).fit(X[few], y[few])
    calls = {name: partial(model.predict, X) for name, model in runs.items()}
    directions = rng.normal(size=(n_inputs, count)).astype(np.float32)
    out = np.empty((4096, count), dtype=np.float32)

    def product() -> None:
        for start in range(0, n_rows, len(out)):
            rows = X[start : start + len(out)]
            np.matmul(rows, directions, out=out[: len(rows)])

    calls["the product of rows and directions alone"] = product
    found = {}
    for name, call in calls.items():
        times = seconds(call)
        found[name] = {"seconds": statistics.median(times), "range": [times[0], times[-1]]}
    slow = found["RBFSampler + RidgeClassifier float32"]["seconds"]
    return {name: {**row, "ratio": slow / row["seconds"]} for name, row in found.items()}


def latency() -> dict[str, Any]:
    """One row at a time, K = 2000, d = 100: medians in microseconds."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(5000, 100)).astype(np.float32)
    y = X[:, 0] > 0
    model = ks.KitchenSinkClassifier(
        ks.Fourier(), 2000, alpha=1e-4, solver=ks.Solver(dtype="float32"), random_state=0
    ).fit(X, y)
    peer = make_pipeline(
        StandardScaler(), RBFSampler(n_components=2000, random_state=0), RidgeClassifier()
    ).fit(X, y)
    row = X[:1]
    calls = {
        "model_.scores": lambda: model.model_.scores(row),
        "predict": lambda: model.predict(row),
        "scikit-learn's pipeline": lambda: peer.predict(row),
    }
    return {name: 1e6 * statistics.median(seconds(call, 1000)) for name, call in calls.items()}


def growth() -> dict[str, Any]:
    """Log-log slopes of the fit's time in n, d and K, with their standard errors."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400_000, 50)).astype(np.float32)
    y = X[:, 0] > 0
    wide = rng.normal(size=(20_000, 1600)).astype(np.float32)

    def fit(rows: np.ndarray, count: int) -> float:
        model = ks.KitchenSinkClassifier(
            ks.Fourier(gamma=0.01),
            count,
            alpha=1e-4,
            solver=ks.Solver(dtype="float32"),
            random_state=0,
        )
        return seconds(lambda: model.fit(rows, y[: len(rows)]), 3)[0]

    sweeps = {
        "rows": [(n, fit(X[:n], 1000)) for n in (25_000, 50_000, 100_000, 200_000, 400_000)],
        "inputs": [(d, fit(np.ascontiguousarray(wide[:, :d]), 500)) for d in (200, 400, 800, 1600)],
        "features": [(k, fit(X[:50_000], k)) for k in (500, 1000, 2000, 4000)],
    }
    found = {}
    for name, points in sweeps.items():
        size, spent = np.log(np.array(points)).T
        design = np.column_stack([size, np.ones_like(size)])
        (slope, _), residual, *_ = np.linalg.lstsq(design, spent)
        variance = float(residual[0]) / (len(size) - 2) if len(residual) else 0.0
        error = float(np.sqrt(variance / np.sum((size - size.mean()) ** 2)))
        found[name] = {"points": points, "slope": float(slope), "standard_error": error}
    return found


PARTS: dict[str, Callable[[], Any]] = {
    **{
        f"floor, {name}, {dtype}": partial(floor, data, count, dtype, rounds=rounds, tries=rounds)
        for name, data, count, rounds in (
            ("adult, K = 2000", "adult-onehot", 2000, 5),
            ("mnist, K = 5000", "mnist", 5000, 2),
        )
        for dtype in ("float32", "float64")
    },
    "prediction": prediction,
    "latency": latency,
    "growth": growth,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", help="run the parts whose name contains this; keep the others")
    parser.add_argument(
        "--before", action="store_true", help="results of an older version that is on the path"
    )
    parser.add_argument("--table", action="store_true", help="only print what is there")
    options = parser.parse_args()
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    if not options.table:
        for name, part in PARTS.items():
            if options.only and options.only not in name:
                continue
            print(f"{name} ...", file=sys.stderr, flush=True)
            results[f"before, {name}" if options.before else name] = part()
            results["machine"] = machine()
            RESULTS.write_text(json.dumps(results, indent=1) + "\n")
    print(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
