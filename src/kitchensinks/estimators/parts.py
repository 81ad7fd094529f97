"""Errors for parameters that belong to a part of an estimator, such as its solver."""

from dataclasses import fields
from typing import Any, Self

from kitchensinks.features.bases import Fourier
from kitchensinks.features.links import Linked
from kitchensinks.fitting.settings import Solver
from kitchensinks.law.learned import Learned
from kitchensinks.problem.losses import Huber, Quantile

# Parameters of the parts of an estimator, and how each part is given.
_PARTS = {
    **{one.name: "ks.Learned({})" for one in fields(Learned)},
    **{one.name: "solver=ks.Solver({})" for one in fields(Solver)},
    **dict.fromkeys(Fourier._get_param_names(), "ks.Fourier({})"),
    **{one.name: "loss=ks.losses.Huber({})" for one in fields(Huber)},
    **{one.name: "loss=ks.losses.Quantile({})" for one in fields(Quantile)},
}


class OfParts(Linked):
    """An estimator whose error for an unknown parameter says to which part it belongs."""

    def __new__(cls, *given: Any, **named: Any) -> Self:
        if "verbose" in named:
            raise TypeError(
                f"{cls.__name__} has no parameter 'verbose': progress is asked of a fit, "
                f"model.fit(X, y, verbose={named['verbose']!r})."
            )
        for name in named.keys() & _PARTS.keys() - set(cls._get_param_names()):
            part = _PARTS[name].format(f"{name}={named[name]!r}")
            raise TypeError(
                f"{cls.__name__} has no parameter {name!r}: give {cls.__name__}({part})."
            )
        return super().__new__(cls, *given, **named)

    def set_params(self, **params: Any) -> Self:
        """Set parameters; those of a part are named with it, such as ``basis__effort``."""
        for name in params.keys() & _PARTS.keys() - set(self._get_param_names()):
            part = _PARTS[name].rpartition("=ks.")[0] or "basis"
            told, owner = f"{type(self).__name__} has no parameter {name!r}", self._meant(part)
            if hasattr(owner, "get_params") and name in owner.get_params(deep=False):
                raise ValueError(f"{told}: it is {part}__{name}.")
            given = _PARTS[name].format(f"{name}={params[name]!r}").removeprefix(f"{part}=")
            raise ValueError(
                f"{told}, and its {part}, {owner!r}, has none either: set {part}={given}."
            )
        return super().set_params(**params)
