"""nn.Transformer trained in a loop: the reproducer of the report that asked for pending buffers.

Claimed: +150 MB per step before that change, flat after it. Measured on the simulated device: stock
is flat, and that change as its text describes it grows by tens of MiB per step (a control of this
repository), with and without item().
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from scenario import Scenario, Size

if TYPE_CHECKING:
    from session import Session

SMALL = {
    "width": 64,
    "heads": 4,
    "layers": 2,
    "feed_forward": 128,
    "batch": 8,
    "length": 32,
    "read_loss": 0,
    "empty_cache_every": 0,
}
AS_REPORTED = {
    "width": 512,
    "heads": 8,
    "layers": 6,
    "feed_forward": 2048,
    "batch": 32,
    "length": 128,
    "read_loss": 0,
    "empty_cache_every": 100,
}

SCENARIO = Scenario(
    id="transformer-loop",
    title="nn.Transformer trained in a loop, never synchronised",
    reproduces="pytorch/pytorch#167940",
    metric="driver",
    kind="gpu-only",
    patches=("empty-cache", "pending-free"),
    quick=Size(60, SMALL),
    full=Size(300, SMALL),
    reported=Size(1000, AS_REPORTED),
)


def run(session: Session) -> None:
    """Forward, sum().backward(), a step of SGD."""
    from torch import nn

    from training import train

    of = session.parameter
    model = nn.Transformer(
        of("width"),
        of("heads"),
        of("layers"),
        of("layers"),
        of("feed_forward"),
        dropout=0.1,
        batch_first=True,
    ).to(session.device)
    x = session.randn(of("batch"), of("length"), of("width"))
    train(
        session,
        model,
        lambda _step: model(x, x).sum(),
        read_loss=bool(of("read_loss")),
        empty_cache_every=of("empty_cache_every"),
    )
