"""The papers' bounds as functions: what each statement guarantees, and what it takes.

One file for each paper, and five for the thesis; every function names its statement, maps the
paper's symbols to its arguments, and corrects the printed constant where that is wrong. Arguments
are given by name. A constant that a paper leaves unnamed is an argument too. `solve` is the inverse
of all of them: it finds the features, rows or units at which a bound has a given value.

>>> from kitchensinks import theory
>>> theory.solve("n_features", theory.sinks_l2_error, value=0.1, weight_bound=1.0, delta=0.05)
1189
"""

from kitchensinks.papers.theory._shared import solve
from kitchensinks.papers.theory.kitchen_sinks import (
    ball_mean_error,
    sinks_approximation_risk,
    sinks_estimation_error,
    sinks_excess_risk,
    sinks_l2_error,
)
from kitchensinks.papers.theory.maxout import (
    max_second_moment,
    maxout_approximation_risk,
    maxout_approximation_units,
    maxout_excess_risk,
    maxout_l2_error,
    maxout_norm_bound,
    maxout_sup_bound,
    maxout_sup_tail,
)
from kitchensinks.papers.theory.random_bases import (
    bases_cosine_error,
    bases_l2_error,
    bases_uniform_error,
)
from kitchensinks.papers.theory.thesis_local import (
    margin_risk,
    svm_complexity,
    svm_entropy,
    svm_mean_complexity,
    tsybakov_rate,
)
from kitchensinks.papers.theory.thesis_relu import (
    maurey_error,
    relu_features_error,
    relu_network,
    relu_network_accuracy,
    relu_rows_error,
    relu_variation,
    relu_variation_of_norm,
)
from kitchensinks.papers.theory.thesis_spectra import (
    bounded_features_error,
    gaussian_eigenvalue,
    gaussian_freedom,
    leverage_error,
    leverage_features,
    polynomial_freedom,
    subexponential_freedom,
    widom_eigenvalue,
)
from kitchensinks.papers.theory.thesis_sphere import (
    relu_length_norm,
    relu_power_norm,
    sphere_error,
    sphere_norm,
    sphere_rate,
)
from kitchensinks.papers.theory.thesis_svm import (
    plain_plan,
    polynomial_plan,
    separated_norm,
    separated_plan,
    separated_risk,
    subexponential_plan,
    svm_excess_risk,
)

__all__ = [
    "ball_mean_error",
    "bases_cosine_error",
    "bases_l2_error",
    "bases_uniform_error",
    "bounded_features_error",
    "gaussian_eigenvalue",
    "gaussian_freedom",
    "leverage_error",
    "leverage_features",
    "margin_risk",
    "maurey_error",
    "max_second_moment",
    "maxout_approximation_risk",
    "maxout_approximation_units",
    "maxout_excess_risk",
    "maxout_l2_error",
    "maxout_norm_bound",
    "maxout_sup_bound",
    "maxout_sup_tail",
    "plain_plan",
    "polynomial_freedom",
    "polynomial_plan",
    "relu_features_error",
    "relu_length_norm",
    "relu_network",
    "relu_network_accuracy",
    "relu_power_norm",
    "relu_rows_error",
    "relu_variation",
    "relu_variation_of_norm",
    "separated_norm",
    "separated_plan",
    "separated_risk",
    "sinks_approximation_risk",
    "sinks_estimation_error",
    "sinks_excess_risk",
    "sinks_l2_error",
    "solve",
    "sphere_error",
    "sphere_norm",
    "sphere_rate",
    "subexponential_freedom",
    "subexponential_plan",
    "svm_complexity",
    "svm_entropy",
    "svm_excess_risk",
    "svm_mean_complexity",
    "tsybakov_rate",
    "widom_eigenvalue",
]
