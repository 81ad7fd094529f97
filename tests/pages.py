"""The Python examples of a Markdown page, and how they are run."""

import doctest
import linecache
import re
from pathlib import Path
from typing import Any, NamedTuple

# An example that cannot run says why, in the line above it, for the reader of the page too.
NOT_RUN = re.compile(r"\*Not run by the tests: \S.*\.\*")
_FENCE = re.compile(r"^( *)```(.*?) *$")


class Block(NamedTuple):
    """One fenced block: its language, its text, its first line, and why it is not run, if so."""

    language: str
    text: str
    line: int
    reason: str


def blocks_of(page: Path) -> list[Block]:
    """All fenced blocks of a page, in order."""
    blocks, lines, before = [], iter(enumerate(page.read_text("utf-8").splitlines(), 1)), ""
    for number, line in lines:
        opening = _FENCE.match(line)
        if opening is None:
            before = line.strip() or before
            continue
        indent, inside = len(opening[1]), []
        for _, line in lines:
            if line.strip() == "```":
                break
            inside.append(line[indent:])
        else:
            raise ValueError(f"{page}:{number}: the block is never closed. Add a line ```.")
        reason = before if NOT_RUN.fullmatch(before) else ""
        blocks.append(Block(opening[2], "\n".join(inside) + "\n", number, reason))
        before = ""
    return blocks


def run_page(page: Path) -> dict[str, Any]:
    """Run the ```python blocks of a page in one namespace, which is returned.

    A block with prompts (>>>) is a doctest, another one is run as a script.
    """
    names: dict[str, Any] = {"__name__": page.stem}
    runner = doctest.DocTestRunner(verbose=False)
    for block in blocks_of(page):
        if block.language != "python" or block.reason:
            continue
        where = f"{page}:{block.line}"
        if block.text.lstrip().startswith(">>>"):
            test = doctest.DocTestParser().get_doctest(
                block.text, names, where, str(page), block.line
            )
            said: list[str] = []
            failed = runner.run(test, out=said.append, clear_globs=False).failed
            names = test.globs
            assert not failed, "".join(said)
        else:
            # With its lines at hand a traceback shows them.
            linecache.cache[where] = (len(block.text), None, block.text.splitlines(True), where)
            exec(compile(block.text, where, "exec"), names)
    return names
