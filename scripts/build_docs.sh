#!/usr/bin/env bash
# Builds the documentation site into build/docs/html, warnings as errors. Installs Sphinx where it is missing.
#   scripts/build_docs.sh [COMMAND]     the built command, for the reference (build/release/bin/pteron)
set -euo pipefail
cd "$(dirname "$0")/.."
command=${1:-build/release/bin/pteron}

missing=()
for package in python3-sphinx python3-myst-parser furo; do
  [ "$(dpkg-query -W -f='${Status}' "$package" 2>/dev/null)" = "install ok installed" ] || missing+=("$package")
done
if [ ${#missing[@]} -gt 0 ]; then
  echo "docs: installing ${missing[*]}" >&2
  sudo=""
  [ "$(id -u)" -eq 0 ] || sudo=sudo
  $sudo apt-get update -qq
  $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
fi

output=${PTERON_DOCS_OUTPUT:-build/docs}
rm -rf "$output"
mkdir -p "$output/source"
cp -r docs/. "$output/source/"
cp VERSION "$output/source/"
cp -r examples "$output/"
cp ARCHITECTURE.md "$output/source/architecture.md"
cp SECURITY.md "$output/source/security.md"
cp CHANGELOG.md "$output/source/changelog.md"
/usr/bin/python3 scripts/make_reference.py --pteron "$command" -o "$output/source/reference"
/usr/bin/python3 -m sphinx -q -W --keep-going -b html "$output/source" "$output/html"
echo "$output/html/index.html"
