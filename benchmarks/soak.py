"""Faults at random moments: `make soak`, or `python -m benchmarks.soak --minutes 2`.

Processes that fit, predict and save are ended at random moments (SIGKILL, SIGTERM, SIGINT), disks
are full (RLIMIT_FSIZE, and a small file system of its own), model files, checkpoints and tables are
harmed, fifty commands predict at once, and eight threads share a model. After each fault the files
on disk must be the old or the new complete version, and a fit must go on from its checkpoint to the
weights of a fit that was never stopped. The counts are written to `results/soak.json`, which
docs/promises.md cites; its seed repeats the run's harmed files.
"""

import argparse
import json
import os
import platform
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import kitchensinks as ks

ROOT = Path(__file__).parents[1]
RESULTS, PAGE = ROOT / "results" / "soak.json", ROOT / "docs" / "promises.md"
SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
# Faults of each signal at most.
MOST = 100
THREADS = 8
N_ROWS = 3000
# Harmed files of each kind of model, and tables of each kind of reader, for each minute.
HARMED, READ = 3, 50
# Tables that are tried between looks at the clock.
ROUND = 50

Counts = dict[str, int]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=20.0, help="at most so long")
    parser.add_argument("--clients", type=int, default=50, help="commands that predict at once")
    parser.add_argument("--seed", type=int, default=None, help="of harmed files; none: a new one")
    parser.add_argument("--only", nargs="*", help="some parts; figures of the others are kept")
    parser.add_argument("--out", type=Path, default=RESULTS)
    given = parser.parse_args()
    seed = random.SystemRandom().randrange(2**31) if given.seed is None else given.seed
    began = time.monotonic()

    def until(share: float) -> float:
        """The moment at which so much of the time is over: what one part leaves, the next has."""
        return began + 60.0 * share * given.minutes

    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        world = World(folder)
        jobs: dict[str, Callable[[], Counts]] = {
            "save": lambda: world.faults(world.save, until(0.2)),
            "predict": lambda: world.faults(world.predict, until(0.45)),
            "fit": lambda: world.faults(world.fit, until(0.75)),
            "full_disk": world.full_disk,
            "small_disk": lambda: small_disk(folder),
            "threads": lambda: world.threads(min(60.0, 6.0 * given.minutes)),
            "concurrent_commands": lambda: world.commands(given.clients),
            "harmed_models": lambda: harmed(folder, seed, 1 + int(HARMED * given.minutes)),
            "harmed_tables": lambda: harmed_tables(
                seed, 1 + int(READ * given.minutes), until(0.97)
            ),
        }
        found: dict[str, Any] = json.loads(given.out.read_text()) if given.only else {}
        for name in given.only or jobs:
            found[name] = jobs[name]()
            print(name, found[name], flush=True)
    minutes = (time.monotonic() - began) / 60.0
    if given.only:
        found["again"] = given.only
    else:
        found["seed"] = seed
    found["minutes"] = round(minutes + (found["minutes"] if given.only else 0.0), 1)
    found["python"], found["machine"] = platform.python_version(), platform.machine()
    given.out.parent.mkdir(exist_ok=True)
    given.out.write_text(json.dumps(found, indent=2) + "\n")
    if given.out == RESULTS:
        PAGE.write_text(page(PAGE.read_text()))


def page(text: str) -> str:
    """The page of promises with the figures of the results file."""
    found = json.loads(RESULTS.read_text())
    begin, end = "<!-- soak -->\n", "<!-- end of soak -->"
    lines = ["| ended in the middle | SIGKILL | SIGTERM | SIGINT |", "|---|---|---|---|"]
    for part in ("save", "predict", "fit"):
        counts = " | ".join(str(found[part][one.name]) for one in SIGNALS)
        lines.append(f"| `{part}` | {counts} |")
    disk, small = found["full_disk"], found.get("small_disk", {"held": 0})
    models, tables = found["harmed_models"]["files"], found["harmed_tables"]["files"]
    again = ", ".join(f"`{one}`" for one in found.get("again", []))
    again = f"; {again} in a run of their own" if again else ""
    clients, threads = found["concurrent_commands"]["commands"], found["threads"]
    lines += [
        "",
        f"- {disk['refused']} of {disk['sizes']} files that did not fit on the disk left the old "
        f"one whole; {small['held']} of 3 jobs held on a full disk of 400 kB.",
        f"- {models:,} harmed model files and checkpoints and {tables:,} harmed tables were "
        "refused or harmless.",
        f"- {clients} commands predicted at once from one model file, and {threads['threads']} "
        f"threads made {threads['predictions']:,} predictions with one model, all as one alone.",
        f"- {found['minutes']} minutes on {found['machine']} with Python {found['python']}, beside "
        f"other work{again}.",
        "",
    ]
    before, rest = text.split(begin)
    return before + begin + "\n".join(lines) + end + rest.split(end)[1]


def small_disk(folder: Path) -> Counts:
    """Model, predictions and checkpoint on a full disk of 400 kB, where users may have one."""
    disk = folder / "small"
    disk.mkdir()
    mounted = 'mount -t tmpfs -o size=400k tmpfs "$1" && exec "$2" tests/files/full_job.py "$1"'
    command = ["unshare", "-rm", "sh", "-c", mounted, "-", str(disk), sys.executable]
    if not shutil.which("unshare") or subprocess.run(["unshare", "-rm", "true"]).returncode:
        return {"held": 0}
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    return {"held": len(done.stdout.split())}


def harmed(folder: Path, seed: int, cases: int) -> Counts:
    """Model files and checkpoints with other bytes, fields and arrays: refused, or harmless."""
    place = folder / "harmed"
    place.mkdir()
    job = [sys.executable, "-m", "tests.files.fuzz_job", str(place), str(seed), str(cases)]
    done = subprocess.run(job, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    counts: Counts = json.loads(done.stdout)
    return {"files": sum(counts.values()), **counts}


def harmed_tables(seed: int, examples: int, until: float) -> Counts:
    """Tables of any bytes: rows, or our own error. A round of each reader at least."""
    from tests.tables.test_fuzz import READERS

    done = 0
    while done < examples and (done == 0 or time.monotonic() < until):
        more = min(ROUND, examples - done)
        for check in READERS.values():
            check(more, seed + done)
        done += more
    return {"kinds": len(READERS), "files": len(READERS) * done}


class World:
    """A folder with rows, a model of them that is the old version, and another that is the new."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.luck = folder, random.Random(0)
        rng = np.random.default_rng(0)
        self.rows = rng.normal(size=(N_ROWS, 5))
        self.targets = np.sin(self.rows[:, 0]) * self.rows[:, 1] + 0.1 * rng.normal(size=N_ROWS)
        frame = pd.DataFrame(self.rows, columns=list("abcde"))
        frame.to_csv(folder / "rows.csv", index=False)
        frame.assign(y=self.targets).to_csv(folder / "train.csv", index=False)
        self._sinks("fit", "train.csv", "--target", "y", "--out", "model.sinks", *_FOURIER)
        self.old = ks.load(folder / "model.sinks")
        self.new = self.model(seed=1).fit(self.rows, self.targets)
        self.expected = self.old.predict(frame)
        self.answers = [
            one.predict(self.rows[:50]) for one in (self.model(0).fit(*self.data), self.new)
        ]
        ks.save(self.model(0).fit(*self.data), folder / "saved.sinks")
        self.whole = self.model(0).fit(*self.data).model_.weights

    @property
    def data(self) -> tuple[Any, Any]:
        return self.rows, self.targets

    def model(self, seed: int) -> Any:
        # Six blocks of rows, after each of which a checkpoint is written.
        solver = ks.Solver(memory_budget="8MB")
        return ks.KitchenSinkRegressor(
            ks.Fourier(), 100, solver=solver, n_jobs=1, random_state=seed
        )

    def _sinks(self, *arguments: str) -> None:
        subprocess.run(
            [sys.executable, "-m", "kitchensinks", *arguments],
            cwd=self.folder,
            check=True,
            capture_output=True,
        )

    # -- faults ---------------------------------------------------------------------------

    def faults(
        self, job: Callable[[], tuple[Callable[[], None], Callable[[], None]]], until: float
    ) -> Counts:
        """End a process of a job at random moments, with each signal in turn, and check."""
        work, check = job()
        seconds_of = []
        for _ in range(3):
            began = time.monotonic()
            assert _ended(_forked(work)), "without a fault it failed"
            seconds_of.append(time.monotonic() - began)
            check()
        whole = min(seconds_of)
        counts = {one.name: 0 for one in SIGNALS}
        counts["ended_by_themselves"] = 0
        while time.monotonic() < until and min(counts[s.name] for s in SIGNALS) < MOST:
            for one in SIGNALS:
                child = _forked(work)
                time.sleep(self.luck.uniform(0.0, 1.1 * whole))
                os.kill(child, one)
                if _ended(child):
                    counts["ended_by_themselves"] += 1
                counts[one.name] += 1
                check()
        return counts

    def save(self) -> tuple[Callable[[], None], Callable[[], None]]:
        """A model file is written over another again and again."""
        place = self.folder / "saved.sinks"

        def work() -> None:
            for _ in range(5):
                ks.save(self.new, place)

        def check() -> None:
            found = ks.load(place).predict(self.rows[:50])
            assert any(np.allclose(found, one) for one in self.answers), "neither old nor new"

        return work, check

    def predict(self) -> tuple[Callable[[], None], Callable[[], None]]:
        """The command writes predictions."""
        place = self.folder / "scores.csv"

        from kitchensinks.cli.app import app

        def work() -> None:
            os.chdir(self.folder)
            place.unlink(missing_ok=True)
            app(["predict", "model.sinks", "rows.csv", "--out", "scores.csv", "--quiet"])

        def check() -> None:
            if place.exists():
                found = pd.read_csv(place).iloc[:, -1].to_numpy()
                np.testing.assert_allclose(found, self.expected, rtol=1e-6)

        return work, check

    def fit(self) -> tuple[Callable[[], None], Callable[[], None]]:
        """A fit with a checkpoint goes on from where it was ended, to the same bits."""
        kept, done = self.folder / "checkpoint", self.folder / "weights.npy"

        def work() -> None:
            checkpoint = ks.Checkpoint(kept, every=0.0)
            found = self.model(0).fit(*self.data, checkpoint=checkpoint)
            np.save(self.folder / "new.npy", found.model_.weights)
            os.replace(self.folder / "new.npy", done)
            checkpoint.clear()

        def check() -> None:
            if done.exists():
                np.testing.assert_array_equal(np.load(done), self.whole)
                done.unlink()

        return work, check

    # -- full disks, and load --------------------------------------------------------------

    def full_disk(self) -> Counts:
        """A file is cut off at many sizes: the old one stays, and there is an error."""
        place, refused = self.folder / "saved.sinks", 0
        # Those of processes that were killed.
        before = set(self.folder.glob(".*.part"))
        sizes = range(0, place.stat().st_size, max(1, place.stat().st_size // 20))
        for size in sizes:

            def work(size: int = size) -> None:
                signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
                resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
                try:
                    ks.save(self.new, place)
                except OSError:
                    os._exit(3)

            refused += os.waitstatus_to_exitcode(os.waitpid(_forked(work), 0)[1]) == 3
            found = ks.load(place).predict(self.rows[:50])
            assert any(np.allclose(found, one) for one in self.answers), "neither old nor new"
        assert refused == len(sizes), "a full disk went unnoticed"
        assert set(self.folder.glob(".*.part")) == before, "an unfinished file was left"
        return {"sizes": len(sizes), "refused": refused}

    def commands(self, clients: int) -> Counts:
        """Commands that predict at once from one model file."""
        running = [
            subprocess.Popen(
                [
                    sys.executable,
                    "-m",
                    "kitchensinks",
                    "predict",
                    "model.sinks",
                    "rows.csv",
                    "--out",
                    f"scores-{k}.csv",
                    "--quiet",
                ],
                cwd=self.folder,
            )
            for k in range(clients)
        ]
        assert not any(one.wait() for one in running), "a command failed"
        for k in range(clients):
            found = pd.read_csv(self.folder / f"scores-{k}.csv").iloc[:, -1].to_numpy()
            np.testing.assert_allclose(found, self.expected, rtol=1e-6)
        return {"commands": clients}

    def threads(self, seconds: float) -> Counts:
        """Threads that predict with one model at once give the answers of one thread."""
        ends, wrong, done = time.monotonic() + seconds, [0], [0] * THREADS
        parts = [self.rows[k::THREADS][:500] for k in range(THREADS)]
        serial = [self.new.predict(part) for part in parts]

        def client(k: int) -> None:
            while time.monotonic() < ends:
                wrong[0] += not np.array_equal(self.new.predict(parts[k]), serial[k])
                done[k] += 1

        team = [threading.Thread(target=client, args=(k,)) for k in range(THREADS)]
        for one in team:
            one.start()
        for one in team:
            one.join()
        assert not wrong[0], "a thread had another answer"
        return {"threads": THREADS, "predictions": sum(done)}


_FOURIER = ("--basis", "fourier", "--components", "100", "--quiet")


def _forked(work: Callable[[], None]) -> int:
    """A process that does the work and says nothing."""
    child = os.fork()
    if child:
        return child
    status = 1
    # A run in the background hands down that interrupts are ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        for stream in (1, 2):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
        work()
        status = 0
    except SystemExit as stop:
        status = int(stop.code or 0)
    finally:
        os._exit(status)


def _ended(child: int) -> bool:
    """Wait; whether the process did its work to the end."""
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


if __name__ == "__main__":
    main()
