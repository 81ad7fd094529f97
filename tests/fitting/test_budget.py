"""Memory budgets of bins and Grams: kept, or refused with the smallest that works."""

import re

import numpy as np
import pytest

import kitchensinks as ks
from kitchensinks.fitting.plan import make_plan
from kitchensinks.fitting.settings import Settings
from kitchensinks.fitting.sizes import Sizes
from kitchensinks.law.candidates import affordable
from kitchensinks.law.learned import Learned
from kitchensinks.law.task import LearningRows
from kitchensinks.law.values import Request
from kitchensinks.problem.losses import LOSSES
from kitchensinks.problem.targets import Batch
from tests.jobs import python

RNG = np.random.default_rng(0)
ROWS = RNG.normal(size=(3000, 6))
TARGETS = np.sign(ROWS[:, 0]) * ROWS[:, 1] + 0.1 * RNG.normal(size=3000)

PEAK = """
import resource, sys, warnings
import numpy as np
import kitchensinks as ks
warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
rows = rng.normal(size=(60_000, 8)).astype(np.float32)
targets = np.sign(rows[:, 0]) * rows[:, 1] + 0.1 * rng.normal(size=60_000)
solver = ks.Solver(memory_budget="100MB")
def model(count):
    return ks.KitchenSinkRegressor(ks.Binning(), count, alpha=1e-4, solver=solver, random_state=0)
model(43).fit(rows[:3000], targets[:3000]).predict(rows[:9])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
model(43).fit(rows, targets)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024)
"""


def test_bins_stay_within_the_budget_that_is_given():
    assert int(python("-c", PEAK)) < 100e6


def test_more_bins_than_the_budget_are_refused_with_the_smallest_that_works():
    rows, targets = ROWS[:1200], TARGETS[:1200]
    model = ks.KitchenSinkRegressor(ks.Binning(), 120, alpha=1e-3, random_state=0)
    model.set_params(solver=ks.Solver(memory_budget="2MB"))
    with pytest.raises(ValueError, match="bins of 1,200 rows in 120 grids") as refusal:
        model.fit(rows, targets)
    smallest = re.search(r"memory_budget='(\d+MB)'", str(refusal.value))[1]
    count = int(re.search(r"at most (\d+) components", str(refusal.value))[1])
    model.set_params(n_components=count).fit(rows, targets)
    model.set_params(n_components=120, solver=ks.Solver(memory_budget=smallest))
    assert model.fit(rows, targets).score(rows, targets) > 0.5


def test_a_learned_law_has_no_more_grids_than_fit():
    batch, learned = Batch(ROWS, TARGETS[:, None]), Learned(effort="quick")
    few = affordable(LearningRows(batch, Request(seed=0, memory=5e6), learned), sparse=True)
    many = affordable(LearningRows(batch, Request(seed=0, memory=5e9), learned), sparse=True)
    assert 38 * 3000 * few.components <= 5e6 < 38 * 3000 * many.components


@pytest.mark.parametrize("sparse", [False, True])
def test_a_gram_that_is_asked_for_is_refused_beyond_the_budget(sparse):
    settings = Settings(LOSSES["squared"], 1e-3, None, True, 1e-3, 200, "direct", 0)
    with pytest.raises(ValueError, match=r"Gram matrix of 43,000 features.*88\.8 GB.*1 GB"):
        make_plan(Sizes(100_000, 43_000, sparse, 1e8, 1e9, 4), settings)
    assert make_plan(Sizes(100_000, 1000, sparse, 1e8, 1e9, 4), settings).solver == "direct"


@pytest.mark.usefixtures("little_work")
def test_deviations_of_a_default_model_are_given_or_refused_with_advice_that_works():
    learned = Learned(ks.Binning(), effort="quick")
    model = ks.KitchenSinkRegressor(learned, 100, random_state=0).fit(ROWS, TARGETS)
    assert model.plan_.solver == "binned conjugate"
    with pytest.raises(ValueError, match=r"return_std needs.*ks\.Learned\(ks\.Fourier\(\)\)"):
        model.predict(ROWS[:5], return_std=True)
    advised = ks.KitchenSinkRegressor(
        Learned(ks.Fourier(), effort="quick"), solver="direct", random_state=0
    ).fit(ROWS, TARGETS)
    mean, deviation = advised.predict(ROWS[:50], return_std=True)
    assert (np.abs(mean - TARGETS[:50]) < 5 * deviation).mean() > 0.9


def test_a_pool_that_the_budget_cannot_hold_is_refused_with_the_smallest_that_works():
    """One block of draws took 600 MB with a budget of 200 MB."""
    rows = np.random.default_rng(0).normal(size=(60, 3))
    solver = ks.Solver(memory_budget="20MB")
    for basis in (ks.Maxout(pool=10**9), ks.Union([ks.Fourier(), ks.Maxout(pool=10**9)])):
        model = ks.KitchenSinkRegressor(basis, 5, solver=solver, random_state=0)
        with pytest.raises(ValueError, match=r"need memory_budget='6144\d{3}MB' or more"):
            model.fit(rows, rows[:, 0])
    model = ks.KitchenSinkRegressor(ks.Maxout(pool=300), 5, solver=solver, random_state=0)
    assert np.isfinite(model.fit(rows, rows[:, 0]).predict(rows)).all()
