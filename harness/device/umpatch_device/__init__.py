"""device="mps" for a stock Linux torch wheel, served by a PyTorch tree's own MPS runtime.

torch loads this package by itself, through its `torch.backends` entry point, at the end of
`import torch`; TORCH_DEVICE_BACKEND_AUTOLOAD=0 keeps it away.

Environment:
  SIMULATED_METAL_*     settings of the simulated Metal, by the names of the native driver's --set
  UMPATCH_DEVICE_MACOS  the macOS version that platform.mac_ver() reports, for PyTorch's test suite
  UMPATCH_DEVICE_TRACE  log each operator on stderr
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import ModuleType

    import torch

__all__ = [
    "Audit",
    "DeviceError",
    "audit",
    "counters",
    "pause_gpu",
    "pin_memory",
    "resume_gpu",
    "set_setting",
    "settings",
    "shared_memory",
    "wait_until_idle",
]


class DeviceError(RuntimeError):
    """The simulated device cannot be used as asked."""


def counters() -> dict[str, int]:
    """Cumulative counters of this process, by the names that the native driver uses."""
    return _extension().counters()


@dataclass(frozen=True)
class Audit:
    """What the tree's allocator holds, and where its books disagree with each other."""

    pending_bytes: int
    in_flight_free_bytes: int
    violations: list[tuple[str, int]]


def audit() -> Audit:
    """Look into the tree's allocator. Takes its lock and walks its pools: not for tight loops."""
    return Audit(*_extension().audit())


def settings() -> dict[str, str]:
    """All settings of the simulated Metal and their values."""
    return _extension().settings()


def pin_memory(tensor: torch.Tensor) -> torch.Tensor:
    """A copy of a CPU tensor in memory of the tree's own pinned-memory allocator.

    What Tensor.pin_memory() does on the versions where it works for MPS: in the classic generation
    it raises, there as here.
    """
    return _extension().pin_memory(tensor)


def set_setting(name: str, value: str | int) -> None:
    """Change a setting of the simulated Metal that may change at any time, such as gpu_us_*."""
    if not _extension().apply_setting(name, str(value)):
        raise DeviceError(f"setting {name}={value} is unknown or out of range")


def pause_gpu() -> None:
    """Hold the simulated GPU before its next command buffer."""
    _extension().pause_gpu()


def resume_gpu() -> None:
    """Let the simulated GPU go on."""
    _extension().resume_gpu()


def wait_until_idle() -> None:
    """Wait for all committed work, without committing anything."""
    _extension().wait_until_idle()


def shared_memory(tensor: torch.Tensor) -> torch.Tensor | None:
    """A CPU tensor over the storage of an MPS tensor, without any synchronisation.

    None if the storage is private. This is what code that relies on unified memory does, and what
    an allocator must keep safe. The caller keeps `tensor` alive.
    """
    import ctypes

    import torch

    storage = tensor.untyped_storage()
    found = _extension().shared_address(storage.data_ptr())
    if found is None:
        return None
    memory = (ctypes.c_char * storage.nbytes()).from_address(found[0])
    return torch.frombuffer(memory, dtype=tensor.dtype)


def _extension() -> ModuleType:
    from . import _native

    return _native


def _autoload() -> None:
    """Entry point: called by torch at the end of its own import."""
    from . import wheel

    wheel.register(_build_description())


def _build_description() -> dict[str, str]:
    path = Path(__file__).with_name("build.json")
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise DeviceError(
            f"{path} is missing: this copy of the device was not built. "
            "Run `umpatch build --device simulated`."
        ) from error
