"""Mini-world: a little world of 118 words in which the verb follows from who acts and where.

Floor 4b. Eight classes of subjects and seven classes of places; one table says what each does where: cats sit on mats,
sleep on beds and swim in rivers, books lie on mats. Word order, adjectives, adverbs and other nouns ("the cat with the
ball", "the mat near the road") vary, so that neither a position nor the mere presence of a noun tells which two words
decide the verb. Every sentence comes with the positions of its subject, verb and place.

Only `random.random()` is drawn, which Python promises to keep the same: a seed gives the same sentences on every machine.
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

SUBJECTS = {
    "cat": ("cat", "kitten", "tiger", "lion"),
    "dog": ("dog", "puppy", "fox", "wolf"),
    "bird": ("bird", "robin", "crow", "sparrow"),
    "person": ("boy", "girl", "man", "woman"),
    "fish": ("fish", "trout", "salmon", "shark"),
    "book": ("book", "letter", "map", "newspaper"),
    "ball": ("ball", "marble", "pebble", "melon"),
    "car": ("car", "bus", "truck", "van"),
}
PLACES = {
    "mat": ("mat", "rug", "carpet", "blanket"),
    "bed": ("bed", "sofa", "couch", "hammock"),
    "river": ("river", "lake", "pond", "sea"),
    "sky": ("sky", "air", "clouds", "wind"),
    "field": ("field", "garden", "park", "meadow"),
    "table": ("table", "desk", "shelf", "counter"),
    "road": ("road", "street", "bridge", "path"),
}
_VERB_ROWS = {  # columns in the order of PLACES
    "cat": "sat slept swam leapt hunted crouched walked",
    "dog": "lay slept paddled jumped ran sat ran",
    "bird": "hopped nested bathed flew sang perched landed",
    "person": "sat slept swam floated walked stood walked",
    "fish": "flapped lay swam leapt flapped lay flopped",
    "book": "lay fell sank fluttered rested stood fell",
    "ball": "rolled bounced floated flew bounced rested rolled",
    "car": "stood crashed sank soared stopped crashed drove",
}
VERBS = {(who, where): verb for who, row in _VERB_ROWS.items() for where, verb in zip(PLACES, row.split(), strict=True)}
PREPOSITIONS = {  # each serves several classes, so that it cannot stand in for the noun
    "mat": ("on", "under"),
    "bed": ("on", "in", "under"),
    "river": ("in",),
    "sky": ("in", "through"),
    "field": ("in", "across", "through"),
    "table": ("on", "under"),
    "road": ("on", "across"),
}
DETERMINERS = ("the", "a", "my", "her", "this")
ADJECTIVES = ("small", "big", "red", "blue", "white", "black", "pretty", "new")
ADVERBS = ("quietly", "slowly", "again")
TIMES = ("today", "yesterday", "once")
MODIFIERS = ("with", "near")  # begin a phrase whose noun has no say in the verb

HELD_OUT_PAIRS = (  # these two nouns never meet in a training sentence
    ("cat", "mat"),
    ("puppy", "bed"),
    ("robin", "sky"),
    ("girl", "river"),
    ("trout", "lake"),
    ("letter", "table"),
    ("marble", "road"),
    ("truck", "garden"),
)

SUBJECT_CLASS = {noun: name for name, nouns in SUBJECTS.items() for noun in nouns}
PLACE_CLASS = {noun: name for name, nouns in PLACES.items() for noun in nouns}


@dataclass(frozen=True)
class Sentence:
    """A mini-world sentence and where its three deciding words stand.

    Args:
        words: the words in order.
        subject: position of the noun that acts.
        verb: position of the verb.
        place: position of the noun that says where.

    Source:
        Ours; chapter 02.
    """

    words: tuple[str, ...]
    subject: int
    verb: int
    place: int

    def __str__(self) -> str:
        return " ".join(self.words)


def verb_for(subject: str, place: str) -> str:
    """Looks up what this subject does in this place.

    verb = table[class of subject, class of place].

    Args:
        subject: a noun of `SUBJECTS`.
        place: a noun of `PLACES`.

    Returns:
        The verb, in the past tense.

    Raises:
        KeyError: a noun is not of that kind.

    Source:
        Ours; chapter 02.
    """
    return VERBS[SUBJECT_CLASS[subject], PLACE_CLASS[place]]


def kinds() -> dict[str, tuple[str, ...]]:
    """Lists the words by kind, in the order of the vocabulary.

    Returns:
        {kind: words}: subject, place, verb, determiner, preposition, modifier, adjective, adverb, time; each word once.

    Source:
        Ours; chapter 02.
    """
    return {
        "subject": tuple(SUBJECT_CLASS),
        "place": tuple(PLACE_CLASS),
        "verb": tuple(dict.fromkeys(VERBS.values())),
        "determiner": DETERMINERS,
        "preposition": tuple(dict.fromkeys(word for words in PREPOSITIONS.values() for word in words)),
        "modifier": MODIFIERS,
        "adjective": ADJECTIVES,
        "adverb": ADVERBS,
        "time": TIMES,
    }


def make_sentence(rng: random.Random, subject: str, place: str) -> Sentence:
    """Writes one sentence about a subject in a place.

    [time] subject phrase [adverb] verb [adverb] preposition place phrase, or the place first:
    "under a rug the red cat quietly sat".

    Args:
        rng: the source of chance.
        subject: a noun of `SUBJECTS`.
        place: a noun of `PLACES`.

    Returns:
        The sentence with the positions of its subject, verb and place.

    Raises:
        KeyError: a noun is not of that kind.

    Source:
        Ours; chapter 02.
    """
    who = _noun_phrase(rng, subject) + _modifier(rng, 0.3)
    does = [verb_for(subject, place)]
    if _chance(rng, 0.3):
        does.insert(int(_chance(rng, 0.5)), _pick(rng, ADVERBS))
    where = [_pick(rng, PREPOSITIONS[PLACE_CLASS[place]]), *_noun_phrase(rng, place), *_modifier(rng, 0.15)]
    time = [_pick(rng, TIMES)] if _chance(rng, 0.15) else []
    place_first = _chance(rng, 0.15)
    before = len(time) + (len(where) if place_first else 0)  # words before the subject phrase
    return Sentence(
        words=(*where, *time, *who, *does) if place_first else (*time, *who, *does, *where),
        subject=before + who.index(subject),
        verb=before + len(who) + does.index(verb_for(subject, place)),
        place=(0 if place_first else before + len(who) + len(does)) + where.index(place),
    )


def training_sentences(seed: int = 0) -> Iterator[Sentence]:
    """Writes sentences for ever, none of which holds both nouns of a held-out pair.

    Args:
        seed: same seed, same sentences, on every machine.

    Returns:
        An endless iterator.

    Source:
        Ours; chapter 02.
    """
    rng = random.Random(seed)
    while True:
        sentence = make_sentence(rng, _pick(rng, tuple(SUBJECT_CLASS)), _pick(rng, tuple(PLACE_CLASS)))
        if not is_held_out(sentence.words):
            yield sentence


def held_out_sentences(seed: int = 0) -> Iterator[Sentence]:
    """Writes sentences for ever whose subject and place are a held-out pair, each pair equally often.

    Args:
        seed: same seed, same sentences, on every machine.

    Returns:
        An endless iterator.

    Source:
        Ours; chapter 02.
    """
    rng = random.Random(f"held out {seed}")
    while True:
        for subject, place in HELD_OUT_PAIRS:
            yield make_sentence(rng, subject, place)


def is_held_out(words: Sequence[str]) -> bool:
    """Tells whether both nouns of a held-out pair occur, in whatever role.

    Args:
        words: the words of a sentence.

    Returns:
        True when such a sentence must not be trained on.

    Source:
        Ours; chapter 02.
    """
    return any(subject in words and place in words for subject, place in HELD_OUT_PAIRS)


def _noun_phrase(rng: random.Random, noun: str) -> list[str]:
    bare = PLACE_CLASS.get(noun) == "sky" or _chance(rng, 0.6)  # there is one sky: no "my air"
    determiner = "the" if bare else _pick(rng, DETERMINERS)
    adjective = [_pick(rng, ADJECTIVES)] if _chance(rng, 0.3) else []
    return [determiner, *adjective, noun]


def _modifier(rng: random.Random, probability: float) -> list[str]:
    if not _chance(rng, probability):
        return []
    if _chance(rng, 0.5):
        return ["with", *_noun_phrase(rng, _pick(rng, tuple(SUBJECT_CLASS)))]
    return ["near", *_noun_phrase(rng, _pick(rng, [noun for noun, name in PLACE_CLASS.items() if name != "sky"]))]


def _chance(rng: random.Random, probability: float) -> bool:
    return rng.random() < probability


def _pick(rng: random.Random, items: Sequence[str]) -> str:
    return items[int(rng.random() * len(items))]
