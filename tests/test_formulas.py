"""Formulas of the pages are set as mathematics: those in plain text are found and translated."""

import importlib.util
import re
import sys
from pathlib import Path

import pytest

import kitchensinks as ks

DOCS = Path(__file__).parents[1] / "docs"
pytest.importorskip("sphinx", reason="for the pages alone")


@pytest.fixture(scope="module")
def module():
    spec = importlib.util.spec_from_file_location("formulas", DOCS / "formulas.py")
    found = importlib.util.module_from_spec(spec)
    sys.modules["formulas"] = found
    spec.loader.exec_module(found)
    return found


@pytest.mark.parametrize(
    ("text", "marked"),
    [
        ("the kernel is exp(−γ‖x − z‖₁), a product", "the kernel is [exp(−γ‖x − z‖₁)], a product"),
        ("an error of about 1/√K, and more", "an error of about [1/√K], and more"),
        ("with f(x) = b + Σ_k β_k·φ(x; θ_k)/√K.", "with [f(x) = b + Σ_k β_k·φ(x; θ_k)/√K]."),
        ("uniform on [−a, a], or (x, 1)", "uniform on [[−a, a]], or (x, 1)"),
        ("(for γ = 1) a row", "(for [γ = 1]) a row"),
        ("√2·cos(ω·x + b): it", "[√2·cos(ω·x + b)]: it"),
        ("a fit in a second, 12.7 ± 0.4 % (2.4×)", "a fit in a second, 12.7 ± 0.4 % (2.4×)"),
        ("k(x, z) is what I have", "[k(x, z)] is what I have"),
        ("in, to, and/or, x-axis, I/O: n-grams", "in, to, and/or, x-axis, I/O: n-grams"),
        ("2500 rows × 30 columns, 5 − no", "2500 rows × 30 columns, 5 − no"),
    ],
)
def test_formulas_are_found_in_sentences(module, text, marked):
    found = text
    for start, end in reversed(module.formulas(text)):
        found = f"{found[:start]}[{found[start:end]}]{found[end:]}"
    assert found == marked


@pytest.mark.parametrize(
    ("plain", "tex"),
    [
        ("√(2/K)·Σ_k β_k²", r"\sqrt{2/K}\cdot \sum _{k}\,β_{k}^{2}"),
        ("√λ_i", r"\sqrt{λ_{i}}"),
        ("(Σ + μI)^(−1/2)", "(Σ+μI)^{-1/2}"),
        ("d_max <= 5e-03", r"d_{\max}\le 5\cdot 10^{-3}"),
        ("û_i = ȳ + max(0, 1 − yu)", r"\hat{u}_{i}=\bar{y}+\max (0,\,1-yu)"),
        ("m = 10,000", "m=10,000"),
    ],
)
def test_plain_text_becomes_tex(module, plain, tex):
    assert module.tex(plain) == tex


def test_every_formula_of_pages_and_docstrings_can_be_set(module):
    """By docutils, which knows a part of TeX."""
    pages = [path.read_text("utf-8") for path in DOCS.glob("*.md")]
    texts = [re.sub(r"```.*?```|\$[^$]*\$", "", page, flags=re.DOTALL) for page in pages]
    texts += [getattr(ks, name).__doc__ for name in ks.__all__]
    found = set()
    for text in texts:
        for part in re.split(r"\n\s*\n|(?<!\\)\||`[^`]+`", text):
            plain = " ".join(part.replace(r"\|", "|").replace("'", "’").split())
            found |= {plain[start:end] for start, end in module.formulas(plain)}
    assert len(found) > 300
    for plain in found:
        assert "<math" in module.tex2mathml(module.tex(plain)), plain
