"""Every loss: central differences, Fenchel-Young, prox, and safety at the extremes."""

import warnings
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import mean_gamma_deviance, mean_poisson_deviance, mean_tweedie_deviance

from kitchensinks.problem.losses import LOSSES, Clipped, Huber, Kinked, Quantile, Tweedie, get_loss

POINTWISE = [loss for loss in LOSSES.values() if loss.separable]
SMOOTH = [loss for loss in POINTWISE if loss.smooth]
KINKED = [loss for loss in POINTWISE if isinstance(loss, Kinked)] + [Quantile(0.9)]
POWERS = [Tweedie(power) for power in (1.05, 1.3, 1.9)]
MULTINOMIAL = get_loss("multinomial")
numbers = st.floats(-30, 30)


def targets_for(loss, number):
    if loss.link == "log":
        return np.array([abs(number) + (loss.name == "gamma") * 1e-3])
    if "regression" in loss.tasks:
        return np.array([number])
    return np.array([1.0 if number >= 0 else -1.0])


@pytest.mark.parametrize("loss", SMOOTH, ids=lambda loss: loss.name)
def test_slope_and_curvature_are_the_derivatives(loss):
    # this grid stays clear of the kinks of the second derivative
    scores = np.arange(-2.97, 3.0, 0.1)
    for target in (-1.0, 1.0) if loss.link != "log" else (0.3, 2.0):
        targets, step = np.full_like(scores, target), 1e-5
        rise = loss.value(targets, scores + step) - loss.value(targets, scores - step)
        np.testing.assert_allclose(loss.slope(targets, scores), rise / (2 * step), atol=1e-8)
        bend = loss.slope(targets, scores + step) - loss.slope(targets, scores - step)
        np.testing.assert_allclose(loss.curvature(targets, scores), bend / (2 * step), atol=1e-8)
        assert loss.curvature(targets, scores).max() <= loss.curvature_bound


def test_multinomial_slope_and_curvature_are_the_derivatives():
    rng = np.random.default_rng(0)
    scores, targets = rng.normal(size=(20, 4)) * 3, np.eye(4)[rng.integers(4, size=20)]
    for output in range(4):
        step = 1e-5 * np.eye(4)[output]
        rise = MULTINOMIAL.value(targets, scores + step) - MULTINOMIAL.value(targets, scores - step)
        slope = MULTINOMIAL.slope(targets, scores)[:, output]
        np.testing.assert_allclose(slope, rise / 2e-5, atol=1e-8)
        bend = MULTINOMIAL.slope(targets, scores + step) - MULTINOMIAL.slope(targets, scores - step)
        curvature = MULTINOMIAL.curvature(targets, scores)[:, output]
        np.testing.assert_allclose(curvature, bend[:, output] / 2e-5, atol=1e-8)


@pytest.mark.parametrize("loss", [*POINTWISE, Huber(0.3), Quantile(0.9), *POWERS], ids=repr)
@given(target=numbers, score=numbers, other=numbers, share=st.floats(0, 1))
def test_fenchel_young(loss, target, score, other, share):
    targets, scores = targets_for(loss, target), np.array([score])
    slope = loss.slope(targets, scores)
    size = 1.0 + np.abs(slope * scores) + loss.value(targets, scores)
    # equality at the slope, whose conjugate is finite
    touch = loss.value(targets, scores) + loss.conjugate(targets, slope)
    assert np.abs(touch - slope * scores) <= 1e-9 * size
    # inequality at any other dual in the domain, here between zero and another slope
    dual = share * loss.slope(targets, np.array([other]))
    bound = loss.value(targets, scores) + loss.conjugate(targets, dual)
    assert bound >= dual * scores - 1e-9 * (size + np.abs(dual * scores))


@given(st.lists(numbers, min_size=3, max_size=3), st.lists(numbers, min_size=3, max_size=3))
def test_fenchel_young_multinomial(scores, others):
    target, scores, others = np.array([[0.0, 1.0, 0.0]]), np.array([scores]), np.array([others])
    for point in (scores, others):
        dual = MULTINOMIAL.slope(target, point)
        young = MULTINOMIAL.value(target, scores) + MULTINOMIAL.conjugate(target, dual)
        assert young >= (dual * scores).sum() - 1e-9
    dual = MULTINOMIAL.slope(target, scores)
    young = MULTINOMIAL.value(target, scores) + MULTINOMIAL.conjugate(target, dual)
    assert young == pytest.approx((dual * scores).sum(), abs=1e-9)


def test_conjugates_are_infinite_outside_their_domain():
    plus = np.array([1.0])
    outside = {"hinge": 0.1, "squared_hinge": 0.1, "logistic": -1.1, "exponential": 0.1}
    outside |= {"huber": 2.8, "quantile": 0.6, "poisson": -1.1, "gamma": 1.1}
    for name, dual in outside.items():
        assert get_loss(name).conjugate(plus, np.array([dual])) == np.inf, name
    assert get_loss("tweedie").conjugate(0.0 * plus, -0.1 * plus) == np.inf
    assert MULTINOMIAL.conjugate(np.array([[1.0, 0.0]]), np.array([[0.1, 0.1]])) == np.inf


@pytest.mark.parametrize("loss", POINTWISE, ids=lambda loss: loss.name)
def test_the_slope_of_a_clipped_loss_is_a_clipped_line(loss):
    assert loss.clipped == isinstance(loss, Clipped)
    if not loss.clipped:
        return
    for target in (-1.0, 1.0):
        scores = np.linspace(-5.0, 5.0, 41)
        targets = np.full_like(scores, target)
        low, high = loss.slopes(targets)
        with np.errstate(divide="ignore", invalid="ignore"):
            line = np.clip((scores - targets) / loss.width, low, high)
        at_kink = np.isnan(line)
        np.testing.assert_allclose(loss.slope(targets, scores)[~at_kink], line[~at_kink])


@pytest.mark.parametrize("loss", KINKED, ids=repr)
@given(target=numbers, point=numbers, step=st.floats(0.01, 10), other=numbers)
def test_prox_is_the_minimiser(loss, target, point, step, other):
    targets, points = targets_for(loss, target), np.array([point])
    best = points - step * loss.prox_slope(targets, points, step)

    def objective(scores):
        return loss.value(targets, scores) + (scores - points) ** 2 / (2 * step)

    assert objective(best) <= objective(np.array([other])) + 1e-9 * (1 + objective(best))
    dual = (points - best) / step
    assert np.isfinite(loss.conjugate(targets, dual))


@pytest.mark.parametrize("loss", POINTWISE, ids=lambda loss: loss.name)
def test_huge_arguments_are_safe(loss):
    scores = np.array([-1e100, -1e4, -800.0, 0.0, 800.0, 1e4, 1e100])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for target in (-1.0, 1.0) if loss.link != "log" else (1e-3, 1.0):
            targets = np.full_like(scores, target)
            for values in (loss.value, loss.slope, loss.curvature):
                assert np.isfinite(values(targets, scores)).all()
            assert not np.isnan(loss.conjugate(targets, scores)).any()


def test_huge_multinomial_scores_are_safe():
    scores, targets = np.array([[1e100, -1e100, 0.0], [0.0, 1e4, -1e4]]), np.eye(3)[[1, 0]]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.isfinite(MULTINOMIAL.value(targets, scores)).all()
        assert np.isfinite(MULTINOMIAL.slope(targets, scores)).all()


def test_huber_meets_squared_near_the_target():
    scores = np.linspace(-1, 1, 9)
    zeros = np.zeros(9)
    np.testing.assert_allclose(
        get_loss("huber").value(zeros, scores), get_loss("squared").value(zeros, scores)
    )


def test_options_and_errors():
    assert get_loss("quantile", tau=0.9) == Quantile(0.9)
    with pytest.raises(ValueError, match="loss='hinges': need one of exponential, gamma, hinge"):
        get_loss("hinges")
    with pytest.raises(ValueError, match=r"tau=1\.0"):
        get_loss("quantile", tau=1.0)
    with pytest.raises(ValueError, match="delta=-1"):
        get_loss("huber", delta=-1)
    with pytest.raises(ValueError, match="does not take the options"):
        get_loss("hinge", delta=1.0)
    with pytest.raises(ValueError, match=r"power=2\.0.*Use Poisson\(\) for 1 and Gamma\(\) for 2"):
        get_loss("tweedie", power=2.0)


@pytest.mark.parametrize(
    ("loss", "deviance"),
    [
        (get_loss("poisson"), mean_poisson_deviance),
        (get_loss("gamma"), mean_gamma_deviance),
        *((loss, partial(mean_tweedie_deviance, power=loss.power)) for loss in POWERS),
    ],
    ids=["poisson", "gamma", *map(repr, POWERS)],
)
def test_deviances_are_those_of_scikit_learn(loss, deviance):
    rng = np.random.default_rng(0)
    scores, targets = rng.normal(size=50), rng.gamma(0.5, size=50)
    if loss.allowed(np.zeros(1)):
        targets[::3] = 0.0
    ours = 2.0 * loss.value(targets, scores).mean()
    assert ours == pytest.approx(deviance(targets, np.exp(scores)), rel=1e-12)
    least = loss.value(targets, loss.aim(targets))
    np.testing.assert_allclose(least, 0.0, atol=1e-10)
