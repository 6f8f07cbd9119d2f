#!/usr/bin/env python3
"""Checks the symbols of the library archives: nothing prints, aborts or exits; the run side throws nothing.

usage: check_quiet.py BUILD_DIR   (a release build: other builds refer to other symbols)
"""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
LOUD = re.compile(r"^(abort|exit|_exit|quick_exit|printf|puts|putchar|vprintf|__printf_chk|__vprintf_chk|perror|std::cout|std::cerr|std::clog|std::terminate\(\)|__assert_fail)(@.*)?$")
THROWS = re.compile(r"^(__cxa_throw|__cxa_allocate_exception|__cxa_rethrow)(@.*)?$")
COMPILE_SIDE = {"ir", "import", "models", "passes", "partition", "emit", "compiler", "builtin_compile", "api"}


def main() -> int:
    build = pathlib.Path(sys.argv[1])
    allow = {}
    for line in (ROOT / "scripts/allow.txt").read_text().splitlines():
        if line.startswith("symbol "):
            _, member, symbol, _ = line.split(None, 3)
            allow[(member, symbol)] = False
    errors, archives = [], sorted((build / "src").rglob("libpteron_*.a"))
    for archive in archives:
        folder = archive.stem.removeprefix("libpteron_")
        listing = subprocess.run(["nm", "-C", "-u", "--format=posix", str(archive)], capture_output=True, text=True, check=True).stdout
        member = ""
        for line in listing.splitlines():
            if match := re.match(r".*\[(.*)\]:$", line):
                member = match[1].removesuffix(".o")
                continue
            symbol = re.sub(r" U\s*\d*\s*\d*$", "", line).strip()
            plain = symbol.split("@")[0]
            loud = LOUD.match(symbol) or (THROWS.match(symbol) and folder not in COMPILE_SIDE and not folder.endswith("_compile"))
            if loud and (f"{folder}/{member}", plain) in allow:
                allow[(f"{folder}/{member}", plain)] = True
            elif loud:
                errors.append(f"{archive.name}({member}): {symbol}")
    errors += [f"scripts/allow.txt: {member} {symbol} is excused but not there" for (member, symbol), used in allow.items() if not used and archives]
    if not archives:
        errors.append(f"no archives under {build}")
    print("\n".join(errors) if errors else f"{len(archives)} archives are quiet")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
