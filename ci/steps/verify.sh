#!/usr/bin/env bash
# Runs one verification, or one part of it.
# Environment: DEVICE (simulated or metal), VERSION (the upstream release) or TREE (a checkout), SUITE, SHARD (i/n or empty),
#   DURATIONS (a run to balance the parts by, or empty), HARDWARE (true: only a real GPU's figures count), RUN_FOLDER,
#   GITHUB_OUTPUT.
# Outputs: verdict, exit-code, run.
# A part ends well when it has run: the verdict is that of all parts together. A whole run ends as its verdict says.
set -euo pipefail
run=${RUN_FOLDER:?}
arguments=(verify --json --device "${DEVICE:?}" --suite "${SUITE:-quick}" --run-folder "$run")
if [[ -n ${SHARD:-} ]]; then
  arguments+=(--shard "$SHARD")
  if [[ -n ${DURATIONS:-} ]]; then
    arguments+=(--durations "$DURATIONS")
  fi
fi
if [[ ${HARDWARE:-false} == true ]]; then
  arguments+=(--require-hardware)
fi
provision=()
if [[ $DEVICE == simulated ]]; then
  provision=(--provision)
fi
if [[ -z ${TREE:-} ]]; then
  TREE=$(umpatch --json fetch "${VERSION:?}" | python3 -c 'import json, sys; print(json.load(sys.stdin)["tree"]["path"])')
fi
mkdir -p "$(dirname "$run")"
document=$run.json
code=0
umpatch -C "$TREE" "${arguments[@]}" "${provision[@]+"${provision[@]}"}" > "$document" || code=$?
verdict=$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1])).get("verdict", "error"))' "$document" || echo error)
{
  echo "verdict=$verdict"
  echo "exit-code=$code"
  echo "run=$run"
} >> "${GITHUB_OUTPUT:?}"
echo "verdict: $verdict (exit $code)"
if [[ -n ${SHARD:-} ]]; then
  # 0, 1, 3 and 5 are verdicts; all else means that the part did not run
  case $code in
    0 | 1 | 3 | 5) exit 0 ;;
  esac
fi
exit "$code"
