"""Interventions on mini-world sentences: change one word, or hide one column, and see whether the verb follows.

Floor 4b. A heat map shows where a model looks; only an intervention shows that it matters.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from .world import WorldModel
from .world_corpus import Sentence, preposition_of
from .world_vocabulary import IDS, MASK_ID, PAD_ID, to_ids
from .world_words import PLACE_CLASS, PLACES, PREPOSITIONS, is_held_out, verb_for


def verb_accuracy(model: WorldModel, ids: Tensor, deciding: Tensor, *, blind: Tensor | None = None) -> float:
    """Hides the verb and counts how often the model's first guess is right.

    Args:
        model: the model.
        ids: token ids [B, S].
        deciding: positions of subject, verb and place [B, 3].
        blind: one position per sentence [B] that no query may attend to, or None.

    Returns:
        Share of sentences, between 0 and 1.

    Source:
        Ours; chapter 02.
    """
    row, verb = torch.arange(len(ids)), deciding[:, 1]
    return (guess_verb(model, ids, deciding, blind=blind) == ids[row, verb]).float().mean().item()


def guess_verb(model: WorldModel, ids: Tensor, deciding: Tensor, *, blind: Tensor | None = None) -> Tensor:
    """Hides the verb and asks for it.

    Args:
        model: the model.
        ids: token ids [B, S].
        deciding: positions of subject, verb and place [B, 3].
        blind: one position per sentence [B] that no query may attend to, or None.

    Returns:
        ids of the likeliest words [B].

    Source:
        Ours; chapter 02.
    """
    row, verb = torch.arange(len(ids)), deciding[:, 1]
    hidden = ids.clone()
    hidden[row, verb] = MASK_ID
    mask = (ids != PAD_ID)[:, None, None, :]  # [B, 1, 1, S]
    if blind is not None:
        mask[row, 0, 0, blind] = False
    return model(hidden, mask)[0][row, verb].argmax(-1)


def place_scores(
    model: WorldModel, sentences: Sequence[Sentence], ids: Tensor, deciding: Tensor
) -> dict[str, float | int]:
    """Intervenes: hides columns from every query, and moves the subject to another place.

    Args:
        model: the model.
        sentences: the B sentences.
        ids: token ids [B, S].
        deciding: positions of subject, verb and place [B, 3].

    Returns:
        Masked-verb accuracy with the place's, the subject's and (control) the preposition's column hidden; how often the
        guess follows when the place alone is exchanged for one that the preposition allows, and in how many sentences.

    Source:
        Ours; chapter 02.
    """
    preposition = torch.tensor([preposition_of(sentence) for sentence in sentences])
    moved = {i: words for i, sentence in enumerate(sentences) if (words := move(sentence))}
    at = deciding[list(moved)]  # [moved, 3]
    new_ids = to_ids(list(moved.values()))
    new_verbs = [verb_for(words[s], words[p]) for words, (s, _, p) in zip(moved.values(), at.tolist(), strict=True)]
    follows = guess_verb(model, new_ids, at) == torch.tensor([IDS[verb] for verb in new_verbs])
    return {
        "accuracy_place_hidden": round(verb_accuracy(model, ids, deciding, blind=deciding[:, 2]), 4),
        "accuracy_subject_hidden": round(verb_accuracy(model, ids, deciding, blind=deciding[:, 0]), 4),
        "accuracy_preposition_hidden": round(verb_accuracy(model, ids, deciding, blind=preposition), 4),
        "moved_sentences": len(moved),
        "moved_verb_follows": round(follows.float().mean().item(), 4),
    }


def move(sentence: Sentence) -> list[str] | None:
    """Exchanges the place, and nothing else, so that the rule asks for another verb.

    Args:
        sentence: a mini-world sentence.

    Returns:
        The words with the next class's first noun that the preposition allows and that is no held-out pair with the
        subject; None when there is none. The old verb still stands there.

    Source:
        Ours; chapter 02.
    """
    subject, verb, place = (sentence.words[i] for i in (sentence.subject, sentence.verb, sentence.place))
    preposition = sentence.words[preposition_of(sentence)]
    names = list(PLACES)
    start = names.index(PLACE_CLASS[place])
    for name in names[start + 1 :] + names[:start]:
        new = PLACES[name][0]
        if preposition in PREPOSITIONS[name] and verb_for(subject, new) != verb and not is_held_out((subject, new)):
            return [*sentence.words[: sentence.place], new, *sentence.words[sentence.place + 1 :]]
    return None
