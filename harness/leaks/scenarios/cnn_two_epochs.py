"""An image classifier of 3.3 million parameters, trained for two epochs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scenario import Scenario, Size

if TYPE_CHECKING:
    from session import Session

SCENARIO = Scenario(
    id="cnn-two-epochs",
    title="image classifier, two epochs",
    reproduces="pytorch/pytorch#164299",
    metric="footprint",
    kind="copy",
    patches=("empty-cache",),
    quick=Size(40, {"channels": 16, "batch": 8, "side": 16, "steps_per_epoch": 20}),
    full=Size(200, {"channels": 64, "batch": 16, "side": 32, "steps_per_epoch": 100}),
    reported=Size(3126, {"channels": 128, "batch": 32, "side": 32, "steps_per_epoch": 1563}),
)


def run(session: Session) -> None:
    """Batches come from the CPU; the loss is read and the cache emptied at the end of an epoch."""
    import torch
    from torch.nn import functional

    from models import ConvNet
    from training import due

    of = session.parameter
    model = ConvNet(of("channels")).to(session.device)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9)
    running = torch.zeros((), device=session.device)
    for step in session.steps():
        images = torch.randn(of("batch"), 3, of("side"), of("side"))
        labels = torch.randint(10, (of("batch"),))
        optimizer.zero_grad()
        logits = model(images.to(session.device))
        loss = functional.cross_entropy(logits, labels.to(session.device))
        loss.backward()
        optimizer.step()
        running += loss.detach()
        if due(of("steps_per_epoch"), step):
            running.item()
            session.empty_cache()
