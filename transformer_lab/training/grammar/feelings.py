"""Sentence patterns around what somebody feels, knows, wants or needs.

Floor 4b.
"""

from .clauses import VerbPhrase
from .noun_phrases import NounPhrase, is_amount, noun_phrase
from .nouns import nouns
from .people import WHO, person, someone
from .saying import Sentence, asked_about, say
from .verbs import STATIVE_PERSON, STATIVE_THING
from .words import Verb
from .writer import Writer

_GRADED = ("love", "like", "miss")  # 真的很爱


def feeling(w: Writer) -> Sentence:
    """Somebody loves, knows, misses … somebody: She loves you 她爱你.

    Args:
        w: makes the choices.

    Returns:
        As `transitive`.

    Source:
        Ours; chapter 10.
    """
    verb = w.pick((STATIVE_PERSON[0], *STATIVE_PERSON))
    who = WHO if w.chance(0.06) else person(w, 0.6)
    other = someone(w, who, "other" if who is WHO else verb.objects)
    return _state(w, verb, who, other)


def attitude(w: Writer) -> Sentence:
    """Somebody likes, wants, needs … a thing: I like tea 我喜欢茶.

    Args:
        w: makes the choices.

    Returns:
        As `transitive`.

    Source:
        Ours; chapter 10.
    """
    verb = w.pick((*STATIVE_THING[:1], *STATIVE_THING))
    who = WHO if w.chance(0.06) else person(w, 0.6)
    noun = w.pick(nouns(verb.objects))
    letters = verb.determiners
    if not noun.classifier:
        letters = "a" if "a" in letters and verb.english != "like" else "s"
    elif verb.english == "like":
        letters = "s" if "food" in noun.tags else "ssstdo"
    return _state(w, verb, who, noun_phrase(w, noun, w.pick(letters)))


def _state(w: Writer, verb: Verb, who: NounPhrase, other: NounPhrase) -> Sentence:
    forms = ["plain", "plain", "negative", "question", "also"]
    forms += ["really"] if verb.english not in ("know", "remember") else []
    forms += ["still"] if verb.english in ("love", "like", "remember", "miss", "need") else []
    forms += ["very_much"] if verb.english in ("love", "like", "miss") else []
    forms += ["always"] if verb.english == "love" else []
    if verb.english == "love" and "animal" in (other.noun.tags if other.noun else ()):
        forms = ["plain", "also", "really", "very_much", "still"]
    form = "plain" if who is WHO else w.pick(forms)
    while form == "question" and not asked_about(who):
        form = w.pick(forms)
    if form in ("negative", "question") and other.noun and is_amount(other):  # 不想要猫, not 不想要两只猫
        noun = other.noun
        other = noun_phrase(w, noun, "n" if noun.classifier else "s", 0)
    very = "很 " if form == "really" and verb.english in _GRADED else ""
    what = VerbPhrase(verb, "{o}", f"{very}{verb.chinese}#v {{o}}", (("o", other.phrase),))
    return say(w, f"stative_{form}", who, what)
