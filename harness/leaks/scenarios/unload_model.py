"""An encoder is loaded, used and dropped; empty_cache has to bring driver memory down again.

A positive control of empty_cache: reported to work, and everything else relies on it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from scenario import Scenario, Size

if TYPE_CHECKING:
    from session import Session

MIB = 1 << 20

SCENARIO = Scenario(
    id="unload-model",
    title="load an encoder, drop it, empty_cache",
    reproduces="jonnyhoff/TrueMemory#338",
    metric="driver",
    kind="copy",
    patches=("empty-cache",),
    quick=Size(4, {"width": 128, "layers": 2, "tolerance_mib": 4}),
    full=Size(12, {"width": 384, "layers": 6, "tolerance_mib": 4}),
)


def run(session: Session) -> None:
    """Load from a file of weights, one inference, drop."""
    import io

    import torch
    from torch import nn

    of = session.parameter

    def encoder() -> nn.Module:
        layer = nn.TransformerEncoderLayer(of("width"), 4, 4 * of("width"), batch_first=True)
        return nn.TransformerEncoder(layer, of("layers"), enable_nested_tensor=False).eval()

    weights = io.BytesIO()
    torch.save(encoder().state_dict(), weights)

    def load_and_use() -> None:
        weights.seek(0)
        model = encoder().to(session.device)
        model.load_state_dict(torch.load(weights, map_location=session.device, weights_only=True))
        with torch.no_grad():
            model(session.randn(2, 32, of("width"))).cpu()

    load_and_use()  # libraries make workspaces on first use, and keep them
    session.empty_cache()
    start = session.driver_bytes()
    for _ in session.steps():
        load_and_use()
        session.empty_cache()
        kept = session.driver_bytes() - start
        if kept > of("tolerance_mib") * MIB:
            session.fault("state", f"{kept / MIB:.1f} MiB stay at the driver after unloading", kept)
