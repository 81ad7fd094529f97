"""`python -m benchmarks.depth`: the three models of the thesis's Figures 3.4 and 3.5.

Random ReLU features, a trained two-layer net and a trained three-layer net, at equal numbers of
parameters, on the depth-separation data; and stacked sinks beside them. Writes
results/depth.json. The nets are scikit-learn's MLP and not torch: it is a dependency already, the
nets are small and dense, and full runs of Adam on one processor are what the thesis's figures
show; torch would add a gigabyte to install and no other answer.
"""

import argparse
import itertools
import json
import math
import time
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPClassifier, MLPRegressor

import kitchensinks as ks
from benchmarks.__main__ import HERE, machine

RESULTS = HERE / "results" / "depth.json"
# Of the shallow models: 20 to 5120, as in the thesis.
NODES = [20, 40, 80, 160, 320, 640, 1280, 2560, 5120]
INPUTS = 4


def three_layer_width(nodes: int) -> int:
    """Width w of two hidden layers with the parameters of one hidden layer of `nodes`.

    (d + 1)w + (w + 1)w + w + 1 = (d + 1)N + N + 1.
    """
    linear = INPUTS + 3
    return max(1, round((-linear + math.sqrt(linear**2 + 4 * (INPUTS + 2) * nodes)) / 2))


def models(nodes: int, task: str, epochs: int, seed: int) -> dict[str, Any]:
    """The models of one size. Inputs come scaled to unit variance."""
    regression = task == "regression"
    Sinks = ks.KitchenSinkRegressor if regression else ks.KitchenSinkClassifier
    Stacked = ks.StackedSinksRegressor if regression else ks.StackedSinksClassifier
    Net = MLPRegressor if regression else MLPClassifier
    width = three_layer_width(nodes)
    common = {"max_iter": epochs, "random_state": seed, "batch_size": 200, "n_iter_no_change": 20}
    found = {
        "random ReLU": Sinks(ks.ReLU(), nodes, standardize=False, random_state=seed),
        "two-layer net": Net(hidden_layer_sizes=(nodes,), **common),
        "three-layer net": Net(hidden_layer_sizes=(width, width), **common),
    }
    if nodes >= 80:
        # Four layers in all (two chains of two), so a quarter of the nodes in each.
        found["stacked ReLU"] = Stacked(ks.ReLU(), nodes // 4, standardize=False, random_state=seed)
        found["stacked Fourier"] = Stacked(
            ks.Fourier(), nodes // 4, standardize=False, random_state=seed
        )
    return found


def run(nodes: list[int], n_rows: int, n_test: int, epochs: int, seeds: int) -> Iterator[dict]:
    """One result after the other, smaller models first."""
    X, smooth, labels = ks.datasets.make_depth_separation(n_rows, random_state=1)
    X_test, smooth_test, labels_test = ks.datasets.make_depth_separation(n_test, random_state=2)
    scale = X.std()
    tasks = {"regression": (smooth, smooth_test), "classification": (labels, labels_test)}
    for size, task, seed in itertools.product(nodes, tasks, range(seeds)):
        y, y_test = tasks[task]
        for name, model in models(size, task, epochs, seed).items():
            start = time.perf_counter()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                model.fit(X / scale, y)
            seconds = round(time.perf_counter() - start, 2)
            predicted = model.predict(X_test / scale)
            row = {"task": task, "nodes": size, "seed": seed, "model": name}
            if task == "regression":
                row["error"] = float(np.mean((predicted - y_test) ** 2) / y_test.var())
            else:
                row["error"] = float(np.mean(predicted != y_test))
            yield {**row, "fit_seconds": seconds}


def table(rows: list[dict], task: str) -> str:
    """Markdown: one line for each number of nodes, one column a model; means over seeds."""
    names = list(dict.fromkeys(row["model"] for row in rows))
    lines = [f"| nodes | {' | '.join(names)} |", "|---" * (len(names) + 1) + "|"]
    for size in sorted({row["nodes"] for row in rows}):
        cells = []
        for name in names:
            wanted = (task, size, name)
            own = [r["error"] for r in rows if (r["task"], r["nodes"], r["model"]) == wanted]
            cells.append(f"{np.mean(own):.3f}" if own else "")
        lines.append(f"| {size} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a minute's look; nothing is saved")
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--epochs", type=int, default=300, help="most epochs of a net")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--nodes", type=int, nargs="*", default=NODES, help="others are kept")
    options = parser.parse_args()
    nodes = options.nodes
    settings = {"n_rows": options.rows, "n_test": 5000, "epochs": options.epochs}
    settings["seeds"] = options.seeds
    if options.quick:
        nodes = NODES[:6:2]
        settings = {"n_rows": 2000, "n_test": 2000, "epochs": 20, "seeds": 1}
    rows: list[dict[str, Any]] = []
    if RESULTS.exists() and not options.quick:
        found = json.loads(RESULTS.read_text())
        if found["settings"] == settings:
            rows = [row for row in found["rows"] if row["nodes"] not in nodes]
    for row in run(nodes, **settings):
        print(row, flush=True)
        rows.append(row)
        if not options.quick:
            RESULTS.parent.mkdir(exist_ok=True)
            found = {"settings": settings, "machine": machine(), "rows": rows}
            RESULTS.write_text(json.dumps(found, indent=1) + "\n")
    print("\nregression: mean squared error over the variance of the target")
    print(table(rows, "regression"))
    print("\nclassification: share of wrong labels")
    print(table(rows, "classification"))


if __name__ == "__main__":
    main()
