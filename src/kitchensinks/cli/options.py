"""Parsing and checking of options."""

import os
import re
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kitchensinks.problem.constraints import Constraint

# Parameters of the library whose options have other names, and those of the same name.
_OPTIONS = {
    "n_components": "components",
    "memory_budget": "memory",
    "n_jobs": "threads",
    "random_state": "seed",
}
_SAME = "effort|groups|time_limit|time|tau|loss|alpha|constraint|basis"
# Not in paths, whose folders may be named by a value (time=2024).
_PARAMETER = re.compile(rf"(?<![\w/\\])({'|'.join(_OPTIONS)}|{_SAME})=")
# Advice for callers of the library, and its replacement in the command.
_ADVICE = {
    r" Pass \w+=.*? to silence this warning\.": "",
    r", or pass \w+=.*? to silence this warning": "",
    r", above tol=\S+\. Raise max_iter \(.*?\)\), tol of ks\.Solver, or alpha": ". Raise --alpha",
    r", above tol=\S+\. Use a larger alpha, or raise tol of .*? the fit": ". Use a larger --alpha",
    r"Use solver=ks.Solver\(dtype='float64'\) or a larger alpha": "Use a larger --alpha",
    r"Drop them to silence this warning\.": "Leave them out with --drop to silence this note.",
    r"by ks\.Learned\(time=\.\.\.\)": "with --time",
    r", give sample_weight instead, which": ", one row of each with a weight, from Python,",
    r"solver=ks\.Solver\(memory_budget='?([^')]+)'?\)": r"--memory \1",
    r"\bmemory_budget\b(?!=)": "--memory",
    r"a (dense )?basis such as ks\.Fourier\(\)": "--basis fourier",
    r"Leave constraint=None for": "Leave out --constraint for",
    r" and constraint=None:": " and no --constraint:",
    r"alpha a positive value, or a constraint such as SupBall or L2Ball": (
        "--alpha a positive value, or a --constraint such as sup:10"
    ),
    r"\bradius=": "--constraint with the radius ",
    r" Where the first batch of partial_fit lacks some,.*? as classes=\.": "",
    r", a RandomState or None": "",
    r"skip_bad_rows=True, ": "",
    r"\bcategorical_features has\b": "--category names",
    r"make them missing: pandas\.to_numeric\(.*?, errors='coerce'\)\.": (
        "make them missing: leave them empty in the file, or write NA."
    ),
    r"\bname them in categorical_features\b": "name them with --category",
}
# Smallest memory budget of a fit, in bytes: blocks of rows and their features.
LEAST_MEMORY = 16e6


def in_options(text: str) -> str:
    """A message of the library with the options of the command in place of parameters.

    >>> in_options("n_components=-5: need a whole number. Pass solver='x' to silence this warning.")
    '--components -5: need a whole number.'
    >>> in_options("Raise memory_budget, or pass solver='stochastic' to silence this warning.")
    'Raise --memory.'
    """
    for said, meant in _ADVICE.items():
        text = re.sub(said, meant, text)
    return _PARAMETER.sub(
        lambda found: f"--{_OPTIONS.get(found[1], found[1]).replace('_', '-')} ", text
    )


def number_or_auto(name: str, text: str, kind: type[int] | type[float]) -> float | str:
    """A number of the kind, or the word auto.

    >>> number_or_auto("--components", "2000", int), number_or_auto("--alpha", "auto", float)
    (2000, 'auto')
    """
    if text == "auto":
        return text
    try:
        return kind(text)
    except ValueError:
        whole = "whole " if kind is int else ""
        raise ValueError(f"{name} {text!r}: need a {whole}number, or auto.") from None


def memory(text: str | None) -> str | None:
    """The text of --memory; an error for sizes that are too small for any fit.

    >>> memory("2GB")
    '2GB'
    """
    from kitchensinks.tables.memory import memory_budget

    if text is not None and memory_budget(text) < LEAST_MEMORY:
        unit = "bytes, because it has no unit" if text.strip()[-1].isdigit() else "too little"
        raise ValueError(
            f"--memory {text!r} is {unit}: need {LEAST_MEMORY / 1e6:.0f}MB or more, such as 500MB "
            "or 2GB."
        )
    return text


def cluster(scheduler: str | None, dask: str | None) -> str | None:
    """Where Dask is: an address, local:N, or None for a fit without it.

    >>> cluster(None, "local:2")
    'local:2'
    """
    if scheduler is not None and dask is not None:
        raise ValueError("--scheduler and --dask name two clusters: give one of them.")
    if dask is not None and not re.fullmatch(r"local(:[1-9][0-9]*)?", dask):
        raise ValueError(f"--dask {dask!r}: need local:N with the number of workers, or local.")
    return dask if scheduler is None else scheduler


def whole_numbers(name: str, text: str) -> list[int]:
    """Positive whole numbers with commas between them, in rising order.

    >>> whole_numbers("--components", "300,100")
    [100, 300]
    """
    try:
        numbers = sorted({int(part) for part in text.split(",")})
    except ValueError:
        numbers = [0]
    if numbers[0] < 1:
        raise ValueError(f"{name} {text!r}: need whole numbers with commas, such as 100,300,1000.")
    return numbers


def constraint(text: str | None) -> "Constraint | None":
    """A ball for the weights: sup:C or l2:R.

    >>> constraint("sup:10")
    SupBall(radius=10.0)
    """
    from kitchensinks.problem.constraints import L2Ball, SupBall

    if text is None:
        return None
    kind, _, radius = text.partition(":")
    balls: dict[str, type[SupBall] | type[L2Ball]] = {"sup": SupBall, "l2": L2Ball}
    try:
        return balls[kind.lower()](float(radius))
    except (KeyError, ValueError):
        raise ValueError(
            f"--constraint {text!r}: need sup:C or l2:R with a positive number, such as sup:100."
        ) from None


def keeps_inputs(out: Path, data: str | None = None, model: Path | None = None) -> None:
    """An error where writing to `out` would replace a file that is read.

    Links count as the file that they lead to.
    """
    from kitchensinks.tables.table import files_of

    def same(path: Path) -> bool:
        return out.exists() and path.exists() and out.samefile(path)

    if data is not None and any(map(same, files_of(data))):
        raise ValueError(f"{out} is the data that is read: write to another file.")
    if model is not None and same(model):
        raise ValueError(f"{out} is the model that is read: write to another file.")


def writable(path: Path, endings: tuple[str, ...] = ()) -> Path:
    """The path, or an error if no file can be written there; checked before any long work."""
    if str(path) == "-":
        raise ValueError("--out - is for sinks fit and sinks predict: need the name of a file.")
    if endings and not path.name.lower().endswith(endings):
        told = " or ".join(filter(None, [", ".join(endings[:-1]), endings[-1]]))
        raise ValueError(f"{path}: need a name that ends in {told}.")
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder: need the name of a file.")
    folder = path.parent
    if not folder.is_dir():
        raise NotADirectoryError(f"{folder} is not a folder: make it first, or write elsewhere.")
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        reason = error.strerror or "it cannot be written"
        raise PermissionError(f"{folder}: {reason}. Write elsewhere.") from None
    if path.exists() and not os.access(path, os.W_OK):
        raise PermissionError(f"{path} is there and may not be replaced: write elsewhere.")
    return path
