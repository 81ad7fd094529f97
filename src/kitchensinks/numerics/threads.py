"""Threads: a team that trials, blocks of rows and compiled loops share.

All parallel work runs on threads of our own. Each of them uses one thread of BLAS, and compiled
loops that start no threads and release the interpreter's lock. Nothing waits for a pool of BLAS or
of OpenMP, no thread spins without work, and a process that has fitted may fork.

Work is cut by what it is and never by the number of threads, and results are taken in the order of
the items, so that every number of threads gives the same bits.
"""

import functools
import gc
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
from typing import Any, Generic, TypeVar, cast

import joblib
import numba
import numpy as np
from threadpoolctl import ThreadpoolController

from kitchensinks.numerics.arrays import AnyArray

Item = TypeVar("Item")
Result = TypeVar("Result")
Loop = Callable[..., Any]

# A compiled loop over fewer entries finishes before another thread would have started.
_SMALL_LOOP = 2**15


class Team:
    """A number of threads: the caller's own, and others that are started when first needed.

    Nested work shares the team. A thread that has finished, or that waits for the result of
    another, can take over work of any thread of the team, so that all of them stay busy.
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
                # Waiting threads do not count as working, so the pool is larger than the team.
                self._pool = ThreadPoolExecutor(8 * self.count)
        context = copy_context()

        def run() -> Result:
            try:
                return context.run(work, item)
            finally:
                self._free.release()

        return self._pool.submit(run)

    @property
    def is_busy(self) -> bool:
        """Whether no other thread is free at the moment."""
        free = self._free.acquire(blocking=False)
        if free:
            self._free.release()
        return not free

    def wait(self, future: "Future[Result]") -> Result:
        """The result of a future; while the caller waits, another thread may take its place."""
        if future.done():
            return future.result()
        self._free.release()
        try:
            return future.result()
        finally:
            self._free.acquire()

    def close(self) -> None:
        if self._pool is not None:
            self._pool.shutdown()


# _ALONE: no `threads` block is open, so that the next one may start a team. _ONE: the team of
# n_jobs=1, which starts no threads.
_ALONE, _ONE = Team(1), Team(1)
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

    There are never more threads than cores: they would take turns and evict each other's data from
    the caches. Inside another `threads` block the outer number applies.
    """
    if _TEAM.get() is not _ALONE:
        yield
        return
    check_jobs(n_jobs)
    count = available() if n_jobs is None else n_jobs
    count = count if count > 0 else max(1, available() + 1 + count)
    # One thread needs no count of the cores, which takes as long as predicting one row.
    team = _ONE if count == 1 else Team(min(count, cores()))
    token = _TEAM.set(team)
    try:
        with single_blas():
            yield
    finally:
        _TEAM.reset(token)
        team.close()


def check_jobs(n_jobs: object) -> None:
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

    most: the largest number of items in progress, where the memory of each matters. The caller's
    thread iterates over `items`, queues one item for each other thread, and works on items itself
    when the queue is full, so that no thread is idle. ahead: how many results may wait for an
    earlier one, by default as many as there are threads. With one thread this is `map`.

    >>> list(in_order(abs, [-2, 1, -3]))
    [2, 1, 3]
    """
    team = _TEAM.get()
    count = team.count if most is None else min(team.count, most)
    if count == 1:
        return map(work, items)
    return _on_threads(work, items, team, count, most, ahead)


def _on_threads(
    work: Callable[[Item], Result],
    items: Iterable[Item],
    team: Team,
    count: int,
    most: int | None,
    ahead: int | None,
) -> Iterator[Result]:
    # Items that wait for a thread: one for each of the others, as far as memory allows.
    spare = count - 1 if most is None else min(count - 1, most - count)
    limit = (ahead or count) + spare
    queue = _Queue(work)
    waiting: deque[Future[Result]] = deque()
    try:
        for item in items:
            if not waiting and team.is_busy:
                # Most nested work: futures would take longer than a small item.
                yield work(item)
                continue
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
        """Start one more helper thread, up to `most`; returns whether any is at work."""
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
        """Process the oldest waiting item; False if there is none."""
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
        """Process items until none waits."""
        while self.work_on_next():
            pass

    def result(self, future: "Future[Result]", team: Team) -> Result:
        """The result of an item; until it is there, the caller processes other waiting items."""
        while not future.done() and self.work_on_next():
            pass
        return team.wait(future)


def compiled(**options: Any) -> Callable[[Loop], Loop]:
    """Compile a function on its first call, and cache the compiled code on disk.

    It releases the interpreter's lock, and division by zero behaves as in NumPy. Numba caches in
    the folder NUMBA_CACHE_DIR, else beside the source, else in the user's cache folder. If none of
    them is writable, each process compiles for itself.
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


def inlined(**options: Any) -> Callable[[Loop], Loop]:
    """Compile a part of the loops of the same file, which has no call from Python.

    It is typed once, and the optimiser of machine code inlines it. Numba's own inlining types each
    copy anew, which makes the first fit longer.
    """
    options = {"error_model": "numpy", "no_cfunc_wrapper": True, **options}
    return cast(Callable[[Loop], Loop], numba.njit(no_cpython_wrapper=True, **options))


@contextmanager
def _uncollected() -> Iterator[None]:
    """Keep Python from looking for reference cycles while a loop is compiled.

    The compiler makes many objects and nearly no garbage: a tenth of its time went into the search.
    """
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def looped(
    count: Callable[..., int], scratch: Callable[..., AnyArray] | None = None, **options: Any
) -> Callable[[Loop], Loop]:
    """Compile a loop whose iterations are divided among the threads of the team.

    The function's last two arguments are the range (first, last) of its outer loop; callers leave
    them out. `count` computes the length of the outer loop from the other arguments. Iterations
    write to disjoint places, so that the result does not depend on how the range is divided.
    `scratch` makes an array from the same arguments, of which each thread has one: it comes before
    the range. Memory that compiled code allocates itself takes longer to compile.
    """

    def shared(function: Loop) -> Loop:
        loop = compiled(**options)(function)

        @functools.wraps(function)
        def call(*arguments: Any) -> None:
            length, parts = count(*arguments), _TEAM.get().count
            if parts > 1:
                size = max((a.size for a in arguments if isinstance(a, np.ndarray)), default=0)
                parts = min(parts, length) if size >= _SMALL_LOOP else 1
            if parts <= 1 and scratch is None and loop.overloads:  # type: ignore[attr-defined]
                loop(*arguments, 0, length)
                return

            def take(part: tuple[int, int]) -> None:
                own = () if scratch is None else (scratch(*arguments),)
                if loop.overloads:  # type: ignore[attr-defined]
                    loop(*arguments, *own, *part)
                else:
                    with _uncollected():
                        loop(*arguments, *own, *part)

            if parts <= 1:
                take((0, length))
                return
            ends = [length * part // parts for part in range(parts + 1)]
            for _ in in_order(take, itertools.pairwise(ends)):
                pass

        call.loop = loop  # type: ignore[attr-defined]
        return call

    return shared


def is_kept(loop: Loop) -> bool:
    """Whether the disk cache holds this loop, compiled by an earlier process."""
    function = inspect.unwrap(loop)
    dispatcher: Any = getattr(loop, "loop", loop)
    folder = dispatcher.stats.cache_path
    name = f"{Path(function.__code__.co_filename).stem}.{function.__qualname__}-*.nbi"
    return folder is not None and any(Path(folder).glob(name))


def row_tiles(n_rows: int, tile: int) -> int:
    """The number of tiles that n_rows rows are divided into."""
    return -(-n_rows // tile)


@functools.cache
def _blas() -> Any:
    """The thread pools of BLAS; cached, because finding them is slow."""
    return ThreadpoolController().select(user_api="blas")


class _SingleBlas:
    """Limits BLAS to one thread in the whole process; the last block to end restores the limits."""

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
