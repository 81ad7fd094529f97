"""`sinks info`, `sinks export` and `sinks datasets`."""

import math
from pathlib import Path
from typing import TYPE_CHECKING

from kitchensinks.cli.options import keeps_inputs, writable
from kitchensinks.cli.terminal import Terminal
from kitchensinks.cli.verbs import Datasets, Export, Info
from kitchensinks.files.archive import ModelFileError, read_header
from kitchensinks.fitting.plan import Plan
from kitchensinks.numerics.arrays import Facts
from kitchensinks.state.outer import why_stopped

if TYPE_CHECKING:
    from kitchensinks.papers.datasets import Dataset


def info(options: Info, terminal: Terminal) -> Facts:
    """What the header of a model file says; no array is read."""
    path = options.model
    header = read_header(path)
    try:
        facts = _facts(path, header)
    except (KeyError, TypeError, AttributeError) as error:
        raise ModelFileError(
            f"{path} makes no sense ({error!r}): it was damaged or not written by kitchensinks."
        ) from error
    for name, value in facts.items():
        if name == "trials":
            for trial in value:
                told = f"{trial['stage']}: {trial['what']}, {trial['rows']} rows"
                share = f"squared error {trial['error']:.2%} of the targets' variance"
                terminal.show(f"{'trial':12s}{told}, {share}")
        elif value not in (None, "", []):
            terminal.show(f"{name:12s}{_told(value)}")
    return facts


def _facts(path: Path, header: Facts) -> Facts:
    notes, state = header.get("notes") or {}, header["state"]["fields"]
    law, plan = state["law"]["fields"], state["plan"]["fields"]
    features, evidence = (
        value["fields"] for value in (law["features"], state["outer"]["fields"]["evidence"])
    )
    names = ("objective", "gap", "converged", "iterations")
    proved = {name: evidence[name] for name in names}
    columns = (header.get("table") or {}).get("columns", [])
    loss = header["parameters"]["loss"]
    return {
        "model": str(path),
        "bytes": path.stat().st_size,
        "format": header["format"],
        "version": header["version"],
        "kind": header["kind"],
        "target": notes.get("target"),
        "task": notes.get("task"),
        "basis": _in_words(features["basis"]),
        "components": features["n_components"],
        "inputs": features["n_inputs"],
        "seed": features["seed"],
        "dtype": features["dtype"],
        "loss": loss if isinstance(loss, str) else _in_words(loss),
        "alpha": evidence["alpha"],
        "solver": evidence["solver"],
        "plan": str(Plan(**plan)),
        "evidence": {name: one if math.isfinite(one) else None for name, one in proved.items()},
        "stopped": why_stopped(evidence["converged"], evidence.get("settled")),
        **_learned(law),
        "rows": state["n_rows"],
        "validation": notes.get("validation"),
        "columns": [{"name": column["name"], "kind": column["kind"]} for column in columns],
    }


def _learned(law: Facts) -> Facts:
    """The law, all trials of learning it, and why there are not more components."""
    if law["record"] is None:
        return {"law": "not learned", "trials": [], "reason": law["note"]}
    record = law["record"]["fields"]
    told = [f"learned on {record['map']} columns"]
    # A basis with a bandwidth of its own has no factor and no ridge.
    if not math.isnan(law["ridge"]):
        told += [f"factor {record['factor']:.3g}", f"ridge {law['ridge']:.3g}"]
    if record["members"] > 1:
        told.append(f"{record['members']} members")
    return {
        "law": ", ".join(told),
        "trials": [trial["fields"] for trial in record["trials"]["items"]],
        "reason": record["reason"],
    }


def _told(value: object) -> str:
    if isinstance(value, dict):
        known = ((key, number) for key, number in value.items() if number is not None)
        # Counts in full: rounded to a few digits, they would be wrong for many rows.
        told = ((k, n if isinstance(n, int) else f"{n:.5g}") for k, n in known)
        return ", ".join(f"{key} {number}" for key, number in told)
    if isinstance(value, list):
        return ", ".join(f"{column['name']} ({column['kind']})" for column in value)
    return str(value)


def _in_words(value: Facts) -> str:
    """A basis or a loss as one would write it: Fourier(kernel=laplacian, gamma=0.2)."""
    fields = []
    for name, held in value["fields"].items():
        if isinstance(held, dict):
            parts = [part for part in held.get("list", []) if isinstance(part, dict)]
            # Members of a committee are lists of numbers, and have no fields.
            inner = [_in_words(part) for part in parts if "fields" in part]
            fields.append(f"{name}=[{', '.join(inner)}]" if inner else f"{name}=…")
        elif held is not None:
            fields.append(f"{name}={held:.4g}" if isinstance(held, float) else f"{name}={held}")
    return f"{value.get('basis') or value['type']}({', '.join(fields)})"


def export(options: Export, terminal: Terminal) -> Facts:
    """A model as ONNX, which takes the columns of its table."""
    from kitchensinks.files.model import load
    from kitchensinks.files.onnx import to_onnx

    onnx = writable(options.out)
    keeps_inputs(onnx, model=options.model)
    model = load(options.model)
    columns, width = model.columns_, model.n_features_in_
    to_onnx(model, onnx)
    size = onnx.stat().st_size
    takes = f"float64 rows of {width} numbers"
    if columns is not None and not columns.n_given:
        width = len(columns.inputs)
        takes = f"{width} columns by name"
    terminal.show(f"{onnx}: takes {takes}; {size / 1e6:.1f} MB.")
    if columns is not None and not columns.n_given:
        terminal.note(
            "Each column is an input (n, 1): numbers are float64 (NaN where missing), categories "
            "are text (empty where missing), dates are seconds since 1970. The metadata of the "
            "file say under 'columns' which is which."
        )
    return {"model": str(options.model), "onnx": str(onnx), "inputs": width, "bytes": size}


def datasets(options: Datasets, terminal: Terminal) -> Facts:
    """Every data set by name, whether it is here and where it is had; or one of them as train.csv
    and test.csv, or made of the files of its publisher."""
    from kitchensinks.papers import datasets as known

    if options.make is not None:
        if options.name is None or options.out is not None:
            raise ValueError("--make needs the name of one set, and no --out.")
        paths = list(map(str, known.make(options.name, options.make)))
        for path in paths:
            terminal.show(f"{path}: made; its content has the checksum of the set.")
        return {"name": options.name, "made": paths}
    if options.name is not None:
        folder = options.out or Path(options.name)
        return _write_dataset(options.name, known.load(options.name), folder, terminal)
    here = set(known.available())
    facts = []
    for name, text in known.names().items():
        source = known.source(name)
        mark = "here" if name in here else "-"
        terminal.show(f"{name:16s} {mark:5s} {text}")
        if source.files:
            terminal.show(f"{'':22s} {' and '.join(source.files)}: {source.told}")
        if source.checksum:
            terminal.show(f"{'':22s} sha256 of the content {source.checksum}")
        facts.append({"name": name, "here": name in here, "description": text} | source._asdict())
    terminal.note(f"Files are looked for in the folder named by {known.FOLDER_VARIABLE}.")
    return {"datasets": facts}


def _write_dataset(name: str, data: "Dataset", folder: Path, terminal: Terminal) -> Facts:
    """Two CSV files with the target in a column of its own, last."""
    import pandas

    from kitchensinks.tables.disk import atomic

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
