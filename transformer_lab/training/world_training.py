"""Training mini-world: the loop, which plays its two games in turn.

Floor 4b.
"""

import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import torch
from tqdm import tqdm

from .world import WorldModel, new_world
from .world_corpus import Sentence, training_sentences
from .world_games import hidden_word_loss, replaced_word_loss


@dataclass(frozen=True)
class Recipe:
    """Everything that decides how a mini-world model comes out.

    Args:
        seed: of the first weights, the sentences and the corruptions.
        steps: number of updates.
        batch: sentences an update, all of one length, so that nothing is padding.
        learning_rate: its peak; it rises over warmup steps and then falls to 0, both in straight lines.
        warmup: number of rising steps.
        replaced_weight: weight of the second game's loss (the first game's is 1).

    Source:
        Ours; chapter 02.
    """

    seed: int = 0
    steps: int = 2400
    batch: int = 128
    learning_rate: float = 4e-3
    warmup: int = 300
    replaced_weight: float = 5.0


def train(recipe: Recipe = Recipe(), *, progress: bool = False) -> tuple[WorldModel, list[float]]:
    """Trains a mini-world model on one CPU thread; the same recipe gives the same weights, bit for bit.

    An interrupt (Ctrl-C) ends the training early and loses nothing.

    Args:
        recipe: seed, steps and the rest.
        progress: show a progress bar.

    Returns:
        The model in eval mode, and the loss of every step taken.

    Source:
        BERT (Devlin et al. 2018), ELECTRA (Clark et al. 2020); chapter 02.
    """
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # tiny matrices; and sums in one order
    model = new_world(recipe.seed).train()
    optimizer = torch.optim.AdamW(model.parameters(), betas=(0.9, 0.98), weight_decay=0.0)
    batches = batches_of_one_length(training_sentences(recipe.seed), recipe.batch)
    rng = random.Random(f"games {recipe.seed}")
    losses: list[float] = []
    try:
        for step in (bar := tqdm(range(recipe.steps), disable=not progress, unit="step")):
            sentences = next(batches)
            if step % 2 == 0:
                loss = hidden_word_loss(model, sentences, rng)
            else:
                loss = recipe.replaced_weight * replaced_word_loss(model, sentences, rng)
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
        torch.set_num_threads(threads)
    return model.eval(), losses


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


def batches_of_one_length(sentences: Iterable[Sentence], size: int) -> Iterator[list[Sentence]]:
    """Gathers sentences of equal length, so that a batch needs no padding.

    Args:
        sentences: any number.
        size: sentences a batch.

    Returns:
        An iterator of lists of that size.

    Source:
        Ours; chapter 10.
    """
    waiting: dict[int, list[Sentence]] = {}
    for sentence in sentences:
        batch = waiting.setdefault(len(sentence.words), [])
        batch.append(sentence)
        if len(batch) == size:
            del waiting[len(sentence.words)]
            yield batch
