"""Model files and checkpoints whose contents were changed, with checksums that are right again."""

import io
import json
import zipfile

import numpy as np
import pandas as pd

from kitchensinks.files import archive


def mixed_frame(n_rows):
    """Numbers, of which some are missing, categories, dates, free text, and a target y."""
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "size": np.where(rng.random(n_rows) < 0.1, np.nan, rng.normal(size=n_rows)),
            "city": rng.choice(["Oslo", "Rome", "Lima"], n_rows),
            "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(n_rows), unit="D"),
            "title": [f"{'tax return' if k % 2 else 'on cats'} no {k}" for k in range(n_rows)],
            "y": rng.normal(size=n_rows),
        }
    )


def contents(path):
    """The header of an archive, and its other entries by name."""
    with zipfile.ZipFile(path) as packed:
        entries = {name: packed.read(name) for name in packed.namelist()}
    return json.loads(entries.pop("model.json")), entries


def store(path, header, entries, sign=True):
    """Write an archive of these, with the right checksums of all of them."""
    if sign:
        header["checksums"] = {name: archive.digest(data) for name, data in entries.items()}
    header["header_checksum"] = archive._header_digest(header)
    with zipfile.ZipFile(path, "w") as packed:
        for name, data in {**entries, "model.json": json.dumps(header).encode()}.items():
            packed.writestr(zipfile.ZipInfo(name), data)


def rewrite(path, **changes):
    """The archive with other values for some fields of its header, wherever they stand."""
    header, entries = contents(path)
    for name, value in changes.items():
        assert replaced(header, name, value), f"the header has no {name}"
    store(path, header, entries, sign="checksums" not in changes)


def replaced(values, name, value):
    """Replace the fields of this name in nested values; returns how many there were."""
    found = 0
    for key, own in values.items() if isinstance(values, dict) else enumerate(values):
        if key == name:
            values[key] = value
            found += 1
        elif isinstance(own, dict | list):
            found += replaced(own, name, value)
    return found


def with_arrays(path, **arrays):
    """The archive with other arrays, or other bytes for them, where the names end so."""
    header, entries = contents(path)
    for name, array in arrays.items():
        places = [one for one in entries if one.endswith(f"-{name}.npy")]
        places += learned(header, name)
        assert places, f"there is no array {name}"
        for place in places:
            entries[place] = array if isinstance(array, bytes) else array_bytes(array)
    store(path, header, entries)


def learned(values, name):
    """Entries of the arrays of this name that a draw has learned, whose places are numbers."""
    found = []
    for key, own in values.items() if isinstance(values, dict) else enumerate(values):
        if key == "dict":
            found += [f"{one['array']}.npy" for part, one in own if part.endswith(name)]
        elif isinstance(own, dict | list):
            found += learned(own, name)
    return found


def array_bytes(array, **options):
    buffer = io.BytesIO()
    np.save(buffer, array, **options)
    return buffer.getvalue()


def empty_bytes(shape, dtype="<f8"):
    """An array without entries whose header says any shape."""
    buffer = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        buffer, {"descr": dtype, "fortran_order": False, "shape": shape}
    )
    return buffer.getvalue()
