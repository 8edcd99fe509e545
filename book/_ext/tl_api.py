"""The reference of the package, generated from its docstrings by Sphinx's autodoc and napoleon.

Two directives, both used inside ``{eval-rst}`` blocks of the pages in ``book/api``:

``.. tl-names:: transformer_lab.masks``
    documents every public name that belongs there, under the shortest path from which it can be imported;
``.. tl-help:: train world``
    shows what ``python -m transformer_lab train world --help`` prints.

What is public, and where it belongs, is worked out here, so that a page cannot forget a name; `tests/test_api_pages.py`
compares with the source that no module is forgotten either.
"""

from __future__ import annotations

import ast
import builtins
import contextlib
import functools
import importlib
import inspect
import io
import os
import pkgutil
from collections import Counter
from dataclasses import dataclass
from types import ModuleType
from unittest import mock

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.pycode import ModuleAnalyzer
from sphinx.util.docutils import SphinxDirective
from tl_docstrings import convert, link_chapters, restore_colons

PACKAGE = "transformer_lab"
HELP_WIDTH = 78
SHORT_VALUE = 60

# Names in signatures that other people's manuals explain. Ours are not among them: a dead link to one fails the build.
ELSEWHERE = (
    (r"py:.*", "|".join(name for name in dir(builtins) if not name.startswith("_"))),
    (r"py:.*", r"(argparse|collections|contextlib|dataclasses|os|pathlib|random|types|typing)\.[\w.]+"),
    (r"py:exc", "ArgumentTypeError"),  # argparse's, named in Raises without its module
    (r"py:.*", r"(torch|numpy|matplotlib)(\.[\w.]+)?"),
    (r"py:class", rf"{PACKAGE}\.[\w.]+\.T"),  # a type variable: it stands for any type and has no entry of its own
)


@dataclass(frozen=True)
class Entry:
    """One public name: how it is imported, what it is, where it is defined."""

    name: str
    kind: str
    value: object

    @property
    def short(self) -> str:
        """The last part of the name."""
        return self.name.rpartition(".")[2]


def modules() -> dict[str, ModuleType]:
    """Every module of the package by its name; a package stands before what it holds."""
    package = importlib.import_module(PACKAGE)
    names = [PACKAGE, *(found.name for found in pkgutil.walk_packages(package.__path__, f"{PACKAGE}."))]
    return {name: importlib.import_module(name) for name in names}


def exports(module: ModuleType) -> dict[str, object]:
    """What a package's ``__init__`` offers, in its order: it says so by ``import x as x`` or by ``__all__``."""
    if not hasattr(module, "__path__"):
        return {}
    imports = [node for node in ast.parse(inspect.getsource(module)).body if isinstance(node, ast.ImportFrom)]
    names = [alias.name for node in imports for alias in node.names if alias.asname == alias.name]
    return {name: getattr(module, name) for name in [*names, *getattr(module, "__all__", ())]}


def kind_of(value: object) -> str:
    """How autodoc calls it."""
    if inspect.isclass(value):
        return "class"
    return "function" if inspect.isroutine(value) else "data"


@functools.cache
def catalogue() -> dict[str, list[Entry]]:
    """Every public name of the package, under the module that it belongs to.

    A name belongs to the package that exports it, `transformer_lab` itself aside, or else to the module that defines it.
    """
    known = modules()
    offers = {name: exports(module) for name, module in known.items()}
    top = offers.pop(PACKAGE)
    taken = {id(value) for names in offers.values() for value in names.values() if kind_of(value) != "data"}
    sections: dict[str, list[Entry]] = {}
    for module, content in known.items():
        own = {name: value for name, value in definitions(module, content).items() if id(value) not in taken}
        above = [offers[one] for one in packages_above(module)]
        names = offers.get(module, {}) | {name: own[name] for name in own if not any(name in one for one in above)}
        entries = [
            Entry(f"{PACKAGE if top.get(name) is value else module}.{name}", kind_of(value), value)
            for name, value in names.items()
        ]
        sections |= {module: entries} if entries else {}
    return sections


def definitions(module: str, content: ModuleType) -> dict[str, object]:
    """The public functions and classes that a module defines, and its explained constants, in their order."""
    return {
        name: value
        for name, value in vars(content).items()
        if not name.startswith("_")
        and (getattr(value, "__module__", None) == module if kind_of(value) != "data" else name in constants(module))
    }


def packages_above(module: str) -> list[str]:
    """The packages that a module lies in, `transformer_lab` aside."""
    parts = module.split(".")[:-1]
    return [".".join(parts[:n]) for n in range(2, len(parts) + 1)]


@functools.cache
def constants(module: str) -> dict[str, list[str]]:
    """The module's constants that a comment starting with ``#:`` explains, with that comment."""
    analyzer = ModuleAnalyzer.for_module(module)
    analyzer.analyze()
    return {name: lines for (scope, name), lines in analyzer.attr_docs.items() if not scope}


def explanation(entry: Entry) -> list[str]:
    """The comment on a constant, wherever in the package it is defined."""
    for module in modules():
        if module.startswith(entry.name.rpartition(".")[0]) and entry.short in constants(module):
            return constants(module)[entry.short]
    raise ValueError(f"{entry.name} is exported, but no comment that starts with #: explains it where it is defined")


@functools.cache
def linkable() -> dict[str, str]:
    """Names that may stand in a docstring's backticks and mean one object, with the full name of that object."""
    entries = [entry for section in catalogue().values() for entry in section]
    once = Counter(entry.short for entry in entries)
    found = {entry.short: entry.name for entry in entries if once[entry.short] == 1 and is_telling(entry.short)}
    for entry in entries:
        found[entry.name] = entry.name
        if entry.kind == "class":
            own = [name for name in vars(entry.value) if not name.startswith("_")]
            documented = [name for name in own if inspect.getdoc(inspect.getattr_static(entry.value, name))]
            found |= {f"{entry.short}.{name}": f"{entry.name}.{name}" for name in documented if once[entry.short] == 1}
    return found


def is_telling(name: str) -> bool:
    """Whether a name is no ordinary word, which in backticks might be an argument or a value."""
    return "_" in name or name != name.lower()


def link_from(module: str, skip: set[str], with_modules: bool = False):
    """The function that says what a name in a docstring of a module means."""

    def link(code: str) -> str | None:
        name = code.removesuffix("()")
        if name in skip:
            return None
        if with_modules:
            for start in (module, module.rpartition(".")[0]):
                if f"{start}.{name}" in documented_modules():
                    return f"{start}.{name}"
        near = {entry.short: entry.name for entry in catalogue().get(module, ())}
        return near.get(name) if is_telling(name) and name in near else linkable().get(name)

    return link


@functools.cache
def documented_modules() -> frozenset[str]:
    """The modules that have a section of their own."""
    return frozenset(catalogue())


class Names(SphinxDirective):
    """Documents the public names that belong to one module or package."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """The module's own docstring, and then every name."""
        module = self.arguments[0]
        if module not in catalogue():
            raise self.error(f"{module} is no module of {PACKAGE} with public names")
        text = inspect.getdoc(importlib.import_module(module)) or ""
        lines = [*restore_colons(convert(text.split("\n"), link_from(module, set(), with_modules=True))), ""]
        for entry in catalogue()[module]:
            lines += [*(describe(entry) if entry.kind == "data" else [f".. auto{entry.kind}:: {entry.name}"]), ""]
            if entry.kind == "class":
                lines[-1:] = ["   :members:", "   :special-members: __call__", ""]
        name = nodes.paragraph("", "", nodes.literal(text=module), classes=["tl-module"])
        found = [*self.parsed([f".. py:module:: {module}"], module), name, *self.parsed(lines, module)]
        for node in found:
            as_typed(node)
        return found

    def parsed(self, lines: list[str], source: str) -> list[nodes.Node]:
        """The nodes that lines of reStructuredText stand for."""
        box = nodes.Element()
        self.state.nested_parse(StringList(lines, source=source), self.content_offset, box)
        return box.children


def as_typed(node: nodes.Node) -> None:
    """Keep quotes and dots as they are, in id("<pad>") and [..., T, d_k]; only the dash after an argument is set as one."""
    if isinstance(node, nodes.Element):
        node["support_smartquotes"] = False
        for text in [text for text in node.findall(nodes.Text) if text == " -- "]:
            text.parent.replace(text, nodes.Text(" – "))


def describe(entry: Entry) -> list[str]:
    """A constant: its value if that is short, and its comment."""
    shown = repr(entry.value)
    value = [f"   :value: {shown}"] if len(shown) <= SHORT_VALUE else []
    text = restore_colons(convert(explanation(entry), link_from(entry.name, set())))
    path = entry.name.rpartition(".")[0]
    return [f".. py:data:: {entry.short}", f"   :module: {path}", *value, "", *(f"   {line}" for line in text)]


class Help(SphinxDirective):
    """Shows what a command prints when asked for help."""

    optional_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        """The command as one types it, and its answer."""
        words = (self.arguments or [""])[0].split()
        typed = " ".join(["python -m", PACKAGE, *words, "--help"])
        text = f"$ {typed}\n{help_text(words)}"
        block = nodes.literal_block(text, text, language="console")
        return [block]


def help_text(words: list[str]) -> str:
    """What the command line answers to ``--help``, at one width and without colour, whatever the terminal."""
    main = importlib.import_module(f"{PACKAGE}.__main__").main
    said = io.StringIO()
    quiet = {"COLUMNS": str(HELP_WIDTH), "NO_COLOR": "1"}
    with mock.patch.dict(os.environ, quiet), contextlib.redirect_stdout(said), contextlib.suppress(SystemExit):
        main([*words, "--help"])
    return said.getvalue()


def read_markdown(app: Sphinx, what: str, name: str, value: object, options: object, lines: list[str]) -> None:
    """Before napoleon: turn Markdown into reStructuredText."""
    module = getattr(inspect.unwrap(value) if callable(value) else value, "__module__", None) or PACKAGE
    skip = {name.rpartition(".")[2]}
    with contextlib.suppress(TypeError, ValueError):
        skip |= set(inspect.signature(value).parameters)
    lines[:] = convert(list(lines), link_from(module, skip), is_value=what in ("attribute", "data", "property"))


def readable(app: Sphinx, what: str, name: str, value: object, options: object, signature: str, answer: str) -> tuple:
    """A default that is made anew for every object has no expression of its own: dots stand for it."""
    return (signature or "").replace("<factory>", "...") or signature, answer


def finish(app: Sphinx, what: str, name: str, value: object, options: object, lines: list[str]) -> None:
    """After napoleon: bring the colons back, and link the chapters."""
    pages = {page.removeprefix("notebooks/")[:2]: page for page in app.env.found_docs if page.startswith("notebooks/")}
    lines[:] = link_chapters(restore_colons(lines), pages)


def settle(app: Sphinx, config: object) -> None:
    """The settings of autodoc and napoleon that this file counts on."""
    config.autodoc_inherit_docstrings = False  # an override without words stays without; torch's are not ours to show
    config.autodoc_member_order = "bysource"
    config.autodoc_preserve_defaults = True  # tuple(PATTERNS), as the source says it, not all that is in it
    config.autodoc_typehints_format = "short"  # Tensor, not torch.Tensor: signatures are long enough
    config.napoleon_numpy_docstring = False
    config.napoleon_use_rtype = False
    config.napoleon_custom_sections = [("Source", "returns_style")]
    config.nitpick_ignore_regex = [*config.nitpick_ignore_regex, *ELSEWHERE]
    config.toc_object_entries_show_parents = "hide"
    config.html_domain_indices = False  # no second index: genindex lists every name


def setup(app: Sphinx) -> dict:
    """Load autodoc, napoleon and the links to the source, and connect what stands before and after them."""
    app.setup_extension("sphinx.ext.autodoc")
    app.setup_extension("sphinx.ext.napoleon")
    app.setup_extension("sphinx.ext.viewcode")
    app.add_directive("tl-names", Names)
    app.add_directive("tl-help", Help)
    app.connect("config-inited", settle)
    app.connect("autodoc-process-signature", readable)
    app.connect("autodoc-process-docstring", read_markdown, priority=400)
    app.connect("autodoc-process-docstring", finish, priority=600)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
