"""Work on blocks in threads: the same results in the same order, and nothing left changed."""

import os
import threading
import time

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from kitchensinks.numerics.products import gram_lower
from kitchensinks.numerics.threads import (
    available,
    check_jobs,
    compiled,
    cores,
    in_order,
    is_kept,
    looped,
    single_blas,
    thread_count,
    threads,
)

COUNTS = [1, 2, 5]


@looped(len)
def double(values, begin, end):
    for i in range(begin, end):
        values[i] *= 2.0


def blas_counts():
    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("n_items", [0, 1, 2, 7])
def test_results_come_in_the_order_of_the_items(count, n_items):
    def late(item):
        time.sleep(0.002 * (n_items - item))
        return item, max(blas_counts())

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
            assert len(taken) <= result + 2 * count


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
    with threads(2):
        results = in_order(abs, range(1000))
        next(results)
        del results
    assert threading.active_count() == before


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("size", [0, 1, 3, 100_001])
def test_loops_run_alone_and_shared(count, size):
    values = np.arange(float(size))
    with threads(count):
        double(values)
    np.testing.assert_array_equal(values, 2.0 * np.arange(float(size)))


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
    with pytest.raises(ValueError, match="need a whole number of threads"), threads(n_jobs):
        pass


def test_limits_of_blas_may_end_in_any_order():
    before = blas_counts()
    one, two = single_blas(), single_blas()
    one.__enter__()
    two.__enter__()
    one.__exit__(None, None, None)
    assert set(blas_counts()) == {1}
    two.__exit__(None, None, None)
    assert blas_counts() == before


def test_the_outer_number_of_threads_counts():
    with threads(3):
        with threads(1):
            assert thread_count() == 3
        assert list(in_order(lambda _: thread_count(), range(4))) == [3] * 4
    assert thread_count() == 1


def test_cores_that_may_be_used(monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    for given, wanted in {None: 8, -1: 8, -1000: 1, 4: 4, 1000: 8}.items():
        with threads(given):
            assert thread_count() == wanted
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    assert available() == 1
    # The name that was imported is not the one that tests replace.
    assert 1 <= cores() <= len(os.sched_getaffinity(0))


def test_a_thread_without_work_helps_with_the_work_of_others():
    """The short outer item is done at once; its thread then shares the items of the long one."""
    names = set()

    def inner(_):
        time.sleep(0.01)
        names.add(threading.get_ident())

    def outer(item):
        if item:
            for _ in range(5):
                list(in_order(inner, range(4)))

    with threads(2):
        list(in_order(outer, [0, 1]))
    assert len(names) == 2


@pytest.mark.parametrize("most", [1, 2, None])
def test_no_more_threads_than_memory_allows(most):
    running, peak = set(), []

    def work(item):
        running.add(item)
        peak.append(len(running))
        time.sleep(0.005)
        running.discard(item)

    with threads(3):
        list(in_order(work, range(8), most))
    assert max(peak) <= (most or 3)


def test_loops_run_in_several_threads_of_the_user_at_once():
    values = [np.arange(100_000.0) for _ in range(8)]

    def work(own):
        with threads(2):
            double(own)

    workers = [threading.Thread(target=work, args=(own,)) for own in values]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    for own in values:
        np.testing.assert_array_equal(own, 2.0 * np.arange(100_000.0))


def test_no_thread_of_loops_is_left_behind():
    before = threading.active_count()
    with threads(4):
        double(np.arange(100_000.0))
    assert threading.active_count() == before


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_process_that_has_used_threads_may_fork():
    with threads(2):
        double(np.arange(100_000.0))
    child = os.fork()
    if child == 0:
        values = np.arange(100_000.0)
        with threads(2):
            double(values)
        os._exit(0 if values[3] == 6.0 else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_a_loop_is_kept_once_it_is_compiled():
    double(np.ones(3))
    assert is_kept(double)


def test_a_function_with_no_place_on_disk_is_compiled_in_each_process():
    """Numba finds no folder for code without a file, as where no folder can be written to."""
    names = {}
    exec("def triple(values):\n    for i in range(len(values)):\n        values[i] *= 3.0", names)
    triple = compiled()(names["triple"])
    values = np.ones(3)
    triple(values)
    np.testing.assert_array_equal(values, 3.0)
    assert not is_kept(triple)
