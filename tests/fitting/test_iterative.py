"""Fits without a Gram: conjugate gradients, many sparse columns, stochastic gradients."""

import pickle
import warnings

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Ridge

import kitchensinks as ks
from kitchensinks.cli.options import in_options
from kitchensinks.fitting import plan, sizes
from kitchensinks.fitting.sparse import WarmStarts
from tests.catalogue import build
from tests.jobs import python

ROWS, VALUES = load_diabetes(return_X_y=True)
CANCER = load_breast_cancer(return_X_y=True)
CLASSIFIERS = ["squared", "hinge", "squared_hinge", "logistic", "exponential"]


# Conjugate gradients.


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("n_components", [40, 600])
@pytest.mark.parametrize("alpha", [1e-2, 1e-7])
def test_conjugate_gradients_are_the_direct_solution(alpha, n_components, intercept):
    weights = np.random.default_rng(0).integers(0, 3, len(VALUES)).astype(float)
    targets = np.column_stack([VALUES, 1e-4 * VALUES[::-1]])
    options = {"n_components": n_components, "alpha": alpha, "fit_intercept": intercept}
    options |= {"random_state": 0, "tol": 1e-8}
    direct = build(ks.KitchenSinkRegressor, **options).fit(ROWS, targets, sample_weight=weights)
    model = build(ks.KitchenSinkRegressor, solver="conjugate", **options)
    model.fit(ROWS, targets, sample_weight=weights)
    assert model.solver_ == "conjugate gradients"
    assert model.converged_
    assert model.objective_ == pytest.approx(direct.objective_, rel=1e-6)
    assert model.objective_ - direct.objective_ <= model.gap_ + 1e-9 * direct.objective_
    error = np.abs(model.predict(ROWS) - direct.predict(ROWS)).max(axis=0)
    assert (error < 1e-3 * targets.std(axis=0)).all()
    assert model.effective_dimension_ == pytest.approx(direct.effective_dimension_, rel=0.05)


@pytest.mark.parametrize("alpha", [1e-3, 1e-6, 1e-9])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_conjugate_gradients_converge_where_the_gap_is_within_tol(alpha, dtype):
    solver = ks.Solver("conjugate", dtype=dtype)
    model = ks.KitchenSinkRegressor(ks.Fourier(), 100, alpha=alpha, solver=solver, random_state=0)
    model.fit(*load_diabetes(return_X_y=True))
    assert model.converged_
    assert model.gap_ <= solver.tol * model.objective_


def test_a_learned_fit_on_bins_that_stops_early_says_so_without_a_warning():
    X, y = make_classification(600, 5, n_informative=4, n_redundant=0, random_state=0)
    basis = ks.Learned(ks.Binning(), effort="quick")
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        model = ks.KitchenSinkClassifier(basis, random_state=0).fit(X, y)
    assert model.converged_ == (model.gap_ <= model.state_.settings.tol * model.objective_)


def test_sup_balls_on_coincident_bins_do_not_fail():
    # Bins of one grid sum to one, so that the Gram is singular and rounding makes it indefinite.
    X, y = load_diabetes(return_X_y=True)
    model = ks.KitchenSinkRegressor(ks.Binning(), 20, constraint=ks.SupBall(1e4), random_state=0)
    assert model.fit(X, y).converged_


@pytest.mark.parametrize(
    ("loss", "radius"),
    [*((loss, 10_000.0) for loss in CLASSIFIERS), ("squared", 100.0), ("hinge", 100.0)],
)
def test_sup_balls_on_bins_in_float32_do_not_fail(loss, radius):
    X, y = load_diabetes(return_X_y=True)
    model = ks.KitchenSinkClassifier(
        ks.Binning(), 5, loss=loss, constraint=ks.SupBall(radius), random_state=0
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X.astype(np.float32), y > 140.0)
    assert model.gap_ <= 0.05 * model.objective_


@pytest.mark.parametrize("n_components", [20, 400])
def test_blocks_of_features_are_dense(n_components):
    model = ks.KitchenSinkRegressor(ks.Binning(), n_components, alpha=1e-3, solver="blocks")
    with pytest.raises(ValueError, match="this one has sparse ones: use solver='auto'"):
        model.fit(*load_diabetes(return_X_y=True))


def test_a_block_without_a_row_of_the_sample_does_no_harm():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4097, 3)).astype(np.float32)
    y = np.sin(X[:, 0])
    options = {"basis": ks.Fourier(), "n_components": 20, "alpha": 1e-4, "random_state": 0}
    direct = build(ks.KitchenSinkRegressor, **options).fit(X, y)
    model = build(ks.KitchenSinkRegressor, solver="conjugate", tol=1e-6, **options).fit(X, y)
    np.testing.assert_allclose(model.predict(X), direct.predict(X), atol=1e-3)


@pytest.mark.parametrize("solver", ["conjugate", "blocks"])
def test_few_sparse_columns_have_no_use_for_these_solvers(solver):
    model = ks.KitchenSinkRegressor(ks.Binning(), 3, alpha=1e-3, solver=solver)
    with pytest.raises(ValueError, match="needs a basis with dense features"):
        model.fit(ROWS, VALUES)


def test_a_ridge_below_the_rounding_of_the_gram_is_fitted_all_the_same():
    X = np.random.default_rng(0).normal(size=(2000, 3)).astype(np.float32)
    model = ks.KitchenSinkRegressor(
        ks.Fourier(gamma=1e-3), 200, alpha=1e-13, solver=ks.Solver("conjugate", dtype="float32")
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, X[:, 0])
    assert np.isfinite(model.predict(X)).all()
    with pytest.raises(ValueError, match="needs a larger alpha or dtype='float64'"):
        model.set_params(solver__name="blocks").fit(X, X[:, 0])


def test_auto_takes_conjugate_gradients_where_the_rule_says(monkeypatch):
    monkeypatch.setattr(plan, "CONJUGATE_COLUMNS", 20)
    monkeypatch.setattr(sizes, "PASS_PRODUCTS", 0.0)
    monkeypatch.setattr(sizes, "OUTPUT_PRODUCTS", 0.01)
    X, y = CANCER
    model = ks.KitchenSinkClassifier(ks.Fourier(), n_components=30, alpha=1e-4, random_state=0).fit(
        X, y
    )
    assert model.solver_ == "conjugate gradients"
    direct = ks.KitchenSinkClassifier(
        ks.Fourier(), n_components=30, alpha=1e-4, random_state=0, solver="direct"
    ).fit(X, y)
    assert direct.solver_ == "direct (Cholesky)"
    np.testing.assert_allclose(model.predict_proba(X), direct.predict_proba(X), atol=0.02)


@pytest.mark.parametrize("weighted", [False, True])
def test_auto_makes_the_gram_after_all_where_passes_converge_slowly(weighted, monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.standard_cauchy(size=(3000, 5))
    y = np.sin(X[:, 0]) + 0.01 * rng.normal(size=3000)
    weights = rng.integers(0, 3, len(y)).astype(float) if weighted else None
    given = {"n_components": 150, "alpha": 1e-9, "random_state": 0}
    direct = ks.KitchenSinkRegressor(ks.Fourier(), solver="direct", **given).fit(X, y, weights)
    asked = ks.KitchenSinkRegressor(ks.Fourier(), solver="conjugate", **given).fit(X, y, weights)
    assert asked.n_iter_ > 8
    monkeypatch.setattr(plan, "CONJUGATE_COLUMNS", 20)
    monkeypatch.setattr(plan, "CONJUGATE_SHARE", 1e6)
    found = ks.KitchenSinkRegressor(ks.Fourier(), **given).fit(X, y, weights)
    assert found.plan_.solver == "direct"
    assert "passes of conjugate gradients" in found.plan_.reason
    assert found.solver_ == direct.solver_
    assert found.converged_
    np.testing.assert_allclose(found.predict(X), direct.predict(X), atol=1e-6)
    np.testing.assert_allclose(found.objective_, direct.objective_, rtol=1e-6)


@pytest.mark.parametrize(("loss", "weighted"), [("logistic", False), ("squared_hinge", True)])
def test_the_metric_of_a_sample_leads_to_the_same_optimum(loss, weighted, monkeypatch):
    X, y = make_classification(1500, 6, n_informative=5, n_redundant=0, n_classes=3, random_state=0)
    weights = np.random.default_rng(1).integers(0, 3, len(y)) if weighted else None
    model = ks.KitchenSinkClassifier(
        ks.Fourier(), 40, alpha=1e-4, loss=loss, solver=ks.Solver(tol=1e-8), random_state=0
    )
    exact = model.fit(X, y, weights).model_.scores(X)
    monkeypatch.setattr(plan, "SAMPLED_COLUMNS", 20)
    found = model.fit(X, y, weights)
    assert np.isnan(found.condition_number_)  # the Gram of all rows was not made
    assert found.gap_ <= 1e-8 * found.objective_
    np.testing.assert_allclose(found.model_.scores(X), exact, atol=5e-3)
    assert 1.0 < found.effective_dimension_ < 40.0
    assert found.state_.sums is None  # no Gram in it
    found_by = found.plan_.solver
    weak = model.set_params(alpha=1e-9, solver__tol=1e-3).fit(X, y, weights)
    assert np.isfinite(weak.condition_number_)
    assert (found_by, weak.plan_.solver) == ("sampled", "quasi-newton")
    assert "'sampled' that was planned" in weak.plan_.reason


@pytest.mark.parametrize(
    "options",
    [
        {"loss": "logistic", "alpha": 1e-8},
        {"loss": "hinge", "alpha": 1e-8},
        {"loss": "exponential", "constraint": ks.SupBall(50.0)},
    ],
    ids=str,
)
def test_solvers_that_stop_early_say_so(options):
    X, y = CANCER
    model = build(ks.KitchenSinkClassifier, n_components=50, max_iter=1, random_state=0, **options)
    with pytest.warns(ConvergenceWarning, match="stopped after 1 iterations.*of ks.Solver") as told:
        model.fit(X, y)
    (said,) = (str(one.message) for one in told if one.category is ConvergenceWarning)
    assert "above tol=0.001" in said
    assert in_options(said).endswith(". Raise --alpha.")
    assert not model.converged_
    assert model.gap_ > 1e-3 * model.objective_


# Many sparse columns.


def binned(loss, **options):
    """Six thousand rows, a few thousand columns."""
    options = {"alpha": 1e-3, "random_state": 0, "tol": 1e-3, "max_iter": 2000, **options}
    kind = ks.KitchenSinkRegressor if loss in ("huber", "quantile") else ks.KitchenSinkClassifier
    X, y = make_classification(6000, 5, n_informative=4, n_redundant=0, random_state=0)
    return build(kind, ks.Binning(gamma=0.5), 15, loss, **options), X, y


def dense_counterpart(monkeypatch, model, X, y):
    monkeypatch.setattr(sizes, "DENSE_COLUMNS", 10**9)
    from sklearn.base import clone

    return clone(model).set_params(solver__tol=3e-4).fit(X, y)


def test_no_fold_starts_from_a_fit_to_its_held_out_rows(monkeypatch):
    """The coefficients of the fold before, which had fitted these rows, were left."""
    starts, scores = [], WarmStarts.held_out_scores

    def noted(path, *given):
        starts.append((path.last is None, not path.kept))
        return scores(path, *given)

    monkeypatch.setattr(WarmStarts, "held_out_scores", noted)
    monkeypatch.setattr(sizes, "DENSE_COLUMNS", 10)
    X = np.random.default_rng(0).normal(size=(300, 2))
    model = build(ks.KitchenSinkRegressor, ks.Binning(gamma=0.2), 6, "quantile", alpha=1e-2)
    model.fit(X, X[:, 0])
    assert model.plan_.solver == "sparse coordinates"
    assert starts == [(True, True)] * 2


@pytest.mark.parametrize("constraint", [None, ks.SupBall(20.0), ks.L2Ball(0.8)], ids=str)
@pytest.mark.parametrize("loss", [*CLASSIFIERS, "huber", "quantile"])
def test_every_loss_and_ball_on_many_sparse_columns(loss, constraint, monkeypatch):
    options = {} if constraint is None else {"alpha": "auto"}
    # ADMM alone, without the Newton steps that need a Gram, is slow in a sup-norm ball.
    slow = loss in ("hinge", "quantile") and isinstance(constraint, ks.SupBall)
    if slow and loss == "hinge":
        constraint = ks.SupBall(2.0)
    model, X, y = binned(loss, constraint=constraint, tol=5e-2 if slow else 1e-3, **options)
    X, y = X[:400], y[:400].astype(float)
    monkeypatch.setattr("kitchensinks.fitting.plan.SPAN_ROWS", 0)
    monkeypatch.setattr("kitchensinks.fitting.sizes.DENSE_COLUMNS", 30)
    model.set_params(n_components=5, basis=ks.Binning(gamma=0.2)).fit(X, y)
    assert "(sparse)" in model.solver_
    assert model.converged_
    dense = dense_counterpart(monkeypatch, model, X, y)
    assert "(sparse)" not in dense.solver_
    assert model.objective_ <= dense.objective_ * (1 + 1.1 * model.solver.tol) + 1e-9
    assert model.objective_ - model.gap_ <= dense.objective_ * (1 + 1e-6)
    if constraint is None and loss != "quantile":
        difference = np.abs(model.model_.scores(X) - dense.model_.scores(X)).mean()
        assert difference < 0.05


def test_ridge_on_many_sparse_columns():
    model, X, y = binned("squared", alpha=1e-4, tol=1e-8)
    model.fit(X, y)
    features = model.law_.features.features(X)
    assert features.shape[1] > 2000
    peer = Ridge(1e-4 * len(y), fit_intercept=True, solver="sparse_cg", tol=1e-10)
    peer.fit(features, 2.0 * y - 1.0)
    np.testing.assert_allclose(model.decision_function(X), peer.predict(features), atol=2e-3)
    chosen, X, y = binned("squared", alpha="auto")
    chosen.fit(X[::2], y[::2])
    assert chosen.alpha_ == chosen.alphas_[np.argmin(chosen.alpha_errors_)]
    assert chosen.score(X[1::2], y[1::2]) > 0.85
    chance = chosen.predict_proba(X[1::2])
    assert np.mean((chance[:, 1] - y[1::2]) ** 2) < 0.1


def test_a_million_columns():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6000, 30))
    y = X[:, 0] + 0.1 * rng.normal(size=6000)
    model = ks.KitchenSinkRegressor(ks.Binning(gamma=0.4), 250, alpha=1e-3, random_state=0)
    model.fit(X, y)
    assert model.model_.weights.shape[0] > 10**6
    assert model.converged_


# Stochastic gradients.


@pytest.mark.parametrize("ball", [None, ks.L2Ball, ks.SupBall])
@pytest.mark.parametrize("loss", CLASSIFIERS)
def test_stochastic_gradients_learn_classes(loss, ball):
    """Weights without a ball are beyond each of the two."""
    X, y = CANCER
    radius = 0.3 if loss in ("squared", "squared_hinge") else 0.7
    constraint = {None: None, ks.L2Ball: ks.L2Ball(radius), ks.SupBall: ks.SupBall(10.0)}[ball]
    model = ks.KitchenSinkClassifier(
        ks.Fourier(),
        n_components=100,
        loss=loss,
        constraint=constraint,
        solver=ks.Solver("stochastic", max_iter=20),
        random_state=0,
    ).fit(X[::2], y[::2])
    assert model.solver_ == "stochastic gradients"
    assert model.gap_ == np.inf
    assert model.score(X[1::2], y[1::2]) > 0.93
    assert np.mean((model.predict_proba(X[1::2])[:, 1] - y[1::2]) ** 2) < 0.08
    raw = model.model_.weights * model.model_.draw.scale
    if ball is not ks.SupBall:
        assert (np.linalg.norm(raw) <= radius * (1 + 1e-9)) == (ball is ks.L2Ball)
    if ball is not ks.L2Ball:
        assert (model.alpha_sup_norm_ <= 0.1 * (1 + 1e-9)) == (ball is ks.SupBall)


@pytest.mark.parametrize("loss", ["squared", "huber", "quantile"])
def test_stochastic_gradients_learn_values(loss):
    model = ks.KitchenSinkRegressor(
        ks.Fourier(), n_components=30, loss=loss, alpha=1e-5, solver="stochastic", random_state=0
    ).fit(ROWS[::2], VALUES[::2])
    assert model.score(ROWS[1::2], VALUES[1::2]) > (0.1 if loss == "quantile" else 0.3)


def test_a_draw_that_is_not_held_gives_the_same_fit(monkeypatch):
    """Features made anew part by part, in every solver and in predictions."""
    from kitchensinks.features import frozen as features

    X, y = CANCER
    for options in (
        {"solver": "stochastic", "max_iter": 3},
        {"alpha": 1e-3},
        {"loss": "logistic", "alpha": 1e-3},
        {"basis": ks.Fourier(form="paired"), "alpha": 1e-3},
        {"basis": ks.Union([ks.Fourier(form="paired"), ks.ReLU()]), "alpha": 1e-3},
    ):
        options = {"n_components": 600, "random_state": 0, **options}
        held = build(ks.KitchenSinkClassifier, **options).fit(X, y)
        with monkeypatch.context() as patch:
            patch.setattr(features, "HELD_DRAW", 30 * 8 * 500)
            parted = build(ks.KitchenSinkClassifier, **options).fit(X, y)
            assert not parted.law_.features.held
            assert len(list(parted.law_.features.walk(X))) > 1
            np.testing.assert_allclose(
                parted.decision_function(X), held.decision_function(X), atol=1e-7
            )


def test_memory_that_does_not_suffice_is_said():
    X, y = CANCER
    model = ks.KitchenSinkClassifier(
        ks.Fourier(), n_components=400, solver=ks.Solver(memory_budget="2MB"), random_state=0
    )
    with pytest.warns(UserWarning, match="more than the memory budget.*stochastic gradients"):
        model.fit(X, y)
    assert model.solver_ == "stochastic gradients"
    with pytest.raises(ValueError, match=r"Gram matrix of 400 features.*0\.002 GB.*solver='auto'"):
        model.set_params(solver__name="direct").fit(X, y)


LARGE = """
import pickle, resource, sys
import numpy as np
import kitchensinks as ks
K, d, n = (int(word) for word in sys.argv[1:])
rng = np.random.default_rng(0)
X = rng.normal(size=(n, d)).astype(np.float32)
y = np.sign(X[:, 0])
def solver(epochs):
    return ks.Solver("stochastic", max_iter=epochs)
ks.KitchenSinkClassifier(ks.Fourier(), 50, solver=solver(1)).fit(X[:20], y[:20])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
model = ks.KitchenSinkClassifier(
    ks.Fourier(gamma=1.0 / d), n_components=K, solver=solver(2), random_state=0
).fit(X, y)
model.partial_fit(X[:50], y[:50])
score = model.score(X[:50], y[:50])
after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print((after - before) * 1024, len(pickle.dumps(model)), score)
"""


def large(n_components, n_inputs, n_rows):
    """Bytes beyond the input, bytes of the pickle, and share of right classes, in a new process."""
    memory, size, score = python("-c", LARGE, n_components, n_inputs, n_rows, timeout=600).split()
    return int(memory), int(size), float(score)


def test_many_features_are_not_stored():
    memory, size, score = large(20_000, 440, 100)
    # The matrix of directions would be 35 MB, the Gram 3.2 GB.
    assert memory < 400e6
    assert size < 6 * 8 * 20_000
    assert score > 0.9


@pytest.mark.slow
def test_four_hundred_thousand_features_over_440_inputs():
    memory, size, score = large(400_000, 440, 300)
    assert memory < 1.5e9
    assert size < 6 * 8 * 400_000
    assert score > 0.9


def test_a_pickle_holds_the_seed_and_not_the_draw():
    X, y = np.random.default_rng(0).normal(size=(300, 500)), np.arange(300.0)
    model = ks.KitchenSinkRegressor(
        ks.Fourier(), n_components=2000, alpha=1e-3, random_state=0
    ).fit(X, y)
    model.predict(X)
    small = pickle.dumps(model.model_)
    assert len(small) < 8 * (2000 + 3 * 500) + 5000
    again = pickle.loads(small)
    np.testing.assert_array_equal(again.scores(X), model.model_.scores(X))


def test_lbfgs_goes_on_where_a_ridge_is_too_weak_for_dual_coordinates(monkeypatch):
    monkeypatch.setattr("kitchensinks.fitting.plan.SPAN_ROWS", 0)
    monkeypatch.setattr(sizes, "DENSE_COLUMNS", 10)
    X = np.random.default_rng(0).normal(size=(300, 2))
    model = build(ks.KitchenSinkClassifier, ks.Binning(gamma=0.1), 30, "squared_hinge", alpha=1e-6)
    model.fit(X, X[:, 0] * X[:, 1] > 0.0)
    assert model.converged_
    assert model.solver_ == "l-bfgs by rows (sparse)"
    assert str(model.plan_).startswith("sparse rows in the bins: the ridge is too weak for the")


def test_a_fit_without_progress_is_not_told_to_go_on():
    rows = np.random.default_rng(0).normal(size=(900, 3))
    targets = np.sin(2 * rows[:, 0]) + rows[:, 1]
    loss = ks.losses.Quantile(0.9)
    with pytest.warns(ConvergenceWarning, match="made no progress after .* a larger alpha") as told:
        ks.KitchenSinkRegressor(ks.Fourier(), loss=loss, random_state=0).fit(rows, targets)
    assert "max_iter" not in str(told[0].message)
