#!/usr/bin/env python3
"""Checks that each source file under src has its test beside it, each fuzz target a seed, and each pass an entry, a file and a test."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
ISA = {"scalar", "avx2", "avx512", "avxvnni", "avx512vnni", "neon", "dotprod", "i8mm"}


def main() -> int:
    allow = set()
    for line in (ROOT / "scripts/allow.txt").read_text().splitlines():
        if line.startswith("pair "):
            allow.add(line.split()[1])
    errors, used = [], set()
    for path in sorted((ROOT / "src").rglob("*.cc")):
        name = str(path.relative_to(ROOT))
        stem = path.stem
        if re.search(r"_(test|fuzz|bench)$", stem):
            base = re.sub(r"_(test|bench)$", "", stem)
            if stem.endswith("_fuzz"):
                seeds = ROOT / "tests/data/fuzz" / stem
                if not seeds.is_dir() or not any(seeds.iterdir()):
                    errors.append(f"{name}: no seeds in {seeds.relative_to(ROOT)}")
            elif stem.endswith("_test") and not any((path.parent / (base + end)).exists() for end in (".cc", ".h", ".def")):
                if name in allow:
                    used.add(name)
                else:
                    errors.append(f"{name}: tests nothing that stands beside it")
            continue
        if stem in ISA or any(stem.endswith("_" + isa) for isa in ISA):
            continue  # kernels are tested from their list, on every target
        if not (path.parent / f"{stem}_test.cc").exists():
            if name in allow:
                used.add(name)
            else:
                errors.append(f"{name}: no {stem}_test.cc beside it")
    passes = ROOT / "src/passes"
    if (passes / "passes.def").exists():
        listed = set(re.findall(r"^\s*PTERON_PASS\(\s*(\w+)", (passes / "passes.def").read_text(), re.M))
        for name in listed:
            if not (passes / f"{name}.cc").exists():
                errors.append(f"src/passes/passes.def: {name} has no file")
    for name in sorted(allow - used):
        errors.append(f"scripts/allow.txt: pair {name} is no longer needed")
    print("\n".join(errors) if errors else "every source has its test, every fuzz target its seeds")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
