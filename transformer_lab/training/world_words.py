"""Mini-world: a little world of 118 words in which the verb follows from who acts and where.

Floor 4b. Eight classes of subjects and seven classes of places; one table says what each does where: cats sit on mats, sleep
on beds and swim in rivers, books lie on mats.
"""

from collections.abc import Sequence

SUBJECTS = {
    "cat": ("cat", "kitten", "tiger", "lion"),
    "dog": ("dog", "puppy", "fox", "wolf"),
    "bird": ("bird", "robin", "crow", "sparrow"),
    "person": ("girl", "boy", "teacher", "farmer"),
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
    "person": "sat rested swam floated walked stood walked",
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
ADJECTIVES = ("small", "quiet", "lovely", "strange", "red", "blue", "white", "black")
COLOURS = ADJECTIVES[4:]  # not said of people
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
