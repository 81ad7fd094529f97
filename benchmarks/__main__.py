"""`make bench`: run every contestant, write results/fits.json and the tables made from it."""

import argparse
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

from benchmarks.store import FOLDER, read, use_data_beside, write
from kitchensinks.papers.experiments.harness import commit
from kitchensinks.papers.experiments.harness import machine as described

HERE = Path(__file__).parent
RESULTS = FOLDER / "fits.json"


def machine() -> dict[str, Any]:
    """What the numbers were measured on."""
    return described() | {"commit": commit(), "seed": 0}


def measure(work: str, contestant: str, repeats: int) -> dict[str, Any]:
    """Median and range over repeats, each in a process of its own."""
    runs = []
    for _ in range(repeats):
        command = [sys.executable, "-m", "benchmarks.contestants", work, contestant]
        done = subprocess.run(command, capture_output=True, text=True, cwd=HERE.parent)
        if done.returncode != 0:
            last = (done.stderr.strip().splitlines() or [""])[-1]
            return {"failed": last or f"killed (exit code {done.returncode})"}
        runs.append(json.loads(done.stdout.strip().splitlines()[-1]))
    result: dict[str, Any] = {"repeats": repeats}
    for key in runs[0]:
        values = [run[key] for run in runs]
        result[key] = statistics.median(values)
        if key.endswith("seconds"):
            result[f"{key}_range"] = [min(values), max(values)]
    return result


def main() -> None:
    from benchmarks import report
    from benchmarks.contestants import WORK

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", help="run the works whose name contains this; keep the others")
    parser.add_argument("--contestants", nargs="+", help="run these alone; keep the others")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--table", action="store_true", help="only print the table of the results")
    options = parser.parse_args()
    results = read(RESULTS) or {"work": {}}
    if not options.table:
        use_data_beside()
        if "KITCHENSINKS_DATA" not in os.environ:
            sys.exit("Set KITCHENSINKS_DATA to the folder of the data sets, then run again.")
        for name, work in WORK.items():
            if options.only and options.only not in name:
                continue
            known = results["work"].get(name, {}) if options.contestants else {}
            results["work"][name] = {one: known[one] for one in work.makers if one in known}
            for contestant in options.contestants or work.makers:
                print(f"{name}: {contestant} ...", flush=True)
                repeats = work.repeats or options.repeats
                found = measure(name, contestant, repeats) | {"commit": commit()}
                results["work"][name][contestant] = found
            results["machine"] = machine()
            write(RESULTS, results)
    report.main()
    print(report.fits_table(results["work"]))


if __name__ == "__main__":
    main()
