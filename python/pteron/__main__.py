"""`python -m pteron` is the command."""
import os
import sys
from typing import NoReturn


def main() -> NoReturn:
    command = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", "pteron")
    if not os.path.exists(command):
        sys.exit(f"pteron: the command is missing from the package ({command})")
    os.execv(command, [command, *sys.argv[1:]])


if __name__ == "__main__":
    main()
