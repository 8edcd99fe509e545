"""The command line: `python -m transformer_lab --help`.

Floor 7. Every command imports what it needs when it runs, so that help and errors come at once.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from .sealed import CheckpointError


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command.

    Args:
        arguments: those after `python -m transformer_lab`; the process's own when None.

    Returns:
        Exit status: 0 done, 1 the command found something wrong, 130 interrupted; argparse exits with 2 by itself.

    Source:
        Ours.
    """
    options = _parser().parse_args(arguments)
    try:
        return options.run(options)
    except KeyboardInterrupt:
        print("\ninterrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:  # the reader of our output, `head` for instance, has left
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except CheckpointError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m transformer_lab",
        description="Trains and checks the models that the book of Transformer Lab shows.",
        epilog="Example: python -m transformer_lab evaluate world",
    )
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    _add_train(commands)
    _add_evaluate(commands)
    return parser


def _add_train(commands: argparse._SubParsersAction) -> None:
    train = commands.add_parser(
        "train",
        help="train a model and write its weights and card",
        description="Trains a model on one CPU thread, measures it beside an untrained control, and writes two files: the "
        "weights (safetensors, float16) and the model card (JSON). Ctrl-C ends the training early and writes what there is.",
    )
    train.add_argument("model", choices=["world"], help="world: the encoder of mini-world, about a minute a seed")
    train.add_argument(
        "--seed",
        type=_whole_number,
        nargs="+",
        default=[0],
        metavar="N",
        help="seeds (default: 0); the card reports every one of them",
    )
    train.add_argument(
        "--ship",
        type=_whole_number,
        metavar="N",
        help="the seed to write (default: the one in the middle, not the luckiest)",
    )
    train.add_argument("--steps", type=_positive, metavar="N", help="updates (default: those of the recipe)")
    train.add_argument(
        "--out",
        type=_weights_file,
        default=Path("world.safetensors"),
        metavar="FILE",
        help="weights to write, the card beside them (default: %(default)s)",
    )
    train.set_defaults(run=_train)


def _add_evaluate(commands: argparse._SubParsersAction) -> None:
    evaluate = commands.add_parser(
        "evaluate",
        help="measure a model file and compare it with its card",
        description="Takes every figure of the model card again from the weights, prints both, and exits with 1 where they differ.",
    )
    evaluate.add_argument("model", choices=["world"], help="which model")
    evaluate.add_argument(
        "--file",
        type=_weights_file,
        metavar="FILE",
        help="weights to measure, card beside them (default: those of the package)",
    )
    evaluate.set_defaults(run=_evaluate)


def _train(options: argparse.Namespace) -> int:
    from .training.world_card import train_world

    if options.ship is not None and options.ship not in options.seed:
        print(f"error: --ship {options.ship} is not among the seeds {options.seed}", file=sys.stderr)
        return 2
    return train_world(options.out, seeds=options.seed, ship=options.ship, steps=options.steps)


def _evaluate(options: argparse.Namespace) -> int:
    from .training.world_card import evaluate_world

    return evaluate_world(options.file)


def _weights_file(text: str) -> Path:
    path = Path(text)
    if path.suffix != ".safetensors":
        raise argparse.ArgumentTypeError(f"must end in .safetensors, got {text!r}")
    if not path.resolve().parent.is_dir():
        raise argparse.ArgumentTypeError(f"its folder does not exist: {text!r}")
    return path


def _whole_number(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"must be a whole number from 0, got {text!r}")
    return int(text)


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number from 1, got {text!r}")
    return int(text)


if __name__ == "__main__":
    sys.exit(main())
