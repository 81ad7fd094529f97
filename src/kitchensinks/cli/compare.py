"""`sinks compare`: every basis beside common models."""

import warnings
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import RidgeClassifierCV, RidgeCV
from sklearn.model_selection import GridSearchCV, PredefinedSplit
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from kitchensinks.cli.bases import BASES, LEARNED, NAMES, basis_named, components_of
from kitchensinks.cli.fit import check_named, oddities
from kitchensinks.cli.options import keeps_inputs, whole_numbers, writable
from kitchensinks.cli.pipes import opened_table
from kitchensinks.cli.targets import read_target, sampled_places
from kitchensinks.cli.terminal import Terminal
from kitchensinks.cli.verbs import Compare
from kitchensinks.estimators import KitchenSinkClassifier, KitchenSinkRegressor
from kitchensinks.estimators.base import KitchenSink
from kitchensinks.features.bases import Basis
from kitchensinks.features.scaling import Scaler, Spread
from kitchensinks.law import Learned
from kitchensinks.law.splits import held_rows, order_of
from kitchensinks.numerics.arrays import AnyArray, Bools, Facts, Floats
from kitchensinks.numerics.words import Stream, Words
from kitchensinks.report.peers import Compared, one_thread, tried
from kitchensinks.tables.columns import Columns
from kitchensinks.tables.keys import hold_out, row_keys
from kitchensinks.tables.view import Rows

# Most rows for exact kernel machines, which take at least quadratic time.
_KERNEL_ROWS = 5000
# Rounds of AdaBoost.
_STUMPS = 200
# Share of the fitted rows that are held out to learn the law, with --time or --groups.
_LEARNED_SHARE = 0.2
PICTURES = (".png", ".svg", ".pdf")


@dataclass(frozen=True)
class Entry(Compared):
    """One fitted model, with K where it has one."""

    components: int | None = None


def compare(options: Compare, terminal: Terminal) -> Facts:
    """Fit and score all models on a sample of the table; returns the facts."""
    if options.out is not None:
        writable(options.out, PICTURES)
        keeps_inputs(options.out, options.data)
        if find_spec("matplotlib") is None:
            raise ImportError(
                'A picture needs matplotlib: pip install "kitchensinks[plot]", or leave out --out.'
            )
    widths = whole_numbers("--components", options.components)
    if not 0 < options.validation < 1:
        raise ValueError(f"--validation {options.validation}: need a share between 0 and 1.")
    if options.rows < 50:
        raise ValueError(f"--rows {options.rows}: need 50 or more, to fit and to score.")
    check_named(options)
    with opened_table(options.data, options.skip_bad_rows) as table:
        targets, weights, task = read_target(table, options.target, options.task)
        rows = Rows(table, Columns.learn(table, **options.recipe))
        for text in oddities(table, weights):
            terminal.note(text)
        places = sampled_places(rows, weights, options.rows, options.seed)
        X, y = rows[places], targets[places]
        held, learned = _sides(options, rows, places, X)
    X = Scaler.over(Spread.of(X[~held]), rows.unscaled).apply(X, np.float64)
    if task == "classification" and len(np.unique(y[~held])) < 2:
        raise ValueError("Only one class is left beside the rows held out: give more rows.")
    terminal.note(
        f"{len(X):,} of {len(rows):,} rows, {int(held.sum()):,} of them held out; {task} of "
        f"{options.target!r}, {X.shape[1]} numbers a row."
    )
    entries = []
    contestants = _contestants(task, int((~held).sum()), widths, options.seed, learned)
    with terminal.progress("Comparing") as meter, one_thread():
        for number, (name, model) in enumerate(contestants):
            meter.seen(number, len(contestants))
            entries.append(_try(name, model, X, y, held, task))
    rows_of = sorted(entries, key=lambda entry: entry.error)
    what = "error, %" if task == "classification" else "1 − R², % of variance"
    terminal.table(
        f"{options.target} of {table.label}",
        ["model", "K", what, "±", "seconds"],
        [_cells(entry) for entry in rows_of],
    )
    if options.out is not None:
        _draw(entries, options, task)
        terminal.show(f"Wrote {options.out}.")
    return {
        "task": task,
        "rows": len(X),
        "held_out": int(held.sum()),
        "picture": None if options.out is None else str(options.out),
        "entries": [asdict(entry) for entry in rows_of],
    }


def _sides(
    options: Compare, rows: Rows, places: NDArray[np.intp], X: Floats
) -> tuple[Bools, Basis | Learned]:
    """Rows that are scored, by their content, time or group; the law to learn on the others."""
    more: Facts = {"time_limit": options.time_limit}
    if options.time is None and options.groups is None:
        held = hold_out(row_keys(X, options.seed + 1), None, options.validation)
    else:
        named = Learned(time=options.time, groups=options.groups)
        order, all_rows = order_of(named, rows).part(places), np.ones(len(places), bool)
        words = Words(options.seed, 0, Stream.VALIDATION)
        held = held_rows(order, all_rows, options.validation, words)
        # The column has been encoded: the law gets the held-out rows in place of its name.
        own = order.part(np.flatnonzero(~held))
        inner = held_rows(own, all_rows[~held], _LEARNED_SHARE, words)
        more["split"] = PredefinedSplit(np.where(inner, 0, -1))
    return held, basis_named(LEARNED, options.effort, **more)


def _contestants(
    task: str, n_rows: int, widths: list[int], seed: int, learned: object
) -> list[tuple[str, Any]]:
    """Models with their names."""
    number = task == "regression"
    own = KitchenSinkRegressor if number else KitchenSinkClassifier
    more: Facts = {"n_jobs": 1, "random_state": seed}
    found: list[tuple[str, Any]] = [(LEARNED, own(learned, **more))]
    for name, basis in BASES.items():
        for width in widths:
            count = components_of(basis(), width)
            found.append((name, own(basis(), count, standardize=False, **more)))
    alphas = np.logspace(-3, 4, 15)
    found.append(("linear ridge", RidgeCV(alphas) if number else RidgeClassifierCV(alphas)))
    if n_rows <= _KERNEL_ROWS and number:
        grid = {"alpha": np.logspace(-4, 1, 6)}
        found.append(("kernel ridge", GridSearchCV(KernelRidge(kernel="rbf"), grid, cv=3)))
    elif n_rows <= _KERNEL_ROWS:
        found.append(("kernel SVM", GridSearchCV(SVC(), {"C": [0.1, 1.0, 10.0, 100.0]}, cv=3)))
    tree, boost, trees = (
        (DecisionTreeRegressor, AdaBoostRegressor, HistGradientBoostingRegressor)
        if number
        else (DecisionTreeClassifier, AdaBoostClassifier, HistGradientBoostingClassifier)
    )
    stumps = boost(tree(max_depth=1), n_estimators=_STUMPS, random_state=seed)
    return [*found, ("AdaBoost stumps", stumps), ("gradient boosting", trees(random_state=seed))]


def _try(name: str, model: Any, X: Floats, y: AnyArray, held: Bools, task: str) -> Entry:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        found = tried(name, model, X, y, held, task == "classification")
    count = model.n_components_ if isinstance(model, KitchenSink) else None
    return Entry(**asdict(found), components=count)


def _cells(entry: Entry) -> list[str]:
    return [
        entry.name,
        "" if entry.components is None else str(entry.components),
        f"{100 * entry.error:.2f}",
        f"{100 * entry.standard_error:.2f}",
        f"{entry.seconds:.2f}",
    ]


def _draw(entries: list[Entry], options: Compare, task: str) -> None:
    """Error against K, and against seconds."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    from kitchensinks.tables.disk import atomic

    figure = Figure(figsize=(11, 4.5), layout="constrained")
    FigureCanvasAgg(figure)
    by_count, by_time = figure.subplots(1, 2, sharey=True)
    for name in NAMES:
        own = [entry for entry in entries if entry.name == name]
        errors = [100 * entry.error for entry in own]
        by_count.plot([entry.components for entry in own], errors, marker="o", label=name)
        by_time.plot([entry.seconds for entry in own], errors, marker="o", label=name)
    marks = iter("sDv^P")
    for entry in entries:
        if entry.components is None:
            colour = f"{0.15 + 0.15 * len(by_time.collections):.2f}"
            by_count.axhline(100 * entry.error, color=colour, linestyle="--", linewidth=1)
            by_time.scatter(
                entry.seconds, 100 * entry.error, marker=next(marks), color=colour, label=entry.name
            )
    by_count.set(xscale="log", xlabel="K (grids for binning)", title=options.target)
    numbers = "1 − R², % of variance"
    by_count.set_ylabel("held-out error, %" if task == "classification" else numbers)
    by_time.set(xscale="log", xlabel="seconds to fit and predict, one thread")
    by_time.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
    assert options.out is not None
    with atomic(options.out) as temporary:
        figure.savefig(temporary, format=options.out.suffix[1:].lower(), dpi=150)
