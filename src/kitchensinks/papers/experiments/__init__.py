"""Every table and figure of the papers, one file each: `sinks reproduce NAME`.

The file ``rks_figure1.py`` holds the study ``rks-figure1``, ``rfsvm_figure2_3.py`` the study
``rfsvm-figure2.3``. Files of one word are the bench that they all stand on.
"""

from __future__ import annotations

import difflib
import importlib
import re
from pathlib import Path

from kitchensinks.papers.experiments.study import Study


def names() -> list[str]:
    """The name of every table and figure, from the names of the files; nothing is imported.

    >>> "rks-figure2" in names()
    True
    """
    return sorted(map(_name, (path.stem for path in Path(__file__).parent.glob("[a-z]*_*.py"))))


def study(name: str) -> Study:
    """The table or figure called `name`."""
    known = names()
    if name not in known:
        near = difflib.get_close_matches(name, known, n=3, cutoff=0.4)
        hint = f"The nearest: {', '.join(near)}. " if near else ""
        raise ValueError(f"no experiment {name!r}. {hint}All names: {', '.join(known)}.")
    module = importlib.import_module(f"{__name__}.{re.sub('[-.]', '_', name)}")
    return module.STUDY


def _name(stem: str) -> str:
    return re.sub(r"(?<=\d)_(?=\d)", ".", stem).replace("_", "-")
