#!/usr/bin/env bash
# Builds the wheel from a clean copy of what is committed, as `pip install .` does, installs it into a fresh environment and runs the Python tests on it.
# Needs the network (scikit-build-core, pybind11 and numpy come from PyPI). A folder given as argument gets the wheel.
set -euo pipefail
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/source" "$work/wheel"
git archive HEAD | tar -x -C "$work/source"
"${PYTHON:-python3}" -m venv "$work/env"
"$work/env/bin/pip" wheel --quiet --no-deps -w "$work/wheel" "$work/source"
ls -l "$work/wheel"
"$work/env/bin/pip" install --quiet "$work"/wheel/*.whl
(cd "$work" && env -u PYTHONPATH "$work/env/bin/python" -m unittest discover -s source/python/tests)
"$work/env/bin/pteron" --version
if [ $# -gt 0 ]; then cp "$work"/wheel/*.whl "$1"; fi
