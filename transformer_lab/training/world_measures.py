"""What a mini-world model has learned, in numbers.

Floor 4b. Every figure is taken on sentences whose subject and place never met in training; the same functions measure the
untrained control.
"""

import itertools
import random
from collections.abc import Sequence
from math import comb
from typing import Any

import torch
from torch import Tensor

from .world import WorldModel
from .world_corpus import Sentence, held_out_sentences
from .world_games import exchange_word
from .world_interventions import place_scores, verb_accuracy
from .world_vocabulary import PAD_ID, VOCABULARY, to_ids
from .world_words import MODIFIERS, kinds

HELD_OUT_SEED = 1
HELD_OUT_COUNT = 300
BOOK_SENTENCE = "the cat sat on the mat"
SUSPICIONS = (("the cat sat on the mat", "sat"), ("the cat sat in the river", "sat"))
GUESSES = (
    ("the cat <mask> on the mat", "sat"),
    ("the cat <mask> on the bed", "slept"),
    ("the cat <mask> in the river", "swam"),
    ("the book <mask> on the mat", "lay"),
    ("the bird <mask> in the sky", "flew"),
)


@torch.no_grad()
def measure(model: WorldModel) -> dict[str, Any]:
    """Takes every figure of the model card.

    Args:
        model: trained or not, in eval mode, on the CPU.

    Returns:
        {name: figure}, rounded to four places, ready for JSON.

    Source:
        Ours; chapter 02.
    """
    sentences = held_out()
    ids = to_ids([sentence.words for sentence in sentences])
    deciding = torch.tensor([(s.subject, s.verb, s.place) for s in sentences])  # [B, 3]
    return {
        "masked_verb_accuracy": round(verb_accuracy(model, ids, deciding), 4),
        "replaced": replaced_scores(model, sentences),
        "layers": [layer_scores(weights, sentences, deciding) for weights in model.attention(ids)],
        "suspicion": {
            f"{word} | {sentence}": round(dict(model.suspicion(sentence))[word], 4) for sentence, word in SUSPICIONS
        },
        "guess": {
            sentence: [word, round(dict(model.guess(sentence, len(VOCABULARY)))[word], 4)] for sentence, word in GUESSES
        },
        "place": place_scores(model, sentences, ids, deciding),
        "book_sentence": {"tokens": BOOK_SENTENCE.split(), "row": "sat", "layers": book_rows(model)},
    }


def held_out(count: int = HELD_OUT_COUNT) -> list[Sentence]:
    """Writes the test sentences.

    Args:
        count: how many.

    Returns:
        Sentences made of held-out pairs only.

    Source:
        Ours; chapter 02.
    """
    return list(itertools.islice(held_out_sentences(HELD_OUT_SEED), count))


def replaced_scores(model: WorldModel, sentences: Sequence[Sentence]) -> dict[str, float]:
    """Plays the second game and scores what the model finds, among all words and among verbs alone.

    precision = found rightly / found; recall = found rightly / exchanged; threshold 0.5.

    Args:
        model: the model.
        sentences: B sentences.

    Returns:
        {precision, recall, verb_precision, verb_recall}.

    Source:
        Ours; chapter 02.
    """
    rng = random.Random(HELD_OUT_SEED)
    ids = to_ids([sentence.words for sentence in sentences])  # [B, S]
    corrupted = to_ids([exchange_word(rng, sentence, spare_held_out=False) for sentence in sentences])
    found, true = model(corrupted)[1] > 0, corrupted != ids
    found &= ids != PAD_ID
    verb = torch.tensor([[sentence.verb] for sentence in sentences])  # [B, 1]
    scores = {}
    for prefix, f, t in (("", found, true), ("verb_", found.gather(1, verb), true.gather(1, verb))):
        right = (f & t).sum().item()
        scores[f"{prefix}precision"] = round(right / max(1, f.sum().item()), 4)
        scores[f"{prefix}recall"] = round(right / max(1, t.sum().item()), 4)
    return scores


def layer_scores(weights: Tensor, sentences: Sequence[Sentence], deciding: Tensor) -> dict[str, Any]:
    """Says where the verb's row of one layer looks, and which column draws most.

    Args:
        weights: attention of the layer [B, h, S, S].
        sentences: the B sentences.
        deciding: positions of subject, verb and place [B, 3].

    Returns:
        Means per head of verb→subject and verb→place; the share of sentences in which the two strongest keys of the
        mean over heads, the verb itself left out, are the subject and the place (also for sentences without "with …" and
        "near …", and by chance); and the column that gathers most.

    Source:
        Ours; chapter 02.
    """
    row = torch.arange(len(sentences))
    subject, verb, place = deciding.T
    verb_rows = weights[row, :, verb]  # [B, h, S]
    mean = verb_rows.mean(1)  # [B, S]
    mean[row, verb] = -1.0
    both = (mean.topk(2).indices.sort(1).values == torch.stack([subject, place], 1).sort(1).values).all(1)
    plain = torch.tensor([not set(MODIFIERS) & set(s.words) for s in sentences])
    lengths = [len(s.words) for s in sentences]
    return {
        "verb_to_subject": [round(x, 4) for x in verb_rows[row, :, subject].mean(0).tolist()],
        "verb_to_place": [round(x, 4) for x in verb_rows[row, :, place].mean(0).tolist()],
        "uniform": round(sum(1 / n for n in lengths) / len(lengths), 4),
        "top_two": round(both.float().mean().item(), 4),
        "top_two_plain": round(both[plain].float().mean().item(), 4),
        "top_two_chance": round(sum(1 / comb(n - 1, 2) for n in lengths) / len(lengths), 4),
        "sink": sink(weights, sentences),
    }


def sink(weights: Tensor, sentences: Sequence[Sentence]) -> dict[str, float | str]:
    """Finds the kind of word whose column gathers most attention, over all queries and heads.

    Args:
        weights: attention of one layer [B, h, S, S].
        sentences: the B sentences.

    Returns:
        The kind, its mean share per word, and the share that evenly spread attention would give.

    Source:
        Ours; chapter 02.
    """
    kind_of = {word: kind for kind, words in kinds().items() for word in words}
    shares: dict[str, list[float]] = {}
    even: dict[str, list[float]] = {}
    for maps, sentence in zip(weights, sentences, strict=True):
        n = len(sentence.words)
        columns = maps[:, :n, :n].mean((0, 1)).tolist()  # [S]
        for word, share in zip(sentence.words, columns, strict=True):
            shares.setdefault(kind_of[word], []).append(share)
            even.setdefault(kind_of[word], []).append(1 / n)
    means = {kind: sum(values) / len(values) for kind, values in shares.items()}
    top = max(means, key=means.get)
    return {"kind": top, "share": round(means[top], 4), "even": round(sum(even[top]) / len(even[top]), 4)}


def book_rows(model: WorldModel) -> list[dict[str, Any]]:
    """Gives the verb's row of the book's own sentence.

    Args:
        model: the model.

    Returns:
        Per layer the row of *sat* for every head, and their mean.

    Source:
        Article, "Self-attention"; chapter 02.
    """
    verb = BOOK_SENTENCE.split().index("sat")
    rows = [weights[0, :, verb] for weights in model.attention(model.encode(BOOK_SENTENCE))]  # [h, S] per layer
    return [
        {
            "heads": [[round(x, 4) for x in head] for head in row.tolist()],
            "mean": [round(x, 4) for x in row.mean(0).tolist()],
        }
        for row in rows
    ]
