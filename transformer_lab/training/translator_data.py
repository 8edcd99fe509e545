"""What the translator learns from: Tatoeba's sentences and those of the grammar, with the examples of the book held out.

Floor 4b. No sentence that is tested stands in what is trained on, whichever of the two it came from.
"""

import hashlib
import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from .batches import Example
from .grammar import grammar_pairs, is_held_out
from .pairs import AlignedPair, Pair
from .tatoeba import read_tatoeba, sentence_key, split_pairs
from .tokenizers import CharacterTokenizer, WordTokenizer
from .vocabulary import Vocabulary

SPLIT_SEED, VALID, TEST = 0, 500, 1000  # distinct English sentences of Tatoeba
GRAMMAR_TEST = 400  # sentences
LONGEST = 60  # tokens of either side of a pair that is trained on
SEEN = 2  # times a token must stand in the training pairs to enter the vocabulary


@dataclass(frozen=True)
class TranslatorCorpus:
    """Pairs for training, and pairs that are not in it.

    Args:
        train: Tatoeba's and the grammar's, shuffled by the loop.
        valid: of Tatoeba; the best epoch is chosen by them (of the grammar, where there is no Tatoeba).
        test: of Tatoeba; empty where there is none.
        grammar_test: of the grammar, with alignments.
        of_grammar: how many of the training pairs are the grammar's.
        dropped: {why: how many pairs were left out}.
        left_out: which of the grammar's test sentences, by number, were left out because Tatoeba trains on them.

    Source:
        Ours; chapter 11.
    """

    train: list[Pair]
    valid: list[Pair]
    test: list[Pair]
    grammar_test: list[AlignedPair]
    of_grammar: int
    dropped: dict[str, int]
    left_out: list[int]

    @property
    def real(self) -> bool:
        """Whether Tatoeba is among the sentences."""
        return bool(self.test)

    def describe(self) -> dict[str, Any]:
        """Says what the corpus is made of, and gives it a name that no other corpus has.

        Returns:
            {"tatoeba", "pairs": {part: number}, "of_grammar", "dropped", "left_out", "sha256"}.

        Source:
            Ours; chapter 11.
        """
        parts = {name: getattr(self, name) for name in ("train", "valid", "test", "grammar_test")}
        texts = {name: [(pair.english, pair.chinese) for pair in pairs] for name, pairs in parts.items()}
        return {
            "tatoeba": self.real,
            "pairs": {name: len(pairs) for name, pairs in parts.items()},
            "of_grammar": self.of_grammar,
            "dropped": self.dropped,
            "left_out": self.left_out,
            "sha256": hashlib.sha256(json.dumps(texts).encode()).hexdigest(),
        }


def translator_corpus(
    tatoeba: str | os.PathLike | None, grammar: int, *, left_out: Sequence[int] = ()
) -> TranslatorCorpus:
    """Gathers the pairs.

    Args:
        tatoeba: path of the ManyThings file or archive; None leaves Tatoeba out.
        grammar: number of the grammar's pairs to train on.
        left_out: more test sentences of the grammar to leave out, by number: those that another corpus left out.

    Returns:
        The corpus; the same for every seed.

    Raises:
        OSError, ValueError: the file cannot be read.

    Source:
        Ours; chapter 11.
    """
    real = [] if tatoeba is None else read_tatoeba(tatoeba)
    train, valid, test = split_pairs(real, seed=SPLIT_SEED, valid=VALID, test=TEST) if real else ([], [], [])
    short = [pair for pair in train if max(_lengths(pair)) <= LONGEST]
    kept = [pair for pair in short if not is_held_out(pair.english)]
    written = grammar_pairs(GRAMMAR_TEST + grammar, seed=0)
    seen = {sentence_key(pair.english) for pair in kept}
    known = [i for i, pair in enumerate(written[:GRAMMAR_TEST]) if i in left_out or sentence_key(pair.english) in seen]
    grammar_test = [pair for i, pair in enumerate(written[:GRAMMAR_TEST]) if i not in known]
    tested = {sentence_key(pair.english) for pair in [*valid, *test, *grammar_test]}
    learned = [pair for pair in written[GRAMMAR_TEST:] if sentence_key(pair.english) not in tested]
    if not real:
        valid = [Pair(pair.english, pair.chinese) for pair in learned[:VALID]]
        learned = learned[VALID:]
    return TranslatorCorpus(
        train=[*kept, *(Pair(pair.english, pair.chinese) for pair in learned)],
        valid=[pair for pair in valid if not is_held_out(pair.english)],
        test=test,
        grammar_test=grammar_test,
        of_grammar=len(learned),
        dropped={
            "longer than 60 tokens": len(train) - len(short),
            "held out": len(short) - len(kept),
            "of the grammar, also tested": len(written) - GRAMMAR_TEST - len(learned) - (0 if real else VALID),
        },
        left_out=known,
    )


def _lengths(pair: Pair) -> tuple[int, int]:
    return len(WordTokenizer.split(pair.english)), len(CharacterTokenizer.split(pair.chinese))


def build_tokenizers(pairs: Sequence[Pair]) -> tuple[WordTokenizer, CharacterTokenizer]:
    """Makes both tokenizers from the training pairs.

    Args:
        pairs: what will be trained on.

    Returns:
        The tokenizers of English words and Chinese characters.

    Source:
        Ours; chapter 11.
    """
    words = (WordTokenizer.split(pair.english) for pair in pairs)
    characters = (CharacterTokenizer.split(pair.chinese) for pair in pairs)
    return (
        WordTokenizer(Vocabulary.build(words, min_count=SEEN)),
        CharacterTokenizer(Vocabulary.build(characters, min_count=SEEN)),
    )


def examples_of(pairs: Iterable[Pair], source: WordTokenizer, target: CharacterTokenizer) -> list[Example]:
    """Turns pairs into ids.

    Args:
        pairs: English and Chinese.
        source: of English.
        target: of Chinese.

    Returns:
        One example a pair, in the same order.

    Source:
        Ours; chapter 11.
    """
    return [Example(tuple(source.encode(pair.english)), tuple(target.encode(pair.chinese))) for pair in pairs]
