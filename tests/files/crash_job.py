"""Fits that are killed: run by test_checkpoint.py as a process of its own.

Imports once, then forks a process for every fit, so that twenty crashes take seconds. A fit is
killed (SIGKILL) at a random moment; the next one goes on from its checkpoint. A fit that ends
before it is killed leaves its weights, and the next one begins anew.
"""

import json
import os
import random
import signal
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow

import kitchensinks as ks


def fit(folder, source, options, memory):
    """One fit from a Parquet file; its weights end up in a file of their own."""
    table = ks.open_table(source)
    rows = ks.Rows(table, ks.Columns.learn(table, exclude=["y"]))
    # No seed, and another budget every time: those of the first run are taken over.
    model = ks.KitchenSinkRegressor(ks.Fourier(), solver=ks.Solver(memory_budget=memory), **options)
    checkpoint = ks.Checkpoint(folder / "checkpoint", every=0.0)
    model.fit(rows, ks.targets(table, "y"), checkpoint=checkpoint)
    np.save(folder / "weights.npy", model.model_.weights)


def child(*arguments):
    """A process that fits."""
    number = os.fork()
    if number == 0:
        status = 1
        try:
            fit(*arguments)
            status = 0
        finally:
            os._exit(status)
    return number


def main():
    folder, source, n_crashes = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    options = json.loads(sys.argv[4])
    luck, weights = random.Random(0), folder / "weights.npy"
    # Loads all code, also compiled code, before the first fork.
    small = np.random.default_rng(0).normal(size=(300, 2))
    table = ks.open_table(pyarrow.table({"a": small[:, 0], "y": small[:, 1]}))
    rows = ks.Rows(table, ks.Columns.learn(table, exclude=["y"]))
    ks.KitchenSinkRegressor(ks.Fourier(), n_components=20, solver=ks.Solver(dtype="float32")).fit(
        rows, small[:, 1]
    )
    start = time.monotonic()
    assert os.waitpid(child(folder, source, options, "8MB"), 0)[1] == 0
    # A busy machine may have held the first fit up: the others are not to wait as long.
    seconds = min(time.monotonic() - start, 2.0)
    uninterrupted = np.load(weights)
    forget(folder)
    crashes = finished = resumed = 0
    # Until there have been enough crashes, some of them in the middle of a pass. The tries are
    # counted: where the machine lets none of the kills come in time, the loop ends all the same.
    for k in range(6 * n_crashes):
        if crashes >= n_crashes and resumed >= n_crashes // 4 and finished:
            break
        number = child(folder, source, options, f"{luck.randint(8, 30)}MB")
        if k < 5 * n_crashes and (crashes < n_crashes or resumed < n_crashes // 4):
            status = kill(number, luck.uniform(0.0, seconds), folder if k % 2 else None)
        else:
            status = os.waitpid(number, 0)[1]
        if status == signal.SIGKILL:
            crashes += 1
            resumed += any((folder / "checkpoint").glob("*.sums"))
            seconds *= 1.02  # should the first fit have had the machine for itself
            continue
        seconds *= 0.9
        assert status == 0, f"a fit that went on failed: {status}"
        assert np.array_equal(np.load(weights), uninterrupted), "other weights"
        finished += 1
        forget(folder)
    print(crashes, finished, resumed)


def kill(number, seconds, folder):
    """Kill a fit after some seconds, or with a folder, after it has saved sums there; its status.

    A fit that ends before is not killed.
    """
    end, begun = time.monotonic() + (60.0 if folder else seconds), time.time()
    while time.monotonic() < end:
        done, status = os.waitpid(number, os.WNOHANG)
        if done:
            return status
        saved = (folder / "checkpoint").glob("*.sums") if folder else ()
        if any(path.stat().st_mtime >= begun for path in saved):
            break
        time.sleep(0.0005)
    os.kill(number, signal.SIGKILL)
    return os.waitpid(number, 0)[1]


def forget(folder):
    """The sums of a finished fit, but not its seed, budget and threads."""
    (folder / "weights.npy").unlink()
    for path in (folder / "checkpoint").glob("*.sums"):
        path.unlink()


if __name__ == "__main__":
    main()
