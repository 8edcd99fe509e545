"""The panel for a live kernel: controls over the real module there, a still picture everywhere else."""

import re
import subprocess
import sys
import types

import nbclient
import nbformat
import pytest
import torch

from tests.parts import document, window
from tests.support import close
from transformer_lab import MultiHeadAttention, sinusoidal_encoding, widgets
from transformer_lab.pretrained import load_translator

VIEW = "application/vnd.jupyter.widget-view+json"


def test_runs_the_real_module():
    report = widgets.run_attention(batch=2, length=5, d_model=21, num_heads=3, mask="causal", dtype="float64", seed=7)
    assert report.shapes == (
        ("x", (2, 5, 21)),
        ("query, per head", (2, 3, 5, 7)),
        ("weights", (2, 3, 5, 5)),
        ("output", (2, 5, 21)),
    )
    torch.manual_seed(7)
    attention = MultiHeadAttention(21, 3).double()
    x = torch.randn(2, 5, 21, dtype=torch.float64)
    _, weights = attention(x, mask=torch.ones(5, 5, dtype=torch.bool).tril(), need_weights=True)
    torch.testing.assert_close(report.weights, weights[0, 0].float(), atol=1e-6, rtol=0)
    assert 0 <= report.difference < 1e-12


@pytest.mark.parametrize(
    ("dtype", "bar"), [("float64", 1e-12), ("float32", 1e-5), ("bfloat16", 5e-2), ("float16", 5e-3)]
)
def test_formula_and_kernel_agree_in_every_dtype(dtype, bar):
    assert widgets.run_attention(dtype=dtype, length=7).difference < bar


def test_leaves_the_readers_random_numbers_alone():
    torch.manual_seed(3)
    wanted = torch.rand(2)
    torch.manual_seed(3)
    widgets.run_attention()
    assert torch.equal(torch.rand(2), wanted)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"d_model": 10, "num_heads": 3}, "must be divisible by num_heads"),
        ({"batch": 0}, "batch must be at least 1, got 0"),
        ({"length": -2}, "length must be at least 1, got -2"),
        ({"num_heads": 0}, "num_heads"),
        ({"d_model": 0}, "d_model"),
        ({"mask": "diagonal"}, "mask must be one of none, causal, got 'diagonal'"),
        ({"dtype": "int8"}, "dtype must be one of float32"),
        ({"length": 100_000}, "at most 50,000,000"),
        ({"d_model": 40_000}, "at most 50,000,000"),
    ],
)
def test_says_what_does_not_fit(settings, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        widgets.run_attention(**settings)
    with pytest.raises(ValueError, match=re.escape(message)):
        widgets.attention_panel(**settings)


PANELS = [widgets.attention_panel, widgets.position_panel, widgets.cache_panel, widgets.translation_panel]


@pytest.mark.parametrize("make", PANELS)
def test_refuses_an_unknown_setting(make):
    with pytest.raises(TypeError, match="heads"):
        make(heads=3)


# ------------------------------------------------------------------ positions


@pytest.mark.parametrize("layout", ["interleaved", "halves"])
def test_positions_are_those_of_the_module(layout):
    report = widgets.run_positions(start=5, length=7, d_model=22, layout=layout)
    table = sinusoidal_encoding(12, 22, layout=layout, dtype=torch.float64)[5:]
    assert report.shape == (7, 22) and report.row_length == pytest.approx(11**0.5, abs=1e-12)
    close(report.likeness, table @ table.T / 11, 1e-12)
    assert report.turns == pytest.approx((7 / 6.283185307, 7 / 6.283185307 / 10_000 ** (20 / 22)), rel=1e-9)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"start": -1}, "start must be at least 0, got -1"),
        ({"length": 0}, "length must be at least 1, got 0"),
        ({"d_model": 7}, "d_model must be even here, got 7"),
        ({"layout": "spiral"}, "layout must be one of interleaved, halves, got 'spiral'"),
        ({"start": 10**6}, "at most 5,000,000"),
        ({"length": 3_000}, "at most 5,000,000"),
    ],
)
def test_positions_that_do_not_fit(settings, message):
    with pytest.raises(ValueError, match=message):
        widgets.position_panel(**settings)


# ------------------------------------------------------------------ cache


@pytest.mark.parametrize(("dtype", "bar"), [("float64", 1e-12), ("float32", 1e-4), ("bfloat16", 0.5)])
def test_the_cache_changes_nothing_and_takes_what_the_formula_says(dtype, bar):
    report = widgets.run_cache(batch=3, source=5, length=7, d_model=22, num_heads=2, num_layers=2, dtype=dtype)
    assert 0 <= report.difference < bar
    assert report.nbytes == report.formula == 2 * 2 * 3 * 12 * 22 * getattr(torch, dtype).itemsize


def test_the_cache_saves_what_can_be_counted_by_hand():
    B, S, T, d = 2, 3, 4, 6
    report = widgets.run_cache(batch=B, source=S, length=T, d_model=d, num_heads=1, num_layers=1)
    layer = lambda new, held: (  # noqa: E731 multiplications and additions of one decoder layer
        2 * B * (4 * new * d * d + 2 * new * held * d)  # self-attention
        + 2 * B * (2 * new * d * d + 2 * new * S * d)  # cross-attention, its keys and values are there
        + 2 * B * 2 * new * d * 4 * d  # feed-forward
    )
    words = 2 * B * d * 101
    assert report.products_with == sum(layer(1, t) + words for t in range(1, T + 1))
    source = 2 * B * 2 * S * d * d  # keys and values of the source, made anew at every step
    assert report.products_without == sum(layer(t, t) + words + source for t in range(1, T + 1))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"length": 0}, "length must be at least 1, got 0"),
        ({"source": 300}, "at most 256, got 300 and 8"),
        ({"length": 257}, "at most 256, got 6 and 257"),
        ({"d_model": 65}, "must be divisible by num_heads"),
        ({"num_layers": 0}, "num_layers must be at least 1"),
        ({"d_model": 4_000}, "at most 5,000,000"),
        ({"dtype": "int8"}, "dtype must be one of"),
    ],
)
def test_caches_that_do_not_fit(settings, message):
    with pytest.raises(ValueError, match=message):
        widgets.cache_panel(**settings)


# ------------------------------------------------------------------ translation


def test_a_translation_and_where_the_decoder_looked():
    report = widgets.run_translation(sentence="I love zyzzyva.", num_beams=2, layer=1)
    translator = load_translator()
    assert report.translation == translator("I love zyzzyva.", num_beams=2)
    maps = translator.attention(report.translation.source_tokens, report.translation.tokens)
    close(report.weights, maps[0].mean(dim=0), 1e-6)
    html = widgets.translation_panel(sentence="I love zyzzyva.")._repr_mimebundle_()["text/html"]
    assert "zyzzyva" in html and "not in the vocabulary" in html


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"sentence": " "}, "nothing to translate"),
        ({"sentence": "a " * 200}, "reads at most 127"),
        ({"num_beams": 0}, "num_beams must be at least 1, got 0"),
        ({"num_beams": 99}, "at most 16"),
        ({"layer": 3}, "layer must be from 1 to 2, got 3"),
        ({"device": "cuda:999"}, "there is no cuda:999 here"),
    ],
)
def test_translations_that_do_not_fit(settings, message):
    with pytest.raises(ValueError, match=message):
        widgets.translation_panel(**settings)


# ------------------------------------------------------------------ every panel


def test_importing_it_needs_no_ipywidgets():
    program = (
        "import sys, transformer_lab.widgets as w; w.attention_panel(), w.position_panel(), w.cache_panel(), w.translation_panel(); "
        "print('ipywidgets' in sys.modules, 'IPython' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert done.stdout.split() == ["False", "False"]


@pytest.mark.parametrize("make", PANELS)
def test_every_panel_is_the_same_still_every_time_and_works_live(make):
    pytest.importorskip("ipywidgets", reason="ipywidgets is not installed: the live panel cannot be checked")
    bundle = make()._repr_mimebundle_()
    assert set(bundle) == {"text/plain", "text/html"} and bundle == make()._repr_mimebundle_()
    assert all("needs a live kernel" in text for text in bundle.values())
    assert not re.search(r"<(input|button|select|script)|\de-\d", bundle["text/html"])  # no rounding error either
    form, result = make().controls().children
    fields = {child.description: child for child in form.children}
    assert list(fields) == [*make().settings, "Run"] and "live kernel" not in result.value
    result.value = "nothing yet"
    fields["Run"].click()
    assert result.value == make().attempt(make().settings) != "nothing yet"


def test_without_a_reader_it_is_a_still_that_says_so():
    panel = widgets.attention_panel(mask="causal")
    bundle = panel._repr_mimebundle_()
    assert set(bundle) == {"text/plain", "text/html"}
    assert "needs a live kernel" in bundle["text/html"] and "needs a live kernel" in bundle["text/plain"]
    assert not re.search(r"<(input|button|select|script)", bundle["text/html"])
    assert "[1, 4, 6, 16]" in bundle["text/html"] and "mask = causal" in bundle["text/html"]
    assert bundle == widgets.attention_panel(mask="causal")._repr_mimebundle_()


def executed(cells: list[str]) -> nbformat.NotebookNode:
    """The cells, run by the program that runs every chapter."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    return nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3").execute()


@pytest.mark.slow
def test_a_notebook_executed_for_a_page_holds_no_widget():
    notebook = executed(["from transformer_lab.widgets import attention_panel", "attention_panel()"])
    assert set(notebook.cells[1].outputs[0].data) == {"text/plain", "text/html"}
    assert notebook.metadata.get("widgets") is None  # widget state would bring scripts from elsewhere into the page


def with_reader(monkeypatch, allowed: bool) -> None:
    shell = types.SimpleNamespace(kernel=types.SimpleNamespace(_allow_stdin=allowed))
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: shell))


def test_knows_whether_someone_is_there(monkeypatch):
    assert not widgets.has_reader()
    with_reader(monkeypatch, True)
    assert widgets.has_reader()
    with_reader(monkeypatch, False)
    assert not widgets.has_reader()


def test_with_a_reader_it_shows_its_controls(monkeypatch):
    pytest.importorskip("ipywidgets", reason="ipywidgets is not installed: the live panel cannot be checked")
    panel = widgets.attention_panel()
    box = panel.controls()
    monkeypatch.setattr(panel, "controls", lambda: box)
    with_reader(monkeypatch, True)
    assert panel._repr_mimebundle_() == {
        "text/plain": repr(panel),
        VIEW: {"version_major": 2, "version_minor": 0, "model_id": box.model_id},
    }


def test_without_ipywidgets_a_reader_still_sees_the_still(monkeypatch):
    with_reader(monkeypatch, True)
    monkeypatch.setitem(sys.modules, "ipywidgets", None)
    assert set(widgets.attention_panel()._repr_mimebundle_()) == {"text/plain", "text/html"}


def test_run_shows_the_result_or_the_reason():
    pytest.importorskip("ipywidgets", reason="ipywidgets is not installed: the live panel cannot be checked")
    box = widgets.attention_panel().controls()
    form, result = box.children
    fields = {child.description: child for child in form.children}
    assert list(fields) == ["batch", "length", "d_model", "num_heads", "mask", "dtype", "device", "seed", "Run"]
    assert "Largest difference" in result.value and "[1, 6, 64]" in result.value
    fields["length"].value, fields["mask"].value = 14, "causal"
    fields["Run"].click()
    assert "[1, 4, 14, 14]" in result.value and "the first 12 of 14 positions" in result.value
    fields["num_heads"].value = 7
    fields["Run"].click()
    assert "ValueError" in result.value and "num_heads that work: 1, 2, 4, 8, 16, 32, 64" in result.value
    assert "cuda" in fields["device"].options or not torch.cuda.is_available()


def test_an_error_is_shown_as_text():
    shown = widgets.attention_panel().attempt({"mask": "<script>alert(1)</script>"})
    assert "<script>" not in shown and "&lt;script&gt;" in shown


@pytest.mark.parametrize("make", PANELS)
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_still_is_readable_everywhere(browser, tmp_path, theme, make):
    html = make()._repr_mimebundle_()["text/html"]
    with window(browser, tmp_path, document(html, theme=theme), width="phone") as opened:
        assert opened.axe() == []
        assert opened.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
