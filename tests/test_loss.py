"""The loss: torch's cross-entropy as oracle, sums and counts that add up, padding that counts for nothing."""

import math

import pytest
import torch
import torch.nn.functional as F

from transformer_lab.training.loss import label_smoothed_loss

B, T, V = 3, 5, 7
F64 = torch.float64


def scores(seed=0, dtype=F64, shape=(B, T, V)):
    return (3 * torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=F64)).to(dtype).requires_grad_()


def padded_targets(seed=1, pad_id=0):
    ids = torch.randint(1, V, (B, T), generator=torch.Generator().manual_seed(seed))
    ids[ids == pad_id] = 1 + pad_id
    ids[0, 2:], ids[2, 4:] = pad_id, pad_id
    return ids


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.6])
@pytest.mark.parametrize("pad_id", [0, 4])
def test_sum_and_gradient_are_those_of_torch(smoothing, pad_id):
    logits, targets = scores(), padded_targets(pad_id=pad_id)
    loss, tokens = label_smoothed_loss(logits, targets, smoothing=smoothing, pad_id=pad_id)
    expected = F.cross_entropy(
        logits.flatten(0, 1), targets.flatten(), ignore_index=pad_id, label_smoothing=smoothing, reduction="sum"
    )
    torch.testing.assert_close(loss, expected, atol=1e-12, rtol=0)
    assert tokens.item() == (targets != pad_id).sum() == 11 and tokens.dtype == torch.int64
    got, right = (torch.autograd.grad(5 * one, logits)[0] for one in (loss, expected))
    torch.testing.assert_close(got, right, atol=1e-12, rtol=0)


def test_the_sum_is_the_formula_written_out():
    logits, targets = scores(2), padded_targets(3)
    total = 0.0
    for b in range(B):
        for t in range(T):
            if targets[b, t] != 0:
                z = logits[b, t].tolist()
                log_p = [score - math.log(sum(math.exp(other) for other in z)) for score in z]
                total -= 0.9 * log_p[targets[b, t]] + 0.1 * sum(log_p) / V
    assert label_smoothed_loss(logits, targets)[0].item() == pytest.approx(total, abs=1e-12)


def test_the_gradient_is_the_numerical_one():
    targets = padded_targets()
    assert torch.autograd.gradcheck(lambda z: label_smoothed_loss(z, targets, smoothing=0.1)[0], scores())


def test_parts_add_up_to_the_whole():
    logits, targets = scores(), padded_targets()
    whole, tokens = label_smoothed_loss(logits, targets)
    parts = [label_smoothed_loss(logits[b : b + 1], targets[b : b + 1]) for b in range(B)]
    torch.testing.assert_close(sum(loss for loss, _ in parts), whole, atol=1e-12, rtol=0)
    assert sum(count for _, count in parts) == tokens
    means = torch.stack([loss / count for loss, count in parts]).mean()
    assert abs(means - whole / tokens) > 0.01, "the rows are too alike to tell a mean of means"


def test_nothing_but_padding_is_zero_with_no_gradient():
    logits = scores()
    loss, tokens = label_smoothed_loss(logits, torch.zeros(B, T, dtype=torch.int64))
    loss.backward()
    assert loss.item() == 0 and tokens.item() == 0
    assert torch.equal(logits.grad, torch.zeros(B, T, V, dtype=F64))


def test_padding_gets_no_gradient_at_all():
    logits, targets = scores(), padded_targets()
    label_smoothed_loss(logits, targets)[0].backward()
    assert torch.equal(logits.grad[targets == 0], torch.zeros(4, V, dtype=F64))
    assert (logits.grad[targets != 0] != 0).all()


def test_extreme_scores_stay_finite():
    logits = torch.tensor([[[1e4, -1e4, 0.0]]], requires_grad=True)
    loss, _ = label_smoothed_loss(logits, torch.tensor([[1]]), smoothing=0.0)
    loss.backward()
    assert loss.item() == 2e4 and logits.grad.isfinite().all()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_is_summed_in_single(dtype):
    logits, targets = scores(dtype=dtype), padded_targets()
    loss, _ = label_smoothed_loss(logits, targets)
    assert loss.dtype == torch.float32
    expected, _ = label_smoothed_loss(logits.detach().double(), targets)
    assert loss.item() == pytest.approx(expected.item(), rel=1e-6)
    loss.backward()
    assert logits.grad.dtype == dtype


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"smoothing": 1.0}, ValueError, "smoothing must be at least 0 and below 1, got 1.0"),
        ({"smoothing": -0.1}, ValueError, "smoothing must be at least 0 and below 1, got -0.1"),
        ({"smoothing": math.nan}, ValueError, "got nan"),
        (
            {"logits": torch.zeros(B, T, V, dtype=torch.int64)},
            TypeError,
            "logits must be floating-point scores, got int64",
        ),
        ({"logits": torch.zeros(B, V)}, ValueError, r"got \[3, 7\] and \[3, 5\]"),
        ({"logits": torch.zeros(B, T + 1, V)}, ValueError, r"got \[3, 6, 7\] and \[3, 5\]"),
        ({"targets": torch.zeros(B, T)}, TypeError, "targets"),
        ({"targets": torch.full((B, T), V)}, ValueError, r"token id 7 at \[0, 0\] is out of range for a vocabulary of 7"),
    ],
)
def test_what_does_not_fit_is_refused(change, error, message):
    arguments = {"logits": torch.zeros(B, T, V), "targets": torch.ones(B, T, dtype=torch.int64), **change}
    with pytest.raises(error, match=message):
        label_smoothed_loss(**arguments)
