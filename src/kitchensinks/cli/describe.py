"""`sinks info`, `sinks export` and `sinks datasets`."""

import json
import math
from pathlib import Path
from typing import Any

from kitchensinks.cli.options import writable
from kitchensinks.cli.terminal import Terminal
from kitchensinks.files.archive import ModelFileError, read_header


def info(path: Path, terminal: Terminal) -> dict[str, Any]:
    """What the header of a model file says; no array is read."""
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist: need a model that `sinks fit` wrote.")
    header = read_header(path)
    try:
        facts = _facts(path, header)
    except (KeyError, TypeError, AttributeError) as error:
        raise ModelFileError(
            f"{path} makes no sense ({error!r}): it was damaged or not written by kitchensinks."
        ) from error
    for name, value in facts.items():
        if name == "tried":
            for trial in value or []:
                terminal.show(f"{'tried':12s}{_trial(trial)}")
        elif value not in (None, []):
            terminal.show(f"{name:12s}{_told(value)}")
    return facts


def _facts(path: Path, header: dict[str, Any]) -> dict[str, Any]:
    notes = header.get("notes") or {}
    columns = [
        {"name": column["name"], "kind": column["kind"]}
        for column in (header.get("table") or {}).get("columns", [])
    ]
    return {
        "model": str(path),
        "bytes": path.stat().st_size,
        "format": header["format"],
        "version": header["version"],
        "kind": header["kind"],
        "target": notes.get("target"),
        "task": notes.get("task"),
        "basis": _in_words(header["basis"]),
        "components": header["n_components"],
        "inputs": header["n_inputs"],
        "seed": header["seed"],
        "dtype": header["dtype"],
        "loss": header["loss"]["loss"],
        "alpha": header["facts"]["alpha_"],
        "solver": header["facts"]["solver_"],
        **_learned(header.get("adaptation")),
        "rows": notes.get("rows"),
        "validation": notes.get("validation"),
        "columns": columns,
    }


def _learned(record: dict[str, Any] | None) -> dict[str, Any]:
    """What the law was learned to be, all that was tried for it, and why that stopped."""
    if record is None:
        return {"law": None, "tried": None, "reason": None}
    names = ("stage", "what", "rows", "error")
    # A basis with a bandwidth of its own has no factor.
    factor = "" if math.isnan(record["ridge"]) else f", factor {record['factor']:.3g}"
    return {
        "law": f"learned on {record['map']} columns{factor}",
        "tried": [dict(zip(names, trial, strict=True)) for trial in record["trials"]],
        "reason": record["reason"],
    }


def _trial(trial: dict[str, Any]) -> str:
    return f"{trial['stage']}: {trial['what']}, {trial['rows']} rows, error {trial['error']:.4f}"


def _told(value: Any) -> str:
    """A fact as text."""
    if isinstance(value, dict):
        known = ((key, number) for key, number in value.items() if number is not None)
        return ", ".join(f"{key} {number:.5g}" for key, number in known)
    if isinstance(value, list):
        return ", ".join(f"{column['name']} ({column['kind']})" for column in value)
    return str(value)


def _in_words(basis: dict[str, Any]) -> str:
    """A basis as one would write it: Fourier(kernel=laplacian, gamma=0.2)."""
    fields = []
    for name, value in basis["fields"].items():
        if isinstance(value, dict):
            parts = value.get("list", [])
            inner = [_in_words(part) for part in parts if isinstance(part, dict)]
            fields.append(f"{name}=[{', '.join(inner)}]" if inner else f"{name}=…")
        elif value is not None:
            shown = f"{value:.4g}" if isinstance(value, float) else str(value)
            fields.append(f"{name}={shown}")
    return f"{basis['basis']}({', '.join(fields)})"


def export(path: Path, onnx: Path, terminal: Terminal) -> dict[str, Any]:
    """A model as ONNX. What the columns of its input are stands in the file's metadata."""
    from kitchensinks.files.model import open_model
    from kitchensinks.files.onnx import to_onnx

    writable(onnx)
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist: need a model that `sinks fit` wrote.")
    saved = open_model(path)
    columns = getattr(saved.estimator, "columns_", None)
    notes = {}
    if columns is not None:
        notes = {"columns": json.dumps(columns.outputs, ensure_ascii=False)}
    to_onnx(saved.estimator, onnx, notes)
    width = saved.estimator.n_features_in_ if columns is None else columns.width
    size = onnx.stat().st_size
    terminal.show(f"{onnx}: takes float64 rows of {width} numbers; {size / 1e6:.1f} MB.")
    if columns is not None and columns.outputs != columns.inputs:
        terminal.note(
            "The model was fitted to a mixed table: its rows are the encoded columns, whose names "
            "are in the metadata of the file under 'columns'."
        )
    return {"model": str(path), "onnx": str(onnx), "inputs": width, "bytes": size}


def list_datasets(terminal: Terminal) -> dict[str, Any]:
    """Every data set by name, and whether it is here."""
    from kitchensinks.papers import datasets

    here = set(datasets.available())
    facts = [
        {"name": name, "here": name in here, "description": text}
        for name, text in datasets.names().items()
    ]
    for fact in facts:
        mark = "here" if fact["here"] else "-"
        terminal.show(f"{fact['name']:16s} {mark:5s} {fact['description']}")
    terminal.note(f"Files are looked for in the folder named by {datasets.FOLDER_VARIABLE}.")
    return {"datasets": facts}


def write_dataset(name: str, out: Path | None, terminal: Terminal) -> dict[str, Any]:
    """A data set as train.csv and test.csv, with the target in a column of its own, last."""
    import pandas

    from kitchensinks.papers import datasets
    from kitchensinks.tables.disk import atomic

    folder = out or Path(name)
    data = datasets.load(name)
    folder.mkdir(parents=True, exist_ok=True)
    target = "income" if name == "adult" else "target"
    written = {}
    for part in ("train", "test"):
        rows, truths = getattr(data, f"X_{part}"), getattr(data, f"y_{part}")
        table = pandas.DataFrame(rows, columns=list(data.feature_names))
        table[target] = truths
        path = folder / f"{part}.csv"
        with atomic(path) as temporary:
            table.to_csv(temporary, index=False)
        written[part] = str(path)
        terminal.show(f"{path}: {len(table):,} rows; the target is {target!r}.")
    return {"name": name, "target": target, "task": data.task, **written}
