"""Files made to do harm: refused with our own error, before they cost anything."""

import io
import json
import time
import zipfile
from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import load_diabetes

import kitchensinks as ks
from kitchensinks.features.scaling import Spread, warp
from kitchensinks.files.archive import ModelFileError
from kitchensinks.numerics.warps import QUANTILE
from tests.files.crafted import (
    array_bytes,
    contents,
    empty_bytes,
    learned,
    mixed_frame,
    replaced,
    rewrite,
    store,
    with_arrays,
)

X, Y = load_diabetes(return_X_y=True)
X = X[:, :3]


def fitted(basis=None, **options):
    model = ks.KitchenSinkRegressor(basis or ks.Fourier(), 20, random_state=0, **options)
    return model.fit(X, Y)


def saved_as(path, model):
    ks.save(model, path)
    return path


def warped():
    """A model whose columns are mapped by rank, as a learned law may do."""
    model = fitted()
    law = model.state_.law
    features = replace(law.features, scaler=warp(Spread.of(X), X, QUANTILE))
    model.state_ = replace(model.state_, law=replace(law, features=features))
    return model


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.sinks"


def refuses(path, message="makes no sense|cannot be read|does not know"):
    start = time.monotonic()
    with pytest.raises(ModelFileError, match=message):
        ks.load(path)
    assert time.monotonic() - start < 10


CRAFTED_WARPS = {
    "no knots": {"kind": np.full(3, 2, np.int8), "knots": empty_bytes((0, 10**15))},
    "one knot": {"knots": np.zeros((3, 1))},
    "knots of other columns": {"knots": np.zeros((2, 5))},
    "knots of one axis": {"knots": np.zeros(3)},
    "falling knots": {"knots": np.tile([1.0, 0.0], (3, 1))},
    "knots that are no numbers": {"knots": np.full((3, 4), np.nan)},
    "few kinds": {"kind": np.full(1, 2, np.int8)},
    "unknown kind": {"kind": np.full(3, 9, np.int8)},
    "kind of floats": {"kind": np.full(3, 2.0)},
    "few means": {"mean": np.zeros(2)},
    "no scale": {"scale": np.zeros(3)},
    "infinite factor": {"factor": np.full(3, np.inf)},
    "another rotation": {"rotation": np.ones((3, 7))},
    "rotation of one axis": {"rotation": np.ones(9)},
}


@pytest.mark.parametrize("name", CRAFTED_WARPS)
def test_arrays_of_a_scaler_that_do_not_belong_together(name, path):
    """Some of these ended the process: compiled loops read where no array was."""
    saved_as(path, warped())
    assert np.isfinite(ks.load(path).predict(X)).all()
    with_arrays(path, **CRAFTED_WARPS[name])
    refuses(path)


@pytest.mark.parametrize("harm", ["short", "long", "falling", "floats", "beyond", "unsorted"])
@pytest.mark.parametrize("basis", [ks.Binning(), ks.Union([ks.Fourier(), ks.Binning()])], ids=repr)
def test_bins_that_do_not_belong_together(harm, basis, path):
    saved_as(path, fitted(basis))
    header, entries = contents(path)
    offsets, names = (
        np.load(io.BytesIO(entries[learned(header, name)[0]])) for name in ("offsets", "names")
    )
    changed = {
        "short": {"offsets": np.concatenate([offsets[:2], offsets[-1:]])},
        "long": {"offsets": np.concatenate([offsets, offsets[-1:]])},
        "falling": {"offsets": np.concatenate([offsets[:1], offsets[1:-1][::-1], offsets[-1:]])},
        "floats": {"offsets": offsets.astype(float)},
        "beyond": {"offsets": np.where(offsets == offsets[-1], 10**15, offsets)},
        "unsorted": {"names": names[::-1]},
    }[harm]
    with_arrays(path, **changed)
    refuses(path)


def test_scales_of_other_columns_and_places_of_other_draws(path):
    for gamma in ([[1.0, 2.0]], [[1.0] * 3] * 2 + [[1.0] * 4]):
        saved_as(path, fitted(ks.Binning(gamma=[[1.0] * 3])))
        listed = [{"list": row, "tuple": False} for row in gamma]
        rewrite(path, gamma={"list": listed, "tuple": False})
        refuses(path)
    for places in (np.arange(19), np.full(20, 10**12), np.full(20, -1), np.arange(20) + 0.5):
        saved_as(path, fitted(ks.Reweighted(ks.Fourier(), pool=3)))
        with_arrays(path, places=places)
        refuses(path)


SIZES = {
    "inputs": (ks.Fourier(), {"n_inputs": 10**6, "n_features_in": 10**6, "scaler": None}),
    "pool": (ks.Maxout(), {"pool": 10**8}),
    "projections": (ks.Maxout(projections=8), {"projections": 10**9}),
    "draws": (ks.Fourier(), {"n_components": 10**12}),
    "draws of a union": (ks.Union([ks.Fourier(), ks.ReLU()]), {"n_components": 10**9}),
    "grids": (ks.Binning(), {"n_components": 10**8}),
    "candidates": (ks.Reweighted(ks.Fourier(), pool=3), {"pool": 10**10}),
    "functions": (ks.Orthonormal(), {"n_inputs": 10**6, "scaler": None}),
}


@pytest.mark.parametrize("name", SIZES)
def test_declared_sizes_are_checked_before_anything_is_drawn(name, path):
    """A few kilobytes took gigabytes and minutes."""
    basis, changes = SIZES[name]
    saved_as(path, fitted(basis))
    rewrite(path, **changes)
    if name == "candidates":
        with_arrays(path, places=np.full(20, 10**11))
    refuses(path)


def test_a_model_too_large_for_its_file_is_not_saved(path):
    model = fitted()
    law = model.state_.law
    wide = replace(law.features, scaler=None, n_inputs=10**6)
    model.state_ = replace(model.state_.small(), law=replace(law, features=wide))
    with pytest.raises(ValueError, match="cannot be stored in a model file: one block of draws"):
        ks.save(model, path)
    assert not path.exists()


@pytest.mark.parametrize("name", ["slope", "bend", "tail"])
def test_a_calibration_that_no_fit_has_is_refused(name, path):
    """Probabilities of large scores were not numbers."""
    model = ks.KitchenSinkClassifier(ks.Fourier(), 20, random_state=0).fit(X, np.digitize(Y, [99]))
    saved_as(path, model)
    rewrite(path, **{name: 1e308})
    refuses(path)


@pytest.mark.usefixtures("little_work")
@pytest.mark.parametrize("name", ["scales", "importances"])
def test_a_record_of_a_law_is_made_of_finite_numbers(name, path):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(60, 3))
    model = ks.KitchenSinkRegressor(ks.Learned(effort="quick"), random_state=0)
    saved_as(path, model.fit(rows, rows[:, 0]))
    for wrong in (np.nan, np.inf, -1e308):
        if name == "importances" or wrong != -1e308:
            with_arrays(path, **{f"record-{name}": np.array([0.5, wrong, 0.5])})
            refuses(path)


@pytest.mark.parametrize(
    ("place", "field"),
    [
        ("state", "sums"),
        ("state", "sample"),
        ("settings", "progress"),
        ("settings", "checkpoint"),
        ("features", "learned_by"),
        ("plan", "note"),
        ("evidence", "facts"),
    ],
)
def test_a_file_may_set_known_fields_only(place, field, path):
    saved_as(path, fitted())
    header, entries = contents(path)

    def add(values):
        for key, own in values.items():
            if key == place:
                own["fields"][field] = None
            elif isinstance(own, dict):
                add(own)

    add(header)
    store(path, header, entries)
    refuses(path, f"no field '{field}'")
    saved_as(path, fitted())
    header, entries = contents(path)
    store(path, {**header, field: 1}, entries)
    refuses(path, f"unknown field '{field}'")


def test_entries_that_overlap_are_refused(path):
    """Forty entries that are one: each would be read and hashed."""
    saved_as(path, fitted())
    header, entries = contents(path)
    bomb = array_bytes(np.zeros(1000))
    store(path, header, {**entries, "x0.npy": bomb})
    with zipfile.ZipFile(path) as packed:
        first = packed.getinfo("x0.npy")
    with zipfile.ZipFile(path, "a") as packed:
        for k in range(1, 40):
            other = zipfile.ZipInfo(f"x{k}.npy")
            other.header_offset, other.CRC = first.header_offset, first.CRC
            other.file_size = other.compress_size = first.file_size
            packed.filelist.append(other)
            packed.NameToInfo[other.filename] = other
        packed._didModify = True
    refuses(path, "overlaps what follows")


def test_two_entries_of_one_name_and_entries_that_nobody_names(path):
    saved_as(path, fitted())
    with zipfile.ZipFile(path, "a") as packed:
        packed.writestr("x.npy", b"")
    refuses(path, r"x\.npy is not both")
    with zipfile.ZipFile(path, "a") as packed, pytest.warns(UserWarning, match="Duplicate"):
        packed.writestr("x.npy", b"")
    refuses(path, "two entries share a name")


@pytest.mark.parametrize("dtype", ["<U0", "|V0", "<f8, <i4", ">f8", "<c16", "<f2", "<f16"])
def test_arrays_of_other_types_are_refused(dtype, path):
    saved_as(path, fitted())
    data = (
        empty_bytes((10**15, 1), dtype)
        if dtype.endswith("0")
        else array_bytes(np.zeros((20, 1), dtype))
    )
    with_arrays(path, weights=data)
    refuses(path)


def test_headers_of_other_kinds(path):
    for harm in ("deep", "surrogate", "digits", "list"):
        saved_as(path, fitted())
        header, entries = contents(path)
        text = {
            "deep": json.dumps({**header, "notes": 0})[:-1] + ', "x": ' + "[" * 10**5,
            "surrogate": json.dumps({**header, "notes": "\ud800"}),
            "digits": json.dumps(header)[:-1] + ', "notes": ' + "9" * 10**5 + "}",
            "list": json.dumps([header]),
        }[harm]
        with zipfile.ZipFile(path, "w") as packed:
            for name, data in {**entries, "model.json": text.encode()}.items():
                packed.writestr(name, data)
        refuses(path, "not a complete model file")


def test_a_changed_header_is_noticed(path):
    saved_as(path, fitted())
    header, entries = contents(path)
    assert replaced(header, "seed", 5)
    with zipfile.ZipFile(path, "w") as packed:
        for name, data in {**entries, "model.json": json.dumps(header).encode()}.items():
            packed.writestr(name, data)
    refuses(path, "its header does not match its checksum")


RECIPES = {
    "levels": {"levels": [1, 2]},
    "too few rows": {"levels": ["a"]},
    "labels": {"labels": ["a", "b", "c"]},
    "parts": {"parts": ["century"]},
    "fills": {"fills": [0.0]},
    "fill": {"fill": float("nan")},
    "flag": {"flagged": "yes"},
    "unknown": {"table": {"dtype": "float64", "columns": []}},
    "dtype": {"dtype": "int8"},
}


@pytest.fixture(scope="module")
def mixed(tmp_path_factory):
    path = tmp_path_factory.mktemp("mixed") / "mixed.sinks"
    model = ks.KitchenSinkRegressor(ks.Fourier(), 20, random_state=0)
    ks.save(model.fit(ks.open_table(mixed_frame(300)), "y"), path)
    return path


@pytest.mark.parametrize("name", RECIPES)
def test_recipes_that_make_no_sense(name, mixed, path):
    path.write_bytes(mixed.read_bytes())
    rewrite(path, **RECIPES[name])
    refuses(path)


def test_a_date_that_cannot_be_read(mixed, path):
    header, entries = contents(mixed)
    (day,) = [column for column in header["table"]["columns"] if column["name"] == "day"]
    day["format"] = "%Q"
    store(path, header, entries)
    refuses(path)


@pytest.mark.parametrize("name", ["table", "weights", "directions"])
def test_arrays_of_recipes_that_do_not_belong_together(name, mixed, path):
    path.write_bytes(mixed.read_bytes())
    with_arrays(path, **{name: np.zeros((2, 3))})
    refuses(path)
