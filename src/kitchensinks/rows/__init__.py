"""Where rows come from: validated arrays, and blocks of them of bounded size."""

from kitchensinks.rows.arrays import (
    block_slices,
    densify,
    describe,
    numeric_rows,
    numeric_weights,
    subsample,
)

__all__ = ["block_slices", "densify", "describe", "numeric_rows", "numeric_weights", "subsample"]
