"""Showing in a page what the package is and what it computed: its own source, and tables of numbers.

Floor 5: standard library only. The book never shows a copy of the code: it shows the code.
"""

import ast
import html
import inspect
import textwrap
from collections.abc import Sequence
from typing import Any


class Source:
    """The source text of a function or class; shows itself as highlighted code in a notebook.

    Args:
        text: the Python source.
        origin: where it stands, "transformer_lab/attention.py: MultiHeadAttention".

    Source:
        Ours; chapter 02.
    """

    def __init__(self, text: str, origin: str) -> None:
        self.text = text
        self.origin = origin

    def __repr__(self) -> str:
        return f"# {self.origin}\n{self.text}"

    def _repr_markdown_(self) -> str:
        return f"```python\n# {self.origin}\n{self.text}\n```"


def show_source(obj: Any, *, docstring: bool = True) -> Source:
    """Shows the source of a public object of the package, as it is installed.

    Args:
        obj: a function, a class or a method.
        docstring: False leaves the docstrings out (nothing else changes), when only the code is wanted.

    Returns:
        The source; as the last expression of a cell it appears as highlighted Python.

    Raises:
        TypeError: obj has no Python source (a number, a built-in).

    Source:
        Ours; chapter 02.
    """
    try:
        text = textwrap.dedent(inspect.getsource(obj)).rstrip()
        origin = f"{obj.__module__.replace('.', '/')}.py: {obj.__qualname__}"
    except (TypeError, OSError, AttributeError) as error:
        raise TypeError(f"show_source needs a function or class written in Python, got {type(obj).__name__}") from error
    if not docstring:
        text = _without_docstrings(text)
    return Source(text, origin)


class DataTable:
    """A table of numbers with named rows and columns, for a page and for a terminal.

    Args:
        values: rows of numbers, [rows][columns].
        row_names: one name per row.
        column_names: one name per column.
        caption: what the numbers are.
        places: decimal places shown.
        folded: in a page, show only the caption until it is opened; for the numbers behind a picture.

    Raises:
        ValueError: names and numbers do not match in count.

    Source:
        Ours; chapter 02.
    """

    def __init__(
        self,
        values: Sequence[Sequence[float]],
        row_names: Sequence[str],
        column_names: Sequence[str],
        *,
        caption: str,
        places: int = 2,
        folded: bool = False,
    ) -> None:
        if len(values) != len(row_names) or any(len(row) != len(column_names) for row in values):
            raise ValueError(
                f"need {len(row_names)} rows of {len(column_names)} numbers, got {len(values)} rows "
                f"of {sorted({len(row) for row in values})} numbers"
            )
        self.cells = [[f"{number:.{places}f}" for number in row] for row in values]
        self.row_names, self.column_names = list(row_names), list(column_names)
        self.caption, self.folded = caption, folded

    def __repr__(self) -> str:
        lines = [["", *self.column_names], *([n, *row] for n, row in zip(self.row_names, self.cells, strict=True))]
        widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
        text = ["  ".join(cell.rjust(w) for cell, w in zip(line, widths, strict=True)).rstrip() for line in lines]
        return "\n".join([self.caption, *text])

    def _repr_html_(self) -> str:
        space = 'style="padding:2px 6px;text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums"'
        head = "".join(f'<th scope="col" {space}>{html.escape(name)}</th>' for name in self.column_names)
        body = "".join(
            f'<tr><th scope="row" {space}>{html.escape(name)}</th>'
            + "".join(f"<td {space}>{cell}</td>" for cell in row)
            + "</tr>"
            for name, row in zip(self.row_names, self.cells, strict=True)
        )
        caption = html.escape(self.caption)
        title = "" if self.folded else f"<caption>{caption}</caption>"
        table = (
            f'<div class="tl-data" style="overflow-x:auto" tabindex="0" role="region" aria-label="{caption}">'
            f"<table>{title}<thead><tr><td></td>{head}</tr></thead><tbody>{body}</tbody></table></div>"
        )
        return f"<details><summary>{caption}</summary>{table}</details>" if self.folded else table


def _without_docstrings(text: str) -> str:
    lines = text.splitlines()
    kinds = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
    for node in sorted((n for n in ast.walk(ast.parse(text)) if isinstance(n, kinds)), key=lambda n: -n.lineno):
        first = node.body[0]
        if len(node.body) > 1 and ast.get_docstring(node) is not None:
            end = first.end_lineno
            while isinstance(node, ast.ClassDef) and end < len(lines) and not lines[end].strip():
                end += 1  # the blank line that parted the docstring from the body
            del lines[first.lineno - 1 : end]
    return "\n".join(lines)
