"""Sentence patterns that ask with what, who, where, whose, how many, which and how.

Floor 4b. Chinese leaves the question word where its answer would stand.
"""

from .clauses import BE, DO, VerbPhrase, clause
from .noun_phrases import NounPhrase, head, kin, noun_phrase
from .nouns import nouns
from .people import person, someone
from .phrase import NOTHING, weave, word
from .saying import Sentence, asked_about, time_for
from .small_words import NAMES, PRONOUNS
from .verbs import DITRANSITIVE, STATIVE_PERSON, STATIVE_THING, TRANSITIVE, WITH_PERSON
from .words import Verb
from .writer import Writer

DO_SOMETHING = Verb("do", "做", "did", "done", ing="doing")


def somebody_else(w: Writer, pronouns: float = 0.6) -> NounPhrase:
    """Chooses somebody whom one may ask about: anybody but "I" and "we".

    Args:
        w: makes the choices.
        pronouns: the probability of a pronoun.

    Returns:
        The subject.

    Source:
        Ours; chapter 10.
    """
    while not asked_about(who := person(w, pronouns)):
        pass
    return who


def asked_object(w: Writer) -> Sentence:
    """Asks for the object, as in 你在等谁: who are you waiting for.

    Args:
        w: makes the choices.

    Returns:
        The question.

    Source:
        Ours; chapter 10.
    """
    who, x = somebody_else(w), word("what", "什么")
    kind = w.pick(("thing", "thing", "do", "person", "feeling", "attitude", "give"))
    rest, core, slots = "", "{v} + {x}", (("x", x),)
    if kind == "thing":
        names = "read write buy eat drink draw make learn find"
        verb = w.pick([v for v in TRANSITIVE if v.english in names.split()])
        forms = [f for letter, f in zip("pgw", ("past", "progressive", "want"), strict=True) if letter in verb.forms]
    elif kind == "do":
        verb, forms = DO_SOMETHING, ["past", "progressive", "want"]
    elif kind == "person":
        verb, slots = w.pick([v for v in WITH_PERSON if v.english != "thank"]), (("x", word("who", "谁")),)
        forms = [f for letter, f in zip("pgw", ("past", "progressive", "want"), strict=True) if letter in verb.forms]
    elif kind == "feeling":
        verb, forms, slots = w.pick(STATIVE_PERSON), ["plain"], (("x", word("who", "谁")),)
    elif kind == "attitude":
        verb, forms = (
            w.pick([v for v in STATIVE_THING if v.english in ("like", "want", "need")]),
            ["plain"],
        )
    else:
        verb, core = w.pick([(v, c) for v, c in DITRANSITIVE if v.english in ("give", "send", "buy", "show")])
        rest, core = "{i}", core.replace("{o}", "{x}")
        forms, slots = ["past", "want"], (*slots, ("i", someone(w, who).phrase))
    core = core.replace("{v}", f"{verb.chinese}#v")
    form = f"asked_{w.pick(forms)}"
    time = time_for(w, "past", verb) if form == "asked_past" else NOTHING
    return clause(form, who, VerbPhrase(verb, rest, core, slots), time), True


def what_and_who(w: Writer) -> Sentence:
    """Asks what, who or whose this is, as in 这是谁的书: whose book is this.

    Args:
        w: makes the choices.

    Returns:
        The question.

    Source:
        Ours; chapter 10.
    """
    near = w.chance(0.5)
    this = word("this", "这") if near else word("that", "那")
    kind = w.pick(("what", "who", "who_pronoun", "who_that", "whose", "whose", "whose"))
    if kind == "what":
        return weave("what#w is#b {t}", "{t} 是#b 什么#w", t=this), True
    if kind == "who":
        return weave("who#w is#b {t}", "{t} 是#b 谁#w", t=this), True
    if kind == "who_pronoun":
        pronoun = w.pick([p for p in PRONOUNS if p.english not in ("I", "we")])
        slot = word(pronoun.english, pronoun.chinese)
        return weave(f"who#w {BE[pronoun.number]}#b {{t}}", "{t} 是#b 谁#w", t=slot), True
    if kind == "who_that":
        noun = w.pick(nouns("nobare young role"))
        noun = noun if noun.english != "friend" else nouns("girl")[0]
        who = noun_phrase(w, noun, w.pick("td"), 0.2)
        return weave(f"who#w {BE[who.number]}#b {{t}}", "{t} 是#b 谁#w", t=who.phrase), True
    noun = w.pick(nouns("small clothes vehicle pet seat"))
    slots = {"t": this, "n": head(w, noun, adjective=0.15, unfit="的")}
    return weave("whose#w {n} is#b {t}", "{t} 是#b 谁#w 的#w {n}", **slots), True


def which_and_how_many(w: Writer) -> Sentence:
    """Asks which one, or how many, as in 你有几本书: how many books do you have.

    Args:
        w: makes the choices.

    Returns:
        The question.

    Source:
        Ours; chapter 10.
    """
    who = somebody_else(w)
    if w.chance(0.5):
        noun = w.pick(nouns("reading told clothes pet fruit toy city flower"))
        verb = w.pick([v for v in STATIVE_THING if v.english in ("like", "want")])
        if "city" in noun.english or noun.tags & {"told"}:
            verb = STATIVE_THING[0]
        slots = {"s": who.phrase, "n": word(noun.english, noun.chinese)}
        english = f"which#w {{n}} {DO[who.number]} {{s}} {verb.english}#v"
        return weave(english, f"{{s}} {verb.chinese}#v 哪#w {noun.classifier} {{n}}", **slots), True
    owned = w.chance(0.6)
    noun = w.pick(nouns("reading dictionary pet fruit sibling offspring hat clothes tool toy vehicle umbrella farm" if owned else
                        "reading fruit hat clothes toy cake ticket flower"))  # fmt: skip
    slots = {"s": who.phrase, "n": word(noun.plural, noun.chinese)}
    if owned:
        english = f"how#k many#k {{n}} {DO[who.number]} {{s}} have#v"
        return weave(english, f"{{s}} 有#v 几#k {noun.classifier} {{n}}", **slots), True
    return weave("how#k many#k {n} did {s} buy#v", f"{{s}} 买#v 了 几#k {noun.classifier} {{n}}", **slots), True


def how_is(w: Writer) -> Sentence:
    """Asks how somebody is, as in 你妈妈好吗: how is your mother.

    Args:
        w: makes the choices.

    Returns:
        The question.

    Source:
        Ours; chapter 10.
    """
    pronoun = w.pick(PRONOUNS[1:4])
    mine = NounPhrase(word(pronoun.english, pronoun.chinese), pronoun.number)
    who = w.pick((mine, kin(w, PRONOUNS[1:4]), NounPhrase(w.entry(NAMES))))
    return weave(f"how#h {BE[who.number]} {{s}}", "{s} 好#h 吗", s=who.phrase), True
