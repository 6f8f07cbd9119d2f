"""Language models: text in, text out."""
import json
import os
from operator import index
from typing import TYPE_CHECKING, Any, AsyncIterator, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple, Union

from . import _pteron
from .generation import Generation
from .options import GENERATE, GenerateOptions, sampling_values
from .text import ChatTemplate, Tokenizer
from .trust import Path, paths

if TYPE_CHECKING:
    import numpy as np
    from typing_extensions import Unpack

#: A prompt: text, token ids, or a whole conversation: a list of {"role", "content"}, or {"messages", "tools", ...} as a template sees it.
Prompt = Union[str, Sequence[int], Sequence[Mapping[str, Any]], Mapping[str, Any]]


class Session:
    """One conversation: position, tokens, caches. One thread at a time; `cancel` may come from any."""

    def __init__(self, llm: "LLM", inner: "_pteron.Session") -> None:
        self._llm = llm
        self._inner = inner
        self.last: Optional[Generation] = None  #: what the last generation gave

    @property
    def position(self) -> int:
        return self._inner.position

    @property
    def capacity(self) -> int:
        return self._inner.capacity

    @property
    def tokens(self) -> List[int]:
        """The committed tokens."""
        return self._inner.tokens

    def can_append(self, count: int) -> bool:
        return self._inner.can_append(count)

    def append(self, prompt: Prompt) -> "np.ndarray[Any, Any]":
        """Commits tokens; the logits of the last one, float32 [V]."""
        return self._inner.append(self._llm.encode(prompt))

    def append_rows(self, prompt: Prompt) -> "np.ndarray[Any, Any]":
        """Commits tokens; the logits of each, float32 [P, V]."""
        return self._inner.append_rows(self._llm.encode(prompt))

    def complete(self, prompt: Optional[Prompt] = None, **options: "Unpack[GenerateOptions]") -> Generation:
        """Appends the prompt, generates, and returns all of it. Without a prompt it goes on from where the session stands.

        A conversation is the whole conversation: what the session holds of it already is not computed again.
        """
        self.last = made = Generation(**self._inner.complete(*self._read(prompt), _checked("complete", options)))
        return made

    def generate(self, prompt: Optional[Prompt] = None, **options: "Unpack[GenerateOptions]") -> Iterator[str]:
        """As `complete`, but streams the text piece by piece. Leaving the loop ends the generation; afterwards `last` has the rest."""
        return self._pieces(self._inner.stream(*self._read(prompt), _checked("generate", options)))

    def agenerate(self, prompt: Optional[Prompt] = None, **options: "Unpack[GenerateOptions]") -> AsyncIterator[str]:
        """`generate` for asyncio: the event loop goes on while the model computes."""
        return self._apieces(self._inner.stream(*self._read(prompt), _checked("agenerate", options)))

    def _read(self, prompt: Optional[Prompt]) -> Tuple[Optional[List[int]], bool]:
        """A prompt's ids, and whether they are all that the session is to hold."""
        return (None, False) if prompt is None else (self._llm.encode(prompt), is_conversation(prompt))

    def _pieces(self, stream: "_pteron.Stream") -> Iterator[str]:
        try:
            while (piece := stream.next()) is not None:
                yield piece
        finally:
            self._end(stream)

    async def _apieces(self, stream: "_pteron.Stream") -> AsyncIterator[str]:
        import asyncio

        loop = asyncio.get_running_loop()
        try:
            while (piece := await loop.run_in_executor(None, stream.next)) is not None:
                yield piece
        finally:
            stream.stop()  # a thread may be at it; it takes one token at most until the session is free
            self._end(stream)

    def _end(self, stream: "_pteron.Stream") -> None:
        made = stream.finish()
        if made is not None:
            self.last = Generation(**made)

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
        return self._inner.caches()


def is_conversation(prompt: Prompt) -> bool:
    return isinstance(prompt, Mapping) or (not isinstance(prompt, str) and len(prompt) > 0 and isinstance(prompt[0], Mapping))


def _checked(call: str, options: GenerateOptions) -> Dict[str, Any]:
    given = sampling_values(call, options, GENERATE)
    if isinstance(given.get("stop"), str):
        given["stop"] = [given["stop"]]
    return given


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

    def generate(self, prompt: Prompt, **options: "Unpack[GenerateOptions]") -> Iterator[str]:
        """Streams an answer from a session of its own."""
        return self.session().generate(prompt, **options)

    def complete(self, prompt: Prompt, **options: "Unpack[GenerateOptions]") -> Generation:
        """An answer from a session of its own."""
        return self.session().complete(prompt, **options)

    def encode(self, prompt: Prompt) -> List[int]:
        """Token ids of a text, of a conversation under the chat template, or the ids themselves."""
        if isinstance(prompt, str):
            return self._inner.encode_prompt(prompt)
        if isinstance(prompt, Mapping):
            return self._inner.encode_chat(json.dumps(prompt), True)
        if is_conversation(prompt):
            return self._inner.encode_chat(json.dumps({"messages": list(prompt)}), True)
        return [index(item) for item in prompt]  # type: ignore[arg-type]

    def perplexity(self, text: Union[str, Sequence[int]], *, ctx: int = 512, stride: int = 512) -> float:
        """exp of the mean negative log-likelihood in nats, in windows as `pteron perplexity` takes them."""
        import math

        if isinstance(text, str):
            if self.tokenizer is None:
                raise ValueError("the program carries no tokenizer: give token ids")
            text = self.tokenizer.encode(text)
        tokens, total = self._inner.perplexity([index(token) for token in text], ctx, stride)
        return math.exp(total / tokens)

    @property
    def contract(self) -> Dict[str, Any]:
        contract: Dict[str, Any] = json.loads(self._inner.contract())
        return contract

    @property
    def context_length(self) -> int:
        return self._inner.context_length

    @property
    def vocab_size(self) -> int:
        return self._inner.vocab_size

    @property
    def prefill_rows(self) -> int:
        return self._inner.prefill_rows

    @property
    def bytes_per_session(self) -> int:
        return self._inner.bytes_per_session


__all__ = ["Generation", "LLM", "Prompt", "Session"]
