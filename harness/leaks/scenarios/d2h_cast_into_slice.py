"""Float to half into a slice [2:] of a CPU tensor: the source on the device must not change."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scenario import Scenario, Size

if TYPE_CHECKING:
    from session import Session

SCENARIO = Scenario(
    id="d2h-cast-into-slice",
    title="device-to-host cast into a slice",
    reproduces="pytorch/pytorch#189563",
    metric="values",
    kind="copy",
    patches=("memcpy-copy",),
    quick=Size(20, {"elements": 1024}),
    full=Size(200, {"elements": 1024}),
)


def run(session: Session) -> None:
    """Compares the destination, and the source before and after."""
    import torch

    elements = session.parameter("elements")
    for _ in session.steps():
        source = session.randn(elements)
        before = source.cpu()
        destination = torch.zeros(elements + 2, dtype=torch.float16)
        destination[2:].copy_(source)
        expected = torch.cat([torch.zeros(2, dtype=torch.float16), before.to(torch.float16)])
        session.expect_equal(destination, expected, "the slice that was copied into")
        session.expect_equal(source.cpu(), before, "the source of a device-to-host cast")
