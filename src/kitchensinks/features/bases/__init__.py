"""Random bases: each declares its law, feature, bound and kernel together.

A basis is registered by the line that imports it here: model files may then name it, and
`kitchensinks.bases` has it.
"""

from kitchensinks.features.bases.base import Basis as Basis
from kitchensinks.features.bases.binning import Binning as Binning
from kitchensinks.features.bases.custom import Custom as Custom
from kitchensinks.features.bases.draw import Draw as Draw
from kitchensinks.features.bases.fourier import Fourier as Fourier
from kitchensinks.features.bases.linear import Linear as Linear
from kitchensinks.features.bases.maxout import Maxout as Maxout
from kitchensinks.features.bases.orthonormal import Orthonormal as Orthonormal
from kitchensinks.features.bases.parameters import from_json as from_json
from kitchensinks.features.bases.parameters import known_bases as known_bases
from kitchensinks.features.bases.parameters import to_json as to_json
from kitchensinks.features.bases.product import Product as Product
from kitchensinks.features.bases.relu import ReLU as ReLU
from kitchensinks.features.bases.reweighted import Reweighted as Reweighted
from kitchensinks.features.bases.sigmoid import Sigmoid as Sigmoid
from kitchensinks.features.bases.stumps import Stumps as Stumps
from kitchensinks.features.bases.trees import Trees as Trees
from kitchensinks.features.bases.union import Union as Union
