"""Who runs what. `python -m benchmarks.contestants WORK CONTESTANT` prints one run as JSON.

A contestant is a function of the training rows and K that returns something with `fit` and
`predict`. It is called once on a small part of the rows to warm up (compilation, thread pools),
then timed. The first contestant of a work is ours, and ratios are to it.
"""

import json
import resource
import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from sklearn.ensemble import (
    AdaBoostClassifier,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.linear_model import (
    LogisticRegression,
    Ridge,
    RidgeClassifier,
    RidgeClassifierCV,
    SGDClassifier,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier

import kitchensinks as ks
from kitchensinks.papers import datasets

SIX_ALPHAS = (1e-3, 1e-2, 1e-1, 1.0, 1e1, 1e2)
SEED = 0


def gamma_of(X: np.ndarray) -> float:
    """The bandwidth that ours finds: peers get it too, because their default is far off."""
    scaled = StandardScaler().fit_transform(X[:: max(1, len(X) // 2000)])
    return float(ks.Fourier().resolve(scaled).gamma)


def raw_gamma(X: np.ndarray) -> float:
    """The bandwidth that Binning finds for columns as they come."""
    return float(ks.Binning().resolve(X[:: max(1, len(X) // 2000)].astype(float)).gamma)


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


class _SameFeatures:
    """A linear model on the features that ours draws; `clock` starts when they are there."""

    def __init__(self, count: int, last: Any, objective: Any) -> None:
        self.scaler = StandardScaler()
        self.features = ks.RandomFeatures(ks.Fourier(), count, random_state=SEED, dtype="float32")
        self.last, self.objective = last, objective

    def fit(self, X: np.ndarray, y: np.ndarray) -> "_SameFeatures":
        features = self.features.fit_transform(self.scaler.fit_transform(X))
        self.clock = time.perf_counter()
        self.last.fit(features, y)
        self.stopped = time.perf_counter()
        self.objective_ = self.objective(self.last, features, y)
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        return self.last.predict(self.features.transform(self.scaler.transform(X)))


def hinge_objective(model: Any, features: np.ndarray, y: np.ndarray) -> float:
    signs = np.where(y == model.classes_[1], 1.0, -1.0)
    margins = signs * model.decision_function(features)
    return float(np.maximum(0.0, 1.0 - margins).mean() + 1e-5 * np.sum(model.coef_**2))


def multinomial_objective(model: Any, features: np.ndarray, y: np.ndarray) -> float:
    chances = model.predict_log_proba(features)
    chosen = chances[np.arange(len(y)), np.searchsorted(model.classes_, y)]
    return float(-chosen.mean() + 1e-5 * np.sum(model.coef_**2))


def ours(count: int, **options: Any) -> Any:
    basis, name = options.pop("basis", ks.Fourier()), options.pop("solver", "auto")
    how = {key: options.pop(key) for key in ("tol", "memory_budget") if key in options}
    solver = ks.Solver(name, dtype="float32", **how)
    return ks.KitchenSinkClassifier(basis, count, solver=solver, random_state=SEED, **options)


def paired() -> ks.Fourier:
    """Cosine and sine of orthogonal directions: the same error with fewer features."""
    return ks.Fourier(form="paired", projection="orthogonal")


Maker = Callable[[np.ndarray, int], Any]


class Work(NamedTuple):
    data: str
    count: int
    makers: dict[str, Maker]
    rows: int | None = None
    repeats: int | None = None


def ridge(alpha: float, fewer: int, wide: bool = False) -> dict[str, Maker]:
    """The same problem by ours, directly and by passes, and by scikit-learn; fewer features.

    wide: structured projections pay as well.
    """
    structured: dict[str, Maker] = {
        "kitchensinks, Hadamard, conjugate gradients": lambda X, K: ours(
            K, alpha=alpha, solver="conjugate", basis=ks.Fourier(projection="hadamard")
        )
    }
    return {
        "kitchensinks": lambda X, K: ours(K, alpha=alpha),
        "kitchensinks, conjugate gradients": lambda X, K: ours(K, alpha=alpha, solver="conjugate"),
        **(structured if wide else {}),
        f"kitchensinks, paired orthogonal, K/{fewer}": lambda X, K: ours(
            max(32, K // (2 * fewer)), alpha=alpha, basis=paired()
        ),
        "RBFSampler + RidgeClassifier float32": lambda X, K: sampler(
            X, K, np.float32, RidgeClassifier(alpha=alpha * len(X))
        ),
        "RBFSampler + RidgeClassifier float64": lambda X, K: sampler(
            X, K, np.float64, RidgeClassifier(alpha=alpha * len(X))
        ),
    }


def lightgbm(regression: bool = False) -> Any:
    from lightgbm import LGBMClassifier, LGBMRegressor

    return (LGBMRegressor if regression else LGBMClassifier)(random_state=SEED, verbose=-1)


WORK: dict[str, Work] = {
    "adult, ridge": Work("adult-onehot", 2000, ridge(1e-5, 2)),
    "mnist, ridge, K = 5000": Work("mnist", 5000, ridge(1e-6, 2, wide=True), repeats=1),
    "covtype, ridge, K = 5000": Work(
        "covtype-binary", 5000, {"kitchensinks": lambda X, K: ours(K, alpha=1e-6)}, 500_000, 1
    ),
    "covtype, choice of ridge, K = 2000": Work(
        "covtype-binary",
        2000,
        {"kitchensinks (leave-one-out, 21 alphas)": lambda X, K: ours(K)},
        repeats=1,
    ),
    "covtype, 120,000 rows, K = 3000": Work(
        "covtype-binary",
        3000,
        {
            "kitchensinks conjugate gradients": lambda X, K: ours(
                K, alpha=1e-6, solver="conjugate", memory_budget="4GB"
            ),
            "kitchensinks direct": lambda X, K: ours(K, alpha=1e-6, solver="direct"),
        },
        120_000,
    ),
    "adult, choice of ridge": Work(
        "adult-onehot",
        2000,
        {
            "kitchensinks (leave-one-out, 21 alphas)": lambda X, K: ours(K),
            "kitchensinks (generalised cross-validation)": lambda X, K: _Streamed(K),
            "RBFSampler + RidgeClassifierCV (6 alphas) float32": lambda X, K: sampler(
                X, K, np.float32, RidgeClassifierCV(SIX_ALPHAS)
            ),
        },
        repeats=1,
    ),
    "adult, stumps": Work(
        "adult-onehot",
        4000,
        {
            "kitchensinks stumps, K = 4000": lambda X, K: ours(K, basis=ks.Stumps()),
            "AdaBoost, 200 stumps": lambda X, K: AdaBoostClassifier(
                DecisionTreeClassifier(max_depth=1), n_estimators=200, random_state=SEED
            ),
        },
    ),
    "adult, hinge": Work(
        "adult-onehot",
        2000,
        {
            "kitchensinks hinge, gap 1e-3": lambda X, K: ours(K, alpha=1e-5, loss="hinge"),
            "kitchensinks squared": lambda X, K: ours(K, alpha=1e-5),
            "LinearSVC(hinge) on the same features": lambda X, K: _SameFeatures(
                K,
                LinearSVC(C=1 / (2e-5 * len(X)), loss="hinge", tol=1e-3, max_iter=300),
                hinge_objective,
            ),
        },
        repeats=1,
    ),
    "mnist, multinomial": Work(
        "mnist",
        2000,
        {
            "kitchensinks logistic, gap 1e-3": lambda X, K: ours(K, alpha=1e-5, loss="logistic"),
            "LogisticRegression(lbfgs) on the same features": lambda X, K: _SameFeatures(
                K,
                LogisticRegression(C=1 / (2e-5 * len(X)), max_iter=300),
                multinomial_objective,
            ),
        },
        repeats=1,
    ),
    "covtype, binning": Work(
        "covtype-binary",
        50,
        {
            "kitchensinks binning, 50 grids, columns as they come": lambda X, K: ours(
                K, basis=ks.Binning(gamma=16.0 * raw_gamma(X)), standardize=False, alpha=1e-6
            ),
            "kitchensinks, no choices": lambda X, K: ks.KitchenSinkClassifier(random_state=SEED),
            "SVC(rbf, C = 100) on 10,000 rows": lambda X, K: _Few(10_000),
            "SVC(rbf, C = 100) on 20,000 rows": lambda X, K: _Few(20_000),
        },
        repeats=1,
    ),
    "adult, everyone": Work(
        "adult-onehot",
        2000,
        {
            "kitchensinks, no choices": lambda X, K: ks.KitchenSinkClassifier(random_state=SEED),
            "Nystroem + RidgeClassifier": lambda X, K: make_pipeline(
                StandardScaler(),
                Nystroem(gamma=gamma_of(X), n_components=min(K, 1000), random_state=SEED),
                RidgeClassifier(alpha=1e-5 * len(X)),
            ),
            "RBFSampler + SGDClassifier": lambda X, K: sampler(
                X, K, np.float32, SGDClassifier(alpha=1e-5, random_state=SEED)
            ),
            "SVC(rbf)": lambda X, K: make_pipeline(StandardScaler(), SVC(gamma=gamma_of(X))),
            "HistGradientBoosting": lambda X, K: HistGradientBoostingClassifier(random_state=SEED),
            "LightGBM": lambda X, K: lightgbm(),
        },
        repeats=1,
    ),
    "cpu_act, regression": Work(
        "cpu_act",
        1000,
        {
            "kitchensinks": lambda X, K: ks.KitchenSinkRegressor(
                ks.Fourier(), K, alpha=1e-6, solver=ks.Solver(dtype="float32"), random_state=SEED
            ),
            "kitchensinks, no choices": lambda X, K: ks.KitchenSinkRegressor(random_state=SEED),
            "RBFSampler + Ridge float32": lambda X, K: sampler(
                X, K, np.float32, Ridge(alpha=1e-6 * len(X))
            ),
            "RBFSampler + Ridge float64": lambda X, K: sampler(
                X, K, np.float64, Ridge(alpha=1e-6 * len(X))
            ),
            "HistGradientBoosting": lambda X, K: HistGradientBoostingRegressor(random_state=SEED),
            "LightGBM": lambda X, K: lightgbm(regression=True),
        },
    ),
    "kddcup99, ridge": Work("kddcup99", 2000, ridge(1e-6, 2), 100_000, 1),
    "covtype, 7 classes, 100,000 rows": Work("covtype", 2000, ridge(1e-6, 2), 100_000, 1),
}


class _Few:
    """An exact kernel machine on some of the rows, with what the study of table I found for it."""

    def __init__(self, rows: int) -> None:
        self.rows = rows

    def fit(self, X: np.ndarray, y: np.ndarray) -> "_Few":
        some = np.random.default_rng(SEED).permutation(len(X))[: self.rows]
        machine = SVC(gamma=0.25 * gamma_of(X), C=100.0, cache_size=500)
        self.model = make_pipeline(StandardScaler(), machine).fit(X[some], y[some])
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        return self.model.predict(X)


class _Streamed:
    """Rows in one pass: the ridge by generalised cross-validation, no second look."""

    def __init__(self, count: int) -> None:
        self.model = ours(count)

    def fit(self, X: np.ndarray, y: np.ndarray) -> "_Streamed":
        self.model.freeze(X, y).partial_fit(X, y)
        _ = self.model.alpha_
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        return self.model.predict(X)


def run(name: str, contestant: str) -> dict[str, float]:
    """Seconds of fit and of predict, peak memory beyond the data in MB, test error in percent.

    The error of a regression is its root mean square in percent of the targets' deviation.
    """
    work = WORK[name]
    data = datasets.load(work.data, download=False)
    X, y = np.ascontiguousarray(data.X_train[: work.rows]), data.y_train[: work.rows]
    few = np.random.default_rng(0).choice(len(X), 2000, replace=False)
    make = work.makers[contestant]
    make(X[few], 64).fit(X[few], y[few]).predict(X[few])
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    model = make(X, work.count)
    start, cpu = time.perf_counter(), time.process_time()
    model.fit(X, y)
    fitted, cpu = time.perf_counter(), time.process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    found = model.predict(data.X_test)
    if data.task == "regression":
        wrong = float(np.sqrt(np.mean((found - data.y_test) ** 2)) / np.std(y))
    else:
        wrong = float(np.mean(found != data.y_test))
    result = {
        "fit_seconds": getattr(model, "stopped", fitted) - getattr(model, "clock", start),
        "predict_seconds": time.perf_counter() - fitted,
        "fit_cpu_seconds": cpu,
        "memory_mb": (peak - before) / 1024,
        "test_error_percent": 100 * wrong,
    }
    if isinstance(getattr(model, "objective_", None), float):  # LightGBM's is the name of a loss
        result["objective"] = model.objective_
    return result


if __name__ == "__main__":
    print(json.dumps(run(sys.argv[1], sys.argv[2])))
