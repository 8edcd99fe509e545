"""Checkpoints: a model in one file that is either whole or refused.

Floor 4a. The file is safetensors, sealed (see `sealed`) and written so that it is never half there (see `atomic`). Beside the
weights it holds, as text, the model's class, its config and what the caller added.
"""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from .atomic import write_atomically
from .config import TransformerConfig
from .decoder import Decoder
from .encoder import Encoder
from .sealed import CheckpointError as CheckpointError
from .sealed import check_names, first_ten, seal, unseal
from .transformer import Transformer

MODELS = {"Encoder": Encoder, "Decoder": Decoder, "Transformer": Transformer}  # what load_model builds
VERSION = "1"
MAX_LAYERS, MAX_TABLE = 1000, 1 << 26  # of a config in a file: layers of a stack, numbers of its position table
_TEXTS = ("format", "transformer_lab", "model", "dtype", "config", "shared", "metadata")
_DTYPES = {
    str(dtype).removeprefix("torch."): dtype for dtype in (torch.float16, torch.bfloat16, torch.float32, torch.float64)
}


@dataclass(frozen=True)
class Checkpoint:
    """What a checkpoint file holds, once its sum has been found right.

    Args:
        tensors: {state-dict path: tensor}, on the CPU, in the dtype of the file.
        config: sizes and switches of the model.
        metadata: what the caller of `save_model` added.
        model: name of the model's class.
        dtype: in which the model was when it was saved; the file may hold less.

    Source:
        Ours; chapter 10.
    """

    tensors: dict[str, Tensor]
    config: TransformerConfig
    metadata: dict[str, Any]
    model: str
    dtype: torch.dtype


def save_model(path: str | os.PathLike, model: nn.Module, *, dtype: torch.dtype | None = None, **metadata: Any) -> None:
    """Writes a model's weights, config and your own notes to one file, or leaves the old file as it was.

    Args:
        path: of the file; an existing one is replaced.
        model: any module with a `.config`; `load_model` builds those of `MODELS`.
        dtype: of the stored floating-point numbers, for example torch.float16 to halve the file; the model's when None.
        metadata: anything JSON can hold, under names of your choice.

    Raises:
        CheckpointError: the file cannot be written, or a weight does not fit into dtype.
        TypeError: the model has no config or mixes dtypes, or metadata is not JSON.

    Source:
        Ours; chapter 10.
    """
    config = getattr(model, "config", None)
    if not isinstance(config, TransformerConfig):
        kind = type(model).__name__
        raise TypeError(
            f"model must have a .config (TransformerConfig), from which it is built again, got {kind} without"
        )
    state = model.state_dict()
    first: dict[tuple, str] = {}  # a tied table is stored once, under its first name
    origin = {name: first.setdefault((t.data_ptr(), t.shape, t.stride()), name) for name, t in state.items()}
    texts = {
        "format": "pt",
        "transformer_lab": VERSION,
        "model": type(model).__name__,
        "dtype": _dtype_of(state),
        "config": json.dumps(config.to_dict()),
        "shared": json.dumps({name: source for name, source in origin.items() if name != source}),
        "metadata": _to_json(metadata),
    }
    tensors = {name: _stored(path, name, state[name], dtype) for name, source in origin.items() if name == source}
    data = seal(path, tensors, texts)
    try:
        write_atomically(path, data)
    except OSError as error:
        reason = error.strerror or error
        raise CheckpointError(f"{path}: cannot be written: {reason}; an older file is left as it was") from error


def load_model(path: str | os.PathLike, device: torch.device | str = "cpu") -> nn.Module:
    """Builds the model that a checkpoint describes and fills it, in eval mode and the dtype it had.

    Building draws no random numbers that the caller would notice.

    Args:
        path: of a file that `save_model` wrote.
        device: where the model goes.

    Returns:
        The model; `read_checkpoint(path).metadata` has the notes.

    Raises:
        CheckpointError: the file is missing, damaged, foreign, of another kind, or does not fit its own config.

    Source:
        Ours; chapter 10.
    """
    checkpoint = read_checkpoint(path)
    if checkpoint.model not in MODELS:
        raise CheckpointError(f"{path}: holds a {checkpoint.model!r}; load_model builds {', '.join(sorted(MODELS))}")
    return build(MODELS[checkpoint.model], checkpoint, source=path).to(device)


def build(kind: type[nn.Module], checkpoint: Checkpoint, *, source: str | os.PathLike) -> nn.Module:
    """Builds a model of a given class from a checkpoint's config, and fills it.

    Args:
        kind: the class, called with the config.
        checkpoint: from `read_checkpoint`.
        source: the file it came from, for messages.

    Returns:
        The model, in eval mode, on the CPU, in the dtype it had when it was saved.

    Raises:
        CheckpointError: config and weights do not fit each other.

    Source:
        Ours; chapter 10.
    """
    config, weights = checkpoint.config, checkpoint.tensors
    layers, table = max(config.num_encoder_layers, config.num_decoder_layers), config.max_len * config.d_model
    if layers > MAX_LAYERS or table > MAX_TABLE:  # before anything large is made
        sizes = f"{layers} layers (at most {MAX_LAYERS}) and {table} numbers of positions (at most {MAX_TABLE})"
        raise CheckpointError(f"{source}: its config asks for {sizes}")
    try:
        with torch.device("meta"):  # shapes without memory
            _check_fit(kind(config), weights, source)
    except (RuntimeError, TypeError, ValueError) as error:
        raise CheckpointError(f"{source}: its config asks for sizes that no tensor can have") from error
    with torch.random.fork_rng(devices=[]):
        model = kind(config).to(checkpoint.dtype)
    load_weights(model, weights, source=source)
    return model.eval()


def load_weights(model: nn.Module, tensors: Mapping[str, Tensor], *, source: str | os.PathLike) -> None:
    """Copies weights into a model of exactly the same names and shapes, all or none.

    Args:
        model: filled in place; its device and dtype stay.
        tensors: {state-dict path: tensor}.
        source: the file they came from, for the message.

    Raises:
        CheckpointError: names are missing or unexpected, shapes or kinds of number differ, or a tied table has two contents
            (the first ten of each are listed); the model is then unchanged.

    Source:
        Ours; chapter 10.
    """
    _check_fit(model, tensors, source)
    with torch.no_grad():
        for name, tensor in model.state_dict().items():  # these share the model's memory
            tensor.copy_(tensors[name])


def read_checkpoint(path: str | os.PathLike) -> Checkpoint:
    """Reads a file that `save_model` wrote and proves it whole, without building a model.

    Args:
        path: of the file.

    Returns:
        Tensors, config, metadata, class name and dtype.

    Raises:
        CheckpointError: missing, empty, truncated, padded, flipped, foreign, a pickle, or a config that is none.

    Source:
        Ours; chapter 10.
    """
    tensors, texts = unseal(path, _TEXTS)
    if texts["transformer_lab"] != VERSION:
        raise CheckpointError(
            f"{path}: format {texts['transformer_lab']!r}; this version of the package reads {VERSION!r}"
        )
    try:
        shared = json.loads(texts["shared"])
        check_names(path, shared)
        tensors |= {name: tensors[source] for name, source in shared.items()}
        config = TransformerConfig.from_dict(json.loads(texts["config"]))
        return Checkpoint(tensors, config, json.loads(texts["metadata"]), texts["model"], _DTYPES[texts["dtype"]])
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
        raise CheckpointError(f"{path}: its config or metadata is damaged: {error}") from error


def _check_fit(model: nn.Module, tensors: Mapping[str, Tensor], source: str | os.PathLike) -> None:
    own = model.state_dict()
    both = [(name, tensors[name], own[name]) for name in own if name in tensors]
    one: dict[int, str] = {}  # {memory: the first name it has}
    tied = [(name, first) for name, _, o in both if not o.is_meta and (first := one.setdefault(o.data_ptr(), name)) != name]
    problems = {
        "missing": [name for name in own if name not in tensors],
        "unexpected": [name for name in tensors if name not in own],
        "wrong shape": [f"{name} {list(t.shape)} instead of {list(o.shape)}" for name, t, o in both if t.shape != o.shape],
        "wrong dtype": [
            f"{name} {t.dtype} instead of {o.dtype}"
            for name, t, o in both
            if t.is_floating_point() != o.is_floating_point() or not (t.is_floating_point() or t.dtype == o.dtype)
        ],
        "two tables for one": [f"{n} and {m}" for n, m in tied if not torch.equal(tensors[n].double(), tensors[m].double())],
    }
    said = [f"{problem}: {first_ten(names)}" for problem, names in problems.items() if names]
    if said:
        raise CheckpointError(f"{source}: does not fit {type(model).__name__}; nothing was loaded; {'; '.join(said)}")


def _dtype_of(state: Mapping[str, Tensor]) -> str:
    found = {str(tensor.dtype).removeprefix("torch.") for tensor in state.values() if tensor.is_floating_point()}
    if len(found) != 1 or not found <= _DTYPES.keys():
        raise TypeError(f"the model's weights must be of one dtype out of {', '.join(_DTYPES)}, got {sorted(found)}")
    return found.pop()


def _to_json(metadata: Mapping[str, Any]) -> str:
    try:
        return json.dumps(metadata, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"metadata must be what JSON can hold (finite numbers, texts, lists, dicts): {error}"
        ) from error


def _stored(path: str | os.PathLike, name: str, tensor: Tensor, dtype: torch.dtype | None) -> Tensor:
    own = tensor.detach().cpu().contiguous()
    stored = own.to(dtype) if dtype is not None and own.is_floating_point() else own
    lost = int((stored.isinf() & own.isfinite()).sum())
    if lost:
        raise CheckpointError(f"{path}: {lost} numbers of {name} are too large for {dtype}; nothing was written")
    return stored
