"""Callbacks of scikit-learn, which has them since 1.9: a fit as a tree of tasks.

The task `fit` has a subtask for each pass, such as learning the law. Each pass has a hundred
subtasks, which end one after another. A step without a count is a subtask of its own.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from kitchensinks.estimators.progress import Meter, shown
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


# Parts of a pass.
_PARTS = 100


@with_callbacks
def _torn_down(estimator: BaseEstimator) -> None:
    """Tear the callbacks down. Decorating `fit` itself would put another file into warnings."""


class Tasks(Meter):
    """Progress as tasks within that of an estimator's fit."""

    def __init__(self, estimator: BaseEstimator, context: object) -> None:
        super().__init__("fit")
        self.estimator, self.context = estimator, context
        self.passing: Any = None
        self.text, self.ended = "", 0

    def told(self, text: str, done: int | None = None, total: int | None = None) -> None:
        self.text = text
        if done is None or total is None:
            self._end(self._begun(self.context, text))
        else:
            self.seen(done, total)

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
        else:
            with _heard(estimator, spec, X, y, sample_weight) as spec:
                yield spec


@contextmanager
def _heard(
    estimator: Any, spec: Spec, X: Given, y: ArrayLike, sample_weight: SampleWeight
) -> Iterator[Spec]:
    metadata = None if sample_weight is None else {"sample_weight": sample_weight}
    rows = {"X": X, "y": y, "metadata": metadata}
    try:
        context = estimator._init_callback_context(max_subtasks=None)
        context.call_on_fit_task_begin(estimator=estimator, **rows)
        tasks = Tasks(estimator, context)

        def told(text: str, done: int | None = None, total: int | None = None) -> None:
            spec.progress(text, done, total)
            tasks.told(text, done, total)

        yield replace(spec, progress=told)
        tasks.close()
        # The estimator itself is fitted, so that a copy needs no further attributes.
        context.call_on_fit_task_end(estimator=estimator, reconstruction_attributes=dict, **rows)
    finally:
        _torn_down(estimator)
