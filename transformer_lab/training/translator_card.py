"""Trains the translator, writes it with its model card, and checks a card against its weights.

Floor 4b. No figure of the card is typed by hand; all are taken from the very file that is shipped, in float16.
"""

import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

import torch

from ..atomic import check_writable, write_atomically
from ..checkpoint import CheckpointError, read_checkpoint
from .distributed import Processes
from .figures import differences, table
from .translation import read_translator
from .translator_data import TranslatorCorpus, translator_corpus
from .translator_limits import limits
from .translator_measures import check_scores, measure_translator, untrained_control
from .translator_seed import TranslatorRecipe, seed_file, state_file, train_seed
from .world_card import read_card

TOLERANCE = (
    0.5  # BLEU points and the like that a figure may move on another processor; shares may move by a hundredth of it
)


def train_translator(
    out: Path,
    *,
    tatoeba: Path | None,
    seeds: Sequence[int] = (0,),
    epochs: int | None = None,
    resume: bool = False,
    log_dir: Path | None = None,
    device: torch.device | str = "cpu",
) -> int:
    """Trains one translator a seed, and writes the middle one by BLEU and a card about all.

    Each seed's weights stand in `NAME.seedN.safetensors` beside the result and its training state in `NAME.seedN.state`, so
    that seeds may be trained one by one, or at once in several processes, and a later call gathers them. Processes that
    `process_group` has joined share every batch; the first one measures and writes.

    Args:
        out: of the weights; the card takes the same name with .json.
        tatoeba: the ManyThings file or archive; without it the grammar alone is learned.
        seeds: each trained by itself.
        epochs: those of the recipe when None.
        resume: go on from state files, and take seeds that are finished as they are.
        log_dir: folder for TensorBoard's curves, one folder in it for each seed.
        device: of the training. What is written is measured on the CPU.

    Returns:
        Exit status: 0, or 130 after Ctrl-C (a later call with resume goes on).

    Raises:
        CheckpointError: a file cannot be written, or a state belongs to another training, or is there and resume is False.
        ModuleNotFoundError: sacrebleu is not installed, or log_dir is given and TensorBoard is not.
        OSError, ValueError: the sentences cannot be read.

    Source:
        Paper 5; chapter 11.
    """
    check_scores()  # before the hours, not after them
    check_writable(out)
    for name in [] if resume else [name(out, seed) for seed in seeds for name in (state_file, seed_file)]:
        if name.exists():
            raise CheckpointError(
                f"{name}: holds a training already; go on with --resume (resume=True), or delete it to begin anew"
            )
    torch.set_num_threads(1)  # the fastest for so small a model, and sums come in one order
    recipe = TranslatorRecipe() if epochs is None else replace(TranslatorRecipe(), epochs=epochs)
    corpus = translator_corpus(tatoeba, recipe.grammar)
    files = {}
    for seed in seeds:
        log = None if log_dir is None else log_dir / f"seed{seed}"
        files[seed] = train_seed(out, corpus, replace(recipe, seed=seed), resume, log, device)
        if files[seed] is None:
            return 130
    if not Processes.now().first:
        return 0
    results = {seed: read_checkpoint(path).metadata["result"] for seed, path in files.items()}
    ranked = sorted(results, key=lambda seed: headline(results[seed]["figures"])["bleu"])
    chosen = ranked[(len(ranked) - 1) // 2]
    write_atomically(out, files[chosen].read_bytes())
    card = make_card(out, corpus, results, chosen, epochs)
    write_atomically(out.with_suffix(".json"), (json.dumps(card, indent=1, ensure_ascii=False) + "\n").encode())
    print(table({"trained": card["trained"], "untrained": card["untrained"]}))
    print(f"\nwrote {out} ({out.stat().st_size:,} bytes) and {out.with_suffix('.json')}")
    return 0


def make_card(
    path: Path, corpus: TranslatorCorpus, results: dict[int, dict[str, Any]], seed: int, epochs: int | None = None
) -> dict[str, Any]:
    """Gathers what there is to say about the written model.

    Args:
        path: of the weights.
        corpus: what it learned from.
        results: {seed: history, cpu_seconds, device, processes, figures, torch} of every model trained.
        seed: of the written one.
        epochs: as they were asked for; those of the recipe when None.

    Returns:
        The card, ready for JSON.

    Source:
        Model cards (Mitchell et al. 2019); chapter 11.
    """
    translator, chosen = read_translator(path), results[seed]
    control = untrained_control(translator, seed)
    records = chosen["history"]["records"]
    headlines = {number: headline(result["figures"]) for number, result in results.items()}
    data = corpus.describe()
    return {
        "name": "translator",
        "what": "English to Chinese, word by character: an encoder-decoder of 2 + 2 layers.",
        "file": path.name,
        "bytes": path.stat().st_size,
        "parameters": sum(weight.numel() for weight in translator.model.parameters()),
        "config": translator.model.config.to_dict(),
        "vocabulary": {"english": len(translator.source.vocabulary), "chinese": len(translator.target.vocabulary)},
        "data": data,
        "licence": "Weights: CC BY 2.0 FR, as the sentences of Tatoeba (see NOTICE)."
        if data["tatoeba"]
        else "Weights: MIT.",
        "command": _command(data["tatoeba"], list(results), epochs, chosen),
        "recipe": read_checkpoint(path).metadata["recipe"],
        "steps": records[-1]["step"],
        "best_epoch": chosen["history"]["best_epoch"],
        "target_tokens": sum(record["tokens"] for record in records),
        "cpu_seconds": chosen["cpu_seconds"],
        "device": chosen["device"],
        "processes": chosen["processes"],
        "torch": chosen["torch"],
        "loss_by_epoch": [[round(r["train_loss"], 3), r["valid_loss"] and round(r["valid_loss"], 3)] for r in records],
        "chosen": f"seed {seed}, the middle one of {len(results)} by BLEU",
        "seeds": {str(number): figures for number, figures in headlines.items()},
        "min_median_max": {
            name: [round(f(h[name] for h in headlines.values()), 4) for f in (min, median, max)]
            for name in headlines[seed]
        },
        "trained": chosen["figures"],
        "untrained": measure_translator(control, corpus.test, corpus.grammar_test),
        "limits": limits(data, chosen["figures"], translator.longest - 1),
    }


def _command(real: bool, seeds: list[int], epochs: int | None, chosen: dict[str, Any]) -> str:
    """The command that makes the weights and the card anew."""
    processes, device = chosen["processes"], chosen["device"]
    start = "python" if processes == 1 else f"torchrun --nproc-per-node {processes}"
    options = {
        "--tatoeba": "cmn.txt" if real else "",
        "--seed": " ".join(map(str, seeds)),
        "--epochs": "" if epochs is None else str(epochs),
        "--device": "" if device == "cpu" else device,
    }
    given = "".join(f" {name} {value}" for name, value in options.items() if value)
    return f"{start} -m transformer_lab train translator{given}"


def headline(figures: dict[str, Any]) -> dict[str, float]:
    """Picks the figures that are compared across seeds.

    Args:
        figures: from `measure_translator`.

    Returns:
        {name: figure}.

    Source:
        Ours; chapter 11.
    """
    real = figures["tatoeba"] or figures["grammar"]
    last = figures["alignment"]["predicted"]["layers"][-1]["mean"]
    return {
        "bleu": real["beam"]["bleu"],
        "bleu_greedy": real["greedy"]["bleu"],
        "chrf": real["beam"]["chrf"],
        "exact": real["beam"]["exact"],
        "grammar_exact": figures["grammar"]["beam"]["exact"],
        "article_right": figures["article_right"],
        "alignment_argmax": last["argmax"],
        "alignment_mass": last["mass"],
    }


def evaluate_translator(path: Path | None, *, tatoeba: Path | None) -> int:
    """Measures a translator again and compares every figure with its card.

    Args:
        path: of the weights, with the card beside it; those of the package when None.
        tatoeba: the ManyThings file or archive; without it the figures on its sentences are left out.

    Returns:
        Exit status: 0 when all figures are near the card's, else 1.

    Raises:
        CheckpointError: the weights or the card cannot be read.
        OSError, ValueError: the sentences cannot be read.

    Source:
        Ours; chapter 11.
    """
    path = Path(__file__).parent.parent / "pretrained" / "translator.safetensors" if path is None else path
    card = read_card(path.with_suffix(".json"))
    left_out = card["data"]["left_out"] if tatoeba is None else ()
    corpus = translator_corpus(tatoeba, card["recipe"]["grammar"], left_out=left_out)
    figures = measure_translator(read_translator(path), corpus.test, corpus.grammar_test)
    expected = dict(card["trained"])
    if tatoeba is None and card["data"]["tatoeba"]:
        print("without --tatoeba FILE the figures on Tatoeba's sentences are not taken", file=sys.stderr)
        del figures["tatoeba"], expected["tatoeba"]
    print(table({"measured": figures, "card": expected, "untrained": card["untrained"]}))
    wrong = [line for name in expected for line in differences(expected[name], figures[name], TOLERANCE / 100, name)]
    for line in wrong:
        print(f"differs: {line}")
    print(f"{'NOT as' if wrong else 'as'} in {path.with_suffix('.json').name}")
    return 1 if wrong else 0
