"""Where rows come from: validated arrays, and blocks of them of bounded size."""

from kitchensinks.tables.arrays import (
    advice,
    block_slices,
    check_size,
    densify,
    describe,
    numeric_rows,
    numeric_weights,
)

__all__ = [
    "advice",
    "block_slices",
    "check_size",
    "densify",
    "describe",
    "numeric_rows",
    "numeric_weights",
]
