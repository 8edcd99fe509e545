"""A book of two pages with the project's own configuration, which builds in seconds."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
CHAPTER = "notebooks/02_self_attention"


def make_tiny_book(folder: Path, *cells: str) -> Path:
    """Write a book with one page of text and one chapter that holds the given code cells."""
    for part in ("_config.yml", "book/_ext", "book/_static/custom.css", "book/_static/favicon.svg"):
        target = folder / part
        target.parent.mkdir(parents=True, exist_ok=True)
        (shutil.copytree if (ROOT / part).is_dir() else shutil.copy)(ROOT / part, target)
    (folder / "_toc.yml").write_text(f"format: jb-book\nroot: book/index\nchapters:\n- file: {CHAPTER}\n")
    (folder / "book" / "index.md").write_text("# Tiny book\n\nA formula, $x^2$.\n")
    (folder / "book" / "references.bib").write_text("")
    (folder / "notebooks").mkdir()
    write_chapter(folder, *cells)
    return folder


def write_chapter(folder: Path, *cells: str) -> None:
    """Write the chapter anew, with the given code cells below a heading."""
    heading = {"cell_type": "markdown", "id": "heading", "metadata": {}, "source": "# Self-attention"}
    code = [
        {"cell_type": "code", "id": f"c{i}", "metadata": {}, "execution_count": None, "outputs": [], "source": source}
        for i, source in enumerate(cells)
    ]
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    notebook = {"nbformat": 4, "nbformat_minor": 5, "metadata": {"kernelspec": kernel}, "cells": [heading, *code]}
    (folder / f"{CHAPTER}.ipynb").write_text(json.dumps(notebook))


def build(folder: Path) -> tuple[int, str]:
    """Build with the project's own command; give its exit status and what it said."""
    command = [sys.executable, str(ROOT / "tools" / "book.py"), "build", "--source", str(folder)]
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    result = subprocess.run(command, env=environment, capture_output=True, text=True, encoding="utf-8", check=False)
    return result.returncode, result.stdout + result.stderr


def page(folder: Path, name: str = CHAPTER) -> str:
    """The HTML of a built page."""
    return (folder / "_build" / "html" / f"{name}.html").read_text(encoding="utf-8")
