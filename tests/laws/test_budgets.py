"""memory_budget is kept, from every source and by every solver."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

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
    done = subprocess.run(
        [sys.executable, JOB, tmp_path, *cases],
        capture_output=True,
        text=True,
        timeout=1800,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "MALLOC_ARENA_MAX": "2"},
    )
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads(done.stdout)
    assert set(found) == set(cases)
    failed = {name: answer for name, answer in found.items() if isinstance(answer, str)}
    assert not failed, failed
    print({name: round(took / BUDGET, 2) for name, (took, _) in found.items()})
