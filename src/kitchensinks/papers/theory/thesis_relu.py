"""Random ReLU features and ReLU networks: the thesis of Y. Sun (2019), chapter III.

Inputs lie in a ball of radius r of R^d; a unit is ReLU(ω·(x, 1)). Λ_R is the class of functions
∫ ReLU(ω·(x, 1)) dμ(ω) with ∫ |ω| d|μ|(ω) <= R, and a map with several outputs is in Λ_R when the
root of the summed squares of its outputs' radii is at most R.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from kitchensinks.papers.theory._shared import DELTA, Rule, checked, count, nonnegative, positive
from kitchensinks.papers.theory.thesis_spectra import bounded_features_error

_RADIUS = nonnegative("the radius r of the ball that holds the inputs")
_bound = checked(
    norm=positive("R_f₀, the norm of the target in the space of random ReLU features"),
    radius=_RADIUS,
    variation=positive("the R of the class Λ_R, ∫ |ω| d|μ|(ω)"),
    second_moment=positive("M₂, the mean of |ω|²"),
    n_features=count("the number of random features, N"),
    n_units=count("the number of units, N"),
    n_rows=count("the number of training rows, m"),
    delta=DELTA,
)
_network_bound = checked(
    accuracy=Rule(
        "ε; above 1, rescaling would not keep the biases below 1",
        "a positive number of 1 or less",
        lambda value: 0 < value <= 1,
    ),
    radius=_RADIUS,
    slack=positive("the s by which each class reaches beyond its set"),
)


@_bound
def relu_features_error(*, n_features: int, norm: float, radius: float, delta: float) -> float:
    """The distance ε to the target that N random ReLU features guarantee.

    The least ε with N >= 20R²(r² + 1)/ε²·ln(64R²(r² + 1)/(ε²δ)) and R = ‖f₀‖: with probability at
    least 1 - δ, some weights of length at most 2R on features divided by √N have ‖f_N - f₀‖ <= ε.

    Source: thesis, Proposition III.10; errata 20.

    >>> round(relu_features_error(n_features=1367, norm=1.0, radius=1.0, delta=0.1), 3)
    0.5
    """
    return bounded_features_error(
        n_features=n_features, feature_bound=math.hypot(radius, 1.0), norm=norm, delta=delta
    )


@_bound
def relu_rows_error(*, n_rows: int, norm: float, radius: float, delta: float) -> float:
    """The ε that m rows allow: Algorithm 2 comes within 3ε of the target's risk.

    ε = (4 + 2√(2 ln 1/δ))·R(√(r² + 1) + 1)/√m with R = 2R_f₀ the limit on the weights. With the
    features of `relu_features_error` for the same ε, R(f_N) - R(f₀) <= 3ε with probability at least
    1 - 2δ, for the hinge and the logistic loss.

    Source: thesis, Proposition III.10.

    >>> round(relu_rows_error(n_rows=6412, norm=1.0, radius=1.0, delta=0.1), 4)
    0.5
    """
    size = 2 * norm * (math.hypot(radius, 1.0) + 1)
    return (4 + 2 * math.sqrt(2 * math.log(1 / delta))) * size / math.sqrt(n_rows)


def relu_variation(*, outer: ArrayLike, inner: ArrayLike) -> float:
    """The R for which Σ c_i·ReLU(ω_i·(x, 1)) is in Λ_R.

    R = Σ |c_i|·|ω_i|, which is also a Lipschitz constant of the function.

    Source: thesis, (3.11) and Proposition III.12 (2).

    >>> relu_variation(outer=[1.0, -2.0], inner=[[3.0, 4.0], [0.0, 1.0]])
    7.0
    """
    weights, units = np.asarray(outer, dtype=float), np.asarray(inner, dtype=float)
    if weights.ndim != 1 or units.ndim != 2 or len(weights) != len(units):
        raise ValueError(
            f"outer of shape {weights.shape} and inner of shape {units.shape}: need (units,) and "
            "(units, d + 1), with the bias as the last column."
        )
    return float(np.abs(weights) @ np.linalg.norm(units, axis=1))


@_bound
def relu_variation_of_norm(*, norm: float, second_moment: float) -> float:
    """The R for which a ball of the random-feature space lies in Λ_R.

    R = ‖f‖·√M₂, where M₂ is the mean of |ω|² (1 for ω on the unit sphere). Functions of Λ_R are
    R-Lipschitz, so this bounds their slope too.

    Source: thesis, Proposition III.12 (2) and (3).

    >>> relu_variation_of_norm(norm=2.0, second_moment=4.0)
    4.0
    """
    return norm * math.sqrt(second_moment)


@_bound
def maurey_error(*, variation: float, n_units: int, radius: float) -> float:
    """Distance to a function of Λ_R that some network of N units reaches.

    ‖f - g‖ <= R√(r² + 1)/√N in L² of any law of inputs, for some g = Σ c_i·ReLU(ω_i·(x, 1)) with
    |ω_i| = 1 and |c_i| <= R/N. Units drawn from |ω| d|μ|(ω) reach it in root mean square.

    Source: thesis, Theorem III.13.

    >>> maurey_error(variation=2.0, n_units=100, radius=0.0)
    0.2
    """
    return variation * math.hypot(radius, 1.0) / math.sqrt(n_units)


class ReLUNetworkBound(NamedTuple):
    """What Proposition III.15 promises of a network with L layers of units.

    `n_units` counts the units for each output of a layer. The mean-square distance is at most
    `error` on a set of inputs of probability at least `probability`. `weight_norms` are the
    Frobenius norms from the input to the output, L + 1 of them; biases are at most 1.
    """

    n_units: tuple[int, ...]
    error: float
    probability: float
    weight_norms: tuple[float, ...]


@_network_bound
def relu_network(
    *,
    accuracy: float,
    variations: Sequence[float],
    widths: Sequence[int],
    radius: float,
    slack: float,
) -> ReLUNetworkBound:
    """Size, error and weights of a ReLU network for f_L ∘ … ∘ f_1 with each f_i in Λ_(R_i).

    N_i = ⌈Π_(j>=i) R_j²·((r + s)² + 1)/ε²⌉ units for each of the m_(i+1) outputs of layer i; the
    distance is at most Lε on a set of probability at least
    1 - (ε/s)²·Σ_(i<L) i²/Π_(j>i) R_j². Frobenius norms of the weights: ε√(N₁m₂) from the input,
    R_i√(m_(i+2)·N_(i+1)/N_i) between layers, and R_L/(ε√N_L) <= 1/√((r + s)² + 1) to the output.

    Source: thesis, Proposition III.15; errata 21. `variations` are R_1..R_L, `widths` are
    m_2..m_(L+1), the outputs of each f_i; r holds for all the intermediate sets.

    >>> bound = relu_network(accuracy=0.1, variations=[1.0, 2.0], widths=[1, 1], radius=1.0,
    ...                      slack=1.0)
    >>> bound.n_units, bound.error, round(bound.probability, 4)
    ((2000, 2000), 0.2, 0.9975)
    >>> [round(norm, 4) for norm in bound.weight_norms]
    [4.4721, 1.0, 0.4472]
    """
    sizes, outputs = _layers(variations, widths, "widths")
    depth, reach = len(sizes), math.hypot(radius + slack, 1.0)
    to_come = [math.prod(sizes[layer:]) for layer in range(depth + 1)]
    exact = [(to_come[layer] * reach / accuracy) ** 2 for layer in range(depth)]
    # Rounding errors must not push a whole number up to the next one.
    units = [math.ceil(need * (1 - 1e-12)) for need in exact]
    missed = sum(layer**2 / to_come[layer] ** 2 for layer in range(1, depth))
    between = [
        sizes[layer] * math.sqrt(outputs[layer + 1] * units[layer + 1] / units[layer])
        for layer in range(depth - 1)
    ]
    return ReLUNetworkBound(
        n_units=tuple(units),
        error=depth * accuracy,
        probability=max(0.0, 1 - (accuracy / slack) ** 2 * missed),
        weight_norms=(
            accuracy * math.sqrt(units[0] * outputs[0]),
            *between,
            sizes[-1] / (accuracy * math.sqrt(units[-1])),
        ),
    )


@_network_bound
def relu_network_accuracy(
    *, n_units: Sequence[int], variations: Sequence[float], radius: float, slack: float
) -> float:
    """The ε that these units of each layer allow: the inverse of `relu_network`.

    The largest over layers of Π_(j>=i) R_j·√((r + s)² + 1)/√N_i.

    >>> round(relu_network_accuracy(n_units=[2000, 2000], variations=[1.0, 2.0], radius=1.0,
    ...                             slack=1.0), 4)
    0.1
    """
    sizes, units = _layers(variations, n_units, "n_units")
    reach = math.hypot(radius + slack, 1.0)
    return max(
        math.prod(sizes[layer:]) * reach / math.sqrt(units[layer]) for layer in range(len(sizes))
    )


def _layers(
    variations: Sequence[float], counts: Sequence[int], name: str
) -> tuple[list[float], list[int]]:
    if len(variations) == 0 or len(variations) != len(counts):
        raise ValueError(
            f"variations of {len(variations)} layers and {name} of {len(counts)}: need one of "
            "each for every layer, at least one layer."
        )
    size, units = positive("the R_i of each layer"), count("one number for each layer")
    sizes = [size("variations", value) for value in variations]
    return sizes, [units(name, value) for value in counts]
