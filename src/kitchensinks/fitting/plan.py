"""Which solver fits the outer weights, in which space, and why.

Every such decision is made here, from sizes alone, and is a value with its reason.
"""

import math
from dataclasses import dataclass, replace

from kitchensinks.features.blocks import FEW_COLUMNS, FeatureBlocks
from kitchensinks.fitting.settings import Settings
from kitchensinks.problem.constraints import SupBall

# Sparse features with at most this many columns are solved as dense ones.
DENSE_COLUMNS = FEW_COLUMNS
# Most rows for which sparse features with n < K are solved in the span of the rows: 2 s for its
# eigenvectors, where 5000 rows take 40 s and conjugate gradients 2 s.
SPAN_ROWS = 2000
# The same where conjugate gradients are no substitute: they find another interpolant without a
# ridge, and form no Gram for the direct solver.
SPAN_ROWS_EXACT = 5000
# A fit by the Gram holds at most this many arrays of its size (measured: 5).
GRAM_COPIES = 6
# Conjugate gradients pay from this many features on.
CONJUGATE_COLUMNS = 1500
# Time of a pass per feature and row, in units of one product of the Gram (measured: 0.3 ns, and
# 0.006 ns for such a product).
PASS_PRODUCTS = 50.0
# Additional time of a pass per feature, row and output, in the same unit (measured: 0.1 ns).
OUTPUT_PRODUCTS = 17.0
# Passes that conjugate gradients are expected to take: measured were 13 on adult, 15 on MNIST, 33
# to 44 on forest cover, and 97 on KDD Cup 99, where they give up for the Gram.
EXPECTED_PASSES = 25
# Conjugate gradients are chosen if they should take less than this share of the time of the Gram.
# It is below one because they also keep the features in memory.
CONJUGATE_SHARE = 0.65
# Dual coordinate ascent pays from this many rows on; with fewer, the method of multipliers is as
# fast and does not depend on the order of the rows.
COORDINATE_ROWS = 4000
# The Gram of a subsample is a good metric from this many features on.
SAMPLED_COLUMNS = 1000
# Rows per feature of a subsample whose Gram approximates that of all rows.
SAMPLE_ROWS = 3
# Vectors of the size of the weights that a solver without a Gram holds.
VECTORS = 6
# The most sparse columns whose products are summed over batches.
SUMMED_SPARSE = 20_000


@dataclass(frozen=True)
class Sizes:
    """The sizes that a plan is made from.

    feature_bytes: of all features, if they are kept; memory: the budget, in bytes; entry: bytes of
    a number; stream: rows come in batches, so that only sums can be kept; place: "here" or
    "dask"; least: bytes of the smallest block of features; steady: bytes of two blocks of the size
    that sums use; outputs: columns of the targets.
    """

    n_rows: int
    n_columns: int
    sparse: bool
    feature_bytes: float
    memory: float
    entry: int
    stream: bool = False
    place: str = "here"
    least: float = 0.0
    steady: float = 0.0
    outputs: int = 1

    @classmethod
    def of(cls, blocks: FeatureBlocks, stream: bool = False, outputs: int = 1) -> "Sizes":
        return cls(
            blocks.n_rows,
            blocks.n_columns,
            blocks.sparse,
            blocks.total_bytes,
            blocks.memory_budget,
            blocks.frozen.dtype.itemsize,
            stream,
            least=blocks.least_bytes,
            steady=blocks.steady_bytes,
            outputs=outputs,
        )

    @property
    def many_sparse(self) -> bool:
        """Sparse features with too many columns to be filled in, or for a Gram in the budget."""
        large = self.n_columns > DENSE_COLUMNS or gram_bytes(self.n_columns) > self.memory
        return self.sparse and large

    @property
    def worth(self) -> float:
        """The number of passes of conjugate gradients that take as long as the Gram of the rows
        outside of the preconditioning sample."""
        others = max(0, self.n_rows - SAMPLE_ROWS * self.n_columns)
        each = PASS_PRODUCTS + OUTPUT_PRODUCTS * self.outputs
        return others / self.n_rows * self.n_columns / each

    @property
    def by_passes(self) -> float:
        """The expected time of conjugate gradients, relative to that of the Gram."""
        sample = min(1.0, SAMPLE_ROWS * self.n_columns / self.n_rows)
        each = PASS_PRODUCTS + OUTPUT_PRODUCTS * self.outputs
        return sample + EXPECTED_PASSES * each / self.n_columns

    @property
    def cached(self) -> bool:
        """Whether the features that the solvers see can be kept between passes."""
        held = self.feature_bytes
        if self.sparse and not self.many_sparse:
            held = max(held, float(self.entry) * self.n_rows * self.n_columns)
        return held <= 0.5 * self.memory


@dataclass(frozen=True)
class Plan:
    """What a fit does.

    solver: "direct", "conjugate", "blocks", "sparse", "stages", "coordinates", "sampled", "gram",
    "stochastic", or "sums" for batches; space: "features", "span" of the rows, or "bins"; place:
    "here" or "dask".

    >>> print(Plan("direct", "span", "here", "n = 50 < 400 columns: there are fewer rows"))
    direct in the span: n = 50 < 400 columns: there are fewer rows
    """

    solver: str
    space: str
    place: str
    reason: str

    def __str__(self) -> str:
        where = " on Dask" if self.place == "dask" else ""
        return f"{self.solver} in the {self.space}{where}: {self.reason}"


# The plan of rows that came in batches, or to several workers.
SUMS = Plan("sums", "features", "here", "batches are summed, and any split gives the same sums")


def gram_bytes(n_columns: int) -> float:
    """The Gram with the copies of it that a fit holds."""
    return GRAM_COPIES * 8.0 * n_columns**2


def takes_span(shape: Sizes, settings: Settings) -> bool:
    """Whether the n × n form is the smaller one: sup-norm balls do not turn with the axes."""
    few = shape.n_rows < shape.n_columns and settings.solver != "conjugate"
    if shape.sparse:
        # With a learned law and ridge, the spectrum is not needed.
        exact = settings.solver == "direct" or settings.alpha == 0.0
        most = SPAN_ROWS_EXACT if exact else SPAN_ROWS
        few = few and shape.n_rows <= most and settings.least_gain == 0.0
    return few and not isinstance(settings.constraint, SupBall)


def make_plan(shape: Sizes, settings: Settings) -> Plan:
    """The plan for a fit of these sizes; an error where the solver asked for does not apply.

    >>> from kitchensinks.problem.losses import LOSSES
    >>> settings = Settings(LOSSES["squared"], "auto", None, True, 1e-3, 200, "auto", 0)
    >>> print(make_plan(Sizes(10_000, 500, False, 4e7, 1e9, 8), settings))
    direct in the features: 500 columns ≤ n = 10,000: the Gram is the smaller matrix
    """
    _check_sparse(shape, settings)
    plan = _planned(shape, settings)
    _check_block(shape, plan)
    return plan


def _planned(shape: Sizes, settings: Settings) -> Plan:
    if shape.place == "dask":
        return _on_dask(shape, settings)
    if shape.stream:
        return _of_stream(shape, settings)
    span = takes_span(shape, settings)
    if settings.solver == "direct" and not span:
        check_gram(shape)
    if settings.second is not None:
        reason = "the law was learned in two stages, features and bins"
        return Plan("stages", "features", "here", reason)
    if settings.solver in ("blocks", "stochastic"):
        return Plan(settings.solver, "features", "here", _too_large(shape, settings))
    return _in_span(shape, settings) if span else _in_features(shape, settings)


def _in_span(shape: Sizes, settings: Settings) -> Plan:
    """Fewer rows than features: their coordinates are kept, unless they are beyond memory."""
    sizes = shape.n_rows, shape.n_columns
    needed = gram_bytes(shape.n_rows) + 3.0 * shape.feature_bytes
    if settings.solver == "auto" and not shape.sparse and needed > shape.memory:
        reason = (
            f"the span of {shape.n_rows:,} rows of {shape.n_columns:,} features takes "
            f"{needed / 1e9:.3g} GB of the budget of {shape.memory / 1e9:.3g} GB"
        )
        return Plan("stochastic", "features", "here", reason)
    if settings.loss.squared:
        return Plan("direct", "span", "here", _gram_reason(*sizes, True, settings))
    return replace(convex_plan(*sizes, True, True, settings), space="span")


def _in_features(shape: Sizes, settings: Settings) -> Plan:
    """Products with the features, or their Gram; in parts where that is beyond memory."""
    sizes = shape.n_rows, shape.n_columns
    beyond = not shape.sparse and gram_bytes(shape.n_columns) > shape.memory
    if settings.solver == "auto" and beyond:
        solver = "blocks" if _given_ridge(settings) else "stochastic"
        return Plan(solver, "features", "here", _too_large(shape, settings))
    if shape.many_sparse and settings.solver != "direct":
        reason = f"{shape.n_columns:,} sparse columns are more than a Gram can have"
        return Plan("sparse", "bins", "here", reason)
    if settings.loss.squared and _takes_conjugate(shape, settings):
        reason = (
            f"the Gram of {SAMPLE_ROWS * shape.n_columns:,} rows and {EXPECTED_PASSES} passes over "
            f"n = {shape.n_rows:,} should take {shape.by_passes:.2f} of the time of the whole Gram"
        )
        reason = "it was asked for" if settings.solver == "conjugate" else reason
        return Plan("conjugate", "features", "here", reason)
    if settings.loss.squared:
        return Plan("direct", "features", "here", _gram_reason(*sizes, False, settings))
    return convex_plan(*sizes, shape.cached, False, settings)


def _check_sparse(shape: Sizes, settings: Settings) -> None:
    """An error where the solver asked for needs dense features."""
    if not shape.sparse:
        return
    if settings.solver in ("blocks", "stochastic"):
        raise ValueError(
            f"solver={settings.solver!r} needs a basis with dense features, and this one has "
            "sparse ones: use solver='auto'."
        )
    if settings.solver == "conjugate" and not shape.many_sparse:
        raise ValueError(
            "solver='conjugate' needs a basis with dense features, or more sparse columns than "
            f"{shape.n_columns}: use solver='auto' or 'direct'."
        )


def _check_block(shape: Sizes, plan: Plan) -> None:
    """An error where the memory budget cannot hold one block of features.

    Block coordinate descent and stochastic gradients make some columns at a time, and hold vectors.
    A direct fit sums over blocks whose size does not depend on the budget, so that the budget does
    not change its bits.
    """
    needed, what = shape.least, "one block"
    if plan.solver in ("blocks", "stochastic"):
        needed, what = 8.0 * VECTORS * shape.n_columns, "the weights"
    elif (plan.solver, plan.space) == ("direct", "features"):
        needed, what = shape.steady, "two blocks"
    if needed > shape.memory:
        raise ValueError(
            f"memory_budget={shape.memory / 1e6:.3g}MB cannot hold {what} of "
            f"{shape.n_columns:,} features: need memory_budget='{math.ceil(needed / 1e6)}MB' or "
            "more, or fewer components."
        )


def check_gram(shape: Sizes, gradients: bool = False) -> None:
    """An error where a Gram that was asked for, or joined by gradients, is more than the budget."""
    needed = gram_bytes(shape.n_columns)
    if needed > shape.memory:
        less = "ks.Learned(ks.Fourier()) for a learned law of dense" if shape.sparse else "fewer"
        asked = "solver='direct'", "solver='auto', "
        who, other = ("A fit to gradients", "") if gradients else asked
        raise ValueError(
            f"{who} forms the Gram matrix of {shape.n_columns:,} features, which takes "
            f"{needed / 1e9:.3g} GB with its copies, and the memory budget is "
            f"{shape.memory / 1e9:.3g} GB: use {other}{less} features, or a larger memory_budget."
        )


def _given_ridge(settings: Settings) -> bool:
    """Squared loss with a positive ridge, no constraint, and no solver asked for."""
    plain = settings.loss.squared and settings.constraint is None and settings.solver == "auto"
    return plain and settings.alpha != "auto" and float(settings.alpha) > 0.0


def _takes_conjugate(shape: Sizes, settings: Settings) -> bool:
    """A given ridge, features that can be kept, and sizes for which passes cost less."""
    many = shape.n_columns >= CONJUGATE_COLUMNS and shape.by_passes < CONJUGATE_SHARE
    return settings.solver == "conjugate" or (_given_ridge(settings) and shape.cached and many)


def convex_plan(n_rows: int, n_columns: int, cached: bool, span: bool, settings: Settings) -> Plan:
    """How a loss that is not squared is minimised: all rows, or a part of them.

    cached: the features are kept between passes; span: they are coordinates in the span of the
    rows.
    """
    plain = settings.constraint is None and settings.checkpoint is None
    if not settings.loss.smooth and plain and n_rows >= COORDINATE_ROWS and cached:
        reason = (
            f"a kinked loss, no ball and n = {n_rows:,} rows whose features are kept: dual "
            "coordinate ascent, then the method of multipliers where the ridge is too weak for it"
        )
        return Plan("coordinates", "features", "here", reason)
    many = n_columns >= SAMPLED_COLUMNS and cached
    rows = 2 * SAMPLE_ROWS * n_columns
    if settings.loss.smooth and plain and not span and many and n_rows >= rows:
        reason = f"n = {n_rows:,} rows: the Gram of a subsample is metric enough"
        return Plan("sampled", "features", "here", reason)
    return Plan("gram", "features", "here", _gram_reason(n_rows, n_columns, span, settings))


def _of_stream(shape: Sizes, settings: Settings) -> Plan:
    """Rows that come in batches: exact sums for squared loss, stochastic gradients for others."""
    fits = shape.sparse or settings.solver != "auto" or gram_bytes(shape.n_columns) <= shape.memory
    sums = settings.loss.squared and settings.solver != "stochastic" and fits
    if not sums:
        if shape.sparse:
            raise ValueError(
                f"partial_fit with loss={settings.loss.name!r} needs a basis with dense features: "
                "use one such as Fourier(), or loss='squared'."
            )
        reason = f"sums over batches do not determine a fit with loss={settings.loss.name!r}"
        if settings.loss.squared:
            reason = _too_large(shape, settings)
        return Plan("stochastic", "features", "here", reason)
    if shape.sparse and shape.n_columns > SUMMED_SPARSE:
        raise ValueError(
            f"partial_fit sums a Gram matrix, and the basis has {shape.n_columns} columns here: at "
            f"most {SUMMED_SPARSE}. Use fewer components, or fit all rows at once."
        )
    return SUMS


def _on_dask(shape: Sizes, settings: Settings) -> Plan:
    """Rows that stay where they are: sums come here, or blocks of features take turns."""
    beyond = gram_bytes(shape.n_columns) > shape.memory
    if settings.solver == "blocks" or (_given_ridge(settings) and beyond and not shape.sparse):
        return Plan("blocks", "features", "dask", _too_large(shape, settings))
    if beyond:
        raise ValueError(
            f"{shape.n_columns:,} features make {gram_bytes(shape.n_columns) / 1e9:.3g} GB of "
            f"Gram matrices, more than the memory budget of {shape.memory / 1e9:.3g} GB: raise "
            "memory_budget, or use loss='squared' with a number for alpha, which goes block by "
            "block."
        )
    solver = "direct" if settings.loss.squared else "gram"
    return Plan(solver, "features", "dask", "the workers sum, and the Gram is factored once")


# -- reasons -----------------------------------------------------------------------------


def _gram_reason(n_rows: int, n_columns: int, span: bool, settings: Settings) -> str:
    if span:
        return f"n = {n_rows:,} < {n_columns:,} columns: the rows span fewer directions"
    if n_rows < n_columns:
        ball = isinstance(settings.constraint, SupBall)
        why = "the ball is tied to the features" if ball else "the features are sparse"
        return f"n = {n_rows:,} < {n_columns:,} columns, but {why}"
    return f"{n_columns:,} columns ≤ n = {n_rows:,}: the Gram is the smaller matrix"


def _too_large(shape: Sizes, settings: Settings) -> str:
    if settings.solver != "auto":
        return "it was asked for"
    needed, memory = gram_bytes(shape.n_columns) / 1e9, shape.memory / 1e9
    return (
        f"the Gram of {shape.n_columns:,} features takes {needed:.3g} GB of the budget of "
        f"{memory:.3g} GB"
    )


def by_gram(plan: Plan, known: bool) -> Plan:
    """The plan of a loss that is not squared whose Gram was made after all; known: by its sums."""
    reason = f"the ridge is too weak for the solver {plan.solver!r} that was planned"
    if known:
        reason = "the sums of the rows are known"
    return replace(plan, solver="gram", reason=reason)


def after_all(plan: Plan, shape: Sizes, made: int) -> Plan:
    """The direct plan in place of conjugate gradients that converge too slowly for what is left."""
    reason = (
        f"after {made} passes of conjugate gradients, the remaining passes would take longer than "
        f"computing the rest of the Gram matrix, which costs about {shape.worth:.0f} passes"
    )
    return replace(plan, solver="direct", reason=reason)
