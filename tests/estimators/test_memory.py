"""Peak memory of fits whose n × K matrix is many times the budget, each in a process of its own."""

import pytest

from tests.jobs import python

# 500,000 × 54 with K = 5000 in under 2 GB is 10 arrays of K × K doubles, and a fifth of n × K.
# The same ratios, scaled down: K × K is 8 MB here, n × K in float32 is 160 MB.
CODE = """
import resource, sys, warnings
import numpy as np
import kitchensinks as ks
warnings.simplefilter("ignore")
alpha = sys.argv[1]
K, n, d = 1000, 40_000, 54
rng = np.random.default_rng(0)
X = rng.normal(size=(n, d)).astype(np.float32)
y = (X[:, 0] + X[:, 1] * X[:, 2] > 0).astype(int)
options = dict(alpha=alpha if alpha == "auto" else float(alpha), random_state=0,
               solver=ks.Solver(max_iter=3, memory_budget="80MB"))
small = ks.KitchenSinkClassifier(ks.Fourier(), n_components=50, **options).fit(X[:2000], y[:2000])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
model = ks.KitchenSinkClassifier(ks.Fourier(), n_components=K, **options).fit(X, y)
model.predict(X[:5000])
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024, model.solver_)
"""


@pytest.mark.parametrize("alpha", ["auto", pytest.param("1e-4", marks=pytest.mark.slow)])
def test_a_fit_stays_within_ten_grams(alpha):
    peak, solver, *_ = python("-c", CODE, alpha).split()
    assert solver == "direct"
    assert int(peak) < 10 * 8 * 1000**2 + 4 * 8192 * 1000
