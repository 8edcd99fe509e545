"""Chinese text to characters and back.

Floor 4b. Chinese writes no spaces between words, so a character is the natural smallest token: two or three thousand of
them cover everyday text, and none has to be guessed from context as word borders have.
"""

import re
import unicodedata
from collections.abc import Iterable

from .words import check_tokens, clean

_FULL = "，。？！：；（）"
_HALF = dict(zip(",.?!:;()", _FULL, strict=True))
_MARKS = {
    ord("「"): "“",
    ord("」"): "”",
    ord("『"): "‘",
    ord("』"): "’",
    **dict.fromkeys(map(ord, "・•‧"), "·"),
    **dict.fromkeys(map(ord, "–―─"), "—"),
}
_DOTS = re.compile(r"[.。…](?:\s*[.。…])+|…")
_HALF_MARK = re.compile(r"(?<=[A-Za-z0-9])[,.:](?=[A-Za-z0-9])|([,.?!:;()])")


def split_characters(text: str) -> list[str]:
    """Splits Chinese text into its characters, with one form for every punctuation mark.

    * Spaces are dropped, also those between Latin words, which stand in Chinese text as names and abbreviations.
    * Commas, full stops, question and exclamation marks, colons, semicolons and brackets are the full-width ones
      ，。？！：；（）; inside a number or a Latin name they stay as they are: 3.5, 7:45.
    * Quotation marks are “ and ”; straight ones open and close by turns. Several dots are one …
    * Latin letters, digits and % are half-width, one token each; capitals stay.

    Args:
        text: for example "我爱你!"

    Returns:
        The tokens, one character each: 我 爱 你 ！

    Raises:
        TypeError: text is not a string.

    Source:
        GB/T 15834 for the marks; chapter 11.
    """
    text = _open_and_close(clean(text, keep=_FULL + "…")).translate(_MARKS)
    text = _HALF_MARK.sub(lambda mark: _HALF[mark[1]] if mark[1] else mark[0], _DOTS.sub("…", text))
    return list(unicodedata.normalize("NFC", "".join(text.split())))


def _open_and_close(text: str) -> str:
    """Straight double quotes become “ and ” by turns."""
    first, *others = text.split('"')
    return first + "".join(("”" if i % 2 else "“") + part for i, part in enumerate(others))


def join_characters(tokens: Iterable[str]) -> str:
    """Writes characters one after the other.

    Args:
        tokens: as `split_characters` gives them.

    Returns:
        The text.

    Raises:
        TypeError: tokens is one string.

    Source:
        Ours; chapter 11.
    """
    check_tokens(tokens)
    return "".join(tokens)
