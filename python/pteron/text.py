"""Tokenizers, chat templates, sampling."""
import json
import os
from typing import TYPE_CHECKING, Any, Dict, Iterable, Iterator, List, Optional, Sequence

from . import _pteron
from .trust import Path

if TYPE_CHECKING:
    import numpy as np


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
        ids: List[int] = self._inner.encode(text, parse_special, add_special)
        return ids

    def decode(self, ids: Sequence[int], *, skip_special: bool = False) -> str:
        text: str = self._inner.decode(list(ids), skip_special)
        return text

    def stream(self, ids: Iterable[int], *, skip_special: bool = False) -> Iterator[str]:
        """The text that is complete after each id, never half a character; joined it is what `decode` gives."""
        stream = self._inner.stream(skip_special)
        for token in ids:
            yield stream.push(token)
        yield stream.flush()

    @property
    def vocab_size(self) -> int:
        size: int = self._inner.vocab_size
        return size

    @property
    def bos(self) -> Optional[int]:
        token: Optional[int] = self._inner.bos
        return token

    @property
    def eos(self) -> Optional[int]:
        token: Optional[int] = self._inner.eos
        return token

    def piece(self, token: int) -> str:
        """A token as the vocabulary writes it."""
        piece: bytes = self._inner.piece(token)
        return piece.decode("utf-8", "replace")

    def id_of(self, piece: str) -> Optional[int]:
        token: Optional[int] = self._inner.id_of(piece)
        return token

    def is_special(self, token: int) -> bool:
        special: bool = self._inner.is_special(token)
        return special


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
        text: str = self._inner.render(json.dumps(given), add_generation_prompt, bos_token, eos_token, now)
        return text


class Sampler:
    """The sampling chain by itself: logit_bias, repetition_penalty, frequency_penalty, presence_penalty, temperature, top_k, top_p, min_p, typical_p, seed."""

    def __init__(self, **params: Any) -> None:
        self._params = params
        self._inner: Optional["_pteron.Sampler"] = None
        self._size = 0

    def _sampler(self, logits: "np.ndarray[Any, Any]") -> "_pteron.Sampler":
        if self._inner is None or self._size != logits.size:
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
