"""Sentence patterns around what something is and what it is like.

Floor 4b.
"""

from .clauses import BE, WANT, WAS
from .noun_phrases import NounPhrase, head, kin, noun_phrase, owner
from .nouns import nouns
from .people import person
from .phrase import NOTHING, weave, word
from .saying import Sentence, asked_about
from .small_words import NAMES, PREDICATES, PRONOUNS
from .words import Adjective
from .writer import Writer


def what_it_is(w: Writer) -> Sentence:
    """Says what this is: This is a book 这是一本书; These are my books 这些是我的书.

    Args:
        w: makes the choices.

    Returns:
        The sentence, and whether it is a question.

    Source:
        Ours; chapter 10.
    """
    near, form = w.chance(0.5), w.pick(("plain", "plain", "not", "question"))
    noun = w.pick(nouns("small clothes furniture seat pet farm animal plant vehicle room house"))
    if w.chance(0.2):
        this, chinese = ("these", "这些") if near else ("those", "那些")
        slots = {"o": owner(w), "n": word(noun.plural, noun.chinese)}
        english, chinese = f"{this}#t {{be}} {{o}} {{n}}", f"{chinese}#t 是#b {{o}} {{n}}"
        be = "are"
    else:
        this, chinese = ("this", "这") if near else ("that", "那")
        letter = w.pick("aaaoo")
        letter = "n" if letter == "a" and form == "not" else letter  # 这不是床
        thing = kin(w) if w.chance(0.1) else noun_phrase(w, noun, letter)
        slots = {"n": thing.phrase}
        english, chinese = f"{this}#t {{be}} {{n}}", f"{chinese}#t 是#b {{n}}"
        be = "is"
    if form == "question":
        english = english.replace(" {be}", "")
        return weave(f"{be}#b {english}", f"{chinese} 吗", **slots), True
    if form == "not":
        return weave(english.replace("{be}", f"{be}#b not#x"), chinese.replace("是#b", "不#x 是#b"), **slots), False
    return weave(english.replace("{be}", f"{be}#b"), chinese, **slots), False


def who_it_is(w: Writer) -> Sentence:
    """Says who somebody is: She is my friend 她是我的朋友; He is a good doctor 他是一位好医生.

    Args:
        w: makes the choices.

    Returns:
        The sentence, and whether it is a question.

    Source:
        Ours; chapter 10.
    """
    pronoun = w.pick([p for p in PRONOUNS if p.english not in ("we", "they")])
    who = NounPhrase(word(pronoun.english, pronoun.chinese), pronoun.number, None, pronoun)
    if pronoun.number == "it" and w.chance(0.3):
        who = NounPhrase(w.entry(NAMES))
    form = w.pick(("plain", "plain", "not", "question"))
    skipped = {pronoun.english} | ({"I", "we"} if form == "question" or pronoun.english == "I" else set())
    others = [p for p in PRONOUNS if p.english not in skipped]
    kind = w.pick(("role", "role", "good" if form != "not" else "role", "friend", "kin", "become"))
    what = noun_phrase(w, w.pick([n for n in nouns("role") if n.english != "friend"]), "n").phrase
    if kind == "become" and pronoun.english != "it":
        want = WANT[who.number]
        return weave(f"{{s}} {want}#m to be#b {{n}}", "{s} 想#m 当#b {n}", s=who.phrase, n=what), False
    if kind == "good":
        what = noun_phrase(w, w.pick(nouns("doctor teacher nurse singer student")), "a", 1.0).phrase
    elif kind == "friend":
        role = w.pick(nouns("friend teacher student doctor"))
        what = weave(
            "{o} {n}", "{o} {n}", o=owner(w, others), n=head(w, role, adjective=0.2 if role.english == "friend" else 0)
        )
    elif kind == "kin":
        if pronoun.english in ("I", "you"):
            pronoun, who = PRONOUNS[2], NounPhrase(word("he", "他"), "it", None, PRONOUNS[2])
        what = kin(w, [p for p in others if p.number != "it"], pronoun.english).phrase
        who = NounPhrase(word(pronoun.english, pronoun.chinese), "it", None, pronoun)
    be, slots = BE[who.number], {"s": who.phrase, "n": what}
    if form == "question" and who.number != "I":
        return weave(f"{be}#b {{s}} {{n}}", "{s} 是#b {n} 吗", **slots), True
    if form == "not":
        return weave(f"{{s}} {be}#b not#x {{n}}", "{s} 不#x 是#b {n}", **slots), False
    return weave(f"{{s}} {be}#b {{n}}", "{s} 是#b {n}", **slots), False


def _described(w: Writer, adjective: Adjective) -> NounPhrase:
    """Chooses whom or what an adjective is said of."""
    tags = adjective.nouns
    if "state" in tags or ("who" in tags and w.chance(0.5)):
        return person(w)
    noun = w.pick([n for n in nouns(" ".join(t for t in tags - {"state", "who"})) if n.english != "friend"])
    if "kin" in noun.tags:
        return kin(w, names=noun.english)
    if "nobare" in noun.tags or "institution" in noun.tags:
        return noun_phrase(w, noun, w.pick("td"), 0)
    if not noun.classifier:
        return noun_phrase(w, noun, "s" if noun.tags & {"language", "meal"} else "e")
    return noun_phrase(w, noun, w.pick("oottd" if noun.classifier and "person" not in noun.tags else "et"), 0)


def what_it_is_like(w: Writer) -> Sentence:
    """Says what somebody or something is like: This flower is very beautiful 这朵花非常漂亮.

    Args:
        w: makes the choices.

    Returns:
        The sentence, and whether it is a question.

    Source:
        Ours; chapter 10.
    """
    adjective = w.pick(PREDICATES)
    who = _described(w, adjective)
    be, a, chinese = BE[who.number], f"{adjective.english}#a", f"{adjective.predicate}#a"
    slots = {"s": who.phrase}
    forms = ["plain", "plain", "very", "not", "question", "too"]
    forms += ["was", "was", "look", "why"] if "state" in adjective.nouns else []
    form = w.pick(forms)
    if form in ("question", "why") and not asked_about(who):
        form = "plain"
    if form == "too" and not adjective.nouns & {"state", "tool", "box", "tea", "question", "house"}:
        form = "very"
    was = w.pick(("yesterday:昨天", "last night:昨晚", "this morning:今天早上")).split(":")
    look = "looks" if who.number == "it" else "look"
    english, order = {
        "plain": (f"{{s}} {be} {a}", f"{{s}} 很 {chinese}"),
        "very": (f"{{s}} {be} very#y {a}", f"{{s}} 非常#y {chinese}"),
        "not": (f"{{s}} {be} not#n {a}", f"{{s}} {'没' if chinese[0] in '有生' else '不'}#n {chinese}"),
        "too": (f"{{s}} {be} too#y {a}", f"{{s}} 太#y {chinese} 了"),
        "was": (f"{{s}} {WAS[who.number]} {a} {{t}}", f"{{s}} {{t}} 很 {chinese}"),
        "look": (f"{{s}} {look}#l {a}", f"{{s}} 看起来#l 很 {chinese}"),
        "question": (f"{be} {{s}} {a}", f"{{s}} {chinese} 吗"),
        "why": (f"why#y {be} {{s}} so#z {a}", f"{{s}} 为什么#y 这么#z {chinese}"),
    }[form]
    return weave(english, order, t=word(*was) if form == "was" else NOTHING, **slots), form in ("question", "why")


def comparison(w: Writer) -> Sentence:
    """Compares two people or things: Tom is taller than Mary 汤姆比玛丽高.

    Args:
        w: makes the choices.

    Returns:
        The sentence, and whether it is a question.

    Source:
        Ours; chapter 10.
    """
    adjective = w.pick([a for a in PREDICATES if a.comparative])
    more = " ".join(f"{part}#a" for part in adjective.comparative.split())
    chinese = f"{adjective.predicate}#a"
    if adjective.nouns & {"who", "state"}:
        while (first := person(w, 0.5)).noun and (first.number == "they" or "kin" in first.noun.tags):
            pass
        names = {n: z for n, z in NAMES.items() if n not in first.phrase.english}
        other = w.entry(names) if w.chance(0.6) else kin(w, [first.pronoun or PRONOUNS[0]], names="sibling").phrase
        while other.chinese == first.phrase.chinese:
            other = w.entry(names)
        slots = {"a": first.phrase, "b": other}
        return weave(f"{{a}} {BE[first.number]} {more} than#c {{b}}", f"{{a}} 比#c {{b}} {chinese}", **slots), False
    noun = w.pick([n for n in nouns(" ".join(adjective.nouns)) if n.classifier])
    slots = {"n": word(noun.english, noun.chinese)}
    if w.chance(0.5):
        return weave(
            f"this#t {{n}} is {more} than#c that#d one#o",
            f"这#t {noun.classifier} {{n}} 比#c 那#d {noun.classifier}#o {chinese}",
            **slots,
        ), False
    return weave(
        f"is this#t {{n}} {more} than#c that#d one#o",
        f"这#t {noun.classifier} {{n}} 比#c 那#d {noun.classifier}#o {chinese} 吗",
        **slots,
    ), True
