"""CPU scalars copied to the device without blocking, their sources dropped at once.

Upstream's copy reads the host's memory when the device gets to it: by then other data may be there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from scenario import Scenario, Size

if TYPE_CHECKING:
    from session import Session

SCENARIO = Scenario(
    id="scalars-non-blocking",
    title="scalars copied non_blocking, sources dropped",
    reproduces="pytorch/pytorch#189690",
    metric="values",
    kind="copy",
    patches=("memcpy-copy",),
    quick=Size(100, {"scalars": 3}),
    full=Size(1000, {"scalars": 3}),
    simulated={"mode": "asynchronous", "gpu_us_per_command_buffer": "300"},
)


def run(session: Session) -> None:
    """Copies, drops the sources, lets new scalars take their memory, then compares."""
    import torch

    for step in session.steps():
        wanted = [float(step * 10 + i) for i in range(session.parameter("scalars"))]
        copies = [torch.tensor(value).to(session.device, non_blocking=True) for value in wanted]
        successors = [torch.tensor(-1.0) for _ in range(8)]
        got = torch.stack([copy.cpu() for copy in copies])
        session.expect_equal(got, torch.tensor(wanted), "scalars copied without blocking")
        del successors
