#!/usr/bin/env bash
# Asks whether the patches still fit upstream's branch as they are; where they do not, leaves the series carried as far as it
# goes, and each patch's state.
# Environment: REPOSITORY (upstream's address), BRANCH, DRIFT (the folder to leave it in), RUNNER_TEMP, GITHUB_STEP_SUMMARY.
# Ends well when they fit.
set -euo pipefail
tree=${RUNNER_TEMP:?}/upstream
mkdir -p "${DRIFT:?}"
git clone --quiet --depth 1 --branch "${BRANCH:?}" "${REPOSITORY:?}" "$tree"
code=0
umpatch -C "$tree" check --json --mend "$DRIFT/carried" > "$DRIFT/check.json" || code=$?
umpatch -C "$tree" status --json > "$DRIFT/status.json" || true
python3 - "$DRIFT/status.json" >> "${GITHUB_STEP_SUMMARY:?}" <<'END'
import json
import sys

try:
    document = json.load(open(sys.argv[1]))
except ValueError:
    document = {"error": ["umpatch says nothing: the log of the job says why"]}
print("## The patches against upstream\n\n| patch | state |\n|-|-|")
for patch in document.get("patches", []):
    print(f"| {patch['id']} | {patch['state']} |")
print("\n" + "; ".join(document.get("error", [])))
END
exit "$code"
