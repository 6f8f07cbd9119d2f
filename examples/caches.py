"""What a model says when it forgets a part of its prompt: python examples/caches.py MODEL.pte PROMPT. Caches are arrays over the session's own memory."""
import sys

import pteron

llm = pteron.LLM(sys.argv[1])
ids = llm.encode(sys.argv[2])
session = llm.session()
session.append(ids)
first, last = len(ids) // 3, 2 * len(ids) // 3
for blind in (False, True):
    branch = session.fork()
    if blind:
        for (kind, layer), cache in branch.caches().items():
            if kind == "value":
                cache[:, :, first:last] = 0
    label = f"without tokens {first} to {last}" if blind else "with all of it"
    print(f"{label}:{branch.complete(max_tokens=16, temperature=0).text!r}")
