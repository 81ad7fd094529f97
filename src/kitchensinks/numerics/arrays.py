"""Types of arrays that every room uses."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

# Numbers of any dtype.
AnyArray = NDArray[Any]
Floats = NDArray[np.float64]
DType = np.dtype[Any]
# What scikit-learn takes as random_state.
Seed = int | np.random.RandomState | None
