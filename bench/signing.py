#!/usr/bin/env python3
"""The figures of signing, each beside its bar. Needs the built command and tests, CMake, Google Benchmark and openssl.

    bench/signing.py [--pteron build/release/bin/pteron] [--build build/bench]
"""
import argparse
import json
import os
import pathlib
import re
import statistics
import struct
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
GIB = 1 << 30


def output(*words):
    return subprocess.run([str(w) for w in words], check=True, capture_output=True, text=True).stdout


def openssl_sha256():
    """Bytes a second of one thread, as `openssl speed` has it."""
    rates = []
    for _ in range(3):
        text = output("openssl", "speed", "-seconds", 1, "-evp", "sha256", "-bytes", 1 << 20)
        rates.append(float(re.search(r"^sha256\s+([\d.]+)k", text, re.M)[1]) * 1000)
    return statistics.median(rates)


def openssl_ed25519(folder):
    """Seconds that openssl takes to verify an Ed25519 signature over 1 GiB."""
    data, key, public, signature = (folder / name for name in ("data", "key.pem", "pub.pem", "sig"))
    with open(data, "wb") as out:
        for _ in range(1024):
            out.write(os.urandom(1 << 10) * 1024)
    output("openssl", "genpkey", "-algorithm", "ed25519", "-out", key)
    output("openssl", "pkey", "-in", key, "-pubout", "-out", public)
    output("openssl", "pkeyutl", "-sign", "-rawin", "-inkey", key, "-in", data, "-out", signature)
    times = []
    for _ in range(3):
        begin = time.perf_counter()
        output("openssl", "pkeyutl", "-verify", "-rawin", "-pubin", "-inkey", public, "-in", data, "-sigfile", signature)
        times.append(time.perf_counter() - begin)
    data.unlink()
    return min(times)


def checks(build):
    """Bytes a second: {benchmark name: best of three}."""
    if not (build / "CMakeCache.txt").exists():
        output("cmake", "-S", ROOT, "-B", build, "-DCMAKE_BUILD_TYPE=Release", "-DPTERON_BENCH=ON", "-DPTERON_TESTS=OFF")
    output("cmake", "--build", build, "--target", "manifest_check_bench")
    text = output(build / "bin/manifest_check_bench", "--benchmark_format=json", "--benchmark_repetitions=3")
    best = {}
    for run in json.loads(text)["benchmarks"]:
        if run["run_type"] == "iteration":
            name = run["name"].removesuffix("/real_time")
            best[name] = max(best.get(name, 0), run["bytes_per_second"])
    return best


def sparse_program(folder):
    """A program followed by a hole up to 10 GB, and a footer."""
    path = folder / "sparse.pte"
    program = (ROOT / "tests/data/pte/valid/bundled.mlp.pte").read_bytes()
    size = 10 * 10**9 // 16 * 16
    with open(path, "wb") as out:
        out.write(program)
        out.seek(size)
        out.write(bytes(64) + struct.pack("<IIQI", 64, 0, size, 88) + b"em00")
    return path


def cost(*words):
    """Milliseconds (best of five) and peak memory in MB of a command."""
    best, peak = float("inf"), 0
    for _ in range(5):
        begin = time.perf_counter()
        process = subprocess.Popen([str(w) for w in words], stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        if status != 0:
            sys.exit(f"{' '.join(map(str, words))} failed")
        best, peak = min(best, (time.perf_counter() - begin) * 1000), max(peak, usage.ru_maxrss / 1000)
    return best, peak


# What an attacker tries, as tests of src/manifest/check_test.cc.
ATTACKS = {
    "EveryBitFlipIsRefused": "each bit of footer and digests, 5,000 of the program, 3 algorithms",
    "OpaqueSignaturesHoldForEveryBit": "a flip in each byte under a plain footer",
    "EveryTruncationIsRefused": "each cut of the last 2 KiB, 3 algorithms",
    "RandomFootersAreRefused": "100,000 random footers",
    "PartsOfOtherFilesDoNotFit": "parts of two signed files mixed",
}


def attack_rows(tests):
    """Runs each attack: a row for what was refused throughout."""
    rows = []
    for name, what in ATTACKS.items():
        done = subprocess.run([tests, f"--gtest_filter=CheckTest.{name}"], capture_output=True, text=True)
        good = done.returncode == 0 and "[  PASSED  ] 1 test." in done.stdout
        rows.append((what, "all refused" if good else "see the test", "none accepted, no crash", good))
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pteron", type=pathlib.Path, default=ROOT / "build/release/bin/pteron")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/bench")
    options = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        speed = openssl_sha256()
        rates = checks(options.build)
        for bench, rate in rates.items():
            if bench.startswith("BM_Check/"):
                threads = int(bench.split("/")[1])
                rows.append((f"full check of 1 GiB, {threads} thread{'s' * (threads > 1)}", f"{rate / 1e6:.0f} MB/s", f">= {0.9 * threads * speed / 1e6:.0f} MB/s (0.9 x {threads} x openssl)",
                             rate >= 0.9 * threads * speed))
        bar = openssl_ed25519(folder)
        own = GIB / rates["BM_PlainSignature"]
        rows.append(("Ed25519 over 1 GiB", f"{own:.2f} s", f"<= {bar:.2f} s (openssl pkeyutl)", own <= bar))
        sparse = sparse_program(folder)
        for words in (("manifest", "show"), ("inspect",)):
            ms, mb = cost(options.pteron, *words, sparse)
            rows.append((f"{' '.join(words)} of 10 GB", f"{ms:.0f} ms, {mb:.0f} MB", "< 50 ms, < 20 MB", ms < 50 and mb < 20))
    build = options.pteron.resolve().parent.parent
    subprocess.run(["cmake", "--build", build, "--target", "pteron_manifest_test"], check=True, stdout=subprocess.DEVNULL)
    rows += attack_rows(options.pteron.parent / "pteron_manifest_test")
    for what, found, bar, good in rows:
        print(f"{what:68} {found:18} {bar:42} {'ok' if good else 'MISSED'}")
    return 0 if all(row[3] for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
