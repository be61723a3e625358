"""Is the device sound? Allocates, computes and copies on it, and compares with known values.

Prints one JSON line, {"sound": true|false, "device", "detail", "seconds"}; the exit status is 0 when the device is sound.
The import of torch does not count as the device's time.
"""

from __future__ import annotations

import argparse
import json
import sys
import time


def check(device: str) -> str:
    """What is wrong with the device; empty when nothing is."""
    import torch

    if device == "mps" and not torch.backends.mps.is_available():
        return "torch says that no mps device is available"
    host = torch.arange(4096, dtype=torch.float32)
    there = host.to(device)
    if there.device.type != device:
        return f"the tensor came to {there.device} instead"
    if not torch.equal(there.cpu(), host):
        return "a copy to the device and back changed the values"
    twice = (there * 2 + 1).cpu()
    if not torch.equal(twice, host * 2 + 1):
        return "x * 2 + 1 gave wrong values"
    total = there[:100].sum().item()
    if total != 4950.0:
        return f"0 + 1 + … + 99 gave {total}"
    matrix = torch.arange(16, dtype=torch.float32).reshape(4, 4)
    product = (matrix.to(device) @ matrix.to(device)).cpu()
    if not torch.equal(product, matrix @ matrix):
        return "a product of small matrices gave wrong values"
    # blocks of several sizes, dropped and taken again
    for size in (1, 300, 70_000, 3_000_000):
        for value in (1.0, 2.0):
            if torch.full((size,), value, device=device).sum().item() != value * size:
                return f"{size} elements filled with {value} did not add up"
    return ""


def main() -> int:
    parser = argparse.ArgumentParser(description="Is the device sound?")
    parser.add_argument("--device", default="mps")
    device = parser.parse_args().device
    import torch  # noqa: F401  (not part of the time)

    start = time.perf_counter()
    try:
        detail = check(device)
    except Exception as error:
        detail = f"{type(error).__name__}: {error}"
    seconds = round(time.perf_counter() - start, 6)
    print(json.dumps({"sound": not detail, "device": device, "detail": detail, "seconds": seconds}), flush=True)
    return 1 if detail else 0


if __name__ == "__main__":
    sys.exit(main())
