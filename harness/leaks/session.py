"""One run of one scenario: steps, samples at their boundaries, faults, and what is left behind.

Events go to standard output, one JSON object a line, in the native driver's schema
(umpatch.driver/1), so that whatever runs native scenarios runs these.
"""

from __future__ import annotations

import contextlib
import gc
import json
import random
import sys
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, TextIO

import torch

from memory import Memory, footprint, memory_of

if TYPE_CHECKING:
    from scenario import Entry, Size

SCHEMA = "umpatch.driver/1"
MOST_SAMPLES = 500
MOST_FAULTS = 20
#: the parameter that any scenario takes: bytes that each step keeps on purpose
LEAK_SETTING = "leak_bytes_per_step"

SAMPLED_COUNTERS = ("allocations", "new_buffers", "commits", "blocking_waits")

FAULT_KINDS = frozenset(
    {
        "corruption",
        "hazard",
        "accounting",
        "deadlock",
        "out-of-memory",
        "wrong-data",
        "unexpected-error",
        "state",
    }
)


class Session:
    """What a scenario works with."""

    def __init__(
        self,
        entry: Entry,
        device: torch.device,
        seed: int,
        size: Size,
        leak_bytes_per_step: int = 0,
        output: TextIO = sys.stdout,
    ) -> None:
        self.device = device
        self.seed = seed
        self.random = random.Random(seed)
        self.step_count = size.steps
        self._entry = entry
        self._parameters = dict(size.parameters)
        self._leak_bytes = leak_bytes_per_step
        self._kept: list[torch.Tensor] = []
        self._output = output
        self._memory: Memory = memory_of(device)
        self._sample_every = max(1, -(-size.steps // MOST_SAMPLES))
        self._started = time.monotonic_ns()
        self._step: int | None = None
        self._peak_current = 0
        self._peak_driver = 0
        self._peak_pending = 0
        self._faults = 0
        self._own_counters: dict[str, int] = {}

    # -- what scenarios use ---------------------------------------------------------------------

    def parameter(self, name: str) -> int:
        """A parameter of the scenario's size, or what --set made of it."""
        return self._parameters[name]

    def steps(self) -> Iterator[int]:
        """The steps, with a sample at the end of those that are sampled."""
        for step in range(self.step_count):
            self._step = step
            yield step
            self._leak()
            self._end_step(step)

    def synchronize(self) -> None:
        """Wait for the device; a scenario calls it only where the reported program did."""
        self._memory.synchronize()

    def empty_cache(self) -> None:
        """torch.<device>.empty_cache()."""
        self._memory.empty_cache()

    def randn(self, *shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
        """Normal numbers on the device; the seed of the run makes them the same in both arms."""
        return torch.randn(*shape, dtype=dtype, device=self.device)

    def driver_bytes(self) -> int:
        """What the driver holds now; 0 where the device does not tell."""
        return self._memory.driver() or 0

    def count(self, name: str, value: int) -> None:
        """A counter of the scenario's own, reported at the end."""
        self._own_counters[name] = value

    def fault(self, kind: str, detail: str, wrong_bytes: int = 0) -> None:
        """Report a fault; the run goes on."""
        if kind not in FAULT_KINDS:
            raise ValueError(f"{kind} is no kind of fault")
        self._faults += 1
        if self._faults > MOST_FAULTS:
            return
        self._emit(
            {
                "event": "fault",
                "kind": kind,
                "step": self._step,
                "detail": detail,
                "bytes": wrong_bytes,
            }
        )

    def expect_equal(
        self, actual: torch.Tensor, expected: torch.Tensor, what: str, kind: str = "wrong-data"
    ) -> bool:
        """Compare two CPU tensors bit by bit; report the bytes that differ."""
        if actual.shape != expected.shape or actual.dtype != expected.dtype:
            self.fault(kind, f"{what}: {describe(actual)} instead of {describe(expected)}")
            return False
        different = as_bytes(actual) != as_bytes(expected)
        wrong = int(different.sum())
        if wrong == 0:
            return True
        first = int(different.nonzero()[0]) // max(1, actual.element_size())
        self.fault(
            kind,
            f"{what}: {wrong} bytes differ, the first in element {first}: "
            f"{actual.flatten()[first].item()} instead of {expected.flatten()[first].item()}",
            wrong,
        )
        return False

    # -- the run --------------------------------------------------------------------------------

    def run(self) -> bool:
        """Run the scenario and report its end. False if the scenario itself failed."""
        self._emit(
            {
                "event": "begin",
                "schema": SCHEMA,
                "scenario": self._entry.scenario.id,
                "seed": self.seed,
                "steps": self.step_count,
                "settings": {
                    "device": self.device.type,
                    **self._parameters,
                    **({LEAK_SETTING: self._leak_bytes} if self._leak_bytes else {}),
                },
            }
        )
        torch.manual_seed(self.seed)
        outcome, detail = "ok", None
        try:
            self._entry.run(self)
        except RuntimeError as error:
            if is_out_of_memory(error):
                self.fault("out-of-memory", str(error)[:300])
                outcome = "out-of-memory"
            else:
                self.fault("unexpected-error", f"{type(error).__name__}: {error}"[:300])
                outcome, detail = "error", str(error)[:300]
        if outcome == "ok" and self._faults:
            outcome = "faulted"
        self._end(outcome, detail)
        return outcome != "error"

    def _leak(self) -> None:
        """Keep memory until the end of the process, if asked to: a leak of a known size."""
        if self._leak_bytes > 0:
            # written to, so that it is resident where memory is only promised until then
            kept = torch.ones(self._leak_bytes, dtype=torch.uint8, device=self.device)
            self._kept.append(kept)

    def _end_step(self, step: int) -> None:
        current = self._memory.current()
        driver = self._memory.driver()
        self._peak_current = max(self._peak_current, current or 0)
        self._peak_driver = max(self._peak_driver, driver or 0)
        if step % self._sample_every and step != self.step_count - 1:
            return
        pending = self._memory.pending()
        self._peak_pending = max(self._peak_pending, pending or 0)
        counters = self._memory.counters()
        self._emit(
            {
                "event": "sample",
                "step": step,
                "current_bytes": current,
                "driver_bytes": driver,
                "pending_bytes": pending,
                "footprint_bytes": footprint(),
                "time_ns": time.monotonic_ns() - self._started,
                **{name: counters.get(name) for name in SAMPLED_COUNTERS},
            }
        )

    def _end(self, outcome: str, detail: str | None) -> None:
        gc.collect()
        counters = self._memory.counters()
        residual_current = residual_driver = None
        with contextlib.suppress(RuntimeError):  # after an error the device may refuse all work
            self._memory.synchronize()
            self._memory.empty_cache()
            residual_current, residual_driver = self._memory.current(), self._memory.driver()
        self._emit(
            {
                "event": "end",
                "outcome": outcome,
                "detail": detail,
                "peak_driver_bytes": self._peak_driver,
                "peak_current_bytes": self._peak_current,
                "peak_pending_bytes": self._peak_pending,
                "residual_current_bytes": residual_current,
                "residual_driver_bytes": residual_driver,
                "counters": {**counters, **self._own_counters, "faults": self._faults},
            }
        )

    def _emit(self, event: dict[str, object]) -> None:
        self._output.write(json.dumps(event) + "\n")
        self._output.flush()


def describe(tensor: torch.Tensor) -> str:
    """Shape and type, for messages."""
    return f"{tuple(tensor.shape)} of {str(tensor.dtype).removeprefix('torch.')}"


def as_bytes(tensor: torch.Tensor) -> torch.Tensor:
    """The bytes of a CPU tensor's elements, in order."""
    return tensor.detach().contiguous().reshape(-1).view(torch.uint8)


def is_out_of_memory(error: RuntimeError) -> bool:
    """Whether the device ran out of memory; MPS says so in words only."""
    return isinstance(error, torch.OutOfMemoryError) or "out of memory" in str(error)
