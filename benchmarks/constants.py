"""What each constant of the law is good for: one is changed at a time, and laws are learned again.

    python -m benchmarks.constants                 # those that are not in the results yet
    python -m benchmarks.constants --only BATCH_SHARE RATE
    python -m benchmarks.constants --report        # print the table alone
    python -m benchmarks.constants --tests         # those whose change no test notices

Every number of `kitchensinks.law.constants` is halved and doubled (counts to whole numbers, shares
to at most one, factors of errors half and twice as far from one) and everything else is left as it
is. Each section has tables on which its constants are at work (`CASES`), and some constants have
more (`ALSO`). Shown are the geometric means of error and processor time over those of a fit with
the constant as it is, shortly before or after it; "1" where no error has changed, "–" where a fit
with the changed constant cannot be. Fits have one thread. Needs the pool and the sets of the papers
(KITCHENSINKS_DATA).

A section, or a part of one, may name a test in place of this script: it holds for the constants
below, and the test fails where one of them is halved or doubled. `--tests` runs them so.
"""

import argparse
import json
import re
import time
import warnings
from collections.abc import Iterator
from contextlib import redirect_stdout
from functools import cache
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import numpy as np
import pandas as pd
import pytest

import kitchensinks as ks
from benchmarks import later, pool
from benchmarks.store import FOLDER, read
from kitchensinks.law import constants
from kitchensinks.papers import datasets

RESULTS = FOLDER / "constants.json"
HERE, ROOT = "benchmarks.constants", Path(__file__).parents[1]
MOST_TESTED = 10_000
# What a section is shown on; those that are not named have `USUAL`. A number after a table is how
# many of its rows are fitted, and "quick" is an effort, whose first trials have fewer rows.
USUAL = ("airfoil", "sick 1500")
WIDE = ("phoneme 1500",)
CASES = {
    "the pool of rows, and those held out": ("airfoil", "sick", "delta_ailerons 2000"),
    "few rows, or very many columns": ("airfoil 90", "airfoil 300", "sick 300", "magic 450"),
    "directions of wide tables": WIDE,
    "trials and last fits of wide tables": WIDE,
    "a line that goes on outside of the range": ("line", "trend", "seasons"),
}
# Further tables of single constants, which are not at work on those of their section.
LARGE, LARGER = "krkopt 9000 quick", "covtype-binary 60000"
# So many rows that trees are grown on a part of them.
GROWN = "krkopt 21000"
ALSO = {
    "POOL": LARGER,
    "MOST_HELD": LARGER,
    "MANY_MORE": LARGE,
    "FEW_ROWS": "airfoil",
    "DENSE_STEP": "airfoil 300",
    "DENSE_RIDGES": "airfoil 300",
    "TRIES": LARGE,
    "CLEARLY": "optdigits",
    "SCREENED": "isolet 300",
    "WIDE": "optdigits",
    "MOST_TURNED": "isolet 800",
    "SLOPE_FITTED": "phoneme 1500 quick",
    "SLOPE_ROWS": "isolet 4000 quick",
    "TRIAL_BINS": "kin40k 10000 quick",
    "MOST_GAIN": "kin40k 10000 quick",
    "AGAIN_PRODUCTS": "kin40k 10000 quick",
    "GROWTH": LARGE,
    "TREE_LEAVES": GROWN,
    "TREE_ROWS": GROWN,
    "GROWN_ENTRIES": GROWN,
    "TRIAL_FEATURES": "optdigits",
    "RIDGE_FEATURES": "optdigits",
    "OUTPUTS_POWER": "krkopt 3000 quick",
}
# How many times each case was used, and what it had with the constants as they are; for how many
# constants that serves, because the speed of a machine changes.
BASES: dict[str, tuple[int, tuple[float, float] | None]] = {}
SERVED = 3
HEADING = re.compile(r"^# -- (.+?) -+$")


def sections() -> Iterator[tuple[str, str, list[str]]]:
    """Every section of the constants, or part of one: its title, the script or test that shows it,
    its names. A line `Shown by …` begins a part."""
    title, shown, names = "", "", []
    for line in Path(constants.__file__).read_text("utf-8").splitlines():
        heading, test = HEADING.match(line), line.removeprefix("# Shown by ")
        if names and (heading or test != line):
            yield title, shown, names
            names = []
        if heading:
            title, shown = heading[1], ""
        elif test != line:
            shown = test.strip(".`")
        elif found := re.match(r"^([A-Z_]+) = ", line):
            names.append(found[1])
    yield title, shown, names


def cases_of(title: str, name: str) -> tuple[str, ...]:
    """What a constant of a section is shown on."""
    return CASES.get(title, USUAL) + ((ALSO[name],) if name in ALSO else ())


def changed(name: str) -> tuple[Any, Any] | None:
    """What a constant is in place of its own value: half and twice each number, or None if there is
    none."""
    value = getattr(constants, name)
    if isinstance(value, tuple):
        return tuple(one / 2 for one in value), tuple(2 * one for one in value)
    if not isinstance(value, int | float):
        return None
    if isinstance(value, int):
        return max(1, value // 2), 2 * value
    if value < 1.0:
        return value / 2, min(2 * value, 1.0)
    if value < 2.0 and name not in ("CLEARLY", "SECONDS"):
        return 1 + (value - 1) / 2, 1 + (value - 1) * 2
    return value / 2, value * 2


class Case(NamedTuple):
    """Rows to fit and to test, and how."""

    task: str
    rows: Any
    targets: np.ndarray
    tested: Any
    truth: np.ndarray
    learned: ks.Learned


@cache
def case_of(text: str) -> Case:
    """The rows of a case: of a made table of `benchmarks.later` in their order, of a table of the
    pool or a set of the papers in random order. At most `MOST_TESTED` others are tested."""
    quick = text.endswith(" quick")
    name, _, count = text.removesuffix(" quick").partition(" ")
    if name in CASES["a line that goes on outside of the range"]:
        task, (rows, targets) = "regression", later.TABLES[name]()
        order = np.arange(len(rows))
    else:
        if name in pool.listed():
            task, (rows, targets) = pool.listed()[name][0], pool.load(name)
        else:
            data = datasets.load(name)
            task, rows, targets = data.task, pd.DataFrame(data.X_train), np.asarray(data.y_train)
        order = np.random.default_rng(0).permutation(len(rows))
    size = int(count) if count else 3 * len(rows) // 4
    fitted, tested = order[:size], order[size : size + MOST_TESTED]
    learned = ks.Learned(effort="quick" if quick else "default")
    split = rows.iloc[fitted], targets[fitted], rows.iloc[tested], targets[tested]
    return Case(task, *split, learned)


def measured(text: str) -> tuple[float, float]:
    """Error in percent and processor seconds of one case as the constants are now."""
    case = case_of(text)
    kind = ks.KitchenSinkRegressor if case.task == "regression" else ks.KitchenSinkClassifier
    model = kind(case.learned, random_state=0, n_jobs=1)
    begun = time.process_time()
    model.fit(case.rows, case.targets)
    used = time.process_time() - begun
    answers = model.predict(case.tested)
    if case.task == "regression":
        error = np.sqrt(np.mean((answers - case.truth) ** 2)) / np.std(case.truth)
    else:
        # Half a row more, so that ratios exist where nothing is wrong.
        error = (np.count_nonzero(answers != case.truth) + 0.5) / len(case.truth)
    return float(f"{100 * error:.6g}"), round(used, 2)


def report(results: dict[str, Any]) -> str:
    """Markdown: the constants of each section, with what halving and doubling them does."""
    lines: list[str] = []
    for title, shown, names in sections():
        heading = f"### {title[0].upper()}{title[1:]}"
        lines += [""] if heading in lines else ["", heading, ""]
        if shown != HERE:
            lines.append(f"Shown by `{shown}`: {', '.join(f'`{name}`' for name in names)}.")
            continue
        also = "".join(f"; `{name}` on {ALSO[name]} too" for name in names if name in ALSO)
        lines += [
            f"On {', '.join(CASES.get(title, USUAL))}{also}.",
            "",
            "| constant | value | error, halved | error, doubled | time, halved | time, doubled |",
            "|---|---|---|---|---|---|",
        ]
        for name in names:
            if changed(name) is None:
                continue
            cells = [ratio(results, title, name, k, what) for what in (0, 1) for k in (0, 2)]
            lines.append(
                f"| {name} | {in_digits(getattr(constants, name))} | {' | '.join(cells)} |"
            )
    return "\n".join(lines[1:])


def in_digits(value: Any) -> str:
    """A number, or several, with four digits."""
    return ", ".join(f"{one:.4g}" for one in (value if isinstance(value, tuple) else (value,)))


def ratio(results: dict[str, Any], title: str, name: str, k: int, what: int) -> str:
    """A cell of the report: of errors (0) or times (1)."""
    runs = [results.get(name, {}).get(case) for case in cases_of(title, name)]
    pairs = [(own[k][what], own[1][what]) for own in runs if own and own[k]]
    if len(pairs) < len(runs):
        return "–"
    if what == 0 and all(a == b for a, b in pairs):
        return "1"
    return f"{pool.geometric(a / b for a, b in pairs):.{2 if what else 3}f}"


def save(results: dict[str, Any]) -> None:
    """One line for each constant."""
    lines = [f"{json.dumps(name)}: {json.dumps(cells)}" for name, cells in results.items()]
    RESULTS.write_text("{\n" + ",\n".join(lines) + "\n}\n")


def in_turn(name: str, case: str) -> list[tuple[float, float] | None]:
    """Error and time of a case with a constant halved, as it is, and doubled.

    The fit with the constant as it is serves the next constants too.
    """
    own, found = getattr(constants, name), []
    halved, doubled = changed(name) or (own, own)
    uses, base = BASES.get(case, (0, None))
    for value in (halved, own, doubled):
        if value == own and uses % SERVED:
            found.append(base)
            continue
        setattr(constants, name, value)
        try:
            found.append(measured(case))
        except (ValueError, ArithmeticError) as error:
            print(f"{name} = {in_digits(value)} on {case} cannot be: {error}", flush=True)
            found.append(None)
        finally:
            setattr(constants, name, own)
    BASES[case] = uses + 1, found[1]
    return found


def run(results: dict[str, Any], only: list[str] | None) -> None:
    """Measure what is missing, and write after every case."""
    measured(USUAL[0])
    for title, shown, names in sections():
        for name in names:
            if shown != HERE or changed(name) is None or (only and name not in only):
                continue
            cells = results.setdefault(name, {})
            for case in cases_of(title, name):
                if case not in cells:
                    cells[case] = in_turn(name, case)
                    save(results)
            shares = [ratio(results, title, name, k, what) for what in (0, 1) for k in (0, 2)]
            print(name, *shares, flush=True)


def passes(test: str) -> bool:
    """Whether a test passes with the constants as they are now."""
    with redirect_stdout(StringIO()):
        code = pytest.main(["-x", "-q", "-n", "0", "-m", "not slow", str(ROOT / test)])
    if code not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
        raise RuntimeError(f"{test} cannot be run: {code!r}")
    return code == pytest.ExitCode.OK


def unnoticed(only: list[str] | None) -> Iterator[str]:
    """The constants with a value that the test which shows them does not notice."""
    seen: set[str] = set()
    for _, shown, names in sections():
        names = [name for name in names if shown != HERE and (not only or name in only)]
        if names and shown not in seen and not passes(shown):
            raise RuntimeError(f"{shown} fails with the constants as they are")
        seen.update([shown] if names else [])
        for name in names:
            for value in changed(name) or ():
                with mock.patch.object(constants, name, value):
                    if passes(shown):
                        yield f"{name} = {in_digits(value)}: {shown} does not fail"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--report", action="store_true")
    parser.add_argument("--tests", action="store_true")
    given = parser.parse_args()
    if given.tests:
        for line in unnoticed(given.only):
            print(line, flush=True)
        return
    warnings.simplefilter("ignore")
    results = read(RESULTS)
    if not given.report:
        run(results, given.only)
    print(report(results))


if __name__ == "__main__":
    main()
