"""How much faster a fit with nothing chosen is on more threads, beside what the machine allows.

    python -m benchmarks.threads                       # one more round of every table
    python -m benchmarks.threads --only adult
    python -m benchmarks.report                        # the table into docs/benchmarks.md

Each fit has a process of its own, which is warmed up on the first rows. The ceiling is that of two
processes, each with a fit on one thread, that begin together: two fits in the time of one would be
twice as fast, and what is missing is the machine's (memory, caches and clock rates that cores
share, and other work). Predictions have to have the same bits for every number of threads.
"""

import argparse
import hashlib
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.__main__ import machine

HERE = Path(__file__).parent
RESULTS = HERE / "results" / "threads.json"
TABLES = ("cpu_act", "house_16H", "adult", "keggundirected")
JOBS = (1, 2, 8)
# A fit on one thread has this share of a core or more where no other work takes its time.
FREE = 0.9
# Rows of the fit that warms up.
WARM = 2000


def rows_of(table: str) -> tuple[str, Any, Any]:
    """Task, training rows and targets."""
    from benchmarks import learned_law, pool

    if table in learned_law.SETS:
        split = learned_law.split(table, 0)
        return split.task, split.train, split.target
    task = pool.listed()[table][0]
    rows, targets = pool.load(table)
    fitted = np.random.default_rng(0).permutation(len(rows))[: 3 * len(rows) // 4]
    return task, rows.iloc[fitted], targets[fitted]


def one(table: str, jobs: int) -> dict[str, Any]:
    """Seconds of one fit and a digest of what it predicts; it begins when a line comes in."""
    import kitchensinks as ks

    task, rows, targets = rows_of(table)
    kind = ks.KitchenSinkClassifier if task == "classification" else ks.KitchenSinkRegressor
    kind(random_state=0, n_jobs=jobs).fit(rows[:WARM], targets[:WARM])
    print("ready", flush=True)
    sys.stdin.readline()
    clock, start = time.perf_counter(), time.process_time()
    model = kind(random_state=0, n_jobs=jobs).fit(rows, targets)
    found = {"clock": time.perf_counter() - clock, "processor": time.process_time() - start}
    values = model.predict_proba(rows[:WARM]) if task == "classification" else model.predict(rows)
    digest = hashlib.sha256(np.ascontiguousarray(values).tobytes()).hexdigest()[:16]
    return {**found, "digest": digest, "rows": len(rows), "columns": rows.shape[1]}


def together(table: str, jobs: int, count: int) -> list[dict[str, Any]]:
    """So many processes with the same fit, which begin together."""
    command = [sys.executable, "-W", "ignore", "-m", "benchmarks.threads"]
    command += ["--one", table, str(jobs)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    running = [
        subprocess.Popen(command, text=True, cwd=HERE.parent, env=os.environ, **pipes)
        for _ in range(count)
    ]
    for process in running:
        assert process.stdout is not None
        if process.stdout.readline() != "ready\n":
            raise SystemExit(f"{table} on {jobs} threads could not be fitted.")
    for process in running:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    return [json.loads(process.communicate()[0]) for process in running]


def measure(table: str) -> dict[str, Any]:
    """One round: every number of threads, and two fits side by side."""
    fits = {str(jobs): together(table, jobs, 1)[0] for jobs in JOBS}
    pair = together(table, 1, 2)
    same = len({fit["digest"] for fit in (*fits.values(), *pair)}) == 1
    size = [fits["1"].pop("rows"), fits["1"].pop("columns")]
    kept = {jobs: {key: fit[key] for key in ("clock", "processor")} for jobs, fit in fits.items()}
    return {"size": size, "fits": kept, "pair": max(fit["clock"] for fit in pair), "same": same}


def is_free(round_: dict[str, Any]) -> bool:
    """Whether the machine was free: a fit on one thread had a core for itself."""
    fit = round_["fits"]["1"]
    return bool(fit["processor"] >= FREE * fit["clock"])


def table(results: dict[str, Any]) -> str:
    """Markdown: medians; seconds by the clock only of rounds on a free machine."""
    lines = [
        "| table | processor s on 1, 2 and 8 threads | 2 over 1 | same bits | "
        "s by the clock on 1, 2 and 8 threads | 1 over 2 | two fits side by side |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, rounds in results.get("rounds", {}).items():
        spent = _medians(rounds, "processor")
        n_rows, n_columns = rounds[0]["size"]
        same = "yes" if all(one["same"] for one in rounds) else "no"
        cells = [f"{name}, {n_rows:,} × {n_columns}", _listed(spent)]
        cells += [f"{spent['2'] / spent['1']:.2f}", same]
        free = [one for one in rounds if is_free(one)]
        if free:
            faster = [one["fits"]["1"]["clock"] / one["fits"]["2"]["clock"] for one in free]
            ceiling = [2.0 * one["fits"]["1"]["clock"] / one["pair"] for one in free]
            cells.append(_listed(_medians(free, "clock")))
            cells += [f"{statistics.median(each):.2f}" for each in (faster, ceiling)]
        else:
            cells += ["no round on a free machine", "–", "–"]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _medians(rounds: list[dict[str, Any]], key: str) -> dict[str, float]:
    """Seconds of each number of threads."""
    return {str(j): statistics.median(one["fits"][str(j)][key] for one in rounds) for j in JOBS}


def _listed(seconds: dict[str, float]) -> str:
    return ", ".join(f"{value:.2f}" for value in seconds.values())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", help="the tables whose name contains this")
    parser.add_argument("--one", nargs=2, metavar=("TABLE", "JOBS"), help="one fit, as JSON")
    parser.add_argument("--again", action="store_true", help="forget earlier rounds")
    options = parser.parse_args()
    if options.one:
        print(json.dumps(one(options.one[0], int(options.one[1]))))
        return
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    results = {"rounds": {}} if options.again or "rounds" not in results else results
    for name in TABLES:
        if options.only is None or options.only in name:
            results["rounds"].setdefault(name, []).append(measure(name))
            results["machine"] = machine()
            RESULTS.write_text(json.dumps(results, indent=1) + "\n")
    print(table(results))


if __name__ == "__main__":
    main()
