"""Names for the sizes of a traced pass: B, S, T, L, h, d_k, d_model, d_ff, V.

Floor 5: torch only.
"""

import inspect
from collections.abc import Callable, Iterator
from typing import Any

import torch
import torch.nn as nn
from torch import Tensor

OF_THE_MODEL = ("V", "V_src", "V_tgt", "d_model", "h", "d_ff", "d_k")


def named_sizes(call: Callable, inputs: tuple, options: dict[str, Any], given: dict[str, int]) -> dict[str, int]:
    """Finds B, S, T in the inputs, L in a cache, and d_model, h, d_k, d_ff, V in the modules' attributes.

    Args:
        call: the module, method or function that is to be traced.
        inputs: what it will be called with.
        options: what it will be called with by name.
        given: {name: size} that is known already.

    Returns:
        {name: size}.

    Raises:
        ValueError: two names have the same size.

    Source:
        Article, "Dimension map"; chapter 08.
    """
    found = _sizes_of_inputs(call, inputs, options)
    root = traced_module(call, inputs)
    if root is not None:
        for name, size in _sizes_of_modules(root):
            found.setdefault(name, size)
    if "h" in found and "d_model" in found:
        found["d_k"] = found["d_model"] // found["h"]
    if found.get("h") == 1:  # one head: its width is d_model and its axis needs no name, nor does any other of size 1
        found.pop("d_k", None)
        found = {name: size for name, size in found.items() if name == "B" or size > 1}
    found.update(given)
    _refuse_equal_sizes(found)
    return found


def traced_module(call: Callable, inputs: tuple) -> nn.Module | None:
    """Finds the module whose steps are to be watched.

    Args:
        call: a module, a method of one, or a function.
        inputs: what it will be called with.

    Returns:
        The module itself, the method's owner, the first module that the function is given, or None.

    Source:
        Ours; chapter 08.
    """
    return next((x for x in (getattr(call, "__self__", call), *inputs) if isinstance(x, nn.Module)), None)


def name_shape(shape: tuple[int, ...], sizes: dict[str, int]) -> tuple[str, ...]:
    """Puts names in place of numbers.

    Args:
        shape: sizes of the axes.
        sizes: {name: size}.

    Returns:
        A name per axis, or the number where there is none.

    Source:
        Chapter 08.
    """
    names = {size: name for name, size in sizes.items() if name != "B"}
    batch = sizes.get("B")
    return tuple("B" if i == 0 and s == batch and len(shape) > 1 else names.get(s, str(s)) for i, s in enumerate(shape))


def flat(args: Any) -> Iterator[Any]:
    """Walks through nested lists and tuples.

    Args:
        args: any nesting of lists and tuples.

    Returns:
        Its leaves, in order.

    Source:
        Chapter 08.
    """
    for arg in args:
        if isinstance(arg, tuple | list):
            yield from flat(arg)
        else:
            yield arg


def _sizes_of_inputs(call: Callable, inputs: tuple, options: dict[str, Any]) -> dict[str, int]:
    arguments = _by_name(call, inputs, options)
    tensors = {n: x for n, x in arguments if isinstance(x, Tensor) and x.dim() >= 2 and x.dtype != torch.bool}
    tensors = {n: x if x.is_floating_point() else x.unsqueeze(-1) for n, x in tensors.items()}  # ids as [B, S, 1]
    if not tensors:
        return {}
    source = next((n for n in ("src", "memory") if n in tensors), list(tensors)[-1])
    target = "tgt" if "tgt" in tensors else next((n for n in tensors if n != source), source)
    two_sided = target != source and source in ("src", "memory")
    first, last = tensors[target], tensors[source]
    T, S = first.shape[-2], last.shape[-2]
    held = next((x.length for _, x in arguments if _is_growing_cache(x) and x.length), 0)
    found = {"B": first.shape[0]} if first.dim() > 2 else {}
    if first.dim() == 4:
        found["h"] = first.shape[1]
    if two_sided or held or T != S:
        found["T"] = T
    if two_sided or T != S or not held:
        found["S"] = S
    if held:
        found["L"] = held + T
    return found


def _by_name(call: Callable, inputs: tuple, options: dict[str, Any]) -> list[tuple[str, Any]]:
    """Every argument with its name in the signature; those of one list have a number behind it."""
    try:
        bound = inspect.signature(call.forward if isinstance(call, nn.Module) else call).bind(*inputs, **options).arguments
    except (TypeError, ValueError):  # no signature, or the call will fail by itself
        bound = dict(enumerate(inputs))
    found = []
    for name, value in bound.items():
        several = list(flat([value]))
        found += [(name if len(several) == 1 else f"{name}.{i}", x) for i, x in enumerate(several)]
    return found


def _is_growing_cache(x: Any) -> bool:
    return hasattr(x, "reorder") and hasattr(x, "length") and not getattr(x, "fixed", False)


def _sizes_of_modules(root: nn.Module) -> Iterator[tuple[str, int]]:
    modules = list(root.modules())
    tables = list(dict.fromkeys(m.num_embeddings for m in modules if isinstance(m, nn.Embedding)))
    yield from zip(("V",) if len(tables) == 1 else ("V_src", "V_tgt"), tables, strict=False)
    for module in modules:
        for name, attribute in (("d_model", "d_model"), ("h", "num_heads")):
            if isinstance(size := getattr(module, attribute, None), int):
                yield name, size
        if isinstance(inner := getattr(module, "linear1", None), nn.Linear):
            yield from (("d_model", inner.in_features), ("d_ff", inner.out_features))


def _refuse_equal_sizes(sizes: dict[str, int]) -> None:
    owner: dict[int, str] = {}
    for name, size in sizes.items():
        if name == "B":  # the batch is known by its place, the first axis
            continue
        if size in owner:
            own = name in OF_THE_MODEL and owner[size] in OF_THE_MODEL
            raise ValueError(
                f"{owner[size]} and {name} are both {size}, so a shape could not say which is which; "
                + ("trace a model whose sizes all differ" if own else "trace with inputs of another size")
            )
        owner[size] = name
