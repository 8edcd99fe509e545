"""Several processes that train one model: each takes its share of every batch, and the update is that of the whole batch.

Floor 4b. `batches.shard` says whose rows are whose. Torch's DistributedDataParallel lets the gradients meet; what it averages,
the loop sums.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch import Tensor, nn

from .batches import Batch


@dataclass(frozen=True)
class Processes:
    """The processes of a training, seen from one of them; alone by default.

    Args:
        rank: number of this process, from 0; the one with 0 prints and writes for all.
        count: number of all processes.

    Source:
        `torchrun` calls them rank and world size; chapter 10.
    """

    rank: int = 0
    count: int = 1

    @classmethod
    def now(cls) -> "Processes":
        """Asks torch which processes there are.

        Returns:
            Those of the group that `process_group` joined; this process alone where there is none.

        Source:
            Ours; chapter 10.
        """
        if dist.is_available() and dist.is_initialized():
            return cls(dist.get_rank(), dist.get_world_size())
        return cls()

    @property
    def first(self) -> bool:
        """Whether this is the process that prints and writes."""
        return self.rank == 0

    def wrap(self, model: nn.Module) -> nn.Module:
        """Prepares a model so that gradients of all processes meet in `backward`, where they are averaged.

        Args:
            model: with the same weights in every process, or else those of the first are taken.

        Returns:
            The model itself when this process is alone; otherwise torch's DistributedDataParallel around it.

        Source:
            Li et al. 2020; chapter 10.
        """
        if self.count == 1:
            return model
        return nn.parallel.DistributedDataParallel(model, broadcast_buffers=False, gradient_as_bucket_view=True)

    def each(self, batches: Sequence[Batch], network: nn.Module) -> Iterator[Batch]:
        """Goes through the batches of an update; gradients of several processes meet in the last one's `backward` only.

        Args:
            batches: of this process; every process has as many.
            network: from `wrap`.

        Yields:
            One batch at a time.

        Source:
            Ours; chapter 10.
        """
        for batch in batches[:-1]:
            with nullcontext() if self.count == 1 else network.no_sync():
                yield batch
        yield batches[-1]

    def total(self, numbers: Sequence[float], device: torch.device) -> list[float]:
        """Adds numbers up over all processes.

        Args:
            numbers: as many in every process.
            device: on which the processes exchange.

        Returns:
            The sums, the same in every process.

        Source:
            Ours; chapter 10.
        """
        if self.count == 1:
            return list(numbers)
        sums = torch.tensor(numbers, dtype=torch.float64, device=device)
        dist.all_reduce(sums)
        return sums.tolist()

    def gather(self, tensor: Tensor, device: torch.device) -> list[Tensor]:
        """Collects one tensor of every process.

        Args:
            tensor: of the same shape and dtype in every process.
            device: on which the processes exchange.

        Returns:
            The tensors in the order of the ranks, on the CPU.

        Source:
            Ours; chapter 10.
        """
        if self.count == 1:
            return [tensor.cpu()]
        own = tensor.to(device)
        found = [torch.empty_like(own) for _ in range(self.count)]
        dist.all_gather(found, own)
        return [one.cpu() for one in found]


@contextmanager
def process_group(device: str = "auto") -> Iterator[torch.device]:
    """Joins the processes that `torchrun` started, if it did, and leaves them at the end.

    Torchrun tells each process its RANK, LOCAL_RANK and the WORLD_SIZE in the environment. CUDA devices talk through nccl,
    CPUs through gloo.

    Args:
        device: cpu, cuda, cuda:1 …; auto is CUDA where there is one, else the CPU. Of several processes each takes the CUDA
            device of its LOCAL_RANK.

    Yields:
        The device of this process.

    Source:
        Ours; chapter 10.
    """
    chosen = torch.device(("cuda" if torch.cuda.is_available() else "cpu") if device == "auto" else device)
    count = int(os.environ.get("WORLD_SIZE", "1"))
    if chosen.type == "cuda":
        if count > 1:
            chosen = torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0")))
        torch.cuda.set_device(chosen)
    if count == 1 or dist.is_initialized():
        yield chosen
        return
    dist.init_process_group("nccl" if chosen.type == "cuda" else "gloo")
    try:
        yield chosen
    finally:
        dist.destroy_process_group()
