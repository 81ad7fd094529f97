"""What the library needs to know of a basis the basis says itself: nobody asks for its class."""

import ast
from pathlib import Path

import numpy as np
import pytest

import kitchensinks as ks
from kitchensinks.features.bases import from_json, known_bases, to_json
from kitchensinks.features.frozen import Frozen
from tests.catalogue import BASES, drawn, extreme_and_random_rows, name_of

PACKAGE = Path(ks.__file__).parent
BASES_ROOM = PACKAGE / "features" / "bases"
OUTSIDE = [path for path in PACKAGE.rglob("*.py") if not path.is_relative_to(BASES_ROOM)]
every_basis = pytest.mark.parametrize("basis", BASES, ids=name_of)


def questions(tree):
    """Tests of the class of a value in Python code, each as text."""
    for node in ast.walk(tree):
        asks = isinstance(node, ast.Call) and getattr(node.func, "id", "") in (
            "isinstance",
            "issubclass",
        )
        if asks:
            yield ast.unparse(node.args[1]), ast.unparse(node)
        elif isinstance(node, ast.Compare) and "type(" in ast.unparse(node):
            yield ast.unparse(node), ast.unparse(node)


def asked_for(text):
    """The bases that a piece of code names, as classes or in quotes."""
    words = {
        getattr(node, "id", getattr(node, "attr", getattr(node, "value", None)))
        for node in ast.walk(ast.parse(text))
    }
    return {word for word in words if isinstance(word, str)} & known_bases().keys()


def test_no_code_outside_the_bases_asks_for_the_class_of_a_basis():
    found = [
        f"{path.relative_to(PACKAGE)}: {whole}"
        for path in OUTSIDE
        for kinds, whole in questions(ast.parse(path.read_text("utf-8")))
        if asked_for(kinds)
    ]
    assert found == []


@pytest.mark.parametrize(
    "code",
    [
        "isinstance(basis, Binning)",
        "isinstance(basis, ks.Fourier | Union)",
        "issubclass(kind, (bases.Stumps, int))",
        "type(basis) is Custom",
        "type(basis).__name__ == 'Maxout'",
    ],
)
def test_every_way_to_ask_is_noticed(code):
    assert [kinds for kinds, _ in questions(ast.parse(code)) if asked_for(kinds)]


@every_basis
def test_what_a_basis_says_holds_of_its_features(basis):
    rows = extreme_and_random_rows()
    draw = drawn(basis, rows, 3, 40)
    seeded = basis.draw(3, 4, 40)
    assert (basis.learn_draw(seeded, rows) is not seeded) == basis.learns_draw
    if not basis.learns_draw:
        assert basis.n_columns(40) == draw.n_columns
    if basis.binned:
        features = draw.features(rows).toarray()
        again = np.zeros_like(features)
        np.put_along_axis(again, draw.bins(rows).T, 1.0, axis=1)
        np.testing.assert_array_equal(again, features)
    if basis.tells_bins:
        tabulated, bins = seeded.tabulate_with_bins(rows)
        np.testing.assert_array_equal(
            tabulated.features(rows).toarray(), draw.features(rows).toarray()
        )
        np.testing.assert_array_equal(bins, draw.bins(rows))
        np.testing.assert_array_equal(bins, tabulated.bins(rows))
    else:
        with pytest.raises(TypeError, match="has no bins"):
            draw.bins(rows)


def test_a_union_with_too_few_draws_for_its_bins_has_none():
    rows = extreme_and_random_rows()
    basis = ks.Union([ks.Fourier(gamma=0.3), ks.Binning(gamma=0.3)])
    seeded = basis.draw(3, 4, 1)
    tabulated, bins = seeded.tabulate_with_bins(rows)
    assert bins.shape == tabulated.bins(rows).shape == (0, len(rows))
    np.testing.assert_array_equal(
        tabulated.features(rows).toarray(), seeded.features(rows).toarray()
    )


@every_basis
def test_whether_scales_of_the_columns_matter(basis):
    """Rescaled columns change the features of a basis that says so."""
    if basis.rescales:
        rows = extreme_and_random_rows()[:5]
        scaled = rows * np.array([0.1, 1.0, 3.0, 10.0])
        difference = drawn(basis, rows, 3, 40).features(rows) - drawn(basis, rows, 3, 40).features(
            scaled
        )
        assert abs(difference).max() > 0.1
    else:
        assert any(name in repr(basis) for name in ("Stumps", "Orthonormal", "Trees", "places"))


@pytest.mark.parametrize(
    ("basis", "metric", "open_bandwidth"),
    [
        (ks.Fourier(), "gaussian", True),
        (ks.Fourier(gamma=1.0), "gaussian", False),
        (ks.Fourier("laplacian"), "laplacian", True),
        (ks.Fourier("cauchy"), "laplacian", False),
        (ks.Fourier("matern"), "gaussian", False),
        (ks.Binning(), "laplacian", True),
        (ks.Binning(gamma=[1.0, 2.0]), "laplacian", False),
        (ks.ReLU(), "gaussian", False),
        (ks.Union([ks.Binning(), ks.Fourier()]), "gaussian", False),
        (ks.Reweighted(ks.Fourier("laplacian")), "laplacian", False),
    ],
    ids=repr,
)
def test_which_learned_scales_suit_a_basis(basis, metric, open_bandwidth):
    assert (basis.metric, basis.open_bandwidth) == (metric, open_bandwidth)


@every_basis
def test_a_basis_is_written_down_and_read_back(basis):
    arrays = {}
    if "Custom" in name_of(basis):
        with pytest.raises(ValueError, match="made of functions"):
            to_json([basis], "basis", arrays)
        return
    again = from_json(to_json(basis, "basis", arrays), arrays)
    assert again.same(basis)
    assert repr(again) == repr(basis)
    rows = extreme_and_random_rows()
    frozen = Frozen(None, basis, 3, 4, 20, np.dtype(np.float64)).with_learned(rows)
    restored = Frozen(None, again, 3, 4, 20, np.dtype(np.float64)).unpack(frozen.pack())
    assert restored.difference(frozen) is None
    difference = restored.features(rows) - frozen.features(rows)
    assert abs(difference).max() == 0.0


def giving(value):
    return lambda *_: value


def test_bases_are_compared_by_what_they_hold():
    same = [
        (ks.Stumps(np.ones((2, 3))), ks.Stumps(np.ones((2, 3)))),
        (ks.Union([ks.Fourier()]), ks.Union((ks.Fourier(),))),
        (ks.Custom(giving(1)), ks.Custom(giving(1))),
    ]
    for one, other in same:
        assert one.same(other)
    differing = [
        (ks.Fourier(), ks.Binning()),
        (ks.Stumps(np.ones((2, 3))), ks.Stumps("normal")),
        (ks.Union([ks.Fourier()]), ks.Union([ks.Fourier(), ks.Fourier()])),
        (ks.Custom(giving(1)), ks.Custom(giving(2))),
        (ks.Reweighted(), ks.Reweighted(ks.Fourier())),
    ]
    for one, other in differing:
        assert not one.same(other)
        assert not other.same(one)


def test_files_name_registered_bases_alone():
    class Mine(ks.Fourier):
        pass

    with pytest.raises(ValueError, match="Mine is not one of the bases"):
        to_json(Mine(), "basis", {})
    with pytest.raises(ValueError, match="'Mine' is no basis that this version knows"):
        from_json({"basis": "Mine", "fields": {}}, {})
    with pytest.raises(ValueError, match="cannot be stored"):
        to_json(object(), "basis", {})
