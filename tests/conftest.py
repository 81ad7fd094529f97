"""Shared fixtures: where the real data sets are, if they are."""

import gc
import os
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from tests.little import little_work

# Examples of a property, unless a test says how many; a busy machine may take its time for one.
settings.register_profile("suite", max_examples=40, deadline=None)
settings.load_profile("suite")

_BESIDE = Path(__file__).parents[2] / "shared" / "data"
if "KITCHENSINKS_DATA" not in os.environ and _BESIDE.is_dir():
    os.environ["KITCHENSINKS_DATA"] = str(_BESIDE)


def _nobody_is_called(event: str, facts: tuple[Any, ...]) -> None:
    """An error for connections to other machines: no test needs one, and the library makes none."""
    if event != "socket.connect":
        return
    caller, address = facts
    # A datagram socket sends nothing when it is connected: Dask learns its own address so.
    if caller.family in (socket.AF_INET, socket.AF_INET6) and caller.type == socket.SOCK_STREAM:
        host = str(address[0])
        if not host.startswith("127.") and host not in ("::1", "localhost", *_OWN):
            raise ConnectionRefusedError(f"no test may connect to {host}")


# Names and addresses of this machine.
_OWN = {socket.gethostname(), "0.0.0.0", "::"}
sys.addaudithook(_nobody_is_called)


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The folder of real data sets; tests that need it are skipped, and counted, without it."""
    folder = Path(os.environ.get("KITCHENSINKS_DATA", ""))
    if not os.environ.get("KITCHENSINKS_DATA") or not folder.is_dir():
        pytest.skip("needs the real data sets: set KITCHENSINKS_DATA to their folder")
    return folder


@pytest.fixture(autouse=True, scope="session")
def many_cores() -> Iterator[None]:
    """Teams of several threads are tested on machines of one core, too."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("kitchensinks.numerics.threads.cores", lambda: 8)
        yield


@pytest.fixture(name="little_work")
def _little_work(request: pytest.FixtureRequest) -> Iterator[None]:
    """Laws are learned with little work, for tests that no choice of a law matters to.

    In a module of such tests, one that needs the usual work is marked so. A fixture of a module
    that fits enters `little_work` itself.
    """
    if request.node.get_closest_marker("usual_work"):
        yield
    else:
        with little_work():
            yield


def pytest_collection_finish() -> None:
    """What was imported and collected stays: the garbage collector need not look at it again."""
    gc.collect()
    gc.freeze()


def pytest_configure(config: pytest.Config) -> None:
    """A process among several has one thread; a test that asks for two can have them."""
    if hasattr(config, "workerinput"):
        import numba

        numba.set_num_threads(1)
