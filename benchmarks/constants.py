"""What each constant of the law is good for: one changed at a time, on tables of the pool.

    python -m benchmarks.constants                 # those that are not in the results yet
    python -m benchmarks.constants --only BATCH_SHARE RATE
    python -m benchmarks.constants --report        # print the table alone

Every number of `kitchensinks.law.constants` is halved and doubled (counts to whole numbers, shares
to at most one), and small tables of the development half are fitted on one thread with nothing else
changed. Shown are the geometric means of error and processor time over those with the constant as
it is; nan where a fit with the changed constant cannot be. Needs the pool (KITCHENSINKS_DATA).
"""

import argparse
import warnings
from typing import Any

import numpy as np

from benchmarks.pool import geometric, listed, run
from benchmarks.store import FOLDER, read, write
from kitchensinks.law import constants

RESULTS = FOLDER / "constants.json"
# Small tables of the development half: some of each task.
TABLES = ("airfoil", "sick")
SEEDS = 1


def changes() -> dict[str, tuple[Any, Any]]:
    """The values that each constant is given in place of its own."""
    found = {}
    for name in dir(constants):
        value = getattr(constants, name)
        if name.isupper() and isinstance(value, int | float):
            half, double = value / 2, value * 2
            if isinstance(value, int):
                half, double = max(1, value // 2), 2 * value
            elif value < 1.0:
                double = min(double, 1.0)
            elif value < 2.0 and value != 1.5:
                # A factor of errors: nearer to one, and further from it.
                half, double = 1 + (value - 1) / 2, 1 + (value - 1) * 2
            found[name] = half, double
    return found


def measured() -> dict[str, dict[str, float]]:
    """Mean error and processor seconds of every table as the constants are now."""
    found = {}
    for table in TABLES:
        runs = [run(table, "kitchensinks", seed) for seed in range(SEEDS)]
        found[table] = {
            what: float(np.mean([one[what] for one in runs])) for what in ("error", "processor")
        }
    return found


def report(results: dict[str, Any]) -> str:
    """Markdown: a row for each constant."""
    base = results["as it is"]
    lines = [
        "| constant | value | error, halved | error, doubled | time, halved | time, doubled |",
        "|---|---|---|---|---|---|",
    ]
    for name in changes():
        cells = []
        for what in ("error", "processor"):
            for k in (0, 1):
                own = results.get(f"{name}|{k}")
                ratios = [own[t][what] / base[t][what] for t in TABLES] if own else []
                cells.append(f"{geometric(ratios):.3f}")
        lines.append(f"| {name} | {getattr(constants, name):g} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--report", action="store_true")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    assert set(TABLES) <= set(listed())
    results = read(RESULTS)
    if not given.report:
        if "as it is" not in results:
            measured()
            results["as it is"] = measured()
        for name, values in changes().items():
            if given.only and name not in given.only:
                continue
            own = getattr(constants, name)
            for k, value in enumerate(values):
                if f"{name}|{k}" not in results:
                    setattr(constants, name, value)
                    try:
                        results[f"{name}|{k}"] = measured()
                    except (ValueError, ArithmeticError) as error:
                        print(f"{name} = {value:g} cannot be: {error}", flush=True)
                        results[f"{name}|{k}"] = {}
                    finally:
                        setattr(constants, name, own)
                    write(RESULTS, results)
    print(report(results))


if __name__ == "__main__":
    main()
