"""Nouns, verbs and adjectives as the lexicon holds them, with their English forms.

Floor 4b.
"""

from dataclasses import dataclass

_PLURALS = {
    "child": "children", "man": "men", "woman": "women", "mouse": "mice", "fish": "fish", "sheep": "sheep", "knife": "knives",
    "wife": "wives",
}  # fmt: skip
_VOWELS = "aeiou"


def _with_s(english: str) -> str:
    """Adds the -s of plurals and of the third person."""
    if english.endswith(("s", "x", "ch", "sh", "o")) and english != "photo" and english != "piano":
        return english + "es"
    return english[:-1] + "ies" if english.endswith("y") and english[-2] not in _VOWELS else english + "s"


@dataclass(frozen=True)
class Noun:
    """A noun.

    Args:
        english: the singular.
        chinese: its translation.
        classifier: the Chinese measure word that counts it; empty for what is not counted.
        tags: semantic classes, which decide what goes with what.

    Source:
        Ours; chapter 10.
    """

    english: str
    chinese: str
    classifier: str
    tags: frozenset[str]

    @property
    def plural(self) -> str:
        """The English plural."""
        return _PLURALS.get(self.english) or _with_s(self.english)


def read_nouns(rows: str) -> dict[str, Noun]:
    """Reads a table of nouns.

    Args:
        rows: one noun a line: English, Chinese, classifier (or -), tags, separated by spaces; `_` is a space.

    Returns:
        {English: noun}.

    Source:
        Ours; chapter 10.
    """
    nouns = {}
    for row in filter(None, map(str.strip, rows.splitlines())):
        english, chinese, classifier, *tags = row.split()
        english = english.replace("_", " ")
        nouns[english] = Noun(english, chinese, classifier.strip("-"), frozenset(tags))
    return nouns


@dataclass(frozen=True)
class Verb:
    """A verb.

    Args:
        english: the base form; words after the first do not change ("look for").
        chinese: its translation.
        past: when it is irregular.
        participle: when it differs from the past.
        ing: when the last letter is doubled or dropped.
        forms: one letter for each form that sounds natural in Chinese; `clauses.FORMS` explains them.
        objects: nouns (or tags of nouns) that can follow it.
        determiners: which determiners suit those; `noun_phrases` explains the letters.
        subjects: who can do it, as tags.
        times: which times suit its past ("day", "week", "year").

    Source:
        Ours; chapter 10.
    """

    english: str
    chinese: str
    past: str = ""
    participle: str = ""
    ing: str = ""
    forms: str = ""
    objects: str = ""
    determiners: str = ""
    subjects: str = "person"
    times: str = "day"

    def _inflect(self, form: str) -> str:
        return " ".join([form, *self.english.split()[1:]])

    def third(self) -> str:
        """Returns the form that goes with "she".

        Returns:
            For example "goes".

        Source:
            Ours; chapter 10.
        """
        return self._inflect({"have": "has"}.get(self.english) or _with_s(self.english.split()[0]))

    def forms_of(self) -> dict[str, str]:
        """Returns the English forms by name.

        Returns:
            {"base", "third", "past", "part", "ing": form}.

        Source:
            Ours; chapter 10.
        """
        base = self.english.split()[0]
        ends_in_y = base.endswith("y") and base[-2] not in _VOWELS
        past = self.past or (base + "d" if base.endswith("e") else base[:-1] + "ied" if ends_in_y else base + "ed")
        ing = self.ing or (base[:-1] if base.endswith("e") and base[-2] not in "ei" else base) + "ing"
        forms = {"base": base, "past": past, "part": self.participle or past, "ing": ing}
        return {"third": self.third(), **{name: self._inflect(form) for name, form in forms.items()}}


@dataclass(frozen=True)
class Adjective:
    """An adjective.

    Args:
        english: its form before a noun.
        chinese: its translation before a noun, with 的 when it wants one.
        nouns: the nouns or tags of nouns before which it sounds natural.
        predicate: its translation after 很; empty when it is not said there.
        comparative: "bigger", or empty.

    Source:
        Ours; chapter 10.
    """

    english: str
    chinese: str
    nouns: frozenset[str]
    predicate: str = ""
    comparative: str = ""

    def fits(self, noun: Noun) -> bool:
        """Says whether the adjective can stand before a noun.

        Args:
            noun: the noun.

        Returns:
            Whether one of its tags, or the noun itself, is listed.

        Source:
            Ours; chapter 10.
        """
        return bool(self.chinese) and (noun.english in self.nouns or not self.nouns.isdisjoint(noun.tags))
