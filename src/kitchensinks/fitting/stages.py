"""Two stages: ridge regression on dense features, then on bins with targets y − ρ·f₁.

    f = ρ·f₁ + f₂,    f₁ = argmin Σw·(y − f)²/Σw + α₁‖β‖² over the dense features,
                      f₂ = argmin Σw·(y − ρ·f₁ − f)²/Σw + α₂‖β‖² over the bins.

Each stage is convex and has its own certificate. With ρ < 1 the second stage also fits a share of
what the first explains, so that the two are averaged. The features are those of
``Union([dense, bins])``, so that the model has the usual form.
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from kitchensinks.features.bases.union import UnionParts
from kitchensinks.features.blocks import FeatureBlocks
from kitchensinks.features.frozen import Frozen
from kitchensinks.fitting.held_out import Split
from kitchensinks.fitting.plan import Plan, stage_plans, staged
from kitchensinks.fitting.settings import Settings
from kitchensinks.fitting.sizes import Sizes
from kitchensinks.fitting.space import HELD_OUT, Fit, TrainingSet, space_of
from kitchensinks.fitting.sparse import CALIBRATED, WarmStarts, sparse_design
from kitchensinks.fitting.squared import fit_squared
from kitchensinks.numerics.arrays import Matrix
from kitchensinks.problem.losses import Array
from kitchensinks.problem.problem import Solution
from kitchensinks.problem.targets import Batch

# ρ, chosen on held-out rows of census, house prices and computer activity.
FIRST_SHARE = 0.7


@dataclass(frozen=True)
class _Stage:
    """One basis of the union: its features, their columns in the union, and the factor of its
    weights there."""

    blocks: FeatureBlocks
    columns: np.ndarray
    factor: float


def _stages(blocks: FeatureBlocks) -> list[_Stage]:
    frozen, draw = blocks.frozen, blocks.frozen.draw
    union: UnionParts = draw.theta["parts"]
    owner = np.repeat(union.owners, np.diff(draw.offsets))
    stages = []
    for j, part in union.parts.items():
        own = Frozen(
            frozen.scaler,
            part.basis,
            part.seed,
            frozen.n_inputs,
            part.n_components,
            frozen.dtype,
            part if part.basis.sparse else None,
        )
        bins = blocks.columns if part.basis.sparse else None
        part_blocks = FeatureBlocks(blocks.rows, own, blocks.memory_budget, bins)
        factor = math.sqrt(draw.n_components / part.n_components)
        stages.append(_Stage(part_blocks, np.flatnonzero(owner == j), factor))
    return stages


def fit_stages(
    plan: Plan, blocks: FeatureBlocks, batch: Batch, settings: Settings, calibrate: bool
) -> tuple[Plan, Fit]:
    """Ridge settings.alpha on the first basis of a union, settings.second on the other.

    With the plan that has the reasons of both stages.
    """
    targets, second = batch.targets, settings.second
    assert second is not None, "two stages have two ridges"
    first, last = _stages(blocks)
    begins, ends = stage_plans(Sizes.of(first.blocks), Sizes.of(last.blocks), settings)
    space = space_of(first.blocks, batch.weights, settings, begins.space == "span")
    design = sparse_design(last.blocks)

    def solve(own: Array | None, settings: Settings) -> tuple[Solution, Solution, Array]:
        """Both stages on rows of these weights, and the scores of all rows."""
        settings.progress("first stage")
        training = TrainingSet(space, targets, own, settings)
        one = fit_squared(training, training.sums()).solution
        scores = np.empty_like(targets, dtype=np.float64)

        def score(part: slice, features: Matrix) -> None:
            scores[part] = FIRST_SHARE * (features @ one.weights + one.intercept)

        for _ in first.blocks.fresh(work=score):
            pass
        settings.progress("second stage")
        following = replace(settings, alpha=second)
        two = WarmStarts(design, targets - scores, ends).solve(own, following, second)
        return one, two, scores + design.scores(two.weights) + two.intercept

    held_out = None
    if calibrate:
        share = min(HELD_OUT, CALIBRATED / blocks.n_rows)
        split = Split.of(settings, batch.weights, share=share)
        if split is not None:
            # The sums in a checkpoint are those of all rows.
            apart = replace(settings, checkpoint=None)
            held_out = split.places[split.held], solve(split.fitted, apart)[2][split.held]
    one, two, _ = solve(batch.weights, settings)
    together = np.zeros((blocks.n_columns, targets.shape[1]))
    together[first.columns] = FIRST_SHARE * first.factor * one.weights
    together[last.columns] = last.factor * two.weights
    solution = two._replace(
        weights=together,
        intercept=FIRST_SHARE * one.intercept + two.intercept,
        # Each stage has a problem of its own: both numbers are sums over the two.
        objective=one.objective + two.objective,
        gap=one.gap + two.gap,
        converged=one.converged and two.converged,
        settled=one.converged and two.settled,
        solver=f"two stages: {one.solver}, {two.solver}",
    )
    return staged(plan, begins, ends), Fit(float(settings.alpha), solution, held_out=held_out)
