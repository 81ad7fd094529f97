"""Losses other than squared: dual coordinates, or steps in the metric of the factored Gram."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from kitchensinks.fitting.held_out import (
    Split,
    held_out_scores,
    least_held_out,
    too_few,
    with_level,
)
from kitchensinks.fitting.plan import Plan, by_gram, rough_plan
from kitchensinks.fitting.settings import Settings, silent
from kitchensinks.fitting.sizes import gram_noise
from kitchensinks.fitting.space import (
    Fit,
    HeldOutScores,
    TrainingSet,
    solver_options,
    spectrum_facts,
    warn_noise,
)
from kitchensinks.problem.design import Design, RowVector
from kitchensinks.problem.losses import Array
from kitchensinks.problem.moments import Moments
from kitchensinks.problem.problem import Problem, Solution
from kitchensinks.solvers.coordinate import solve_coordinates
from kitchensinks.solvers.nonsmooth import solve_nonsmooth
from kitchensinks.solvers.quadratic import FactoredGram
from kitchensinks.solvers.smooth import solve_smooth

# Below this share of the trace, a ridge is too weak for the Gram of a subsample as metric.
WEAK = 1e-6
# Ridge strengths tried, as powers of ten of the mean squared centred feature row.
_POWERS = range(-1, -8, -1)
# Relative gap that is close enough to compare ridge strengths.
_ROUGH = 1e-2
# The same for kinked losses, whose last digits take many iterations.
_ROUGH_KINKED = 3e-2
# Relative gap at which kinked losses stop where the law was learned, without Newton steps. Pinball
# losses on other rows then no longer change by a thousandth (measured on a table of 8192 rows).
_SETTLED = 1e-2
# Products between coordinates of a span, as a share of the largest square, that are rounding: 2e-11
# for 6000 rows.
_NEGLIGIBLE = 1e-10
# Solvers by steps in the metric of the Gram.
_IN_METRIC: dict[str, Callable[..., Solution]] = {
    "quasi-newton": solve_smooth,
    "projected": solve_smooth,
    "multipliers": solve_nonsmooth,
}


def fit_convex(
    plan: Plan, training: TrainingSet, calibrate: bool, moments: Moments | None = None
) -> tuple[Plan, Fit]:
    """Choose the ridge on held-out rows where that is asked for, then fit all rows.

    With the plan that ran: another one where the ridge is too weak for that.
    """
    evidence: dict[str, Any] = {}
    settings = training.settings
    settles = settings.least_gain > 0.0 and not settings.loss.smooth
    if settles:
        training = replace(training, settings=replace(settings, tol=max(settings.tol, _SETTLED)))
    if training.settings.alpha == "auto":
        alpha, rough, *path = _choose_alpha(training)
        # If dual coordinates were too slow for a rough fit, they are too slow here.
        plan = rough if plan.solver == "coordinates" else plan
        evidence = dict(zip(("alphas", "alpha_errors", "held_out"), path, strict=True))
    else:
        alpha = float(training.settings.alpha)
        if calibrate:
            evidence["held_out"] = calibrated(training, alpha)
    found = None
    if plan.solver == "coordinates":
        found, _ = _by_coordinates(training, alpha)
    elif plan.solver == "sampled":
        found, facts = _by_sample(training, alpha)
        evidence |= facts
    if found is None:
        plan = by_gram(plan, training.settings)
        moments = training.sums(keep=True) if moments is None else moments
        problem, factored, noise = _gram_problem(training, moments, alpha)
        found = _solve(plan, problem, factored, training.settings)
        evidence |= spectrum_facts(factored.values, alpha, factored.rounding) | {"noise": noise}
    warn_noise(alpha, evidence.get("noise", 0.0))
    if settles:
        exact = found.gap <= settings.tol * found.objective
        found = found._replace(settled=True, converged=exact)
    if "alphas" in evidence:
        rows = training.space.design(), training.targets, training.shares
        found = with_level(found, evidence["held_out"], *rows, training.settings.loss)
    return plan, Fit(alpha, training.space.lift(found), **evidence)


def _rough(training: TrainingSet) -> Plan:
    """The plan of fits to some of the rows of a space."""
    space = training.space
    sizes = space.n_rows, space.n_columns, space.cached, space.span is not None
    return rough_plan(*sizes, training.settings)


def _by_sample(training: TrainingSet, alpha: float) -> tuple[Solution | None, dict[str, Any]]:
    """The solution by quasi-Newton steps in the metric of a sample's Gram, and facts on that.

    None where the ridge is too weak: directions that the sample misses then take many steps.
    """
    sample, image = training.sample_sums()
    equations = sample.normal_equations(training.settings.fit_intercept)
    trace = float(np.trace(equations.gram))
    if alpha < WEAK * trace:
        return None, {}
    problem = training.problem(alpha, image[:, 0] * training.settings.fit_intercept)
    # A metric need not be exact: float32 halves the time of its eigenvectors.
    factored = FactoredGram(equations.gram.astype(np.float32))
    freedom = spectrum_facts(factored.values, alpha, factored.rounding)["freedom"]
    noise = gram_noise(training.space.dtype, trace, sample.count)
    found = solve_smooth(problem, factored=factored, **solver_options(training.settings))
    return found, {"freedom": freedom, "noise": noise}


def _by_coordinates(
    training: TrainingSet, alpha: float, start: Array | None = None
) -> tuple[Solution | None, Array | None]:
    """The solution with its coefficients, or None where the ridge is too weak for this."""
    options = solver_options(training.settings)
    del options["max_iter"]
    solution, start = solve_coordinates(training.problem(alpha), start=start, **options)
    return (solution, start) if solution.converged else (None, None)


def calibrated(training: TrainingSet, alpha: float) -> HeldOutScores | None:
    """(places, scores) of rows that were held out of a rough fit, to calibrate probabilities."""
    tol = max(training.settings.tol, _ROUGH)
    rough = replace(training, settings=replace(training.settings, alpha=alpha, tol=tol))
    return held_out_scores(rough, _solve_task)


def _solve_task(training: TrainingSet) -> Solution:
    """The solution for the rows of a space, with a given ridge."""
    alpha, plan, found = float(training.settings.alpha), _rough(training), None
    if plan.solver == "coordinates":
        found, _ = _by_coordinates(training, alpha)
    if found is None:
        plan = by_gram(plan, training.settings)
        problem, factored, _ = _gram_problem(training, training.sums(keep=True), alpha)
        found = _solve(plan, problem, factored, training.settings)
    return found


def _gram_problem(
    training: TrainingSet, moments: Moments, alpha: float
) -> tuple[Problem, FactoredGram, float]:
    rows = training.space.design(), training.targets, training.shares
    return problem_of(moments, *rows, training.settings, alpha)


def problem_of(
    moments: Moments,
    design: Design,
    targets: RowVector,
    shares: RowVector,
    settings: Settings,
    alpha: float,
) -> tuple[Problem, FactoredGram, float]:
    """The problem of rows with these sums, its factored Gram, and the noise of that.

    targets and shares are row vectors of the design; the shares sum to one.
    """
    loss, ball, intercept = settings.loss, settings.constraint, settings.fit_intercept
    equations = moments.normal_equations(intercept)
    problem = Problem(design, loss, targets, shares, alpha, ball, intercept, equations.mean)
    noise = gram_noise(design.dtype, float(np.trace(equations.gram)), moments.count)
    return problem, FactoredGram(equations.gram, _NEGLIGIBLE), noise


def _solve(plan: Plan, problem: Problem, factored: FactoredGram, settings: Settings) -> Solution:
    """The solution by steps in the metric of the Gram."""
    options = solver_options(settings)
    if plan.solver == "multipliers":
        options["newton"] = not settings.least_gain
    return _IN_METRIC[plan.solver](problem, factored=factored, **options)


def _choose_alpha(training: TrainingSet) -> tuple[float, Plan, Array, Array, HeldOutScores]:
    """The ridge strength with the least loss on held-out rows, and their scores there.

    The second is the plan of the last rough fit.
    """
    space, settings = training.space, training.settings
    split = Split.of(settings, training.weights)
    if split is None:
        raise too_few(settings, space.n_rows)
    fitted = replace(training, weights=split.fitted)
    rough = replace(fitted, settings=roughly(settings))

    @cache
    def gram() -> tuple[Problem, FactoredGram, float]:
        return _gram_problem(fitted, fitted.sums(keep=True, phase="sums-without-held-out"), 0.0)

    plan = _rough(training)
    if plan.solver == "coordinates":
        trace = _trace(fitted)
        noise = gram_noise(space.dtype, trace, space.n_rows)
    else:
        trace, noise = gram()[1].trace, gram()[2]
    start: Array | None = None

    def scores_of(alpha: float) -> Array:
        nonlocal plan, start
        found = None
        if plan.solver == "coordinates":
            found, start = _by_coordinates(rough, alpha, start)
        if found is None:
            plan = by_gram(plan, settings)
            problem, factored, _ = gram()
            found = _solve(plan, replace(problem, alpha=alpha), factored, rough.settings)
        scores = space.design().scores(found.weights)[split.held]
        return np.asarray(scores + found.intercept)

    alphas = candidates(trace, noise)
    found = least_held_out(alphas, scores_of, training.targets, split, settings)
    return found[0], plan, *found[1:]


def _trace(training: TrainingSet) -> float:
    """Trace of the Gram, centred where there is an intercept, in one walk."""
    total, mean = 0.0, np.zeros(training.space.n_columns)
    for rows, block in training.space.walk():
        total += float(training.shares[rows] @ np.einsum("ij,ij->i", block, block))
        mean += training.shares[rows] @ block
    return max(0.0, total - float(mean @ mean)) if training.settings.fit_intercept else total


def roughly(settings: Settings) -> Settings:
    """Settings accurate enough to compare ridge strengths."""
    enough = _ROUGH if settings.loss.smooth else _ROUGH_KINKED
    return replace(settings, tol=max(settings.tol, enough), progress=silent)


def candidates(trace: float, noise: float) -> list[float]:
    """Ridge strengths to try, from strong to weak, above the noise of a Gram of that trace."""
    alphas = [(trace or 1.0) * 10.0**power for power in _POWERS]
    return [alpha for alpha in alphas if alpha >= noise] or alphas[:1]
