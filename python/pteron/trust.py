"""Who signed a file, and whether that is enough."""
import os
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Union

from . import _pteron

Path = Union[str, "os.PathLike[str]"]


def paths(values: Sequence[Path]) -> List[str]:
    """File names as strings; one name alone is a mistake that would otherwise become a list of letters."""
    if isinstance(values, (str, bytes, os.PathLike)):
        raise TypeError("a list of paths is needed, not one path")
    return [os.fspath(value) for value in values]


class Trust(NamedTuple):
    """What was established about a file's signature. Times are seconds since 1970; `program_bytes` leaves the manifest out."""

    state: str  #: "unsigned", "unknown-key", "valid", "expired", "rolled-back" or "invalid"
    passes: bool
    algorithm: Optional[str]
    key_id: Optional[str]
    counter: int
    signed_at: Optional[int]
    not_after: Optional[int]
    program_bytes: int

    @classmethod
    def of(cls, values: Dict[str, Any]) -> "Trust":
        return cls(**values)


def check(path: Path, *, trust: Sequence[Path] = (), require_signed: bool = False, allow_expired: bool = False, minimum_counter: int = 0,
          data: Sequence[Path] = ()) -> Trust:
    """What loading would check: the signed statement and every byte against it. Raises Error where the policy refuses the file.

    `trust` are PEM files with public keys, `data` are .ptd files that belong to the program.
    """
    return Trust.of(_pteron.check(os.fspath(path), paths(trust), require_signed, allow_expired, minimum_counter, paths(data)))


def verify(path: Path, *, trust: Sequence[Path] = (), require_signed: bool = False, allow_expired: bool = False, minimum_counter: int = 0,
           data: Sequence[Path] = ()) -> Trust:
    """As `check`, and also the plain signature over all bytes, and the program's structure."""
    return Trust.of(_pteron.verify(os.fspath(path), paths(trust), require_signed, allow_expired, minimum_counter, paths(data)))
