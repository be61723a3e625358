"""The positive control: keeps memory each step on purpose, and has to be found."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scenario import Scenario, Size

if TYPE_CHECKING:
    from session import Session

SCENARIO = Scenario(
    id="injected-leak",
    title="keeps memory each step on purpose",
    reproduces="ours",
    metric="driver",
    kind="gpu-only",
    patches=(),
    quick=Size(300, {"kib_per_step": 64}),
    full=Size(1000, {"kib_per_step": 64}),
    positive_control=True,
)


def run(session: Session) -> None:
    """A training-like step that also keeps a tensor."""
    kept = []
    for _ in session.steps():
        x = session.randn(64, 64)
        (x @ x).relu()
        kept.append(session.randn(session.parameter("kib_per_step") << 8))
