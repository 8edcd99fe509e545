"""Chinese terms of the chapters: links to the glossary, and on wide screens a note in the margin.

A chapter writes ``attention (注意力)`` and nothing more, so that it reads well in Jupyter and Colab too. Here the term becomes a link to
its entry, and the entry itself, the first time that a page has the term, a note beside the paragraph. Only terms of the glossary are
touched: those that an entry names after "Chinese:". A screen without a margin shows the links alone.
"""

from __future__ import annotations

import re

from docutils import nodes

GLOSSARY = "book/glossary"
CHINESE = re.compile(r"\s*Chinese:\s*([^.]+)\.\s*$")
HAN = r"\u4e00-\u9fff"
IN_BRACKETS = re.compile(rf"(?<=\()[^()]*[{HAN}][^()]*(?=\))")
RUN_OF_HAN = re.compile(rf"[{HAN}]+")


def entries_of(text: str) -> dict[str, str]:
    """The terms that the glossary names in Chinese, from its source: Chinese term -> term."""
    found = re.findall(r"^([^\s`#{][^\n]*)\n((?:  [^\n]*\n)+)", text, re.MULTILINE)
    return {
        chinese.strip(): term
        for term, definition in found
        if (names := CHINESE.search(" ".join(definition.split())))
        for chinese in names[1].split(",")
    }


def split_at_terms(text: str, known: dict[str, str]) -> list[str]:
    """Cuts a text so that the Chinese terms in brackets that are known stand alone, at the odd places."""
    names = "|".join(re.escape(one) for one in sorted(known, key=len, reverse=True))
    term = re.compile(rf"(?<![{HAN}])(?:{names})(?![{HAN}])")
    pieces, at = [], 0
    for bracket in IN_BRACKETS.finditer(text):
        for word in term.finditer(text, bracket.start(), bracket.end()):
            pieces += [text[at : word.start()], word[0]]
            at = word.end()
    return [*pieces, text[at:]]


def definition_of(entry: nodes.Node) -> list[nodes.Node]:
    """What an entry says, as copies that may stand on another page: links inside are plain words, the Chinese name is left out."""
    paragraph = next(entry.parent.findall(nodes.definition)).next_node(nodes.paragraph).deepcopy()
    for link in [*paragraph.findall(lambda node: node.tagname in ("pending_xref", "reference"))]:
        link.parent.replace(link, nodes.Text(link.astext()))
    last = paragraph.children[-1]
    paragraph.replace(last, nodes.Text(re.sub(r"\s*Chinese:[^.]*\.\s*$", "", last.astext())))
    return paragraph.children


def in_chinese(term: str) -> nodes.raw:
    """A Chinese word that says that it is Chinese, so that it is read aloud and drawn as such."""
    return nodes.raw("", f'<span lang="zh-Hans">{term}</span>', format="html")


def add_margin_notes(app, doctree: nodes.document, docname: str) -> None:
    """Links the Chinese terms of a chapter and puts their notes beside the paragraphs; a book without a glossary has none."""
    if app.builder.format != "html" or not docname.startswith("notebooks/") or GLOSSARY not in app.env.found_docs:
        return
    known = entries_of((app.srcdir / f"{GLOSSARY}.md").read_text(encoding="utf-8"))
    places = {name: anchor for name, _, kind, page, anchor, _ in app.env.get_domain("std").get_objects() if kind == "term"}
    glossary = app.env.get_doctree(GLOSSARY)
    address = app.builder.get_relative_uri(docname, GLOSSARY)
    noted: set[str] = set()
    for text in [*doctree.findall(nodes.Text)]:
        pieces = split_at_terms(text.astext(), known)
        if len(pieces) == 1 or isinstance(text.parent, (nodes.literal, nodes.title, nodes.reference, nodes.literal_block)):
            continue
        replacement: list[nodes.Node] = []
        for number, piece in enumerate(pieces):
            if number % 2 == 0:
                replacement += [nodes.Text(piece)] if piece else []
                continue
            term = known[piece]
            uri = f"{address}#{places[term]}"
            replacement.append(nodes.reference("", "", in_chinese(piece), refuri=uri, internal=True))
            if term not in noted:  # one note an entry, also where it has two Chinese names
                noted.add(term)
                put_beside(text, note(piece, term, uri, definition_of(glossary.ids[places[term]])))
        text.parent.replace(text, replacement)


def note(chinese: str, term: str, uri: str, definition: list[nodes.Node]) -> nodes.container:
    """One note: the Chinese word, the English one, what it means."""
    head = nodes.reference("", "", in_chinese(chinese), nodes.Text(f" {term}"), refuri=uri, internal=True)
    return nodes.container(
        "", nodes.paragraph("", "", head, classes=["tl-term-name"]), nodes.paragraph("", "", *definition), classes=["margin", "tl-term"]
    )


def put_beside(text: nodes.Node, margin_note: nodes.container) -> None:
    """Puts a note before the block that a text stands in: the one whose parent is a section or the page."""
    block = text.parent
    while not isinstance(block.parent, (nodes.section, nodes.document)):
        block = block.parent
    block.parent.insert(block.parent.index(block), margin_note)


def setup(app) -> dict:
    """Connect the handler."""
    app.connect("doctree-resolved", add_margin_notes)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
