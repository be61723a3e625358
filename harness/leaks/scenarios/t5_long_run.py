"""Sequence-to-sequence training of the T5 family with sequences of varying length.

Reported for FLAN-T5-XL (2.8 billion parameters): 43.5 GB at step 1, then before the change
111.8 GB at step 100, 112.8 at 200, 118.9 at 485 and out of memory between 500 and 800; after it 95,
97 and 99 GB at steps 100, 200 and 500. The scaled model keeps the shape: an encoder and a decoder,
ever new lengths, the loss read each tenth step.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from scenario import Scenario, Size

if TYPE_CHECKING:
    from session import Session

SMALL = {
    "vocabulary": 512,
    "width": 64,
    "heads": 4,
    "layers": 2,
    "batch": 4,
    "shortest": 16,
    "longest": 48,
    "read_loss_every": 10,
    "empty_cache_every": 0,
}
MEDIUM = {**SMALL, "vocabulary": 2048, "width": 128, "layers": 3, "longest": 96}
# 1.3 billion parameters: some 12 GB with gradients, for machines that have them
LARGE = {
    "vocabulary": 32128,
    "width": 2048,
    "heads": 32,
    "layers": 10,
    "batch": 4,
    "shortest": 128,
    "longest": 512,
    "read_loss_every": 10,
    "empty_cache_every": 100,
}

SCENARIO = Scenario(
    id="t5-long-run",
    title="sequence-to-sequence training with varying lengths",
    reproduces="pytorch/pytorch#167940",
    metric="driver",
    kind="gpu-only",
    patches=("empty-cache", "pending-free"),
    quick=Size(60, SMALL),
    full=Size(300, MEDIUM),
    reported=Size(500, LARGE),
    in_quick_suite=False,
)


def run(session: Session) -> None:
    """Teacher forcing on random tokens."""
    import torch
    from torch.nn import functional

    from models import Seq2Seq
    from training import due

    of = session.parameter
    model = Seq2Seq(of("vocabulary"), of("width"), of("layers"), of("heads")).to(session.device)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    for step in session.steps():
        length = session.random.randint(of("shortest"), of("longest"))
        shape = (of("batch"), length)
        source, target = (
            torch.randint(of("vocabulary"), shape, device=session.device) for _ in range(2)
        )
        optimizer.zero_grad()
        logits = model(source, target)
        loss = functional.cross_entropy(logits.flatten(0, 1), target.flatten())
        loss.backward()
        optimizer.step()
        if due(of("read_loss_every"), step):
            loss.item()
        if due(of("empty_cache_every"), step):
            session.synchronize()
            session.empty_cache()
