#!/usr/bin/env bash
# Fills in the Homebrew formula from the checksums of a release's archives.
# Environment: TAG, REPOSITORY (owner/name), ARCHIVES (the folder with NAME.tar.gz.sha256), FORMULA (the file to write).
set -euo pipefail
cd "$(dirname "$0")/../.."
sum() { cut -d ' ' -f 1 "${ARCHIVES:?}/umpatch-${TAG:?}-$1.tar.gz.sha256"; }
mac=$(sum aarch64-apple-darwin)
linux=$(sum x86_64-unknown-linux-gnu)
sed -e "s|@VERSION@|${TAG#v}|g" -e "s|@TAG@|$TAG|g" -e "s|@REPOSITORY@|${REPOSITORY:?}|g" \
  -e "s|@SHA256_MAC@|$mac|g" -e "s|@SHA256_LINUX@|$linux|g" packaging/umpatch.rb.in > "${FORMULA:?}"
if grep -n '@[A-Z_0-9]*@' "$FORMULA"; then
  echo "the formula has a place that nothing fills" >&2
  exit 1
fi
