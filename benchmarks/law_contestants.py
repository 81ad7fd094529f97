"""Those who run in `benchmarks.learned_law`, each with the settings that it comes with.

A contestant is a function of the task, the seed, the number of components asked of ours (or None)
and the settings that `tune` has chosen, and returns something with `fit` and `predict`.
"""

import time
from collections.abc import Callable
from typing import Any

import numpy as np

OURS, PEER, LARGE, TUNED = "kitchensinks", "LightGBM", "LightGBM 500 × 255", "LightGBM tuned"
FIXED = "RBFSampler + RidgeCV"
# Rows, draws and processor seconds of the search for the settings of LightGBM.
TUNING_ROWS, DRAWS, TUNING_SECONDS = 20_000, 50, 240.0


def ours(task: str, seed: int, count: int | None, _: Any) -> Any:
    import kitchensinks as ks

    kind = ks.KitchenSinkClassifier if task == "classification" else ks.KitchenSinkRegressor
    if count is None:
        return kind(random_state=seed)
    # A draw of what wide tables get is a cosine and a sine.
    return kind(n_components=count // 2, random_state=seed)


def lightgbm(**options: Any) -> Callable[..., Any]:
    def make(task: str, seed: int, _: Any, tuned: dict[str, Any] | None) -> Any:
        import lightgbm

        kind = lightgbm.LGBMClassifier if task == "classification" else lightgbm.LGBMRegressor
        return kind(n_jobs=1, random_state=seed, verbose=-1, **{**options, **(tuned or {})})

    return make


def xgboost(task: str, seed: int, *_: Any) -> Any:
    import xgboost

    kind = xgboost.XGBClassifier if task == "classification" else xgboost.XGBRegressor
    return kind(n_jobs=1, random_state=seed)


def boosting(task: str, seed: int, *_: Any) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    classes = task == "classification"
    return (HistGradientBoostingClassifier if classes else HistGradientBoostingRegressor)(
        random_state=seed
    )


def forest(task: str, seed: int, *_: Any) -> Any:
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

    kind = RandomForestClassifier if task == "classification" else RandomForestRegressor
    return kind(n_jobs=1, random_state=seed)


def sampler(task: str, seed: int, *_: Any) -> Any:
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
    LARGE: lightgbm(n_estimators=500, num_leaves=255),
    TUNED: lightgbm(),
    "HistGradientBoosting": boosting,
    "random forest": forest,
    FIXED: sampler,
    "XGBoost": xgboost,
}
# Those whose fit does not depend on the seed: once is enough where the split does not either.
UNSEEDED = {PEER, LARGE, "XGBoost"}


def draw_settings(random: np.random.Generator) -> dict[str, Any]:
    """Settings of LightGBM, from the ranges that people search."""
    return {
        "n_estimators": int(np.exp(random.uniform(np.log(50), np.log(1000)))),
        "learning_rate": float(np.exp(random.uniform(np.log(0.02), np.log(0.3)))),
        "num_leaves": int(np.exp(random.uniform(np.log(8), np.log(255)))),
        "min_child_samples": int(np.exp(random.uniform(np.log(5), np.log(100)))),
        "reg_lambda": float(np.exp(random.uniform(np.log(1e-3), np.log(10)))),
        "colsample_bytree": float(random.uniform(0.4, 1.0)),
        "subsample": float(random.uniform(0.5, 1.0)),
        "subsample_freq": 1,
    }


def tune(task: str, rows: Any, targets: np.ndarray) -> dict[str, Any]:
    """The best of 50 random draws on a quarter of at most 20,000 training rows.

    The defaults are the first draw. The search ends when its processor time is used up, and a draw
    that it cuts short does not count.
    """
    from lightgbm.callback import EarlyStopException

    random = np.random.default_rng(0)
    places = random.permutation(len(targets))[:TUNING_ROWS]
    held, fitted = np.split(places, [len(places) // 4])
    take = rows.iloc.__getitem__ if hasattr(rows, "iloc") else rows.__getitem__
    start = time.process_time()
    best, least, done = {}, np.inf, 0

    def over(env: Any = None) -> bool:
        late = time.process_time() - start > TUNING_SECONDS
        if late and env is not None and done:
            raise EarlyStopException(env.iteration, [])
        return late

    for k in range(DRAWS):
        settings = {} if k == 0 else draw_settings(random)
        model = lightgbm(**settings)(task, 0, None, None)
        model.fit(take(fitted), targets[fitted], callbacks=[over])
        if k and over():
            break
        found = model.predict(take(held))
        if task == "regression":
            error = float(np.mean((found - targets[held]) ** 2))
        else:
            error = float(np.mean(found != targets[held]))
        if error < least:
            best, least = settings, error
        done = k + 1
    seconds = time.process_time() - start
    return {"settings": best, "validation": least, "draws": done, "seconds": seconds}
