"""Pictures of positional encodings: each number at its place, the axes in positions and dimensions, nothing global changed."""

import matplotlib as mpl
import matplotlib.pyplot as plt
import pytest
import torch

from transformer_lab import sinusoidal_encoding
from transformer_lab.plots import plot_encoding_curves, plot_positional_encoding


@pytest.fixture(autouse=True)
def closed():
    """No figure outlives its test, and no test leaves a style behind."""
    before = mpl.rcParams.copy()
    yield
    plt.close("all")
    assert mpl.rcParams == before


def test_a_row_is_a_position_and_a_column_a_dimension():
    table = sinusoidal_encoding(5, 7)
    ax = plot_positional_encoding(table, start=3, title="a $ sign")
    ax.figure.canvas.draw()
    (image,) = ax.images
    torch.testing.assert_close(torch.tensor(image.get_array()), table)
    assert image.get_extent() == [-0.5, 6.5, 7.5, 2.5]  # row 0 is position 3, on top
    assert ax.yaxis_inverted() and image.origin == "upper"
    assert (ax.get_xlabel(), ax.get_ylabel(), ax.get_title()) == ("dimension", "position", "a $ sign")
    assert len(ax.figure.axes) == 2  # with its colour bar


def test_equal_distance_from_zero_is_equally_dark_and_zero_is_pale():
    ax = plot_positional_encoding(torch.tensor([[-2.0, 0.0, 2.0]]), vmax=2.0, colorbar=False)
    (image,) = ax.images
    assert image.get_clim() == (-2, 2) and len(ax.figure.axes) == 1
    low, zero, high = (sum(image.to_rgba(value)[:3]) for value in (-2.0, 0.0, 2.0))
    assert zero > 2.8 and low < 1.2 and high < 1.2


def test_curves_are_the_columns_asked_for():
    table = sinusoidal_encoding(11, 8, start=2)
    ax = plot_encoding_curves(table, dimensions=(5, 0), start=2)
    ax.figure.canvas.draw()
    assert [line.get_label() for line in ax.lines] == ["dimension 5", "dimension 0"]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["dimension 5", "dimension 0"]
    for line, dimension in zip(ax.lines, (5, 0), strict=True):
        assert line.get_xdata().tolist() == list(range(2, 13))
        torch.testing.assert_close(torch.tensor(line.get_ydata()), table[:, dimension])


def test_four_curves_differ_in_colour_and_in_stroke():
    ax = plot_encoding_curves(sinusoidal_encoding(11, 8), dimensions=(0, 2, 4, 6))
    assert len({line.get_color() for line in ax.lines}) == len({line.get_linestyle() for line in ax.lines}) == 4


@pytest.mark.parametrize(
    "draw", [plot_positional_encoding, lambda t, **k: plot_encoding_curves(t, dimensions=[1], **k)]
)
@pytest.mark.parametrize("dtype", [torch.float64, torch.float16, torch.bfloat16])
def test_given_axes_any_precision_with_a_graph(draw, dtype):
    figure, (upper, lower) = plt.subplots(2, 1)
    assert draw(torch.eye(3, dtype=dtype, requires_grad=True), ax=lower) is lower
    assert plt.get_fignums() == [figure.number] and not (upper.images or upper.lines)


@pytest.mark.parametrize("shape", [(4,), (2, 3, 4), (0, 4), (4, 0)])
def test_a_table_of_another_shape_is_refused(shape):
    for draw in (plot_positional_encoding, lambda table: plot_encoding_curves(table, dimensions=[0])):
        with pytest.raises(ValueError, match=r"table must be \[length, d_model\]"):
            draw(torch.zeros(shape))


def test_refusals_say_what_is_wrong():
    table = torch.eye(3)
    with pytest.raises(ValueError, match="vmax must be above 0, got 0"):
        plot_positional_encoding(table, vmax=0)
    with pytest.raises(ValueError, match="1 to 4 columns, got 0"):
        plot_encoding_curves(table, dimensions=[])
    with pytest.raises(ValueError, match="1 to 4 columns, got 5"):
        plot_encoding_curves(table, dimensions=[0] * 5)
    for wrong in (-1, 3):
        with pytest.raises(ValueError, match=f"between 0 and 2, got {wrong}"):
            plot_encoding_curves(table, dimensions=[0, wrong])
