"""What stays at the driver after a convolution's backward pass, once all tensors are gone.

Reported: about 30 MiB that empty_cache does not bring back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from scenario import Scenario, Size

if TYPE_CHECKING:
    from session import Session

SCENARIO = Scenario(
    id="conv-backward-residual",
    title="convolution backward, then empty_cache",
    reproduces="pytorch/pytorch#187330",
    metric="driver",
    kind="gpu-only",
    patches=("empty-cache",),
    quick=Size(10, {"channels": 16, "batch": 4, "side": 32}),
    full=Size(40, {"channels": 64, "batch": 8, "side": 64}),
    not_reproducible_simulated="the residual is MPSGraph's own memory, which the simulated "
    "MPSGraph does not have: here everything has to come back",
)


def run(session: Session) -> None:
    """Each step builds, uses and drops everything, then empties the cache."""
    from torch import nn

    of = session.parameter

    def forward_and_backward() -> None:
        layer = nn.Conv2d(3, of("channels"), 3, padding=1).to(session.device)
        layer(session.randn(of("batch"), 3, of("side"), of("side"))).sum().backward()

    empty = session.driver_bytes()
    for _ in session.steps():
        forward_and_backward()
        session.synchronize()
        session.empty_cache()
    session.count("residual_over_start_bytes", max(0, session.driver_bytes() - empty))
