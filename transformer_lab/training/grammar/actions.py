"""Sentence patterns around what somebody does.

Floor 4b. A pattern takes the `Writer` and returns the sentence and whether it is a question.
"""

from collections.abc import Sequence

from .clauses import DEFINITE, IMPERATIVES, VerbPhrase
from .noun_phrases import is_amount, noun_phrase
from .nouns import nouns
from .people import WHO, someone
from .saying import YOU, Sentence, actor, form_for, say, thing_for
from .verbs import ANIMAL_TRANSITIVE, DISPOSING, DITRANSITIVE, INTRANSITIVE, MOVING, TRANSITIVE, WITH_PERSON
from .words import Verb
from .writer import Writer


def transitive(w: Writer, verbs: Sequence[Verb] = TRANSITIVE) -> Sentence:
    """Somebody does something to a thing.

    Args:
        w: makes the choices.
        verbs: the verbs to choose from.

    Returns:
        For example "He read this book yesterday" 他昨天看了这本书, and that it is no question.

    Source:
        Ours; chapter 10.
    """
    verb = w.pick(verbs)
    form = form_for(w, verb)
    thing = thing_for(w, form, verb)
    order = f"{verb.chinese}#v + {{o}}"
    if form in DISPOSING.get(verb.english, ()) and not is_amount(thing):
        order = f"把 {{o}} {verb.chinese}#v +"
    what = VerbPhrase(verb, "{o}", order, (("o", thing.phrase),))
    return say(w, form, actor(w, form, verb), what)


def animal_transitive(w: Writer) -> Sentence:
    """An animal does something to another one, or eats: The dog is chasing the cat 狗在追猫.

    Args:
        w: makes the choices.

    Returns:
        As `transitive`.

    Source:
        Ours; chapter 10.
    """
    return transitive(w, ANIMAL_TRANSITIVE)


def with_person(w: Writer) -> Sentence:
    """Somebody does something that concerns somebody: I am waiting for him 我在等他.

    Args:
        w: makes the choices.

    Returns:
        As `transitive`.

    Source:
        Ours; chapter 10.
    """
    verb = w.pick(WITH_PERSON)
    form = form_for(w, verb)
    who = YOU if form in IMPERATIVES else actor(w, form, verb)
    other = someone(w, who, "other" if who is WHO else verb.objects)
    what = VerbPhrase(verb, "{o}", f"{verb.chinese}#v + {{o}}", (("o", other.phrase),))
    return say(w, form, who, what)


def intransitive(w: Writer) -> Sentence:
    """Somebody does something: The dog is sleeping 狗在睡觉.

    Args:
        w: makes the choices.

    Returns:
        As `transitive`.

    Source:
        Ours; chapter 10.
    """
    verb = w.pick(INTRANSITIVE)
    form = form_for(w, verb)
    english, _, rest = verb.english.partition(" ")
    if rest and verb.english.startswith("play"):
        action, thing = verb.chinese[0], verb.chinese[1:]
        noun = rest.split()[-1]
        verb = Verb(english, action, forms=verb.forms)
        what = VerbPhrase(verb, "the piano#o" if "piano" in rest else f"{noun}#o", f"{action}#v + {thing}#o")
    else:
        what = VerbPhrase(verb, "", f"{verb.chinese}#v +")
    return say(w, form, actor(w, form, verb), what, always="!" not in verb.forms)


def ditransitive(w: Writer) -> Sentence:
    """Somebody gives somebody something: I gave him a book 我给了他一本书; or gives it to somebody: 把这本书给了他.

    Args:
        w: makes the choices.

    Returns:
        As `transitive`.

    Source:
        Ours; chapter 10.
    """
    verb, core = w.pick((*DITRANSITIVE[:1] * 4, *DITRANSITIVE))
    form = form_for(w, verb)
    who = YOU if form in IMPERATIVES else actor(w, form, verb)
    receiver = someone(w, who, "other" if who is WHO else "own")
    thing = thing_for(w, form, verb)
    if verb.english == "give" and thing.noun and not (thing.noun.classifier or is_amount(thing)):  # 给他茶 says little
        thing = noun_phrase(w, nouns("apple")[0], "a")
    order, rest = core, "{i} {o}"
    if verb.english in MOVING:
        if form in DEFINITE or form.endswith("_negative") or w.chance(0.15):  # 不想寄给他书 is not said
            noun = w.pick([n for n in nouns(verb.objects) if n.classifier])
            thing = noun_phrase(w, noun, w.pick("eotd"))
        if not is_amount(thing):
            order, rest = f"把 {{o}} {verb.chinese}#v + {{i}}", w.pick(("{o} to#v {i}", "{i} {o}"))
    return say(w, form, who, VerbPhrase(verb, rest, order, (("i", receiver.phrase), ("o", thing.phrase))))
