"""The README says what the code does and what the results file holds."""

import re
from pathlib import Path

import kitchensinks as ks
from tests.pages import blocks_of, run_page

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()


def test_tables_are_those_of_the_results_files():
    from benchmarks import report

    for name, parts in report.parts().items():
        text = (ROOT / name).read_text()
        assert report.fill(text, parts) == text, name


def test_the_examples_print_the_scores_that_stand_beside_them(tmp_path, monkeypatch, capsys):
    examples = [block for block in blocks_of(ROOT / "README.md") if block.language == "python"]
    ours, theirs = ([line for line in block.text.splitlines() if line] for block in examples)
    assert len(ours) == 6
    assert len(theirs) == 3
    monkeypatch.chdir(tmp_path)
    names = run_page(ROOT / "README.md")
    assert names["model"].law_.record is not None  # nothing was chosen
    said = [float(lines[-1].split("# ")[1]) for lines in (ours, theirs)]
    printed = [float(line) for line in capsys.readouterr().out.split()]
    assert len(printed) == 2
    assert all(abs(score - told) < 0.006 for score, told in zip(printed, said, strict=True))
    # What the README says of ONNX holds for its own example.
    ks.to_onnx(names["model"], tmp_path / "model.onnx")


def test_the_two_commands_are_named():
    makefile = (ROOT / "Makefile").read_text()
    for command in ("demo", "test"):
        assert f"make {command} " in README
        assert f"\n{command}: " in makefile


def test_links_lead_somewhere():
    for link in re.findall(r"\]\((?!http)([^)#]+)(?:#[^)]*)?\)", README):
        assert (ROOT / link).exists(), link
