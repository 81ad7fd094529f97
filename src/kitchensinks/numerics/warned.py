"""Warnings that name the user's line and not one of ours."""

import sys
import warnings

# Packages whose calls may lie between the user's line and a warning.
_BETWEEN = {"kitchensinks", "sklearn", "joblib", "functools"}


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the innermost call from outside of this package and of scikit-learn around it.

    Without such a call, as in some threads and processes of others, the outermost one is named.
    """
    frame, level = sys._getframe(1), 2
    while _package(frame.f_globals) in _BETWEEN and frame.f_back is not None:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


def _package(names: dict[str, object]) -> str:
    """The package of the module that has these global names."""
    return str(names.get("__name__")).partition(".")[0]
