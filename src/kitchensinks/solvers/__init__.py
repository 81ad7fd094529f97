"""Convex solvers for the outer weights; each returns a certificate of optimality."""

from kitchensinks.problem.design import Design
from kitchensinks.problem.problem import Problem, Solution
from kitchensinks.solvers.binned import binned_ridge
from kitchensinks.solvers.conjugate import solve_ridge
from kitchensinks.solvers.coordinate import solve_coordinates
from kitchensinks.solvers.nonsmooth import solve_nonsmooth
from kitchensinks.solvers.quadratic import FactoredGram, solve_squared
from kitchensinks.solvers.smooth import solve_smooth

__all__ = [
    "Design",
    "FactoredGram",
    "Problem",
    "Solution",
    "binned_ridge",
    "solve_coordinates",
    "solve_nonsmooth",
    "solve_ridge",
    "solve_smooth",
    "solve_squared",
]
