"""From objects to tensors and back: what of a model, its optimizer and the random generators makes up a state.

Floor 4b.
"""

import torch
from torch import Tensor, nn

from .averaging import AveragedWeights
from .distributed import Processes
from .state import SavedState

MOMENTS = ("step", "exp_avg", "exp_avg_sq")  # Adam's, for every weight


def snapshot(
    model: nn.Module,
    optimizer: torch.optim.Adam,
    average: AveragedWeights | None,
    best: dict[str, Tensor],
    processes: Processes,
    device: torch.device,
) -> dict[str, dict[str, Tensor]]:
    """Gathers all tensors that decide how a training goes on; all processes take part, since each has its own random numbers.

    Args:
        model: as trained so far.
        optimizer: with its moments.
        average: of the weights, or None.
        best: weights of the best epoch, or nothing.
        processes: that train together.
        device: on which they train.

    Returns:
        {group: {name: tensor}}; the tensors are the live ones.

    Source:
        Ours; chapter 10.
    """
    adam = {name: optimizer.state[w] for name, w in model.named_parameters() if w in optimizer.state}
    groups = {f"adam.{moment}": {name: state[moment] for name, state in adam.items()} for moment in MOMENTS}
    random = {f"cpu.{i}": state for i, state in enumerate(processes.gather(torch.get_rng_state(), device))}
    if device.type == "cuda":
        own = torch.cuda.get_rng_state(device)
        random |= {f"cuda.{i}": state for i, state in enumerate(processes.gather(own, device))}
    return {"model": _once(model), **groups, "average": average.weights if average else {}, "best": best, "rng": random}


@torch.no_grad()
def restore(
    saved: SavedState,
    model: nn.Module,
    optimizer: torch.optim.Adam,
    scaler: torch.amp.GradScaler,
    average: AveragedWeights | None,
    rank: int,
) -> dict[str, Tensor]:
    """Puts everything back where `snapshot` found it.

    Args:
        saved: from `read_state`, which has proved that it fits.
        model: filled in place.
        optimizer: over the model's weights that are trained, in their order.
        scaler: of gradients; may be off.
        average: filled in place, or None.
        rank: of this process, whose random numbers go on.

    Returns:
        The weights of the best epoch, on the model's device, or nothing.

    Source:
        Ours; chapter 10.
    """
    own = _once(model)
    for name, tensor in saved.group("model").items():
        own[name].copy_(tensor)  # these share the model's memory
    trained = [name for name, weight in model.named_parameters() if weight.requires_grad]
    moments = {moment: saved.group(f"adam.{moment}") for moment in MOMENTS}
    state = {i: {m: moments[m][name] for m in MOMENTS} for i, name in enumerate(trained) if name in moments["step"]}
    optimizer.load_state_dict({"state": state, "param_groups": optimizer.state_dict()["param_groups"]})
    if saved.scaler:
        scaler.load_state_dict(saved.scaler)
    if average:
        average.weights = {name: tensor.to(average.weights[name]) for name, tensor in saved.group("average").items()}
    random, device = saved.group("rng"), next(model.parameters()).device
    torch.set_rng_state(random[f"cpu.{rank}"])
    if device.type == "cuda" and f"cuda.{rank}" in random:  # a training that comes from a CPU draws on from the seed
        torch.cuda.set_rng_state(random[f"cuda.{rank}"], device)
    return {name: tensor.to(device) for name, tensor in saved.group("best").items()}


def _once(model: nn.Module) -> dict[str, Tensor]:
    """The model's state with every tied table under its first name only."""
    seen: set[int] = set()
    return {name: t for name, t in model.state_dict().items() if not (t.data_ptr() in seen or seen.add(t.data_ptr()))}
