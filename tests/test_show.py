"""Showing source and numbers in a page: the code as it is, the numbers as they are, every name as typed."""

import ast
import inspect
import re
from html.parser import HTMLParser

import pytest

import transformer_lab
from transformer_lab import MultiHeadAttention, attention, scaled_dot_product_attention
from transformer_lab.show import DataTable, show_source

PUBLIC = {name: obj for name, obj in vars(transformer_lab).items() if inspect.isclass(obj) or inspect.isfunction(obj)}


def without_docstrings(text: str) -> str:
    """The code's syntax tree with every docstring taken out, by another road than the package's."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.FunctionDef | ast.ClassDef)
            and ast.get_docstring(node) is not None
            and len(node.body) > 1
        ):
            del node.body[0]
    return ast.dump(tree)


# ------------------------------------------------------------------ show_source


@pytest.mark.parametrize("name", PUBLIC)
def test_shown_source_is_the_installed_source(name):
    source = show_source(PUBLIC[name])
    assert source.text == inspect.getsource(PUBLIC[name]).rstrip()
    assert ast.parse(source.text).body[0].name == name


@pytest.mark.parametrize("name", PUBLIC)
def test_without_docstrings_only_the_docstrings_are_gone(name):
    whole, bare = (show_source(PUBLIC[name], docstring=flag).text for flag in (True, False))
    assert '"""' in whole and '"""' not in bare
    assert ast.dump(ast.parse(bare)) == without_docstrings(whole)
    lines = whole.splitlines()
    assert all(line in lines for line in bare.splitlines())  # comments and spacing are the author's
    assert "\n\n\n" not in bare and ":\n\n" not in bare.replace(":\n\n    def", "")


def test_comments_are_kept():
    bare = show_source(scaled_dot_product_attention, docstring=False).text
    comments = [
        line.split("#", 1)[1] for line in inspect.getsource(scaled_dot_product_attention).splitlines() if "# " in line
    ]
    assert comments and all(comment in bare for comment in comments)


def test_a_method_is_shown_from_the_margin():
    source = show_source(MultiHeadAttention.forward)
    assert source.text.startswith("def forward(\n    self,")
    assert ast.parse(source.text).body[0].name == "forward"


def test_it_says_where_the_code_stands_and_is_highlighted_in_a_page():
    source = show_source(scaled_dot_product_attention)
    origin = "transformer_lab/attention.py: scaled_dot_product_attention"
    assert source.origin == origin
    assert repr(source) == f"# {origin}\n{source.text}"
    assert source._repr_markdown_() == f"```python\n# {origin}\n{source.text}\n```"


@pytest.mark.parametrize("thing", [3, "text", None, len, attention, MultiHeadAttention(4, 2)])
def test_what_has_no_source_of_its_own_is_refused(thing):
    with pytest.raises(
        TypeError, match=f"show_source needs a function or class written in Python, got {type(thing).__name__}"
    ):
        show_source(thing)


# ------------------------------------------------------------------ DataTable


class Table(HTMLParser):
    """Cells, attributes and tags of the HTML of a table."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.texts: dict[str, list[str]] = {}
        self.attributes: list[tuple[str, str]] = []
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(name, value) for name, value in attrs]
        self.texts.setdefault(tag, []).append("")

    def handle_data(self, data):
        self.texts[self.tags[-1]][-1] += data


VALUES = [[0.123456, 1.0, -0.005], [2.0, 3.5, 12345.678]]


def table(**options) -> DataTable:
    return DataTable(VALUES, ["sat", "mat"], ["the", "cat", "我"], caption="weights of head 1", **options)


def test_numbers_names_and_caption_in_text_and_html():
    shown = table()
    assert repr(shown) == "\n".join(
        ["weights of head 1", "      the   cat         我", "sat  0.12  1.00     -0.01", "mat  2.00  3.50  12345.68"]
    )
    html = Table(shown._repr_html_())
    assert html.texts["td"] == ["", "0.12", "1.00", "-0.01", "2.00", "3.50", "12345.68"]
    assert html.texts["th"] == ["the", "cat", "我", "sat", "mat"]
    assert html.texts["caption"] == ["weights of head 1"]
    assert [value for name, value in html.attributes if name == "scope"] == ["col"] * 3 + ["row"] * 2
    assert "0.1235" in repr(table(places=4))


def test_a_folded_table_opens_by_its_caption():
    html = Table(table(folded=True)._repr_html_())
    assert html.tags[:2] == ["details", "summary"] and html.texts["summary"] == ["weights of head 1"]
    assert "details" not in Table(table()._repr_html_()).tags


def test_a_wide_table_scrolls_and_can_be_reached_by_keyboard():
    html = table()._repr_html_()
    assert 'tabindex="0"' in html and 'role="region"' in html and 'aria-label="weights of head 1"' in html


@pytest.mark.parametrize(
    "text", ["<script>alert(1)</script>", '"onload="alert(1)', "&lt;", "</table><img src=x onerror=1>", "$x$", "a'b"]
)
def test_names_and_captions_are_shown_as_typed(text):
    for folded in (False, True):
        html = Table(DataTable([[1.0]], [text], [text], caption=text, folded=folded)._repr_html_())
        assert html.texts["th"] == [text, text]
        assert html.texts["summary" if folded else "caption"] == [text]
        assert ("aria-label", text) in html.attributes
        assert not set(html.tags) & {"script", "img"} and not {name for name, _ in html.attributes} & {
            "onload",
            "onerror",
        }


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([[1.0, 2.0]], "need 2 rows of 3 numbers, got 1 rows of [2] numbers"),
        ([[1.0, 2.0, 3.0], [1.0, 2.0]], "need 2 rows of 3 numbers, got 2 rows of [2, 3] numbers"),
        ([], "need 2 rows of 3 numbers, got 0 rows of [] numbers"),
    ],
)
def test_names_and_numbers_must_match(values, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        DataTable(values, ["sat", "mat"], ["the", "cat", "mat"], caption="weights")
