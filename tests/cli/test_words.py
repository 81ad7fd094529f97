"""Messages of the library in the words of the command."""

import re

import numpy as np
import pytest

import kitchensinks as ks
from kitchensinks.cli.options import in_options

ROWS = np.random.default_rng(0).normal(size=(2000, 2))
SIGNS = np.sign(ROWS[:, 0])


@pytest.mark.parametrize(
    ("given", "targets", "named"),
    [
        (
            {"basis": ks.Binning(), "n_components": 5000, "solver": ks.Solver(memory_budget=16e6)},
            SIGNS,
            "give --memory 380MB or more, at most 210 components, or --basis fourier.",
        ),
        (
            {"loss": "exponential", "alpha": 0.0},
            SIGNS,
            "Give --alpha a positive value, or a --constraint such as sup:10.",
        ),
        ({"random_state": -1}, SIGNS, "--seed -1: need a whole number"),
        ({}, np.ones(2000), "two or more."),
    ],
)
def test_advice_names_options_and_nothing_of_python(given, targets, named):
    parameters = {"basis": ks.Fourier(), "n_components": 20, "random_state": 0} | given
    with pytest.raises((ValueError, TypeError)) as raised:
        ks.KitchenSinkClassifier(**parameters).fit(ROWS, targets)
    said = in_options(" ".join(str(raised.value).split()))
    assert named in said
    assert not re.search(r"ks\.|\w=", said), said


def test_paths_with_values_stay_as_they_are():
    for path in ("data/time=2024/p.parquet", "data\\loss=1\\p.parquet", "a/x_alpha=2.csv"):
        assert in_options(f"{path} is damaged.") == f"{path} is damaged."
    assert in_options("(alpha=2, time='t')") == "(--alpha 2, --time 't')"
