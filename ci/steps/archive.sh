#!/usr/bin/env bash
# Packs a release: the program, its man pages and completions, the read-me and the licence, with a checksum.
# Environment: TARGET (such as aarch64-apple-darwin), TAG (such as v0.1.0), GITHUB_OUTPUT. Outputs: archive.
set -euo pipefail
cd "$(dirname "$0")/../.."
name=umpatch-${TAG:?}-${TARGET:?}
program=target/$TARGET/release/umpatch
[[ -x $program ]] || program=target/release/umpatch
rm -rf "target/dist/$name"
mkdir -p "target/dist/$name/completions"
cp "$program" README.md CHANGELOG.md LICENSE "target/dist/$name/"
"$program" man --output "target/dist/$name/man"
for shell in bash zsh fish; do
  "$program" completions "$shell" > "target/dist/$name/completions/umpatch.$shell"
done
cd target/dist
tar -czf "$name.tar.gz" "$name"
if command -v sha256sum > /dev/null; then
  sha256sum "$name.tar.gz" > "$name.tar.gz.sha256"
else
  shasum -a 256 "$name.tar.gz" > "$name.tar.gz.sha256"
fi
echo "archive=target/dist/$name.tar.gz" >> "${GITHUB_OUTPUT:?}"
