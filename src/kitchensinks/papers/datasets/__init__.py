"""The papers' data sets: synthetic ones by formula (``make_*``), real ones by name (``load``).

Columns are not standardised; the estimators do that. Labels of two classes are −1 and +1 unless
stated otherwise. Generators return X (n_rows, columns) float64 and y (n_rows,), and flip each label
with probability `noise`.
"""

from kitchensinks.papers.datasets.real import (
    FOLDER_VARIABLE,
    Dataset,
    Source,
    available,
    checksum,
    load,
    make,
    names,
    source,
)
from kitchensinks.papers.datasets.synthetic import (
    make_annulus,
    make_checkboard,
    make_depth_separation,
    make_sine,
    make_square,
    make_strips,
)

__all__ = [
    "FOLDER_VARIABLE",
    "Dataset",
    "Source",
    "available",
    "checksum",
    "load",
    "make",
    "make_annulus",
    "make_checkboard",
    "make_depth_separation",
    "make_sine",
    "make_square",
    "make_strips",
    "names",
    "source",
]
