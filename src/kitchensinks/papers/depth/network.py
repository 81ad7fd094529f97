"""ReLU networks with bounded weights, built by Maurey's sampling (thesis, section 3.5)."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from kitchensinks.numerics.arrays import Floats
from kitchensinks.numerics.checks import check_count
from kitchensinks.tables.arrays import block_slices, numeric_rows

_BLOCK_ENTRIES = 2**22


class ReLUSum:
    """A map of the class Λ_R with its representation: f_j(x) = Σ_i c_ji·ReLU(ω_ji·(x, 1)).

    Its j-th output is in Λ_(R_j) with R_j = Σ_i |c_ji|·|ω_ji|, and the map in Λ_R with
    R = √ΣR_j² (thesis, (3.11) and Definition III.14).

    Parameters
    ----------
    outer : c, shape (outputs, units), or (units,) for one output.
    inner : ω with the bias last, shape (outputs, units, d + 1), or (units, d + 1).

    >>> absolute = ReLUSum(outer=[1.0, 1.0], inner=[[1.0, 0.0], [-1.0, 0.0]])
    >>> absolute([[-3.0], [0.5]]).tolist(), absolute.variation
    ([[3.0], [0.5]], 2.0)
    """

    def __init__(self, outer: ArrayLike, inner: ArrayLike) -> None:
        weights, units = np.asarray(outer, dtype=float), np.asarray(inner, dtype=float)
        if weights.ndim not in (1, 2) or units.shape[:-1] != weights.shape:
            raise ValueError(
                f"outer of shape {weights.shape} and inner of shape {units.shape}: need (units,) "
                "and (units, d + 1), or (outputs, units) and (outputs, units, d + 1), the bias as "
                "the last column. Pad outputs with fewer units by zeros."
            )
        if not (np.isfinite(weights).all() and np.isfinite(units).all()):
            raise ValueError(
                "outer or inner holds an infinite or missing number: need finite ones."
            )
        self.outer: Floats = np.atleast_2d(weights)
        self.inner: Floats = units.reshape(*self.outer.shape, -1)

    @property
    def n_inputs(self) -> int:
        return int(self.inner.shape[2]) - 1

    @property
    def n_outputs(self) -> int:
        return int(self.outer.shape[0])

    @property
    def n_units(self) -> int:
        """Units of each output."""
        return int(self.outer.shape[1])

    @property
    def variations(self) -> Floats:
        """R_j of each output, shape (outputs,)."""
        return np.asarray((np.abs(self.outer) * np.linalg.norm(self.inner, axis=2)).sum(axis=1))

    @property
    def variation(self) -> float:
        """R = √ΣR_j²."""
        return float(np.linalg.norm(self.variations))

    def __call__(self, rows: Any) -> Floats:
        """f(x), shape (n, outputs)."""
        rows = numeric_rows(rows)
        if rows.shape[1] != self.n_inputs:
            raise ValueError(
                f"rows of shape {rows.shape}: this map takes {self.n_inputs} columns (its inner "
                "weights have one more, the bias)."
            )
        out = np.empty((len(rows), self.n_outputs))
        for part in block_slices(len(rows), max(1, _BLOCK_ENTRIES // self.n_units)):
            for j, (outer, inner) in enumerate(zip(self.outer, self.inner, strict=True)):
                units = rows[part] @ inner[:, :-1].T
                units += inner[:, -1]
                out[part, j] = np.maximum(units, 0.0, out=units) @ outer
        return out

    def sample(self, n_units: int, random_state: Any = None) -> "ReLUSum":
        """Maurey's approximation with N units of unit length for each output (Theorem III.13).

        ω_i is drawn with probability |c||ω|/R_j and divided by its length; its outer weight is
        ±R_j/N. The mean is f, and the mean squared distance in L² of any law of inputs in a ball of
        radius r is at most R²(r² + 1)/N: ``ks.theory.maurey_error``, squared.

        >>> absolute = ReLUSum(outer=[1.0, 1.0], inner=[[1.0, 0.0], [-1.0, 0.0]])
        >>> drawn = absolute.sample(4, random_state=0)
        >>> drawn.outer.tolist(), drawn.variation
        ([[0.5, 0.5, 0.5, 0.5]], 2.0)
        """
        n_units = check_count("n_units", n_units)
        random = check_random_state(random_state)
        lengths = np.linalg.norm(self.inner, axis=2)
        outer = np.zeros((self.n_outputs, n_units))
        inner = np.zeros((self.n_outputs, n_units, self.n_inputs + 1))
        for j, variation in enumerate(self.variations):
            if variation == 0.0:
                inner[j, :, -1] = 1.0
                continue
            law = np.abs(self.outer[j]) * lengths[j] / variation
            chosen = random.choice(self.n_units, n_units, p=law)
            outer[j] = np.sign(self.outer[j, chosen]) * variation / n_units
            inner[j] = self.inner[j, chosen] / lengths[j, chosen, None]
        return ReLUSum(outer, inner)


@dataclass(frozen=True, eq=False)
class ReLUNetwork:
    """g_L ∘ … ∘ g_1 with each g_i a sampled map of unit-length units (Proposition III.15).

    For f_i in Λ_(R_i) with a known representation, ``ReLUNetwork.sample([f_1, …, f_L], [N_1, …,
    N_L])`` draws each g_i by Maurey's lemma. With the N_i of ``ks.theory.relu_network`` the root
    mean square distance is at most Lε on a set of inputs of the probability stated there, and
    `norms` are at most its ``weight_norms``.

    Examples
    --------
    >>> import numpy as np
    >>> import kitchensinks as ks
    >>> absolute = ReLUSum([0.5, 0.5], [[1.0, 0.0], [-1.0, 0.0]])
    >>> network = ks.ReLUNetwork.sample([absolute, absolute], [2000, 2000], random_state=0)
    >>> rows = np.linspace(-1, 1, 201)[:, None]
    >>> error = np.sqrt(np.mean((network(rows) - np.abs(rows) / 4) ** 2))
    >>> bound = ks.theory.relu_network(accuracy=0.05, variations=[1.0, 1.0], widths=[1, 1],
    ...                                radius=1.0, slack=1.0)
    >>> bound.n_units, round(float(error), 3), round(bound.error, 3)
    ((2000, 2000), 0.005, 0.1)
    >>> network.norms(0.05).round(1), np.round(bound.weight_norms, 1)
    (array([2.2, 1. , 0.4]), array([2.2, 1. , 0.4]))
    """

    layers: tuple[ReLUSum, ...]

    @classmethod
    def sample(
        cls, functions: Sequence[ReLUSum], n_units: Sequence[int], random_state: Any = None
    ) -> "ReLUNetwork":
        """Draw N_i units for each output of f_i, for every layer i."""
        if len(functions) == 0 or len(functions) != len(n_units):
            raise ValueError(
                f"{len(functions)} functions and {len(n_units)} numbers of units: need one of each "
                "for every layer, at least one layer."
            )
        for i, (first, second) in enumerate(itertools.pairwise(functions)):
            if first.n_outputs != second.n_inputs:
                raise ValueError(
                    f"function {i} has {first.n_outputs} outputs and function {i + 1} takes "
                    f"{second.n_inputs}: need the same number to compose them."
                )
        random = check_random_state(random_state)
        pairs = zip(functions, n_units, strict=True)
        return cls(tuple(function.sample(count, random) for function, count in pairs))

    def __call__(self, rows: Any) -> Floats:
        """g_L(… g_1(x)), shape (n, outputs)."""
        for layer in self.layers:
            rows = layer(rows)
        return np.asarray(rows)

    def matrices(self, accuracy: float = 1.0) -> list[tuple[Floats, Floats]]:
        """Weights and biases of the same function as an ordinary network, input to output.

        h_1 = ReLU(W_0·x + b_0), h_(i+1) = ReLU(W_i·h_i + b_i), output W_L·h_L. W_0 = ε·A_1,
        W_i = A_(i+1)·B_i and W_L = B_L/ε with A the units' directions and B the outer weights;
        biases are those of the units times ε. ε is `accuracy`: it moves size from the first
        matrix to the last and leaves the function as it is.
        """
        scale = _scale(accuracy)
        directions = [layer.inner.reshape(-1, layer.n_inputs + 1) for layer in self.layers]
        outer = [_block_rows(layer.outer) for layer in self.layers]
        weights = [scale * directions[0][:, :-1]]
        weights += [a[:, :-1] @ b for a, b in zip(directions[1:], outer[:-1], strict=True)]
        biases = [scale * a[:, -1] for a in directions]
        last = (outer[-1] / scale, np.zeros(self.layers[-1].n_outputs))
        return [*zip(weights, biases, strict=True), last]

    def norms(self, accuracy: float = 1.0) -> Floats:
        """Frobenius norms of those L + 1 weight matrices, without forming them."""
        scale = _scale(accuracy)
        squares = [np.square(layer.outer).sum(axis=1) for layer in self.layers]
        columns = [np.square(layer.inner[:, :, :-1]).sum(axis=(0, 1)) for layer in self.layers]
        between = [a @ b for a, b in zip(columns[1:], squares[:-1], strict=True)]
        ends = scale**2 * columns[0].sum(), squares[-1].sum() / scale**2
        return np.asarray(np.sqrt([ends[0], *between, ends[1]]))


def _scale(accuracy: float) -> float:
    if not 0.0 < accuracy <= 1.0:
        raise ValueError(
            f"accuracy={accuracy!r}: need a number above 0 and at most 1, so that biases stay "
            "below 1."
        )
    return float(accuracy)


def _block_rows(outer: Floats) -> Floats:
    """B: row j holds the outer weights of output j in the places of its own units."""
    n_outputs, n_units = outer.shape
    blocks = np.zeros((n_outputs, n_outputs, n_units))
    blocks[np.arange(n_outputs), np.arange(n_outputs)] = outer
    return blocks.reshape(n_outputs, -1)
