"""One translator: its recipe, and its training from one seed.

Floor 4b. A seed's weights are in a file with all that was measured on them, so that seeds can be trained one by one.
"""

import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from ..checkpoint import CheckpointError, read_checkpoint
from ..config import TransformerConfig
from .distributed import Processes
from .loop import train
from .options import TrainingOptions
from .translation import Translator, read_translator
from .translator_data import TranslatorCorpus, build_tokenizers, examples_of
from .translator_measures import measure_translator, new_model


@dataclass(frozen=True)
class TranslatorRecipe:
    """Everything that decides how a translator comes out, besides the sentences of Tatoeba.

    Args:
        seed: of the first weights, the order of batches and dropout.
        grammar: pairs of the grammar to train on.
        epochs: passes over all pairs.
        dropout: as in the paper.
        warmup: steps in which the learning rate rises.
        factor: multiplies the paper's learning rate.
        ema: share of themselves that the averaged weights keep at every step.

    Source:
        Paper 5; chapter 11.
    """

    seed: int = 0
    grammar: int = 8_000
    epochs: int = 30
    dropout: float = 0.1
    warmup: int = 800
    factor: float = 0.8
    ema: float = 0.999

    def options(self) -> TrainingOptions:
        """Gives the loop its options.

        Returns:
            The options.

        Source:
            Chapter 10.
        """
        return TrainingOptions(epochs=self.epochs, warmup=self.warmup, factor=self.factor, ema=self.ema, seed=self.seed)

    def config(self, source_size: int, target_size: int) -> TransformerConfig:
        """Sizes the model.

        Args:
            source_size: of the English vocabulary.
            target_size: of the Chinese one.

        Returns:
            The config: d_model 128, 4 heads, 2 + 2 layers, d_ff 512, output matrix tied to the target's table.

        Source:
            Chapter 11.
        """
        return TransformerConfig(
            source_size, target_size, 128, 4, 2, 2, 512, max_len=128, dropout=self.dropout, tie_embeddings="output"
        )


def seed_file(out: Path, seed: int) -> Path:
    """Names the file of one seed's weights.

    Args:
        out: of the shipped weights.
        seed: of the training.

    Returns:
        The path, beside the shipped weights.

    Source:
        Ours; chapter 11.
    """
    return out.with_suffix(f".seed{seed}.safetensors")


def state_file(out: Path, seed: int) -> Path:
    """Names the file of one seed's training state.

    Args:
        out: of the shipped weights.
        seed: of the training.

    Returns:
        The path, beside that of the seed's weights.

    Source:
        Ours; chapter 11.
    """
    return seed_file(out, seed).with_suffix(".state")


def train_seed(
    out: Path,
    corpus: TranslatorCorpus,
    recipe: TranslatorRecipe,
    resume: bool,
    log_dir: Path | None = None,
    device: torch.device | str = "cpu",
) -> Path | None:
    """Trains and measures one seed, and writes its weights with what was measured.

    Args:
        out: of the shipped weights; this seed's file stands beside it.
        corpus: pairs to learn from and to be measured on.
        recipe: of this seed.
        resume: go on where a state file stopped.
        log_dir: folder for TensorBoard's curves.
        device: of the training.

    Returns:
        The seed's file, or None when Ctrl-C ended the training.

    Raises:
        CheckpointError: a file cannot be written, or what is there belongs to another training.

    Source:
        Paper 5; chapter 11.
    """
    path, first, data = seed_file(out, recipe.seed), Processes.now().first, corpus.describe()
    if resume and path.exists() and _is_finished(path, recipe, data):
        if first:
            print(f"translator, seed {recipe.seed}: finished, taken as it is", file=sys.stderr)
        return path
    source, target = build_tokenizers(corpus.train)
    model = new_model(recipe.config(len(source.vocabulary), len(target.vocabulary)), recipe.seed).to(device)
    train_examples, valid_examples = (examples_of(pairs, source, target) for pairs in (corpus.train, corpus.valid))
    if first:
        print(f"translator, seed {recipe.seed}: {len(train_examples):,} pairs, epochs: {recipe.epochs}", file=sys.stderr)
    state = state_file(out, recipe.seed)
    start, resumed = time.process_time(), resume and state.exists()
    history = train(
        model, train_examples, valid_examples, recipe.options(), state=state, resume=resumed, log_dir=log_dir
    )
    if len(history.records) > recipe.epochs:
        raise CheckpointError(
            f"{state}: has {len(history.records)} epochs already, more than the {recipe.epochs} asked for"
        )
    if history.interrupted or not first:
        return None if history.interrupted else path
    seconds = None if resumed else round(time.process_time() - start, 1)
    place = {"device": torch.device(device).type, "processes": Processes.now().count, "torch": torch.__version__}
    result = {"history": history.to_json(), "cpu_seconds": seconds, **place}
    _write(path, Translator(model, source, target), corpus, result, recipe=asdict(recipe), data=data)
    return path


def _write(
    path: Path, translator: Translator, corpus: TranslatorCorpus, result: dict[str, Any], **metadata: Any
) -> None:
    """Writes the weights, measures what is in the file, in float16, and writes it again with its figures."""
    translator.save(path)
    figures = measure_translator(read_translator(path), corpus.test, corpus.grammar_test)
    translator.save(path, result={**result, "figures": figures}, **metadata)


def _is_finished(path: Path, recipe: TranslatorRecipe, data: dict[str, Any]) -> bool:
    """Whether a seed's file holds what this training would give; fewer epochs than asked for is the one thing that may be mended."""
    found = read_checkpoint(path).metadata
    if "recipe" not in found:
        return False  # it was stopped while it was being measured
    done, trained_on = found["recipe"], found.get("data", {})
    if trained_on != data:
        names = {name for name in data if trained_on.get(name) != data[name]} - {"sha256"} or {"sentences"}
        raise CheckpointError(
            f"{path}: was trained on other sentences (different: {', '.join(sorted(names))}); give the same --tatoeba as then, or "
            "train under another --out"
        )
    wanted = asdict(recipe)
    changed = [f"{name} was {done.get(name)}, is {wanted[name]}" for name in wanted if done.get(name) != wanted[name]]
    if not changed:
        return True
    if {**done, "epochs": wanted["epochs"]} != wanted or done["epochs"] > wanted["epochs"]:
        raise CheckpointError(f"{path}: holds a finished training: {', '.join(changed)}; train under another --out")
    return False
