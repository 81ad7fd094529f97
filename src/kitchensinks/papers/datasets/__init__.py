"""The papers' data sets: synthetic ones by formula (``make_*``), real ones by name (``load``).

Columns come as they are: standardising is the estimator's work. Labels of two classes are −1 and +1
unless said otherwise.
"""

from kitchensinks.papers.datasets.real import FOLDER_VARIABLE, Dataset, available, load, names
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
    "available",
    "load",
    "make_annulus",
    "make_checkboard",
    "make_depth_separation",
    "make_sine",
    "make_square",
    "make_strips",
    "names",
]
