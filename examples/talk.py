"""A chat: python examples/talk.py MODEL.pte. An empty line ends it."""
import sys

import pteron

session = pteron.LLM(sys.argv[1]).session()
messages = []
while True:
    try:
        question = input("> ")
    except EOFError:
        break
    if not question:
        break
    messages.append({"role": "user", "content": question})
    for piece in session.generate(messages, max_tokens=128):
        print(piece, end="", flush=True)
    print()
    messages.append({"role": "assistant", "content": session.last.text})
