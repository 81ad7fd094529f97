"""Types of arrays that every room uses."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

# Numbers of any dtype.
AnyArray = NDArray[Any]
Floats = NDArray[np.float64]
DType = np.dtype[Any]
# What scikit-learn takes as random_state.
Seed = int | np.random.RandomState | None
# What scikit-learn takes as sample_weight: a number for each row.
SampleWeight = ArrayLike | None
# Rows or their features: dense, sparse, or rows of a table that are read when they are asked for.
Matrix = AnyArray | sparse.csr_array
# A slice of the rows, and what is known of them: rows, features or what was made of these.
Block = tuple[slice, Any]
# Facts by name, as JSON has them.
Facts = dict[str, Any]
# Some of the rows: a run, a mask, or their places.
Part = slice | AnyArray
