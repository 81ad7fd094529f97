"""Sphinx: `make docs` builds docs/_build/html."""

import inspect
import re
from itertools import groupby

import kitchensinks as ks

project = "kitchensinks"
author = "The kitchensinks developers"
copyright = f"2026, {author}"
version = release = ks.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.viewcode"]
exclude_patterns = ["_build"]
myst_heading_anchors = 3

html_theme = "furo"
html_title = f"kitchensinks {version}"

autodoc_member_order = "bysource"
autodoc_typehints = "none"
napoleon_google_docstring = False
# Attributes of a docstring as one list: those that are properties have an entry of their own.
napoleon_use_ivar = True


def list_public_names(app, docname, source):
    """Append to the reference every public name, under the room that holds it."""
    if docname != "reference":
        return
    names = [name for name in ks.__all__ if not inspect.ismodule(getattr(ks, name))]

    def room(name):
        return getattr(ks, name).__module__.split(".")[1]

    for title, group in groupby(sorted(names, key=room), key=room):
        source[0] += f"\n## {title}\n"
        for name in group:
            kind = "class" if inspect.isclass(getattr(ks, name)) else "function"
            directive = f".. auto{kind}:: kitchensinks.{name}\n"
            directive += "   :members:\n" if kind == "class" else ""
            source[0] += f"\n### {name}\n\n```{{eval-rst}}\n{directive}```\n"


def plain_text_to_rst(app, what, name, obj, options, lines):
    """Docstrings are plain text: bars are absolute values, tables are in Markdown."""
    out: list[str] = []
    in_table = False
    for line in lines:
        if line.startswith("| "):
            cells = [cell.strip() for cell in line.strip("| ").split(" | ")]
            if not in_table:
                out += [".. list-table::", "   :header-rows: 1", ""]
            out += [f"   {'*' if i == 0 else ' '} - {escape(c)}" for i, c in enumerate(cells)]
            in_table = True
        elif not re.fullmatch(r"\|(-+\|)+", line):
            in_table = False
            out.append(line if line.lstrip().startswith(">>>") else escape(line))
    lines[:] = out


def escape(line):
    """Bars escaped, except within ``literals``."""
    parts = re.split(r"(``.*?``)", line)
    return "".join(part if part.startswith("``") else part.replace("|", r"\|") for part in parts)


def skip_generated(app, what, name, obj, skip, options):
    """Skip set_fit_request and the like: scikit-learn adds them, with links to its own glossary."""
    return True if re.fullmatch(r"set_\w+_request", name) else None


def setup(app):
    app.connect("autodoc-skip-member", skip_generated)
    app.connect("source-read", list_public_names)
    # Before napoleon, which has the default priority of 500.
    app.connect("autodoc-process-docstring", plain_text_to_rst, priority=400)
