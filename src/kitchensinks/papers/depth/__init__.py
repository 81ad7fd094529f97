"""Depth: stacked layers of random features, and the bounded ReLU networks of the thesis."""

from kitchensinks.papers.depth.network import ReLUNetwork, ReLUSum
from kitchensinks.papers.depth.stacked import StackedSinksClassifier, StackedSinksRegressor

__all__ = ["ReLUNetwork", "ReLUSum", "StackedSinksClassifier", "StackedSinksRegressor"]
