"""The mechanism behind everything that moves on a page without a kernel: one self-contained custom element.

Floor 5: standard library only. An `Element` is a `text/html` output that needs no network, no server and no other file.
Its script defines a custom element whose name holds a hash of the script, so that two versions can live on one page; its
data stands in an attribute as JSON; labels reach the page as text, never as HTML; its colours are its own, so that it is
readable on light and dark pages; and between its tags stands a still picture for pages where scripts do not run.
"""

import hashlib
import html
import json
import re
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any

HEAT = (11, 58, 117)  # the colour of weight 1; 0 is white
DEEP = 0.687  # above this a number is white: black and white both reach 4.5 : 1 here

_NAME = re.compile(r"[a-z][a-z0-9-]*")
_ENDS_A_SCRIPT = re.compile(r"</script|<!--", re.IGNORECASE)


class Element:
    """An interactive part of a page that works with no kernel and no network.

    It shows itself in a notebook, in the published book, in Colab's sandboxed frame and in VS Code; where scripts do not
    run (print, a reader without JavaScript, a notebook that is not trusted), its still picture shows.

    Args:
        name: what it is, in lower-case letters, digits and hyphens; becomes part of the tag.
        script: classic JavaScript that defines `build(card, config)`, which fills the card (an empty `<div>`), and the
            string `STYLE`; `h`, `say`, `phrase` and `announcer` of element.js are there to be used.
        config: what the script works on; goes through JSON.
        text: the plain-text form, also its `repr`; must be the same on every run.
        fallback_html: the still picture, as HTML with no script; must be the same on every run.

    Raises:
        ValueError: the name cannot be part of a tag, or the script holds `</script` or `<!--`, which would end it early.
        TypeError: the config holds something that JSON does not know.

    Source:
        Ours; chapter 02.
    """

    def __init__(self, name: str, script: str, config: Mapping[str, Any], text: str, fallback_html: str) -> None:
        if not _NAME.fullmatch(name):
            raise ValueError(f"name must be lower-case letters, digits and hyphens, got {name!r}")
        shared = read_source("transformer_lab", "element.css", "element.js")
        whole = f"{shared}\n{script}"
        if _ENDS_A_SCRIPT.search(whole):
            raise ValueError(
                "script must not hold '</script' or '<!--': in a page they would end it early; write '<\\/script'"
            )
        self.tag = f"tl-{name}-{hashlib.sha256(whole.encode()).hexdigest()[:8]}"
        self.text = text
        data = json.dumps(config, sort_keys=True, separators=(",", ":"), allow_nan=False)
        self.html = (
            f'<{self.tag} data-tl-element="{name}" data-lm-suppress-shortcuts="true" style="display:block" '
            f"data-config='{_quoted(data)}'>{fallback_html}</{self.tag}>"
            f'<script>(() => {{\nif (customElements.get("{self.tag}")) return;\n{whole}\n'
            f'defineElement("{self.tag}", ELEMENT_CSS + STYLE, build);\n}})();</script>'
        )

    def __repr__(self) -> str:
        return self.text

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {"text/plain": self.text, "text/html": self.html}


def read_source(package: str, *names: str) -> str:
    """Reads the files that make up a part's script and joins them.

    A style sheet `some_name.css` becomes the line `const SOME_NAME_CSS = "…";`.

    Args:
        package: the package that the files lie in, such as "transformer_lab.explorers".
        names: file names, in the order in which they are to stand.

    Returns:
        JavaScript.

    Raises:
        FileNotFoundError: a file is not there.

    Source:
        Ours; chapter 02.
    """
    pieces = []
    for name in names:
        source = files(package).joinpath(name).read_text(encoding="utf-8")
        if name.endswith(".css"):
            constant = name.removesuffix(".css").upper()
            source = f"const {constant}_CSS = {json.dumps(source)};"
        pieces.append(source.strip())
    return "\n".join(pieces)


def escape(label: object) -> str:
    """Writes a label so that HTML shows it exactly as it is, and keeps its writing direction to itself.

    Args:
        label: any object; its `str` is shown.

    Returns:
        HTML.

    Source:
        Ours; chapter 02.
    """
    return f"<bdi>{html.escape(str(label), quote=True)}</bdi>"


def heat_map(weights: Sequence[Sequence[float]], rows: Sequence[str], columns: Sequence[str], caption: str) -> str:
    """Draws weights as a table of coloured cells, for still pictures: no picture file, readable in print and aloud.

    Args:
        weights: numbers from 0 to 1, [rows][columns].
        rows: one label per row.
        columns: one label per column.
        caption: what the numbers are.

    Returns:
        HTML with colours of its own (dark on white), the same on every run.

    Source:
        Ours; chapter 02.
    """
    cell = "padding:5px 7px;text-align:center;border:2px solid #fff;"
    head = "".join(f'<th scope="col" style="{cell}font-weight:normal">{escape(label)}</th>' for label in columns)
    body = "".join(
        f'<tr style="background:#fff"><th scope="row" style="{cell}text-align:right;font-weight:normal">{escape(label)}</th>'
        + "".join(f'<td style="{cell}{_heat(weight)}">{weight:.2f}</td>' for weight in line)
        + "</tr>"
        for label, line in zip(rows, weights, strict=True)
    )
    return (
        f'<p>{escape(caption)}</p><div style="overflow-x:auto" tabindex="0"><table aria-label="{html.escape(caption)}" '
        'style="border-collapse:collapse;margin:0;background:#fff;color:#18202c;font-size:14px">'
        f'<thead><tr style="background:#fff"><td style="{cell}"></td>{head}</tr></thead><tbody>{body}</tbody></table></div>'
    )


def still_card(*pieces: str) -> str:
    """Puts pieces of HTML into the opaque white card that every still picture is.

    Args:
        pieces: HTML.

    Returns:
        HTML.

    Source:
        Ours; chapter 02.
    """
    style = "background:#fff;color:#18202c;border:1px solid #d3d9e2;border-radius:12px;padding:12px 16px;print-color-adjust:exact"
    return f'<div style="{style}">{"".join(pieces)}</div>'


def _heat(weight: float) -> str:
    # White to dark blue, mixed here so that no browser has to; the number turns white where black would be hard to read.
    red, green, blue = (round(255 + (deep - 255) * min(max(weight, 0.0), 1.0)) for deep in HEAT)
    return f"background:#{red:02x}{green:02x}{blue:02x};color:{'#fff' if weight > DEEP else '#000'}"


def _quoted(data: str) -> str:
    # A single-quoted attribute: JSON is full of double quotes, which may stay as they are.
    return data.replace("&", "&amp;").replace("'", "&#39;").replace("<", "&lt;").replace(">", "&gt;")
