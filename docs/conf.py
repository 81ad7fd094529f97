"""Sphinx: `make docs` builds docs/_build/html."""

import inspect
import re
import sys
from pathlib import Path

import kitchensinks as ks

sys.path.insert(0, str(Path(__file__).parent))  # formulas.py

project = "kitchensinks"
author = "The kitchensinks developers"
copyright = f"2026, {author}"
version = release = ks.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "sphinx_gallery.gen_gallery",
    "formulas",
]
exclude_patterns = ["_build", "examples", "sg_execution_times.rst"]
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3
smartquotes = False  # names in quotes are values of parameters
myst_update_mathjax = False
html_math_renderer = "mathml"

html_theme = "pydata_sphinx_theme"
html_title = f"kitchensinks {version}"
html_theme_options = {
    "header_links_before_dropdown": 7,
    "navbar_align": "left",
    "navigation_with_keys": False,
    "show_prev_next": False,
    "show_toc_level": 2,
    "footer_start": ["copyright"],
    "footer_end": [],
}
html_context = {"default_mode": "auto"}
html_static_path = ["_static"]
html_css_files = ["pages.css"]
html_show_sourcelink = False
toc_object_entries_show_parents = "hide"

sphinx_gallery_conf = {
    "examples_dirs": "examples",
    "gallery_dirs": "gallery",
    "backreferences_dir": "gallery/uses",
    "doc_module": ("kitchensinks",),
    "filename_pattern": r"\.py$",
    "within_subsection_order": "FileNameSortKey",
    "abort_on_example_error": True,
    "capture_repr": (),
    "download_all_examples": False,
    "show_signature": False,
    "write_computation_times": False,
}

autodoc_member_order = "bysource"
autodoc_typehints = "none"
napoleon_google_docstring = False

PAGES = Path(__file__).parent / "reference"
# Whose inherited methods are shown: fit and predict of the estimators are those of a base class.
WITH_INHERITED = ("estimators", "papers")


def page_of(name):
    """The page of one public name."""
    value = getattr(ks, name)
    if inspect.ismodule(value):
        directive = f".. automodule:: {value.__name__}\n   :members:\n"
        # Names of a module that have pages of their own.
        inner = [one for one in ks.__all__ if getattr(value, one, None) is getattr(ks, one)]
        directive += "".join(f"\n- :doc:`ks.{one} <{one}>`" for one in inner) + "\n"
    elif inspect.isclass(value):
        directive = f".. autoclass:: kitchensinks.{name}\n   :members:\n"
        if value.__module__.split(".")[1] in WITH_INHERITED:
            directive += "   :inherited-members:\n"
    else:
        directive = f".. autofunction:: kitchensinks.{name}\n"
    directive += f"\n.. minigallery:: kitchensinks.{name}\n"
    return f"# ks.{name}\n\n```{{eval-rst}}\n{directive}```\n"


def write_pages(app):
    """One page for each public name, written again only where it differs.

    Pages of examples that are no longer there are removed.
    """
    for path in (PAGES.parent / "gallery").glob("[0-9]*.rst"):
        if not (PAGES.parent / "examples" / f"{path.stem}.py").exists():
            path.unlink()
    PAGES.mkdir(exist_ok=True)
    pages = {f"{name}.md": page_of(name) for name in ks.__all__}
    for path in PAGES.iterdir():
        if path.name not in pages:
            path.unlink()
    for name, text in pages.items():
        path = PAGES / name
        if not path.exists() or path.read_text("utf-8") != text:
            path.write_text(text, "utf-8")


def drop_last_blank_line(app, docname, source):
    """The blank line that ends an example for doctest is not shown."""
    source[0] = re.sub(r"\n\n```$", "\n```", source[0], flags=re.MULTILINE)


def link_public_names(app, docname, source):
    """The names in the tables of the reference lead to their pages, which its contents list."""
    if docname != "reference":
        return
    text = re.sub(r"\| `ks\.(\w+)` \|", r"| [`ks.\1`](reference/\1.md) |", source[0])
    names = "\n".join(f"reference/{name}" for name in sorted(ks.__all__, key=str.lower))
    source[0] = text + f"\n```{{toctree}}\n:hidden:\n\n{names}\n```\n"


def sections(lines):
    """A docstring as [title, lines], the first without a title."""
    found = [["", []]]
    for number, line in enumerate(lines):
        after = lines[number + 1] if number + 1 < len(lines) else ""
        if line and after and set(after) == {"-"}:
            found.append([line, []])
        elif not (found[-1][0] and not found[-1][1] and set(line) == {"-"}):
            found[-1][1].append(line)
    return found


def entries(lines, section):
    """The entries of a section, as {names: lines of text}."""
    found, text = {}, []
    for line in dict(sections(lines)).get(section, []):
        entry = re.fullmatch(r"(\w[\w, ]*) : (.*)", line)
        if entry is not None:
            text = found[entry[1]] = [entry[2]]
        else:
            text.append(line.removeprefix("    "))
    return found


def write_out(lines):
    """Parameters with their text on lines of its own, as napoleon wants; attributes as a list."""
    out = []
    for title, inside in sections(lines):
        found = entries(lines, title) if title in ("Parameters", "Attributes") else {}
        if not found:
            out += [title, "-" * len(title), *inside] if title else inside
        elif title == "Parameters":
            out += [title, "-" * len(title)]
            for names, text in found.items():
                out += [names, *(f"    {line}" for line in text)]
            # For napoleon, two blank lines end the parameters.
            out += ["", ""]
        else:
            out += [".. rubric:: Attributes", ""]
            for names, text in found.items():
                first = ", ".join(f"``{name}``" for name in names.split(", "))
                out += [f"- {first}: {text[0]}", *(f"  {line}" for line in text[1:])]
            out.append("")
    return out


def plain_text_to_rst(app, what, name, obj, options, lines):
    """Docstrings are plain text: bars are absolute values, tables are in Markdown."""
    out: list[str] = []
    in_table = False
    for line in write_out(lines):
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


def signature_of_class(app, what, name, obj, options, signature, returns):
    """Parameters with defaults as `inspect` finds them; autodoc takes those of `__new__`."""
    if what != "class" or signature is None:
        return None
    found = inspect.signature(obj)
    bare = [one.replace(annotation=one.empty) for one in found.parameters.values()]
    return str(found.replace(parameters=bare, return_annotation=found.empty)), None


def drop_empty_types(app, what, name, obj, options, lines):
    """Napoleon takes types from annotations, and "Any" says nothing."""
    lines[:] = [line for line in lines if not re.fullmatch(r":type \w+: Any", line)]


def escape(line):
    """Bars escaped, except within ``literals``."""
    parts = re.split(r"(``.*?``)", line)
    return "".join(part if part.startswith("``") else part.replace("|", r"\|") for part in parts)


def skip_foreign(app, what, name, obj, skip, options):
    """Skip what scikit-learn adds or hands down: its texts link to its own glossary."""
    home = getattr(getattr(obj, "fget", obj), "__module__", None) or "kitchensinks"
    foreign = not home.startswith("kitchensinks")
    return True if foreign or re.fullmatch(r"set_\w+_request", name) else None


def visit_download(self, node):
    """With the title of the link, which Sphinx leaves out: the comparison names tests by it."""
    type(self).visit_download_reference(self, node)
    if "reftitle" in node:
        title = f"<a title={self.attval(node['reftitle'])!r} "
        self.body[-1] = self.body[-1].replace("<a ", title, 1)


def leave_download(self, node):
    type(self).depart_download_reference(self, node)


def setup(app):
    from sphinx.addnodes import download_reference

    app.add_node(download_reference, override=True, html=(visit_download, leave_download))
    app.connect("builder-inited", write_pages)
    app.connect("autodoc-skip-member", skip_foreign)
    app.connect("autodoc-process-signature", signature_of_class)
    app.connect("source-read", drop_last_blank_line)
    app.connect("source-read", link_public_names)
    # Before napoleon, which has the default priority of 500.
    app.connect("autodoc-process-docstring", plain_text_to_rst, priority=400)
    app.connect("autodoc-process-docstring", drop_empty_types, priority=600)
