"""Which solver fits the outer weights, in which space, and why.

Every such decision is made here, from sizes alone, and is a value with its reason.
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from kitchensinks.fitting.settings import Settings
from kitchensinks.fitting.sizes import (
    EXPECTED_PASSES,
    SAMPLE_ROWS,
    Sizes,
    gram_bytes,
    gram_noise,
)
from kitchensinks.problem.constraints import SupBall

# Most rows for which sparse features with n < K are solved in the span of the rows: 2 s for its
# eigenvectors, where 5000 rows take 40 s and conjugate gradients 2 s.
SPAN_ROWS = 2000
# The same where conjugate gradients are no substitute: they find another interpolant without a
# ridge, and form no Gram for the direct solver.
SPAN_ROWS_EXACT = 5000
# Conjugate gradients pay from this many features on. With 2000 they took 0.9 of the time of a
# direct fit on adult, and twice that time on KDD Cup 99 and forest cover.
CONJUGATE_COLUMNS = 3000
# Conjugate gradients are chosen if they should take less than this share of the time of the Gram.
# It is below one because they also keep the features in memory.
CONJUGATE_SHARE = 0.65
# Dual coordinate ascent pays from this many rows on; with fewer, the method of multipliers is as
# fast and does not depend on the order of the rows.
COORDINATE_ROWS = 4000
# The Gram of a subsample is a good metric from this many features on.
SAMPLED_COLUMNS = 1000
# Vectors of the size of the weights that a solver without a Gram holds.
VECTORS = 6
# The most sparse columns whose products are summed over batches.
SUMMED_SPARSE = 20_000


@dataclass(frozen=True)
class Plan:
    """What a fit does.

    solver: "direct", "conjugate", "blocks", "coordinates", "sampled", "quasi-newton", "projected",
    "multipliers", "stages" or "stochastic"; without a Gram "binned conjugate", and "sparse" with
    "conjugate", "coordinates", "rows", "quasi-newton", "projected" or "multipliers"; "sums" for
    batches, and "smoothed" on Dask. space: "features", "span" of the rows, or "bins"; place:
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
    if shape.gradients is not None:
        return _with_gradients(shape, settings)
    if shape.place == "dask":
        return _on_dask(shape, settings)
    if shape.stream:
        return _of_stream(shape, settings)
    span = takes_span(shape, settings)
    if settings.solver == "direct" and not span:
        check_gram(shape)
    if settings.second is not None:
        reason = "the law was learned in two stages: direct on features, then conjugate on bins"
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
    return convex_plan(*sizes, True, True, settings)


def _in_features(shape: Sizes, settings: Settings) -> Plan:
    """Products with the features, or their Gram; in parts where that is beyond memory."""
    sizes = shape.n_rows, shape.n_columns
    beyond = not shape.sparse and gram_bytes(shape.n_columns) > shape.memory
    if settings.solver == "auto" and beyond:
        solver = "blocks" if _given_ridge(settings) else "stochastic"
        return Plan(solver, "features", "here", _too_large(shape, settings))
    if shape.many_sparse and settings.solver != "direct":
        reason = f"{shape.n_columns:,} sparse columns are more than a Gram can have"
        space = "bins" if shape.binned else "features"
        return Plan(_of_products(shape, settings), space, "here", reason)
    if settings.loss.squared and _takes_conjugate(shape, settings):
        reason = (
            f"the Gram of {SAMPLE_ROWS * shape.n_columns:,} rows and {EXPECTED_PASSES} passes over "
            f"n = {shape.n_rows:,} should take {shape.by_passes:.2f} of the time of the whole Gram"
        )
        reason = "it was asked for" if settings.solver == "conjugate" else reason
        return Plan("conjugate", "features", "here", reason)
    if settings.loss.squared:
        return Plan("direct", "features", "here", _gram_reason(*sizes, False, settings))
    if shape.summed:
        return Plan(_in_metric(settings), "features", "here", "the sums of the rows are known")
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


def check_gram(shape: Sizes) -> None:
    """An error where a Gram that was asked for, or joined by gradients, is more than the budget."""
    needed = gram_bytes(shape.n_columns)
    if needed > shape.memory:
        less = "ks.Learned(ks.Fourier()) for a learned law of dense" if shape.sparse else "fewer"
        asked = "solver='direct'", "solver='auto', "
        who, other = ("A fit to gradients", "") if shape.gradients is not None else asked
        raise ValueError(
            f"{who} forms the Gram matrix of {shape.n_columns:,} features, which takes "
            f"{needed / 1e9:.3g} GB with its copies, and the memory budget is "
            f"{shape.memory / 1e9:.3g} GB: use {other}{less} features, or a larger memory_budget."
        )


def _with_gradients(shape: Sizes, settings: Settings) -> Plan:
    """Values and gradients, whose squares and products join one Gram."""
    if settings.solver not in ("auto", "direct"):
        raise ValueError(
            f"solver={settings.solver!r} does not fit gradients, which join the Gram matrix: use "
            "solver='auto' or 'direct'."
        )
    check_gram(shape)
    reason = f"{shape.gradients:,} gradients join the sums of {shape.n_rows:,} values"
    return Plan("direct", "features", "here", reason)


def _has_ridge(settings: Settings) -> bool:
    """Whether α > 0, given or to be chosen."""
    return settings.alpha == "auto" or float(settings.alpha) > 0.0


def _given_ridge(settings: Settings) -> bool:
    """Squared loss with a positive ridge, no constraint, and no solver asked for."""
    plain = settings.loss.squared and settings.constraint is None and settings.solver == "auto"
    return plain and settings.alpha != "auto" and _has_ridge(settings)


def _takes_conjugate(shape: Sizes, settings: Settings) -> bool:
    """A given ridge, features that can be kept, and sizes for which passes cost less.

    The ridge is above the rounding of products with features of mean square one: passes would stop
    at a weaker one without having solved anything.
    """
    many = shape.n_columns >= CONJUGATE_COLUMNS and shape.by_passes < CONJUGATE_SHARE
    if settings.solver == "conjugate" or not (_given_ridge(settings) and shape.cached and many):
        return settings.solver == "conjugate"
    return float(settings.alpha) > gram_noise(np.dtype(f"f{shape.entry}"), 1.0, shape.n_rows)


def convex_plan(n_rows: int, n_columns: int, cached: bool, span: bool, settings: Settings) -> Plan:
    """How a loss that is not squared is minimised: `rough_plan`, or by the Gram of a part.

    cached: the features are kept between passes; span: they are coordinates in the span of the
    rows.
    """
    plain = settings.constraint is None and settings.checkpoint is None
    many = n_columns >= SAMPLED_COLUMNS and n_rows >= 2 * SAMPLE_ROWS * n_columns
    if settings.loss.smooth and plain and not span and many and cached:
        reason = f"n = {n_rows:,} rows: the Gram of a subsample is metric enough"
        return Plan("sampled", "features", "here", reason)
    return rough_plan(n_rows, n_columns, cached, span, settings)


def rough_plan(n_rows: int, n_columns: int, cached: bool, span: bool, settings: Settings) -> Plan:
    """The same for fits to a part of the rows, which one Gram serves for every ridge."""
    space = "span" if span else "features"
    plain = settings.constraint is None and settings.checkpoint is None and _has_ridge(settings)
    if not settings.loss.smooth and plain and n_rows >= COORDINATE_ROWS and cached:
        reason = (
            f"a kinked loss, no ball and n = {n_rows:,} rows whose features are kept: dual "
            "coordinate ascent, then the method of multipliers where the ridge is too weak for it"
        )
        return Plan("coordinates", space, "here", reason)
    return Plan(
        _in_metric(settings), space, "here", _gram_reason(n_rows, n_columns, span, settings)
    )


def _in_metric(settings: Settings) -> str:
    """The solver by steps in a metric: that of the Gram, or of its diagonal."""
    if not settings.loss.smooth:
        return "multipliers"
    return "quasi-newton" if settings.constraint is None else "projected"


def _of_products(shape: Sizes, settings: Settings) -> str:
    """The solver of many sparse columns, by products with them alone."""
    plain = settings.constraint is None and _has_ridge(settings)
    if settings.loss.squared and settings.constraint is None:
        return "binned conjugate" if plain and shape.binned else "sparse conjugate"
    if plain and settings.loss.clipped:
        return "sparse coordinates"
    fewer = settings.loss.smooth and shape.n_rows < shape.n_columns
    return "sparse rows" if plain and fewer else f"sparse {_in_metric(settings)}"


def stage_plans(first: Sizes, last: Sizes, settings: Settings) -> tuple[Plan, Plan]:
    """The plans of the two stages of a law, from the sizes of both."""
    span = takes_span(first, settings)
    reason = _gram_reason(first.n_rows, first.n_columns, span, settings)
    begins = Plan("direct", "span" if span else "features", "here", reason)
    solver = _of_products(last, replace(settings, alpha=settings.second or 0.0))
    reason = f"products with {last.n_columns:,} sparse columns need no Gram"
    return begins, Plan(solver, "bins", "here", reason)


def staged(plan: Plan, begins: Plan, ends: Plan) -> Plan:
    """The plan of a law in two stages with those of both and their reasons."""
    return replace(plan, reason=f"the law was learned in two stages: {begins}; then {ends}")


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
    # Rows on a cluster have no memory, which the method of multipliers needs.
    iterative = _in_metric(settings) if settings.loss.smooth else "smoothed"
    solver = "direct" if settings.loss.squared else iterative
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


def _too_weak(plan: Plan) -> str:
    return f"the ridge is too weak for the solver {plan.solver!r} that was planned"


def by_gram(plan: Plan, settings: Settings) -> Plan:
    """The plan of a loss that is not squared by the Gram of all rows, where that is not it yet."""
    solver = _in_metric(settings)
    if plan.solver == solver:
        return plan
    return replace(plan, solver=solver, reason=_too_weak(plan))


def by_rows(plan: Plan) -> Plan:
    """The plan of a smooth loss on sparse features after dual coordinates that were too slow."""
    return replace(plan, solver="sparse rows", reason=_too_weak(plan))


def continued(plan: Plan, solver: str) -> Plan:
    """The plan of batches after rows that left sums, or stochastic gradients."""
    if plan.solver == solver:
        return plan
    return replace(plan, solver=solver, reason=f"it goes on with the {solver} of earlier rows")


def after_all(plan: Plan, shape: Sizes, made: int) -> Plan:
    """The direct plan in place of conjugate gradients that converge too slowly for what is left."""
    reason = (
        f"after {made} passes of conjugate gradients, the remaining passes would take longer than "
        f"computing the rest of the Gram matrix, which costs about {shape.worth:.0f} passes"
    )
    return replace(plan, solver="direct", reason=reason)
