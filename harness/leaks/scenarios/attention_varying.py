"""Attention with a new shape at each call: torch's own counters stay flat, the footprint grows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scenario import Scenario, Size

if TYPE_CHECKING:
    from session import Session

SCENARIO = Scenario(
    id="attention-varying",
    title="attention with ever new shapes",
    reproduces="pytorch/pytorch#181213",
    metric="footprint",
    kind="gpu-only",
    patches=(),
    quick=Size(60, {"heads": 2, "width": 32, "first_length": 32}),
    full=Size(500, {"heads": 8, "width": 64, "first_length": 32}),
    not_reproducible_simulated="what grows is memory of MPSGraph's executables, which the "
    "simulated MPSGraph does not have",
)


def run(session: Session) -> None:
    """Inference; no two calls have the same shape."""
    import torch
    from torch.nn import functional

    of = session.parameter
    with torch.no_grad():
        for step in session.steps():
            length = of("first_length") + step
            query, key, value = (
                session.randn(1, of("heads"), length, of("width")) for _ in range(3)
            )
            functional.scaled_dot_product_attention(query, key, value)
