#!/usr/bin/env python3
"""What the second turn of a long chat costs until its first token, beside what its new tokens alone cost.

    bench/second_turn.py MODEL.pte [--tokens 1000] [-r ROUNDS] [-t THREADS]

A conversation of about so many tokens stands in a session; then the question is asked again and again, taken back in between. Beside it the same new tokens
are appended by hand at the same position, and one is sampled. Run it with a Python that has the package (PYTHONPATH=build/release/python in a build folder).
"""
import argparse
import json
import statistics
import sys
import time

import pteron

WORDS = "The lighthouse keeper wrote down the weather, the ships and the birds of the day. "
QUESTION = "Which three things did the keeper write down? Answer in one sentence."
BAR = 1.2
GREEDY = {"temperature": 0, "ignore_eos": True, "max_tokens": 1}


def first_turn(llm, tokens):
    """A conversation of about `tokens` tokens, its answer included."""
    text = WORDS
    while len(llm.encode([{"role": "user", "content": text + WORDS}])) < tokens:
        text += WORDS
    return [{"role": "user", "content": text}, {"role": "assistant", "content": "A long watch."}]


def milliseconds(work):
    start = time.perf_counter()
    work()
    return (time.perf_counter() - start) * 1000


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--tokens", type=int, default=1000)
    parser.add_argument("-r", "--rounds", type=int, default=9)
    parser.add_argument("-t", "--threads", type=int, default=0)
    options = parser.parse_args()
    llm = pteron.LLM(options.model, threads=options.threads)
    session = llm.session()
    before = first_turn(llm, options.tokens)
    session.complete(before, **GREEDY)
    whole = llm.encode([*before, {"role": "user", "content": QUESTION}])
    held = 0
    while session.tokens[held] == whole[held] and held + 1 < len(session.tokens):
        held += 1
    session.rewind(held)

    def turn():
        next(iter(session.generate([*before, {"role": "user", "content": QUESTION}], **GREEDY)))

    def new_tokens():
        session.append(whole[held:])
        session.complete(**GREEDY)

    pairs = []
    for _ in range(options.rounds + 1):
        pair = []
        for work in (turn, new_tokens):
            pair.append(milliseconds(work))
            session.rewind(held)
        pairs.append(pair)
    fastest = [min(times) for times in zip(*pairs[1:])]
    median = [statistics.median(times) for times in zip(*pairs[1:])]
    ratio = fastest[0] / fastest[1]
    print(json.dumps({"chat_tokens": held, "new_tokens": len(whole) - held, "second_turn_ms": {"min": fastest[0], "median": median[0]},
                      "new_tokens_ms": {"min": fastest[1], "median": median[1]}, "ratio": round(ratio, 3), "bar": BAR}))
    return 0 if ratio <= BAR else 1


if __name__ == "__main__":
    sys.exit(main())
