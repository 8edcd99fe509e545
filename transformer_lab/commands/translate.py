"""The command `translate`.

Floor 7a.
"""

import argparse
import functools
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from shutil import get_terminal_size
from typing import TYPE_CHECKING

from ..atomic import check_writable, write_atomically
from .heat_map import can_write, heat_map
from .sentences import Sentences, holds_several, read_sentences, told
from .values import device, new_file, positive, weights_file

if TYPE_CHECKING:
    from ..training.translation import Translation, Translator

BEAMS = 4


def add_translate(commands: argparse._SubParsersAction) -> None:
    """Adds the command.

    Args:
        commands: of the parser.

    Source:
        Ours; chapter 11.
    """
    parser = commands.add_parser(
        "translate",
        help="translate English sentences to Chinese",
        description="Translates English sentences to Chinese, with no network. Translations go to standard output, one a line; "
        "notes go to standard error. Words the model does not know are named.",
        epilog='Example: python -m transformer_lab translate "I love you" --show-attention',
    )
    parser.add_argument("sentences", nargs="*", metavar="SENTENCE", help="an English sentence, in quotes")
    parser.add_argument(
        "--input", metavar="FILE", help="translate a file in UTF-8, one sentence a line; - is standard input"
    )
    parser.add_argument(
        "--output",
        type=new_file,
        metavar="FILE",
        help="write there, all at once at the end, instead of to standard output",
    )
    parser.add_argument("--force", action="store_true", help="let --output replace a file that is there")
    search = parser.add_mutually_exclusive_group()
    search.add_argument(
        "--beams", type=positive, default=BEAMS, metavar="N", help="beginnings followed at once (default: %(default)s)"
    )
    search.add_argument(
        "--greedy",
        action="store_const",
        const=1,
        dest="beams",
        help="take the likeliest token at every step, as --beams 1",
    )
    _add_form(parser)
    parser.set_defaults(run=functools.partial(_translate, parser))


def _add_form(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--json", action="store_true", help="one JSON object a line, with tokens, score and unknown words"
    )
    parser.add_argument(
        "--show-attention",
        action="store_true",
        help="draw which words the decoder looked at while it predicted each character",
    )
    parser.add_argument("--layer", type=positive, metavar="N", help="the decoder layer to draw (default: the last)")
    parser.add_argument("--file", type=weights_file, metavar="FILE", help="another translator than that of the package")
    parser.add_argument("--device", type=device, default="cpu", help="cpu, cuda, cuda:N or auto (default: %(default)s)")
    parser.set_defaults(run=functools.partial(_translate, parser))


def _translate(parser: argparse.ArgumentParser, options: argparse.Namespace) -> int:
    _check_usage(parser, options)
    sentences = read_sentences(options.input) if options.input is not None else Sentences(options.sentences)
    if options.output and options.output.exists() and not options.force:
        raise ValueError(f"{options.output} is there already; give another name, or --force to replace it")
    if options.output:
        check_writable(options.output)
    translator = _load(options.file, options.device)
    layers = len(translator.model.decoder.layers)
    if options.layer is not None and options.layer > layers:
        raise ValueError(
            f"--layer must be from 1 to {layers}, the decoder layers of this translator; got {options.layer}"
        )
    _check(sentences, translator, options.beams)
    _say(_unknown(sentences, translator), 'hold unknown words; --json lists them under "unknown"')
    _say(_several(sentences), "hold several sentences")
    encoding = "utf-8" if options.output else sys.stdout.encoding or "utf-8"
    lines = _lines(sentences, translator, options, encoding)
    if options.output:
        write_atomically(options.output, "".join(f"{line}\n" for line in lines).encode("utf-8", "backslashreplace"))
        return 0
    escaped = False
    for line in lines:
        escaped = escaped or not can_write(line, encoding)
        print(line, flush=True)
    if escaped:
        print(f"note: standard output is {encoding}, which lacks some characters; set PYTHONUTF8=1", file=sys.stderr)
    return 0


def _check_usage(parser: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    if options.sentences and options.input is not None:
        parser.error("give sentences or --input FILE, not both")
    if not options.sentences and options.input is None:
        parser.error("give a sentence in quotes, or --input FILE (- for standard input)")
    if options.output and options.input and Path(options.input).resolve() == options.output.resolve():
        parser.error("--output would replace what --input reads; give another name")
    if options.force and not options.output:
        parser.error("--force belongs to --output FILE")
    if options.layer is not None and (options.json or not options.show_attention):
        parser.error("--layer chooses what --show-attention draws; --json gives every layer")


def _load(path: Path | None, where: str) -> "Translator":
    from ..pretrained import load_translator
    from ..training.translation import read_translator

    return load_translator(device=where) if path is None else read_translator(path, where)


def _check(sentences: Sentences, translator: "Translator", beams: int) -> None:
    """Refuses, before anything is translated, what cannot be, and says where it stands."""
    for i, text in enumerate(sentences.texts):
        if _is_blank(sentences, text):
            continue
        try:
            translator.translate_all([text], num_beams=beams)  # checks at once; what it returns would translate
        except ValueError as error:
            raise ValueError(f"{sentences.where(i)}{error}") from error


def _unknown(sentences: Sentences, translator: "Translator") -> list[str]:
    found = ((i, translator.source.unknown(text)) for i, text in enumerate(sentences.texts))
    return [
        f"note: {sentences.where(i)}not in the vocabulary: {', '.join(words)}; the model sees <unk>"
        for i, words in found
        if words
    ]


def _several(sentences: Sentences) -> list[str]:
    found = (i for i, text in enumerate(sentences.texts) if holds_several(text))
    return [
        f"note: {sentences.where(i)}several sentences; the model has learned single ones, so give each by itself"
        for i in found
    ]


def _say(notes: list[str], more: str) -> None:
    for note in told(notes, more):
        print(note, file=sys.stderr)


def _is_blank(sentences: Sentences, text: str) -> bool:
    """Whether a line of a file stays empty; on the command line an empty sentence is a mistake."""
    return bool(sentences.name) and not text.strip()


def _lines(sentences: Sentences, translator: "Translator", options: argparse.Namespace, encoding: str) -> Iterator[str]:
    """What is written for each sentence, in order."""
    from tqdm import tqdm

    texts = [text for text in sentences.texts if not _is_blank(sentences, text)]
    translations = translator.translate_all(texts, num_beams=options.beams)
    cut: list[str] = []
    seen = sys.stderr.isatty() and bool(sentences.name) and (bool(options.output) or not sys.stdout.isatty())
    bar = tqdm(sentences.texts, file=sys.stderr, unit="sentence", disable=not seen, dynamic_ncols=True)
    for i, text in enumerate(bar):
        translation = None if _is_blank(sentences, text) else next(translations)
        if translation and not translation.complete:
            cut.append(
                f"note: {sentences.where(i)}cut off after {len(translation.tokens)} tokens, before the model ended it"
            )
        yield (
            _record(translation, text, translator, options, encoding)
            if options.json
            else _shown(translation, translator, options, encoding)
        )
    _say(cut, "were cut off")


def _record(
    translation: "Translation | None", text: str, translator: "Translator", options: argparse.Namespace, encoding: str
) -> str:
    """A JSON object; that of a blank line has the same keys."""
    if translation is None:
        record = {"source": text, "text": "", "tokens": [], "score": None, "unknown": [], "complete": True}
    else:
        names = ("source", "text", "tokens", "score", "unknown", "complete")
        record = {name: getattr(translation, name) for name in names} | {"score": round(translation.score, 4)}
    if options.show_attention:
        record |= {"source_tokens": translation.source_tokens if translation else [], "attention": []}
    if options.show_attention and translation:
        maps = translator.attention(translation.source_tokens, translation.tokens)
        record["attention"] = [[[round(w, 3) for w in row] for row in layer.mean(dim=0).tolist()] for layer in maps]
    return json.dumps(record, ensure_ascii=encoding.lower().replace("-", "") != "utf8")


def _shown(
    translation: "Translation | None", translator: "Translator", options: argparse.Namespace, encoding: str
) -> str:
    """A translation, and its heat map when asked."""
    if translation is None or not options.show_attention:
        return translation.text if translation else ""
    maps = translator.attention(translation.source_tokens, translation.tokens)  # [h, T, S] of each layer
    layer = len(maps) if options.layer is None else options.layer
    heads = maps[layer - 1].shape[0]
    drawn = heat_map(
        maps[layer - 1].mean(dim=0).tolist(),
        translation.tokens,
        translation.source_tokens,
        width=get_terminal_size().columns if not options.output else 80,
        encoding=encoding,
    )
    title = (
        f"Decoder layer {layer} of {len(maps)}, mean of {heads} heads: where it looked, in percent.\n"
        "Rows are the characters predicted, columns the words read."
    )
    return f"{translation.text}\n\n{title}\n\n{drawn}\n"
