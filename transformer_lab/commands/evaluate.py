"""The command `evaluate`.

Floor 7a.
"""

import argparse
from pathlib import Path

from .values import weights_file


def add_evaluate(commands: argparse._SubParsersAction) -> None:
    """Adds the command.

    Args:
        commands: of the parser.

    Source:
        Ours; chapter 10.
    """
    evaluate = commands.add_parser(
        "evaluate",
        help="measure a model file and compare it with its card",
        description="Takes the figures that a model card has of its weights again, prints both, and exits with 1 where they differ.",
        epilog="Example: python -m transformer_lab evaluate world",
    )
    models = evaluate.add_subparsers(title="models", metavar="MODEL", required=True)
    world = models.add_parser(
        "world",
        help="the encoder of mini-world",
        description="Measures the encoder of mini-world, in a few seconds.",
        epilog="Example: python -m transformer_lab evaluate world --file world.safetensors",
    )
    _add_file(world)
    world.set_defaults(run=_evaluate_world)
    translator = models.add_parser(
        "translator",
        help="the translator from English to Chinese",
        description="Measures the translator: BLEU, chrF and exact translations on sentences it has not seen, the article's three, "
        "and how well its attention aligns words. Takes about half a minute.",
        epilog="Example: python -m transformer_lab evaluate translator --tatoeba cmn-eng.zip",
    )
    translator.add_argument(
        "--tatoeba",
        type=Path,
        metavar="FILE",
        help="cmn-eng.zip from https://www.manythings.org/anki/, or the cmn.txt in it (default: without figures on its sentences)",
    )
    _add_file(translator)
    translator.set_defaults(run=_evaluate_translator)


def _add_file(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--file",
        type=weights_file,
        metavar="FILE",
        help="weights to measure, card beside them (default: those of the package)",
    )


def _evaluate_world(options: argparse.Namespace) -> int:
    from ..training.world_card import evaluate_world

    return evaluate_world(options.file)


def _evaluate_translator(options: argparse.Namespace) -> int:
    from ..training.translator_card import evaluate_translator

    return evaluate_translator(options.file, tatoeba=options.tatoeba)
