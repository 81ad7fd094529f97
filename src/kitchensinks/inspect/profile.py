"""What a feature map does to distances (maxout paper, section 5.1 and Figure 1)."""

from typing import NamedTuple

import numpy as np
from scipy.spatial.distance import pdist

from kitchensinks.estimators.transform import check_basis
from kitchensinks.features.bases import Basis, Maxout
from kitchensinks.numerics.arrays import Floats, Matrix, Seed
from kitchensinks.numerics.words import Stream, Words
from kitchensinks.state import seed_of
from kitchensinks.tables.arrays import numeric_rows


class DistanceProfile(NamedTuple):
    """Distances of every pair of rows, shape (pairs,), in increasing order of `before`.

    `before` is ‖x − z‖, `after` is ‖Φ(x) − Φ(z)‖ for the draw, and `exact` its value for infinitely
    many features, √(k(x, x) + k(z, z) − 2k(x, z)).
    """

    before: Floats
    after: Floats
    exact: Floats


def distance_profile(
    basis: Basis | int, rows: Matrix = None, n_features: int = 1000, random_state: Seed = 0
) -> DistanceProfile:
    """Distances between rows before and after a random feature map.

    For maxout features of unit rows with cosine ρ, ‖Φ(x) − Φ(z)‖² → 2K_q(1) − 2K_q(ρ): it rises
    as ‖x − z‖ itself while rows are near (K_q'(1) = κ_q(1) = 1), then saturates, the earlier the
    larger q. (The kernel printed in the paper's Theorem 1 would make it rise as √‖x − z‖.)

    Source: maxout paper, section 5.1, Figure 1 (m = 1000, q = 8 and 32).

    basis : a basis with dense features, or a number: the pool q of ``ks.Maxout(q)``.
    rows : (n, d), or None for the paper's 100 random points of the unit circle.
    n_features : the number of draws of θ, the paper's m.
    random_state : names the draw (and the points where rows is None).

    >>> profile = distance_profile(8)
    >>> near = profile.before < 0.1
    >>> round(float(np.mean(profile.exact[near] / profile.before[near])), 2)
    0.99
    >>> round(float(np.abs(profile.after - profile.exact).max()), 2)
    0.06
    """
    given = Maxout(basis) if isinstance(basis, int | np.integer) else check_basis(basis)
    if given.sparse:
        raise ValueError(f"basis={basis!r} has sparse features: need a dense one, or a pool size.")
    seed = seed_of(random_state)
    if rows is None:
        # Uniform on the circle; a stream of their own, not the draw's.
        angle = 2.0 * np.pi * Words(seed, 0, Stream.DISTANCE_PROFILE).uniform(100)
        points = np.column_stack([np.cos(angle), np.sin(angle)])
    else:
        points = numeric_rows(rows)
    if len(points) < 2:
        raise ValueError(f"rows of shape {points.shape}: need two or more, to have a pair.")
    resolved = given.resolve(points)
    draw = resolved.learn_draw(resolved.draw(seed, points.shape[1], n_features), points)
    mapped = draw.scaled_features(points)
    kernel = resolved.kernel(points)
    first, second = np.triu_indices(len(points), 1)
    own = kernel.diagonal()
    squares = own[first] + own[second] - 2.0 * kernel[first, second]
    before = pdist(points)
    order = np.argsort(before, kind="stable")
    return DistanceProfile(
        before[order], pdist(mapped)[order], np.sqrt(np.maximum(squares, 0.0))[order]
    )
