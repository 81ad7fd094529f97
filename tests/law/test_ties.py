"""Choices that hang on rounding are made by one rule: the first, or the largest ridge."""

import itertools
import re
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, make_friedman1

import kitchensinks as ks
from kitchensinks.fitting.held_out import least_error
from kitchensinks.law import choice, few, maps
from kitchensinks.law.searches import best_ridge, climb, first_best, preferred
from kitchensinks.law.trials import TrialRows
from kitchensinks.numerics.choices import first_least, lower, strongest_least
from tests.fitting.test_held_out import SETTINGS

SOURCE = Path(ks.__file__).parent
RIDGES = [10.0, 1.0, 0.1, 0.01, 0.001]
# The second and the third are the least, and equal.
ERRORS = np.array([0.7, 0.31, 0.31, 0.36, 0.5])


def perturbed(errors, seed, share=3e-7):
    return errors * (1.0 + share * np.random.default_rng(seed).uniform(-1.0, 1.0, len(errors)))


@pytest.mark.parametrize("seed", range(20))
def test_rounding_changes_no_choice(seed):
    errors = perturbed(ERRORS, seed)
    tried = dict(zip(RIDGES, zip(errors, errors, strict=True), strict=True))
    assert first_least(errors) == first_best(errors) == 1
    assert strongest_least(errors, RIDGES) == 1
    assert strongest_least(errors[::-1], RIDGES[::-1]) == 3
    assert best_ridge(tried) == best_ridge(dict(sorted(tried.items()))) == 1.0
    assert not lower(errors[2], errors[1])
    assert not lower(errors[1], errors[2])
    assert least_error(RIDGES, lambda alpha: tried[alpha][0], SETTINGS)[0] == 1.0
    place = dict(enumerate(errors))
    assert climb(lambda value: (place[round(value)], value), 2.0, 1.0, 1)[1] == 2.0


@pytest.mark.parametrize("seed", range(20))
def test_rounding_of_log_losses_changes_no_choice(seed):
    """Equal squared errors, and log losses of which two are equally much lower."""
    base = np.full(50, 0.02)
    losses = [base, 0.5 * base, 0.5 * base]
    losses = [perturbed(own, seed + k) for k, own in enumerate(losses)]
    assert preferred(perturbed(np.full(3, 0.2), seed), losses) == 1
    assert preferred(perturbed(np.full(3, 0.2), seed), [base, base, base]) == 0


def test_errors_that_differ_by_more_are_compared():
    assert first_least([0.2, 0.2 * (1.0 - 3e-6)]) == 1
    assert strongest_least([0.2 * (1.0 - 3e-6), 0.2], [1.0, 10.0]) == 0
    assert first_best([0.2, 0.2 * (1.0 - 1.8e-4)]) == 0
    assert first_best([0.2, 0.2 * (1.0 - 3e-4)]) == 1


def signs(n_columns):
    """All rows of −1 and 1 once, in some order: every map of such columns is the same."""
    rows = np.array(list(itertools.product([-1.0, 1.0], repeat=n_columns)))
    rng = np.random.default_rng(0)
    rows = rows[rng.permutation(len(rows))]
    targets = rows[:, 0] * rows[:, 1] + rows[:, 2] * rows[:, 3] * rows[:, 4]
    return rows, targets + 0.1 * rng.normal(size=len(rows))


TABLES = {
    "few signs": (*signs(9), ks.KitchenSinkRegressor),
    "signs": (*signs(10), ks.KitchenSinkRegressor),
    "classes of signs": (signs(10)[0], signs(10)[1] > 0.5, ks.KitchenSinkClassifier),
    "exact": (signs(10)[0], signs(10)[0] @ np.arange(10.0), ks.KitchenSinkRegressor),
    "diabetes": (*load_diabetes(return_X_y=True), ks.KitchenSinkRegressor),
    "cancer": (*load_breast_cancer(return_X_y=True), ks.KitchenSinkClassifier),
    "friedman": (*make_friedman1(1500, noise=1.0, random_state=0), ks.KitchenSinkRegressor),
}


def law_of(name):
    rows, targets, estimator = TABLES[name]
    model = estimator(ks.Learned(effort="quick"), random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        law = model.fit(rows, targets).state_.law
    record = law.record
    return (record.kernel, record.map, record.scaling, law.features.n_components), law.ridge


@pytest.mark.parametrize(
    "name", [pytest.param(one, marks=[pytest.mark.slow] * (one != "few signs")) for one in TABLES]
)
def test_rounding_changes_no_law(name, monkeypatch):
    """Scores of held-out rows are off by rounding, and errors of descents by what it grows to."""
    kinds, ridge = law_of(name)
    error, short_run = TrialRows.error, maps.short_run
    eps = float(np.finfo(np.float32).eps)
    for seed in range(4):
        rng = np.random.default_rng(seed)

        def rounded(self, scores, rng=rng):
            size = eps * np.sqrt(self.unit / scores.shape[1])
            return error(self, scores + size * rng.uniform(-1.0, 1.0, scores.shape))

        def grown(*job, rng=rng):
            found = short_run(*job)
            return replace(found, errors=found.errors * (1.0 + 1e-5 * rng.uniform(-1.0, 1.0)))

        monkeypatch.setattr(TrialRows, "error", rounded)
        for module in (few, choice):
            monkeypatch.setattr(module, "short_run", grown)
        found = law_of(name)
        assert found[0] == kinds
        assert found[1] == pytest.approx(ridge, rel=1e-3)


def test_no_choice_has_another_rule():
    """No code of a law takes the least of some errors but by the rule."""
    for path in [*SOURCE.glob("law/*.py"), *SOURCE.glob("fitting/*.py")]:
        found = re.findall(r"argmin\(|min\([^\n]*key=", path.read_text())
        assert not found, (path, found)
