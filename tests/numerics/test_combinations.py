"""Products with combinations of bins, and updates of vectors by grid: compiled against plain."""

import numpy as np
import pytest

from kitchensinks.numerics import combinations, steps
from kitchensinks.problem.bins import Combinations
from tests.numerics import twins

SHAPES = [(1, 0, 1), (1, 1, 1), (2, 1, 3), (3, 17, 1), (4, 64, 2), (5, 33_001, 1)]


def numbered(n_grids, n_rows, n_bins=5, seed=0):
    """Columns (grids, n) without gaps, and offsets; the last column of each grid is spare."""
    rng = np.random.default_rng(seed)
    columns = rng.integers(0, n_bins, size=(n_grids, n_rows)) + n_bins * np.arange(n_grids)[:, None]
    return columns.astype(np.int32), np.arange(n_grids + 1) * n_bins


@pytest.mark.parametrize(("n_grids", "n_rows", "n_outputs"), SHAPES)
def test_rows_are_counted_and_renumbered_as_by_the_plain_twins(n_grids, n_rows, n_outputs):
    rng = np.random.default_rng(1)
    columns, offsets = numbered(n_grids, n_rows, n_bins=40)
    columns[rng.random(columns.shape) < 0.2] = -1
    fitted = rng.random(n_rows) < 0.7
    found = {}
    for kind, module in (("", combinations), ("plain", twins)):
        counts, owners = np.zeros((2, offsets[-1]), dtype=np.int32)
        module.count_rows(columns, fitted, counts, owners)
        kept = np.concatenate([[0], np.cumsum(counts > 1)])[offsets]
        ends = kept + np.arange(len(kept))
        order = rng.permutation(np.flatnonzero(fitted)) if not kind else found[""][2]
        numbers = np.full(offsets[-1], -1, dtype=np.int32)
        out = np.empty((n_grids, len(order)), dtype=np.int32)
        module.renumber(columns, order, counts, ends, numbers, out)
        found[kind] = counts, owners, order, numbers, out
    for compiled, plain in zip(*found.values(), strict=True):
        np.testing.assert_array_equal(compiled, plain)


@pytest.mark.parametrize("most", [0, 3, 100])
@pytest.mark.parametrize("n_rows", [0, 1, 50])
def test_pairs_are_numbered_as_by_the_plain_twin(n_rows, most):
    rng = np.random.default_rng(0)
    one, two = rng.integers(0, 6, size=(2, n_rows)).astype(np.int32)
    found = []
    for function in (combinations.combine, twins.combine):
        slots = np.full(256, -1, dtype=np.int32)
        links, out = np.zeros((most, 2), dtype=np.int32), np.zeros(n_rows, dtype=np.int32)
        found.append((function(one, two, 10, slots, links, out), links, out))
    (count, links, out), plain = found
    assert count == plain[0]
    if count >= 0:
        np.testing.assert_array_equal(links, plain[1])
        np.testing.assert_array_equal(out, plain[2])
        np.testing.assert_array_equal(links[out - 10], np.column_stack([one, two]))
    else:
        assert len({*zip(one, two, strict=True)}) > most


@pytest.mark.parametrize(("n_grids", "n_rows", "n_outputs"), SHAPES)
def test_products_with_combinations_agree_with_their_plain_twins(n_grids, n_rows, n_outputs):
    columns, offsets = numbered(n_grids, n_rows)

    def read(grid, out):
        out[:] = columns[grid]

    groups = Combinations.of(read, offsets, n_rows, columns.dtype)
    rng = np.random.default_rng(2)
    n_nodes = offsets[-1] + len(groups.links)
    values = rng.normal(size=(n_nodes, n_outputs))
    values[offsets[1:] - 1] = 0.0
    again, (fast, plain) = values.copy(), np.zeros((2, n_rows, n_outputs))
    for module, own, out in ((combinations, values, fast), (twins, again, plain)):
        module.fill_links(groups.links, groups.ends, own)
        module.sum_nodes(groups.nodes, own, out)
    np.testing.assert_allclose(fast, plain, atol=1e-12)
    np.testing.assert_allclose(fast, values[columns].sum(axis=0), atol=1e-12)
    given = rng.normal(size=(n_rows, n_outputs))
    fast, plain = np.zeros((2, n_nodes, n_outputs))
    combinations.add_to_nodes(*groups, given, fast)
    twins.add_to_nodes(*groups, given, plain)
    np.testing.assert_allclose(fast, plain, atol=1e-9)
    expected = np.zeros((offsets[-1], n_outputs))
    for own in columns:
        np.add.at(expected, own, given)
    np.testing.assert_allclose(fast[: offsets[-1]], expected, atol=1e-9)


@pytest.mark.parametrize("ridges", ["one", "each"])
@pytest.mark.parametrize("offsets", [[0], [0, 1], [0, 3, 3, 10]])
@pytest.mark.parametrize("n_outputs", [1, 3])
def test_updates_of_vectors_agree_with_their_plain_twins(offsets, n_outputs, ridges):
    rng, offsets = np.random.default_rng(3), np.array(offsets)
    n_columns, n_grids = offsets[-1], len(offsets) - 1
    width = n_outputs if ridges == "each" else 1
    alphas, inverse = rng.random(width), 1.0 + rng.random((n_columns, width))
    length = rng.normal(size=n_outputs)
    cross = rng.normal(size=(n_columns, n_outputs))
    # Two rows behind the columns, which are left alone.
    start = rng.normal(size=(4, n_columns + 2, n_outputs))
    found = []
    for module in (steps, twins):
        weights, residual, direction, image = vectors = start.copy()
        bend, sums = np.zeros((n_grids, n_outputs)), np.zeros((3, n_grids, n_outputs))
        module.step(offsets, alphas, direction, image, bend)
        arguments = (weights, residual, direction, image, sums)
        module.move(offsets, length, inverse, cross, *arguments)
        np.testing.assert_array_equal(vectors[:, n_columns:], start[:, n_columns:])
        found.append((vectors, bend, sums))
    for compiled, plain in zip(*found, strict=True):
        np.testing.assert_allclose(compiled, plain, atol=1e-12)
