"""The estimators with nothing chosen beside boosted trees on the tables of the development pool.

    python -m benchmarks.pool                                      # what is not in the results yet
    python -m benchmarks.pool --half develop --seeds 1 --contestants kitchensinks --again
    python -m benchmarks.pool --report                             # print the tables alone
    python -m benchmarks.pool --picture docs/screens/pool.svg      # error against time

Three quarters of the rows are fitted, by seed, and the others tested. Errors are root mean squares
in percent of the targets' deviation, or percentages of wrong classes; the log loss is of
`predict_proba`. Trees get categories as such. Every fit has one thread. The tuned trees have the
best of up to 50 draws of their settings (`law_contestants.tune`), and their time is of the last fit
alone. Constants of the law may be
chosen on the half "develop" alone: every second table in the order of the pool's list; the other
half, "aside", is reported apart. Needs the pool (KITCHENSINKS_DATA).
"""

import argparse
import os
import time
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.law_contestants import tune
from benchmarks.store import FOLDER, read, write

RESULTS = FOLDER / "pool.json"
SEEDS = 5
OURS, PEER, TUNED = "kitchensinks", "LightGBM", "LightGBM tuned"


def listed() -> dict[str, tuple[str, str]]:
    """Task and target column of every table, in the order of the pool's own list."""
    text = (folder() / "README.md").read_text()
    rows = [line.strip("|").split("|") for line in text.splitlines() if line.startswith("| ")]
    cells = [[cell.strip() for cell in row] for row in rows]
    return {row[0]: (row[1], row[2].strip("`")) for row in cells if row[1].endswith("ion")}


def folder() -> Path:
    root = os.environ.get("KITCHENSINKS_DATA")
    if not root or not (Path(root) / "pool").is_dir():
        raise SystemExit("KITCHENSINKS_DATA must name the folder that holds the pool.")
    return Path(root) / "pool"


def half(name: str) -> str:
    """Whether constants may be chosen on a table."""
    return ("develop", "aside")[list(listed()).index(name) % 2]


def load(name: str) -> tuple[Any, np.ndarray]:
    """Columns and target; texts become categories."""
    import pandas as pd

    task, target = listed()[name]
    table = pd.read_parquet(folder() / f"{name}.parquet").dropna(subset=target)
    values = table.pop(target)
    for column in table:
        if not pd.api.types.is_numeric_dtype(table[column]) and table[column].dtype.kind != "M":
            table[column] = table[column].astype("category")
    return table, values.astype(str if task == "classification" else float).to_numpy()


def ours(effort: str) -> Callable[..., Any]:
    def make(task: str, seed: int) -> Any:
        import kitchensinks as ks

        kind = ks.KitchenSinkClassifier if task == "classification" else ks.KitchenSinkRegressor
        return kind(ks.Learned(effort=effort), random_state=seed, n_jobs=1)

    return make


def lightgbm(task: str, seed: int, **settings: Any) -> Any:
    import lightgbm

    kind = lightgbm.LGBMClassifier if task == "classification" else lightgbm.LGBMRegressor
    return kind(n_jobs=1, random_state=seed, verbose=-1, **settings)


def catboost(task: str, seed: int) -> Any:
    import catboost

    kind = catboost.CatBoostClassifier if task == "classification" else catboost.CatBoostRegressor
    return kind(thread_count=1, random_seed=seed, verbose=False, allow_writing_files=False)


CONTESTANTS: dict[str, Callable[..., Any]] = {
    OURS: ours("default"),
    f"{OURS}, quick": ours("quick"),
    f"{OURS}, thorough": ours("thorough"),
    PEER: lightgbm,
    TUNED: lightgbm,
    "CatBoost": catboost,
}


def prepared(contestant: str, table: Any) -> tuple[Any, dict[str, Any]]:
    """A table as a contestant takes it, and what its `fit` is told of categories."""
    if contestant != "CatBoost":
        return table, {}
    table = table.copy()
    named = [column for column in table if table[column].dtype.kind not in "iufb"]
    for column in named:
        table[column] = table[column].astype(object).where(table[column].notna(), "").astype(str)
    return table, {"cat_features": named}


def tuning(name: str) -> dict[str, Any]:
    """What `tune` chooses for LightGBM on the rows that seed 0 fits.

    The other seeds take the same settings. Some of their test rows were seen by the search, which
    is to the advantage of LightGBM.
    """
    from sklearn.model_selection import train_test_split

    rows, target = load(name)
    train, _, fitted, _ = train_test_split(rows, target, test_size=0.25, random_state=0)
    return tune(listed()[name][0], train, fitted)


def run(
    name: str, contestant: str, seed: int, settings: dict[str, Any] | None = None
) -> dict[str, float]:
    """Error in percent, log loss, and wall and processor seconds of fit and prediction."""
    from sklearn.metrics import log_loss
    from sklearn.model_selection import train_test_split

    task, _ = listed()[name]
    rows, target = load(name)
    rows, options = prepared(contestant, rows)
    train, test, fitted, truth = train_test_split(rows, target, test_size=0.25, random_state=seed)
    model = CONTESTANTS[contestant](task, seed, **(settings or {}))
    start, used = time.perf_counter(), time.process_time()
    model.fit(train, fitted, **options)
    found = {"fit": time.perf_counter() - start, "processor": time.process_time() - used}
    start = time.perf_counter()
    answers = np.asarray(model.predict(test)).ravel()
    found["predict"] = time.perf_counter() - start
    if task == "regression":
        found["error"] = 100 * float(np.sqrt(np.mean((answers - truth) ** 2)) / np.std(truth))
    else:
        found["error"] = 100 * float(np.mean(answers != truth))
        # A class that is not among the fitted rows has no chance.
        labels = sorted(set(target))
        chances = np.zeros((len(truth), len(labels)))
        chances[:, np.searchsorted(labels, model.classes_)] = model.predict_proba(test)
        found["log loss"] = float(log_loss(truth, chances, labels=labels))
    return found


def means(results: dict[str, Any], name: str, what: str, *contestants: str) -> list[float]:
    """Of each contestant, the mean over the seeds that all of them have run; NaN without any."""
    cells = [
        [results.get(f"{name}|{one}|{seed}", {}).get(what) for one in contestants]
        for seed in range(SEEDS)
    ]
    own = [cell for cell in cells if None not in cell]
    return np.mean(own, axis=0).tolist() if own else [float("nan")] * len(contestants)


def geometric(ratios: Iterable[float]) -> float:
    """The geometric mean of the ratios that are numbers; errors of zero count as a thousandth."""
    logs = np.log([ratio for ratio in ratios if np.isfinite(ratio) and ratio > 0])
    return float(np.exp(logs.mean())) if len(logs) else float("nan")


def ratio(results: dict[str, Any], name: str, one: str, other: str, what: str) -> float:
    least = 1e-2 if what == "error" else 1e-4
    own, theirs = np.maximum(means(results, name, what, one, other), least)
    return float(own / theirs)


def report(results: dict[str, Any]) -> str:
    """Markdown: each half's geometric means over LightGBM, then every table."""
    found = [one for one in CONTESTANTS if any(f"|{one}|" in key for key in results)]
    lines = [
        "| half | contestant | error | log loss | processor s | ahead |",
        "|---|---|---|---|---|---|",
    ]
    for part in ("develop", "aside"):
        names = [name for name in listed() if half(name) == part]
        for one in found:
            ratios = [ratio(results, name, one, PEER, "error") for name in names]
            cells = [f"{geometric(ratios):.3f}"]
            for what in ("log loss", "processor"):
                own = (ratio(results, name, one, PEER, what) for name in names)
                cells.append(f"{geometric(own):.3f}")
            ahead = sum(value < 1 for value in ratios)
            known = sum(np.isfinite(value) for value in ratios)
            lines.append(f"| {part} | {one} | {' | '.join(cells)} | {ahead} of {known} |")
    lines += ["", f"| table | {' | '.join(found)} |", f"|---|{'---|' * len(found)}"]
    for name in listed():
        cells = [
            "{:.2f} ({:.2f} s)".format(
                *(means(results, name, what, one)[0] for what in ("error", "processor"))
            )
            for one in found
        ]
        lines.append(f"| {name} ({half(name)}) | {' | '.join(cells)} |")
    return "\n".join(lines)


def picture(results: dict[str, Any], path: Path) -> None:
    """Geometric means of error and processor time over LightGBM's, over the tables on which it has
    an error, as a plot."""
    import matplotlib

    matplotlib.use("agg")
    matplotlib.rcParams["svg.hashsalt"] = "pool"
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
    names = [name for name in listed() if means(results, name, "error", PEER)[0] > 0.0]
    for one in CONTESTANTS:
        error, seconds = (
            [ratio(results, name, one, PEER, what) for name in names]
            for what in ("error", "processor")
        )
        if np.isfinite(error).all():
            mine = one.startswith(OURS)
            place = geometric(seconds), geometric(error)
            axes.plot(*place, "o" if mine else "s", color="tab:blue" if mine else "tab:gray", ms=9)
            axes.annotate(one, place, xytext=(8, 6), textcoords="offset points")
    axes.set_xscale("log")
    axes.set_xlabel("processor time of fit, over LightGBM's")
    axes.set_ylabel("error, over LightGBM's")
    axes.set_title(f"{len(names)} tables, nothing chosen, geometric means")
    axes.margins(x=0.25, y=0.25)
    figure.savefig(path, metadata={"Date": None})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--half", choices=("develop", "aside"))
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--contestants", nargs="*", default=list(CONTESTANTS))
    parser.add_argument("--tables", nargs="*")
    parser.add_argument("--again", action="store_true", help="run what is there already anew")
    parser.add_argument("--report", action="store_true", help="print the tables alone")
    parser.add_argument("--picture", type=Path, help="write a plot of error against time")
    parser.add_argument("--results", type=Path, default=RESULTS)
    given = parser.parse_args()
    results = read(given.results)
    warnings.simplefilter("ignore")
    names = [name for name in given.tables or listed() if given.half in (None, half(name))]
    cells = [(n, c, s) for s in range(given.seeds) for n in names for c in given.contestants]
    if given.picture:
        picture(results, given.picture)
    for cell in [] if given.report or given.picture else cells:
        key = "|".join(map(str, cell))
        if key not in results or given.again:
            found = f"{cell[0]}|{TUNED}|tuning"
            if cell[1] == TUNED and found not in results:
                results[found] = tuning(cell[0])
            settings = results[found]["settings"] if cell[1] == TUNED else {}
            results[key] = run(*cell, settings)
            print(key, {what: round(value, 4) for what, value in results[key].items()}, flush=True)
            write(given.results, results)
    print(report(results))


if __name__ == "__main__":
    main()
