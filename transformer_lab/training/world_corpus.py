"""Mini-world's sentences.

Floor 4b. Word order, adjectives, adverbs and other nouns ("the cat with the ball") vary, so that neither a position nor the
mere presence of a noun tells which words decide the verb. The preposition tells nothing that the place does not. Every
sentence comes with the positions of its subject, verb and place.

Only `random.random()` is drawn, which Python promises to keep the same: a seed gives the same sentences on every machine.
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from .world_words import (
    ADJECTIVES,
    ADVERBS,
    COLOURS,
    DETERMINERS,
    HELD_OUT_PAIRS,
    MODIFIERS,
    PLACE_CLASS,
    PREPOSITIONS,
    SUBJECT_CLASS,
    TIMES,
    is_held_out,
    verb_for,
)

_COMPANIONS = [noun for noun, name in SUBJECT_CLASS.items() if name != "person"]


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


def make_sentence(rng: random.Random, subject: str, place: str) -> Sentence:
    """Writes one sentence about a subject in a place.

    [time] subject phrase [adverb] verb [adverb] preposition place phrase; or the place first, with the subject before or
    after the verb: "under a rug the red cat quietly sat", "in the sky flew a bird".

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
    deciding = (subject, verb_for(subject, place), place)  # each stands in the sentence once
    who = _noun_phrase(rng, subject) + _modifier(rng, 0.35, deciding)
    does = [deciding[1]]
    if _chance(rng, 0.35):
        does.insert(int(_chance(rng, 0.5)), pick(rng, ADVERBS))
    where = [pick(rng, PREPOSITIONS[PLACE_CLASS[place]]), *_noun_phrase(rng, place), *_modifier(rng, 0.15, deciding)]
    time = [pick(rng, TIMES)] if _chance(rng, 0.15) else []
    order = [time, who, does, where]
    if _chance(rng, 0.2):
        order = [where, time, who, does] if _chance(rng, 0.5) else [where, time, does, who]
    words = tuple(word for phrase in order for word in phrase)
    return Sentence(words, *map(words.index, deciding))


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
        sentence = make_sentence(rng, pick(rng, tuple(SUBJECT_CLASS)), pick(rng, tuple(PLACE_CLASS)))
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


def preposition_of(sentence: Sentence) -> int:
    """Finds the preposition that leads to the place.

    Args:
        sentence: a mini-world sentence.

    Returns:
        Its position.

    Source:
        Ours; chapter 02.
    """
    allowed = PREPOSITIONS[PLACE_CLASS[sentence.words[sentence.place]]]
    return next(i for i, word in enumerate(sentence.words) if word in allowed)


def _noun_phrase(rng: random.Random, noun: str) -> list[str]:
    bare = PLACE_CLASS.get(noun) == "sky" or _chance(rng, 0.6)  # there is one sky: no "my air"
    determiner = "the" if bare else pick(rng, DETERMINERS)
    adjectives = [word for word in ADJECTIVES if word not in COLOURS or SUBJECT_CLASS.get(noun) != "person"]
    return [determiner, *([pick(rng, adjectives)] if _chance(rng, 0.3) else []), noun]


def _modifier(rng: random.Random, probability: float, taken: Sequence[str]) -> list[str]:
    if not _chance(rng, probability):
        return []
    return [pick(rng, MODIFIERS), *_noun_phrase(rng, pick(rng, [noun for noun in _COMPANIONS if noun not in taken]))]


def _chance(rng: random.Random, probability: float) -> bool:
    return rng.random() < probability


def pick(rng: random.Random, items: Sequence[str]) -> str:
    """Draws one of several, all equally likely, with one call of `rng.random()`.

    Args:
        rng: the source of chance.
        items: at least one.

    Returns:
        One of them.

    Source:
        Ours.
    """
    return items[int(rng.random() * len(items))]
