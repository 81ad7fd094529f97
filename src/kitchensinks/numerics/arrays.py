"""Types of arrays that every room uses."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

# Numbers of any dtype.
AnyArray = NDArray[Any]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
DType = np.dtype[Any]
# What scikit-learn takes as random_state.
Seed = int | np.random.RandomState | None
# What scikit-learn takes as sample_weight: a number for each row.
SampleWeight = ArrayLike | None
# Rows or their features: dense, sparse, or rows of a table that are read on demand.
Matrix = AnyArray | sparse.csr_array
# A slice of the rows, and their values: rows, features or results computed from them.
Block = tuple[slice, Any]
# Facts by name, as in JSON.
Facts = dict[str, Any]
# A subset of the rows: a slice, a mask or indices.
Part = slice | AnyArray
# Arrays by name, as files, checkpoints and draws hold them.
Arrays = dict[str, AnyArray]
