"""`python -m benchmarks.depth`: the three models of the thesis's Figures 3.4 and 3.5.

Random ReLU features, a trained two-layer net and a trained three-layer net, at equal numbers of
parameters, on the depth-separation data; and stacked sinks beside them. Writes
results/depth.json, in about eight minutes of one core. The nets are scikit-learn's MLP and not
torch: it is a dependency already, the nets are small and dense, and Adam on one processor is all
that they need; torch would add a gigabyte to install and no other answer.
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
SETTINGS = {
    # Of the shallow models: 20 to 5120, as in the thesis.
    "nodes": [20, 40, 80, 160, 320, 640, 1280, 2560, 5120],
    "n_rows": 10_000,
    "n_test": 5000,
    "epochs": 100,
}
QUICK = {"nodes": [20, 80, 320], "n_rows": 2000, "n_test": 2000, "epochs": 20}
INPUTS = 4
OUTPUTS = {"regression": 1, "classification": 3}


def three_layer_width(nodes: int, outputs: int) -> int:
    """Width w of two hidden layers with the parameters of one hidden layer of N nodes.

    (d + 1)w + (w + 1)w + (w + 1)o = (d + 1)N + (N + 1)o, solved for w and rounded.
    """
    linear = INPUTS + 2 + outputs
    shallow = (INPUTS + 1 + outputs) * nodes
    return max(1, round((math.sqrt(linear**2 + 4 * shallow) - linear) / 2))


def models(nodes: int, task: str, epochs: int) -> dict[str, Any]:
    """The models of one size. Inputs come scaled to unit variance."""
    regression = task == "regression"
    Sinks = ks.KitchenSinkRegressor if regression else ks.KitchenSinkClassifier
    Stacked = ks.StackedSinksRegressor if regression else ks.StackedSinksClassifier
    Net = MLPRegressor if regression else MLPClassifier
    width = three_layer_width(nodes, OUTPUTS[task])
    common = {"max_iter": epochs, "n_iter_no_change": epochs, "random_state": 0}
    own = {"standardize": False, "random_state": 0}
    return {
        "random ReLU": Sinks(ks.ReLU(), nodes, **own),
        "two-layer net": Net(hidden_layer_sizes=(nodes,), **common),
        "three-layer net": Net(hidden_layer_sizes=(width, width), **common),
        # Two chains of two layers, so a quarter of the nodes in each.
        "stacked ReLU": Stacked(ks.ReLU(), nodes // 4, **own),
        "stacked Fourier": Stacked(ks.Fourier(), nodes // 4, **own),
    }


def error(model: Any, rows: np.ndarray, targets: np.ndarray, task: str) -> float:
    """Mean squared error over the variance of the targets, or the share of wrong labels."""
    predicted = model.predict(rows)
    if task == "regression":
        return float(np.mean((predicted - targets) ** 2) / targets.var())
    return float(np.mean(predicted != targets))


def run(nodes: list[int], n_rows: int, n_test: int, epochs: int) -> Iterator[dict[str, Any]]:
    """One result after the other, smaller models first."""
    X, smooth, labels = ks.datasets.make_depth_separation(n_rows, random_state=1)
    X_test, smooth_test, labels_test = ks.datasets.make_depth_separation(n_test, random_state=2)
    # float32 halves the time of the nets
    scale = X.std()
    X, X_test = (X / scale).astype(np.float32), (X_test / scale).astype(np.float32)
    tasks = {"regression": (smooth, smooth_test), "classification": (labels, labels_test)}
    for size, task in itertools.product(nodes, tasks):
        y, y_test = tasks[task]
        for name, model in models(size, task, epochs).items():
            start = time.process_time()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                model.fit(X, y.astype(np.float32) if task == "regression" else y)
            seconds = round(time.process_time() - start, 2)
            yield {
                "task": task,
                "nodes": size,
                "model": name,
                "train_error": error(model, X, y, task),
                "error": error(model, X_test, y_test, task),
                "fit_seconds": seconds,
            }


def table(rows: list[dict[str, Any]], task: str) -> str:
    """Markdown: one line for each number of nodes, one column a model; test (training) error."""
    names = list(dict.fromkeys(row["model"] for row in rows))
    lines = [f"| nodes | {' | '.join(names)} |", "|---" * (len(names) + 1) + "|"]
    for size in sorted({row["nodes"] for row in rows}):
        own = {row["model"]: row for row in rows if (row["task"], row["nodes"]) == (task, size)}
        cells = [f"{own[name]['error']:.3f} ({own[name]['train_error']:.3f})" for name in names]
        lines.append(f"| {size} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a minute's look; nothing is saved")
    parser.add_argument("--table", action="store_true", help="only print the saved results")
    options = parser.parse_args()
    if options.table:
        rows = json.loads(RESULTS.read_text())["rows"]
    else:
        settings: dict[str, Any] = QUICK if options.quick else SETTINGS
        rows = []
        for row in run(**settings):
            print(row, flush=True)
            rows.append(row)
        if not options.quick:
            RESULTS.parent.mkdir(exist_ok=True)
            found = {"settings": settings, "machine": machine(), "rows": rows}
            RESULTS.write_text(json.dumps(found, indent=1) + "\n")
    print("\nregression: mean squared error over the variance of the target, test (training)\n")
    print(table(rows, "regression"))
    print("\nclassification: share of wrong labels, test (training)\n")
    print(table(rows, "classification"))
    print(f"\n{sum(row['fit_seconds'] for row in rows):.0f} processor seconds of fits")


if __name__ == "__main__":
    main()
