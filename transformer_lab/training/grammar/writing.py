"""From patterns to pairs: which patterns there are, and how a sentence is finished.

Floor 4b.
"""

import random
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

from ..pairs import AlignedPair
from .actions import animal_transitive, ditransitive, intransitive, transitive, with_person
from .asking import asked_object, how_is, what_and_who, which_and_how_many
from .being import comparison, what_it_is, what_it_is_like, who_it_is
from .feelings import attitude, feeling
from .going import into, living, motion
from .having import having, not_knowing, thinking, wearing, weather
from .held_out import HELD_OUT_WORDS, is_held_out
from .nouns import NOUNS
from .phrase import Phrase
from .saying import Sentence
from .small_words import NAMES
from .somewhere import activity, being_there, posture, there_is
from .writer import Writer

#: Every pattern of a sentence by its name: the function that writes it, and how many shares of the sentences it gets.
PATTERNS: dict[str, tuple[Callable[[Writer], Sentence], int]] = {
    "transitive": (transitive, 14),
    "animal_transitive": (animal_transitive, 3),
    "with_person": (with_person, 6),
    "intransitive": (intransitive, 8),
    "ditransitive": (ditransitive, 9),
    "feeling": (feeling, 6),
    "attitude": (attitude, 8),
    "posture": (posture, 11),
    "activity": (activity, 6),
    "being_there": (being_there, 7),
    "there_is": (there_is, 8),
    "motion": (motion, 6),
    "into": (into, 3),
    "living": (living, 3),
    "what_it_is": (what_it_is, 6),
    "who_it_is": (who_it_is, 4),
    "what_it_is_like": (what_it_is_like, 7),
    "comparison": (comparison, 3),
    "having": (having, 6),
    "wearing": (wearing, 3),
    "asked_object": (asked_object, 4),
    "what_and_who": (what_and_who, 2),
    "which_and_how_many": (which_and_how_many, 3),
    "how_is": (how_is, 1),
    "weather": (weather, 1),
    "thinking": (thinking, 4),
    "not_knowing": (not_knowing, 1),
}
_NAMED = {*NAMES, *(form for noun in NOUNS.values() for form in (noun.english, noun.plural))} - {"fish"}
_MARKS = {False: (".", "。"), True: ("?", "？")}
_PATIENCE = 4000  # tries without a new sentence after which there is taken to be no more


def finish(phrase: Phrase, question: bool, marked: bool) -> AlignedPair:
    """Writes a phrase as a sentence: capital letter, possessives joined, a final mark or none.

    Args:
        phrase: the sentence.
        question: which mark.
        marked: whether there is one, in both languages alike.

    Returns:
        The pair with its alignment.

    Source:
        Ours; chapter 10.
    """
    english = " ".join(phrase.english).replace(" 's", "'s")
    links = phrase.links
    if marked:
        links = (*links, (len(phrase.chinese), len(phrase.english)))
    ends = _MARKS[question] if marked else ("", "")
    return AlignedPair(english[0].upper() + english[1:] + ends[0], phrase.chinese + ends[1], links)


def sentences(
    rng: random.Random, favourites: frozenset[str] = frozenset(), patterns: Sequence[str] = tuple(PATTERNS)
) -> Iterator[tuple[str, Phrase, bool]]:
    """Writes sentences without end.

    Args:
        rng: where the choices come from.
        favourites: words to take whenever they are among the choices.
        patterns: names of `PATTERNS` to choose from.

    Yields:
        The name of the pattern, the sentence, and whether it is a question.

    Source:
        Ours; chapter 10.
    """
    names, writer = [name for name in patterns for _ in range(PATTERNS[name][1])], Writer(rng, favourites)
    while True:
        name = rng.choice(names)
        phrase, question = PATTERNS[name][0](writer)
        if not _echoes(phrase):
            yield name, phrase, question


def _echoes(phrase: Phrase) -> bool:
    """Says whether a sentence names somebody or something twice ("Anna … Anna's map"), or doubles a word."""
    named = [word for word in phrase.english if word in _NAMED]
    return len(set(named)) < len(named) or any(one == two for one, two in pairwise(phrase.english))


def grammar_pairs(count: int, *, seed: int = 0, held_out: bool = False) -> list[AlignedPair]:
    """Writes distinct sentence pairs with their alignment.

    Args:
        count: how many.
        seed: the same seed gives the same pairs, in any process.
        held_out: False leaves out the combinations of `HELD_OUT_SENTENCES`; True gives only those, perhaps fewer than count.

    Returns:
        The pairs. No two have the same English words; half of them end in a punctuation mark.

    Raises:
        ValueError: count is negative.

    Source:
        Ours; chapter 10.
    """
    if count < 0:
        raise ValueError(f"count must not be negative, got {count}")
    rng = random.Random(f"grammar {seed} {held_out}")
    sources = (
        [sentences(rng, HELD_OUT_WORDS[name], (name,)) for name in HELD_OUT_WORDS] if held_out else [sentences(rng)]
    )
    pairs, seen, tries = [], set(), 0
    while len(pairs) < count and tries < _PATIENCE:
        tries += 1
        _, phrase, question = next(rng.choice(sources))
        if phrase.english in seen or is_held_out(" ".join(phrase.english)) != held_out:
            continue
        seen.add(phrase.english)
        pairs.append(finish(phrase, question, rng.random() < 0.5))
        tries = 0
    return pairs
