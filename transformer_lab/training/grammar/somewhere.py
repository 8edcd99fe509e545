"""Sentence patterns around places: sitting, working, being, existing and going somewhere.

Floor 4b.
"""

from .asking import somebody_else
from .clauses import BE, IMPERATIVES, VerbPhrase
from .noun_phrases import noun_phrase
from .nouns import nouns
from .people import WHO, subject
from .phrase import Phrase, weave, word
from .places import ACTIVITY_SCENES, PERSON_PLACES, POSTURE_SCENES, POSTURES, THERE_SCENES, Scene, located, place
from .saying import COUNTED, YOU, Sentence, actor, asked_about, say
from .words import Verb
from .writer import Writer

_ANIMAL_POSTURE = ("progressive", "progressive", "past", "past", "past", "past_negative", "often", "like_to", "progressive_negative",
                   "progressive_question")  # fmt: skip
_PERSON_POSTURE = (*_ANIMAL_POSTURE, "want", "please", "do_not", "let_us", "may", "may_question", "like_to_question")
_RIDING_POSTURE = (
    "progressive",
    "progressive",
    "past",
    "past_negative",
    "progressive_negative",
    "progressive_question",
)
_SLEEP_POSTURE = ("past", "past_negative", "often", "like_to", "like_to_negative")
_ACTIVITY = ("progressive", "progressive", "still", "progressive_negative", "progressive_question", "often", "like_to",
             "like_to_negative", "want", "want_question", "future")  # fmt: skip

_DOING = (("working", "工作"), ("studying", "学习"), ("cooking", "做饭"), ("swimming", "游泳"), ("playing", "玩"))


def _where(w: Writer, scene: Scene, letters: str = "eeetdo") -> tuple[str, str, Phrase]:
    name = w.pick(scene.where.split())
    after = scene.after
    if name in ("river", "lake", "sea") and scene.preposition == "next to":
        after = "边"
    elif after == "下" and name not in ("bed", "tree"):  # 床下, but 桌子下面
        after = "下面"
    elif name == "door":
        after = after.removesuffix("面")  # 门前, 门后
    english, chinese = located(scene.preposition, after)
    return english, chinese, place(w, name, letters)


def posture(w: Writer) -> Sentence:
    """Somebody sits, stands, lies or sleeps somewhere: The dog sat on the mat 狗坐在垫子上.

    Args:
        w: makes the choices.

    Returns:
        As `actions.transitive`.

    Source:
        Ours; chapter 10.
    """
    scene = w.pick(POSTURE_SCENES)
    name = w.pick(scene.verbs.split())
    human = scene.what == "person"
    forms = _RIDING_POSTURE if "bus" in scene.where or "car" in scene.where.split() else _ANIMAL_POSTURE
    forms = _PERSON_POSTURE if human and forms is _ANIMAL_POSTURE else forms
    form = w.pick(_SLEEP_POSTURE if name == "sleep" else forms)
    if name == "lie" and form == "let_us":
        form = "past"
    if form in IMPERATIVES:
        who = YOU
    elif human and form == "progressive" and w.chance(0.2):
        who = WHO
    else:
        who = subject(w, scene.what, form in COUNTED)
    verb = POSTURES[name]
    english, chinese, where = _where(w, scene)
    core = chinese.replace("在#p", f"{verb.chinese}#v 在#p", 1)
    what = VerbPhrase(verb, english, core, (("p", where),), "" if who is WHO else "正")
    while form.endswith("question") and not form.startswith("may") and not asked_about(who):
        who = subject(w, scene.what)
    return say(w, form, who, what, timed=name == "sleep")


def activity(w: Writer) -> Sentence:
    """Somebody does something somewhere: The children are playing in the garden 孩子们在花园里玩.

    Args:
        w: makes the choices.

    Returns:
        As `actions.transitive`.

    Source:
        Ours; chapter 10.
    """
    scene = w.pick(ACTIVITY_SCENES)
    name, _, action = w.pick(scene.verbs.split()).partition(":")
    past = {"sing": "sang", "swim": "swam", "sleep": "slept"}.get(name, "")
    verb = Verb(name, action, past, ing={"dance": "dancing", "swim": "swimming"}.get(name, ""), subjects=scene.what)
    form = w.pick(_ACTIVITY if "person" in scene.what or scene.what == "young" else _ACTIVITY[:7])
    letters = "eeetdo" if scene.localizer != "-" else "e" if form.endswith("_negative") else "eea"
    english, chinese, where = _where(w, scene, letters)
    who = actor(w, form, verb)
    what = VerbPhrase(verb, english, f"{chinese} {action}#v", (("p", where),), "")
    while "从来不在一" in (sentence := say(w, form, who, what))[0].chinese:  # no 一 under negation
        pass
    return sentence


def being_there(w: Writer) -> Sentence:
    """Says or asks where something is: My book is on the table 我的书在桌子上.

    Args:
        w: makes the choices.

    Returns:
        The sentence, and whether it is a question.

    Source:
        Ours; chapter 10.
    """
    kind = w.pick(("thing", "thing", "who", "where_thing", "where_who", "where_doing"))
    if kind == "where_doing":
        ing, action = w.pick(_DOING)
        who = subject(w, "young pet") if ing == "playing" else somebody_else(w)
        return weave(f"where#w {BE[who.number]} {{s}} {ing}#v", f"{{s}} 在#w 哪里#w {action}#v", s=who.phrase), True
    scene = w.pick(PERSON_PLACES if kind == "who" else THERE_SCENES[:11])
    if kind == "who":
        thing = subject(w, scene.what)
    elif kind == "where_who":
        thing = somebody_else(w) if w.chance(0.7) else subject(w, "pet")
    else:
        thing = noun_phrase(w, w.pick([n for n in nouns(scene.what) if n.classifier]), w.pick("eoootd"))
    be, slots = BE[thing.number], {"s": thing.phrase}
    if kind.startswith("where"):
        return weave(f"where#w {be} {{s}}", "{s} 在#w 哪里#w", **slots), True
    english, chinese, slots["p"] = _where(w, scene)
    form = w.pick(("plain", "plain", "not", "question"))
    if form == "question" and asked_about(thing):
        return weave(f"{be} {{s}} {english}", f"{{s}} {chinese} 吗", **slots), True
    if form == "not":
        return weave(f"{{s}} {be} not#n {english}", f"{{s}} 不#n {chinese}", **slots), False
    return weave(f"{{s}} {be} {english}", f"{{s}} {chinese}", **slots), False


def there_is(w: Writer) -> Sentence:
    """Says or asks what exists somewhere: There is a cat on the table 桌子上有一只猫.

    Args:
        w: makes the choices.

    Returns:
        The sentence, and whether it is a question.

    Source:
        Ours; chapter 10.
    """
    scene = w.pick(THERE_SCENES)
    english, chinese, where = _where(w, scene, "eeeeetdo")
    chinese = chinese.removeprefix("在#p ")
    noun = w.pick(nouns(scene.what))
    while noun.chinese == where.chinese:
        noun = w.pick(nouns(scene.what))
    form = w.pick(("one", "one", "several", "none", "any", "what", "how_many"))
    if form == "what":
        return weave(f"what#w is#b {english}", f"{chinese} 有#b 什么#w", p=where), True
    if form == "how_many" and noun.classifier:
        chinese = f"{chinese} 有#b 几#k {noun.classifier} {{n}}"
        english = f"how#k many#k {{n}} are#b there#b {english}"
        return weave(english, chinese, n=word(noun.plural, noun.chinese), p=where), True
    if form == "several" and noun.classifier:
        slots = {"n": noun_phrase(w, noun, "2").phrase, "p": where}
        return weave(f"there#b are#b {{n}} {english}", f"{chinese} 有#b {{n}}", **slots), False
    slots = {"n": noun_phrase(w, noun, "n" if noun.classifier else "s", 0).phrase, "p": where}
    if form == "none":
        plural = word(noun.plural if noun.classifier else noun.english, noun.chinese)
        are = "are" if noun.classifier else "is"
        return weave(f"there#b {are}#b no#n {{n}} {english}", f"{chinese} 没#n 有#b {{n}}", n=plural, p=where), False
    if form == "any":
        return weave(f"is#b there#b {{n}} {english}", f"{chinese} 有#b {{n}} 吗", **slots), True
    slots["n"] = noun_phrase(w, noun, "a" if noun.classifier else "s").phrase
    return weave(f"there#b is#b {{n}} {english}", f"{chinese} 有#b {{n}}", **slots), False
