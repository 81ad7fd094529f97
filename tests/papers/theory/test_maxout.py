"""The maxout bounds against drawn units."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kitchensinks.papers import theory


def slope(counts, values):
    return np.polyfit(np.log(counts), np.log(values), 1)[0]


def sphere(rng, n_rows, n_inputs):
    rows = rng.standard_normal((n_rows, n_inputs))
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def units(rng, rows, n_units, pool):
    """max of `pool` projections of each row, (n_rows, n_units)."""
    vectors = rng.standard_normal((rows.shape[1], n_units * pool))
    return (rows @ vectors).reshape(len(rows), n_units, pool).max(axis=2)


@pytest.mark.parametrize("pool", [1, 2, 5])
def test_second_moment_of_the_largest_normal(pool):
    draws = np.random.default_rng(0).standard_normal((200_000, pool)).max(axis=1) ** 2
    error = 5 * draws.std() / math.sqrt(len(draws))
    assert theory.max_second_moment(pool=pool) == pytest.approx(draws.mean(), abs=error)


def test_second_moment_grows_like_twice_the_printed_logarithm():
    ratios = [theory.max_second_moment(pool=10**k) / (2 * k * math.log(10)) for k in (2, 6, 9)]
    assert 0.7 < ratios[0] < ratios[1] < ratios[2] < 1.0
    assert theory.max_second_moment(pool=10**9) > 1.7 * math.log(10**9)


def test_units_stay_within_lemma_2():
    rng = np.random.default_rng(1)
    rows = sphere(rng, 16, 200)  # 16 = 2⁴ points: Assouad dimension at most 4
    bound = theory.maxout_sup_bound(
        pool=4, n_inputs=200, intrinsic_dimension=4, diameter=2.0, delta=0.1
    )
    tail = theory.maxout_sup_tail(pool=4, n_inputs=200, delta=0.1)
    largest = np.abs(units(rng, rows, 2000, 4)).max(axis=0)
    assert (largest <= bound).mean() >= 1 - tail


def test_sizes_of_units_stay_within_the_norm_bound():
    rng = np.random.default_rng(2)
    rows = np.repeat(sphere(rng, 1, 3), 2, axis=0)  # one point: the largest spread
    sizes = np.sqrt((units(rng, rows, 20_000, 4) ** 2).mean(axis=0))
    for tail in (0.5, 0.1, 0.01):
        assert (sizes <= theory.maxout_norm_bound(pool=4, tail=tail)).mean() >= 1 - tail


@pytest.mark.parametrize("delta", [0.5, 0.1])
def test_constructed_weights_stay_within_lemma_3(delta):
    """The weight C/m on every unit stands for the constant C·E max on the sphere."""
    rng = np.random.default_rng(3)
    rows, counts, means = sphere(rng, 12, 3), [20, 80, 320], []
    target = 2.0 * 1.0293753730039641  # E max of 4 normals
    for n_units in counts:
        tail = 1 / n_units
        size = theory.maxout_norm_bound(pool=4, tail=tail)
        bound = theory.maxout_l2_error(
            weight_bound=2.0, n_units=n_units, pool=4, unit_bound=size, tail=tail, delta=delta
        )
        runs = []
        for _ in range(200):
            values = units(rng, rows, n_units, 4)
            kept = np.sqrt((values**2).mean(axis=0)) <= size
            fit = 2.0 * values[:, kept].sum(axis=1) / n_units
            runs.append(np.sqrt(((fit - target) ** 2).mean()))
        assert (np.array(runs) <= bound).mean() >= 1 - delta
        means.append(np.mean(runs))
    assert slope(counts, means) == pytest.approx(-0.5, abs=0.1)


@pytest.mark.parametrize(("n_rows", "n_units"), [(100, 30), (900, 270)])
def test_fitted_sum_stays_within_theorem_2(n_rows, n_units):
    """With V(u) = (1 - u)/2 and |f| <= 1 the fit is a sign, and the risks are exact."""
    rng = np.random.default_rng(4)
    grid, weight_bound, delta = sphere(rng, 12, 3), 0.2, 0.1
    clarity = 0.8 * np.sign(grid[:, 0])  # E[y | x]
    best = (1 - weight_bound * np.abs(clarity @ units(rng, grid, 100_000, 4) / 12).mean()) / 2
    tail = 1 / n_units
    bound = theory.maxout_excess_risk(
        lipschitz=0.5,
        weight_bound=weight_bound,
        loss_at_zero=0.5,
        n_rows=n_rows,
        n_units=n_units,
        pool=4,
        unit_bound=theory.maxout_norm_bound(pool=4, tail=tail),
        tail=tail,
        delta=delta,
    )
    excess = []
    for _ in range(100):
        values = units(rng, grid, n_units, 4)
        rows = rng.integers(0, 12, n_rows)
        labels = np.where(rng.random(n_rows) < (1 + clarity[rows]) / 2, 1.0, -1.0)
        fit = values @ np.sign(labels @ values[rows]) * weight_bound / n_units
        assert np.abs(fit).max() <= 1
        excess.append((1 - clarity * fit).mean() / 2 - best)
    assert (np.array(excess) <= bound).mean() >= 1 - 3 * delta


def test_deviation_of_theorem_2_has_the_two_over_delta_of_its_proof():
    law = {"lipschitz": 1e-9, "weight_bound": 1e-9, "loss_at_zero": 0.0, "n_units": 10**9}
    law |= {"pool": 2, "unit_bound": 1.0, "tail": 1e-9}
    risk = theory.maxout_excess_risk(n_rows=4, delta=0.1, **law)
    assert risk == pytest.approx(2 * math.sqrt(2 * math.log(20) / 4), rel=1e-6)
    assert risk > 1.1 * 2 * math.sqrt(2 * math.log(10) / 4)  # printed


def test_sup_bound_in_the_papers_form_takes_its_constant():
    law = {"pool": 4, "n_inputs": 9, "intrinsic_dimension": 2, "diameter": 2.0, "delta": 0.1}
    one = theory.maxout_sup_bound(constant=1.0, **law)
    assert one == pytest.approx(math.sqrt(2 * math.log(60) + math.log(5)))
    assert theory.maxout_sup_bound(constant=3.0, **law) == pytest.approx(3 * one)
    with pytest.raises(ValueError, match="constant=0: need a positive finite number"):
        theory.maxout_sup_bound(constant=0, **law)
    with pytest.raises(ValueError, match="Leave constant=None"):
        theory.maxout_sup_bound(constant=1.0, **(law | {"diameter": 0.01}))
    assert theory.maxout_sup_bound(**(law | {"diameter": 0.01})) >= 1


@settings(max_examples=25)
@given(st.floats(0.1, 5), st.floats(0.2, 2), st.floats(1e-4, 0.9))
def test_inverses_meet_the_error(weight_bound, error, delta):
    tail = (error / weight_bound / 4) ** 2 / theory.max_second_moment(pool=3)
    tail = min(tail, 0.5)
    law = {"weight_bound": weight_bound, "pool": 3, "tail": tail, "delta": delta}
    law["unit_bound"] = theory.maxout_norm_bound(pool=3, tail=tail)
    n_units = theory.solve("n_units", theory.maxout_l2_error, value=error, **law)
    assert theory.maxout_l2_error(n_units=n_units, **law) <= error
    if n_units > 1:
        assert theory.maxout_l2_error(n_units=n_units - 1, **law) > error
    law |= {"lipschitz": 1.0, "loss_at_zero": 1.0}
    excess = theory.maxout_excess_risk
    n_rows = theory.solve("n_rows", excess, value=2 * error, n_units=n_units, **law)
    assert excess(n_rows=n_rows, n_units=n_units, **law) <= 2 * error
    fewest = theory.solve("n_units", excess, value=2 * error, n_rows=n_rows, **law)
    assert fewest <= n_units
    assert excess(n_rows=n_rows, n_units=fewest, **law) <= 2 * error


def test_units_of_theorem_2_make_the_relative_size():
    n_units = theory.maxout_approximation_units(unit_bound=7.0, error=0.3)
    assert 7.0 / math.sqrt(n_units) <= 0.3 < 7.0 / math.sqrt(n_units - 1)


def test_tail_too_heavy_for_the_error_is_refused():
    law = {"weight_bound": 1.0, "pool": 4, "unit_bound": 3.0, "tail": 0.5, "delta": 0.1}
    with pytest.raises(ValueError, match=r"no count brings it lower.* or change .*tail=0.5"):
        theory.solve("n_units", theory.maxout_l2_error, value=0.1, **law)


def test_remark_2_by_homogeneity():
    """Inputs of length R with weights C are inputs of length 1 with weights R·C; a loss up to B is
    B times one up to 1 with L/B and V(0)/B."""
    law = {"n_rows": 10**5, "n_units": 10**4, "pool": 4, "tail": 1e-4, "delta": 0.05}
    law["unit_bound"] = theory.maxout_norm_bound(pool=4, tail=1e-4)
    for radius, bound in ((3.0, 2.0), (0.1, 5.0), (2.0, 0.2)):
        found = theory.maxout_excess_risk(
            lipschitz=1.0,
            weight_bound=0.7,
            loss_at_zero=0.1,
            radius=radius,
            loss_bound=bound,
            **law,
        )
        plain = theory.maxout_excess_risk(
            lipschitz=1.0 / bound, weight_bound=0.7 * radius, loss_at_zero=0.1 / bound, **law
        )
        assert found == pytest.approx(bound * plain)
    one = {"lipschitz": 1.0, "weight_bound": 0.7, "loss_at_zero": 0.0}
    printed = 0.2 * theory.maxout_excess_risk(**one, **law)
    assert theory.maxout_excess_risk(**one, **law, radius=0.2) > printed
