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


def table(figures: dict[str, Any], control: dict[str, Any], card: dict[str, Any] | None = None) -> str:
    """Writes the main figures beside the untrained control's.

    Args:
        figures: of the trained model.
        control: of the untrained one.
        card: of the card, for a third column.

    Returns:
        Lines of text.

    Source:
        Ours; chapter 10.
    """
    rows = [("", "trained", *(["card"] if card else []), "untrained")]
    columns = [flatten(f) for f in (figures, *([card] if card else []), control)]
    rows += [(name, *(column.get(name, "") for column in columns)) for name in columns[0]]
    width = max(len(row[0]) for row in rows)
    return "\n".join(row[0].ljust(width) + "".join(str(cell).rjust(12) for cell in row[1:]) for row in rows)


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
