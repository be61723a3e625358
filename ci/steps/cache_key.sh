#!/usr/bin/env bash
# Names caches by what goes into them: the same content, the same name, whatever the commit.
# Environment: VERSION (the upstream release), DEVICE, GITHUB_OUTPUT. Outputs: key, tree.
set -euo pipefail
cd "$(dirname "$0")/../.."
digest() { git ls-files -s -- "$@" | git hash-object --stdin | cut -c1-16; }
{
  echo "key=${DEVICE:?}-${VERSION:?}-$(digest harness patches src/build)"
  echo "tree=${VERSION:?}-$(digest src/upstream)"
} >> "${GITHUB_OUTPUT:?}"
