"""`sinks fit`: from a file of rows to a model file."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from kitchensinks.cli.bases import LEARNED, NAMES, basis_named, components_of
from kitchensinks.cli.options import writable
from kitchensinks.cli.scoring import scorer
from kitchensinks.cli.targets import read_target
from kitchensinks.cli.terminal import Meter, Terminal
from kitchensinks.cli.work import Work
from kitchensinks.estimators import KitchenSinkClassifier, KitchenSinkRegressor
from kitchensinks.estimators.base import KitchenSink
from kitchensinks.features.bases import Basis
from kitchensinks.files.checkpoint import Checkpoint
from kitchensinks.files.model import save
from kitchensinks.fitting.settings import Solver
from kitchensinks.law import Law, encode
from kitchensinks.numerics.threads import threads as with_threads
from kitchensinks.problem.constraints import Constraint
from kitchensinks.state import Spec
from kitchensinks.state.resume import identity_of
from kitchensinks.tables import block_slices
from kitchensinks.tables.columns import Columns
from kitchensinks.tables.encoders import Category, Means, Places
from kitchensinks.tables.keys import hold_out, row_keys
from kitchensinks.tables.table import Table, nearest, open_table
from kitchensinks.tables.view import Rows

_BLOCK_ROWS = 8192

Facts = dict[str, Any]


@dataclass(frozen=True)
class FitOptions:
    """What `sinks fit` was asked for; dask: the address of a scheduler, or local:N, or None."""

    data: str
    target: str
    out: Path
    task: str
    basis: str
    effort: str
    components: int | str | None
    loss: str
    alpha: float | str
    constraint: Constraint | None
    validation: float
    memory: str | None
    threads: int | None
    checkpoint: Path | None
    seed: int
    drop: list[str]
    skip_bad_rows: bool
    dask: str | None

    def check(self) -> None:
        """Raise an error for options that make no sense, as far as they can be checked unread."""
        writable(self.out)
        if self.basis not in NAMES:
            raise ValueError(
                f"--basis {self.basis!r} is not known{nearest(self.basis, list(NAMES))}"
            )
        if self.effort != "default" and self.basis != LEARNED:
            raise ValueError(
                f"--effort {self.effort!r} is for --basis {LEARNED}: nothing is learned for "
                f"--basis {self.basis}. Leave out one of them."
            )
        if not 0 <= self.validation < 1:
            raise ValueError(f"--validation {self.validation}: need a share from 0 to below 1.")

    def estimator(self, task: str) -> KitchenSink:
        """The estimator that the options describe, not yet fitted; its parameters are checked."""
        basis, count = basis_named(self.basis, self.effort), self.components
        if count is None and isinstance(basis, Basis):
            count = components_of(basis)
        kind = KitchenSinkRegressor if task == "regression" else KitchenSinkClassifier
        model = kind(
            basis,
            n_components=count,
            loss=self.loss,
            alpha=self.alpha,
            constraint=self.constraint,
            solver="auto" if self.memory is None else Solver(memory_budget=self.memory),
            n_jobs=self.threads,
            random_state=self.seed,
        )
        spec_of(model, task)
        return model


def spec_of(model: KitchenSink, task: str, **more: Any) -> Spec:
    """The parameters of an estimator, checked."""
    return Spec.of(task, **more, **model.get_params(deep=False))


class Source(Protocol):
    """Rows and targets to fit: those of a file, or those that Dask reads."""

    @property
    def task(self) -> str:
        """Classification or regression."""

    def identity(self) -> dict[str, str]:
        """What tells these rows from others."""

    def fit(
        self,
        model: KitchenSink,
        meter: Meter,
        checkpoint: Checkpoint | None,
        first: KitchenSink | None = None,
        held_out: bool = False,
    ) -> None:
        """Fit to all rows, encoded as for the `first` model, or to those not held out."""

    def score(self, model: KitchenSink) -> tuple[str, Facts]:
        """How well a model predicts the rows held out, in words and numbers."""

    def facts(self) -> Facts:
        """What the rows are."""


def fit(options: FitOptions, terminal: Terminal) -> Facts:
    """Read, learn a law and score it, fit it to all rows, write; returns the facts."""
    options.check()
    work = Work(options.checkpoint)
    try:
        if options.dask is not None:
            from kitchensinks.cli.cluster import connected_source

            with connected_source(options, options.dask, terminal) as source:
                return fit_source(options, source, work, terminal)
        return fit_source(options, FileSource.open(options, terminal), work, terminal)
    except KeyboardInterrupt as error:
        raise KeyboardInterrupt(str(error) or work.advice()) from None


def fit_source(options: FitOptions, source: Source, work: Work, terminal: Terminal) -> Facts:
    """Learn a law without the rows held out and score it there, then fit that law to all rows.

    The model that is written has the basis, scales and K of the model that was scored.
    """
    start, model = time.monotonic(), options.estimator(source.task)
    asked = {"basis": model.basis, "n_components": model.n_components}
    parameters = identity_of(spec_of(model, source.task))
    work.begin({**source.identity(), "validation": str(options.validation), **parameters})
    first, validation = None, None
    if options.validation > 0:
        first, validation = _scored(model, source, work, terminal)
        model.set_params(basis=first.law_, n_components=None)
    with terminal.progress("Fitting all rows") as meter:
        source.fit(model, meter, work.checkpoint("all-rows"), first)
    if first is None:
        terminal.note(_in_words(model.law_))
    # The parameters are those that were asked for: another fit of the model learns again.
    model.set_params(**asked)
    facts = _facts_of(options, model) | source.facts() | {"validation": validation}
    facts["seconds"] = time.monotonic() - start
    facts["rows_per_second"] = facts["rows"] / facts["seconds"]
    notes = {name: facts[name] for name in ("target", "task", "basis", "rows", "validation")}
    save(model, options.out, notes=notes)
    work.clear()
    terminal.show(
        f"{facts['model']}: {facts['basis']}, K = {facts['components']}, alpha "
        f"{facts['alpha']:.3g}, {facts['loss']} loss; {facts['rows']:,} rows in "
        f"{facts['seconds']:.1f} s, {facts['rows_per_second']:,.0f} rows/s."
    )
    return facts


def _scored(
    model: KitchenSink, source: Source, work: Work, terminal: Terminal
) -> tuple[KitchenSink, Facts]:
    """The model fitted without the rows held out, and its scores; or both, as a stop left them."""
    known = work.kept()
    if known is not None:
        first, validation = known
        terminal.note(f"Learned and scored before the stop. {_in_words(first.law_)}")
        return first, validation
    with terminal.progress("Fitting without the held-out rows") as meter:
        source.fit(model, meter, work.checkpoint("held-out"), held_out=True)
    terminal.note(_in_words(model.law_))
    text, validation = source.score(model)
    terminal.note(f"Held out: {text}.")
    work.keep(model, validation)
    return model, validation


def _in_words(law: Law) -> str:
    """The law in one line."""
    features, record = law.features, law.record
    found = f"{' '.join(repr(features.basis).split())}, K = {features.n_components}"
    if record is None:
        return f"Law: {found}."
    return f"Law: learned {found}, columns are {record.map_in_words}; {record.reason}."


def _facts_of(options: FitOptions, model: KitchenSink) -> Facts:
    """What was fitted, and how."""
    law = model.law_
    return {
        "model": str(options.out),
        "data": options.data,
        "target": options.target,
        "basis": options.basis,
        "law": _in_words(law),
        "note": law.note or None,
        "components": model.n_components_,
        "alpha": float(model.alpha_),
        "loss": model.loss_.name,
        "solver": model.solver_,
        "plan": str(model.plan_),
    }


class WatchedRows(Rows):
    """Rows that say how far they have been read: `seen(done, total)`."""

    def __init__(self, rows: Rows, seen: Callable[[int, int], None]) -> None:
        super().__init__(rows.table, rows.columns, rows.folded)
        self.seen = seen

    def __getitem__(self, key: Any) -> NDArray[Any]:
        # A block is asked for when those before it are done.
        if isinstance(key, slice):
            self.seen(key.start or 0, len(self))
        return super().__getitem__(key)


@dataclass(frozen=True, eq=False)
class FileSource:
    """The table of a fit as numbers, its targets (n,), and weights: 0 where these are missing.

    The weights are None where no target is missing.
    """

    options: FitOptions
    table: Table
    rows: Rows
    targets: NDArray[Any]
    weights: NDArray[np.float64] | None
    task: str
    terminal: Terminal

    @classmethod
    def open(cls, options: FitOptions, terminal: Terminal) -> "FileSource":
        table = open_table(options.data, options.skip_bad_rows)
        targets, weights, task = read_target(table, options.target, options.task)
        # Checks the options before the columns are read, which takes time.
        options.estimator(task)
        columns = Columns.learn(table, [options.target, *options.drop], options.seed)
        terminal.note(
            f"{table.label}: {table.n_rows:,} rows, {len(columns.inputs)} columns; {task} of "
            f"{options.target!r}."
        )
        for text in oddities(table, weights):
            terminal.note(text)
        return cls(options, table, Rows(table, columns), targets, weights, task, terminal)

    @property
    def n_rows(self) -> int:
        return len(self.rows)

    @cached_property
    def held(self) -> NDArray[np.bool_]:
        """Which rows are held out, by their content; no class is held out as a whole."""
        counted = np.ones(self.n_rows, bool) if self.weights is None else self.weights > 0
        keys = row_keys(self.rows, self.options.seed)
        held = hold_out(keys, self.weights, self.options.validation) & counted
        if self.task == "classification":
            gone = np.setdiff1d(self.targets[held], self.targets[counted & ~held])
            held &= ~np.isin(self.targets, gone)
        if not held.any():
            raise ValueError(
                "There are too few different rows to hold some out: give --validation 0, or more "
                "rows."
            )
        return held

    def identity(self) -> dict[str, str]:
        return {**self.rows.fingerprint(), "target": self.options.target}

    def fit(
        self,
        model: KitchenSink,
        meter: Meter,
        checkpoint: Checkpoint | None,
        first: KitchenSink | None = None,
        held_out: bool = False,
    ) -> None:
        weights = self.weights
        if held_out:
            weights = np.where(self.held, 0.0, 1.0 if weights is None else weights)
        like = None if first is None else first.columns_
        with with_threads(self.options.threads):
            rows = encode(self.rows, self.targets, weights, self.task, like)
        if first is None:
            ways = _ways(rows.columns)
            self.terminal.note(f"The columns become {rows.shape[1]} numbers{ways}.")
        model.set_params(verbose=meter.told)
        model.fit(WatchedRows(rows, meter.seen), self.targets, weights, checkpoint=checkpoint)
        model.set_params(verbose=False)

    def score(self, model: KitchenSink) -> tuple[str, Facts]:
        rows = Rows(self.table, model.columns_)
        score, add = scorer(model)
        for part in block_slices(len(rows), _BLOCK_ROWS):
            if self.held[part].any():
                add(rows[part][self.held[part]], self.targets[part][self.held[part]])
        return score.text(), score.facts()

    def facts(self) -> Facts:
        return {
            "task": self.task,
            "rows": self.n_rows,
            "bad_rows": self.table.bad_rows.count,
            "columns": len(self.rows.columns.inputs),
        }


def oddities(table: Table, weights: NDArray[np.float64] | None) -> list[str]:
    """Notes on rows that are left out; weights: 0 where the target is missing."""
    notes = []
    if weights is not None:
        missing = int((weights == 0).sum())
        notes.append(f"The target is missing in {missing:,} of {len(weights):,} rows: left out.")
    if table.bad_rows.count:
        notes.append(f"{table.bad_rows}.")
    return notes


def _ways(columns: Columns) -> str:
    """How categories became numbers, in words."""
    kinds = {type(encoder) for encoder in columns.encoders}
    ways = {Means: "mean targets", Places: "places in their order", Category: "indicators"}
    found = [words for kind, words in ways.items() if kind in kinds]
    return f", categories {' and '.join(found)}" if found else ""
