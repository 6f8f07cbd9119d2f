"""Export: a checkpoint becomes a program."""
import json
import os
from typing import Any, Callable, Dict, Optional

from . import _pteron
from .trust import Path


def export(source: Path, output: Path, *, progress: Optional[Callable[[str, int, int], None]] = None, **options: Any) -> Dict[str, Any]:
    """Makes `output` (a .pte) of a Hugging Face folder or a .gguf file; returns the report as a dict.

    Options are those of `pteron export`, with underscores: backend="cpu", backend_options={}, quant, embedding_quant, head_quant ("keep", "none",
    "int8", "int4"), dtype, cache_dtype ("float32", "float16", "bfloat16"), context_length, prefill_rows, mask_form ("additive", "boolean"),
    logits_rows ("all", "selected"), ids_dtype ("int64", "int32"), flat_sliding, external_constants, tokenizer, chat_template,
    generation_config (paths), assets=True, sign_key (PEM file), passphrase, threads. None leaves an option at its default.

    `progress(stage, done, total)` is told how far it is, in bytes.
    """
    for name in ("tokenizer", "chat_template", "generation_config", "sign_key"):
        if options.get(name) is not None:
            options[name] = os.fspath(options[name])
    report: Dict[str, Any] = json.loads(_pteron.export(os.fspath(source), os.fspath(output), {"progress": progress, **options}))
    return report
