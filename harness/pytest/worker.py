"""Runs the tests of a file one after another, on command, inside one process.

Commands come in on standard input and events go out on standard output, one JSON object a line:

    {"run": [ID, ...]}     run these tests, in this order
    {"end": true}          end after the tests at hand (so does the end of the input)

    {"event": "ids", "ids": [...]}                        what was collected, in batches, with --list
    {"event": "collect-error", "message", "excerpt"}      the file could not be collected
    {"event": "collected", "count", "digest"}             ready for commands
    {"event": "start", "id", "log"}                       a test starts; `log` is the size of the log file now
    {"event": "finish", "id", "outcome", "seconds", "message", "excerpt", "output"}
    {"event": "stopped", "id", "message"}                 a test ended the pytest session; the process ends too
    {"event": "done"}                                     all tests at hand have finished; the interpreter ends next

Each event is a single unbuffered write, so that whoever reads the pipe knows the test at hand however the process ends.
A test runs only when the one after it is known (pytest tears fixtures down by it), as in pytest-xdist.
What tests print, from Python or below, goes into the log file alone, in order, so that it outlives a crash.
"""

from __future__ import annotations

import argparse
import faulthandler
import hashlib
import json
import os
import platform
import signal
import sys
from collections import deque
from typing import TYPE_CHECKING, BinaryIO

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

EXCERPT = 4000  # characters kept of a failure's traceback
MESSAGE = 500  # characters kept of its message
OUTPUT = 2000  # bytes kept of what a failing test printed
LOG_KEPT = 1 << 20  # bytes of log that may pile up before passed tests' output is dropped
BATCH = 500  # ids per "ids" event


class Events:
    """The way out: one unbuffered write per event."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._process = os.getpid()

    def send(self, name: str, **fields: object) -> None:
        if os.getpid() != self._process:
            return  # a child that a test forked and that came back into pytest
        line = json.dumps({"event": name, **fields}).encode() + b"\n"
        try:
            while line:
                line = line[os.write(self._descriptor, line) :]
        except BrokenPipeError:
            os._exit(70)  # nobody listens any more


class Log:
    """The file that everything printed goes to."""

    def __init__(self, path: str) -> None:
        self._file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)
        os.dup2(self._file, 1)
        os.dup2(self._file, 2)

    def size(self) -> int:
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except (OSError, ValueError):
                pass
        return os.fstat(self._file).st_size

    def since(self, start: int) -> str:
        """The last of what was printed after `start`."""
        end = self.size()
        start = max(start, end - OUTPUT)
        return os.pread(self._file, end - start, start).decode(errors="replace") if end > start else ""

    def forget(self, start: int) -> None:
        """Drops what a test that passed has printed, once there is much of it."""
        if start > LOG_KEPT or self.size() > LOG_KEPT:
            os.ftruncate(self._file, 0)


def shortened(text: str, limit: int) -> str:
    """The beginning and, for the most part, the end of a text."""
    if len(text) <= limit:
        return text
    head = limit // 4
    return f"{text[:head]}\n[…]\n{text[len(text) - (limit - head) :]}"


class Verdict:
    """Puts the reports of a test's phases together."""

    # later words overrule earlier ones
    RANK = ("missing", "skipped", "passed", "xfailed", "xpassed", "failed", "error")

    def __init__(self) -> None:
        self.outcome = "missing"
        self.seconds = 0.0
        self.message = ""
        self.excerpt = ""

    def add(self, report: pytest.TestReport) -> None:
        self.seconds += report.duration
        outcome = self._outcome(report)
        if outcome is None or self.RANK.index(outcome) <= self.RANK.index(self.outcome):
            return
        self.outcome = outcome
        if outcome in ("failed", "error"):
            crash = getattr(report.longrepr, "reprcrash", None)
            text = report.longreprtext
            lines = text.strip().splitlines()
            self.message = shortened(crash.message if crash else lines[-1] if lines else "", MESSAGE)
            self.excerpt = shortened(text, EXCERPT)
        elif outcome == "skipped" and isinstance(report.longrepr, tuple):
            self.message = shortened(str(report.longrepr[2]), MESSAGE)
        else:
            self.message = shortened(str(getattr(report, "wasxfail", "")), MESSAGE)

    @staticmethod
    def _outcome(report: pytest.TestReport) -> str | None:
        expected = hasattr(report, "wasxfail")
        # a subtest's report counts when it failed: the test's own report tells the rest
        if type(report) is not pytest.TestReport and not report.failed:
            return None
        if report.failed:
            return "failed" if report.when == "call" else "error"
        if report.skipped:
            return "xfailed" if expected else "skipped"
        if report.when == "call":
            return "xpassed" if expected else "passed"
        return None


class Worker:
    """The pytest plug-in: takes the place of pytest's own loop over the tests."""

    def __init__(self, events: Events, commands: BinaryIO, log: Log, list_ids: bool) -> None:
        self._events = events
        self._commands = commands
        self._log = log
        self._list_ids = list_ids
        self._items: dict[str, pytest.Item] = {}
        self._verdict = Verdict()
        self._start = 0
        self._broken = False

    # pytest's hooks

    def pytest_report_teststatus(self) -> tuple[str, str, str]:
        return "", "", ""  # no progress in the log, where it would mix with what tests print

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self._broken = True
            text = report.longreprtext
            lines = text.strip().splitlines()
            self._events.send(
                "collect-error",
                message=shortened(lines[-1] if lines else "", MESSAGE),
                excerpt=shortened(text, EXCERPT),
            )

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self._items = {item.nodeid: item for item in session.items}
        ids = list(self._items)
        digest = hashlib.sha256("\n".join(ids).encode()).hexdigest()
        if self._list_ids:
            for first in range(0, len(ids), BATCH):
                self._events.send("ids", ids=ids[first : first + BATCH])
        if not self._broken:
            self._events.send("collected", count=len(ids), digest=digest)

    def pytest_runtestloop(self) -> bool:
        if self._broken:
            return True
        for test, following in self._tests():
            item = self._items.get(test)
            if item is None:
                self._begin(test)
                self._finish(test)
                continue
            try:
                item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            except (KeyboardInterrupt, pytest.exit.Exception) as stop:
                self._events.send("stopped", id=test, message=shortened(f"{type(stop).__name__}: {stop}", MESSAGE))
                break
        return True

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self._begin(nodeid)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._verdict.add(report)

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        forget_failure()
        self._finish(nodeid)

    # the parts

    def _begin(self, test: str) -> None:
        self._verdict = Verdict()
        self._start = self._log.size()
        self._events.send("start", id=test, log=self._start)

    def _finish(self, test: str) -> None:
        verdict = self._verdict
        failed = verdict.outcome in ("failed", "error")
        output = self._log.since(self._start) if failed else ""
        self._events.send(
            "finish",
            id=test,
            outcome=verdict.outcome,
            seconds=round(verdict.seconds, 6),
            message=verdict.message,
            excerpt=verdict.excerpt,
            output=output,
        )
        if not failed:
            self._log.forget(self._start)

    def _tests(self) -> Iterator[tuple[str, pytest.Item | None]]:
        """Each test with the item after it."""
        queue: deque[str] = deque()
        more = True
        while True:
            while more and len(queue) < 2:
                line = self._commands.readline()
                command = json.loads(line) if line else {"end": True}
                queue.extend(command.get("run", []))
                more = not command.get("end", False)
            if not queue:
                return
            test = queue.popleft()
            following = next((self._items[after] for after in queue if after in self._items), None)
            yield test, following


def forget_failure() -> None:
    """Lets go of the last failure's frames, which pytest keeps for a debugger: tensors in them would stay allocated."""
    for name in ("last_exc", "last_type", "last_value", "last_traceback"):
        if hasattr(sys, name):
            delattr(sys, name)


def end_with_parent() -> None:
    """Asks the kernel to end this process when the one that started it ends: a hung test would outlive it."""
    if not sys.platform.startswith("linux"):
        return
    import ctypes

    set_parent_death_signal = 1
    ctypes.CDLL(None).prctl(set_parent_death_signal, int(signal.SIGKILL), 0, 0, 0)


def limit_memory(limit: int | None) -> None:
    """Caps the private writable memory, so that a test that eats memory gets a MemoryError and the next one can run.

    RLIMIT_DATA and not RLIMIT_AS: torch with its libraries reserves far more address space than it uses.
    """
    import resource

    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    if limit and sys.platform.startswith("linux"):
        resource.setrlimit(resource.RLIMIT_DATA, (limit, resource.getrlimit(resource.RLIMIT_DATA)[1]))


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Runs tests on command; see the module's text.")
    parser.add_argument("file", help="the test file, relative to the root")
    parser.add_argument("--root", required=True, help="the folder that test ids are relative to")
    parser.add_argument("--log", required=True, help="the file that everything printed goes to")
    parser.add_argument("--list", action="store_true", help="tell the ids of all tests")
    parser.add_argument("--select", default="", metavar="EXPR", help="as pytest's -k")
    parser.add_argument("--memory", type=int, metavar="BYTES", help="limit of private writable memory")
    parser.add_argument("--macos", metavar="VERSION", help="the macOS version that the tests are told")
    options = parser.parse_args(arguments)

    # standard input and output are the way to the runner; the tests get neither
    commands = os.fdopen(os.dup(0), "rb")
    events = Events(os.dup(1))
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    log = Log(options.log)
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(line_buffering=True)

    end_with_parent()
    limit_memory(options.memory)
    faulthandler.enable(all_threads=True)
    if options.macos:
        answer = (options.macos, ("", "", ""), "arm64")
        platform.mac_ver = lambda *_, **__: answer

    here = os.path.dirname(os.path.abspath(__file__))
    settings = os.path.join(here, "pytest.ini")
    file = os.path.join(options.root, options.file)
    command = [file, f"--rootdir={options.root}", "-c", settings, "--noconftest"]
    if options.select:
        command += ["-k", options.select]
    status = pytest.main(command, plugins=[Worker(events, commands, log, options.list)])
    usage_or_internal = (pytest.ExitCode.USAGE_ERROR, pytest.ExitCode.INTERNAL_ERROR)
    if status in usage_or_internal:
        events.send("collect-error", message=f"pytest ended with {status!s}", excerpt=log.since(0))
    else:
        events.send("done")
    return 0


if __name__ == "__main__":
    sys.exit(main())
