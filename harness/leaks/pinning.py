"""Pinned host memory, from the allocator under test."""

from __future__ import annotations

import torch

from memory import simulated_device


def pin(tensor: torch.Tensor, device: torch.device) -> torch.Tensor:
    """A copy of a CPU tensor in memory that the device can reach.

    On the simulated device it comes from the tree's own pinned-memory allocator directly:
    Tensor.pin_memory() of the classic generation raises for MPS, on a Mac too.
    """
    if device.type == "mps" and simulated_device():
        import umpatch_device

        return umpatch_device.pin_memory(tensor)
    return tensor.pin_memory() if device.type != "cpu" else tensor.clone()
