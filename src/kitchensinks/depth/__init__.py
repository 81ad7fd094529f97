"""Depth: stacked layers of random features, and the bounded ReLU networks of the thesis."""

from kitchensinks.depth.network import ReLUNetwork, ReLUSum
from kitchensinks.depth.stacked import StackedSinksClassifier, StackedSinksRegressor

__all__ = ["ReLUNetwork", "ReLUSum", "StackedSinksClassifier", "StackedSinksRegressor"]
