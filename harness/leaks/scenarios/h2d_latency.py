"""What the host pays for a host-to-device copy of 64 KB.

Reported on an M4 Pro: 113 microseconds by blit, 1.5 by memcpy. Times of a simulated device are
those of its model: compare arms, not machines.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from scenario import Scenario, Size

if TYPE_CHECKING:
    from session import Session

SCENARIO = Scenario(
    id="h2d-latency",
    title="latency of a 64 KB host-to-device copy",
    reproduces="pytorch/pytorch#182749",
    metric="latency",
    kind="copy",
    patches=("memcpy-copy",),
    quick=Size(200, {"bytes": 64_000}),
    full=Size(5000, {"bytes": 64_000}),
    simulated={"gpu_us_per_command_buffer": "100"},
)


def run(session: Session) -> None:
    """Times to() alone, and uses what it copied, so that the device has work in between."""
    import statistics
    import time

    import torch

    source = torch.randn(session.parameter("bytes") // 4)
    total = torch.zeros(source.shape, device=session.device)
    durations = []
    for _ in session.steps():
        start = time.perf_counter_ns()
        batch = source.to(session.device)
        durations.append(time.perf_counter_ns() - start)
        total += batch
    session.count("copy_latency_ns", int(statistics.median(durations)))
