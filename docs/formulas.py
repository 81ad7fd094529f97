"""A Sphinx extension: mathematics as MathML, which browsers set without scripts or a network.

Formulas in TeX ($…$ of the pages) are translated by docutils. Those of plain text, as docstrings
have them ("k(x, z) = exp(−γ‖x − z‖₁)"), are found by their letters and signs and become TeX first.
"""

import re
import unicodedata
from typing import Any

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util import logging

logger = logging.getLogger(__name__)

RAISED = dict(zip("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺ᵀⁿᵈᵐ", "0123456789-+Tndm", strict=True))
LOWERED = dict(zip("₀₁₂₃₄₅₆₇₈₉ₖᵢⱼₙ₊₋", "0123456789kijn+-", strict=True))
SIGNS = {
    "−": "-",
    "·": r"\cdot ",
    "×": r"\times ",
    "∘": r"\circ ",
    "±": r"\pm ",
    "≤": r"\le ",
    "≥": r"\ge ",
    "≠": r"\ne ",
    "≈": r"\approx ",
    "~": r"\sim ",
    "∈": r"\in ",
    "∝": r"\propto ",
    "→": r"\to ",
    "←": r"\leftarrow ",
    "↦": r"\mapsto ",
    "∞": r"\infty ",
    "∂": r"\partial ",
    "∇": r"\nabla ",
    "∫": r"\int ",
    "Σ": r"\sum ",
    "Π": r"\prod ",
    "∏": r"\prod ",
    "‖": r"\Vert ",
    "|": "|",
    "…": r"\ldots ",
    "⟨": r"\langle ",
    "⟩": r"\rangle ",
    "⌈": r"\lceil ",
    "⌉": r"\rceil ",
    "⌊": r"\lfloor ",
    "⌋": r"\rfloor ",
    "′": "'",
    "’": "'",
    "{": r"\{",
    "}": r"\}",
    "%": r"\%",
    ":": r"\colon ",
    ";": r";\,",
}
MARKS = {"\u0304": "bar", "\u0302": "hat", "\u0303": "tilde"}
FUNCTIONS = ["arccos", "arcsin", "cos", "exp", "inf", "ln", "log", "max", "min", "sin", "sup"]
WORDS = [*FUNCTIONS, "argmin", "argmax", "diag", "loss", "ReLU", "sign", "rank", "tr", "abs", "mod"]

GREEK = "α-ωΑ-Ωϕℓ"
FRACTIONS = {"½": r"\tfrac{1}{2}", "¼": r"\tfrac{1}{4}", "⅛": r"\tfrac{1}{8}", "⅔": r"\tfrac{2}{3}"}
SIGNS |= FRACTIONS
# A sign that only mathematics has.
STRONG = re.compile(
    rf"[{GREEK}{''.join(RAISED)}{''.join(LOWERED)}{''.join(FRACTIONS)}{''.join(MARKS)}"
    "√ΣΠ∏∫‖∂∇∞≤≥≠≈∈∝∘·−×↦⟨⟩⌈⌉⌊⌋ȳŷû]"
)
# What may stand beside such a sign: letters with an index, numbers and functions, with operators.
NUMBER = r"\d[\d.]*(?:e[-+]?\d+)?"
ATOM = rf"(?:\d*(?:d?[A-Za-z]['′’]?(?:_\w{{1,3}})?|{'|'.join(WORDS)})|{NUMBER})(?![A-Za-z])"
SIGNED = rf"[(\[|]*{ATOM}(?:[-+=/<>()\[\]|,;^*:]+{ATOM})*[)\]|,;.:]*"
WEAK = re.compile(rf"{SIGNED}|[-+=<>/~…|]+,?|\.\.\.")
# A word of a sentence makes a token text, wherever signs stand beside it.
PROSE = re.compile(r"[A-Za-z]{3,}")


def is_part(token: str) -> bool:
    """Whether a token may belong to a formula."""
    words = [word for word in PROSE.findall(token) if word not in WORDS]
    if words and not re.fullmatch(r"[a-z]+", words[0]):
        return False
    if words and not re.search(rf"{words[0]}[·‖(/]|[·/]{words[0]}", token):
        return False
    return bool(STRONG.search(token) or WEAK.fullmatch(token))


def depth(text: str) -> int:
    """How many brackets are open at the end of a text."""
    return sum(text.count(sign) for sign in "([⟨") - sum(text.count(sign) for sign in ")]⟩")


def formulas(text: str) -> list[tuple[int, int]]:
    """Where the formulas of a text begin and end."""
    found, run = [], []
    for match in [*re.finditer(r"\S+", text), None]:
        if match is not None and is_part(match[0]):
            run.append(match)
            own = text[run[0].start() : match.end()]
            if not (match[0][-1] in ",;:." and depth(own) <= 0):
                continue
        if run:
            span = trimmed(text, run[0].start(), run[-1].end())
            if span is not None:
                found.append(span)
            run = []
    return found


def trimmed(text: str, start: int, end: int) -> tuple[int, int] | None:
    """Without punctuation, articles and brackets that belong to the sentence; None: no formula."""
    while start < end:
        own = text[start:end]
        if own[-1] in " ,;:.=+~/<>-−·×≤≥≈∈" or (own[-1] in ")]" and depth(own) < 0):
            end -= 1
        elif own[0] in " +=/~<>,;^·×≤≥≈∈" or (own[0] in "([" and depth(own) > 0):
            start += 1
        elif re.match(r"(a|A|I|…) ", own):
            start += 2
        elif re.search(r" (a|I|…)$", own):
            end -= 2
        elif own[0] == "(" and own[-1] == ")" and closed(own[1:-1]) and "," not in own:
            start, end = start + 1, end - 1
        else:
            break
    own = text[start:end]
    if depth(own) or own.count("‖") % 2 or own.count("|") % 2:
        return None
    equation = re.search(r"[\w)'] (=|<|>) [\w(|]", own) and not re.search(r"[a-z]{3}", own)
    known = STRONG.search(own) or equation or re.fullmatch(r"[a-zA-Z](_\w+)?\([a-z, ;]+\)", own)
    plain = re.fullmatch(r"[−±×·…\d.,%()\s]*", own)
    return (start, end) if known and not plain else None


def closed(text: str) -> bool:
    """Whether every bracket closes one that was opened before it."""
    level = 0
    for sign in text:
        level += (sign in "([") - (sign in ")]")
        if level < 0:
            return False
    return level == 0


def tex(text: str) -> str:
    """Plain mathematics as TeX.

    >>> tex("√(2/K)·Σ_k β_k²")
    '\\\\sqrt{2/K}\\\\cdot \\\\sum _{k} β_{k}^{2}'
    """
    text = text.replace("<=", "≤").replace(">=", "≥")
    out, place = [], 0
    while place < len(text):
        piece, place = next_piece(text, place)
        out.append(piece)
    return "".join(out).strip()


def next_piece(text: str, place: int) -> tuple[str, int]:
    """The TeX of what stands at a place, and the place after it."""
    sign, rest = text[place], text[place:]
    for table, mark in ((RAISED, "^"), (LOWERED, "_")):
        if sign in table:
            run = re.match(f"[{''.join(table)}]+", rest)[0]
            return f"{mark}{{{''.join(table[one] for one in run)}}}", place + len(run)
    if sign in "ΣΠ" and not re.match(r".(_|[|‖(\w]| [^-+=·−≤≥\s])", rest):
        return sign, place + 1  # a matrix, and no sum
    if sign in "_^√":
        inner, end = argument(text, place + 1)
        return (rf"\sqrt{{{inner}}}" if sign == "√" else f"{sign}{{{inner}}}"), end
    power = re.match(r"(\d[\d.]*)e([-+]?\d+)", rest)
    if power:
        return rf"{power[1]}\cdot 10^{{{int(power[2])}}}", place + len(power[0])
    word = re.match(r"[A-Za-z]{2,}", rest)
    # Two letters are a product, unless they are a name.
    if word and (len(word[0]) > 2 or word[0] in WORDS):
        known = rf"\{word[0]} " if word[0] in FUNCTIONS else rf"\operatorname{{{word[0]}}}"
        return known, place + len(word[0])
    if sign == " ":
        between = text[place - 1 : place] + text[place + 1 : place + 2]
        return (r"\," if between.isalnum() else ""), place + 1
    if rest.startswith(", "):
        return r",\,", place + 2
    after = text[place + 1 : place + 2]
    if after and after in MARKS:
        return rf"\{MARKS[after]}{{{sign}}}", place + 2
    apart = unicodedata.normalize("NFD", sign)
    if len(apart) == 2 and apart[1] in MARKS:
        return rf"\{MARKS[apart[1]]}{{{apart[0]}}}", place + 1
    return SIGNS.get(sign, sign), place + 1


def argument(text: str, place: int) -> tuple[str, int]:
    """What an index, a power or a root is of, and its end: a bracket, a norm, a number, letters."""
    for opening, closing in ("()", "‖‖"):
        if text[place : place + 1] == opening:
            last = len(text) - 1
            inner = range(place + 1, last)
            end = next((k for k in inner if ends(text[place : k + 1], closing)), last)
            inside = text[place + 1 : end] if opening == "(" else text[place : end + 1]
            return tex(inside), end + 1
    letter = rf"[{GREEK}A-Za-z](?:[_]\w+|[{''.join(LOWERED)}]+)?"
    own = re.match(rf"[−-]?(?:\d+|{letter}|[∞{''.join(FRACTIONS)}])", text[place:])
    own = re.match(r"[−-]?[A-Za-z\d]+", text[place:]) or own if text[place - 1] in "_^" else own
    if own is None:
        return "", place
    inner = own[0].replace("−", "-")
    # One or two letters of an index are names, and no word.
    if inner.isascii() and inner.isalnum() and len(inner) < 3 and not inner.isdigit():
        return " ".join(inner), place + len(own[0])
    return tex(inner), place + len(own[0])


def ends(text: str, closing: str) -> bool:
    """Whether the bracket that a text begins with is closed by its last sign."""
    level = text.count("(") - text.count(")") if closing == ")" else text.count("‖") % 2
    return text.endswith(closing) and level == 0


class PlainFormulas(SphinxPostTransform):
    """Formulas in plain text become mathematics."""

    default_priority = 50
    formats = ("html",)
    apart = (
        nodes.literal,
        nodes.literal_block,
        nodes.doctest_block,
        nodes.math,
        nodes.math_block,
        nodes.title,
        nodes.raw,
        nodes.comment,
        addnodes.desc_signature,
        addnodes.toctree,
    )

    def run(self, **given: Any) -> None:
        for text in list(self.document.findall(nodes.Text)):
            if not self.is_apart(text):
                self.replace(text)

    def is_apart(self, node: Any) -> bool:
        while node is not None:
            if isinstance(node, self.apart):
                return True
            node = node.parent
        return False

    def replace(self, text: nodes.Text) -> None:
        plain, parts, done = text.astext(), [], 0
        spans = formulas(plain)
        for start, end in spans:
            parts += [nodes.Text(plain[done:start]), nodes.math("", tex(plain[start:end]))]
            done = end
        if not spans:
            return
        paragraph, quote = text.parent, text.parent.parent
        alone = not plain[: spans[0][0]].strip() and not plain[done:].strip(" ,.")
        if alone and len(spans) == 1 and isinstance(quote, nodes.block_quote):
            paragraph.replace_self(nodes.math_block("", parts[1].astext() + plain[done:].strip()))
            return
        text.parent.replace(text, [*parts, nodes.Text(plain[done:])])


def write(translator: Any, node: Any, kind: str) -> None:
    """A formula as MathML, in an element of the kind given."""
    try:
        found = tex2mathml(node.astext(), as_block=kind == "div")
    except MathError as error:
        logger.warning("%s: %s", node.astext(), error, location=node)
        found = node.astext()
    # What scrolls can be reached by keys. (Themes have rules for the class math of scripts.)
    keys = ' tabindex="0"' if kind == "div" else ""
    translator.body.append(f'<{kind} class="formula"{keys}>{found}</{kind}>')
    raise nodes.SkipNode


def inline(translator: Any, node: nodes.math) -> None:
    write(translator, node, "span")


def block(translator: Any, node: nodes.math_block) -> None:
    write(translator, node, "div")


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_html_math_renderer("mathml", (inline, None), (block, None))
    app.add_post_transform(PlainFormulas)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
