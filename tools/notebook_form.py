"""The normal form of a chapter's notebook: what is kept, what is dropped, and how it is written.

Two builds of one text must give the same bytes, so everything that depends on the clock, the machine or chance is
dropped: random cell ids, timings, widget state, the Python version, the metadata inside PNG files, tracebacks.
Text outputs are kept whole, because nbval compares them; figures are kept as compact PNG, for GitHub and Colab.
"""

import base64
import copy
import hashlib
import io
import json
import os
import re
from pathlib import Path

import nbformat
from nbformat import NotebookNode
from PIL import Image

KEPT_METADATA = ("tags", "mystnb")
KERNEL = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
LANGUAGE = {"name": "python", "pygments_lexer": "ipython3"}
OWN_KEY = "transformer_lab"  # notebook metadata written by this tool
WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"
LIVE_TAG = "live-only"
ANSI = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")


def write_atomically(path: Path, text: str) -> None:
    """Replace a file in one step, so that a crash leaves the old file or the new one, never half of one."""
    partial = path.with_name(f".{path.name}.partial")
    partial.write_text(text, encoding="utf-8", newline="\n")
    os.replace(partial, path)


def inputs(notebook: NotebookNode) -> list[dict]:
    """What a person wrote: for each cell its type, source and the metadata that is kept; empty cells don't count."""
    cells = []
    for cell in notebook.cells:
        source = cell.source.rstrip().lstrip("\n")
        metadata = {key: cell.metadata[key] for key in KEPT_METADATA if cell.metadata.get(key)}
        if source:
            cells.append({"cell_type": cell.cell_type, "source": source, "metadata": metadata})
    return cells


def fingerprint(notebook: NotebookNode) -> str:
    """A short digest of the inputs; stored in the notebook, it tells later which of text and notebook was edited."""
    text = json.dumps(inputs(notebook), sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def built_from(notebook: NotebookNode) -> str | None:
    """The fingerprint of the text that the notebook was generated from; None for a notebook made by hand."""
    return notebook.metadata.get(OWN_KEY, {}).get("inputs")


def compact_png(data: str) -> str:
    """Re-encode a base64 PNG without loss: no metadata, best compression, no alpha channel where all is opaque."""
    with Image.open(io.BytesIO(base64.b64decode(data))) as image:
        image = image.convert("RGBA")
    if image.getchannel("A").getextrema() == (255, 255):
        image = image.convert("RGB")
    target = io.BytesIO()
    image.save(target, "png", optimize=True)
    return base64.b64encode(target.getvalue()).decode()


def normal_outputs(outputs: list[NotebookNode], count: int) -> list[NotebookNode]:
    """Outputs as they are stored: adjacent streams merged, figures compact, no widget view, no traceback."""
    kept: list[NotebookNode] = []
    for output in copy.deepcopy(outputs):
        if output.output_type == "stream":
            if kept and kept[-1].output_type == "stream" and kept[-1].name == output.name:
                kept[-1].text += output.text
                continue
        elif output.output_type == "error":
            output.traceback = [f"{output.ename}: {ANSI.sub('', output.evalue)}"]
        else:
            output.data.pop(WIDGET_VIEW, None)
            if "image/png" in output.data:
                output.data["image/png"] = compact_png(output.data["image/png"])
            if "execution_count" in output:
                output.execution_count = count
        kept.append(output)
    return kept


def normalise(notebook: NotebookNode, name: str) -> NotebookNode:
    """The notebook in normal form.

    Args:
        notebook: An executed notebook; it is not changed.
        name: The chapter's name, such as 02_self_attention.

    Returns:
        A new notebook, equal for equal inputs and equal outputs.
    """
    cells = []
    outputs = [cell.get("outputs") for cell in notebook.cells if cell.source.strip()]
    count = 0
    for number, (cell, cell_outputs) in enumerate(zip(inputs(notebook), outputs, strict=True), start=1):
        cell = nbformat.from_dict({"id": f"cell-{number:02d}", **cell})
        if cell.cell_type == "code":
            count += 1
            cell.execution_count = count
            cell.outputs = normal_outputs(cell_outputs, count)
        cells.append(cell)
    own = {"inputs": fingerprint(notebook), "source": f"notebooks/src/{name}.md"}
    metadata = {"kernelspec": KERNEL, "language_info": LANGUAGE, OWN_KEY: own}
    return nbformat.from_dict({"nbformat": 4, "nbformat_minor": 5, "metadata": metadata, "cells": cells})


def serialise(notebook: NotebookNode) -> str:
    """The notebook as the text of its file: sorted keys, one space of indent, one trailing newline."""
    return nbformat.writes(notebook, version=nbformat.NO_CONVERT).rstrip("\n") + "\n"


def read_notebook(path: Path) -> NotebookNode:
    """Read an .ipynb file as it is.

    Raises:
        ValueError: If the file is not a notebook.
    """
    try:
        notebook = nbformat.reads(path.read_text("utf-8"), as_version=nbformat.NO_CONVERT)
        return notebook if notebook.nbformat == 4 else nbformat.convert(notebook, 4)
    except (ValueError, KeyError, AttributeError, nbformat.reader.NotJSONError) as error:
        raise ValueError(
            f"{path.name} is not a notebook ({str(error)[:100]}); replace it with: build --overwrite {path.stem}"
        ) from error
