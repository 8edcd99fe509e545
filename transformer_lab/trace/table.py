"""The table that a traced forward pass becomes.

Floor 5: standard library only.
"""

import html
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class TraceRow:
    """One step of a traced forward pass.

    Args:
        path: module path, "" for the traced function itself.
        operation: what was done, led by the function it happened in ("split_heads: transpose").
        inputs: shapes of the tensors that went in.
        output: shape of what came out.
        symbols: the output's shape with names for sizes, such as ("B", "h", "S", "d_k").
        parameters: numbers the step learns (weights and biases), 0 for a pure operation.

    Source:
        Article, "Dimension map"; chapter 08.
    """

    path: str
    operation: str
    inputs: tuple[tuple[int, ...], ...]
    output: tuple[int, ...]
    symbols: tuple[str, ...]
    parameters: int


class ShapeTrace:
    """The steps of one forward pass; prints as a table, in text, HTML and Markdown.

    Args:
        rows: the steps in order.
        sizes: the named sizes, such as {"B": 1, "S": 6}.

    Source:
        Article, "Dimension map"; chapters 02 and 08.
    """

    HEADER = ("step", "input", "output", "named", "parameters", "where")

    def __init__(self, rows: list[TraceRow], sizes: dict[str, int]) -> None:
        self.rows = rows
        self.sizes = sizes

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[TraceRow]:
        return iter(self.rows)

    @property
    def parameters(self) -> int:
        """Number of parameters of all steps together."""
        return sum(row.parameters for row in self.rows)

    def _cells(self) -> list[tuple[str, ...]]:
        table = [self.HEADER]
        for row in self.rows:
            came, went = " × ".join(map(brackets, row.inputs)), brackets(row.output)
            count = f"{row.parameters:,}" if row.parameters else ""
            caller, _, step = row.operation.rpartition(": ")
            where = " › ".join(part for part in (row.path, caller) if part)
            table.append((step, came, went, brackets(row.symbols), count, where))
        return table

    def __repr__(self) -> str:
        table = self._cells()
        widths = [max(len(row[i]) for row in table) for i in range(len(self.HEADER))]
        lines = ["  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip() for row in table]
        lines.insert(1, "  ".join("-" * w for w in widths))
        sizes = "  ".join(f"{name}={size}" for name, size in self.sizes.items())
        return "\n".join([*lines, f"{sizes}   parameters: {self.parameters:,}"])

    def to_markdown(self) -> str:
        """Writes the table in Markdown.

        Returns:
            Header, rule and one line per step.

        Source:
            Chapter 08.
        """
        table = [[cell.replace("|", "\\|").replace("_", "\\_") for cell in row] for row in self._cells()]
        lines = ["| " + " | ".join(row) + " |" for row in table]
        return "\n".join([lines[0], "|" + " --- |" * len(self.HEADER), *lines[1:]])

    def _repr_html_(self) -> str:
        space = 'style="padding:2px 6px;text-align:left;white-space:nowrap"'
        head, *body = ([html.escape(cell) for cell in row] for row in self._cells())
        top = "".join(f'<th scope="col" {space}>{cell}</th>' for cell in head)
        rows = "".join("<tr>" + "".join(f"<td {space}>{cell}</td>" for cell in row) + "</tr>" for row in body)
        sizes = ", ".join(f"{html.escape(name)} = {size}" for name, size in self.sizes.items())
        caption = f"<caption>{sizes}; {self.parameters:,} parameters</caption>"
        return (
            f'<div class="tl-trace" style="overflow-x:auto" tabindex="0" role="region" aria-label="Shape trace">'
            f"<table>{caption}<thead><tr>{top}</tr></thead><tbody>{rows}</tbody></table></div>"
        )


def brackets(shape: tuple) -> str:
    """Writes a shape the way the book does, "[1, 6, 512]".

    Args:
        shape: sizes or their names.

    Returns:
        The text.

    Source:
        Chapter 08.
    """
    return "[" + ", ".join(map(str, shape)) + "]"
