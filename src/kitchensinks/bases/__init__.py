"""Random bases: each declares its law, feature, bound and kernel together."""

from kitchensinks.bases.base import Basis, Draw
from kitchensinks.bases.binning import Binning
from kitchensinks.bases.custom import Custom, Union
from kitchensinks.bases.fourier import Fourier
from kitchensinks.bases.maxout import Maxout
from kitchensinks.bases.orthonormal import Orthonormal
from kitchensinks.bases.relu import ReLU
from kitchensinks.bases.sigmoid import Sigmoid
from kitchensinks.bases.stumps import Stumps

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
