"""Rows that come later than the training rows: the estimators with nothing chosen beside others.

    python -m benchmarks.later                    # what is not in the results yet
    python -m benchmarks.later --tables line bikes --contestants kitchensinks --again
    python -m benchmarks.later --report           # print the table alone

Every table is in the order of its date, of another column or of its file. The first three quarters
of the rows are fitted and the others tested. "time=" is told which column that is.
Errors are root mean squares in percent of the deviation of the tested targets, or percentages of
wrong classes. Trees get categories as such; for
ridge they become indicators, and dates their parts. Every fit has one thread. Tables of the pool
need KITCHENSINKS_DATA.
"""

import argparse
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.pool import load
from benchmarks.store import FOLDER, complete

RESULTS = FOLDER / "later.json"
OURS, TOLD, PEERS = "kitchensinks", "kitchensinks, time=", ("HistGradientBoosting", "Ridge")
SHARE = 0.75


# -- made tables -------------------------------------------------------------------------


def line() -> tuple[pd.DataFrame, np.ndarray]:
    """5x + noise, x from 0 to 4/3."""
    rng = np.random.default_rng(0)
    x = np.sort(rng.uniform(0.0, 1.0 / SHARE, 3000))
    return pd.DataFrame({"x": x}), 5.0 * x + rng.normal(0.0, 0.2, len(x))


def trend() -> tuple[pd.DataFrame, np.ndarray]:
    """A trend in time beside a smooth function of other columns."""
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(6000, 6))
    rows[:, 0] = np.arange(6000)
    smooth = np.sin(2 * rows[:, 1]) + rows[:, 2] * rows[:, 3] + np.abs(rows[:, 4])
    return _frame(rows), rows[:, 0] / 1500 + smooth + rng.normal(0.0, 0.3, 6000)


def seasons() -> tuple[pd.DataFrame, np.ndarray]:
    """Days of four years: growth, seasons, weekdays and a temperature."""
    rng = np.random.default_rng(2)
    date = pd.date_range("2019-01-01", periods=1461, freq="D")
    year = 2 * np.pi * date.day_of_year.to_numpy() / 365.25
    warm = -np.cos(year) + rng.normal(0.0, 0.3, len(date))
    week = np.array([0.0, 0.1, 0.2, 0.2, 0.4, 0.9, 0.7])[date.day_of_week]
    y = 3.0 + np.arange(len(date)) / 700 + warm + 0.4 * np.sin(2 * year) + week
    return pd.DataFrame({"date": date, "warm": warm}), y + rng.normal(0.0, 0.2, len(date))


def bikes() -> tuple[pd.DataFrame, np.ndarray]:
    """Hours of two years, in the manner of a bicycle hire: the share of a day grows with time."""
    rng = np.random.default_rng(3)
    date = pd.date_range("2011-01-01", periods=2 * 8760, freq="h")
    hour, day = date.hour.to_numpy(), date.day_of_year.to_numpy()
    work = date.day_of_week.to_numpy() < 5
    warm = 12 - 12 * np.cos(2 * np.pi * (day - 20) / 365) + 4 * np.sin(np.pi * (hour - 8) / 12)
    warm = warm + np.repeat(rng.normal(0, 3, len(date) // 24), 24)
    wet = np.repeat(rng.uniform(0.3, 1.0, len(date) // 24), 24) + rng.normal(0, 0.05, len(date))
    rush = np.exp(-(((hour - 8) / 1.5) ** 2)) + 1.3 * np.exp(-(((hour - 17.5) / 2) ** 2))
    free = np.exp(-(((hour - 14) / 4) ** 2))
    shape = np.where(work, rush + 0.3 * free, 1.1 * free) + 0.05
    level = 1.0 + 0.7 * np.arange(len(date)) / 8760
    count = 200 * level * shape * np.clip(0.2 + warm / 25, 0.05, 1.3) * (1.4 - 0.6 * wet)
    columns = {
        "year": date.year,
        "month": date.month,
        "hour": hour,
        "weekday": date.day_of_week,
        "working": work.astype(int),
        "warm": warm,
        "wet": wet,
    }
    return pd.DataFrame(columns), rng.poisson(count).astype(float)


def shifts() -> tuple[pd.DataFrame, np.ndarray]:
    """Level shifts at unknown days, the last of them within the fitted rows."""
    rng = np.random.default_rng(4)
    rows = rng.normal(size=(6000, 5))
    level = np.array([0.0, 2.0, -1.0, 1.0])[np.digitize(np.arange(6000), [1200, 2600, 3900])]
    y = level + np.sin(2 * rows[:, 0]) + 0.5 * rows[:, 1] * rows[:, 2] + 0.5 * rows[:, 3]
    date = pd.date_range("2020-01-01", periods=6000, freq="6h")
    return _frame(rows).assign(date=date), y + rng.normal(0.0, 0.3, 6000)


def orders() -> tuple[pd.DataFrame, np.ndarray]:
    """A mixed table in the order of its date: prices rise, and categories have their own."""
    rng = np.random.default_rng(5)
    n = 12_000
    date = pd.date_range("2021-01-01", periods=n, freq="90min")
    shop, kind = rng.integers(0, 40, n), rng.integers(0, 8, n)
    size, load_ = rng.gamma(2.0, 1.0, n), rng.uniform(0, 1, n)
    dear = rng.normal(0, 0.5, 40)[shop] + rng.normal(0, 1.0, 8)[kind]
    y = 10 + np.arange(n) / 3000 + dear + 1.5 * np.sqrt(size) * (1 + 0.5 * load_)
    columns = {
        "date": date,
        "shop": pd.Categorical([f"s{k}" for k in shop]),
        "kind": pd.Categorical([f"k{k}" for k in kind]),
        "size": size,
        "load": load_,
    }
    return pd.DataFrame(columns), y + rng.normal(0.0, 0.5, n)


def classes() -> tuple[pd.DataFrame, np.ndarray]:
    """Two classes whose border moves with time."""
    rng = np.random.default_rng(6)
    rows = rng.normal(size=(6000, 5))
    score = rows[:, 0] + rows[:, 1] * rows[:, 2] + np.linspace(-1.5, 1.5, 6000)
    date = pd.date_range("2020-01-01", periods=6000, freq="h")
    return _frame(rows).assign(date=date), np.where(
        score + rng.logistic(0, 0.3, 6000) > 0, "b", "a"
    )


def _frame(rows: np.ndarray) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=[f"x{k}" for k in range(rows.shape[1])])


# -- tables of the pool ------------------------------------------------------------------


def _sorted(name: str, by: list[str]) -> Callable[[], tuple[pd.DataFrame, np.ndarray]]:
    """A table of the pool in the order of some columns; in that of its file without any."""

    def made() -> tuple[pd.DataFrame, np.ndarray]:
        table, values = load(name)
        if not by:
            return table, values
        order = table[by].reset_index(drop=True).sort_values(by, kind="stable").index.to_numpy()
        return table.iloc[order].reset_index(drop=True), values[order]

    return made


TABLES: dict[str, Callable[[], tuple[pd.DataFrame, np.ndarray]]] = {
    "line": line,
    "trend": trend,
    "seasons": seasons,
    "bikes": bikes,
    "shifts": shifts,
    "orders": orders,
    "classes": classes,
    "deliveries": _sorted("deliveries", []),
    "deliveries by distance": _sorted("deliveries", ["distance"]),
    "ames by sale": _sorted("ames", ["Year_Sold", "Mo_Sold"]),
    "ames by year built": _sorted("ames", ["Year_Built"]),
    "supreme by year": _sorted("analcatdata_supreme", ["Year_of_decision"]),
    "parkinsons by day": _sorted("parkinsons", ["x3"]),
    "soil": _sorted("visualizing_soil", []),
    "wine by alcohol": _sorted("wine_quality_white", ["alcohol"]),
    "lending by rate": _sorted("lending_club", ["int_rate"]),
}
# The column that rows are in the order of, which is told; dates are seen without being told.
TIMES = {
    "line": "x",
    "trend": "x0",
    "deliveries by distance": "distance",
    "ames by year built": "Year_Built",
    "supreme by year": "Year_of_decision",
    "parkinsons by day": "x3",
    "wine by alcohol": "alcohol",
    "lending by rate": "int_rate",
}


# -- contestants -------------------------------------------------------------------------


def ours(classified: bool, seed: int, time: str | None = None) -> Any:
    import kitchensinks as ks

    kind = ks.KitchenSinkClassifier if classified else ks.KitchenSinkRegressor
    return kind(ks.Learned(time=time), random_state=seed, n_jobs=1)


def lightgbm(classified: bool, seed: int) -> Any:
    import lightgbm

    kind = lightgbm.LGBMClassifier if classified else lightgbm.LGBMRegressor
    return kind(n_jobs=1, random_state=seed, verbose=-1)


def boosting(classified: bool, seed: int) -> Any:
    from sklearn import ensemble

    kind = "HistGradientBoostingClassifier" if classified else "HistGradientBoostingRegressor"
    return getattr(ensemble, kind)(random_state=seed, categorical_features="from_dtype")


def ridge(classified: bool, seed: int) -> Any:
    from sklearn.compose import make_column_selector, make_column_transformer
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import RidgeClassifierCV, RidgeCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    numbers = make_pipeline(SimpleImputer(), StandardScaler())
    columns = make_column_transformer(
        (numbers, make_column_selector(dtype_include="number")),
        (OneHotEncoder(handle_unknown="ignore"), make_column_selector(dtype_include="category")),
    )
    kind = RidgeClassifierCV if classified else RidgeCV
    return make_pipeline(columns, kind(np.logspace(-3, 4, 15)))


CONTESTANTS: dict[str, Callable[..., Any]] = {
    OURS: ours,
    TOLD: ours,
    "LightGBM": lightgbm,
    PEERS[0]: boosting,
    PEERS[1]: ridge,
}


def prepared(contestant: str, table: pd.DataFrame) -> pd.DataFrame:
    """A table as a contestant takes it: dates as numbers for those that know none."""
    if contestant in (OURS, TOLD):
        return table
    table = table.copy()
    for name in [one for one in table if table[one].dtype.kind == "M"]:
        date = table.pop(name).dt
        table[f"{name} days"] = date.normalize().astype("int64") / 8.64e13 + date.hour / 24
        for part in ("year", "month", "day", "day_of_week", "hour"):
            table[f"{name} {part}"] = getattr(date, part)
    return table


def run(name: str, contestant: str, seed: int) -> dict[str, float]:
    """Error in percent, and processor seconds of the fit."""
    table, values = TABLES[name]()
    table, cut = prepared(contestant, table), int(SHARE * len(values))
    classified = values.dtype.kind in "OUS"
    told = {"time": TIMES[name]} if contestant == TOLD else {}
    model, start = CONTESTANTS[contestant](classified, seed, **told), time.process_time()
    model.fit(table.iloc[:cut], values[:cut])
    used, truth = time.process_time() - start, values[cut:]
    answers = np.asarray(model.predict(table.iloc[cut:])).ravel()
    if classified:
        error = float(np.mean(answers != truth))
    else:
        error = float(np.sqrt(np.mean((answers - truth) ** 2)) / np.std(truth))
    return {"error": 100 * error, "processor": used}


def report(results: dict[str, Any], seeds: int) -> str:
    """Markdown: mean errors of every table; ours over LightGBM and over the best of the peers.

    Ours is the model that was told the column of the order, where there is one.
    """

    def mean(name: str, one: str) -> float:
        own = [results.get(f"{name}|{one}|{seed}", {}).get("error") for seed in range(seeds)]
        own = [value for value in own if value is not None]
        return float(np.mean(own)) if own else float("nan")

    lines = [
        f"| table | {' | '.join(CONTESTANTS)} | over LightGBM | over the best of the others |",
        f"|---|{'---|' * (len(CONTESTANTS) + 2)}",
    ]
    for name in TABLES:
        errors = {one: mean(name, one) for one in CONTESTANTS}
        best = errors[TOLD] if name in TIMES else errors[OURS]
        over = best / errors["LightGBM"], best / min(errors[one] for one in PEERS)
        cells = ["" if np.isnan(error) else f"{error:.1f}" for error in errors.values()]
        lines.append(f"| {name} | {' | '.join(cells)} | {over[0]:.2f} | {over[1]:.2f} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--contestants", nargs="*", default=list(CONTESTANTS))
    parser.add_argument("--tables", nargs="*", default=list(TABLES))
    parser.add_argument("--again", action="store_true", help="run what is there already anew")
    parser.add_argument("--report", action="store_true", help="print the table alone")
    parser.add_argument("--results", type=Path, default=RESULTS)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    cells = [(n, c, s) for s in range(given.seeds) for n in given.tables for c in given.contestants]
    cells = [cell for cell in cells if cell[1] != TOLD or cell[0] in TIMES]
    jobs = [("|".join(map(str, cell)), partial(run, *cell)) for cell in cells]
    results = complete(given.results, [] if given.report else jobs, given.again)
    print(report(results, given.seeds))


if __name__ == "__main__":
    main()
