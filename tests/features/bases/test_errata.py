"""Where the papers' formulas on kernels and features do not hold, and ours do.

Each test simulates φ in NumPy alone, and holds the library's value and the printed formula
against that simulation. docs/errata.md tells the reader.
"""

import math

import numpy as np
import pytest
from numpy.polynomial import legendre
from scipy import stats

import kitchensinks as ks
from kitchensinks.features.bases.maxout import (
    argmax_coefficients,
    maxout_kernel,
    mean_maximum,
    same_argmax,
)
from kitchensinks.papers.theory import max_second_moment

N_DRAWS = 400_000


def agrees(value, samples):
    """Whether a value lies within five standard errors of the mean of the samples."""
    return abs(value - samples.mean()) < 5 * samples.std() / math.sqrt(len(samples))


def pools(rho, q, n_draws=N_DRAWS):
    """Projections ⟨w_j, x⟩ and ⟨w_j, z⟩ of unit rows with cosine ρ, two arrays (draws, q)."""
    rng = np.random.default_rng(q)
    first, noise = rng.standard_normal((2, n_draws, q))
    return first, rho * first + math.sqrt(1 - rho**2) * noise


# 1. Maxout paper, Theorem 1: the expected kernel.


@pytest.mark.parametrize("q", [2, 3, 4, 8])
@pytest.mark.parametrize("rho", [-0.6, 0.0, 0.5])
def test_maxout_kernel(q, rho):
    first, second = pools(rho, q)
    products = first.max(axis=1) * second.max(axis=1)
    x, z = np.array([[3.0, 0.0]]), 0.5 * np.array([[rho, math.sqrt(1 - rho**2)]])
    ours = ks.Maxout(q).kernel(x, z)[0, 0] / 1.5
    printed = max_second_moment(pool=q) * rho * same_argmax(rho, q)
    assert agrees(ours, products)
    assert not agrees(printed, products)


def test_maxout_kernel_in_numbers():
    assert maxout_kernel(0.0, 2) == pytest.approx(1 / math.pi)
    assert maxout_kernel(0.0, 4) == pytest.approx(1.060, abs=5e-4)
    assert maxout_kernel(0.5, 8) == pytest.approx(2.134, abs=5e-4)
    assert max_second_moment(pool=8) * 0.5 * same_argmax(0.5, 8) == pytest.approx(0.392, abs=5e-4)
    first, second = pools(0.5, 8)
    together = first.argmax(axis=1) == second.argmax(axis=1)
    alone = (first.max(axis=1) * second.max(axis=1) * together).mean()
    assert alone == pytest.approx(0.838, abs=0.01)


@pytest.mark.parametrize("q", [2, 3, 8])
def test_printed_maxout_kernel_is_right_for_equal_rows(q):
    assert maxout_kernel(1.0, q) == pytest.approx(max_second_moment(pool=q) * same_argmax(1.0, q))
    opposite = max_second_moment(pool=q) * -1 * same_argmax(-1.0, q)
    assert (maxout_kernel(-1.0, q) == pytest.approx(opposite, abs=1e-9)) == (q == 2)


@pytest.mark.parametrize("q", [2, 3, 5])
@pytest.mark.parametrize("rho", [-0.9, 0.3, 0.8])
def test_maxout_kernel_is_the_double_integral(q, rho):
    """(E max)² + ∬ [Φ₂(u, v; ρ)^q − Φ(u)^q·Φ(v)^q] du dv, with SciPy's own Φ₂."""
    grid = np.linspace(-6.5, 6.5, 66)
    u, v = np.meshgrid(grid, grid)
    law = stats.multivariate_normal(cov=[[1.0, rho], [rho, 1.0]])
    both = law.cdf(np.stack([u, v], axis=-1))
    apart = stats.norm.cdf(u) * stats.norm.cdf(v)
    integral = (both**q - apart**q).sum() * (grid[1] - grid[0]) ** 2
    assert maxout_kernel(rho, q) == pytest.approx(mean_maximum(q) ** 2 + integral, abs=1e-6)


def test_slope_of_the_maxout_kernel_is_the_chance_of_a_shared_argmax():
    """Price's theorem, which the quadrature rests on."""
    rho, step = np.linspace(-0.95, 0.95, 20), 1e-5
    for q in (2, 3, 7):
        slope = (maxout_kernel(rho + step, q) - maxout_kernel(rho - step, q)) / (2 * step)
        np.testing.assert_allclose(slope, same_argmax(rho, q), atol=1e-7)


# 2. Maxout paper, Theorem 1: the coefficients of κ_q, and its value at q = 2.


@pytest.mark.parametrize("q", [2, 3, 6])
@pytest.mark.parametrize("rho", [-0.7, 0.0, 0.5, 0.9])
def test_chance_of_a_shared_argmax(q, rho):
    first, second = pools(rho, q)
    assert agrees(same_argmax(rho, q), 1.0 * (first.argmax(axis=1) == second.argmax(axis=1)))


def test_pool_of_two_has_a_closed_form_where_the_printed_coefficient_divides_by_zero():
    q, rho = 2, np.linspace(-1, 1, 21)
    with pytest.raises(ZeroDivisionError):
        q * 1.0 / ((q - 1) * (q - 2))
    np.testing.assert_allclose(same_argmax(rho, 2), 1 - np.arccos(rho) / math.pi, atol=1e-12)
    assert argmax_coefficients(2, 3)[2] == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("q", [3, 4, 10])
def test_printed_coefficients_hold_from_three_on(q):
    second_hermite = (max_second_moment(pool=q) - 1) / math.sqrt(2)
    expected = [
        1 / q,
        mean_maximum(q) ** 2 / (q - 1),
        q * second_hermite**2 / ((q - 1) * (q - 2)),
    ]
    np.testing.assert_allclose(argmax_coefficients(q), expected, rtol=1e-9)


@pytest.mark.parametrize("q", [1, 2, 3, 5])
def test_coefficients_sum_to_the_chance(q):
    """Non-negative, and at ρ = 0.4 twenty of them are enough for nine digits."""
    coefficients = argmax_coefficients(q, 20)
    assert coefficients.min() > -1e-6
    total = np.polynomial.polynomial.polyval(0.4, coefficients)
    assert total == pytest.approx(float(same_argmax(0.4, q)), abs=1e-7)


@pytest.mark.parametrize("q", [1, 2, 4, 20])
def test_moments_of_the_maximum(q):
    largest = np.random.default_rng(q).standard_normal((200_000, q)).max(axis=1)
    assert agrees(mean_maximum(q), largest)
    assert agrees(max_second_moment(pool=q), largest**2)


def test_second_moment_of_the_maximum_grows_as_twice_the_logarithm():
    """Maxout paper, appendix A, prints log q: the slope in log q nears 2, not 1."""
    counts = np.array([1e2, 1e4, 1e6, 1e8])
    moments = np.array([max_second_moment(pool=int(q)) for q in counts])
    slopes = np.diff(moments) / np.diff(np.log(counts))
    assert (np.diff(slopes) > 0).all()
    assert 1.75 < slopes[-1] < 2


# 3. Random bases, Figure 1 and Example b: stumps.


@pytest.mark.parametrize("reach", [0.9, 1.7])
def test_stumps(reach):
    """Inside the cube [−a, a]^d, and outside it, where coordinates count as clipped."""
    rng = np.random.default_rng(0)
    x, z = rng.uniform(-reach, reach, (2, 5))
    column, threshold = rng.integers(5, size=N_DRAWS), rng.uniform(-1, 1, N_DRAWS)
    products = np.where((x[column] >= threshold) == (z[column] >= threshold), 1.0, -1.0)
    ours = ks.Stumps("uniform", a=1.0).kernel([x], [z])[0, 0]
    assert agrees(ours, products)
    assert ours == pytest.approx(1 - np.abs(np.clip(x, -1, 1) - np.clip(z, -1, 1)).sum() / 5)
    assert not agrees(1 - np.abs(x - z).sum(), products)


# 4 and 5. Random bases, Figure 1 and above (12): cosines.


def cosines(phase):
    rng = np.random.default_rng(1)
    x, z, gamma = np.array([0.5, -0.2]), np.array([-0.4, 0.7]), 0.8
    directions = math.sqrt(2 * gamma) * rng.standard_normal((N_DRAWS, 2))
    offset = phase(rng)
    ours = ks.Fourier(gamma=gamma).kernel([x], [z])[0, 0]
    return ours, np.cos(directions @ x + offset) * np.cos(directions @ z + offset)


def test_a_plain_cosine_has_half_the_kernel():
    ours, products = cosines(lambda rng: rng.uniform(-math.pi, math.pi, N_DRAWS))
    assert agrees(ours, 2 * products)
    assert not agrees(ours, products)


@pytest.mark.parametrize("width", [math.pi / 4, 1.0, 2.0])
def test_a_phase_that_is_only_symmetric_does_not_do(width):
    """Half the kernel needs E e^(2ib) = 0; the rest is E cos(ω·(x + z))·cos 2b / 2."""
    ours, products = cosines(lambda rng: rng.uniform(-width, width, N_DRAWS))
    assert not agrees(ours / 2, products)
    leftover = math.exp(-0.8 * (0.1**2 + 0.5**2)) * math.sin(2 * width) / (2 * width)
    assert agrees((ours + leftover) / 2, products)


# 6. Thesis, Algorithm 1: reweighted selection.


def test_resampled_features_keep_the_kernel_only_with_their_weights():
    """Leverage scores of a pool of M features; resampled with p_i, scaled by 1/√(M·p_i)."""
    rng = np.random.default_rng(2)
    rows = rng.normal(size=(40, 3))
    draw = ks.Fourier(gamma=0.4).draw(0, 3, 200)
    pool = draw.features(rows)
    gram = pool.T @ pool / len(rows) / 200
    leverage = np.diag(gram @ np.linalg.inv(gram + 1e-3 * np.eye(200)))
    chances = leverage / leverage.sum()
    chosen = rng.choice(200, size=100_000, p=chances)
    x, z = pool[0, chosen], pool[1, chosen]
    kept = pool[0] @ pool[1] / 200
    assert agrees(kept, x * z / (200 * chances[chosen]))
    assert not agrees(kept, x * z)
    # Without the weights the expected kernel is that of the other law.
    assert agrees((chances * pool[0]) @ pool[1], x * z)


# 7. Thesis, section 2.2: the orthonormal map is not optimised.


@pytest.mark.parametrize(("system", "factor"), [("cosine", 1.9), ("legendre", 40)])
def test_leverage_of_the_orthonormal_map_is_the_printed_sum_only_on_average(system, factor):
    """Σ λ_i/(λ_i + μ)·e_i(ω)²: its mean is d(μ) = Σ λ_i/(λ_i + μ), its maximum is not."""
    order = np.arange(1, 401)
    eigenvalues, mu = order**-4.0, 1e-6
    basis = ks.Orthonormal(eigenvalues, system=system, box=(-1, 1))
    share = eigenvalues / (eigenvalues + mu)
    nodes, weights = legendre.leggauss(1000)
    leverage = basis.functions(nodes[:, None]) ** 2 @ share
    assert leverage @ weights / 2 == pytest.approx(share.sum(), rel=1e-6)
    largest = (basis.functions(np.array([[-1.0], [0.3], [1.0]])) ** 2 @ share).max()
    assert largest > factor * share.sum()


# 8. Thesis, Lemma III.17: coefficients of the ReLU kernel.


def relu_coefficient(p, d):
    """a_p of k(s) = Σ a_p·s^p for even p ≥ 4: (p−3)!!/(p!!·(p−1)) / (2(d+1)π)."""
    double = math.prod(range(p - 3, 0, -2)) / math.prod(range(p, 0, -2))
    return double / (p - 1) / (2 * (d + 1) * math.pi)


@pytest.mark.parametrize("d", [1, 5])
def test_coefficients_of_the_relu_kernel_fall_below_the_printed_bound(d):
    unit, tilted = np.zeros((2, d))
    unit[0], tilted[0] = 0.6, 0.3
    # Rows with the added coordinate 1/γ, then divided by their lengths.
    basis = ks.ReLU(gamma=1.0)
    cross = 1 + unit @ tilted
    lengths = math.sqrt((1 + unit @ unit) * (1 + tilted @ tilted))
    s = cross / lengths
    series = (1 / math.pi + s / 2 + s**2 / (2 * math.pi)) / (2 * (d + 1))
    series += sum(relu_coefficient(p, d) * s**p for p in range(4, 1200, 2))
    assert basis.kernel([unit], [tilted])[0, 0] / lengths == pytest.approx(series, rel=1e-9)
    assert relu_coefficient(4, d) * 2 * (d + 1) * math.pi == pytest.approx(1 / 24)
    for p in range(4, 100, 2):
        assert relu_coefficient(p, d) < 1 / (2 * (d + 1) * math.pi * p**2)
