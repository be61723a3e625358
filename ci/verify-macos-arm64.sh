#!/usr/bin/env bash
# Verifies the patches on this Mac, without any CI service: builds umpatch, then PyTorch without and with the patches, runs
# both, and leaves the report.
#
#   ci/verify-macos-arm64.sh [TREE] [-- MORE OPTIONS OF umpatch verify]
#
# TREE is a PyTorch checkout [default: the release that umpatch fetches]. Run it again after an interruption: it goes on.
# Exit status: the verdict's, as that of `umpatch verify`.
set -euo pipefail
# paths are those of the folder that it was called from
root=$(cd "$(dirname "$0")/.." && pwd)

tree=
if [[ $# -gt 0 && $1 != -* ]]; then
  tree=$1
  shift
fi
[[ ${1:-} == -- ]] && shift

umpatch=${UMPATCH:-}
if [[ -z $umpatch ]]; then
  (cd "$root" && cargo build --release --locked --target-dir target)
  umpatch=$root/target/release/umpatch
fi
if [[ -z $tree ]]; then
  tree=$("$umpatch" --json fetch | python3 -c 'import json, sys; print(json.load(sys.stdin)["tree"]["path"])')
fi

"$umpatch" -C "$tree" doctor --for-device metal
# a Mac that sleeps voids what was measured
awake=()
if command -v caffeinate > /dev/null; then
  awake=(caffeinate -dims)
fi
"${awake[@]+"${awake[@]}"}" "$umpatch" -C "$tree" verify --device metal "$@"
