"""What the tests of the whole model share: configs, seeded models and sentences, torch's own modules with our weights."""

import contextlib
import copy
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
import torch
from torch import Tensor, nn

from transformer_lab import DecoderCache, DecoderLayer, Transformer, TransformerConfig

from .support import KernelRecorder, copy_attention, copy_layer, randomise, token_ids, torch_encoder

CONFIG = TransformerConfig(
    src_vocab_size=19,
    tgt_vocab_size=17,
    d_model=6,
    num_heads=3,
    num_encoder_layers=1,
    num_decoder_layers=2,
    d_ff=11,
    max_len=23,
    dropout=0.0,
)
POSITIONS = ("sinusoidal", "sinusoidal_halves", "learned", "none")
TYINGS = ("none", "output", "all")
B, S, T = 2, 5, 7


def model_of(seed: int = 0, dtype: torch.dtype = torch.float64, scale: float = 0.5, **changes) -> Transformer:
    """A small model with every parameter drawn anew, biases and norms included; "all" makes the vocabularies equal."""
    if changes.get("tie_embeddings") == "all":
        changes.setdefault("src_vocab_size", CONFIG.tgt_vocab_size)
    return randomise(Transformer(replace(CONFIG, **changes)).to(dtype), seed, scale)


def sources(padded: bool = True) -> Tensor:
    """Two sources [2, 5]; the first has three tokens and then padding, unless padded is False."""
    return torch.tensor([[4, 7, 9, 0, 0] if padded else [4, 7, 9, 11, 2], [3, 5, 6, 8, 10]])


def targets(batch: int = B, length: int = T, seed: int = 3) -> Tensor:
    """Targets [batch, length] that begin with bos, without padding."""
    ids = token_ids(batch, length, vocab_size=CONFIG.tgt_vocab_size, seed=seed)
    ids[:, 0] = CONFIG.bos_id
    return ids


def cache_of(model: Transformer, src: Tensor, capacity: int) -> tuple[Tensor, DecoderCache]:
    """The memory of some sources and an empty cache for them."""
    memory = model.encode(src)
    return memory, model.new_cache(memory, src_mask=model.source_mask(src), capacity=capacity)


def step_by_step(
    model: Transformer, tgt: Tensor, memory: Tensor, cache: DecoderCache, chunks: tuple[int, ...]
) -> Tensor:
    """Logits [B, T, V] of a target given in pieces of these lengths."""
    return torch.cat(
        [model.output(model.decode(part, memory, cache=cache)) for part in tgt.split(list(chunks), 1)], dim=1
    )


def torch_decoder_layer(ours: DecoderLayer, config: TransformerConfig) -> nn.TransformerDecoderLayer:
    """torch's decoder layer with our weights; its masks mean the opposite, True = blocked."""
    activation = {"silu": nn.functional.silu, "gelu_tanh": lambda x: nn.functional.gelu(x, approximate="tanh")}
    theirs = nn.TransformerDecoderLayer(
        config.d_model,
        config.num_heads,
        config.d_ff,
        config.dropout,
        activation=activation.get(config.activation, config.activation),
        layer_norm_eps=config.layer_norm_eps,
        batch_first=True,
        norm_first=config.norm_first,
        dtype=ours.ffn.linear1.weight.dtype,
    )
    _copy_decoder_layer(ours, theirs)
    return theirs


def names_of_torch(d_model: int, *, cross: bool) -> dict[str, tuple[str, slice]]:
    """{our parameter of a layer: (torch's parameter, the rows of it)}."""
    attentions = {"self_attn": "self_attn"} | ({"cross_attn": "multihead_attn"} if cross else {})
    everything = slice(None)
    names = {}
    for kind in ("weight", "bias"):
        for ours, theirs in attentions.items():
            for i, W in enumerate(("W_q", "W_k", "W_v")):
                names[f"{ours}.{W}.{kind}"] = (f"{theirs}.in_proj_{kind}", slice(i * d_model, (i + 1) * d_model))
            names[f"{ours}.W_o.{kind}"] = (f"{theirs}.out_proj.{kind}", everything)
        for n in (1, 2):
            names[f"ffn.linear{n}.{kind}"] = (f"linear{n}.{kind}", everything)
        for n in range(1, 4 if cross else 3):
            names[f"add_norm{n}.norm.{kind}"] = (f"norm{n}.{kind}", everything)
    return names


def torch_transformer(ours: Transformer) -> nn.Transformer:
    """torch's whole model with our weights, between embeddings and output layer.

    `nn.Transformer` ends both of its stacks with one more LayerNorm whatever norm_first says. The paper's post-LN has none:
    each layer ends with its own. With norm_first it is our final_norm; without, it is taken out.
    """
    one = torch_decoder_layer(ours.decoder.layers[0], ours.config)
    norm = copy.deepcopy(ours.decoder.final_norm) if ours.config.norm_first else None
    theirs = nn.Transformer(
        ours.config.d_model,
        ours.config.num_heads,
        custom_encoder=torch_encoder(ours.encoder),
        custom_decoder=nn.TransformerDecoder(one, len(ours.decoder.layers), norm=norm),
        batch_first=True,
    )
    for mine, layer in zip(
        ours.encoder.layers, theirs.encoder.layers, strict=True
    ):  # nn.Transformer has drawn them anew
        copy_layer(mine, layer)
    for mine, layer in zip(ours.decoder.layers, theirs.decoder.layers, strict=True):
        _copy_decoder_layer(mine, layer)
    return theirs


def run_torch(theirs: nn.Transformer, ours: Transformer, src: Tensor, tgt: Tensor) -> Tensor:
    """Logits of torch's model between our embeddings and our output layer."""
    x = ours.encoder.pos_encoding(ours.encoder.embedding(src))
    y = ours.decoder.pos_encoding(ours.decoder.embedding(tgt))
    length = tgt.shape[1]
    hidden = theirs(
        x,
        y,
        tgt_mask=torch.ones(length, length, dtype=torch.bool).triu(1),
        src_key_padding_mask=src == ours.config.pad_id,
        memory_key_padding_mask=src == ours.config.pad_id,
    )
    return ours.output_linear(hidden)


def _copy_decoder_layer(ours: DecoderLayer, theirs: nn.TransformerDecoderLayer) -> None:
    copy_layer(ours, theirs)
    copy_attention(ours.cross_attn, theirs.multihead_attn)
    theirs.norm3.load_state_dict(ours.add_norm3.norm.state_dict())


def refusal(call: Callable[[], object], error: type[Exception]) -> tuple[str, list[str]]:
    """What a call says when it is refused, and the kernels that had computed something by then."""
    with KernelRecorder() as kernels, pytest.raises(error) as caught:
        call()
    return str(caught.value), kernels.computed


@contextlib.contextmanager
def breaks_off(module: nn.Module) -> Iterator[None]:
    """Inside, the module raises instead of answering."""

    def stop(*_):
        raise InterruptedError("broken off")

    handle = module.register_forward_pre_hook(stop)
    try:
        yield
    finally:
        handle.remove()
