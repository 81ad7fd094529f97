"""Plain NumPy twins of compiled functions, with the same arguments."""

from itertools import pairwise

import numpy as np

from kitchensinks.numerics.bins import CELL_LIMIT, ODD
from kitchensinks.numerics.warps import BEND, HALF, LINEAR, MIX, QUANTILE, SQUASH


def count_rows(columns, fitted, counts, owners):
    for own in columns:
        rows = np.flatnonzero(fitted & (own >= 0))
        np.add.at(counts, own[rows], 1)
        np.maximum.at(owners, own[rows], rows)


def renumber(columns, order, counts, ends, numbers, out):
    for g, own in enumerate(columns[:, order]):
        kept = (own >= 0) & (counts[own] > 1)
        different, first = np.unique(own[kept], return_index=True)
        numbers[different[np.argsort(first)]] = ends[g] + np.arange(len(different))
        out[g] = np.where(kept, numbers[own], ends[g + 1] - 1)


def combine(nodes, bins, first, slots, links, out):
    found = {}
    for i, pair in enumerate(zip(nodes.tolist(), bins.tolist(), strict=True)):
        if pair not in found:
            if len(found) == len(links):
                return -1
            links[len(found)] = pair
            found[pair] = len(found)
        out[i] = first + found[pair]
    return len(found)


def fill_links(links, ends, values):
    for m, (one, two) in enumerate(links, len(values) - len(links)):
        values[m] = values[one] + values[two]


def sum_nodes(nodes, values, out):
    out += values[nodes].sum(axis=0)


def add_to_nodes(nodes, links, ends, values, out):
    for own in nodes:
        np.add.at(out, own, values)
    for m in range(len(links) - 1, -1, -1):
        for part in links[m]:
            out[part] += out[len(out) - len(links) + m]


def fastfood(rows, signs, order, normals, radius, start, out):
    """With the Hadamard matrix written out."""
    n_blocks, size = signs.shape
    bits = np.arange(size)
    parity = np.array([[(j & k).bit_count() for j in bits.tolist()] for k in bits.tolist()])
    matrix = np.where(parity % 2, -1.0, 1.0)
    padded = np.zeros((len(rows), size))
    padded[:, : rows.shape[1]] = rows
    blocks = [
        ((padded * signs[b]) @ matrix)[:, order[b]] * normals[b] @ matrix for b in range(n_blocks)
    ]
    out[:] = np.concatenate(blocks, axis=1)[:, start : start + len(radius)] * radius


def times(rows, columns):
    return np.asarray(rows @ columns.T)


def add_image(rows, columns, out):
    out[: columns.shape[1]] += columns.astype(rows.dtype).T @ rows


def stump_products(rows, column, threshold):
    """Both triangles."""
    signs = np.where(rows[:, column] >= threshold, 1, -1)
    return np.asarray(signs.T @ signs)


def stump_signs(rows, column, threshold, out):
    out[...] = np.where(rows[:, column] >= threshold, 1.0, -1.0)


def interval_sums(rows, columns, offsets, thresholds, targets, counts, sums):
    for c, column in enumerate(columns):
        own = thresholds[offsets[c] : offsets[c + 1]]
        place = offsets[c] + c + np.searchsorted(own, rows[:, column], side="right")
        np.add.at(counts, place, 1)
        np.add.at(sums, place, targets)


def softmax(scores):
    part = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return np.asarray(part / part.sum(axis=-1, keepdims=True))


def log_sum_exp(scores):
    top = scores.max(axis=-1)
    return np.asarray(top + np.log(np.exp(scores - top[..., None]).sum(axis=-1)))


def entropy(shares):
    logs = np.log(np.where(shares > 0.0, shares, 1.0))
    return np.asarray(-(shares * logs).sum(axis=-1))


def tempered(scores, labels, weights, t, out):
    below = scores - scores.max(axis=1, keepdims=True)
    shares = softmax(t * below)
    own = below[np.arange(len(labels)), labels]
    mean = (shares * below).sum(axis=1)
    spread = (shares * below**2).sum(axis=1) - mean**2
    out[:] = log_sum_exp(t * below) - t * own
    return float(weights @ (mean - own)), float(weights @ spread)


def step(offsets, alphas, direction, image, bend):
    for g, (first, last) in enumerate(pairwise(offsets)):
        image[first:last] += alphas * direction[first:last]
        bend[g] = np.sum(direction[first:last] * image[first:last], axis=0)


def move(offsets, length, inverse, cross, weights, residual, direction, image, sums):
    for g, (first, last) in enumerate(pairwise(offsets)):
        own = slice(first, last)
        weights[own] += length * direction[own]
        residual[own] -= length * image[own]
        sums[0, g] = np.sum(residual[own] ** 2 * inverse[own], axis=0)
        sums[1, g] = np.sum(residual[own] ** 2, axis=0)
        sums[2, g] = np.sum(weights[own] * (cross[own] + residual[own]), axis=0)


def warp_rows(rows, mean, scale, kind, knots, factor, out):
    for j in range(rows.shape[1]):
        column = rows[:, j].astype(np.float64)
        z = (column - mean[j]) * (1.0 / scale[j])
        squashed = z / np.sqrt(1.0 + (z * z) * (1.0 / (BEND * BEND)))
        low = np.searchsorted(knots[j], column, side="left")
        high = np.searchsorted(knots[j], column, side="right")
        last = knots.shape[1] - 1
        below, above = knots[j][np.clip(low - 1, 0, last)], knots[j][np.clip(low, 0, last)]
        gap = np.where(above > below, above - below, 1.0)
        between = np.clip(low - 1 + (column - below) / gap, 0, last)
        between = np.where(low == 0, 0.0, np.where(low > last, last, between))
        place = np.where(high > low, 0.5 * (low + high - 1), between)
        spread = HALF * (2.0 * place / last - 1.0)
        forms = {LINEAR: z, SQUASH: squashed, QUANTILE: spread, MIX: 0.5 * (squashed + spread)}
        out[:, j] = factor[j] * forms[int(kind[j])]


def sum_of_bins(columns, values, scale, out):
    out[:] = scale * np.where((columns >= 0)[:, :, None], values[columns], 0.0).sum(axis=0)


def sum_into_bins(columns, values, n_columns):
    out = np.zeros((n_columns, values.shape[1]))
    for part in columns:
        np.add.at(out, part[part >= 0], values[part >= 0])
    return out


def leaf_names(rows, column, cut, below, above, out):
    for t in range(len(column)):
        node = np.zeros(len(rows), np.intp)
        while (inner := (column[t, node] >= 0)).any():
            entry = rows[np.arange(len(rows)), np.maximum(column[t, node], 0)]
            child = np.where(entry <= cut[t, node], below[t, node], above[t, node])
            node = np.where(inner, child, node)
        out[t] = node


def bin_hashes(rows, shift, rate, multiplier, out):
    for g in range(len(shift)):
        cells = np.floor((rows.astype(np.float64) - shift[g]) * rate[g])
        cells = np.clip(cells, -CELL_LIMIT, CELL_LIMIT).astype(np.int64)
        scrambled = cells.view(np.uint64) * ODD
        scrambled ^= scrambled >> np.uint64(32)
        out[g] = (scrambled * multiplier[g]).sum(axis=1, dtype=np.uint64)


def add_scores(names, table, offsets, values, out):
    columns = np.empty(names.shape, np.int64)
    find_columns(names, table, offsets, columns)
    for own in columns:
        out[own >= 0] += values[own[own >= 0]]


def find_columns(names, table, offsets, out):
    for g, own in enumerate(names):
        part = table[offsets[g] : offsets[g + 1]]
        place = np.searchsorted(part, own)
        found = np.zeros(len(own), dtype=bool)
        inside = place < len(part)
        found[inside] = part[place[inside]] == own[inside]
        out[g] = np.where(found, place + offsets[g], -1)


def number_names(names, found, counts, numbers):
    for g, own in enumerate(names):
        different, first, place = np.unique(own, return_index=True, return_inverse=True)
        order = np.argsort(first)
        counts[g] = len(different)
        found[g, : len(different)] = different[order]
        numbers[g] = np.argsort(order)[place]


def weighted_distances(columns, weights, out):
    above = np.triu(weights, 1).astype(np.float64)
    for j, column in enumerate(columns):
        out[j] = np.sum(above * np.abs(column[: len(weights), None] - column))


def pair_distances(columns, out):
    distances = np.zeros_like(out)
    for column in columns:
        distances += np.abs(column[: len(out), None] - column)
    above = np.triu(np.ones(out.shape, dtype=bool))
    out[above] = distances[above]


def different_letters(codes, others):
    out = np.empty((len(codes), len(others)), dtype=np.int64)
    for i, code in enumerate(codes):
        different = np.bitwise_or.reduce(code ^ others, axis=1)
        out[i] = np.bitwise_count(different).sum(axis=1, dtype=np.int64)
    return out
