"""Linear forward in a loop that nothing ever synchronises.

Reported: driver memory grows by the output's bytes each step until the watermark. Whatever keeps
freed blocks until the device is done with them shows its price here, since nothing commits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from scenario import Scenario, Size

if TYPE_CHECKING:
    from session import Session

SHAPE = {"width": 512, "rows": 64}

SCENARIO = Scenario(
    id="linear-never-sync",
    title="Linear forward, never synchronised",
    reproduces="pytorch/pytorch#132332",
    metric="driver",
    kind="gpu-only",
    patches=("pending-free",),
    quick=Size(1000, SHAPE),
    full=Size(6000, SHAPE),
    reported=Size(100_000, SHAPE),
)


def run(session: Session) -> None:
    """Inference; the output is dropped at once."""
    import torch
    from torch import nn

    of = session.parameter
    model = nn.Linear(of("width"), of("width")).to(session.device)
    x = session.randn(of("rows"), of("width"))
    with torch.no_grad():
        for _ in session.steps():
            model(x)
