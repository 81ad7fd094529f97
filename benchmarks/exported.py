"""Exported models beside the library: does onnxruntime answer as predict does, table by table?

    KITCHENSINKS_DATA=... python -m benchmarks.exported            # every table of the pool
    KITCHENSINKS_DATA=... python -m benchmarks.exported ames sick  # some of them

Fits a model with nothing chosen to the columns of a table (20,000 rows at most), exports it, and
serves up to 4,000 rows of the table in batches of 500 on one thread. Prints the largest difference
(of a probability, or in units of the range of the predictions), the rows that differ by more than
10⁻⁵, and processor time; writes results/exported.json where every table was asked for.
"""

import argparse
import json
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import pool
from benchmarks.__main__ import machine
from benchmarks.store import FOLDER, write

RESULTS = FOLDER / "exported.json"
FITTED, SERVED, BATCH = 20_000, 4_000, 500
# Differences that are more than the rounding of float32 sums.
NOTED = 1e-5


def feeds(table: Any, meanings: dict[str, str]) -> dict[str, np.ndarray]:
    """A pandas frame as inputs of the file, by what the metadata of the file say."""
    found = {}
    for name, meaning in meanings.items():
        values = table[name]
        if meaning == "text":
            own = values.astype(object).where(values.notna(), "").astype(str).to_numpy(object)
        elif meaning == "number":
            own = values.to_numpy(np.float64, na_value=np.nan)
        else:
            own = values.astype("datetime64[s]").astype("int64").to_numpy().astype(np.float64)
            own[values.isna().to_numpy()] = np.nan
        found[name] = own[:, None]
    return found


def measured(name: str, folder: Path) -> dict[str, Any]:
    """One table."""
    import onnxruntime

    import kitchensinks as ks

    table, targets = pool.load(name)
    table, targets = table[:FITTED], targets[:FITTED]
    classes = pool.listed()[name][0] == "classification"
    kind = ks.KitchenSinkClassifier if classes else ks.KitchenSinkRegressor
    model = kind(random_state=0).fit(table, targets)
    features = model.law_.features
    facts = {"table": name, "basis": type(features.basis).__name__, "columns": features.n_columns}
    path = folder / f"{name}.onnx"
    start = time.process_time()
    try:
        ks.to_onnx(model, path)
    except ValueError as error:
        return facts | {"refused": str(error)}
    exported = time.process_time() - start
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = 1, 3
    session = onnxruntime.InferenceSession(path, options)
    rows, notes = table[:SERVED], session.get_modelmeta().custom_metadata_map
    if "columns" in notes:
        inputs = feeds(rows, json.loads(notes["columns"]))
    else:
        inputs = {"rows": rows.to_numpy(np.float64)}
    start = time.process_time()
    parts = [
        session.run(None, {name: own[first : first + BATCH] for name, own in inputs.items()})[-1]
        for first in range(0, len(rows), BATCH)
    ]
    served, theirs = time.process_time() - start, np.concatenate(parts)
    start = time.process_time()
    ours = model.predict_proba(rows) if classes else model.predict(rows)[:, None]
    own_time = time.process_time() - start
    apart = np.abs(ours - theirs).max(axis=1) / (1.0 if classes else np.ptp(ours))
    return facts | {
        "megabytes": path.stat().st_size / 1e6,
        "rows": len(rows),
        "largest": float(apart.max()),
        "noted": int((apart > NOTED).sum()),
        "export_seconds": exported,
        "served_microseconds": 1e6 * served / len(rows),
        "own_microseconds": 1e6 * own_time / len(rows),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("tables", nargs="*", help="tables of the pool; all by default")
    asked = parser.parse_args().tables
    warnings.simplefilter("ignore")
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for name in asked or pool.listed():
            facts = measured(name, Path(folder))
            found.append(facts)
            told = facts.get("refused") or (
                f"{facts['megabytes']:7.2f} MB  differs by {facts['largest']:.0e} at most, "
                f"{facts['noted']} of {facts['rows']} rows by more than {NOTED:.0e}; a row takes "
                f"{facts['served_microseconds']:.0f} µs, and {facts['own_microseconds']:.0f} ours"
            )
            print(f"{name:20} {facts['basis']:8} {facts['columns']:8}  {told}", flush=True)
    if not asked:
        write(RESULTS, {"machine": machine(), "tables": found})


if __name__ == "__main__":
    main()
