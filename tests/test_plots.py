"""Pictures: each number in its own cell, each label at its place and as typed, nothing global changed."""

import matplotlib as mpl
import matplotlib.pyplot as plt
import pytest
import torch

from transformer_lab import causal_mask
from transformer_lab.plots import label, plot_attention, plot_heads, plot_mask

from .support import numbers

CAT = ["the", "cat", "sat", "on", "the", "mat"]  # two equal words
AWKWARD = [
    "<script>", "<img onerror>", '"onload=', "&lt;", "</style>", "javascript:", "$x$", "$x_$", "$$", "US$5 $6", r"\frac{",
    "我爱你", "", " ", "\n", "#", "%", "_^{}", "'", "<unk>", "</s>",
]  # fmt: skip


@pytest.fixture(autouse=True)
def closed():
    """No figure outlives its test, and no test leaves a style behind."""
    before = mpl.rcParams.copy()
    yield
    plt.close("all")
    assert mpl.rcParams == before


def weights(*shape: int) -> torch.Tensor:
    return numbers(*shape).softmax(-1)


def labels(axis) -> list[tuple[float, str]]:
    return [
        (float(place), text.get_text()) for place, text in zip(axis.get_ticklocs(), axis.get_ticklabels(), strict=True)
    ]


def cells(ax) -> torch.Tensor:
    (mesh,) = ax.collections
    return torch.tensor(mesh.get_array()).double()


def test_every_weight_in_its_own_cell_and_every_label_in_its_place():
    values = weights(3, 6)
    ax = plot_attention(values, query_tokens=["a", "b", "c"], key_tokens=CAT, colorbar=False)
    ax.figure.canvas.draw()
    assert labels(ax.xaxis) == [(i + 0.5, token) for i, token in enumerate(CAT)]
    assert labels(ax.yaxis) == [(0.5, "a"), (1.5, "b"), (2.5, "c")]
    assert ax.yaxis_inverted()  # the first query on top
    torch.testing.assert_close(cells(ax), values, rtol=0, atol=1e-6)
    written = {text.get_position(): text.get_text() for text in ax.texts}
    assert written == {(s + 0.5, t + 0.5): f"{values[t, s]:.2f}" for t in range(3) for s in range(6)}
    assert ax.get_xlabel() == "key (looked at)" and ax.get_ylabel() == "query (looking)"


def test_labels_stay_in_place_when_the_figure_is_small():
    tokens = [f"t{i}" for i in range(12)]
    _, ax = plt.subplots(figsize=(3, 3))
    plot_attention(weights(12, 12), query_tokens=tokens, ax=ax, numbers=False)
    ax.figure.canvas.draw()
    assert labels(ax.xaxis) == labels(ax.yaxis) == [(i + 0.5, token) for i, token in enumerate(tokens)]
    assert not ax.texts


def test_maps_that_are_compared_share_their_scale():
    faint = plot_attention(torch.full((2, 2), 0.25), query_tokens=["a", "b"])
    strong = plot_attention(torch.full((2, 2), 0.5), query_tokens=["a", "b"], vmax=0.5)
    assert faint.collections[0].get_clim() == (0, 1) and strong.collections[0].get_clim() == (0, 0.5)
    assert len(faint.figure.axes) == 2  # with its colour bar
    assert len(plot_attention(torch.eye(2), query_tokens=["a", "b"], colorbar=False).figure.axes) == 1


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16])
def test_any_precision_with_or_without_a_graph(dtype):
    values = torch.tensor([[0.25, 0.75], [1.0, 0.0]], dtype=dtype, requires_grad=True)
    ax = plot_attention(values, query_tokens=["a", "b"])
    assert cells(ax).tolist() == [[0.25, 0.75], [1.0, 0.0]]


def test_given_axes_are_drawn_on_and_returned():
    figure, (left, right) = plt.subplots(1, 2)
    assert plot_attention(torch.eye(2), query_tokens=["a", "b"], ax=right, title="right", colorbar=False) is right
    assert plot_mask(causal_mask(2), query_tokens=["a", "b"], ax=left) is left
    assert plt.get_fignums() == [figure.number] and right.get_title() == "right"


@pytest.mark.parametrize("token", AWKWARD, ids=ascii)
@pytest.mark.slow
def test_awkward_tokens_and_titles_are_drawn_as_typed(token):
    ax = plot_attention(torch.eye(2), query_tokens=[token, "b"], title=token)
    ax.figure.canvas.draw()  # a missing glyph is a warning, and warnings are errors
    shown = {"": "∅", " ": "␣", "\n": "↵"}.get(token, token)
    for tick in (*ax.get_xticklabels(), *ax.get_yticklabels(), ax.title):
        assert not tick.get_parse_math()
    assert ax.get_xticklabels()[0].get_text() == ax.get_yticklabels()[0].get_text() == shown
    assert ax.get_title() == token


@pytest.mark.parametrize(
    ("token", "shown"),
    [
        ("cat", "cat"),
        ("我爱你", "我爱你"),
        ("爱" * 99, "爱" * 23 + "…"),
        ("x" * 24, "x" * 24),
        ("x" * 10_000, "x" * 23 + "…"),
        ("\u202eabc", "U+202Eabc"),  # would turn the text round
        ("a\u0000b", "U+0000".join("ab")),
        ("a\tb", "a⇥b"),
        ("\U000f0000", "U+F0000"),
        ("ก", "U+0E01"),
        ("a b", "a b"),
    ],
    ids=ascii,
)
@pytest.mark.slow
def test_label_is_short_visible_and_drawable(token, shown):
    assert label(token) == shown
    axes = [plot_mask(causal_mask(2), query_tokens=[token, "b"], title=token[:50])]
    axes += [
        plot_attention(torch.eye(2), query_tokens=[token, "b"]),
        *plot_heads(weights(2, 2, 2), query_tokens=[token, "b"]),
    ]
    for ax in axes:
        ax.figure.canvas.draw()
        assert ax.get_xticklabels()[0].get_text() == shown
        assert ax.get_window_extent().width > 20  # labels leave room for the picture


def test_a_title_may_have_lines_and_glyphs_that_no_font_has():
    ax = plot_attention(torch.eye(2), query_tokens=["a", "b"], title="first ก\nsecond 我 $x$")
    ax.figure.canvas.draw()
    assert ax.get_title() == "first U+0E01\nsecond 我 $x$"


def test_heads_side_by_side_on_one_scale():
    maps = weights(5, 3, 6)
    axes = plot_heads(maps, query_tokens=["a", "b", "c"], key_tokens=CAT, columns=3, vmax=0.7)
    assert [ax.get_title() for ax in axes] == [f"head {i}" for i in range(1, 6)]
    assert len(axes[0].figure.axes) == 5  # the sixth place is empty
    for ax, one in zip(axes, maps, strict=True):
        torch.testing.assert_close(cells(ax), one, rtol=0, atol=1e-6)
        assert ax.collections[0].get_clim() == (0, 0.7)
        assert [text for _, text in labels(ax.xaxis)] == CAT
    named = plot_heads(maps[:2], query_tokens=["a", "b", "c"], key_tokens=CAT, titles=["trained", "untrained $x$"])
    assert [ax.get_title() for ax in named] == ["trained", "untrained $x$"]


def test_mask_shows_what_may_be_seen_by_more_than_colour():
    ax = plot_mask(causal_mask(2, 3), query_tokens=["a", "b"], key_tokens=["x", "y", "z"], title="causal")
    ax.figure.canvas.draw()
    assert cells(ax).tolist() == [[1, 1, 0], [1, 1, 1]]
    dots = {text.get_position(): text.get_text() for text in ax.texts}
    assert [[dots.get((s + 0.5, t + 0.5), "") for s in range(3)] for t in range(2)] == [["•", "•", ""], ["•", "•", "•"]]
    assert labels(ax.xaxis) == [(0.5, "x"), (1.5, "y"), (2.5, "z")] and ax.yaxis_inverted()


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: plot_attention(torch.eye(3), query_tokens=["a", "b"]), ValueError,
         r"2 query tokens and 2 key tokens need weights of shape \(2, 2\), got \(3, 3\)"),
        (lambda: plot_attention(torch.zeros(2, 3).T, query_tokens=["a", "b"], key_tokens=["x", "y", "z"]), ValueError,
         r"need weights of shape \(2, 3\), got \(3, 2\)"),
        (lambda: plot_attention(torch.zeros(1, 2, 2), query_tokens=["a", "b"]), ValueError, r"got \(1, 2, 2\)"),
        (lambda: plot_attention(torch.zeros(0, 0), query_tokens=[]), ValueError, "need at least one token each"),
        (lambda: plot_heads(torch.zeros(1, 2, 2, 2), query_tokens=["a", "b"]), ValueError,
         r"weights must be \[maps, queries, keys\], got \(1, 2, 2, 2\); weights\[0\] picks one sentence"),
        (lambda: plot_heads(torch.zeros(0, 2, 2), query_tokens=["a", "b"]), ValueError, r"got \(0, 2, 2\)"),
        (lambda: plot_heads(torch.zeros(2, 2, 2), query_tokens=["a", "b"], titles=["one"]), ValueError, "2 maps need 2 titles, got 1"),
        (lambda: plot_heads(torch.zeros(2, 2, 2), query_tokens=["a", "b"], columns=0), ValueError, "columns must be at least 1, got 0"),
        (lambda: plot_mask(torch.ones(2, 2), query_tokens=["a", "b"]), TypeError, "mask must be boolean .*, got float32"),
        (lambda: plot_mask(causal_mask(3), query_tokens=["a", "b"]), ValueError, r"need weights of shape \(2, 2\), got \(3, 3\)"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused_before_a_figure_is_made(call, error, message):
    with pytest.raises(error, match=message):
        call()
    assert plt.get_fignums() == []
