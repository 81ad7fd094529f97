"""Who runs what. `python -m benchmarks.contestants WORK CONTESTANT` prints one run as JSON.

A contestant is a function of the training rows that returns something with `predict`. It is
called once on a small part of the rows to warm up (compilation, thread pools), then timed.
"""

import json
import resource
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.kernel_approximation import RBFSampler
from sklearn.linear_model import LogisticRegression, RidgeClassifier, RidgeClassifierCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import kitchensinks as ks
from kitchensinks import datasets

SIX_ALPHAS = (1e-3, 1e-2, 1e-1, 1.0, 1e1, 1e2)
SEED = 0


def gamma_of(X: np.ndarray) -> float:
    """The bandwidth that ours finds: peers get it too, because their default is far off."""
    scaled = StandardScaler().fit_transform(X[:: max(1, len(X) // 2000)])
    return float(ks.Fourier().resolve(scaled).gamma)


def sampler(X: np.ndarray, count: int, dtype: Any, last: Any) -> Any:
    """scikit-learn's way: standardise, RBFSampler, linear model."""
    features = RBFSampler(gamma=gamma_of(X), n_components=count, random_state=SEED)
    return _Cast(make_pipeline(StandardScaler(), features, last), dtype)


class _Cast:
    """A pipeline whose rows are cast first."""

    def __init__(self, model: Any, dtype: Any) -> None:
        self.model, self.dtype = model, dtype

    def fit(self, X: np.ndarray, y: np.ndarray) -> "_Cast":
        self.model.fit(X.astype(self.dtype), y)
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        return self.model.predict(X.astype(self.dtype))


def ours(count: int, **options: Any) -> Any:
    return ks.KitchenSinkClassifier(
        n_components=count, random_state=SEED, **{"dtype": "float32", **options}
    )


# work -> (data set, training rows or None for all, K, {contestant: model of (X, K)})
Maker = Callable[[np.ndarray, int], Any]
RIDGE: dict[str, Maker] = {
    "kitchensinks": lambda X, K: ours(K, alpha=1e-5),
    "kitchensinks float64": lambda X, K: ours(K, alpha=1e-5, dtype="float64"),
    "RBFSampler + RidgeClassifier float32": lambda X, K: sampler(
        X, K, np.float32, RidgeClassifier(alpha=1e-5 * len(X))
    ),
    "RBFSampler + RidgeClassifier float64": lambda X, K: sampler(
        X, K, np.float64, RidgeClassifier(alpha=1e-5 * len(X))
    ),
}
WORK: dict[str, tuple[str, int | None, int, dict[str, Maker]]] = {
    "adult, ridge": ("adult-onehot", None, 2000, RIDGE),
    "mnist, ridge": ("mnist", None, 2000, RIDGE),
    "adult, choice of ridge": (
        "adult-onehot",
        None,
        2000,
        {
            "kitchensinks (leave-one-out, 21 alphas)": lambda X, K: ours(K),
            "RBFSampler + RidgeClassifierCV (6 alphas) float32": lambda X, K: sampler(
                X, K, np.float32, RidgeClassifierCV(SIX_ALPHAS)
            ),
        },
    ),
    "adult, hinge": (
        "adult-onehot",
        None,
        2000,
        {
            "kitchensinks squared": lambda X, K: ours(K, alpha=1e-5),
            "kitchensinks hinge, gap 1e-3": lambda X, K: ours(K, alpha=1e-5, loss="hinge"),
        },
    ),
    "mnist, multinomial": (
        "mnist",
        None,
        2000,
        {
            "kitchensinks logistic, gap 1e-3": lambda X, K: ours(K, alpha=1e-5, loss="logistic"),
            "RBFSampler + LogisticRegression(lbfgs) float32": lambda X, K: sampler(
                X, K, np.float32, LogisticRegression(C=1 / (2e-5 * len(X)), max_iter=100)
            ),
        },
    ),
    "covtype, choice of ridge": (
        "covtype-binary",
        None,
        2000,
        {"kitchensinks (leave-one-out, 21 alphas)": lambda X, K: ours(K)},
    ),
    "covtype, 500,000 rows, K = 5000": (
        "covtype-binary",
        500_000,
        5000,
        {"kitchensinks": lambda X, K: ours(K, alpha=1e-6)},
    ),
    "covtype, 120,000 rows, K = 3000": (
        "covtype-binary",
        120_000,
        3000,
        {
            "kitchensinks direct": lambda X, K: ours(K, alpha=1e-6, solver="direct"),
            "kitchensinks conjugate gradients": lambda X, K: ours(
                K, alpha=1e-6, solver="conjugate", memory_budget="4GB"
            ),
        },
    ),
}


def run(work: str, contestant: str) -> dict[str, float]:
    """Seconds of fit and of predict, peak memory beyond the data in MB, test error in percent."""
    name, limit, count, makers = WORK[work]
    data = datasets.load(name, download=False)
    X, y = np.ascontiguousarray(data.X_train[:limit]), data.y_train[:limit]
    few = np.random.default_rng(0).choice(len(X), 2000, replace=False)
    makers[contestant](X[few], 64).fit(X[few], y[few]).predict(X[few])
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    model = makers[contestant](X, count)
    start = time.perf_counter()
    model.fit(X, y)
    fitted = time.perf_counter()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    wrong = float(np.mean(model.predict(data.X_test) != data.y_test))
    done = time.perf_counter()
    return {
        "fit_seconds": fitted - start,
        "predict_seconds": done - fitted,
        "memory_mb": (peak - before) / 1024,
        "test_error_percent": 100 * wrong,
    }


if __name__ == "__main__":
    print(json.dumps(run(sys.argv[1], sys.argv[2])))
