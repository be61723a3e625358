"""A host-to-device copy of 4 GiB (2^30 floats), compared piece by piece.

The quick size only shows that the comparison works: the fault needs the whole 4 GiB, and twice that
in memory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from scenario import Scenario, Size

if TYPE_CHECKING:
    from session import Session

SCENARIO = Scenario(
    id="h2d-4gib",
    title="host-to-device copy of 4 GiB",
    reproduces="pytorch/pytorch#124335",
    metric="values",
    kind="copy",
    patches=("memcpy-copy",),
    quick=Size(1, {"mib": 64}),
    full=Size(1, {"mib": 4096}),
    simulated={"recommended_max_bytes": str(16 << 30)},
    in_quick_suite=False,
)

PIECE = 1 << 24


def run(session: Session) -> None:
    """A ramp that no piece shares with another; reading back goes through small copies only."""
    import torch

    elements = session.parameter("mib") << 18
    for _ in session.steps():
        source = torch.arange(elements, dtype=torch.int32)
        copy = source.to(session.device)
        for start in range(0, elements, PIECE):
            piece = copy[start : start + PIECE].clone().cpu()
            if not session.expect_equal(
                piece, source[start : start + PIECE], f"elements from {start} on"
            ):
                break
