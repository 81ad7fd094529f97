"""What is built and shipped: one version, a complete sdist, a wheel that works alone."""

import ast
import os
import re
import subprocess
import sys
import tarfile
import tomllib
import venv
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import kitchensinks as ks

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))

TINY_FIT = """
import numpy as np
import kitchensinks as ks
X = np.random.default_rng(0).normal(size=(200, 3))
model = ks.KitchenSinkClassifier(ks.Fourier(), n_components=50, random_state=0)
print(ks.__version__, model.fit(X, X[:, 0] > 0).score(X, X[:, 0] > 0))
"""


def run(*command, cwd, check=True):
    """A process that sees neither this source tree nor its packages by way of PYTHONPATH."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [str(one) for one in command],
        cwd=cwd,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=900,
    )
    assert done.returncode == 0 or not check, done.stdout + done.stderr
    return done


def test_the_version_is_written_once():
    assert PROJECT["project"]["dynamic"] == ["version"]
    assert re.fullmatch(r"\d+\.\d+\.\d+", ks.__version__)
    # Two files for people say it too, and must agree.
    assert f"\nversion: {ks.__version__}\n" in (ROOT / "CITATION.cff").read_text("utf-8")
    assert re.search(rf"^## {ks.__version__}\b", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.M)


def test_the_oldest_versions_tested_are_the_oldest_allowed():
    floors = dict(one.split(">=") for one in PROJECT["project"]["dependencies"])
    pins = (ROOT / ".ci" / "oldest.txt").read_text("utf-8").splitlines()
    oldest = dict(one.split("==") for one in pins if "==" in one)
    assert set(floors) <= set(oldest)
    for name, floor in floors.items():
        assert f"{oldest[name]}.".startswith(f"{floor}."), name


def test_the_lock_is_of_all_that_the_tests_need_and_keeps_to_the_ranges():
    pins = [
        Requirement(line)
        for line in (ROOT / ".ci" / "lock.txt").read_text("utf-8").splitlines()
        if not line.startswith("#")
    ]
    locked = {canonicalize_name(one.name): str(one.specifier).removeprefix("==") for one in pins}
    assert all(re.fullmatch(r"==[\w.]+", str(one.specifier)) for one in pins)
    extras = PROJECT["project"]["optional-dependencies"]
    ranges = [*PROJECT["project"]["dependencies"]]
    for name in ("test", "cli", "dask", "export", "tables"):
        ranges += [one for one in extras[name] if not one.startswith("kitchensinks[")]
    for text in ranges:
        one = Requirement(text)
        # Users have ranges: a floor, and no version alone.
        assert str(one.specifier).startswith(">="), text
        assert one.specifier.contains(locked[canonicalize_name(one.name)]), text


def opened_by_tests():
    """Files and folders below the root that a test names, as in ROOT / "docs"."""
    names = set()
    for path in (ROOT / "tests").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
                left, right = ast.unparse(node.left), node.right
                if re.fullmatch(r"ROOT|Path\(__file__\)\.parents\[\d\]", left) and isinstance(
                    right, ast.Constant
                ):
                    names.add(right.value)
    return names


def test_the_sdist_is_told_to_hold_what_tests_open():
    included = {
        name.strip("/") for name in PROJECT["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]
    }
    always = {"pyproject.toml", ".gitignore"}
    beside = {"shared"}  # real data sets, next to the repository if they are there
    assert {"docs", "results", "CONTRIBUTING.md"} <= opened_by_tests()
    assert "benchmarks" in included  # imported by test_readme.py
    assert opened_by_tests() <= included | always | beside


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The folder with the sdist, and the wheel that was made from it."""
    pytest.importorskip("build")
    pytest.importorskip("hatchling")
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, ROOT, cwd=folder)
    return folder


@pytest.mark.slow
def test_the_sdist_tests_itself(built, tmp_path):
    (archive,) = built.glob("*.tar.gz")
    with tarfile.open(archive) as file:
        file.extractall(tmp_path, filter="data")
    (source,) = tmp_path.iterdir()
    assert source.name == f"kitchensinks-{ks.__version__}"
    for name in opened_by_tests() - {"shared"}:
        assert (source / name).exists(), name
    quick = ["test_rooms.py", "test_readme.py", "test_public.py", "papers/test_bounds_plots.py"]
    quick += ["papers/experiments/test_claims.py", "numerics/test_words.py"]
    # The sources of the archive come first, whatever is installed beside them.
    code = "import sys, pytest; sys.path[:0] = ['src', '.']; sys.exit(pytest.main(sys.argv[1:]))"
    said = run(
        sys.executable,
        *["-c", code, "-q", "-m", "not slow", "-p", "no:cacheprovider"],
        *(f"tests/{name}" for name in quick),
        cwd=source,
    ).stdout
    assert re.search(r"\d+ passed", said)


@pytest.mark.slow
def test_the_wheel_works_in_an_empty_environment(built, tmp_path):
    (wheel,) = built.glob("*.whl")
    venv.create(tmp_path / "venv", with_pip=True)
    python = tmp_path / "venv" / "bin" / "python"
    run(python, "-m", "pip", "install", "--quiet", wheel, cwd=tmp_path)
    version, score = run(python, "-c", TINY_FIT, cwd=tmp_path).stdout.split()
    assert version == ks.__version__
    assert float(score) > 0.9
    # Nothing but the core was installed: the command says which extra it needs.
    command = run(python.with_name("sinks"), "--help", cwd=tmp_path, check=False)
    assert command.returncode != 0
    assert "Traceback" not in command.stderr
    assert re.search(r"kitchensinks\[cli\]", command.stderr)
    run(python, "-m", "pip", "check", cwd=tmp_path)
