#!/usr/bin/env python3
"""What guessing from the text gains where a text is quoted back: decode speed with and without --lookup, in turns, and whether the text is the same.

    bench/lookup.py MODEL.pte [-n TOKENS] [-r ROUNDS] [--lookup GUESSES] [--threads N]
"""
import argparse
import json
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE)]
from measure import alternating, run_json  # noqa: E402

BAR = 1.5
PASSAGE = ("The keeper of the lighthouse wrote in his book that the fog came in at four, that two ships passed to the north with their lamps lit, "
           "and that the gulls had left the rocks before the storm began. ")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("-n", "--tokens", type=int, default=96)
    parser.add_argument("-r", "--rounds", type=int, default=5)
    parser.add_argument("--lookup", type=int, default=7)
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--pteron", default=HERE.parent / "build/release/bin/pteron")
    options = parser.parse_args()
    texts = {}

    def speed(guesses):
        words = [options.pteron, "run", options.model, "-p", PASSAGE * 3 + PASSAGE[:47], "-n", options.tokens, "--temperature", 0, "--ignore-eos", "--lookup", guesses, "--json"]
        if options.threads:
            words += ["--threads", options.threads]
        made = run_json(words)
        texts.setdefault(guesses, made["text"])
        return made["timing"]["decode_tokens"] / made["timing"]["decode_ms"] * 1000

    plain, guessed = alternating(lambda: speed(0), lambda: speed(options.lookup), rounds=options.rounds)
    equal = texts[0] == texts[options.lookup]
    print(json.dumps({"plain_tokens_per_second": round(plain, 1), "lookup_tokens_per_second": round(guessed, 1), "ratio": round(guessed / plain, 2), "bar": BAR, "equal_text": equal}))
    return 0 if equal and guessed / plain >= BAR else 1


if __name__ == "__main__":
    sys.exit(main())
