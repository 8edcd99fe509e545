r"""Small markup for questions: text becomes a tree of known parts, and only those parts become elements of the page.

Floor 6, standard library only. Known are `` `code` ``, `**bold**`, `*emphasis*` and `$mathematics$`: letters in italics,
`_` and `^` with one sign or a group in braces, `\sqrt{}`, `\text{}` and the symbols of `SYMBOLS`. All else, HTML included,
shows as it was typed; what stands in backticks always does.
"""

import re
from typing import Any

from ..element import escape

Nodes = list[list[Any]]  # [kind, text] or [kind, nodes]

SYMBOLS = {
    "alpha": "α", "beta": "β", "gamma": "γ", "epsilon": "ε", "theta": "θ", "lambda": "λ", "mu": "μ", "sigma": "σ",
    "cdot": "·", "times": "×", "infty": "∞", "le": "≤", "ge": "≥", "ne": "≠", "approx": "≈", "in": "∈", "to": "→",
    "top": "⊤", "dots": "…", "sum": "∑", "pm": "±", "R": "ℝ",
}  # fmt: skip
CODE_STYLE = "background:#f3f5f8;color:#18202c"  # a dark page's own colours for code would not fit a white card
TAGS = {"code": f'code style="{CODE_STYLE}"', "strong": "strong", "em": "em", "i": "i", "sub": "sub", "sup": "sup"}

# A dollar opens mathematics only before a sign and closes only after one and not before a digit: "US$5 and $6" is money.
# One star likewise, and never beside a letter or a digit on its outer side: "2 * 3 * 4" and "a*b*c" are products.
_PIECE = re.compile(
    r"`([^`]+)`|\*\*(.+?)\*\*|(?<![\w*])\*(?=[^\s*])([^*]*?[^\s*])\*(?![\w*])|\$(?=\S)([^$]*?[^$\s])\$(?!\d)"
)
_MATH = re.compile(r"\\text\{([^{}]*)\}|\\([A-Za-z]+)|([A-Za-z])|([_^])|([{}])|(\S)")
_SPACED = "×≤≥≠≈∈→±=+<>"  # signs that stand between two things


def parse(text: str) -> Nodes:
    r"""Reads the markup of a text.

    Args:
        text: such as "Why divide by $\sqrt{d_k}$ in `attention`?".

    Returns:
        Its parts, ready for JSON: ["text", "…"], ["code", "…"], ["strong", "…"], ["em", "…"], ["i", "d"], ["sub", parts] and so on.

    Raises:
        ValueError: mathematics with an unknown command or unbalanced braces.

    Source:
        Ours; chapter 02.
    """
    nodes: Nodes = []
    at = 0
    for found in _PIECE.finditer(text):
        if found.start() > at:
            nodes.append(["text", text[at : found.start()]])
        code, strong, emphasis, math = found.groups()
        if math is not None:
            nodes += _math(math)
        else:
            nodes.append(["code", code] if code else ["strong", strong] if strong else ["em", emphasis])
        at = found.end()
    return nodes + ([["text", text[at:]]] if at < len(text) else [])


def to_html(nodes: Nodes) -> str:
    """Writes parsed text as HTML.

    Args:
        nodes: from `parse`.

    Returns:
        HTML that holds the elements of `TAGS` and nothing else that the text could bring in.

    Source:
        Ours; chapter 02.
    """
    pieces = []
    for kind, content in nodes:
        inner = escape(content) if isinstance(content, str) else to_html(content)
        if kind == "root":
            pieces.append(f'√<span style="border-top:1px solid currentColor">{inner}</span>')
        else:
            pieces.append(f"<{TAGS[kind]}>{inner}</{kind}>" if kind in TAGS else inner)
    return "".join(pieces)


def to_text(nodes: Nodes) -> str:
    """Writes parsed text without its markup.

    Args:
        nodes: from `parse`.

    Returns:
        Plain text.

    Source:
        Ours; chapter 02.
    """
    signs = {"sub": "_", "sup": "^", "root": "√"}
    return "".join(
        signs.get(kind, "") + (content if isinstance(content, str) else to_text(content)) for kind, content in nodes
    )


def _math(source: str) -> Nodes:
    nodes, rest = _group(_MATH.findall(source), source, inside=False)
    if rest:
        raise ValueError(f"unbalanced braces in ${source}$")
    return nodes


def _group(tokens: list[tuple[str, ...]], source: str, *, inside: bool) -> tuple[Nodes, list[tuple[str, ...]]]:
    # Reads parts until the brace that closes this group; returns them and what follows it.
    nodes: Nodes = []
    while tokens:
        if tokens[0][4] == "}":
            return nodes, tokens[1:] if inside else tokens
        part, tokens = _part(tokens, source)
        if nodes and len(part) == 1 and part[0][0] == nodes[-1][0] in ("i", "text"):
            nodes[-1][1] += part[0][1]  # neighbours of one kind are one piece
        else:
            nodes += part
    if inside:
        raise ValueError(f"unbalanced braces in ${source}$")
    return nodes, tokens


def _part(tokens: list[tuple[str, ...]], source: str) -> tuple[Nodes, list[tuple[str, ...]]]:
    (upright, command, letter, script, brace, sign), tokens = tokens[0], tokens[1:]
    if brace == "{":
        return _group(tokens, source, inside=True)
    if script or command == "sqrt":
        if not tokens or tokens[0][4] == "}":
            raise ValueError(f"{script or 'sqrt'} in ${source}$ has nothing to apply to")
        content, tokens = _part(tokens, source)
        return [[{"_": "sub", "^": "sup"}.get(script, "root"), content]], tokens
    if command and command not in SYMBOLS:
        raise ValueError(f"\\{command} in ${source}$ is not known; known are sqrt, text, {', '.join(SYMBOLS)}")
    if letter:
        return [["i", letter]], tokens
    sign = upright or sign or SYMBOLS[command]
    return [["text", f"\u2009{sign}\u2009" if sign in _SPACED else sign]], tokens
