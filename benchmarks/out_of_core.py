"""Fits from a Parquet folder that is never in memory: peak memory, and time against rows.

    python -m benchmarks.out_of_core                      # 1,000,000 and 10,000,000 rows
    python -m benchmarks.out_of_core --rows 100000 300000 --components 200
    python -m benchmarks.out_of_core --command            # nothing chosen, beside LightGBM

Makes a folder of 30 columns with row groups of 100,000 rows, fits 1000 features from it in a
process of its own for every number of rows, and writes results/out_of_core.json. With --command
the fit is that of `sinks fit FOLDER --target y`, which chooses everything itself and fits twice
(to score, then to all rows), beside LightGBM's defaults with all rows in memory. Both have one
thread; processor seconds and peak memory are those of their processes, from start to end.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.__main__ import machine
from benchmarks.store import FOLDER, read, write

HERE = Path(__file__).parent
RESULTS = FOLDER / "out_of_core.json"
N_COLUMNS, GROUP_ROWS, FILE_ROWS = 30, 100_000, 500_000


def make_folder(folder: Path, n_rows: int) -> None:
    """Normal columns, and a target that is a smooth function of some of them, with noise."""
    for number, start in enumerate(range(0, n_rows, FILE_ROWS)):
        size = min(FILE_ROWS, n_rows - start)
        write_part(folder / f"part-{number:04d}.parquet", np.random.default_rng(number), size)


def write_part(path: Path, random: np.random.Generator, size: int) -> None:
    """One file of `make_folder`."""
    import pyarrow as pa
    from pyarrow import parquet

    rows = random.normal(size=(size, N_COLUMNS))
    target = np.sin(2.0 * rows[:, 0]) + rows[:, 1] * rows[:, 2] + np.abs(rows[:, 3])
    target += 0.1 * random.normal(size=size)
    columns = {f"x{k}": rows[:, k] for k in range(N_COLUMNS)} | {"y": target}
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


def held_out(folder: Path) -> tuple[np.ndarray, np.ndarray]:
    """Rows that no fit has seen, and their targets."""
    from pyarrow import parquet

    made = folder / "held-out"
    made.mkdir()
    random = np.random.default_rng(10**6)
    write_part(made / "rows.parquet", random, 20_000)
    table = parquet.read_table(made / "rows.parquet")
    return np.column_stack([table[f"x{k}"] for k in range(N_COLUMNS)]), np.asarray(table["y"])


def measured(command: list[str]) -> dict[str, float]:
    """Run a process on one thread: seconds, processor seconds, and peak memory in bytes."""
    environment = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    start = time.perf_counter()
    process = subprocess.Popen(command, cwd=HERE.parent, env=environment)
    _, status, used = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"{' '.join(command)}: exit code {os.waitstatus_to_exitcode(status)}")
    return {
        "seconds": time.perf_counter() - start,
        "cpu_seconds": used.ru_utime + used.ru_stime,
        "peak_bytes": used.ru_maxrss * 1024.0,
    }


def by_command(folder: Path, rows: np.ndarray, target: np.ndarray) -> dict[str, Any]:
    """`sinks fit` with nothing chosen."""
    import kitchensinks as ks

    out = folder / "model.sinks"
    sinks = [sys.executable, "-m", "kitchensinks", "fit", str(folder / "rows"), "--target", "y"]
    found: dict[str, Any] = measured([*sinks, "--out", str(out)])
    model = ks.load(out)
    error = np.mean((model.predict(rows) - target) ** 2) / target.var()
    return found | {"relative_error": float(error), "K": int(model.n_components_)}


def by_lightgbm(folder: Path, rows: np.ndarray, target: np.ndarray) -> dict[str, Any]:
    """LightGBM's defaults; all rows are read into one array of float32."""
    out = folder / "model.txt"
    command = [sys.executable, "-m", "benchmarks.out_of_core", "--trees", str(folder / "rows")]
    found: dict[str, Any] = measured([*command, str(out)])
    from lightgbm import Booster

    error = np.mean((Booster(model_file=out).predict(rows) - target) ** 2) / target.var()
    return found | {"relative_error": float(error)}


def fit_trees(folder: str, out: str) -> None:
    """The process of `by_lightgbm`."""
    import lightgbm
    from pyarrow import parquet

    paths = sorted(Path(folder).glob("*.parquet"))
    n_rows = sum(parquet.read_metadata(path).num_rows for path in paths)
    rows, target = np.empty((n_rows, N_COLUMNS), np.float32), np.empty(n_rows)
    done = 0
    for path in paths:
        table = parquet.read_table(path)
        part = slice(done, done + table.num_rows)
        for k in range(N_COLUMNS):
            rows[part, k] = table[f"x{k}"]
        target[part] = table["y"]
        done = part.stop
    model = lightgbm.LGBMRegressor(random_state=0, verbose=-1, n_jobs=1).fit(rows, target)
    model.booster_.save_model(out)


def compare(n_rows: int, where: str | None) -> dict[str, Any]:
    """Both contestants on a folder of so many rows."""
    with tempfile.TemporaryDirectory(dir=where) as name:
        folder = Path(name)
        (folder / "rows").mkdir()
        make_folder(folder / "rows", n_rows)
        held = held_out(folder)
        each = {"kitchensinks": by_command, "LightGBM": by_lightgbm}
        return {"rows": n_rows} | {name: fit(folder, *held) for name, fit in each.items()}


def command_table(found: dict[str, Any]) -> str:
    """Markdown: processor seconds, microseconds a row, peak memory, error on held-out rows."""
    lines = ["| rows | contestant | processor s | µs a row | peak memory, GB | squared error, % |"]
    lines.append("|---|---|---|---|---|---|")
    for run in found.get("runs", []):
        for name in ("kitchensinks", "LightGBM"):
            row = run.get(name)
            if row is None:
                lines.append(f"| {run['rows']:,} | {name} | not run | | | |")
                continue
            lines.append(
                f"| {run['rows']:,} | {name} | {row['cpu_seconds']:.0f} | "
                f"{1e6 * row['cpu_seconds'] / run['rows']:.1f} | {row['peak_bytes'] / 1e9:.2f} | "
                f"{100 * row['relative_error']:.2f} |"
            )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000_000, 10_000_000])
    parser.add_argument("--components", type=int, default=1000)
    parser.add_argument("--folder", help="where the data goes (default: a temporary folder)")
    parser.add_argument("--command", action="store_true", help="nothing chosen, beside LightGBM")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("--trees", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.trees is not None:
        fit_trees(*options.trees)
        return
    if options.command:
        found = read(RESULTS)
        runs = [compare(n_rows, options.folder) for n_rows in options.rows]
        found["command"] = {"machine": machine(), "columns": N_COLUMNS, "runs": runs}
        write(RESULTS, found)
        print(command_table(found["command"]))
        return
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
    found = read(RESULTS) | {
        "machine": machine(),
        "components": options.components,
        "columns": N_COLUMNS,
    }
    found |= {"row_group": GROUP_ROWS, "runs": runs, "ratio_a_row": ratios}
    write(RESULTS, found)


if __name__ == "__main__":
    main()
