"""Every bound that holds with probability 1 − δ refuses a δ outside (0, 1)."""

import doctest
import inspect
import math
import sys

import pytest

from kitchensinks.papers import theory

FUNCTIONS = [
    name
    for name in theory.__all__
    if inspect.isfunction(getattr(theory, name))
    and "delta" in inspect.signature(getattr(theory, name)).parameters
]


def example_arguments(name):
    """The arguments of the first call in the function's own example."""
    function = getattr(theory, name)
    calls = []

    def record(**arguments):
        calls.append(arguments)
        return function(**arguments)

    names = {**vars(sys.modules[function.__module__]), name: record}
    for example in doctest.DocTestParser().get_examples(function.__doc__):
        exec(compile(example.source, name, "exec"), names)
        if calls:
            return function, calls[0]
    raise AssertionError(f"{name} has no example that calls it")


def test_there_are_such_bounds():
    assert len(FUNCTIONS) > 15


@pytest.mark.parametrize("name", FUNCTIONS)
def test_delta_outside_the_open_interval_is_refused(name):
    function, arguments = example_arguments(name)
    function(**arguments)
    for delta in (0.0, 1.0, -0.1, math.nan):
        with pytest.raises(ValueError, match=r"delta=.*strictly between 0 and 1"):
            function(**{**arguments, "delta": delta})
