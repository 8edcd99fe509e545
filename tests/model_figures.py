"""How exact the whole model is: against the float64 reference, against torch, and cached against recomputed.

    python -m tests.model_figures              # a table, about a minute on one core
    python -m tests.model_figures --configs 400

The tests run the same functions, with fewer configs, and hold them to the bars printed here.
"""

import argparse
import itertools
import time
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor, nn

from transformer_lab import PAPER_BASE, Transformer, TransformerConfig

from . import model_reference
from .model_support import POSITIONS, TYINGS, cache_of, model_of, run_torch, targets, torch_transformer
from .support import HALF_DTYPES, array, gradients_of, numbers, parameters_of, randomise, token_ids, worst

LENGTH = 6
CHUNKS = ((1,) * LENGTH, (LENGTH,), (2, 4), (3, 1, 2), (5, 1))
BEAMS = 3


@dataclass
class Gaps:
    """The worst of many differences, and how many there were."""

    cases: int = 0
    worst: float = 0.0

    def add(self, actual: Tensor, expected: Tensor) -> None:
        """Counts one comparison."""
        self.cases += 1
        self.worst = max(self.worst, worst(actual, expected))


def model_errors(count: int = 40) -> dict[str, float]:
    """`Transformer` of random configs in float64: logits and gradients against the reference, logits against torch.

    Gradients above 1 are compared relative to the largest of the model.
    """
    errors = {"logits": 0.0, "gradients": 0.0, "logits against torch": 0.0, "gradients against torch": 0.0}
    for seed in range(count):
        rng = np.random.default_rng(seed)
        model = randomise(Transformer(_random_config(rng, seed)).double(), seed)
        src, tgt = _random_batch(rng, seed)
        for found in (_against_reference(model, src, tgt, seed), _against_torch(model, src, tgt, seed)):
            for name, error in found.items():
                errors[name] = max(errors[name], error)
    return errors


def paper_size_errors(norm_first: bool = False) -> dict[str, float]:
    """The paper's whole model (512 wide, 8 heads, 6 + 6 layers) in float32 against the float64 reference and torch.

    Only the vocabulary is smaller. Gradients are those of the same model with GELU, since float32 and float64 may take
    different sides of a ReLU's kink.
    """
    config = replace(PAPER_BASE, src_vocab_size=997, tgt_vocab_size=997, dropout=0.0, norm_first=norm_first, max_len=64)
    src, tgt = token_ids(2, 17, vocab_size=997), targets(2, 13)
    src[1, 5:] = config.pad_id
    torch.manual_seed(0)
    model = Transformer(config)
    smooth = Transformer(replace(config, activation="gelu"))
    smooth.load_state_dict(model.state_dict())
    return {
        "logits": _against_reference(model, src, tgt, 0)["logits"],
        "gradients": _against_reference(smooth, src, tgt, 0)["gradients"],
        "logits against torch": _against_torch(model, src, tgt, 0)["logits against torch"],
    }


def half_precision_ratio(dtype: torch.dtype, count: int = 20) -> dict[str, float]:
    """Our logits' error over that of torch's model with the same weights, both against float64; the mean of all models."""
    ours, theirs = [], []
    for seed in range(count):
        rng = np.random.default_rng(seed)
        model = randomise(Transformer(_random_config(rng, seed)).to(dtype), seed)
        src, tgt = _random_batch(rng, seed)
        right, _ = model_reference.transformer(parameters_of(model), array(src), array(tgt), model.config)
        ours.append(worst(model(src, tgt), right))
        theirs.append(worst(run_torch(torch_transformer(model), model, src, tgt), right))
    return {"ratio": sum(ours) / sum(theirs), "ours": max(ours), "torch": max(theirs)}


def cached_gaps(dtype: torch.dtype) -> Gaps:
    """Cached decoding against a whole recomputation, logits: each piece of each chunking, and each step of beams that move.

    Over norms x kinds of position x tyings x batch 1 or 3 x with or without padding in the source.
    """
    gaps = Gaps()
    with torch.no_grad():
        for i, (norm_first, position, tying, batch, padded) in enumerate(
            itertools.product((False, True), POSITIONS, TYINGS, (1, 3), (False, True))
        ):
            model = model_of(i, dtype, norm_first=norm_first, position=position, tie_embeddings=tying, max_len=LENGTH)
            src, tgt = token_ids(batch, 5, vocab_size=17, seed=i), targets(batch, LENGTH, seed=i)
            if padded:
                src[0, 2:] = model.config.pad_id
            whole = [model(src, tgt[:, :n]) for n in range(1, LENGTH + 1)]
            for chunks in CHUNKS:
                _follow_chunks(gaps, model, src, tgt, whole, chunks)
            _follow_beams(gaps, model, src, tgt, seed=i)
    return gaps


def _follow_chunks(
    gaps: Gaps, model: Transformer, src: Tensor, tgt: Tensor, whole: list[Tensor], chunks: tuple[int, ...]
) -> None:
    memory, cache = cache_of(model, src, LENGTH)
    for part in tgt.split(list(chunks), dim=1):
        logits = model.output(model.decode(part, memory, cache=cache))
        gaps.add(logits, whole[cache.length - 1][:, -part.shape[1] :])


def _follow_beams(gaps: Gaps, model: Transformer, src: Tensor, tgt: Tensor, seed: int) -> None:
    """Beams get different tokens and change places after every step: within their sentence, then across sentences."""
    rng = torch.Generator().manual_seed(seed)
    src = src.repeat_interleave(BEAMS, dim=0)
    rows = len(src)
    ids = torch.randint(1, 17, (rows, LENGTH), generator=rng)
    memory, cache = cache_of(model, src, LENGTH)
    for t in range(LENGTH):
        logits = model.output(model.decode(ids[:, t : t + 1], memory, cache=cache))
        gaps.add(logits[:, 0], model(src, ids[:, : t + 1])[:, -1])
        if same_source := t < LENGTH // 2:
            order = torch.cat([i + torch.randint(BEAMS, (BEAMS,), generator=rng) for i in range(0, rows, BEAMS)])
        else:
            order = torch.randint(rows, (rows,), generator=rng)
        cache.reorder(order, same_source=same_source)
        src, memory = (src, memory) if same_source else (src[order], memory[order])
        ids = torch.cat([ids[order, : t + 1], ids[:, t + 1 :]], dim=1)


def _random_config(rng: np.random.Generator, seed: int) -> TransformerConfig:
    h, d_k = int(rng.integers(1, 5)), int(rng.integers(1, 7))
    tying = TYINGS[seed % 3]
    return TransformerConfig(
        src_vocab_size=13 if tying == "all" else 11,
        tgt_vocab_size=13,
        d_model=h * d_k if h * d_k > 1 else 2,  # LayerNorm of one number is always its shift
        num_heads=h,
        num_encoder_layers=int(rng.integers(1, 3)),
        num_decoder_layers=int(rng.integers(1, 4)),
        d_ff=int(rng.integers(1, 18)),
        max_len=17,
        dropout=0.0,
        activation=("relu", "gelu", "gelu_tanh", "silu")[seed % 4],
        norm_first=bool(rng.integers(2)),
        layer_norm_eps=float(rng.choice([1e-5, 1e-6, 0.1])),
        scale_embedding=bool(rng.integers(2)),
        position=POSITIONS[int(rng.integers(4))],
        tie_embeddings=tying,
        output_bias=bool(rng.integers(2)),
    )


def _random_batch(rng: np.random.Generator, seed: int) -> tuple[Tensor, Tensor]:
    batch, S, T = (int(rng.integers(1, top)) for top in (5, 12, 12))
    src = token_ids(batch, S, vocab_size=11, seed=seed)
    real = torch.from_numpy(rng.integers(1, S + 1, (batch, 1)))
    return torch.where(torch.arange(S) < real, src, 0), token_ids(batch, T, vocab_size=13, seed=seed + 1)


def _against_reference(model: Transformer, src: Tensor, tgt: Tensor, seed: int) -> dict[str, float]:
    right, back = model_reference.transformer(parameters_of(model), array(src), array(tgt), model.config)
    logits, to_logits = model(src, tgt), numbers(*right.shape, seed=seed)
    model.zero_grad()
    (to_logits * logits).sum().backward()
    expected = add_tied(model, back(array(to_logits)))
    found = gradients_of(model)
    assert found.keys() == expected.keys()
    biggest = max(1.0, max(np.abs(g).max() for g in expected.values()))
    off = max(np.abs(found[name] - g).max() for name, g in expected.items())
    return {"logits": worst(logits, right), "gradients": float(off / biggest)}


def add_tied(model: nn.Module, gradients: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Gradients under the names of `named_parameters`: one that is used under several names gets the sum."""
    names: dict[int, list[str]] = {}
    for name, p in model.named_parameters(remove_duplicate=False):
        names.setdefault(id(p), []).append(name)
    assert sorted(itertools.chain(*names.values())) == sorted(gradients)
    return {uses[0]: sum(gradients[name] for name in uses) for uses in names.values()}


def _against_torch(model: Transformer, src: Tensor, tgt: Tensor, seed: int) -> dict[str, float]:
    theirs = torch_transformer(model)
    gradients, outputs = [], []
    for run in (lambda: model(src, tgt), lambda: run_torch(theirs, model, src, tgt)):
        model.zero_grad()
        outputs.append(run())
        (numbers(*outputs[-1].shape, seed=seed) * outputs[-1]).sum().backward()
        gradients.append(model.encoder.embedding.weight.grad.clone())  # what passed through every layer of both stacks
    biggest = max(1.0, gradients[0].abs().max().item())
    return {
        "logits against torch": worst(outputs[0], outputs[1]),
        "gradients against torch": worst(gradients[0], gradients[1]) / biggest,
    }


def main() -> None:
    """Measures everything and prints one line per figure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--configs", type=int, default=100, help="random configs for the whole model (default 100)")
    configs = parser.parse_args().configs
    torch.set_num_threads(1)
    for title, measure, bar in (
        (f"model, float64, {configs} configs", lambda: model_errors(configs), 1e-10),
        ("paper-size model, float32, post-LN", paper_size_errors, 1e-5),
        ("paper-size model, float32, pre-LN", lambda: paper_size_errors(norm_first=True), 1e-5),
    ):
        start = time.perf_counter()
        said = "  ".join(f"{name} {error:.1e}" for name, error in measure().items())
        print(f"{title:36} bar {bar:.0e}  {said}  ({time.perf_counter() - start:.1f} s)", flush=True)
    for dtype, bar in ((torch.float64, 1e-10), (torch.float32, 1e-5)):
        gaps, name = cached_gaps(dtype), str(dtype).removeprefix("torch.")
        print(
            f"{f'cached against full, {name}':36} bar {bar:.0e}  {gaps.cases} cases, worst gap {gaps.worst:.1e}",
            flush=True,
        )
    for dtype in HALF_DTYPES:
        found, name = half_precision_ratio(dtype, configs // 2), str(dtype).removeprefix("torch.")
        said = (
            f"mean ratio {found['ratio']:.2f}  worst error {found['ours']:.1e}, of torch's model {found['torch']:.1e}"
        )
        print(f"{f'model, {name}, {configs // 2} configs':36} bar 2 x    {said}")


if __name__ == "__main__":
    main()
