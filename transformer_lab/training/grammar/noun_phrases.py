"""Noun phrases: articles, this and that, numerals with classifiers, possessors, adjectives; and who does something.

Floor 4b. What is linked: 一 with "a", the pronoun and its 的 with "my", 的 with "'s", 们 with the plural noun. Classifiers,
and what stands for "the" (nothing), have no counterpart; in "a cup of tea" 杯 is "cup".
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .nouns import nouns
from .phrase import Phrase, weave, word
from .small_words import ATTRIBUTES, NAMES, NUMERALS, PRONOUNS, Pronoun
from .words import Noun
from .writer import Writer

DETERMINERS = {
    "a": "a book 一本书, tea 茶, a cup of tea 一杯茶",
    "n": "a book 书: in questions and negations",
    "2": "two books, many books, some books",
    "t": "this book, these books",
    "d": "that book, those books",
    "o": "my book, Tom's book",
    "e": "the book 书",
    "s": "books 书: in general",
}
MEASURES = {
    "cup": ("杯", "tea coffee"),
    "glass": ("杯", "water milk juice"),
    "bottle": ("瓶", "water milk juice"),
    "bowl": ("碗", "rice soup"),
    "piece": ("块", "bread meat"),
}
_AMOUNTS = ("a", "an", "many", "some", *NUMERALS)


@dataclass(frozen=True)
class NounPhrase:
    """Who or what: the words, and what the verb has to know.

    Args:
        phrase: the words.
        number: "I", "it" or "they": the pronoun whose verb forms it takes.
        noun: the noun, or None.
        pronoun: the pronoun, or None.

    Source:
        Ours; chapter 10.
    """

    phrase: Phrase
    number: str = "it"
    noun: Noun | None = None
    pronoun: Pronoun | None = None


def is_amount(thing: NounPhrase) -> bool:
    """Says whether a phrase tells how many, and not which: 一本书, 两本书, 很多书.

    Args:
        thing: the phrase.

    Returns:
        False for "this book", "my book" and "the book".

    Source:
        Ours; chapter 10.
    """
    return thing.phrase.english[0] in _AMOUNTS


def article(following: str) -> str:
    """Chooses between "a" and "an".

    Args:
        following: the next word.

    Returns:
        The article.

    Source:
        Ours; chapter 10.
    """
    return "an" if following[0] in "aeiou" and not following.startswith("use") else "a"


def head(w: Writer, noun: Noun, plural: bool = False, adjective: float = 0.25, unfit: str = "") -> Phrase:
    """Writes a noun, perhaps with an adjective before it.

    Args:
        w: makes the choices.
        noun: the noun.
        plural: its number in English.
        adjective: the probability of one, when one fits.
        unfit: adjectives with these characters would be stiff: a second 的 (我的漂亮的花), 很 after 这 (这个很长的故事).

    Returns:
        For example "red apple" 红苹果.

    Source:
        Ours; chapter 10.
    """
    core = word(noun.plural if plural else noun.english, noun.chinese)
    fitting = [a for a in ATTRIBUTES if a.fits(noun) and not set(unfit) & set(a.chinese)] if w.chance(adjective) else []
    return weave("{a} {n}", "{a} {n}", a=word(*_pair(w.pick(fitting))), n=core) if fitting else core


def _pair(entry: Any) -> tuple[str, str]:
    return entry.english, entry.chinese


def _measured(w: Writer, noun: Noun) -> Phrase:
    """Writes "a cup of tea", or "two bowls of rice"."""
    fitting = [(unit, chinese) for unit, (chinese, what) in MEASURES.items() if noun.english in what.split()]
    unit, chinese = w.pick(fitting)
    slots = {"n": head(w, noun)}
    if w.chance(0.6):
        return weave(f"a#a {unit}#u of {{n}}", f"一#a {chinese}#u {{n}}", **slots)
    units = unit + ("es" if unit == "glass" else "s")
    return weave(f"{{k}} {units}#u of {{n}}", f"{{k}} {chinese}#u {{n}}", k=w.entry(NUMERALS), **slots)


def _uncounted(w: Writer, noun: Noun, determiner: str) -> Phrase:
    measurable = any(noun.english in what.split() for _, what in MEASURES.values())
    if determiner == "a" and measurable and w.chance(0.6):
        return _measured(w, noun)
    if determiner == "e":
        return weave("the {n}", "{n}", n=head(w, noun, adjective=0))
    return head(w, noun, adjective=0 if determiner == "s" else 0.15)


def _several(w: Writer, noun: Noun, adjective: float) -> Phrase:
    slots = {"n": head(w, noun, True, adjective, "很")}
    people = "kin" in noun.tags
    if w.chance(0.15) and not people:
        return weave("many#k {n}", "很多#k {n}", **slots)
    if w.chance(0.15) and not people:
        return weave("some#k {n}", "一些#k {n}", **slots)
    return weave("{k} {n}", f"{{k}} {noun.classifier} {{n}}", k=w.entry(NUMERALS), **slots)


def _pointed(w: Writer, noun: Noun, determiner: str, adjective: float) -> NounPhrase:
    near = determiner == "t"
    plural = w.chance(0.25)
    english = ("these" if near else "those") if plural else ("this" if near else "that")
    chinese, classifier = "这" if near else "那", "些" if plural else noun.classifier
    slots = {"n": head(w, noun, plural, adjective, "很好")}
    phrase = weave(f"{english}#d {{n}}", f"{chinese}#d {classifier}{'#d' if plural else ''} {{n}}", **slots)
    return NounPhrase(phrase, "they" if plural else "it", noun)


def owner(w: Writer, owners: Sequence[Pronoun] = PRONOUNS) -> Phrase:
    """Writes a possessor.

    Args:
        w: makes the choices.
        owners: the pronouns to choose from.

    Returns:
        For example "my" 我的, "Tom's" 汤姆的 or "my mother's" 我妈妈的.

    Source:
        Ours; chapter 10.
    """
    if len(owners) == len(PRONOUNS) and w.chance(0.2):
        who = w.entry(NAMES) if w.chance(0.5) else kin(w, PRONOUNS[:4]).phrase
        return weave("{w} 's#s", "{w} 的#s", w=who)
    pronoun = w.pick(owners)
    return word(pronoun.possessive, pronoun.chinese + "的")


def kin(w: Writer, owners: Sequence[Pronoun] = PRONOUNS, gender: str = "", names: str = "kin") -> NounPhrase:
    """Writes a relative, without 的: 我妈妈, 我们妈妈.

    Args:
        w: makes the choices.
        owners: the pronouns to choose from. "His husband" and "our wife" are left out.
        gender: "he" or "she" for relatives of that gender only.
        names: nouns or tags to choose from.

    Returns:
        The phrase.

    Source:
        Ours; chapter 10.
    """
    pronoun = w.pick(owners)
    several = len(pronoun.chinese) > 1
    unfit = {"he": ["husband"], "she": ["wife"]}.get(pronoun.english, ["husband", "wife"] if several else [])
    wanted = {"he": "male", "she": "female"}.get(gender, "kin")
    noun = w.pick(
        [n for n in nouns("kin") if n.english not in unfit and wanted in n.tags and n in nouns(names)]
        or nouns("mother")
    )
    phrase = weave(f"{pronoun.possessive}#p {noun.english}#n", f"{pronoun.chinese}#p {noun.chinese}#n")
    return NounPhrase(phrase, "it", noun)


def noun_phrase(w: Writer, noun: Noun, determiner: str, adjective: float = 0.25) -> NounPhrase:
    """Writes a noun with its determiner.

    Args:
        w: makes the choices.
        noun: the noun.
        determiner: a letter of `DETERMINERS`.
        adjective: the probability of an adjective, when one fits.

    Returns:
        The phrase and its number.

    Source:
        Ours; chapter 10.
    """
    if not noun.classifier and determiner not in "otd":
        return NounPhrase(_uncounted(w, noun, determiner), "it", noun)
    if not noun.classifier:
        return NounPhrase(head(w, noun, adjective=0), "it", noun)
    if determiner == "2":
        return NounPhrase(_several(w, noun, adjective), "they", noun)
    if determiner in "td":
        return _pointed(w, noun, determiner, adjective)
    plural = determiner == "s"
    inner = head(w, noun, plural, 0 if determiner in "nes" else adjective, "的" if determiner == "o" else "")
    if determiner == "s":
        return NounPhrase(inner, "they", noun)
    if determiner == "o":
        return NounPhrase(weave("{o} {n}", "{o} {n}", o=owner(w), n=inner), "it", noun)
    if determiner == "e":
        return NounPhrase(weave("the {n}", "{n}", n=inner), "it", noun)
    a = article(inner.english[0])
    chinese = "{n}" if determiner == "n" else f"一#a {noun.classifier} {{n}}"
    return NounPhrase(weave(f"{a}#a {{n}}", chinese, n=inner), "it", noun)
