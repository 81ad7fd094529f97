"""The sizes that a plan is made from, and what a fit of these sizes costs and rounds."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from kitchensinks.features.blocks import FEW_COLUMNS, FeatureBlocks
from kitchensinks.numerics.arrays import DType

# Sparse features with at most this many columns are solved as dense ones.
DENSE_COLUMNS = FEW_COLUMNS
# A fit by the Gram holds at most this many arrays of its size (measured: 5).
GRAM_COPIES = 6
# Time of a pass per feature and row, in units of one product of the Gram (measured: 0.2 ns, and
# 0.006 ns for such a product; both are twice that in float64).
PASS_PRODUCTS = 35.0
# Additional time of a pass per feature, row and output, in the same unit (measured: 0.02 ns).
OUTPUT_PRODUCTS = 3.5
# Passes that conjugate gradients are expected to take: measured were 13 on adult, 15 on MNIST, 33
# to 44 on forest cover, and 97 on KDD Cup 99, where they give up for the Gram.
EXPECTED_PASSES = 25
# Rows per feature of a subsample whose Gram approximates that of all rows.
SAMPLE_ROWS = 3


@dataclass(frozen=True)
class Sizes:
    """The sizes that a plan is made from.

    feature_bytes: of all features, if they are kept; memory: the budget, in bytes; entry: bytes of
    a number; stream: rows come in batches, so that only sums can be kept; place: "here" or
    "dask"; least: bytes of the smallest block of features; steady: bytes of two blocks of the size
    that sums use; outputs: columns of the targets; binned: sparse features are bins; summed: the
    sums over the rows are known; gradients: how many rows have one, None for a fit to values alone.
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
    binned: bool = False
    summed: bool = False
    gradients: int | None = None

    @classmethod
    def of(cls, blocks: FeatureBlocks, **known: Any) -> "Sizes":
        """Those of blocks; known: other fields."""
        sizes = blocks.n_rows, blocks.n_columns, blocks.sparse, blocks.total_bytes
        return cls(
            *sizes,
            blocks.memory_budget,
            blocks.frozen.dtype.itemsize,
            least=blocks.least_bytes,
            steady=blocks.steady_bytes,
            binned=blocks.sparse and blocks.frozen.draw.basis.binned,
            **known,
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


def gram_bytes(n_columns: int) -> float:
    """The Gram with the copies of it that a fit holds."""
    return GRAM_COPIES * 8.0 * n_columns**2


def gram_noise(dtype: DType, trace: float, count: int) -> float:
    """Rounding error of a Gram of centred features, measured to be about eps/2·trace/√n."""
    return 0.5 * float(np.finfo(dtype).eps) * trace / math.sqrt(max(1, count))
