"""scikit-learn's own checks over the estimators, with no expected failures."""

import pytest
from sklearn.utils.estimator_checks import check_estimator, parametrize_with_checks

import kitchensinks as ks
from kitchensinks.problem.losses import Quantile
from tests.catalogue import build


def estimators(slow):
    def classifier(**options):
        return build(ks.KitchenSinkClassifier, **{"n_components": 30, "random_state": 0, **options})

    def regressor(**options):
        return build(ks.KitchenSinkRegressor, **{"n_components": 30, "random_state": 0, **options})

    if not slow:  # one of each kind of solver and of features
        yield classifier()
        yield regressor()
        yield classifier(loss="logistic", alpha=1e-3)
        yield classifier(basis=ks.Binning(gamma=0.1), alpha=1e-3)
        yield regressor(loss=Quantile(0.5), n_components=60, alpha=1e-4)
        yield regressor(
            basis=ks.Stumps(),
            dtype="float32",
            constraint=ks.L2Ball(100.0),
            fit_intercept=False,
        )
        # A ball that is smaller than what it takes to fit noise, as the checks of weights need it:
        # tests/laws/test_edges.py shows that the optimum in a larger one does not pass them.
        yield classifier(constraint=ks.SupBall(30.0), class_weight="balanced")
        return
    for loss in ("hinge", "squared_hinge", "exponential"):
        yield classifier(loss=loss, alpha=1e-3)
    yield regressor(basis=ks.Stumps(), dtype="float32", alpha=1e-2)
    yield regressor(constraint=ks.L2Ball(100.0), fit_intercept=False)
    yield regressor(loss="huber", alpha=1e-3)
    yield regressor(basis=ks.Binning(gamma=0.1))
    yield classifier(basis=ks.ReLU(), alpha=1e-2)
    # Squared hinge asks nothing of rows beyond their margin, and its optimum in a ball of radius 1
    # fits more of the noise: see the same test.
    radii = {"squared": 1.0, "hinge": 1.0, "squared_hinge": 0.5, "logistic": 1.0}
    for loss, radius in radii.items():
        yield classifier(constraint=ks.L2Ball(radius), class_weight="balanced", loss=loss)
    for loss in ("hinge", "logistic"):
        yield classifier(constraint=ks.SupBall(30.0), class_weight="balanced", loss=loss)
    yield regressor(alpha=1e-3, standardize=False)


@pytest.mark.filterwarnings("ignore:The first batch of partial_fit freezes")
@pytest.mark.filterwarnings("ignore:class_weight='balanced' goes by")
@parametrize_with_checks(list(estimators(slow=False)))
def test_scikit_learn_checks(estimator, check):
    check(estimator)


# One test for each of them: names of their checks would be made whenever tests are collected.
MORE = list(estimators(slow=True))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:The first batch of partial_fit freezes")
@pytest.mark.filterwarnings("ignore:class_weight='balanced' goes by")
@pytest.mark.parametrize("place", range(len(MORE)))
def test_scikit_learn_checks_of_more(place):
    check_estimator(MORE[place])
