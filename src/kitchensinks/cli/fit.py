"""`sinks fit`: from a file of rows to a model file."""

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from kitchensinks.cli.choose import (
    NAMES,
    Choice,
    Trial,
    basis_named,
    choose_basis,
    components_of,
)
from kitchensinks.cli.options import writable
from kitchensinks.cli.scoring import scorer
from kitchensinks.cli.targets import read_target
from kitchensinks.cli.terminal import Terminal
from kitchensinks.cli.work import Work
from kitchensinks.estimators import KitchenSinkClassifier, KitchenSinkRegressor
from kitchensinks.files.checkpoint import Checkpoint
from kitchensinks.files.model import save
from kitchensinks.fitting.settings import Solver
from kitchensinks.law import Learned
from kitchensinks.law.encodings import encode
from kitchensinks.numerics.threads import threads as with_threads
from kitchensinks.state import Spec, seed_of
from kitchensinks.tables import block_slices
from kitchensinks.tables.columns import Columns
from kitchensinks.tables.encoders import Category, Means, Places
from kitchensinks.tables.keys import hold_out, lowest_keys, row_keys
from kitchensinks.tables.table import Table, nearest, open_table
from kitchensinks.tables.view import Rows

# Rows, and entries of them, that the bases are tried on.
_SAMPLE_ROWS, _SAMPLE_ENTRIES = 32_000, 2**24
_BLOCK_ROWS = 8192


@dataclass(frozen=True)
class FitOptions:
    """What `sinks fit` was asked for."""

    data: str
    target: str
    out: Path
    task: str = "auto"
    basis: str = "auto"
    components: int | str | None = None
    loss: str = "squared"
    alpha: float | str = "auto"
    constraint: Any = None
    validation: float = 0.2
    memory: str | None = None
    threads: int | None = None
    checkpoint: Path | None = None
    seed: int = 0
    budget: float = 60.0
    drop: list[str] = field(default_factory=list)
    skip_bad_rows: bool = False
    # The address of a Dask scheduler, or local:N for workers on this machine.
    dask: str | None = None


class WatchedRows(Rows):
    """Rows that say how far they have been read: `seen(done, total)`."""

    def __init__(self, rows: Rows, seen: Callable[[int, int], None]) -> None:
        super().__init__(rows.table, rows.columns, rows.folded)
        self.seen = seen

    def __getitem__(self, key: Any) -> np.ndarray:
        # Whoever asks for a block is done with those before it.
        if isinstance(key, slice):
            self.seen(key.start or 0, len(self))
        return super().__getitem__(key)


@dataclass(frozen=True)
class Source:
    """The table of a fit, as numbers and targets; weights: None, or 0 where those are missing."""

    table: Table
    rows: Rows
    targets: np.ndarray
    weights: Any
    task: str
    seed: int

    @cached_property
    def keys(self) -> np.ndarray:
        """A key for each row, from its content: one walk over the table."""
        return row_keys(self.rows, self.seed)

    def kept(self, held: Any) -> np.ndarray:
        """Weights without the rows held out."""
        weights = np.ones(len(self.rows)) if self.weights is None else self.weights
        return weights if held is None else np.where(held, 0.0, weights)

    def hold_out(self, options: FitOptions) -> np.ndarray | None:
        """Which rows are held out, by their content; None for none."""
        if options.validation == 0:
            return None
        held = hold_out(self.keys, self.weights, options.validation)
        left = self.targets[self.kept(held) > 0]
        if not held.any() or (self.task == "classification" and len(np.unique(left)) < 2):
            raise ValueError(
                "There are too few different rows to hold some out: give --validation 0, or more "
                "rows."
            )
        return held


def fit(options: FitOptions, terminal: Terminal) -> dict[str, Any]:
    """Read, choose, validate, fit, write; returns the facts."""
    writable(options.out)
    check_options(options)
    work = Work(options.checkpoint)
    try:
        if options.dask is not None:
            from kitchensinks.cli.cluster import fit_on_cluster

            return fit_on_cluster(options, options.dask, work, terminal)
        return _fit_file(options, work, terminal)
    except KeyboardInterrupt as error:
        raise KeyboardInterrupt(str(error) or work.advice()) from None


def _fit_file(options: FitOptions, work: Work, terminal: Terminal) -> dict[str, Any]:
    table = open_table(options.data, options.skip_bad_rows)
    targets, weights, task = read_target(table, options.target, options.task)
    # Found out now, and not after a basis has been chosen.
    Spec.of(task, **estimator(options, task, _asked("fourier")).get_params(deep=False))
    columns = Columns.learn(table, [options.target, *options.drop], options.seed)
    rows = Rows(table, columns)
    terminal.note(
        f"{table.label}: {len(rows):,} rows, {len(columns.inputs)} columns; {task} of "
        f"{options.target!r}."
    )
    for text in oddities(table, targets, weights):
        terminal.note(text)
    source = Source(table, rows, targets, weights, task, options.seed)
    held = source.hold_out(options)
    kept = source.kept(held)
    with with_threads(options.threads):
        encoded = encode(rows, targets, kept, task)
    terminal.note(f"The columns become {encoded.shape[1]} numbers{_ways(encoded.columns)}.")
    choice = choose(options, source, encoded, kept, work, terminal)
    model = estimator(options, task, choice)
    validation = None
    if held is not None:
        title = "Fitting without the held-out rows"
        _fit(model, title, encoded, targets, kept, work.checkpoint("held-out"), terminal)
        validation = _score_held(model, source, held, terminal)
    start = time.monotonic()
    # The rows held out have their say in the means of all rows.
    with with_threads(options.threads):
        whole = encoded if held is None else encode(rows, targets, weights, task, encoded.columns)
    _fit(model, "Fitting all rows", whole, targets, weights, work.checkpoint("all-rows"), terminal)
    facts = facts_of(options, task, choice, model)
    facts |= {"rows": len(rows), "bad_rows": table.bad_rows.count}
    facts |= {"columns": len(columns.inputs), "inputs": model.columns_.width}
    return finished(options, facts, model, validation, start, work, terminal)


def _ways(columns: Columns) -> str:
    """How categories became numbers, in words."""
    kinds = {type(encoder) for encoder in columns.encoders}
    ways = {Means: "mean targets", Places: "places in their order", Category: "indicators"}
    found = [words for kind, words in ways.items() if kind in kinds]
    return f", categories {' and '.join(found)}" if found else ""


def finished(
    options: FitOptions,
    facts: dict[str, Any],
    model: Any,
    validation: Any,
    start: float,
    work: Work,
    terminal: Terminal,
) -> dict[str, Any]:
    """Write the model of a fit that began at `start`, and tell; returns all the facts."""
    seconds = time.monotonic() - start
    facts |= {"validation": validation, "seconds": seconds}
    facts["rows_per_second"] = facts["rows"] / seconds
    notes = {name: facts[name] for name in ("target", "task", "basis", "rows", "validation")}
    save(model, options.out, notes=notes)
    work.clear()
    _report(facts, terminal)
    return facts


def facts_of(options: FitOptions, task: str, choice: Choice, model: Any) -> dict[str, Any]:
    """What a fit was of, and what it has found."""
    return {
        "model": str(options.out),
        "data": options.data,
        "target": options.target,
        "task": task,
        "basis": choice.name,
        "components": model.n_components_,
        "alpha": float(model.alpha_),
        "loss": model.loss_.name,
        "solver": model.solver_,
        "choice": {"reason": choice.reason, "trials": [asdict(trial) for trial in choice.trials]},
    }


def check_options(options: FitOptions) -> None:
    """What can be said before any row is read."""
    known = [*NAMES, "auto"]
    if options.basis not in known:
        raise ValueError(f"--basis {options.basis!r} is not known{nearest(options.basis, known)}")
    if not 0 <= options.validation < 1:
        raise ValueError(f"--validation {options.validation}: need a share from 0 to below 1.")
    seed_of(options.seed)


def oddities(table: Table, targets: np.ndarray, weights: Any) -> list[str]:
    """What a reader of the table should know."""
    notes = []
    if weights is not None:
        missing = int((weights == 0).sum())
        notes.append(f"The target is missing in {missing:,} of {len(targets):,} rows: left out.")
    if table.bad_rows.count:
        notes.append(f"{table.bad_rows}.")
    return notes


def choose(
    options: FitOptions, source: Source, rows: Rows, kept: Any, work: Work, terminal: Terminal
) -> Choice:
    """The basis asked for, or the one that does best on a sample of the rows of weight `kept`."""
    if options.basis != "auto":
        return _asked(options.basis)
    identity = {**source.rows.fingerprint(), "target": options.target, "task": source.task}
    most = min(_SAMPLE_ROWS, max(1000, _SAMPLE_ENTRIES // rows.shape[1]))
    places = np.flatnonzero(kept > 0)
    if len(places) > most:
        places = np.flatnonzero(lowest_keys(source.keys, kept, most) & (kept > 0))[:most]
    return chosen(
        options,
        rows[places],
        source.targets[places],
        source.task,
        identity,
        work,
        terminal,
        unscaled=rows.unscaled,
    )


def chosen(
    options: FitOptions,
    rows: np.ndarray,
    targets: np.ndarray,
    task: str,
    identity: dict[str, str],
    work: Work,
    terminal: Terminal,
    names: tuple[str, ...] = NAMES,
    unscaled: Any = None,
) -> Choice:
    """The basis asked for, the one chosen before a stop, or the best of `names` on these rows."""
    if options.basis != "auto":
        return _asked(options.basis)
    known = work.known_choice(identity)
    if known is not None:
        terminal.note(f"Chosen before the stop: {known.reason}")
        return known
    terminal.note(f"Trying {len(names)} bases on {len(rows):,} rows:")

    def say(trial: Trial) -> None:
        terminal.note(
            f"  {trial.name:10s} K = {trial.n_components:5d} on {trial.n_rows:6,d} rows: error "
            f"{100 * trial.error:6.2f} ± {100 * trial.standard_error:.2f} %  {trial.seconds:.1f} s"
        )

    with with_threads(options.threads):
        choice = choose_basis(
            rows,
            targets,
            task,
            options.budget,
            options.seed,
            names,
            unscaled=unscaled,
            progress=say,
        )
    terminal.note(f"Chosen: {choice.reason}")
    work.keep_choice(choice, identity)
    return choice


def _asked(name: str) -> Choice:
    return Choice(name, basis_named(name), "It was asked for.", ())


def estimator(options: FitOptions, task: str, choice: Choice) -> Any:
    """The estimator that the options describe, not yet fitted."""
    count, basis = options.components, choice.basis
    if basis is not None and (count is None or (count == "auto" and basis.sparse)):
        count = components_of(basis)
    kind = KitchenSinkRegressor if task == "regression" else KitchenSinkClassifier
    return kind(
        Learned() if basis is None else basis,
        n_components=count,
        loss=options.loss,
        alpha=options.alpha,
        constraint=options.constraint,
        solver=Solver(memory_budget=options.memory),
        n_jobs=options.threads,
        random_state=options.seed,
    )


def _fit(
    model: Any,
    title: str,
    rows: Rows,
    targets: np.ndarray,
    weights: Any,
    checkpoint: Checkpoint | None,
    terminal: Terminal,
) -> None:
    with terminal.progress(title) as meter:
        model.set_params(verbose=meter.told)
        model.fit(WatchedRows(rows, meter.seen), targets, weights, checkpoint=checkpoint)
    model.set_params(verbose=False)


def _score_held(model: Any, source: Source, held: np.ndarray, terminal: Terminal) -> dict[str, Any]:
    """How well a fit without the rows held out predicts them."""
    rows = Rows(source.table, model.columns_)
    score, add = scorer(model)
    counted = source.kept(None) > 0
    for part in block_slices(len(rows), _BLOCK_ROWS):
        mine = held[part] & counted[part]
        if mine.any():
            add(rows[part][mine], source.targets[part][mine])
    terminal.note(f"Held out: {score.text()}.")
    return dict(score.facts())


def _report(facts: dict[str, Any], terminal: Terminal) -> None:
    terminal.show(
        f"{facts['model']}: {facts['basis']}, K = {facts['components']}, alpha "
        f"{facts['alpha']:.3g}, {facts['loss']} loss; {facts['rows']:,} rows in "
        f"{facts['seconds']:.1f} s, {facts['rows_per_second']:,.0f} rows/s."
    )
