"""A half-precision matrix to the CPU as float, and back as half, over and over.

Reported: driver memory grows by 64 KiB per step.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from scenario import Scenario, Size

if TYPE_CHECKING:
    from session import Session

SCENARIO = Scenario(
    id="copy-cast",
    title="half to CPU float and back",
    reproduces="pytorch/pytorch#114197",
    metric="driver",
    kind="copy",
    patches=("memcpy-copy",),
    quick=Size(300, {"side": 128}),
    full=Size(5000, {"side": 128}),
    reported=Size(50_000, {"side": 128}),
)


def run(session: Session) -> None:
    """Both directions cast; the values survive, since float holds every half."""
    import torch

    side = session.parameter("side")
    original = session.randn(side, side).to(torch.float16)
    expected = original.cpu()
    x = original
    for _ in session.steps():
        x = x.to("cpu", torch.float32).to(session.device, torch.float16)
    session.expect_equal(x.cpu(), expected, "a half that went to the CPU and back")
