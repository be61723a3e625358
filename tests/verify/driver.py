"""A stand-in for a driver: speaks the contract, and behaves as $BEHAVIOUR says."""

import json
import os
import random
import signal
import sys
import time

SCENARIOS = [
    {"id": "steady", "title": "steps of one size", "reproduces": "ours", "class": "gpu-only", "quick_steps": 60},
    {"id": "copies", "title": "copies to the device", "reproduces": "ours", "class": "copy", "quick_steps": 60},
    {"id": "long", "title": "for the full suite", "reproduces": "ours", "class": "gpu-only", "quick": False},
]
MIB = 1 << 20


def say(**event):
    print(json.dumps(event), flush=True)


def main(arguments):
    if arguments == ["--list"]:
        for scenario in SCENARIOS:
            say(**scenario)
        return 0
    if arguments == ["--settings"]:
        say(name="gpu_us", default="1", meaning="how long it takes", alternatives=[])
        say(name="drop_order", default="early", meaning="when it drops", alternatives=["late"])
        say(name="mode", default="asynchronous", meaning="when it runs", alternatives=["eager"])
        return 0
    options = dict(zip(arguments[::2], arguments[1::2]))
    steps = int(options.get("--steps", 60))
    seed = int(options["--seed"])
    behaviour = os.environ.get("BEHAVIOUR", "clean")
    if options["--scenario"] != os.environ.get("ONLY", options["--scenario"]):
        behaviour = "clean"
    if behaviour == "corrupt-late":
        behaviour = "corrupt" if options.get("--set") == "drop_order=late" else "clean"
    time.sleep(float(os.environ.get("PAUSE", "0")))
    say(event="begin", schema="umpatch.driver/1", scenario=options["--scenario"], seed=seed, steps=steps, settings={})
    peak = waits = made = 0
    chance = random.Random(f"{seed} {os.environ.get('SALT')}")
    drift = 0.0
    for step in range(steps):
        drift += chance.gauss(0, 1) if behaviour == "drift" else 0
        level = 64 + (26 * step if behaviour == "leak" else 0) + int(max(drift, -60))
        made += behaviour == "drift"
        if behaviour == "leak" or behaviour == "never-cache" or step == 0:
            made += 20
        waits += behaviour == "wait"
        peak = max(peak, level * MIB)
        late = step >= steps // 2
        time_ns = {"clock-back": step - steps, "clock-forward": step + (1 << 60)}.get(behaviour, step) if late else step
        served = (1 << 32) - 20 * (steps // 2) if behaviour == "wrap" else 0
        if behaviour == "none" or behaviour == "gap" and 0.2 < step / steps < 0.8:
            continue
        say(event="sample", step=step, time_ns=time_ns, current_bytes=32 * MIB, driver_bytes=level * MIB,
            pending_bytes=0, allocations=(served + 20 * (step + 1)) % (1 << 32), new_buffers=made, commits=step, blocking_waits=waits)
        if behaviour == "crash" and step == steps // 2:
            print("about to touch what is not ours", file=sys.stderr, flush=True)
            os.kill(os.getpid(), signal.SIGSEGV)
        if behaviour == "hang" and step == steps // 2:
            time.sleep(60)
    if behaviour == "corrupt":
        say(event="fault", kind="corruption", step=3, detail="late write", bytes=4096 + seed)
    if behaviour == "noise":
        os.write(1, b"\xff\xfe not json\n{\"event\": \"sample\"\n")
    if behaviour == "mute":
        return 0
    say(event="end", outcome="ok", peak_driver_bytes=peak, peak_current_bytes=32 * MIB, peak_pending_bytes=0,
        residual_current_bytes=0, residual_driver_bytes=0,
        counters={"allocations": 20 * steps, "new_buffers": made, "blocking_waits": waits, "alloc_free_ns": None})
    return 0


sys.exit(main(sys.argv[1:]))
