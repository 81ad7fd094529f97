"""The columns themselves."""

import math

import numpy as np
from scipy import sparse

from kitchensinks.features.bases.base import Basis, Universal
from kitchensinks.features.bases.draw import Draw, Graph, Theta
from kitchensinks.numerics.arrays import AnyArray, Floats, Matrix
from kitchensinks.numerics.words import Words


class Linear(Basis):
    """√d·x_i: a linear model, one draw for each column.

    i is uniform over the d columns, without repetition: draws 0, …, d − 1 are every column once in
    a random order, and so are the d draws after them. So

        k(x, z) = x·z,

    which d draws meet exactly: an estimator with ``n_components=None`` has one for each column, and
    is then a ridge regression on the standardised columns. It goes on beyond the range of the rows
    only as far as the scaler of the columns allows.

    Examples
    --------
    >>> import numpy as np
    >>> rows = np.array([[1.0, 2.0, 3.0], [0.0, 1.0, 0.0]])
    >>> features = Linear().draw(seed=0, n_inputs=3, n_components=3).scaled_features(rows)
    >>> (features @ features.T).round(12).tolist()
    [[14.0, 2.0], [2.0, 1.0]]
    """

    takes_sparse_rows = True
    bound = math.inf
    universal = Universal(False, "Sums of columns are linear.")

    def whole(self, n_inputs: int) -> int:
        return n_inputs

    def block_size(self, n_inputs: int) -> int:
        return n_inputs

    def sample(self, words: Words, n_inputs: int) -> Theta:
        return {
            "column": words.permutation(n_inputs),
            "length": np.full(n_inputs, math.sqrt(n_inputs)),
        }

    def features(self, theta: Theta, rows: Matrix) -> AnyArray:
        taken = rows[:, theta["column"]]
        dense = taken.toarray() if sparse.issparse(taken) else taken
        # Row by row in memory, as all features are: other loops would be compiled for other orders.
        lengths = theta["length"].astype(rows.dtype)
        return np.asarray(np.multiply(dense, lengths, order="C"))

    def slopes(self, theta: Theta, rows: Matrix) -> tuple[AnyArray, AnyArray]:
        count = len(theta["column"])
        directions = np.zeros((count, rows.shape[1]), dtype=rows.dtype)
        directions[np.arange(count), theta["column"]] = theta["length"]
        return np.ones((rows.shape[0], count), dtype=rows.dtype), directions

    def linear_pieces(self, theta: Theta, rows: Matrix, weights: AnyArray) -> AnyArray:
        _, directions = self.slopes(theta, rows[:1])
        return np.repeat((weights.T @ directions)[None], rows.shape[0], axis=0)

    def onnx(self, graph: Graph, draw: Draw, rows: str) -> str:
        columns = graph.node("Gather", rows, draw.theta["column"].astype(np.int64), axis=1)
        return graph.node("Mul", columns, draw.theta["length"])

    def exact_kernel(self, rows: Floats, others: Floats) -> Floats:
        return np.asarray(rows @ others.T)
