"""Work on blocks in threads: the same results in the same order, and nothing left changed."""

import os
import subprocess
import sys
import threading
import time

import numba
import numpy as np
import pytest

from kitchensinks.numerics.products import gram_lower
from kitchensinks.numerics.threads import (
    blas_threads,
    check_jobs,
    in_order,
    loop_threads,
    looped,
    single_blas,
    thread_count,
    threads,
)

COUNTS = [1, 2] if numba.config.NUMBA_NUM_THREADS > 1 else [1]


@looped()
def double(values):
    for i in numba.prange(len(values)):
        values[i] *= 2.0


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("n_items", [0, 1, 2, 7])
def test_results_come_in_the_order_of_the_items(count, n_items):
    def late(item):
        time.sleep(0.002 * (n_items - item))
        return item, numba.get_num_threads() if count > 1 else 1

    before = thread_count()
    with threads(count):
        found = list(in_order(late, range(n_items)))
    assert found == [(item, 1) for item in range(n_items)]
    assert thread_count() == before


@pytest.mark.parametrize("count", COUNTS)
def test_few_items_are_taken_ahead_of_the_results(count):
    taken = []

    def items():
        for item in range(20):
            taken.append(item)
            yield item

    with threads(count):
        for result in in_order(abs, items()):
            assert len(taken) <= result + 1 + count


@pytest.mark.parametrize("count", COUNTS)
def test_an_error_reaches_the_caller_and_stops_the_rest(count):
    done = []

    def work(item):
        if item == 2:
            raise ValueError("item two")
        done.append(item)

    before = thread_count()
    with threads(count), pytest.raises(ValueError, match="item two"):
        list(in_order(work, range(1000)))
    assert len(done) < 10
    assert thread_count() == before


def test_a_caller_that_stops_early_leaves_nothing_running():
    before = threading.active_count()
    results = in_order(abs, range(1000))
    next(results)
    results.close()
    assert threading.active_count() == before


@pytest.mark.parametrize("count", COUNTS)
def test_loops_run_alone_and_together(count):
    values = np.arange(100.0)
    with threads(count):
        double(values)
    np.testing.assert_array_equal(values, 2.0 * np.arange(100.0))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(1, 1), (5, 3), (200, 70), (0, 4)])
@pytest.mark.parametrize("first", [0, 1])
def test_lower_triangle_of_the_gram(dtype, shape, first):
    rows = np.random.default_rng(0).normal(size=(shape[0], shape[1] + first)).astype(dtype)
    rows = rows[:, first:]
    out = np.full((shape[1], shape[1]), 7.0, dtype=dtype, order="F")
    gram_lower(rows, out)
    lower = np.tril_indices(shape[1])
    expected = rows.astype(np.float64).T @ rows
    np.testing.assert_allclose(out[lower], expected[lower], rtol=1e-5, atol=1e-4)
    assert (out[np.triu_indices(shape[1], 1)] == 7.0).all()


def test_rows_of_any_layout_have_a_gram():
    rows = np.asfortranarray(np.random.default_rng(1).normal(size=(20, 6)))
    out = np.zeros((6, 6), order="F")
    gram_lower(rows, out)
    np.testing.assert_allclose(out, np.tril(rows.T @ rows))
    with pytest.raises(ValueError, match=r"need \(6, 6\)"):
        gram_lower(rows, np.zeros((5, 5), order="F"))


@pytest.mark.parametrize("n_jobs", [0, True, 1.5, "all"])
def test_a_number_of_threads_that_makes_no_sense(n_jobs):
    with pytest.raises(ValueError, match="need a whole number of threads"):
        check_jobs(n_jobs)


def test_limits_may_end_in_any_order():
    before = blas_threads.allowed()
    inner, outer = single_blas(), blas_threads(2)
    inner.__enter__()
    outer.__enter__()
    inner.__exit__(None, None, None)
    assert blas_threads.allowed() == 2
    outer.__exit__(None, None, None)
    assert blas_threads.allowed() == before


def test_one_thread_for_a_time_is_not_a_wish_for_fewer():
    before = thread_count()
    with single_blas():
        assert thread_count() == before
    with blas_threads(1):
        assert thread_count() == 1


@pytest.mark.parametrize("most", [1, 2, None])
def test_no_more_threads_than_memory_allows(most):
    running, peak = set(), []

    def work(item):
        running.add(item)
        peak.append(len(running))
        time.sleep(0.005)
        running.discard(item)

    list(in_order(work, range(8), most))
    assert max(peak) <= min(thread_count(), most or thread_count())


def test_a_loop_that_finds_the_pool_taken_runs_alone():
    values = [np.arange(1000.0) for _ in range(8)]
    workers = [threading.Thread(target=double, args=(own,)) for own in values]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    for own in values:
        np.testing.assert_array_equal(own, 2.0 * np.arange(1000.0))


def run_alone(code, **environment):
    """What a fresh interpreter with two threads for loops prints, and what it complains of."""
    plain = {k: v for k, v in os.environ.items() if not k.startswith(("OMP_", "NUMBA_", "GOMP_"))}
    given = {**plain, "NUMBA_NUM_THREADS": "2", **environment}
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=given
    )


def test_threads_of_loops_sleep_when_idle_and_the_environment_is_put_back():
    code = (
        "import os, sys\n"
        "from kitchensinks.numerics.threads import thread_count\n"
        "before = dict(os.environ)\n"
        "print('started', file=sys.stderr, flush=True)\n"
        "assert thread_count() >= 1\n"
        "assert dict(os.environ) == before\n"
        "print('numba.np.ufunc.omppool' in sys.modules)\n"
    )
    found = run_alone(code, OMP_DISPLAY_ENV="VERBOSE")
    if found.stdout.strip() != "True":
        pytest.skip("the threads of loops are not those of OpenMP here")
    settings = found.stderr.partition("started")[2]
    if "GOMP_SPINCOUNT" not in settings:
        pytest.skip("this OpenMP does not tell how long threads spin")
    assert "GOMP_SPINCOUNT = '0'" in settings
    kept = run_alone(code, OMP_DISPLAY_ENV="VERBOSE", OMP_WAIT_POLICY="ACTIVE")
    assert "GOMP_SPINCOUNT = '0'" not in kept.stderr.partition("started")[2]


@pytest.mark.parametrize("count", COUNTS)
def test_loops_of_a_block_use_as_many_threads_as_it_says(count):
    before = numba.get_num_threads()
    with loop_threads(count):
        assert numba.get_num_threads() == count
        with threads(1):
            assert thread_count() == 1
        assert numba.get_num_threads() == count
    assert numba.get_num_threads() == before
