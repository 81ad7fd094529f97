"""Targets: how labels and numbers become what the losses compare scores with, and back.

A fit first learns a `Classes` or a `Numbers` from a mergeable summary of all targets. From then on
this value encodes targets and reads scores, wherever the rows are.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import assert_all_finite, check_array

from kitchensinks.features.bases.bandwidth import weighted_median
from kitchensinks.features.bases.parameters import same_value
from kitchensinks.features.scaling import power_of_two
from kitchensinks.numerics.arrays import AnyArray, Bools, Floats, Matrix, Part
from kitchensinks.problem.losses import Array, Loss
from kitchensinks.tables.arrays import advice, check_targets, listed, with_nan, words_among

# Outputs whose sizes are further apart than this ratio cannot be fitted together.
FARTHEST = 1e-30
# Largest magnitude of a target: differences, sums and predictions of larger ones may overflow.
LARGEST = 1e300
# Where exp of a score stops to rise: the largest power of e that float64 has.
LARGEST_SCORE = 709.0
# Huber's loss turns linear at this many robust standard deviations of the targets (95 % efficient
# under a normal law).
HUBER = 1.345
# A standard deviation in units of the median absolute deviation, under a normal law.
NORMAL_DEVIATION = 1.4826


class Batch(NamedTuple):
    """Rows (n, d) with encoded targets (n, outputs); weights (n,), or None for ones."""

    rows: Matrix
    targets: Array
    weights: Array | None = None

    def part(self, rows: Part) -> "Batch":
        """Some of the rows: a slice, a mask or places."""
        weights = None if self.weights is None else self.weights[rows]
        return Batch(self.rows[rows], self.targets[rows], weights)

    def less(self, known: Callable[[Any], Array]) -> "Batch":
        """With targets less what is known of them from the rows."""
        return self._replace(targets=self.targets - known(self.rows))

    @classmethod
    def joined(cls, batches: "Sequence[Batch]") -> "Batch":
        """The rows of all batches, which are sparse where any of them are.

        >>> one = Batch(np.zeros((2, 1)), np.zeros((2, 1)))
        >>> both = Batch.joined([one, Batch(np.ones((1, 1)), np.ones((1, 1)), np.array([3.0]))])
        >>> both.rows.ravel().tolist(), both.weights.tolist()
        ([0.0, 0.0, 1.0], [1.0, 1.0, 3.0])
        """
        parts = [batch.rows[:] for batch in batches]
        if any(map(sparse.issparse, parts)):
            rows = sparse.vstack(list(map(sparse.csr_array, parts)), format="csr")
        else:
            rows = np.concatenate(parts)
        weights = None
        if any(batch.weights is not None for batch in batches):
            weights = np.concatenate([batch.own_weights for batch in batches])
        return cls(rows, np.concatenate([batch.targets for batch in batches]), weights)

    @property
    def own_weights(self) -> Array:
        """The weights, ones where there are none."""
        return np.ones(len(self.targets)) if self.weights is None else self.weights

    @property
    def counted(self) -> int:
        """Rows of positive weight."""
        return len(self.targets) if self.weights is None else int(np.count_nonzero(self.weights))

    @property
    def counted_places(self) -> NDArray[np.intp]:
        """The places of the rows of positive weight."""
        if self.weights is None:
            return np.arange(len(self.targets))
        return np.flatnonzero(self.weights > 0)

    @property
    def counted_targets(self) -> Array:
        """The targets of the rows of positive weight."""
        return self.targets if self.weights is None else self.targets[self.weights > 0]


class ClassCounts(NamedTuple):
    """The labels in sorted order, and the total weight of the rows of each.

    >>> both = ClassCounts.of(np.array([2, 1, 2])).merge(ClassCounts.of(np.array([3])))
    >>> both.labels.tolist(), both.weights.tolist()
    ([1, 2, 3], [1.0, 2.0, 1.0])
    """

    labels: AnyArray
    weights: Array

    @classmethod
    def of(cls, y: AnyArray, weights: Array | None = None) -> "ClassCounts":
        """The counts of labels y (n,) with weights (n,)."""
        labels, places = np.unique(y, return_inverse=True)
        return cls(labels, np.bincount(places, weights, len(labels)).astype(np.float64))

    def merge(self, other: "ClassCounts") -> "ClassCounts":
        """The counts of both parts together."""
        if self.labels.dtype.kind != other.labels.dtype.kind:
            raise ValueError(
                f"y is {self.labels.dtype} in one partition and {other.labels.dtype} in another: "
                "need labels of one kind."
            )
        labels = np.concatenate([self.labels, other.labels])
        return ClassCounts.of(labels, np.concatenate([self.weights, other.weights]))


class TargetSizes(NamedTuple):
    """Total weight, mean and largest magnitude of each output; `one_output`: y has one axis.

    >>> both = TargetSizes.of(np.array([1.0, 3.0])).merge(TargetSizes.of(np.array([-8.0, 0.0])))
    >>> both.mean.tolist(), both.largest.tolist(), both.unit()
    ([-1.0], [8.0], 8.0)
    """

    weight: float
    mean: Array
    largest: Array
    one_output: bool

    @classmethod
    def of(cls, y: AnyArray, weights: Array | None = None) -> "TargetSizes":
        """The summary of targets y, (n,) or (n, outputs), with weights (n,)."""
        columns = y.reshape(len(y), -1)
        counted = columns if weights is None else np.where(weights[:, None] > 0, columns, 0.0)
        total = float(len(columns) if weights is None else weights.sum())
        largest = np.abs(counted).max(axis=0, initial=0.0)
        mean = np.zeros(columns.shape[1])
        if total > 0.0:
            # Divided by a power of two, so that no sum overflows.
            unit = float(power_of_two(largest.max(initial=0.0)))
            mean = unit * np.average(counted / unit, axis=0, weights=weights)
        return cls(total, mean, largest, y.ndim == 1)

    def merge(self, other: "TargetSizes") -> "TargetSizes":
        """The summary of both parts together."""
        if (self.one_output, len(self.mean)) != (other.one_output, len(other.mean)):
            raise ValueError(
                f"y has {len(self.mean)} outputs in one partition and {len(other.mean)} in "
                "another: need the same number everywhere."
            )
        weight = self.weight + other.weight
        share = other.weight / weight if weight > 0.0 else 0.0
        mean = (1.0 - share) * self.mean + share * other.mean
        largest = np.maximum(self.largest, other.largest)
        return TargetSizes(weight, mean, largest, self.one_output)

    def unit(self) -> float:
        """A power of two near the size of the targets, so that nothing overflows."""
        sizes, largest = self.largest, float(self.largest.max())
        if (sizes[sizes > 0] < FARTHEST * largest).any():
            raise ValueError(
                f"y has outputs of sizes {sizes.min():.0e} to {largest:.0e}, too far apart to be "
                "fitted together: fit them one by one."
            )
        return float(power_of_two(largest))


def _refuse_missing(missing: Bools) -> None:
    """An error where targets (n,) or (n, outputs) are missing; it begins as scikit-learn's own."""
    count = np.count_nonzero(missing.reshape(len(missing), -1).any(axis=1)) if missing.size else 0
    if count:
        raise ValueError(
            f"Input y contains NaN: the target is missing in {count} of {len(missing)} rows. Leave "
            "these rows out: X[known] and y[known], with known = ~pandas.isna(y)."
        )


def plain_labels(y: Any) -> Any:
    """Labels of NumPy's own types; an error where one of them is missing."""
    # Of pandas: whole numbers and booleans that may be missing would become decimal numbers.
    kind = getattr(getattr(y, "dtype", None), "numpy_dtype", np.dtype(object))
    if np.dtype(kind).kind in "biu" and not y.isna().any():
        return y.to_numpy(dtype=kind)
    given = np.asarray(y := listed(y))
    if given.dtype == object:
        # NaN does not equal itself; None and the NA of pandas have a type of their own.
        missing = [
            type(label).__name__ in ("NoneType", "NAType", "NaTType")
            or (isinstance(label, float) and label != label)
            for label in given.ravel()
        ]
        _refuse_missing(np.array(missing, dtype=bool).reshape(given.shape))
    return y


@dataclass(frozen=True, eq=False)
class Classes:
    """Labels as ±1 for two classes, and as one column a class for more.

    labels: in sorted order; factors: the weight of each class, or None for ones; one_hot: columns
    are 0 and 1, as the multinomial loss takes them, and not ±1.
    """

    labels: AnyArray
    factors: Array | None
    one_hot: bool

    # Scores of classes have no unit of their own.
    unit = 1.0
    score_unit = 1.0
    centre = 0.0

    @classmethod
    def learn(
        cls, counts: ClassCounts, loss: Loss, class_weight: object = None, given: Any = None
    ) -> "Classes":
        """From the counts of all rows; `given`: all classes, where the rows may lack some."""
        labels = counts.labels if given is None else np.unique(given)
        if len(labels) < 2:
            raise ValueError(
                f"{'y has' if given is None else 'classes names'} one class only, "
                f"{labels.tolist()[0]!r}: a classifier needs two or more. Where the first "
                "batch of partial_fit lacks some, pass all of them as classes=."
            )
        known = cls(labels, None, loss.link == "softmax")
        weights = np.zeros(len(labels))
        weights[known.places(counts.labels)] = counts.weights
        return cls(labels, _class_factors(class_weight, labels, weights), known.one_hot)

    def own_chances(self, y: AnyArray, chances: Array) -> Array:
        """The probability (n,) that each row's label y (n,) has, of those of all classes.

        Zero for a label that is not among the classes.
        """
        place = np.searchsorted(self.labels, y).clip(max=len(self.labels) - 1)
        return np.where(self.labels[place] == y, chances[np.arange(len(y)), place], 0.0)

    @staticmethod
    def check(y: Any) -> AnyArray:
        """Labels (n,), or an error."""
        if y is None:
            raise ValueError("requires y to be passed, but the target y is None")
        check_targets(y)
        y = column_or_1d(plain_labels(y), warn=True)
        if y.dtype.kind == "f":
            _refuse_missing(np.isnan(y))
        with advice(rows=y, name="y"):
            assert_all_finite(y, input_name="y")
        check_classification_targets(y)
        return np.asarray(y)

    summarise = ClassCounts.of

    @property
    def n_outputs(self) -> int:
        return 1 if len(self.labels) == 2 else len(self.labels)

    def places(self, y: AnyArray) -> NDArray[np.intp]:
        """The number of each label's class."""
        known = np.isin(y, self.labels)
        if not known.all():
            unseen = np.unique(y[~known]).tolist()
            raise ValueError(
                f"y contains classes {unseen} that were not there before: the classes are "
                f"{self.labels.tolist()}. Pass classes= to the first partial_fit."
            )
        return np.searchsorted(self.labels, y)

    def encode(self, y: AnyArray) -> Array:
        """Targets as the losses take them, (n, outputs)."""
        places = self.places(y)
        if self.n_outputs == 1:
            return np.where(places == 1, 1.0, -1.0)[:, None]
        hot = np.zeros((len(y), len(self.labels)))
        hot[np.arange(len(y)), places] = 1.0
        return hot if self.one_hot else 2.0 * hot - 1.0

    def weights_of(self, y: AnyArray) -> Array | None:
        """The weight of each row's class, or None for ones."""
        return None if self.factors is None else self.factors[self.places(y)]

    def winners(self, scores: Array) -> NDArray[np.intp]:
        """The number of the class with the largest score (or target)."""
        one = scores.shape[1] == 1
        return (scores[:, 0] > 0).astype(np.intp) if one else scores.argmax(axis=1)

    def difference(self, other: "Classes") -> str | None:
        """What keeps sums of the targets of both apart, or None."""
        if not np.array_equal(self.labels, other.labels):
            return "classes"
        return None if same_value(self.factors, other.factors) else "class weights"


def _class_factors(given: object, labels: AnyArray, weights: Array) -> Array | None:
    """The weight of each class; weights (classes,): of the rows of each."""
    if given is None:
        return None
    if isinstance(given, str) and given == "balanced":
        if not weights.all():
            missing = labels[weights == 0].tolist()
            raise ValueError(
                "class_weight='balanced' goes by the rows of each class, and classes "
                f"{missing} have none here: give rows of every class, or a dict."
            )
        return np.asarray(weights.sum() / (len(weights) * weights))
    own = weights_by_class(given, labels.tolist())
    return np.array([float(own.get(label, 1.0)) for label in labels.tolist()])


def weights_by_class(given: object, known: list[Any] | None = None) -> Mapping[Any, float]:
    """`class_weight` where it is a dict, or an error; known: all classes, if they are known."""
    if not isinstance(given, Mapping):
        raise ValueError(f"class_weight={given!r}: need 'balanced', a dict or None.")
    unknown = [] if known is None else [label for label in given if label not in known]
    if unknown:
        raise ValueError(f"class_weight names {unknown}, which are not classes of y: {known}.")
    if not all(math.isfinite(weight) and weight >= 0 for weight in map(float, given.values())):
        raise ValueError(f"class_weight={given!r}: need finite weights of 0 or more.")
    return given


@dataclass(frozen=True, eq=False)
class Numbers:
    """Numbers about their mean and in a unit of their own, so that nothing overflows.

    unit: a power of two near their size. centre (outputs,): their mean, or zero without an
    intercept; it is subtracted before targets are fitted, because float32 products would lose the
    digits of targets with a large mean. one_output: y had one axis. log: predictions are
    exp(score); the unit is then the mean (the largest of several outputs; 1 without an intercept),
    nothing is subtracted, and centre = log(unit) is added to the scores.
    """

    unit: float
    centre: Array
    one_output: bool
    log: bool = False

    @classmethod
    def learn(cls, sizes: TargetSizes, fit_intercept: bool, loss: Loss) -> "Numbers":
        if loss.link == "log":
            largest = float(sizes.mean.max())
            unit = largest if fit_intercept and largest > 0.0 else 1.0
            centre = np.full(len(sizes.mean), math.log(unit))
            return cls(unit, centre, sizes.one_output, log=True)
        centre = sizes.mean if fit_intercept else np.zeros(len(sizes.mean))
        return cls(sizes.unit(), centre, sizes.one_output)

    @staticmethod
    def check(y: Any) -> Floats:
        """Numbers (n,) or (n, outputs), or an error."""
        if y is None:
            raise ValueError("requires y to be passed, but the target y is None")
        check_targets(y, dates=False)
        y = with_nan(y)
        try:
            # scikit-learn sums first, and very large numbers of both signs overflow to inf − inf.
            with np.errstate(invalid="ignore"), advice(rows=y, name="y"):
                y = check_array(
                    y,
                    ensure_2d=False,
                    dtype=np.float64,
                    ensure_all_finite="allow-nan",
                    input_name="y",
                )
        except ValueError as error:
            if "could not convert" not in str(error):
                raise
            need = "Need numbers; for labels use KitchenSinkClassifier."
            raise ValueError(f"{words_among(y)} {need}") from None
        if y.ndim > 2:
            raise ValueError(f"y has shape {y.shape}: need (rows,) or (rows, outputs).")
        _refuse_missing(np.isnan(y))
        largest = float(np.abs(y).max(initial=0.0))
        if largest > LARGEST:
            raise ValueError(
                f"y has entries of {largest:.2g}: need numbers of at most {LARGEST:g}, so that no "
                "prediction overflows; divide the targets by a constant."
            )
        return np.asarray(y)

    summarise = TargetSizes.of

    @property
    def n_outputs(self) -> int:
        return len(self.centre)

    @property
    def score_unit(self) -> float:
        """What scores are multiplied with; their centre is added."""
        return 1.0 if self.log else self.unit

    def encode(self, y: AnyArray) -> Array:
        """Targets as the losses take them, (n, outputs)."""
        columns = y.reshape(len(y), -1)
        if columns.shape[1] != self.n_outputs:
            raise ValueError(
                f"y has {columns.shape[1]} outputs; the first rows had {self.n_outputs}."
            )
        coded = columns / self.unit
        if not self.log:
            coded = coded - self.centre / self.unit
        largest = float(np.abs(coded).max(initial=0.0))
        if not largest < 1.0 / FARTHEST:
            raise ValueError(
                f"y has entries {largest:.0e} times as large as the targets of fit or the first of "
                "partial_fit, which set the unit: scale y, or call freeze(X, y) with typical ones."
            )
        return np.asarray(coded)

    def weights_of(self, y: AnyArray) -> None:
        """Numbers have no weights by class."""

    def winners(self, scores: Array) -> None:
        """Numbers have no winning class."""

    def shaped(self, scores: Array) -> Array:
        """Answers (n, outputs) in the shape that the targets had."""
        return scores[:, 0] if self.one_output else scores

    def predictions(self, scores: Array) -> Array:
        """What scores (n, outputs) predict, in the shape that the targets had."""
        return self.shaped(np.exp(np.minimum(scores, LARGEST_SCORE)) if self.log else scores)

    def difference(self, other: "Numbers") -> str | None:
        """What keeps sums of the targets of both apart, or None."""
        same = (self.unit, self.log) == (other.unit, other.log)
        same = same and np.array_equal(self.centre, other.centre)
        return None if same else "unit, centre or number of the targets"


Targets = Classes | Numbers


def robust_spread(y: AnyArray, weights: Array | None) -> float:
    """NORMAL_DEVIATION times the median absolute deviation, or the mean one where that is zero."""
    columns = y.reshape(len(y), -1)
    own = None if weights is None else np.repeat(weights, columns.shape[1])
    deviation = np.abs(columns - [weighted_median(column, weights) for column in columns.T]).ravel()
    spread = NORMAL_DEVIATION * weighted_median(deviation, own)
    if spread <= 0.0:
        spread = float(np.average(deviation, weights=own))
    return spread if spread > 0.0 and math.isfinite(spread) else 1.0
