"""What each constant of the law is good for: one is changed at a time, and laws are learned again.

    python -m benchmarks.constants                 # those that are not in the results yet
    python -m benchmarks.constants --only BATCH_SHARE RATE
    python -m benchmarks.constants --report        # print the table alone

Every number of `kitchensinks.law.constants` is halved and doubled (counts to whole numbers, shares
to at most one, factors of errors half and twice as far from one) and everything else is left as it
is. The tables are small ones of the development half of the pool; those of the sections on few
rows, on directions and on lines are tables in which these are at work (`CASES`). Sections that name
a test in place of this script are not run. Shown are the geometric means of error and processor
time over those with the constant as it is; "–" where a fit with the changed constant cannot be.
Fits have one thread. Needs the pool (KITCHENSINKS_DATA).
"""

import argparse
import re
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import later, pool
from benchmarks.store import FOLDER, read, write
from kitchensinks.law import constants

RESULTS = FOLDER / "constants.json"
HERE = "benchmarks.constants"
# What a section is shown on; those that are not named have `USUAL`. A number after a table is how
# many of its rows are fitted.
USUAL = ("airfoil", "sick", "delta_ailerons")
CASES = {
    "the second look at what came close": (*USUAL, "magic"),
    "few rows, or very many columns": ("airfoil 90", "airfoil 300", "sick 300", "magic 450"),
    "directions of wide tables": ("dna",),
    "a line that goes on outside of the range": ("line", "trend", "seasons"),
}
HEADING = re.compile(r"^# -- (.+?) -+$")


def sections() -> Iterator[tuple[str, str, list[str]]]:
    """Every section of the constants: its title, the script or test that shows it, its names."""
    title, shown, names = "", "", []
    for line in Path(constants.__file__).read_text().splitlines():
        if heading := HEADING.match(line):
            if title:
                yield title, shown, names
            title, shown, names = heading[1], "", []
        elif line.startswith("# Shown by "):
            shown = line.removeprefix("# Shown by ").strip(".`").split("`")[0]
        elif found := re.match(r"^([A-Z_]+) = ", line):
            names.append(found[1])
    yield title, shown, names


def changed(name: str) -> tuple[Any, Any] | None:
    """What a constant is in place of its own value: two numbers, or None if it is no number."""
    value = getattr(constants, name)
    if not isinstance(value, int | float):
        return None
    if isinstance(value, int):
        return max(1, value // 2), 2 * value
    if value < 1.0:
        return value / 2, min(2 * value, 1.0)
    if value < 2.0 and value != constants.CLEARLY:
        return 1 + (value - 1) / 2, 1 + (value - 1) * 2
    return value / 2, value * 2


def measured(case: str) -> dict[str, float]:
    """Error and processor seconds of one case as the constants are now."""
    import kitchensinks as ks

    if hasattr(later, case):
        rows, targets = getattr(later, case)()
        task, size = "regression", int(later.SHARE * len(rows))
        order = np.arange(len(rows))
    else:
        name, _, count = case.partition(" ")
        task, (rows, targets) = pool.listed()[name][0], pool.load(name)
        order = np.random.default_rng(0).permutation(len(rows))
        size = int(count) if count else 3 * len(rows) // 4
    fitted, tested = order[:size], order[size:]
    kind = ks.KitchenSinkRegressor if task == "regression" else ks.KitchenSinkClassifier
    used = time.process_time()
    model = kind(random_state=0, n_jobs=1).fit(rows.iloc[fitted], targets[fitted])
    used = time.process_time() - used
    answers, truth = model.predict(rows.iloc[tested]), targets[tested]
    if task == "regression":
        error = float(np.sqrt(np.mean((answers - truth) ** 2)) / np.std(truth))
    else:
        # Half a row more, so that ratios exist where nothing is wrong.
        error = float((np.count_nonzero(answers != truth) + 0.5) / len(truth))
    return {"error": 100 * error, "processor": used}


def report(results: dict[str, Any]) -> str:
    """Markdown: the constants of each section, with what halving and doubling them does."""
    lines = []
    for title, shown, names in sections():
        lines += ["", f"### {title[0].upper()}{title[1:]}", ""]
        if shown != HERE:
            lines.append(f"Shown by `{shown}`.")
            continue
        lines += [
            f"On {', '.join(CASES.get(title, USUAL))}.",
            "",
            "| constant | value | error, halved | error, doubled | time, halved | time, doubled |",
            "|---|---|---|---|---|---|",
        ]
        for name in names:
            if changed(name) is None:
                continue
            cells = [
                ratio(results, title, name, k, what)
                for what in ("error", "processor")
                for k in (0, 1)
            ]
            lines.append(f"| {name} | {getattr(constants, name):g} | {' | '.join(cells)} |")
    return "\n".join(lines[1:])


def ratio(results: dict[str, Any], title: str, name: str, k: int, what: str) -> str:
    """A cell of the report."""
    cases = CASES.get(title, USUAL)
    own = [results.get(f"{name}|{k}|{case}", {}).get(what) for case in cases]
    if None in own:
        return "–"
    base = [results[f"as it is|{case}"][what] for case in cases]
    found = pool.geometric(a / b for a, b in zip(own, base, strict=True))
    return "1" if what == "error" and own == base else f"{found:.3f}"


def run(results: dict[str, Any], only: list[str] | None) -> None:
    """Measure what is missing, and write after every fit."""
    for title, shown, names in sections():
        if shown != HERE:
            continue
        cases = CASES.get(title, USUAL)
        for case in cases:
            if f"as it is|{case}" not in results:
                measured(case)
                results[f"as it is|{case}"] = measured(case)
        for name in names:
            if (values := changed(name)) is None or (only and name not in only):
                continue
            own = getattr(constants, name)
            for k, value in enumerate(values):
                setattr(constants, name, value)
                for case in cases:
                    if f"{name}|{k}|{case}" in results:
                        continue
                    try:
                        results[f"{name}|{k}|{case}"] = measured(case)
                    except (ValueError, ArithmeticError) as error:
                        print(f"{name} = {value:g} on {case} cannot be: {error}", flush=True)
                        results[f"{name}|{k}|{case}"] = {}
                    write(RESULTS, results)
                setattr(constants, name, own)
            print(name, *(ratio(results, title, name, k, "error") for k in (0, 1)), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--report", action="store_true")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    results = read(RESULTS)
    if not given.report:
        run(results, given.only)
    print(report(results))


if __name__ == "__main__":
    main()
