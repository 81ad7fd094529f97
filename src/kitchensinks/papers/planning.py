"""How many features, which ridge and which rate: what the thesis says of rows that are there.

The spectrum of the kernel on a sample of rows has a law of decay, an effective dimension d(μ) at
every ridge μ, and a ridge of least leave-one-out error; how far these rows fill their space has an
intrinsic dimension. From these follow the theorem that applies (thesis, II.6), and a number of
features at which random features lose little against the kernel itself.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial import cKDTree

from kitchensinks.features.bases import Basis
from kitchensinks.features.bases.leverage import effective_dimension, eigen, require_dense
from kitchensinks.features.spectrum import Decay, decay_rates
from kitchensinks.numerics.arrays import Floats
from kitchensinks.papers.theory.thesis_spectra import leverage_features
from kitchensinks.solvers.path import alpha_grid

# Leave-one-out errors that exceed the kernel's own by no more count as its equal.
_CLOSE = 1.02
# Draws that are tried are powers of two times the first, up to the last.
_FIRST, _LAST = 32, 4096


class Planned(NamedTuple):
    """What a sample of rows says of a fit to `n_rows`.

    intrinsic: dimension that the rows fill; decay: of the spectrum, with d the intrinsic dimension;
    sample_alpha: the ridge of least leave-one-out error on the sample, and alpha that for all rows;
    dimension: d(alpha); error: leave-one-out, over the variance of the targets, on the sample;
    components: suggested K; enough: the K of Theorem II.2 for reweighted features, with probability
    0.95; law, risk_exponent, features: the part of Theorem II.6 that applies, the excess risk
    m^(−risk_exponent) of hinge machines, and how N grows, in words.
    """

    n_rows: int
    intrinsic: float
    decay: Decay
    sample_alpha: float
    alpha: float
    dimension: float
    error: float
    components: int
    enough: int
    law: str
    risk_exponent: float
    features: str


def plan(
    basis: Basis, rows: ArrayLike, targets: ArrayLike, n_rows: int | None = None, seed: int = 0
) -> Planned:
    """Measure a sample of rows (n, d) with targets (n,) or (n, outputs), for a fit to n_rows.

    The ridge for all rows is that of the sample times (n_rows/n)^(−c₂/(1 + c₂)), and K that of the
    sample times d(alpha)/d(sample_alpha): more rows resolve more of the spectrum. The sample should
    be standardised, and one or two thousand rows: time n³.

    >>> import kitchensinks as ks
    >>> rows = np.random.default_rng(0).uniform(-2, 2, size=(300, 2))
    >>> found = plan(ks.Fourier(gamma=0.5), rows, np.sin(rows[:, 0]), n_rows=100_000)
    >>> found.law, 1.5 < found.intrinsic < 2.5, found.alpha < found.sample_alpha
    ('subexponential', True, True)
    """
    require_dense(basis)
    sample, given = np.asarray(rows, dtype=np.float64), np.asarray(targets, dtype=np.float64)
    count, total = len(sample), n_rows or len(sample)
    centred = given.reshape(count, -1) - given.reshape(count, -1).mean(axis=0)
    resolved = basis.resolve(sample)
    values, vectors = eigen(_centred(resolved.kernel(sample)) / count)
    alphas = alpha_grid(float(values.sum()))
    errors = [left_out_error(values, vectors, centred, alpha) for alpha in alphas]
    own, least = float(alphas[int(np.argmin(errors))]), min(errors)
    dimension = intrinsic_dimension(sample)
    whole = max(1, round(dimension))
    decay = decay_rates(values, whole)
    power = decay.polynomial.rate
    shrink = power / (1 + power) if decay.better == "polynomial" and power > 0 else 1.0
    alpha = own * (count / total) ** shrink
    freedom, freedom_here = (max(1.0, effective_dimension(values, mu)) for mu in (alpha, own))
    needed = _needed(resolved, sample, centred, own, _CLOSE * least, seed)
    law, exponent, features = _rate(decay, whole)
    return Planned(
        total,
        dimension,
        decay,
        own,
        alpha,
        freedom,
        least / float(centred.var() or 1.0),
        math.ceil(needed * freedom / freedom_here),
        leverage_features(leverage=freedom, delta=0.05),
        law,
        exponent,
        features,
    )


def left_out_error(values: Floats, vectors: Floats, targets: Floats, alpha: float) -> float:
    """Mean squared leave-one-out error of kernel ridge regression with an intercept.

    values, vectors: of the centred kernel matrix over n; targets (n, outputs), centred. A residual
    is α(K/n + αI)⁻¹y, and the share of a row in its own prediction is taken out of it.
    """
    shares = alpha / (values + alpha)
    residuals = vectors @ (shares[:, None] * (vectors.T @ targets))
    left = np.square(vectors) @ shares - 1.0 / len(targets)
    left = np.maximum(left, np.finfo(float).eps)
    return float(np.mean((residuals / left[:, None]) ** 2))


def intrinsic_dimension(rows: ArrayLike) -> float:
    """The dimension that rows fill, at most their columns, from distances to the nearest rows.

    n/Σ log(r₂/r₁), r₁ ≤ r₂ the distances to the two nearest other rows: the maximum of the
    likelihood for rows that are uniform at the scale of their neighbours (Facco, d'Errico,
    Rodriguez and Laio 2017). Equal rows count once.

    >>> line = np.outer(np.random.default_rng(0).uniform(size=500), [1.0, 2.0, 3.0])
    >>> round(intrinsic_dimension(line))
    1
    """
    different = np.unique(np.asarray(rows, dtype=np.float64), axis=0)
    if len(different) < 4:
        return 0.0
    near, _ = cKDTree(different).query(different, k=3)
    ratios = np.log(near[:, 2] / near[:, 1])
    total = float(ratios.sum())
    # On a grid, and among categories, the two nearest rows are equally far, and the likelihood has
    # no maximum.
    width = float(different.shape[1])
    return min(width, len(different) / total) if total > 0 else width


def _centred(gram: Floats) -> Floats:
    """H·K·H with H = I − 11'/n: what an intercept without penalty leaves of a kernel."""
    means = gram.mean(axis=0)
    return np.asarray(gram - means - means[:, None] + means.mean())


def _needed(
    basis: Basis, rows: Floats, targets: Floats, alpha: float, limit: float, seed: int
) -> int:
    """The least K, by doubling, whose features have a leave-one-out error within the limit."""
    count = _FIRST
    while count < _LAST:
        features = basis.draw(seed, rows.shape[1], count).scaled_features(rows)
        gram = features @ features.T
        if left_out_error(*eigen(_centred(gram) / len(rows)), targets, alpha) <= limit:
            break
        count *= 2
    return count


def _rate(decay: Decay, dimension: int) -> tuple[str, float, str]:
    """The part of Theorem II.6 that applies, its exponent, and the growth of N with m."""
    if decay.better == "subexponential":
        return "subexponential", 1.0, f"ln^{dimension}(m)"
    power = decay.polynomial.rate
    if power <= 1.0:
        # The theorem needs c₂ > 1: what is left is the rate of features that are not optimised.
        return "none", 1 / 3, "m^(2/3)"
    return "polynomial", power / (2 + power), f"m^{2 / (2 + power):.2f}"
