"""The command `train`.

Floor 7a.
"""

import argparse
import sys
from pathlib import Path

from .values import device, positive, weights_file, whole_number


def add_train(commands: argparse._SubParsersAction) -> None:
    """Adds the command.

    Args:
        commands: of the parser.

    Source:
        Ours; chapter 10.
    """
    train = commands.add_parser(
        "train",
        help="train a model and write its weights and card",
        description="Trains a model, measures it beside an untrained control, and writes two files: the weights (safetensors, "
        "float16) and the model card (JSON).",
        epilog="Example: python -m transformer_lab train world --seed 0 1 2",
    )
    models = train.add_subparsers(title="models", metavar="MODEL", required=True)
    _add_world(models)
    _add_translator(models)


def _add_world(models: argparse._SubParsersAction) -> None:
    world = models.add_parser(
        "world",
        help="the encoder of mini-world, about a minute a seed",
        description="Trains the encoder of mini-world on one CPU thread, about a minute a seed. Ctrl-C ends the training early "
        "and writes what there is.",
        epilog="Example: python -m transformer_lab train world --seed 0 1 2 --out world.safetensors",
    )
    _add_seeds(world)
    world.add_argument(
        "--ship",
        type=whole_number,
        metavar="N",
        help="the seed to write (default: the one in the middle, not the luckiest)",
    )
    world.add_argument("--steps", type=positive, metavar="N", help="updates (default: those of the recipe)")
    _add_out(world, "world.safetensors")
    world.set_defaults(run=_train_world)


def _add_translator(models: argparse._SubParsersAction) -> None:
    translator = models.add_parser(
        "translator",
        help="the translator from English to Chinese, about 25 minutes a seed",
        description="Trains the translator from English to Chinese, about 25 minutes a seed on one CPU thread, on sentences of "
        "Tatoeba and of the book's own grammar. Ctrl-C ends it with nothing lost: the same command with --resume goes on, bit "
        "for bit. Under torchrun several processes share every batch.",
        epilog="Example: python -m transformer_lab train translator --tatoeba cmn-eng.zip --seed 0 1 2 --out translator.safetensors",
    )
    translator.add_argument(
        "--tatoeba",
        type=Path,
        metavar="FILE",
        help="cmn-eng.zip from https://www.manythings.org/anki/, or the cmn.txt in it (default: the grammar alone is learned)",
    )
    _add_seeds(translator)
    translator.add_argument(
        "--epochs", type=positive, metavar="N", help="passes over all pairs (default: as in the recipe)"
    )
    translator.add_argument(
        "--resume",
        action="store_true",
        help="go on where an earlier run stopped; seeds that are finished are taken as they are",
    )
    translator.add_argument(
        "--log-dir",
        type=Path,
        metavar="FOLDER",
        help="write curves for TensorBoard, which must be installed, one folder for each seed",
    )
    translator.add_argument(
        "--device",
        type=device,
        default="cpu",
        help="cpu, cuda, cuda:N or auto (default: cpu, as for the figures of the card)",
    )
    _add_out(translator, "translator.safetensors")
    translator.set_defaults(run=_train_translator)


def _add_seeds(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--seed",
        type=whole_number,
        nargs="+",
        default=[0],
        metavar="N",
        help="seeds (default: 0); the card reports every one of them",
    )


def _add_out(parser: argparse.ArgumentParser, name: str) -> None:
    parser.add_argument(
        "--out",
        type=weights_file,
        default=Path(name),
        metavar="FILE",
        help="weights to write, the card beside them (default: %(default)s)",
    )


def _train_world(options: argparse.Namespace) -> int:
    from ..training.world_card import train_world

    if options.ship is not None and options.ship not in options.seed:
        print(f"error: --ship {options.ship} is not among the seeds {options.seed}", file=sys.stderr)
        return 2
    return train_world(options.out, seeds=options.seed, ship=options.ship, steps=options.steps)


def _train_translator(options: argparse.Namespace) -> int:
    from ..training.distributed import Processes, process_group
    from ..training.translator_card import train_translator

    with process_group(options.device) as where:
        status = train_translator(
            options.out,
            tatoeba=options.tatoeba,
            seeds=list(dict.fromkeys(options.seed)),
            epochs=options.epochs,
            resume=options.resume,
            log_dir=options.log_dir,
            device=where,
        )
        if status == 130 and Processes.now().first:
            print("the same command with --resume goes on", file=sys.stderr)
    return status
