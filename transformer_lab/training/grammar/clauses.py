"""Verb phrases, and the forms a clause can take: tense, negation, wish, ability, question, command.

Floor 4b. A form is a pair of templates. In the English one <base>, <third>, <past>, <part>, <ing> stand for the verb, <be>,
<do>, <have> for what agrees with the subject, <rest> for what follows the verb; in the Chinese one <core> is the verb with
everything that belongs to it, <了> and <过> the same with that particle in its place. Linked: 在 of the progressive with
"is", 会 with "will" or "can", 没 and 不 with "not", 过 with "have"; 了 and 吗 have no counterpart.
"""

from dataclasses import dataclass

from .noun_phrases import NounPhrase
from .phrase import NOTHING, Phrase, label, weave
from .words import Verb

BE = {"I": "am", "it": "is", "they": "are"}
WAS = {"I": "was", "it": "was", "they": "were"}
HAVE = {"I": "have", "it": "has", "they": "have"}
DO = {"I": "do", "it": "does", "they": "do"}
WANT = {"I": "want", "it": "wants", "they": "want"}
LIKE = {"I": "like", "it": "likes", "they": "like"}

STATEMENTS = {
    "habitual": ("{s} <third> <rest> {t}", "{s} {t} <core>"),
    "often": ("{s} {f} <third> <rest>", "{s} {f} <core>"),
    "habitual_negative": ("{s} <do> not#n <base> <rest>", "{s} 不#n <core>"),
    "progressive": ("{s} <be>#a <ing> <rest> {t}", "{s} {t} <在> <core>"),
    "still": ("{s} <be>#a still#l <ing> <rest>", "{s} 还#l <doing> <core>"),
    "progressive_negative": ("{s} <be>#a not#n <ing> <rest>", "{s} 没#n <doing> <core>"),
    "past": ("{s} <past> <rest> {t}", "{s} {t} <了>"),
    "past_negative": ("{s} did not#n <base> <rest> {t}", "{s} {t} 没#n <core>"),
    "already": ("{s} <have> already#y <part> <rest>", "{s} 已经#y <了>"),
    "experience": ("{s} <have>#x <part> <rest>", "{s} <过>"),
    "experience_negative": ("{s} <have>#x not#n <part> <rest>", "{s} 没#n <过>"),
    "never": ("{s} <have>#x never#n <part> <rest>", "{s} 从来没#n <过>"),
    "future": ("{s} will#m <base> <rest> {t}", "{s} {t} 会#m <core>"),
    "future_negative": ("{s} will#m not#n <base> <rest> {t}", "{s} {t} 不#n 会#m <core>"),
    "want": ("{s} <want>#m to <base> <rest> {t}", "{s} {t} 想#m <core>"),
    "want_negative": ("{s} <do> not#n want#m to <base> <rest> {t}", "{s} {t} 不#n 想#m <core>"),
    "like_to": ("{s} <like>#m to <base> <rest>", "{s} 喜欢#m <core>"),
    "like_to_negative": ("{s} <do> not#n like#m to <base> <rest>", "{s} 不#n 喜欢#m <core>"),
    "can": ("{s} can#m <base> <rest>", "{s} 会#m <core>"),
    "can_negative": ("{s} cannot#m <base> <rest>", "{s} 不会#m <core>"),
    "may": ("{s} can#m <base> <rest>", "{s} 可以#m <core>"),
    "must": ("{s} must#m <base> <rest> {t}", "{s} {t} 必须#m <core>"),
    "should": ("{s} should#m <base> <rest>", "{s} 应该#m <core>"),
    "please": ("please#p <base> <rest>", "请#p <core>"),
    "do_not": ("do not#n <base> <rest>", "别#n <core>"),
    "let_us": ("let#l us#u <base> <rest>", "我们#u <core> 吧#l"),
}
QUESTIONS = {
    "habitual_question": ("<do> {s} <base> <rest>", "{s} <core> 吗"),
    "progressive_question": ("<be>#a {s} <ing> <rest>", "{s} <doing> <core> 吗"),
    "past_question": ("did {s} <base> <rest> {t}", "{s} {t} <core> 了 吗"),
    "experience_question": ("<have>#x {s} <part> <rest>", "{s} <过> 吗"),
    "future_question": ("will#m {s} <base> <rest> {t}", "{s} {t} 会#m <core> 吗"),
    "want_question": ("<do> {s} want#m to <base> <rest> {t}", "{s} {t} 想#m <core> 吗"),
    "like_to_question": ("<do> {s} like#m to <base> <rest>", "{s} 喜欢#m <core> 吗"),
    "can_question": ("can#m {s} <base> <rest>", "{s} 会#m <core> 吗"),
    "may_question": ("can#m {s} <base> <rest>", "{s} 可以#m <core> 吗"),
    "request": ("can#m {s} <base> <rest>", "{s} 能#m <core> 吗"),
    "asked_past": ("{x} did {s} <base> <rest> {t}", "{s} {t} <了>"),
    "asked_progressive": ("{x} <be>#a {s} <ing> <rest>", "{s} 在#a <core>"),
    "asked_want": ("{x} <do> {s} want#m to <base> <rest>", "{s} 想#m <core>"),
    "asked_plain": ("{x} <do> {s} <base> <rest>", "{s} <core>"),
    "why_past": ("why#y did {s} <base> <rest>", "{s} 为什么#y <core>"),
    "why_progressive": ("why#y <be> {s} <ing> <rest>", "{s} 为什么#y <core>"),
    "when_future": ("when#y will {s} <base> <rest>", "{s} 什么时候#y <core>"),
}
STATIVE = {
    "plain": ("{s} <third> <rest>", "{s} <core>"),
    "negative": ("{s} <do> not#n <base> <rest>", "{s} 不#n <core>"),
    "also": ("{s} also#y <third> <rest>", "{s} 也#y <core>"),
    "still": ("{s} still#y <third> <rest>", "{s} 仍然#y <core>"),
    "really": ("{s} really#y <third> <rest>", "{s} 真的#y <core>"),
    "very_much": ("{s} <third> <rest> very#y much#y", "{s} 非常#y <core>"),
    "always": ("{s} will#m always#y <base> <rest>", "{s} 会#m 永远#y <core>"),
    "question": ("<do> {s} <base> <rest>", "{s} <core> 吗"),
}
FORMS = {**STATEMENTS, **QUESTIONS, **{f"stative_{name}": form for name, form in STATIVE.items()}}
LETTERS = {
    "h": ("habitual", "often", "habitual_negative", "habitual_question"),
    "p": ("past",),
    "n": ("past_negative",),
    "q": ("past_question",),
    "g": ("progressive", "still", "progressive_negative", "progressive_question"),
    "f": ("future", "future_negative", "future_question"),
    "w": ("want", "want_negative", "want_question"),
    "l": ("like_to", "like_to_negative", "like_to_question"),
    "c": ("can", "can_negative", "can_question"),
    "e": ("experience", "experience_negative", "never", "experience_question"),
    "a": ("already",),
    "m": ("must", "should"),
    "s": ("should",),
    "i": ("please", "do_not"),
    "r": ("request",),
    "u": ("let_us",),
    "y": ("why_past", "when_future"),
    "x": ("why_past",),
    "t": ("when_future",),
    "z": ("why_progressive",),
}
IMPERATIVES = ("please", "do_not", "let_us")
GENERIC = ("habitual", "often", "habitual_negative", "habitual_question", *LETTERS["l"], *LETTERS["c"])
DEFINITE = ("past_negative", "past_question", "why_past", "when_future", "do_not", *LETTERS["e"])


@dataclass(frozen=True)
class VerbPhrase:
    """A verb with all that belongs to it, in both orders.

    Args:
        verb: the verb.
        rest: English template of what follows the verb.
        core: Chinese template of the whole; the verb is labelled v, and + marks the place of 了 and 过 (no +: it takes none).
        slots: the phrases in these templates.
        progressive: what stands for "is …-ing": 在, or 正 of postures; empty where a place with 在 already says it.

    Source:
        Ours; chapter 10.
    """

    verb: Verb
    rest: str
    core: str
    slots: tuple[tuple[str, Phrase], ...] = ()
    progressive: str = "在"


def form_names(letters: str) -> list[str]:
    """Lists the forms that some letters stand for.

    Args:
        letters: keys of `LETTERS`; others are skipped.

    Returns:
        Names of `FORMS`, none twice.

    Source:
        Ours; chapter 10.
    """
    return list(dict.fromkeys(name for letter in letters for name in LETTERS.get(letter, ())))


def clause(form: str, who: NounPhrase, what: VerbPhrase, time: Phrase = NOTHING, fronted: bool = False) -> Phrase:
    """Writes a clause.

    Args:
        form: a name of `FORMS`.
        who: the subject; commands do not show it.
        what: the verb phrase.
        time: when, or how often; used where the form has a place for it.
        fronted: whether a time comes first in both languages (Yesterday I … 昨天我 …).

    Returns:
        The clause, without a final mark.

    Source:
        Ours; chapter 10.
    """
    english, chinese = FORMS[form]
    if fronted and time.english:
        english, chinese = "{t} " + english.replace(" {t}", ""), "{t} " + chinese.replace(" {t}", "")
    number, verb = who.number, what.verb.forms_of()
    verb["third"] = verb["third"] if number == "it" else verb["base"]
    for name, form_of in verb.items():
        english = english.replace(f"<{name}>", label(form_of, "v"))
    for name, table in (("be", BE), ("have", HAVE), ("do", DO), ("want", WANT), ("like", LIKE)):
        english = english.replace(f"<{name}>", table[number])
    english = english.replace("<rest>", what.rest)
    chinese = chinese.replace("<core>", what.core.replace("+", "")).replace("<了>", what.core.replace("+", "了"))
    chinese = chinese.replace("<过>", what.core.replace("+", "过#x"))
    now = "now" in time.english and form == "progressive"
    doing = {"在": "正在"}.get(what.progressive, "正") if now else what.progressive
    chinese = chinese.replace("<在>", label(doing, "a"))
    chinese = chinese.replace("<doing>", "在#a" if what.progressive == "在" else "")
    return weave(english, chinese, s=who.phrase, t=time, f=time, **dict(what.slots))
