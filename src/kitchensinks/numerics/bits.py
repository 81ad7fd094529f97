"""The number of bits of a word, inside compiled loops."""

from typing import Any

import numpy as np

from kitchensinks.numerics.threads import compiled


@compiled(inline="always")
def bit_count(word: Any) -> Any:
    """Bits of a 64-bit word that are one: in pairs, nibbles and bytes, whose counts are added up.

    >>> int(bit_count(np.uint64(0b1011))), int(bit_count(np.uint64(2**64 - 1)))
    (3, 64)
    """
    pairs = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    nibbles = pairs & np.uint64(0x3333333333333333)
    nibbles += (pairs >> np.uint64(2)) & np.uint64(0x3333333333333333)
    octets = (nibbles + (nibbles >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((octets * np.uint64(0x0101010101010101)) >> np.uint64(56))
