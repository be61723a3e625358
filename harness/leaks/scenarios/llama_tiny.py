"""A Llama-like decoder of four layers and width 128 in a training loop."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scenario import Scenario, Size

if TYPE_CHECKING:
    from session import Session

SMALL = {"vocabulary": 256, "width": 64, "layers": 2, "heads": 4, "batch": 2, "length": 32}
AS_REPORTED = {**SMALL, "vocabulary": 1024, "width": 128, "layers": 4, "batch": 4, "length": 64}

SCENARIO = Scenario(
    id="llama-tiny",
    title="Llama-like decoder of 4 layers, training",
    reproduces="huggingface/transformers#33717",
    metric="driver",
    kind="gpu-only",
    patches=(),
    quick=Size(60, {**SMALL, "read_loss": 1}),
    full=Size(300, {**AS_REPORTED, "read_loss": 1}),
    reported=Size(3000, {**AS_REPORTED, "read_loss": 1}),
)


def run(session: Session) -> None:
    """Next-token prediction on random tokens."""
    import torch
    from torch.nn import functional

    from models import Llama
    from training import train

    of = session.parameter
    model = Llama(of("vocabulary"), of("width"), of("layers"), of("heads")).to(session.device)

    def loss_of(_step: int) -> torch.Tensor:
        tokens = torch.randint(
            of("vocabulary"), (of("batch"), of("length") + 1), device=session.device
        )
        logits = model(tokens[:, :-1])
        return functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())

    train(session, model, loss_of, read_loss=bool(of("read_loss")), empty_cache_every=0)
