#!/usr/bin/env python3
"""What sessions cost beside running the program, each figure beside its bar. Needs CMake and Google Benchmark.

    bench/sessions.py [--build build/bench]
"""
import argparse
import json
import pathlib
import sys

from measure import Table, run

ROOT = pathlib.Path(__file__).resolve().parent.parent


def microseconds(build):
    """{benchmark name: the median of five}"""
    if not (build / "CMakeCache.txt").exists():
        run(["cmake", "-S", ROOT, "-B", build, "-DCMAKE_BUILD_TYPE=Release", "-DPTERON_BENCH=ON", "-DPTERON_TESTS=OFF"])
    run(["cmake", "--build", build, "--target", "llm_session_bench"])
    text = run([build / "bin/llm_session_bench", "--benchmark_format=json", "--benchmark_repetitions=5", "--benchmark_enable_random_interleaving=true"])
    return {entry["run_name"]: entry["real_time"] for entry in json.loads(text)["benchmarks"] if entry.get("aggregate_name") == "median"}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/bench")
    taken = microseconds(parser.parse_args().build)
    table = Table()
    contract, fork, copy = (taken[name] for name in ("BM_Contract64Layers", "BM_Fork1000Of4096", "BM_CopyOfThoseBytes"))
    table.add("a contract of 64 layers read and checked", f"{contract:.0f} us", "< 1000 us", contract < 1000)
    table.add("a fork at 1000 of 4096 tokens", f"{fork:.0f} us", f"<= {2 * copy:.0f} us (2 x copying those bytes)", fork <= 2 * copy)
    table.print()
    return 1 if table.failed else 0


if __name__ == "__main__":
    sys.exit(main())
