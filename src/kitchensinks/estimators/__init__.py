"""Algorithm 1 as scikit-learn estimators."""

from kitchensinks.estimators.classifier import KitchenSinkClassifier
from kitchensinks.estimators.regressor import KitchenSinkRegressor

__all__ = ["KitchenSinkClassifier", "KitchenSinkRegressor"]
