"""Fits from a Parquet folder that is never in memory: peak memory, and time against rows.

    python -m benchmarks.out_of_core                      # 1,000,000 and 10,000,000 rows
    python -m benchmarks.out_of_core --rows 100000 300000 --components 200

Makes a folder of 30 columns with row groups of 100,000 rows, fits 1000 features from it in a
process of its own for every number of rows, and writes results/out_of_core.json.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.__main__ import machine

HERE = Path(__file__).parent
RESULTS = HERE / "results" / "out_of_core.json"
N_COLUMNS, GROUP_ROWS, FILE_ROWS = 30, 100_000, 500_000


def make_folder(folder: Path, n_rows: int) -> None:
    """Normal columns, and a target that is a smooth function of some of them, with noise."""
    import pyarrow as pa
    from pyarrow import parquet

    for number, start in enumerate(range(0, n_rows, FILE_ROWS)):
        random = np.random.default_rng(number)
        size = min(FILE_ROWS, n_rows - start)
        rows = random.normal(size=(size, N_COLUMNS))
        target = np.sin(2.0 * rows[:, 0]) + rows[:, 1] * rows[:, 2] + np.abs(rows[:, 3])
        target += 0.1 * random.normal(size=size)
        columns = {f"x{k}": rows[:, k] for k in range(N_COLUMNS)} | {"y": target}
        path = folder / f"part-{number:04d}.parquet"
        parquet.write_table(pa.table(columns), path, row_group_size=GROUP_ROWS)


def fit(folder: str, n_components: int) -> dict[str, Any]:
    """One fit with default choices; run in a process of its own."""
    import resource

    import kitchensinks as ks

    # Compiled code is loaded before the clock starts.
    warm = np.random.default_rng(0).normal(size=(2000, 3))
    ks.KitchenSinkRegressor(ks.Fourier(), n_components=20, solver=ks.Solver(dtype="float32")).fit(
        warm, warm[:, 0]
    )
    start, cpu = time.perf_counter(), time.process_time()
    table = ks.open_table(folder)
    target = ks.targets(table, "y")
    rows = ks.Rows(table, ks.Columns.learn(table, exclude=["y"]))
    read = time.perf_counter() - start
    model = ks.KitchenSinkRegressor(ks.Fourier(), n_components=n_components, random_state=0)
    model.fit(rows, target)
    seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    part = slice(0, 20_000)
    error = float(np.mean((model.predict(rows[part]) - target[part]) ** 2) / target[part].var())
    return {
        "rows": table.n_rows,
        "seconds": seconds,
        "cpu_seconds": cpu,
        "target_seconds": read,
        "peak_bytes": peak,
        "relative_error": error,
        "solver": model.solver_,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000_000, 10_000_000])
    parser.add_argument("--components", type=int, default=1000)
    parser.add_argument("--folder", help="where the data goes (default: a temporary folder)")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one is not None:
        print(json.dumps(fit(options.one, options.components)))
        return
    runs = []
    for n_rows in options.rows:
        with tempfile.TemporaryDirectory(dir=options.folder) as folder:
            make_folder(Path(folder), n_rows)
            command = [sys.executable, "-m", "benchmarks.out_of_core", "--one", folder]
            command += ["--components", str(options.components)]
            done = subprocess.run(command, capture_output=True, text=True, cwd=HERE.parent)
            if done.returncode != 0:
                raise SystemExit(f"{n_rows} rows: {done.stderr}")
            run = json.loads(done.stdout.strip().splitlines()[-1])
        runs.append(run)
        print(
            f"{run['rows']:>12,} rows: {run['seconds']:8.1f} s ({run['cpu_seconds']:.1f} s of "
            f"processors), {run['rows'] / run['seconds']:,.0f} rows/s, "
            f"peak {run['peak_bytes'] / 1e9:.2f} GB, error {run['relative_error']:.3f}",
            flush=True,
        )
    ratios = {}
    for clock in ("seconds", "cpu_seconds"):
        rates = [run[clock] / run["rows"] for run in runs]
        ratios[clock] = rates[-1] / rates[0]
        print(f"{clock} a row, last against first: {ratios[clock]:.2f}")
    found = {"machine": machine(), "components": options.components, "columns": N_COLUMNS}
    found |= {"row_group": GROUP_ROWS, "runs": runs, "ratio_a_row": ratios}
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
