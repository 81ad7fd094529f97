"""Nested parameters: of bases, laws, losses, constraints and solvers, in one way."""

import functools
import inspect
from dataclasses import fields, is_dataclass

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.experimental import enable_halving_search_cv  # noqa: F401  (imported for its effect)
from sklearn.model_selection import GridSearchCV, HalvingGridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import kitchensinks as ks
from kitchensinks.features.links import Linked
from kitchensinks.problem.losses import LOSSES

RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 3))
Y = np.sin(2 * X[:, 0]) + RNG.normal(0, 0.3, 200)


def values():
    """Every value that a parameter of the estimators may have, with the name of the parameter."""
    for loss in LOSSES.values():
        if loss.name != "multinomial":
            yield "loss", loss
    yield from (("constraint", ball) for ball in (ks.SupBall(2.0), ks.L2Ball(2.0)))
    yield "solver", ks.Solver()
    yield from (("basis", basis) for basis in (ks.Learned(), ks.Learned(ks.Fourier()), ks.ReLU()))


@pytest.mark.parametrize(("name", "value"), list(values()), ids=repr)
def test_nested_parameters_are_those_of_the_value(name, value):
    regression = "regression" in getattr(value, "tasks", ("regression",))
    make = ks.KitchenSinkRegressor if regression else ks.KitchenSinkClassifier
    model = make(**{name: value})
    given = value.get_params()
    nested = {key: one for key, one in model.get_params().items() if key.startswith(f"{name}__")}
    assert nested == {f"{name}__{key}": one for key, one in given.items()}
    own = [one.name for one in fields(value)] if is_dataclass(value) else []
    assert set(given) >= set(own)
    assert set(own) <= set(inspect.signature(type(value)).parameters)
    assert clone(model).get_params()[name].get_params().keys() == given.keys()


@pytest.mark.parametrize("kind", [ks.KitchenSinkClassifier, ks.KitchenSinkRegressor])
def test_a_dozen_parameters_at_most_each_with_a_word_on_its_default(kind):
    own = kind().get_params(deep=False)
    assert len(own) <= 12
    described = ks.KitchenSinkClassifier.__doc__
    assert all(f"\n    {name} : " in described for name in own)


def test_a_nested_parameter_leaves_others_as_they_were():
    loss, ball, basis = ks.losses.Quantile(0.5), ks.SupBall(1.0), ks.Fourier(gamma=0.5)
    model = ks.KitchenSinkRegressor(basis, loss=loss, constraint=ball)
    model.set_params(loss__tau=0.9, constraint__radius=3.0, basis__gamma=2.0, solver__tol=1e-5)
    assert (model.loss, model.constraint) == (ks.losses.Quantile(0.9), ks.SupBall(3.0))
    assert (model.basis.gamma, model.solver.tol) == (2.0, 1e-5)
    assert (loss.tau, ball.radius, basis.gamma) == (0.5, 1.0, 0.5)


def test_a_name_or_none_stands_for_a_value():
    model = ks.KitchenSinkRegressor(loss="quantile")
    model.set_params(loss__tau=0.9, basis__effort="quick", solver__tol=1e-5)
    assert model.loss == ks.losses.Quantile(0.9)
    assert (model.basis.effort, model.solver.tol) == ("quick", 1e-5)
    assert ks.KitchenSinkRegressor().set_params(loss="huber", loss__delta=2.0).loss.delta == 2.0
    for other in (ks.RandomFeatures(), ks.KitchenSinkPCA(), ks.StackedSinksRegressor()):
        assert other.set_params(basis__gamma=2.0).basis.gamma == 2.0


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"loss__taux": 0.9}, r"loss__taux: loss is Quantile\(tau=0.5\), .* parameters are tau\."),
        ({"alpha__size": 1}, "alpha__size: alpha is 'auto', and it has none"),
        ({"basis__gama": 1.0}, r"basis__gama: basis is Fourier\(\), .* gamma"),
        ({"bases__gamma": 1.0}, "Invalid parameter 'bases'"),
        ({"loss__tau": 2.0}, "tau=2.0: the quantile loss needs"),
    ],
)
def test_an_unknown_parameter_is_named(given, said):
    model = ks.KitchenSinkRegressor(ks.Fourier(), loss="quantile")
    with pytest.raises(ValueError, match=said):
        model.set_params(**given)


@pytest.mark.parametrize(
    ("model", "given", "said"),
    [
        (ks.KitchenSinkRegressor(ks.Fourier()), {"gamma": 2.0}, "'gamma': it is basis__gamma"),
        (
            ks.KitchenSinkRegressor(),
            {"gamma": 2.0},
            r"'gamma', and its basis, Learned\(\), has none .*: set basis=ks.Fourier\(gamma=2.0",
        ),
        (
            ks.KitchenSinkRegressor(),
            {"tau": 0.9},
            r"its loss, Squared.*set loss=ks.losses.Quantile",
        ),
        (ks.KitchenSinkRegressor(), {"effort": "quick"}, "'effort': it is basis__effort"),
        (ks.KitchenSinkRegressor(), {"tol": 0.1}, "'tol': it is solver__tol"),
    ],
)
def test_a_parameter_of_a_part_is_named_only_where_the_part_has_it(model, given, said):
    with pytest.raises(ValueError, match=said):
        model.set_params(**given)


@pytest.mark.parametrize(
    ("kind", "name", "meant"),
    [
        (ks.KitchenSinkRegressor, "n_componets", "n_components"),
        (ks.KitchenSinkClassifier, "class_weights", "class_weight"),
        (ks.Learned, "efort", "effort"),
        (ks.Fourier, "gama", "gamma"),
        (ks.RandomFeatures, "n_component", "n_components"),
    ],
)
def test_a_misspelt_parameter_is_answered_with_the_nearest(kind, name, meant):
    with pytest.raises(TypeError, match=f"has no parameter '{name}': did you mean '{meant}'?"):
        kind(**{name: 1})
    with pytest.raises(TypeError, match="has no parameter 'zzz': its parameters are '"):
        kind(zzz=1)


def test_constructors_of_others_are_theirs():
    """Subclasses without parameters take none, wrapped ones their own, and mixins get theirs."""

    class Bare(Linked):
        pass

    class Wrapped(ks.KitchenSinkRegressor):
        @functools.wraps(ks.KitchenSinkRegressor.__init__)
        def __init__(self, *given, extra=1, **named):
            super().__init__(*given, **named)
            self.extra = extra

    class Mixin:
        def __new__(cls, *given, tag=None, **named):
            made = super().__new__(cls)
            made.tag_ = tag
            return made

    class Mixed(ks.Fourier, Mixin):
        def __init__(self, tag=None, **named):
            super().__init__(**named)

    with pytest.raises(TypeError, match="Bare\\(\\) takes no arguments"):
        Bare(1, a=2)
    assert Wrapped(extra=3).extra == 3
    assert Mixed(tag="x", gamma=2.0).tag_ == "x"


def test_a_parameter_of_what_has_none_is_answered_without_a_list():
    with pytest.raises(TypeError, match=r"Linear has no parameter 'gamma': it has none\."):
        ks.Linear(gamma=1)


@pytest.mark.parametrize("given", [{"gamma": 1.0}, {}], ids=["named", "by place"])
def test_a_basis_without_parameters_takes_none(given):
    with pytest.raises(TypeError):
        ks.Linear(*[1.0] * (not given), **given)


def test_a_subclass_may_take_any_parameter():
    class Own(ks.Fourier):
        def __init__(self, gamma=1.0, **others):
            super().__init__(gamma=gamma)
            self.others = others

    assert Own(gama=2.0).others == {"gama": 2.0}


@pytest.mark.parametrize("change", ["nested", "basis"])
def test_a_fitted_model_keeps_the_law_that_it_was_fitted_with(change, tmp_path):
    """A file has a seed in place of the draw, which is made again from the basis."""
    basis = ks.Fourier(gamma=0.5)
    model = ks.KitchenSinkRegressor(basis, 30, random_state=0).fit(X, Y)
    before = model.predict(X)
    if change == "nested":
        model.set_params(basis__gamma=5.0)
    else:
        basis.gamma = 5.0
    assert model.basis_.gamma == 0.5
    ks.save(model, tmp_path / "model.sinks")
    np.testing.assert_array_equal(ks.load(tmp_path / "model.sinks").predict(X), before)


def test_searches_go_over_losses_and_constraints():
    model = ks.KitchenSinkRegressor(ks.Fourier(), 30, "quantile", alpha=1e-3, random_state=0)
    scoring = "neg_mean_absolute_error"
    grid = {"loss__tau": [0.02, 0.5, 0.98], "basis__gamma": [0.3, 1.0]}
    halving = HalvingGridSearchCV(
        model, grid, min_resources=60, cv=2, scoring=scoring, random_state=0
    )
    # The median has the least absolute error.
    assert halving.fit(X, Y).best_params_["loss__tau"] == 0.5
    balls = ks.KitchenSinkRegressor(ks.Fourier(), 30, constraint=ks.L2Ball(1.0), random_state=0)
    steps = make_pipeline(StandardScaler(), balls)
    grid = {"kitchensinkregressor__constraint__radius": [1e-3, 0.1]}
    search = GridSearchCV(steps, grid, cv=2).fit(X, Y)
    assert search.best_params_ == {"kitchensinkregressor__constraint__radius": 0.1}
