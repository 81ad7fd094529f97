"""Looking at features and fits: leverage, spectra, geometry."""

from kitchensinks.features.leverage import leverage_scores, leverages, maximal_leverage
from kitchensinks.features.reweighted import Reweighted
from kitchensinks.features.spectrum import (
    Decay,
    Suggestion,
    decay_rates,
    effective_dimension,
    mu_of_dimension,
    spectrum,
    suggested_components,
)
from kitchensinks.inspect.plots import (
    plot_components,
    plot_dimension,
    plot_leverages,
    plot_spectrum,
)
from kitchensinks.inspect.profile import DistanceProfile, distance_profile

__all__ = [
    "Decay",
    "DistanceProfile",
    "Reweighted",
    "Suggestion",
    "decay_rates",
    "distance_profile",
    "effective_dimension",
    "leverage_scores",
    "leverages",
    "maximal_leverage",
    "mu_of_dimension",
    "plot_components",
    "plot_dimension",
    "plot_leverages",
    "plot_spectrum",
    "spectrum",
    "suggested_components",
]
