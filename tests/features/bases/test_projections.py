"""Random directions: their law, and how they depend on each other."""

import math

import numpy as np
import pytest
from scipy import stats
from scipy.linalg import hadamard
from scipy.special import hyp1f1

import kitchensinks as ks
from kitchensinks.features.bases.projections import Fastfood, rotation_size

KINDS = ("gaussian", "orthogonal", "hadamard")


def directions_of(basis, n_inputs, n_components, seed=0):
    """ω of every draw as a plain matrix (K, d)."""
    directions = basis.draw(seed, n_inputs, n_components).theta["directions"]
    return matrix_of(directions, n_inputs)


def matrix_of(directions, n_inputs):
    if isinstance(directions, Fastfood):
        return directions.apply(np.eye(n_inputs)).T
    return directions


@pytest.mark.parametrize("n_inputs", [2, 5, 16])
def test_rows_of_an_orthogonal_block_are_orthogonal(n_inputs):
    directions = directions_of(ks.Fourier(gamma=0.5, projection="orthogonal"), n_inputs, n_inputs)
    lengths = np.linalg.norm(directions, axis=1)
    cosines = directions @ directions.T / np.outer(lengths, lengths)
    np.testing.assert_allclose(cosines, np.eye(n_inputs), atol=1e-12)


def test_rows_of_a_hadamard_block_are_uncorrelated_and_not_orthogonal():
    """Cosines of mean 0 and size √(2/(P + 2)): H·G²·H has them off its diagonal."""
    basis = ks.Fourier(gamma=0.5, projection="hadamard")
    blocks = directions_of(basis, 8, 8 * 1000).reshape(1000, 8, 8)
    blocks = blocks / np.linalg.norm(blocks, axis=2, keepdims=True)
    cosines = np.einsum("bij,bkj->bik", blocks, blocks)[:, ~np.eye(8, dtype=bool)]
    assert np.abs(cosines.mean(axis=0)).max() < 5 * math.sqrt(0.2 / 1000)
    assert np.sqrt(np.mean(cosines**2)) == pytest.approx(math.sqrt(0.2), rel=0.05)


def test_different_blocks_are_independent():
    directions = directions_of(ks.Fourier(gamma=0.5, projection="orthogonal"), 4, 8)
    cosines = directions[:4] @ directions[4:].T
    assert np.abs(cosines).max() > 0.1


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("kernel", "nu", "radial"),
    [
        ("gaussian", 1.5, lambda r, d: stats.chi(d).cdf(r)),
        # The length of γ·z·√f/χ_f, divided by γ: its square over d is an F variable.
        ("exponential", 1.5, lambda r, d: stats.f(d, 1).cdf(r**2 / d)),
        ("matern", 1.2, lambda r, d: stats.f(d, 2.4).cdf(r**2 / d)),
    ],
)
@pytest.mark.parametrize("n_inputs", [1, 4, 7])
def test_lengths_have_the_radial_law_of_the_kernel(kernel, nu, radial, kind, n_inputs):
    gamma = 0.5 if kernel == "gaussian" else 1.0
    basis = ks.Fourier(kernel, gamma=gamma, nu=nu, projection=kind)
    lengths = np.linalg.norm(directions_of(basis, n_inputs, 4000), axis=1)
    # Within a block the lengths of Fastfood share ‖G‖ where d < P: thin out to be safe.
    lengths = lengths[:: 8 if kind == "hadamard" else 1]
    assert stats.kstest(lengths, lambda r: radial(r, n_inputs)).pvalue > 1e-3


@pytest.mark.parametrize("kind", KINDS)
def test_directions_on_the_sphere_have_length_one(kind):
    draw = ks.ReLU(gamma=0.5, projection=kind).draw(0, 4, 50)
    directions = draw.theta["directions"]
    if isinstance(directions, Fastfood):
        matrix = directions.apply(np.eye(5)).T
    else:
        matrix = np.hstack([directions, 0.5 * draw.theta["offset"][:, None]])
    np.testing.assert_allclose(np.linalg.norm(matrix, axis=1), 1, rtol=1e-12)


@pytest.mark.parametrize("n_inputs", [1, 3, 4, 8])
def test_hadamard_rows_are_exactly_gaussian(n_inputs):
    """The first row of 3000 blocks: coordinates, a slanted projection, fourth moments."""
    size = rotation_size("hadamard", n_inputs)
    basis = ks.Fourier(gamma=0.5, projection="hadamard")
    rows = directions_of(basis, n_inputs, 3000 * size)[::size]
    slanted = rows @ np.ones(n_inputs) / math.sqrt(n_inputs)
    for sample in (*rows.T, slanted):
        assert stats.kstest(sample, "norm").pvalue > 1e-3
    np.testing.assert_allclose(rows.T @ rows / 3000, np.eye(n_inputs), atol=5 * math.sqrt(2 / 3000))
    # E ‖ω‖⁴ = d(d + 2) tells a Gaussian vector from one of fixed length.
    fourth = (rows**2).sum(axis=1) ** 2
    error = fourth.std() / math.sqrt(3000)
    assert abs(fourth.mean() - n_inputs * (n_inputs + 2)) < 5 * error


def test_three_sign_hadamard_products_are_biased():
    """Why the structured projection is Fastfood: H·D₁·H·D₂·H·D₃ at d = 4 gives 0.275, not 0.325.

    All 2¹² sign patterns are listed and the lengths integrated (chi with 4 degrees of freedom:
    E cos(t·χ₄) = ₁F₁(2; ½; −t²/2)), so the number is exact. The directions are only 24: eight
    along the axes, sixteen along the diagonals.
    """
    matrix = hadamard(4) / 2
    signs = 1 - 2.0 * ((np.arange(16)[:, None] >> np.arange(4)) & 1)
    rows = np.concatenate(
        [
            matrix @ (first[:, None] * matrix) @ (second[:, None] * matrix) * third
            for first in signs
            for second in signs
            for third in signs
        ]
    )
    assert len(np.unique(rows.round(9), axis=0)) == 24
    gap = np.array([1.474, 0.276, 0.0, 0.0])
    assert math.exp(-gap @ gap / 2) == pytest.approx(0.325, abs=5e-4)
    assert hyp1f1(2, 0.5, -((rows @ gap) ** 2) / 2).mean() == pytest.approx(0.275, abs=1e-3)
    draw = ks.Fourier(gamma=0.5, form="paired", projection="hadamard").draw(0, 4, 40_000)
    features = draw.scaled_features(np.stack([gap, np.zeros(4)]))
    assert features[0] @ features[1] == pytest.approx(0.325, abs=0.01)


@pytest.mark.parametrize("kind", KINDS)
def test_the_directions_of_one_maxout_unit_are_independent(kind):
    """Taken from different blocks: over seeds, their inner product has the Gaussian variance d."""
    products = []
    for seed in range(400):
        theta = ks.Maxout(2, projection=kind).draw(seed, 4, 4).theta
        first, second = (matrix_of(theta[f"plane{j}"], 4) for j in (0, 1))
        products.append(np.einsum("ij,ij->i", first, second)[0])
    assert abs(np.mean(products)) < 5 * 2 / math.sqrt(400)
    assert np.var(products) == pytest.approx(4, rel=0.4)


@pytest.mark.parametrize("kind", KINDS)
def test_maxout_with_shared_projections(kind):
    basis = ks.Maxout(3, projections=10, projection=kind)
    draw = basis.draw(0, 4, 200)
    planes, choice = draw.theta["planes"].value, draw.theta["choice"]
    assert [len(plane) for plane in planes] == [4, 3, 3]
    assert choice.shape == (200, 3)
    rows = np.random.default_rng(0).normal(size=(6, 4))
    values = [rows @ matrix_of(plane, 4).T for plane in planes]
    expected = np.max([values[j][:, choice[:, j]] for j in range(3)], axis=0)
    np.testing.assert_allclose(draw.features(rows), expected, rtol=1e-12)
    # No more than 4·3·3 different units can be had from ten directions.
    assert len(np.unique(draw.features(rows).round(9), axis=1).T) <= 36


def test_more_directions_than_columns_and_large_blocks():
    basis = ks.Fourier(gamma=0.5, projection="orthogonal")
    assert basis.block_size(5000) == 1024
    assert basis.block_size(3) == 258
    assert directions_of(basis, 3, 10).shape == (10, 3)


@pytest.mark.parametrize("kernel", ["laplacian", "cauchy"])
@pytest.mark.parametrize("kind", ["orthogonal", "hadamard"])
def test_a_law_with_preferred_axes_cannot_be_rotated(kernel, kind):
    with pytest.raises(ValueError, match=rf"projection='{kind}'.*kernel='{kernel}'.*Use"):
        ks.Fourier(kernel, gamma=1.0, projection=kind).draw(0, 3, 5)


@pytest.mark.parametrize("nu", [0.01, 0.05, 0.25])
def test_directions_of_very_heavy_tails_stay_finite(nu):
    """A Matérn law of ν = 0.01 has quantiles beyond every float; they are cut off."""
    basis = ks.Fourier("matern", gamma=1.0, nu=nu)
    rows = 1e15 * np.random.default_rng(0).normal(size=(4, 3))
    for dtype in (np.float32, np.float64):
        features = basis.draw(0, 3, 5000, dtype).features(rows.astype(dtype))
        assert np.isfinite(features).all()


def test_a_transform_has_the_next_power_of_two():
    assert [rotation_size("hadamard", n) for n in (1, 2, 3, 4, 5, 1023, 1024, 1025)] == [
        *(1, 2, 4, 4, 8, 1024, 1024, 2048)
    ]
