"""Features of ±1: packed 64 to a word, multiplied by counting bits, looked up in tables."""

from typing import Any

import numpy as np
from numba.core import types
from numba.extending import intrinsic

from kitchensinks.numerics.arrays import AnyArray, Floats, Ints
from kitchensinks.numerics.threads import inlined, looped, row_tiles

# Stumps of a tile of the product.
_TILE = 16
# Words of a stump that are counted before the next stump: two tiles of 16 kB stay in cache.
_WORDS = 128


@intrinsic
def popcount(typingctx: object, word: object) -> Any:
    """How many bits of a 64-bit word are set, in one instruction."""

    def generate(context: object, builder: Any, signature: object, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.uint64(types.uint64), generate


@looped(lambda words, _: (row_tiles(len(words), _TILE) + 1) // 2)
def _differences(words: AnyArray, out: AnyArray, begin: int, end: int) -> None:
    """Add to out[i, j], i ≥ j, the bits in which words[i] and words[j] differ; words (K, words).

    Tiles of row p and of row p from the end are one task, so that all tasks take as long.
    """
    n_columns, n_words = words.shape
    n_tiles = (n_columns + _TILE - 1) // _TILE
    for p in range(begin, end):
        for row in range(p, n_tiles - p, max(1, n_tiles - 1 - 2 * p)):
            for left in range(0, (row + 1) * _TILE, _TILE):
                for start in range(0, n_words, _WORDS):
                    stop = min(start + _WORDS, n_words)
                    for i in range(row * _TILE, min((row + 1) * _TILE, n_columns)):
                        one = words[i, start:stop]
                        for j in range(left, min(left + _TILE, n_columns)):
                            two = words[j, start:stop]
                            count = np.uint64(0)
                            for w in range(stop - start):
                                count += popcount(one[w] ^ two[w])
                            out[i, j] += count


@looped(lambda values, column, *_: len(column))
def pack_stumps(
    values: AnyArray, column: AnyArray, threshold: AnyArray, words: AnyArray, begin: int, end: int
) -> None:
    """Bit i of words[k] is set where values[column[k], i] ≥ threshold[k]; values (d, n)."""
    n_rows = values.shape[1]
    for k in range(begin, end):
        own, least = values[column[k]], threshold[k]
        for w in range(words.shape[1]):
            word = np.uint64(0)
            for i in range(64 * w, min(64 * (w + 1), n_rows)):
                word |= np.uint64(own[i] >= least) << np.uint64(i - 64 * w)
            words[k, w] = word


def stump_products(rows: AnyArray, column: Ints, threshold: AnyArray) -> Ints:
    """Σ over the rows of φ_i·φ_j for stumps φ (column, threshold), exact; lower triangle.

    Two of them differ where the exclusive or of their words has a bit, so that the sum is
    n − 2·(bits that differ).
    """
    words = np.empty((len(column), -(-len(rows) // 64)), dtype=np.uint64)
    pack_stumps(np.ascontiguousarray(rows.T), column, threshold, words)
    differ = np.zeros((len(column), len(column)), dtype=np.uint64)
    _differences(words, differ)
    return np.asarray(len(rows) - 2 * differ.view(np.int64))


@looped(lambda rows, *_: len(rows))
def stump_signs(
    rows: AnyArray, column: AnyArray, threshold: AnyArray, out: AnyArray, begin: int, end: int
) -> None:
    """+1 where rows[i, column[k]] ≥ threshold[k], else −1; out (n, K)."""
    one = out.dtype.type(1.0)
    for i in range(begin, end):
        for k in range(len(column)):
            out[i, k] = one if rows[i, column[k]] >= threshold[k] else -one


@inlined()
def _reached(thresholds: AnyArray, low: Any, high: Any, value: object) -> Any:
    """low + the number of the sorted thresholds[low:high] that are at most the value."""
    while low < high:
        middle = (low + high) >> 1
        if thresholds[middle] <= value:
            low = middle + 1
        else:
            high = middle
    return low


@looped(lambda rows, columns, *_: len(columns))
def interval_sums(
    rows: AnyArray,
    columns: AnyArray,
    offsets: AnyArray,
    thresholds: AnyArray,
    targets: AnyArray,
    counts: AnyArray,
    sums: AnyArray,
    begin: int,
    end: int,
) -> None:
    """Rows, and sums of their targets (n, outputs), in every interval between thresholds.

    The sorted thresholds of columns[c] are thresholds[offsets[c]:offsets[c + 1]]; its intervals,
    one more than thresholds, start at offsets[c] + c in counts and sums, which are added to.
    """
    for c in range(begin, end):
        for i in range(rows.shape[0]):
            place = c + _reached(thresholds, offsets[c], offsets[c + 1], rows[i, columns[c]])
            counts[place] += 1
            for j in range(targets.shape[1]):
                sums[place, j] += targets[i, j]


@looped(lambda rows, *_: len(rows))
def look_up(
    rows: AnyArray,
    columns: AnyArray,
    offsets: AnyArray,
    thresholds: AnyArray,
    tables: AnyArray,
    out: AnyArray,
    begin: int,
    end: int,
) -> None:
    """out (n, outputs) += the entry of each column's table at the interval that its value is in.

    Intervals are those of `interval_sums`; tables (intervals, outputs).
    """
    for i in range(begin, end):
        for c in range(len(columns)):
            place = c + _reached(thresholds, offsets[c], offsets[c + 1], rows[i, columns[c]])
            for j in range(out.shape[1]):
                out[i, j] += tables[place, j]


def look_up_plain(
    rows: AnyArray, columns: Ints, offsets: Ints, thresholds: AnyArray, tables: Floats, out: Floats
) -> None:
    for c, column in enumerate(columns):
        own = thresholds[offsets[c] : offsets[c + 1]]
        out += tables[offsets[c] + c + np.searchsorted(own, rows[:, column], side="right")]
