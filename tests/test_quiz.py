"""Questions that answer back: every answer has its feedback, every axis its verdict, every text shows as typed."""

import json
import re
from importlib.resources import files

import pytest
import torch

from tests.parts import ODD_LABELS, document, question, shape, window
from transformer_lab import quiz
from transformer_lab.element import read_source
from transformer_lab.quiz.markup import parse, to_html, to_text

OPTIONS = [("yes", True, "because"), ("no", False, "for this reason")]


@pytest.mark.parametrize(
    ("text", "nodes", "plain"),
    [
        ("plain", [["text", "plain"]], "plain"),
        ("a `b` c", [["text", "a "], ["code", "b"], ["text", " c"]], "a b c"),
        ("**a** b", [["strong", "a"], ["text", " b"]], "a b"),
        ("it *had* to, *of course*", [["text", "it "], ["em", "had"], ["text", " to, "], ["em", "of course"]], "it had to, of course"),
        ("2 * 3 * 4, a*b*c, * x*", [["text", "2 * 3 * 4, a*b*c, * x*"]], "2 * 3 * 4, a*b*c, * x*"),
        ("$d_k$", [["i", "d"], ["sub", [["i", "k"]]]], "d_k"),
        (
            "$x^{2i+1}$",
            [["i", "x"], ["sup", [["text", "2"], ["i", "i"], ["text", "\u2009+\u20091"]]]],
            "x^2i\u2009+\u20091",
        ),
        (r"$\sqrt{d_k}$", [["root", [["i", "d"], ["sub", [["i", "k"]]]]]], "√d_k"),
        (r"$QK^\top$", [["i", "QK"], ["sup", [["text", "⊤"]]]], "QK^⊤"),
        (
            r"$\text{softmax of } x \in \R$",
            [["text", "softmax of "], ["i", "x"], ["text", "\u2009∈\u2009ℝ"]],
            "softmax of x\u2009∈\u2009ℝ",
        ),
        ("US$5 and $6", [["text", "US$5 and $6"]], "US$5 and $6"),
        ("$5 or 6$7", [["text", "$5 or 6$7"]], "$5 or 6$7"),
        ("a $ b $ c", [["text", "a $ b $ c"]], "a $ b $ c"),
        ("`$x$`", [["code", "$x$"]], "$x$"),
        ("an open ` and **", [["text", "an open ` and **"]], "an open ` and **"),
        ("", [], ""),
    ],
)
def test_reads_the_markup(text, nodes, plain):
    assert parse(text) == nodes
    assert to_text(parse(text)) == plain


def test_writes_only_known_tags():
    written = to_html(parse(r"`<b>` **<i onload=x>** $\sqrt{x_<}$ <script>"))
    assert set(re.findall(r"<(\w+)", written)) == {"code", "bdi", "strong", "span", "i", "sub"}
    assert "&lt;script&gt;" in written


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (r"$\frac{1}{2}$", r"\\frac in .* is not known; known are sqrt, text, alpha"),
        ("$x_{a$", "unbalanced braces"),
        ("$x}$", "unbalanced braces"),
        ("$x_$", "_ in .* has nothing to apply to"),
        (r"$\sqrt$", "sqrt in .* has nothing to apply to"),
        ("$x_{^}$", r"\^ in .* has nothing to apply to"),
    ],
)
def test_says_what_is_wrong_with_mathematics(text, message):
    with pytest.raises(ValueError, match=message):
        parse(text)


@pytest.mark.parametrize("label", ODD_LABELS, ids=lambda label: label[:12])
def test_odd_text_in_backticks_comes_out_as_typed(label):
    assert parse(f"`{label}`") == [["code", label]]


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        (OPTIONS[:1], ValueError, "at least two answers and one that is correct, got 1 and 1"),
        ([OPTIONS[1], OPTIONS[1]], ValueError, "got 2 and 0"),
        ([OPTIONS[0], ("no", False, " ")], ValueError, "the answer 'no' needs feedback: say why it is wrong"),
        ([OPTIONS[0], ("no", False)], TypeError, "an option is"),
        ([OPTIONS[0], ("no", 0, "x")], TypeError, "an option is"),
        ([OPTIONS[0], "no"], TypeError, "an option is"),
    ],
)
def test_refuses_a_question_that_teaches_nothing(options, error, message):
    with pytest.raises(error, match=re.escape(message)):
        quiz.choice("?", options)


def test_refuses_no_question_and_unknown_strings():
    with pytest.raises(ValueError, match="at least one question"):
        quiz.choices([])
    with pytest.raises(ValueError, match="no use for 'rigth'"):
        quiz.choice("?", OPTIONS, strings={"rigth": "x"})


def test_plain_text_is_the_question_and_its_answers():
    assert repr(quiz.choice("Is $d_k$ **8**?", OPTIONS)) == "Is d_k 8?\n  A. yes\n  B. no"
    assert repr(shape()) == "x is [1, 6, 512], 8 heads. One head's queries?"


def test_every_word_of_the_interface_is_used():
    english = json.loads(files("transformer_lab.quiz").joinpath("quiz.en.json").read_text(encoding="utf-8"))
    source = read_source("transformer_lab.quiz", "choice.js", "shape.js")
    source += (
        files("transformer_lab.quiz").joinpath("questions.py").read_text(encoding="utf-8").replace("text['", "text.")
    )
    assert set(re.findall(r"\btext\.(\w+)", source)) == set(english)


def test_each_answer_gives_its_own_feedback(browser, tmp_path):
    with window(browser, tmp_path, document(question().html)) as opened:
        groups = opened.page.locator(".card fieldset").all()
        feedback = groups[0].locator(".feedback")
        assert feedback.all_text_contents() == ["", "", ""]
        groups[0].get_by_role("button", name="To make a row sum to 1").click()
        assert feedback.all_text_contents() == ["", "Not this one. The softmax does that.", ""]
        groups[0].get_by_role("button", name="To keep the softmax").click()
        assert feedback.first.text_content() == "Right. q·k has variance dk."
        assert groups[0].locator("li").evaluate_all("items => items.map(i => i.className)") == ["right", "wrong", ""]
        assert groups[0].locator(".sign").all_text_contents() == ["✓", "✗", "C"]  # never colour alone
        assert groups[1].locator(".feedback").all_text_contents() == ["", "", ""]


def test_several_right_answers_are_counted(browser, tmp_path):
    with window(browser, tmp_path, document(question().html)) as opened:
        group = opened.page.locator(".card fieldset").nth(1)
        progress = group.locator(".quiet")
        assert progress.inner_text() == "Pick every right answer: there are 2."
        for name, found in (("It sums to 1", 1), ("It sums to 1", 1), ("It may hold", 1), ("It has one entry", 2)):
            group.get_by_role("button", name=name).click()
            assert progress.inner_text() == f"{found} of 2 right answers found"


def test_a_screen_reader_is_told(browser, tmp_path):
    with window(browser, tmp_path, document(question().html)) as opened:
        group = opened.page.get_by_role("group", name="Why divide by √dk in attention?")
        assert group.get_by_role("button").count() == 3
        assert group.get_by_role("status").count() == 3  # there before they are filled
        group.get_by_role("button").nth(2).click()
        assert group.get_by_role("status").nth(2).inner_text() == "Not this one. No number is saved."


def test_questions_work_from_the_keyboard(browser, tmp_path):
    with window(browser, tmp_path, document(question().html, shape().html)) as opened:
        page = opened.page
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        page.keyboard.press("Tab")
        page.keyboard.press("Space")
        assert page.locator(".sign").all_text_contents()[:3] == ["✓", "✗", "C"]
        for _ in range(5):
            page.keyboard.press("Tab")
        page.keyboard.type("1,6,64")
        page.keyboard.press("Enter")
        assert page.locator(".verdict").inner_text() == "Right: [1, 6, 64]."


@pytest.mark.parametrize(
    "typed",
    [
        "1, 6, 64",
        "[1,6,64]",
        "(1, 6, 64)",
        "torch.Size([1, 6, 64])",
        "1 6 64",
        "1x6x64",
        "1×6×64",
        "１，６，６４",
        "[1、6、64]",
        "1,6,64,",
        " 1 ,6, 64 ",
    ],
)
def test_a_shape_may_be_written_in_many_ways(browser, tmp_path, typed):
    with window(browser, tmp_path, document(shape().html)) as opened:
        card = opened.page.locator(".card")
        card.get_by_role("textbox").fill(typed)
        card.get_by_role("button", name="Check").click()
        assert card.locator(".verdict").inner_text() == "Right: [1, 6, 64]."
        assert card.get_by_text("= 512/8").is_visible()


@pytest.mark.parametrize(
    ("typed", "verdict", "marks"),
    [
        ("1, 8, 64", "Axis 1 (S) is not right; the others are.", ["right", "wrong", "right"]),
        ("6, 1, 64", "Axes 0 (B), 1 (S) are not right.", ["wrong", "wrong", "right"]),
        ("8, 8, 8", "No axis is right yet.", ["wrong"] * 3),
        ("6, 64", "You gave 2 axes; this tensor has 3.", []),
        ("1, six, 64", "Write whole numbers with commas between them, such as [2, 3, 4].", []),
        ("", "Write whole numbers with commas between them, such as [2, 3, 4].", []),
        ("1, -6, 64", "Write whole numbers with commas between them, such as [2, 3, 4].", []),
        ("<img src=x onerror=window.hacked=1>", "Write whole numbers with commas between them, such as [2, 3, 4].", []),
    ],
)
def test_a_wrong_shape_is_told_which_axis(browser, tmp_path, typed, verdict, marks):
    with window(browser, tmp_path, document(shape().html)) as opened:
        card = opened.page.locator(".card")
        card.get_by_role("textbox").fill(typed)
        card.get_by_role("textbox").press("Enter")
        assert card.get_by_role("status").inner_text() == verdict
        assert card.locator(".axes li").evaluate_all("items => items.map(i => i.className)") == marks
        assert not card.get_by_text("= 512/8").is_visible()
        card.get_by_role("button", name="Show the answer").click()
        assert card.get_by_role("status").inner_text() == "The shape is [1, 6, 64]."
        assert card.get_by_role("textbox").input_value() == typed
        assert opened.page.evaluate("window.hacked") is None


def test_a_number_has_no_axes(browser, tmp_path):
    part = quiz.predict_shape("The loss?", (), why="One number.")
    with window(browser, tmp_path, document(part.html)) as opened:
        card = opened.page.locator(".card")
        card.get_by_role("textbox").fill("[]")
        card.get_by_role("button", name="Check").click()
        assert card.locator(".verdict").inner_text() == "Right: []."


def test_a_shape_can_come_from_a_tensor_and_is_checked():
    assert (
        quiz.predict_shape("?", torch.zeros(2, 3).shape, why="w").html == quiz.predict_shape("?", [2, 3], why="w").html
    )
    with pytest.raises(ValueError, match="whole numbers from 0 up"):
        quiz.predict_shape("?", (2, -1), why="w")
    with pytest.raises(ValueError, match="name each of the 2 axes of \\(2, 3\\), got 1 names"):
        quiz.predict_shape("?", (2, 3), why="w", axes=["B"])


def test_odd_text_shows_as_typed_and_runs_nothing(browser, tmp_path):
    quoted = [f"`{label}`" for label in ODD_LABELS]
    plain = [label for label in ODD_LABELS if not label.startswith("$")]
    parts = [
        quiz.choice(quoted[0], [(text, i == 0, text) for i, text in enumerate(quoted)]),
        quiz.choice(plain[0], [(text, i == 0, text) for i, text in enumerate(plain)]),
    ]
    with window(browser, tmp_path, document(*(part.html for part in parts)), width="phone") as opened:
        for card, texts in zip(opened.page.locator(".card").all(), (ODD_LABELS, plain), strict=True):
            assert card.locator(".prompt").text_content() == texts[0]
            assert card.locator(".option > span:last-child").all_text_contents() == list(texts)
            for button in card.locator(".option").all():
                button.click()
            assert [f.split(" ", 3)[-1] for f in card.locator(".feedback").all_text_contents()][1:] == list(texts[1:])
        assert opened.page.evaluate("window.hacked") is None
        assert opened.page.locator(".card :is(script, img, s, b)").count() == 0
        assert opened.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert opened.axe() == []
    with window(browser, tmp_path, document(*(part.html for part in parts)), scripts=False) as opened:
        items = opened.page.locator("ol").first.locator("li")
        assert items.all_text_contents() == list(ODD_LABELS)


def test_without_scripts_answers_are_folded_below(browser, tmp_path):
    with window(browser, tmp_path, document(question().html, shape().html), scripts=False) as opened:
        page = opened.page
        assert page.get_by_text("To keep the softmax from saturating").is_visible()
        assert not page.get_by_text("The softmax does that.").is_visible()
        for summary in page.locator("summary").all():
            summary.click()
        assert page.get_by_text("The softmax does that.").is_visible()
        assert page.get_by_text("The shape is [1, 6, 64].").is_visible()
