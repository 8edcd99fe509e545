"""Chinese terms of the chapters: each that stands in brackets is in the glossary, and becomes a link and a note."""

import re
from pathlib import Path

import pytest
import tl_margins

ROOT = Path(__file__).resolve().parent.parent
KNOWN = tl_margins.entries_of((ROOT / "book" / "glossary.md").read_text("utf-8"))
CHAPTERS = sorted((ROOT / "notebooks" / "src").glob("*.md"))
NOT_TERMS = {"文章勘误", "错误博物馆", "上上上上", "词表大小", "向量维度", "完整模型"}  # pages, a failing model's words, the article's rows


def prose_of(chapter: Path) -> str:
    """What a chapter says outside its cells."""
    return re.sub(r"^```.*?^```", "", chapter.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)


def test_the_glossary_is_read():
    text = "# G\n\n```{glossary}\nhead\n  One of\n  many. Chinese: 头,\n  注意力头.\n\nbare\n  No name.\n```\n"
    assert tl_margins.entries_of(text) == {"头": "head", "注意力头": "head"}
    assert len(KNOWN) > 90 and KNOWN["自注意力"] == "self-attention"


@pytest.mark.parametrize(("text", "pieces"), [
    ("heads (头) and (两个, 头).", ["heads (", "头", ") and (两个, ", "头", ")."]),
    ("it (KV 缓存)", ["it (", "KV 缓存", ")"]),
    ("头 outside of brackets", ["头 outside of brackets"]),
    ("a word (无头)", ["a word (无头)"]),  # a part of a word is not the word
])  # fmt: skip
def test_terms_are_cut_out_of_their_brackets(text, pieces):
    assert tl_margins.split_at_terms(text, {"头": "head", "KV 缓存": "KV cache"}) == pieces


@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda path: path.stem)
def test_every_chinese_term_in_brackets_is_in_the_glossary(chapter):
    rest = "".join(tl_margins.split_at_terms(prose_of(chapter), KNOWN)[::2])
    words = [word for bracket in tl_margins.IN_BRACKETS.findall(rest) for word in tl_margins.RUN_OF_HAN.findall(bracket)]
    assert set(words) - NOT_TERMS == set()
