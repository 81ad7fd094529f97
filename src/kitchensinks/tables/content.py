"""Keys of the rows of a table, by what its columns hold before they become numbers."""

import hashlib

import numpy as np

from kitchensinks.numerics.words import Stream, Words
from kitchensinks.tables.columns import Columns
from kitchensinks.tables.encoders import Encoder, Number, words_of
from kitchensinks.tables.keys import Keys, mixed, row_keys
from kitchensinks.tables.table import Table


def table_keys(table: Table, columns: Columns, seed: int) -> Keys:
    """A key of each row, (n,), in one walk over the columns that the recipe names.

    Σ_j h_j·a_j mod 2⁶⁴ with odd random a_j, mixed: h_j is of the number or of the trimmed text.

    >>> import pyarrow
    >>> from kitchensinks.tables.table import open_table
    >>> table = open_table(pyarrow.table({"a": [1.0, 2.0, 1.0], "b": ["x", "x", " x"]}))
    >>> keys = table_keys(table, Columns.learn(table), 0)
    >>> bool(keys[0] == keys[2]), bool(keys[0] == keys[1])
    (True, False)
    """
    factors = Words(seed, 0, Stream.ROW_KEYS).raw(len(columns.encoders)) | np.uint64(1)
    keys, done = np.empty(table.n_rows, dtype=np.uint64), 0
    for batch in table.batches(columns.inputs):
        total = np.zeros(batch.num_rows, dtype=np.uint64)
        for encoder, factor in zip(columns.encoders, factors, strict=True):
            total += factor * _of_column(encoder, batch.column(encoder.name))
        keys[done : done + len(total)] = total
        done += len(total)
    return mixed(keys)


def _of_column(encoder: Encoder, values: object) -> Keys:
    if isinstance(encoder, Number):
        return row_keys(encoder.numbers(values)[:, None], 0)
    coded = words_of(values).fill_null("").dictionary_encode()
    found = (hashlib.blake2b(word.encode(), digest_size=8) for word in coded.dictionary.to_pylist())
    words = np.array([int.from_bytes(one.digest()) for one in found], dtype=np.uint64)
    return np.asarray(words[coded.indices.to_numpy(zero_copy_only=False)])
