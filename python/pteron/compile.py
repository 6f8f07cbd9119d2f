"""Export: a checkpoint becomes a program."""
import json
import os
from typing import TYPE_CHECKING, Any, Dict

from . import _pteron
from .options import EXPORT, ExportOptions, known_values
from .trust import Path

if TYPE_CHECKING:
    from typing_extensions import Unpack


def export(source: Path, output: Path, **options: "Unpack[ExportOptions]") -> Dict[str, Any]:
    """Makes `output` (a .pte) of a Hugging Face folder or a .gguf file; returns the report as a dict. Options are those of `pteron export`."""
    given = known_values("export", options, EXPORT)
    for name in ("tokenizer", "chat_template", "generation_config", "sign_key"):
        if given.get(name) is not None:
            given[name] = os.fspath(given[name])
    report: Dict[str, Any] = json.loads(_pteron.export(os.fspath(source), os.fspath(output), given))
    return report
