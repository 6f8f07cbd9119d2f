"""What comes of a generation."""
from typing import List, NamedTuple, Optional, Tuple


class Generation(NamedTuple):
    """What came of a generation. `logprobs` and `top_logprobs` (id, logprob) only where they were asked for."""

    text: str
    tokens: List[int]
    finish_reason: str  #: "stop", "length", "context" or "cancelled"
    stop_sequence: Optional[str]  #: the stop text that was met
    logprobs: List[float]
    top_logprobs: List[List[Tuple[int, float]]]
    first_token_ms: float  #: from the call to the first token
    decode_ms: float  #: of all steps after it
    drafted: int  #: tokens guessed by lookup
    accepted: int  #: how many of them were right
