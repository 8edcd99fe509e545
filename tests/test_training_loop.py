"""The loop: every step beside a plain one written with torch's own parts, its limits, averages, and what it refuses."""

import json
import math
from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F

from transformer_lab.training.batches import bucketed_batches, collate
from transformer_lab.training.loop import train
from transformer_lab.training.options import TrainingOptions
from transformer_lab.training.validate import validation_loss

from .training_support import (
    EXACT,
    TRAIN,
    VALID,
    assert_same,
    differ,
    new_model,
    reversals,
    trained,
    weights_of,
    without_seconds,
)


def plain_training(options, examples=TRAIN, accumulate=1, model=None):
    """The same training with torch's own loss and unfused Adam; yields the weights after every step."""
    model = new_model() if model is None else model
    adam = torch.optim.Adam(model.parameters(), betas=options.betas, eps=options.eps, foreach=False, fused=False)
    step = 0
    for epoch in range(1, options.epochs + 1):
        batches = bucketed_batches(examples, options.max_tokens, seed=options.seed, epoch=epoch)
        for start in range(0, len(batches), accumulate):
            joined = collate([examples[i] for batch in batches[start : start + accumulate] for i in batch])
            logits = model(joined.src, joined.tgt_in).flatten(0, 1)
            loss = F.cross_entropy(logits, joined.tgt_out.flatten(), ignore_index=0, label_smoothing=options.smoothing)
            model.zero_grad()
            loss.backward()
            if options.clip:
                torch.nn.utils.clip_grad_norm_(model.parameters(), options.clip)
            step += 1
            scale = min(1 / math.sqrt(step), step / options.warmup**1.5)
            adam.param_groups[0]["lr"] = options.factor / math.sqrt(model.config.d_model) * scale
            adam.step()
            yield weights_of(model)


@pytest.mark.parametrize("clip", [0.3, None])
@pytest.mark.parametrize("accumulate", [1, 3])
def test_every_update_is_the_plain_one(clip, accumulate):
    options = replace(EXACT, clip=clip, accumulate=accumulate, seed=accumulate)
    steps = list(plain_training(options, accumulate=accumulate))
    assert len(steps) > 5 and differ(steps[-1], steps[-2])
    model, history = trained(options)
    assert_same(weights_of(model), steps[-1], atol=1e-12)
    assert history.records[-1].step == len(steps) and history.stopped_by == "epochs"
    model, _ = trained(replace(options, steps=2))
    assert_same(weights_of(model), steps[1], atol=1e-12)


def test_clipping_matters_here():
    assert differ(weights_of(trained()[0]), weights_of(trained(replace(EXACT, clip=None))[0]))


def test_accumulated_batches_are_one_joined_batch():
    batches = len(bucketed_batches(TRAIN, 16, seed=0, epoch=1))
    apart, history = trained(replace(EXACT, max_tokens=16, accumulate=batches + 5, epochs=3))
    joined, same = trained(replace(EXACT, max_tokens=10_000, epochs=3))
    assert batches > 10 and [record.step for record in history.records] == [1, 2, 3]
    assert_same(weights_of(apart), weights_of(joined), atol=1e-12)
    for record, other in zip(history.records, same.records, strict=True):
        assert record.train_loss == pytest.approx(other.train_loss, abs=1e-12)


def test_figures_of_an_epoch():
    model, history = trained(replace(EXACT, epochs=1, max_tokens=10_000, smoothing=0.0), valid=VALID)
    (record,) = history.records
    assert (record.epoch, record.step, record.tokens) == (1, 1, sum(len(example.tgt) for example in TRAIN))
    assert record.train_loss == pytest.approx(validation_loss(new_model(), TRAIN, 10_000), abs=1e-12)
    assert record.valid_loss == pytest.approx(validation_loss(model, VALID, 23), abs=1e-12)
    assert record.rate == pytest.approx(0.7 * 6**-0.5 * 7**-1.5)
    assert record.seconds > 0
    assert json.loads(json.dumps(history.to_json())) == history.to_json()
    assert history.to_json()["interrupted"] is False and history.to_json()["best_epoch"] == 1


def test_validation_loss_is_that_of_torch_without_dropout():
    model = new_model(dropout=0.4).train()
    batch = collate(VALID)
    expected = F.cross_entropy(
        model.eval()(batch.src, batch.tgt_in).flatten(0, 1), batch.tgt_out.flatten(), ignore_index=0
    )
    assert validation_loss(model.train(), VALID, 23) == pytest.approx(expected.item(), abs=1e-12)
    assert model.training


def test_dropout_is_on_in_training_and_off_in_validation():
    model, modes = new_model(dropout=0.3), []
    model.register_forward_pre_hook(lambda module, inputs: modes.append((module.training, torch.is_grad_enabled())))
    _, history = trained(replace(EXACT, epochs=2), model=model, valid=VALID)
    assert set(modes) == {(True, True), (False, False)} and not model.training
    assert modes[0] == (True, True) and modes.count((True, True)) == history.records[-1].step
    assert differ(weights_of(model), weights_of(trained()[0]))


def test_same_seed_same_bits_and_the_callers_randomness_is_left_alone():
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    first = trained(model=new_model(dropout=0.3), valid=VALID)
    assert torch.equal(torch.rand(3), expected)
    again = trained(model=new_model(dropout=0.3), valid=VALID)
    other = trained(replace(EXACT, seed=1), model=new_model(dropout=0.3), valid=VALID)
    assert_same(weights_of(first[0]), weights_of(again[0]))
    assert without_seconds(first[1]) == without_seconds(again[1])
    assert differ(weights_of(first[0]), weights_of(other[0]))


def test_dropout_alone_follows_the_seed():
    losses = []
    for seed in (0, 1):  # one batch of equal examples, so that their order says nothing
        options = replace(EXACT, epochs=1, max_tokens=10_000, seed=seed)
        _, history = trained(options, model=new_model(dropout=0.3), examples=TRAIN[:1] * 9)
        losses.append(history.records[0].train_loss)
    assert abs(losses[0] - losses[1]) > 1e-3


@pytest.mark.parametrize("ema", [0.9, 0.15])
def test_averaged_weights_follow_their_formula_and_are_what_is_validated(ema):
    options = replace(EXACT, epochs=1, max_tokens=60)
    average = weights_of(new_model())
    for step, weights in enumerate(plain_training(options), start=1):
        decay = min(ema, (1 + step) / (10 + step))
        average = {name: decay * old + (1 - decay) * weights[name] for name, old in average.items()}
    model, history = trained(replace(options, ema=ema), valid=VALID)
    assert_same(weights_of(model), average, atol=1e-12)
    assert history.records[-1].valid_loss == pytest.approx(validation_loss(model, VALID, 99), abs=1e-12)
    assert_same(weights_of(trained(replace(options, ema=ema))[0]), average, atol=1e-12)


def test_averaging_does_not_disturb_the_training():
    _, plain = trained(replace(EXACT, epochs=3), valid=VALID)
    _, averaged = trained(replace(EXACT, epochs=3, ema=0.8), valid=VALID)
    for record, other in zip(plain.records, averaged.records, strict=True):
        assert record.train_loss == other.train_loss and record.valid_loss != other.valid_loss


@pytest.mark.parametrize("ema", [0.0, 0.5])
def test_early_stopping_keeps_the_best_weights(ema):
    wrong = [replace(example, tgt=(*example.src[:-1], 2)) for example in reversals(9, seed=3, shortest=4)]
    options = replace(EXACT, epochs=60, patience=3, factor=2.0, smoothing=0.0, clip=1.0, ema=ema)
    model, history = trained(options, examples=wrong, valid=VALID)
    losses = [record.valid_loss for record in history.records]
    assert history.stopped_by == "patience" and len(losses) == history.best_epoch + 3 < 60
    assert losses.index(min(losses)) == history.best_epoch - 1
    assert validation_loss(model, VALID, 30) == min(losses)


@pytest.mark.parametrize(
    ("limits", "stopped_by", "steps"),
    [
        ({"epochs": 2}, "epochs", 14),
        ({"epochs": None, "steps": 4}, "steps", 4),
        ({"epochs": 1, "steps": 999}, "epochs", 7),
        ({"epochs": 1, "steps": 7}, "steps", 7),
        ({"epochs": 9, "minutes": 1e-9}, "minutes", 1),
    ],
)
def test_limits(limits, stopped_by, steps):
    assert len(bucketed_batches(TRAIN, 30, seed=0, epoch=1)) == 7
    model, history = trained(replace(EXACT, **limits), valid=VALID)
    assert history.stopped_by == stopped_by
    assert [record.step for record in history.records] == [*range(7, steps, 7), steps]
    best = min(record.valid_loss for record in history.records)
    assert validation_loss(model, VALID, 40) == pytest.approx(best, abs=1e-14)


@pytest.mark.parametrize("precision", ["bfloat16", "float16"])
def test_half_precision_is_close_to_single(precision):
    options = replace(EXACT, max_tokens=200, epochs=8, factor=0.3, eps=0.01)
    start, data = new_model(dtype=torch.float32), {"valid": VALID}
    single, history = trained(options, model=new_model(dtype=torch.float32), **data)
    half, other = trained(replace(options, precision=precision), model=new_model(dtype=torch.float32), **data)
    assert other.records[0].train_loss != history.records[0].train_loss
    assert other.records[-1].valid_loss == pytest.approx(history.records[-1].valid_loss, rel=5e-3)
    before, after, close = (
        torch.cat([weight.flatten() for weight in weights_of(model).values()]) for model in (start, single, half)
    )
    assert (close - after).norm() < 0.05 * (after - before).norm()
    assert close.dtype == torch.float32


def test_float16_skips_a_step_that_overflows_and_goes_on():
    model = new_model(dtype=torch.float32)
    model.output_linear.bias.register_hook(poison_at(model, 2, math.inf))
    _, history = trained(replace(EXACT, precision="float16"), model=model)
    assert history.stopped_by == "epochs"
    assert all(weight.isfinite().all() for weight in model.parameters())


def poison_at(model, step, value):
    """A hook that turns a tensor's first number into another at the step-th forward pass of the model."""
    calls = []
    model.register_forward_pre_hook(lambda *_: calls.append(1))

    def poison(tensor):
        return tensor.index_fill(-1, torch.tensor([0]), value) if len(calls) == step else tensor

    return poison


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_loss_that_is_not_finite_stops_before_the_step(value):
    good, model = new_model(), new_model()
    trained(replace(EXACT, steps=2), model=good)
    poison = poison_at(model, 3, value)
    model.register_forward_hook(lambda module, inputs, logits: poison(logits))
    with pytest.raises(FloatingPointError, match=r"the loss is nan at step 3 \(epoch 1\).*smaller factor \(now 0.7\)"):
        trained(model=model)
    assert_same(weights_of(model), weights_of(good))


def test_a_gradient_that_is_not_finite_stops_before_the_step():
    good, model = new_model(), new_model()
    trained(replace(EXACT, steps=2), model=good)
    model.output_linear.bias.register_hook(poison_at(model, 3, math.inf))
    with pytest.raises(FloatingPointError, match="the length of the gradient is inf at step 3"):
        trained(model=model)
    assert_same(weights_of(model), weights_of(good))


def test_frozen_weights_stay():
    model = new_model()
    model.encoder.requires_grad_(False)
    before = weights_of(model)
    trained(model=model)
    moved = {name for name, weight in model.named_parameters() if not torch.equal(weight, before[name])}
    assert moved == {name for name in before if not name.startswith("encoder.")}


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"epochs": None}, ValueError, "training needs an end: give epochs, steps or minutes"),
        ({"epochs": 0}, ValueError, "epochs must be at least 1, got 0"),
        ({"steps": 1.0}, TypeError, "steps must be an int"),
        ({"minutes": 0}, ValueError, "minutes must be above 0, got 0"),
        ({"max_tokens": 0}, ValueError, "max_tokens must be at least 1"),
        ({"warmup": 0}, ValueError, "warmup must be at least 1"),
        ({"factor": -1.0}, ValueError, "factor must be above 0, got -1.0"),
        ({"clip": math.nan}, ValueError, "clip must be above 0, got nan"),
        ({"eps": 0.0}, ValueError, "eps must be above 0"),
        ({"smoothing": 1.0}, ValueError, "smoothing must be at least 0 and below 1"),
        ({"accumulate": 0}, ValueError, "accumulate must be at least 1"),
        ({"precision": "float8"}, ValueError, "precision.*float16"),
        ({"betas": (0.9, 1.0)}, ValueError, "betas must be two numbers"),
        ({"betas": (0.9,)}, ValueError, "betas must be two numbers"),
        ({"ema": 1.0}, ValueError, "ema must be at least 0"),
        ({"patience": 0}, ValueError, "patience must be at least 1"),
        ({"seed": -1}, ValueError, "seed must be an int of at least 0"),
        ({"seed": "x"}, ValueError, "seed must be an int of at least 0"),
    ],
)
def test_options_that_make_no_sense_are_refused(change, error, message):
    with pytest.raises(error, match=message):
        TrainingOptions(**{"epochs": 1, **change})


def test_examples_that_make_no_sense_are_refused():
    with pytest.raises(ValueError, match="train_examples is empty"):
        trained(examples=[])
    with pytest.raises(ValueError, match="patience=2 waits for a better validation loss"):
        trained(replace(EXACT, patience=2))
    with pytest.raises(ValueError, match="more than max_tokens=3"):
        trained(replace(EXACT, max_tokens=3))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("reverse", [False, True], ids=["copy", "reverse"])
def test_a_model_of_two_layers_learns_to_copy_and_to_reverse(reverse, seed):
    sizes = {"d_model": 32, "num_heads": 4, "num_encoder_layers": 2, "num_decoder_layers": 2, "d_ff": 64}
    model = new_model(seed, torch.float32, **sizes, dropout=0.0, tie_embeddings="none")
    options = TrainingOptions(steps=1500, max_tokens=300, warmup=150, factor=1.0, ema=0.99, seed=seed)
    train(model, reversals(4000, seed, reverse=reverse), [], options, progress=False)
    batch = collate(reversals(500, seed + 100, reverse=reverse, shortest=3))
    real = batch.tgt_out != 0
    with torch.no_grad():
        right = (model(batch.src, batch.tgt_in).argmax(-1) == batch.tgt_out)[real].float().mean()
    assert right >= 0.99
