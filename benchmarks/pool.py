"""The estimators with nothing chosen beside boosted trees on the tables of the development pool.

    python -m benchmarks.pool                                      # what is not in the results yet
    python -m benchmarks.pool --half develop --seeds 1 --contestants kitchensinks --again
    python -m benchmarks.pool --report                             # print the tables alone
    python -m benchmarks.pool --picture docs/screens/pool.svg      # error against time
    python -m benchmarks.pool --contestants xRFM RealMLP --half small --seeds 1

Three quarters of the rows are fitted, by seed, and the others tested. Errors are root mean squares
in percent of the targets' deviation, or percentages of wrong classes; the log loss is of
`predict_proba`. Trees get categories as such. Every fit has one thread. The tuned trees have the
best of up to 50 draws of their settings (`law_contestants.tune`), and their time is of the last fit
alone. Constants of the law may be
chosen on the half "develop" alone: every second table in the order of the pool's list; the other
half, "aside", is reported apart. Needs the pool (KITCHENSINKS_DATA).

xRFM and RealMLP are those of the package pytabkit with its defaults, on the processor. They need
torch, and a run of theirs is given up after 10 minutes of processor time. "small" is the half of
the tables that have the fewest rows. Missing numbers are medians for them.
"""

import argparse
import os
import signal
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
# Every second table in the order of the pool's list.
ASIDE = frozenset(
    [
        "bank32nh",
        "puma32H",
        "delta_elevators",
        "visualizing_soil",
        "space_ga",
        "keggundirected",
        "skillcraft",
        "tamielectric",
        "fars",
        "pendigits",
        "spambase",
        "coil2000",
        "twonorm",
        "churn",
        "segmentation",
        "nursery",
        "kr_vs_kp",
        "ames",
        "lending_club",
    ]
)
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
    return "aside" if name in ASIDE else "develop"


def small() -> list[str]:
    """The half of the tables with the fewest rows."""
    import pyarrow.parquet

    files = {name: folder() / f"{name}.parquet" for name in listed()}
    rows = {name: pyarrow.parquet.read_metadata(files[name]).num_rows for name in files}
    return sorted(rows, key=rows.__getitem__)[: len(rows) // 2]


def stop(*_: Any) -> None:
    raise TimeoutError


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


def split(name: str, seed: int) -> list[Any]:
    """Fitted and tested rows, and the targets of both: three quarters and a quarter by seed."""
    from sklearn.model_selection import train_test_split

    return list(train_test_split(*load(name), test_size=0.25, random_state=seed))


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


def of_pytabkit(kind: str) -> Callable[..., Any]:
    def make(task: str, seed: int) -> Any:
        import pytabkit

        which = "Classifier" if task == "classification" else "Regressor"
        return getattr(pytabkit, f"{kind}_{which}")(device="cpu", random_state=seed, n_threads=1)

    return make


CONTESTANTS: dict[str, Callable[..., Any]] = {
    OURS: ours("default"),
    f"{OURS}, quick": ours("quick"),
    f"{OURS}, thorough": ours("thorough"),
    PEER: lightgbm,
    TUNED: lightgbm,
    "CatBoost": catboost,
}
# Those that need packages which the others do not.
LIMITED: dict[str, Callable[..., Any]] = {
    "xRFM": of_pytabkit("XRFM_D"),
    "RealMLP": of_pytabkit("RealMLP_TD"),
}
LIMIT = 600


def prepared(contestant: str, table: Any) -> tuple[Any, dict[str, Any]]:
    """A table as a contestant takes it, and what its `fit` is told of categories."""
    if contestant in LIMITED:
        numbers = table.select_dtypes("number").astype(float)
        # A column without any number has no median.
        return table.assign(**numbers.fillna(numbers.median()).fillna(0.0)), {}
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
    train, _, fitted, _ = split(name, 0)
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
    model = (CONTESTANTS | LIMITED)[contestant](task, seed, **(settings or {}))
    start, used = time.perf_counter(), time.process_time()
    try:
        signal.setitimer(signal.ITIMER_PROF, LIMIT if contestant in LIMITED else 0)
        model.fit(train, fitted, **options)
    except TimeoutError:
        return {"given up": LIMIT}
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
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


def value(results: dict[str, Any], name: str, one: str, seed: int, what: str) -> float | None:
    """What a contestant has; processor seconds are counted in those of LightGBM's defaults on the
    same machine: a cell keeps them where LightGBM was run again on another one."""
    found = results.get(f"{name}|{one}|{seed}", {})
    if what != "processor" or what not in found:
        return found.get(what)
    peer = found.get(PEER) or results.get(f"{name}|{PEER}|{seed}", {}).get(what)
    return None if peer is None else float(found[what] / peer)


def means(results: dict[str, Any], name: str, what: str, *contestants: str) -> list[float]:
    """Of each contestant, the mean over the seeds that all of them have run; NaN without any."""
    cells = [
        [value(results, name, one, seed, what) for one in contestants] for seed in range(SEEDS)
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


def named(results: dict[str, Any]) -> list[str]:
    """The tables that have results."""
    return list(dict.fromkeys(key.split("|")[0] for key in results))


def splits(results: dict[str, Any], *contestants: str) -> str:
    """How many splits all of them have run on a table, "2" or "1 to 5"."""
    counts = [
        sum(all(f"{name}|{one}|{seed}" in results for one in contestants) for seed in range(SEEDS))
        for name in named(results)
    ]
    counts = [count for count in counts if count]
    least, most = min(counts), max(counts)
    return f"{most}" if least == most else f"{least} to {most}"


def summary(results: dict[str, Any]) -> str:
    """Markdown: ours against each of the others, over the splits that both have run."""
    lines = [
        "| ours | against | splits | ahead on | of those set aside | error over theirs, geometric "
        "mean (median) | the same, set aside | log loss at or below | processor time over theirs |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for own in (OURS, f"{OURS}, quick"):
        for other in (PEER, TUNED, "CatBoost", *LIMITED):
            ratios = {name: ratio(results, name, own, other, "error") for name in named(results)}
            ratios = {name: value for name, value in ratios.items() if np.isfinite(value)}
            if not ratios:
                continue
            aside = {name: value for name, value in ratios.items() if half(name) == "aside"}
            losses = [ratio(results, name, own, other, "log loss") for name in ratios]
            losses = [value for value in losses if np.isfinite(value)]
            seconds = geometric(ratio(results, name, own, other, "processor") for name in ratios)
            even = {name for name in ratios if max(means(results, name, "error", own, other)) == 0}
            counted = [value for name, value in ratios.items() if name not in even]
            cells = [
                "nothing chosen" if own == OURS else 'effort="quick"',
                other,
                splits(results, own, other),
                f"{sum(value < 1 for value in ratios.values())} of {len(ratios)}",
                f"{sum(value < 1 for value in aside.values())} of {len(aside)}",
                f"{geometric(counted):.3f} ({np.median(counted):.2f})",
                f"{geometric(aside.values()):.3f}",
                f"{sum(value <= 1 for value in losses)} of {len(losses)}",
                f"{seconds:.2g}",
            ]
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def table(results: dict[str, Any]) -> str:
    """Markdown: the summary, then every table."""
    found = [one for one in CONTESTANTS | LIMITED if any(f"|{one}|" in key for key in results)]
    lines = [
        summary(results),
        "",
        f"| table | {' | '.join(found)} |",
        f"|---|{'---|' * len(found)}",
    ]
    for name in named(results):
        cells = []
        for one in found:
            own = [results.get(f"{name}|{one}|{seed}", {}) for seed in range(SEEDS)]
            errors = [run["error"] for run in own if "error" in run]
            spread = f" ± {np.std(errors, ddof=1):.2f}" if len(errors) > 1 else ""
            given_up = any("given up" in run for run in own)
            shown = f"{np.mean(errors):.2f}{spread}" if errors else "given up" if given_up else "–"
            cells.append(shown)
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
    names = [name for name in named(results) if means(results, name, "error", PEER)[0] > 0.0]
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
    parser.add_argument("--half", choices=("develop", "aside", "small"))
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--contestants", nargs="*", default=list(CONTESTANTS))
    parser.add_argument("--tables", nargs="*")
    parser.add_argument("--again", action="store_true", help="run what is there already anew")
    parser.add_argument("--report", action="store_true", help="print the tables alone")
    parser.add_argument("--times", action="store_true", help="print times over LightGBM's alone")
    parser.add_argument("--picture", type=Path, help="write a plot of error against time")
    parser.add_argument("--results", type=Path, default=RESULTS)
    given = parser.parse_args()
    results = read(given.results)
    if given.times:
        print(times(results))
        return
    if given.picture:
        picture(results, given.picture)
    elif not given.report:
        run_all(given, results)
    print(table(results))


def times_of_sets() -> list[float]:
    """Mean processor seconds of ours over those of LightGBM, for each of the ten sets."""
    results = read(FOLDER / "learned_law.json")
    seconds: dict[str, dict[str, list[float]]] = {}
    for key, found in results.items():
        name, who, _ = key.split("|")
        if who in (OURS, PEER):
            seconds.setdefault(name, {}).setdefault(who, []).append(found["fit"])
    return [float(np.mean(own[OURS]) / np.mean(own[PEER])) for own in seconds.values()]


def times(results: dict[str, Any]) -> str:
    """Times of fit and prediction over LightGBM's, table by table: geometric mean and quantiles.

    Last, the geometric mean of the fits with nothing chosen over tables and the ten sets.
    """
    lines = [
        "| ours | time | geometric mean | least, quartiles, most | over 2 |",
        "|---|---|---|---|---|",
    ]
    for contestant in ("kitchensinks", "kitchensinks, quick"):
        for what in ("processor", "predict"):
            ratios: dict[str, list[float]] = {}
            for key, found in results.items():
                name, who, seed = key.split("|")
                theirs = results.get(f"{name}|LightGBM|{seed}")
                if who == contestant and theirs and what in found:
                    ratios.setdefault(name, []).append(float(np.log(found[what] / theirs[what])))
            means = {name: float(np.exp(np.mean(own))) for name, own in ratios.items()}
            spread = ", ".join(
                f"{q:.2g}" for q in np.quantile(list(means.values()), np.arange(5) / 4)
            )
            slow = ", ".join(f"{name} {one:.1f}" for name, one in means.items() if one > 2)
            mean = np.exp(np.mean(np.log(list(means.values()))))
            told = slow if what == "predict" else ""
            lines.append(f"| {contestant} | {what} | {mean:.2f} | {spread} | {told} |")
            if (contestant, what) == (OURS, "processor"):
                together = geometric([*means.values(), *times_of_sets()])
    lines += ["", f"Fits with nothing chosen, with the ten sets: {together:.2f}"]
    return "\n".join(lines)


def run_all(given: argparse.Namespace, results: dict[str, Any]) -> None:
    """What is asked for and not among the results yet; they are written after every run."""
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGPROF, stop)
    names = small() if given.half == "small" else list(given.tables or listed())
    names = [name for name in names if given.half in (None, "small", half(name))]
    cells = [(n, c, s) for s in range(given.seeds) for n in names for c in given.contestants]
    for cell in cells:
        key = "|".join(map(str, cell))
        if key in results and not given.again:
            continue
        found = f"{cell[0]}|{TUNED}|tuning"
        if cell[1] == TUNED and found not in results:
            results[found] = tuning(cell[0])
        settings = results[found]["settings"] if cell[1] == TUNED else {}
        if cell[1] == PEER and key in results:
            keep_peer(results, cell[0], cell[2], given.contestants)
        results[key] = run(*cell, settings)
        print(key, {what: round(value, 4) for what, value in results[key].items()}, flush=True)
        write(given.results, results)


def keep_peer(results: dict[str, Any], name: str, seed: int, again: list[str]) -> None:
    """Before LightGBM is run again: those that are not keep its time of their own session."""
    peer = results[f"{name}|{PEER}|{seed}"]["processor"]
    for one in (CONTESTANTS | LIMITED).keys() - set(again):
        if "processor" in (cell := results.get(f"{name}|{one}|{seed}", {})):
            cell.setdefault(PEER, peer)


if __name__ == "__main__":
    main()
