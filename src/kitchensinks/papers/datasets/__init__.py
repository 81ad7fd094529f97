"""The papers' data sets: synthetic ones by formula (``make_*``), real ones by name (``load``).

Columns are not standardised; the estimators do that. Labels of two classes are −1 and +1 unless
stated otherwise. Generators return X (n_rows, columns) float64 and y (n_rows,), and flip each label
with probability `noise`.
"""

from kitchensinks.papers.datasets.real import FOLDER_VARIABLE as FOLDER_VARIABLE
from kitchensinks.papers.datasets.real import Dataset as Dataset
from kitchensinks.papers.datasets.real import Source as Source
from kitchensinks.papers.datasets.real import available as available
from kitchensinks.papers.datasets.real import checksum as checksum
from kitchensinks.papers.datasets.real import load as load
from kitchensinks.papers.datasets.real import make as make
from kitchensinks.papers.datasets.real import names as names
from kitchensinks.papers.datasets.real import source as source
from kitchensinks.papers.datasets.synthetic import make_annulus as make_annulus
from kitchensinks.papers.datasets.synthetic import make_checkboard as make_checkboard
from kitchensinks.papers.datasets.synthetic import make_depth_separation as make_depth_separation
from kitchensinks.papers.datasets.synthetic import make_sine as make_sine
from kitchensinks.papers.datasets.synthetic import make_square as make_square
from kitchensinks.papers.datasets.synthetic import make_strips as make_strips

# Everything that is imported above.
__all__ = ["FOLDER_VARIABLE", *(name for name, value in list(globals().items()) if callable(value))]
