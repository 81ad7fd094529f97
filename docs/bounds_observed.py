"""What docs/plot_bounds.py draws below and beside the curves: what the proofs construct, drawn."""

import math

import numpy as np
from bounds_drawing import COLOURS, coloured, counts, dots, ring, steps
from scipy.special import chndtr, gammaincc, ndtri

from kitchensinks.papers import theory
from kitchensinks.papers.theory.thesis_spectra import leverage_of_features

# What the proofs construct. Each draw has a row of `SEEDS`; inputs lie in a disc or on a sphere.

SEEDS = 20
COLUMNS = [10, 30, 100, 300, 1000, 3000]
SIZES = [0.1, 1.0, 10.0]
RADII = [0.5, 2.0, 8.0]
POOLS = [2, 16, 256]


def ball(rng, count, dimension, radius=1.0):
    """Points uniform in a ball."""
    return radius * sphere(rng, count, dimension) * rng.random((count, 1)) ** (1 / dimension)


def sphere(rng, count, dimension):
    points = rng.standard_normal((count, dimension))
    return points / np.linalg.norm(points, axis=1, keepdims=True)


def root_mean_square(values, axis=-1):
    return np.sqrt(np.square(values).mean(axis=axis))


def cosine_sums(n_features, weight_bound, rows):
    """For f(x) = (C/2)·exp(-x²/2): the weight C·cos(b)/K on cos(wx + b)."""
    rng = np.random.default_rng(n_features)
    frequencies = rng.standard_normal((SEEDS, n_features, 1))
    shifts = rng.uniform(-np.pi, np.pi, (SEEDS, n_features, 1))
    return weight_bound * (np.cos(shifts) * np.cos(frequencies * rows + shifts)).mean(axis=1)


def sine_distances(n_features, radius):
    """|f̂ - f| for ½(k(x - a) - k(x + a)), k Gaussian: the weight sin(θ'a)/K on sin(θ'x)."""
    rng = np.random.default_rng(n_features)
    rows, anchor = ball(rng, 100, 2, radius), np.array([0.6, 0.8])
    near, far = (np.exp(-((rows - side * anchor) ** 2).sum(axis=1) / 2) for side in (1, -1))
    draws = (rng.standard_normal((2, n_features)) for _ in range(SEEDS))
    sums = [np.sin(rows @ theta) @ np.sin(anchor @ theta) / n_features for theta in draws]
    return np.abs(sums - (near - far) / 2)


def shifted_cosine_distances(n_features, radius):
    """|f̂ - f| for ½k(x): the weight cos(b)/K on cos(ω'x + b)."""
    rng = np.random.default_rng(n_features)
    rows, sums = ball(rng, 100, 2, radius), []
    for _ in range(SEEDS):
        omega, shift = rng.standard_normal((2, n_features)), rng.uniform(-np.pi, np.pi, n_features)
        sums.append(np.cos(rows @ omega + shift) @ np.cos(shift) / n_features)
    return np.abs(sums - np.exp(-(rows**2).sum(axis=1) / 2) / 2)


def maxout_units(rng, rows, n_units, pool):
    vectors = rng.standard_normal((rows.shape[1], n_units * pool))
    return (rows @ vectors).reshape(len(rows), n_units, pool).max(axis=2)


def largest_normals(rng, pool, count):
    """The largest of `pool` normals, drawn from its distribution Φ^q."""
    return -ndtri(-np.expm1(np.log(rng.random(count)) / pool))


def worst_distances(kernel, features, mu, runs=10):
    """Largest distance from the unit ball of the kernel's space to ridge fits on drawn features.

    `features()` draws a matrix (rows, N); the largest over the ball is an operator norm.
    """
    n_rows = len(kernel)
    values, vectors = np.linalg.eigh(kernel / n_rows)
    unit_ball = vectors * np.sqrt(np.maximum(values, 0))
    for _ in range(runs):
        drawn = features()
        gram = drawn @ drawn.T / (n_rows * drawn.shape[1])
        yield mu * np.linalg.norm(np.linalg.solve(gram + mu * np.eye(n_rows), unit_ball), 2)


def relu_kernel(rows):
    """E ReLU(ω·x)ReLU(ω·x') for ω uniform on the sphere; the rows end in 1."""
    lengths = np.linalg.norm(rows, axis=1)
    cosine = np.clip(rows @ rows.T / np.outer(lengths, lengths), -1, 1)
    angle = np.arccos(cosine)
    shape = np.sin(angle) + (np.pi - angle) * cosine
    return np.outer(lengths, lengths) * shape / (2 * rows.shape[1] * np.pi)


def relu_sum(outer, inner, rows):
    return np.maximum(0, rows @ inner[:, :-1].T + inner[:, -1]) @ outer


def drawn_sum(rng, outer, inner, n_units, rows):
    """A sum of units drawn from |ω| d|μ|(ω), with the weights ±R/N."""
    lengths = np.linalg.norm(inner, axis=1)
    shares = np.abs(outer) * lengths
    drawn = rng.choice(len(outer), n_units, p=shares / shares.sum())
    weights = np.sign(outer[drawn]) * shares.sum() / n_units
    return relu_sum(weights, inner[drawn] / lengths[drawn, None], rows)


def relu_function(rng, variation):
    """Weights of 40 units in the plane, in Λ_R for R = variation."""
    outer, inner = rng.standard_normal(40), rng.standard_normal((40, 3))
    return outer * variation / theory.relu_variation(outer=outer, inner=inner), inner


def exact_freedom(eigenvalues, mus):
    return [(eigenvalues / (eigenvalues + mu)).sum() for mu in mus]


def interval_eigenvalues(bandwidth):
    """Of the Gaussian kernel, for inputs uniform on [-1, 1]."""
    nodes, weights = np.polynomial.legendre.leggauss(80)
    root = np.sqrt(weights / 2)
    kernel = np.exp(-((nodes[:, None] - nodes) ** 2) / (2 * bandwidth**2))
    return np.maximum(np.linalg.eigvalsh(root[:, None] * kernel * root)[::-1], 0)


# What is observed below the curves


def ball_means(panel):
    for n_draws in COLUMNS:
        vectors = sphere(np.random.default_rng(n_draws), SEEDS * n_draws, 10)
        means = vectors.reshape(SEEDS, n_draws, 10).mean(axis=1)
        dots(panel, n_draws, np.linalg.norm(means, axis=1))


def bump_distances(panel):
    rows = np.random.default_rng(0).standard_normal(40)
    for colour, weight_bound in coloured(SIZES):
        target = weight_bound / 2 * np.exp(-(rows**2) / 2)
        for n_features in COLUMNS:
            sums = cosine_sums(n_features, weight_bound, rows)
            dots(panel, n_features, root_mean_square(sums - target), colour)


def added_risks(panel):
    rows = np.random.default_rng(1).standard_normal(40)
    labels, target = np.sign(rows + 0.3), 1.5 * np.exp(-(rows**2) / 2)

    def risk(scores):
        return np.logaddexp(0, -labels * scores).mean(axis=-1)

    for n_features in COLUMNS:
        added = np.abs(risk(cosine_sums(n_features, 3.0, rows)) - risk(target))
        dots(panel, n_features, added, COLOURS[1])


def sign_gaps(panel):
    for n_rows in COLUMNS:
        rng = np.random.default_rng(n_rows)
        products = rng.choice([-1.0, 1.0], (SEEDS, n_rows, 5))  # label times feature
        gap = np.abs(products.mean(axis=1)).mean(axis=1)
        for colour, weight_bound in coloured(SIZES):
            dots(panel, n_rows, weight_bound * gap, colour)


def sine_means(panel):
    for n_features in COLUMNS:
        dots(panel, n_features, root_mean_square(sine_distances(n_features, 1.0)))


def largest(distances):
    """Dots at the worst input, of `distances` of sums in discs of three radii."""

    def draw(panel):
        for colour, radius in coloured(RADII):
            for n_features in COLUMNS:
                dots(panel, n_features, distances(n_features, radius).max(axis=1), colour)

    return draw


def drawn_maxima(panel):
    for pool in [10**exponent for exponent in range(7)]:
        draws = largest_normals(np.random.default_rng(pool), pool, (SEEDS, 500))
        dots(panel, pool, (draws**2).mean(axis=1))


def second_moments(panel):
    places = counts(1, 10**6)
    moments = [theory.max_second_moment(pool=pool) for pool in places]
    panel.plot(places, moments, color=COLOURS[0], label="σ²(q)")
    panel.plot(places, 2 * np.log(places), "--", color=COLOURS[1], label="2 log q")
    panel.plot(places, np.log(places), "--", color=COLOURS[2], label="log q")


def largest_units(panel):
    for colour, pool in coloured(POOLS):
        for dimension in range(1, 8):  # 2^k points have dimension k at most
            rng = np.random.default_rng(dimension)
            units = maxout_units(rng, sphere(rng, 2**dimension, 200), 12, pool)
            dots(panel, dimension, np.abs(units).max(axis=0), colour)


def no_promise(panel):
    panel.axhline(1, color="#888888", linewidth=0.8, linestyle="--", label="no promise")


def unit_sizes(panel):
    tails = np.array([0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001])
    for colour, pool in coloured(POOLS):
        sizes = np.abs(largest_normals(np.random.default_rng(pool), pool, 20_000))
        dots(panel, tails, np.quantile(sizes, 1 - tails), colour)


def maxout_law(tail):
    size = theory.maxout_norm_bound(pool=4, tail=tail)
    return {"pool": 4, "unit_bound": size, "tail": tail, "delta": 0.05}


def maxout_distances(panel):
    rows = sphere(np.random.default_rng(0), 12, 3)
    for n_units in COLUMNS:  # the weight 1/m stands for the constant E max of 4 normals
        rng, size = np.random.default_rng(n_units), maxout_law(1 / n_units)["unit_bound"]
        errors = []
        for _ in range(SEEDS):
            units = maxout_units(rng, rows, n_units, 4)
            units[:, root_mean_square(units, axis=0) > size] = 0
            errors.append(root_mean_square(units.mean(axis=1) - 1.0293753730039641))
        dots(panel, n_units, errors, COLOURS[2])


def maxout_tails(panel):
    """The bound for two fixed tails, with the ring of one, and for the tail 1/m."""
    places = counts(10, 10**6)
    tails = {"0.01": lambda m: 0.01, "10⁻⁴": lambda m: 1e-4, "1/m": lambda m: 1 / m}
    for colour, (label, tail) in coloured(list(tails.items())):
        laws = [{"n_units": m, "weight_bound": 1.0, **maxout_law(tail(m))} for m in places]
        values = [theory.maxout_l2_error(**law) for law in laws]
        panel.plot(places, values, color=colour, label=f"tail {label}")
    law = {"value": 0.1, "weight_bound": 1.0, **maxout_law(1e-4)}
    ring(panel, theory.solve("n_units", theory.maxout_l2_error, **law), 0.1, "solve: n_units")


def units_for(error, pool):
    size = theory.maxout_norm_bound(pool=pool, tail=0.001)
    return theory.maxout_approximation_units(unit_bound=size, error=error)


def worst_of_cosines(panel):
    rng = np.random.default_rng(0)
    rows, frequencies = rng.standard_normal((30, 1)), 2 * rng.standard_normal(300)
    listed = math.sqrt(2) * np.cos(rows * frequencies + rng.uniform(0, 2 * np.pi, 300))
    kernel = listed @ listed.T / 300  # drawn from a list, so that kernel and leverage are exact
    for mu in (0.3, 0.1, 0.03, 0.01, 0.003, 0.001):
        solved = np.linalg.solve(kernel / 30 + mu * np.eye(30), listed / 30)
        leverage = (listed * solved).sum(axis=0).max()
        n_features = theory.leverage_features(leverage=leverage, delta=0.05)

        def features(n_features=n_features):
            return listed[:, rng.integers(0, 300, n_features)]

        worst = np.array(list(worst_distances(kernel, features, mu)))
        for colour, norm in coloured(SIZES):
            dots(panel, mu, norm * worst, colour)


def worst_of_bounded(panel):
    rng = np.random.default_rng(1)
    rows = rng.standard_normal((30, 1))
    kernel = np.exp(-((rows - rows.T) ** 2) / 2) / 2
    for n_features in (100, 300, 1000, 3000, 10_000):

        def features(n_features=n_features):
            shifts = rng.uniform(0, 2 * np.pi, n_features)
            return np.cos(rows * rng.standard_normal(n_features) + shifts)

        mu = 1 / leverage_of_features(n_features=n_features, delta=0.05)
        dots(panel, n_features, list(worst_distances(kernel, features, mu)), COLOURS[1])


def power_sums(panel):
    mus = [0.3, 0.1, 1e-2, 1e-3, 1e-4]
    for colour, exponent in coloured([2.0, 3.0, 6.0]):
        eigenvalues = np.arange(1.0, 300_001) ** -exponent
        dots(panel, mus, exact_freedom(eigenvalues, mus), colour, "exact")


def exponential_sums(panel):
    """Each d has its own range of μ, so this figure draws its curves itself."""
    for colour, d in coloured([1, 2, 3]):
        law, most = {"scale": 1.0, "rate": 1.0, "n_inputs": d}, 0.99 * math.exp(-(d**2))
        eigenvalues = np.exp(-(np.arange(1.0, 80.0**d) ** (1 / d)))
        mus = np.geomspace(1e-10, most, 6)
        dots(panel, mus, exact_freedom(eigenvalues, mus), colour, "exact")
        places = steps(1e-10, most)
        values = [theory.subexponential_freedom(mu=mu, **law) for mu in places]
        panel.plot(places, values, color=colour, label=f"d = {d}")
    law = {"scale": 1.0, "rate": 1.0, "n_inputs": 2, "between": (1e-10, 0.018)}
    mu = theory.solve("mu", theory.subexponential_freedom, value=1000.0, **law)
    ring(panel, mu, 1000, "solve: mu")


def widom(index, bandwidth):
    height, decay = math.sqrt(2 * math.pi) * bandwidth, bandwidth**2 / 2
    law = {"density_bound": 0.5, "radius": 1.0, "n_inputs": 1, "constant": 1.0}
    return theory.widom_eigenvalue(index=index, height=height, decay=decay, **law)


def exact_eigenvalues(panel):
    for colour, bandwidth in coloured([0.25, 0.5, 1.0]):
        eigenvalues = interval_eigenvalues(bandwidth)[:30]
        shown = eigenvalues > 1e-14  # below it rounding decides
        dots(panel, np.arange(1, 31)[shown], eigenvalues[shown], colour, "exact")


def ball_sums(panel):
    mus = 10.0 ** -np.arange(1, 9)
    for colour, d in coloured([1, 2, 3]):
        rows = sphere(np.random.default_rng(d), 300, d) * np.linspace(0.5, 1, 300)[:, None]
        squares = ((rows[:, None] - rows) ** 2).sum(axis=2)
        eigenvalues = np.maximum(np.linalg.eigvalsh(np.exp(-squares / 2) / 300), 0)
        dots(panel, mus, exact_freedom(eigenvalues, mus), colour, "exact")


TARGET = {"norm": 1.0, "gap": 0.0, "delta": 0.05}


def plan_risks(panel):
    """The risk of all four plans, with the ring of the second."""
    smooth = {"scale": 1.0, "rate": 1.0, "n_inputs": 2}
    apart = {"margin": 1.0, "radius": 1.0, "n_inputs": 2, "delta": 0.05}
    plans = {
        "plain": lambda m: theory.plain_plan(n_rows=m, feature_bound=1.0, **TARGET),
        "power": lambda m: theory.polynomial_plan(n_rows=m, scale=1.0, exponent=3.0, **TARGET),
        "exp": lambda m: theory.subexponential_plan(n_rows=m, **smooth, **TARGET),
        "separated": lambda m: theory.separated_plan(n_rows=m, **apart),
    }

    def risk(n_rows, plan):
        return theory.svm_excess_risk(plans[plan](n_rows), noise=2.0, c_root=1.0, c_linear=1.0)

    places = counts(10**4, 10**18)
    for colour, plan in coloured(list(plans)):
        panel.plot(places, [risk(m, plan) for m in places], color=colour, label=plan)
    panel.axhline(1, color="#888888", linewidth=0.8, linestyle="--")
    rows = theory.solve("n_rows", risk, value=0.1, start=16, plan="power")
    ring(panel, rows, 0.1, "solve: n_rows")


def point_risks(panel):
    bandwidths = np.geomspace(0.12, 0.9, 9)
    square = 2 * (0.5 / bandwidths) ** 2  # labels reach half the margin around each point
    for colour, d in coloured([1, 3, 9]):
        missed, taken = gammaincc(d / 2, square / 2), chndtr(square, d, 4 * square)
        dots(panel, bandwidths, missed + taken, colour, "exact")


def closed_forms(panel):
    """Each d has a closed form up to a bandwidth of its own."""
    for colour, d in coloured([1, 3, 9]):
        valid = steps(0.1, 0.999 * min(1, 1 / (2 * math.sqrt(max(d - 1, 1e-9)))))
        law = {"margin": 1.0, "n_inputs": d, "closed_form": True}
        values = [theory.separated_risk(bandwidth=bandwidth, **law) for bandwidth in valid]
        panel.plot(valid, values, "--", color=colour)


def interval_norms(panel):
    bandwidths = np.geomspace(0.05, 1, 8)
    length = 2 * 1.2  # the intervals [0, 1.2] and [-1.2, 0], with the labels 1 and -1
    exact = np.sqrt(length / (math.sqrt(2 * math.pi) * bandwidths))
    dots(panel, bandwidths, exact, COLOURS[0], "exact")


def worst_of_relu(panel):
    rng = np.random.default_rng(0)
    rows = np.column_stack([ball(rng, 40, 2), np.ones(40)])
    for n_features in (100, 300, 1000, 3000, 10_000):

        def features(n_features=n_features):
            return np.maximum(0, rows @ sphere(rng, n_features, 3).T)

        mu = 2 / leverage_of_features(n_features=n_features, delta=0.05)
        worst = np.array(list(worst_distances(relu_kernel(rows), features, mu)))
        for colour, norm in coloured(SIZES):
            dots(panel, n_features, norm * worst, colour)


def slopes(panel):
    rng = np.random.default_rng(1)
    one, two = ball(rng, 3000, 2), ball(rng, 3000, 2)
    gaps = np.linalg.norm(one - two, axis=1)
    variations, steepest = [], []
    for n_units in np.repeat([1, 3, 10, 30], SEEDS):
        outer, inner = rng.standard_normal(n_units), rng.standard_normal((n_units, 3))
        change = np.abs(relu_sum(outer, inner, one) - relu_sum(outer, inner, two))
        steepest.append((change / gaps).max())
        variations.append(theory.relu_variation(outer=outer, inner=inner))
    dots(panel, variations, steepest, COLOURS[0])
    panel.plot([0.1, 100], [0.1, 100], color=COLOURS[0], label="slope ≤ R")


def variations_of_norms(panel):
    for colour, moment in coloured(SIZES):
        rng, norms, variations = np.random.default_rng(2), [], []
        for _ in range(40):
            inner = math.sqrt(moment) * sphere(rng, 100, 3)
            outer = rng.standard_normal(100) * rng.exponential(size=100) ** rng.uniform(0, 4)
            outer *= np.exp(rng.uniform(-2, 2)) / root_mean_square(outer)
            norms.append(root_mean_square(outer))
            variations.append(theory.relu_variation(outer=outer / 100, inner=inner))
        dots(panel, norms, variations, colour)


def maurey_distances(panel):
    for colour, variation in coloured(SIZES):
        rng = np.random.default_rng(3)
        rows, (outer, inner) = ball(rng, 100, 2), relu_function(rng, variation)
        target = relu_sum(outer, inner, rows)
        for n_units in COLUMNS:
            sums = [drawn_sum(rng, outer, inner, n_units, rows) for _ in range(SEEDS)]
            dots(panel, n_units, root_mean_square(sums - target), colour)


def network(accuracy, depth, size=1.0):
    law = {"variations": [size] * depth, "radius": 1.0, "slack": 0.5}
    return theory.relu_network(accuracy=accuracy, widths=[1] * depth, **law)


def network_accuracy(panel):
    law = {"variations": [2.0, 2.0], "radius": 1.0, "slack": 0.5}
    accuracy = theory.relu_network_accuracy(n_units=[5000, 5000], **law)
    ring(panel, accuracy, 5000, "relu_network_accuracy")


def network_distances(panel):
    rng = np.random.default_rng(4)
    rows = ball(rng, 200, 2)
    first, second = [relu_function(rng, 0.6), relu_function(rng, 0.4)], relu_function(rng, 1.5)
    middle = np.column_stack([relu_sum(*part, rows) for part in first])
    law = {"variations": [math.hypot(0.6, 0.4), 1.5], "radius": 1.0, "slack": 0.5}
    for accuracy in (0.03, 0.1, 0.3, 1.0):
        units = theory.relu_network(accuracy=accuracy, widths=[2, 1], **law).n_units
        errors = []
        for _ in range(SEEDS):
            hidden = np.column_stack([drawn_sum(rng, *part, units[0], rows) for part in first])
            near = np.linalg.norm(hidden - middle, axis=1) <= 0.5
            distance = drawn_sum(rng, *second, units[1], hidden) - relu_sum(*second, middle)
            errors.append(root_mean_square(distance * near))
        dots(panel, accuracy, errors, COLOURS[1])


def length_norms(panel):
    """The norm of √(1 + ‖x‖²), and the thesis's bound of it."""
    places = counts(1, 300)
    panel.plot(places, [theory.relu_length_norm(n_inputs=d) for d in places], label="exact")
    printed = [2 * math.sqrt(2 * math.pi) * (d + 1) ** 1.5 for d in places]
    panel.plot(places, printed, "--", label="_printed")


def sphere_error(*, gap, **law):
    """The distance by 1 − r, for a log axis."""
    return theory.sphere_error(smoothing=1 - gap, **law)


def sphere_norm(*, gap, **law):
    """The norm by 1 − r."""
    return theory.sphere_norm(smoothing=1 - gap, **law)
