"""How much memory a fit may use beyond its input."""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

# Default budget of a fit, as a share of the free memory.
FREE_SHARE = 0.25
# Bytes that are taken to be free on a machine that does not say how many it has (Windows).
_UNTOLD = 4e9
_UNITS = {"": 1, "B": 1, "KB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12}


def memory_budget(value: Any = None) -> float:
    """Bytes: a number, text such as "2GB", or None for a quarter of the free memory.

    >>> memory_budget("1.5GB")
    1500000000.0
    """
    if value is None:
        return FREE_SHARE * free_memory()
    if isinstance(value, str):
        match = re.fullmatch(r"\s*(\d+\.?\d*|\.\d+)\s*([KMGT]?B)?\s*", value.upper())
        size = float(match[1]) * _UNITS[match[2] or ""] if match else 0.0
    else:
        good = isinstance(value, int | float) and not isinstance(value, bool)
        size = float(value) if good else 0.0
    if not size > 0:
        raise ValueError(
            f"memory_budget={value!r}: need a number of bytes, text such as '2GB', or None for "
            "a quarter of the free memory."
        )
    return size


def free_memory(root: Path = Path("/")) -> float:
    """Bytes that this process can still allocate: of the machine, its control groups and limits.

    root : where `proc` and `sys` are.
    """
    rooms = [_of_machine(root), *_of_groups(root), *_of_limits(root)]
    # Where a limit is reached already, one megabyte is reported: fits refuse it with a clear error.
    return max(min(rooms), 1e6)


def _of_machine(root: Path) -> float:
    """Bytes of the machine's memory that are available."""
    for line in _text(root / "proc/meminfo").splitlines():
        if line.startswith("MemAvailable:"):
            return float(line.split()[1]) * 1024
    if not hasattr(os, "sysconf"):
        return _UNTOLD
    return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")) / 2


def _of_groups(root: Path) -> Iterator[float]:
    """limit − use of the process's control group and of every group above it.

    Inactive file pages are reclaimed before a group reaches its limit. A container may see its own
    group as the root of the tree and still know its outer path: folders that do not exist are
    skipped.
    """
    base = root / "sys/fs/cgroup"
    for line in _text(root / "proc/self/cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            tree, names = base, ("memory.max", "memory.current", "inactive_file")
        elif "memory" in controllers.split(","):
            names = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
            tree = base / "memory"
        else:
            continue
        own = Path(path.lstrip("/"))
        for folder in (own, *own.parents):
            limit, used = (_text(tree / folder / name).strip() for name in names[:2])
            if limit.isdigit() and used.isdigit():
                stat = dict(
                    line.split()[:2] for line in _text(tree / folder / "memory.stat").splitlines()
                )
                yield float(limit) - float(used) + float(stat.get(names[2], 0))


def _of_limits(root: Path) -> Iterator[float]:
    """RLIMIT_AS − the address space in use, where the system has such limits."""
    try:
        import resource
    except ImportError:
        return
    soft = resource.getrlimit(resource.RLIMIT_AS)[0]
    pages = _text(root / "proc/self/statm").split()
    if soft != resource.RLIM_INFINITY and pages:
        yield float(soft) - float(pages[0]) * os.sysconf("SC_PAGE_SIZE")


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except (OSError, ValueError):
        return ""
