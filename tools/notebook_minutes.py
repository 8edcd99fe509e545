"""How long a chapter takes to read, counted from the chapter itself.

No reader was timed: the minutes are a count of what the page asks one to take in, times the paces below. Exercises, folded text and code
that the page hides are left out. The page for instructors says so and shows the paces.
"""

import re
from collections import Counter

from nbformat import NotebookNode
from notebook_form import LIVE_TAG

PACES = {  # seconds each
    "words": 0.3,  # 200 words a minute: below the 238 of non-fiction (Brysbaert 2019, https://doi.org/10.1016/j.jml.2019.104047)
    "formulas": 20,  # set off from the text
    "lines of code": 2,
    "outputs": 10,  # printed values and tables
    "figures": 40,
    "predictions": 45,  # quiz questions and shapes
    "things to play with": 180,  # explorers and panels
}
STEP = 5  # minutes; a head may be off by one step, so that no chapter has to change its head with every word
HIDDEN_INPUT = {"remove-cell", "remove-input", "hide-cell", "hide-input"}
HIDDEN_OUTPUT = {"remove-cell", "remove-output", "hide-cell", "hide-output"}
FOLDED = re.compile(r"<details>.*?</details>", re.DOTALL)
FORMULA = re.compile(r"\$\$.+?\$\$", re.DOTALL)
LINK = re.compile(r"\]\([^)]*\)")
HEAD = re.compile(r"^\*\*Time\.\*\* About (\d+) minutes", re.MULTILINE)
SHOWN_SOURCE = "# transformer_lab/"
ELEMENT = re.compile(r'data-tl-element="([a-z-]+)".*?data-config=\'([^\']*)', re.DOTALL)


def counts(notebook: NotebookNode) -> Counter[str]:
    """What a chapter holds of each kind, without its exercises."""
    found: Counter[str] = Counter()
    for cell in _without_exercises(notebook):
        if cell.cell_type == "markdown":
            text = FOLDED.sub("", cell.source)
            found["formulas"] += len(FORMULA.findall(text))
            found["words"] += len(re.findall(r"[^\W_]+", LINK.sub("]", FORMULA.sub("", text))))
        elif cell.cell_type == "code":
            _count_code(cell, found)
    return found


def _count_code(cell: NotebookNode, found: Counter[str]) -> None:
    tags = set(cell.metadata.get("tags", []))
    if not tags & HIDDEN_INPUT:
        found["lines of code"] += sum(bool(line.strip()) for line in cell.source.splitlines())
    if LIVE_TAG in tags:
        found["things to play with"] += 1
    elif not tags & HIDDEN_OUTPUT:
        for output in cell.outputs:
            found.update(_kinds(output))


def _kinds(output: NotebookNode) -> list[str]:
    data = output.get("data", {})
    if (source := data.get("text/plain", "")).startswith(SHOWN_SOURCE):
        return ["lines of code"] * sum(bool(line.strip()) for line in source.splitlines())
    if any(kind.startswith("image/") for kind in data):
        return ["figures"]
    if not (element := ELEMENT.search(data.get("text/html", ""))):
        return ["outputs"]
    name, config = element.groups()
    asked = {"shape": 1, "choice": config.count('"options":')}
    return ["predictions"] * asked[name] if name in asked else ["things to play with"]


def _without_exercises(notebook: NotebookNode) -> list[NotebookNode]:
    kept, skipping = [], False
    for cell in notebook.cells:
        if cell.cell_type == "markdown" and (heading := re.match(r"## +(.+)", cell.source)):
            skipping = heading[1].strip() == "Exercises"
        if not skipping:
            kept.append(cell)
    return kept


def minutes(notebook: NotebookNode) -> float:
    """The minutes that a chapter takes by this count."""
    return sum(PACES[kind] * count for kind, count in counts(notebook).items()) / 60


def in_the_head(counted: float) -> int:
    """The minutes as a chapter's head gives them: to the nearest five."""
    return STEP * max(1, round(counted / STEP))


def said(notebook: NotebookNode) -> int | None:
    """The minutes that a chapter's head does name; None where it has no such line."""
    heads = (HEAD.search(cell.source) for cell in notebook.cells if cell.cell_type == "markdown")
    return next((int(head[1]) for head in heads if head), None)
