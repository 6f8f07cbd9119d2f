"""Programs under the I/O contract `hf_static`, step by step: for people who experiment.

    r = pteron.hf_static.Runner("model.pte", version=1)
    logits = r.prefill([504, 3575, 282])
    logits = r.decode(int(logits.argmax()))
    r.reset()
"""
from operator import index
from typing import TYPE_CHECKING, Any, Dict, List, Sequence, Tuple

from .errors import Error
from .llm import LLM
from .options import LoadOptions
from .trust import Path

if TYPE_CHECKING:
    import numpy as np
    from typing_extensions import Unpack


class Runner:
    """Drives one session by hand. Fixed chunks, padding, masks and counters are the contract's business and happen inside; `position` is the host's."""

    def __init__(self, path: Path, *, version: int = 1, **options: "Unpack[LoadOptions]") -> None:
        """Options are those of pteron.LLM. A program under another contract or version is an Error."""
        self._llm = LLM(path, **options)
        contract = self._llm.contract
        if contract.get("contract") != "hf_static" or contract.get("version") != version:
            raise Error(f"the program is under {contract.get('contract')} version {contract.get('version')}", "unsupported", str(path), "io_contract",
                        f"hf_static version {version}", f"{contract.get('contract')} version {contract.get('version')}")
        self._session = self._llm.session()

    @property
    def contract(self) -> Dict[str, Any]:
        return self._llm.contract

    @property
    def position(self) -> int:
        return self._session.position

    @property
    def capacity(self) -> int:
        return self._session.capacity

    @property
    def rows(self) -> int:
        """Rows of the prefill method; 0 for a decode-only program."""
        return self._llm.prefill_rows

    def can_append(self, count: int) -> bool:
        return self._session.can_append(count)

    def prefill(self, ids: Sequence[int]) -> "np.ndarray[Any, Any]":
        """Commits tokens in chunks, the tail in decode; logits of the last, float32 [V]."""
        return self._session.append([index(token) for token in ids])

    def decode(self, token: int) -> "np.ndarray[Any, Any]":
        """Commits one token; its logits, float32 [V]."""
        return self._session.append([token])

    def rewind(self, position: int) -> None:
        self._session.rewind(position)

    def reset(self) -> None:
        """Position 0, caches zeroed, the same addresses."""
        self._session.reset()

    def caches(self) -> Dict[Tuple[str, int], "np.ndarray[Any, Any]"]:
        return self._session.caches()

    @property
    def tokens(self) -> List[int]:
        return self._session.tokens
