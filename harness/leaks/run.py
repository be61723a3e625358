"""Runs a leak scenario on any device, speaking the native driver's protocol.

    python run.py --list
    python run.py --scenario ID --seed N [--device mps|cuda|cpu] [--size quick|full|reported]
                  [--steps N] [--set KEY=VALUE]...

KEY is a parameter of the scenario, leak_bytes_per_step (a leak of that size, added to any scenario)
or, on the simulated device, a setting of the simulated Metal.
Exit status: 0, faults included, since they are data; 1 the scenario itself failed; 2 usage.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

# What the simulated GPU takes for a command buffer unless told otherwise: long enough for the CPU
# to run ahead of it, as it does on hardware.
DEFAULT_SIMULATED = {"gpu_us_per_command_buffer": "100"}


def pair(text: str) -> tuple[str, str]:
    """KEY=VALUE."""
    key, separator, value = text.partition("=")
    if not separator or not key:
        raise argparse.ArgumentTypeError(f"{text!r} is not of the form KEY=VALUE")
    return key, value


def parse(arguments: list[str]) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    action = parser.add_mutually_exclusive_group(required=True)
    action.add_argument("--list", action="store_true", help="one JSON object per scenario")
    action.add_argument("--scenario", metavar="ID")
    parser.add_argument("--device", default="mps", choices=("mps", "cuda", "cpu"))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--size", default="quick", choices=("quick", "full", "reported"))
    parser.add_argument("--steps", type=int, metavar="N")
    parser.add_argument("--set", type=pair, action="append", default=[], metavar="KEY=VALUE")
    return parser.parse_args(arguments)


def usage_error(message: str) -> int:
    """Say what is wrong with the command line."""
    print(f"run.py: {message}", file=sys.stderr)
    return 2


def set_environment(settings: dict[str, str]) -> None:
    """The simulated Metal reads its settings when torch loads it."""
    for name, value in settings.items():
        os.environ[f"SIMULATED_METAL_{name.upper()}"] = value


def main(arguments: list[str]) -> int:
    """Run the command line."""
    options = parse(arguments)
    # torch is not needed, and not yet wanted: loading it loads the simulated device
    from scenario import Size, all_scenarios

    scenarios = all_scenarios()
    if options.list:
        for entry in scenarios.values():
            print(json.dumps(entry.scenario.listing()))
        return 0
    entry = scenarios.get(options.scenario)
    if entry is None:
        return usage_error(f"no scenario {options.scenario!r}; --list shows all")

    size = entry.scenario.size(options.size)
    given = dict(options.set)
    leak = given.pop("leak_bytes_per_step", "0")
    parameters = {name: given.pop(name, value) for name, value in size.parameters.items()}
    try:
        size = Size(
            size.steps if options.steps is None else options.steps,
            {name: int(value) for name, value in parameters.items()},
        )
        leak_bytes = int(leak)
        if leak_bytes < 0:
            raise ValueError(f"{leak} bytes cannot be kept")
    except ValueError as error:
        return usage_error(f"a parameter of a scenario is a whole number: {error}")
    wanted = {**DEFAULT_SIMULATED, **entry.scenario.simulated, **given}
    if options.device == "mps":
        set_environment(wanted)

    import torch

    from session import Session

    if given and not understands(given):
        return usage_error(
            f"{', '.join(given)}: neither a parameter of {entry.scenario.id} "
            f"({', '.join(size.parameters) or 'it has none'}) nor a setting of this device"
        )
    torch.set_num_threads(1)  # one order of summation, and no idle threads on small machines
    device = torch.device(options.device)
    return 0 if Session(entry, device, options.seed, size, leak_bytes).run() else 1


def understands(settings: dict[str, str]) -> bool:
    """Whether the simulated Metal is there and knows all of these."""
    from memory import simulated_device

    if not simulated_device():
        return False
    import umpatch_device

    return set(settings) <= set(umpatch_device.settings())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
