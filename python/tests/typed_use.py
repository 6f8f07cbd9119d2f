"""What a type checker makes of the package: mypy reads this file, nothing runs it. An ignored line must be an error, or mypy says so."""
from typing import AsyncIterator, Dict, Iterator, List, Optional

import pteron


def right_uses(llm: pteron.LLM, method: pteron.Method) -> None:
    session: pteron.Session = llm.session()
    pieces: Iterator[str] = session.generate("text", max_tokens=3, stop=["a"], logit_bias={1: 2.0})
    later: AsyncIterator[str] = session.agenerate([1, 2, 3], temperature=0.5)
    made: pteron.Generation = session.complete([{"role": "user", "content": "hi"}], stop="a")
    stopped: Optional[str] = made.stop_sequence
    outputs: List[object] = method([1.0], 2)
    report: Dict[str, object] = pteron.export("in", "out", quant="int8", progress=lambda stage, done, total: None)
    key = session.caches()["key", 0][0, 0]
    print(pieces, later, stopped, outputs, report, key, pteron.check("file", trust=["key"]).state, pteron.hf_static.Runner("file", threads=2).position)


def wrong_uses(llm: pteron.LLM) -> None:
    llm.session().complete("text", max_token=3)  # type: ignore[call-arg]
    llm.complete("text", max_tokens="three")  # type: ignore[arg-type]
    pteron.export("in", "out", quantisation="int8")  # type: ignore[call-arg]
    pteron.Sampler(top_k=0.5)  # type: ignore[arg-type]
    pteron.check("file", trust=3)  # type: ignore[arg-type]
