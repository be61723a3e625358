"""Makes a wheel that was built without MPS behave as one that was built with it.

All that depends on torch's version or on its private Python names is in this file.
"""

from __future__ import annotations

import os
import platform

import torch

from . import DeviceError

SUPPORTED = ((2, 5), (2, 11))


def register(build: dict[str, str]) -> None:
    """Load the runtime and switch torch's MPS support on."""
    if torch._C._has_mps:  # a Mac's own build: nothing to simulate
        return
    check_pairing(build["torch"], torch.__version__)
    pretend_macos(os.environ.get("UMPATCH_DEVICE_MACOS"))

    from . import _native

    _native.initialize()
    torch._C._has_mps = True
    teach_untyped_storage()
    # ran at the start of `import torch`, when _has_mps was still false
    torch.backends.mps._init()


def check_pairing(built_for: str, running: str) -> None:
    """The runtime is compiled against one torch build, and works with no other."""
    if built_for != running:
        raise DeviceError(
            f"the simulated mps device was built for torch {built_for}, this is torch {running}. "
            "Run `umpatch build --device simulated` with this interpreter, or start the one that "
            "`umpatch doctor` names."
        )
    version = tuple(int(part) for part in running.split("+")[0].split(".")[:2])
    if not SUPPORTED[0] <= version <= SUPPORTED[1]:
        raise DeviceError(
            f"torch {running} is outside of {SUPPORTED[0][0]}.{SUPPORTED[0][1]} to "
            f"{SUPPORTED[1][0]}.{SUPPORTED[1][1]}, the versions that this device is written for"
        )


def pretend_macos(version: str | None) -> None:
    """torch.testing decides by platform.mac_ver() which tests a Mac would run."""
    if version:
        platform.mac_ver = lambda *_args, **_kwargs: (version, ("", "", ""), "arm64")


def teach_untyped_storage() -> None:
    """UntypedStorage(n, device="mps") is behind USE_MPS in torch/csrc/Storage.cpp."""
    storage_type = torch.UntypedStorage
    original_new = storage_type.__new__

    def new(cls: type, *args: object, **kwargs: object) -> torch.UntypedStorage:
        device = kwargs.get("device")
        if device is None or torch.device(device).type != "mps":
            return original_new(cls, *args, **kwargs)
        content = args[0] if args else 0
        if isinstance(content, int):
            return torch.empty(content, dtype=torch.uint8, device="mps").untyped_storage()
        return torch.tensor(list(content), dtype=torch.uint8, device="mps").untyped_storage()

    storage_type.__new__ = staticmethod(new)
