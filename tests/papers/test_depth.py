"""Stacked layers of random features, and the bounded ReLU networks of the thesis."""

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_iris
from sklearn.utils.estimator_checks import parametrize_with_checks

import kitchensinks as ks
from kitchensinks.papers.depth import ReLUSum
from kitchensinks.papers.depth.stacked import _shares


@parametrize_with_checks(
    [
        ks.StackedSinksClassifier(n_components=20, random_state=0),
        ks.StackedSinksRegressor(n_components=20, n_layers=3, random_state=0),
    ]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


# -- stacked layers ------------------------------------------------------------------------


def test_one_layer_is_the_plain_estimator():
    X, y = load_diabetes(return_X_y=True)
    stacked = ks.StackedSinksRegressor(n_components=50, n_layers=1, random_state=3).fit(X, y)
    plain = ks.KitchenSinkRegressor(ks.Fourier(), 50, random_state=3).fit(X, y)
    np.testing.assert_allclose(stacked.predict(X), plain.predict(X), rtol=1e-6)


def test_shares_are_even_and_go_by_content():
    rows = np.random.default_rng(0).normal(size=(100, 3))
    share = _shares(rows, None, 3, seed=0)
    assert sorted(np.bincount(share)) == [33, 33, 34]
    order = np.random.default_rng(1).permutation(100)
    np.testing.assert_array_equal(_shares(rows[order], None, 3, seed=0), share[order])
    twice = _shares(np.vstack([rows, rows]), None, 3, seed=0)
    np.testing.assert_array_equal(twice, np.tile(share, 2))
    weights = np.r_[np.ones(100), np.zeros(50)]
    more = np.vstack([rows, np.random.default_rng(2).normal(size=(50, 3))])
    np.testing.assert_array_equal(_shares(more, weights, 3, seed=0)[:100], share)


def test_depth_pays_on_the_depth_separation_data():
    """R² 0.18 with one layer, 0.27 with two; three times the features do not do it."""
    X, y, _ = ks.datasets.make_depth_separation(6000, random_state=1)
    train, test = slice(0, 4000), slice(4000, None)

    def score(**parameters):
        model = ks.StackedSinksRegressor(random_state=0, **parameters)
        return model.fit(X[train], y[train]).score(X[test], y[test])

    two = score(n_components=200, n_layers=2)
    assert two > score(n_components=200, n_layers=1) + 0.03
    assert two > score(n_components=600, n_layers=1) + 0.03


def test_depth_does_little_harm_where_it_does_not_pay():
    X, y = load_diabetes(return_X_y=True)
    scores = [
        ks.StackedSinksRegressor(n_components=200, n_layers=n, random_state=0)
        .fit(X[::2], y[::2])
        .score(X[1::2], y[1::2])
        for n in (1, 2, 3)
    ]
    assert min(scores[1:]) > scores[0] - 0.06


def test_scores_weigh_as_much_as_rows_in_any_unit():
    X, y = load_diabetes(return_X_y=True)
    targets = np.column_stack([y, y**2])
    for unit in (1.0, 1e-3, 1e3):
        rows = unit * X * np.arange(1, 11)
        for standardize, variance in ((True, 10.0), (False, rows.var(axis=0).sum())):
            model = ks.StackedSinksRegressor(
                n_components=5, standardize=standardize, random_state=0
            ).fit(rows, targets)
            assert model.chains_[0].emphasis == pytest.approx(np.sqrt(variance / 2))


def test_noise_stays_noise():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(600, 4)), rng.normal(size=600)
    model = ks.StackedSinksRegressor(n_components=300, n_layers=3, random_state=0)
    assert model.fit(X[:300], y[:300]).score(X[300:], y[300:]) > -0.06


def test_several_outputs_and_classes():
    X, y = load_iris(return_X_y=True)
    targets = np.column_stack([X[:, 3], y])
    model = ks.StackedSinksRegressor(n_components=40, random_state=0).fit(X[:, :3], targets)
    assert model.predict(X[:, :3]).shape == (150, 2)
    assert model.score(X[:, :3], targets) > 0.9
    assert model.alphas_.shape == (2, 2)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    model = ks.StackedSinksClassifier(n_components=40, random_state=0).fit(X, names)
    assert model.decision_function(X).shape == (150, 3)
    assert model.score(X, names) > 0.95
    model = ks.StackedSinksClassifier(n_components=40, random_state=0).fit(X, y == 1)
    assert model.decision_function(X).shape == (150,)


def test_any_basis_can_be_stacked():
    X, y = load_iris(return_X_y=True)
    for basis in (ks.ReLU(), ks.Stumps(), ks.Binning(), ks.Maxout()):
        model = ks.StackedSinksClassifier(basis, 60, random_state=0).fit(X, y)
        assert model.score(X, y) > 0.9


def test_bad_stacks_are_refused():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match="n_layers=0: need a whole number of 1 or more"):
        ks.StackedSinksClassifier(n_layers=0).fit(X, y)
    with pytest.raises(TypeError, match=r"n_layers=1\.5 is of type float"):
        ks.StackedSinksClassifier(n_layers=1.5).fit(X, y)
    with pytest.raises(ValueError, match="2 distinct, for n_layers=3"):
        ks.StackedSinksRegressor(n_layers=3).fit(X[[0, 9, 0, 9]], y[[0, 9, 0, 9]])
    with pytest.raises(ValueError, match="one class only"):
        ks.StackedSinksClassifier().fit(X, np.zeros(150))
    with pytest.raises(TypeError, match="need a basis such as"):
        ks.StackedSinksClassifier("fourier").fit(X, y)


# -- bounded networks ----------------------------------------------------------------------


def random_sum(rng, n_inputs, n_outputs, n_units=30, variation=1.0):
    # mostly positive, so that the sum does not cancel
    outer = rng.uniform(-0.2, 1.0, size=(n_outputs, n_units))
    inner = rng.normal(size=(n_outputs, n_units, n_inputs + 1))
    function = ReLUSum(outer, inner)
    return ReLUSum(outer * variation / function.variation, inner)


def ball(rng, n_rows, n_inputs, radius=1.0):
    rows = rng.normal(size=(n_rows, n_inputs))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return radius * rows * rng.uniform(size=(n_rows, 1)) ** (1 / n_inputs)


def test_a_sum_of_units_knows_its_class():
    rng = np.random.default_rng(0)
    function = random_sum(rng, 3, 2, variation=1.7)
    assert function.variation == pytest.approx(1.7)
    parts = [
        ks.theory.relu_variation(outer=c, inner=w)
        for c, w in zip(function.outer, function.inner, strict=True)
    ]
    np.testing.assert_allclose(function.variations, parts)
    rows = ball(rng, 10, 3)
    units = np.maximum(np.einsum("jud,nd->nju", function.inner, np.c_[rows, np.ones(10)]), 0)
    np.testing.assert_allclose(function(rows), (units * function.outer).sum(axis=2))


def test_sampled_units_keep_theorem_iii_13():
    """|ω| = 1, |c| = R̃/N, and the root mean square error over draws is below the bound."""
    rng = np.random.default_rng(1)
    function = random_sum(rng, 3, 1, variation=2.0)
    rows = ball(rng, 400, 3)
    exact = function(rows)
    errors = []
    for n_units in (25, 100, 400):
        draws = [function.sample(n_units, seed) for seed in range(40)]
        for drawn in draws[:3]:
            np.testing.assert_allclose(np.linalg.norm(drawn.inner, axis=2), 1.0)
            np.testing.assert_allclose(np.abs(drawn.outer), 2.0 / n_units)
            assert drawn.variation == pytest.approx(2.0)
        squares = [np.mean((drawn(rows) - exact) ** 2) for drawn in draws]
        errors.append(np.sqrt(np.mean(squares)))
        bound = ks.theory.maurey_error(variation=2.0, n_units=n_units, radius=1.0)
        assert errors[-1] <= bound
        mean = np.mean([drawn(rows) for drawn in draws], axis=0)
        assert np.sqrt(np.mean((mean - exact) ** 2)) < 0.4 * errors[-1]
    slope = np.polyfit(np.log([25, 100, 400]), np.log(errors), 1)[0]
    assert slope == pytest.approx(-0.5, abs=0.1)


def test_built_networks_keep_proposition_iii_15():
    """f(x) = ||x₁| − |x₂||, so large that no network of zeros comes near it."""
    folds = [[1.0, 0.0, 0.0, 0.0], [-1.0, 0.0, 0.0, 0.0]]
    others = [[0.0, 1.0, 0.0, 0.0], [0.0, -1.0, 0.0, 0.0]]
    functions = [
        ReLUSum(np.ones((2, 2)), [folds, others]),
        ReLUSum([1.0, 1.0], [[1.0, -1.0, 0.0], [-1.0, 1.0, 0.0]]),
    ]
    rows = ball(np.random.default_rng(2), 200, 3)
    exact = np.abs(np.abs(rows[:, :1]) - np.abs(rows[:, 1:2]))
    np.testing.assert_allclose(functions[1](functions[0](rows)), exact, atol=1e-12)
    accuracy = 0.1
    bound = ks.theory.relu_network(
        accuracy=accuracy,
        variations=[function.variation for function in functions],
        widths=[2, 1],
        radius=1.0,
        slack=0.5,
    )
    assert np.sqrt(np.mean(exact**2)) > 1.5 * bound.error
    squares = []
    for seed in range(5):
        network = ks.ReLUNetwork.sample(functions, bound.n_units, random_state=seed)
        assert [layer.n_units for layer in network.layers] == list(bound.n_units)
        error = np.sum((network(rows) - exact) ** 2, axis=1)
        # the statement leaves out a set of inputs of small probability
        kept = np.sort(error)[: int(np.ceil(bound.probability * len(rows)))]
        squares.append(kept.sum() / len(rows))
        assert (network.norms(accuracy) <= np.array(bound.weight_norms) * (1 + 1e-9)).all()
    assert np.sqrt(np.mean(squares)) <= bound.error


def test_matrices_are_the_same_network():
    rng = np.random.default_rng(3)
    functions = [random_sum(rng, 3, 2), random_sum(rng, 2, 3), random_sum(rng, 3, 2)]
    network = ks.ReLUNetwork.sample(functions, [7, 5, 6], random_state=0)
    rows = ball(rng, 20, 3)
    for accuracy in (1.0, 0.1):
        *hidden, (last, nothing) = network.matrices(accuracy)
        values = rows
        for weights, bias in hidden:
            values = np.maximum(values @ weights.T + bias, 0)
            assert np.abs(bias).max() <= 1
        np.testing.assert_allclose(values @ last.T + nothing, network(rows), atol=1e-12)
        sizes = [np.linalg.norm(weights) for weights, _ in network.matrices(accuracy)]
        np.testing.assert_allclose(network.norms(accuracy), sizes)


def test_the_zero_function_is_built_too():
    nothing = ReLUSum([[0.0, 0.0], [1.0, 0.0]], np.ones((2, 2, 2)))
    drawn = nothing.sample(5, 0)
    np.testing.assert_allclose(drawn([[1.0], [2.0]]), [[0.0, 2.0], [0.0, 3.0]])


def test_bad_networks_are_refused():
    function = ReLUSum([1.0], [[1.0, 0.0]])
    with pytest.raises(ValueError, match=r"outer of shape \(2,\) and inner of shape \(1, 2\)"):
        ReLUSum([1.0, 2.0], [[1.0, 0.0]])
    with pytest.raises(ValueError, match="infinite or missing"):
        ReLUSum([np.nan], [[1.0, 0.0]])
    with pytest.raises(ValueError, match="takes 1 columns"):
        function([[1.0, 2.0]])
    with pytest.raises(ValueError, match="n_units=0"):
        function.sample(0)
    with pytest.raises(ValueError, match="at least one layer"):
        ks.ReLUNetwork.sample([], [])
    with pytest.raises(ValueError, match="function 0 has 1 outputs and function 1 takes 3"):
        ks.ReLUNetwork.sample([function, ReLUSum([1.0], [[1.0, 0.0, 0.0, 0.0]])], [1, 1])
    with pytest.raises(ValueError, match="accuracy=2"):
        ks.ReLUNetwork.sample([function], [3], 0).norms(2)
