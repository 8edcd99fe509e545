"""Trees of figures: compared, flattened, printed.

Floor 4b. A tree is what JSON holds: dicts and lists whose leaves are numbers and texts.
"""

from typing import Any


def differences(expected: Any, found: Any, tolerance: float, name: str = "") -> list[str]:
    """Lists where two trees of figures differ by more than a tolerance.

    Args:
        expected: dicts, lists, numbers and texts.
        found: the same.
        tolerance: how far two numbers may be apart.
        name: of the place in the tree.

    Returns:
        One line per difference.

    Source:
        Ours; chapter 10.
    """
    if isinstance(expected, dict) and isinstance(found, dict) and expected.keys() == found.keys():
        parts = [(f"{name}.{key}".strip("."), expected[key], found[key]) for key in expected]
    elif isinstance(expected, list) and isinstance(found, list) and len(expected) == len(found):
        parts = [(f"{name}[{i}]", a, b) for i, (a, b) in enumerate(zip(expected, found, strict=True))]
    elif isinstance(expected, int | float) and isinstance(found, int | float) and abs(expected - found) <= tolerance:
        return []
    else:
        return [] if expected == found else [f"{name}: expected {expected}, found {found}"]
    return [line for part, a, b in parts for line in differences(a, b, tolerance, part)]


def table(columns: dict[str, dict[str, Any]]) -> str:
    """Writes trees of figures side by side.

    Args:
        columns: {heading: tree}; the first one decides the rows. Leaves that hold lists of lists are left out.

    Returns:
        Lines of text.

    Source:
        Ours; chapter 10.
    """
    leaves = [flatten(tree) for tree in columns.values()]
    rows = [("", *columns)]
    for name, leaf in leaves[0].items():
        if not (isinstance(leaf, list) and leaf and isinstance(leaf[0], list)):
            rows.append((name, *(_cell(column.get(name, "")) for column in leaves)))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [[row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])] for row in rows]
    return "\n".join("  ".join(line) for line in lines)


def _cell(leaf: Any) -> str:
    if isinstance(leaf, list):
        return " ".join(map(_cell, leaf))
    return f"{leaf:.3f}" if isinstance(leaf, float) else str(leaf)


def flatten(tree: Any, name: str = "") -> dict[str, float | str]:
    """Gives every leaf of a tree of figures its path as a name.

    Args:
        tree: dicts, lists, numbers and texts; a short list of numbers is one leaf.
        name: of the place in the tree.

    Returns:
        {path: leaf}.

    Source:
        Ours; chapter 10.
    """
    if isinstance(tree, dict):
        parts = [(f"{name}.{key}".strip("."), value) for key, value in tree.items()]
    elif isinstance(tree, list) and tree and isinstance(tree[0], dict):
        parts = [(f"{name}[{i}]", value) for i, value in enumerate(tree, start=1)]
    else:
        return {name: tree}
    return {path: leaf for part, value in parts for path, leaf in flatten(value, part).items()}
