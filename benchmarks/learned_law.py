"""The estimators with nothing chosen against boosted trees, forests and a fixed kernel: ten sets.

    python -m benchmarks.learned_law                      # all that is not in the results yet
    python -m benchmarks.learned_law --sets adult,cpu_act --seeds 2 --contestants kitchensinks
    python -m benchmarks.learned_law --table              # print what there is

Each run is a process of its own on one thread, so that its processor time is what the work costs
whatever else the machine does. Splits are the official ones where there are any (the seed then
changes the fit alone), else 90/10 by seed. Regression errors are root mean squares in percent of
the targets' standard deviation; the others are percentages of wrong classes.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

RESULTS = Path(__file__).parent / "results" / "learned_law.json"
OURS, PEER = "kitchensinks", "LightGBM"
# name -> (data set, options, by seed, components of ours or None)
SETS: dict[str, tuple[str, dict[str, Any], bool, int | None]] = {
    "forest cover, binary": ("covtype-binary", {}, True, None),
    "forest cover, 7 classes": ("covtype", {}, True, None),
    "adult": ("adult", {}, False, None),
    "house_16H": ("house_16H", {}, True, None),
    "cpu_act": ("cpu_act", {}, True, None),
    "MNIST": ("mnist", {}, False, 10_000),
    "ISOLET": ("isolet", {}, False, None),
    "phoneme frames": ("phoneme", {}, False, None),
    "UCI HAR": ("uci_har", {}, True, None),
    "KDD Cup 99": ("kddcup99", {}, True, None),
}


def codes(train: Any, test: Any) -> tuple[Any, Any]:
    """Categories as LightGBM takes them; one-hot columns for those that take numbers only."""
    import pandas as pd

    both = pd.get_dummies(pd.concat([train, test]), dummy_na=True).astype(float)
    return both.to_numpy()[: len(train)], both.to_numpy()[len(train) :]


def ours(task: str, seed: int, count: int | None) -> Any:
    import kitchensinks as ks

    kind = ks.KitchenSinkClassifier if task == "classification" else ks.KitchenSinkRegressor
    options = {} if count is None else {"n_components": count, "adapt": "ard"}
    return kind(random_state=seed, **options)


def lightgbm(**options: Any) -> Callable[..., Any]:
    def make(task: str, seed: int, count: int | None) -> Any:
        import lightgbm

        kind = lightgbm.LGBMClassifier if task == "classification" else lightgbm.LGBMRegressor
        return kind(n_jobs=1, random_state=seed, verbose=-1, **options)

    return make


def xgboost(task: str, seed: int, count: int | None) -> Any:
    import xgboost

    kind = xgboost.XGBClassifier if task == "classification" else xgboost.XGBRegressor
    return kind(n_jobs=1, random_state=seed)


def boosting(task: str, seed: int, count: int | None) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    classes = task == "classification"
    kind = HistGradientBoostingClassifier if classes else HistGradientBoostingRegressor
    return kind(random_state=seed)


def forest(task: str, seed: int, count: int | None) -> Any:
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

    kind = RandomForestClassifier if task == "classification" else RandomForestRegressor
    return kind(n_jobs=1, random_state=seed)


def sampler(task: str, seed: int, count: int | None) -> Any:
    from sklearn.kernel_approximation import RBFSampler
    from sklearn.linear_model import RidgeClassifierCV, RidgeCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    last = RidgeClassifierCV() if task == "classification" else RidgeCV()
    features = RBFSampler(gamma="scale", n_components=2000, random_state=seed)
    return make_pipeline(StandardScaler(), features, last)


CONTESTANTS: dict[str, Callable[..., Any]] = {
    OURS: ours,
    PEER: lightgbm(),
    "LightGBM 500 × 255": lightgbm(n_estimators=500, num_leaves=255),
    "HistGradientBoosting": boosting,
    "random forest": forest,
    "RBFSampler + RidgeCV": sampler,
    "XGBoost": xgboost,
}


def run(name: str, contestant: str, seed: int) -> dict[str, float]:
    """Error, seconds of processor time to fit, and to predict."""
    from kitchensinks import datasets

    source, options, by_seed, count = SETS[name]
    options = {**options, "random_state": seed} if by_seed else options
    data = datasets.load(source, download=False, **options)
    train, test = data.X_train, data.X_test
    if hasattr(train, "columns") and contestant != OURS and not contestant.startswith(PEER):
        train, test = codes(train, test)
    classes, labels = np.unique(np.asarray(data.y_train), return_inverse=True)
    regression = data.task == "regression"
    target = np.asarray(data.y_train, dtype=float) if regression else labels
    truth = np.asarray(data.y_test)
    make = CONTESTANTS[contestant]
    few = slice(0, 600)
    if contestant == OURS:
        # Compiled code is loaded before the clock starts.
        ours(data.task, seed, None if count is None else 100).fit(train[few], target[few])
    model = make(data.task, seed, count)
    start = time.process_time()
    model.fit(train, target)
    fitted = time.process_time()
    found = model.predict(test)
    done = time.process_time()
    if regression:
        error = 100 * float(np.sqrt(np.mean((found - truth) ** 2)) / np.std(target))
    else:
        error = 100 * float(np.mean(classes[np.asarray(found, dtype=int)] != truth))
    return {"error": error, "fit": fitted - start, "predict": done - fitted}


def measure(name: str, contestant: str, seed: int, limit: float) -> dict[str, Any]:
    """One run in a process of its own."""
    threads = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS")
    command = [sys.executable, "-W", "ignore", "-m", "benchmarks.learned_law", "--one"]
    try:
        result = subprocess.run(
            [*command, json.dumps([name, contestant, seed])],
            env={**os.environ, **dict.fromkeys(threads, "1")},
            capture_output=True,
            text=True,
            timeout=limit,
            check=True,
        )
    except subprocess.TimeoutExpired:
        return {"failed": f"more than {limit:g} s"}
    except subprocess.CalledProcessError as error:
        return {"failed": (error.stderr.strip().splitlines() or ["killed"])[-1][:200]}
    return json.loads(result.stdout.splitlines()[-1])


def table(results: dict[str, Any]) -> str:
    """Markdown: mean error ± deviation over seeds, and time as a ratio to LightGBM's."""
    lines = ["| set | " + " | ".join(CONTESTANTS) + " |", "|---" * (len(CONTESTANTS) + 1) + "|"]
    ahead = counted = 0
    for name in SETS:
        cells, means = [], {}
        for contestant in CONTESTANTS:
            runs = [
                value
                for key, value in results.items()
                if key.startswith(f"{name}|{contestant}|") and "error" in value
            ]
            if not runs:
                cells.append("–")
                continue
            errors = [value["error"] for value in runs]
            means[contestant] = np.mean(errors), np.median([value["fit"] for value in runs])
            cells.append(f"{np.mean(errors):.2f} ± {np.std(errors):.2f}")
        for place, contestant in enumerate(CONTESTANTS):
            if contestant in means and PEER in means:
                cells[place] += f" ({means[contestant][1] / means[PEER][1]:.1f}×)"
        if means:
            lines.append(f"| {name} | " + " | ".join(cells) + " |")
        if OURS in means and PEER in means:
            counted += 1
            ahead += bool(means[OURS][0] < means[PEER][0])
    lines.append(f"\nBelow LightGBM's default error on {ahead} of {counted} sets.")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", default=",".join(SETS), help="names, or beginnings of them")
    parser.add_argument("--contestants", default=",".join(CONTESTANTS))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--limit", type=float, default=3600.0, help="seconds of one run")
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(run(*json.loads(options.one))))
        return
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    names = [name for name in SETS if any(map(name.startswith, options.sets.split(",")))]
    for seed in range(0 if options.table else options.seeds):
        for name in names:
            for contestant in options.contestants.split(","):
                key = f"{name}|{contestant}|{seed}"
                if key not in results:
                    results[key] = measure(name, contestant, seed, options.limit)
                    print(key, results[key], f"load {os.getloadavg()[0]:.1f}", flush=True)
                    RESULTS.write_text(json.dumps(results, indent=1, sort_keys=True))
    print(table(results))


if __name__ == "__main__":
    main()
