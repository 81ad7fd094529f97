"""Threads: how many BLAS and compiled loops use, and work on blocks of rows in parallel.

BLAS and compiled loops have a pool of threads each, and either waits for its last thread before the
other begins. Whole blocks of rows in threads of our own, each with a single thread of BLAS and of
compiled loops, never wait for each other.
"""

import functools
import numbers
import os
import threading
import types
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from typing import Any, TypeVar

import numba
from threadpoolctl import ThreadpoolController

Item = TypeVar("Item")
Result = TypeVar("Result")
Loop = Callable[..., Any]

# Held by the one compiled loop that uses all threads.
_POOL = threading.Lock()
# Held while the threads of compiled loops are started.
_STARTING = threading.Lock()
# What OpenMP reads to know whether threads without work spin or sleep.
_POLICY = "OMP_WAIT_POLICY"


@functools.cache
def _start_loops() -> None:
    """Start the threads of compiled loops, so that they sleep when they have nothing to do.

    Spinning, they would take the cores from the matrix products that come next. OpenMP reads the
    policy only once, when it starts; the environment is then put back. A policy that the user has
    set stays in force.
    """
    with _STARTING:
        given = os.environ.get(_POLICY)
        os.environ[_POLICY] = given or "PASSIVE"
        try:
            numba.get_num_threads()
        finally:
            if given is None:
                del os.environ[_POLICY]


def _loop_count() -> int:
    """Threads that compiled loops of this thread may use."""
    _start_loops()
    return int(numba.get_num_threads())


@contextmanager
def loop_threads(count: int) -> Iterator[None]:
    """Use `count` threads in the compiled loops of this thread, and put things back."""
    before = _loop_count()
    numba.set_num_threads(min(count, int(numba.config.NUMBA_NUM_THREADS)))
    try:
        yield
    finally:
        numba.set_num_threads(before)


def looped(**options: Any) -> Callable[[Loop], Loop]:
    """Compile a loop twice: for all threads, and for callers that have one thread each.

    The second form starts no threads and releases the interpreter's lock. It also runs while the
    pool of threads is in use, because not every platform lets two callers into the pool.
    """

    def compile_both(function: Loop) -> Loop:
        # Compiled code is kept on disk under the name of the function.
        twin = types.FunctionType(function.__code__, function.__globals__, function.__name__)
        twin.__qualname__ = f"{function.__qualname__}_alone"
        twin.__module__ = function.__module__
        together = numba.njit(parallel=True, cache=True, **options)(function)
        alone = numba.njit(nogil=True, cache=True, **options)(twin)

        @functools.wraps(function)
        def call(*arguments: Any) -> Any:
            if _loop_count() == 1 or not _POOL.acquire(blocking=False):
                return alone(*arguments)
            try:
                return together(*arguments)
            finally:
                _POOL.release()

        return call

    return compile_both


@functools.cache
def _blas() -> Any:
    """The thread pools of BLAS; cached, because finding them is slow."""
    return ThreadpoolController().select(user_api="blas")


def _blas_threads() -> int:
    return min((int(pool["num_threads"]) for pool in _blas().info()), default=1)


class _BlasLimits:
    """How many threads BLAS has: one number for the whole process, that of the latest limit.

    Limits may end in any order; the last one to end puts back what the first one found.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._active: list[tuple[object, int, bool]] = []
        self._found: Any = None
        self._count = 1

    @contextmanager
    def __call__(self, count: int, alone: bool = False) -> Iterator[None]:
        """alone: a temporary limit, which `allowed` does not count."""
        token = object()
        with self._lock:
            if not self._active:
                self._count, self._found = _blas_threads(), _blas().limit(limits=None)
            self._active.append((token, count, alone))
            _blas().limit(limits=count)
        try:
            yield
        finally:
            with self._lock:
                self._active = [entry for entry in self._active if entry[0] is not token]
                if self._active:
                    _blas().limit(limits=self._active[-1][1])
                else:
                    self._found.restore_original_limits()

    def allowed(self) -> int:
        """Threads that BLAS has, temporary limits aside."""
        with self._lock:
            if not self._active:
                return _blas_threads()
            asked = [count for _, count, alone in self._active if not alone]
            return asked[-1] if asked else self._count


blas_threads = _BlasLimits()


def single_blas() -> AbstractContextManager[None]:
    """BLAS with one thread, for the whole process and for a time."""
    return blas_threads(1, alone=True)


def thread_count() -> int:
    """Threads that BLAS and compiled loops may both use."""
    return max(1, min(_loop_count(), blas_threads.allowed()))


@contextmanager
def threads(n_jobs: int | None) -> Iterator[None]:
    """Use n_jobs threads in BLAS and compiled loops, and put things back.

    −1 is all cores, −2 all but one, and so on, as in joblib.
    """
    if n_jobs is None:
        yield
        return
    most = int(numba.config.NUMBA_NUM_THREADS)
    count = n_jobs if n_jobs > 0 else max(1, most + 1 + n_jobs)
    with loop_threads(count), blas_threads(count):
        yield


def check_jobs(n_jobs: Any) -> None:
    """An error unless n_jobs is a number of threads or None."""
    whole = isinstance(n_jobs, numbers.Integral) and not isinstance(n_jobs, bool)
    if n_jobs is not None and not (whole and n_jobs != 0):
        raise ValueError(
            f"n_jobs={n_jobs!r}: need a whole number of threads, -1 for all cores, or None to "
            "leave them as they are."
        )


def in_order(
    work: Callable[[Item], Result], items: Iterable[Item], most: int | None = None
) -> Iterator[Result]:
    """work(item) for each item, in their order, as many at a time as there are threads.

    most: at most this many threads, where the memory of each matters. The caller's thread takes
    the items, at most one more than there are threads ahead of the results. Because results come
    in order, sums over them have the same bits each time. With one thread it is `map`.

    >>> list(in_order(abs, [-2, 1, -3]))
    [2, 1, 3]
    """
    count = thread_count() if most is None else min(thread_count(), most)
    if count == 1:
        yield from map(work, items)
        return
    waiting: deque[Future[Result]] = deque()
    with (
        single_blas(),
        ThreadPoolExecutor(count, initializer=numba.set_num_threads, initargs=(1,)) as pool,
    ):
        try:
            for item in items:
                waiting.append(pool.submit(work, item))
                if len(waiting) > count:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()
