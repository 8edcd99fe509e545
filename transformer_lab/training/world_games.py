"""The two games that mini-world is trained with: find the hidden word (BERT), find the exchanged word (ELECTRA).

Floor 4b. Only the three words that the rule ties together are hidden or exchanged, at most one in a sentence, the verb most
often. An exchanged sentence stays grammatical, and never joins the two nouns of a held-out pair.
"""

import random
from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from .world import WorldModel
from .world_corpus import Sentence, pick, preposition_of
from .world_vocabulary import MASK_ID, to_ids
from .world_words import PLACE_CLASS, PREPOSITIONS, SUBJECT_CLASS, is_held_out, kinds

VERB = 0.5  # probability that a game is about the verb of a sentence
NOUN = 0.15  # … about its subject; and as much again about its place
_CLASSES = SUBJECT_CLASS | PLACE_CLASS


def hidden_word_loss(model: WorldModel, sentences: Sequence[Sentence], rng: random.Random) -> Tensor:
    """Hides one deciding word in most sentences, and asks for it.

    Cross-entropy of the word logits, mean over the hidden positions.

    Args:
        model: the model.
        sentences: B sentences, all of one length S.
        rng: the source of chance.

    Returns:
        The loss, a scalar.

    Source:
        Devlin et al. 2018, 3.1; chapter 02.
    """
    ids = to_ids([sentence.words for sentence in sentences])  # [B, S]
    hidden = torch.zeros_like(ids, dtype=torch.bool)
    for row, sentence in enumerate(sentences):
        position = draw_position(rng, sentence)
        if position is not None:
            hidden[row, position] = True
    logits, _ = model(ids.masked_fill(hidden, MASK_ID))
    return F.cross_entropy(logits[hidden], ids[hidden])


def replaced_word_loss(model: WorldModel, sentences: Sequence[Sentence], rng: random.Random) -> Tensor:
    """Exchanges one deciding word in most sentences, and asks of every word whether it was exchanged.

    Binary cross-entropy of the replaced logits, mean over all positions.

    Args:
        model: the model.
        sentences: B sentences, all of one length S.
        rng: the source of chance.

    Returns:
        The loss, a scalar.

    Source:
        Clark et al. 2020, 2; chapter 02.
    """
    ids = to_ids([sentence.words for sentence in sentences])  # [B, S]
    corrupted = to_ids([exchange_word(rng, sentence) for sentence in sentences])
    _, logits = model(corrupted)
    return F.binary_cross_entropy_with_logits(logits, (corrupted != ids).float())


def draw_position(rng: random.Random, sentence: Sentence) -> int | None:
    """Draws the word that a game is about.

    Args:
        rng: the source of chance.
        sentence: a mini-world sentence.

    Returns:
        Position of the verb, the subject or the place, or None: then the sentence stays as it is.

    Source:
        Ours; chapter 02.
    """
    chance = rng.random()
    if chance < VERB:
        return sentence.verb
    if chance < VERB + NOUN:
        return sentence.subject
    return sentence.place if chance < VERB + 2 * NOUN else None


def exchange_word(rng: random.Random, sentence: Sentence, *, spare_held_out: bool = True) -> tuple[str, ...]:
    """Exchanges the verb for another verb, or a noun for one of another class; most often, not always.

    What chance puts in here, a small generator does in ELECTRA.

    Args:
        rng: the source of chance.
        sentence: a mini-world sentence.
        spare_held_out: leave the sentence alone rather than join both nouns of a held-out pair.

    Returns:
        The words, at most one of them exchanged. A new place keeps to the preposition that stands there.

    Source:
        Clark et al. 2020, 2; chapter 02.
    """
    position = draw_position(rng, sentence)
    if position is None:
        return sentence.words
    old = sentence.words[position]
    rivals = _RIVALS[old]
    if position == sentence.place:
        preposition = sentence.words[preposition_of(sentence)]
        rivals = [word for word in rivals if preposition in PREPOSITIONS[PLACE_CLASS[word]]]
    words = (*sentence.words[:position], pick(rng, rivals), *sentence.words[position + 1 :])
    return sentence.words if spare_held_out and is_held_out(words) else words


_RIVALS = {
    word: [other for other in kinds()[kind] if _CLASSES.get(other, other) != _CLASSES.get(word, word)]
    for kind in ("subject", "place", "verb")
    for word in kinds()[kind]
}
