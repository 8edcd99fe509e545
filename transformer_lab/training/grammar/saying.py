"""The choices that every verb pattern makes: which form, who, what, when.

Floor 4b.
"""

from .clauses import DEFINITE, GENERIC, QUESTIONS, VerbPhrase, clause, form_names
from .noun_phrases import NounPhrase, noun_phrase
from .nouns import nouns
from .people import WHO, subject
from .phrase import NOTHING, Phrase, word
from .small_words import FREQUENCIES, FUTURE_TIMES, HABITS, NOW, PAST_TIMES, PRONOUNS, YEARLY_FUTURE
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
    if form in ("want", "want_question", "must") and verb.times != "year":
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
    elif (form.endswith("_negative") or form == "progressive_question") and form not in form_names("e"):
        letters = letters.replace("a", "n").replace("2", "")
        if not noun.classifier:
            letters = "s"
    elif form in DEFINITE or form.startswith("why"):
        letters = "".join(letter for letter in letters if letter in "tdoe") or "s"
    elif form in (*form_names("g"),):
        letters = letters.replace("2", "") or "s"
    elif form == "already":  # 已经看了这本书
        letters = "".join(letter for letter in letters if letter in "tdoe") or letters
    if not noun.classifier and (form in form_names("g") or form in GENERIC):
        letters = "s"
    thing = noun_phrase(w, noun, w.pick(letters), 0 if verb.english == "make" else 0.25)
    while thing.number == "they" and verb.english in ("ride", "drive") and form not in GENERIC:  # one rides one horse
        thing = noun_phrase(w, noun, w.pick(letters))
    return thing
