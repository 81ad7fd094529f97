"""Compiled vector updates of conjugate gradients, grid by grid.

Columns of grid g are offsets[g] to offsets[g + 1]. They stay in cache while the grid is processed,
so each update also computes the sums that the next one needs. Vectors are (columns, outputs) and
may be longer than offsets[-1]; entries beyond it are not changed. alphas (1,) or (outputs,);
inverse (columns, 1) or (columns, outputs) is M⁻¹ of the diagonal preconditioner M. The sums of one
output are kept in registers; several outputs are summed side by side, in the order of memory.
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
    n_outputs, each = direction.shape[1], len(alphas) > 1
    for g in range(begin, end):
        if n_outputs == 1:
            total = 0.0
            for c in range(offsets[g], offsets[g + 1]):
                image[c, 0] += alphas[0] * direction[c, 0]
                total += direction[c, 0] * image[c, 0]
            bend[g, 0] = total
            continue
        for o in range(n_outputs):
            bend[g, o] = 0.0
        for c in range(offsets[g], offsets[g + 1]):
            for o in range(n_outputs):
                image[c, o] += (alphas[o] if each else alphas[0]) * direction[c, o]
                bend[g, o] += direction[c, o] * image[c, o]


@looped(lambda offsets, *_: len(offsets) - 1)
def move(
    offsets: AnyArray,
    length: AnyArray,
    inverse: AnyArray,
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
    n_outputs, each = weights.shape[1], inverse.shape[1] > 1
    for g in range(begin, end):
        shaped, square, inner = sums[0, g], sums[1, g], sums[2, g]
        if n_outputs == 1:
            totals, step = (0.0, 0.0, 0.0), length[0]
            for c in range(offsets[g], offsets[g + 1]):
                beta = weights[c, 0] + step * direction[c, 0]
                left = residual[c, 0] - step * image[c, 0]
                weights[c, 0], residual[c, 0] = beta, left
                totals = (
                    totals[0] + left * left * inverse[c, 0],
                    totals[1] + left * left,
                    totals[2] + beta * (cross[c, 0] + left),
                )
            shaped[0], square[0], inner[0] = totals
            continue
        for o in range(n_outputs):
            shaped[o], square[o], inner[o] = 0.0, 0.0, 0.0
        for c in range(offsets[g], offsets[g + 1]):
            for o in range(n_outputs):
                beta = weights[c, o] + length[o] * direction[c, o]
                left = residual[c, o] - length[o] * image[c, o]
                weights[c, o], residual[c, o] = beta, left
                shaped[o] += left * left * (inverse[c, o] if each else inverse[c, 0])
                square[o] += left * left
                inner[o] += beta * (cross[c, o] + left)
