"""Importing the package changes nothing for whoever imports it."""

import os
import subprocess
import sys

# Other libraries come first, because what they change is theirs; then every module of ours.
CODE = """
import importlib, os, pkgutil, sys, threading, warnings
import numba, numpy, scipy, sklearn.linear_model, sklearn.utils.estimator_checks, threadpoolctl
for name in ("pandas", "pyarrow", "skrub", "dask.array", "distributed", "typer", "matplotlib"):
    importlib.import_module(name)

def state():
    pools = threadpoolctl.threadpool_info()
    return {
        "environment": dict(os.environ),
        "floating-point errors": numpy.geterr(),
        "warnings": list(warnings.filters),
        "threads": threading.active_count(),
        "threads of BLAS": sorted((pool["filepath"], pool["num_threads"]) for pool in pools),
        "print options": numpy.get_printoptions(),
        "random state": numpy.random.get_state()[1].tolist(),
        "path": list(sys.path),
    }

before = state()
import kitchensinks
for module in pkgutil.walk_packages(kitchensinks.__path__, "kitchensinks."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)
after = state()
print(sum(name.startswith("kitchensinks") for name in sys.modules))
print([name for name in before if before[name] != after[name]])
"""


def test_importing_every_module_changes_no_global_state():
    plain = {key: value for key, value in os.environ.items() if not key.startswith("OMP_")}
    found = subprocess.run(
        [sys.executable, "-c", CODE], capture_output=True, text=True, timeout=600, env=plain
    )
    assert found.returncode == 0, found.stderr
    modules, changed = found.stdout.splitlines()
    assert int(modules) > 100
    assert changed == "[]"
