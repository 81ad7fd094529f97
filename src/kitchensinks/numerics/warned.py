"""Warnings that name the user's line and not one of ours."""

import re
import sys
import warnings

# Packages whose calls may lie between the user's line and a warning.
_BETWEEN = {"kitchensinks", "sklearn", "joblib", "functools"}
# Folds and candidates of one search make the same warning with other numbers in it.
_OF_FOLDS = "sklearn.model_selection"
_NUMBERS = re.compile(r"[0-9]+([.,][0-9]+)*")
# Warnings of folds and the lines of the user's code that they were made for.
_TOLD: set[tuple[str, str, int]] = set()


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the innermost call from outside of this package and of scikit-learn around it.

    Without such a call, as in some threads and processes of others, the outermost one is named.
    Python shows a warning once for a line; scikit-learn makes it forget that in every fold, so that
    warnings of folds which differ in numbers alone are remembered here.
    """
    frame, level, folds = sys._getframe(1), 2, False
    while _module(frame.f_globals).partition(".")[0] in _BETWEEN and frame.f_back is not None:
        folds = folds or _module(frame.f_globals).startswith(_OF_FOLDS)
        frame, level = frame.f_back, level + 1
    if folds and _action(message, category) in ("default", "module", "once"):
        place = _NUMBERS.sub("", message), frame.f_code.co_filename, frame.f_lineno
        if place in _TOLD:
            return
        _TOLD.add(place)
    warnings.warn(message, category, stacklevel=level)


def _module(names: dict[str, object]) -> str:
    """The name of the module that has these global names."""
    return str(names.get("__name__"))


def _action(message: str, category: type[Warning]) -> str:
    """What the filters do with a warning; those of single modules and lines are left out."""
    for action, text, kind, module, line in warnings.filters:
        found = module is None and not line and issubclass(category, kind)
        if found and (text is None or re.match(text, message)):
            return action
    return "default"
