"""The models of the thesis's depth-separation study, at equal numbers of parameters."""

import math
from functools import lru_cache
from typing import Any

import numpy as np
from sklearn.neural_network import MLPClassifier, MLPRegressor

import kitchensinks as ks
from kitchensinks.papers.experiments.data import evidence, fit_quietly

INPUTS = 4
OUTPUTS = {"regression": 1, "classification": 3}
MODELS = ("random ReLU", "2-layer net", "3-layer net")
BESIDE = ("stacked ReLU", "stacked Fourier")
# Epochs of every net, and between two looks at its training error after them.
LEAST, _LOOKED = 100, 10
# Nodes up to which the ridge of random features is that of leave-one-out.
_SCREENED = 1280
# Rows of a step of Adam: twice as many after so many epochs, which is as good as shorter steps.
_BATCH, _LARGEST, _DOUBLED = 50, 800, 20
# The deviation of the offsets of the first layer; that of its weights is one, as of its inputs.
_OFFSET = 2.0


def three_layer_width(nodes: int, outputs: int) -> int:
    """Width w of two hidden layers with the parameters of one hidden layer of N nodes.

    (d + 1)w + (w + 1)w + (w + 1)o = (d + 1)N + (N + 1)o, solved for w and rounded.
    """
    linear = INPUTS + 2 + outputs
    shallow = (INPUTS + 1 + outputs) * nodes
    return max(1, round((math.sqrt(linear**2 + 4 * shallow) - linear) / 2))


def fitted(
    name: str, nodes: int, task: str, sizes: tuple[int, int], most: int, seed: int
) -> tuple[Any, dict[str, Any]]:
    """The model called `name`, fitted to the rows of `separation`, and what a cell says of it.

    A net is trained for 100 epochs, and on until its training error is below that of random ReLU
    features of as many nodes (`limit`), looked at after every ten, or for `most` epochs: with fewer
    it would be judged by its training and not by its shape.
    """
    data = separation(*sizes, seed)
    rows, (targets, _) = data["rows"], data[task]
    epoch = limit = None
    if name.endswith("net"):
        random = _convex(MODELS[0], nodes, task, sizes, seed)
        limit = error_of(random.predict(rows), targets, task)
        model = _begun(name, nodes, task, rows, targets, seed)
        for epoch in range(1, most + 1):
            batch = min(_LARGEST, _BATCH * 2 ** ((epoch - 1) // _DOUBLED))
            model.set_params(batch_size=min(batch, len(rows))).partial_fit(rows, targets)
            looked = epoch >= LEAST and epoch % _LOOKED == 0
            if looked and error_of(model.predict(rows), targets, task) < limit:
                break
    else:
        model = _convex(name, nodes, task, sizes, seed)
    train = error_of(model.predict(rows), targets, task)
    solved = evidence(model) if limit is None else {"gap": None, "converged": train < limit}
    return model, {"train_error": train, "epochs": epoch, "limit": limit, **solved}


def _begun(
    name: str, nodes: int, task: str, rows: np.ndarray, targets: np.ndarray, seed: int
) -> Any:
    """A net before its first epoch.

    The kinks of its first layer lie where the inputs are, as those of random ReLU features do:
    scikit-learn starts wide layers at weights and offsets near zero, where training is slow.
    """
    model = make(name, nodes, task, seed)
    classes = {} if task == "regression" else {"classes": np.unique(targets)}
    model.partial_fit(rows[:1], targets[:1], **classes)
    rng = np.random.default_rng(seed)
    model.coefs_[0][:] = rng.normal(size=model.coefs_[0].shape)
    model.intercepts_[0][:] = _OFFSET * rng.normal(size=model.intercepts_[0].shape)
    return model


@lru_cache(maxsize=2)
def _convex(name: str, nodes: int, task: str, sizes: tuple[int, int], seed: int) -> Any:
    """A model that is no net, fitted; the last ones are kept, for nets are measured by them.

    Leave-one-out would cost most of the study with thousands of nodes: these take the ridge of
    1280.
    """
    data, model = separation(*sizes, seed), make(name, nodes, task, seed)
    if name == MODELS[0] and nodes > _SCREENED:
        model.set_params(alpha=_convex(name, _SCREENED, task, sizes, seed).alpha_)
    return fit_quietly(model, data["rows"], data[task][0])


def error_of(predicted: np.ndarray, truth: np.ndarray, task: str) -> float:
    """Mean squared loss, or the share of wrong labels."""
    if task == "regression":
        return float(np.mean((predicted - truth) ** 2))
    return float(np.mean(predicted != truth))


def make(model: str, nodes: int, task: str, seed: int) -> Any:
    """A model with as many parameters as `nodes` hidden nodes; inputs have unit variance."""
    regression = task == "regression"
    if model.endswith("net"):
        width = three_layer_width(nodes, OUTPUTS[task])
        layers = (nodes,) if model == "2-layer net" else (width, width)
        Net = MLPRegressor if regression else MLPClassifier
        return Net(hidden_layer_sizes=layers, alpha=0.0, random_state=seed)
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
