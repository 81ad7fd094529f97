"""`python -m benchmarks.geometry`: the measured tables of docs/geometry.md and docs/depth.md.

Kernel PCA against its exact form, recall of hashed neighbours, and the thesis's bounded ReLU
networks against their bounds. Writes results/geometry.json, in about two minutes of one core. MNIST
is read from the folder KITCHENSINKS_DATA.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.linalg import orthogonal_procrustes, subspace_angles
from sklearn.datasets import load_digits
from sklearn.decomposition import KernelPCA
from sklearn.preprocessing import StandardScaler

import kitchensinks as ks
from benchmarks.store import FOLDER, run_works
from kitchensinks.papers.depth import ReLUSum

RESULTS = FOLDER / "geometry.json"
Rows = list[dict[str, Any]]


def kernel_pca() -> Rows:
    """Distance to exact kernel PCA after the best rotation, and sine between the spans."""
    rows = StandardScaler().fit_transform(load_digits().data[:600])
    basis = ks.Fourier().resolve(rows)
    exact = KernelPCA(4, kernel="precomputed").fit_transform(basis.kernel(rows))
    found: Rows = []
    for n_features in (100, 300, 1000, 3000, 10_000):
        measured = []
        for seed in range(3):
            pca = ks.KitchenSinkPCA(basis, 4, n_features, standardize=False, random_state=seed)
            embedded = pca.fit_transform(rows)
            turn, _ = orthogonal_procrustes(embedded, exact)
            distance = np.linalg.norm(embedded @ turn - exact) / np.linalg.norm(exact)
            measured.append((distance, np.sin(subspace_angles(embedded, exact).max())))
        distance, sine = np.mean(measured, axis=0)
        found.append({"K": n_features, "distance": distance, "largest sine": sine})
    return found


def hashed_neighbours() -> Rows:
    """Share of the ten nearest by angle that are among the 10 and the 100 nearest by code."""
    data = ks.datasets.load("mnist", download=False)
    rows = data.X_train[:10_000].astype(np.float32)
    queries = data.X_test[:500].astype(np.float32)
    near, far = (each / np.linalg.norm(each, axis=1, keepdims=True) for each in (queries, rows))
    exact = np.argsort(-near @ far.T, axis=1)[:, :10]
    found: Rows = []
    for pool in (2, 4, 8, 16):
        for n_units in (256, 1024, 4096):
            codes = ks.MaxoutHash(n_units, pool, random_state=0).fit(rows)
            places = codes.kneighbors(queries, 100, return_distance=False)
            among = [shared(exact, places[:, :count]) for count in (10, 100)]
            size = codes.codes_[0].nbytes
            row = {"q": pool, "m": n_units, "bytes": size, "of 10": among[0], "of 100": among[1]}
            found.append(row)
    return found


def shared(exact: np.ndarray, places: np.ndarray) -> float:
    """Share of the exact neighbours that were found."""
    return float((exact[:, :, None] == places[:, None, :]).any(axis=2).mean())


def sampled_units() -> Rows:
    """Theorem III.13: root mean square error over 300 draws, and its bound."""
    rng = np.random.default_rng(0)
    function, rows = random_sum(rng, 3, 1, 2.0), ball(rng, 1000, 3)
    exact = function(rows)
    found: Rows = []
    for n_units in (25, 100, 400, 1600, 6400):
        squares = [np.mean((function.sample(n_units, s)(rows) - exact) ** 2) for s in range(300)]
        bound = ks.theory.maurey_error(variation=2.0, n_units=n_units, radius=1.0)
        found.append({"N": n_units, "error": np.sqrt(np.mean(squares)), "bound": bound})
    return found


def built_networks() -> Rows:
    """Proposition III.15 for f(x) = ||x₁| − |x₂|| − ½| in three layers, over 20 draws."""
    folds = [[1.0, 0.0, 0.0, 0.0], [-1.0, 0.0, 0.0, 0.0]]
    others = [[0.0, 1.0, 0.0, 0.0], [0.0, -1.0, 0.0, 0.0]]
    functions = [
        ReLUSum(np.ones((2, 2)), [folds, others]),
        ReLUSum([1.0, 1.0], [[1.0, -1.0, 0.0], [-1.0, 1.0, 0.0]]),
        ReLUSum([1.0, 1.0], [[1.0, -0.5], [-1.0, 0.5]]),
    ]
    rows = ball(np.random.default_rng(1), 300, 3)
    exact = np.abs(np.abs(np.abs(rows[:, :1]) - np.abs(rows[:, 1:2])) - 0.5)
    found: Rows = []
    for accuracy in (0.4, 0.2, 0.1):
        bound = ks.theory.relu_network(
            accuracy=accuracy,
            variations=[function.variation for function in functions],
            widths=[2, 1, 1],
            radius=1.0,
            slack=1.0,
        )
        drawn = [ks.ReLUNetwork.sample(functions, bound.n_units, seed) for seed in range(20)]
        squares = [np.mean((network(rows) - exact) ** 2) for network in drawn]
        norms = np.max([network.norms(accuracy) for network in drawn], axis=0)
        found.append(
            {
                "ε": accuracy,
                "N": list(bound.n_units),
                "error": float(np.sqrt(np.mean(squares))),
                "bound": bound.error,
                "largest norms": [round(float(norm), 3) for norm in norms],
                "their bounds": [round(norm, 3) for norm in bound.weight_norms],
                "spread of f": float(exact.std()),
            }
        )
    return found


def random_sum(
    rng: np.random.Generator, n_inputs: int, n_outputs: int, variation: float
) -> ReLUSum:
    """30 units, mostly positive, so that the sum does not cancel."""
    outer = rng.uniform(-0.2, 1.0, size=(n_outputs, 30))
    inner = rng.normal(size=(n_outputs, 30, n_inputs + 1))
    return ReLUSum(outer * variation / ReLUSum(outer, inner).variation, inner)


def ball(rng: np.random.Generator, n_rows: int, n_inputs: int) -> np.ndarray:
    """Uniform in the unit ball."""
    rows = rng.normal(size=(n_rows, n_inputs))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return rows * rng.uniform(size=(n_rows, 1)) ** (1 / n_inputs)


WORK: dict[str, Callable[[], Rows]] = {
    "sampled units": sampled_units,
    "built networks": built_networks,
    "kernel PCA": kernel_pca,
    "hashed neighbours": hashed_neighbours,
}


def table(rows: Rows) -> str:
    """Markdown."""
    lines = [f"| {' | '.join(rows[0])} |", "|---" * len(rows[0]) + "|"]
    for row in rows:
        cells = (
            f"{value:.3f}" if isinstance(value, float) else str(value) for value in row.values()
        )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    run_works(__doc__, RESULTS, WORK, table)
