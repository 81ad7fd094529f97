"""Draw every bound of kitchensinks.papers.theory for docs/bounds.md: `python docs/plot_bounds.py`.

FIGURES is the table of all figures: each is saved under its name in docs/figures. A ring on a curve
is the answer of `theory.solve`. Dots are errors observed with fixed seeds, of the weights that the
proofs construct (bounds_observed.py).
"""

import sys
from operator import attrgetter
from pathlib import Path

import bounds_observed as observed
import numpy as np
from bounds_drawing import Curve, Plot, counts, save, steps
from bounds_observed import POOLS, RADII, SIZES, TARGET
from threadpoolctl import threadpool_limits

FOLDER = Path(__file__).parent / "figures"
DELTAS = [0.5, 0.05, 0.001]
SINKS = {"lipschitz": 1.0, "weight_bound": 1.0, "loss_at_zero": 1.0, "delta": 0.05}
PLANE = {"norm": 1.0, "second_moment": 2.0, "delta": 0.05}
MAXOUT = {"lipschitz": 1.0, "weight_bound": 1.0, "loss_at_zero": 0.5, **observed.maxout_law(1e-6)}
INPUTS = {"pool": POOLS, "n_inputs": 200, "diameter": 2.0, "delta": 0.05}
DISC = {"radius": 1.0, "delta": 0.05}
MANY = 10**7
ROWS = counts(10**3, 10**9)
COUNT = attrgetter("n_features")

# fmt: off
FIGURES = {
    # Weighted Sums of Random Kitchen Sinks
    "sinks_lemma_4": Plot(
        "Mean of K vectors of a ball: near its expectation", "kitchen sinks, Lemma 4; radius M = 1",
        "vectors averaged, K", "distance to the expectation",
        (Curve("ball_mean_error", "n_draws", counts(10, 3000), "δ", radius=1.0, delta=DELTAS),),
        (0.2, 0.05), observed.ball_means),
    "sinks_lemma_1": Plot(
        "Distance to a sum of K random features", "kitchen sinks, Lemma 1; δ = 0.05",
        "features, K", "mean-square distance ‖f̂ − f*‖",
        (Curve("sinks_l2_error", "n_features", counts(10, 3000), "C", weight_bound=SIZES,
               delta=0.05),),
        (0.1, 1.0), observed.bump_distances),
    "sinks_lemma_2": Plot(
        "Risk that a sum of K random features adds",
        "kitchen sinks, Lemma 2; C = 3, δ = 0.05; observed at L = 1",
        "features, K", "added risk |R[f̂] − R[f*]|",
        (Curve("sinks_approximation_risk", "n_features", counts(10, 3000), "L",
               lipschitz=[0.25, 1.0, 4.0], weight_bound=3.0, delta=0.05),),
        (0.5, 1.0), observed.added_risks),
    "sinks_lemma_3": Plot(
        "Gap between true and empirical risk, all sums at once",
        "kitchen sinks, Lemma 3; L = 1, c(0) = 0, δ = 0.05",
        "rows, m", "largest gap |R[f] − R_emp[f]|",
        (Curve("sinks_estimation_error", "n_rows", counts(10, 3000), "C",
               **SINKS | {"weight_bound": SIZES, "loss_at_zero": 0.0}),),
        (0.2, 1.0), observed.sign_gaps),
    "sinks_theorem_1_features": Plot(
        "Excess risk of Algorithm 1: rows set the floor",
        "kitchen sinks, Theorem 1; L = C = c(0) = 1, δ = 0.05",
        "features, K", "excess risk R[f̂] − min R[f]",
        (Curve("sinks_excess_risk", "n_features", counts(10, MANY), "m",
               n_rows=[10**3, 10**5, MANY], **SINKS),),
        (0.1, 10**5)),
    "sinks_theorem_1_rows": Plot(
        "Excess risk of Algorithm 1: features set the floor",
        "kitchen sinks, Theorem 1; L = C = c(0) = 1, δ = 0.05",
        "rows, m", "excess risk R[f̂] − min R[f]",
        (Curve("sinks_excess_risk", "n_rows", ROWS, "K", n_features=[10**2, 10**4, 10**6],
               **SINKS),),
        (0.05, 10**4)),
    # Uniform Approximation of Functions with Random Bases
    "bases_theorem_3_1": Plot(
        "Mean-square distance to a sum of K random features",
        "random bases, Theorem 3.1; ‖f‖ₚ = 1",
        "features, K", "mean-square distance ‖f̂ − f‖",
        (Curve("bases_l2_error", "n_features", counts(10, 3000), "δ", norm=1.0, delta=DELTAS),),
        (0.2, 0.05), observed.sine_means),
    "bases_theorem_3_2": Plot(
        "Largest distance to a sum of K random features",
        "random bases, Theorem 3.2; ‖f‖ₚ = L = 1, E θ'θ = 2, δ = 0.05",
        "features, K", "largest distance sup |f̂ − f|",
        (Curve("bases_uniform_error", "n_features", counts(10, 3000), "B", lipschitz=1.0,
               radius=RADII, **PLANE),),
        (0.5, 2.0), observed.largest(observed.sine_distances)),
    "bases_example_a": Plot(
        "Largest distance to a sum of K cosines",
        "random bases, Example a; ‖f‖ₚ = 1, E‖ω‖² = 2, δ = 0.05",
        "cosines, K", "largest distance sup |f̂ − f|",
        (Curve("bases_cosine_error", "n_features", counts(10, 3000), "B", radius=RADII, **PLANE),),
        (0.5, 2.0), observed.largest(observed.shifted_cosine_distances)),
    # Random Maxout Features
    "maxout_theorem_1": Plot(
        "Mean square of the largest of q normals", "maxout, Theorem 1; the paper prints log q",
        "projections in a unit, q", "mean square σ²(q)",
        observed=observed.drawn_maxima, beside=observed.second_moments, axes={"yscale": "linear"}),
    "maxout_lemma_2": Plot(
        "Largest value of a maxout unit over all inputs",
        "maxout, Lemma 2; d = 200, diam(M) = 2, δ = 0.05; dashed: C₁ = 1",
        "Assouad dimension of the inputs, d_M", "largest value sup |φ(x, W)|",
        tuple(Curve("maxout_sup_bound", "intrinsic_dimension", np.linspace(0.5, 8, 50).tolist(),
                    "q", style=style, constant=constant, **INPUTS)
              for style, constant in (("-", None), ("--", 1.0))),
        observed=observed.largest_units,
        axes={"xscale": "linear", "yscale": "linear", "ylim": (0, None)}),
    "maxout_lemma_2_tail": Plot(
        "Chance that a unit exceeds the bound of Lemma 2", "maxout, Lemma 2; δ = 0.01",
        "dimension of the inputs, d", "chance of failure δ + q·exp(−d/8)",
        (Curve("maxout_sup_tail", "n_inputs", list(range(1, 121, 2)), "q", pool=POOLS,
               delta=0.01),),
        beside=observed.no_promise, axes={"xscale": "linear"}),
    "maxout_size": Plot(
        "Mean-square size that a maxout unit rarely exceeds",
        "in place of maxout, Lemma 2; observed: 20,000 units",
        "chance to exceed it, tail", "mean-square size ‖φ(·, W)‖",
        (Curve("maxout_norm_bound", "tail", steps(1e-6, 0.6), "q", pool=POOLS),),
        observed=observed.unit_sizes, axes={"yscale": "linear", "ylim": (0, None)}),
    "maxout_lemma_3": Plot(
        "Distance to a sum of m maxout units", "maxout, Lemma 3; C = 1, q = 4, δ = 0.05",
        "units, m", "mean-square distance ‖f̂ − f‖",
        observed=observed.maxout_distances, beside=observed.maxout_tails),
    "maxout_lemma_4": Plot(
        "Risk that a sum of m maxout units adds",
        "maxout, Lemma 4; C = 1, q = 4, δ = 0.05, tail = 10⁻⁶",
        "units, m", "added risk R[f̂] − R[f]",
        (Curve("maxout_approximation_risk", "n_units", counts(10, 10**6), "L",
               lipschitz=[0.25, 1.0, 4.0], weight_bound=1.0, **observed.maxout_law(1e-6)),)),
    "maxout_theorem_2": Plot(
        "Units for a relative size ε of the approximation term",
        "maxout, Theorem 2; M from maxout_norm_bound, tail = 0.001",
        "relative size, ε", "units, m",
        (Curve(observed.units_for, "error", steps(0.01, 1), "q", pool=POOLS),)),
    "maxout_theorem_2_units": Plot(
        "Excess risk of m maxout units: rows set the floor",
        "maxout, Theorem 2; L = C = 1, q = 4, δ = 0.05, tail = 10⁻⁶",
        "units, m", "excess risk R[f̂] − min R[f]",
        (Curve("maxout_excess_risk", "n_units", counts(10, MANY), "N",
               n_rows=[10**3, 10**5, MANY], **MAXOUT),),
        (0.1, 10**5)),
    "maxout_theorem_2_rows": Plot(
        "Excess risk of m maxout units: units set the floor",
        "maxout, Theorem 2; L = C = 1, q = 4, δ = 0.05, tail = 10⁻⁶",
        "rows, N", "excess risk R[f̂] − min R[f]",
        (Curve("maxout_excess_risk", "n_rows", counts(100, 10**8), "m",
               n_units=[10**2, 10**4, 10**6], **MAXOUT),),
        (0.1, 10**6)),
    # The thesis: how many features a kernel needs
    "thesis_theorem_ii_2_features": Plot(
        "Features that hold a kernel's unit ball to 2√μ", "thesis, Theorem II.2",
        "largest leverage, d_max(1, μ)", "features, N",
        (Curve("leverage_features", "leverage", steps(1, 10**4), "δ", delta=[0.5, 0.05, 1e-6]),),
        (10_000, 0.05, 1.0, 10_000.0)),
    "thesis_theorem_ii_2_error": Plot(
        "Distance to a target that those features guarantee",
        "thesis, Theorem II.2; observed for N of leverage_features",
        "regularisation, μ", "distance ‖f − β·φ_N‖",
        (Curve("leverage_error", "mu", steps(5e-4, 0.5), "‖f‖", norm=SIZES),),
        observed=observed.worst_of_cosines),
    "thesis_bounded_features": Plot(
        "Distance that N bounded features guarantee",
        "thesis, Theorem II.2, Corollary III.9; ‖f‖ = 1, δ = 0.05",
        "features, N", "distance ‖f − f_N‖",
        (Curve("bounded_features_error", "n_features", counts(100, 10**6), "κ",
               feature_bound=SIZES, norm=1.0, delta=0.05),),
        (0.1, 1.0), observed.worst_of_bounded),
    "thesis_lemma_ii_5_polynomial": Plot(
        "Degrees of freedom: eigenvalues like a power", "thesis, Lemma II.5; c₁ = 1",
        "regularisation, μ", "degrees of freedom, d(μ)",
        (Curve("polynomial_freedom", "mu", steps(1e-5, 0.5), "c₂", scale=1.0,
               exponent=[2.0, 3.0, 6.0]),),
        (100, 2.0, 1e-5, 0.5), observed.power_sums),
    "thesis_lemma_ii_5_subexponential": Plot(
        "Degrees of freedom: eigenvalues like exp(−i^(1/d))", "thesis, Lemma II.5; c₃ = c₄ = 1",
        "regularisation, μ", "degrees of freedom, d(μ)", beside=observed.exponential_sums),
    "thesis_lemma_ii_17": Plot(
        "Eigenvalues of the Gaussian kernel",
        "in place of thesis, Lemma II.17 (dashed: no bound, C = 1)",
        "rank, i", "eigenvalue, λᵢ",
        (Curve("gaussian_eigenvalue", "index", list(range(1, 31)), "γ", radius=1.0, n_inputs=1,
               bandwidth=[0.25, 0.5, 1.0]),
         Curve(observed.widom, "index", list(range(1, 31)), "γ", style="--",
               bandwidth=[0.25, 0.5, 1.0])),
        observed=observed.exact_eigenvalues, axes={"xscale": "linear", "ylim": (1e-15, 3)}),
    "thesis_gaussian_freedom": Plot(
        "Degrees of freedom of the Gaussian kernel in a ball",
        "in place of thesis, Lemmas II.5 and II.17; ρ = γ = 1",
        "regularisation, μ", "degrees of freedom, d(μ)",
        (Curve("gaussian_freedom", "mu", steps(1e-8, 0.3), "d", radius=1.0, bandwidth=1.0,
               n_inputs=[1, 2, 3]),),
        observed=observed.ball_sums),
    # The thesis: support vector machines on random features
    "thesis_theorem_ii_6_polynomial": Plot(
        "Features for m rows: eigenvalues like a power", "thesis, Theorem II.6; c₁ = 1, δ = 0.05",
        "rows, m", "optimised features, N",
        (Curve("polynomial_plan", "n_rows", ROWS, "c₂", read=COUNT, scale=1.0,
               exponent=[2.0, 3.0, 6.0], **TARGET),)),
    "thesis_theorem_ii_6_subexponential": Plot(
        "Features for m rows: eigenvalues like exp(−i^(1/d))",
        "thesis, Theorem II.6; c₃ = c₄ = 1, δ = 0.05",
        "rows, m", "optimised features, N",
        (Curve("subexponential_plan", "n_rows", ROWS, "d", read=COUNT, scale=1.0, rate=1.0,
               n_inputs=[1, 2, 3], **TARGET),)),
    "thesis_section_2_4": Plot(
        "Features for m rows: not optimised", "thesis, end of section 2.4; δ = 0.05",
        "rows, m", "bounded features, N",
        (Curve("plain_plan", "n_rows", ROWS, "κ", read=COUNT, feature_bound=[0.5, 1.0, 2.0],
               **TARGET),)),
    "thesis_theorem_ii_15": Plot(
        "Features for m rows: two separated classes", "thesis, Theorem II.15; τ = ρ = 1, δ = 0.05",
        "rows, m", "optimised features, N",
        (Curve("separated_plan", "n_rows", ROWS, "d", read=COUNT, margin=1.0,
               n_inputs=[1, 2, 3], **DISC),)),
    "thesis_svm_risk": Plot(
        "Excess risk of the plans: how fast, not how much",
        "thesis, Theorems II.6 and II.15; unnamed C₁ = C₂ = 1",
        "rows, m", "excess error rate", beside=observed.plan_risks),
    "thesis_lemma_ii_16_risk": Plot(
        "Excess hinge risk of smoothed labels", "thesis, Lemma II.16; τ = 1; dashed: closed form",
        "bandwidth, γ", "excess hinge risk, ε",
        (Curve("separated_risk", "bandwidth", steps(0.1, 1), "d", margin=1.0, n_inputs=[1, 3, 9]),),
        (1e-3, 3, 0.05, 1.0), observed.point_risks, observed.closed_forms, {"ylim": (1e-8, 10)}),
    "thesis_lemma_ii_16_norm": Plot(
        "Norm of smoothed labels", "thesis, Lemma II.16; τ = 0.4, ρ = 1",
        "bandwidth, γ", "norm ‖f‖",
        (Curve("separated_norm", "bandwidth", steps(0.05, 1), "d", margin=0.4, radius=1.0,
               n_inputs=[1, 3, 9]),),
        observed=observed.interval_norms),
    # The thesis: local complexity and noise
    "thesis_lemma_ii_10": Plot(
        "Radius at which 2^(i−1) balls cover the functions",
        "thesis, Lemmas II.9 and II.10; r = 0.5, λ = 0.25",
        "number i of the covering", "entropy number e_i",
        (Curve("svm_entropy", "index", counts(1, 300), "N", level=0.5, ridge=0.25,
               n_features=[10, 100, 1000]),),
        (1.0, 100)),
    "thesis_lemma_ii_11": Plot(
        "Complexity of the ramp losses on given rows",
        "thesis, Lemma II.11; λ = 0.001, r = 0.01, ρ = 0.2",
        "rows, m", "Rademacher complexity",
        (Curve("svm_complexity", "n_rows", ROWS, "N", ridge=1e-3, level=0.01, spread=0.2,
               n_features=[10, 100, 1000]),),
        (0.1, 100)),
    "thesis_lemma_ii_12": Plot(
        "Complexity of the ramp losses on average",
        "thesis, Lemma II.12; λ = 0.001, r = 0.01, V = 2",
        "rows, m", "Rademacher complexity",
        (Curve("svm_mean_complexity", "n_rows", ROWS, "N", ridge=1e-3, level=0.01, noise=2.0,
               n_features=[10, 100, 1000]),),
        (0.1, 100)),
    "thesis_tsybakov": Plot(
        "How fast the risk falls with noisy labels", "thesis, section 2.2; λᵢ = i^(−2)",
        "rows, m", "excess risk, up to constants",
        (Curve("tsybakov_rate", "n_rows", ROWS, "q", exponent=2.0,
               noise_exponent=[0.1, 1.0, 10.0]),),
        (0.01, 1.0)),
    "thesis_margin": Plot(
        "Risk of smoothed labels where classes touch", "thesis, section 2.4; c = 1, d = 3",
        "bandwidth, γ", "excess hinge risk",
        (Curve("margin_risk", "bandwidth", steps(0.01, 0.3), "β", margin_scale=1.0, n_inputs=3,
               margin_exponent=[0.5, 1.0, 4.0]),),
        (0.1, 1.0, 0.01, 0.3)),
    # The thesis: ReLU features and networks
    "thesis_proposition_iii_10_features": Plot(
        "Distance that N random ReLU features guarantee",
        "thesis, Proposition III.10; r = 1, δ = 0.05",
        "features, N", "distance, ε",
        (Curve("relu_features_error", "n_features", counts(100, 10**6), "‖f‖", norm=SIZES,
               **DISC),),
        (0.2, 1.0), observed.worst_of_relu),
    "thesis_proposition_iii_10_rows": Plot(
        "What m rows allow: a risk within 3ε of the target's",
        "thesis, Proposition III.10; r = 1, δ = 0.05",
        "rows, m", "a third of the excess risk, ε",
        (Curve("relu_rows_error", "n_rows", counts(100, MANY), "‖f‖", norm=[0.25, 1.0, 4.0],
               **DISC),),
        (0.1, 1.0)),
    "thesis_variation": Plot(
        "The variation R bounds the slope of a sum of ReLUs",
        "thesis, (3.11) and Proposition III.12",
        "variation, R = Σ|cᵢ||ωᵢ|", "slope",
        beside=observed.slopes, axes={"xlim": (0.08, 130), "ylim": (0.02, 130)}),
    "thesis_proposition_iii_12": Plot(
        "A ball of the random-feature space lies in Λ_R", "thesis, Proposition III.12",
        "norm ‖f‖", "variation, R",
        (Curve("relu_variation_of_norm", "norm", steps(0.1, 10), "M₂", second_moment=SIZES),),
        (3.0, 1.0, 0.1, 10.0), observed.variations_of_norms),
    "thesis_theorem_iii_13": Plot(
        "Distance that some network of N units reaches", "thesis, Theorem III.13; r = 1",
        "units, N", "mean-square distance ‖f − g‖",
        (Curve("maurey_error", "n_units", counts(10, 3000), "R", radius=1.0, variation=SIZES),),
        (0.1, 1.0), observed.maurey_distances),
    "thesis_proposition_iii_15_units": Plot(
        "Units of the first layer of a deep network",
        "thesis, Proposition III.15; L layers, Rᵢ = 2, r = 1, s = 0.5",
        "accuracy, ε", "units for each output, N₁",
        (Curve(observed.network, "accuracy", steps(0.01, 1), "L",
               read=lambda bound: bound.n_units[0], depth=[1, 2, 3], size=2.0),),
        beside=observed.network_accuracy),
    "thesis_proposition_iii_15_error": Plot(
        "Error of a deep network for L composed functions",
        "thesis, Proposition III.15; r = 1, s = 0.5; observed at L = 2",
        "accuracy, ε", "mean-square distance, Lε",
        (Curve(observed.network, "accuracy", steps(0.02, 1), "L", read=attrgetter("error"),
               depth=[1, 2, 3]),),
        observed=observed.network_distances),
    "thesis_proposition_iii_15_chance": Plot(
        "Chance of the inputs that this error leaves out",
        "thesis, Proposition III.15; L layers, Rᵢ = 1, s = 0.5",
        "accuracy, ε", "chance of inputs left out",
        (Curve(observed.network, "accuracy", steps(0.003, 1), "L",
               read=lambda bound: 1 - bound.probability, depth=[2, 3, 4]),)),
    "thesis_proposition_iii_15_norms": Plot(
        "Norm of the input weights of a deep network",
        "thesis, Proposition III.15; ε = 0.05, m₂ = 1, r = 1, s = 0.5",
        "layers of units, L", "Frobenius norm",
        (Curve(observed.network, "depth", list(range(1, 9)), "Rᵢ",
               read=lambda bound: bound.weight_norms[0], accuracy=0.05, size=[0.8, 1.0, 1.25]),),
        axes={"xscale": "linear"}),
    "thesis_lemma_iii_17": Plot(
        "Norm of powers in the space of ReLU features", "thesis, Lemma III.17; α = 1",
        "power, p", "norm of (β·x)^p, at most",
        (Curve("relu_power_norm", "power", list(range(2, 42, 2)), "d", coefficient=1.0,
               n_inputs=[1, 10, 100]),),),
    "thesis_equation_3_12": Plot(
        "Norm of √(1 + ‖x‖²) in the space of ReLU features", "thesis, (3.12); dashed: as printed",
        "inputs, d", "norm",
        beside=observed.length_norms),
    "thesis_section_3_4_error": Plot(
        "Distance of smoothed labels on the sphere", "thesis, section 3.4; τ = 1",
        "1 − r, of the Poisson kernel", "largest distance",
        (Curve(observed.sphere_error, "gap", steps(1e-3, 0.5), "d", margin=1.0,
               n_inputs=[1, 3, 9]),),
        (0.1, 3, 1e-3, 0.5)),
    "thesis_section_3_4_norm": Plot(
        "Norm of smoothed labels on the sphere", "thesis, section 3.4",
        "1 − r, of the Poisson kernel", "norm ‖g‖",
        (Curve(observed.sphere_norm, "gap", steps(1e-3, 0.5), "d", n_inputs=[1, 3, 9]),),
        (1000.0, 3, 1e-3, 0.5)),
    "thesis_section_3_4_rate": Plot(
        "How fast the risk falls with √m ReLU features", "thesis, section 3.4: m^(−1/8) is d = 3",
        "rows, m", "excess risk, up to constants",
        (Curve("sphere_rate", "n_rows", ROWS, "d", n_inputs=[1, 3, 30]),),
        (0.1, 3)),
}
# fmt: on


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    with threadpool_limits(1):  # the matrices are small
        for name in sys.argv[1:] or FIGURES:
            print(save(FIGURES[name], FOLDER / f"{name}.svg").relative_to(FOLDER.parent))


if __name__ == "__main__":
    main()
