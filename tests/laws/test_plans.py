"""The plan that `make_plan` returns is the one that a model has and whose solver ran."""

import itertools
import warnings

import dask.array as da
import numpy as np
import pytest

import kitchensinks as ks
from kitchensinks.features.blocks import FeatureBlocks
from kitchensinks.fitting import plan, sizes
from kitchensinks.fitting.plan import make_plan
from kitchensinks.fitting.run import RUNS
from kitchensinks.fitting.sizes import Sizes
from tests.catalogue import build

# Every solver of a plan, and how the name of its solutions begins.
SOLUTIONS = {
    "direct": "direct",
    "sums": "direct",
    "conjugate": "conjugate gradients",
    "binned conjugate": "conjugate gradients",
    "blocks": "block coordinate descent",
    "coordinates": "dual coordinate ascent",
    "sampled": "l-bfgs",
    "quasi-newton": "l-bfgs",
    "projected": "spectral projected gradient",
    "multipliers": "admm",
    "rows": "l-bfgs",
    "smoothed": "smoothed",
    "stages": "two stages",
    "stochastic": "stochastic gradients",
}
RNG = np.random.default_rng(0)
X = RNG.normal(size=(160, 2))
Y = np.sin(2.0 * X[:, 0]) + 0.3 * RNG.normal(size=160)
BUDGET = 10**9
# Bases and numbers of draws; with 40 columns at most, sparse features count as few.
SHAPES = {
    "many rows": (ks.Fourier(), 30),
    "few rows": (ks.Fourier(), 200),
    "few bins": (ks.Binning(gamma=0.05), 2),
    "many bins": (ks.Binning(), 12),
    "dense and bins": (ks.Union([ks.Fourier(), ks.Binning()]), 12),
}
LOSSES = ["squared", "huber", "quantile"]
# Ridge and ball; a weak ridge is too weak for some solvers.
PENALTIES = {
    "ridge": {"alpha": 1e-2},
    "weak ridge": {"alpha": 1e-9},
    "chosen ridge": {"alpha": "auto"},
    "box": {"constraint": ks.SupBall(30.0)},
    "ball": {"constraint": ks.L2Ball(3.0)},
}


@pytest.fixture(autouse=True)
def _small_sizes(monkeypatch):
    """Sizes at which solvers pay, as small as the data here; half of the fits come to a halt."""
    monkeypatch.setattr(sizes, "DENSE_COLUMNS", 40)
    for name in ("SPAN_ROWS", "SPAN_ROWS_EXACT"):
        monkeypatch.setattr(plan, name, 10)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def model_of(basis, count, loss, **options):
    options = {"random_state": 0, "memory_budget": BUDGET, "max_iter": 30, **options}
    return build(ks.KitchenSinkRegressor, basis, count, loss, **options)


def ran(found):
    """The solver of the plan, which is the one of the evidence."""
    solver = found.plan_.solver
    assert found.solver_.startswith(SOLUTIONS[solver.removeprefix("sparse ")])
    by_products = solver.startswith("sparse ") or solver == "binned conjugate"
    assert found.solver_.endswith("(sparse)") == by_products
    return solver


def agrees(found, **known):
    """The plan is that of the sizes and settings, unless it says that another one was too slow."""
    blocks = FeatureBlocks(X, found.law_.features, BUDGET)
    planned = make_plan(Sizes.of(blocks, outputs=1, **known), found.state_.settings)
    solver = ran(found)
    if found.plan_ != planned:
        assert f"{planned.solver!r} that was planned" in found.plan_.reason
        assert planned.solver in ("coordinates", "sampled", "sparse coordinates")
        assert (found.plan_.space, found.plan_.place) == (planned.space, planned.place)
        assert solver in ("quasi-newton", "multipliers", "sparse rows")
    return solver


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("shape", SHAPES)
def test_the_plan_of_a_fit_is_the_one_that_sizes_and_settings_give(shape, loss):
    for penalty in PENALTIES.values():
        agrees(model_of(*SHAPES[shape], loss, **penalty).fit(X, Y))


@pytest.mark.parametrize(("loss", "pays"), [("quantile", "coordinates"), ("huber", "sampled")])
def test_a_fallback_is_the_plan_and_says_what_it_replaces(loss, pays, monkeypatch):
    monkeypatch.setattr(plan, "COORDINATE_ROWS", 100)
    monkeypatch.setattr(plan, "SAMPLED_COLUMNS", 20)
    cases = itertools.product((20, 200) if loss == "quantile" else (20,), PENALTIES)
    solvers = {
        penalty: agrees(model_of(ks.Fourier(), count, loss, **PENALTIES[penalty]).fit(X, Y))
        for count, penalty in cases
    }
    assert solvers["ridge"] == pays
    assert solvers["weak ridge"] != pays


@pytest.mark.parametrize("solver", ["direct", "conjugate", "blocks", "stochastic"])
def test_a_solver_that_is_asked_for_is_the_plan(solver):
    found = model_of(ks.Fourier(), 30, "squared", alpha=1e-2, solver=solver).fit(X, Y)
    assert agrees(found) == solver


@pytest.mark.parametrize("loss", LOSSES)
def test_known_sums_are_used_and_the_plan_says_so(loss):
    found = model_of(ks.Fourier(), "auto", loss, alpha=1e-2).fit(X, Y)
    agrees(found, summed=True)


def test_gradients_are_planned():
    found = model_of(ks.Fourier(), 30, "squared", alpha=1e-2)
    found.fit(X, Y, gradients=np.column_stack([2.0 * np.cos(2.0 * X[:, 0]), np.zeros(160)]))
    assert agrees(found, gradients=160) == "direct"


@pytest.mark.parametrize("loss", LOSSES)
def test_the_plan_of_batches(loss):
    model = model_of(ks.Fourier(), 30, loss, alpha=1e-2)
    for _ in range(2):
        model.partial_fit(X, Y)
        assert agrees(model, stream=True) == ("sums" if loss == "squared" else "stochastic")


def test_batches_that_go_on_with_steps_say_so():
    """After stochastic gradients on batches too large for a Gram, the plan was that of sums."""
    model = model_of(ks.Fourier(), 30, "squared", alpha=1e-2, solver="stochastic").fit(X, Y)
    model.set_params(solver=ks.Solver(memory_budget=BUDGET)).partial_fit(X, Y)
    assert ran(model) == "stochastic"
    assert "goes on" in model.plan_.reason


@pytest.mark.parametrize("penalty", ["ridge", "chosen ridge", "box"])
@pytest.mark.parametrize("loss", LOSSES)
def test_the_plan_on_dask(loss, penalty):
    chunks = (80, 2)
    model = model_of(ks.Fourier(), 30, loss, dtype="float64", **PENALTIES[penalty])
    found = model.fit(da.from_array(X, chunks), da.from_array(Y, chunks[0]))
    ran(found)
    sizes = Sizes(len(X), 30, False, 8.0 * len(X) * 30, BUDGET, 8, place="dask")
    assert found.plan_ == make_plan(sizes, found.state_.settings)


def test_every_solver_of_this_process_is_known_here():
    assert {one.removeprefix("sparse ") for one in RUNS} <= set(SOLUTIONS)
