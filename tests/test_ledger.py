"""tools/ledger.py: each of its rules both ways on toy chapters, and its check on the chapters of the book."""

import functools
from pathlib import Path

import ledger
import ledger_evidence as evidence
import nbformat
import pytest
from ledger_claims import LESSON, Entry, Lesson, in_book, read_entries, read_lessons
from ledger_numbers import calculate_formula, written
from ledger_page import render, shortened, words_of
from ledger_prose import costs_of, numbers_of
from nbformat import v4
from notebook_text import HEADER, parse_text

ROOT = Path(__file__).resolve().parent.parent
NAMES = sorted(path.stem for path in (ROOT / "notebooks").glob("*.ipynb") if LESSON.fullmatch(path.stem))


@functools.cache
def lessons():
    """The lessons of the book, by name."""
    return {lesson.name: lesson for lesson in read_lessons(ROOT)}


def shows(text, **options):
    """A text output."""
    return v4.new_output("execute_result", {"text/plain": text}, **options)


def chapter(prose, code="", shown="", entries=()):
    """A toy chapter with one sentence and one cell after it, in one section."""
    cell = f"\n\n```{{code-cell}} ipython3\n{code or '0'}\n```\n"
    notebook = parse_text(f"{HEADER}\n# Toy\n\n## Part\n\n{prose}{cell}")
    if shown:
        notebook.cells[-1].outputs = [shows(shown)]
    return Lesson("04_toy", notebook, entries)


def missing(lesson):
    """The numbers and costs that nothing stands behind."""
    return [stated for claim in lesson.claims() for stated, proof in claim.proofs if proof is None]


def kinds(lesson):
    """The kinds of evidence, in order."""
    return [proof.kind for claim in lesson.claims() for _, proof in claim.proofs if proof]


# What the text states


@pytest.mark.parametrize(
    ("sentence", "numbers"),
    [
        ("It has 2,099,712 parameters.", ["2,099,712"]),
        ("The paper has 65 million, we 63.1 million.", ["65 million", "63.1 million"]),
        ("It explains 4 or 5 % of it.", ["4 %", "5 %"]),
        ("It explains 10–20% of it.", ["10 %", "20 %"]),
        ("That is 1 GiB, or 1.07 GB.", ["1 GiB", "1.07 GB"]),
        ("A matrix of 512 × 64.", ["512", "64"]),
        ("The root is $\\sqrt{512} \\approx 22.6$ here.", ["22.6"]),
        ("With $d_k = 64$ and $S = 2d_{model} = 1024$.", ["64", "1024"]),
        ("The row is $[0.75, -0.25]$.", ["0.75", "0.25"]),
        ("Less than $10^{-10}$.", ["10^{-10}"]),
        ("| one row | 12.5 % | $7$ |", ["7", "12.5 %"]),
        ("[37 words](../book/setup.md) of 41.", ["37", "41"]),
    ],
)
def test_numbers_that_are_stated(sentence, numbers):
    assert [number.text for number in numbers_of(sentence)] == numbers


@pytest.mark.parametrize(
    "sentence",
    [
        "Chapter 02 and chapters 05 and 06, exercise 3, mistake 4, figure 2, table 3.",
        "Layer 2, head 3 of layer 1, dimension 511, positions 0 to 59, row 2, column 3.",
        "In 1997 and 2017 (Shazeer 2020; Touvron et al. 2023a).",
        "It stands in the paper (section 3.2.2), in paper 5.4, and in a report (pytorch #41508).",
        "GPT-2 on an A100 with LLaMA-7B in float32, and Llama 2.",
        "Each row sums to 1, and the rest is 0.",
        "The code `math.sqrt(64)` and the shape `[2, 6, 512]`.",
        "The angle $\\omega_i = \\frac{1}{10000^{2i/d}}$ and $16N - 3$ and $W_1 x + b_{12}$.",
        "- **02 Self-attention**: a chapter.",
        "Positions 0, 1, 2, … of a word.",
    ],
)
def test_numbers_that_are_names_or_constants(sentence):
    assert [number.text for number in numbers_of(sentence)] == []


def test_costs_are_found_in_formulas_and_not_in_code():
    assert list(costs_of("It falls from $O(T^3)$ to $O(\\log_k n)$, see `O(1)`.")) == ["O(T^3)", "O(\\log_k n)"]


def test_labels_reading_time_code_and_solutions_state_nothing():
    folded = "<details><summary>Solution</summary>\n\nIt is 77.\n\n</details>"
    lesson = chapter(f"**3. A task.** Do it.\n\n2. A step.\n\n**Time.** About 45 minutes with the rest.\n\n{folded}\n\n```text\n99\n```")
    assert lesson.sentences == []


def test_sentences_are_told_apart_but_formulas_and_rows_are_not_cut():
    lesson = chapter("It has 12 parts. By $f(x) = 3. \\ldots$ and Wu et al. (2020) it has 13.\n\n| a. B | 14 |\n|---|---|\n| C. D | 15 |")
    assert [[n.text for n in s.numbers] for s in lesson.sentences] == [["12"], ["13"], ["14"], ["15"]]


# When a computed value is the number


@pytest.mark.parametrize(
    ("number", "right", "wrong"),
    [
        (written("58", "%"), [0.577, 0.58, 0.5849], [0.57, 0.586, 58.0]),
        (written("0.71"), [0.7071, -0.71, 0.705], [0.7, 0.72, 0.716]),
        (written("5,050"), [5050], [5051, 5049, 5050.4]),
        (written("60,600", rounded=True), [60611.5, 60_550], [60_500, 60_700]),
        (written("1,000", rounded=True), [1400, 980], [2000, 400]),
        (written("63.1", "million"), [63_082_496], [63_200_000, 63.3]),
        (written("1", "GiB"), [2**30], [10**9 // 3]),
        (written("64"), [64, 64.0], [63.7, 64.4]),
        (written("4", rounded=True), [3.7, 4.4], [3.4, 4.6]),
    ],
)
def test_rounding(number, right, wrong):
    assert all(number.fits(value) for value in right)
    assert not any(number.fits(value) for value in wrong)


@pytest.mark.parametrize(
    ("formula", "value"),
    [
        ("\\sqrt{512}", 22.6274),
        ("\\frac{1}{4}", 0.25),
        ("\\tfrac16", 0.1667),
        ("0.98^{20}", 0.6676),
        ("(0.5625 + 3\\cdot0.0625)/4", 0.1875),
        ("\\ln 10", 2.3026),
        ("\\sigma(4)", 0.9820),
        ("8 \\times 64", 512),
        ("1{,}000 + 1", 1001),
        ("2\\pi", 6.2832),
    ],
)
def test_formulas_of_numbers_are_calculated(formula, value):
    assert calculate_formula(formula) == pytest.approx(value, abs=1e-4)


@pytest.mark.parametrize("formula", ["d_k", "2^{n}", "\\max(0, x)", "9^{9^{9}}", "1/0", "", "\\sqrt{-1}", "__import__('os')"])
def test_other_formulas_are_not(formula):
    assert calculate_formula(formula) is None


def test_a_calculation_in_the_sentence_is_done_again():
    right = chapter("It is $\\sqrt{512} \\approx 22.6$, and 8 × 64 = 512.")
    wrong = chapter("It is $\\sqrt{512} \\approx 22.7$, and 8 × 64 = 513.")
    assert kinds(right)[:1] == ["calculated"] and "22.6" not in missing(right) and "512" not in missing(right)
    assert {"22.7", "513"} <= set(missing(wrong))


# Evidence


@pytest.mark.parametrize(
    ("prose", "code", "shown", "kind"),
    [
        ("The model has 786,432 weights.", "assert count == 3 * 512 * 512 == 786_432", "", "asserted"),
        ("The spread is 0.42.", "assert 0.41 < spread < 0.43", "", "asserted"),
        ("The spread is 0.42.", "torch.testing.assert_close(spread, torch.tensor([0.42]))", "", "asserted"),
        ("It is 40 % of all.", "assert round(100 * share) == 40", "", "asserted"),
        ("It is 40 % of all.", "assert f'{share:.0%}' == '40%'", "", "asserted"),
        ("It is 58 % of all.", "share", "{'share': '57.7%'}", "shown"),
        ("It is 12.5 % of all.", "DataTable(rows)", "Own place, %\n  river\n  87.5  12.5", "shown"),
        ("A table of 2,560,000 numbers.", "count", "2560000", "shown"),
        ("We train for 220 steps.", "history = train(steps=220)", "", "set"),
        ("We start with 0.37 of it.", "layer.weight.mul_(0.37)", "", "set"),
        ("We train for 120 steps.", "def train(steps=120):\n    return steps", "", "set"),
    ],
)
def test_evidence_of_each_kind_and_the_same_sentence_with_another_number(prose, code, shown, kind):
    assert kinds(chapter(prose, code, shown)) == [kind]
    digits = next(c for c in reversed(prose) if c.isdigit())
    wrong = prose[::-1].replace(digits, str((int(digits) + 5) % 10), 1)[::-1]
    assert len(missing(chapter(wrong, code, shown))) == 1


def test_an_assertion_is_preferred_to_an_output_and_that_to_a_setting():
    code = "steps = 137\nassert steps == 137"
    assert kinds(chapter("It takes 137 steps.", code, "137")) == ["asserted"]
    assert kinds(chapter("It takes 137 steps.", "steps = 137", "137")) == ["shown"]


@pytest.mark.parametrize(
    "code",
    [
        "choices([('How many?', [('137', True, 'Yes, 137.')])])",
        "predict_shape('What shape?', (137, 2))",
        "row = rows[137]",
        "x.sum(dim=137)",
        "assert 10 < steps < 1000",
        "assert 137 < steps < 139",
        "ax.plot(steps, lw=137)",
        "this is no Python 137",
        "# 137 steps",
    ],
)
def test_what_is_no_evidence(code):
    assert missing(chapter("It takes 137 steps.", code)) == ["137"]


def test_outputs_that_are_not_compared_and_figures_are_no_evidence():
    lesson = "## Part\n\nIt takes 137 steps.\n\n```{code-cell} ipython3\n:tags: [nbval-ignore-output]\n\nsteps  # a time\n```\n"
    notebook = parse_text(f"{HEADER}\n# Toy\n\n{lesson}")
    notebook.cells[-1].outputs = [shows("137")]
    assert missing(Lesson("04_toy", notebook)) == ["137"]
    assert missing(chapter("It takes 137 steps.", "plt.show()", "<Figure size 137x960 with 1 Axes>")) == ["137"]
    html = v4.new_output("execute_result", {"text/plain": "137", "text/html": "<tl-choice-1>137"})
    notebook.cells[-1].metadata = {}
    notebook.cells[-1].outputs = [html]
    assert missing(Lesson("04_toy", notebook)) == ["137"]


def test_a_small_number_needs_a_word_in_common():
    assert missing(chapter("We use 7 heads.", "num_heads = 7")) == []
    assert missing(chapter("We use 7 heads.", "torch.manual_seed(7)")) == ["7"]
    assert missing(chapter("We use 7 heads.", "x = torch.randn(7)  # heads")) == []


def test_a_row_of_numbers_is_met_by_the_whole_row():
    assert missing(chapter("The output is $[4, 5]$.", "y", "tensor([4., 5.])")) == []
    assert missing(chapter("The output is $[4, 6]$.", "y", "tensor([4., 5.])")) == ["4", "6"]


def sections(first, second, code):
    """Two sections, the second with the sentence; four cells lie between it and the code."""
    cells = "\n\n".join(f"```{{code-cell}} ipython3\n{source}\n```" for source in [code, *"abcd"])
    return Lesson("04_toy", parse_text(f"{HEADER}\n# Toy\n\n## {first}\n\nText.\n\n{cells}\n\n## {second}\n\nIt takes 137 steps.\n"))


def test_what_is_far_off_counts_only_as_an_earlier_setting_or_where_the_chapter_is_summed_up():
    assert missing(sections("One", "Two", "assert counted == 137")) == ["137"]
    assert missing(sections("One", "Two", "steps = 137")) == []
    assert missing(sections("One", "Two", "width = 137")) == ["137"]
    assert missing(sections("One", "Summary", "assert steps == 137")) == []
    assert missing(sections("One", "Summary", "assert width == 137")) == ["137"]


def test_the_solution_of_an_exercise_is_evidence():
    solution = "<details><summary>Solution</summary>\n\n```python\nassert steps == 137\n```\n\n</details>"
    prose = f"{HEADER}\n# Toy\n\n## Exercises\n\nShow that it takes 137 steps.\n\n{solution}\n"
    assert kinds(Lesson("04_toy", parse_text(prose))) == ["asserted"]


def test_the_number_of_a_thing_in_an_output_is_no_evidence():
    assert [value for value, _ in evidence.numbers_shown("layer 2, head 3: 0.5")] == [0.5]


# The list


FACT = Entry("04", "28.4 BLEU on its test set", why="the paper, table 2")


def test_what_is_listed_is_given_until_the_text_says_something_else():
    assert kinds(chapter("It has 28.4 BLEU on its test set.", entries=[FACT])) == ["given"]
    assert missing(chapter("It has 28.5 BLEU on its test set.", entries=[FACT])) == ["28.5"]
    assert missing(chapter("It has 28.4 BLEU on its test set, of 41.", entries=[FACT])) == ["41"]


def test_a_cost_needs_an_entry_whose_assertion_is_there():
    entry = Entry("04", "costs $O(n^2)$", by="scores == n**2")
    assert missing(chapter("It costs $O(n^2)$.", "assert scores == n**2")) == ["O(n^2)"]
    assert kinds(chapter("It costs $O(n^2)$.", "assert  scores == n**2", entries=[entry])) == ["asserted"]
    assert missing(chapter("It costs $O(n^2)$.", "assert scores == n", entries=[entry])) == ["O(n^2)"]


def test_entries_that_answer_for_nothing_are_named():
    entries = [FACT, Entry("04", "It takes", why="a reason"), Entry("04", "137 steps", by="steps == 138")]
    entries.append(Entry("04", "137 steps", why="a reason"))  # this one does
    lesson = chapter("It takes 137 steps.", "assert steps == 137", entries=entries)
    found = list(ledger.dead_entries([lesson]))
    assert len(found) == 3
    assert [words in text for words, text in zip(("no sentence", "no number", "no assertion"), found, strict=True)] == [True] * 3


@pytest.mark.parametrize("keys", ["chapter words", "chapter words why by", "words why", "chapter words reason"])
def test_an_entry_that_is_not_whole_is_refused(tmp_path, keys):
    (tmp_path / "claims.toml").write_text("\n".join(["[[claim]]", *(f'{key} = "04"' for key in keys.split())]), "utf-8")
    with pytest.raises(ValueError, match="entry 1.* needs"):
        read_entries(tmp_path / "claims.toml")


# The command and the page


@pytest.fixture
def repository(tmp_path):
    """A repository with one small lesson, one that is not in the table of contents, and a chapter that is no lesson."""
    (tmp_path / "notebooks").mkdir()
    (tmp_path / "book").mkdir()
    text = f"{HEADER}\n# Toy\n\n## Part\n\nIt takes 137 steps.\n\n```{{code-cell}} ipython3\nassert steps == 137\n```\n"
    nbformat.write(parse_text(text), tmp_path / "notebooks" / "04_toy.ipynb")
    nbformat.write(parse_text(text), tmp_path / "notebooks" / "05_draft.ipynb")
    nbformat.write(parse_text(text.replace("137", "138", 1)), tmp_path / "notebooks" / "14_museum.ipynb")
    (tmp_path / "_toc.yml").write_text("- file: notebooks/04_toy\n- file: notebooks/14_museum\n", "utf-8")
    return tmp_path


def run(repository, *arguments):
    return ledger.main(["--root", str(repository), *arguments])


def test_the_check_passes_once_the_page_is_written_and_fails_when_the_text_changes(repository, capsys):
    assert run(repository, "check") == 1
    assert "is out of date; run: python tools/ledger.py write" in capsys.readouterr().out
    assert run(repository, "write") == 0
    assert run(repository, "check") == 0
    page = ledger.page_path(repository).read_text("utf-8")
    assert "04_toy.ipynb" in page and "05_draft" not in page and "14_museum" not in page
    notebook = repository / "notebooks" / "04_toy.ipynb"
    notebook.write_text(notebook.read_text("utf-8").replace("It takes 137", "It takes 139"), "utf-8")
    capsys.readouterr()
    assert run(repository, "check", "4") == 1
    report = capsys.readouterr().out
    assert "04_toy, Part: nothing computes 139" in report and "notebooks/claims.toml" in report and "out of date" not in report
    assert run(repository, "check", "05") == 0  # a draft is checked too
    assert run(repository, "check", "06") == 1  # there is none: nothing was checked


def test_the_id_of_a_claim_survives_a_changed_number_and_no_two_are_equal():
    one, other = chapter("It takes 137 steps."), chapter("It takes 139 steps.")
    assert [claim.name for claim in one.claims()] == [claim.name for claim in other.claims()]
    names = [claim.name for claim in chapter("It takes 137 steps.\n\nIt takes 139 steps.\n\n$[13, 14]$\n\n$[15, 16]$").claims()]
    assert len(set(names)) == 4 and all(name.startswith("04-") for name in names)


def test_the_page_escapes_what_would_break_its_table():
    lesson = chapter("- It **takes 137 [steps](x.md), a\\*b with $|x| = 4$ and `a|b`.", "assert steps == 137 | 0")
    row = next(line for line in render([lesson]).splitlines() if line.startswith("| 04-"))
    assert row.replace("\\|", "").count("|") == 5
    assert "$\\vert x\\vert$ $= 4$" in row and "`a\\|b`" in row and "**takes" not in row and "x.md" not in row


def test_a_long_piece_of_evidence_is_cut_around_its_value():
    text = "assert " + "a + " * 60 + "137 == " + "b + " * 60 + "c"
    assert "137" in shortened(text, "137") and len(shortened(text, "137")) < 130
    assert shortened("assert a == 137", "137") == "assert a == 137"


def test_a_formula_can_break_before_its_signs_but_not_inside_brackets():
    assert words_of("$h = \\tanh([1, 0]) = [0.762, 0]$ and $f(x = 2)$") == "$h$ $= \\tanh([1, 0])$ $= [0.762, 0]$ and $f(x = 2)$"


def test_a_row_of_a_table_is_shown_without_its_bars():
    assert words_of("| recurrent | $O(n)$ |") == "recurrent · $O(n)$"


# The book


@pytest.mark.parametrize("name", NAMES)
def test_every_number_of_a_lesson_has_its_evidence(name):
    lesson = lessons()[name]
    problems = [*ledger.without_evidence(lesson), *ledger.dead_entries([lesson])]
    assert not problems, "\n".join(problems)


def test_entries_name_lessons():
    assert {entry.chapter for entry in read_entries(ROOT / "notebooks" / "claims.toml")} <= {name[:2] for name in NAMES}


def test_the_page_is_up_to_date():
    page = ledger.page_path(ROOT).read_text("utf-8")
    assert page == render(in_book(ROOT, lessons().values())), "run: python tools/ledger.py write"


def test_most_wrong_numbers_would_be_noticed():
    results = [lesson.noticed() for lesson in lessons().values()]
    assert sum(total for _, total in results) > 200
    assert sum(noticed for noticed, _ in results) > 0.75 * sum(total for _, total in results)
