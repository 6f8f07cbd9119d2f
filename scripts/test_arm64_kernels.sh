#!/bin/sh
# Builds the cpu kernels and their tests for arm64 and runs them under qemu: with all extensions, and on a core that has none of them.
# Needs g++-12-aarch64-linux-gnu, qemu-user and the sources of googletest (libgtest-dev).
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
out=${1:-$root/build/arm64}
cxx=${ARM64_CXX:-aarch64-linux-gnu-g++-12}
command -v "$cxx" >/dev/null && command -v qemu-aarch64 >/dev/null || { echo "needs $cxx and qemu-aarch64: scripts/setup.sh --test installs them" >&2; exit 1; }
command -v ccache >/dev/null && cxx="ccache $cxx"
gtest=${GTEST_SOURCE:-/usr/src/googletest}
flags="-std=c++20 -O2 -Wall -Wextra -Wshadow -Werror -fno-math-errno -ffp-contract=off -I$root/src -I$root/include"
mkdir -p "$out"
build() {  # object, source, flags...
  object=$1 source=$2
  shift 2
  if [ ! -e "$out/$object" ] || [ -n "$(find "$source" "$root/src/kernels/cpu" "$root/src/base" "$root/src/core" -newer "$out/$object" 2>/dev/null | head -1)" ]; then
    $cxx "$@" -c "$source" -o "$out/$object"
  fi
}
objects=""
for file in base/status base/cpu base/thread_pool core/dtype core/packed_weight kernels/cpu/kernels kernels/cpu/probe kernels/cpu/scalar kernels/cpu/neon; do
  object=$(echo "$file" | tr / _).o
  build "$object" "$root/src/$file.cc" $flags -fno-exceptions -fno-rtti
  objects="$objects $out/$object"
done
build dotprod.o "$root/src/kernels/cpu/dotprod.cc" $flags -fno-exceptions -fno-rtti -march=armv8.2-a+dotprod
build i8mm.o "$root/src/kernels/cpu/i8mm.cc" $flags -fno-exceptions -fno-rtti -march=armv8.2-a+dotprod+i8mm
for file in "$root"/src/kernels/cpu/*_test.cc; do
  object=$(basename "$file" .cc).o
  build "$object" "$file" $flags -I"$gtest/googletest/include"
  objects="$objects $out/$object"
done
for file in gtest-all gtest_main; do
  [ -e "$out/$file.o" ] || $cxx -std=c++20 -O1 -I"$gtest/googletest" -I"$gtest/googletest/include" -c "$gtest/googletest/src/$file.cc" -o "$out/$file.o"
  objects="$objects $out/$file.o"
done
$cxx -static $objects "$out/dotprod.o" "$out/i8mm.o" -lpthread -o "$out/kernels_test"
for cpu in max cortex-a57; do
  echo "qemu-aarch64 -cpu $cpu"
  qemu-aarch64 -cpu $cpu "$out/kernels_test" --gtest_brief=1
done
