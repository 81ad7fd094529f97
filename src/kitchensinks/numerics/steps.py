"""Compiled vector updates of conjugate gradients, grid by grid.

Columns of grid g are offsets[g] to offsets[g + 1]. They stay in cache while the grid is processed,
so each update also computes the sums that the next one needs. Vectors are (columns, outputs) and
may be longer than offsets[-1]; entries beyond it are not changed. alphas (1,) or (outputs,); spread
(columns, 1) or (columns, outputs) is the diagonal preconditioner M.
"""

from kitchensinks.numerics.arrays import AnyArray
from kitchensinks.numerics.threads import looped


@looped(lambda offsets, *_: len(offsets) - 1)
def step(
    offsets: AnyArray,
    alphas: AnyArray,
    direction: AnyArray,
    image: AnyArray,
    bend: AnyArray,
    begin: int,
    end: int,
) -> None:
    """image += α·direction, and bend_go = Σ direction·image over the columns of grid g."""
    for g in range(begin, end):
        for o in range(direction.shape[1]):
            total, alpha = 0.0, alphas[o if o < len(alphas) else len(alphas) - 1]
            for c in range(offsets[g], offsets[g + 1]):
                image[c, o] += alpha * direction[c, o]
                total += direction[c, o] * image[c, o]
            bend[g, o] = total


@looped(lambda offsets, *_: len(offsets) - 1)
def move(
    offsets: AnyArray,
    length: AnyArray,
    spread: AnyArray,
    cross: AnyArray,
    weights: AnyArray,
    residual: AnyArray,
    direction: AnyArray,
    image: AnyArray,
    sums: AnyArray,
    begin: int,
    end: int,
) -> None:
    """β += length·direction, r −= length·image; sums_g: r'M⁻¹r, r'r and β'(cross + r) of grid g."""
    last = spread.shape[1] - 1
    for g in range(begin, end):
        for o in range(weights.shape[1]):
            shaped, square, inner = 0.0, 0.0, 0.0
            step, own = length[o], o if o < last else last
            for c in range(offsets[g], offsets[g + 1]):
                beta = weights[c, o] + step * direction[c, o]
                left = residual[c, o] - step * image[c, o]
                weights[c, o], residual[c, o] = beta, left
                shaped += left * left / spread[c, own]
                square += left * left
                inner += beta * (cross[c, o] + left)
            sums[0, g, o], sums[1, g, o], sums[2, g, o] = shaped, square, inner
