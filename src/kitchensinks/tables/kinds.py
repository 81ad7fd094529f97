"""Families of Arrow types, and what to call them in messages."""

import functools

from kitchensinks.tables.arrow import ArrowArray, ArrowSchema, ArrowTable, ArrowType, pa

# Families of types, by the functions of `pyarrow.types` that recognise them.
_FAMILIES = {
    "category": ("dictionary",),
    "null": ("null",),
    "boolean": ("boolean",),
    "integer": ("integer",),
    "float": ("floating",),
    "decimal": ("decimal",),
    "time": ("time", "duration"),
    "date": ("timestamp", "date"),
    "text": ("string", "large_string", "string_view"),
}
# Families whose values are numbers already.
PLAIN = ("boolean", "integer", "float")
# Families that are converted to numbers in one obvious way.
NUMBERS = (*PLAIN, "decimal", "time")


@functools.lru_cache(maxsize=1024)
def family(kind: ArrowType) -> str:
    """The family of an Arrow type: one of the names above, or "other".

    >>> import pyarrow
    >>> family(pyarrow.int8()), family(pyarrow.date32()), family(pyarrow.binary())
    ('integer', 'date', 'other')
    """
    types = pa.types
    for name, checks in _FAMILIES.items():
        if any(getattr(types, f"is_{check}")(kind) for check in checks):
            return name
    return "other"


def in_words(kind: ArrowType) -> str:
    """An Arrow type in words, for an error message.

    >>> import pyarrow
    >>> in_words(pyarrow.large_string()), in_words(pyarrow.int8()), in_words(pyarrow.binary())
    ('text', 'numbers (int8)', 'binary')
    """
    own = family(kind)
    if own == "text":
        return own
    if own in ("boolean", "date"):
        return f"{own}s"
    return f"numbers ({kind})" if own in NUMBERS else str(kind)


def without_codes(values: ArrowArray) -> ArrowArray:
    """An Arrow array without dictionaries."""
    return values.dictionary_decode() if family(values.type) == "category" else values


def without_views(schema: ArrowSchema) -> ArrowSchema:
    """The schema with plain text in place of string views, which few Arrow functions support."""
    for place, field in enumerate(schema):
        if pa.types.is_string_view(field.type):
            schema = schema.set(place, field.with_type(pa.large_string()))
    return schema


def plain_text(data: ArrowTable, label: str) -> ArrowTable:
    """An Arrow table or record batch with string views converted to plain text."""
    schema = without_views(data.schema)
    if schema.equals(data.schema):
        return data
    try:
        return data.cast(schema)
    except pa.ArrowException as error:
        raise ValueError(
            f"{label} holds views of text, which this version of pyarrow does not convert "
            f"({str(error).splitlines()[0]}): make them text first, or install a newer pyarrow."
        ) from None


def is_number(word: str) -> bool:
    """Whether Python parses a word as a number."""
    try:
        float(word)
    except ValueError:
        return False
    return True
