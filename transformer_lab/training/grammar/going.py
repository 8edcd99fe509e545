"""Sentence patterns around going, coming and living.

Floor 4b.
"""

from .asking import somebody_else
from .clauses import BE, IMPERATIVES, VerbPhrase, form_names
from .noun_phrases import NounPhrase, noun_phrase
from .nouns import NOUNS
from .people import WHO, person, subject
from .phrase import Phrase, weave, word
from .places import INTO, INTO_VERBS, place
from .saying import YOU, Sentence, asked_about, say
from .small_words import CITIES, COUNTRIES, NAMES, PRONOUNS
from .words import Verb
from .writer import Writer

_NEARBY = "park hospital library shop station restaurant office"
_GO = Verb("go", "去", "went", "gone", forms="hpnqfwlmuy")
_GO_FAR = Verb("go", "去", "went", "gone", forms="pqfwy", times="year")
_HAVE_BEEN = Verb("go", "去", "went", "been", forms="e", times="year")
_COME = Verb("come", "来", "came", "come", ing="coming", forms="pnfwqiy")
_GO_BACK = Verb("go back", "回", "went", "gone", forms="fwm")
_LIVE = Verb("live", "住", ing="living", times="year")


def _far(w: Writer) -> Phrase:
    return w.entry(CITIES if w.chance(0.5) else COUNTRIES)


def _near(w: Writer) -> Phrase:
    return word("school", "学校") if w.chance(0.25) else place(w, w.pick(_NEARBY.split()), "e")


def _destination(w: Writer, verb: Verb) -> tuple[str, Phrase]:
    """Chooses where to; "here" and "there" take no preposition."""
    if verb is _COME:
        here, home = word("here", "这里"), weave("my#m house#h", "我#m 家#h")
        return w.pick((("", here), ("to", home), ("to", home), ("to", word("school", "学校"))))
    if verb in (_GO_FAR, _HAVE_BEEN):
        return "to", _far(w)
    if verb is _GO_BACK:
        return "to", w.pick((word("school", "学校"), place(w, "office", "e"), place(w, "hospital", "e"), _far(w)))
    return ("", word("there", "那里")) if w.chance(0.1) else ("to", _near(w))


def _home(w: Writer, name: str, negative: bool) -> Phrase:
    """Chooses a house or a village; 一 is not said under negation."""
    chance = 0.0 if negative else 0.5 if name == "house" else 0.33
    return noun_phrase(w, NOUNS[name], "a", 1.0).phrase if w.chance(chance) else place(w, name, "td")


def motion(w: Writer) -> Sentence:
    """Somebody goes or comes somewhere: He went to Beijing last year 他去年去了北京.

    Args:
        w: makes the choices.

    Returns:
        As `actions.transitive`.

    Source:
        Ours; chapter 10.
    """
    if w.chance(0.06):
        who = somebody_else(w)
        return weave(f"where#w {BE[who.number]} {{s}} going#g", "{s} 要#g 去#g 哪里#w", s=who.phrase), True
    verb = w.pick((_GO, _GO, _GO_FAR, _HAVE_BEEN, _COME, _GO_BACK))
    form = w.pick(form_names(verb.forms))
    who = YOU if form in IMPERATIVES else WHO if form in ("past", "want") and w.chance(0.1) else person(w)
    while (form.endswith("question") or form.startswith(("why", "when"))) and not asked_about(who):
        who = person(w)
    to, where = _destination(w, verb)
    if where.english[:1] == ("my",) and who not in (YOU, WHO):
        pronoun = w.pick(PRONOUNS[1:4])
        who = w.pick(
            (
                NounPhrase(word(pronoun.english, pronoun.chinese), pronoun.number, None, pronoun),
                NounPhrase(w.entry(NAMES)),
            )
        )
    rest = f"{to} {{p}}".strip()
    core = "来#v {p} +" if verb is _COME else f"{verb.chinese}#v + {{p}}"
    return say(w, form, who, VerbPhrase(verb, rest, core, (("p", where),)))


def into(w: Writer) -> Sentence:
    """Somebody moves into, out of or onto something: The cat jumped onto the table 猫跳到了桌子上.

    Args:
        w: makes the choices.

    Returns:
        As `actions.transitive`.

    Source:
        Ours; chapter 10.
    """
    name, chinese, tags, preposition, after, names = w.pick(INTO)
    english = " ".join(f"{part}#p" for part in preposition.split())
    verb, (manner, way) = INTO_VERBS[name], chinese
    core = f"{manner}#v {way}#p + {{p}}" + (f" {after}#p" if after else "")
    where = place(w, w.pick(names.split()), "eeeo")
    form = w.pick(("past", "past", "past", "past_negative"))
    return say(w, form, subject(w, tags), VerbPhrase(verb, f"{english} {{p}}", core, (("p", where),)))


def living(w: Writer) -> Sentence:
    """Somebody lives somewhere: I live in Beijing 我住在北京.

    Args:
        w: makes the choices.

    Returns:
        As `actions.transitive`.

    Source:
        Ours; chapter 10.
    """
    if w.chance(0.1):
        who = somebody_else(w)
        do = "does" if who.number == "it" else "do"
        return weave(f"where#w {do} {{s}} live#v", "{s} 住#v 在#w 哪里#w", s=who.phrase), True
    form = w.pick(("stative_plain", "stative_plain", "stative_negative", "stative_question", "stative_still", "stative_also",
                   "past", "want", "want_question", "want_negative"))  # fmt: skip
    kind = w.pick(("city", "city", "village", "house", "near"))
    if kind == "city":
        rest, core, where = "in#p {p}", "住#v 在#p {p}", _far(w) if w.chance(0.8) else place(w, "city", "td")
    elif kind == "near":
        names = "school hospital park station library".split()
        rest, core, where = "near#p {p}", "住#v 在#p {p} 附近#p", place(w, w.pick(names), "e")
    else:
        rest, core, where = "in#p {p}", "住#v 在#p {p} 里#p", _home(w, kind, form.endswith("negative"))
    who = person(w)
    while form.endswith("question") and not asked_about(who):
        who = person(w)
    return say(w, form, who, VerbPhrase(_LIVE, rest, core, (("p", where),)), always=form == "past")
