"""Fits whose address space is limited: run by test_budgets.py as a process of its own.

budget_job.py FOLDER SOURCE:SOLVER… imports and compiles once, then forks a process for each case.
The process may take the budget and a fixed allowance beyond what it has when its rows are at hand
(RLIMIT_AS); an allocation beyond that fails. Prints for each case what it took at most, as JSON.
"""

import json
import os
import resource
import sys
import traceback
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import sparse

import kitchensinks as ks

BUDGET = 60_000_000
# Beyond the budget: record batches of a file that are decoded, draws, and pools of allocators.
ALLOWANCE = 16_000_000
N_ROWS, N_INPUTS = 40_000, 5
# Features of 40,000 rows are 96 MB in float32: they are not kept.
K = 600

SOURCES = ["array", "float64", "sparse", "frame", "parquet", "csv", "csv.gz", "npy", "svm"]


def options(name):
    """The estimator's parameters for a kind of fit."""
    budget = f"{BUDGET // 10**6}MB"

    def solver(one="auto", **more):
        return ks.Solver(one, memory_budget=budget, **{"max_iter": 4, **more})

    plain = {"basis": ks.Fourier(), "n_components": K}
    return {
        "direct": {**plain, "solver": solver()},
        "direct in a ball": {**plain, "solver": solver(), "constraint": ks.SupBall(50.0)},
        "conjugate": {**plain, "solver": solver("conjugate"), "alpha": 1e-4},
        "blocks": {**plain, "n_components": 2500, "solver": solver("blocks"), "alpha": 1e-2},
        "stochastic": {**plain, "solver": solver("stochastic", max_iter=1), "alpha": 1e-4},
        "beyond a Gram": {**plain, "n_components": 2500, "solver": solver(max_iter=1)},
        "gram": {**plain, "loss": "huber", "solver": solver(), "alpha": 1e-3},
        "gram, kinked": {**plain, "loss": "quantile", "solver": solver(), "alpha": 1e-3},
        "coordinates": {
            **plain,
            "n_components": 100,
            "loss": "quantile",
            "solver": solver(),
            "alpha": 1e-2,
        },
        "sparse": {"basis": ks.Binning(), "n_components": 30, "solver": solver(), "alpha": 1e-3},
        "sparse, kinked": {
            "basis": ks.Binning(),
            "n_components": 30,
            "loss": "quantile",
            "solver": solver(),
            "alpha": 1e-3,
        },
        "growth": {**plain, "n_components": "auto", "solver": solver()},
        "learned": {"basis": ks.Learned(effort="quick"), "solver": solver()},
    }[name]


SOLVERS = [
    "direct",
    "direct in a ball",
    "conjugate",
    "blocks",
    "stochastic",
    "beyond a Gram",
    "gram",
    "gram, kinked",
    "coordinates",
    "sparse",
    "sparse, kinked",
    "growth",
    "learned",
]


def data(n_rows):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(n_rows, N_INPUTS)).astype(np.float32).round(4)
    rows[rng.random(rows.shape) < 0.3] = 0.0
    targets = np.sign(rows[:, 0]) * rows[:, 1] + 0.1 * rng.normal(size=n_rows)
    return rows, targets


def write(folder, n_rows):
    rows, targets = data(n_rows)
    frame = pd.DataFrame(rows, columns=list("abcde"))
    frame.to_parquet(folder / "rows.parquet", row_group_size=5000)
    frame.to_csv(folder / "rows.csv", index=False)
    frame.to_csv(folder / "rows.csv.gz", index=False)
    np.save(folder / "rows.npy", rows)
    from sklearn.datasets import dump_svmlight_file

    dump_svmlight_file(rows, targets, str(folder / "rows.svm"), zero_based=False)


def opened(kind, folder, n_rows):
    """Rows and targets as a source gives them."""
    rows, targets = data(n_rows)
    if kind == "array":
        return rows, targets
    if kind == "float64":
        return rows.astype(np.float64), targets
    if kind == "sparse":
        return sparse.csr_array(rows), targets
    if kind == "frame":
        return pd.DataFrame(rows, columns=list("abcde")), targets
    table = ks.open_table(folder / f"rows.{kind}")
    exclude = ["target"] if kind == "svm" else []
    return ks.Rows(table, ks.Columns.learn(table, exclude=exclude)), targets


def fitted(kind, name, folder, n_rows):
    rows, targets = opened(kind, folder, n_rows)
    model = ks.KitchenSinkRegressor(
        **options(name), n_jobs=1, standardize=kind != "sparse", random_state=0
    )
    return model, rows, targets


def address_space():
    return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()


def most_address_space():
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmPeak:"))


def case(kind, name, folder):
    """One fit and a prediction within the limit; what they took at most."""
    model, rows, targets = fitted(kind, name, folder, N_ROWS)
    if hasattr(rows, "table"):
        # An index of a text file is made once, and is part of its opening.
        _ = rows.table.n_rows
    before = address_space()
    limit = before + BUDGET + ALLOWANCE
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    model.fit(rows, targets)
    assert np.isfinite(model.predict(rows)).all()
    return most_address_space() - before, str(model.plan_).split(" ")[0]


def main():
    warnings.simplefilter("ignore")
    folder = Path(sys.argv[1])
    cases = [one.split(":") for one in sys.argv[2:]]
    small = folder / "small"
    small.mkdir()
    write(small, 700)
    write(folder, N_ROWS)
    # Compiled and imported once, by fits of few rows.
    for kind, name in cases:
        model, rows, targets = fitted(kind, name, small, 700)
        if name != "growth":
            model.fit(rows, targets).predict(rows)
    found = {}
    for kind, name in cases:
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                answer = case(kind, name, folder)
            except BaseException:
                answer = traceback.format_exc()[-1500:]
            os.write(writing, json.dumps(answer).encode())
            os._exit(0)
        os.close(writing)
        with os.fdopen(reading) as pipe:
            text = pipe.read()
        os.waitpid(child, 0)
        found[f"{kind}:{name}"] = json.loads(text) if text else "ended without a word"
    print(json.dumps(found))


if __name__ == "__main__":
    main()
