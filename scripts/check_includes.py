#!/usr/bin/env python3
"""Checks the include table: which folder of src may include which, and that public headers stay pure."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent

# Headers of include/pteron that every folder may use: the vocabulary that both worlds and the public share.
VOCABULARY = {"pteron/status.h", "pteron/tensor.h", "pteron/allocator.h", "pteron/method.h"}
COMPILE_SIDE = {"ir", "import", "models", "passes", "partition", "emit", "compiler"}
ALL = {"base", "core", "manifest", "format", "package", "text", "runtime", "llm"} | COMPILE_SIDE

TABLE = {
    "base": set(),
    "core": {"base"},
    "manifest": {"base"},
    "format": {"base", "core"},
    "text": {"base", "core"},
    "package": {"base", "manifest", "format"},
    "ir": {"base", "core"},
    "models": {"base", "core", "ir"},
    "passes": {"base", "core", "ir"},
    "partition": {"base", "core", "ir"},
    "import": {"base", "core", "ir", "text"},
    "emit": {"base", "core", "ir", "format"},
    "compiler": {"base", "core", "ir", "models", "passes", "partition", "import", "emit", "text", "manifest"},
    "runtime": {"base", "core", "format"},
    "kernels/portable": {"base", "core", "runtime/kernel.h", "runtime/value.h", "runtime/arguments.h"},
    "kernels/cpu": {"base", "core"},
    "llm": {"base", "core", "text", "package", "runtime", "format"},
    "builtin/compile": {"base", "partition", "passes", "backends"},
    "builtin/run": {"base", "runtime", "kernels", "backends"},
    "api": ALL | {"builtin", "backends", "kernels"},
}
BACKEND = {
    "payload": {"base", "core"},
    "compile": {"base", "core", "ir", "partition"},
    "run": {"base", "core", "runtime/delegate.h", "runtime/value.h"},
}
# Public headers that a folder implements.
IMPLEMENTS = {"manifest": {"pteron/manifest.h"}, "package": {"pteron/manifest.h"}, "llm": {"pteron/manifest.h", "pteron/generation.h", "pteron/io_manager.h"}}
# What tests, fuzz targets and benchmarks of a folder may use besides.
TEST_EXTRA = {
    "format": {"package"},
    "runtime": {"package", "kernels/portable"},
    "kernels/portable": {"runtime", "package", "format"},
    "llm": {"kernels/portable", "builtin"},
    "emit": {"package"},
    "import": set(),
    "compiler": {"builtin", "package", "format"},
    "builtin/run": {"format", "package"},
}


def folder_of(path: pathlib.Path) -> str:
    parts = path.relative_to(ROOT / "src").parts
    if parts[0] == "backends":
        return "/".join(parts[:3])
    if parts[0] in ("kernels", "builtin"):
        return "/".join(parts[:2])
    return parts[0]


def allowed(folder: str, include: str, is_test: bool) -> bool:
    parts = folder.split("/")
    if include.startswith(folder + "/"):
        return True
    if parts[0] == "backends":
        rules = set(BACKEND[parts[2]]) | {f"backends/{parts[1]}/payload"}
        if parts[2] == "run":
            rules |= {f"kernels/{parts[1]}"}
        if is_test:
            rules |= {f"backends/{parts[1]}", f"kernels/{parts[1]}", "runtime", "ir", "partition"}
    else:
        rules = set(TABLE.get(folder, set()))
        if is_test:
            rules |= TEST_EXTRA.get(folder, set())
    return any(include == rule or include.startswith(rule + "/") for rule in rules)


def main() -> int:
    errors = []
    for path in sorted((ROOT / "src").rglob("*")):
        if path.suffix not in (".h", ".cc", ".def", ".inc"):
            continue
        folder = folder_of(path)
        if folder not in TABLE and folder.split("/")[0] != "backends":
            errors.append(f"{path.relative_to(ROOT)}: folder {folder} is not in the include table")
            continue
        is_test = re.search(r"_(test|fuzz|bench)\.cc$|_for_test\.h$", path.name) is not None or path.name.startswith("test")
        for number, line in enumerate(path.read_text().splitlines(), 1):
            where = f"{path.relative_to(ROOT)}:{number}"
            if match := re.match(r'\s*#\s*include\s+"([^"]+)"', line):
                include = match[1]
                if include.startswith("pteron/"):
                    if folder != "api" and include not in VOCABULARY | IMPLEMENTS.get(folder, set()):
                        errors.append(f"{where}: {folder} may not include {include}")
                elif "/" not in include:
                    if not include.endswith("_generated.h"):
                        errors.append(f"{where}: write the include from src: {include}")
                    elif folder not in ("format", "backends/cpu/payload", "text"):
                        errors.append(f"{where}: generated schema code stays in its own folder: {include}")
                elif not allowed(folder, include, is_test):
                    errors.append(f"{where}: {folder} may not include {include}")
            isa = r"#\s*include\s*<(immintrin|arm_neon|x86intrin|emmintrin|avx\w*)\.h>"
            if re.search(isa, line) and folder.split("/")[0] not in ("kernels",):
                errors.append(f"{where}: intrinsics belong in kernels")
    for path in sorted((ROOT / "include").rglob("*.h")):
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if match := re.match(r'\s*#\s*include\s+([<"])([^">]+)', line):
                pure = match[2].startswith("pteron/") if match[1] == '"' else ("/" not in match[2] and not match[2].endswith(".h"))
                if not pure and match[2] not in ("stdint.h", "stddef.h", "stdbool.h"):
                    errors.append(f"{path.relative_to(ROOT)}:{number}: a public header includes {match[2]}")
    for top in ("tools", "python", "examples"):
        for path in sorted((ROOT / top).rglob("*")):
            if path.suffix in (".h", ".cc"):
                for number, line in enumerate(path.read_text().splitlines(), 1):
                    match = re.match(r'\s*#\s*include\s+"([^"]+)"', line)
                    if match and not match[1].startswith(("pteron/", top + "/")):
                        errors.append(f"{path.relative_to(ROOT)}:{number}: {top} uses include/pteron only, not {match[1]}")
    print("\n".join(errors) if errors else "include table holds")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
