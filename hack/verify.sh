#!/usr/bin/env bash
# Generates everything that is generated, and fails when that changed a file: whoever changed the source forgot to run
# it. Changes that were there before do not count, so it can also be used before a commit.
set -euo pipefail
cd "$(dirname "$0")/.."

# snapshot prints a line for every file that git knows or would take, with a checksum of its content.
snapshot() {
  git ls-files --cached --others --exclude-standard | LC_ALL=C sort | while IFS= read -r file; do
    if [[ -f $file ]]; then cksum "$file"; fi
  done
}

before=$(snapshot)
make generate manifests plain-manifests tidy
after=$(snapshot)
if [[ $before != "$after" ]]; then
  echo "verify: these files were not up to date; run \`make generate manifests plain-manifests tidy\` and commit the result:" >&2
  diff <(printf '%s\n' "$before") <(printf '%s\n' "$after") | sed -n 's/^[<>] [0-9]* [0-9]* /  /p' | sort -u >&2
  git --no-pager diff --stat >&2
  exit 1
fi
echo "verify: generated files and go.mod are up to date"
