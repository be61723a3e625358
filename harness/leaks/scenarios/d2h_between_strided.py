"""Device to host between views [::2]: the values, and the gaps between them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scenario import Scenario, Size

if TYPE_CHECKING:
    from session import Session

SCENARIO = Scenario(
    id="d2h-between-strided",
    title="device-to-host between strided views",
    reproduces="pytorch/pytorch#189961",
    metric="values",
    kind="copy",
    patches=("memcpy-copy",),
    quick=Size(20, {"elements": 512}),
    full=Size(200, {"elements": 512}),
)


def run(session: Session) -> None:
    """The gaps hold a value that no copy may touch."""
    import torch

    elements = session.parameter("elements")
    for _ in session.steps():
        source = session.randn(2 * elements)
        destination = torch.full((2 * elements,), 7.0)
        destination[::2].copy_(source[::2])
        expected = torch.full((2 * elements,), 7.0)
        expected[::2] = source.cpu()[::2]
        session.expect_equal(destination, expected, "a strided view and the gaps in it")
