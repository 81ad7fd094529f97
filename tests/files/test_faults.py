"""Disks, clocks and sources that fail in the middle of the work: old files stay, fits go on."""

import errno
import os
import shutil
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from pyarrow import parquet
from sklearn.datasets import dump_svmlight_file

import kitchensinks as ks
from kitchensinks.files.checkpoint import Checkpoint
from kitchensinks.tables import lines
from kitchensinks.tables.table import open_table
from tests.catalogue import build
from tests.jobs import python

RNG = np.random.default_rng(0)
X = RNG.normal(size=(3000, 4))
Y = np.sin(X[:, 0]) + X[:, 1] + 0.1 * RNG.normal(size=3000)
JOB = Path(__file__).parent / "full_job.py"


@pytest.fixture(autouse=True)
def many_small_blocks(monkeypatch):
    monkeypatch.setattr("kitchensinks.features.blocks.BLOCK_ROWS", 64)


def regressor():
    return build(ks.KitchenSinkRegressor, n_components=40, random_state=0, memory_budget=2e5)


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "rows.csv"
    pd.DataFrame(X, columns=list("abcd")).to_csv(path, index=False)
    return path


class Failing:
    """A file whose reads fail from some byte on."""

    def __init__(self, file, most):
        self.file, self.most = file, most

    def read(self, size=-1):
        if self.file.tell() >= self.most:
            raise OSError(errno.EIO, "Input/output error")
        return self.file.read(size)

    def __getattr__(self, name):
        return getattr(self.file, name)


def broken(monkeypatch, most):
    """Text files of which no byte after `most` can be read."""
    plain = lines.TextTable._opened

    @contextmanager
    def opened(self):
        with plain(self) as file:
            yield Failing(file, most)

    monkeypatch.setattr(lines.TextTable, "_opened", opened)
    monkeypatch.setattr(lines, "CHUNK_BYTES", 2**14)


def test_a_read_error_in_the_middle_of_a_file_is_told_and_the_fit_goes_on_later(
    table, tmp_path, monkeypatch
):
    def fit(folder):
        opened = open_table(table)
        rows = ks.Rows(opened, ks.Columns.learn(opened))
        return regressor().fit(rows, Y, checkpoint=Checkpoint(tmp_path / folder, every=0.0))

    monkeypatch.setattr(lines, "CHUNK_BYTES", 2**14)
    once = fit("a").predict(X)
    # It is read to its end before the first sum: the fault comes later.
    rows = ks.Rows(open_table(table), ks.Columns.learn(open_table(table)))
    _ = rows.shape
    with monkeypatch.context() as patch:
        broken(patch, table.stat().st_size // 2)
        with pytest.raises(OSError, match=r"rows\.csv") as caught:
            regressor().fit(rows, Y, checkpoint=Checkpoint(tmp_path / "b", every=0.0))
        assert caught.value.errno == errno.EIO
        with pytest.raises(OSError, match=r"Input/output error.*rows\.csv"):
            _ = open_table(table).n_rows
    np.testing.assert_array_equal(fit("b").predict(X), once)


def test_a_damaged_page_of_a_parquet_file_is_told(tmp_path):
    """Rows without compression have no other sign of damage than the checksum of their page."""
    path = tmp_path / "rows.parquet"
    frame = pd.DataFrame(X, columns=list("abcd"))
    frame.to_parquet(path, compression=None, write_page_checksum=True, use_dictionary=False)
    assert sum(batch.num_rows for batch in open_table(path).batches()) == 3000
    data = bytearray(path.read_bytes())
    place = data.find(X[1500:1501, 1].tobytes())
    assert place > 0
    data[place] ^= 1
    path.write_bytes(data)
    assert parquet.read_table(path).num_rows == 3000
    with pytest.raises(ValueError, match=r"rows\.parquet is damaged"):
        list(open_table(path).batches())


@pytest.mark.parametrize("jump", [-1e9, 1e9], ids=["back", "ahead"])
def test_clocks_that_jump_change_nothing(jump, tmp_path, monkeypatch):
    """Times of files and of the day decide nothing: neither what is resumed nor what is written."""
    once = regressor().fit(X, Y)
    ks.save(once, tmp_path / "once.sinks")
    plain, calls = time.time, [0]

    def jumping():
        calls[0] += 1
        return plain() + jump * (calls[0] % 2)

    monkeypatch.setattr(time, "time", jumping)
    folder = tmp_path / "work"
    over = Checkpoint.over

    def stopping(self, phase, *rest):
        for count, block in enumerate(over(self, phase, *rest)):
            yield block
            if count == 2:
                raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr(Checkpoint, "over", stopping)
        with pytest.raises(MemoryError):
            regressor().fit(X, Y, checkpoint=Checkpoint(folder, every=0.0))
    for path in folder.iterdir():
        os.utime(path, (max(0.0, plain() + jump),) * 2)
    again = regressor().fit(X, Y, checkpoint=Checkpoint(folder, every=0.0))
    np.testing.assert_array_equal(again.model_.weights, once.model_.weights)
    ks.save(again, tmp_path / "again.sinks")
    assert (tmp_path / "again.sinks").read_bytes() == (tmp_path / "once.sinks").read_bytes()


def test_no_decision_hangs_on_the_time_of_day():
    """Durations are those of clocks that never jump."""
    source = Path(ks.__file__).parent
    users = [
        str(path.relative_to(source))
        for path in source.rglob("*.py")
        if any(word in path.read_text("utf-8") for word in ("time.time(", ".now(", ".today("))
    ]
    # The date that stands beside the results of a study.
    assert users == ["papers/experiments/harness.py"]


SMALL_DISK = shutil.which("unshare") and shutil.which("mount")


@pytest.mark.skipif(not SMALL_DISK, reason="needs unshare and mount")
def test_a_full_disk_leaves_the_old_files(tmp_path):
    """On a disk of 400 kB of its own (tmpfs), where the system lets users have one."""
    if subprocess.run(["unshare", "-rm", "true"], capture_output=True).returncode:
        pytest.skip("needs name spaces of users")
    mounted = 'mount -t tmpfs -o size=400k tmpfs "$1" && exec "$2" "$3" "$1"'
    done = subprocess.run(
        ["unshare", "-rm", "sh", "-c", mounted, "-", tmp_path, sys.executable, JOB],
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.split() == ["saved", "predicted", "resumed"]


CUT = """
import os, sys
from pathlib import Path
import numpy as np
import kitchensinks as ks
from kitchensinks.tables import disk, table
path, most = Path(sys.argv[1]), int(sys.argv[2])
table.BATCH_ROWS = 256
rows = ks.open_table(path)
rows = ks.Rows(rows, ks.Columns.learn(rows, exclude=["target"] * ("target" in rows.names)))
check, calls = disk.Stamp.check, [0]

def cut_after(self, path):
    check(self, path)
    calls[0] += 1
    if calls[0] == most:
        os.truncate(path, path.stat().st_size // 3)

disk.Stamp.check = cut_after
model = ks.KitchenSinkRegressor(ks.Fourier(), 40, random_state=0)
try:
    model.fit(rows, np.arange(rows.shape[0]) % 7.0)
except ValueError as error:
    print(error)
"""


ENDINGS = ["fortran.npy", "npy", "csv", "parquet", "svm"]


@pytest.mark.parametrize(
    "ending", [ENDINGS[0], *(pytest.param(one, marks=pytest.mark.slow) for one in ENDINGS[1:])]
)
def test_a_file_that_is_cut_off_during_a_fit_is_told(ending, tmp_path):
    """In the worst moment: after it was found to be unchanged, and before it is read."""
    path, rows = tmp_path / f"rows.{ending}", np.tile(X, (2, 1))
    if ending.endswith("npy"):
        np.save(path, rows if ending == "npy" else np.asfortranarray(rows))
    elif ending == "svm":
        dump_svmlight_file(rows, np.zeros(len(rows)), str(path))
    else:
        frame = pd.DataFrame(rows, columns=list("abcd"))
        frame.to_csv(path, index=False) if ending == "csv" else frame.to_parquet(path)
    assert f"{path} has changed since it was opened" in python("-c", CUT, path, 3)
