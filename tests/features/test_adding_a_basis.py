"""The guide "Add a basis" of CONTRIBUTING.md, followed to the letter: one file and one line."""

import doctest
import re
import sys
from pathlib import Path

import numpy as np
import pytest

import kitchensinks as ks
from tests.laws import test_kernels as laws

GUIDE = (Path(__file__).parents[2] / "CONTRIBUTING.md").read_text("utf-8").split("\n## ")
SECTION = next(part for part in GUIDE if part.startswith("Add a basis"))
FILE, LINE = re.findall(r"```python\n(.*?)```", SECTION, re.DOTALL)
MODULE = "kitchensinks.features.bases.signs"
ROWS = np.random.default_rng(0).normal(size=(600, 4))
VALUES = np.sign(ROWS[:, 0] + 0.5 * ROWS[:, 1])


@pytest.fixture(scope="module")
def signs(tmp_path_factory):
    """The class of the guide, as if its file stood among the others; taken away afterwards."""
    folder = tmp_path_factory.mktemp("bases")
    (folder / "signs.py").write_text(FILE, "utf-8")
    assert len(LINE.splitlines()) == 1
    ks.bases.__path__.append(str(folder))
    try:
        exec(LINE, vars(ks.bases))
        yield ks.bases.Signs
    finally:
        ks.bases.__path__.remove(str(folder))
        vars(ks.bases).pop("Signs", None)
        vars(ks.bases).pop("signs", None)
        sys.modules.pop(MODULE, None)


def learned(basis):
    """An estimator that learns the law of a basis."""
    return ks.KitchenSinkRegressor(ks.Learned(basis), n_components=60, random_state=0)


def test_its_example_runs(signs):
    module = sys.modules[MODULE]
    assert doctest.testmod(module) == doctest.TestResults(failed=0, attempted=1)


@pytest.mark.parametrize(
    "law",
    [
        laws.test_mean_product_of_features_is_the_kernel,
        laws.test_kernel_is_symmetric_positive_and_agrees_with_itself,
        laws.test_features_stay_within_the_bound,
        laws.test_a_prefix_of_a_draw_is_a_smaller_draw,
        laws.test_features_do_not_depend_on_row_blocks_or_dtype,
        laws.test_seeds_differ_and_repeat,
        laws.test_products_and_groups_are_there_where_the_basis_says_so,
    ],
)
def test_the_laws_hold(signs, law):
    law(basis=signs(gamma=0.7))


@pytest.mark.parametrize("wrap", [lambda basis: basis, ks.Reweighted, lambda one: ks.Union([one])])
def test_it_fits_and_goes_into_files(signs, wrap, tmp_path):
    basis = wrap(signs())
    model = ks.KitchenSinkRegressor(basis, n_components=60, random_state=0).fit(ROWS, VALUES)
    assert model.score(ROWS, VALUES) > 0.5
    ks.save(model, tmp_path / "model.sinks")
    again = ks.load(tmp_path / "model.sinks")
    np.testing.assert_array_equal(again.predict(ROWS), model.predict(ROWS))
    assert again.basis.same(basis)


def test_it_is_exported(signs, tmp_path):
    onnxruntime = pytest.importorskip("onnxruntime")
    model = ks.KitchenSinkRegressor(signs(), n_components=60, random_state=0).fit(ROWS, VALUES)
    ks.to_onnx(model, tmp_path / "model.onnx")
    (found,) = onnxruntime.InferenceSession(tmp_path / "model.onnx").run(None, {"rows": ROWS})
    np.testing.assert_allclose(found[:, 0], model.predict(ROWS), atol=1e-4)


def test_its_law_is_learned(signs):
    """A column that says nothing gets less weight than one that the target depends on."""
    model = learned(signs()).fit(ROWS, VALUES)
    assert isinstance(model.basis_, signs)
    importances = model.feature_importances_
    assert importances[0] > 2 * importances[3]
    assert model.score(ROWS, VALUES) > 0.5


def test_without_its_line_a_file_is_not_read(signs, tmp_path, monkeypatch):
    model = ks.KitchenSinkRegressor(signs(), n_components=5, random_state=0).fit(ROWS, VALUES)
    ks.save(model, tmp_path / "model.sinks")
    monkeypatch.delattr(ks.bases, "Signs")
    with pytest.raises(ValueError, match="'Signs' is no basis that this version knows"):
        ks.load(tmp_path / "model.sinks")
    with pytest.raises(ValueError, match="Signs is not one of the bases"):
        ks.save(model, tmp_path / "other.sinks")
