"""kitchensinks: learning with weighted sums of random nonlinear functions."""

import importlib
import sys
from typing import Any

__version__ = "0.1.0"

# Public names and the rooms that hold them, imported when first asked for.
_HOMES = {
    "kitchensinks.law": ("Learned",),
    "kitchensinks.features.bases": (
        "Binning",
        "Custom",
        "Fourier",
        "Linear",
        "Maxout",
        "Orthonormal",
        "Product",
        "ReLU",
        "Reweighted",
        "Sigmoid",
        "Stumps",
        "Trees",
        "Union",
    ),
    "kitchensinks.fitting.settings": ("Solver",),
    "kitchensinks.problem.constraints": ("L2Ball", "SupBall"),
    "kitchensinks.files.checkpoint": ("Checkpoint",),
    "kitchensinks.files.model": ("load", "save"),
    "kitchensinks.files.onnx": ("to_onnx",),
    "kitchensinks.tables.columns": ("Columns",),
    "kitchensinks.tables.table": ("open_table",),
    "kitchensinks.tables.view": ("Rows", "targets"),
    "kitchensinks.estimators.transform": ("RandomFeatures",),
    "kitchensinks.estimators": ("KitchenSinkClassifier", "KitchenSinkRegressor"),
    "kitchensinks.estimators.principal": ("KitchenSinkPCA",),
    "kitchensinks.estimators.hashing": ("MaxoutHash",),
    "kitchensinks.inspect": ("distance_profile",),
    "kitchensinks.inspect.explain": ("explain",),
    "kitchensinks.papers.depth": ("ReLUNetwork", "StackedSinksClassifier", "StackedSinksRegressor"),
    "kitchensinks.estimators.streaming": ("StreamingRidgeCV", "StreamingRidgeClassifierCV"),
}
_MODULES = {
    "bases": "kitchensinks.features.bases",
    "datasets": "kitchensinks.papers.datasets",
    "inspect": "kitchensinks.inspect",
    "losses": "kitchensinks.problem.losses",
    "plot": "kitchensinks.inspect.displays",
    "theory": "kitchensinks.papers.theory",
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [*sorted(_HOME_OF), *_MODULES]


def __getattr__(name: str) -> Any:
    if name in _HOME_OF:
        return getattr(importlib.import_module(_HOME_OF[name]), name)
    if name in _MODULES:
        return importlib.import_module(_MODULES[name])
    # With its name and object, Python's message says which name is near.
    told = f"module 'kitchensinks' has no attribute {name!r}"
    raise AttributeError(told, name=name, obj=sys.modules[__name__])


def __dir__() -> list[str]:
    return sorted(__all__)
