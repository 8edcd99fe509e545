"""Sentences to translate, from the command line or from a file, and where each of them stands.

Floor 7a.
"""

import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

NAMED = 10  # lines that notes tell of one by one


@dataclass(frozen=True)
class Sentences:
    """Texts in order.

    Args:
        texts: one sentence each; of a file, one a line.
        name: what they come from: a file's name, or an empty text for the command line.

    Source:
        Ours; chapter 11.
    """

    texts: Sequence[str]
    name: str = ""

    def where(self, index: int) -> str:
        """Says where a text stands, as the beginning of a message.

        Args:
            index: of the text, from 0.

        Returns:
            Such as "letters.txt, line 3: "; empty where there is only one sentence.

        Source:
            Ours; chapter 11.
        """
        if self.name:
            return f"{self.name}, line {index + 1}: "
        return f"sentence {index + 1}: " if len(self.texts) > 1 else ""


def read_sentences(path: str) -> Sentences:
    """Reads a file, one sentence a line.

    Args:
        path: of the file; - is standard input. UTF-8, with or without a byte order mark, any line ends.

    Returns:
        Its lines; blank ones among them.

    Raises:
        OSError: it cannot be read.
        ValueError: it is not UTF-8 text (the line is named), or there is nothing in it.

    Source:
        Ours; chapter 11.
    """
    name = "standard input" if path == "-" else path
    data = sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
    text = _decoded(name, data).replace("\r\n", "\n").replace("\r", "\n")
    if not text.strip():
        raise ValueError(f"{name} holds no sentence; write one a line")
    return Sentences(text.removesuffix("\n").split("\n"), name)


def holds_several(text: str) -> bool:
    """Says whether a text seems to be more than one sentence.

    Args:
        text: English.

    Returns:
        Whether a word that begins with a capital letter follows a final mark; after "Mr." and the like it is none.

    Source:
        Ours; chapter 11.
    """
    return bool(re.search(r"[.!?][\"'”’)]*\s+[\"'“‘(]*[A-Z]", re.sub(r"\b(Mr|Mrs|Ms|Dr|St)\.", r"\1", text)))


def told(notes: Sequence[str], say: str) -> list[str]:
    """Keeps a long list of notes short.

    Args:
        notes: one a sentence.
        say: what the rest are about.

    Returns:
        The first ten, and how many more there are.

    Source:
        Ours; chapter 11.
    """
    more = len(notes) - NAMED
    return [*notes[:NAMED], *([f"note: {more} more {'line' if more == 1 else 'lines'} {say}"] if more > 0 else [])]


def _decoded(name: str, data: bytes) -> str:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = _line(error.object[: error.start])
        raise ValueError(f"{name}, line {line}: not UTF-8 ({error.reason}); save the file as UTF-8") from error
    if (place := text.find("\0")) >= 0:
        raise ValueError(
            f"{name}, line {_line(text[:place].encode())}: holds a zero byte; it must be a text file in UTF-8"
        )
    return text


def _line(before: bytes) -> int:
    return before.replace(b"\r\n", b"\n").replace(b"\r", b"\n").count(b"\n") + 1
