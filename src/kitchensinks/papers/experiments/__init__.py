"""Every table and figure of the papers, one file each: `sinks reproduce NAME`.

This file is the catalogue. The study ``rfsvm-figure2.3`` stands in ``rfsvm_figure2_3.py``, which
lists its cells, runs one of them and reports on the results. What the studies share: `study` (cells
and reports), `claims` (when a claim holds), `harness` (runs, resumes and writes), `tables`
(Markdown), `data`, `curves` (error and time against K), `phones` and `speech` (maxout on frames,
and decoding), `rfsvm`, `bandwidths` and `nets` (the thesis).
"""

import importlib
import re

from kitchensinks.papers.datasets.real import unknown_name
from kitchensinks.papers.experiments.study import About, Study

_SINKS, _BASES = "Rahimi & Recht 2008 (kitchen sinks)", "Rahimi & Recht 2008 (random bases)"
_MAXOUT, _THESIS = "Mroueh, Rennie & Goel 2015 (maxout)", "Sun 2019 (thesis)"
_STAND_INS = (
    "UCI HAR for the paper's private activity set, and of KDD Cup 99 a sample of the 10 % file, "
    "which has 118 columns where the paper's has 127"
)
_ADULT, _THREE = ("a9a", "adult-onehot"), ("adult-onehot", "mnist", "covtype")

# fmt: off
CATALOGUE = {
    "bases-figure1": About(
        f"{_BASES}, Figure 1",
        "Random functions, their laws and their kernels, checked by simulation", 1),
    "bases-figure2": About(
        f"{_BASES}, Figure 2",
        "Forest with random binning: error and training time against the number of grids",
        10, ("covtype-binary",), version=2),
    "bases-figure3": About(
        f"{_BASES}, Figure 3",
        "Random stumps against AdaBoost on adult: error and time against K, time against error",
        2, _ADULT),
    "bases-table1": About(
        f"{_BASES}, Table I",
        "Least squares on Fourier and binning features against exact kernel machines, four sets",
        150, ("cpu_act", "house_16H", "a9a", "covtype-binary"), version=2,
        substitute="Census is house_16H, with 16 of the paper's 119 columns"),
    "depth-figure3.3": About(
        f"{_THESIS}, Figure 3.3",
        "Radial density, and smoothed and unsmoothed targets, of the depth-separation data", 0.1),
    "depth-figure3.4": About(
        f"{_THESIS}, Figure 3.4",
        "Predictions of random ReLU features, two- and three-layer nets against the radius",
        2, version=2),
    "depth-figure3.5": About(
        f"{_THESIS}, Figure 3.5",
        "Loss and accuracy of random ReLU features, two- and three-layer nets by their size",
        25, version=2),
    "maxout-digits": About(
        f"{_MAXOUT}, Tables 2 and 3",
        "The way of maxout-timit from frames to decoded error rates, on spoken digits",
        5, ("fsdd",),
        substitute="spoken digits for TIMIT, which is licensed"),
    "maxout-figure1": About(
        f"{_MAXOUT}, Figure 1",
        "Distances of 100 points of the unit circle before and after 1000 maxout units", 0.2),
    "maxout-figure2": About(
        f"{_MAXOUT}, Figure 2",
        "Two principal components of maxout features of one person's face views",
        2, ("umist_faces",), version=2,
        substitute="UMIST face views for the paper's, which are not named"),
    "maxout-table1": About(
        f"{_MAXOUT}, Table 1",
        "MNIST test error of ridge regression on random maxout features, by m and q",
        40, ("mnist",)),
    "maxout-table2": About(
        f"{_MAXOUT}, Table 2",
        "Errors on speech frames of logistic regression on maxout features, by m and q",
        15, ("phoneme", "isolet"), version=2,
        substitute="phonemes of TIMIT (log-periodograms) and ISOLET for TIMIT itself"),
    "maxout-table3": About(
        f"{_MAXOUT}, Table 3",
        "Maxout units that share projections, and Fourier features, on speech frames",
        8, ("phoneme", "isolet"), version=2,
        substitute="phonemes of TIMIT (log-periodograms) and ISOLET for TIMIT itself"),
    "maxout-timit": About(
        f"{_MAXOUT}, Tables 2 and 3",
        "Phone error rates on your own TIMIT frames of logistic regression on maxout features",
        3000, ("timit",), licensed=True),
    "relu-figure3.1": About(
        f"{_THESIS}, Figure 3.1", "The synthetic sets sine, strips, square and checkboard", 0.1),
    "relu-figure3.2": About(
        f"{_THESIS}, Figure 3.2",
        "Cross-validated accuracy of Fourier and ReLU features against their bandwidth",
        6, _THREE, version=3),
    "relu-table3.1": About(
        f"{_THESIS}, Table 3.1",
        "Accuracy and training time of random Fourier and ReLU features on seven sets",
        45, _THREE, version=3),
    "rfsvm-figure2.1": About(
        f"{_THESIS}, Figure 2.1",
        "Accuracy of random Fourier and kernel support vector machines on the annulus, against λ",
        10, version=2),
    "rfsvm-figure2.2": About(
        f"{_THESIS}, Figure 2.2",
        "Training rows of the annulus: label −1 inside, +1 outside, a tenth of them flipped", 0.1),
    "rfsvm-figure2.3": About(
        f"{_THESIS}, Figure 2.3",
        "Excess risk on the annulus against the number of rows m, with N = ln²(m)/4 features",
        7, version=2),
    "rfsvm-figure2.4": About(
        f"{_THESIS}, Figure 2.4",
        "Reweighted against uniform features in ten dimensions and on MNIST", 6, ("mnist",)),
    "rks-figure1": About(
        f"{_SINKS}, Figure 1",
        "Random stumps against AdaBoost: error against K, time against K, time against error",
        20, (*_ADULT, "uci_har", "kddcup99"), version=2,
        substitute=_STAND_INS),
    "rks-figure2": About(
        f"{_SINKS}, Figure 2",
        "The largest weight over 1000 runs against K on adult, without ridge or constraint",
        3, _ADULT, version=2),
    "rks-sigmoid-fourier": About(
        f"{_SINKS}, section 4",
        "Fourier, binning and sigmoid features against AdaBoost and against fitted nonlinearities",
        12, ("adult-onehot", "uci_har", "kddcup99"), version=2,
        substitute=_STAND_INS),
    "theory-rates": About(
        "Random bases, Theorems 3.1 and 3.2; kitchen sinks, Lemma 1",
        "Approximation error of sums of K random functions, with the bounds above the data", 1),
}
# fmt: on


def names() -> list[str]:
    """The name of every table and figure.

    >>> "rks-figure2" in names()
    True
    """
    return list(CATALOGUE)


def study(name: str) -> Study:
    if name not in CATALOGUE:
        raise unknown_name("experiment", name, CATALOGUE)
    module = importlib.import_module(f"{__name__}.{re.sub('[-.]', '_', name)}")
    parts = {part: getattr(module, part) for part in ("cells", "run", "report")}
    return Study(name=name, **parts, **vars(CATALOGUE[name]))
