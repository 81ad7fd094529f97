"""The papers' bounds as functions: what each statement guarantees, and what it takes.

One file for each paper, and five for the thesis; every function names its statement, maps the
paper's symbols to its arguments, and corrects the printed constant where that is wrong ("errata" is
docs/errata.md, by number). Arguments are given by name. A constant that a paper leaves unnamed is
an argument too. `solve` is the inverse of all of them: it finds the features, rows or units at
which a bound has a given value.

>>> from kitchensinks import theory
>>> theory.solve("n_features", theory.sinks_l2_error, value=0.1, weight_bound=1.0, delta=0.05)
1189
"""

from kitchensinks.papers.theory._shared import solve as solve
from kitchensinks.papers.theory.kitchen_sinks import ball_mean_error as ball_mean_error
from kitchensinks.papers.theory.kitchen_sinks import (
    sinks_approximation_risk as sinks_approximation_risk,
)
from kitchensinks.papers.theory.kitchen_sinks import (
    sinks_estimation_error as sinks_estimation_error,
)
from kitchensinks.papers.theory.kitchen_sinks import sinks_excess_risk as sinks_excess_risk
from kitchensinks.papers.theory.kitchen_sinks import sinks_l2_error as sinks_l2_error
from kitchensinks.papers.theory.maxout import max_second_moment as max_second_moment
from kitchensinks.papers.theory.maxout import maxout_approximation_risk as maxout_approximation_risk
from kitchensinks.papers.theory.maxout import (
    maxout_approximation_units as maxout_approximation_units,
)
from kitchensinks.papers.theory.maxout import maxout_excess_risk as maxout_excess_risk
from kitchensinks.papers.theory.maxout import maxout_l2_error as maxout_l2_error
from kitchensinks.papers.theory.maxout import maxout_norm_bound as maxout_norm_bound
from kitchensinks.papers.theory.maxout import maxout_sup_bound as maxout_sup_bound
from kitchensinks.papers.theory.maxout import maxout_sup_tail as maxout_sup_tail
from kitchensinks.papers.theory.random_bases import bases_cosine_error as bases_cosine_error
from kitchensinks.papers.theory.random_bases import bases_l2_error as bases_l2_error
from kitchensinks.papers.theory.random_bases import bases_uniform_error as bases_uniform_error
from kitchensinks.papers.theory.thesis_local import margin_risk as margin_risk
from kitchensinks.papers.theory.thesis_local import svm_complexity as svm_complexity
from kitchensinks.papers.theory.thesis_local import svm_entropy as svm_entropy
from kitchensinks.papers.theory.thesis_local import svm_mean_complexity as svm_mean_complexity
from kitchensinks.papers.theory.thesis_local import tsybakov_rate as tsybakov_rate
from kitchensinks.papers.theory.thesis_relu import maurey_error as maurey_error
from kitchensinks.papers.theory.thesis_relu import relu_features_error as relu_features_error
from kitchensinks.papers.theory.thesis_relu import relu_network as relu_network
from kitchensinks.papers.theory.thesis_relu import relu_network_accuracy as relu_network_accuracy
from kitchensinks.papers.theory.thesis_relu import relu_rows_error as relu_rows_error
from kitchensinks.papers.theory.thesis_relu import relu_variation as relu_variation
from kitchensinks.papers.theory.thesis_relu import relu_variation_of_norm as relu_variation_of_norm
from kitchensinks.papers.theory.thesis_spectra import (
    bounded_features_error as bounded_features_error,
)
from kitchensinks.papers.theory.thesis_spectra import gaussian_eigenvalue as gaussian_eigenvalue
from kitchensinks.papers.theory.thesis_spectra import gaussian_freedom as gaussian_freedom
from kitchensinks.papers.theory.thesis_spectra import leverage_error as leverage_error
from kitchensinks.papers.theory.thesis_spectra import leverage_features as leverage_features
from kitchensinks.papers.theory.thesis_spectra import polynomial_freedom as polynomial_freedom
from kitchensinks.papers.theory.thesis_spectra import (
    subexponential_freedom as subexponential_freedom,
)
from kitchensinks.papers.theory.thesis_spectra import widom_eigenvalue as widom_eigenvalue
from kitchensinks.papers.theory.thesis_sphere import relu_length_norm as relu_length_norm
from kitchensinks.papers.theory.thesis_sphere import relu_power_norm as relu_power_norm
from kitchensinks.papers.theory.thesis_sphere import sphere_error as sphere_error
from kitchensinks.papers.theory.thesis_sphere import sphere_norm as sphere_norm
from kitchensinks.papers.theory.thesis_sphere import sphere_rate as sphere_rate
from kitchensinks.papers.theory.thesis_svm import plain_plan as plain_plan
from kitchensinks.papers.theory.thesis_svm import polynomial_plan as polynomial_plan
from kitchensinks.papers.theory.thesis_svm import separated_norm as separated_norm
from kitchensinks.papers.theory.thesis_svm import separated_plan as separated_plan
from kitchensinks.papers.theory.thesis_svm import separated_risk as separated_risk
from kitchensinks.papers.theory.thesis_svm import subexponential_plan as subexponential_plan
from kitchensinks.papers.theory.thesis_svm import svm_excess_risk as svm_excess_risk

# Everything that is imported above.
__all__ = sorted(name for name, value in list(globals().items()) if callable(value))
