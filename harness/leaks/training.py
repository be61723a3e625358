"""The training loop that the reports have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING, Callable

import torch

if TYPE_CHECKING:
    from session import Session


def train(
    session: Session,
    model: torch.nn.Module,
    loss_of: Callable[[int], torch.Tensor],
    *,
    read_loss: bool,
    empty_cache_every: int,
) -> None:
    """Forward, backward, SGD. `read_loss` calls item() each step, which waits for the device."""
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    for step in session.steps():
        optimizer.zero_grad()
        loss = loss_of(step)
        loss.backward()
        optimizer.step()
        if read_loss:
            loss.item()
        if due(empty_cache_every, step):
            session.synchronize()
            session.empty_cache()


def due(every: int, step: int) -> bool:
    """Whether something that happens every so many steps happens after this one; 0: never."""
    return every > 0 and (step + 1) % every == 0
