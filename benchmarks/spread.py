"""How much the error of a fit with nothing chosen depends on its seed, on one split.

    python -m benchmarks.spread            # what is not in the results yet
    python -m benchmarks.spread --report   # print the table alone

Six seeds of a fit on the same rows: the first split by `learned_law.split`, or the official one.
"Before" are six seeds of the version that had no members (one descent for each kernel), each on one
split of the same table.
"""

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.law_contestants import ours
from benchmarks.learned_law import split

RESULTS = Path(__file__).parent / "results" / "spread.json"
SEEDS = 6
BEFORE = {
    "cpu_act": (12.3, 12.2, 12.0, 12.3, 12.1, 12.5),
    "adult": (12.60, 12.53, 12.93, 12.66, 12.65, 13.31),
    "house_16H": (56.3, 57.1, 56.3, 58.7, 58.0, 57.0),
}


def run(name: str, seed: int) -> float:
    """The error in percent of the fit with this seed on the rows of seed 0."""
    data = split(name, 0)
    model = ours(data.task, seed, None, None)
    model.set_params(n_jobs=1).fit(data.train, data.target)
    return data.error(model.predict(data.test))


def table(results: dict[str, Any]) -> str:
    """Markdown: mean and deviation over the seeds, now and before."""
    lines = ["| set | six seeds | mean | deviation | before: mean | deviation | ratio |"]
    lines.append("|---|---|---|---|---|---|---|")
    for name, before in BEFORE.items():
        own = [results[f"{name}|{k}"] for k in range(SEEDS) if f"{name}|{k}" in results]
        if len(own) < 2:
            continue
        now, then = np.std(own, ddof=1), np.std(before, ddof=1)
        errors = ", ".join(f"{error:.2f}" for error in own)
        lines.append(
            f"| {name} | {errors} | {np.mean(own):.2f} | {now:.2f} | {np.mean(before):.2f} | "
            f"{then:.2f} | {now / then:.2f} |"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--report", action="store_true", help="print the table alone")
    given = parser.parse_args()
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    for key in [] if given.report else [f"{name}|{k}" for name in BEFORE for k in range(SEEDS)]:
        if key not in results:
            name, seed = key.split("|")
            results[key] = run(name, int(seed))
            RESULTS.write_text(json.dumps(results, indent=1) + "\n")
    print(table(results))


if __name__ == "__main__":
    main()
