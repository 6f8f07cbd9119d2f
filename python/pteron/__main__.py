"""`python -m pteron` is the command."""
import os
import pathlib
import sys
from typing import NoReturn


def main() -> NoReturn:
    command = pathlib.Path(__file__).resolve().parent / "bin" / "pteron"
    if not command.exists():
        sys.exit(f"pteron: the command is missing from the package ({command})")
    os.execv(command, [str(command), *sys.argv[1:]])


if __name__ == "__main__":
    main()
