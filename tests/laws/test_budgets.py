"""memory_budget is kept, from every source and by every solver."""

import json
import os
import re
import warnings
from pathlib import Path

import numpy as np
import pytest

import kitchensinks as ks
from tests.jobs import python
from tests.laws.budget_job import BUDGET, SOLVERS, SOURCES

JOB = Path(__file__).parent / "budget_job.py"
QUICK = ["array:direct", "parquet:gram", "csv:sparse", "npy:stochastic"]
# Every solver from an array and from a file, every source with sums and with passes.
ALL = [f"{kind}:{name}" for kind in ("array", "parquet") for name in SOLVERS]
ALL += [f"{kind}:{name}" for kind in SOURCES for name in ("direct", "gram", "sparse", "learned")]


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="needs Linux")
@pytest.mark.parametrize(
    "cases", [QUICK, pytest.param(sorted(set(ALL)), marks=pytest.mark.slow)], ids=["few", "all"]
)
def test_the_budget_holds_where_the_address_space_is_limited(cases, tmp_path):
    found = json.loads(python(JOB, tmp_path, *cases, timeout=1800, MALLOC_ARENA_MAX="2"))
    assert set(found) == set(cases)
    failed = {name: answer for name, answer in found.items() if isinstance(answer, str)}
    assert not failed, failed
    print({name: round(took / BUDGET, 2) for name, (took, _) in found.items()})


SMALL = [("conjugate", 400, "50kB", "one block"), ("auto", 400, "10kB", "the weights")]
SMALL += [("blocks", 900, "20kB", "the weights"), ("conjugate", 900, "900kB", "one block")]


@pytest.mark.parametrize(("solver", "count", "budget", "what"), SMALL)
def test_a_budget_that_is_too_small_is_refused_with_the_smallest_that_works(
    solver, count, budget, what
):
    rows = np.random.default_rng(0).normal(size=(1000, 3))
    model = ks.KitchenSinkRegressor(ks.Fourier(), count, alpha=1e-2, random_state=0)
    model.set_params(solver=ks.Solver(solver, memory_budget=budget))
    with pytest.raises(ValueError, match=f"cannot hold {what} of {count} features") as refusal:
        model.fit(rows, rows[:, 0])
    smallest = re.search(r"memory_budget='(\d+MB)'", str(refusal.value))[1]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.set_params(solver__memory_budget=smallest).fit(rows, rows[:, 0])
    assert np.isfinite(model.predict(rows)).all()
