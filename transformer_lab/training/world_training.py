"""Training mini-world: the loop, and the two games it plays in turn.

Floor 4b. Even steps hide words and ask for them (BERT); odd steps exchange words and ask which (ELECTRA). Only the three
words that the rule of the world ties together are hidden or exchanged, the verb most often. No corrupted sentence ever
holds both nouns of a held-out pair.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor
from tqdm import tqdm

from .world import WorldModel, new_world
from .world_corpus import HELD_OUT_PAIRS, PLACE_CLASS, SUBJECT_CLASS, Sentence, kinds, training_sentences
from .world_vocabulary import IDS, MASK_ID, VOCABULARY, to_ids


@dataclass(frozen=True)
class Recipe:
    """Everything that decides how a mini-world model comes out.

    Args:
        seed: of the first weights, the sentences and the corruptions.
        steps: number of updates.
        batch: sentences an update, all of one length, so that nothing is padding.
        learning_rate: its peak; it rises over warmup steps and then falls to 0, both in straight lines.
        warmup: number of rising steps.
        hide_verb: probability that the verb is hidden.
        hide_noun: probability that the subject (and, independently, the place) is.
        exchange_verb: probability that the verb is exchanged for another.
        exchange_noun: probability that the subject (and, independently, the place) is exchanged for one of another class.
        replaced_weight: weight of the second game's loss.
        rest: probability, for each sentence, that the first layer's attention is left out of an update (stochastic depth),
            so that the second layer learns to look for itself instead of relying on what the first has gathered.

    Source:
        Ours; chapter 02.
    """

    seed: int = 0
    steps: int = 3000
    batch: int = 128
    learning_rate: float = 4e-3
    warmup: int = 300
    hide_verb: float = 0.5
    hide_noun: float = 0.15
    exchange_verb: float = 0.5
    exchange_noun: float = 0.15
    replaced_weight: float = 5.0
    rest: float = 0.5


def train(recipe: Recipe = Recipe(), *, progress: bool = False) -> tuple[WorldModel, list[float]]:
    """Trains a mini-world model on one CPU thread; the same recipe gives the same weights, bit for bit.

    An interrupt (Ctrl-C) ends the training early and loses nothing.

    Args:
        recipe: seed, steps and the rest.
        progress: show a progress bar.

    Returns:
        The model in eval mode, and the loss of every step taken.

    Source:
        BERT (Devlin et al. 2018), ELECTRA (Clark et al. 2020), stochastic depth (Huang et al. 2016); chapter 02.
    """
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # tiny matrices; and sums in one order
    model = new_world(recipe.seed).train()
    optimizer = torch.optim.AdamW(model.parameters(), betas=(0.9, 0.98), weight_decay=0.0)
    batches = batches_of_one_length(training_sentences(recipe.seed), recipe.batch)
    chance = torch.Generator().manual_seed(recipe.seed)
    resting = model.encoder.layers[0].self_attn.register_forward_hook(_rest(recipe.rest, chance))
    losses: list[float] = []
    try:
        for step in (bar := tqdm(range(recipe.steps), disable=not progress, unit="step")):
            ids, deciding = next(batches)
            game = hidden_word_loss if step % 2 == 0 else replaced_word_loss
            loss = game(model, ids, deciding, recipe, chance)
            for group in optimizer.param_groups:
                group["lr"] = learning_rate(recipe, step)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
            bar.set_postfix(loss=f"{losses[-1]:.2f}", refresh=False)
    except KeyboardInterrupt:
        pass
    finally:
        resting.remove()
        torch.set_num_threads(threads)
    return model.eval(), losses


def _rest(probability: float, chance: torch.Generator) -> Callable:
    def hook(module: torch.nn.Module, inputs: tuple, outputs: tuple) -> tuple:
        attended, weights = outputs  # [B, S, d_model]
        awake = torch.rand(len(attended), 1, 1, generator=chance) >= probability
        return attended * awake, weights

    return hook


def learning_rate(recipe: Recipe, step: int) -> float:
    """Rises to the peak in straight line, and falls to 0 in another.

    lr = peak · min((step + 1) / warmup, (steps - step) / (steps - warmup)).

    Args:
        recipe: its peak, warmup and steps.
        step: counted from 0.

    Returns:
        The learning rate of that step.

    Source:
        Ours; chapter 10.
    """
    rise = (step + 1) / max(1, recipe.warmup)
    fall = (recipe.steps - step) / max(1, recipe.steps - recipe.warmup)
    return recipe.learning_rate * min(rise, fall)


def batches_of_one_length(sentences: Iterable[Sentence], size: int) -> Iterator[tuple[Tensor, Tensor]]:
    """Gathers sentences of equal length, so that a batch needs no padding.

    Args:
        sentences: endless.
        size: sentences a batch, B.

    Returns:
        An endless iterator of ids [B, S] and the positions of subject, verb and place [B, 3].

    Source:
        Ours; chapter 10.
    """
    waiting: dict[int, list[Sentence]] = {}
    for sentence in sentences:
        batch = waiting.setdefault(len(sentence.words), [])
        batch.append(sentence)
        if len(batch) == size:
            del waiting[len(sentence.words)]
            yield to_ids([s.words for s in batch]), torch.tensor([(s.subject, s.verb, s.place) for s in batch])


def hidden_word_loss(
    model: WorldModel, ids: Tensor, deciding: Tensor, recipe: Recipe, chance: torch.Generator
) -> Tensor:
    """Hides some words and asks for them.

    Cross-entropy of the word logits, mean over the hidden positions.

    Args:
        model: the model.
        ids: token ids [B, S].
        deciding: positions of subject, verb and place [B, 3].
        recipe: its hide_verb and hide_noun.
        chance: the source of chance.

    Returns:
        The loss, a scalar.

    Source:
        Devlin et al. 2018, 3.1; chapter 02.
    """
    probability = torch.tensor([recipe.hide_noun, recipe.hide_verb, recipe.hide_noun])
    hit = torch.rand(deciding.shape, generator=chance) < probability  # [B, 3]
    hidden = torch.zeros_like(ids, dtype=torch.bool).scatter(1, deciding, hit)  # [B, S]
    logits, _ = model(ids.masked_fill(hidden, MASK_ID))
    return F.cross_entropy(logits[hidden], ids[hidden])


def replaced_word_loss(
    model: WorldModel, ids: Tensor, deciding: Tensor, recipe: Recipe, chance: torch.Generator
) -> Tensor:
    """Exchanges some words and asks, at every position, whether it was exchanged.

    Binary cross-entropy of the replaced logits, mean over all positions, times replaced_weight.

    Args:
        model: the model.
        ids: token ids [B, S].
        deciding: positions of subject, verb and place [B, 3].
        recipe: its exchange_verb, exchange_noun and replaced_weight.
        chance: the source of chance.

    Returns:
        The loss, a scalar.

    Source:
        Clark et al. 2020, 2; chapter 02.
    """
    corrupted = exchange_words(ids, deciding, recipe, chance)
    _, logits = model(corrupted)
    return recipe.replaced_weight * F.binary_cross_entropy_with_logits(logits, (corrupted != ids).float())


def exchange_words(
    ids: Tensor, deciding: Tensor, recipe: Recipe, chance: torch.Generator, *, spare_held_out: bool = True
) -> Tensor:
    """Exchanges verbs for other verbs, and subjects and places for ones of another class.

    Args:
        ids: token ids [B, S].
        deciding: positions of subject, verb and place [B, 3].
        recipe: its exchange_verb and exchange_noun.
        chance: the source of chance.
        spare_held_out: give back a sentence unchanged rather than with both nouns of a held-out pair.

    Returns:
        ids [B, S], some of them exchanged.

    Source:
        Clark et al. 2020, 2, with chance in the generator's place; chapter 02.
    """
    probability = torch.tensor([recipe.exchange_noun, recipe.exchange_verb, recipe.exchange_noun])
    hit = torch.rand(deciding.shape, generator=chance) < probability  # [B, 3]
    old = ids.gather(1, deciding)
    choice = (torch.rand(deciding.shape, generator=chance) * _RIVAL_COUNT[old]).long()
    corrupted = ids.scatter(1, deciding, torch.where(hit, _RIVALS[old, choice], old))
    if not spare_held_out:
        return corrupted
    meets = [(corrupted == a).any(1) & (corrupted == b).any(1) for a, b in _HELD_OUT_IDS]
    return torch.where(torch.stack(meets).any(0)[:, None], ids, corrupted)


def _rivals() -> tuple[Tensor, Tensor]:
    classes = SUBJECT_CLASS | PLACE_CLASS
    rivals = {
        word: [IDS[other] for other in words if classes.get(other, other) != classes.get(word, word)]
        for kind, words in kinds().items()
        if kind in ("subject", "place", "verb")
        for word in words
    }
    rows = [rivals.get(word, []) for word in VOCABULARY]
    widest = max(map(len, rows))
    return torch.tensor([row + [0] * (widest - len(row)) for row in rows]), torch.tensor([len(row) for row in rows])


_RIVALS, _RIVAL_COUNT = _rivals()  # [vocabulary, widest], [vocabulary]
_HELD_OUT_IDS = [(IDS[subject], IDS[place]) for subject, place in HELD_OUT_PAIRS]
