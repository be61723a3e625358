#!/usr/bin/env bash
# Writes the job's summary and the text of a pull-request comment from a run.
# Environment: RUN (a run folder), TITLE, COMMENT (the comment's file), GITHUB_STEP_SUMMARY, RUN_URL (may be empty).
set -euo pipefail
report=$(mktemp)
trap 'rm -f "$report"' EXIT
if ! umpatch report "${RUN:?}" --format markdown > "$report"; then
  printf 'There is no report: the run ended before it began. The log of the job says why.\n' > "$report"
fi
{
  printf '## %s\n\n' "${TITLE:?}"
  # a summary takes 1 MiB
  head -c 900000 "$report"
} >> "${GITHUB_STEP_SUMMARY:?}"
{
  printf '<!-- umpatch: %s -->\n### %s\n\n' "$TITLE" "$TITLE"
  # a comment takes 65,536 characters
  head -c 60000 "$report"
  if [[ -n ${RUN_URL:-} ]]; then
    printf '\n\n[All figures and curves](%s)\n' "$RUN_URL"
  fi
} > "${COMMENT:?}"
