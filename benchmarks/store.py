"""Results of benchmarks: JSON files that grow cell by cell, so that a run can be resumed."""

import argparse
import json
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

FOLDER = Path(__file__).parent / "results"


def read(path: Path) -> dict[str, Any]:
    """All results of a file, or none where there is no file."""
    return dict(json.loads(path.read_text())) if path.exists() else {}


def write(path: Path, results: dict[str, Any]) -> None:
    """Replace the file as a whole."""
    part = path.with_suffix(".part")
    part.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n")
    part.replace(path)


def complete(
    path: Path, cells: Iterable[tuple[str, Callable[[], dict[str, Any]]]], again: bool = False
) -> dict[str, Any]:
    """Run the cells that have no result yet (all with `again`) on one thread; returns all results.

    Each result is added to what the file holds by then: several processes may fill one file.
    """
    for key, job in cells:
        if again or key not in read(path):
            with threadpool_limits(1):
                found = job()
            write(path, {**read(path), key: found})
            print(key, found, flush=True)
    return read(path)


def use_data_beside() -> None:
    """Set KITCHENSINKS_DATA to the folder shared/data beside the repository, if it is not set."""
    beside = Path(__file__).parents[2] / "shared" / "data"
    if beside.is_dir():
        os.environ.setdefault("KITCHENSINKS_DATA", str(beside))


def run_works(
    text: str | None, path: Path, works: dict[str, Callable[[], Any]], table: Callable[[Any], str]
) -> None:
    """The command of a benchmark of several works: run some of them, print the table of each."""
    from benchmarks.__main__ import machine

    parser = argparse.ArgumentParser(description=text)
    parser.add_argument("--only", default="", help="run the works whose name contains this")
    parser.add_argument("--table", action="store_true", help="only print the saved results")
    options = parser.parse_args()
    use_data_beside()
    results = read(path) or {"work": {}}
    for name, work in works.items():
        if options.only in name and not options.table:
            results["work"][name] = work()
            results["machine"] = machine()
            write(path, results)
        if name in results["work"]:
            print(f"\n{name}\n\n{table(results['work'][name])}", flush=True)
