#!/usr/bin/env bash
# Puts the parts of a run together; ends as the verdict of the whole says.
# Environment: PARTS (a folder of run folders), RUN_FOLDER, GITHUB_OUTPUT. Outputs: verdict, exit-code, run.
set -euo pipefail
run=${RUN_FOLDER:?}
parts=()
while IFS= read -r journal; do
  parts+=("$(dirname "$journal")")
done < <(find "${PARTS:?}" -name journal.ndjson | sort)
code=0
umpatch merge --json "${parts[@]}" --run-folder "$run" > "$run.json" || code=$?
verdict=$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1])).get("verdict", "error"))' "$run.json" || echo error)
{
  echo "verdict=$verdict"
  echo "exit-code=$code"
  echo "run=$run"
} >> "${GITHUB_OUTPUT:?}"
echo "verdict: $verdict (exit $code)"
exit "$code"
