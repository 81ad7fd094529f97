"""Nested parameters and links to documentation, as scikit-learn expects them."""

import os
from dataclasses import Field, fields, is_dataclass
from functools import cache
from importlib import metadata
from inspect import signature
from pathlib import Path
from typing import Any, Self, cast

from sklearn.base import BaseEstimator, clone

from kitchensinks.tables.spelling import nearest

# An environment variable: the folder or the URL of the built documentation.
VARIABLE = "KITCHENSINKS_DOCS"


def documentation() -> str:
    """The URL of the documentation, or "" if it is not known.

    It is that of the environment variable KITCHENSINKS_DOCS, a folder or a URL, else that of the
    project's metadata.
    """
    given = os.environ.get(VARIABLE, "")
    if given and "://" not in given:
        given = Path(given).resolve().as_uri()
    return (given or _of_metadata()).rstrip("/")


@cache
def _of_metadata() -> str:
    try:
        named = metadata.metadata("kitchensinks").get_all("Project-URL") or []
    except metadata.PackageNotFoundError:
        return ""
    addresses: dict[str, str] = dict(one.split(", ", 1) for one in named)
    return addresses.get("Documentation", "")


class Value:
    """A frozen value whose fields are parameters: ``loss__tau`` is a parameter of an estimator."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The fields by name."""
        own: tuple[Field[Any], ...] = fields(self) if is_dataclass(self) else ()
        return {one.name: getattr(self, one.name) for one in own}


class Linked(BaseEstimator):
    """An object with scikit-learn's parameters, whose HTML repr links to its reference page.

    There is no link without a URL, nor for subclasses in other packages.
    """

    def __new__(cls, *given: Any, **named: Any) -> Self:
        """An error for a misspelt parameter that names the one nearest to it."""
        if cls.__init__ is object.__init__ and (given or named):
            raise TypeError(f"{cls.__name__}() takes no arguments")
        known = signature(cls.__init__, follow_wrapped=False).parameters if named else {}
        unknown = [name for name in named if name not in known]
        if unknown and not any(one.kind is one.VAR_KEYWORD for one in known.values()):
            hint = nearest(unknown[0], cls._get_param_names(), "its parameters are")
            raise TypeError(f"{cls.__name__} has no parameter {unknown[0]!r}{hint}")
        make: Any = super().__new__
        return cast(Self, make(cls) if make is object.__new__ else make(cls, *given, **named))

    def set_params(self, **params: Any) -> Self:
        """Set parameters, nested ones too, such as ``basis__gamma`` and ``loss__tau``.

        A nested parameter replaces its owner by a changed copy: other estimators and fitted models
        that share the owner keep it as it was.
        """
        nested: dict[str, dict[str, Any]] = {}
        for name in [name for name in params if "__" in name]:
            own, _, inner = name.partition("__")
            nested.setdefault(own, {})[inner] = params.pop(name)
        super().set_params(**params)
        for name, inside in nested.items():
            if name not in self.get_params(deep=False):
                super().set_params(**{name: None})  # raises the error for an unknown name
            setattr(self, name, changed(name, self._meant(name), inside))
        return self

    def _meant(self, name: str) -> Any:
        """The value of a parameter, after names and None are replaced by what they mean."""
        return getattr(self, name)

    _doc_link_module = "kitchensinks"

    @property
    def _doc_link_template(self) -> str:
        site = documentation()
        return f"{site}/reference/{{name}}.html" if site else ""

    def _doc_link_url_param_generator(self) -> dict[str, str]:
        return {"name": type(self).__name__}


def changed(name: str, value: Any, params: dict[str, Any]) -> Any:
    """A copy of the value of a parameter, with some parameters of its own set."""
    known = sorted(value.get_params(deep=False)) if hasattr(value, "get_params") else []
    for inner in params:
        if inner.partition("__")[0] not in known:
            own = f"its parameters are {', '.join(known)}" if known else "it has none"
            raise ValueError(f"{name}__{inner}: {name} is {value!r}, and {own}.")
    if isinstance(value, Value):
        return type(value)(**{**value.get_params(), **params})
    return clone(value).set_params(**params)
