"""Phrases that exist in both languages at once, and the weaving of small ones into larger ones.

Floor 4b. A template names the words of both sides; words that translate each other carry the same label: `weave("the cat#n",
"猫#n")` knows that 猫 comes from "cat" and that "the" has no counterpart.
"""

from dataclasses import dataclass
from functools import cache


@dataclass(frozen=True)
class Phrase:
    """A phrase in English and in Chinese, with the links between its words.

    Args:
        english: words, in the case they have inside a sentence.
        chinese: characters, without spaces.
        links: pairs (index of the character, index of the word).

    Source:
        Ours; chapter 10.
    """

    english: tuple[str, ...] = ()
    chinese: str = ""
    links: tuple[tuple[int, int], ...] = ()


NOTHING = Phrase()


@cache
def _items(template: str) -> tuple[tuple[str, str, str], ...]:
    """Reads a template into (slot, text, label): either a slot, or text with a label that may be empty."""
    found = []
    for item in template.split():
        text, _, label = item.partition("#")
        found.append((item[1:-1], "", "") if item[0] == "{" else ("", text, label))
    return tuple(found)


def weave(english: str, chinese: str, **slots: Phrase) -> Phrase:
    """Joins phrases and words into one phrase.

    Args:
        english: items separated by spaces: a word, a word with a label (`word#label`), or a slot (`{name}`).
        chinese: the same with characters; the spaces vanish.
        **slots: the phrase for each slot. Labels inside it are its own.

    Returns:
        The joined phrase; characters and words with the same label are linked.

    Source:
        Ours; chapter 10.
    """
    words: list[str] = []
    starts: dict[str, int] = {}
    labelled: dict[str, list[int]] = {}
    for slot, text, label in _items(english):
        if slot:
            starts[slot] = len(words)
            words.extend(slots[slot].english)
        else:
            if label:
                labelled.setdefault(label, []).append(len(words))
            words.append(text)
    characters, links = "", []
    for slot, text, label in _items(chinese):
        if slot:
            links += [(len(characters) + z, starts[slot] + e) for z, e in slots[slot].links]
            characters += slots[slot].chinese
        else:
            places = range(len(characters), len(characters) + len(text))
            links += [(z, e) for z in places for e in labelled.get(label, ())]
            characters += text
    return Phrase(tuple(words), characters, tuple(sorted(links)))


@cache
def label(text: str, name: str) -> str:
    """Puts the same label on every word of a text.

    Args:
        text: words separated by spaces.
        name: the label.

    Returns:
        The labelled words, for a template.

    Source:
        Ours; chapter 10.
    """
    return " ".join(f"{word}#{name}" for word in text.split())


@cache
def word(english: str, chinese: str) -> Phrase:
    """Makes a phrase in which everything is linked with everything.

    Args:
        english: one word or several that are translated together ("every day").
        chinese: their translation.

    Returns:
        The phrase.

    Source:
        Ours; chapter 10.
    """
    return weave(label(english, "w"), f"{chinese}#w" if chinese else "")
