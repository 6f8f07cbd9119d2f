#!/usr/bin/env bash
# Installs what building and testing need on Debian 12. Does nothing where all is there.
set -euo pipefail

packages=(
  g++ cmake ninja-build ccache pkg-config git ca-certificates
  libflatbuffers-dev flatbuffers-compiler libsimdjson-dev nlohmann-json3-dev libcli11-dev
  libssl-dev openssl libpcre2-dev libutf8proc-dev libedit-dev
  libgtest-dev libgmock-dev python3 python3-dev python3-pip python3-venv python3-numpy pybind11-dev mypy
)
# The arm64 kernels are built across and run by an emulator.
[ "${1:-}" = "--test" ] && [ "$(uname -m)" = x86_64 ] && packages+=(g++-12-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user)
[ "${1:-}" = "--bench" ] && packages+=(libbenchmark-dev)
[ "${1:-}" = "--fuzz" ] && packages+=(clang-19 libclang-rt-19-dev)

missing=()
for package in "${packages[@]}"; do
  [ "$(dpkg-query -W -f='${Status}' "$package" 2>/dev/null)" = "install ok installed" ] || missing+=("$package")
done
[ ${#missing[@]} -eq 0 ] && exit 0

sudo=""
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null || { echo "setup: not root and no sudo; install by hand: ${missing[*]}" >&2; exit 1; }
  sudo=sudo
fi
echo "setup: installing ${missing[*]}" >&2
$sudo apt-get update -qq
$sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
