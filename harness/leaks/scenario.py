"""What a leak scenario declares about itself, and where all of them are found."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Callable

if TYPE_CHECKING:
    from session import Session

Number = int
Parameters = Mapping[str, Number]


@dataclass(frozen=True)
class Size:
    """How much of a scenario one run does: its steps, and the scenario's own parameters."""

    steps: int
    parameters: Parameters = field(default_factory=dict)


@dataclass(frozen=True)
class Scenario:
    """The header of a scenario: what a reader, and whoever runs it, has to know."""

    id: str
    title: str
    #: the public report, `pytorch/pytorch#N`, or `ours`
    reproduces: str
    #: the figure in which the fault shows: driver, current, footprint, values, latency or exit
    metric: str
    #: the driver contract's class: gpu-only, cpu-write, copy, pressure or correctness
    kind: str
    #: patches of the series that the scenario proves; none: a fault that they do not touch
    patches: tuple[str, ...]
    quick: Size
    full: Size
    #: as large as in the report, for real hardware
    reported: Size | None = None
    #: settings of the simulated Metal that this scenario wants unless told otherwise
    simulated: Mapping[str, str] = field(default_factory=dict)
    #: why the simulated device cannot show the reported fault; the scenario runs all the same
    not_reproducible_simulated: str | None = None
    #: a scenario that must be found growing, or nothing can be believed
    positive_control: bool = False
    in_quick_suite: bool = True

    def size(self, name: str) -> Size:
        """The size of that name."""
        if name == "quick":
            return self.quick
        return self.reported or self.full if name == "reported" else self.full

    def listing(self) -> dict[str, object]:
        """The line of `--list`, in the native driver's schema and a little more."""
        return {
            "id": self.id,
            "title": self.title,
            "reproduces": self.reproduces,
            "class": self.kind,
            "metric": self.metric,
            "patches": list(self.patches),
            "quick_steps": self.quick.steps,
            "full_steps": self.full.steps,
            "quick": self.in_quick_suite,
            "positive_control": self.positive_control,
            "settings": dict(self.full.parameters),
            "not_reproducible_simulated": self.not_reproducible_simulated,
        }


@dataclass(frozen=True)
class Entry:
    """A scenario and the function that runs it."""

    scenario: Scenario
    run: Callable[[Session], None]


def all_scenarios() -> dict[str, Entry]:
    """Every module of scenarios/, by id."""
    import scenarios

    entries: dict[str, Entry] = {}
    for module_info in sorted(pkgutil.iter_modules(scenarios.__path__), key=lambda m: m.name):
        module = importlib.import_module(f"scenarios.{module_info.name}")
        entry = Entry(module.SCENARIO, module.run)
        if entry.scenario.id in entries:
            raise ValueError(f"two scenarios are called {entry.scenario.id}")
        entries[entry.scenario.id] = entry
    return entries
