"""What all pictures share: colours, fonts, and labels that show tokens as typed.

Floor 5: torch, matplotlib and seaborn.
"""

from importlib.resources import as_file, files

from matplotlib import font_manager
from matplotlib.axes import Axes
from matplotlib.ft2font import FT2Font

#: A colour of the book's pictures; the four are told apart by every kind of colour vision.
INK, BLUE, ORANGE, GREY = "#1a1a1a", "#0b5fa5", "#d55e00", "#8c8c8c"
LONGEST_LABEL = 24
VISIBLE = {"": "∅", " ": "␣", "\n": "↵", "\t": "⇥"}

with as_file(files("transformer_lab") / "fonts" / "TransformerLabCJK-Regular.otf") as _path:
    font_manager.fontManager.addfont(_path)
    FAMILIES = ["DejaVu Sans", FT2Font(str(_path)).family_name]
    _FONTS = [FT2Font(font_manager.findfont("DejaVu Sans")), FT2Font(str(_path))]


def label(token: str) -> str:
    """Makes a token fit to stand in a picture: short, visible, and drawable.

    Args:
        token: any text.

    Returns:
        The token as typed where that can be drawn; blanks as signs, glyphs that no font here has as U+ codes, the end of
        a very long token as an ellipsis.

    Source:
        Ours; chapter 02.
    """
    token = VISIBLE.get(token, token)
    if len(token) > LONGEST_LABEL:
        token = token[: LONGEST_LABEL - 1] + "…"
    return drawable(token)


def drawable(text: str) -> str:
    """Writes characters that no font here has as their code, so that nothing is drawn as an empty box.

    Args:
        text: any text.

    Returns:
        Text whose every character has a glyph.

    Source:
        Ours; chapter 02.
    """
    return "".join(c if _is_drawable(c) else VISIBLE.get(c, f"U+{ord(c):04X}") for c in text)


def write_title(ax: Axes, text: str) -> None:
    """Puts a title over a picture, as typed.

    Args:
        ax: the picture.
        text: dollar signs are no mathematics; Chinese has its glyphs.

    Source:
        Ours; chapter 02.
    """
    text = "\n".join(map(drawable, text.split("\n")))
    ax.set_title(text, fontsize=10, parse_math=False, fontfamily=FAMILIES)


def _is_drawable(character: str) -> bool:
    return character.isprintable() and any(font.get_char_index(ord(character)) for font in _FONTS)
