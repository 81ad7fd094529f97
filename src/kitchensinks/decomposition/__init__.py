"""Geometry in feature space: principal components, q-ary hashing, distances before and after."""

from kitchensinks.decomposition.hashing import MaxoutHash
from kitchensinks.decomposition.principal import KitchenSinkPCA
from kitchensinks.decomposition.profile import DistanceProfile, distance_profile

__all__ = ["DistanceProfile", "KitchenSinkPCA", "MaxoutHash", "distance_profile"]
