"""Scaled dot product attention over sequences of random length.

Reported: driver memory grows until it saturates while current stays flat: a cache that fills, and
no leak; doubling the run tells the two apart.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from scenario import Scenario, Size

if TYPE_CHECKING:
    from session import Session

SHAPE = {"batch": 4, "heads": 8, "width": 64, "shortest": 128, "longest": 255}

SCENARIO = Scenario(
    id="sdpa-random-seq",
    title="attention over sequences of random length",
    reproduces="pytorch/pytorch#152550",
    metric="driver",
    kind="gpu-only",
    patches=(),
    quick=Size(60, {**SHAPE, "heads": 2, "width": 32}),
    full=Size(400, SHAPE),
)


def run(session: Session) -> None:
    """Inference, one random length a step."""
    import torch
    from torch.nn import functional

    of = session.parameter
    with torch.no_grad():
        for _ in session.steps():
            length = session.random.randint(of("shortest"), of("longest"))
            query, key, value = (
                session.randn(of("batch"), of("heads"), length, of("width")) for _ in range(3)
            )
            functional.scaled_dot_product_attention(query, key, value)
