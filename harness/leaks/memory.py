"""What a device says about its memory, without being synchronised by the question."""

from __future__ import annotations

import ctypes
import os
import sys
from typing import Protocol

import torch

Counters = dict[str, int]


class Memory(Protocol):
    """The figures of one device. None: the device has no such figure."""

    def current(self) -> int | None:
        """Bytes that live tensors hold."""

    def driver(self) -> int | None:
        """Bytes that the process holds at the driver, caches included."""

    def pending(self) -> int | None:
        """Bytes that are freed and wait for the device."""

    def counters(self) -> Counters:
        """Cumulative counters, by the driver contract's names where they exist."""

    def synchronize(self) -> None:
        """Wait for all work."""

    def empty_cache(self) -> None:
        """Give back what no tensor holds."""


def simulated_device() -> bool:
    """Whether device="mps" is the simulated one."""
    return "umpatch_device" in sys.modules and torch.backends.mps.is_built()


class MpsMemory:
    """A Mac's GPU, or the simulated one, which counts more."""

    def current(self) -> int:
        return torch.mps.current_allocated_memory()

    def driver(self) -> int:
        return torch.mps.driver_allocated_memory()

    def pending(self) -> int | None:
        if not simulated_device():
            return None
        import umpatch_device

        return umpatch_device.audit().pending_bytes

    def counters(self) -> Counters:
        if not simulated_device():
            return {}
        import umpatch_device

        counters = umpatch_device.counters()
        counters["accounting_errors"] = len(umpatch_device.audit().violations)
        return counters

    def synchronize(self) -> None:
        torch.mps.synchronize()

    def empty_cache(self) -> None:
        torch.mps.empty_cache()


class CudaMemory:
    """The caching allocator of CUDA, with which the harness itself is checked."""

    def current(self) -> int:
        return torch.cuda.memory_allocated()

    def driver(self) -> int:
        return torch.cuda.memory_reserved()

    def pending(self) -> None:
        return None

    def counters(self) -> Counters:
        figures = torch.cuda.memory_stats()
        allocations = int(figures.get("allocation.all.allocated", 0))
        segments = int(figures.get("segment.all.allocated", 0))
        return {
            "allocations": allocations,
            "new_buffers": segments,
            "reused": allocations - segments,
        }

    def synchronize(self) -> None:
        torch.cuda.synchronize()

    def empty_cache(self) -> None:
        torch.cuda.empty_cache()


class CpuMemory:
    """The process's own memory: what CPU tensors have."""

    def current(self) -> None:
        return None

    def driver(self) -> int | None:
        return footprint()

    def pending(self) -> None:
        return None

    def counters(self) -> Counters:
        return {}

    def synchronize(self) -> None:
        pass

    def empty_cache(self) -> None:
        pass


def memory_of(device: torch.device) -> Memory:
    """The figures of that device."""
    kinds: dict[str, type[Memory]] = {"mps": MpsMemory, "cuda": CudaMemory, "cpu": CpuMemory}
    return kinds[device.type]()


def footprint() -> int | None:
    """Memory of this process as the system sees it: phys_footprint on macOS, else resident."""
    if sys.platform == "darwin":
        return _phys_footprint()
    try:
        with open("/proc/self/statm", encoding="ascii") as statm:
            resident_pages = int(statm.read().split()[1])
    except OSError:
        return None
    return resident_pages * os.sysconf("SC_PAGE_SIZE")


def _phys_footprint() -> int | None:
    """ri_phys_footprint of proc_pid_rusage(RUSAGE_INFO_V2): what Activity Monitor calls memory."""

    class RusageInfoV2(ctypes.Structure):
        _fields_ = [
            ("uuid", ctypes.c_uint8 * 16),
            *((name, ctypes.c_uint64) for name in ("user", "system", "idle_wakeups", "wakeups")),
            *((name, ctypes.c_uint64) for name in ("pageins", "wired", "resident", "footprint")),
            ("rest", ctypes.c_uint64 * 32),
        ]

    information = RusageInfoV2()
    system = ctypes.CDLL("/usr/lib/libproc.dylib")
    if system.proc_pid_rusage(os.getpid(), 2, ctypes.byref(information)) != 0:
        return None
    return information.footprint
