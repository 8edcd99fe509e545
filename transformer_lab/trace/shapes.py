"""Tracing the shape of every step.

Floor 5: torch only.
"""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
import torch.nn as nn
from torch import Tensor
from torch.overrides import TorchFunctionMode

from .attention_maps import takes_need_weights
from .table import ShapeTrace, TraceRow

# What a reader wants to see as a step; everything else (sizes, dtypes, masks' bookkeeping) is passed over.
STEPS = {
    "matmul": "matmul", "__matmul__": "matmul", "bmm": "matmul", "linear": "linear", "softmax": "softmax",
    "masked_fill": "masked_fill", "reshape": "reshape", "view": "reshape", "transpose": "transpose", "permute": "transpose",
    "cat": "concat", "add": "add", "__add__": "add", "mul": "multiply", "__mul__": "multiply", "div": "divide",
    "__truediv__": "divide", "relu": "relu", "gelu": "gelu", "silu": "silu", "layer_norm": "layer_norm",
    "scaled_dot_product_attention": "fused attention",
}  # fmt: skip
TORCH = Path(torch.__file__).parent


def trace_shapes(model: nn.Module | Callable[..., Any], *inputs: Any, symbols: dict[str, int] | None = None) -> ShapeTrace:
    """Runs the model once and notes the shape of every step.

    The model runs as it is, in eval mode and without a graph; attention takes the formula path, so that splitting,
    scores and softmax are steps too.

    Args:
        model: a module, or a function of tensors.
        inputs: what to call it with: ids [B, S], vectors [B, S, …], heads [B, h, S, …] or one sentence's vectors [S, …].
            Where first and last input differ in length, the first has T.
        symbols: {name: size} to use as well as, or instead of, those found in the model.

    Returns:
        The table of steps.

    Raises:
        ValueError: two names have the same size, so that a size could not be named; choose inputs of other sizes.

    Source:
        Article, "Dimension map"; chapters 02 and 08.
    """
    sizes = _named_sizes(model, inputs, symbols or {})
    watcher = _Watcher(sizes)
    modules = list(model.modules()) if isinstance(model, nn.Module) else []
    was_training = [module.training for module in modules]
    handles = _hook_modules(model, watcher) if modules else []
    try:
        for module in modules:
            module.training = False
        with torch.no_grad(), watcher:
            model(*inputs)
    finally:
        for handle in handles:
            handle.remove()
        for module, training in zip(modules, was_training, strict=True):
            module.training = training
    return ShapeTrace(watcher.rows, sizes)


class _Watcher(TorchFunctionMode):
    """Notes every step that happens outside a leaf module, and every leaf module as one step."""

    def __init__(self, sizes: dict[str, int]) -> None:
        super().__init__()
        self.sizes = sizes
        self.rows: list[TraceRow] = []
        self.path: list[str] = []
        self.own: dict[str, int] = {}  # parameters that a module holds itself, until a step of it has been noted
        self.in_leaf = False

    def __torch_function__(self, func: Callable, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        result = func(*args, **(kwargs or {}))
        step = STEPS.get(getattr(func, "__name__", ""))
        if step and not self.in_leaf and isinstance(result, Tensor) and result.is_floating_point():
            caller = _caller()
            own = self.own.pop(self.path[-1], 0) if self.path else 0
            self.note(f"{caller}: {step}" if caller else step, args, result, own)
        return result

    def note(self, operation: str, args: tuple, result: Tensor, parameters: int) -> None:
        shapes = tuple(tuple(a.shape) for a in _flat(args) if isinstance(a, Tensor))
        path = self.path[-1] if self.path else ""
        output = tuple(result.shape)
        self.rows.append(TraceRow(path, operation, shapes, output, _name(output, self.sizes), parameters))


def _hook_modules(model: nn.Module, watcher: _Watcher) -> list:
    handles = []
    for path, module in model.named_modules():
        if isinstance(module, nn.Dropout | nn.Identity):
            continue
        leaf = next(module.children(), None) is None and path != ""

        def enter(module: nn.Module, args: tuple, kwargs: dict, path: str = path, leaf: bool = leaf) -> tuple[tuple, dict]:
            watcher.path.append(path)
            watcher.own[path] = sum(p.numel() for p in module.parameters(recurse=False))
            watcher.in_leaf = leaf
            return args, {**kwargs, "need_weights": True} if takes_need_weights(module) else kwargs

        def leave(module: nn.Module, args: tuple, result: Any, leaf: bool = leaf) -> None:
            if leaf and isinstance(result, Tensor):
                watcher.note(type(module).__name__, args, result, sum(p.numel() for p in module.parameters()))
            watcher.path.pop()
            watcher.in_leaf = False

        handles += [module.register_forward_pre_hook(enter, with_kwargs=True), module.register_forward_hook(leave)]
    return handles


def _caller() -> str:
    """Name of the function outside torch that asked for the step; "" for a forward or a notebook cell."""
    frame = sys._getframe(2)
    while frame and Path(frame.f_code.co_filename).is_relative_to(TORCH):
        frame = frame.f_back
    name = frame.f_code.co_name if frame else ""
    return "" if name in ("forward", "trace_shapes", "<module>", "<lambda>") or name.startswith("_") else name


def _flat(args: Any) -> Iterator[Any]:
    for arg in args:
        if isinstance(arg, tuple | list):
            yield from _flat(arg)
        else:
            yield arg


def _named_sizes(model: Any, inputs: tuple, given: dict[str, int]) -> dict[str, int]:
    """Finds B, S, T in the inputs and d_model, h, d_k, d_ff, V in the modules' attributes."""
    found: dict[str, int] = {}
    tensors = [x for x in inputs if isinstance(x, Tensor) and x.dim() >= 2 and x.dtype != torch.bool]
    if tensors:
        first, last = (x.unsqueeze(-1) if not x.is_floating_point() else x for x in (tensors[0], tensors[-1]))  # ids as [B, S, 1]
        if first.dim() > 2:
            found["B"] = first.shape[0]
        if first.dim() == 4:
            found["h"] = first.shape[1]
        if first.shape[-2] != last.shape[-2]:
            found["T"] = first.shape[-2]
        found["S"] = last.shape[-2]
    for module in model.modules() if isinstance(model, nn.Module) else ():
        for name, attribute in (("V", "num_embeddings"), ("d_model", "d_model"), ("h", "num_heads")):
            if isinstance(size := getattr(module, attribute, None), int):
                found.setdefault(name, size)
        if isinstance(inner := getattr(module, "linear1", None), nn.Linear):
            found.setdefault("d_model", inner.in_features)
            found.setdefault("d_ff", inner.out_features)
    if "h" in found and "d_model" in found:
        found["d_k"] = found["d_model"] // found["h"]
    if found.get("h") == 1:  # one head: its width is d_model and its axis needs no name
        del found["h"]
        found.pop("d_k", None)
    found.update(given)
    _refuse_equal_sizes(found)
    return found


def _refuse_equal_sizes(sizes: dict[str, int]) -> None:
    owner: dict[int, str] = {}
    for name, size in sizes.items():
        if name == "B":  # the batch is known by its place, the first axis
            continue
        if size in owner:
            raise ValueError(
                f"{owner[size]} and {name} are both {size}, so a shape could not say which is which; "
                "trace with inputs of another size"
            )
        owner[size] = name


def _name(shape: tuple[int, ...], sizes: dict[str, int]) -> tuple[str, ...]:
    names = {size: name for name, size in sizes.items() if name != "B"}
    batch = sizes.get("B")
    return tuple("B" if i == 0 and s == batch and len(shape) > 1 else names.get(s, str(s)) for i, s in enumerate(shape))
