"""pteron: language models as signed ExecuTorch programs, exported and run without torch.

    import pteron
    pteron.export("SmolLM2-135M-Instruct.Q4_1.gguf", "smollm2.pte")
    llm = pteron.LLM("smollm2.pte")
    for piece in llm.session().generate("The capital of France is", max_tokens=16):
        print(piece, end="")
"""
from . import hf_static
from ._pteron import backends, models, version as __version__
from .compile import export
from .errors import Error
from .generation import Generation
from .llm import LLM, Session
from .program import Method, Program
from .text import ChatTemplate, Sampler, Tokenizer
from .trust import Trust, check, verify

__all__ = [
    "ChatTemplate", "Error", "Generation", "LLM", "Method", "Program", "Sampler", "Session", "Tokenizer", "Trust",
    "__version__", "backends", "check", "export", "hf_static", "models", "verify",
]
