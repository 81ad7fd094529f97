"""kitchensinks: learning with weighted sums of random nonlinear functions."""

import importlib
from typing import Any

__version__ = "0.1.0"

# Public names and the rooms that hold them, imported when first asked for.
_HOMES = {
    "kitchensinks.adapt": ("Adapt",),
    "kitchensinks.bases": (
        "Binning",
        "Custom",
        "Fourier",
        "Maxout",
        "Orthonormal",
        "ReLU",
        "Sigmoid",
        "Stumps",
        "Union",
    ),
    "kitchensinks.constraints": ("L2Ball", "SupBall"),
    "kitchensinks.selection": ("Reweighted",),
    "kitchensinks.checkpoint": ("Checkpoint",),
    "kitchensinks.persistence": ("load", "save"),
    "kitchensinks.export": ("to_onnx",),
    "kitchensinks.rows.columns": ("Columns",),
    "kitchensinks.rows.tables": ("open_table",),
    "kitchensinks.rows.view": ("Rows", "targets"),
    "kitchensinks.transform": ("RandomFeatures",),
    "kitchensinks.estimators": ("KitchenSinkClassifier", "KitchenSinkRegressor"),
    "kitchensinks.decomposition": ("KitchenSinkPCA", "MaxoutHash", "distance_profile"),
    "kitchensinks.depth": ("ReLUNetwork", "StackedSinksClassifier", "StackedSinksRegressor"),
    "kitchensinks.streaming": ("StreamingRidgeCV", "StreamingRidgeClassifierCV"),
}
_MODULES = ("bases", "datasets", "losses", "selection", "theory")
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [*sorted(_HOME_OF), *_MODULES]


def __getattr__(name: str) -> Any:
    if name in _HOME_OF:
        return getattr(importlib.import_module(_HOME_OF[name]), name)
    if name in _MODULES:
        return importlib.import_module(f"kitchensinks.{name}")
    raise AttributeError(f"module 'kitchensinks' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
