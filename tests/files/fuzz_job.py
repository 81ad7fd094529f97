"""Damaged and crafted files, one after another: run by test_fuzz.py as a process of its own.

fuzz_job.py FOLDER SEED CASES writes model files and a checkpoint into the folder, harms each of
them CASES times and prints how often each outcome came, as JSON. Damaged bytes are refused or
change nothing. Crafted fields and arrays, with checksums that are right, are refused or give a
model that predicts finite numbers. Any other outcome ends the process with an error that names the
case, and so does a case of more than 20 seconds; a segmentation fault does so by itself.
"""

import faulthandler
import io
import json
import random
import resource
import sys
import warnings
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np

import kitchensinks as ks
from kitchensinks.features.scaling import Spread, warp
from kitchensinks.files.archive import ModelFileError
from kitchensinks.files.checkpoint import CheckpointError
from kitchensinks.numerics.warps import MIX
from tests.files.crafted import array_bytes, contents, empty_bytes, mixed_frame, store

# Seconds that one case may take.
LONGEST = 20
# A crafted file may say that the training rows were elsewhere, had other columns, or were a frame.
OTHER_ROWS = (
    "need finite numbers below",
    "has no column",
    "and was",
    "knows no column names",
    "reads no tables",
    "fit had a data frame",
)
# Bytes that the process may grow by.
MOST_MEMORY = 2**30
RNG = np.random.default_rng(0)
FRAME = mixed_frame(90).drop(columns="y")
X = RNG.normal(size=(90, 3))
Y = np.sin(X[:, 0]) + X[:, 1]
NASTY = [0, 1, -1, 2, 7, 10**9, 10**15, 2**63, -(2**70), 0.5, -1.5, 1e308, 1e-300, float("nan")]
NASTY += [float("inf"), "", "a", "float16", "median", "\x00", "é" * 99, None, True, False, [], {}]
NASTY += [
    [[1.0, 2.0]],
    {"array": "x"},
    {"list": [], "tuple": True},
    {"type": "State", "fields": {}},
]
NASTY += [{"dict": [[[], 1]]}, {"basis": "Custom", "fields": {}}, {"items": [1], "tuple": 0}]


def models():
    """Estimators by name, and what they predict."""
    plain = ks.KitchenSinkRegressor(ks.Fourier(), 20, random_state=0).fit(X, Y)
    law = plain.state_.law
    mapped = replace(law.features, scaler=warp(Spread.of(X), X, MIX))
    state = replace(plain.state_, law=replace(law, features=mapped))
    bases = {
        "fourier": ks.Fourier(),
        "mapped": ks.Fourier(),
        "binning": ks.Binning(),
        "union": ks.Union([ks.Fourier(gamma=[[1.0, 2.0, 3.0]]), ks.Binning(gamma=1.0)]),
        "reweighted": ks.Reweighted(ks.Fourier(), pool=3),
        "maxout": ks.Maxout(projections=6),
        "stumps": ks.Stumps("quantile"),
        "orthonormal": ks.Orthonormal(),
        "hadamard": ks.Fourier(projection="hadamard"),
        "product": ks.Product([ks.Linear(), ks.Fourier()]),
        "pitch": ks.Binning(pitch="hat"),
    }
    for name, basis in bases.items():
        model = ks.KitchenSinkClassifier(basis, 20, random_state=0).fit(X, np.digitize(Y, [-1, 1]))
        if name == "mapped":
            model = plain
            model.state_ = state
        yield name, model, X
    counts = ks.KitchenSinkRegressor(ks.Fourier(), 20, "poisson", random_state=0)
    yield "poisson", counts.fit(X, np.exp(Y)), X
    yield "committee", *committee()
    table = ks.open_table(FRAME.assign(y=Y))
    yield "table", ks.KitchenSinkRegressor(ks.ReLU(), 20).fit(table, "y"), ks.open_table(FRAME)


def committee():
    """A learned law with several members and a line that goes on, from rows with missing values."""
    rng = np.random.default_rng(0)
    rows = np.column_stack([np.arange(700.0), rng.normal(size=(700, 3))])
    rows[rng.random(rows.shape) < [0.0, 0.1, 0.1, 0.0]] = np.nan
    targets = np.sin(2.0 * rows[:, 3]) + rows[:, 0] / 200.0
    law = ks.Learned(effort="quick", members=2, time=0)
    model = ks.KitchenSinkRegressor(law, random_state=0).fit(rows, targets)
    assert model.law_.trend is not None
    return model, rows[:90]


def damaged(luck, data):
    """The bytes of a file with one change."""
    place, changed = luck.randrange(len(data)), bytearray(data)
    # Half of the changes hit the records at the end, which say where all others are.
    if luck.random() < 0.5:
        place = max(0, len(data) - 1 - luck.randrange(600))
    how = luck.randrange(5)
    if how == 0:
        changed[place] ^= 1 << luck.randrange(8)
    elif how == 1:
        changed[place : place + luck.randrange(1, 30)] = bytes(luck.randrange(1, 30))
    elif how == 2:
        del changed[place:]
    elif how == 3:
        changed[place:place] = luck.randbytes(luck.randrange(1, 9))
    else:
        changed[place : place + 4] = luck.choice([b"\xff" * 4, b"\0" * 4, b"\1\0\0\0"])
    return bytes(changed)


def places(values):
    """All pairs of a container and a key in nested values."""
    for key, own in list(values.items() if isinstance(values, dict) else enumerate(values)):
        yield values, key
        if isinstance(own, dict | list):
            yield from places(own)


def crafted(luck, header, entries):
    """Change one field of a header, or one array; returns what was done."""
    if luck.random() < 0.4 and entries:
        name = luck.choice(sorted(entries))
        array = np.load(io.BytesIO(entries[name]))
        number, changed = other_array(luck, array)
        entries[name] = changed
        return f"{name} {number}"
    known = {key: own for key, own in header.items() if key not in ("checksums", "header_checksum")}
    container, key = luck.choice(list(places(known)))
    own = container[key]
    how = luck.randrange(5)
    if how == 0 and isinstance(container, dict):
        del container[key]
    elif how == 1 and isinstance(container, dict):
        container["more"] = own
    elif how == 2 and isinstance(own, int | float) and not isinstance(own, bool):
        container[key] = luck.choice([own + 1, own - 1, -own, own * 1000, float(own)])
    elif how == 3:
        other, place = luck.choice(list(places(known)))
        container[key] = json.loads(json.dumps(other[place]))
    else:
        container[key] = luck.choice(NASTY)
    for name in list(header):
        if name not in known and name not in ("checksums", "header_checksum"):
            del header[name]
    header.update(known)
    left = container.get(key) if isinstance(container, dict) else container[key]
    return f"{key}: {str(own)[:60]} -> {str(left)[:60]}"


def other_array(luck, array):
    """Another array in place of one, and the number of the change."""
    number = luck.randrange(12)
    flat = array.reshape(-1)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        kinds = ["<f4", "<f8", "<i8", "|i1", "<u8", "|b1", "<f2", "<c16", ">f8", "<M8[s]"]
        changes = [
            lambda: array_bytes(array[:-1]) if array.ndim else b"",
            lambda: array_bytes(np.concatenate([array, array])) if array.ndim else b"",
            lambda: array_bytes(array.T if array.ndim > 1 else array[:, None]),
            lambda: array_bytes(flat),
            lambda: array_bytes(flat[:0]),
            lambda: empty_bytes((0, 10 ** luck.choice([3, 9, 15])), array.dtype.str),
            lambda: array_bytes(array[::-1]),
            lambda: array_bytes(np.full(array.shape, luck.choice([np.nan, np.inf, 0.0, -1e308]))),
            lambda: array_bytes(array.astype(luck.choice(kinds))),
            lambda: array_bytes(array + array.dtype.type(luck.choice([1, 100]))),
            lambda: array_bytes(np.full_like(array, luck.choice([2**62, 99, 3]))),
            lambda: array_bytes(np.array(["a"] * max(1, len(flat)))),
        ]
        try:
            return number, changes[number]()
        except (TypeError, ValueError, OverflowError):
            return number, array_bytes(np.zeros(3))


def outcome(path, rows, expected, exact):
    """ "refused", "same", "other" or "other rows"; an error where the outcome is none of these."""
    try:
        model = ks.load(path)
    except ModelFileError:
        return "refused"
    try:
        found = model.predict(rows)
    except ValueError as error:
        if exact or not any(words in str(error) for words in OTHER_ROWS):
            raise
        return "other rows"
    same = np.array_equal(found, expected)
    if exact and same:
        return "same"
    assert not exact, "damaged bytes changed a prediction"
    assert found.shape[:1] == expected.shape[:1]
    if found.dtype.kind == "f":
        assert np.isfinite(found).all(), "predictions that are not finite"
    if model.law_.record is not None:
        assert np.isfinite(model.feature_importances_).all()
    # A file may say that few rows were fitted, which have no wide intervals.
    few = getattr(model.state_.calibrated, "count", 1.0)
    if hasattr(model, "predict_interval") and few > 1.0:
        intervals = model.predict_interval(rows, 0.9 * (few - 1.0) / (few + 1.0))
        assert np.isfinite(intervals).all(), "intervals that are not finite"
    if hasattr(model, "predict_proba") and model.state_.calibration is not None:
        chances = model.predict_proba(rows)
        assert np.isfinite(chances).all()
        assert chances.shape == (len(found), len(model.classes_))
    return "same" if same else "other"


def model_cases(folder, luck, cases, given, longest=LONGEST):
    """Every model that is given, damaged and crafted."""
    counts = Counter()
    path = folder / "harmed.sinks"
    for name, model, rows in given:
        ks.save(model, folder / "good.sinks")
        good, expected = (folder / "good.sinks").read_bytes(), model.predict(rows)
        for case in range(cases):
            faulthandler.dump_traceback_later(longest, exit=True)
            if case % 2:
                what, data = "bytes", damaged(luck, good)
                path.write_bytes(data)
            else:
                header, entries = contents(folder / "good.sinks")
                what = crafted(luck, header, entries)
                try:
                    store(path, header, entries)
                except (ValueError, TypeError):
                    continue
            try:
                found = outcome(path, rows, expected, exact=bool(case % 2))
            except Exception as error:
                raise SystemExit(f"{name}, case {case}, {what}: {error!r}") from error
            counts[f"{'bytes' if case % 2 else 'fields'} {found}"] += 1
    faulthandler.cancel_dump_traceback_later()
    return counts


def checkpoint_cases(folder, luck, cases):
    """The files of a checkpoint with damaged bytes."""
    counts = Counter()
    model = ks.KitchenSinkRegressor(ks.Fourier(), 10, random_state=0)
    place = folder / "checkpoint"
    expected = model.fit(X, Y, checkpoint=ks.Checkpoint(place)).predict(X)
    good = {path: path.read_bytes() for path in place.iterdir()}
    for case in range(cases):
        faulthandler.dump_traceback_later(LONGEST, exit=True)
        for path, data in good.items():
            path.write_bytes(data)
        path = luck.choice(sorted(good))
        path.write_bytes(damaged(luck, good[path]))
        try:
            found = model.fit(X, Y, checkpoint=ks.Checkpoint(place)).predict(X)
            assert np.array_equal(found, expected), "damaged bytes changed a prediction"
            counts["checkpoint same"] += 1
        except CheckpointError:
            counts["checkpoint refused"] += 1
        except Exception as error:
            raise SystemExit(f"{path.name}, case {case}: {error!r}") from error
    return counts


def main():
    folder, seed, cases = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    warnings.simplefilter("ignore")
    given = list(models())
    # Loops are compiled here, where they were not before.
    model_cases(folder, random.Random(seed), 2, given, longest=30 * LONGEST)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    counts = model_cases(folder, random.Random(seed), cases, given)
    counts += checkpoint_cases(folder, random.Random(seed), cases)
    faulthandler.cancel_dump_traceback_later()
    grown = 1024 * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
    assert grown < MOST_MEMORY, f"a file of a few kilobytes took {grown:.1e} bytes"
    print(json.dumps(counts))


if __name__ == "__main__":
    main()
