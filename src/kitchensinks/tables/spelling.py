"""Names that are nearly right: suggestions at the end of messages."""

import difflib

# Most names that a message lists: those of the parameters of an estimator, at least.
_NAMED = 13
# Smallest similarity (difflib's ratio) of names for a suggestion: one letter in four may differ.
_ALIKE = 0.75


def nearest(name: str, known: list[str], others: str = "its columns are") -> str:
    """The end of a message about an unknown name: a suggestion, or the known names.

    >>> nearest("Incme", ["age", "income"]), nearest("label", ["age", "table"])
    (": did you mean 'income'?", ": its columns are 'age', 'table'.")
    >>> nearest("label", [])
    ': it has none.'
    """
    if not known:
        return ": it has none."
    close = _alike(name, known)
    return _listed(known, others) if close is None else f": did you mean {close!r}?"


def to_rename(name: str, known: list[str], taken: set[str]) -> str:
    """The end of a message about a column that a model needs; taken: all that it needs.

    >>> to_rename("a", ["A", "b"], {"a", "b"}), to_rename("age", ["ages"], {"age", "ages"})
    (": rename 'A' to 'a' if it is that column.", ": its columns are 'ages'.")
    """
    close = _alike(name, [other for other in known if other not in taken])
    if close is None:
        return _listed(known, "its columns are")
    return f": rename {close!r} to {name!r} if it is that column."


def _alike(name: str, known: list[str]) -> str | None:
    """The known name that is nearest to another, or None if none is near."""
    folded = {other.lower(): other for other in reversed(known)}
    close = difflib.get_close_matches(name.lower(), folded, n=1, cutoff=_ALIKE)
    return folded[close[0]] if close else None


def _listed(known: list[str], others: str) -> str:
    return f": {others} {in_short(known)}."


def in_short(names: list[str]) -> str:
    """Names in quotes, the first and the last of many.

    >>> in_short(["age", "income"]), in_short(list("abcdefghijklmnop")).endswith("'l', …, 'p'")
    ("'age', 'income'", True)
    """
    shown = list(map(repr, names))
    if len(names) > _NAMED:
        # The last column is often the target.
        shown[_NAMED - 1 : -1] = ["…"]
    return ", ".join(shown)
