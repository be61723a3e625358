"""Records memory curves of the leak scenarios on a real device, to calibrate the statistics with.

    python record.py --device cuda --out FOLDER [--minutes 8] [--workers 12] [--first-seed 0]

Each round takes every scenario once: pairs of processes that differ in nothing (A/A), and processes
with a leak of a known size under the same seed. Rounds follow each other until the time is up, so
that a run cut short still has all scenarios. Processes run side by side: every figure that is kept
is one of the process's own, never of the whole device.

Writes into FOLDER: machine.json, processes.csv (a line for each process), curves.csv.gz (samples).
"""

from __future__ import annotations

import argparse
import concurrent.futures
import csv
import datetime
import gzip
import json
import os
import platform
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

RUN = Path(__file__).parent / "run.py"
KIB = 1024
PATIENCE_SECONDS = 100

#: scenario, size, steps: what shows the kinds of curves that a driver's memory has
SCENARIOS = (
    ("transformer-loop", "full", 500),
    ("linear-varying-batch", "full", 2000),
    ("sdpa-random-seq", "full", 1000),
    ("lstm-empty-cache", "full", 500),
    ("llama-tiny", "full", 500),
    ("cnn-two-epochs", "full", 500),
    ("t5-long-run", "full", 400),
    ("attention-varying", "full", 500),
    ("copy-cast", "full", 2000),
    ("linear-never-sync", "full", 2000),
)
#: leaks of these sizes take turns, two a round
LEAKS = ((4 * KIB, 256 * KIB), (64 * KIB, 1024 * KIB))
#: A/A pairs of each scenario in a round
PAIRS = 2

PROCESS_COLUMNS = (
    "process",
    "scenario",
    "size",
    "seed",
    "arm",
    "leak_bytes_per_step",
    "steps",
    "outcome",
    "seconds",
    "peak_current_bytes",
    "peak_driver_bytes",
    "residual_current_bytes",
    "residual_driver_bytes",
)
SAMPLE_COLUMNS = ("step", "current_bytes", "driver_bytes", "footprint_bytes", "time_ns")


@dataclass(frozen=True)
class Job:
    """One process."""

    scenario: str
    size: str
    steps: int
    seed: int
    arm: str
    leak_bytes: int

    def command(self, device: str) -> list[str]:
        """How it is started."""
        of = [sys.executable, str(RUN), "--scenario", self.scenario, "--size", self.size]
        of += ["--device", device, "--seed", str(self.seed), "--steps", str(self.steps)]
        return [*of, "--set", f"leak_bytes_per_step={self.leak_bytes}"]


@dataclass(frozen=True)
class Recorded:
    """What a process said."""

    job: Job
    outcome: str
    seconds: float
    end: dict[str, object]
    samples: list[dict[str, object]]
    complaint: str


def jobs(first_seed: int, shorten: int) -> Iterator[Job]:
    """All processes, round after round, without end; both arms of a pair follow each other."""
    seed = first_seed
    for number in range(1_000_000):
        for scenario, size, steps in SCENARIOS:
            steps = max(1, steps // shorten)
            for pair in range(PAIRS):
                for arm in ("a", "b"):
                    yield Job(scenario, size, steps, seed + pair, arm, 0)
            for leak_bytes in LEAKS[number % len(LEAKS)]:
                yield Job(scenario, size, steps, seed, "leak", leak_bytes)
        seed += PAIRS


def record(job: Job, device: str) -> Recorded:
    """Run one process to its end."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    started = time.monotonic()
    process = subprocess.Popen(
        job.command(device),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
        start_new_session=True,
    )
    try:
        output, errors = process.communicate(timeout=PATIENCE_SECONDS)
        outcome = "" if process.returncode == 0 else f"exit status {process.returncode}"
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        output, errors = process.communicate()
        outcome = "timed out"
    samples: list[dict[str, object]] = []
    end: dict[str, object] = {}
    for line in output.splitlines():
        try:
            event = json.loads(line)
        except ValueError:
            continue  # the last line of a process that was ended
        if event.get("event") == "sample":
            samples.append(event)
        elif event.get("event") == "end":
            end = event
    outcome = outcome or str(end.get("outcome", "no end"))
    seconds = time.monotonic() - started
    return Recorded(job, outcome, seconds, end, samples, errors.strip()[-500:])


def cell(value: object) -> object:
    """A figure that the device does not have is an empty cell."""
    return "" if value is None else value


def write_all(options: argparse.Namespace) -> tuple[int, int]:
    """Record until the time is up; the number of processes, and of those that did not end well."""
    deadline = time.monotonic() + 60 * options.minutes
    coming = jobs(options.first_seed, options.shorten)
    written = failed = 0
    with (
        open(options.out / "processes.csv", "w", encoding="ascii", newline="") as process_file,
        gzip.open(options.out / "curves.csv.gz", "wt", encoding="ascii", newline="") as curve_file,
        concurrent.futures.ThreadPoolExecutor(options.workers) as pool,
    ):
        processes, curves = csv.writer(process_file), csv.writer(curve_file)
        processes.writerow(PROCESS_COLUMNS)
        curves.writerow(("process", *SAMPLE_COLUMNS))
        running: set[concurrent.futures.Future[Recorded]] = set()
        while True:
            while time.monotonic() < deadline and len(running) < options.workers:
                running.add(pool.submit(record, next(coming), options.device))
            if not running:
                break
            done, running = concurrent.futures.wait(
                running, return_when=concurrent.futures.FIRST_COMPLETED
            )
            for future in done:
                found = future.result()
                job, end = found.job, found.end
                processes.writerow(
                    [
                        *(written, job.scenario, job.size, job.seed, job.arm, job.leak_bytes),
                        *(job.steps, found.outcome, f"{found.seconds:.1f}"),
                        *(cell(end.get(name)) for name in PROCESS_COLUMNS[-4:]),
                    ]
                )
                for sample in found.samples:
                    curves.writerow((written, *(cell(sample.get(name)) for name in SAMPLE_COLUMNS)))
                written += 1
                if found.outcome != "ok":
                    failed += 1
                    print(f"{job}: {found.outcome}: {found.complaint}", flush=True)
            process_file.flush()
    return written, failed


def machine(options: argparse.Namespace) -> dict[str, object]:
    """What the curves were recorded on."""
    import torch

    of: dict[str, object] = {
        "schema": "umpatch.recorded-curves/1",
        "recorded": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "command": " ".join(["python", "harness/leaks/record.py", *sys.argv[1:]]),
        "device": options.device,
        "torch": torch.__version__,
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "processors": os.cpu_count(),
        "side_by_side": options.workers,
    }
    if options.device == "cuda":
        properties = torch.cuda.get_device_properties(0)
        of |= {
            "accelerator": properties.name,
            "accelerator_bytes": properties.total_memory,
            "cuda": torch.version.cuda,
            "driver": nvidia_driver(),
        }
    return of


def nvidia_driver() -> str | None:
    """The version of the NVIDIA driver, where its own tool tells it."""
    program = shutil.which("nvidia-smi")
    if program is None:
        return None
    query = [program, "--query-gpu=driver_version", "--format=csv,noheader"]
    told = subprocess.run(query, capture_output=True, text=True, timeout=60)
    return told.stdout.strip() or None


def parse(arguments: list[str]) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cuda", choices=("mps", "cuda", "cpu"))
    parser.add_argument("--out", type=Path, required=True, metavar="FOLDER")
    parser.add_argument("--minutes", type=float, default=8, help="start nothing after this")
    parser.add_argument("--workers", type=int, default=12, help="processes side by side")
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument(
        "--shorten", type=int, default=1, help="divide the steps by this, to try it out"
    )
    return parser.parse_args(arguments)


def main(arguments: list[str]) -> int:
    """Record; status 1 when a tenth of the processes or more did not end well."""
    options = parse(arguments)
    options.out.mkdir(parents=True, exist_ok=True)
    about = machine(options)
    started = time.monotonic()
    written, failed = write_all(options)
    about |= {"seconds": round(time.monotonic() - started), "processes": written, "failed": failed}
    (options.out / "machine.json").write_text(json.dumps(about, indent=2) + "\n", encoding="ascii")
    print(json.dumps(about))
    return 1 if 10 * failed >= written else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
