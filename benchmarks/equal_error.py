"""The papers' method beside RBFSampler + RidgeClassifier in float32: the same K, the same error.

    python -m benchmarks.equal_error --before OLD/src   # an older version beside this one
    python -m benchmarks.equal_error --coretype SkylakeX   # other kernels of OpenBLAS, for all
    python -m benchmarks.report                         # the table into docs/benchmarks.md

Contestants and data are those of `benchmarks.contestants`, where `solver="auto"` chooses ours. Each
fit has a process of its own, warmed up on 2000 rows, and contestants take turns. Processor seconds
are compared beside those of the clock, because other work on the machine changes them least.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

from benchmarks.__main__ import machine
from benchmarks.store import FOLDER, read, write

HERE = Path(__file__).parent
RESULTS = FOLDER / "equal_error.json"
PEER = "RBFSampler + RidgeClassifier float32"
WORKS = {
    "adult, ridge": 3,
    "mnist, ridge, K = 5000": 3,
    "kddcup99, ridge": 3,
    "covtype, 7 classes, 100,000 rows": 3,
}


# Between a work and the kernels of OpenBLAS that it was run with, where those were chosen.
_BY = ", OPENBLAS_CORETYPE="


def once(work: str, contestant: str, path: str | None, coretype: str | None) -> dict[str, float]:
    """One fit in a process of its own, of the version below `path` where that is given."""
    environment = dict(os.environ)
    if path is not None:
        environment["PYTHONPATH"] = path
    if coretype is not None:
        environment["OPENBLAS_CORETYPE"] = coretype
    command = [sys.executable, "-m", "benchmarks.contestants", work, contestant]
    done = subprocess.run(
        command, capture_output=True, text=True, cwd=HERE.parent, env=environment, check=True
    )
    return dict(json.loads(done.stdout.strip().splitlines()[-1]))


def compare(work: str, rounds: int, before: str | None, coretype: str | None) -> dict[str, Any]:
    """Medians over rounds in which all take turns."""
    who: dict[str, tuple[str, str | None]] = {"now": ("kitchensinks", None), PEER: (PEER, None)}
    if before is not None:
        who["before"] = "kitchensinks", before
    runs: dict[str, list[dict[str, float]]] = {name: [] for name in who}
    for _ in range(rounds):
        for name, given in who.items():
            runs[name].append(once(work, *given, coretype))
    return {"rounds": rounds} | {
        name: {key: statistics.median(row[key] for row in rows) for key in rows[0]}
        for name, rows in runs.items()
    }


def table(results: dict[str, Any]) -> str:
    """Markdown: processor seconds of each, and what the peer takes for each of ours."""
    lines = [
        "| work | before, processor s | now | RBFSampler + RidgeClassifier float32 | "
        "× now (by the clock) | test errors, % |",
        "|---|---|---|---|---|---|",
    ]
    for work in (*WORKS, *sorted(key for key in results if _BY in key)):
        row = results.get(work)
        if row is None:
            continue
        now, peer = row["now"], row[PEER]
        before = f"{row['before']['fit_cpu_seconds']:.2f}" if "before" in row else "–"
        ratio, clock = (peer[key] / now[key] for key in ("fit_cpu_seconds", "fit_seconds"))
        lines.append(
            f"| {work} | {before} | {now['fit_cpu_seconds']:.2f} | {peer['fit_cpu_seconds']:.2f} | "
            f"{ratio:.2f} ({clock:.2f}) | {now['test_error_percent']:.2f}, "
            f"{peer['test_error_percent']:.2f} |"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", help="run the works whose name contains this; keep the others")
    parser.add_argument("--before", help="the folder src of an older version")
    parser.add_argument("--coretype", help="the kernels of OpenBLAS, in place of those it finds")
    options = parser.parse_args()
    results = read(RESULTS)
    for work, rounds in WORKS.items():
        if options.only is None or options.only in work:
            key = f"{work}{_BY}{options.coretype}" if options.coretype else work
            results[key] = compare(work, rounds, options.before, options.coretype)
            results["machine"] = machine()
            write(RESULTS, results)
    print(table(results))


if __name__ == "__main__":
    main()
