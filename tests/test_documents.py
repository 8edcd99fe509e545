"""The documents and the pages around the chapters: what they say is there is there, and what they claim is so."""

import ast
import dataclasses
import inspect
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pictures
import pytest
import torch
import torch.nn.functional as F
import yaml
from markdown_it import MarkdownIt
from pybtex.database import parse_file
from torch import nn

import transformer_lab
from transformer_lab import TINY, causal_mask, diagrams

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "transformer_lab"
DOCUMENTS = ("README.md", "CONTRIBUTING.md", "STYLE.md", "CHANGELOG.md")
PAGES = tuple(sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "book").rglob("*.md")))
FOLDERS = ("book", "notebooks", "tools", "tests", "transformer_lab")
MARKDOWN = MarkdownIt("commonmark").enable("table")


def read(name: str) -> str:
    return (ROOT / name).read_text("utf-8")


@pytest.fixture(params=DOCUMENTS + PAGES)
def document(request) -> str:
    return request.param


# Links, pictures, commands, paths


def tokens(text: str) -> Iterator:
    for token in MARKDOWN.parse(text):
        yield token
        yield from token.children or ()


def targets(text: str) -> Iterator[str]:
    """Where the links, pictures and figures of a Markdown text point."""
    for token in tokens(text):
        if token.type in ("link_open", "image"):
            yield str(token.attrGet("href") or token.attrGet("src"))
        if token.type == "fence" and token.info.startswith("{figure}"):
            yield token.info.split(maxsplit=1)[1]


def anchors(path: Path) -> set[str]:
    """The headings of a Markdown file as GitHub and the book turn them into anchors."""
    headings = re.findall(r"^#+ +(.+)$", path.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def broken_links(text: str, folder: Path) -> list[str]:
    broken = []
    for target in targets(text):
        if target.startswith(("https://", "http://", "mailto:")):
            continue
        name, _, anchor = target.partition("#")
        path = (folder / name).resolve() if name else None
        if path is not None and (not path.exists() or not path.is_relative_to(ROOT)):
            broken.append(target)
        elif path is not None and anchor and path.suffix == ".md" and anchor not in anchors(path):
            broken.append(target)
    return broken


def test_links_and_pictures_are_there(document):
    assert broken_links(read(document), (ROOT / document).parent) == []


@pytest.mark.parametrize("text", ["[a](gone.md)", "![a](gone.png)", "```{figure} gone.svg\n```", "[a](STYLE.md#gone)", "[a](../..)"])
def test_the_link_check_can_fail(text):
    assert len(broken_links(text, ROOT)) == 1


def test_no_picture_comes_from_another_host(document):
    address = (yaml.safe_load(read("_config.yml"))["repository"] or {}).get("url")
    pictures = [token.attrGet("src") for token in tokens(read(document)) if token.type == "image"]
    assert not [source for source in pictures if "//" in source and not (address and document == "README.md")]


def test_every_picture_says_what_one_sees(document):
    text = read(document)
    figures = [token for token in tokens(text) if token.type == "fence" and token.info.startswith("{figure}")]
    alts = [token.content for token in tokens(text) if token.type == "image"]
    alts += [(re.search(r"^:alt: (.+)$", figure.content, re.MULTILINE) or ["", ""])[1] for figure in figures]
    assert [alt for alt in alts if len(alt) < 30] == []


def code(text: str) -> Iterator[str]:
    """The code spans and the lines of shell blocks."""
    for token in tokens(text):
        if token.type == "code_inline":
            yield token.content
        if token.type == "fence" and token.info == "sh":
            yield from token.content.splitlines()


def unknown_commands(text: str) -> list[str]:
    makefile = read("Makefile")
    make = set(re.findall(r"^([a-z]+):", makefile, re.MULTILINE))
    unknown = []
    for line in code(text):
        if (found := re.match(r"make ([a-z]+)\b", line)) and found[1] not in make:
            unknown.append(line)
        if (found := re.match(r"python (tools/\S+)", line)) and not (ROOT / found[1]).exists():
            unknown.append(line)
    return unknown


def test_commands_exist(document):
    assert unknown_commands(read(document)) == []


@pytest.mark.parametrize("text", ["`make coffee`", "```sh\nmake coffee   # hot\n```", "`python tools/gone.py check`"])
def test_the_command_check_can_fail(text):
    assert len(unknown_commands(text)) == 1


def missing_paths(text: str) -> list[str]:
    spans = (span for span in code(text) if re.fullmatch(rf"({'|'.join(FOLDERS)})/[\w./-]*", span))
    return [span for span in spans if "NN_" not in span and not (ROOT / span).exists()]


def test_paths_exist(document):
    assert missing_paths(read(document)) == []


def test_the_path_check_can_fail():
    assert missing_paths("`tools/gone.py` and `notebooks/src/NN_name.md` and `tools/book.py`") == ["tools/gone.py"]


def test_markup_does_not_leak(document):
    """Bold that does not close shows its stars, as it does beside some Chinese punctuation."""
    assert [token.content for token in tokens(read(document)) if token.type == "text" and "**" in token.content] == []


def test_no_document_promises_or_mentions_what_is_not_there(document):
    assert not re.search(r"\b(TOD[O]|FIXM[E]|TBD)\b|coming soo[n]|lorem ipsu[m]|/roo[t]/|/tmp/|/opt/", read(document), re.IGNORECASE)


def test_readme_code_runs():
    blocks = [token.content for token in tokens(read("README.md")) if token.type == "fence" and token.info == "python"]
    assert len(blocks) == 2
    names: dict = {}
    for block in blocks:
        exec(compile(block, "README.md", "exec"), names)
    assert (names["output"].shape, names["weights"].shape) == ((1, 6, 512), (1, 8, 6, 6))
    assert type(names["world"]) is type(names["control"])
    assert names["translation"] == "我给了她一本书"


def test_pictures_are_up_to_date(capsys):
    assert pictures.main(["--check"]) == 0, capsys.readouterr().err


def test_an_outdated_picture_is_named_and_written_anew(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(pictures, "STATIC", tmp_path)
    (tmp_path / "architecture.svg").write_text("<svg/>", "utf-8")
    assert pictures.main(["--check"]) == 1
    assert capsys.readouterr().err.count("out of date") == 2
    monkeypatch.setattr(pictures, "ROOT", tmp_path)
    assert pictures.main([]) == 0
    assert pictures.main(["--check"]) == 0


def test_the_readme_picture_shows_what_its_text_says():
    """In the trained row of "sat" the cells of "mat" and "cat" are the darkest; in the control none is dark, "on" most."""
    words = pictures.SENTENCE.split()
    trained, control = (rows[words.index("sat")] for rows in pictures.attention_of_both())
    dark = [words.index(word) for word in ("cat", "mat")]
    others = [place for place in range(len(words)) if place not in dark]
    assert trained[dark].min() > 1.5 * trained[others].max()
    assert control.max() < 0.3
    assert words[int(control.argmax())] == "on"


def test_the_floors_are_those_that_the_modules_name():
    table = {}
    for number, cell in re.findall(r"^\| (\d[abc]?)[\w ]* \| ([^|]+) \|", read("CONTRIBUTING.md"), re.MULTILINE):
        table |= dict.fromkeys(re.findall(r"`(\w+)`", cell), number)
    modules = {}
    for path in [*PACKAGE.glob("*.py"), *PACKAGE.glob("*/__init__.py")]:
        name = path.parent.name if path.name == "__init__.py" else path.stem
        if name != "transformer_lab":
            modules[name] = (re.search(r"Floor (\d[abc]?)", ast.get_docstring(ast.parse(path.read_text("utf-8"))) or "") or ["", "?"])[1]
    assert table == modules


# The road map and the table of contents


def test_the_road_map_links_exactly_the_chapters_that_exist():
    linked = set(re.findall(r"\]\(\.\./(notebooks/\w+)\.ipynb\)", read("book/index.md")))
    toc = yaml.safe_load(read("_toc.yml"))
    files = {chapter["file"] for part in toc["parts"] for chapter in part["chapters"]}
    assert linked == {name for name in files if name.startswith("notebooks/")}
    assert {f"{name}.md" for name in files | {toc["root"]} if name.startswith("book/")} == set(PAGES)


def test_the_road_map_has_twelve_chapters_in_order():
    assert re.findall(r"^\| (\d\d) \|", read("book/index.md"), re.MULTILINE) == [f"{n:02d}" for n in range(1, 13)]


# Glossary


def glossary() -> dict[str, str]:
    """Term -> definition."""
    entries = {}
    for block in re.findall(r"```\{glossary\}\n(.*?)```", read("book/glossary.md"), re.DOTALL):
        for entry in re.split(r"\n\n+", block.strip()):
            term, _, definition = entry.partition("\n")
            assert term not in entries, f"{term} is defined twice"
            entries[term] = " ".join(definition.split())
    return entries


def test_every_term_has_a_definition_and_a_chinese_name():
    entries = glossary()
    assert len(entries) >= 40
    for term, definition in entries.items():
        body, _, chinese = definition.rpartition("Chinese: ")
        assert body, term
        assert re.search(r"[\u4e00-\u9fff]", chinese) or term == "logits", term
        assert len(re.findall(r"[.!?](?= |$)", body)) <= 3, f"{term}: one or two sentences are enough"


def test_terms_that_pages_use_are_defined(document):
    used = re.findall(r"\{term\}`(?:[^`<]*<)?([^`>]+)>?`", read(document))
    known = {term.lower() for term in glossary()}
    assert [term for term in used if term.lower() not in known] == []


# Notation


def notation() -> Iterator[tuple[str, str, str]]:
    """Rows of the table of code names: (the name in whose section it stands, code name, default)."""
    section = read("book/notation.md").split("## Symbols and code names\n")[1].split("\n## ")[0]
    for part in section.split("\n### ")[1:]:
        owner = re.search(r"`(\w+)`\.\n", part)[1]
        for code_name, default in re.findall(r"^\|.*\| `(\w+)` \| ([^|]+) \| \d\d \|$", part, re.MULTILINE):
            yield owner, code_name, default


def known_default(owner: str, name: str) -> tuple[bool, str]:
    """Whether the owner has that name, and its default as the table writes it."""
    if owner == "transformer_lab":
        return hasattr(transformer_lab, name), "–"
    thing = getattr(transformer_lab, owner)
    parameters = inspect.signature(thing).parameters
    if name in parameters:
        default = parameters[name].default
        return True, "–" if default is inspect.Parameter.empty else str(default)
    if dataclasses.is_dataclass(thing):
        return hasattr(thing, name), str(getattr(thing(src_vocab_size=11, tgt_vocab_size=13), name, None))
    return isinstance(thing, type) and hasattr(thing(TINY.d_model, 2), name), "–"


def test_the_notation_table_was_found():
    assert len(list(notation())) >= 25


@pytest.mark.parametrize(("owner", "name", "default"), list(notation()))
def test_code_names_of_the_notation_table_exist_with_that_default(owner, name, default):
    assert known_default(owner, name) == (True, default)


@pytest.mark.parametrize(("owner", "name"), [("TransformerConfig", "width"), ("MultiHeadAttention", "W_x"), ("transformer_lab", "gone")])
def test_the_notation_check_can_fail(owner, name):
    assert not known_default(owner, name)[0]


def test_other_names_in_the_notation_page_are_torchs_or_ours():
    for name in ("causal_mask", "padding_mask", "combine_masks", "split_heads", "merge_heads"):
        assert f"`{name}" in read("book/notation.md")
        assert hasattr(transformer_lab, name)
    assert hasattr(nn.Transformer, "generate_square_subsequent_mask")
    torch_names = {*inspect.signature(nn.Transformer).parameters, *inspect.signature(nn.Transformer.forward).parameters}
    assert {"norm_first", "dim_feedforward", "src_key_padding_mask"} <= torch_names


# What the introduction claims


def test_claim_torchs_modules_and_function_mean_the_opposite_by_a_boolean_mask():
    torch.manual_seed(0)
    module = nn.MultiheadAttention(6, 1, bias=False, batch_first=True, dtype=torch.float64)
    x, allowed = torch.randn(1, 5, 6, dtype=torch.float64), causal_mask(5)
    q, k, v = (x @ w.T for w in module.in_proj_weight.chunk(3))
    by_function = F.scaled_dot_product_attention(q, k, v, attn_mask=allowed) @ module.out_proj.weight.T
    by_module, _ = module(x, x, x, attn_mask=~allowed)
    torch.testing.assert_close(by_function, by_module, rtol=0, atol=1e-12)


def test_claim_a_mask_made_for_the_modules_lets_the_function_see_only_later_words_silently():
    torch.manual_seed(0)
    x = torch.randn(1, 5, 6, dtype=torch.float64)
    made_for_modules = ~causal_mask(5)
    output = F.scaled_dot_product_attention(x, x, x, attn_mask=made_for_modules)
    assert output.isfinite().all()
    attend = partial(F.scaled_dot_product_attention, x, x, attn_mask=made_for_modules)
    jacobian = torch.autograd.functional.jacobian(attend, x)
    reach = jacobian.abs().sum((0, 2, 3, 5)) > 0  # [query, word]
    assert torch.equal(reach, made_for_modules)


def test_claim_position_zero_again_and_again_changes_the_result_without_an_error():
    positions = transformer_lab.PositionalEncoding(6, max_len=7)
    tokens_one_by_one = torch.zeros(1, 5, 6).split(1, dim=1)
    right = torch.cat([positions(token, start=t) for t, token in enumerate(tokens_one_by_one)], dim=1)
    wrong = torch.cat([positions(token) for token in tokens_one_by_one], dim=1)
    torch.testing.assert_close(right, positions(torch.zeros(1, 5, 6)))
    assert torch.equal(wrong, right[:, :1].expand(1, 5, 6))
    assert wrong.isfinite().all()


def test_the_alt_text_of_the_architecture_is_that_of_the_drawing():
    assert f":alt: {diagrams.architecture().alt}\n" in read("book/index.md")


# References, citation, licences


def test_every_reference_is_complete_and_every_citation_is_known():
    entries = parse_file(str(ROOT / "book" / "references.bib")).entries
    for key, entry in entries.items():
        assert entry.persons["author"], key
        assert {"title", "year"} <= set(entry.fields), key
        assert {"doi", "url"} & set(entry.fields), key
    cited = set()
    for page in PAGES:
        for keys in re.findall(r"\{cite\}`([^`]+)`", read(page)):
            cited |= set(keys.split(","))
    assert cited == set(entries), "cited and not in the list, or in the list and never mentioned"


def test_the_citation_file_is_valid_and_of_this_version():
    citation = yaml.safe_load(read("CITATION.cff"))
    assert {"cff-version", "message", "title", "authors"} <= set(citation)
    assert citation["cff-version"] == "1.2.0"
    assert citation["type"] == "software"
    assert str(citation["version"]) == transformer_lab.__version__
    assert citation["authors"] == [{"name": "Transformer Lab contributors"}]
    assert citation["license"] == ["MIT", "CC-BY-4.0"]


def test_the_licences_are_whole():
    assert read("LICENSE").startswith("MIT License\n\nCopyright (c) 2026 Transformer Lab contributors\n")
    text = read("LICENSE-text")
    assert text.startswith("Attribution 4.0 International\n")
    assert [f"Section {n} --" in text for n in range(1, 9)] == [True] * 8


def test_the_notice_names_everything_that_others_made():
    notice = read("NOTICE")
    vendored = [path for path in (ROOT / "book" / "_static" / "vendor").iterdir() if path.is_dir()]
    assert vendored
    for folder in [*vendored, PACKAGE / "fonts"]:
        assert folder.relative_to(ROOT).as_posix() in notice
        assert list(folder.glob("LICENSE*")) + list(folder.glob("OFL*"))
