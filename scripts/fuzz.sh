#!/usr/bin/env bash
# Runs each fuzz target of a build for some seconds, from its seeds and what earlier runs found. An input that crashes, hangs or takes too much memory
# stays in BUILD/crashes; as a seed under tests/data/fuzz it becomes a test.
#   scripts/fuzz.sh BUILD SECONDS [TARGET...]
set -euo pipefail
build=$1 seconds=$2
shift 2
seeds=$(cd "$(dirname "$0")/.." && pwd)/tests/data/fuzz
targets=("$@")
[ ${#targets[@]} -gt 0 ] || for binary in "$build"/bin/*_fuzz; do targets+=("$(basename "$binary")"); done
mkdir -p "$build/crashes"

failed=()
for target in "${targets[@]}"; do
  corpus=$build/corpus/$target
  mkdir -p "$corpus"
  for folder in "$seeds"/*; do  # FOLDER_x_fuzz has its seeds in x_fuzz
    case $target in *_"$(basename "$folder")") seed=$folder ;; esac
  done
  log=$build/crashes/$target.log
  if "$build/bin/$target" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -artifact_prefix="$build/crashes/$target-" "$corpus" "$seed" >"$log" 2>&1; then
    echo "$target: clean, $(grep -o 'Done [0-9]* runs.*' "$log")"
  else
    echo "$target: FAILED, see $log"
    failed+=("$target")
  fi
done
[ ${#failed[@]} -eq 0 ]
