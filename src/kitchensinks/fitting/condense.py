"""Features that coincide on all rows are fitted once, with their multiplicity.

If c_m of the K features coincide on the rows, the ridge spreads their joint weight evenly over
them: with ψ_m = √c_m·φ_m for each different feature, Σ_k β_k² = Σ_m γ_m² and the scores are the
same where β_k = γ_m/√c_m. So the problem in γ is the problem in β, with fewer columns (all stumps
on a 0/1 column are one function or constant).
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kitchensinks.features.blocks import FeatureBlocks
from kitchensinks.fitting.plan import takes_span
from kitchensinks.fitting.settings import Settings
from kitchensinks.fitting.sizes import Sizes
from kitchensinks.fitting.space import Fit, LeftOut
from kitchensinks.numerics.arrays import Matrix
from kitchensinks.problem.constraints import SupBall
from kitchensinks.problem.losses import Array
from kitchensinks.problem.moments import Moments


@dataclass(frozen=True, eq=False)
class Groups:
    """labels (K,): the group of each feature; first, counts (m,): a member of each, its size."""

    labels: NDArray[np.int64]
    first: NDArray[np.int64]
    counts: NDArray[np.int64]

    @property
    def roots(self) -> Array:
        """√c of each feature's group, (K,)."""
        return np.asarray(np.sqrt(self.counts)[self.labels])

    def expand_left_out(self, within: LeftOut) -> LeftOut:
        """Leave-one-out scores of rows of all K features, by those of the different ones."""
        roots = np.sqrt(self.counts)

        def left_out(features: Matrix, *rest: Any) -> Array:
            return within(features[:, self.first] * roots.astype(features.dtype), *rest)

        return left_out

    def expand_moments(self, moments: Moments) -> Moments:
        """Sums over all K features from those over the different ones."""
        scales = 1.0 / self.roots
        # Only the lower triangle is stored.
        high = np.maximum.outer(self.labels, self.labels)
        low = np.minimum.outer(self.labels, self.labels)
        gram = moments.gram[high, low] * np.outer(scales, scales)
        return replace(
            moments,
            shift=moments.shift[self.labels] * scales,
            first=moments.first[self.labels] * scales,
            gram=np.asfortranarray(np.tril(gram)),
            cross=moments.cross[self.labels] * scales[:, None],
        )


def condense(blocks: FeatureBlocks, settings: Settings) -> tuple[FeatureBlocks, Groups] | None:
    """The distinct features, or None if none coincide or the problem would change.

    A sup-norm ball bounds each weight separately. With fewer rows than distinct features, the fit
    is in the span of the rows anyway.
    """
    frozen = blocks.frozen
    if isinstance(settings.constraint, SupBall) or settings.solver == "stochastic":
        return None
    if frozen.learned is not None or not frozen.held:
        return None
    labels = frozen.draw.groups(blocks.scaled())
    if labels is None:
        return None
    _, first, inverse, counts = np.unique(
        labels, return_index=True, return_inverse=True, return_counts=True
    )
    if len(first) == len(labels):
        return None
    settings.progress(f"{len(first)} of {len(labels)} features are different on these rows")
    # Scaled by 1/√m where all features are by 1/√K.
    factors = np.sqrt(counts * (len(first) / len(labels)))
    fewer = replace(frozen, n_components=len(first), learned=frozen.draw.choose(first, factors))
    condensed = FeatureBlocks(blocks.rows, fewer, blocks.memory_budget)
    if takes_span(Sizes.of(condensed), settings):
        return None
    return condensed, Groups(inverse, first, counts)


def expand(fit: Fit, groups: Groups) -> Fit:
    """The fit of all K features from that of the different ones."""
    if fit.left_out is not None:
        fit.left_out = groups.expand_left_out(fit.left_out)
    # β from γ.
    weights = fit.solution.weights[groups.labels] / groups.roots[:, None]
    fit.solution = fit.solution._replace(weights=weights)
    fit.groups = groups
    return fit
