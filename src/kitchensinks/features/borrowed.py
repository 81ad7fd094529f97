"""Docstrings with entries of another one: each is whole, and nothing is written twice."""

import re
from collections.abc import Callable
from inspect import cleandoc
from typing import TypeVar

Kind = TypeVar("Kind", bound=type)
Method = TypeVar("Method", bound=Callable[..., object])
# "Those of :class:`Other`", also "without `this` and `that`".
_BORROWED = re.compile(r"Those of :class:`\w+`(?: without ((?:`\w+`(?:, | and )?)+))?.*\n")
# Names, and lines of text that are indented further.
_ENTRY = re.compile(r"(\w[\w, ]*) : .*(?:\n    .*)*\n")


def borrowing(other: type) -> Callable[[Kind], Kind]:
    """The decorator of a class whose docstring says "Those of :class:`Other`" in a section.

    The entries of that section of the other class are written out in its place; its own ones
    replace those of the same name, and further ones come last.
    """

    def decorate(kind: Kind) -> Kind:
        doc = cleandoc(kind.__doc__ or "")
        for title in ("Parameters", "Attributes"):
            own = _section(doc, title)
            match = _BORROWED.match(own)
            if match is not None:
                left_out = re.findall(r"`(\w+)`", match[1] or "")
                found = _entries(_section(cleandoc(other.__doc__ or ""), title)) | _entries(own)
                kept = [text for name, text in found.items() if name not in left_out]
                doc = doc.replace(own, "".join(kept))
        kind.__doc__ = doc
        return kind

    return decorate


def going_on(other: Callable[..., object]) -> Callable[[Method], Method]:
    """The decorator of a method whose docstring comes after that of another method."""

    def decorate(method: Method) -> Method:
        method.__doc__ = "\n\n".join(cleandoc(one.__doc__ or "") for one in (other, method))
        return method

    return decorate


def _section(doc: str, title: str) -> str:
    """The lines of a section, which ends at an empty line."""
    _, _, after = doc.partition(f"{title}\n{'-' * len(title)}\n")
    return after.partition("\n\n")[0] + "\n"


def _entries(section: str) -> dict[str, str]:
    """Names, and the text with them."""
    return {match[1]: match[0] for match in _ENTRY.finditer(section)}
