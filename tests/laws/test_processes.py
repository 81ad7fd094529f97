"""A model after a fit: other processes and threads fit and predict to the same bits."""

import multiprocessing
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from joblib import Parallel, delayed

import kitchensinks as ks

# No choice of a law matters to these tests, but to those that are marked.
pytestmark = pytest.mark.usefixtures("little_work")

# Seconds after which a process that has not answered counts as hanging.
LONGEST = 120
RNG = np.random.default_rng(0)
X = RNG.normal(size=(900, 4))
Y = np.sin(X[:, 0]) * X[:, 1] + 0.1 * RNG.normal(size=900)
QUICK = ks.Learned(effort="quick", members=2)


def fitted():
    return ks.KitchenSinkRegressor(QUICK, random_state=0, n_jobs=2).fit(X, Y)


def answers(model):
    """What a model that was given predicts, and what a fit in this process does."""
    return model.predict(X), fitted().predict(X)


AVAILABLE = multiprocessing.get_all_start_methods()
# New interpreters import everything again, which takes seconds.
WAYS = [
    pytest.param(way, marks=[pytest.mark.slow] if way != "fork" else [])
    for way in ["fork", "forkserver", "spawn", "loky", "multiprocessing"]
    if way in AVAILABLE or way in ("loky", "multiprocessing")
]


# Processes that are started anew learn with the usual work.
@pytest.mark.usual_work
@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
@pytest.mark.parametrize("way", WAYS)
def test_processes_that_begin_after_a_fit_fit_and_predict(way):
    model = fitted()
    expected = model.predict(X)
    if way in AVAILABLE:
        with multiprocessing.get_context(way).Pool(1) as pool:
            found = pool.map_async(answers, [model]).get(timeout=LONGEST)
    else:
        found = Parallel(2, backend=way, timeout=LONGEST)(delayed(answers)(model) for _ in "ab")
    for mine in found:
        for one in mine:
            np.testing.assert_array_equal(one, expected)


def test_eight_threads_predict_with_one_committee():
    """What is made at the first prediction is made once, whoever comes first."""
    model = ks.KitchenSinkClassifier(QUICK, random_state=0).fit(X, Y > 0)
    alone = ks.KitchenSinkClassifier(QUICK, random_state=0).fit(X, Y > 0)
    expected = alone.predict_proba(X)
    with ThreadPoolExecutor(8) as pool:
        whole = list(pool.map(lambda _: model.predict_proba(X), range(16)))
        single = list(pool.map(lambda k: model.predict_proba(X[k : k + 1]), range(100)))
    for one in whole:
        np.testing.assert_array_equal(one, expected)
    np.testing.assert_allclose(np.vstack(single), expected[:100], rtol=0, atol=1e-6)
