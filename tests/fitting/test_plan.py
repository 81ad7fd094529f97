"""Every branch of the plan, from sizes alone."""

from dataclasses import replace

import pytest

import kitchensinks as ks
from kitchensinks.fitting.plan import Plan, make_plan
from kitchensinks.fitting.settings import Settings
from kitchensinks.fitting.sizes import Sizes, gram_bytes
from kitchensinks.problem.losses import LOSSES

MANY = Sizes(10_000, 500, False, 4e7, 1e10, 8)
BINS = Sizes(10_000, 60_000, True, 1e7, 1e10, 4, binned=True)
LONG = Sizes(120_000, 3000, False, 1e8, 1e10, 4)


def settings(loss="squared", alpha=1e-3, solver="auto", **options):
    given = {"constraint": None, "fit_intercept": True, "tol": 1e-3, "max_iter": 200, "seed": 0}
    return Settings(loss=LOSSES[loss], alpha=alpha, solver=solver, **{**given, **options})


CASES = {
    "many rows": (MANY, settings(), "direct", "features"),
    "few rows": (replace(MANY, n_rows=400), settings(), "direct", "span"),
    "few rows in a sup-norm ball": (
        replace(MANY, n_rows=400),
        settings(constraint=ks.SupBall(1.0)),
        "direct",
        "features",
    ),
    "many rows for each feature": (LONG, settings(), "conjugate", "features"),
    "the same for ten outputs": (replace(LONG, outputs=10), settings(), "direct", "features"),
    "the same with a ridge below the rounding of float32": (
        replace(LONG, entry=4),
        settings(alpha=1e-11),
        "direct",
        "features",
    ),
    "the same with a ridge to choose": (
        LONG,
        settings(alpha="auto"),
        "direct",
        "features",
    ),
    "a Gram beyond memory, a given ridge": (
        replace(MANY, memory=1e6),
        settings(),
        "blocks",
        "features",
    ),
    "a Gram beyond memory, a ridge to choose": (
        replace(MANY, memory=1e6),
        settings(alpha="auto"),
        "stochastic",
        "features",
    ),
    "asked for": (MANY, settings(solver="blocks"), "blocks", "features"),
    "many bins": (BINS, settings(), "binned conjugate", "bins"),
    "without a ridge": (BINS, settings(alpha=0.0), "sparse conjugate", "bins"),
    "kinks on bins": (BINS, settings("hinge"), "sparse coordinates", "bins"),
    "kinks on bins without a ridge": (
        BINS,
        settings("hinge", alpha=0.0),
        "sparse multipliers",
        "bins",
    ),
    "clipped slopes on bins": (BINS, settings("squared_hinge"), "sparse coordinates", "bins"),
    "smooth on bins": (BINS, settings("logistic"), "sparse rows", "bins"),
    "smooth on fewer bins than rows": (
        replace(BINS, n_rows=2 * BINS.n_columns),
        settings("logistic"),
        "sparse quasi-newton",
        "bins",
    ),
    "bins in a ball": (BINS, settings(constraint=ks.L2Ball(1.0)), "sparse projected", "bins"),
    "many sparse features": (
        replace(BINS, binned=False),
        settings(),
        "sparse conjugate",
        "features",
    ),
    "kinks of sparse features": (
        replace(BINS, binned=False),
        settings("hinge"),
        "sparse coordinates",
        "features",
    ),
    "few bins": (Sizes(10_000, 900, True, 1e7, 1e10, 4), settings(), "direct", "features"),
    "few rows of many bins": (Sizes(900, 60_000, True, 1e7, 1e10, 4), settings(), "direct", "span"),
    "more rows of many bins": (
        replace(BINS, n_rows=4000),
        settings(),
        "binned conjugate",
        "bins",
    ),
    "the same without a ridge": (
        Sizes(4000, 60_000, True, 1e7, 1e10, 4),
        settings(alpha=0.0),
        "direct",
        "span",
    ),
    "the same, asked for directly": (
        Sizes(4000, 60_000, True, 1e7, 1e10, 4),
        settings(solver="direct"),
        "direct",
        "span",
    ),
    "few rows of many bins with a learned ridge": (
        replace(BINS, n_rows=900),
        settings(least_gain=1e-3),
        "binned conjugate",
        "bins",
    ),
    "two stages": (MANY, settings(second=1e-3), "stages", "features"),
    "kinks, many rows": (MANY, settings("hinge"), "coordinates", "features"),
    "kinks, fewer rows": (replace(MANY, n_rows=3000), settings("hinge"), "multipliers", "features"),
    "kinks without a ridge": (MANY, settings("hinge", alpha=0.0), "multipliers", "features"),
    "kinks whose sums are known": (
        replace(MANY, summed=True),
        settings("hinge"),
        "multipliers",
        "features",
    ),
    "kinks, few rows": (
        replace(MANY, n_columns=20_000),
        settings("hinge"),
        "coordinates",
        "span",
    ),
    "smooth": (MANY, settings("logistic"), "quasi-newton", "features"),
    "smooth in a ball": (
        MANY,
        settings("logistic", constraint=ks.L2Ball(1.0)),
        "projected",
        "features",
    ),
    "smooth, many rows and features": (
        Sizes(60_000, 1600, False, 1e8, 1e10, 4),
        settings("logistic"),
        "sampled",
        "features",
    ),
    "batches": (replace(MANY, stream=True), settings(), "sums", "features"),
    "batches of another loss": (
        replace(MANY, stream=True),
        settings("hinge"),
        "stochastic",
        "features",
    ),
    "on Dask": (replace(MANY, place="dask"), settings(), "direct", "features"),
    "kinks on Dask": (replace(MANY, place="dask"), settings("hinge"), "smoothed", "features"),
    "another loss on Dask": (
        replace(MANY, place="dask"),
        settings("logistic"),
        "quasi-newton",
        "features",
    ),
    "gradients": (replace(LONG, gradients=9), settings(), "direct", "features"),
    "a Gram beyond memory on Dask": (
        replace(MANY, place="dask", memory=1e6),
        settings(),
        "blocks",
        "features",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_solver_space_and_reason(case):
    shape, asked, solver, space = CASES[case]
    plan = make_plan(shape, asked)
    assert (plan.solver, plan.space, plan.place) == (solver, space, shape.place)
    assert plan.reason
    assert plan.reason in str(plan)


@pytest.mark.parametrize(
    ("shape", "asked", "message"),
    [
        (replace(MANY, sparse=True), settings(solver="stochastic"), "dense features"),
        (replace(MANY, sparse=True), settings(solver="conjugate"), "or more sparse columns"),
        (replace(MANY, sparse=True, stream=True), settings("hinge"), "partial_fit with loss"),
        (Sizes(9, 30_000, True, 1e6, 1e9, 4, stream=True), settings(), "at most 20000"),
        (replace(MANY, place="dask", memory=1e6), settings("hinge"), "raise memory_budget"),
        (replace(MANY, gradients=9), settings(solver="blocks"), "does not fit gradients"),
        (replace(MANY, gradients=9, memory=1e6), settings(), "A fit to gradients"),
    ],
)
def test_what_cannot_be_done_is_said(shape, asked, message):
    with pytest.raises(ValueError, match=message):
        make_plan(shape, asked)


def test_sizes_in_the_reason_are_those_of_the_shape():
    assert make_plan(MANY, settings()).reason.startswith("500 columns ≤ n = 10,000")
    few = make_plan(replace(MANY, n_rows=400), settings()).reason
    assert few == "n = 400 < 500 columns: the rows span fewer directions"
    large = make_plan(replace(MANY, memory=1e6), settings()).reason
    assert f"{gram_bytes(500) / 1e9:.3g} GB" in large
    # In the span, it is not the Gram of the features that is too large.
    spans = replace(MANY, n_rows=400, memory=1e6)
    needed = gram_bytes(400) + 3.0 * spans.feature_bytes
    assert (
        f"takes {needed / 1e9:.3g} GB of the budget of 0.001" in make_plan(spans, settings()).reason
    )


def test_a_model_prints_its_plan():
    X, y = ks.datasets.make_annulus(300, random_state=0)
    model = ks.KitchenSinkClassifier(ks.Fourier(), n_components=20, random_state=0).fit(X, y)
    assert isinstance(model.plan_, Plan)
    assert str(model.plan_).startswith("direct in the features: 20 columns ≤ n = 300")
