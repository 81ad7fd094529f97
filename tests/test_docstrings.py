"""What the reference says of public names: reasons of defaults, and examples with results."""

import doctest
import importlib.util
import inspect
import re
from pathlib import Path

import pytest

import kitchensinks as ks

DOCS = Path(__file__).parents[1] / "docs"
# Parameters that have to be given: their default is there for `clone` alone.
REQUIRED = {("Custom", "sample"), ("Custom", "features")}
CALLS = sorted(name for name in ks.__all__ if not inspect.ismodule(getattr(ks, name)))


@pytest.fixture(scope="module")
def conf():
    """The settings of the pages."""
    spec = importlib.util.spec_from_file_location("conf", DOCS / "conf.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def with_defaults(call):
    given = inspect.signature(call).parameters.values()
    return {one.name: one.default for one in given if one.default is not one.empty}


@pytest.mark.parametrize("name", CALLS)
def test_every_default_is_named_and_has_a_reason(name, conf):
    call = getattr(ks, name)
    doc = inspect.getdoc(call)
    found = conf.entries(doc.split("\n"), "Parameters")
    texts = {one: " ".join(text) for names, text in found.items() for one in names.split(", ")}
    for parameter, default in with_defaults(call).items():
        if not texts:  # a function of two or three parameters says it in its sentences
            assert re.search(rf"\b{parameter}\b", doc), parameter
            continue
        text = texts[parameter]
        if default == () or (name, parameter) in REQUIRED:
            continue
        named = [str(default), repr(default), "default", "because", "infinite"]
        if isinstance(default, float):
            named += [f"{default:g}", f"{default:.0e}".replace("e-0", "e-")]
        assert any(one in text for one in named), (parameter, text)
        assert len(text.split()) >= 6, (parameter, text)


def test_attributes_are_a_list_of_their_own_after_the_parameters(conf):
    """For napoleon, parameters go on over a single blank line."""
    for name in CALLS:
        lines = conf.write_out(inspect.getdoc(getattr(ks, name)).split("\n"))
        if ".. rubric:: Attributes" in lines and "Parameters" in lines:
            place = lines.index(".. rubric:: Attributes")
            assert lines[place - 2 : place] == ["", ""], name


def test_the_signature_of_a_class_has_its_parameters(conf):
    for name in CALLS:
        call = getattr(ks, name)
        if inspect.isclass(call):
            shown, _ = conf.signature_of_class(None, "class", name, call, None, "(*given)", None)
            assert all(f"{one}=" in shown for one in with_defaults(call)), name


def documented():
    """Public classes and functions, those of modules too, with their public members."""
    for name in ks.__all__:
        value = getattr(ks, name)
        inner = [getattr(value, one) for one in getattr(value, "__all__", ())]
        for one in inner if inspect.ismodule(value) else [value]:
            yield one
            for owner in getattr(one, "__mro__", ()):
                if owner.__module__.startswith("kitchensinks"):
                    members = {k: v for k, v in vars(owner).items() if not k.startswith("_")}
                    yield from (getattr(v, "__func__", v) for v in members.values())


def test_examples_of_docstrings_show_results_and_not_that_they_are_true():
    shown, parser = set(), doctest.DocTestParser()
    for one in documented():
        for example in parser.get_examples(getattr(one, "__doc__", None) or ""):
            if re.search(r"\b(True|False)\b", example.want):
                shown.add(example.source)
    assert not shown


def test_every_public_name_has_a_page_of_its_own(conf):
    pages = {name: conf.page_of(name) for name in ks.__all__}
    assert all(page.startswith(f"# ks.{name}\n") for name, page in pages.items())
    assert "autoclass:: kitchensinks.Fourier" in pages["Fourier"]
    # The regressor's parameters are written out, and none says "as the classifier".
    doc = inspect.getdoc(ks.KitchenSinkRegressor).split("\n")
    written = conf.entries(doc, "Parameters")
    assert set(written) == set(with_defaults(ks.KitchenSinkRegressor))
    assert "poisson" in " ".join(written["loss"])


@pytest.mark.parametrize("kind", [ks.KitchenSinkRegressor, ks.StackedSinksClassifier])
def test_help_is_whole_and_refers_to_no_other_class(kind, conf):
    doc = inspect.getdoc(kind)
    assert "Those of" not in doc
    names = ", ".join(conf.entries(doc.split("\n"), "Parameters")).split(", ")
    assert names == list(with_defaults(kind))
    attributes = conf.entries(inspect.getdoc(ks.KitchenSinkRegressor).split("\n"), "Attributes")
    assert {"state_", "law_, plan_"} <= set(attributes)
    assert not {"classes_", "calibration_"} & set(attributes)
    said = inspect.getdoc(ks.KitchenSinkRegressor.fit)
    assert said.startswith("Fit to rows X (n, d) and targets y")
    assert all(f"``{name}" in said for name in ("verbose", "groups", "gradients"))
