"""The text of a chapter (MyST Markdown that jupytext reads) and its set-up cell.

People edit the text. The set-up cell in it is written by this module, from the one setting that holds the repository's
address, so that changing the address and building again brings every chapter up to date.
"""

import difflib
import re
from pathlib import Path

import jupytext
import nbformat
from jupytext.myst import myst_to_notebook, notebook_to_myst
from nbformat import NotebookNode
from notebook_form import KEPT_METADATA, inputs
from repository import repository_settings

HEADER = """\
---
jupytext:
  text_representation:
    extension: .md
    format_name: myst
kernelspec:
  display_name: Python 3 (ipykernel)
  language: python
  name: python3
---
"""
HEADER_KEYS = {"jupytext", "kernelspec"}
SETUP_TAGS = ["remove-cell"]
FENCE = re.compile(r"^(`{3,})\{code-cell\}.*?^\1[ \t]*$\n?", re.MULTILINE | re.DOTALL)

SETUP = """\
# Set-up, the same in every chapter: the package, a seed, how results are shown.
{imports}
if find_spec("transformer_lab") is None:
{install}

import matplotlib
import torch

torch.manual_seed(0)
torch.set_printoptions(precision=3, sci_mode=False)
%matplotlib inline
%config InlineBackend.figure_formats = ["png"]
matplotlib.rcParams["figure.dpi"] = 120"""

LOCAL_INSTALL = """\
    raise ModuleNotFoundError(
        "transformer_lab is not installed. In a terminal, in the folder "
        "of the repository, run: pip install -e ."
    )"""

COLAB_INSTALL = """\
    if "google.colab" not in sys.modules:
        raise ModuleNotFoundError(
            "transformer_lab is not installed. In a terminal, in the folder "
            "of the repository, run: pip install -e ."
        )
    %pip install -q "transformer-lab @ git+{url}@{branch}\""""


def setup_source(root: Path) -> str:
    """The set-up cell for the repository at root.

    Args:
        root: The folder that holds _config.yml, whose repository.url is the public address or empty.

    Returns:
        Python source. While the address is empty, a missing package is an error that says how to install it from a local
        copy; once it is set, Colab installs the package from there.
    """
    url, branch = repository_settings(root)
    if not url:
        return SETUP.format(imports="from importlib.util import find_spec\n", install=LOCAL_INSTALL)
    imports = "import sys\nfrom importlib.util import find_spec\n"
    return SETUP.format(imports=imports, install=COLAB_INSTALL.format(url=url, branch=branch))


def with_setup(text: str, root: Path) -> str:
    """The text with the current set-up cell in place of its first code cell, if that one is hidden, or else before it."""
    block = f"```{{code-cell}} ipython3\n:tags: [{', '.join(SETUP_TAGS)}]\n\n{setup_source(root)}\n```\n"
    first = FENCE.search(text)
    if first is None:
        return f"{text.rstrip()}\n\n{block}"
    hidden = f"tags: [{', '.join(SETUP_TAGS)}]" in first.group()
    rest = text[first.end() :] if hidden else f"\n{text[first.start() :]}"
    return text[: first.start()] + block + rest


def parse_text(text: str) -> NotebookNode:
    """The notebook that the text describes, without outputs.

    Raises:
        ValueError: If the text holds metadata that would be lost, or is not MyST.
    """
    try:
        notebook = jupytext.reads(text, fmt="md:myst")
    except Exception as error:
        raise ValueError(f"the text cannot be read: {error}") from error
    if unknown := set(notebook.metadata) - HEADER_KEYS:
        raise ValueError(f"the header holds {', '.join(sorted(unknown))}, which the notebook would lose")
    for number, cell in enumerate(notebook.cells, start=1):
        if not cell.source.strip():
            raise ValueError(f"cell {number} is empty")
        if unknown := set(cell.metadata) - set(KEPT_METADATA):
            raise ValueError(
                f"cell {number} has metadata {', '.join(sorted(unknown))}, which the notebook would lose; "
                f"known: {', '.join(KEPT_METADATA)}"
            )
    notebook.metadata.clear()
    return notebook


def split_text(text: str) -> tuple[str, list[str]]:
    """The header of a text, and for each of its cells the lines that it stands in, its own separator included."""
    lines = text.splitlines(keepends=True)
    notebook = myst_to_notebook(text, add_source_map=True)
    starts = []
    for start, cell in zip(notebook.metadata.source_map, notebook.cells, strict=True):
        separated = cell.cell_type == "code" or lines[start - 1].startswith("+++")
        starts.append(start - 1 if separated else start)
    blocks = ["".join(lines[a:b]) for a, b in zip(starts, [*starts[1:], None], strict=False)]
    return "".join(lines[: starts[0]]) if starts else text, blocks


def render_cell(cell: dict) -> str:
    """One cell as text."""
    cell = nbformat.from_dict(cell)
    return notebook_to_myst(NotebookNode(metadata={}, cells=[cell]), default_lexer="ipython3")


def merge_into_text(text: str, notebook: NotebookNode) -> str:
    """The text with the notebook's inputs: cells that are unchanged keep their lines as they were written."""
    header, blocks = split_text(text)
    old, new = inputs(parse_text(text)), inputs(notebook)
    result = []
    matcher = difflib.SequenceMatcher(None, list(map(repr, old)), list(map(repr, new)), autojunk=False)
    for kind, i, j, k, m in matcher.get_opcodes():
        result += blocks[i:j] if kind == "equal" else map(render_cell, new[k:m])
    merged = header.rstrip() + "\n\n"
    for number, block in enumerate(block.strip("\n") for block in result):
        both_prose = number > 0 and new[number]["cell_type"] == new[number - 1]["cell_type"] == "markdown"
        merged += ("+++\n\n" if both_prose and not block.startswith("+++") else "") + block + "\n\n"
    return merged.rstrip("\n") + "\n"
