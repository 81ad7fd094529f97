"""One pass over the rows gives the fits of every pool and every number of units."""

import numpy as np
import pytest

import kitchensinks as ks
from kitchensinks.papers.experiments import data, maxout_table1, study
from kitchensinks.papers.experiments.harness import reproduce


def test_a_smaller_pool_is_the_first_directions_of_a_larger_one():
    rows = np.random.default_rng(0).normal(size=(9, 5)).astype(np.float32)
    large = ks.Maxout(16).draw(3, 5, 40, np.float32)
    for q, features in maxout_table1._pooled(large, rows, [1, 2, 4, 8, 16]):
        own = ks.Maxout(q).draw(3, 5, 40, np.float32).features(rows)
        np.testing.assert_allclose(features, own, rtol=1e-6)


def test_errors_are_those_of_separate_fits():
    digits = ks.datasets.load("digits")
    rows, others = (part.astype(np.float32) / 16 for part in (digits.X_train, digits.X_test))
    draw = ks.Maxout(4).draw(0, rows.shape[1], 60, np.float32)
    moments = maxout_table1.Moments.zeros(np.zeros(60), 10)
    moments.add(draw.features(rows), maxout_table1._coded(digits.y_train), None)
    equations = moments.normal_equations(fit_intercept=False)
    counts, ridge = [20, 45, 60], 1e-4
    fits = maxout_table1._fits(equations, ridge, counts, draw.features(others), digits.y_test)
    found = [error for error, _ in fits]
    assert max(gap for _, gap in fits) < maxout_table1.TOLERANCE
    for m, error in zip(counts, found, strict=True):
        # The estimator divides features by √m.
        alpha = ridge * float(np.trace(equations.gram)) / m
        model = ks.KitchenSinkClassifier(
            ks.Maxout(4), m, alpha=alpha, standardize=False, fit_intercept=False, random_state=0
        ).fit(rows, digits.y_train)
        assert error == pytest.approx(100 * (1 - model.score(others, digits.y_test)), abs=0.3)


@pytest.fixture
def frames(tmp_path, monkeypatch):
    """Twelve utterances of two phones, laid out as ks.datasets.load("timit") asks for them."""
    rng = np.random.default_rng(0)
    (tmp_path / "timit").mkdir()
    states = np.tile(np.repeat([0, 1, 2, 12, 13, 14], 4), 12)
    centres = 2 * rng.normal(size=(15, 8))
    for part in ("train", "test"):
        rows = 0.5 * rng.normal(size=(len(states), 8)) + centres[states]
        np.save(tmp_path / "timit" / f"X_{part}.npy", rows.astype(np.float32))
        np.save(tmp_path / "timit" / f"y_{part}.npy", states)
        np.save(tmp_path / "timit" / f"lengths_{part}.npy", np.full(12, 24))
    monkeypatch.setenv("KITCHENSINKS_DATA", str(tmp_path))
    data.load.cache_clear()
    yield
    data.load.cache_clear()


@pytest.mark.slow
def test_frames_of_ones_own_run_the_paper_s_grid(frames, tmp_path):
    pytest.importorskip("matplotlib")
    timit = study("maxout-timit")
    facts = reproduce(timit, tmp_path / "out", quick=True)
    assert facts["complete"]
    assert all(0 <= row["measured"]["error"] < 100 for row in facts["cells"])
    full = timit.cells(False)
    assert {(cell["m"], cell["q"]) for cell in full if cell["projections"] is None} == {
        (None, None),
        *((m, q) for m in (1250, 2500, 5000, 10_000, 20_000) for q in (2, 4, 8, 16)),
    }


def test_nets_of_three_layers_have_the_parameters_of_two():
    from kitchensinks.papers.experiments.nets import INPUTS, OUTPUTS, three_layer_width

    for nodes in (20, 80, 640, 5120):
        for outputs in OUTPUTS.values():
            w = three_layer_width(nodes, outputs)
            shallow = (INPUTS + 1) * nodes + (nodes + 1) * outputs
            deep = (INPUTS + 1) * w + (w + 1) * w + (w + 1) * outputs
            step = INPUTS + 2 * w + 3 + outputs  # what one more node a layer would add
            assert abs(deep - shallow) <= step
