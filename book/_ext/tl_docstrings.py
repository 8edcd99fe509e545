"""Turns the package's docstrings, plain text with a little Markdown, into the reStructuredText that Sphinx reads.

The docstrings are written for people who read code: `names` in single backticks, formulas between dollar signs, sections
such as Args and Returns. Sphinx's napoleon reads the sections; this file does the rest, before napoleon and after it.
"""

from __future__ import annotations

import re
from collections.abc import Callable

COLON = "\ue000"  # stands for a colon that napoleon must not take for the end of a type; a private character
ANSWERS = ("Returns:", "Yields:", "Source:")  # sections in which napoleon looks for a type before a colon

INLINE = re.compile(
    r"(?P<emphasis>\*\*(?=\S).+?(?<=\S)\*\*(?!\*)|(?<![^\s(\"'])\*(?=[^\s*])[^*\n]*[^\s*]\*(?![\w*]))|"
    r"(?P<ticks>`+)(?P<code>.+?)(?<!`)(?P=ticks)(?!`)|(?<![\w$])\$(?P<math>[^$\s](?:[^$]*[^$\s])?)\$(?![\w$])",
    re.DOTALL,
)
FORMULA = re.compile(r"(?m)^(?P<indent> *)\$\$(?P<tex>.+?)\$\$ *$", re.DOTALL)
ITEM = re.compile(r"^ *(?:[*-]|\d+\.) +(?=\S)")

Link = Callable[[str], str | None]


def escape(text: str) -> str:
    """Plain text in which nothing means anything to reStructuredText: stars, bars, backslashes, name_ and <tags>."""
    return re.sub(r"[\\*|`]|(?<=\w)_(?!\w)", r"\\\g<0>", text)


def inline(text: str, link: Link) -> str:
    """One paragraph: code, formulas and emphasis become roles; all else is plain."""
    done, end = [], 0
    for found in INLINE.finditer(text):
        done += [escape(text[end : found.start()]), _around(text, found, _role(found, link))]
        end = found.end()
    return "".join([*done, escape(text[end:])])


def _role(found: re.Match[str], link: Link) -> str:
    if found["math"]:
        return f":math:`{found['math']}`"
    if found["emphasis"]:
        return found["emphasis"]
    code = " ".join(found["code"].split("\n"))
    code = code[1:-1] if code.startswith(" ") and code.endswith(" ") else code  # room for a backtick inside
    target = link(code)
    return f":py:obj:`{code} <{target}>`" if target else f"``{code}``"


def _around(text: str, found: re.Match[str], role: str) -> str:
    """Mark-up must be told apart from the word that touches it, 的 for instance; an escaped space shows nothing."""
    before, after = text[: found.start()][-1:], text[found.end() :][:1]
    return ("\\ " if before and not before.isspace() else "") + role + ("\\ " if after and not after.isspace() else "")


def convert(lines: list[str], link: Link = lambda name: None, *, is_value: bool = False) -> list[str]:
    """The lines of a docstring, ready for napoleon.

    Args:
        lines: of the docstring, without its indentation.
        link: says which object of the reference a name in backticks means, or None.
        is_value: whether it is that of a property, whose first line napoleon searches for a type as well.

    Returns:
        Lines of reStructuredText, with the sections as they were.
    """
    text = FORMULA.sub(_display, "\n".join(lines))
    blocks = re.split(r"(\n(?:[ ]*\n)+)", text)  # paragraphs, and what is between them
    text = "".join(block if index % 2 else _block(block, link) for index, block in enumerate(blocks))
    return protect_colons(_room_for_lists(text.split("\n")), first=is_value)


def _display(found: re.Match[str]) -> str:
    indent, tex = found["indent"], " ".join(line.strip() for line in found["tex"].split("\n"))
    return f"\n{indent}.. math:: {tex}\n"


def _block(block: str, link: Link) -> str:
    """A paragraph; the star of a list's item is no emphasis."""
    if block.lstrip().startswith(".. math::"):
        return block
    starts = [len(found[0]) if (found := ITEM.match(line)) else 0 for line in block.split("\n")]
    if not any(starts):
        return inline(block, link)
    items: list[str] = []
    for line, start in zip(block.split("\n"), starts, strict=True):
        if start or not items:
            items.append(line)
        else:
            items[-1] += "\n" + line
    return "\n".join(item[: (n := _marker(item))] + inline(item[n:], link) for item in items)


def _marker(item: str) -> int:
    found = ITEM.match(item)
    return len(found[0]) if found else 0


def _room_for_lists(lines: list[str]) -> list[str]:
    """An empty line before the first item of a list that follows a line of text, and after its last."""
    done: list[str] = []
    inside = False
    for line in lines:
        item, deeper = bool(ITEM.match(line)), line.startswith("  ")
        begins, ends = item and not inside, inside and not item and not deeper and bool(line.strip())
        if (begins or ends) and done and done[-1].strip():
            done.append("")
        inside = item or (inside and (deeper or not line.strip()))
        done.append(line)
    return done


def protect_colons(lines: list[str], *, first: bool) -> list[str]:
    """Hide colons in the lines in which napoleon would take the text before one for a type."""
    return [
        line.replace(":", COLON) if (lines[index - 1] in ANSWERS if index else first) else line
        for index, line in enumerate(lines)
    ]


def restore_colons(lines: list[str]) -> list[str]:
    """Bring the hidden colons back, after napoleon."""
    return [line.replace(COLON, ":") for line in lines]


def link_chapters(lines: list[str], pages: dict[str, str]) -> list[str]:
    """Turn "chapter 02" into a link to that chapter's page, where the book has one.

    Args:
        lines: of reStructuredText.
        pages: {two digits: name of the page}.

    Returns:
        The lines, with links.
    """

    def link(found: re.Match[str]) -> str:
        return re.sub(r"\d\d", lambda n: f":doc:`{n[0]} </{pages[n[0]]}>`" if n[0] in pages else n[0], found[0])

    return [re.sub(r"\b[Cc]hapters? \d\d(?:(?:, | and | to )\d\d)*\b", link, line) for line in lines]
