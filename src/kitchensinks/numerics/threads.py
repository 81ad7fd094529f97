"""Threads: a team that trials, blocks of rows and compiled loops share.

All parallel work runs on threads of our own. Each of them uses one thread of BLAS, and compiled
loops that start no threads and release the interpreter's lock. Nothing waits for a pool of BLAS or
of OpenMP, no thread spins without work, and a process that has fitted may fork.

Work is cut by what it is and never by the number of threads, and results are taken in the order of
the items, so that every number of threads gives the same bits.
"""

import functools
import inspect
import itertools
import numbers
import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from pathlib import Path
from typing import Any, Generic, TypeVar

import joblib
import numba
import numpy as np
from threadpoolctl import ThreadpoolController

Item = TypeVar("Item")
Result = TypeVar("Result")
Loop = Callable[..., Any]

# A compiled loop over fewer entries is done before another thread has begun.
_SMALL_LOOP = 2**15


class Team:
    """A number of threads: that of the caller, and others that are started when first needed.

    Nested work shares the team. A thread that is done, or that waits for the result of another
    one, is free for the work of any thread of the team: as many threads work as the team has.
    """

    def __init__(self, count: int) -> None:
        self.count = count
        self._free = threading.Semaphore(count - 1)
        self._pool: ThreadPoolExecutor | None = None
        self._starting = threading.Lock()

    def submit(self, work: Callable[[Item], Result], item: Item) -> "Future[Result] | None":
        """Work on an item in another thread, or None where all threads are busy."""
        if not self._free.acquire(blocking=False):
            return None
        with self._starting:
            if self._pool is None:
                # Threads that wait for others are not at work, so that there may be more of them.
                self._pool = ThreadPoolExecutor(8 * self.count)
        context = copy_context()

        def run() -> Result:
            try:
                return context.run(work, item)
            finally:
                self._free.release()

        return self._pool.submit(run)

    def wait(self, future: "Future[Result]") -> Result:
        """The result of work; while the caller waits, its place in the team is free for others."""
        if future.done():
            return future.result()
        self._free.release()
        try:
            return future.result()
        finally:
            self._free.acquire()

    def close(self) -> None:
        """End the threads."""
        if self._pool is not None:
            self._pool.shutdown()


_ALONE = Team(1)
_TEAM: ContextVar[Team] = ContextVar("kitchensinks_team", default=_ALONE)


def thread_count() -> int:
    """The threads of the team at work, 1 outside of `threads`."""
    return _TEAM.get().count


def cores() -> int:
    """Cores that the process may use, by affinity and container limits."""
    return int(joblib.cpu_count())


def available() -> int:
    """Cores that the process may use, by affinity, container limits and OMP_NUM_THREADS."""
    given = os.environ.get("OMP_NUM_THREADS", "")
    return max(1, min(cores(), int(given))) if given.isdigit() else cores()


@contextmanager
def threads(n_jobs: int | None) -> Iterator[None]:
    """Work on n_jobs threads: None is all `available` cores, −1 likewise, −2 one fewer, and so on.

    There are never more than the process has cores: they would take turns, and push each other's
    numbers out of the caches. Inside of another `threads` the outer number counts.
    """
    if _TEAM.get() is not _ALONE:
        yield
        return
    count = available() if n_jobs is None else n_jobs
    count = count if count > 0 else max(1, available() + 1 + count)
    # To count the cores takes as long as to predict one row.
    team = Team(1 if count == 1 else min(count, cores()))
    token = _TEAM.set(team)
    try:
        with single_blas():
            yield
    finally:
        _TEAM.reset(token)
        team.close()


def check_jobs(n_jobs: Any) -> None:
    """An error unless n_jobs is a number of threads or None."""
    whole = isinstance(n_jobs, numbers.Integral) and not isinstance(n_jobs, bool)
    if n_jobs is not None and not (whole and n_jobs != 0):
        raise ValueError(
            f"n_jobs={n_jobs!r}: need a whole number of threads, or -1 or None for all cores."
        )


def in_order(
    work: Callable[[Item], Result],
    items: Iterable[Item],
    most: int | None = None,
    ahead: int | None = None,
) -> Iterator[Result]:
    """work(item) for each item, in their order, on the threads of the team that are free.

    most: at most this many items at a time, where the memory of each matters. The caller's thread
    takes the items from `items`, and works itself where other threads have enough: they find their
    next items waiting, so that none is idle while the caller works on an item of its own or on
    results. ahead: results that may wait for an earlier one, as many as there are threads by
    default. With one thread it is `map`.

    >>> list(in_order(abs, [-2, 1, -3]))
    [2, 1, 3]
    """
    team = _TEAM.get()
    count = team.count if most is None else min(team.count, most)
    if count == 1:
        yield from map(work, items)
        return
    # Items that wait for a thread: one for each of the others, as far as memory allows.
    spare = count - 1 if most is None else min(count - 1, most - count)
    limit = (ahead or count) + spare
    queue = _Queue(work)
    waiting: deque[Future[Result]] = deque()
    try:
        for item in items:
            waiting.append(queue.put(item))
            helped = queue.find_help(team, count - 1)
            while len(queue.items) > (spare if helped else 0):
                queue.work_on_next()
            while waiting and (len(waiting) >= limit or waiting[0].done()):
                yield queue.result(waiting.popleft(), team)
        while waiting:
            yield queue.result(waiting.popleft(), team)
    finally:
        queue.items.clear()


class _Queue(Generic[Item, Result]):
    """Items that wait for a thread to work on them, each with the future of its result."""

    def __init__(self, work: Callable[[Item], Result]) -> None:
        self.work = work
        self.items: deque[tuple[Item, Future[Result]]] = deque()
        self.helpers: list[Future[None]] = []

    def find_help(self, team: Team, most: int) -> bool:
        """Ask one more thread for help, `most` in all; whether any helps."""
        self.helpers = [helper for helper in self.helpers if not helper.done()]
        helper = team.submit(self.empty, None) if len(self.helpers) < most else None
        if helper is not None:
            self.helpers.append(helper)
        return bool(self.helpers)

    def put(self, item: Item) -> "Future[Result]":
        future: Future[Result] = Future()
        self.items.append((item, future))
        return future

    def work_on_next(self) -> bool:
        """Work on the item that has waited longest; False where none waits."""
        try:
            item, future = self.items.popleft()
        except IndexError:
            return False
        try:
            future.set_result(self.work(item))
        except Exception as error:
            future.set_exception(error)
        except BaseException as error:
            future.set_exception(error)
            raise
        return True

    def empty(self, _: None) -> None:
        """Work until no item waits."""
        while self.work_on_next():
            pass

    def result(self, future: "Future[Result]", team: Team) -> Result:
        """The result of an item; while it is not there, the caller works on others that wait."""
        while not future.done() and self.work_on_next():
            pass
        return team.wait(future)


def compiled(**options: Any) -> Callable[[Loop], Loop]:
    """Compile a function when it is first called, and keep what was compiled on disk.

    It releases the interpreter's lock and divides as NumPy does. Numba keeps it in the folder
    NUMBA_CACHE_DIR, else beside the source, else in the user's cache folder. Where none of them can
    be written to, each process compiles for itself.
    """
    options = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True, **options}

    def compile_lazily(function: Loop) -> Loop:
        loop: Loop
        try:
            loop = numba.njit(cache=True, **options)(function)
        except RuntimeError:
            loop = numba.njit(**options)(function)
        return loop

    return compile_lazily


def looped(count: Callable[..., int], **options: Any) -> Callable[[Loop], Loop]:
    """Compile a loop that the threads of the team share.

    The function's last two arguments are the range (first, last) of its outer loop; callers leave
    them out. `count` gives the length of the outer loop from the other arguments. Each step of it
    writes to places of its own, so that the result does not depend on how the range is cut.
    """

    def shared(function: Loop) -> Loop:
        loop = compiled(**options)(function)

        @functools.wraps(function)
        def call(*arguments: Any) -> None:
            length, parts = count(*arguments), _TEAM.get().count
            if parts > 1:
                size = max((a.size for a in arguments if isinstance(a, np.ndarray)), default=0)
                parts = min(parts, length) if size >= _SMALL_LOOP else 1
            if parts <= 1:
                loop(*arguments, 0, length)
                return
            ends = [length * part // parts for part in range(parts + 1)]
            ranges = itertools.pairwise(ends)
            for _ in in_order(lambda own: loop(*arguments, *own), ranges):
                pass

        call.loop = loop  # type: ignore[attr-defined]
        return call

    return shared


def is_kept(loop: Loop) -> bool:
    """Whether an earlier process has compiled this loop and left it on disk."""
    function = inspect.unwrap(loop)
    dispatcher: Any = getattr(loop, "loop", loop)
    folder = dispatcher.stats.cache_path
    name = f"{Path(function.__code__.co_filename).stem}.{function.__qualname__}-*.nbi"
    return folder is not None and any(Path(folder).glob(name))


def row_tiles(n_rows: int, tile: int) -> int:
    """The number of tiles that so many rows make."""
    return -(-n_rows // tile)


@functools.cache
def _blas() -> Any:
    """The thread pools of BLAS; cached, because finding them is slow."""
    return ThreadpoolController().select(user_api="blas")


class _SingleBlas:
    """BLAS with one thread in the whole process; the last one to leave puts back what was there."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        # Pools that had more threads, and how many.
        self._found: list[tuple[Any, int]] = []

    @contextmanager
    def __call__(self) -> Iterator[None]:
        with self._lock:
            if self._inside == 0:
                pools = ((pool, pool.get_num_threads()) for pool in _blas().lib_controllers)
                self._found = [(pool, count) for pool, count in pools if count != 1]
                for pool, _ in self._found:
                    pool.set_num_threads(1)
            self._inside += 1
        try:
            yield
        finally:
            with self._lock:
                self._inside -= 1
                if self._inside == 0:
                    for pool, count in self._found:
                        pool.set_num_threads(count)


single_blas = _SingleBlas()
