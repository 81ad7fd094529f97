"""A small mixed table, a model fitted to it by the command, and ways to run the command."""

import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from threading import Thread

import numpy as np
import pyarrow
import pytest

COMMAND = [sys.executable, "-m", "kitchensinks"]


def rows_of(count, seed=0):
    """A table where the class and the price depend on size and colour; some sizes are missing."""
    rng = np.random.default_rng(seed)
    size = rng.normal(size=count)
    colour = rng.choice(["red", "green", "blue"], count)
    price = np.sin(2 * size) + (colour == "red") + 0.1 * rng.normal(size=count)
    missing = np.arange(count) % 17 == 3
    return pyarrow.table(
        {
            "id": np.arange(count) + 1000,
            "size": pyarrow.array(size, mask=missing),
            "colour": colour,
            "weight": rng.normal(size=count),
            "price": price,
            "kind": np.where(price > 0.5, "dear", "cheap"),
        }
    )


def write(table, path):
    from pyarrow import csv, parquet

    (parquet.write_table if path.suffix == ".parquet" else csv.write_csv)(table, path)
    return path


@pytest.fixture(scope="session")
def workshop(tmp_path_factory):
    """A folder with train.csv, test.csv, a classifier and a regressor."""
    from kitchensinks.cli.app import app

    folder = tmp_path_factory.mktemp("workshop")
    write(rows_of(300), folder / "train.csv")
    write(rows_of(150, seed=1), folder / "test.csv")
    for target, other in (("kind", "price"), ("price", "kind")):
        arguments = ["fit", folder / "train.csv", "--target", target, "--drop", "id"]
        arguments += ["--drop", other, "--out", folder / f"{target}.sinks", "--quiet"]
        arguments += ["--basis", "fourier", "--components", "60"]
        with pytest.raises(SystemExit) as stop:
            app([str(one) for one in arguments])
        assert not stop.value.code
    return folder


@pytest.fixture
def sinks(capsys):
    """Run the command in this process: exit code, output, error stream."""
    from kitchensinks.cli.app import app

    def run(*arguments):
        capsys.readouterr()
        with pytest.raises(SystemExit) as stop:
            app([str(one) for one in arguments])
        said = capsys.readouterr()
        return stop.value.code or 0, said.out, said.err

    return run


def environment():
    """That of this process, with the package to be tested where a new one finds it."""
    import kitchensinks

    source = str(Path(kitchensinks.__file__).parents[1])
    return {**os.environ, "PYTHONPATH": source, "COLUMNS": "100", "TERM": "xterm"}


def run_plain(*arguments):
    """The command in a process of its own, its streams being pipes."""
    return subprocess.run(
        [*COMMAND, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
        env=environment(),
    )


def screen_of(master):
    """All that is written to a pseudo-terminal, until its other side is closed."""
    screen = b""
    with suppress(OSError):  # what Linux says when the other side has closed
        while part := os.read(master, 65536):
            screen += part
    os.close(master)
    return screen.decode("utf-8", "replace")


def run_in_terminal(*arguments):
    """The command in a pseudo-terminal: exit code and all that appears on the screen."""
    master, slave = os.openpty()
    process = subprocess.Popen(
        [*COMMAND, *map(str, arguments)],
        stdin=slave,
        stdout=slave,
        stderr=slave,
        env=environment(),
        close_fds=True,
    )
    os.close(slave)
    screen = screen_of(master)
    return process.wait(timeout=600), screen


@pytest.fixture
def terminal(monkeypatch):
    """Run the command in this process, its streams being a pseudo-terminal: exit code, screen."""
    from kitchensinks.cli.app import app

    def run(*arguments):
        master, slave = os.openpty()
        screens = []
        reader = Thread(target=lambda: screens.append(screen_of(master)))
        reader.start()
        with os.fdopen(slave, "w", encoding="utf-8") as stream, monkeypatch.context() as patch:
            for name in ("COLUMNS", "TERM"):
                patch.setenv(name, environment()[name])
            for name in ("stdout", "stderr"):
                patch.setattr(sys, name, stream)
            with pytest.raises(SystemExit) as stop:
                app([str(one) for one in arguments])
        reader.join(timeout=600)
        return stop.value.code or 0, screens[0]

    return run
