"""How far a fit is: on the error stream, as a bar with the time left or lines of text, and for
callbacks of scikit-learn (since 1.9), as a tree of tasks.

The task `fit` has a subtask for each pass, such as learning the law. Each pass has a hundred
subtasks, which end one after another. A step without a count is a subtask of its own.
"""

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from importlib.util import find_spec
from typing import Any

from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from kitchensinks.fitting.settings import Verbose
from kitchensinks.law.constants import DONE
from kitchensinks.numerics.arrays import SampleWeight
from kitchensinks.state import Spec
from kitchensinks.tables.view import Given

try:
    from sklearn.callback import CallbackSupportMixin as CallbackSupportMixin
    from sklearn.callback import with_callbacks
except ImportError:  # scikit-learn before 1.9 has no set_callbacks

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Stand-in without callbacks."""

    def with_callbacks(method: object) -> Any:
        return method


# Seconds of a fit before `verbose=True` shows anything, and between two lines of text.
PATIENCE = 2.0
# The share of the work before which the pace says little of the time left.
_FIRST_ESTIMATE = 0.15
# Parts of a pass.
_PARTS = 100


class Meter:
    """The progress of some work; this base class reports nothing."""

    def __init__(self, title: str) -> None:
        self.title = title
        self.begun = time.monotonic()
        self.before, self.total, self.text = 0, 0, ""
        # Candidates of a law tell of themselves from several threads.
        self._telling = threading.Lock()

    def is_new(self, done: int, total: int) -> bool:
        """Whether a pass begins: another total, or far fewer done than before."""
        return total != self.total or 2 * done < self.before

    def seen(self, done: int, total: int) -> None:
        """`done` of the total are done."""
        if self.is_new(done, total):
            self.begun = time.monotonic()
        self.before, self.total = done, total

    def phase(self, text: str) -> None:
        """The step that the work is at."""
        self.text = text

    def told(self, text: str, done: int | None = None, total: int | None = None) -> None:
        """The progress of a fit: the step that it is at, and how much of a pass is done."""
        with self._telling:
            if done is None or total is None:
                self.phase(text)
            else:
                self.text = text
                self.seen(done, total)

    def close(self) -> None:
        """The work is over."""


class Lines(Meter):
    """Progress as lines of text, at most one in `every` seconds."""

    def __init__(self, title: str, every: float) -> None:
        super().__init__(title)
        self.every, self.last = every, self.begun

    def phase(self, text: str) -> None:
        super().phase(text)
        self._line("")

    def seen(self, done: int, total: int) -> None:
        super().seen(done, total)
        if 0 < done < total:
            self._line(f": {self._left(done, total)}")

    def _left(self, done: int, total: int) -> str:
        share = f"{100 * done / total:.0f} %"
        if done < _FIRST_ESTIMATE * total:
            return share
        left = (time.monotonic() - self.begun) * (total - done) / done
        return f"{share}, {left:.0f} s left"

    def _line(self, rest: str) -> None:
        now = time.monotonic()
        if now - self.last >= self.every:
            self.last = now
            step = f", {self.text}" if self.text else ""
            print(f"{self.title}{step}{rest}", file=sys.stderr, flush=True)


class Bar(Meter):
    """A bar drawn by rich, once the work has taken `after` seconds."""

    def __init__(self, title: str, console: Any, after: float) -> None:
        from rich.progress import (
            BarColumn,
            Progress,
            TaskProgressColumn,
            TextColumn,
            TimeRemainingColumn,
        )
        from rich.table import Column

        super().__init__(title)
        # The step that the work is at is cut off where the other columns leave no room.
        rest = Column(ratio=1, no_wrap=True, overflow="ellipsis")
        self.progress = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(20),
            TaskProgressColumn(),
            TimeRemainingColumn(),
            TextColumn("left  {task.fields[text]}", markup=False, table_column=rest),
            console=console,
            transient=True,
            # What others print to the standard output stays there.
            redirect_stdout=False,
            expand=True,
        )
        self.task = self.progress.add_task(title, total=None, text="")
        self.after, self.opened, self.shown = after, self.begun, False

    def phase(self, text: str) -> None:
        super().phase(text)
        self.progress.update(self.task, text=text)
        self._show()

    def seen(self, done: int, total: int) -> None:
        if self.is_new(done, total):
            self.progress.reset(self.task)
        super().seen(done, total)
        self.progress.update(self.task, completed=done, total=total, text=self.text)
        self._show()

    def close(self) -> None:
        self.progress.stop()

    def _show(self) -> None:
        if not self.shown and time.monotonic() - self.opened >= self.after:
            self.shown = True
            self.progress.start()


@contextmanager
def meter(title: str, after: float, every: float) -> Iterator[Meter]:
    """A bar in terminals and notebooks where rich is installed; else lines of text."""
    found: Meter = Lines(title, every)
    if find_spec("rich") is not None:
        from rich.console import Console

        console = Console(stderr=True)
        if sys.stderr.isatty() or console.is_jupyter:
            found = Bar(title, console, after)
    try:
        yield found
    finally:
        found.close()


@contextmanager
def shown(spec: Spec, verbose: Verbose) -> Iterator[Spec]:
    """The spec of a fit that shows its progress, or reports it to a function of three arguments."""
    if callable(verbose):
        telling = threading.Lock()

        def told(text: str, done: int | None = None, total: int | None = None) -> None:
            # As in `Meter`: a function of the user need not be ready for several threads.
            with telling:
                verbose(text, done, total)

        yield replace(spec, progress=told)
    elif verbose:
        with meter("[kitchensinks] fit", PATIENCE, PATIENCE) as found:
            yield replace(spec, progress=found.told)
    else:
        yield spec


@with_callbacks
def _torn_down(estimator: BaseEstimator) -> None:
    """Tear the callbacks down; scikit-learn offers this as a decorator only."""


class Tasks(Meter):
    """Progress as tasks within that of an estimator's fit."""

    def __init__(self, estimator: BaseEstimator, context: object) -> None:
        super().__init__("fit")
        self.estimator, self.context = estimator, context
        self.passing: Any = None
        self.ended = 0

    def phase(self, text: str) -> None:
        self._end(self._begun(self.context, text))

    def seen(self, done: int, total: int) -> None:
        if self.passing is None or self.is_new(done, total):
            self.close()
            step = self.text.partition(":")[0]
            name = "learn the law" if step in DONE else step
            self.passing, self.ended = self._begun(self.context, name, _PARTS), 0
        super().seen(done, total)
        for _ in range(self.ended, _PARTS * done // total):
            self._end(self._begun(self.passing, self.text))
            self.ended += 1

    def close(self) -> None:
        if self.passing is not None:
            self._end(self.passing)
            self.passing = None

    def _begun(self, parent: Any, name: str, parts: int = 0) -> Any:
        task = parent.subcontext(task_name=name, max_subtasks=parts)
        return task.call_on_fit_task_begin(estimator=self.estimator)

    def _end(self, task: Any) -> None:
        # A fit has no model before its end, so it cannot stop early where a callback asks for it.
        task.call_on_fit_task_end(estimator=self.estimator)


@contextmanager
def called(
    estimator: BaseEstimator,
    spec: Spec,
    verbose: Verbose,
    X: Given,
    y: ArrayLike,
    sample_weight: SampleWeight,
) -> Iterator[Spec]:
    """The spec of a fit that reports its progress, to the user and to scikit-learn's callbacks."""
    with shown(spec, verbose) as spec:
        if not getattr(estimator, "_skl_callbacks", None):
            yield spec
            return
        metadata = None if sample_weight is None else {"sample_weight": sample_weight}
        own = {"estimator": estimator, "X": X, "y": y, "metadata": metadata}
        try:
            context = estimator._init_callback_context(max_subtasks=None)
            context.call_on_fit_task_begin(**own)
            tasks = Tasks(estimator, context)

            def told(text: str, done: int | None = None, total: int | None = None) -> None:
                spec.progress(text, done, total)
                tasks.told(text, done, total)

            yield replace(spec, progress=told)
            tasks.close()
            # The estimator itself is fitted, so that a copy needs no further attributes.
            context.call_on_fit_task_end(reconstruction_attributes=dict, **own)
        finally:
            _torn_down(estimator)
