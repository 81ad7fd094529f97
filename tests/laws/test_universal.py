"""What every basis says of its reach, put to the kernel: Σ c_i c_j k(x_i, x_j) = 0 is a witness.

A kernel whose functions are dense has no such rows and coefficients; one that is not dense on the
plane has some. (A kernel of zero sum for c is blind to the measure Σ c_i·δ(x_i).)
"""

import numpy as np
import pytest

import kitchensinks as ks
from tests.catalogue import ANY_WIDTH, name_of

ANGLES = np.arange(6) * np.pi / 3
CIRCLE = np.column_stack([np.cos(ANGLES), np.sin(ANGLES)])
ALTERNATING = np.array([1.0, -1.0] * 3)
WITNESSES = {
    "interaction": (np.array([[-1.0, -1], [-1, 1], [1, -1], [1, 1]]), np.array([1.0, -1, -1, 1])),
    "ray": (np.array([[0.6, 0.3], [1.2, 0.6]]), np.array([2.0, -1.0])),
    "line": (np.array([[-0.5, 0.2], [0.0, 0.0], [0.5, -0.2]]), np.array([1.0, -2.0, 1.0])),
    "odd": (CIRCLE, ALTERNATING),
}


def seen(basis, witness):
    """Σ c_i c_j k(x_i, x_j), as a share of what it is without cancellation."""
    rows, signs = WITNESSES[witness]
    kernel = basis.kernel(rows)
    return signs @ kernel @ signs / (np.abs(signs) @ np.abs(kernel) @ np.abs(signs))


@pytest.mark.parametrize("basis", ANY_WIDTH, ids=name_of)
def test_every_basis_says_how_far_it_reaches(basis):
    answer, reason = basis.universal
    assert reason.endswith(".")
    assert bool(basis.universal) == (answer is True)
    if "Orthonormal" in repr(basis) or (answer is None and "Product" not in repr(basis)):
        return
    values = [seen(basis, witness) for witness in WITNESSES]
    if answer:
        assert min(values) > 1e-9
    elif answer is False:
        assert min(np.abs(values)) < 1e-12


def test_which_bases_are_universal():
    for basis in (ks.Fourier(), ks.Binning(), ks.Sigmoid(), ks.Sigmoid("step"), ks.ReLU()):
        assert basis.universal
    for basis in (ks.Stumps(), ks.Maxout(4), ks.Linear(), ks.Orthonormal([1.0])):
        assert basis.universal.answer is False
    assert ks.Union([ks.Stumps(), ks.Fourier()]).universal
    assert ks.Union([ks.Stumps(), ks.Linear()]).universal.answer is None
    assert ks.Product([ks.Fourier(), ks.Binning()]).universal
    assert ks.Product([ks.Fourier(), ks.Linear()]).universal.answer is None
    assert ks.Custom(len, len).universal.answer is None
    assert ks.Reweighted(ks.Stumps()).universal.answer is False


def test_a_pool_of_two_lacks_odd_powers_on_the_sphere():
    """cos 3t on the circle: blind with q = 2 and not with q = 3, as the reasons say."""
    assert abs(seen(ks.Maxout(2), "odd")) < 1e-12
    assert seen(ks.Maxout(3), "odd") > 1e-6
    assert "odd powers" in ks.Maxout(2).universal.reason


def test_theorem_iii_4_needs_continuity():
    """σ(z) = 1 where z = 0 is bounded and no polynomial, and its features are zero on all rows."""
    spike = ks.Custom(
        lambda rng, d, n: rng.standard_normal((n, d + 1)),
        lambda rows, theta: 1.0 * (rows @ theta[:, :-1].T + theta[:, -1] == 0.0),
        bound=1.0,
    )
    assert not spike.kernel(np.random.default_rng(0).normal(size=(5, 2))).any()
