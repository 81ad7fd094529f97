"""Looking at features and fits: leverage, spectra, geometry."""

from kitchensinks.features.bases.leverage import effective_dimension as effective_dimension
from kitchensinks.features.bases.leverage import leverage_scores as leverage_scores
from kitchensinks.features.bases.leverage import leverages as leverages
from kitchensinks.features.bases.leverage import maximal_leverage as maximal_leverage
from kitchensinks.features.bases.leverage import mu_of_dimension as mu_of_dimension
from kitchensinks.features.spectrum import Decay as Decay
from kitchensinks.features.spectrum import Suggestion as Suggestion
from kitchensinks.features.spectrum import decay_rates as decay_rates
from kitchensinks.features.spectrum import spectrum as spectrum
from kitchensinks.features.spectrum import suggested_components as suggested_components
from kitchensinks.inspect.explain import Explanation as Explanation
from kitchensinks.inspect.explain import explain as explain
from kitchensinks.inspect.profile import DistanceProfile as DistanceProfile
from kitchensinks.inspect.profile import distance_profile as distance_profile

# Everything that is imported above.
__all__ = sorted(name for name, value in list(globals().items()) if callable(value))
