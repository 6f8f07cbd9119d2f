"""Tokenizers, chat templates, sampling."""
import json
import os
from typing import TYPE_CHECKING, Any, Dict, Iterable, Iterator, List, Optional, Sequence

from . import _pteron
from .options import SAMPLING, SamplingOptions, sampling_values
from .trust import Path

if TYPE_CHECKING:
    import numpy as np
    from typing_extensions import Unpack


class Tokenizer:
    """From a program with a tokenizer, a tokenizer.json, or a .gguf file. Safe to share by threads."""

    def __init__(self, path: Path) -> None:
        self._inner = _pteron.Tokenizer(os.fspath(path))

    @classmethod
    def _of(cls, inner: "_pteron.Tokenizer") -> "Tokenizer":
        made = cls.__new__(cls)
        made._inner = inner
        return made

    def encode(self, text: str, *, parse_special: bool = False, add_special: bool = False) -> List[int]:
        """Token ids. Special tokens in the text are plain text unless `parse_special`."""
        return self._inner.encode(text, parse_special, add_special)

    def decode(self, ids: Sequence[int], *, skip_special: bool = False) -> str:
        return self._inner.decode(list(ids), skip_special)

    def stream(self, ids: Iterable[int], *, skip_special: bool = False) -> Iterator[str]:
        """The text that is complete after each id, never half a character; joined it is what `decode` gives."""
        stream = self._inner.stream(skip_special)
        for token in ids:
            yield stream.push(token)
        yield stream.flush()

    @property
    def vocab_size(self) -> int:
        return self._inner.vocab_size

    @property
    def bos(self) -> Optional[int]:
        return self._inner.bos

    @property
    def eos(self) -> Optional[int]:
        return self._inner.eos

    def piece(self, token: int) -> str:
        """A token as the vocabulary writes it."""
        piece: bytes = self._inner.piece(token)
        return piece.decode("utf-8", "replace")

    def id_of(self, piece: str) -> Optional[int]:
        return self._inner.id_of(piece)

    def is_special(self, token: int) -> bool:
        return self._inner.is_special(token)


class ChatTemplate:
    """A chat template (Jinja, as Hugging Face sets it up)."""

    def __init__(self, source: str) -> None:
        self._inner = _pteron.ChatTemplate(source)

    @classmethod
    def _of(cls, inner: "_pteron.ChatTemplate") -> "ChatTemplate":
        made = cls.__new__(cls)
        made._inner = inner
        return made

    def render(self, messages: Sequence[Dict[str, Any]], *, tools: Optional[Sequence[Any]] = None, add_generation_prompt: bool = True, bos_token: str = "",
               eos_token: str = "", now: Optional[str] = None, **variables: Any) -> str:
        """The text of a conversation. `now` (2024-07-26T09:05:03) is the time that strftime_now sees."""
        given = {**variables, "messages": list(messages)}
        if tools is not None:
            given["tools"] = list(tools)
        return self._inner.render(json.dumps(given), add_generation_prompt, bos_token, eos_token, now)


class Sampler:
    """The sampling chain by itself. One thread at a time."""

    def __init__(self, **params: "Unpack[SamplingOptions]") -> None:
        """A parameter out of its range is an Error."""
        self._params = sampling_values("Sampler", params, SAMPLING)
        self._size = 1 + max(self._params.get("logit_bias") or {0: 0.0})  # as small a vocabulary as the parameters allow, until one is seen
        self._inner = _pteron.Sampler(self._params, self._size)

    def _sampler(self, logits: "np.ndarray[Any, Any]") -> "_pteron.Sampler":
        if self._size != logits.size:
            self._inner, self._size = _pteron.Sampler(self._params, logits.size), logits.size
        return self._inner

    def probabilities(self, logits: Any, previous: Sequence[int] = (), *, prompt: Sequence[int] = ()) -> "np.ndarray[Any, Any]":
        """The distribution that a token is drawn from, float64 [V]. `previous` are generated ids, `prompt` those before them."""
        from .program import as_array

        array = as_array(logits).reshape(-1)
        values: "np.ndarray[Any, Any]" = self._sampler(array).probabilities(array, list(prompt), list(previous))
        return values

    def sample(self, logits: Any, previous: Sequence[int] = (), *, prompt: Sequence[int] = ()) -> int:
        from .program import as_array

        array = as_array(logits).reshape(-1)
        token: int = self._sampler(array).sample(array, list(prompt), list(previous))
        return token
