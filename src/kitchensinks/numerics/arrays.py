"""Types of arrays that every room uses."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

# Numbers of any dtype.
AnyArray = NDArray[Any]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
DType = np.dtype[Any]
# What scikit-learn takes as random_state.
Seed = int | np.random.RandomState | None
# Rows or their features: dense, sparse, or rows of a table that are read on demand.
Matrix = AnyArray | sparse.csr_array
# A subset of the rows: a slice, a mask or indices.
Part = slice | AnyArray
