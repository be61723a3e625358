"""One relu, then a normal end of the interpreter: the exit status is the result."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scenario import Scenario, Size

if TYPE_CHECKING:
    from session import Session

PROGRAM = "import torch; torch.relu(torch.randn(16, device={device!r})); print('used')"
PATIENCE_SECONDS = 120

SCENARIO = Scenario(
    id="clean-exit",
    title="one relu, then exit",
    reproduces="pytorch/pytorch#188812",
    metric="exit",
    kind="correctness",
    patches=(),
    quick=Size(1),
    full=Size(10),
)


def run(session: Session) -> None:
    """A process of its own per step, since what is looked at is how it ends."""
    import subprocess
    import sys

    command = [sys.executable, "-c", PROGRAM.format(device=session.device.type)]
    for _ in session.steps():
        try:
            ended = subprocess.run(
                command, capture_output=True, text=True, timeout=PATIENCE_SECONDS
            )
        except subprocess.TimeoutExpired:
            session.fault("deadlock", f"no exit within {PATIENCE_SECONDS} s of one relu")
            continue
        if ended.returncode != 0 or ended.stdout.strip() != "used":
            last = ended.stderr.strip().splitlines()[-1:]
            session.fault("unexpected-error", f"exit status {ended.returncode} {' '.join(last)}")
