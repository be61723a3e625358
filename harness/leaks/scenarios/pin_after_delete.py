"""A tensor is filled on the device and deleted; memory pinned next must not be written to by it.

Late device work overwrites pinned memory if the allocator gives it a block that is still in flight.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from scenario import Scenario, Size

if TYPE_CHECKING:
    from session import Session

SCENARIO = Scenario(
    id="pin-after-delete",
    title="pinned memory after a deleted tensor",
    reproduces="pytorch/pytorch#193819",
    metric="values",
    kind="cpu-write",
    patches=("pending-free",),
    quick=Size(50, {"elements": 1 << 18}),
    full=Size(500, {"elements": 1 << 18}),
    simulated={"mode": "asynchronous", "gpu_us_per_command_buffer": "300"},
)


def run(session: Session) -> None:
    """Pins a known pattern right after the delete, and looks at it once the device is done."""
    import torch

    from pinning import pin

    elements = session.parameter("elements")
    pattern = torch.arange(elements, dtype=torch.float32)
    for step in session.steps():
        late = torch.empty(elements, device=session.device)
        late.fill_(float(-1 - step))
        del late
        pinned = pin(pattern, session.device)
        session.synchronize()
        session.expect_equal(pinned, pattern, "pinned memory", kind="corruption")
