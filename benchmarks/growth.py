"""Time of a fit with nothing chosen against rows and columns, beside LightGBM's defaults.

    python -m benchmarks.growth             # what is not in the results yet, and the table
    python -m benchmarks.report             # the table and the picture into docs/benchmarks.md

Normal columns, of which four matter; one thread; processor seconds of the second of two fits, the
first one of 1000 rows, so that nothing is compiled while the clock runs. Rows of 10 million come
from a file: see `benchmarks.out_of_core --command`.
"""

import argparse
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import kitchensinks as ks
from benchmarks.store import FOLDER, complete

RESULTS = FOLDER / "growth.json"
# (rows, columns) along each axis.
ROWS = [(n, 30) for n in (1000, 10_000, 100_000, 1_000_000)]
COLUMNS = [(10_000, d) for d in (2, 10, 30, 100, 300, 1000)]
HELD_OUT = 10_000


def made(n_rows: int, n_columns: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Rows and targets, as in `benchmarks.out_of_core`; of two columns each counts twice."""
    random = np.random.default_rng(seed)
    rows = random.standard_normal((n_rows, n_columns), dtype=np.float32)
    one, two, three, four = (rows[:, k % n_columns].astype(np.float64) for k in range(4))
    target = np.sin(2.0 * one) + two * three + np.abs(four)
    return rows, target + 0.1 * random.normal(size=n_rows)


def contestants() -> dict[str, Any]:
    from lightgbm import LGBMRegressor

    return {
        "kitchensinks": partial(ks.KitchenSinkRegressor, random_state=0, n_jobs=1),
        "LightGBM": partial(LGBMRegressor, random_state=0, n_jobs=1, verbose=-1),
    }


def run(name: str, n_rows: int, n_columns: int) -> dict[str, float]:
    """Processor seconds of a fit, and squared error on other rows over their variance."""
    make = contestants()[name]
    make().fit(*made(1000, n_columns, seed=2))
    rows, target = made(n_rows, n_columns)
    start = time.process_time()
    model = make().fit(rows, target)
    seconds = time.process_time() - start
    others, truth = made(HELD_OUT, n_columns, seed=1)
    error = float(np.mean((model.predict(others) - truth) ** 2) / truth.var())
    return {"cpu_seconds": seconds, "relative_error": error}


def table(results: dict[str, Any]) -> str:
    """Markdown: processor seconds and errors along both axes."""
    names = ("kitchensinks", "LightGBM")
    lines = ["| rows × columns | " + " | ".join(f"{name}, s (error)" for name in names) + " |"]
    lines.append("|---|---|---|")
    for n_rows, n_columns in dict.fromkeys(ROWS + COLUMNS):
        cells = []
        for name in names:
            row = results.get(f"{name}|{n_rows}|{n_columns}")
            if row is None:
                cells.append("–")
                continue
            cells.append(f"{row['cpu_seconds']:.2f} ({100 * row['relative_error']:.2g} %)")
        lines.append(f"| {n_rows:,} × {n_columns} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def draw(results: dict[str, Any], path: Path) -> None:
    """Processor seconds against rows and against columns."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 3), layout="constrained")
    panels = figure.subplots(1, 2, sharey=True)
    for panel, sizes, axis in zip(panels, (ROWS, COLUMNS), (0, 1), strict=True):
        for name, style in (("kitchensinks", "o-"), ("LightGBM", "s--")):
            known = [one for one in sizes if f"{name}|{one[0]}|{one[1]}" in results]
            spent = [results[f"{name}|{n}|{d}"]["cpu_seconds"] for n, d in known]
            panel.loglog([one[axis] for one in known], spent, style, label=name)
        panel.set_xlabel(("rows of 30 columns", "columns of 10,000 rows")[axis])
    panels[0].set_ylabel("processor seconds of a fit")
    panels[0].legend()
    figure.savefig(path, metadata={"Date": None})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", help="measure the cells whose key contains this")
    options = parser.parse_args()
    cells = [
        (f"{name}|{n_rows}|{n_columns}", partial(run, name, n_rows, n_columns))
        for n_rows, n_columns in dict.fromkeys(ROWS + COLUMNS)
        for name in ("LightGBM", "kitchensinks")
    ]
    cells = [cell for cell in cells if options.only is None or options.only in cell[0]]
    print(table(complete(RESULTS, cells)))


if __name__ == "__main__":
    main()
