"""Dask runs the tasks: trees of sums, a watch over lost workers, and errors that say what to do."""

import os
import platform
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy
import scipy

import kitchensinks
from kitchensinks.numerics.threads import single_blas

try:
    import dask
    from dask import delayed
    from dask.system import CPU_COUNT
    from dask.utils import parse_timedelta
except ImportError as error:
    raise ImportError(
        'Dask is not installed: pip install "kitchensinks[dask]" brings it.'
    ) from error

# Fan-in of the tree of sums: a small one keeps few partial sums in memory at a time.
FAN_IN = 2
# Seconds without any worker before a fit gives up; `kitchensinks.patience` in Dask's configuration.
PATIENCE = "30s"
# Seconds within which a scheduler must answer.
ANSWER = 10
# Dask gives a task up after three of its workers have died: it is submitted this many times.
CHANCES = 8
# Seconds between two looks at the scheduler.
_POLL = 0.5

# A task of Dask, which has no types: lazy (`delayed`), started (`persist`) or sent.
Task = Any
# Called with the number of finished tasks and the number of all tasks.
Told = Callable[[int, int], None]


class ClusterError(RuntimeError):
    """The cluster, and not the data or the parameters, has failed."""


class NoScheduler(ClusterError, ValueError):
    """No scheduler answers at the address that was given."""


def tree(nodes: Sequence[Task], merge: Callable[[Any, Any], Any]) -> Task:
    """One task for the merger of all: a tree whose nodes take FAN_IN parts each.

    >>> tree([delayed(n) for n in range(5)], lambda a, b: a + b).compute(scheduler="sync")
    10
    """
    nodes = list(nodes)
    while len(nodes) > 1:
        pairs = [nodes[i : i + FAN_IN] for i in range(0, len(nodes), FAN_IN)]
        nodes = [delayed(merge)(*pair) if len(pair) > 1 else pair[0] for pair in pairs]
    return nodes[0]


def active_client() -> Any:
    """The `distributed.Client` that Dask would use here, or None."""
    try:
        from distributed import get_client
    except ImportError:
        return None
    try:
        return get_client()
    except ValueError:
        return None


def slots() -> int:
    """How many tasks run at the same time."""
    client = active_client()
    return int(CPU_COUNT) if client is None else max(1, sum(client.nthreads().values()))


def persist(*nodes: Task) -> list[Task]:
    """The tasks, started: their values stay on the workers for as long as the tasks are held."""
    client = active_client()
    if client is None:
        with single_blas():
            return list(dask.persist(*nodes))
    return list(client.persist(list(nodes)))


def compute(*nodes: Task, told: Told | None = None) -> tuple[Any, ...]:
    """The values of the tasks: on the active client, or on Dask's own scheduler in this process.

    Dask computes again what was lost with a worker. Where all workers are gone for longer than the
    patience, or the scheduler is, this is a `ClusterError`. `told(done, total)` is called with
    the number of tasks that are done.
    """
    client = active_client()
    if client is None:
        # As many tasks run as there are cores: one thread for each.
        with single_blas(), _counted(told):
            return tuple(dask.compute(*nodes))
    from distributed import KilledWorker
    from distributed.client import FutureCancelledError

    futures = client.compute(list(nodes))
    try:
        for chance in reversed(range(CHANCES)):
            _watch(client, futures, told)
            try:
                return tuple(client.gather(futures))
            except KilledWorker as error:
                if chance == 0:
                    raise ClusterError(
                        f"The workers that took one of the tasks died, one after another ({error})."
                        " Most often they ran out of memory: use fewer n_components, smaller "
                        "partitions, or workers with more memory. docs/cluster.md says how much a "
                        "fit needs."
                    ) from None
                client.retry(futures)
        raise AssertionError("the last chance returns or raises")
    except FutureCancelledError as error:
        raise ClusterError(_gone(client, "has closed, or has cancelled the work")) from error
    finally:
        if client.status == "running":
            client.cancel([future for future in futures if not future.done()], force=True)


def scattered(value: object) -> Task:
    """A large value, sent to all workers, as a task; it is lost where all of them are."""
    client = active_client()
    if client is None:
        return delayed(value, traverse=False)
    try:
        return client.scatter(value, broadcast=True, hash=False)
    except TimeoutError:
        raise ClusterError(_gone(client, "has no workers")) from None


def workers() -> tuple[int, int]:
    """How many workers there are, and how many of them share a machine at most."""
    client = active_client()
    if client is None:
        return 1, 1
    hosts = [worker["host"] for worker in client.scheduler_info(n_workers=-1)["workers"].values()]
    return max(1, len(hosts)), max(map(hosts.count, hosts), default=1)


@contextmanager
def _counted(told: Told | None) -> Iterator[None]:
    """Count the tasks that Dask's own scheduler has done."""
    if told is None:
        yield
        return
    from dask.callbacks import Callback

    def after(key: object, value: object, graph: object, state: Any, worker: object) -> None:
        done = len(state["finished"])
        told(done, done + sum(len(state[kind]) for kind in ("waiting", "ready", "running")))

    with Callback(posttask=after):
        yield


def _watch(client: Any, futures: list[Task], told: Told | None) -> None:
    """Wait for the futures, as long as there is anyone who could finish them."""
    from distributed import wait

    patience = parse_timedelta(dask.config.get("kitchensinks.patience", PATIENCE))
    seen, most = time.monotonic(), 0
    while True:
        try:
            wait(futures, timeout=_POLL)
            return
        except TimeoutError:
            if any(future.status in ("error", "cancelled", "lost") for future in futures):
                return
        if _alive(client):
            seen = time.monotonic()
            if told is not None:
                left = client.run_on_scheduler(_unfinished)
                most = max(most, left)
                told(most - left, most)
        elif time.monotonic() - seen > patience:
            raise ClusterError(_gone(client, f"has had no workers for {patience:g} s"))


def _unfinished(dask_scheduler: Any) -> int:
    """How many tasks of the scheduler are not done."""
    kinds = ("waiting", "queued", "no-worker", "processing")
    groups = dask_scheduler.task_groups.values()
    return int(sum(group.states.get(kind, 0) for group in groups for kind in kinds))


def _alive(client: Any) -> bool:
    try:
        return client.status == "running" and bool(client.nthreads())
    except (OSError, TimeoutError):
        return False


def _gone(client: Any, what: str) -> str:
    address = getattr(client.scheduler, "address", "the scheduler")
    return (
        f"The cluster at {address} {what}, so the fit has stopped. Look at the logs of the "
        "workers, start them again, and fit again."
    )


def versions() -> dict[str, str]:
    """What must be the same here and on the workers, for the same features and sums."""
    return {
        "Python": ".".join(platform.python_version_tuple()[:2]),
        "kitchensinks": kitchensinks.__version__,
        "numpy": numpy.__version__,
        "scipy": scipy.__version__,
    }


def check_versions(wanted: dict[str, str]) -> None:
    """In a task: an error where this worker would sum with other versions than the client."""
    for name, here in versions().items():
        if wanted[name] != here:
            raise ClusterError(
                f"Worker {platform.node()} (process {os.getpid()}) has {name} {here}, and the "
                f"client has {wanted[name]}: sums made by different versions must not be added. "
                "Install the same there."
            )


@contextmanager
def connected(where: str) -> Iterator[Any]:
    """A client of a scheduler ("tcp://host:8786"), or of a cluster here ("local:2").

    A scheduler that does not answer within ten seconds is an error, `NoScheduler`.
    """
    from distributed import Client, LocalCluster

    kind, _, count = where.partition(":")
    if kind != "local":
        try:
            client = Client(where, timeout=ANSWER)
        except (OSError, TimeoutError, ValueError) as error:
            raise NoScheduler(
                f"No scheduler answers at {where} within {ANSWER} s ({error}). Start one with "
                "`dask scheduler`, and check the address and the firewall."
            ) from None
        with client:
            yield client
        return
    if count and not (count.isdigit() and int(count) > 0):
        raise ValueError(f"{where!r}: need local:N with the number of workers, such as local:2.")
    workers = int(count) if count else os.cpu_count()
    with (
        LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        yield client
