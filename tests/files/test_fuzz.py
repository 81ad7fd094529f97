"""Files harmed at random: refused with our own error, without a crash, a hang or a wrong number."""

import json
import os
from pathlib import Path

import pytest

from tests.jobs import python

pytestmark = pytest.mark.skipif(os.name != "posix", reason="measures memory as POSIX does")
JOB = Path(__file__).parent / "fuzz_job.py"


@pytest.mark.parametrize(
    ("seed", "cases", "checked"),
    [
        (0, 12, False),
        *[pytest.param(seed, 1000, False, marks=pytest.mark.slow) for seed in (1, 2, 3)],
        # Compiled loops check every index, which they do not do otherwise.
        pytest.param(4, 300, True, marks=pytest.mark.slow),
    ],
)
def test_harmed_files_are_refused_or_harmless(seed, cases, checked, tmp_path):
    checks = {"NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(tmp_path / "numba")}
    said = python(JOB, tmp_path, seed, cases, timeout=900, **(checks if checked else {}))
    counts = json.loads(said)
    # Harm is seldom harmless.
    for kind in ("bytes", "fields", "checkpoint"):
        refused = counts[f"{kind} refused"]
        assert refused > 0.5 * sum(n for name, n in counts.items() if name.startswith(kind))
