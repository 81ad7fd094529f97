"""The models of the thesis's depth-separation study, at equal numbers of parameters.

The nets are scikit-learn's: small and dense as they are, another library would be a large
dependency for the same answer.
"""

import math
from functools import lru_cache
from typing import Any

import numpy as np
from sklearn.neural_network import MLPClassifier, MLPRegressor

import kitchensinks as ks

INPUTS = 4
OUTPUTS = {"regression": 1, "classification": 3}
MODELS = ("random ReLU", "2-layer net", "3-layer net")
BESIDE = ("stacked ReLU", "stacked Fourier")


def three_layer_width(nodes: int, outputs: int) -> int:
    """Width w of two hidden layers with the parameters of one hidden layer of N nodes.

    (d + 1)w + (w + 1)w + (w + 1)o = (d + 1)N + (N + 1)o, solved for w and rounded.
    """
    linear = INPUTS + 2 + outputs
    shallow = (INPUTS + 1 + outputs) * nodes
    return max(1, round((math.sqrt(linear**2 + 4 * shallow) - linear) / 2))


def make(model: str, nodes: int, task: str, epochs: int, seed: int) -> Any:
    """A model with as many parameters as `nodes` hidden nodes; inputs have unit variance."""
    regression = task == "regression"
    if model.endswith("net"):
        width = three_layer_width(nodes, OUTPUTS[task])
        layers = (nodes,) if model == "2-layer net" else (width, width)
        Net = MLPRegressor if regression else MLPClassifier
        common = {"max_iter": epochs, "n_iter_no_change": epochs, "random_state": seed}
        return Net(hidden_layer_sizes=layers, **common)
    basis = ks.Fourier() if model.endswith("Fourier") else ks.ReLU()
    if model == "random ReLU":
        Sinks = ks.KitchenSinkRegressor if regression else ks.KitchenSinkClassifier
        return Sinks(basis, nodes, standardize=False, random_state=seed)
    # Two chains of two layers, so a quarter of the nodes in each.
    Stacked = ks.StackedSinksRegressor if regression else ks.StackedSinksClassifier
    return Stacked(basis, nodes // 4, standardize=False, random_state=seed)


@lru_cache(maxsize=2)
def separation(n_rows: int, n_test: int, seed: int) -> dict[str, Any]:
    """Rows at unit variance in float32, which halves the time of the nets; both targets; radii."""
    rows, smooth, labels = ks.datasets.make_depth_separation(n_rows, random_state=2 * seed + 1)
    others, smooth_test, labels_test = ks.datasets.make_depth_separation(
        n_test, random_state=2 * seed + 2
    )
    scale = rows.std()
    return {
        "rows": (rows / scale).astype(np.float32),
        "others": (others / scale).astype(np.float32),
        "radius": np.linalg.norm(others, axis=1),
        "regression": (smooth.astype(np.float32), smooth_test),
        "classification": (labels, labels_test),
    }
