"""scikit-learn's own checks over the estimators, with no expected failures."""

from sklearn.utils.estimator_checks import parametrize_with_checks

import kitchensinks as ks


def estimators():
    yield ks.KitchenSinkClassifier(n_components=30, random_state=0)
    yield ks.KitchenSinkRegressor(n_components=30, random_state=0)
    yield ks.KitchenSinkClassifier(n_components=30, loss="hinge", alpha=1e-3, random_state=0)
    yield ks.KitchenSinkClassifier(n_components=30, loss="logistic", alpha=1e-3, random_state=0)
    yield ks.KitchenSinkRegressor(n_components=30, loss="huber", alpha=1e-3, random_state=0)


@parametrize_with_checks(list(estimators()))
def test_scikit_learn_checks(estimator, check):
    check(estimator)
