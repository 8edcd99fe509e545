"""The chapters: text that people edit, notebooks that are generated from it.

    python tools/notebooks.py build [NAME ...]   text -> notebook: run it in a fresh kernel, write it in normal form
    python tools/notebooks.py check              do texts and notebooks agree, and are the rules kept? (runs nothing)
    python tools/notebooks.py pull NAME          notebook edited in Jupyter -> text

notebooks/src/NAME.md is the source; notebooks/NAME.ipynb is generated from it and committed with its outputs. NAME may
be shortened to the chapter's number. The direction is always text to notebook, whatever the times of the files say.

Convention for panels that need a live kernel: the cell is tagged live-only and ends in an object whose MIME bundle holds
text/plain and a still (an image or text/html) when no front end is there, and the widget when one is. The kernel knows:
a front end that a person uses lets the kernel ask for input, and neither this tool, nbval nor the book does.
"""

import argparse
import difflib
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import nbformat
from nbformat import NotebookNode
from notebook_form import built_from, fingerprint, inputs, normalise, read_notebook, serialise, write_atomically
from notebook_rules import broken_rules, public_names
from notebook_run import ChapterError, execute
from notebook_text import HEADER, merge_into_text, parse_text, setup_source, with_setup

ROOT = Path(__file__).resolve().parent.parent
COMMAND = "python tools/notebooks.py"


class Chapter:
    """The two files of one chapter."""

    def __init__(self, root: Path, name: str) -> None:
        self.root, self.name = root, name
        self.text_path = root / "notebooks" / "src" / f"{name}.md"
        self.notebook_path = root / "notebooks" / f"{name}.ipynb"

    def text(self) -> str:
        """The text as it stands."""
        return self.text_path.read_text("utf-8")

    def edited_by_hand(self) -> bool:
        """Whether the notebook holds edits that no text knows of: building over it would lose them."""
        if not self.notebook_path.exists():
            return False
        notebook = read_notebook(self.notebook_path)
        return fingerprint(notebook) not in (built_from(notebook), fingerprint(parse_text(self.text())))


def chapter_names(root: Path) -> list[str]:
    """The names of all chapters that have a text or a notebook."""
    folder = root / "notebooks"
    return sorted({path.stem for path in [*folder.glob("src/*.md"), *folder.glob("*.ipynb")]})


def find_chapter(root: Path, wanted: str) -> Chapter:
    """The chapter that a name, a number or a file name stands for.

    Raises:
        SystemExit: If there is none, or more than one.
    """
    stem = Path(wanted).name.removesuffix(".md").removesuffix(".ipynb")
    names = chapter_names(root)
    fitting = [name for name in names if name == stem] or [name for name in names if name.startswith(f"{stem:0>2}_")]
    if len(fitting) != 1:
        raise SystemExit(f"no single chapter is called {wanted!r}; chapters: {', '.join(names) or 'none'}")
    return Chapter(root, fitting[0])


def show_difference(old: str, new: str) -> None:
    """Print what changes in a chapter's text."""
    sys.stdout.writelines(difflib.unified_diff(old.splitlines(True), new.splitlines(True), "text before", "text now"))


def build(chapter: Chapter, overwrite: bool = False) -> None:
    """Text to notebook: bring the set-up cell up to date, run, normalise, write.

    Args:
        chapter: The chapter.
        overwrite: Replace a notebook that was edited by hand and not pulled.

    Raises:
        ChapterError: If a cell fails or edits would be lost; the old notebook is then untouched.
        ValueError: If the text or the old notebook cannot be read.
    """
    old = chapter.text()
    text = with_setup(old, chapter.root)
    notebook = parse_text(text)
    if not overwrite and chapter.edited_by_hand():
        raise ChapterError(
            f"{chapter.notebook_path.name} was edited by hand and building would lose that.\n"
            f"Take the edits into the text with: {COMMAND} pull {chapter.name}\nor drop them with: build --overwrite"
        )
    execute(notebook, chapter.notebook_path.parent)
    result = normalise(notebook, chapter.name)
    nbformat.validate(result)
    if text != old:
        show_difference(old, text)
        write_atomically(chapter.text_path, text)
    write_atomically(chapter.notebook_path, serialise(result))


def differences(given: object, normal: object, path: str = "") -> Iterator[str]:
    """Where two JSON-like values differ, as paths."""
    if isinstance(given, dict) and isinstance(normal, dict):
        for key in sorted({*given, *normal}):
            yield from differences(given.get(key), normal.get(key), f"{path}.{key}".lstrip("."))
    elif isinstance(given, list) and isinstance(normal, list) and len(given) == len(normal):
        for index, (one, other) in enumerate(zip(given, normal, strict=True)):
            yield from differences(one, other, f"{path}[{index}]")
    elif given != normal:
        yield path


def beginnings(cells: list[dict], others: list[dict]) -> str:
    """The first line of each cell that is not among the others."""
    return ", ".join(repr(cell["source"].splitlines()[0][:60]) for cell in cells if cell not in others) or "nothing"


def out_of_step(chapter: Chapter, text: NotebookNode, notebook: NotebookNode) -> Iterator[str]:
    """Each input that differs between text and notebook, and the command that repairs it."""
    wanted, given = inputs(text), inputs(notebook)
    if wanted == given:
        return
    where = f"only in the text: {beginnings(wanted, given)}; only in the notebook: {beginnings(given, wanted)}"
    edited = fingerprint(notebook) != built_from(notebook)
    if edited and fingerprint(text) != built_from(notebook):
        yield f"text and notebook were both edited ({where}); run: {COMMAND} pull {chapter.name}  (it keeps a copy of the text)"
    elif edited:
        yield f"the notebook was edited ({where}); run: {COMMAND} pull {chapter.name}"
    else:
        yield f"the text was edited ({where}); run: {COMMAND} build {chapter.name}"


def check(chapter: Chapter, public: set[str]) -> Iterator[str]:
    """Everything that is wrong with a chapter, found without running it."""
    repair = f"run: {COMMAND} build {chapter.name}"
    if not chapter.text_path.exists():
        yield f"has no text; take it from the notebook ({COMMAND} pull {chapter.name}) or delete {chapter.notebook_path.name}"
        return
    if not chapter.notebook_path.exists():
        yield f"has no notebook; {repair}"
        return
    try:
        text = parse_text(chapter.text())
        notebook = read_notebook(chapter.notebook_path)
    except ValueError as error:
        yield str(error)
        return
    if apart := list(out_of_step(chapter, text, notebook)):
        yield from apart
        return
    normal = normalise(notebook, chapter.name)
    if serialise(normal) != chapter.notebook_path.read_bytes().decode():
        places = list(differences(notebook, normal))
        yield f"the notebook is not in normal form ({', '.join(places[:5]) or 'layout of the file'}); {repair}"
    yield from broken_rules(normal, setup_source(chapter.root), public)


def spare_path(path: Path) -> Path:
    """A name beside the path that no file has yet."""
    candidates = (path.with_name(f"{path.name}.{number}.bak") for number in range(1, 10_000))
    return next(candidate for candidate in candidates if not candidate.exists())


def pull(chapter: Chapter) -> None:
    """Notebook to text, for someone who edited in Jupyter; prints what changes and loses nothing.

    Args:
        chapter: The chapter. Cells that are unchanged keep their lines; a text with edits of its own is kept as a copy.

    Raises:
        ChapterError: If the notebook has no edits but the text has.
        ValueError: If a file cannot be read.
    """
    notebook = read_notebook(chapter.notebook_path)
    exists = chapter.text_path.exists()
    old = chapter.text() if exists else HEADER
    text_print = fingerprint(parse_text(old))
    new = with_setup(merge_into_text(old, notebook), chapter.root)
    if new == old or text_print == fingerprint(notebook):
        print(f"{chapter.text_path.name} already says what the notebook says.")
        return
    if exists and fingerprint(notebook) == built_from(notebook):
        raise ChapterError(f"only the text was edited, there is nothing to pull; run: {COMMAND} build {chapter.name}")
    show_difference(old, new)
    if exists and text_print != built_from(notebook):
        copy = spare_path(chapter.text_path)
        write_atomically(copy, old)
        print(f"The text had edits of its own since the notebook was built: they are kept in {copy.name}.")
    chapter.text_path.parent.mkdir(exist_ok=True)
    write_atomically(chapter.text_path, new)
    print(f"{chapter.text_path.name} is written. Next: {COMMAND} build {chapter.name}")


def build_all(chapters: list[Chapter], overwrite: bool) -> int:
    """Build each chapter, go on after a failure, and return the exit status."""
    failed = 0
    for chapter in chapters:
        began = time.monotonic()
        try:
            build(chapter, overwrite)
            print(f"{chapter.name}: built in {time.monotonic() - began:.1f} s", flush=True)
        except (ChapterError, ValueError, OSError) as error:
            failed += 1
            print(f"{chapter.name}: NOT built, {error}\n", file=sys.stderr, flush=True)
    return 1 if failed else 0


def check_all(root: Path) -> int:
    """Check every chapter and return the exit status."""
    package = root / "transformer_lab"
    public = public_names(package) if package.is_dir() else set()
    names = chapter_names(root)
    found = [f"{name}: {problem}" for name in names for problem in check(Chapter(root, name), public)]
    print("\n".join(found) if found else f"{len(names)} chapters: texts and notebooks agree, the rules are kept.")
    return 1 if found or not names else 0


def main(arguments: list[str] | None = None) -> int:
    """Read the command line and do it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=Path, default=ROOT, help="the repository (default: the one of this tool)")
    commands = parser.add_subparsers(dest="command", required=True)
    command = commands.add_parser("build", help="text to notebook: run and write it")
    command.add_argument("name", nargs="*", help="a chapter's name or number (default: all)")
    command.add_argument("--overwrite", action="store_true", help="replace a notebook that was edited by hand")
    commands.add_parser("check", help="compare texts and notebooks, check the rules; runs nothing")
    commands.add_parser("pull", help="notebook to text").add_argument("name", help="a chapter's name or number")
    options = parser.parse_args(arguments)
    root = options.root.resolve()
    if options.command == "check":
        return check_all(root)
    if options.command == "build":
        names = options.name or [path.stem for path in sorted((root / "notebooks" / "src").glob("*.md"))]
        return build_all([find_chapter(root, name) for name in names], options.overwrite)
    try:
        pull(find_chapter(root, options.name))
    except (ChapterError, ValueError, OSError) as error:
        print(f"{options.name}: not pulled, {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
