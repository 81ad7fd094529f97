"""A model, predictions and a checkpoint on a disk that is full: run by test_faults.py.

full_job.py FOLDER, which is a file system of a few hundred kilobytes. Prints what has held.
"""

import errno
import os
import shutil
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import kitchensinks as ks
from kitchensinks.features import blocks

RNG = np.random.default_rng(0)
X = RNG.normal(size=(3000, 4))
Y = np.sin(X[:, 0]) + X[:, 1]


def regressor(count):
    solver = ks.Solver(memory_budget="200kB")
    return ks.KitchenSinkRegressor(ks.Fourier(), count, solver=solver, random_state=0)


@contextmanager
def full_disk(words=""):
    """What is done within must fail for want of room, and say so."""
    with pytest.raises(OSError, match=words) as caught:
        yield
    assert caught.value.errno == errno.ENOSPC


def fill(folder, left=0):
    """Take all of the room but for some bytes; returns the file that has it."""
    path = folder / "filler"
    with path.open("wb", buffering=0) as file, full_disk():
        while True:
            file.write(bytes(4096))
    os.truncate(path, path.stat().st_size - left)
    return path


def unfinished(folder):
    return [path for path in folder.rglob(".*") if path.is_file()]


def saved(folder):
    old, new = regressor(10).fit(X, Y), regressor(40).fit(X, Y)
    place = folder / "model.sinks"
    ks.save(old, place)
    for left in (0, 4096):
        filler = fill(folder, left)
        with full_disk():
            ks.save(new, place)
        assert not unfinished(folder)
        np.testing.assert_array_equal(ks.load(place).predict(X), old.predict(X))
        filler.unlink()
    ks.save(new, place)
    np.testing.assert_array_equal(ks.load(place).predict(X), new.predict(X))
    place.unlink()


def predicted(folder):
    from kitchensinks.cli.app import app

    frame = pd.DataFrame(X, columns=list("abcd"))
    beside, out = Path(tempfile.mkdtemp()), folder / "scores.csv"
    data, model = beside / "rows.csv", beside / "m.sinks"
    frame.to_csv(data, index=False)
    ks.save(regressor(10).fit(ks.open_table(frame.assign(y=Y)), "y"), model)
    out.write_text("old")
    filler = fill(folder, 8192)
    for ending in ("csv", "csv.gz", "parquet"):
        place = out if ending == "csv" else folder / f"scores.{ending}"
        with pytest.raises(SystemExit) as stop:
            app(["predict", str(model), str(data), "--out", str(place), "--quiet"])
        assert stop.value.code in (1, 2)
        assert out.read_text() == "old"
        assert ending == "csv" or not place.exists()
        assert not unfinished(folder)
    filler.unlink()
    shutil.rmtree(beside)


def resumed(folder):
    once = regressor(40).fit(X, Y).model_.weights
    kept = folder / "work"
    # Room for the first file of a checkpoint, and not for its sums.
    filler = fill(folder, 8192)
    with full_disk("make room and run the same again"):
        regressor(40).fit(X, Y, checkpoint=ks.Checkpoint(kept, every=0.0))
    assert not unfinished(folder)
    filler.unlink()
    again = regressor(40).fit(X, Y, checkpoint=ks.Checkpoint(kept, every=0.0))
    np.testing.assert_array_equal(again.model_.weights, once)


def main():
    folder = Path(sys.argv[1]).resolve() / "disk"
    # The folder of the file system has none of ours beside it.
    folder.mkdir()
    for job in (saved, predicted, resumed):
        job(folder)
        print(job.__name__)


if __name__ == "__main__":
    # Many small blocks, after each of which a checkpoint is written.
    blocks.BLOCK_ROWS = 64
    main()
