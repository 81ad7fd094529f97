"""Ill-conditioned sums and float32 features: what rounding does, and that the gap says so."""

import warnings

import numpy as np
import pytest

import kitchensinks as ks

BASES = [ks.Fourier(), ks.Fourier(gamma=0.01), ks.ReLU(), ks.Sigmoid(), ks.Linear()]
NOISES = [0.0, 0.01, 0.3, 1.0]


def distances(model, rows, targets):
    """How far the predictions are from those of the optimum, in deviations of the targets, and
    the objective from the least, by a decomposition of the float64 features."""
    features = np.asarray(model.law_.features.features(rows), dtype=np.float64)
    alpha, n_rows = model.alpha_, len(rows)
    centred, level = features - features.mean(axis=0), targets.mean()
    stacked = np.vstack([centred, np.sqrt(alpha * n_rows) * np.eye(centred.shape[1])])
    aims = np.append(targets - level, np.zeros(centred.shape[1]))
    best = np.linalg.lstsq(stacked, aims, rcond=None)[0]
    ideal = centred @ best + level
    least = np.mean((targets - ideal) ** 2) + alpha * best @ best
    served = model.predict(rows)
    reached = np.mean((targets - served) ** 2) + alpha * np.sum(model.model_.weights**2)
    return np.abs(served - ideal).max() / targets.std(), reached - least, least


def fitted(basis, count, rows, targets, **options):
    solver = ks.Solver(options.pop("solver"), dtype=options.pop("dtype"), max_iter=300)
    model = ks.KitchenSinkRegressor(basis, count, solver=solver, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(rows, targets)


def ill_conditioned(condition):
    """Rows whose Gram has this condition number, and targets that need its weakest directions."""
    rng = np.random.default_rng(0)
    left, _ = np.linalg.qr(rng.normal(size=(400, 20)))
    right, _ = np.linalg.qr(rng.normal(size=(20, 20)))
    rows = np.sqrt(400) * left * np.logspace(0, -0.5 * np.log10(condition), 20) @ right.T
    return rows, np.sqrt(400) * left @ rng.normal(size=20) + 0.1 * rng.normal(size=400) + 3.0


@pytest.mark.parametrize("condition", [1e4, 1e8, 1e12, 1e14])
@pytest.mark.parametrize("alpha", ["auto", 0.0, 1e-14, 1e-10, 1e-4])
@pytest.mark.parametrize("solver", ["direct", "conjugate", "blocks"])
def test_condition_numbers_up_to_1e14(solver, alpha, condition):
    if solver != "direct" and alpha in ("auto", 0.0):
        pytest.skip("needs a ridge that is given")
    rows, targets = ill_conditioned(condition)
    options = {"alpha": alpha, "standardize": False, "random_state": 0, "solver": solver}
    model = fitted(ks.Linear(), 20, rows, targets, dtype="float64", **options)
    off, above, least = distances(model, rows, targets)
    # Solvers that iterate stop at tol; a factorisation is off by what its sums are rounded by.
    assert off < (max(1e-3, 1e-16 * condition) if solver == "direct" else 3e-2)
    if alpha != 0.0:
        assert above <= model.gap_ + 1e-9 * least
    narrow = None
    try:
        narrow = fitted(ks.Linear(), 20, rows, targets, dtype="float32", **options)
    except ValueError as refusal:
        assert "below the rounding error" in str(refusal)  # noqa: PT017
    if narrow is not None and alpha != 0.0:
        _, above, least = distances(narrow, rows, targets)
        assert above <= narrow.gap_ + 1e-6 * least


SWEPT = [*range(20), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(20, 400))]


@pytest.mark.parametrize("seed", SWEPT)
def test_the_gap_of_float32_features_bounds_the_distance_to_the_optimum(seed):
    """Rounded sums were taken for those of the rows: the gap was too small in 69 of 120 fits."""
    rng = np.random.default_rng(seed)
    n_rows, n_inputs = int(rng.integers(100, 3000)), int(rng.integers(1, 8))
    count = int(rng.integers(5, min(n_rows - 1, 300)))
    if seed % 4 == 3:
        # Fewer rows than features: in the span of the rows.
        n_rows, count = n_rows % 380 + 20, n_rows % 380 + 20 + count
    rows = rng.normal(size=(n_rows, n_inputs))
    targets = np.sin(rows[:, 0] * rng.uniform(0.5, 3.0))
    targets += rng.choice(NOISES) * rng.normal(size=n_rows)
    alpha = "auto" if seed % 2 else 10.0 ** rng.uniform(-9, -1)
    options = {"alpha": alpha, "random_state": seed, "solver": "direct", "dtype": "float32"}
    model = fitted(BASES[seed % 5], count, rows, targets, **options)
    _, above, least = distances(model, rows, targets)
    assert above <= model.gap_ + 1e-8 * least
    scale = max(model.objective_, 1e-4 * targets.var())
    assert model.converged_ == (model.gap_ <= model.solver.tol * scale * (1 + 1e-6))


def test_steps_by_residuals_take_the_rounding_of_sums_away():
    """The weights of a weak ridge were those of the rounding, 2 % of the targets' deviation off."""
    rng = np.random.default_rng(111)
    rows = rng.normal(size=(1475, 2))
    targets = np.sin(2.0 * rows[:, 0]) + rng.normal(size=1475)
    options = {"alpha": 4e-9, "random_state": 111, "solver": "direct"}
    model = fitted(ks.Fourier(gamma=0.01), 218, rows, targets, dtype="float32", **options)
    off, _, _ = distances(model, rows, targets)
    assert model.converged_
    assert "refined" in model.solver_
    assert off < 1e-2, off


NARROWED = [
    *[(basis, "squared") for basis in [*BASES, ks.Stumps(), ks.Maxout(), ks.Binning()]],
    *[(ks.Sigmoid(), loss) for loss in ("huber", "quantile", "poisson", "logistic", "hinge")],
]


# A ridge that is given to every loss, and one that is chosen for every basis and for two losses.
RIDGES = [(basis, loss, "auto") for basis, loss in NARROWED if loss in ("squared", "logistic")]
RIDGES += [(basis, loss, 1e-3) for basis, loss in NARROWED[-6:]]


@pytest.mark.parametrize(("basis", "loss", "alpha"), RIDGES, ids=repr)
def test_float32_features_predict_as_float64_ones(basis, loss, alpha):
    """Root mean square and largest difference, in deviations of the predictions (promises.md)."""
    rng = np.random.default_rng(0)
    rows, others = rng.normal(size=(400, 4)), rng.normal(size=(300, 4))
    targets = np.sin(2 * rows[:, 0]) + rows[:, 1] * rows[:, 2] + 0.3 * rng.normal(size=400)
    kind, method = ks.KitchenSinkRegressor, "predict"
    if loss in ("logistic", "hinge"):
        kind, method, targets = ks.KitchenSinkClassifier, "decision_function", targets > 0
    elif loss == "poisson":
        targets = np.exp(targets / 2)
    answers = []
    for dtype in ("float32", "float64"):
        solver = ks.Solver(dtype=dtype, tol=1e-8, max_iter=5000)
        model = kind(basis, 60, loss, alpha=alpha, random_state=0, solver=solver)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            answers.append(getattr(model.fit(rows, targets), method)(others))
    off = np.abs(answers[0] - answers[1]) / answers[1].std()
    kinked = loss in ("quantile", "hinge")
    assert np.sqrt(np.mean(off**2)) < (5e-3 if kinked else 5e-4)
    assert off.max() < (3e-2 if kinked else 3e-3)
