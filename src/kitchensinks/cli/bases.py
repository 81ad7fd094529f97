"""Names of bases on the command line."""

from collections.abc import Callable, Mapping
from typing import Any

from kitchensinks.features.bases import Basis, Binning, Fourier, Maxout, ReLU, Sigmoid, Stumps
from kitchensinks.law import Learned

# Basis, scales of the columns, K and ridge are learned on held-out rows.
LEARNED = "learned"
# The plain methods of the papers.
BASES: Mapping[str, Callable[[], Basis]] = {
    "fourier": Fourier,
    "laplacian": lambda: Fourier("laplacian"),
    "stumps": lambda: Stumps("quantile"),
    "relu": ReLU,
    "sigmoid": Sigmoid,
    "maxout": Maxout,
    "binning": Binning,
}
NAMES = (LEARNED, *BASES)
# Default K of a plain basis with dense features.
COMPONENTS = 2000
# A grid of Binning costs about as much as this many dense features.
_DENSE_FOR_A_GRID = 8


def basis_named(name: str, effort: str = "default", **held_out: Any) -> Basis | Learned:
    """A new basis of this name; effort and the rows held out are for a learned law.

    >>> basis_named("laplacian"), basis_named("learned", "quick")
    (Fourier(kernel='laplacian'), Learned(effort='quick'))
    """
    return Learned(effort=effort, **held_out) if name == LEARNED else BASES[name]()


def components_of(basis: Basis, n_components: int = COMPONENTS) -> int:
    """K for this basis at the cost of n_components dense features.

    >>> components_of(Fourier(), 2000), components_of(Binning(), 2000)
    (2000, 250)
    """
    return max(1, n_components // _DENSE_FOR_A_GRID) if basis.sparse else n_components
