"""A change of the public face is noticed, and the reference page has every public name."""

import difflib

import kitchensinks as ks
from tests import public


def test_the_public_face_is_the_one_written_down():
    changes = difflib.unified_diff(
        public.FACE.read_text("utf-8").splitlines(),
        public.face().splitlines(),
        "tests/public.txt",
        "the code",
        lineterm="",
    )
    told = "\n".join(changes)
    assert not told, f"{told}\nIf this is meant, run `make public`, and note it in CHANGELOG.md."


def test_a_new_parameter_or_default_is_noticed():
    def call(rows, *, tol=1e-3):
        return rows, tol

    assert public.described("ks.call", call) == ["def ks.call(rows, *, tol=0.001)"]
    text = public.face()
    assert "class ks.Fourier(kernel='gaussian', " in text
    assert "\n    fit(self, X, y, " in text
    assert "\nmodule ks.theory\n" in text
    assert " at 0x" not in text  # nothing that differs from run to run


def test_the_tables_of_the_reference_are_those_of_the_code():
    page = public.REFERENCE.read_text("utf-8")
    assert public.reference(page) == page, "Run `make public`."
    for name in ks.__all__:
        assert f"| `ks.{name}` | " in page
