"""Streams of random words: each use has numbers of its own, and goes by its name."""

import ast
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

import kitchensinks as ks
from kitchensinks.numerics.words import Stream, Words

PACKAGE = Path(ks.__file__).parent


def test_numbers_of_different_streams_do_not_overlap():
    owned = [range(stream.number(), stream.number(stream.size - 1) + 1) for stream in Stream]
    for one, other in combinations(owned, 2):
        assert one.stop <= other.start or other.stop <= one.start
    assert min(stream.size for stream in Stream) >= 1


@pytest.mark.parametrize("stream", Stream)
def test_a_stream_ends_where_the_next_begins(stream):
    with pytest.raises(ValueError, match="need 0 to"):
        stream.number(stream.size)
    with pytest.raises(ValueError, match="need 0 to"):
        Words(0, 0, stream, -1)


def test_no_two_streams_share_a_word():
    parts = [(stream, part) for stream in Stream for part in range(min(stream.size, 3))]
    words = np.concatenate([Words(0, 0, *part).raw(100) for part in parts])
    assert len(np.unique(words)) == len(words)


def test_planes_of_a_large_pool_are_all_different():
    draw = ks.Maxout(8, projections=80).draw(0, 3, 5)
    planes = np.concatenate(draw.theta["planes"].value)
    assert len(np.unique(planes)) == planes.size


def unnamed_streams(code):
    """Lines where Words gets a number in place of the name of a stream, or Philox is used."""
    lines = []
    for node in ast.walk(ast.parse(code)):
        if not isinstance(node, ast.Call):
            continue
        called = ast.unparse(node.func).split(".")[-1]
        given = [*node.args[2:3], *(k.value for k in node.keywords if k.arg == "stream")]
        words = called in ("Words", "sample_blocks")
        if called == "sample_blocks":
            given = [*node.args[5:6], *(k.value for k in node.keywords if k.arg == "stream")]
        numbered = any(
            isinstance(part, ast.Constant) for value in given for part in ast.walk(value)
        )
        if (words and numbered) or called == "Philox":
            lines.append(node.lineno)
    return lines


def test_numbers_in_place_of_names_are_noticed():
    assert unnamed_streams("Words(0, 0)\nWords(0, 0, Stream.DRAW, 3)\nsort(a, stream=True)") == []
    assert unnamed_streams("Words(0, 0, 1)\nWords(0, 0, stream=2 + j)\nPhilox(key=0)") == [1, 2, 3]


def test_streams_go_by_their_names():
    words = PACKAGE / "numerics" / "words.py"
    for path in PACKAGE.rglob("*.py"):
        assert path == words or unnamed_streams(path.read_text("utf-8")) == [], path


def test_the_library_makes_no_generator_of_its_own():
    """Studies of the papers make data and splits, which no model depends on."""
    for path in set(PACKAGE.rglob("*.py")) - set((PACKAGE / "papers").rglob("*.py")):
        tree = ast.parse(path.read_text("utf-8"))
        calls = [ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)]
        assert not [name for name in calls if name.endswith("default_rng")], path
