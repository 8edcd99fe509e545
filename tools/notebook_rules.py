"""The rules that a chapter follows, each a function that yields what breaks it.

They read the notebook as it is stored and run nothing. Every message says what to do.
"""

import ast
import difflib
import io
import re
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path

from nbformat import NotebookNode
from notebook_form import ANSI, LIVE_TAG, WIDGET_VIEW
from notebook_minutes import STEP, in_the_head, minutes, said
from notebook_run import EXPECTED_ERROR
from notebook_text import SETUP_TAGS

TAGS = {
    "remove-cell", "remove-input", "remove-output", "hide-cell", "hide-input", "hide-output",
    EXPECTED_ERROR, LIVE_TAG, "nbval-ignore-output",
}  # fmt: skip
QUIZ = re.compile(r"^(?:choices|predict_shape)\(", re.MULTILINE)
LIVE_SENTENCE = "live kernel"  # a still says that the panel needs one
INTERNAL_MODULES = {"validation", "element"}  # their helpers have everyday names and no chapter imports them
MAGIC = re.compile(r"^(\s*)[%!].*$", re.MULTILINE)
FENCED = re.compile(r"^(`{3,}|~{3,}).*?^\1", re.MULTILINE | re.DOTALL)
CODE_SPAN = re.compile(r"(?<!`)(`{1,2})(?!`)[^\n]+?(?<!`)\1(?!`)")
MYST = re.compile(r"^(?:`{3,}|~{3,}|:{3,})\s*\{[^`\n]*|\{[\w:.+-]+\}``", re.MULTILINE)
SOLUTION = re.compile(r"<details>\s*<summary>Solution</summary>(.*?)</details>", re.DOTALL)
PYTHON = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)
HEADING = re.compile(r"^(#{1,6}) +(.+)$", re.MULTILINE)
TRACES = {
    "a memory address": re.compile(r"\b0x[0-9a-f]{6,}"),
    "grad_fn": re.compile(r"grad_fn=<"),
    "a path of this machine": re.compile("|".join(re.escape(str(path)) for path in (Path.home(), Path(sys.prefix)))),
    "terminal colours": ANSI,
}


def code_cells(notebook: NotebookNode) -> Iterator[tuple[str, NotebookNode]]:
    """The code cells, each with its id."""
    return ((cell.get("id", "?"), cell) for cell in notebook.cells if cell.cell_type == "code")


def tags_of(cell: NotebookNode) -> list[str]:
    """The tags of a cell."""
    return cell.metadata.get("tags", [])


def python_of(source: str) -> str:
    """A cell's source with its magic lines replaced, so that Python can parse it."""
    return MAGIC.sub(r"\1pass", source)


def setup_cell(notebook: NotebookNode, template: str) -> Iterator[str]:
    """The first code cell is the current set-up cell, hidden from the page."""
    first = next((cell for _, cell in code_cells(notebook)), None)
    if first is None or first.source != template or tags_of(first) != SETUP_TAGS:
        yield "the first code cell is not the current set-up cell; build writes it"


def known_tags(notebook: NotebookNode) -> Iterator[str]:
    """Tags are spelt as Jupyter Book, nbval and this tool know them."""
    for name, cell in code_cells(notebook):
        for tag in set(tags_of(cell)) - TAGS:
            near = difflib.get_close_matches(tag, TAGS, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(sorted(TAGS))}"
            yield f"{name}: unknown tag {tag!r}; {hint}"
        if "nbval-ignore-output" in tags_of(cell) and "#" not in cell.source:
            yield f"{name}: nbval-ignore-output needs a comment in the cell that says why its output cannot be compared"


def no_semicolon(notebook: NotebookNode) -> Iterator[str]:
    """No cell ends in a semicolon: it hides a result in Jupyter but not when the notebook is tested."""
    ignored = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.ENDMARKER, tokenize.INDENT, tokenize.DEDENT}
    for name, cell in code_cells(notebook):
        try:
            tokens = list(tokenize.generate_tokens(io.StringIO(python_of(cell.source)).readline))
        except (tokenize.TokenError, IndentationError):
            continue
        code = [token for token in tokens if token.type not in ignored]
        if code and code[-1].string == ";":
            yield f"{name}: ends in ';'; remove it, and assign an unwanted result to _ instead"


def hidden_answers(notebook: NotebookNode) -> Iterator[str]:
    """The code of a quiz holds its answers, so a page shows it only to those who open it."""
    for name, cell in code_cells(notebook):
        if QUIZ.search(cell.source) and not {"hide-input", "remove-input"} & set(tags_of(cell)):
            yield f"{name}: shows the answers of its quiz; tag the cell hide-input"


def public_names(package: Path) -> set[str]:
    """The functions, classes and constants that the package exports: from its modules and its folders' __init__ files."""
    names: set[str] = set()
    for path in [*package.glob("*.py"), *package.glob("*/__init__.py")]:
        if path.stem not in INTERNAL_MODULES:
            for node in ast.parse(path.read_text("utf-8")).body:
                if isinstance(node, ast.FunctionDef | ast.ClassDef):
                    names.add(node.name)
                elif isinstance(node, ast.ImportFrom) and path.stem == "__init__":
                    names.update(alias.asname or alias.name for alias in node.names)
    modules = {path.stem for path in package.iterdir()}
    return {name for name in names - modules if not name.startswith("_")}


def names_set(source: str) -> Iterator[str]:
    """The names that a cell binds at its top level, or defines anywhere; imports from the package itself don't count."""
    tree = ast.parse(python_of(source))
    pending: list[ast.AST] = [tree]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
            pending += [n for n in ast.walk(node) if n is not node and isinstance(n, ast.FunctionDef | ast.ClassDef)]
            continue
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        if isinstance(node, ast.Import | ast.ImportFrom):
            own = isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "transformer_lab"
            yield from (alias.asname for alias in node.names if own and alias.asname not in (None, alias.name))
            yield from (alias.asname or alias.name.split(".")[0] for alias in node.names if not own)
        if not isinstance(node, ast.Lambda | ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
            pending += ast.iter_child_nodes(node)


def one_story(notebook: NotebookNode, public: set[str]) -> Iterator[str]:
    """No cell gives a new meaning to a name that the package exports: the code that a chapter shows is the package's."""
    for name, cell in code_cells(notebook):
        try:
            taken = sorted(set(names_set(cell.source)) & public)
        except SyntaxError:  # a cell that shows a syntax error to the reader
            continue
        for word in taken:
            yield f"{name}: sets {word}, a name of transformer_lab; show the package's own with show_source, or rename yours"


def data_of(cell: NotebookNode) -> list[dict]:
    """The displayed data of a cell, one mapping from MIME type to content for each output."""
    return [output.data for output in cell.outputs if "data" in output]


def alternative_text(notebook: NotebookNode) -> Iterator[str]:
    """A cell draws at most one figure and describes it in its metadata."""
    for name, cell in code_cells(notebook):
        figures = sum(any(kind.startswith("image/") for kind in data) for data in data_of(cell))
        alt = str(cell.metadata.get("mystnb", {}).get("image", {}).get("alt") or "").strip()
        if figures > 1:
            yield f"{name}: draws {figures} figures, which would share one description; one figure a cell"
        if figures and not alt:
            yield f"{name}: its figure has no alternative text; write it in the cell's metadata, mystnb: {{image: {{alt: …}}}}"
        if figures and alt and len(alt.split()) < 4:
            yield f"{name}: the alternative text {alt!r} describes nothing; say what the figure shows"
        if alt and not figures:
            yield f"{name}: has alternative text but draws no figure"


def live_panels(notebook: NotebookNode) -> Iterator[str]:
    """A panel for a live kernel is stored as a still that says so; a widget never stands alone."""
    prose = {cell.get("id", "?"): cell.source for cell in notebook.cells if cell.cell_type == "markdown"}
    ids = [cell.get("id", "?") for cell in notebook.cells]
    for name, cell in code_cells(notebook):
        data = data_of(cell)
        if any(WIDGET_VIEW in each for each in data):
            yield f"{name}: stores a widget, which is dead on a page; tag the cell {LIVE_TAG} and return an object with a still"
        if LIVE_TAG not in tags_of(cell):
            continue
        if not any(kind == "text/html" or kind.startswith("image/") for each in data for kind in each):
            yield f"{name}: tagged {LIVE_TAG} but has no still (an image or text/html) for a page without a kernel"
        at = ids.index(name)
        near = [prose.get(neighbour, "") for neighbour in ids[max(at - 1, 0) : at + 2]]
        if not any(LIVE_SENTENCE in " ".join(text.split()) for text in [*near, *(str(each) for each in data)]):
            yield f"{name}: tagged {LIVE_TAG}, but neither its output nor the text beside it says that it needs a {LIVE_SENTENCE}"


def expected_errors(notebook: NotebookNode) -> Iterator[str]:
    """A stored error stands in a cell that is tagged for it, and the other way round."""
    for name, cell in code_cells(notebook):
        raised = any(output.output_type == "error" for output in cell.outputs)
        if raised != (EXPECTED_ERROR in tags_of(cell)):
            what = "stores an error without the tag" if raised else "raises nothing but has the tag"
            yield f"{name}: {what} {EXPECTED_ERROR}"


def stable_outputs(notebook: NotebookNode) -> Iterator[str]:
    """No output shows the machine or the moment: no addresses, no paths, no stderr; and there are outputs at all."""
    found = False
    for name, cell in code_cells(notebook):
        for output in cell.outputs:
            found = True
            if output.get("name") == "stderr":
                yield f"{name}: wrote to stderr"
            data = output.get("data", {})
            shown = [output.get("text"), output.get("evalue"), data.get("text/plain"), data.get("text/html")]
            text = "\n".join(part for part in shown if part)
            for what, pattern in TRACES.items():
                if pattern.search(text):
                    yield f"{name}: its output shows {what}; let the cell end in a value instead"
    if not found:
        yield "has no stored outputs at all, so that testing it would compare nothing; build stores them"


def chapter_shape(notebook: NotebookNode) -> Iterator[str]:
    """One title, headings that do not jump; objectives, minutes and prerequisites first, a summary at the end."""
    text = "\n\n".join(FENCED.sub("", cell.source) for cell in notebook.cells if cell.cell_type == "markdown")
    headings = [(len(marks), title.strip()) for marks, title in HEADING.findall(text)]
    levels = [level for level, _ in headings]
    if levels[:1] != [1] or levels.count(1) != 1:
        yield "needs exactly one title (# …), and it comes first"
    for (before, _), (level, title) in zip(headings, headings[1:], strict=False):
        if level > before + 1:
            yield f"heading {title!r} jumps from level {before} to {level}"
    opening = text.split("\n## ")[0] + "".join(text.split("\n## ")[1:2])
    for what, pattern in {
        "objectives (what the reader will learn)": r"(?i)you will|objectives",
        "the minutes that the chapter takes": r"(?i)\b\d+\s+minutes",
        "prerequisites": r"(?i)prerequisit|you need|before you",
    }.items():
        if not re.search(pattern, opening):
            yield f"its opening does not name {what}"
    if not any(level == 2 and "summary" in title.lower() for level, title in headings):
        yield "has no section 'Summary'"


def counted_minutes(notebook: NotebookNode) -> Iterator[str]:
    """The minutes in the head are those that the chapter counts up to."""
    named, counted = said(notebook), minutes(notebook)
    if named is not None and abs(named - counted) > STEP:
        yield f"its head says {named} minutes, but what there is to read and to do counts up to {counted:.1f}: write {in_the_head(counted)}"


def solutions(notebook: NotebookNode) -> Iterator[str]:
    """The code of every folded solution, in order."""
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            for folded in SOLUTION.findall(cell.source):
                yield "\n\n".join(PYTHON.findall(folded))


def exercises(notebook: NotebookNode) -> Iterator[str]:
    """Where there are exercises: two or more, each with a hint and a folded solution that checks itself."""
    text = "\n\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    _, found, section = text.partition("\n## Exercises\n")
    if not found:
        return
    section = section.split("\n## ")[0]
    tasks, hints, solved = len(re.findall(r"(?m)^\*\*\d+\. ", section)), len(re.findall(r"\*Hint", section)), list(solutions(notebook))
    if not tasks == len(solved) >= 2:
        yield f"has {tasks} exercises (**1. …) and {len(solved)} folded solutions; it needs two or more, one solution each"
    if hints < tasks:
        yield f"has {tasks} exercises but {hints} hints (*Hint: …*)"
    for number, code in enumerate(solved, start=1):
        if "assert" not in code:
            yield f"the solution of exercise {number} checks nothing: end it with an assertion"


def plain_markdown(notebook: NotebookNode) -> Iterator[str]:
    """Prose is Markdown that Colab and GitHub show too: no MyST directive, no MyST role."""
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            for found in MYST.findall(CODE_SPAN.sub("``", cell.source)):
                yield f"{cell.get('id', '?')}: {found!r} shows as it stands in Colab and GitHub; use plain Markdown"


def broken_rules(notebook: NotebookNode, template: str, public: set[str]) -> Iterator[str]:
    """Everything that breaks a rule, in the order of the rules."""
    yield from setup_cell(notebook, template)
    yield from one_story(notebook, public)
    for rule in (
        chapter_shape, counted_minutes, exercises, hidden_answers, plain_markdown, known_tags, no_semicolon, alternative_text, live_panels,
        expected_errors, stable_outputs,
    ):  # fmt: skip
        yield from rule(notebook)
