"""Random bases: each declares its law, feature, bound and kernel together."""

from kitchensinks.features.bases.base import Basis, Draw
from kitchensinks.features.bases.binning import Binning
from kitchensinks.features.bases.custom import Custom, Union
from kitchensinks.features.bases.fourier import Fourier
from kitchensinks.features.bases.maxout import Maxout
from kitchensinks.features.bases.orthonormal import Orthonormal
from kitchensinks.features.bases.relu import ReLU
from kitchensinks.features.bases.sigmoid import Sigmoid
from kitchensinks.features.bases.stumps import Stumps

__all__ = [
    "Basis",
    "Binning",
    "Custom",
    "Draw",
    "Fourier",
    "Maxout",
    "Orthonormal",
    "ReLU",
    "Sigmoid",
    "Stumps",
    "Union",
]
