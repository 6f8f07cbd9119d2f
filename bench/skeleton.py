#!/usr/bin/env python3
"""The figures of the whole path, side by side with their bars: export, load, logits, greedy tokens, decode speed, the stock runtime.

usage: bench/skeleton.py [--pteron build/release/bin/pteron] [--stock STOCK_RUNNER] [--model GGUF]
"""
import argparse
import hashlib
import json
import os
import pathlib
import statistics
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "tests/e2e")]
os.environ.setdefault("PTERON", str(HERE.parent / "build/release/bin/pteron"))
from command import DATA, PTERON, max_difference, read_tensors  # noqa: E402
from measure import Table, run, run_json, run_watched  # noqa: E402
from stock import StockRunner  # noqa: E402

ROOT = HERE.parent
DATA = ROOT / "tests/data"


def tiny_llamas(table, folder):
    worst = 0.0
    for model in json.loads((DATA / "arch/index.json").read_text())["models"]:
        if model["architecture"] != "LlamaForCausalLM":
            continue
        golden, program, out = read_tensors(DATA / "arch" / model["golden"]), folder / "tiny.pte", folder / "tiny.safetensors"
        run([PTERON, "export", DATA / "arch" / model["name"], "-o", program, "--backend", "portable", "--context-length", 128, "--prefill-rows", 16, "-q"])
        for sequence in range(4):
            ids = golden[f"seq{sequence}.ids"][1]
            run([PTERON, "logits", program, "--tokens", ",".join(map(str, ids)), "-o", out, "-q"])
            worst = max(worst, max_difference(read_tensors(out)["logits"][1], golden[f"seq{sequence}.logits"][1]))
    table.add("tiny Llama checkpoints, logits", f"{worst:.2e}", "<= 1e-4", worst <= 1e-4)


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--model", default=ROOT / "cache/models/SmolLM2-135M-Instruct.Q4_1.gguf")
    options.add_argument("--stock", help="a built stock runner; without it the wheel is fetched and the runner is built under cache/")
    options = options.parse_args()
    table = Table()
    reference = json.loads((DATA / "real/smollm2/prompts.json").read_text())
    with tempfile.TemporaryDirectory(dir=ROOT / "cache") as work:
        folder = pathlib.Path(work)
        tiny_llamas(table, folder)

        program = folder / "smollm2.pte"
        words = [PTERON, "export", options.model, "--backend", "portable", "-q", "-o"]
        runs = [run_watched([*words, program]) for _ in range(3)]
        seconds, anonymous = statistics.median(r[0] for r in runs), max(r[1] for r in runs)
        size = program.stat().st_size
        table.add("export to portable float32", f"{seconds:.2f} s", "<= 5 s", seconds <= 5)
        table.add("export, peak anonymous memory", f"{anonymous / 1e6:.0f} MB", "<= 300 MB", anonymous <= 300e6)
        run([*words, folder / "again.pte"])
        digests = [hashlib.sha256(p.read_bytes()).hexdigest() for p in (program, folder / "again.pte")]
        table.add("two exports", "identical bytes" if digests[0] == digests[1] else "differ", "identical bytes", digests[0] == digests[1])
        (folder / "again.pte").unlink()

        equal, worst = 0, 0.0
        rows = read_tensors(DATA / "real/smollm2/rows.safetensors")
        for prompt in reference["prompts"]:
            ids = ",".join(map(str, prompt["ids"]))
            made = run_json([PTERON, "run", program, "--tokens", ids, "-n", len(prompt["greedy"]), "--temperature", 0, "--ignore-eos", "--json"])
            equal += made["tokens"] == prompt["greedy"]
            run([PTERON, "logits", program, "--tokens", ids, "--last", "-o", folder / "logits.safetensors", "-q"])
            got = read_tensors(folder / "logits.safetensors")["logits"][1]
            worst = max([worst, *(abs(got[token] - logit) for token, logit in prompt["top20"])])
            if prompt["name"] in rows:
                worst = max(worst, max_difference(got, rows[prompt["name"]][1]))
        table.add("greedy tokens of the reference prompts", f"{equal} of {len(reference['prompts'])} equal", "all", equal == len(reference["prompts"]))
        table.add("logits of the reference prompts", f"{worst:.2e}", "<= 2e-3", worst <= 2e-3)

        loads = [run_json([PTERON, "bench", program, "-p", 0, "-n", 1, "-r", 1, "--json"])["load_ms"] for _ in range(5)]
        table.add(f"load of the program ({size / 1e6:.0f} MB)", f"{statistics.median(loads):.0f} ms", "<= 150 ms", statistics.median(loads) <= 150)

        # Bytes that a token must read: all constants (the embedding is the head's weight, so it counts once). The limit is the built-in probe's.
        report = run_json([PTERON, "inspect", program, "--json"])
        weights = sum(c["bytes"] for c in report["constants"])
        bench = [run_json([PTERON, "bench", program, "-p", 8, "-n", 24, "-r", 3, "--probe", "--json"]) for _ in range(3)]
        reached = [b["decode"]["tokens_per_second"]["median"] * weights / b["probe"]["read_bytes_per_second"] for b in bench]
        share = statistics.median(reached)
        table.add("decode with portable operators", f"{100 * share:.0f} % of the read bandwidth", ">= 50 %", share >= 0.5)

        stock = StockRunner(options.stock, ROOT / "cache")
        difference = stock.compare(program, reference["prompts"][0]["ids"], folder)
        table.add("the stock runtime, prefill and decode", f"logits within {difference:.2e} of ours", "<= 1e-3", difference <= 1e-3)
    table.print()
    return 1 if table.failed else 0


if __name__ == "__main__":
    sys.exit(main())
