"""The default memory budget: what the machine, a container and the process's limits leave."""

import os

import pytest

from kitchensinks.tables.memory import free_memory, memory_budget
from tests.jobs import python

GB = 1e9


def machine(root, groups, files, free=64 * GB):
    """A fake tree of /proc and /sys below root."""
    files = {
        "proc/meminfo": f"MemTotal: 99999999 kB\nMemAvailable: {int(free / 1024)} kB\n",
        "proc/self/cgroup": groups,
        **files,
    }
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def test_without_groups_the_machine_decides(tmp_path):
    assert free_memory(machine(tmp_path, "", {})) == pytest.approx(64 * GB)


def test_a_machine_that_tells_nothing_still_has_memory(tmp_path, monkeypatch):
    """As Windows, which has neither /proc nor os.sysconf."""
    monkeypatch.delattr(os, "sysconf")
    assert free_memory(tmp_path) == 4 * GB


def v2(folder, limit, used, inactive=0):
    base = f"sys/fs/cgroup/{folder}".rstrip("/")
    return {
        f"{base}/memory.max": f"{limit}\n",
        f"{base}/memory.current": f"{int(used)}\n",
        f"{base}/memory.stat": f"anon 5\nfile 7\ninactive_file {int(inactive)}\n",
    }


def v1(folder, limit, used, inactive=0):
    base = f"sys/fs/cgroup/memory/{folder}".rstrip("/")
    return {
        f"{base}/memory.limit_in_bytes": f"{limit}\n",
        f"{base}/memory.usage_in_bytes": f"{int(used)}\n",
        f"{base}/memory.stat": f"inactive_file 3\ntotal_inactive_file {int(inactive)}\n",
    }


def test_a_container_of_the_second_version_sees_its_own_group_as_root(tmp_path):
    root = machine(tmp_path, "0::/\n", v2("", int(1.2 * GB), 0.4 * GB, 0.1 * GB))
    assert free_memory(root) == pytest.approx(0.9 * GB)


def test_the_tightest_of_nested_groups_decides(tmp_path):
    files = v2("user/job", "max", 0.5 * GB) | v2("user", int(3 * GB), 1 * GB) | v2("", "max", 0)
    assert free_memory(machine(tmp_path, "0::/user/job\n", files)) == pytest.approx(2 * GB)


def test_a_container_of_the_first_version(tmp_path):
    groups = "12:cpu,cpuacct:/docker/abc\n9:memory:/docker/abc\n1:name=systemd:/docker/abc\n"
    # Inside of the container its group is the root, whatever path the process is told.
    root = machine(tmp_path, groups, v1("", int(1.2 * GB), 0.2 * GB, 0.05 * GB))
    assert free_memory(root) == pytest.approx(1.05 * GB)


def test_the_first_version_without_a_limit(tmp_path):
    root = machine(tmp_path, "9:memory:/\n", v1("", 9223372036854771712, 5 * GB))
    assert free_memory(root) == pytest.approx(64 * GB)


def test_a_group_at_its_limit_leaves_little_and_never_less_than_nothing(tmp_path):
    root = machine(tmp_path, "0::/\n", v2("", int(GB), 1.1 * GB))
    assert free_memory(root) == 1e6


LIMITED = """
import resource, sys
import numpy as np
import kitchensinks as ks
from kitchensinks.tables.memory import free_memory
ks.KitchenSinkRegressor(ks.Fourier(), n_components=20).fit(np.eye(30), np.arange(30.0))
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + 250_000_000,) * 2)
print(free_memory())
# 100,000 × 800 features in float32 are 320 MB; the machine has room for them, the process has not.
rng = np.random.default_rng(0)
X, K = rng.normal(size=(100_000, 5)).astype(np.float32), 800
options = dict(loss="huber", alpha=1e-3, n_jobs=1, solver=ks.Solver(max_iter=2))
model = ks.KitchenSinkRegressor(ks.Fourier(), K, **options)
print(np.isfinite(model.fit(X, X[:, 0]).predict(X[:9])).all())
"""


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="needs Linux")
def test_a_limit_of_the_address_space_is_kept():
    free, finite = python("-c", LIMITED).split()
    assert float(free) == pytest.approx(250e6, rel=0.05)
    assert finite == "True"


def test_the_budget_is_a_quarter_of_what_is_free(monkeypatch):
    monkeypatch.setattr("kitchensinks.tables.memory.free_memory", lambda: 8e9)
    assert memory_budget() == 2e9
