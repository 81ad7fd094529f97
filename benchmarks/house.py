"""The shape of the source, of one version or of two side by side.

    python -m benchmarks.house .                  # this tree
    python -m benchmarks.house ../before .        # another version beside it

Lines by room, lines of code (those of the source without blank lines, comments, docstrings and
imports), calls between `fit` and the first gradient or product, functions of high complexity, the
longest file, how often `Any` stands in the code, and pairs of places that repeat each other (where
the command `duplicates` is installed).
"""

import argparse
import ast
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tokenize
from collections import Counter
from pathlib import Path

MOST_COMPLEX = 15
# Told below the table.
LISTS = ("complex functions", "path to the gradient", "path to the product")

# Run in a process of its own, with the packages of the version to be looked at.
FRAMES = '''
import json, os, sys, warnings
import numpy as np
import kitchensinks as ks

HERE = os.path.dirname(ks.__file__)
warnings.simplefilter("ignore")


class Reached(BaseException):
    pass


def calls(model, name, X, y):
    """Functions of the package between fit and the first call of a function of this name."""
    path = []

    def look(frame, event, _):
        if event != "call" or frame.f_code.co_name != name:
            return
        if not frame.f_code.co_filename.startswith(HERE):
            return
        sys.setprofile(None)
        while frame is not None:
            code = frame.f_code
            if code.co_filename.startswith(HERE):
                path.append(f"{os.path.relpath(code.co_filename, HERE)}:{code.co_name}")
            frame = frame.f_back
        raise Reached

    sys.setprofile(look)
    try:
        model.fit(X, y)
    except Reached:
        pass
    finally:
        sys.setprofile(None)
    return path[::-1]


rng = np.random.default_rng(0)
X = rng.normal(size=(3000, 6))
y = (np.sin(2 * X[:, 0]) + X[:, 1] > 0).astype(int)
chosen = ks.KitchenSinkClassifier(ks.Fourier(), n_components=2000, random_state=0, n_jobs=1)
free = ks.KitchenSinkClassifier(random_state=0, n_jobs=1)
found = {"gradient": calls(free, "gradient", X, y), "product": calls(chosen, "gram_lower", X, y)}
print(json.dumps(found))
'''


def frames(source: Path) -> dict[str, list[str]]:
    """Paths of calls to the first gradient of the law and to the first product of a plain fit."""
    done = subprocess.run(
        [sys.executable, "-c", FRAMES],
        env={**os.environ, "PYTHONPATH": str(source.parent)},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"{source} could not be run:\n{done.stderr}")
    return json.loads(done.stdout)


def complex_functions(texts: dict[Path, str]) -> list[str]:
    """Functions and methods whose cyclomatic complexity, as radon counts it, is over fifteen."""
    from radon.complexity import cc_visit
    from radon.visitors import Function

    return [
        f"{path}: {block.fullname} ({block.complexity})"
        for path, text in sorted(texts.items())
        for block in cc_visit(text)
        if isinstance(block, Function) and block.complexity > MOST_COMPLEX
    ]


def count_any(text: str) -> int:
    """How often the name Any stands in code: comments and docstrings do not count."""
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return sum(token.type == tokenize.NAME and token.string == "Any" for token in tokens)


def code_lines(text: str) -> int:
    """Lines of code: no blank lines, comments, docstrings or imports."""
    left_out = {place for place, line in enumerate(text.splitlines(), 1) if _is_bare(line)}
    for node in ast.walk(ast.parse(text)):
        lone_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if lone_text or isinstance(node, ast.Import | ast.ImportFrom):
            left_out.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return len(text.splitlines()) - len(left_out)


def _is_bare(line: str) -> bool:
    return not line.strip() or line.strip().startswith("#")


def duplicate_pairs(source: Path) -> str:
    """What `duplicates` says in its first line."""
    if shutil.which("duplicates") is None:
        return "not measured"
    command = ["duplicates", "--repo", str(source), "--most", "1", "--seconds", "300"]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    number = re.search(r"(\d[\d,]*) pairs?", said)
    return number[1] if number else said.splitlines()[0]


def shape(tree: Path) -> dict[str, str]:
    """All numbers of one version, by name."""
    source = tree.resolve() / "src" / "kitchensinks"
    if not (source / "__init__.py").is_file():
        raise SystemExit(f"{tree}: need a tree of this project, with src/kitchensinks in it.")
    texts = {path.relative_to(source): path.read_text("utf-8") for path in source.rglob("*.py")}
    lines = {path: len(text.splitlines()) for path, text in texts.items()}
    rooms: Counter[str] = Counter()
    for path, count in lines.items():
        rooms[path.parts[0] + ("/" if len(path.parts) > 1 else "")] += count
    longest = max(lines, key=lambda path: lines[path])
    found = frames(source)
    complex_ones = complex_functions(texts)
    outside = [one for one in complex_ones if not one.startswith(("papers/", "experiments/"))]
    facts = {f"lines of {room}": f"{rooms[room]:,}" for room in sorted(rooms)}
    return facts | {
        "lines of source": f"{sum(lines.values()):,}",
        "lines of code alone": f"{sum(map(code_lines, texts.values())):,}",
        "files": f"{len(lines)}",
        "longest file": f"{lines[longest]} {longest}",
        "files over 450 lines": f"{sum(count > 450 for count in lines.values())}",
        f"functions of complexity over {MOST_COMPLEX}": f"{len(complex_ones)}",
        "the same without papers": f"{len(outside)}",
        "Any": f"{sum(map(count_any, texts.values())):,}",
        "pairs that repeat each other": duplicate_pairs(source),
        "calls to the first gradient": f"{len(found['gradient'])}",
        "calls to the first product": f"{len(found['product'])}",
        "complex functions": ", ".join(complex_ones),
        "path to the gradient": " > ".join(found["gradient"]),
        "path to the product": " > ".join(found["product"]),
    }


def main() -> None:
    """Print one column a tree."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("trees", nargs="+", type=Path, help="folders that have src/kitchensinks")
    trees = parser.parse_args().trees
    columns = [shape(tree) for tree in trees]
    names = list(dict.fromkeys(name for column in columns for name in column))
    names.sort(key=lambda name: not name.startswith("lines of "))
    print(f"| | {' | '.join(str(tree) for tree in trees)} |\n|---|{'---|' * len(trees)}")
    for name in names:
        if name not in LISTS:
            print(f"| {name} | {' | '.join(column.get(name, '–') for column in columns)} |")
    for name in LISTS:
        for tree, column in zip(trees, columns, strict=True):
            print(f"\n{name}, {tree}: {column[name] or 'none'}")


if __name__ == "__main__":
    main()
