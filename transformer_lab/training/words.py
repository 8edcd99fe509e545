"""English text to words and back, by a handful of patterns.

Floor 4b. A splitter for translation wants few different tokens, so that few of them are rare: it lower-cases, cuts
contractions where the Penn Treebank does, and takes numbers apart into digits, which Chinese writes one by one as well.
"""

import re
import unicodedata
from collections.abc import Iterable

_LETTERS = {
    **dict.fromkeys(map(ord, "‘’‚‛ʼʹ′´`＇"), "'"),
    **dict.fromkeys(map(ord, "“”„‟″«»＂"), '"'),
    **dict.fromkeys(map(ord, "‐‑‒–−"), "-"),
    **dict.fromkeys(map(ord, "―"), "—"),
}
_CJK = "\u3041-\u3096\u30a1-\u30fa\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_LETTER = rf"(?:(?![{_CJK}])[^\W\d_])"
_TOKEN = re.compile(
    rf"(?<!{_LETTER})(?:{_LETTER}\.){{2,}}"  # p.m.  u.s.
    rf"|{_LETTER}+(?:'{_LETTER}+)*"  # cat  o'clock  don't, which _CONTRACTION then cuts
    rf"|(?<=\d)'s(?!{_LETTER})"  # the 1930's
    r"|\d|\S"  # one digit, one mark, one emoji, one Chinese character
)
_CONTRACTION = re.compile(r"(.+?)(n't|'(?:s|m|d|re|ve|ll))")
# Control, format (such as the right-to-left override), surrogate, private and unassigned characters.
_DROPPED = {"Cc", "Cf", "Cs", "Co", "Cn"}

# What to take back between two tokens, in this order.
_JOINS = [
    (re.compile(r'" (.*?) ?"'), r'"\1"'),
    (re.compile(r"(?<=[^\W_]) (?=(?:n't|'(?:s|m|d|re|ve|ll))(?:\s|$))"), ""),  # do n't, it 's
    (re.compile(r"(?<=s) '(?=\s|$)"), "'"),  # the girls ' room
    (re.compile(r"(?<!\S)' ([^']*?) ?'(?!\S)"), r"'\1'"),
    (re.compile(r" (?=[.,:;!?%)\]}])"), ""),
    (re.compile(r"(?<=[$£€#(\[{]) "), ""),
    (re.compile(r"(?<=[^\W_]) - (?=[^\W_])"), "-"),
    (re.compile(r"(?<=\d) (?=\d)"), ""),
    (re.compile(r"(?<=\d[.:]) (?=\d)"), ""),  # 3.14, 7:45
    (re.compile(r"(?<=\d,) (?=\d{3}(?!\d))"), ""),  # 100,000
    (re.compile(r"(?<=\d) (?=(?:st|nd|rd|th)(?:\W|$))"), ""),
    (re.compile(rf"(?<=[{_CJK}]) (?=[{_CJK}])"), ""),
]


def check_text(text: str) -> None:
    """Refuses what is not text.

    Args:
        text: what should be a string.

    Raises:
        TypeError: it is not one.

    Source:
        Ours; chapter 11.
    """
    if not isinstance(text, str):
        fix = "; decode it as UTF-8 first" if isinstance(text, bytes) else ""
        raise TypeError(f"text must be a string, got {type(text).__name__}{fix}")


def check_tokens(tokens: Iterable[str]) -> None:
    """Refuses one string where a sequence of strings is meant: its letters would be taken for tokens.

    Args:
        tokens: what should be a sequence of strings.

    Raises:
        TypeError: it is one string.

    Source:
        Ours; chapter 11.
    """
    if isinstance(tokens, str):
        raise TypeError(
            f"tokens must be a sequence of strings, got the one string {tokens[:40]!r}; split it into tokens first"
        )


def clean(text: str, keep: str = "") -> str:
    """Brings equal-looking text to one form, and drops what nobody sees.

    NFKC (half and full width, ligatures, composed accents), every kind of space to a plain one, no control or format
    characters.

    Args:
        text: any text.
        keep: characters that NFKC must leave alone.

    Returns:
        The text, perhaps empty.

    Raises:
        TypeError: text is not a string.

    Source:
        Unicode Standard Annex 15; chapter 11.
    """
    check_text(text)
    if not (text.isascii() and text.isprintable()):
        visible = (" " if c.isspace() else c for c in text if c.isspace() or unicodedata.category(c) not in _DROPPED)
        parts = re.split(f"([{re.escape(keep)}])" if keep else r"(?!)", "".join(visible))
        text = "".join(part if part and part in keep else unicodedata.normalize("NFKC", part) for part in parts)
    return text


def split_words(text: str) -> list[str]:
    """Splits English text into lower-case words, digits and punctuation marks.

    * Contractions and the possessive are two tokens, as in the Penn Treebank: don't → do n't, can't → ca n't, it's → it 's,
      mother's → mother 's. So "mother's" is known wherever "mother" is, and the model sees the negation as a word of its
      own. Other apostrophes stay inside their word: o'clock.
    * Each digit is a token: no number is unknown, and 2:30 can be copied digit by digit.
    * Hyphens and punctuation marks are tokens; p.m. is one.
    * Chinese and Japanese characters and emoji are tokens of one character each.
    * Curly quotes and apostrophes become straight, dashes short of — become hyphens.

    Args:
        text: for example "My mother's cat doesn't sleep."

    Returns:
        The tokens, none empty: my mother 's cat does n't sleep .

    Raises:
        TypeError: text is not a string.

    Source:
        Penn Treebank tokenization (Marcus et al. 1993) for contractions; chapter 11.
    """
    check_text(text)
    words = _TOKEN.findall(clean(text.translate(_LETTERS)).translate(_LETTERS).lower())
    return [part for word in words for part in _parts(word)]


def _parts(word: str) -> list[str]:
    """Cuts endings such as n't and 've off, from the right: shouldn't've → should n't 've."""
    if "'" in word and (match := _CONTRACTION.fullmatch(word)):
        return [*_parts(match[1]), match[2]]
    return [word]


def join_words(tokens: Iterable[str]) -> str:
    """Writes tokens as readable English: the inverse of `split_words` up to capitals and the kind of quotes.

    Args:
        tokens: as `split_words` gives them: i do n't know .

    Returns:
        The text: "i don't know."

    Raises:
        TypeError: tokens is one string.

    Source:
        Ours; chapter 11.
    """
    check_tokens(tokens)
    text = " ".join(tokens)
    for pattern, replacement in _JOINS:
        text = pattern.sub(replacement, text)
    return text
