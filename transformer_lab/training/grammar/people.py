"""Who acts, and to whom it happens.

Floor 4b.
"""

from .noun_phrases import NounPhrase, kin, noun_phrase
from .nouns import nouns
from .phrase import weave, word
from .small_words import NAMES, NUMERALS, PRONOUNS, Pronoun
from .writer import Writer

WHO = NounPhrase(word("who", "谁"))


def _plural_of_people(w: Writer) -> NounPhrase:
    noun = w.pick(nouns("men"))
    return NounPhrase(weave(f"the {noun.plural}#n", f"{noun.chinese}们#n"), "they", noun)


def _couple(w: Writer) -> NounPhrase:
    first = w.pick(tuple(NAMES))
    second = w.pick([name for name in NAMES if name != first])
    words = weave("{a} and#c {b}", "{a} 和#c {b}", a=word(first, NAMES[first]), b=word(second, NAMES[second]))
    return NounPhrase(words, "they")


def person(w: Writer, pronouns: float = 0.45) -> NounPhrase:
    """Chooses somebody who can do what people do.

    Args:
        w: makes the choices.
        pronouns: the probability of a pronoun.

    Returns:
        A pronoun, a name, a relative, somebody with a role, or several of them.

    Source:
        Ours; chapter 10.
    """
    if w.chance(pronouns):
        pronoun = w.pick(PRONOUNS)
        return NounPhrase(word(pronoun.english, pronoun.chinese), pronoun.number, None, pronoun)
    kind = w.pick(("name", "name", "kin", "kin", "role", "role", "that", "mine", "people", "couple"))
    if kind == "name":
        return NounPhrase(w.entry(NAMES))
    if kind == "kin":
        return kin(w)
    if kind == "people":
        return _plural_of_people(w)
    if kind == "couple":
        return _couple(w)
    if kind == "mine":
        return noun_phrase(w, w.pick(nouns("friend teacher")), "o", 0)
    options = "role young" if kind == "role" else "role young nobare"
    noun = w.pick([n for n in nouns(options) if n.english != "friend"])
    return noun_phrase(w, noun, "e" if kind == "role" else w.pick("td"), 0.2)


def subject(w: Writer, tags: str, counted: bool = False) -> NounPhrase:
    """Chooses somebody, or an animal, of some semantic classes.

    Args:
        w: makes the choices.
        tags: nouns or tags; "person" also allows pronouns and names, "group" only several people.
        counted: whether "three cats" may be the subject: Chinese likes it in few forms.

    Returns:
        The subject.

    Source:
        Ours; chapter 10.
    """
    kinds = tags.split()
    if "group" in kinds:
        options = [p for p in PRONOUNS if p.english in ("we", "they")]
        pronoun = w.pick(options)
        return w.pick(
            (
                NounPhrase(word(pronoun.english, pronoun.chinese), "they", None, pronoun),
                _couple(w),
                _plural_of_people(w),
            )
        )
    if "person" in kinds and (len(kinds) == 1 or w.chance(0.6)):
        return person(w)
    noun = w.pick(nouns(" ".join(kind for kind in kinds if kind != "person")))
    if "person" in noun.tags:
        return noun_phrase(w, noun, w.pick("eetd"), 0.25)
    if counted and w.chance(0.2):
        words = weave(
            "{k} {n}", f"{{k}} {noun.classifier} {{n}}", k=w.entry(NUMERALS), n=word(noun.plural, noun.chinese)
        )
        return NounPhrase(words, "they", noun)
    letters = "eetd" + "oo" * ("pet" in noun.tags)
    return noun_phrase(w, noun, w.pick(letters), 0.25)


def someone(w: Writer, who: NounPhrase, relatives: str = "own") -> NounPhrase:
    """Chooses somebody else, as an object.

    Args:
        w: makes the choices.
        who: the subject.
        relatives: "own" for those of the subject (my mother), "other" for anybody else's, "family" for nobody but them.

    Returns:
        The object.

    Source:
        Ours; chapter 10.
    """
    others = [p for p in PRONOUNS if not _overlap(who, p)]
    if w.chance(0.5):
        pronoun = w.pick(others)
        return NounPhrase(word(pronoun.object, pronoun.chinese), pronoun.number, None, pronoun)
    if w.chance(0.35):
        names = {name: chinese for name, chinese in NAMES.items() if name not in who.phrase.english}
        return NounPhrase(w.entry(names))
    if w.chance(0.5) and who.pronoun:
        return kin(w, others if relatives == "other" else [who.pronoun])
    if relatives == "family":
        return kin(w, [who.pronoun] if who.pronoun else PRONOUNS[:2])
    noun = w.pick([n for n in nouns("role young nobare") if n is not who.noun and n.english != "friend"])
    return noun_phrase(w, noun, w.pick("td"), 0.2)


def _overlap(who: NounPhrase, pronoun: Pronoun) -> bool:
    """Says whether subject and object could be the same person, as in "we … me"."""
    pair = {who.pronoun.english if who.pronoun else "", pronoun.english}
    return len(pair) == 1 or pair == {"I", "we"}
