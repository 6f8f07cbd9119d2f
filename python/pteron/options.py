"""Keyword options that several calls share, for type checkers. None leaves an option at its default."""
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, TypedDict, Union

from .trust import Path


class SamplingOptions(TypedDict, total=False):
    """The sampling chain, in the order in which it is applied."""

    logit_bias: Optional[Union[Mapping[int, float], Mapping[str, float]]]  #: added to the logits by id; minus infinity bans one
    repetition_penalty: Optional[float]
    frequency_penalty: Optional[float]
    presence_penalty: Optional[float]
    temperature: Optional[float]  #: 0 takes the best
    top_k: Optional[int]
    top_p: Optional[float]
    min_p: Optional[float]
    typical_p: Optional[float]
    seed: Optional[int]  #: equal seeds draw equal tokens on every machine


class GenerateOptions(SamplingOptions, total=False):
    """How to sample and when to stop. What is left out is as the program's generation config says."""

    max_tokens: Optional[int]  #: 256
    min_tokens: Optional[int]
    stop: Union[str, List[str], None]  #: texts that end the generation; no part of the result
    stop_tokens: Optional[Sequence[int]]
    ignore_eos: Optional[bool]
    time_limit: Optional[float]  #: seconds
    lookup: Optional[int]  #: most tokens to guess by prompt lookup; 0 is off
    logprobs: Optional[int]  #: report log-probabilities, and so many best alternatives with each
    skip_special: Optional[bool]  #: special tokens leave no text (True)


class LoadOptions(TypedDict, total=False):
    """How a language model is loaded."""

    trust: Sequence[Path]  #: PEM files with public keys
    require_signed: bool
    allow_expired: bool
    minimum_counter: int
    load: str  #: "mmap" or "copy"
    data: Sequence[Path]  #: .ptd files that belong to the program
    threads: int  #: 0: the cores that this process may use
    chunk: int  #: rows used of a prefill call; 0: all
    min_chunk: int  #: fewer remaining tokens than this go one by one
    use_prefill: bool


class ExportOptions(TypedDict, total=False):
    """What `pteron export` takes, with underscores."""

    backend: Optional[str]  #: "cpu"
    backend_options: Optional[Mapping[str, Union[str, int, float, bool]]]
    quant: Optional[str]  #: "keep", "none", "int8" or "int4"
    embedding_quant: Optional[str]
    head_quant: Optional[str]
    dtype: Optional[str]  #: "float32", "float16" or "bfloat16"
    cache_dtype: Optional[str]
    context_length: Optional[int]
    prefill_rows: Optional[int]
    mask_form: Optional[str]  #: "additive" or "boolean"
    logits_rows: Optional[str]  #: "all" or "selected"
    ids_dtype: Optional[str]  #: "int64" or "int32"
    flat_sliding: Optional[bool]
    external_constants: Optional[str]  #: name of a .ptd beside the output that takes the weights
    tokenizer: Optional[Path]
    chat_template: Optional[Path]
    generation_config: Optional[Path]
    assets: Optional[bool]  #: store tokenizer, template and generation config (True)
    sign_key: Optional[Path]  #: PEM file
    passphrase: Optional[str]
    threads: Optional[int]
    progress: Optional[Callable[[str, int, int], None]]  #: told the stage, and bytes done of bytes in all; what it raises ends the export


EXPORT = frozenset(ExportOptions.__annotations__)
SAMPLING = frozenset(SamplingOptions.__annotations__)
GENERATE = SAMPLING | frozenset(GenerateOptions.__annotations__)


def known_values(call: str, given: Mapping[str, Any], known: "frozenset[str]") -> Dict[str, Any]:
    """The options as a dict. An unknown name is what Python itself makes of it."""
    for name in given:
        if name not in known:
            raise TypeError(f"{call}() got an unexpected keyword argument {name!r}")
    return dict(given)


def sampling_values(call: str, given: Mapping[str, Any], known: "frozenset[str]") -> Dict[str, Any]:
    """The options as the extension takes them. Ids in a bias may be text, as JSON has them."""
    values = known_values(call, given, known)
    if values.get("logit_bias") is not None:
        values["logit_bias"] = {int(token): float(bias) for token, bias in values["logit_bias"].items()}
    return values
