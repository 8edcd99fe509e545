"""Sentence patterns around having and wearing, the weather, and what somebody thinks.

Floor 4b.
"""

from .asking import somebody_else
from .being import what_it_is_like
from .clauses import BE, DO, HAVE
from .feelings import attitude, feeling
from .noun_phrases import NounPhrase, article, kin, noun_phrase
from .nouns import nouns
from .people import person
from .phrase import weave, word
from .saying import Sentence, asked_about
from .small_words import NAMES, PAST_TIMES, WEEKDAYS
from .writer import Writer

_WEATHER = {"cold": "冷", "hot": "热", "warm": "暖和"}
_WHERE_AND_WHEN = {"today": "今天", "here": "这里", "in Beijing": "北京", "in London": "伦敦", "in Paris": "巴黎"}
_SOON = {"tomorrow": "明天", "tonight": "今晚", "tomorrow morning": "明天早上", "next week": "下周", **WEEKDAYS}
_FALLING = {"rain": ("rained", "raining", "下雨"), "snow": ("snowed", "snowing", "下雪")}
_FALLS = (  # English, Chinese, question?
    ("it is#a <ing>#v", "正在#a <z>", False),
    ("it is#a still#l <ing>#v", "还#l 在#a <z>", False),
    ("is#a it <ing>#v", "在#a <z> 吗", True),
    ("it will#m <base>#v {t}", "{t} 会#m <z>", False),
    ("it will#m not#n <base>#v {t}", "{t} 不#n 会#m <z>", False),
    ("will#m it <base>#v {t}", "{t} 会#m <z> 吗", True),
    ("it <past>#v {t}", "{t} <z> 了", False),
    ("it did not#n <base>#v {t}", "{t} 没#n <z>", False),
    ("did it <base>#v {t}", "{t} <z> 了 吗", True),
)
_THINKING = {"think": ("thinks", "觉得"), "know": ("knows", "知道"), "say": ("says", "说"), "hope": ("hopes", "希望")}


def having(w: Writer) -> Sentence:
    """Says what somebody has: I have two cats 我有两只猫.

    Args:
        w: makes the choices.

    Returns:
        The sentence, and whether it is a question.

    Source:
        Ours; chapter 10.
    """
    who = person(w, 0.6)
    noun = w.pick(nouns("pet reading dictionary tool umbrella watch ticket key hat clothes vehicle house farm sibling offspring toy bag map"
                        " question job fruit mat friend"))  # fmt: skip
    if "offspring" in noun.tags and "young" in (who.noun.tags if who.noun else ()):
        noun = nouns("book")[0]
    form = w.pick(("one", "one", "several", "not", "question"))
    if "clothes" in noun.tags and form in ("not", "question"):
        form = "one"
    if form in ("one", "several") or (form == "question" and not asked_about(who)):
        thing = noun_phrase(
            w,
            noun,
            "2" if form == "several" else "a",
            0 if "kin" in noun.tags else 1.0 if "clothes" in noun.tags else 0.3,
        ).phrase
        return weave(f"{{s}} {HAVE[who.number]}#v {{n}}", "{s} 有#v {n}", s=who.phrase, n=thing), False
    slots = {"s": who.phrase, "n": weave(f"{article(noun.english)}#a {{n}}", "{n}", n=word(noun.english, noun.chinese))}
    if form == "not":
        return weave(f"{{s}} {DO[who.number]} not#n have#v {{n}}", "{s} 没#n 有#v {n}", **slots), False
    return weave(f"{DO[who.number]} {{s}} have#v {{n}}", "{s} 有#v {n} 吗", **slots), True


def wearing(w: Writer) -> Sentence:
    """Says what somebody wears: She is wearing a red skirt 她穿着一条红裙子.

    Args:
        w: makes the choices.

    Returns:
        The sentence, and whether it is a question.

    Source:
        Ours; chapter 10.
    """
    noun = w.pick(nouns("clothes hat watch"))
    while (who := person(w)).number == "they" and not (who.pronoun and who.pronoun.english == "you"):
        pass
    if noun.english == "skirt":
        while (girl := noun_phrase(w, w.pick(nouns("girl woman")), w.pick("td"), 0)).number == "they":
            pass
        who = w.pick(
            (NounPhrase(word("she", "她")), NounPhrase(word("Mary", NAMES["Mary"])), kin(w, gender="she"), girl)
        )
    put_on = "穿" if "clothes" in noun.tags else "戴"
    thing = noun_phrase(w, noun, "a", 0.7)
    english = f"{{s}} {BE[who.number]}#a wearing#v {{n}}"
    return weave(english, f"{{s}} {put_on}#v 着#a {{n}}", s=who.phrase, n=thing.phrase), False


def weather(w: Writer) -> Sentence:
    """Says what the weather is like: It is very cold today 今天非常冷.

    Args:
        w: makes the choices.

    Returns:
        The sentence, and whether it is a question.

    Source:
        Ours; chapter 10.
    """
    if w.chance(0.5):
        english, chinese = w.pick(tuple(_WEATHER.items()))
        slots, a, z = {"t": w.entry(_WHERE_AND_WHEN)}, f"{english}#a", f"{chinese}#a"
        return w.pick(
            (
                (weave(f"it is {a} {{t}}", f"{{t}} 很 {z}", **slots), False),
                (weave(f"it is very#d {a} {{t}}", f"{{t}} 非常#d {z}", **slots), False),
                (weave(f"it is not#d {a} {{t}}", f"{{t}} 不#d {z}", **slots), False),
                (weave(f"is it {a} {{t}}", f"{{t}} {z} 吗", **slots), True),
            )
        )
    base, (past, ing, chinese) = w.pick(tuple(_FALLING.items()))
    english, order, asked = w.pick(_FALLS)
    times = (
        PAST_TIMES["day"] if "past" in english or "did" in english else _SOON if "will" in english else _WHERE_AND_WHEN
    )
    english = english.replace("<base>", base).replace("<past>", past).replace("<ing>", ing)
    return weave(english, order.replace("<z>", f"{chinese}#v"), t=w.entry(times)), asked


def _same(first: str) -> tuple[str, ...]:
    """Lists the subjects that should not say something of this one: "we think that I …" is odd."""
    return ("I", "we") if first in ("I", "we") else (first,)


def thinking(w: Writer) -> Sentence:
    """Says what somebody thinks, knows, says or hopes: I think she is tired 我觉得她很累.

    Args:
        w: makes the choices.

    Returns:
        The sentence, and whether it is a question.

    Source:
        Ours; chapter 10.
    """
    while (inner := w.pick((feeling, attitude, what_it_is_like, what_it_is_like))(w))[1]:
        pass
    while (who := person(w, 0.8)).phrase.english[0] in _same(inner[0].english[0]):
        pass
    base = w.pick(("think", "know", "say") if who.number != "I" else ("think", "know"))
    third, chinese = _THINKING[base]
    english = third if who.number == "it" else base
    if base == "know" and w.chance(0.3) and asked_about(who):
        english = f"{DO[who.number]} {{s}} know#v that {{c}}"
        return weave(english, "{s} 知道#v {c} 吗", s=who.phrase, c=inner[0]), True
    that = " that" if w.chance(0.4) else ""
    return weave(f"{{s}} {english}#v{that} {{c}}", f"{{s}} {chinese}#v {{c}}", s=who.phrase, c=inner[0]), False


def not_knowing(w: Writer) -> Sentence:
    """Says short things about knowing and understanding: I do not know 我不知道.

    Args:
        w: makes the choices.

    Returns:
        The sentence, and whether it is a question.

    Source:
        Ours; chapter 10.
    """
    english, chinese = w.pick((("know", "知道"), ("understand", "明白"), ("remember", "记得")))
    if w.chance(0.5):
        who = person(w, 0.7)
        return weave(f"{{s}} {DO[who.number]} not#n {english}#v", f"{{s}} 不#n {chinese}#v", s=who.phrase), False
    who = somebody_else(w, 0.7)
    return weave(f"{DO[who.number]} {{s}} {english}#v", f"{{s}} {chinese}#v 吗", s=who.phrase), True
