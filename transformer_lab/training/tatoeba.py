"""Real sentence pairs: the English–Chinese file of Tatoeba as ManyThings packs it.

Floor 4b. A reader downloads `cmn-eng.zip` from https://www.manythings.org/anki/ (licence CC-BY 2.0 FR) and passes its path.
Every line is one pair, English TAB Chinese TAB attribution; the attribution is what the licence asks for, and is kept.
"""

import os
import random
import zipfile
import zlib
from collections.abc import Iterable, Sequence
from pathlib import Path

from .pairs import Pair
from .words import split_words

MEMBER = "cmn.txt"
MAX_BYTES = 100_000_000  # the whole file has 4 million
MAX_LINE = 10_000  # characters; the longest line of the file has fewer than 300
WHERE = "cmn-eng.zip from https://www.manythings.org/anki/"


def read_tatoeba(path: str | os.PathLike) -> list[Pair]:
    """Reads sentence pairs from the ManyThings archive, or from the text file in it.

    Args:
        path: of `cmn-eng.zip` or of `cmn.txt`; UTF-8, with or without a byte order mark, any line ends. What kind of file it
            is, its contents say and not its name.

    Returns:
        The pairs in the order of the file; `source` is the attribution. Blank lines are passed over; a line without its
        third column has the source "".

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: the file is not what it should be: file, line and cause are named.

    Source:
        https://www.manythings.org/anki/ ; chapter 11.
    """
    path = Path(path)
    if not path.is_file():
        what = "is a folder" if path.is_dir() else "does not exist"
        raise FileNotFoundError(f"{path} {what}; give the path of {WHERE}")
    with path.open("rb") as file:
        zipped = file.read(4) in (b"PK\x03\x04", b"PK\x05\x06")  # the second: an empty archive
    name, data = _member(path) if zipped else (str(path), _limited(path))
    pairs = [_pair(name, i, line) for i, line in enumerate(_lines(name, data), start=1) if line.strip()]
    if not pairs:
        raise ValueError(f"{name} holds no sentence pair; give the path of {WHERE}")
    return pairs


def split_pairs(
    pairs: Sequence[Pair], *, seed: int, valid: int, test: int
) -> tuple[list[Pair], list[Pair], list[Pair]]:
    """Parts pairs into training, validation and test, so that no sentence of one part stands in another.

    What is drawn is distinct English sentences: all translations of one stay together, and so do sentences that differ in
    nothing but capitals and punctuation ("You're ill." and "You're ill?"). The draw depends on the seed and on which
    sentences there are, not on the order of the file.

    Args:
        pairs: all of them.
        seed: of the draw.
        valid: number of distinct English sentences for validation.
        test: number of distinct English sentences for the test.

    Returns:
        (train, valid, test), each in the order of the file.

    Raises:
        TypeError: a number is not an int.
        ValueError: a number is negative, or nothing would be left to train on.

    Source:
        Ours; chapter 11.
    """
    for name, value in {"seed": seed, "valid": valid, "test": test}.items():
        if isinstance(value, bool) or not isinstance(value, int):
            raise TypeError(f"{name} must be an int, got {type(value).__name__} ({value!r})")
        if name != "seed" and value < 0:
            raise ValueError(f"{name} must be at least 0, got {value}")
    keys = [sentence_key(pair.english) for pair in pairs]
    drawn = sorted(set(keys))
    if valid + test >= len(drawn):
        raise ValueError(
            f"valid={valid} and test={test} leave nothing to train on: there are {len(drawn)} distinct English sentences"
        )
    random.Random(f"{seed}").shuffle(drawn)
    part_of = {**dict.fromkeys(drawn[:valid], 1), **dict.fromkeys(drawn[valid : valid + test], 2)}
    parts: tuple[list[Pair], list[Pair], list[Pair]] = ([], [], [])
    for key, pair in zip(keys, pairs, strict=True):
        parts[part_of.get(key, 0)].append(pair)
    return parts


def references(pairs: Iterable[Pair]) -> dict[str, list[str]]:
    """Collects all translations of each English sentence: what a translation of it is scored against.

    Sentences are the same when they give the same tokens ("It's late." and "it’s late."); those that end differently are
    not, since a question is translated differently.

    Args:
        pairs: for example the test part.

    Returns:
        {English as it stands first: [its distinct Chinese translations, in the order of the pairs]}.

    Source:
        Papineni et al. 2002 for several references; chapter 11.
    """
    spelling: dict[tuple[str, ...], str] = {}
    found: dict[str, list[str]] = {}
    for pair in pairs:
        chinese = found.setdefault(spelling.setdefault(tuple(split_words(pair.english)), pair.english), [])
        if pair.chinese not in chinese:
            chinese.append(pair.chinese)
    return found


def sentence_key(english: str) -> str:
    """Reduces a sentence to what must not stand in two parts of a split: its words, without capitals and marks.

    Args:
        english: one sentence.

    Returns:
        Its words, or all its tokens where it has no word.

    Source:
        Ours; chapter 11.
    """
    tokens = split_words(english)
    return " ".join([token for token in tokens if any(map(str.isalnum, token))] or tokens)


def _limited(path: Path) -> bytes:
    if (size := path.stat().st_size) > MAX_BYTES:
        raise ValueError(f"{path} has {size:,} bytes, more than the {MAX_BYTES:,} that are read; is it {WHERE}?")
    return path.read_bytes()


def _member(path: Path) -> tuple[str, bytes]:
    """The text file in the archive, unpacked no further than the limit."""
    try:
        with zipfile.ZipFile(path) as archive:
            found = [info for info in archive.infolist() if info.filename.split("/")[-1] == MEMBER]
            if len(found) != 1:
                holds = ", ".join(archive.namelist()[:5]) or "nothing"
                raise ValueError(f"{path} must hold {MEMBER} once, but it holds {holds}; give the path of {WHERE}")
            with archive.open(found[0]) as file:
                data = file.read(MAX_BYTES + 1)
    except (zipfile.BadZipFile, EOFError, RuntimeError, NotImplementedError, OSError, zlib.error) as error:
        raise ValueError(f"{path} is a damaged or encrypted archive ({error}); download it again: {WHERE}") from error
    if len(data) > MAX_BYTES:
        raise ValueError(f"{MEMBER} in {path} has more than the {MAX_BYTES:,} bytes that are read; is it {WHERE}?")
    return f"{MEMBER} in {path}", data


def _lines(name: str, data: bytes) -> list[str]:
    if (place := data.find(b"\0")) >= 0:
        raise ValueError(f"{name} is not a text file: byte {place} is zero; give the path of {WHERE}")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise ValueError(f"{name}, line {line}: not UTF-8 ({error.reason}); save the file as UTF-8") from error
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def _pair(name: str, number: int, line: str) -> Pair:
    where = f"{name}, line {number}"
    if len(line) > MAX_LINE:
        raise ValueError(
            f"{where} has {len(line):,} characters, more than the {MAX_LINE:,} that are read; is it {WHERE}?"
        )
    columns = [column.strip() for column in line.split("\t")]
    if len(columns) not in (2, 3):
        raise ValueError(
            f"{where} has {len(columns)} columns; expected English TAB Chinese TAB attribution, got {line[:60]!r}"
        )
    for language, column in zip(("English", "Chinese"), columns, strict=False):
        if not column:
            raise ValueError(f"{where} has no {language} sentence: {line[:60]!r}")
    return Pair(*columns)
