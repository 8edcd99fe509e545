"""Build the book, say whether it is up to date, serve it.

    python tools/book.py build [--if-needed] [--source FOLDER]
    python tools/book.py serve [--port 8000]

The build is always clean and always executes every chapter. An incremental build of Jupyter Book reports success on
the run after a failing one, and its cache does not notice when the package changes, so neither is ever used.
"""

from __future__ import annotations

import argparse
import functools
import hashlib
import http.server
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
INPUTS = ("_config.yml", "_toc.yml", "CHANGELOG.md", "book", "notebooks/*.ipynb", "transformer_lab", "constraints.txt")
SKIPPED_PARTS = {"__pycache__", ".ipynb_checkpoints"}

JUPYTER_BOOK = "import sys; from jupyter_book.cli.main import main; sys.exit(main())"
EXECUTED = re.compile(r"([^/\\]+\.ipynb): (Execut\w+ notebook.*?)(?: using.*)? \[mystnb\]")
PROBLEM = re.compile(r"\b(WARNING|ERROR|CRITICAL): ")
BROKEN_CELL = re.compile(r"^nbclient\.exceptions\.\w+: (.*?)(?=^The above exception|\Z)", re.DOTALL | re.MULTILINE)
BROKEN_CHAPTER = re.compile(r"base\.ExecutionError: (.+\.ipynb)")
COLOUR = re.compile(r"\x1b\[[\d;]*m")


def clean_environment() -> dict[str, str]:
    """The environment that pages are made in: nothing of the user's own set-up may change what a page shows."""
    own = Path(sys.prefix) / "var"
    for folder in ("ipython", "matplotlib"):
        (own / folder).mkdir(parents=True, exist_ok=True)
    return {
        **os.environ,
        "PYTHONUTF8": "1",
        "PYTHONNOUSERSITE": "1",  # no packages from the user's home folder
        "JUPYTER_PREFER_ENV_PATH": "1",  # this environment's kernel, not one of the same name from the home folder
        "IPYTHONDIR": str(own / "ipython"),  # no start-up files
        "MPLCONFIGDIR": str(own / "matplotlib"),  # no style of the user's; the font list that the set-up prepared
        "MPLBACKEND": "module://matplotlib_inline.backend_inline",  # a figure is an output, never a window
        "CUDA_VISIBLE_DEVICES": "",  # the book's numbers are those of a processor, also on a machine with a GPU
        "OMP_NUM_THREADS": "1",  # small matrices: on a busy machine two threads mostly wait for each other
        "NO_COLOR": "1",
    }


def input_files(source: Path) -> list[Path]:
    """Every file that a page depends on, sorted."""
    files: set[Path] = set()
    for pattern in INPUTS:
        for found in source.glob(pattern):
            files.update([found] if found.is_file() else (path for path in found.rglob("*") if path.is_file()))
    return sorted(path for path in files if not SKIPPED_PARTS & set(path.parts))


def fingerprint(source: Path) -> str:
    """A digest of the names and contents of the input files: modification times say nothing after a checkout."""
    digest = hashlib.sha256()
    for path in input_files(source):
        digest.update(path.relative_to(source).as_posix().encode() + b"\0")
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def stamp_file(source: Path) -> Path:
    """Where the fingerprint of the inputs of the last good build is kept."""
    return source / "_build" / "inputs.sha256"


def is_current(source: Path) -> bool:
    """Whether the last build succeeded and nothing that it depends on has changed since."""
    stamp = stamp_file(source)
    return stamp.is_file() and stamp.read_text().strip() == fingerprint(source)


def run_and_log(command: list[str], source: Path, log: Path) -> int:
    """Run the build with all that it says in the log; show only which chapter is being executed."""
    options = {"cwd": source, "env": clean_environment(), "text": True, "encoding": "utf-8", "errors": "replace"}
    with (
        log.open("w", encoding="utf-8") as record,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **options) as process,
    ):
        for line in process.stdout:
            record.write(COLOUR.sub("", line))
            if found := EXECUTED.search(line):
                print(f"    {found[1]}: {found[2]}", flush=True)
    return process.returncode


def reasons(text: str) -> str:
    """The lines of a failed build's log that say why it failed: warnings, errors, and the cell that broke off."""
    found = [line for line in text.splitlines() if PROBLEM.search(line)]
    for match in BROKEN_CELL.finditer(text):
        chapter = BROKEN_CHAPTER.search(text, match.end())
        found += [f"In {chapter[1] if chapter else 'a chapter'}: {match[1].strip()}"]
    return "\n".join(found or text.splitlines()[-40:])


def build(source: Path) -> int:
    """Build every page from nothing; return 0 only if no chapter failed, nothing warned and no cell wrote to stderr."""
    start, before = time.monotonic(), fingerprint(source)
    if (source / "_build").exists():
        shutil.rmtree(source / "_build")
    (source / "_build").mkdir()
    log = source / "_build" / "build.log"
    print("Building the book; every chapter is executed:", flush=True)
    command = [sys.executable, "-c", JUPYTER_BOOK, "build", ".", "--all", "-W", "-n", "--keep-going"]
    code = run_and_log(command, source, log)
    index = source / "_build" / "html" / "index.html"
    if code != 0 or not index.is_file():
        print(
            f"\n{reasons(log.read_text(encoding='utf-8'))}\n\n"
            "The book was NOT built, for the reason above. Warnings count as failures, and so does anything that a "
            f"cell writes to stderr. Everything that the build said is in {log}.",
            file=sys.stderr,
        )
        return code or 1
    stamp_file(source).write_text(before + "\n")
    print(
        f"The book is built ({time.monotonic() - start:.0f} s). Open it as a file; it needs no server and no network:"
    )
    print(f"    {index.as_uri()}\nor run `make serve` and open the address that it prints.")
    return 0


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    """Serves files, keeps silent, and lets no browser keep a page of an earlier build."""

    def log_message(self, format: str, *args: object) -> None:
        """Print nothing for each request."""

    def end_headers(self) -> None:
        """Add the header that forbids caching."""
        self.send_header("Cache-Control", "no-store")
        super().end_headers()


def serve(source: Path, port: int) -> int:
    """Serve the built book on this machine only until interrupted; take the next free port when one is in use."""
    folder = source / "_build" / "html"
    if not (folder / "index.html").is_file():
        print("There is no book to serve yet: run `make book` first.", file=sys.stderr)
        return 1
    handler = functools.partial(QuietHandler, directory=str(folder))
    for candidate in range(port, port + 20):
        try:
            server = http.server.ThreadingHTTPServer(("127.0.0.1", candidate), handler)
        except OSError:
            continue
        if not is_current(source):
            print("Note: files have changed since this book was built; `make book` builds it again.")
        print(f"Serving the book at http://127.0.0.1:{candidate}/ (stop with Ctrl-C)", flush=True)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            print()
        return 0
    print(f"Ports {port} to {port + 19} are all in use: name another with `make serve PORT=9000`.", file=sys.stderr)
    return 1


def main(arguments: list[str] | None = None) -> int:
    """Read the command line and do it."""
    parser = argparse.ArgumentParser(description="Build or serve the book.")
    commands = parser.add_subparsers(dest="command", required=True)
    for name, text in (("build", "build every page from nothing"), ("serve", "serve the built pages")):
        command = commands.add_parser(name, help=text)
        command.add_argument("--source", type=Path, default=ROOT, help="the folder with _config.yml and _toc.yml")
        if name == "build":
            command.add_argument("--if-needed", action="store_true", help="do nothing when the book is up to date")
        else:
            command.add_argument("--port", type=int, default=8000)
    options = parser.parse_args(arguments)
    source = options.source.resolve()
    if options.command == "serve":
        return serve(source, options.port)
    if options.if_needed and is_current(source):
        print("The book is up to date.")
        return 0
    return build(source)


if __name__ == "__main__":
    sys.exit(main())
