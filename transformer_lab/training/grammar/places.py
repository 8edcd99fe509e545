"""Places: what stands, lies and happens where, and what Chinese calls the place (上, 里, 下, 旁边 …).

Floor 4b. A place is written "the park 公园"; nouns of the lexicon may also take other determiners (that chair, my bed).
"""

from dataclasses import dataclass

from .noun_phrases import noun_phrase
from .nouns import NOUNS, nouns
from .phrase import Phrase, weave
from .words import Verb
from .writer import Writer

# Places that are not counted here.
BARE_PLACES = {
    "floor": "地板", "grass": "草地", "garden": "花园", "kitchen": "厨房", "classroom": "教室", "library": "图书馆", "river": "河",
    "station": "车站", "office": "办公室", "sea": "海", "street": "街", "bathroom": "浴室", "roof": "屋顶", "lake": "湖", "sky": "天",
}  # fmt: skip
LOCALIZERS = {
    "on": "上", "in": "里", "under": "下", "next to": "旁边", "near": "附近", "behind": "后面", "in front of": "前面", "at": "",
}  # fmt: skip


@dataclass(frozen=True)
class Scene:
    """Who or what can be where.

    Args:
        what: nouns or tags ("person" also allows pronouns).
        preposition: a key of `LOCALIZERS`.
        where: nouns or names of `BARE_PLACES`.
        verbs: what they do there, where that matters.
        localizer: replaces the usual one; "-" is none (在图书馆看书).

    Source:
        Ours; chapter 10.
    """

    what: str
    preposition: str
    where: str
    verbs: str = ""
    localizer: str = ""

    @property
    def after(self) -> str:
        """The Chinese word after the place, perhaps none."""
        return (self.localizer or LOCALIZERS[self.preposition]).strip("-")


POSTURES = {
    "sit": Verb("sit", "坐", "sat", ing="sitting"),
    "stand": Verb("stand", "站", "stood"),
    "lie": Verb("lie", "躺", "lay", "lain", "lying"),
    "sleep": Verb("sleep", "睡", "slept"),
}
POSTURE_SCENES = (
    Scene("person", "on", "mat chair sofa bench", "sit"),
    Scene("person", "on", "bed floor grass mat", "sit"),
    Scene("person", "in", "garden classroom park kitchen room library office restaurant", "sit"),
    Scene("person", "in", "car", "sit"),
    Scene("person", "on", "bus train", "sit"),
    Scene("person", "under", "tree", "sit stand lie"),
    Scene("person", "next to", "window door river lake", "sit stand"),
    Scene("cat", "on", "mat chair sofa bed floor grass table bench box roof", "sit lie"),
    Scene("dog", "on", "mat chair sofa bed floor grass", "sit lie"),
    Scene("rabbit monkey", "on", "mat chair floor grass box bench", "sit"),
    Scene("pet", "under", "table tree bed chair bench", "sit lie"),
    Scene("pet", "next to", "window door sofa river", "sit"),
    Scene("pet", "in front of", "door house", "sit"),
    Scene("person", "in", "garden classroom kitchen room office station", "stand"),
    Scene("person", "in front of", "door window house school shop hospital", "stand"),
    Scene("person", "behind", "door chair tree", "stand"),
    Scene("stock", "under", "tree", "stand"),
    Scene("stock", "next to", "river house lake", "stand"),
    Scene("bird", "on", "roof table chair bench", "stand"),
    Scene("person", "on", "bed sofa floor grass mat", "lie"),
    Scene("pet", "on", "bed sofa floor mat grass", "sleep"),
    Scene("person", "on", "bed sofa floor", "sleep"),
)
ACTIVITY_SCENES = (
    Scene("young", "in", "garden park room", "play:玩"),
    Scene("young", "in", "classroom", "sing:唱歌 dance:跳舞 study:学习"),
    Scene("pet", "in", "garden park", "play:玩"),
    Scene("person", "in", "garden park", "sing:唱歌 dance:跳舞 rest:休息 walk:散步"),
    Scene("person", "in", "kitchen", "cook:做饭"),
    Scene("person", "in", "room", "study:学习 sleep:睡觉 rest:休息"),
    Scene("person", "in", "office", "work:工作 rest:休息"),
    Scene("person", "in", "library", "study:学习 work:工作", "-"),
    Scene("person", "at", "school", "study:学习 work:工作"),
    Scene("person", "in", "hospital shop restaurant", "work:工作", "-"),
    Scene("person", "in", "river sea lake", "swim:游泳"),
    Scene("fish", "in", "river lake sea", "swim:游"),
    Scene("duck", "in", "lake river", "swim:游泳"),
    Scene("person duck", "next to", "river lake", "rest:休息"),
    Scene("pet", "on", "bed sofa mat floor", "sleep:睡觉"),
    Scene("person", "on", "bed sofa", "sleep:睡觉"),
    Scene("stock", "next to", "river lake house", "rest:休息"),
)
THERE_SCENES = (
    Scene("small pet clothes", "on", "bed table chair sofa floor"),
    Scene("chair", "in", "kitchen office classroom"),
    Scene("mat", "on", "chair sofa floor bed"),
    Scene("pet", "on", "mat"),
    Scene("cup key book letter pen toy hat", "on", "mat box"),
    Scene("picture map", "on", "wall"),
    Scene("apple pear", "on", "tree"),
    Scene("bird monkey", "in", "tree", localizer="上"),
    Scene("pet box bag toy ball", "under", "table bed chair"),
    Scene("cow sheep horse bench child", "under", "tree"),
    Scene("key pen pencil book phone toy apple orange ticket photo letter camera hat watch", "in", "bag box"),
    Scene("egg apple orange pear", "in", "bowl"),
    Scene("tea coffee water milk juice", "in", "cup"),
    Scene("rice soup meat", "in", "bowl"),
    Scene("furniture seat pet", "in", "room"),
    Scene("tree flower cat dog rabbit bird chicken bench child", "in", "garden"),
    Scene("fish", "in", "river lake"),
    Scene("boat", "on", "river lake sea"),
    Scene("duck", "on", "river lake"),
    Scene("tree house car bicycle bench", "next to", "river school house"),
    Scene("hospital shop restaurant park school", "near", "school station house hospital"),
    Scene("car bus bicycle tree", "in front of", "house school hospital shop"),
    Scene("student child computer table chair", "in", "classroom"),
    Scene("doctor nurse", "in", "room office"),
    Scene("car bus bicycle", "on", "street"),
    Scene("plane bird balloon", "in", "sky", localizer="上"),
)
PERSON_PLACES = (
    Scene("person", "in", "garden kitchen classroom room office park restaurant"),
    Scene("person", "in", "library hospital", localizer="-"),
    Scene("person", "at", "school station"),
    Scene("pet", "in", "garden kitchen bathroom room box"),
    Scene("pet", "on", "bed sofa mat roof"),
    Scene("pet", "under", "table bed chair"),
)
_ROOMS = "kitchen garden room house classroom"
_BUILDINGS = "kitchen garden room library hospital office classroom shop restaurant"
INTO = (  # verb, Chinese, who, preposition, what follows the place, where
    ("run", "跑进", "pet young", "into", "", _ROOMS),
    ("walk", "走进", "person", "into", "", _BUILDINGS),
    ("run", "跑出", "pet young", "out of", "", _ROOMS),
    ("walk", "走出", "person", "out of", "", _BUILDINGS),
    ("jump", "跳到", "cat dog", "onto", "上", "table bed sofa chair mat"),
    ("jump", "跳进", "duck dog young", "into", "里", "river lake"),
    ("fly", "飞进", "bird", "into", "", "room kitchen classroom"),
)
INTO_VERBS = {name: Verb(name, "", past, ing=ing) for name, past, ing in (
    ("run", "ran", "running"), ("walk", "", ""), ("jump", "", ""), ("fly", "flew", ""))}  # fmt: skip


def place(w: Writer, name: str, letters: str = "eeetdo") -> Phrase:
    """Writes a place.

    Args:
        w: makes the choices.
        name: a noun, or a name of `BARE_PLACES`.
        letters: determiners for nouns, as in `noun_phrases.DETERMINERS`.

    Returns:
        For example "the park" 公园 or "that chair" 那把椅子.

    Source:
        Ours; chapter 10.
    """
    if name in BARE_PLACES:
        return weave(f"the {name}#n", f"{BARE_PLACES[name]}#n")
    letter = w.pick(letters)
    if letter == "o" and NOUNS[name] in nouns("institution tree"):  # nobody owns a park
        letter = "e"
    if letter in "td":  # one of them: a place is not several
        noun = NOUNS[name]
        near = letter == "t"
        return weave(
            f"{'this' if near else 'that'}#d {name}#n", f"{'这' if near else '那'}#d {noun.classifier} {noun.chinese}#n"
        )
    return noun_phrase(w, NOUNS[name], letter, 0).phrase


def located(preposition: str, after: str) -> tuple[str, str]:
    """Writes the templates of a place with its preposition.

    Args:
        preposition: in English.
        after: what Chinese puts after the place.

    Returns:
        English and Chinese template with the slot {p}: ("on#p {p}", "在#p {p} 上#p").

    Source:
        Ours; chapter 10.
    """
    english = " ".join(f"{word}#p" for word in preposition.split()) + " {p}"
    return english, "在#p {p}" + (f" {after}#p" if after else "")
