"""Sentence patterns around what somebody does.

Floor 4b. A pattern takes the `Writer` and returns the sentence and whether it is a question.
"""

from collections.abc import Sequence

from .clauses import DEFINITE, GENERIC, IMPERATIVES, QUESTIONS, VerbPhrase, clause, form_names
from .noun_phrases import NounPhrase, noun_phrase
from .nouns import nouns
from .people import WHO, someone, subject
from .phrase import NOTHING, Phrase, word
from .small_words import FREQUENCIES, FUTURE_TIMES, HABITS, NOW, PAST_TIMES, PRONOUNS, YEARLY_FUTURE
from .verbs import ANIMAL_TRANSITIVE, DITRANSITIVE, INTRANSITIVE, MOVING, TRANSITIVE, WITH_PERSON
from .words import Verb
from .writer import Writer

Sentence = tuple[Phrase, bool]
BOOK = nouns("book")[0]
COUNTED = ("progressive", "still", "past")  # "three cats are sleeping", but not "three cats do not sleep"
WHO_FORMS = ("past", "progressive", "want", "can")
YOU = NounPhrase(word("you", "你"), "they", None, PRONOUNS[1])


def asked_about(who: NounPhrase) -> bool:
    """Says whether a question about somebody sounds natural: not about the speaker.

    Args:
        who: the subject.

    Returns:
        False for "I" and "we".

    Source:
        Ours; chapter 10.
    """
    return who.pronoun is None or who.pronoun.english not in ("I", "we")


def form_for(w: Writer, verb: Verb) -> str:
    """Chooses a form that suits a verb; the past comes more often than the others.

    Args:
        w: makes the choices.
        verb: its `forms` say which.

    Returns:
        A name of `clauses.FORMS`.

    Source:
        Ours; chapter 10.
    """
    return "past" if "p" in verb.forms and w.chance(0.2) else w.pick(form_names(verb.forms))


def time_for(w: Writer, form: str, verb: Verb, always: bool = False) -> Phrase:
    """Chooses when.

    Args:
        w: makes the choices.
        form: a name of `clauses.FORMS`.
        verb: its `times` say how far back its past may lie.
        always: whether a past without a time would sound unfinished.

    Returns:
        A time, how often, or nothing.

    Source:
        Ours; chapter 10.
    """
    if form == "habitual":
        return w.entry(HABITS)
    if form == "often":
        return w.entry(FREQUENCIES)
    if form == "progressive":
        return w.entry(NOW) if w.chance(0.2) else NOTHING
    if form in ("past", "past_negative", "past_question"):
        return w.entry(PAST_TIMES[verb.times]) if always or w.chance(0.4) else NOTHING
    if form.startswith("future"):
        return w.entry(YEARLY_FUTURE if verb.times == "year" else FUTURE_TIMES) if w.chance(0.6) else NOTHING
    if form.startswith("want") or form == "must":
        return w.entry(YEARLY_FUTURE if verb.times == "year" else FUTURE_TIMES) if w.chance(0.2) else NOTHING
    return NOTHING


def say(w: Writer, form: str, who: NounPhrase, what: VerbPhrase, always: bool = False, timed: bool = True) -> Sentence:
    """Writes a clause with a time that suits it.

    Args:
        w: makes the choices.
        form: a name of `clauses.FORMS`.
        who: the subject.
        what: the verb phrase.
        always: as for `time_for`.
        timed: whether a past may have a time at all.

    Returns:
        The sentence, and whether it is a question.

    Source:
        Ours; chapter 10.
    """
    time = time_for(w, form, what.verb, always) if timed or not form.startswith("past") else NOTHING
    fronted = form in ("past", "future") and who is not WHO and w.chance(0.25)
    asked = form in QUESTIONS or form == "stative_question" or who is WHO
    return clause(form, who, what, time, fronted), asked


def actor(w: Writer, form: str, verb: Verb) -> NounPhrase:
    """Chooses a subject that suits the form: "you" for requests, now and then "who".

    Args:
        w: makes the choices.
        form: a name of `clauses.FORMS`.
        verb: the verb.

    Returns:
        The subject.

    Source:
        Ours; chapter 10.
    """
    if form == "request":
        return YOU
    if "k" in verb.forms and form in WHO_FORMS and w.chance(0.12):
        return WHO
    who = subject(w, verb.subjects, form in COUNTED)
    while (form.endswith("question") or form.startswith(("why", "when"))) and not asked_about(who):
        who = subject(w, verb.subjects)
    return who


def thing_for(w: Writer, form: str, verb: Verb) -> NounPhrase:
    """Chooses an object that suits the verb and the form.

    Args:
        w: makes the choices.
        form: a name of `clauses.FORMS`.
        verb: the verb.

    Returns:
        The object.

    Source:
        Ours; chapter 10.
    """
    options = nouns(verb.objects)
    noun = BOOK if BOOK in options and w.chance(0.1) else w.pick(options)
    if form in form_names("e") and not noun.classifier:  # 看过电视 says little
        noun = w.pick([n for n in nouns(verb.objects) if n.classifier])
    letters = verb.determiners
    if form in GENERIC:
        riding = verb.english in ("ride", "drive")
        letters = "n" if riding else "eo" if verb.english == "feed" else "s"
    elif form.endswith("_negative") and form not in form_names("ge"):
        letters = letters.replace("a", "n").replace("2", "")
        if not noun.classifier:
            letters = "s"
    elif form in DEFINITE or form.startswith("why"):
        letters = "".join(letter for letter in letters if letter in "tdoe") or "s"
    elif form in (*form_names("g"),):
        letters = letters.replace("2", "") or "s"
    if not noun.classifier and (form in form_names("g") or form in GENERIC):
        letters = "s"
    return noun_phrase(w, noun, w.pick(letters), 0 if verb.english == "make" else 0.25)


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
    what = VerbPhrase(verb, "{o}", f"{verb.chinese}#v + {{o}}", (("o", thing.phrase),))
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
    if thing.noun and not thing.noun.classifier and (form in DEFINITE or len(thing.phrase.english) < 3):
        thing = noun_phrase(w, nouns("apple")[0] if verb.english == "give" else thing.noun, "t")
    order, rest = core, "{i} {o}"
    if verb.english in MOVING and w.chance(0.25):
        noun = w.pick([n for n in nouns(verb.objects) if n.classifier])
        thing = noun_phrase(w, noun, w.pick("etd"))
        order, rest = f"把 {{o}} {verb.chinese}#v + {{i}}", "{o} to#v {i}"
        if form in ("past_negative", "past_question", "do_not", "want_negative"):
            form = "past"
    return say(w, form, who, VerbPhrase(verb, rest, order, (("i", receiver.phrase), ("o", thing.phrase))))
