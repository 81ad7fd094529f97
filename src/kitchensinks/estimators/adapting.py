"""When an estimator learns the law of its features, and when it takes that of the papers."""

import warnings
from typing import Any

from sklearn.base import is_classifier

from kitchensinks.estimators.transform import check_basis
from kitchensinks.features.bases import Basis
from kitchensinks.features.frozen import Frozen
from kitchensinks.law import Adapt, Adaptation, Learned, Request, check_adapt, learn_law
from kitchensinks.problem.targets import Batch
from kitchensinks.tables.memory import memory_budget

# Components of the plain path where none are given.
PLAIN_COMPONENTS = 1000
# What leaves the choice of the features open.
_NO_CHOICE = {
    "basis": None,
    "n_components": None,
    "constraint": None,
    "selection": None,
    "solver": "auto",
    "standardize": True,
}
# What a learned law sets.
LEARNED = ("adaptation_", "feature_importances_")


def plain_basis(estimator: Any) -> Basis:
    """The basis given, or the one that the plain path takes."""
    return check_basis(None if _is_auto(estimator.basis) else estimator.basis)


def plain_components(estimator: Any) -> int | str:
    given = estimator.n_components
    return PLAIN_COMPONENTS if given is None else given


def _is_auto(basis: Any) -> bool:
    return isinstance(basis, str) and basis == "auto"


def wanted(estimator: Any) -> Adapt | None:
    """The settings of adaptation: asked for, or the default where no choice was made."""
    if estimator.adapt is False:
        return None
    given = check_adapt(estimator.adapt)
    if given is not None or _is_auto(estimator.basis):
        return given or Adapt()
    return None if _choices(estimator) else Adapt()


def _choices(estimator: Any) -> list[str]:
    """What was chosen about the features."""
    given = {name: getattr(estimator, name) for name in _NO_CHOICE}
    return [f"{name}={given[name]!r}" for name, none in _NO_CHOICE.items() if given[name] != none]


def no_law(estimator: Any, name: str) -> str:
    """Why an estimator has no `name`, which a learned law sets, and what to do."""
    kind = type(estimator).__name__
    if "frozen_" not in vars(estimator):
        return f"This {kind} has no {name}: it is not fitted. Call fit."
    why = vars(estimator).get("_plain")
    if why is None:
        chosen = ["adapt=False"] if estimator.adapt is False else _choices(estimator)
        chosen = chosen or ["in an older version"]
        why = f"That was chosen ({', '.join(chosen)}): leave it out, or give adapt='ard'"
    text = f"This {kind} has no {name}: its law was not learned, the plain fit ran. {why}."
    if name == "feature_importances_":
        text += " sklearn.inspection.permutation_importance works with any model."
    return text


def adapted(
    estimator: Any, batch: Any, dtype: Any, stream: bool
) -> tuple[Frozen, Any, Adaptation] | None:
    """What was learned, and the bins of the rows or None; None where the plain path runs.

    Why it runs is kept as `_plain`.
    """
    settings = wanted(estimator)
    if settings is None:
        return None
    asked = estimator.adapt is not None or _is_auto(estimator.basis)
    basis = None if estimator.basis is None or _is_auto(estimator.basis) else estimator.basis
    request = Request(
        seed=estimator._seed(),
        n_components=estimator.n_components,
        dtype=dtype,
        memory=memory_budget(estimator.memory_budget),
        stream=stream,
        classes=is_classifier(estimator),
        # Other losses and a given ridge are fitted in one stage.
        stages=estimator.loss_.name == "squared" and estimator.alpha == "auto",
        progress=estimator._progress,
    )
    own = Batch(batch.rows, batch.targets, batch.weights, batch.one)
    found = learn_law(Learned(basis, **settings.get_params()), own, request)
    if not isinstance(found, str):
        law, bins = found
        return law.features, bins, Adaptation.of(law)
    estimator._plain = found
    if asked or "are constant" not in found:
        warnings.warn(
            f"{found}: the plain fit with {plain_basis(estimator)!r} ran instead of one "
            "with a learned law. Give adapt=False to agree.",
            stacklevel=5,
        )
    return None
