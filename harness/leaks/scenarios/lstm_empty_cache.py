"""An LSTM trained step by step, the cache emptied after each.

Reported: driver memory grows by 0.8 MB per step over some 15,700 steps in spite of empty_cache.
Part of it was a missing autorelease in upstream's LSTM kernel, which the simulated device does not
run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from scenario import Scenario, Size

if TYPE_CHECKING:
    from session import Session

SMALL = {
    "inputs": 32,
    "hidden": 64,
    "batch": 16,
    "length": 10,
    "read_loss": 1,
    "empty_cache_every": 1,
}
AS_REPORTED = {**SMALL, "hidden": 256}

SCENARIO = Scenario(
    id="lstm-empty-cache",
    title="LSTM training, empty_cache after each step",
    reproduces="pytorch/pytorch#145374",
    metric="driver",
    kind="gpu-only",
    patches=("empty-cache", "pending-free"),
    quick=Size(60, SMALL),
    full=Size(500, AS_REPORTED),
    reported=Size(15_700, AS_REPORTED),
)


def run(session: Session) -> None:
    """One layer, mean of the outputs as loss."""
    from torch import nn

    from training import train

    of = session.parameter
    model = nn.LSTM(of("inputs"), of("hidden"), batch_first=True).to(session.device)
    x = session.randn(of("batch"), of("length"), of("inputs"))
    train(
        session,
        model,
        lambda _step: model(x)[0].mean(),
        read_loss=bool(of("read_loss")),
        empty_cache_every=of("empty_cache_every"),
    )
