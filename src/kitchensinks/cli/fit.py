"""`sinks fit`: from a file of rows to a model file."""

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from kitchensinks.cli.bases import LEARNED, NAMES, basis_named, components_of
from kitchensinks.cli.checkpoint import CheckpointFolder
from kitchensinks.cli.options import (
    cluster,
    constraint,
    keeps_inputs,
    memory,
    number_or_auto,
    writable,
)
from kitchensinks.cli.pipes import is_pipe, opened_table, whole_file
from kitchensinks.cli.scoring import score_blocks
from kitchensinks.cli.targets import read_target
from kitchensinks.cli.terminal import Terminal
from kitchensinks.cli.verbs import Fit, Training
from kitchensinks.estimators import KitchenSinkClassifier, KitchenSinkRegressor
from kitchensinks.estimators.base import KitchenSink
from kitchensinks.estimators.progress import Meter
from kitchensinks.features.bases import Basis
from kitchensinks.files.checkpoint import Checkpoint
from kitchensinks.files.model import save
from kitchensinks.fitting.settings import Solver
from kitchensinks.law import Law, Learned, encode
from kitchensinks.law.splits import held_rows, order_of
from kitchensinks.law.values import short_name
from kitchensinks.numerics.arrays import AnyArray, Bools, Facts, Floats, Part
from kitchensinks.numerics.threads import threads
from kitchensinks.numerics.words import Stream, Words
from kitchensinks.problem.losses import LOSSES, Loss, Quantile
from kitchensinks.state.fits import identity_of
from kitchensinks.tables.arrays import block_slices
from kitchensinks.tables.columns import Columns
from kitchensinks.tables.encoders import Category, Means, Places
from kitchensinks.tables.keys import hold_out, row_keys
from kitchensinks.tables.spelling import nearest
from kitchensinks.tables.table import Table
from kitchensinks.tables.view import Rows

if TYPE_CHECKING:
    from kitchensinks.cli.cluster import ClusterSource

_BLOCK_ROWS = 8192
# Share of --time-limit for learning and the fit that is scored. The law is then fitted to all rows,
# which takes about as long as the last of these steps.
_FIRST_SHARE = 0.6


@dataclass(frozen=True)
class Step:
    """One of the two fits: without the rows held out, or to all rows, encoded `like` the first."""

    held_out: bool
    meter: Meter
    checkpoint: Checkpoint | None
    like: Columns | None = None


def fit(options: Fit, terminal: Terminal) -> Facts:
    """Read, learn a law and score it, fit it to all rows, write; returns the facts."""
    if is_pipe(options.out):
        terminal.leave_output()
    parameters, where = _parameters(options), cluster(options.scheduler, options.dask)
    folder = CheckpointFolder(options.checkpoint)
    try:
        opened: AbstractContextManager[FileSource | ClusterSource]
        if where is None:
            opened = FileSource.opened(options, terminal)
        else:
            from kitchensinks.cli.cluster import connected_source

            opened = connected_source(options, where, terminal)
        with opened as source:
            return _fit_source(options, parameters, source, folder, terminal)
    except KeyboardInterrupt as error:
        raise KeyboardInterrupt(str(error) or folder.advice()) from None
    finally:
        folder.release()


def _parameters(options: Fit) -> Facts:
    """The parameters of the estimator; an error where options can be refused with no row read."""
    if not is_pipe(options.out):
        writable(options.out)
        keeps_inputs(options.out, options.data)
    if options.basis not in NAMES:
        near = nearest(options.basis, list(NAMES), "need one of")
        raise ValueError(f"--basis {options.basis!r} is not known{near}")
    if options.basis != LEARNED:
        _check_nothing_learned(options)
    check_named(options)
    if not 0 <= options.validation < 1:
        raise ValueError(f"--validation {options.validation}: need a share from 0 to below 1.")
    limit = options.time_limit
    if limit is not None and limit > 0 and options.validation > 0:
        limit *= _FIRST_SHARE
    order = {"time": options.time, "groups": options.groups, "time_limit": limit}
    basis = basis_named(options.basis, options.effort, **order)
    count, most = options.components, memory(options.memory)
    if count is None and isinstance(basis, Basis):
        count = str(components_of(basis))
    parameters: Facts = {
        "basis": basis,
        "n_components": None if count is None else number_or_auto("--components", count, int),
        "loss": _loss(options),
        "alpha": number_or_auto("--alpha", options.alpha, float),
        "constraint": constraint(options.constraint),
        "solver": "auto" if most is None else Solver(memory_budget=most),
        "n_jobs": options.threads,
        "random_state": options.seed,
    }
    # The target says whether the loss is possible; all else is checked before the rows are read.
    KitchenSinkRegressor(**{**parameters, "loss": "squared"})._spec()
    return parameters


def check_named(options: Training) -> None:
    """An error where the columns that are named contradict each other."""
    if options.target in (options.drop or []):
        raise ValueError(
            f"--drop {options.target}: this is the target, which is never an input. Leave it out."
        )
    if options.time is not None and options.groups is not None:
        raise ValueError("--time and --groups name two ways to hold rows out: give one of them.")


def _check_nothing_learned(options: Fit) -> None:
    """An error where options of learning are given with a basis of the papers."""
    given = {
        f"--effort {options.effort!r}": options.effort != "default",
        f"--time-limit {options.time_limit}": options.time_limit is not None,
        f"--time {options.time!r}": options.time is not None,
        f"--groups {options.groups!r}": options.groups is not None,
    }
    for told, is_given in given.items():
        if is_given:
            raise ValueError(
                f"{told} is for --basis {LEARNED}: nothing is learned for --basis {options.basis}. "
                "Leave out one of them."
            )


def _loss(options: Fit) -> str | Loss:
    """The loss by its name, or the quantile loss with its tau."""
    if options.tau is None:
        return options.loss
    if not isinstance(LOSSES.get(options.loss), Quantile):
        raise ValueError(
            f"--tau {options.tau} is for --loss quantile, and the loss is {options.loss!r}: give "
            "--loss quantile too, or leave out --tau."
        )
    return Quantile(options.tau)


def _fit_source(
    options: Fit,
    parameters: Facts,
    source: "FileSource | ClusterSource",
    folder: CheckpointFolder,
    terminal: Terminal,
) -> Facts:
    """Learn a law without the rows held out and score it there, then fit that law to all rows.

    The model that is written has the basis, scales and K of the model that was scored.
    """
    start = time.monotonic()
    kind = KitchenSinkRegressor if source.task == "regression" else KitchenSinkClassifier
    model: KitchenSink = kind(**parameters)
    # The parameters are checked here, before the columns are read, which takes time.
    own = identity_of(model._spec())
    for text in source.notes():
        terminal.note(text)
    if options.checkpoint is not None:
        folder.begin({**source.identity(), "validation": str(options.validation), **own})
    like, validation = None, None
    if options.validation > 0:
        first, validation = _scored(model, source, folder, terminal)
        like = first.columns_
        model.set_params(basis=first.law_, n_components=None)
    with terminal.progress("Fitting all rows") as meter:
        source.fit(model, Step(False, meter, folder.checkpoint("all-rows"), like))
    if validation is None:
        terminal.note(_in_words(model.law_))
    # The parameters are those that were asked for: another fit of the model learns again.
    model.set_params(basis=parameters["basis"], n_components=parameters["n_components"])
    facts = _facts_of(options, model) | {"task": source.task, "rows": source.n_rows}
    facts |= {"columns": len(source.columns.inputs), "validation": validation, **source.facts()}
    facts["seconds"] = time.monotonic() - start
    facts["rows_per_second"] = facts["rows"] / facts["seconds"]
    notes = {name: facts[name] for name in ("target", "task", "basis", "rows", "validation")}
    with whole_file(options.out) as path:
        save(model, path, notes=notes)
    folder.clear()
    terminal.show(
        f"{facts['model']}: {facts['task']}, {facts['basis']}, K = {facts['components']}, alpha "
        f"{facts['alpha']:.3g}, {facts['loss']} loss; fitted to {facts['rows']:,} rows "
        f"in {facts['seconds']:.1f} s, {facts['rows_per_second']:,.0f} rows/s."
    )
    return facts


def _scored(
    model: KitchenSink,
    source: "FileSource | ClusterSource",
    folder: CheckpointFolder,
    terminal: Terminal,
) -> tuple[KitchenSink, Facts]:
    """The model fitted without the rows held out, and its scores; or both, as a stop left them."""
    known = folder.kept()
    if known is not None:
        first, validation = known
        terminal.note(f"Learned and scored before the stop. {_in_words(first.law_)}")
        return first, validation
    with terminal.progress("Fitting without the held-out rows") as meter:
        source.fit(model, Step(True, meter, folder.checkpoint("held-out")))
    terminal.note(_in_words(model.law_))
    text, validation = source.score(model)
    fitted = "" if "fitted" not in validation else f"; {validation['fitted']:,} rows were fitted"
    terminal.note(f"Held out: {text}{fitted}.")
    folder.keep(model, validation)
    return model, validation


def _in_words(law: Law) -> str:
    """The law in one line."""
    features, record = law.features, law.record
    pairs = " of two features" if features.basis.features_per_draw == 2 else ""
    found = f"{short_name(features.basis)}, K = {features.n_components}{pairs}"
    if record is None:
        return f"Law: {found}."
    return f"Law: learned {found}, columns are {record.map_in_words}; {record.reason}."


def _facts_of(options: Fit, model: KitchenSink) -> Facts:
    """What was fitted, and how."""
    law = model.law_
    return {
        "model": "standard output" if is_pipe(options.out) else str(options.out),
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

    def __getitem__(self, key: Part) -> AnyArray:
        # A block is asked for when those before it are done.
        if isinstance(key, slice):
            self.seen(key.start or 0, len(self))
        return super().__getitem__(key)


@dataclass(frozen=True, eq=False)
class FileSource:
    """The table of a fit, its targets (n,), and weights: 0 where these are missing.

    The weights are None where no target is missing.
    """

    options: Fit
    task: str
    n_rows: int
    table: Table
    targets: AnyArray
    weights: Floats | None
    terminal: Terminal

    @classmethod
    @contextmanager
    def opened(cls, options: Fit, terminal: Terminal) -> Iterator["FileSource"]:
        """The rows that the options name, as long as the standard input is kept."""
        with opened_table(options.data, options.skip_bad_rows) as table:
            targets, weights, task = read_target(table, options.target, options.task, options.loss)
            yield cls(options, task, table.n_rows, table, targets, weights, terminal)

    @cached_property
    def columns(self) -> Columns:
        """The recipe of the columns, which takes time to learn."""
        with threads(self.options.threads):
            return Columns.learn(self.table, **self.options.recipe)

    @cached_property
    def rows(self) -> Rows:
        return Rows(self.table, self.columns)

    def notes(self) -> list[str]:
        """What the user is told about the rows."""
        first = (
            f"{self.table.label}: {self.n_rows:,} rows, {len(self.columns.inputs)} columns; "
            f"{self.task} of {self.options.target!r}."
        )
        numbers = self.task == "classification" and self.targets.dtype.kind in "iuf"
        if numbers and self.options.task == "auto" and len(np.unique(self.targets)) > 2:
            first += " Its numbers are taken as classes: --task regression fits them as numbers."
        return [first, *oddities(self.table, self.weights)]

    @cached_property
    def held(self) -> Bools:
        """Which rows are held out, by their content, time or group; no class as a whole."""
        counted = np.ones(self.n_rows, bool) if self.weights is None else self.weights > 0
        share, seed = self.options.validation, self.options.seed
        if self.options.time is not None or self.options.groups is not None:
            learned = Learned(time=self.options.time, groups=self.options.groups)
            words = Words(seed, 0, Stream.VALIDATION)
            order = order_of(learned, self.rows)
            if order.groups is not None and len(np.unique(order.groups[counted])) == 2:
                raise ValueError(
                    f"--groups {self.options.groups}: there are two groups, of which one is held "
                    "out for the score and none is left to learn the law by: need three or more, "
                    "or --validation 0."
                )
            held = held_rows(order, counted, share, words)
        else:
            held = hold_out(row_keys(self.rows, seed), self.weights, share) & counted
        if self.task == "classification":
            gone = np.setdiff1d(self.targets[held], self.targets[counted & ~held])
            held &= ~np.isin(self.targets, gone)
        if not held.any():
            count = len(np.unique(self.targets[counted]))
            if self.task == "classification" and count > self.n_rows // 2:
                raise ValueError(
                    f"The target {self.options.target!r} has {count:,} different values in "
                    f"{self.n_rows:,} rows, so that hardly any class has two rows: give --task "
                    "regression, or name another column with --target."
                )
            raise ValueError(
                "There are too few different rows to hold some out: give --validation 0, or more "
                "rows."
            )
        return held

    def identity(self) -> dict[str, str]:
        """What tells these rows from others."""
        return {**self.rows.fingerprint(), "target": self.options.target}

    def fit(self, model: KitchenSink, step: Step) -> None:
        weights = self.weights
        if step.held_out:
            weights = np.where(self.held, 0.0, 1.0 if weights is None else weights)
        with threads(self.options.threads):
            rows = encode(self.rows, self.targets, weights, self.task, step.like)
        if step.like is None:
            ways = _ways(rows.columns)
            self.terminal.note(f"The columns become {rows.shape[1]} numbers{ways}.")
        watched = WatchedRows(rows, step.meter.seen)
        model.fit(
            watched, self.targets, weights, checkpoint=step.checkpoint, verbose=step.meter.told
        )

    def score(self, model: KitchenSink) -> tuple[str, Facts]:
        """How well a model predicts the rows held out, in words and numbers."""
        rows, parts = Rows(self.table, model.columns_), block_slices(self.n_rows, _BLOCK_ROWS)
        blocks = (
            (rows[part][self.held[part]], self.targets[part][self.held[part]])
            for part in parts
            if self.held[part].any()
        )
        with threads(model.n_jobs):
            text, found = score_blocks(model.state_, blocks)
        counted = self.n_rows if self.weights is None else int(np.count_nonzero(self.weights))
        return text, {**found, "fitted": counted - int(np.count_nonzero(self.held))}

    def facts(self) -> Facts:
        return {"bad_rows": self.table.bad_rows.count}


def oddities(table: Table, weights: Floats | None) -> list[str]:
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
    return f", categories as {' and '.join(found)}" if found else ""
