"""Plain stochastic gradients, with a step, a batch and epochs that are given."""

import numpy as np
import pytest

import kitchensinks as ks
from kitchensinks.fitting import stochastic

RNG = np.random.default_rng(0)
ROWS = RNG.normal(size=(150, 3))
LABELS = np.where(ROWS[:, 0] * ROWS[:, 1] > 0.1 * RNG.normal(size=150), 1, -1)
STEP, ALPHA = 0.7, 1e-2
# Derivatives of losses in the score, written down a second time.
SLOPES = {
    "hinge": lambda y, u: np.where(y * u < 1, -y, 0.0),
    "logistic": lambda y, u: -y / (1 + np.exp(y * u)),
    "squared": lambda y, u: 2 * (u - y),
}


def descended(features, labels, loss, batches, radius=np.inf):
    """β ← β − s·∇ over the batches in turn, with intercept, ridge and ball, in plain NumPy."""
    weights, intercept = np.zeros(features.shape[1]), 0.0
    for rows in batches:
        scores = features[rows] @ weights + intercept
        slope = SLOPES[loss](labels[rows], scores) / len(rows)
        # The ridge is taken implicitly: it cannot make a step unstable.
        weights = (weights - STEP * features[rows].T @ slope) / (1 + 2 * ALPHA * STEP)
        weights *= min(1.0, radius / max(np.linalg.norm(weights), 1e-300))
        intercept -= STEP * slope.sum()
    return features @ weights + intercept


def model(loss, **options):
    steps = options.pop("steps", {})
    return ks.KitchenSinkClassifier(
        ks.Fourier(gamma=0.5),
        40,
        loss=loss,
        alpha=ALPHA,
        standardize=False,
        random_state=0,
        solver=ks.Solver("stochastic", step=STEP, dtype="float64", **steps),
        **options,
    )


def features_of(fitted):
    return np.asarray(fitted.law_.features.features(ROWS))


@pytest.mark.parametrize("loss", SLOPES)
def test_one_batch_of_all_rows_is_gradient_descent(loss):
    fitted = model(loss, steps={"batch_size": 150, "epochs": 7}).fit(ROWS, LABELS)
    twin = descended(features_of(fitted), LABELS, loss, [np.arange(150)] * 7)
    np.testing.assert_allclose(fitted.decision_function(ROWS), twin, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("loss", ["hinge", "logistic"])
def test_batches_that_come_are_cut_into_steps(loss):
    fitted = model(loss, steps={"batch_size": 32}).freeze(ROWS, LABELS)
    fitted.partial_fit(ROWS[:100], LABELS[:100]).partial_fit(ROWS[100:], LABELS[100:])
    batches = [np.arange(150)[at] for at in map(slice, (0, 32, 64, 96), (32, 64, 96, 100))]
    batches += [np.arange(100, 132), np.arange(132, 150)]
    twin = descended(features_of(fitted), LABELS, loss, batches)
    np.testing.assert_allclose(fitted.decision_function(ROWS), twin, rtol=1e-9, atol=1e-12)


def test_weights_stay_in_the_ball():
    """L2Ball is on the weights of raw features: those of the fit, over √K."""
    fitted = model("hinge", constraint=ks.L2Ball(0.05), steps={"batch_size": 150, "epochs": 5})
    fitted.fit(ROWS, LABELS)
    radius = 0.05 / fitted.model_.draw.scale
    twin = descended(features_of(fitted), LABELS, "hinge", [np.arange(150)] * 5, radius)
    np.testing.assert_allclose(fitted.decision_function(ROWS), twin, rtol=1e-9, atol=1e-12)
    assert np.linalg.norm(fitted.model_.weights) == pytest.approx(radius)


def test_epochs_and_batches_are_counted_and_a_seed_repeats_its_order():
    one, two = (
        model("logistic", steps={"batch_size": 60, "epochs": 4}).fit(ROWS, LABELS) for _ in range(2)
    )
    assert one.state_.fitted.evidence.iterations == 4 * 3
    np.testing.assert_array_equal(one.model_.weights, two.model_.weights)


def test_a_saved_model_keeps_its_steps(tmp_path):
    fitted = model("hinge", steps={"batch_size": 30, "epochs": 2}).fit(ROWS, LABELS)
    ks.save(fitted, tmp_path / "model.sinks")
    again = ks.load(tmp_path / "model.sinks")
    np.testing.assert_array_equal(again.predict(ROWS), fitted.predict(ROWS))
    assert again.get_params()["solver"].get_params() == fitted.solver.get_params()
    given = again.state_.settings
    assert (given.step, given.batch_size, given.epochs) == (STEP, 30, 2)


@pytest.mark.parametrize(
    ("solver", "kind", "told"),
    [
        (ks.Solver(step=0.1), ValueError, r"step=0.1 is for ks.Solver\('stochastic'\), not for"),
        (ks.Solver("direct", epochs=3), ValueError, "leave it out, or name that solver"),
        (ks.Solver("stochastic", step=0.0), ValueError, "step=0.0: need a positive"),
        (ks.Solver("stochastic", batch_size=0), ValueError, "batch_size=0: need a whole number"),
        (ks.Solver("stochastic", epochs=1.5), TypeError, "epochs=1.5 is of type float"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_steps_that_make_no_sense_are_named(solver, kind, told):
    with pytest.raises(kind, match=told):
        ks.KitchenSinkClassifier(ks.Fourier(), 10, solver=solver).fit(ROWS, LABELS)


def test_no_row_of_an_epoch_counts_as_much_as_a_whole_batch(monkeypatch):
    # 201 rows in batches of 20: a last batch of one row would move the weights as far as 20 rows.
    rows = RNG.normal(size=(201, 3))
    sizes, step = [], stochastic.stochastic_step

    def noted(state, parts, objective, targets, *others):
        sizes.append(len(targets))
        return step(state, parts, objective, targets, *others)

    monkeypatch.setattr(stochastic, "stochastic_step", noted)
    solver = ks.Solver("stochastic", step=0.1, batch_size=20, epochs=3)
    ks.KitchenSinkRegressor(
        ks.Fourier(gamma=0.1), 20, alpha=1e-3, solver=solver, random_state=0
    ).fit(rows, rows[:, 0])
    assert sum(sizes[:11]) == 201
    assert set(sizes[:11]) == {18, 19}


def test_calibration_takes_the_last_rows_of_a_stream():
    fitted = model("hinge", steps={"batch_size": 512}).fit(ROWS, LABELS)
    room = stochastic.CALIBRATION_ROWS // 512 + 1
    for _ in range(2 * room):
        fitted.partial_fit(ROWS, LABELS)
    assert len(fitted.state_.sums.recent) == room


def test_rows_after_a_fit_come_in_batches_of_the_size_that_is_asked_for_now():
    fitted = ks.KitchenSinkClassifier(ks.Fourier(), 20, loss="hinge", random_state=0)
    fitted.fit(ROWS, LABELS).set_params(solver=ks.Solver("stochastic", batch_size=32))
    fitted.partial_fit(ROWS, LABELS)
    assert fitted.state_.sums.recent.maxlen == -(-stochastic.CALIBRATION_ROWS // 32)
