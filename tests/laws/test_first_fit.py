"""What the first fit after an installation compiles."""

import json
from collections import Counter

import pytest

from tests.jobs import python

# Specialisations of the package's own functions that a default regressor, and then a default
# classifier with its probabilities, compile: one of each of 17 loops, which cost 0.1 to 0.8 s of
# the first fit, and of 8 parts of them, which cost less.
OWN = 25
# Specialisations of Numba's functions that these call: none with Numba 0.68, and some for other
# versions. One np.empty, min or max adds one or two, an array expression or assignment to a slice
# thirty.
INSIDE = 8

FITS = """
import hashlib, json
import numpy as np
from numba.core import event
import kitchensinks as ks

class Compiled(event.Listener):
    names = []
    def on_start(self, event):
        function = event.data["dispatcher"].py_func
        self.names.append(f"{function.__module__}.{function.__qualname__}")
    def on_end(self, event):
        pass

event.register("numba:compile", Compiled())
rng = np.random.default_rng(0)
X = rng.normal(size=(3000, 8))
y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * rng.normal(size=3000)
regressor = ks.KitchenSinkRegressor(random_state=0, n_jobs=1).fit(X, y)
classifier = ks.KitchenSinkClassifier(random_state=0, n_jobs=1).fit(X, y > 0)
found = regressor.predict(X).tobytes() + classifier.predict_proba(X).tobytes()
print(json.dumps([Compiled.names, hashlib.sha256(found).hexdigest()]))
"""


@pytest.fixture(scope="module")
def processes(tmp_path_factory):
    """What two processes compiled, the first with an empty cache, and a hash of their answers."""
    folder = str(tmp_path_factory.mktemp("compiled"))
    return [json.loads(python("-c", FITS, timeout=900, NUMBA_CACHE_DIR=folder)) for _ in range(2)]


def test_a_default_fit_compiles_few_functions(processes):
    names, _ = processes[0]
    own = Counter(name for name in names if name.startswith("kitchensinks."))
    assert own.total() <= OWN, own
    assert max(own.values()) == 1, own
    inside = [name for name in names if name not in own]
    assert len(inside) <= INSIDE, inside


def test_the_second_process_compiles_nothing_and_gives_the_same_bits(processes):
    (_, first), (names, second) = processes
    assert names == []
    assert first == second
