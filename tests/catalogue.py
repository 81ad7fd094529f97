"""Every basis and every projection, once: what the laws are tested over."""

import re
from functools import cache

import numpy as np

import kitchensinks as ks

PROJECTIONS = ("gaussian", "orthogonal", "hadamard")


def _custom_sample(rng, n_inputs, count):
    return {"direction": rng.standard_normal((count, n_inputs)), "offset": rng.random(count)}


def _custom_features(rows, theta):
    return np.tanh(rows @ theta["direction"].T + theta["offset"])


def _square_sample(rng, n_inputs, count):
    return rng.standard_normal((count, n_inputs))


def _square_features(rows, theta):
    return rows @ theta.T


def _linear_kernel(rows, others):
    return rows @ others.T


QUANTILES = np.sort(np.random.default_rng(7).normal(size=(4, 50)), axis=1)
# Scales of three members of a committee, a number for each of four columns.
MEMBERS = [[0.1, 0.4, 1.5, 0.02], [0.3, 0.3, 0.3, 0.3], [2.0, 0.01, 0.5, 0.1]]


def _trees(count: int = 5, leaves: int = 6) -> ks.Trees:
    """Trees that cut a leaf at a random place of one of four columns, until there are enough."""
    rng = np.random.default_rng(9)
    nodes = 2 * leaves - 1
    column = np.full((count, nodes), -1)
    cut = np.zeros((count, nodes))
    below = np.tile(np.arange(nodes), (count, 1))
    above = below.copy()
    for tree in range(count):
        for new in range(1, nodes, 2):
            leaf = rng.choice(np.flatnonzero(column[tree, :new] < 0))
            column[tree, leaf], cut[tree, leaf] = rng.integers(4), rng.normal()
            below[tree, leaf], above[tree, leaf] = new, new + 1
    return ks.Trees(column, cut, below, above)


TREES = _trees()

# Parameters that are crossed with projections, whose number is odd: every second one has each value
# of each parameter, and each kernel with each projection.
_CROSSED = [
    *(
        ks.Fourier(kernel, gamma=0.3, form=form, projection=projection, nu=1.2)
        for kernel in ("gaussian", "exponential", "matern")
        for form in ("phase", "paired")
        for projection in PROJECTIONS
    ),
    *(
        ks.Sigmoid(activation, gamma=0.7, projection=projection)
        for activation in ("logistic", "tanh", "erf", "step")
        for projection in PROJECTIONS
    ),
    *(
        ks.ReLU(gamma=0.8, law=law, projection=projection)
        for law in ("sphere", "gaussian")
        for projection in PROJECTIONS
    ),
    *(ks.Maxout(pool, projection=projection) for pool in (2, 3, 5) for projection in PROJECTIONS),
]
# Few laws are tested over these, and slowly.
MORE_BASES = _CROSSED[1::2]
BASES = [
    *_CROSSED[::2],
    ks.Fourier("laplacian", gamma=0.3),
    ks.Fourier("laplacian", gamma=0.3, form="paired"),
    ks.Fourier("cauchy", gamma=0.3),
    ks.Fourier(gamma=[0.1, 1.5]),
    ks.Fourier("laplacian", gamma=[0.1, 0.4, 1.5]),
    ks.Fourier("matern", gamma=[0.1, 1.5], projection="orthogonal"),
    ks.Fourier(gamma=MEMBERS, form="paired", projection="orthogonal"),
    ks.Fourier("laplacian", gamma=MEMBERS),
    ks.Fourier("cauchy", gamma=MEMBERS[:2], form="paired"),
    ks.Fourier("exponential", gamma=MEMBERS),
    ks.Stumps("normal"),
    ks.Stumps("uniform", a=2.0),
    ks.Stumps(QUANTILES),
    ks.Binning(gamma=0.3),
    ks.Binning(gamma=[0.1, 1.0]),
    ks.Binning(gamma=MEMBERS[:1]),
    ks.Binning(gamma=MEMBERS),
    ks.Binning(gamma=0.3, pitch="hat"),
    ks.Binning(gamma=[0.1, 1.0], pitch=[0.5, 1.0, 4.0]),
    TREES,
    ks.Union([ks.Binning(gamma=0.3), TREES], shares=[3, 2]),
    ks.Maxout(1),
    *(ks.Maxout(3, projections=600, projection=projection) for projection in PROJECTIONS),
    ks.Orthonormal([1.0, 0.7, 0.5, 0.3, 0.2, 0.1, 0.05]),
    ks.Orthonormal([1.0, 0.7, 0.5, 0.3, 0.2, 0.1], system="legendre"),
    ks.Linear(),
    ks.Custom(_square_sample, _square_features, kernel=_linear_kernel),
    ks.Custom(_custom_sample, _custom_features, bound=1.0, monte_carlo=20000),
    ks.Union([ks.Fourier(gamma=0.3), ks.Stumps()]),
    ks.Union([ks.Fourier(gamma=0.3, form="paired"), ks.Maxout(3)], shares=[3, 1]),
    ks.Union([ks.Fourier(gamma=0.3), ks.Linear()]),
    ks.Union([ks.Fourier(gamma=0.3), ks.Binning(gamma=0.3)]),
    ks.Union([ks.Fourier("laplacian", gamma=MEMBERS), ks.Binning(gamma=MEMBERS)]),
    ks.Product([ks.Linear(), ks.Fourier(gamma=0.3)]),
    ks.Product([ks.Fourier(gamma=0.3, form="paired"), ks.Fourier("laplacian", 0.2, form="paired")]),
    ks.Product([ks.Stumps(), ks.Union([ks.Fourier(gamma=0.3, form="paired"), ks.Stumps()])]),
    ks.Product([ks.Fourier(gamma=0.3), ks.Stumps()], places=[[0, 2], [3, 1, 0]]),
    ks.Product([ks.Fourier(gamma=[[0.1, 0.2]]), ks.Stumps(QUANTILES[[3]])], places=[[0, 2], [3]]),
    ks.Union([ks.Product([ks.Fourier(gamma=0.3), ks.Stumps()]), ks.Linear()]),
    ks.Reweighted(ks.Fourier(gamma=0.3), pool=3, rows=1.0, mu=0.1),
    ks.Reweighted(ks.Union([ks.Fourier(gamma=0.3, form="paired"), ks.Stumps()]), pool=2, rows=1.0),
]


def _of_any_width(basis) -> bool:
    """Whether no parameter has a number, or a table, for each of four columns."""
    if getattr(basis, "places", None) is not None:
        return False
    parts = basis.bases if isinstance(basis, ks.Union | ks.Product) else [basis]
    return not any(
        np.ndim(part.get_params().get(name)) == 2
        for part in parts
        for name in ("gamma", "threshold", "cut")
    )


ANY_WIDTH = [basis for basis in BASES if _of_any_width(basis)]


def drawn(basis, rows, seed, n_components, dtype=np.float64, start=0):
    """Draws of a basis, with what they learn from the rows."""
    draw = basis.draw(seed, rows.shape[1], n_components, dtype, start=start)
    return basis.learn_draw(draw, rows)


@cache
def name_of(basis) -> str:
    """A short test id."""
    text = repr(basis) if not isinstance(basis, ks.Custom | ks.Stumps) else ""
    if isinstance(basis, ks.Custom):
        text = "Custom-given" if basis.own_kernel else "Custom-monte-carlo"
    if isinstance(basis, ks.Stumps):
        text = f"Stumps-{basis.threshold if isinstance(basis.threshold, str) else 'table'}"
    # The nodes of trees are many.
    return re.sub(r"Trees\(.*\]\]\)\)", "Trees", " ".join(text.split()))


def extreme_and_random_rows(n_inputs: int = 4) -> np.ndarray:
    """Random rows, and rows that are equal, opposite, orthogonal, zero and very long."""
    rng = np.random.default_rng(3)
    rows = rng.normal(size=(5, n_inputs))
    unit = np.eye(n_inputs)
    return np.vstack(
        [rows, rows[:1], -rows[:1], unit[0], unit[1], np.zeros(n_inputs), 1e3 * rows[1]]
    )


HOW = ("tol", "max_iter", "dtype", "memory_budget")


def build(kind, basis=None, n_components=None, loss="squared", **options):
    """An estimator with a given basis (Fourier), the parameters of its solver put into one."""
    how = {name: options.pop(name) for name in HOW if name in options}
    if how:
        options["solver"] = ks.Solver(options.get("solver", "auto"), **how)
    basis = ks.Fourier() if basis is None else basis
    return kind(basis, n_components, loss, **options)
