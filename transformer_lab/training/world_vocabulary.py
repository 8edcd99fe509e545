"""Mini-world's words as ids.

Floor 4b.
"""

import difflib
import re
from collections.abc import Sequence

import torch
from torch import Tensor

from .world_words import kinds

PAD, MASK = "<pad>", "<mask>"
VOCABULARY = (PAD, MASK, *(word for words in kinds().values() for word in words))
PAD_ID, MASK_ID = 0, 1
IDS = {word: i for i, word in enumerate(VOCABULARY)}
_TOKEN = re.compile(r"<\w+>|[^\s.,;:!?]+")


def tokenize(sentence: str) -> list[str]:
    """Splits a sentence into words of the vocabulary: lower case, punctuation dropped, `<mask>` kept.

    Args:
        sentence: for example "The cat sat on the mat."

    Returns:
        The words.

    Raises:
        ValueError: it has no word, or one that mini-world lacks (near ones are suggested).

    Source:
        Ours; chapter 02.
    """
    tokens = _TOKEN.findall(sentence.lower())
    for token in tokens:
        if token not in IDS or token == PAD:
            raise ValueError(f"mini-world does not know {token!r}; {_hint(token)}")
    if not tokens:
        raise ValueError(f"the sentence has no word: {sentence!r}")
    return tokens


def to_ids(rows: Sequence[Sequence[str]]) -> Tensor:
    """Looks words up, and pads the shorter rows at the end.

    Args:
        rows: the words of each sentence, all in the vocabulary.

    Returns:
        ids [B, S].

    Raises:
        KeyError: a word is unknown.

    Source:
        Ours; chapter 02.
    """
    length = max(map(len, rows))
    return torch.tensor([[IDS[word] for word in row] + [PAD_ID] * (length - len(row)) for row in rows])


def _hint(word: str) -> str:
    near = difflib.get_close_matches(word, VOCABULARY[2:], n=3, cutoff=0.6)
    if near:
        return f"did you mean {' or '.join(near)}?"
    return "its words are " + "; ".join(f"{kind}s: {', '.join(words)}" for kind, words in kinds().items())
