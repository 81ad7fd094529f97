"""Looking at features and fits: leverage, spectra, geometry."""

from kitchensinks.features.bases.leverage import (
    effective_dimension,
    leverage_scores,
    leverages,
    maximal_leverage,
    mu_of_dimension,
)
from kitchensinks.features.spectrum import (
    Decay,
    Suggestion,
    decay_rates,
    spectrum,
    suggested_components,
)
from kitchensinks.inspect.explain import Explanation, explain
from kitchensinks.inspect.profile import DistanceProfile, distance_profile

__all__ = [
    "Decay",
    "DistanceProfile",
    "Explanation",
    "Suggestion",
    "decay_rates",
    "distance_profile",
    "effective_dimension",
    "explain",
    "leverage_scores",
    "leverages",
    "maximal_leverage",
    "mu_of_dimension",
    "spectrum",
    "suggested_components",
]
