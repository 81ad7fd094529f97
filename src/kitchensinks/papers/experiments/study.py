"""The parts of a study: cells to run, their results, and a report with tables and claims."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kitchensinks.papers.experiments.claims import Claim, Values, spread

# One point of the grid, such as {"data": "adult", "K": 100, "seed": 0}, of JSON values.
Cell = dict[str, Any]
# Measured values, grouped by an entry of their cells or by a tuple of entries.
Grouped = dict[Any, list[Any]]


def grid(**axes: Iterable[Any]) -> list[Cell]:
    """A cell for every combination of entries; the last entry changes fastest.

    >>> grid(K=(10, 20), seed=range(2))
    [{'K': 10, 'seed': 0}, {'K': 10, 'seed': 1}, {'K': 20, 'seed': 0}, {'K': 20, 'seed': 1}]
    """
    return [dict(zip(axes, entry, strict=True)) for entry in itertools.product(*axes.values())]


class Results:
    """The finished cells in order, each a dict of the cell's own entries and of what it measured.

    >>> results = Results([{"K": 10, "seed": 0, "error": 0.3}, {"K": 10, "seed": 1, "error": 0.2}])
    >>> results.values("error", K=10), results.unique("K"), results.mean("error", seed=1)
    ([0.3, 0.2], [10], 0.2)
    >>> results.by("K", of="error")
    {10: [0.3, 0.2]}
    """

    def __init__(self, rows: Iterable[dict[str, Any]]) -> None:
        self.rows = list(rows)

    def where(self, **entries: Any) -> Results:
        return Results(row for row in self.rows if all(row.get(k) == v for k, v in entries.items()))

    def values(self, key: str, **entries: Any) -> list[Any]:
        """What was measured as `key`, in the cells that have these entries."""
        return [row[key] for row in self.where(**entries).rows if key in row]

    def mean(self, key: str, **entries: Any) -> float:
        return float(np.mean(self.values(key, **entries)))

    def unique(self, key: str, **entries: Any) -> list[Any]:
        """The distinct values, in the order of the cells."""
        return list(dict.fromkeys(self.values(key, **entries)))

    def by(self, *entries: str, of: str) -> Grouped:
        """The values of `of` for each combination of entries, in the order of the cells.

        Keys are tuples, or plain values where one entry is named.
        """
        groups: Grouped = {}
        for row in self.rows:
            key = tuple(row[entry] for entry in entries)
            groups.setdefault(key if len(key) > 1 else key[0], []).append(row[of])
        return groups


@dataclass(frozen=True)
class Line:
    """A row of a table: the paper's printed value beside ours (one value per seed).

    Lines with a `column` make a table of two ways: a row for each label, and these columns.
    """

    label: str
    ours: Values
    paper: float | None = None
    paper_spread: float | None = None
    note: str = ""
    column: str = ""

    def facts(self) -> dict[str, Any]:
        mean, deviation = spread(self.ours)
        difference = None if self.paper is None else mean - self.paper
        counted = {"ours": mean, "deviation": deviation, "seeds": len(self.ours)}
        return vars(self) | counted | {"difference": difference}


@dataclass(frozen=True)
class Table:
    """Lines under one title; `digits` after the decimal point.

    `case` and `note` are the headings of the labels and of the notes.
    """

    title: str
    lines: Sequence[Line]
    unit: str = ""
    digits: int = 2
    case: str = "case"
    note: str = "note"


@dataclass(frozen=True)
class Report:
    """The conclusions from the results.

    `draw` draws the figure with the paper's axes into a matplotlib Figure of `size` inches. `notes`
    state the settings that the paper leaves open, and those that differ from the paper's.
    """

    tables: Sequence[Table]
    claims: Sequence[Claim]
    draw: Callable[[Any], None] | None = None
    size: tuple[float, float] = (9.0, 3.2)
    notes: str = ""


@dataclass(frozen=True)
class About:
    """One table or figure: its place, what it shows, minutes of a full run, and the data sets.

    `licensed` data have to be bought: --all skips the study where they are missing. `substitute`
    says which data stand in for those of the paper, where they are others. Raise `version` when a
    cell comes to mean something else: results of another version are neither resumed nor judged.
    """

    source: str
    what: str
    minutes: float
    needs: tuple[str, ...] = ()
    licensed: bool = False
    substitute: str = ""
    version: int = 1


@dataclass(frozen=True, kw_only=True)
class Study(About):
    """One table or figure, with its line of the catalogue.

    `cells(quick)` lists the grid; `run(cell, quick)` measures one cell and returns plain numbers
    (or lists of them); `report(results)` is a pure function of the results, of quick ones too.
    """

    name: str
    cells: Callable[[bool], list[Cell]]
    run: Callable[[Cell, bool], dict[str, Any]]
    report: Callable[[Results], Report]


@dataclass
class Stopwatch:
    """Processor time and wall time of a `with` block, in seconds.

    Claims are checked on processor time, which other work on the machine hardly changes.
    """

    processor: float = field(default=0.0, init=False)
    wall: float = field(default=0.0, init=False)

    def __enter__(self) -> Stopwatch:
        self._start = time.process_time(), time.perf_counter()
        return self

    def __exit__(self, *error: object) -> None:
        self.processor = time.process_time() - self._start[0]
        self.wall = time.perf_counter() - self._start[1]
