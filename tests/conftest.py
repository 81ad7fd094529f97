"""Shared fixtures: where the real data sets are, if they are."""

import os
from pathlib import Path

import pytest

_BESIDE = Path(__file__).parents[2] / "shared" / "data"
if "KITCHENSINKS_DATA" not in os.environ and _BESIDE.is_dir():
    os.environ["KITCHENSINKS_DATA"] = str(_BESIDE)


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The folder of real data sets; tests that need it are skipped, and counted, without it."""
    folder = Path(os.environ.get("KITCHENSINKS_DATA", ""))
    if not os.environ.get("KITCHENSINKS_DATA") or not folder.is_dir():
        pytest.skip("needs the real data sets: set KITCHENSINKS_DATA to their folder")
    return folder


def pytest_configure(config: pytest.Config) -> None:
    """A process among several has one thread; a test that asks for two can have them."""
    if hasattr(config, "workerinput"):
        import numba

        numba.set_num_threads(1)
