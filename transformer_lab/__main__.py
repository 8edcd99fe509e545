"""The command line: `python -m transformer_lab --help`.

Floor 7b. The commands themselves stand in `commands`; here is what they share: the parser, errors, and Ctrl-C.
"""

import argparse
import os
import sys
from collections.abc import Sequence

from .commands import add_evaluate, add_train, add_translate
from .sealed import CheckpointError

# What a user can mend: a damaged file, no such file, wrong contents, a package that is missing, a loss that is not finite.
MENDABLE = (CheckpointError, OSError, ValueError, ModuleNotFoundError, FloatingPointError)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command.

    Args:
        arguments: those after `python -m transformer_lab`; the process's own when None.

    Returns:
        Exit status: 0 done, 1 the command found something wrong, 130 interrupted; argparse exits with 2 by itself.

    Source:
        Ours.
    """
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(
                errors="backslashreplace"
            )  # Chinese on a stream that cannot write it: escapes, no traceback
    options = _parser().parse_args(arguments)
    try:
        return options.run(options)
    except KeyboardInterrupt:
        print("\ninterrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:  # the reader of our output, `head` for instance, has left
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except MENDABLE as error:
        print(f"error: {_said(error)}", file=sys.stderr)
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m transformer_lab",
        description="Translates with, trains and checks the models that the book of Transformer Lab shows.",
        epilog='Example: python -m transformer_lab translate "I love you"',
    )
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    add_translate(commands)
    add_train(commands)
    add_evaluate(commands)
    return parser


def _said(error: BaseException) -> str:
    """The message without Python's numbers: `sentences.txt: No such file or directory`."""
    if isinstance(error, OSError) and error.strerror and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    return str(error)


if __name__ == "__main__":
    sys.exit(main())
