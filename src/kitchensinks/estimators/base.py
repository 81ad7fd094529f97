"""Algorithm 1 as a scikit-learn estimator: a law, a plan, a fit, a state."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar, Self

from numpy.random import RandomState
from numpy.typing import ArrayLike
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from kitchensinks.estimators.inputs import (
    TakesSparse,
    check_columns,
    checked_targets,
    known_rows,
    more_rows,
    table_targets,
    training_inputs,
)
from kitchensinks.estimators.progress import CallbackSupportMixin, called, shown
from kitchensinks.estimators.readings import Readings
from kitchensinks.execution import is_dask, is_dask_dummy
from kitchensinks.features.bases import Fourier
from kitchensinks.features.links import Linked
from kitchensinks.fitting.settings import Checkpoint, Solver, Verbose
from kitchensinks.law import Learned, find_law
from kitchensinks.law.splits import order_of
from kitchensinks.numerics.arrays import AnyArray, SampleWeight, Seed
from kitchensinks.numerics.threads import threads
from kitchensinks.numerics.warned import warn
from kitchensinks.problem.constraints import Constraint
from kitchensinks.problem.losses import Huber, Quantile
from kitchensinks.problem.targets import Batch, robust_spread
from kitchensinks.report import Report, report
from kitchensinks.state import Spec, State
from kitchensinks.state.fits import batch_identity, fitted_state, resuming
from kitchensinks.state.model import Outside, Watch, in_words
from kitchensinks.state.remembered import is_kept, own_copy
from kitchensinks.state.spec import check_basis, check_loss
from kitchensinks.state.streams import (
    Waiting,
    fit_waiting,
    frozen_state,
    going_on,
    merged,
    with_rows,
)
from kitchensinks.tables.arrays import block_slices
from kitchensinks.tables.table import Table
from kitchensinks.tables.view import Given

# Parameters of the parts of an estimator, and how each part is given.
_PARTS = {
    **{one.name: "ks.Learned({})" for one in fields(Learned)},
    **{one.name: "solver=ks.Solver({})" for one in fields(Solver)},
    **dict.fromkeys(Fourier._get_param_names(), "ks.Fourier({})"),
    **{one.name: "loss=ks.losses.Huber({})" for one in fields(Huber)},
    **{one.name: "loss=ks.losses.Quantile({})" for one in fields(Quantile)},
}


# Attributes that scikit-learn's checks set during a fit.
_COLUMNS_OF_FIT = frozenset({"n_features_in_", "feature_names_in_"})


class OfParts(Linked):
    """An estimator whose error for an unknown parameter says to which part it belongs."""

    def __new__(cls, *given: Any, **named: Any) -> Self:
        if "verbose" in named:
            raise TypeError(
                f"{cls.__name__} has no parameter 'verbose': pass it to fit, "
                f"model.fit(X, y, verbose={named['verbose']!r})."
            )
        for name in named.keys() & _PARTS.keys() - set(cls._get_param_names()):
            part = _PARTS[name].format(f"{name}={named[name]!r}")
            raise TypeError(
                f"{cls.__name__} has no parameter {name!r}: give {cls.__name__}({part})."
            )
        return super().__new__(cls, *given, **named)

    def set_params(self, **params: Any) -> Self:
        """Set parameters; those of a part are named with it, such as ``basis__effort``."""
        for name in params.keys() & _PARTS.keys() - set(self._get_param_names()):
            part = _PARTS[name].rpartition("=ks.")[0] or "basis"
            told, owner = f"{type(self).__name__} has no parameter {name!r}", self._meant(part)
            if hasattr(owner, "get_params") and name in owner.get_params(deep=False):
                raise ValueError(f"{told}: it is {part}__{name}.")
            given = _PARTS[name].format(f"{name}={params[name]!r}").removeprefix(f"{part}=")
            raise ValueError(
                f"{told}, and its {part}, {owner!r}, has none either: set {part}={given}."
            )
        return super().set_params(**params)


@dataclass(eq=False, repr=False)
class KitchenSink(CallbackSupportMixin, Readings, OfParts, TakesSparse):
    """Base of classifier and regressor; everything that a fit leaves is in `state_`."""

    basis: Any = None
    n_components: int | str | None = None
    loss: Any = "squared"
    alpha: float | str = "auto"
    constraint: Constraint | None = None
    standardize: bool = True
    fit_intercept: bool = True
    categorical_features: Any = "from_dtype"
    solver: Any = "auto"
    n_jobs: int | None = None
    random_state: Seed = None

    _task: ClassVar[str]
    # Splitters of a cross-validation take groups too, so that fit must ask for them.
    __metadata_request__fit: ClassVar[dict[str, bool]] = {"groups": False}
    # The state of the last fit, or rows that wait to be fitted.
    _held: State | Waiting | None = field(init=False, default=None)
    # Whether there has been a warning about rows outside of the fitted range.
    _told_outside: bool = field(init=False, default=False)

    def _meant(self, name: str) -> Any:
        """What a parameter stands for: None is Learned(), and a string names a solver or a loss."""
        value = getattr(self, name)
        if name == "basis" and value is None:
            return Learned()
        if name == "solver":
            return Solver.of(value)
        return check_loss(value, self._task) if name == "loss" else value

    # -- fitting -------------------------------------------------------------------------

    def fit(
        self,
        X: Given,
        y: ArrayLike,
        sample_weight: SampleWeight = None,
        checkpoint: Checkpoint | None = None,
        verbose: Verbose = False,
        *,
        groups: object = None,
    ) -> Self:
        """Fit to rows X (n, d) and targets y; weights count as copies of a row.

        X may be a table (``ks.open_table``), with the name of its target column as y, or
        ``ks.Rows`` of one: both are read block by block. With a ``ks.Checkpoint(folder)`` the
        sums over the rows are saved as they grow: after a crash the same call goes on from there,
        and the direct solver ends with the same bits. Dask collections are fitted where their
        partitions are: see docs/cluster.md.

        ``verbose=True`` shows how far the fit is and the time left, once it has taken two seconds,
        on the error stream: a bar in terminals and notebooks where rich is installed, else lines. A
        function is called with (text, done, total) instead. `freeze` and `partial_fit` take it too.

        ``groups``: the group of each row, (n,), such as a patient or a shop, where rows to be
        predicted are of other groups: whole groups are held out while the law is learned. A column
        of X that has them is named by ``ks.Learned(groups="column")`` instead.
        """
        if is_dask(X):
            if groups is not None:
                raise ValueError(
                    "groups are not supported for Dask collections, because a law is learned from "
                    "a sample: fit without them, or arrays in memory."
                )
            return self._fit_dask(X, y, sample_weight, checkpoint, verbose)
        spec, batch = self._first_rows(X, y, sample_weight, groups=groups)
        own = spec.order.groups
        with (
            called(self, spec, verbose, X, y, sample_weight) as spec,
            resuming(spec, checkpoint, lambda: batch_identity(batch, own)) as spec,
        ):
            law, bins = find_law(spec.basis, batch, spec.request())
            self.state_ = fitted_state(spec, law, bins, batch, checkpoint)
        return self

    def _fit_dask(
        self,
        X: Given,
        y: ArrayLike,
        sample_weight: SampleWeight,
        checkpoint: Checkpoint | None,
        verbose: Verbose,
    ) -> Self:
        from kitchensinks.execution.fits import check_possible, check_solver, fit_collections

        # Checked first: errors of other parameters would advise solvers that Dask does not support.
        check_solver(Solver.of(self.solver).name)
        spec = self._spec()
        check_possible(spec)
        check_columns(self, X, reset=True)
        spec = replace(spec, names=getattr(self, "feature_names_in_", None))
        self._forget()
        with called(self, spec, verbose, X, y, sample_weight) as spec:
            self.state_ = fit_collections(spec, X, y, sample_weight, checkpoint)
        return self

    def _spec(self, known: State | Waiting | None = None) -> Spec:
        """The checked parameters as a value; known: earlier rows, whose encoding is kept."""
        names, given = getattr(self, "feature_names_in_", None), self.get_params(deep=False)
        law, source = None if known is None else known.law, self.random_state
        if law is not None and (source is None or isinstance(source, RandomState)):
            # A RandomState is asked for one seed by `fit`; later calls use the seed of the law.
            given["random_state"] = law.features.seed
        spec = Spec.of(self._task, names, **given)
        if known is None:
            return spec
        return replace(spec, loss=known.loss, targets=known.targets, columns=known.columns)

    def _first_rows(
        self,
        X: Given,
        y: ArrayLike,
        sample_weight: SampleWeight,
        classes: ArrayLike | None = None,
        stream: bool = False,
        groups: object = None,
    ) -> tuple[Spec, Batch]:
        """Check the rows, encode their targets, and discard the state of an earlier fit.

        What is refused here leaves the estimator as it was.
        """
        spec = self._spec()
        with self._as_before_where_refused(), threads(spec.n_jobs):
            rows, y, weights, columns, known = training_inputs(
                self, spec, X, y, sample_weight, stream
            )
            names = getattr(self, "feature_names_in_", None)
            order = order_of(spec.basis, known, names, groups)
            summary = spec.kind.summarise(y, weights)
            spec = spec.with_targets(summary, lambda: robust_spread(y, weights), classes)
            batch = spec.encode(rows, y, weights)
            if batch.weights is not None and not batch.weights.any():
                raise ValueError(
                    "class_weight leaves every row a weight of zero: need a positive weight."
                )
        self._forget()
        return replace(spec, columns=columns, names=names, order=order), batch

    @contextmanager
    def _as_before_where_refused(self) -> Iterator[None]:
        """Restore the columns that scikit-learn's checks have set, if the fit is refused."""
        before = {name: value for name, value in vars(self).items() if name in _COLUMNS_OF_FIT}
        try:
            yield
        except BaseException:
            for name in _COLUMNS_OF_FIT & vars(self).keys():
                delattr(self, name)
            for name, value in before.items():
                setattr(self, name, value)
            raise

    def _forget(self) -> None:
        """A fit that fails after its rows were accepted leaves no state."""
        self._held, self._told_outside = None, False

    # -- batches -------------------------------------------------------------------------

    def _frozen(
        self,
        X: Given,
        y: ArrayLike,
        sample_weight: SampleWeight,
        classes: ArrayLike | None,
        verbose: Verbose,
    ) -> tuple[State, Spec, Batch]:
        """The state that batches and workers share, learned from one batch; nothing is summed."""
        if self.n_components == "auto":
            raise ValueError("n_components='auto' looks at all rows: give a number to stream.")
        if Solver.of(self.solver).name == "conjugate":
            raise ValueError("solver='conjugate' passes over the rows many times: use 'direct'.")
        spec, batch = self._first_rows(X, y, sample_weight, classes, stream=True)
        with shown(spec, verbose) as spec, threads(spec.n_jobs):
            law, _ = find_law(spec.basis, batch, spec.request(stream=True))
            return frozen_state(spec, law, batch), spec, batch

    def _partial_fit(
        self,
        X: Given,
        y: ArrayLike,
        sample_weight: SampleWeight,
        classes: ArrayLike | None,
        verbose: Verbose,
    ) -> Self:
        basis = check_basis(self.basis)
        if self._held is None and isinstance(basis, Learned):
            if basis.groups is not None or basis.time is not None:
                raise ValueError(
                    f"partial_fit keeps rows without their groups and times, and the basis is "
                    f"{basis!r}: use fit, or call freeze(X, y) with representative rows before the "
                    "first partial_fit."
                )
            spec, batch = self._first_rows(X, y, sample_weight, classes, stream=True)
            waiting = Waiting(spec.columns, spec.encoding, spec.loss, (own_copy(batch),))
            return self._wait(waiting, verbose)
        if self._held is None:
            state, spec, batch = self._frozen(X, y, sample_weight, classes, verbose)
            if spec.depends_on_rows:
                warn(
                    "The first batch of partial_fit freezes the scaler, the law and the bins of "
                    "the features; later batches are measured by it. Call freeze(X, y) with "
                    "representative rows first to choose them yourself.",
                )
        else:
            spec = self._spec(self._held)
            with threads(spec.n_jobs):
                batch = more_rows(self, spec, self._held, X, y, sample_weight)
            more = going_on(self._held, batch)
            if more is not None:
                return self._wait(more, verbose)
            state = self.state_
        with shown(spec, verbose) as spec, threads(spec.n_jobs):
            self.state_ = with_rows(state, spec, batch)
        return self

    def _wait(self, waiting: Waiting, verbose: Verbose) -> Self:
        """Keep the rows until the model is used; fit at once where they are too many to keep."""
        self._held = replace(waiting, verbose=verbose)
        if not is_kept(*waiting.batches):
            self._state()
        return self

    def merge(self, other: object) -> Self:
        """Add the sums of another estimator, which must have been frozen alike. Returns self."""
        if type(other) is not type(self):
            raise TypeError(
                f"merge needs another {type(self).__name__}, not {type(other).__name__}."
            )
        both = (None if one._held is None else one.state_ for one in (self, other))
        self.state_ = merged(*both)
        return self

    def drop_sums(self) -> None:
        """Discard the sums: the model takes less memory, and no rows can be added to it."""
        self.state_ = self._state().small()

    # -- predicting ----------------------------------------------------------------------

    def _state(self) -> State:
        if self._held is None:
            check_is_fitted(self, "state_")
        return self.state_

    @property
    def state_(self) -> State:
        """Everything that a fit leaves, as one value; waiting rows are fitted first."""
        if self._held is None:
            raise NotFittedError(f"{type(self).__name__} has no state_ before a fit: call fit.")
        if isinstance(self._held, Waiting):
            spec = self._spec(self._held)
            with shown(spec, self._held.verbose) as spec, threads(spec.n_jobs):
                self._held = fit_waiting(self._held, spec)
        return self._held

    @state_.setter
    def state_(self, state: State) -> None:
        self._held = state

    def __sklearn_is_fitted__(self) -> bool:
        return self._held is not None and self._held.has_rows

    def _answer(self, method: str, X: Given) -> AnyArray:
        """The result of a prediction method: an array, or a lazy one for Dask collections."""
        state = self._state()
        if is_dask(X):
            from kitchensinks.execution.lazily import answer_collection

            check_columns(self, X, reset=False)
            lazy: AnyArray = answer_collection(state.small(), method, X)
            return lazy
        # One row cannot use more threads, and counting the cores takes as long as predicting it.
        with threads(1 if getattr(X, "shape", ())[:1] == (1,) else self.n_jobs):
            rows = known_rows(self, state, X)
            watch = Watch(state.model.scaler, rows.shape[0])
            answer = state.answer_rows(method, rows, watch)
        if watch.many.any() and not self._told_outside and not is_dask_dummy(X):
            self._told_outside = True
            found = watch.found(state.columns, getattr(self, "feature_names_in_", None), many=True)
            warn(in_words(found, state.law.trend is not None))
        return answer

    def outside(self, X: Given) -> Outside:
        """The rows of X that are outside of the range of the fitted rows, and in which columns.

        Values outside of the range count as its nearer edge in predictions, but for the trend line
        of the law (``law_.trend``), if it has one. Nothing is outside with ``standardize=False``.
        """
        state = self._state()
        with threads(self.n_jobs):
            rows = known_rows(self, state, X)
            watch = Watch(state.model.scaler, rows.shape[0])
            for part in block_slices(rows.shape[0], 2**14):
                watch.look(part, rows[part])
        return watch.found(state.columns, getattr(self, "feature_names_in_", None))

    def _score(
        self, local: Callable[..., float], X: Given, y: ArrayLike, sample_weight: SampleWeight
    ) -> float:
        if is_dask(X):
            from kitchensinks.execution.fits import score_collections
            from kitchensinks.execution.lazily import check_numbers

            check_columns(self, X, reset=False)
            state = self._state().small()
            check_numbers(state, "predict", X)
            return score_collections(self._spec(state), state, X, y, sample_weight)
        if isinstance(X, Table) and isinstance(y, str):
            X, y, sample_weight = table_targets(X, y, sample_weight, self._state().columns)
        if isinstance(y, str):
            raise ValueError(
                f"y={y!r} names a column, and X is a {type(X).__name__}: give the targets "
                f"themselves, or a table, score(ks.open_table(X), {y!r})."
            )
        return float(local(X, checked_targets(type(self._state().targets), y), sample_weight))

    def report(self, X: Given, y: ArrayLike, compare: bool = True) -> Report:
        """A report on the model, scored on rows with known targets, preferably not fitted ones.

        The facts are a typed value, which notebooks show as a page: what was fitted and how the law
        was found, scores with standard errors beside a linear model and boosted trees, calibration
        or residuals, importances and partial dependence of the columns, the surest and least sure
        rows, rows outside of the fitted range, and the certificate. ``save("report.html")`` writes
        one file that needs nothing else, ``to_dict()`` gives the facts. X may be a frame, an array
        or a table, with the name of its target column as y; of more than 20,000 rows a sample is
        used. compare: whether the two other models are fitted, to three quarters of the rows.

        Examples
        --------
        >>> import kitchensinks as ks
        >>> from sklearn.datasets import load_diabetes
        >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
        >>> model = ks.KitchenSinkRegressor(ks.Fourier(), n_components=100, random_state=0)
        >>> found = model.fit(X[::2], y[::2]).report(X[1::2], y[1::2], compare=False)
        >>> found.score[0].name, found.importances[0].column
        ('R²', 's5')
        """
        state = self._state()
        if is_dask(X):
            raise ValueError(
                "report is not supported for Dask collections: give some computed rows."
            )
        if not state.has_rows:
            raise ValueError("report needs a fit, and no rows have come yet: call partial_fit.")
        if state.targets.n_outputs != 1 and self._task == "regression":
            raise ValueError("A report has one target: fit and report the outputs one by one.")
        return report(self, X, y, compare)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags
