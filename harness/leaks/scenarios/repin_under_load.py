"""Pinned memory is copied to a busy device and dropped; what is pinned next must not reach it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scenario import Scenario, Size

if TYPE_CHECKING:
    from session import Session

SCENARIO = Scenario(
    id="repin-under-load",
    title="pinned memory dropped and pinned again under load",
    reproduces="pytorch/pytorch#188804",
    metric="values",
    kind="cpu-write",
    patches=("pending-free",),
    quick=Size(20, {"bytes": 1 << 20, "matmuls": 4, "side": 64}),
    full=Size(100, {"bytes": 30 << 20, "matmuls": 60, "side": 64}),
    reported=Size(100, {"bytes": 30 << 20, "matmuls": 60, "side": 4096}),
    simulated={"mode": "asynchronous", "gpu_us_per_command_buffer": "300"},
)


def run(session: Session) -> None:
    """Queues work, copies without blocking behind it, drops, pins other values."""
    import torch

    from pinning import pin

    of = session.parameter
    elements = of("bytes") // 4
    load = session.randn(of("side"), of("side"))
    for step in session.steps():
        product = load
        for _ in range(of("matmuls")):
            product = product @ load
        first = torch.full((elements,), float(step))
        pinned = pin(first, session.device)
        copy = pinned.to(session.device, non_blocking=True)
        del pinned
        again = pin(torch.full((elements,), -1.0), session.device)
        session.expect_equal(copy.cpu(), first, "a copy from pinned memory", kind="corruption")
        del again
