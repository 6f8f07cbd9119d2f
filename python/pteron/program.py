"""Programs: any .pte, its methods on numpy arrays."""
import json
import os
import threading
from typing import TYPE_CHECKING, Any, Dict, List, Optional, Sequence

from . import _pteron
from .trust import Path, Trust, paths

if TYPE_CHECKING:
    import numpy as np


def as_array(value: Any, dtype: Optional[str] = None) -> "np.ndarray[Any, Any]":
    """A numpy array of a value. What has __dlpack__ is taken without a copy; what has no type of its own, as numbers and lists, becomes `dtype`."""
    import numpy as np

    if isinstance(value, (np.ndarray, np.generic)):
        return np.asarray(value)
    if hasattr(value, "__dlpack__"):
        return np.from_dlpack(value)
    if value is None:
        raise TypeError("a tensor is needed, not None")
    return np.asarray(value, "uint16" if dtype == "bfloat16" else dtype)


class Method:
    """A loaded method. Calling it sets all inputs, runs, and returns the outputs as a list. Threads that share one take turns.

    bfloat16 tensors go in and come out as uint16 arrays of their bits.
    """

    def __init__(self, inner: "_pteron.Method") -> None:
        self._inner = inner
        self._info = inner.info()
        self._lock = threading.RLock()

    @property
    def name(self) -> str:
        name: str = self._info["name"]
        return name

    @property
    def inputs(self) -> List[Dict[str, Any]]:
        inputs: List[Dict[str, Any]] = self._info["inputs"]
        return inputs

    @property
    def outputs(self) -> List[Dict[str, Any]]:
        outputs: List[Dict[str, Any]] = self._info["outputs"]
        return outputs

    def set_input(self, index: int, value: Any) -> None:
        """A tensor's memory is used in place where the method does not plan it: changing the array changes the input."""
        if index < 0 or index >= len(self.inputs):
            raise IndexError(f"{self.name} has {len(self.inputs)} inputs, there is none at {index}")
        slot = self.inputs[index]
        with self._lock:
            self._inner.set_input(index, as_array(value, slot["dtype"]) if slot["kind"] == "tensor" else value)

    def execute(self) -> List[Any]:
        """Runs with the inputs as they were set last; returns copies of the outputs."""
        with self._lock:
            self._inner.execute()
            return [self._inner.output(index) for index in range(len(self.outputs))]

    def __call__(self, *inputs: Any) -> List[Any]:
        if len(inputs) != len(self.inputs):
            raise TypeError(f"{self.name}() takes {len(self.inputs)} inputs, not {len(inputs)}")
        with self._lock:
            for index, value in enumerate(inputs):
                self.set_input(index, value)
            return self.execute()

    def reset(self) -> None:
        """Planned memory as it was at load."""
        with self._lock:
            self._inner.reset()


class Program:
    """A verified .pte. Shared freely by threads."""

    def __init__(self, path: Path, *, trust: Sequence[Path] = (), require_signed: bool = False, allow_expired: bool = False, minimum_counter: int = 0,
                 load: str = "mmap", data: Sequence[Path] = ()) -> None:
        self._inner = _pteron.Program(os.fspath(path), paths(trust), require_signed, allow_expired, minimum_counter, load, paths(data))

    @property
    def trust(self) -> Trust:
        return Trust.of(self._inner.trust())

    @property
    def methods(self) -> Dict[str, Dict[str, Any]]:
        """What each method takes and gives, by name."""
        return {info["name"]: info for info in self._inner.methods()}

    def method(self, name: str = "forward", *, threads: int = 0) -> Method:
        """A method ready to run, with memory of its own. threads 0: the cores that this process may use."""
        return Method(self._inner.load(name, threads))

    def metadata(self, name: str) -> Any:
        """What a constant method returns: one value, or a list of several."""
        values = self.method(name, threads=1).execute()
        return values[0] if len(values) == 1 else values

    @property
    def named_data(self) -> List[str]:
        return list(self._inner.named_data_keys())

    def read_named_data(self, key: str) -> bytes:
        return self._inner.named_data(key)

    def describe(self, instructions: bool = False) -> Dict[str, Any]:
        """Everything that `pteron inspect --json` shows."""
        report: Dict[str, Any] = json.loads(self._inner.describe(instructions))
        return report
