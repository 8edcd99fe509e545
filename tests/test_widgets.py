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
from transformer_lab import MultiHeadAttention, widgets

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


def test_refuses_an_unknown_setting():
    with pytest.raises(TypeError, match="heads"):
        widgets.attention_panel(heads=3)


def test_importing_it_needs_no_ipywidgets():
    program = "import sys, transformer_lab.widgets as w; w.attention_panel(); print('ipywidgets' in sys.modules, 'IPython' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert done.stdout.split() == ["False", "False"]


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
    shown = widgets._attempt({"mask": "<script>alert(1)</script>"})
    assert "<script>" not in shown and "&lt;script&gt;" in shown


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_still_is_readable_everywhere(browser, tmp_path, theme):
    html = widgets.attention_panel()._repr_mimebundle_()["text/html"]
    with window(browser, tmp_path, document(html, theme=theme), width="phone") as opened:
        assert opened.axe() == []
        assert opened.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
