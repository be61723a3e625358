"""A small Linear with ever new batch sizes, against one of fixed size (--set vary=0)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scenario import Scenario, Size

if TYPE_CHECKING:
    from session import Session

SHAPE = {"width": 32, "largest_batch": 1024, "vary": 1}

SCENARIO = Scenario(
    id="linear-varying-batch",
    title="Linear 32 to 32, batch 1 to 1024",
    reproduces="pytorch/pytorch#132596",
    metric="footprint",
    kind="gpu-only",
    patches=(),
    quick=Size(500, SHAPE),
    full=Size(5000, SHAPE),
    reported=Size(20_000, SHAPE),
    not_reproducible_simulated="what grows is MPSGraph's cache of compiled graphs, one per shape; "
    "the simulated MPSGraph compiles nothing",
)


def run(session: Session) -> None:
    """Inference, one random batch size a step."""
    import torch
    from torch import nn

    of = session.parameter
    model = nn.Linear(of("width"), of("width")).to(session.device)
    with torch.no_grad():
        for _ in session.steps():
            rows = session.random.randint(1, of("largest_batch"))
            model(session.randn(rows if of("vary") else of("largest_batch"), of("width")))
