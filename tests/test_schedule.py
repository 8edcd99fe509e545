"""The learning rate: the paper's formula at every step, its peak, and what is refused."""

import pytest

from transformer_lab.training.schedule import warmup_rate


@pytest.mark.parametrize(("d_model", "warmup", "factor"), [(512, 4000, 1.0), (128, 397, 0.5), (3, 1, 2.0)])
def test_every_step_follows_the_paper(d_model, warmup, factor):
    for step in range(1, 10_001):
        rising, falling = step / warmup**1.5, 1 / step**0.5
        expected = factor / d_model**0.5 * min(rising, falling)
        assert warmup_rate(step, d_model=d_model, warmup=warmup, factor=factor) == pytest.approx(expected, rel=1e-14)


def test_the_peak_of_the_base_model_is_the_known_one():
    rates = [warmup_rate(step, d_model=512, warmup=4000) for step in range(1, 10_001)]
    assert rates.index(max(rates)) == 4000 - 1
    assert max(rates) == pytest.approx(6.98771e-4, rel=1e-5)
    assert rates[0] == pytest.approx(1.746928e-7, rel=1e-5)


def test_warmup_is_a_straight_line_and_then_the_root():
    rate = lambda step: warmup_rate(step, d_model=7, warmup=100)  # noqa: E731
    assert rate(60) == pytest.approx(3 * rate(20))
    assert rate(900) == pytest.approx(rate(100) / 3)


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"step": 0}, ValueError, "step must be at least 1, got 0"),
        ({"step": -3}, ValueError, "step must be at least 1, got -3"),
        ({"step": 1.5}, TypeError, "step must be an int, got float"),
        ({"warmup": 0}, ValueError, "warmup must be at least 1, got 0"),
        ({"d_model": 0}, ValueError, "d_model must be at least 1, got 0"),
        ({"factor": 0.0}, ValueError, "factor must be above 0, got 0.0"),
    ],
)
def test_what_has_no_rate_is_refused(change, error, message):
    with pytest.raises(error, match=message):
        warmup_rate(**{"step": 1, "d_model": 5, "warmup": 3, **change})
