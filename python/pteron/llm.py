"""Language models: text in, text out."""
import asyncio
import json
import os
import queue
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, AsyncIterator, Dict, Iterator, List, Optional, Sequence, Tuple, Union

from . import _pteron
from .program import Program
from .text import ChatTemplate, Tokenizer
from .trust import Path, paths

if TYPE_CHECKING:
    import numpy as np

#: A prompt: text, token ids, or a conversation (a list of {"role", "content"}).
Prompt = Union[str, Sequence[int], Sequence[Dict[str, Any]]]


@dataclass(frozen=True)
class Generation:
    """What came of a generation. `logprobs` and `top_logprobs` only where they were asked for."""

    text: str
    tokens: List[int]
    finish_reason: str  #: "stop", "length", "context" or "cancelled"
    stop_sequence: Optional[str] = None
    logprobs: List[float] = field(default_factory=list)
    top_logprobs: List[List[Tuple[int, float]]] = field(default_factory=list)
    first_token_ms: float = 0
    decode_ms: float = 0
    drafted: int = 0
    accepted: int = 0


class Session:
    """One conversation: position, tokens, caches. One thread at a time; `cancel` may come from any."""

    def __init__(self, llm: "LLM", inner: "_pteron.Session") -> None:
        self._llm = llm
        self._inner = inner
        self.last: Optional[Generation] = None  #: what the last generation gave

    @property
    def position(self) -> int:
        position: int = self._inner.position
        return position

    @property
    def capacity(self) -> int:
        capacity: int = self._inner.capacity
        return capacity

    @property
    def tokens(self) -> List[int]:
        """The committed tokens."""
        tokens: List[int] = self._inner.tokens
        return tokens

    def can_append(self, count: int) -> bool:
        fits: bool = self._inner.can_append(count)
        return fits

    def append(self, prompt: Prompt) -> "np.ndarray[Any, Any]":
        """Commits tokens; the logits of the last one, float32 [V]."""
        logits: "np.ndarray[Any, Any]" = self._inner.append(self._llm.encode(prompt))
        return logits

    def append_rows(self, prompt: Prompt) -> "np.ndarray[Any, Any]":
        """Commits tokens; the logits of each, float32 [P, V]."""
        rows: "np.ndarray[Any, Any]" = self._inner.append_rows(self._llm.encode(prompt), self._llm.vocab_size)
        return rows

    def _feed(self, prompt: Optional[Prompt]) -> None:
        if prompt is None:
            return
        ids = self._llm.encode(prompt)
        pending: Optional[int] = self._inner.pending
        self._inner.append(ids if pending is None else [pending, *ids])

    def complete(self, prompt: Optional[Prompt] = None, **options: Any) -> Generation:
        """Generates and returns all of it. Options: max_tokens, min_tokens, temperature, top_k, top_p, min_p, typical_p, repetition_penalty,
        presence_penalty, frequency_penalty, logit_bias, seed, stop (list of texts), stop_tokens, ignore_eos, time_limit (seconds), lookup, logprobs."""
        self._feed(prompt)
        self.last = Generation(**self._inner.generate(_checked(options), None))
        return self.last

    def generate(self, prompt: Optional[Prompt] = None, **options: Any) -> Iterator[str]:
        """Streams the text piece by piece; options as in `complete`. Leaving the loop ends the generation. Afterwards `last` has the rest."""
        checked = _checked(options)
        pieces: "queue.SimpleQueue[Any]" = queue.SimpleQueue()
        stopped = threading.Event()

        def on_text(token: Optional[int], text: str) -> bool:
            if text:
                pieces.put(text)
            return not stopped.is_set()

        def work() -> None:
            try:
                self._feed(prompt)
                pieces.put(Generation(**self._inner.generate(checked, on_text)))
            except BaseException as error:  # handed to the thread that asked
                pieces.put(error)

        worker = threading.Thread(target=work, name="pteron-generate", daemon=True)
        worker.start()
        try:
            while True:
                piece = pieces.get()
                if isinstance(piece, BaseException):
                    raise piece
                if isinstance(piece, Generation):
                    self.last = piece
                    return
                yield piece
        finally:
            stopped.set()
            worker.join()

    async def agenerate(self, prompt: Optional[Prompt] = None, **options: Any) -> AsyncIterator[str]:
        """`generate` for asyncio: the event loop goes on while the model computes."""
        loop = asyncio.get_running_loop()
        pieces = self.generate(prompt, **options)
        done = object()
        try:
            while True:
                piece = await loop.run_in_executor(None, next, pieces, done)
                if piece is done:
                    return
                assert isinstance(piece, str)
                yield piece
        finally:
            await loop.run_in_executor(None, pieces.close)  # type: ignore[attr-defined]

    def rewind(self, position: int) -> None:
        self._inner.rewind(position)

    def fork(self) -> "Session":
        """A second session with the same tokens and caches of its own."""
        return Session(self._llm, self._inner.fork())

    def evict(self, start: int, stop: int) -> None:
        """Takes tokens out of the middle; those behind them move down."""
        self._inner.evict(start, stop)

    def snapshot(self, path: Path) -> None:
        self._inner.snapshot(os.fspath(path))

    def restore(self, path: Path) -> None:
        self._inner.restore(os.fspath(path))

    def reset(self) -> None:
        self._inner.reset()

    def cancel(self) -> None:
        self._inner.cancel()

    def caches(self) -> Dict[Tuple[str, int], "np.ndarray[Any, Any]"]:
        """The caches by ("key" or "value", layer): arrays over the session's own memory, [1, heads, slots, dim]. They change with every call.
        numpy arrays have __dlpack__; bfloat16 comes as uint16."""
        caches: Dict[Tuple[str, int], "np.ndarray[Any, Any]"] = self._inner.caches()
        return caches


def _checked(options: Dict[str, Any]) -> Dict[str, Any]:
    unknown = set(options) - {
        "max_tokens", "min_tokens", "temperature", "top_k", "top_p", "min_p", "typical_p", "repetition_penalty", "presence_penalty", "frequency_penalty",
        "logit_bias", "seed", "stop", "stop_tokens", "ignore_eos", "time_limit", "lookup", "logprobs"}
    if unknown:
        raise TypeError(f"unknown generation options: {', '.join(sorted(unknown))}")
    if isinstance(options.get("stop"), str):
        options = {**options, "stop": [options["stop"]]}
    return options


class LLM:
    """A program under an I/O contract with its tokenizer and template. Shared by threads and sessions."""

    def __init__(self, path: Path, *, trust: Sequence[Path] = (), require_signed: bool = False, allow_expired: bool = False, minimum_counter: int = 0,
                 load: str = "mmap", data: Sequence[Path] = (), threads: int = 0, chunk: int = 0, min_chunk: int = 2, use_prefill: bool = True) -> None:
        self._inner = _pteron.Engine(os.fspath(path), paths(trust), require_signed, allow_expired, minimum_counter, load, paths(data), threads, chunk,
                                     min_chunk, use_prefill)
        tokenizer, template = self._inner.tokenizer(), self._inner.chat_template()
        self.tokenizer: Optional[Tokenizer] = None if tokenizer is None else Tokenizer._of(tokenizer)
        self.chat_template: Optional[ChatTemplate] = None if template is None else ChatTemplate._of(template)

    def session(self) -> Session:
        return Session(self, self._inner.new_session())

    def generate(self, prompt: Prompt, **options: Any) -> Iterator[str]:
        """Streams an answer from a session of its own; options as in Session.complete."""
        return self.session().generate(prompt, **options)

    def complete(self, prompt: Prompt, **options: Any) -> Generation:
        return self.session().complete(prompt, **options)

    def encode(self, prompt: Prompt) -> List[int]:
        """Token ids of a text, of a conversation under the chat template, or the ids themselves."""
        if isinstance(prompt, str):
            ids: List[int] = self._inner.encode_prompt(prompt)
            return ids
        items = list(prompt)
        if items and isinstance(items[0], dict):
            chat: List[int] = self._inner.encode_chat(json.dumps({"messages": items}), True)
            return chat
        return [int(item) for item in items]  # type: ignore[arg-type]

    def perplexity(self, text: Union[str, Sequence[int]], *, ctx: int = 512, stride: int = 512) -> float:
        """exp of the mean negative log-likelihood in nats, in windows as `pteron perplexity` takes them."""
        import math

        if isinstance(text, str):
            if self.tokenizer is None:
                raise ValueError("the program carries no tokenizer: give token ids")
            text = self.tokenizer.encode(text)
        tokens, total = self._inner.perplexity(list(text), ctx, stride)
        return math.exp(total / tokens)

    @property
    def contract(self) -> Dict[str, Any]:
        contract: Dict[str, Any] = json.loads(self._inner.contract())
        return contract

    @property
    def context_length(self) -> int:
        length: int = self._inner.context_length
        return length

    @property
    def vocab_size(self) -> int:
        size: int = self._inner.vocab_size
        return size

    @property
    def prefill_rows(self) -> int:
        rows: int = self._inner.prefill_rows
        return rows

    @property
    def bytes_per_session(self) -> int:
        size: int = self._inner.bytes_per_session
        return size


__all__ = ["Generation", "LLM", "Program", "Prompt", "Session"]
