"""Families of Arrow types, and what to call them in messages."""

import functools
import re

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
# Columns in which pandas stores an index without a name.
_INDEX = re.compile(r"__index_level_\d+__")


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


def plain_schema(schema: ArrowSchema) -> ArrowSchema:
    """The schema of a table: its columns as data, whatever wrote them.

    Notes of pandas are left out, by which `to_pandas` would hide columns in an index, and so are
    the columns of an index without a name. String views, which few Arrow functions support, are
    plain text.

    >>> import pyarrow
    >>> plain_schema(pyarrow.schema({"a": pyarrow.int8(), "__index_level_0__": pyarrow.int64()}))
    a: int8
    """
    kept = (field for field in schema if not _INDEX.fullmatch(field.name))
    return pa.schema(
        field.with_type(pa.large_string()) if pa.types.is_string_view(field.type) else field
        for field in kept
    )


def plain_columns(data: ArrowTable, label: str) -> ArrowTable:
    """An Arrow table or record batch of the columns of `plain_schema`."""
    kept = [place for place, name in enumerate(data.schema.names) if not _INDEX.fullmatch(name)]
    data, schema = data.select(kept).replace_schema_metadata(None), plain_schema(data.schema)
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
