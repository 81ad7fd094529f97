"""Two stages: each is the ridge fit of its own features, and the model is their sum."""

import numpy as np
import pytest

import kitchensinks as ks
from kitchensinks.features.blocks import FeatureBlocks
from kitchensinks.features.frozen import Frozen
from kitchensinks.fitting.run import RUNS, Task
from kitchensinks.fitting.settings import Settings
from kitchensinks.fitting.stages import FIRST_SHARE
from kitchensinks.problem.losses import LOSSES
from kitchensinks.problem.targets import Batch
from kitchensinks.state import Model

ALPHA, SECOND = 0.01, 0.003


def settings():
    return Settings(
        loss=LOSSES["squared"],
        alpha=ALPHA,
        constraint=None,
        fit_intercept=True,
        tol=1e-12,
        max_iter=2000,
        solver="auto",
        seed=0,
        keys=lambda: np.arange(200, dtype=np.uint64),
        second=SECOND,
    )


def ridge(features, targets, shares, alpha):
    """Scores of the ridge fit, by its normal equations, and its objective."""
    mean, level = shares @ features, shares @ targets
    centred = features - mean
    gram = centred.T @ (shares[:, None] * centred) + alpha * np.eye(features.shape[1])
    weights = np.linalg.solve(gram, centred.T @ (shares[:, None] * (targets - level)))
    scores = centred @ weights + level
    return scores, np.sum(shares @ (targets - scores) ** 2) + alpha * np.sum(weights**2)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("form", ["phase", "paired"])
def test_the_second_stage_is_fitted_to_what_the_first_leaves(form, weighted):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(200, 3))
    targets = np.column_stack([np.sin(rows[:, 0]), np.floor(2 * rows[:, 1])])
    weights = rng.random(200) if weighted else None
    shares = np.full(200, 1 / 200) if weights is None else weights / weights.sum()
    first, last = ks.Fourier(gamma=0.3, form=form), ks.Binning(gamma=3.0)
    basis = ks.Union([first, last], shares=[30.0, 12.0])
    frozen = Frozen(None, basis, 5, 3, 42, np.dtype(np.float64)).with_learned(rows)
    batch = Batch(rows, targets, weights)
    task = Task.of(FeatureBlocks(rows, frozen, 1e9), batch, settings())
    plan, fit = RUNS[task.plan.solver](task)
    assert plan.solver == "stages"
    columns, n_bins = (part.n_columns for part in frozen.draw.theta["parts"].parts.values())
    assert f"direct in the features: {columns} columns ≤ n = 200" in plan.reason
    assert f"; then binned conjugate in the bins: products with {n_bins:,} sparse" in plan.reason
    assert fit.solution.converged
    parts = list(frozen.draw.theta["parts"].parts.values())
    assert [part.n_components for part in parts] == [30, 12]
    smooth, bins = (part.scaled_features(rows) for part in parts)
    one, first_objective = ridge(smooth, targets, shares, ALPHA)
    one = FIRST_SHARE * one
    two, second_objective = ridge(bins.toarray(), targets - one, shares, SECOND)
    both = first_objective + second_objective
    assert fit.solution.objective == pytest.approx(both, rel=1e-6)
    scores = Model(frozen, fit.solution.weights, fit.solution.intercept).scores(rows)
    np.testing.assert_allclose(scores, one + two, atol=1e-5)


def test_scores_of_a_union_are_those_of_its_features():
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(50, 3))
    basis = ks.Union([ks.Fourier(gamma=0.3, form="paired"), ks.Binning(gamma=0.5)])
    draw = basis.draw(0, 3, 21).tabulate([rows])
    weights = rng.normal(size=(draw.n_columns, 2))
    expected = draw.scaled_features(rows) @ weights
    np.testing.assert_allclose(draw.scorer(weights)(rows), expected, atol=1e-12)
