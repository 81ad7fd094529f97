"""The machine, the versions and the commit that results were measured with."""

import os
import platform
import subprocess
from importlib.metadata import version
from pathlib import Path
from typing import Any

import kitchensinks

_PACKAGES = ("numpy", "scipy", "scikit-learn", "numba")


def machine() -> dict[str, Any]:
    """Processor, system and versions of the numerical packages."""
    versions = {name: version(name) for name in _PACKAGES}
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "versions": {"kitchensinks": kitchensinks.__version__, **versions},
    }


def commit() -> str | None:
    """The commit that last changed the package, with a plus where its files differ from it.

    None outside a repository of the package.
    """
    folder = Path(__file__).parents[1]
    found = _git(folder, "log", "-1", "--format=%h", "--", ".")
    if not found:
        return None
    return f"{found}+" if _git(folder, "status", "--porcelain", "--", ".") else found


def _git(folder: Path, *arguments: str) -> str:
    try:
        done = subprocess.run(["git", *arguments], cwd=folder, capture_output=True, text=True)
    except FileNotFoundError:  # no git on this machine
        return ""
    return done.stdout.strip()


def _processor() -> str:
    file = Path("/proc/cpuinfo")
    lines = file.read_text().splitlines() if file.exists() else []
    models = (line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    return next(models, platform.processor())
