#!/usr/bin/env python3
"""What a token costs more in Python than in the command, which write the same greedy text in turns: in a loop over the pieces, and in one call. And what the
import costs.

    bench/python_overhead.py MODEL.pte [-n TOKENS] [-r ROUNDS]

Run it with a Python that has the package (PYTHONPATH=build/release/python in a build folder).
"""
import argparse
import json
import statistics
import subprocess
import sys
import time

import pteron

PROMPT = "The capital of France is"
BAR = 2.0  # percent
IMPORT_BAR = 100.0  # milliseconds


def command(path, tokens, threads):
    """Milliseconds a token that `pteron run` takes."""
    words = [sys.executable, "-m", "pteron", "run", path, "-p", PROMPT, "-n", str(tokens), "--temperature", "0", "--ignore-eos", "--threads", str(threads), "--json"]
    timing = json.loads(subprocess.run(words, capture_output=True, check=True).stdout)["timing"]
    return timing["decode_ms"] / timing["decode_tokens"]


def stream(session, tokens):
    for piece in session.generate(max_tokens=tokens, temperature=0, ignore_eos=True):
        sys.stderr.write(piece[:0])  # touched, as a program would


def complete(session, tokens):
    session.complete(max_tokens=tokens, temperature=0, ignore_eos=True)


def package(llm, tokens, generate):
    """Milliseconds a token by the clock around the Python call."""
    session = llm.session()
    session.append(llm.encode(PROMPT))
    start = time.perf_counter()
    generate(session, tokens)
    return (time.perf_counter() - start) * 1000 / (len(session.last.tokens) - 1)


def import_ms():
    """Milliseconds by the wall clock that `import pteron` takes in a fresh interpreter."""
    code = "import time; t = time.perf_counter(); import pteron; print((time.perf_counter() - t) * 1000)"
    return float(subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("-n", "--tokens", type=int, default=96)
    parser.add_argument("-r", "--rounds", type=int, default=7)
    parser.add_argument("-t", "--threads", type=int, default=1)
    options = parser.parse_args()
    llm = pteron.LLM(options.model, threads=options.threads)
    for generate in (stream, complete):
        package(llm, 8, generate)
    rounds = [(command(options.model, options.tokens, options.threads), package(llm, options.tokens, stream), package(llm, options.tokens, complete))
              for _ in range(options.rounds)]
    fastest = [min(times) for times in zip(*rounds)]
    median = [statistics.median(times) for times in zip(*rounds)]
    overheads = [round((time / fastest[0] - 1) * 100, 2) for time in fastest[1:]]
    imports = sorted(import_ms() for _ in range(options.rounds))
    report = {f"{name}_ms": {"min": fastest[i], "median": median[i]} for i, name in enumerate(("command", "stream", "complete"))}
    report["overhead_percent"] = {"stream": overheads[0], "complete": overheads[1], "bar": BAR}
    report["import_ms"] = {"min": imports[0], "median": statistics.median(imports), "bar": IMPORT_BAR}
    print(json.dumps(report))
    return 0 if max(overheads) <= BAR and imports[0] < IMPORT_BAR else 1


if __name__ == "__main__":
    sys.exit(main())
