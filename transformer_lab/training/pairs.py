"""A sentence and its translation, with or without the words' alignment.

Floor 4b.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Pair:
    """An English sentence and one Chinese translation of it.

    Args:
        english: as a person writes it.
        chinese: in simplified characters.
        source: who wrote it, for example the attribution of a Tatoeba line; empty when nobody is to be named.

    Source:
        Ours; chapter 10.
    """

    english: str
    chinese: str
    source: str = ""


@dataclass(frozen=True)
class AlignedPair:
    """A translated sentence that also says which word became which character.

    Args:
        english: as a person writes it.
        chinese: in simplified characters.
        alignment: pairs (index of the Chinese character, index of the English token), sorted. English tokens are words and
            punctuation marks, Chinese tokens are characters.

    Source:
        Ours; chapter 10.
    """

    english: str
    chinese: str
    alignment: tuple[tuple[int, int], ...]
