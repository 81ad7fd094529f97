"""The recipe of a table's columns in ONNX: every column of the table is an input of its own."""

import re

import numpy as np

from kitchensinks.files.onnx.graph import OnnxGraph
from kitchensinks.numerics.arrays import AnyArray, Floats
from kitchensinks.tables.arrow import pa
from kitchensinks.tables.columns import Columns
from kitchensinks.tables.encoders import Coded, Date, Number
from kitchensinks.tables.kinds import is_number
from kitchensinks.tables.words import MISSING_WORDS

# What an input of categories is called in the metadata of the file.
TEXT = "text"
# A word that is no category of any column.
_UNKNOWN = "a word that no table has"
# Words with single spaces between them, and any around them (no backslash but for classes: RE2).
_REGULAR = re.compile(r"\s*(\S+( \S+)*)?\s*")
# Stands between the words of a key.
_BETWEEN = "\x1f"
# Seconds of a day.
_DAY = 86400.0
# NumPy's missing moment is the least whole number. As nanoseconds it is this many seconds, in 1677,
# and as micro- or milliseconds it is further back than any calendar goes.
_NAT, _BEGINNING = -(2.0**63) / 1e9, -9e12
# Moments of probes lie in this many seconds after the beginning of 1970.
_MOMENTS = 2e9


def table_inputs(columns: Columns) -> dict[str, str]:
    """The inputs (n, 1) of a recipe by their columns, and what their values are.

    An error where ONNX cannot have one.
    """
    text = [repr(one.name) for one in columns.encoders if not one.exportable]
    if text:
        raise ValueError(
            f"The model takes free text ({', '.join(text)}), whose n-grams ONNX cannot count. "
            "Fit again without these columns, or make them categories: a categorical dtype of "
            "pandas or polars."
        )
    meanings = {"text": TEXT, "dates": "seconds since 1970", "numbers": "number"}
    return {one.name: meanings[one.kind] for one in columns.encoders}


def table_numbers(
    graph: OnnxGraph, columns: Columns, inputs: list[str], spaces: bool = True
) -> str:
    """`Columns.apply` of the inputs, (n, width); spaces: there may be some around categories."""
    parts: list[str] = []
    for encoder, value in zip(columns.encoders, inputs, strict=True):
        if isinstance(encoder, Coded):
            parts.append(_coded(graph, encoder, value, spaces))
            continue
        numbers, fills = [value], np.zeros(1)
        if isinstance(encoder, Number):
            fills = np.array([encoder.fill])
        elif isinstance(encoder, Date):
            value = _without_nat(graph, value)
            found = _date(graph, value)
            numbers, fills = [found[part] for part in encoder.parts], np.array(encoder.fills)
        missing = graph.node("IsNaN", value)
        joined = graph.node("Concat", *numbers, axis=1)
        parts.append(graph.node("Where", missing, fills, joined))
        if encoder.flagged:
            parts.append(graph.cast(missing, np.float64))
    return graph.cast(graph.node("Concat", *parts, axis=1), columns.dtype)


def array_numbers(graph: OnnxGraph, columns: Columns, rows: str) -> str:
    """`Columns.of_rows` of an array (n, n_given) with categories among its columns."""
    inputs = []
    for encoder, place in zip(columns.encoders, columns.given, strict=True):
        value = graph.node("Gather", rows, np.array([place]), axis=1)
        inputs.append(_word(graph, encoder, value) if isinstance(encoder, Coded) else value)
    return table_numbers(graph, columns, inputs, spaces=False)


def _word(graph: OnnxGraph, encoder: Coded, value: str) -> str:
    """The category (n, 1) that a number is: one of the levels, missing, or none of them."""
    # A number equals no NaN, which stands for categories of which none is a number.
    known = [word for word in encoder.levels if is_number(word)] or ["nan"]
    equal = graph.cast(graph.node("Equal", value, np.array([known], dtype=np.float64)), np.int64)
    place = graph.node("ArgMax", equal, axis=1, keepdims=1)
    some = graph.node("ReduceSum", equal, np.array([1]), keepdims=1)
    place = graph.node(
        "Where", graph.node("Greater", some, np.int64(0)), place, np.int64(len(known))
    )
    place = graph.node("Where", graph.node("IsNaN", value), np.int64(len(known) + 1), place)
    words = np.array([*known, _UNKNOWN, ""], dtype=object)
    return graph.node("Gather", words, place, axis=0)


def array_probes(
    columns: Columns, centre: Floats, scale: Floats, count: int, rng: np.random.Generator
) -> AnyArray:
    """Rows like those of the fit: levels of the categories and others, and numbers.

    centre, scale (width,): of the numbers.
    """
    rows = rng.normal(size=(count, columns.n_given))
    own = zip(columns.encoders, columns.given, columns.groups, strict=True)
    for encoder, place, group in own:
        if isinstance(encoder, Coded):
            levels = [float(word) for word in encoder.levels if is_number(word)]
            rows[:, place] = rng.choice([*levels, 0.5 + max(levels, default=0.0)], count)
        else:
            rows[:, place] = centre[group.start] + scale[group.start] * rows[:, place]
    return rows


def table_probes(
    columns: Columns,
    centre: Floats,
    scale: Floats,
    count: int,
    missing: float,
    rng: np.random.Generator,
) -> tuple[dict[str, AnyArray], AnyArray]:
    """Rows like those of the fit, as inputs of the graph and as the numbers of the recipe.

    centre, scale (width,): of the numbers. missing: the share of missing values.
    """
    feeds, arrays = {}, []
    for encoder, place in zip(columns.encoders, columns.groups, strict=True):
        gone = rng.random(count) < missing
        if isinstance(encoder, Coded):
            words = np.array([*encoder.levels, _UNKNOWN], dtype=object)
            values = np.where(gone, "?", rng.choice(words, count)).astype(object)
            arrays.append(pa.array(values.tolist(), pa.large_string()))
        elif isinstance(encoder, Date):
            seconds = np.floor(rng.uniform(0.0, _MOMENTS, count))
            moments = seconds.astype("datetime64[s]")
            values = np.where(gone, np.nan, seconds)
            arrays.append(pa.array(moments, mask=gone))
        else:
            values = centre[place.start] + scale[place.start] * rng.normal(size=count)
            values = np.where(gone, np.nan, values)
            arrays.append(pa.array(values, from_pandas=True))
        feeds[encoder.name] = values[:, None]
    batch = pa.RecordBatch.from_arrays(arrays, names=columns.inputs)
    return feeds, columns.apply(batch)


def _coded(graph: OnnxGraph, encoder: Coded, words: str, spaces: bool) -> str:
    """A row of the encoder's table for each word; words for missing values are the empty one."""
    table, levels = encoder.table_of_levels(), list(encoder.levels)
    empty = table[levels.index("") if "" in levels else len(levels)]
    known = [level for level in levels if level not in MISSING_WORDS]
    numbers = table[[levels.index(level) for level in known]]
    rows = np.vstack([numbers.reshape(len(known), -1), [empty] * len(MISSING_WORDS), table[-1:]])
    if encoder.flagged:
        flag = np.zeros(len(rows))
        flag[len(known) : -1] = 1.0
        rows = np.column_stack([rows, flag])
    text, keys = graph.node("Reshape", words, np.array([-1])), [*known, *MISSING_WORDS]
    place = _place(graph, text, keys) if spaces else graph.look_up(text, np.array(keys, object))
    return graph.node("Gather", rows, place, axis=0)


def _place(graph: OnnxGraph, text: str, keys: list[str]) -> str:
    """The place among the keys of each text (n,) without the spaces around it; len(keys) for none.

    ONNX has no operator that takes off spaces, but one that splits text at them. A text is found as
    it is, or by its words, where single spaces are between them: so must they be in the key.
    """
    split = [key.split(" ") if _REGULAR.fullmatch(key) else None for key in keys]
    count = 1 + max((len(one) for one in split if one is not None), default=0)
    # As many words as a key can have and one more, which must be empty.
    shape = graph.node("Concat", graph.node("Shape", text), np.array([count]), axis=0)
    nothing = graph.node("Expand", np.array([""], dtype=object), shape)
    words = graph.node("Concat", graph.split(text), nothing, axis=1)
    joined = graph.node("Gather", words, np.array([0]), axis=1)
    for number in range(1, count):
        word = graph.node("Gather", words, np.array([number]), axis=1)
        between = graph.node("StringConcat", joined, np.array([_BETWEEN], dtype=object))
        joined = graph.node("StringConcat", between, word)
    # Keys that are not found by their words get names that no text has.
    names = [
        f"{_BETWEEN}{place}" if one is None else _BETWEEN.join([*one, *[""] * (count - len(one))])
        for place, one in enumerate(split)
    ]
    exact = graph.look_up(text, np.array(keys, dtype=object))
    joined = graph.node("Reshape", joined, np.array([-1]))
    by_words = graph.look_up(joined, np.array(names, dtype=object))
    regular = graph.node("RegexFullMatch", text, pattern=_REGULAR.pattern)
    other = graph.node("And", regular, graph.node("Equal", exact, np.int64(len(keys))))
    return graph.node("Where", other, by_words, exact)


def _without_nat(graph: OnnxGraph, seconds: str) -> str:
    """NaN in place of missing moments (n, 1) of NumPy, whatever unit was made seconds."""
    apart = graph.node("Abs", graph.node("Sub", seconds, _NAT))
    gone = graph.node("Or", graph.node("Less", apart, 1.0), graph.node("Less", seconds, _BEGINNING))
    return graph.node("Where", gone, np.nan, seconds)


def _date(graph: OnnxGraph, seconds: str) -> dict[str, str]:
    """The parts of moments (n, 1), in whole seconds since 1970, by the Gregorian calendar.

    Years begin in March, so that the day that is sometimes there is the last one: an era of 400
    years has 146,097 days, and five months have 153.
    """

    def add(one: object, other: object) -> str:
        return graph.node("Add", one, other)

    def less(one: object, other: object) -> str:
        return graph.node("Sub", one, other)

    def times(one: object, number: float) -> str:
        return graph.node("Mul", one, number)

    def whole(one: object, number: float) -> str:
        return graph.node("Floor", graph.node("Div", one, number))

    def rest(one: object, number: float) -> str:
        return less(one, times(whole(one, number), number))

    seconds = graph.node("Floor", seconds)
    day = whole(seconds, _DAY)
    # Days since the first of March of the year 0, and in the era of the day.
    since = add(day, 719_468.0)
    of_era = rest(since, 146_097.0)
    # Years of the era, without the days that leap years have added.
    plain = add(less(of_era, whole(of_era, 1460.0)), whole(of_era, 36_524.0))
    year = whole(less(plain, whole(of_era, 146_096.0)), 365.0)
    leaps = less(add(times(year, 365.0), whole(year, 4.0)), whole(year, 100.0))
    of_year = less(of_era, leaps)
    month = whole(add(times(of_year, 5.0), 2.0), 153.0)
    of_month = less(of_year, whole(add(times(month, 153.0), 2.0), 5.0))
    early = graph.cast(graph.node("GreaterOrEqual", month, 10.0), np.float64)
    years = add(year, times(whole(since, 146_097.0), 400.0))
    of_day = rest(seconds, _DAY)
    return {
        "days": graph.node("Div", seconds, _DAY),
        "year": add(years, early),
        "month": less(add(month, 3.0), times(early, 12.0)),
        "day": add(of_month, 1.0),
        # The first of January 1970 was a Thursday.
        "weekday": rest(add(day, 3.0), 7.0),
        "hour": whole(of_day, 3600.0),
        "minute": whole(rest(of_day, 3600.0), 60.0),
    }
