"""Fits that survive: crashes, Ctrl-C, full disks, and checkpoints of something else."""

import errno
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import kitchensinks as ks
from kitchensinks.files import checkpoint as module
from kitchensinks.files.checkpoint import Checkpoint, CheckpointError, Interrupted
from tests.catalogue import build
from tests.files.crafted import array_bytes, contents, store
from tests.jobs import python

JOB = Path(__file__).parent / "crash_job.py"
X = np.random.default_rng(0).normal(size=(3000, 4))
Y = np.sin(X[:, 0]) + X[:, 1]


@pytest.fixture(autouse=True)
def many_small_blocks(monkeypatch):
    monkeypatch.setattr("kitchensinks.features.blocks.BLOCK_ROWS", 64)


def regressor(**options):
    return build(
        ks.KitchenSinkRegressor,
        **{"n_components": 40, "random_state": 0, "memory_budget": 2e5, **options},
    )


class Stop(Exception):
    """Stands for a crash."""


def stop_after(monkeypatch, phase, saves, error=Stop):
    """Raise an error in the middle of the fit, after so many saves of a phase."""
    save, count = Checkpoint._save, [0]

    def counting(self, name, position, arrays):
        save(self, name, position, arrays)
        count[0] += name.startswith(phase)
        if count[0] == saves:
            raise error

    monkeypatch.setattr(Checkpoint, "_save", counting)


@pytest.mark.parametrize(
    ("crashes", "options"),
    [
        pytest.param(20, {"n_components": 60}, marks=pytest.mark.slow),
        (4, {"n_components": 60}),
        pytest.param(5, {"n_components": "auto"}, marks=pytest.mark.slow),
    ],
)
def test_killed_at_random_moments_and_resumed_the_weights_are_the_same(crashes, options, tmp_path):
    random = np.random.default_rng(0)
    size = 10_000 if crashes == 20 else 3000
    frame = pd.DataFrame(random.normal(size=(size, 4)), columns=list("abcd"))
    frame.assign(y=np.sin(frame.a) + frame.b).to_parquet(tmp_path / "a.parquet")
    words = JOB, tmp_path, tmp_path / "a.parquet", crashes, json.dumps(options)
    # The threading layer of Numba that allows a fork after its first use.
    said = python(*words, timeout=900, NUMBA_THREADING_LAYER="workqueue")
    killed, finished, resumed = map(int, said.split())
    assert killed >= 1
    assert finished >= 1
    if killed < crashes or resumed < crashes // 4:
        # Every fit that went on had the right weights, but few were killed where it matters.
        pytest.skip(f"a busy machine: {killed} kills, {resumed} of them after sums were saved")


FITS = {
    "sums": ("sums", {}),
    "leave-one-out": ("leave-one-out", {}),
    "given alpha": ("sums", {"alpha": 1e-4}),
    "growth": ("growth-256", {"n_components": "auto", "memory_budget": 4e6}),
    "ball": ("sums", {"constraint": ks.SupBall(30.0)}),
    "huber": ("sums-without", {"loss": "huber"}),
    "huber, all rows": ("sums.", {"loss": "huber"}),
    "binning": ("sums", {"basis": ks.Binning(), "n_components": 3}),
}


@pytest.mark.parametrize("name", FITS)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_each_pass_goes_on_where_it_stopped(name, tmp_path, monkeypatch):
    phase, options = FITS[name]
    rows, targets = X[:1000], Y[:1000]
    once = regressor(**options).fit(rows, targets, checkpoint=Checkpoint(tmp_path / "a", every=0.0))
    folder = tmp_path / "b"
    with monkeypatch.context() as patch:
        stop_after(patch, phase.rstrip("."), 2)
        with pytest.raises(Stop):
            regressor(**options).fit(rows, targets, checkpoint=Checkpoint(folder, every=0.0))
    # What went before is not summed again.
    starts = []
    over = Checkpoint.over

    def noting(self, phase, blocks, *rest):
        return over(
            self, phase, lambda start: starts.append((phase, start)) or blocks(start), *rest
        )

    monkeypatch.setattr(Checkpoint, "over", noting)
    again = regressor(**options).fit(rows, targets, checkpoint=Checkpoint(folder, every=0.0))
    assert any(start > 0 for _, start in starts)
    np.testing.assert_array_equal(again.model_.weights, once.model_.weights)
    np.testing.assert_array_equal(again.alpha_, once.alpha_)


def test_without_a_seed_the_draw_is_that_of_the_first_run(tmp_path):
    options = {"random_state": None}
    once = regressor(**options).fit(X, Y, checkpoint=Checkpoint(tmp_path))
    again = regressor(**options).fit(X, Y, checkpoint=Checkpoint(tmp_path))
    assert once.seed_ == again.seed_
    np.testing.assert_array_equal(once.model_.weights, again.model_.weights)


def test_another_budget_and_other_threads_go_on_to_the_same_bits(tmp_path, monkeypatch):
    options = {"n_components": 300, "n_jobs": 1, "memory_budget": 5e6, "dtype": "float32"}
    once = regressor(**options).fit(X, Y, checkpoint=Checkpoint(tmp_path / "a"))
    with monkeypatch.context() as patch:
        stop_after(patch, "sums", 3)
        with pytest.raises(Stop):
            regressor(**options).fit(X, Y, checkpoint=Checkpoint(tmp_path / "b", every=0.0))
    others = {**options, "n_jobs": 2, "memory_budget": 2e7}
    again = regressor(**others).fit(X, Y, checkpoint=Checkpoint(tmp_path / "b"))
    np.testing.assert_array_equal(once.model_.weights, again.model_.weights)
    np.testing.assert_array_equal(once.model_.weights, regressor(**others).fit(X, Y).model_.weights)


def test_a_fit_with_a_checkpoint_is_the_fit_without(tmp_path):
    once = regressor().fit(X, Y)
    again = regressor().fit(X, Y, checkpoint=Checkpoint(tmp_path))
    np.testing.assert_array_equal(once.model_.weights, again.model_.weights)


DIFFERENCES = {
    "rows": (X + 1.0, Y, None, {}, r"data \(content\)"),
    "shape": (X[:, :3], Y, None, {}, r"data \(shape\) was 3000 × 4, now 3000 × 3"),
    "targets": (X, Y + 1.0, None, {}, "targets"),
    "weights": (X, Y, np.arange(3000.0), {}, "weights was none"),
    "alpha": (X, Y, None, {"alpha": 0.5}, "alpha was auto, now 0.5"),
    "seed": (X, Y, None, {"random_state": 1}, "random_state was 0, now 1"),
    "basis": (X, Y, None, {"basis": ks.ReLU()}, r"basis was Fourier\(.*, now ReLU"),
}


@pytest.mark.parametrize("name", DIFFERENCES)
def test_a_checkpoint_of_another_fit_is_refused_with_the_difference(name, tmp_path):
    rows, targets, weights, options, message = DIFFERENCES[name]
    first = regressor().fit(X, Y, checkpoint=Checkpoint(tmp_path))
    with pytest.raises(ValueError, match=f"of another fit: .*{message}"):
        regressor(**options).fit(rows, targets, weights, checkpoint=Checkpoint(tmp_path))
    # And it is not harmed by the attempt.
    again = regressor().fit(X, Y, checkpoint=Checkpoint(tmp_path))
    np.testing.assert_array_equal(first.model_.weights, again.model_.weights)


@pytest.mark.usefixtures("little_work")
def test_a_checkpoint_of_other_groups_is_refused(tmp_path):
    model = regressor(basis=ks.Learned(ks.Fourier(), "quick"))
    model.fit(X[:300], Y[:300], checkpoint=Checkpoint(tmp_path), groups=np.arange(300) % 9)
    with pytest.raises(ValueError, match=r"of another fit: .*groups was"):
        model.fit(X[:300], Y[:300], checkpoint=Checkpoint(tmp_path), groups=np.arange(300) % 8)


def test_a_checkpoint_of_another_version_or_kind_is_refused(tmp_path, monkeypatch):
    regressor().fit(X, Y, checkpoint=Checkpoint(tmp_path))
    with pytest.raises(ValueError, match="task was regression, now classification"):
        ks.KitchenSinkClassifier().fit(X, Y > 0, checkpoint=Checkpoint(tmp_path))
    monkeypatch.setattr(ks, "__version__", "9.9")
    with pytest.raises(ValueError, match=r"version of kitchensinks was .*, now 9\.9"):
        regressor().fit(X, Y, checkpoint=Checkpoint(tmp_path))


def test_a_checkpoint_of_another_file_is_refused(tmp_path):
    frame = pd.DataFrame(X, columns=list("abcd"))
    frame.to_parquet(tmp_path / "a.parquet")
    frame.assign(a=frame.a + 1.0).to_parquet(tmp_path / "b.parquet")

    def fit(name):
        table = ks.open_table(tmp_path / name)
        rows = ks.Rows(table, ks.Columns.learn(table))
        regressor().fit(rows, Y, checkpoint=Checkpoint(tmp_path / "checkpoint"))

    fit("a.parquet")
    fit("a.parquet")
    # A copy of the file is the same file.
    shutil.copy(tmp_path / "a.parquet", tmp_path / "copy.parquet")
    fit("copy.parquet")
    with pytest.raises(ValueError, match=r"data \(content\)"):
        fit("b.parquet")


@pytest.mark.parametrize("kind", ["array", "npy", "csv", "sparse"])
def test_one_entry_in_the_middle_makes_other_rows(kind, tmp_path):
    """No sample of the rows: all of them tell them from others."""
    changed = X.copy()
    changed[1234, 2] += 1e-3

    def fit(rows):
        np.save(tmp_path / "a.npy", rows)
        pd.DataFrame(rows.round(9), columns=list("abcd")).to_csv(tmp_path / "a.csv", index=False)
        if kind in ("npy", "csv"):
            table = ks.open_table(tmp_path / f"a.{kind}")
            rows = ks.Rows(table, ks.Columns.learn(table))
        elif kind == "sparse":
            rows = sparse.csr_matrix(rows)
        regressor().fit(rows, Y, checkpoint=Checkpoint(tmp_path / "checkpoint"))

    fit(X)
    with pytest.raises(ValueError, match=r"data \(content\)"):
        fit(changed)


@pytest.mark.parametrize("name", ["identity", "sums.sums"])
def test_a_damaged_checkpoint_is_noticed(name, tmp_path):
    regressor().fit(X, Y, checkpoint=Checkpoint(tmp_path))
    path = tmp_path / name
    data = bytearray(path.read_bytes())
    data[-5] ^= 1
    path.write_bytes(data)
    with pytest.raises(ValueError, match=f"{name} is damaged"):
        regressor().fit(X, Y, checkpoint=Checkpoint(tmp_path))
    path.write_bytes(data[: len(data) // 2])
    with pytest.raises(ValueError, match=f"{name} is damaged"):
        regressor().fit(X, Y, checkpoint=Checkpoint(tmp_path))


def test_a_full_disk_keeps_the_last_good_checkpoint(tmp_path, monkeypatch):
    once = regressor().fit(X, Y)
    sync, count = os.fsync, [0]

    def full(handle):
        count[0] += 1
        if count[0] > 6:
            raise OSError(errno.ENOSPC, "No space left on device")
        sync(handle)

    with monkeypatch.context() as patch:
        patch.setattr(module.os, "fsync", full)
        with pytest.raises(OSError, match=r"No space left.*last good checkpoint is kept") as caught:
            regressor().fit(X, Y, checkpoint=Checkpoint(tmp_path, every=0.0))
    assert caught.value.errno == errno.ENOSPC
    assert {path.name for path in tmp_path.iterdir()} == {"identity", "sums.sums"}
    again = regressor().fit(X, Y, checkpoint=Checkpoint(tmp_path))
    np.testing.assert_array_equal(again.model_.weights, once.model_.weights)


def test_ctrl_c_leaves_a_usable_checkpoint_and_says_how_to_go_on(tmp_path, monkeypatch):
    once = regressor().fit(X, Y)
    take, count = ks_moments().take, [0]

    def interrupting(self, *arguments):
        count[0] += 1
        if count[0] == 3:
            # In the middle of a block: its sums must not be saved half done.
            os.kill(os.getpid(), signal.SIGINT)
        take(self, *arguments)

    before = signal.getsignal(signal.SIGINT)
    with monkeypatch.context() as patch:
        patch.setattr(ks_moments(), "take", interrupting)
        with pytest.raises(Interrupted, match="Run the same again"):
            regressor().fit(X, Y, checkpoint=Checkpoint(tmp_path))
    assert signal.getsignal(signal.SIGINT) is before
    assert count[0] == 3
    again = regressor().fit(X, Y, checkpoint=Checkpoint(tmp_path))
    np.testing.assert_array_equal(again.model_.weights, once.model_.weights)


def test_ctrl_c_between_passes_does_not_wait(tmp_path, monkeypatch):
    def interrupting(*arguments):
        os.kill(os.getpid(), signal.SIGINT)
        raise AssertionError("it went on")

    before = signal.getsignal(signal.SIGINT)
    with monkeypatch.context() as patch:
        patch.setattr("kitchensinks.fitting.squared.RidgePath", interrupting)
        with pytest.raises(KeyboardInterrupt):
            regressor().fit(X, Y, checkpoint=Checkpoint(tmp_path))
    assert signal.getsignal(signal.SIGINT) is before
    # The sums were complete: they are not made again.
    with monkeypatch.context() as patch:
        patch.setattr(ks_moments(), "take", interrupting)
        again = regressor().fit(X, Y, checkpoint=Checkpoint(tmp_path))
    np.testing.assert_array_equal(again.model_.weights, regressor().fit(X, Y).model_.weights)


def ks_moments():
    from kitchensinks.problem.moments import Moments

    return Moments


def test_in_a_thread_there_is_no_ctrl_c_to_wait_for(tmp_path):
    found = []

    def fit():
        found.append(regressor().fit(X, Y, checkpoint=Checkpoint(tmp_path)))

    thread = threading.Thread(target=fit)
    thread.start()
    thread.join()
    np.testing.assert_array_equal(found[0].model_.weights, regressor().fit(X, Y).model_.weights)


BUSY = """
import sys, time
from kitchensinks.files.checkpoint import Checkpoint
checkpoint = Checkpoint(sys.argv[1])
checkpoint.begin({}, {})
print("begun", flush=True)
time.sleep(60)
"""


@pytest.mark.skipif(os.name != "posix", reason="locks of POSIX")
def test_a_folder_that_another_process_uses_is_refused(tmp_path):
    """The second fit deleted what the first was writing, and one of them failed."""
    with subprocess.Popen(
        [sys.executable, "-c", BUSY, tmp_path], stdout=subprocess.PIPE, text=True
    ) as other:
        try:
            assert other.stdout.readline() == "begun\n"
            (tmp_path / ".sums.sums.0123.part").write_bytes(b"half")
            with pytest.raises(CheckpointError, match="in use by another fit: wait"):
                regressor().fit(X, Y, checkpoint=Checkpoint(tmp_path))
            with pytest.raises(CheckpointError, match="in use by another fit"):
                Checkpoint(tmp_path).clear()
            # What the other one is writing is not deleted.
            assert list(tmp_path.glob(".*"))
        finally:
            other.kill()
    # A process that was killed locks nothing.
    Checkpoint(tmp_path).clear()
    regressor().fit(X, Y, checkpoint=Checkpoint(tmp_path))


@pytest.mark.skipif(os.name != "posix", reason="locks of POSIX")
def test_a_fit_that_failed_or_ended_locks_nothing(tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        stop_after(patch, "sums", 2)
        with pytest.raises(Stop) as kept:
            regressor().fit(X, Y, checkpoint=Checkpoint(tmp_path, every=0.0))
    first = Checkpoint(tmp_path)
    regressor().fit(X, Y, checkpoint=first)
    second = Checkpoint(tmp_path)
    regressor().fit(X, Y, checkpoint=second)
    with pytest.raises(CheckpointError, match="another fit: alpha"):
        regressor(alpha=0.5).fit(X, Y, checkpoint=Checkpoint(tmp_path))
    first.clear()
    assert kept.type is Stop


@pytest.mark.parametrize(
    "harm", [{"position": -1}, {"position": "9"}, {"position": None}, "no array", "shape"], ids=str
)
def test_crafted_sums_are_refused(harm, tmp_path):
    regressor().fit(X, Y, checkpoint=Checkpoint(tmp_path))
    path = tmp_path / "sums.sums"
    header, entries = contents(path)
    if isinstance(harm, dict):
        header |= harm
    elif harm == "no array":
        entries.popitem()
    else:
        entries = dict.fromkeys(entries, array_bytes(np.zeros((2, 3, 4))))
    store(path, header, entries)
    with pytest.raises(CheckpointError, match=r"sums\.sums is damaged"):
        regressor().fit(X, Y, checkpoint=Checkpoint(tmp_path))


@pytest.mark.parametrize("choices", [{}, {"seed": -1, "memory": 1, "threads": 1}, None, [1]])
def test_crafted_choices_are_refused(choices, tmp_path):
    regressor().fit(X, Y, checkpoint=Checkpoint(tmp_path))
    header, entries = contents(tmp_path / "identity")
    store(tmp_path / "identity", {**header, "choices": choices}, entries)
    with pytest.raises(CheckpointError, match="identity is damaged"):
        regressor().fit(X, Y, checkpoint=Checkpoint(tmp_path))


def test_parquet_rows_changed_between_stop_and_resume_are_refused(tmp_path, monkeypatch):
    """Rows in the middle of a file, which neither its size nor its ends show."""
    frame = pd.DataFrame(np.tile(X, (10, 1)), columns=list("abcd"))
    path = tmp_path / "a.parquet"
    frame.to_parquet(path, row_group_size=3000, compression=None)

    def fit():
        table = ks.open_table(path)
        rows = ks.Rows(table, ks.Columns.learn(table))
        model = regressor(memory_budget=1e6)
        return model.fit(rows, np.tile(Y, 10), checkpoint=Checkpoint(tmp_path / "c", every=0.0))

    with monkeypatch.context() as patch:
        stop_after(patch, "sums", 2)
        with pytest.raises(Stop):
            fit()
    data = bytearray(path.read_bytes())
    # One bit of a number in the middle.
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    with pytest.raises(CheckpointError, match=r"another fit: data \(content\)"):
        fit()


def test_clear_and_folders_that_cannot_be(tmp_path):
    checkpoint = Checkpoint(tmp_path / "deep" / "folder")
    regressor().fit(X, Y, checkpoint=checkpoint)
    assert checkpoint.folder.exists()
    checkpoint.clear()
    assert not checkpoint.folder.exists()
    checkpoint.clear()
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="cannot be made"):
        regressor().fit(X, Y, checkpoint=Checkpoint(tmp_path / "file" / "folder"))
    with pytest.raises(ValueError, match="every=-1"):
        Checkpoint(tmp_path, every=-1)


def test_it_saves_as_often_as_it_is_told(tmp_path, monkeypatch):
    saved = []
    save = Checkpoint._save
    monkeypatch.setattr(
        Checkpoint, "_save", lambda self, *rest: saved.append(rest[:2]) or save(self, *rest)
    )
    regressor().fit(X, Y, checkpoint=Checkpoint(tmp_path / "seldom", every=1e9))
    assert saved == [("sums", 3000), ("leave-one-out", 3000)]
    saved.clear()
    regressor().fit(X, Y, checkpoint=Checkpoint(tmp_path / "often", every=0.0))
    assert len(saved) > 20


def test_what_a_killed_fit_left_unfinished_is_removed(tmp_path):
    folder = tmp_path / "kept"
    first = regressor().fit(X, Y, checkpoint=Checkpoint(folder))
    for clear in (False, True):
        (folder / ".sums.sums.0123.part").write_bytes(b"half")
        checkpoint = Checkpoint(folder)
        if clear:
            checkpoint.clear()
            assert not folder.exists()
        else:
            again = regressor().fit(X, Y, checkpoint=checkpoint)
            np.testing.assert_array_equal(first.model_.weights, again.model_.weights)
            assert not list(folder.glob(".*"))
