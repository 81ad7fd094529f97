"""Choosing features by their leverage (thesis, sections 2.2 and 2.5), and what it is worth."""

from kitchensinks.selection.leverage import leverage_scores, leverages, maximal_leverage
from kitchensinks.selection.plots import (
    plot_components,
    plot_dimension,
    plot_leverages,
    plot_spectrum,
)
from kitchensinks.selection.reweighted import Reweighted
from kitchensinks.selection.spectrum import (
    Decay,
    Suggestion,
    decay_rates,
    effective_dimension,
    mu_of_dimension,
    spectrum,
    suggested_components,
)

__all__ = [
    "Decay",
    "Reweighted",
    "Suggestion",
    "decay_rates",
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
