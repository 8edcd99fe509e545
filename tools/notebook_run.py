"""Run a chapter in a fresh kernel of this Python, and turn what goes wrong into a message that names the cell."""

import subprocess
from pathlib import Path

import ipykernel.kernelspec
from jupyter_client import AsyncKernelManager
from jupyter_client.kernelspec import KernelSpec, KernelSpecManager
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
from nbformat import NotebookNode
from notebook_form import ANSI

from book import clean_environment

TIMEOUT = 120  # seconds per cell, as in the book
EXPECTED_ERROR = "raises-exception"


class ChapterError(Exception):
    """A chapter that did not run as it should; the message names the cell and shows its text."""


class ThisPython(KernelSpecManager):
    """Finds the kernel of the Python that runs this tool, whatever kernels the user has installed under that name."""

    def get_kernel_spec(self, kernel_name: str) -> KernelSpec:
        """The kernel of this environment."""
        return KernelSpec(resource_dir=ipykernel.kernelspec.RESOURCES, **ipykernel.kernelspec.get_kernel_dict())


def execute(notebook: NotebookNode, folder: Path, timeout: int = TIMEOUT, **environment: str) -> None:
    """Run every code cell in order, in one fresh kernel, and store the outputs in the notebook.

    Args:
        notebook: The chapter; its cells are changed in place.
        folder: The working folder of the kernel.
        timeout: Seconds that one cell may take.
        environment: Variables for the kernel beside those of the clean environment.

    Raises:
        ChapterError: If a cell raises, takes too long, writes to stderr, makes a widget, or was to raise and did not.
    """
    manager = AsyncKernelManager(kernel_spec_manager=ThisPython())
    client = NotebookClient(notebook, km=manager, timeout=timeout, record_timing=True)
    # The inline backend is the kernel's own default; a figure is an output, never a window.
    variables = {**clean_environment(), "MPLBACKEND": "module://matplotlib_inline.backend_inline", **environment}
    try:
        client.execute(cleanup_kc=True, cwd=str(folder), env=variables, stderr=subprocess.DEVNULL)
    except CellExecutionError as error:
        raise ChapterError(describe(notebook, str(error))) from None
    except CellTimeoutError:
        raise ChapterError(describe(notebook, f"The cell took longer than {timeout} s.")) from None
    except DeadKernelError:
        raise ChapterError(describe(notebook, "The kernel died. Out of memory?")) from None
    if notebook.metadata.get("widgets"):
        raise ChapterError(
            "a widget was made although no live front end is there; its state would make the page load scripts from "
            "elsewhere. Make the widget only when it is to be shown in a live kernel (see the convention in notebooks.py)."
        )
    for number, cell in enumerate(notebook.cells, start=1):
        if cell.cell_type == "code" and (complaint := unexpected(cell)):
            raise ChapterError(f"cell {number}:\n\n{indent(cell.source)}\n\n{complaint}")


def unexpected(cell: NotebookNode) -> str:
    """What is wrong with the outputs of a cell that ran, or nothing."""
    written = "".join(output.text for output in cell.outputs if output.get("name") == "stderr")
    if written:
        return f"It wrote to stderr, which is an error on a page:\n{indent(ANSI.sub('', written))}"
    raised = any(output.output_type == "error" for output in cell.outputs)
    if EXPECTED_ERROR in cell.metadata.get("tags", []) and not raised:
        return f"It is tagged {EXPECTED_ERROR} but raised nothing."
    return ""


def describe(notebook: NotebookNode, message: str) -> str:
    """The message of a stopped run with the number of the cell that stopped it: the last one that began."""
    began = [n for n, cell in enumerate(notebook.cells, start=1) if "execution" in cell.metadata]
    number = began[-1] if began else 1
    source = notebook.cells[number - 1].source
    text = ANSI.sub("", message).strip()
    shown = text if source in text else f"{indent(source)}\n\n{text}"  # nbclient shows the source of a cell that raised
    return f"cell {number}:\n\n{shown}"


def indent(text: str) -> str:
    """The text, four spaces in."""
    return "\n".join(f"    {line}".rstrip() for line in text.strip().splitlines())
