"""How much memory a fit may use beyond its input."""

import os
import re
from typing import Any

# Without a budget a fit takes at most this share of the memory that is free.
FREE_SHARE = 0.25
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


def free_memory() -> float:
    """Bytes of memory that are free or can be freed at once."""
    try:
        with open("/proc/meminfo") as lines:
            for line in lines:
                if line.startswith("MemAvailable:"):
                    return float(line.split()[1]) * 1024
    except OSError:
        pass
    return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")) / 2
