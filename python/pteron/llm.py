"""Language models: text in, text out."""
import json
import os
import queue
from typing import TYPE_CHECKING, Any, AsyncIterator, Callable, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple, Union

from . import _pteron
from .errors import Error
from .generation import Generation
from .options import GENERATE, GenerateOptions, sampling_values
from .streaming import Delivery, Worker
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
        given = _checked("complete", options)
        self._feeder(prompt)()
        self.last = Generation(**self._inner.generate(given, None))
        return self.last

    def generate(self, prompt: Optional[Prompt] = None, **options: "Unpack[GenerateOptions]") -> Iterator[str]:
        """As `complete`, but streams the text piece by piece. Leaving the loop ends the generation; afterwards `last` has the rest."""
        return self._stream(self._feeder(prompt), _checked("generate", options))

    def agenerate(self, prompt: Optional[Prompt] = None, **options: "Unpack[GenerateOptions]") -> AsyncIterator[str]:
        """`generate` for asyncio: the event loop goes on while the model computes."""
        return self._astream(self._feeder(prompt), _checked("agenerate", options))

    def _feeder(self, prompt: Optional[Prompt]) -> Callable[[], None]:
        """What brings the prompt into the session."""
        if prompt is None:
            return lambda: None
        ids = self._llm.encode(prompt)
        return (lambda: self._become(ids)) if is_conversation(prompt) else (lambda: self._follow(ids))

    def _follow(self, ids: List[int]) -> None:
        """Appends tokens behind the sampled one that was not fed yet."""
        pending = self._inner.pending
        self._inner.append(ids if pending is None else [pending, *ids])

    def _become(self, ids: List[int]) -> None:
        """Makes `ids` what the session holds; the part that it holds already is kept where the caches can go back to it."""
        held = self._inner.tokens
        same = 0
        while same < min(len(held), len(ids) - 1) and held[same] == ids[same]:
            same += 1
        try:
            self._inner.rewind(same)
        except Error as error:
            if error.code != "unsupported":
                raise
            self._inner.reset()  # a sliding window has forgotten what came before
            same = 0
        self._inner.append(ids[same:])

    def _worker(self, feed: Callable[[], None], given: Dict[str, Any], deliver: Callable[[Delivery], object]) -> Worker:
        return Worker(feed, lambda listener: Generation(**self._inner.generate(given, listener)), self._inner.cancel, deliver)

    def _stream(self, feed: Callable[[], None], given: Dict[str, Any]) -> Iterator[str]:
        pieces: "queue.SimpleQueue[Delivery]" = queue.SimpleQueue()
        worker = self._worker(feed, given, pieces.put)
        piece: Delivery = ""
        try:
            while True:
                worker.more()
                piece = pieces.get()
                if not isinstance(piece, str):
                    break
                yield piece
        finally:
            left = isinstance(piece, str)
            worker.stop()
            while isinstance(piece, str):
                piece = pieces.get()
            worker.join()
            self._end(piece, raising=not left)

    async def _astream(self, feed: Callable[[], None], given: Dict[str, Any]) -> AsyncIterator[str]:
        import asyncio

        loop = asyncio.get_running_loop()
        pieces: "asyncio.Queue[Delivery]" = asyncio.Queue()
        worker = self._worker(feed, given, lambda delivery: loop.call_soon_threadsafe(pieces.put_nowait, delivery))
        piece: Delivery = ""
        try:
            while True:
                worker.more()
                piece = await pieces.get()
                if not isinstance(piece, str):
                    break
                yield piece
        finally:
            left = isinstance(piece, str)
            worker.stop()
            try:
                while isinstance(piece, str):
                    piece = await pieces.get()
            except asyncio.CancelledError:
                worker.join()  # one token at most: the session must be free when this is over
                raise
            self._end(piece, raising=not left)

    def _end(self, delivery: Union[Generation, BaseException], raising: bool) -> None:
        """Keeps the result; an exception is raised, unless the loop was left and wants no more."""
        if isinstance(delivery, Generation):
            self.last = delivery
        elif raising:
            raise delivery

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
        return [int(item) for item in prompt]  # type: ignore[arg-type]

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
