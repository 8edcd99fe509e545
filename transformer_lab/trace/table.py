"""The table that a traced forward pass becomes.

Floor 5: standard library only.
"""

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import groupby


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

    ``trace.outline().folded()`` is the table of a whole model that fits on a page.

    Args:
        rows: the steps in order.
        sizes: the named sizes, such as {"B": 1, "S": 6}.
        outline: the same pass in fewer steps, one per part of a layer.

    Source:
        Article, "Dimension map"; chapters 02 and 08.
    """

    HEADER = ("step", "input", "output", "named", "parameters", "where")

    def __init__(self, rows: list[TraceRow], sizes: dict[str, int], outline: list[TraceRow] | None = None) -> None:
        self.rows = rows
        self.sizes = sizes
        self._outline = rows if outline is None else outline

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[TraceRow]:
        return iter(self.rows)

    @property
    def parameters(self) -> int:
        """Number of parameters of all steps together."""
        return sum(row.parameters for row in self.rows)

    def outline(self) -> "ShapeTrace":
        """Keeps one row per part of a layer: embedding, positions, attention, Add & Norm, feed-forward, output.

        Returns:
            The shorter table, of the same parameters.

        Source:
            Article, "Dimension map"; chapter 08.
        """
        return ShapeTrace(self._outline, self.sizes)

    def folded(self) -> "ShapeTrace":
        """Puts one row in place of all layers that repeat the first one of their stack, as in "repeat × N".

        Returns:
            The shorter table, of the same parameters.

        Source:
            Article, "Dimension map"; chapter 08.
        """
        return ShapeTrace(_fold(self.rows), self.sizes, _fold(self._outline))

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


def _fold(rows: list[TraceRow]) -> list[TraceRow]:
    blocks = [(layer, list(block)) for layer, block in groupby(rows, key=_layer)]
    folded: list[TraceRow] = []
    while blocks:
        (stack, first), block = blocks.pop(0)
        folded += block
        last, pattern = first, [_within_layer(row) for row in block]
        while stack and blocks and blocks[0][0] == (stack, last + 1):
            if [_within_layer(row) for row in blocks[0][1]] != pattern:
                break
            blocks.pop(0)
            last += 1
        if count := last - first:
            folded.append(
                replace(
                    block[-1],
                    path=f"{stack}{last}" if count == 1 else f"{stack}{first + 1} … {last}",
                    operation="the same" if count == 1 else f"{count} × the same",
                    inputs=block[0].inputs,
                    parameters=count * sum(row.parameters for row in block),
                )
            )
    return folded


def _layer(row: TraceRow) -> tuple[str, int]:
    """The stack that a row belongs to and the number of its layer in it; ("", 0) outside stacks."""
    found = re.match(r"((?:[^.]+\.)*?)(\d+)(?:\.|$)", row.path)
    return (found[1], int(found[2])) if found else ("", 0)


def _within_layer(row: TraceRow) -> TraceRow:
    """The row as every layer of its stack has it."""
    stack, number = _layer(row)
    return replace(row, path=row.path.removeprefix(f"{stack}{number}"))
