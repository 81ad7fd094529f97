"""The public face as text: every public name with its parameters and their defaults.

After a change that is meant, `make public` (or `python -m tests.public`) writes tests/public.txt
and the tables of docs/reference.md again; the difference belongs into the same commit.
"""

import inspect
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import kitchensinks as ks

ROOT = Path(__file__).parents[1]
FACE = ROOT / "tests" / "public.txt"
REFERENCE = ROOT / "docs" / "reference.md"

# Groups of the reference page, by where a name lives.
GROUPS = {
    "kitchensinks.estimators": "Estimators and transformers",
    "kitchensinks.features": "Bases",
    "kitchensinks.law": "Learning the law",
    "kitchensinks.fitting": "Solvers, constraints and losses",
    "kitchensinks.solvers": "Solvers, constraints and losses",
    "kitchensinks.problem": "Solvers, constraints and losses",
    "kitchensinks.tables": "Tables and files",
    "kitchensinks.files": "Tables and files",
    "kitchensinks.inspect": "Looking into models",
    "kitchensinks.papers": "The papers",
}


def parameters(call: Any) -> str:
    """(name, other=default) of something that can be called, without types."""
    given = inspect.signature(call).parameters.values()
    plain = [one.replace(annotation=inspect.Parameter.empty) for one in given]
    return str(inspect.Signature(plain))


def members(kind: type) -> list[str]:
    """Public methods and properties that a class has from this package, in order of name."""
    lines = {}
    for owner in reversed(kind.__mro__):
        if not owner.__module__.startswith("kitchensinks"):
            continue
        for name, value in vars(owner).items():
            if name.startswith("_") or re.fullmatch(r"set_\w+_request", name):  # scikit-learn's
                continue
            if isinstance(value, classmethod | staticmethod):
                lines[name] = f"{name}{parameters(value.__func__)}"
            elif inspect.isfunction(value):
                lines[name] = f"{name}{parameters(value)}"
            elif isinstance(value, property) or hasattr(value, "__get__"):
                lines[name] = name
    return [f"    {lines[name]}" for name in sorted(lines)]


def exported(module: ModuleType) -> list[str]:
    """What a module says is public; without a list, what it defines itself under a public name."""
    if hasattr(module, "__all__"):
        return list(module.__all__)
    return [
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and getattr(value, "__module__", None) == module.__name__
    ]


def described(name: str, value: Any) -> list[str]:
    """The lines of one public name."""
    if isinstance(value, ModuleType):
        lines = [f"module {name}"]
        for inner in sorted(exported(value)):
            lines += described(f"{name}.{inner}", getattr(value, inner))
        return lines
    if inspect.isclass(value):
        return [f"class {name}{parameters(value)}", *members(value)]
    if callable(value):
        return [f"def {name}{parameters(value)}"]
    return [f"{name}: {type(value).__name__}"]


def face() -> str:
    """The text of tests/public.txt."""
    lines = []
    for name in sorted(ks.__all__):
        lines += described(f"ks.{name}", getattr(ks, name))
    return "\n".join(lines) + "\n"


def group_of(value: Any) -> str:
    home = value.__name__ if isinstance(value, ModuleType) else value.__module__
    return GROUPS[".".join(home.split(".")[:2])]


def sentence(value: Any) -> str:
    """First paragraph of the docstring, on one line, fit for a cell of a table."""
    paragraph = " ".join(inspect.getdoc(value).split("\n\n")[0].split())
    return paragraph.replace("|", r"\|")


def tables() -> str:
    """One table for each group: every public name and what it is."""
    rows: dict[str, list[str]] = {title: [] for title in GROUPS.values()}
    for name in sorted(ks.__all__, key=str.lower):
        value = getattr(ks, name)
        rows[group_of(value)].append(f"| `ks.{name}` | {sentence(value)} |")
    parts = [
        "\n".join([f"### {title}", "", "| name | what it is |", "|---|---|", *lines])
        for title, lines in rows.items()
        if lines
    ]
    return "\n\n".join(parts)


def reference(text: str) -> str:
    """The reference page with its tables filled in."""
    pattern = re.compile(r"(<!-- public names -->\n).*?(\n<!-- end -->)", re.DOTALL)
    return pattern.sub(lambda match: f"{match[1]}\n{tables()}\n{match[2]}", text)


if __name__ == "__main__":
    FACE.write_text(face(), "utf-8")
    REFERENCE.write_text(reference(REFERENCE.read_text("utf-8")), "utf-8")
    print(f"Wrote {FACE} and {REFERENCE}.")
