"""The estimators with nothing chosen against boosted trees, forests and a fixed kernel: ten sets.

    python -m benchmarks.learned_law                      # all that is not in the results yet
    python -m benchmarks.learned_law --sets adult cpu_act --seeds 2 --contestants kitchensinks
    python -m benchmarks.learned_law --contestants kitchensinks --again      # ours anew
    python -m benchmarks.report                           # the table into docs/measured.md

Each run is a process of its own on one thread; a finished one is written at once, so that the work
can be stopped and taken up again: ours and LightGBM's default on all sets first, then their other
seeds, then the others. Splits are the official ones where there are any (the seed then changes the
fit alone, and one that has no chance in it runs once), else 90/10 by seed. Regression errors are
root mean squares in percent of the targets' deviation; the others are percentages of wrong classes.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from benchmarks.law_contestants import CONTESTANTS, LARGE, OURS, PEER, TUNED, UNSEEDED, ours, tune
from benchmarks.store import FOLDER, read, write

RESULTS = FOLDER / "learned_law.json"
# name -> (data set, by seed, components of ours or None); the cheapest first.
SETS: dict[str, tuple[str, bool, int | None]] = {
    "cpu_act": ("cpu_act", True, None),
    "house_16H": ("house_16H", True, None),
    "adult": ("adult", False, None),
    "KDD Cup 99": ("kddcup99", True, None),
    "phoneme frames": ("phoneme", False, None),
    "UCI HAR": ("uci_har", True, None),
    "forest cover, binary": ("covtype-binary", True, None),
    "ISOLET": ("isolet", False, None),
    "forest cover, 7 classes": ("covtype", True, None),
    "MNIST": ("mnist", False, None),
}
# Sets that the large trees are shown on.
DEEP = ("forest cover, binary", "forest cover, 7 classes")
# Address space of one run, in bytes: what needs more fails, and says so.
MEMORY = 14 * 2**30


def cells(seeds: int) -> Iterator[tuple[str, str, int]]:
    """(set, contestant, seed) of every run, the most informative first."""
    first = (OURS, PEER)
    rest = [name for name in CONTESTANTS if name not in first]
    for group in (first, rest):
        for seed in range(seeds):
            for name, (_, by_seed, _) in SETS.items():
                for contestant in group:
                    if contestant == LARGE and name not in DEEP:
                        continue
                    if seed and contestant in UNSEEDED and not by_seed:
                        continue
                    yield name, contestant, seed


def codes(train: Any, test: Any) -> tuple[Any, Any]:
    """One-hot columns, for those that take numbers only."""
    import pandas as pd

    both = pd.get_dummies(pd.concat([train, test]), dummy_na=True).astype(float)
    return both.to_numpy()[: len(train)], both.to_numpy()[len(train) :]


class Split(NamedTuple):
    """Rows and targets of one seed of a set: classes are numbered from 0 in their order."""

    task: str
    train: Any
    target: np.ndarray
    test: Any
    truth: np.ndarray

    def error(self, found: Any) -> float:
        """Wrong classes, or the root mean square in the targets' deviation, in percent."""
        if self.task == "classification":
            return 100 * float(np.mean(found != self.truth))
        return 100 * float(np.sqrt(np.mean((found - self.truth) ** 2)) / np.std(self.target))


def split(name: str, seed: int) -> Split:
    from kitchensinks.papers import datasets

    source, by_seed, _ = SETS[name]
    options: dict[str, Any] = {"random_state": seed} if by_seed else {}
    data = datasets.load(source, download=False, **options)
    target, truth = np.asarray(data.y_train), np.asarray(data.y_test)
    if data.task == "classification":
        classes, target = np.unique(target, return_inverse=True)
        # A class that no training row has is one that nobody can name.
        places = np.searchsorted(classes, truth).clip(max=len(classes) - 1)
        truth = np.where(classes[places] == truth, places, -1)
    else:
        target = target.astype(float)
    return Split(data.task, data.X_train, target, data.X_test, truth)


def run(name: str, contestant: str, seed: int, tuned: dict[str, Any] | None) -> dict[str, Any]:
    """Error, processor seconds to fit and to predict, and seconds on the clock to fit."""
    task, train, target, test, _ = data = split(name, seed)
    if hasattr(train, "columns") and contestant not in (OURS, PEER, LARGE, TUNED):
        train, test = codes(train, test)
    if contestant == TUNED and tuned is None:
        return tune(task, train, target)
    count = SETS[name][2]
    few = slice(0, 600)
    if contestant == OURS:
        # Compiled code is loaded before the clock starts.
        ours(task, seed, None if count is None else 100, None).fit(train[few], target[few])
    model = CONTESTANTS[contestant](task, seed, count, tuned)
    clock, start = time.perf_counter(), time.process_time()
    model.fit(train, target)
    fitted, wall = time.process_time(), time.perf_counter() - clock
    found = model.predict(test)
    done = time.process_time()
    result = {
        "error": data.error(found),
        "fit": fitted - start,
        "wall": wall,
        "predict": done - fitted,
    }
    if contestant == OURS:
        result["kept"] = repr(model.law_).splitlines()[0]
    return result


def measure(cell: list[Any], limit: float) -> dict[str, Any]:
    """One run in a process of its own, or why there is none."""
    threads = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS")
    command = [sys.executable, "-W", "ignore", "-m", "benchmarks.learned_law", "--one"]
    try:
        result = subprocess.run(
            [*command, json.dumps(cell)],
            env={**os.environ, **dict.fromkeys(threads, "1")},
            capture_output=True,
            text=True,
            timeout=limit,
            check=True,
        )
    except subprocess.TimeoutExpired:
        return {"failed": f"more than {limit:g} s"}
    except subprocess.CalledProcessError as error:
        return {"failed": (error.stderr.strip().splitlines() or ["killed"])[-1][:200]}
    return dict(json.loads(result.stdout.splitlines()[-1]))


def settings_for(name: str, limit: float) -> dict[str, Any] | None:
    """What the search has chosen for a set; it is made once, on the training rows of seed 0."""
    key = f"{name}|{TUNED}|search"
    if key not in read(RESULTS):
        found = measure([name, TUNED, 0, None], limit)
        write(RESULTS, {**read(RESULTS), key: found})
    settings = read(RESULTS)[key].get("settings")
    return None if settings is None else dict(settings)


def summaries(results: dict[str, Any]) -> dict[str, dict[str, list[dict[str, Any]]]]:
    """Set -> contestant -> its runs, without those that failed."""
    out: dict[str, dict[str, list[dict[str, Any]]]] = {name: {} for name in SETS}
    for key, value in results.items():
        name, contestant, _ = key.split("|")
        if "error" in value:
            out[name].setdefault(contestant, []).append(value)
    return out


def table(results: dict[str, Any]) -> str:
    """Markdown: mean error ± deviation, and processor time as a multiple of LightGBM's."""
    found = summaries(results)
    shown = [name for name in CONTESTANTS if any(name in runs for runs in found.values())]
    lines = ["| set | " + " | ".join(shown) + " |", "|---" * (len(shown) + 1) + "|"]
    ranks: dict[str, list[float]] = {name: [] for name in shown}
    score = {peer: [0, 0] for peer in (PEER, TUNED)}
    for name, runs in found.items():
        means = {c: float(np.mean([r["error"] for r in runs[c]])) for c in shown if c in runs}
        if not means:
            continue
        times = {c: float(np.median([r["fit"] for r in runs[c]])) for c in means}
        row = []
        for contestant in shown:
            if contestant not in means:
                row.append("–")
                continue
            errors = [r["error"] for r in runs[contestant]]
            text = f"{means[contestant]:.2f}"
            if len(errors) > 1:
                text += f" ± {np.std(errors):.2f}"
            if PEER in times and contestant != PEER:
                text += f" ({times[contestant] / times[PEER]:.2g}×)"
            row.append(text)
        lines.append(f"| {name} | " + " | ".join(row) + " |")
        for contestant, mean in means.items():
            ranks[contestant].append(1.0 + sum(other < mean for other in means.values()))
        for peer, (wins, losses) in score.items():
            if OURS in means and peer in means:
                won = means[OURS] < means[peer]
                score[peer] = [wins + won, losses + (not won)]
    cells_of = [f"{np.mean(ranks[c]):.1f} ({len(ranks[c])})" if ranks[c] else "–" for c in shown]
    lines.append("| mean rank (sets) | " + " | ".join(cells_of) + " |")
    for peer, (wins, losses) in score.items():
        if wins + losses:
            lines.append(f"\nAgainst {peer}: {wins} won, {losses} lost.")
    failed = [
        f"{key.replace('|', ', ')}: {v['failed']}" for key, v in results.items() if "failed" in v
    ]
    if failed:
        lines.append("\nNot finished: " + "; ".join(sorted(failed)) + ".")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", nargs="+", default=list(SETS), help="names, or their beginnings")
    parser.add_argument("--contestants", nargs="+", default=list(CONTESTANTS))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--limit", type=float, default=3600.0, help="seconds of one run")
    parser.add_argument("--again", action="store_true", help="also what is in the results")
    parser.add_argument("--table", action="store_true", help="print what there is")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        print(json.dumps(run(*json.loads(options.one))))
        return
    for name, contestant, seed in () if options.table else cells(options.seeds):
        key = f"{name}|{contestant}|{seed}"
        chosen = name.startswith(tuple(options.sets)) and contestant in options.contestants
        if chosen and (options.again or key not in read(RESULTS)):
            tuned = settings_for(name, options.limit) if contestant == TUNED else None
            if contestant == TUNED and tuned is None:
                continue
            value = measure([name, contestant, seed, tuned], options.limit)
            write(RESULTS, {**read(RESULTS), key: value})
            print(key, value, f"load {os.getloadavg()[0]:.1f}", flush=True)
    print(table(read(RESULTS)))


if __name__ == "__main__":
    main()
