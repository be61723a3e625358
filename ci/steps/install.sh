#!/usr/bin/env bash
# Builds umpatch from this checkout and puts it on the path of the steps that follow.
# Environment: RUNNER_TEMP, GITHUB_PATH.
set -euo pipefail
cd "$(dirname "$0")/../.."
root=${RUNNER_TEMP:?}/umpatch
cargo install --locked --path . --root "$root"
echo "$root/bin" >> "${GITHUB_PATH:?}"
"$root/bin/umpatch" --version
